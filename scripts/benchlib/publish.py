# SPDX-License-Identifier: GPL-2.0
"""
The generated sections of Documentation/performance.rst.
"""

import textwrap

from benchlib import goals, machine, overview

COMPARISON = (".. begin comparison\n", ".. end comparison\n")
GOALS = (".. begin published\n", ".. end published\n")


def newest(results):
    """The name of the newest result."""
    return max(results, key=lambda name: results[name]["date"])


def machine_lines(name, result):
    places = ", ".join(f"{place['name']} with Linux {place['release']}"
                       + (" on emulated CPUs" if place["emulated"] else "")
                       for place in result["places"])
    text = (f"{machine.sentence(result['machine'])}. twheel {result['version']}, "
            f"{result['date'][:10]}; places: {places}. "
            f"All figures: :download:`result-{name}.json <performance/result-{name}.json>`.")
    yield f"``{name}``"
    yield from ("\t" + line for line in textwrap.wrap(text, 90, break_on_hyphens=False,
                                                      break_long_words=False))


def goals_lines(results, plots):
    for name, result in results.items():
        yield from machine_lines(name, result)
    table = list(goals.lines(results))
    yield from ("", *goals.rst_lines(table), "")
    yield from (*(f"| {line}" for line in goals.summary(table)), "")
    yield from (f"The plots are those of ``{newest(results)}``.", "")
    for svg in plots:
        yield from (f".. image:: performance/{svg.name}", f"   :alt: {svg.stem}", "")


def replaced(text, marks, lines):
    """The text with the section between two marks replaced."""
    head, begin, tail = text.partition(marks[0])
    _, end, tail = tail.partition(marks[1])
    if not begin or not end:
        raise ValueError(f"the page has no section {marks[0].strip()}")
    return head + begin + "\n".join(["", *lines, ""]) + end + tail


def page(text, results, plots):
    """The page with its generated sections replaced; results are by name of the machine."""
    text = replaced(text, COMPARISON, [*overview.lines(results), ""])
    return replaced(text, GOALS, goals_lines(results, plots))
