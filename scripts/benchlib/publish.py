# SPDX-License-Identifier: GPL-2.0
"""
A result as a part of a page of Documentation.
"""

from benchlib import goals, machine

BEGIN, END = ".. begin published\n", ".. end published\n"


def lines(whole, plots):
    """What stands between the marks."""
    yield from ("", f"Measured on {machine.sentence(whole['machine'])}; twheel "
                f"{whole['version']}, {whole['date'][:10]}.", "")
    for place in whole["places"]:
        yield f"- {place['name']}: Linux {place['release']}. {place['note']}."
    yield from ("", "All figures are in `result.json <performance/result.json>`_; "
                "``scripts/bench-table`` makes tables of it.", "")
    rows = list(goals.rows(whole))
    yield from goals.rst_lines(rows)
    yield from ("", *(f"| {line}" for line in goals.summary(rows)), "")
    for svg in plots:
        yield from (f".. image:: performance/{svg.name}", f"   :alt: {svg.stem}", "")


def page(text, whole, plots):
    """The page with what stands between its marks replaced."""
    head, begin, tail = text.partition(BEGIN)
    _, end, tail = tail.partition(END)
    if not begin or not end:
        raise ValueError("the page has no marks")
    return head + BEGIN + "\n".join(lines(whole, plots)) + "\n" + END + tail
