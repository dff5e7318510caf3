#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Sum up what the benchmarks of bench/ said in the log of a guest: under each title
the median of every figure that is not 0, and how far apart the runs were.  Used by measure.

A title is a line "# words" of the guest's job; the name=value pairs that
twheel_bench prints after it, and the job on a line "figures:", belong to it.
"""

import re
import statistics
import sys

TITLE = re.compile(r"\| # (.*)")
FIGURE = re.compile(r"(\w+)=(\d+)\b")


def figures(log):
    """Title -> name -> values, in the order of the log."""
    found = {}
    title = None
    for line in log:
        if match := TITLE.search(line):
            title = found.setdefault(match[1].strip(), {})
        elif "twheel_bench: what=" in line or "| figures:" in line:
            for name, value in FIGURE.findall(line):
                title.setdefault(name, []).append(int(value))
    return found


with open(sys.argv[1], errors="replace") as log:
    found = figures(log)
for title, values in found.items():
    print(f"\n{title}")
    for name, runs in sorted(values.items(), key=lambda item: "stretches" in item[0] and item[0] or ""):
        if name == "nr" or not any(runs):
            continue
        median = round(statistics.median(runs))
        print(f"    {name:23} {median:>10}  ({min(runs)} to {max(runs)})")
sys.exit(not found)
