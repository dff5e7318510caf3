# SPDX-License-Identifier: GPL-2.0
"""
The published section of Documentation/performance.rst.
"""

from benchlib import goals, machine

BEGIN, END = ".. begin published\n", ".. end published\n"


def lines(result, plots):
    """The lines between the marks."""
    yield from ("", f"Measured on {machine.sentence(result['machine'])}; twheel "
                f"{result['version']}, {result['date'][:10]}.", "")
    for place in result["places"]:
        yield f"- {place['name']}: Linux {place['release']}. {place['note']}."
    yield from ("", "All figures are in `result.json <performance/result.json>`_; "
                "``scripts/bench-table`` prints tables.", "")
    rows = list(goals.rows(result))
    yield from goals.rst_lines(rows)
    yield from ("", *(f"| {line}" for line in goals.summary(rows)), "")
    for svg in plots:
        yield from (f".. image:: performance/{svg.name}", f"   :alt: {svg.stem}", "")


def page(text, result, plots):
    """The page with the text between its marks replaced."""
    head, begin, tail = text.partition(BEGIN)
    _, end, tail = tail.partition(END)
    if not begin or not end:
        raise ValueError("the page has no marks")
    return head + BEGIN + "\n".join(lines(result, plots)) + "\n" + END + tail
