# SPDX-License-Identifier: GPL-2.0
"""
A result as text tables, one for each suite and place, with a row for each figure of each
contender and a column for each number pending.
"""

from benchlib import machine

LEGEND = """\
Each cell has the median, and the minimum and maximum of all repetitions in parentheses. Cells
of peers also have the ratio of twheel's median to theirs: below 1, twheel is faster."""

# Titles of figures that differ from their names.
TITLES = {"rearm": "re-arm", "rearm_earlier": "re-arm to an earlier deadline",
          "rearm_later": "re-arm to a later deadline"}


def title_of(figure):
    return TITLES.get(figure, figure)


def short(value):
    """Format with three digits; larger numbers keep their integer part."""
    if value == int(value) or abs(value) >= 100:
        return f"{round(value):,}"
    return f"{value:.3g}"


def pending_name(pending):
    if pending == 0:
        return "-"
    return f"1e{len(str(pending)) - 1}" if set(str(pending)[1:]) == {"0"} and \
        str(pending)[0] == "1" else f"{pending:,}"


def is_ours(contender):
    return contender.startswith("twheel")


def is_peer(contender):
    """Figures of the machine and of background load belong to no contender."""
    return not is_ours(contender) and contender not in ("machine", "others", "wakeup")


def chosen(result, **words):
    """The figures that match all these words; a list matches any of its words."""
    return [figure for figure in result["figures"]
            if all(figure[name] in word if isinstance(word, (list, tuple)) else
                   figure[name] == word for name, word in words.items())]


def in_order(figures, name):
    return list(dict.fromkeys(figure[name] for figure in figures))


def cell_of(figure, ours):
    text = short(figure["median"])
    if figure["min"] != figure["max"]:
        text += f" ({short(figure['min'])}-{short(figure['max'])})"
    if ours and is_peer(figure["of"]) and figure["median"]:
        text += f" x{short(ours['median'] / figure['median'])}"
    return text


def rows_of(result, figures, pending, place):
    """Rows by case, figure and contender; skipped combinations are marked."""
    seen = {}
    for figure in figures:
        seen.setdefault((figure["case"], figure["what"], figure["unit"]), {}).setdefault(
            figure["of"], {})[figure["pending"]] = figure
    skips = {(skip["case"], skip["what"], skip["of"], skip["pending"]): skip["reason"]
             for skip in result["skips"]
             if skip["suite"] == figures[0]["suite"] and skip["place"] == figures[0]["place"]}
    label = " emulated" if place["emulated"] else ""
    for (case, what, unit), by_contender in seen.items():
        ours = by_contender.get("twheel", {})
        for contender, by_pending in sorted(by_contender.items(),
                                            key=lambda item: not is_ours(item[0])):
            cells = [cell_of(by_pending[nr], ours.get(nr)) if nr in by_pending else
                     "cannot" if (case, what, contender, nr) in skips else ""
                     for nr in pending]
            yield [case, what, contender, unit + label, *cells]


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()


def skips_lines(result, place, suite):
    reasons = {}
    for skip in result["skips"]:
        if skip["place"] == place and skip["suite"] == suite:
            words = f"{skip['of']} {skip['case']} {skip['what']}"
            reasons.setdefault((words, skip["reason"]), []).append(pending_name(skip["pending"]))
    for (words, reason), pending in reasons.items():
        yield f"cannot: {words} at {', '.join(pending)}: {reason.replace('-', ' ')}"


def suite_lines(result, place, suite):
    figures = chosen(result, place=place["name"], suite=suite)
    pending = sorted(set(figure["pending"] for figure in figures))
    emulated = ", EMULATED" if place["emulated"] else ""
    yield f"{suite}, at {place['name']}{emulated}"
    yield ""
    head = ["case", "figure", "contender", "unit", *map(pending_name, pending)]
    yield from aligned([head, *rows_of(result, figures, pending, place)])
    yield from skips_lines(result, place["name"], suite)
    yield ""


def lines(result):
    yield machine.sentence(result["machine"])
    yield f"{result['version']}, {result['date']}" + (", QUICK" if result["quick"] else "")
    for place in result["places"]:
        yield f"{place['name']}: {place['release']}, {place['note']}"
    yield ""
    yield LEGEND
    yield ""
    for place in result["places"]:
        for suite in in_order(chosen(result, place=place["name"]), "suite"):
            yield from suite_lines(result, place, suite)
