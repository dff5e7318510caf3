# SPDX-License-Identifier: GPL-2.0
"""
Parse the output of the benchmarks in a console log or on stdout: samples, skips, the begin and
the end of suites, and failures.

The guest job prints "begin suite=S pending=N" before it starts a suite; the suite prints
"end suite=S" if it succeeds.  A malformed line is a failure, and so is a suite without an end,
without output, or in the plan but not in the log.  S_PART is a part of suite S.  Samples of
another suite between begin and end are ignored, since they have the wrong parameters.
"""

import pathlib
import re

# The timestamp of the kernel, and the prefix of a guest program or of twheel_bench.
PREFIX = re.compile(r"^(?:\[ *\d+\.\d+\] )?(?:\| |twheel_bench: )?")
WORDS = ("suite", "case", "of", "what", "pending", "unit")
UNITS = ("ns", "bytes", "us", "ticks", "per_second", "count", "ratio", "lines", "locks",
         "hand-overs")
LINE = {
    "sample": re.compile(
        r"sample suite=(\S+) case=(\S+) of=(\S+) what=(\S+) pending=(\d+) "
        rf"unit=({'|'.join(UNITS)}) value=(-?\d+(?:\.\d+)?)"),
    "skip": re.compile(
        r"skip suite=(\S+) case=(\S+) of=(\S+) what=(\S+) pending=(\d+) reason=(\S+)"),
    "begin": re.compile(r"begin suite=(\S+) pending=(\d+)"),
    "end": re.compile(r"end suite=(\S+)"),
    "place-note": re.compile(r"place-note (.+)"),
    "place": re.compile(r"place release=(\S+) cpus=(\d+)"),
}
SIMILAR = re.compile(r".*?\b(sample|skip|begin|end) suite=")


def number(text):
    """Return an int if possible, so that JSON has no fraction."""
    value = float(text)
    return int(value) if value.is_integer() else value


class Log:
    """The output of a guest; figures maps words to a list of values, in order."""

    def __init__(self, lines=()):
        self.figures = {}
        self.skips = []
        self.failures = []
        self.release = None
        self.cpus = None
        self.note = ""
        self.ran = []
        self.suite = None
        self.has_output = False
        for line in lines:
            self.take(line.rstrip())
        self.close_suite()

    def fail(self, text):
        self.failures.append(text)

    def take(self, line):
        text = PREFIX.sub("", line)
        kind = text.split(" ", 1)[0]
        match = kind in LINE and LINE[kind].fullmatch(text)
        if match:
            getattr(self, "take_" + kind.replace("-", "_"))(*match.groups())
        elif SIMILAR.match(text):
            self.fail(f"unreadable: {text}")
        elif "FAILURE:" in text:
            self.fail(text)

    def take_place(self, release, cpus):
        self.release, self.cpus = release, int(cpus)

    def take_place_note(self, note):
        self.note = note

    def take_begin(self, suite, pending):
        self.close_suite()
        self.suite, self.has_output = suite, False
        self.ran.append((suite, int(pending)))

    def is_of(self, suite):
        """Whether the current suite is this one or a part of it."""
        return self.suite == suite or (self.suite or "").startswith(suite + "_")

    def take_sample(self, *words):
        *words, pending, unit, value = words
        if self.suite is None:
            self.fail(f"a sample outside of suites: {' '.join(words)}")
        elif not self.is_of(words[0]):
            return
        self.has_output = True
        key = (*words, int(pending), unit)
        self.figures.setdefault(key, []).append(number(value))

    def take_skip(self, suite, case, of, what, pending, reason):
        if not self.is_of(suite):
            return
        self.has_output = True
        skip = dict(suite=suite, case=case, of=of, what=what, pending=int(pending),
                    reason=reason)
        if skip not in self.skips:
            self.skips.append(skip)

    def take_end(self, suite):
        if suite != self.suite:
            self.fail(f"the end of suite {suite} without a begin")
        elif not self.has_output:
            self.fail(f"suite {suite} has no output")
        self.suite = None

    def close_suite(self):
        """A suite begins or the log ends: the previous suite must have an end."""
        if self.suite is not None:
            suite, pending = self.ran[-1]
            self.fail(f"suite {suite} with {pending} pending has no end")
        self.suite = None

    def check_plan(self, plan):
        """Add a failure for each SUITE:PENDING:REPETITIONS of the plan that did not run."""
        ran = list(self.ran)
        for item in plan:
            suite, pending = item.split(":")[:2]
            if (suite, int(pending)) in ran:
                ran.remove((suite, int(pending)))
            else:
                self.fail(f"suite {suite} with {pending} pending did not run")


def read(path):
    return Log(pathlib.Path(path).read_text(errors="replace").splitlines())
