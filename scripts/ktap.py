#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Parse the test results in a console log. A suite or program that did not run as many cases as its
plan says is a failure, and so is a program that did not begin or end. Prints a line "pass|fail|skip
<tab> NAME" for each case. Used by test stages.

    ktap.py kunit LOG                  KUnit suites in a guest
    ktap.py guest LOG [PROGRAM,...]    programs in a guest, which must have run
    ktap.py tap LOG                    programs on this machine
"""

import pathlib
import re
import sys

STAMP = re.compile(r"^\[ *\d+\.\d+\] ")
RESULT = re.compile(r"^( *)(ok|not ok) \d+ (?:- )?(.*?)(?: +# (\w+).*)?$")


def log_lines(text, from_programs):
    """Yield the lines of the guest's programs or the lines of the kernel."""
    for line in text.splitlines():
        line, stamped = STAMP.subn("", line.rstrip())
        if stamped and line.startswith("| ") == from_programs:
            yield line[2:] if from_programs else line


class Results:
    """
    The results by group, a suite or program, and case; the planned numbers; the failures of groups,
    which count only for those without a failed case.
    """

    def __init__(self):
        self.cases, self.planned, self.failed = {}, {}, {}

    def add(self, group, match):
        """Everything except a plain "ok" or a skip is a failure."""
        passed = match[2] == "ok" and match[4] in (None, "SKIP")
        self.cases.setdefault(group, {})[match[3]] = \
            "fail" if not passed else "skip" if match[4] else "pass"

    def lines(self, separator):
        for group in sorted(self.cases.keys() | self.planned.keys() | self.failed.keys()):
            cases = dict(self.cases.get(group, {}))
            planned = self.planned.get(group, len(cases))
            if planned != len(cases):
                cases[f"{len(cases)} of {planned} cases"] = "fail"
            if group in self.failed and "fail" not in cases.values():
                cases[self.failed[group]] = "fail"
            for name, result in sorted(cases.items()):
                yield f"{result}\t{group}{separator}{name}"


def kunit_results(lines):
    """Suites have no indentation, cases four columns, and their parameters more."""
    results, suite, suites, ended = Results(), None, 0, 0
    for line in lines:
        subtest = re.match(r"^ {4}# Subtest: (\S+)", line)
        plan = re.match(r"^( {4})?1\.\.(\d+)$", line)
        match = RESULT.match(line)
        if subtest:
            suite = subtest[1]
        elif plan and plan[1]:
            results.planned[suite] = int(plan[2])
        elif plan:
            suites += int(plan[2])
        elif match and suite and match[1] == " " * 4:
            results.add(suite, match)
        elif match and suite and not match[1]:
            ended += 1
            if match[2] != "ok":
                results.failed[suite] = "*"
    if ended != suites:
        results.failed["suites"] = f"{ended} of {suites}"
    return results.lines(".")


def framed_results(lines, wanted):
    """Parse the TAP of programs, each between "# begin NAME" and "# end NAME STATUS"."""
    results, program, begun, ended = Results(), None, set(wanted), set()
    for line in lines:
        frame = re.match(r"^# (begin|end) (\S+)(?: (\d+))?$", line)
        plan = re.match(r"^1\.\.(\d+)", line)
        match = RESULT.match(line)
        if frame and frame[1] == "begin":
            program = frame[2]
            begun.add(program)
        elif frame:
            if frame[3] != "0":
                results.failed[frame[2]] = f"exit status {frame[3]}"
            results.planned.setdefault(frame[2], 0)
            ended.add(frame[2])
            program = None
        elif plan and program:
            results.planned[program] = int(plan[1])
        elif match and program:
            results.add(program, match)
    results.failed.update((name, "did not end") for name in begun - ended)
    return results.lines(": ")


def main(kind, log, wanted=""):
    path = pathlib.Path(log)
    # A guest that was not started has no log.
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if kind == "kunit":
        found = kunit_results(log_lines(text, False))
    else:
        lines = log_lines(text, True) if kind == "guest" else text.splitlines()
        found = framed_results(lines, filter(None, wanted.split(",")))
    for line in found:
        print(line)


if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("kunit", "guest", "tap"):
    sys.exit(__doc__)
main(*sys.argv[1:])
