# SPDX-License-Identifier: GPL-2.0
"""
Read what the benchmarks said in a guest's log, or on their stdout: samples, skips,
the frame of each suite, and failures.

The guest's job writes "begin suite=S pending=N" before it starts a suite, and the
suite itself "end suite=S" if all went through.  Whatever begins like one of these
lines must be one of them to the end: a figure that can't be read is a failure,
and so is a suite that has no end, or nothing to say, or did not run at all.  What runs as
S_PART is a part of suite S.  What another suite's code says meanwhile was
taken with other parameters than that suite's, and is left out.
"""

import pathlib
import re

# A time of the kernel's, and then a guest's program or twheel_bench itself.
SPEAKER = re.compile(r"^(?:\[ *\d+\.\d+\] )?(?:\| |twheel_bench: )?")
WORDS = ("suite", "case", "of", "what", "pending", "unit")
UNITS = ("ns", "bytes", "us", "ticks", "per_second", "count", "ratio")
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
MEANT = re.compile(r".*?\b(sample|skip|begin|end) suite=")


def number(text):
    """Whole numbers stay whole, in JSON too."""
    value = float(text)
    return int(value) if value.is_integer() else value


class Log:
    """What one guest said; the figures are a dictionary: words -> values in their order."""

    def __init__(self, lines=()):
        self.figures = {}
        self.skips = []
        self.failures = []
        self.release = None
        self.cpus = None
        self.note = ""
        self.ran = []
        self.suite = None
        self.said = False
        for line in lines:
            self.take(line.rstrip())
        self.no_longer()

    def fail(self, text):
        self.failures.append(text)

    def take(self, line):
        text = SPEAKER.sub("", line)
        kind = text.split(" ", 1)[0]
        match = kind in LINE and LINE[kind].fullmatch(text)
        if match:
            getattr(self, "take_" + kind.replace("-", "_"))(*match.groups())
        elif MEANT.match(text):
            self.fail(f"unreadable: {text}")
        elif "FAILURE:" in text:
            self.fail(text)

    def take_place(self, release, cpus):
        self.release, self.cpus = release, int(cpus)

    def take_place_note(self, note):
        self.note = note

    def take_begin(self, suite, pending):
        self.no_longer()
        self.suite, self.said = suite, False
        self.ran.append((suite, int(pending)))

    def is_of(self, suite):
        """Whether it is the suite that runs, or a part of it that runs."""
        return self.suite == suite or (self.suite or "").startswith(suite + "_")

    def take_sample(self, *words):
        *words, pending, unit, value = words
        if self.suite is None:
            self.fail(f"a sample outside of any suite: {' '.join(words)}")
        elif not self.is_of(words[0]):
            return
        self.said = True
        key = (*words, int(pending), unit)
        self.figures.setdefault(key, []).append(number(value))

    def take_skip(self, suite, case, of, what, pending, reason):
        if not self.is_of(suite):
            return
        self.said = True
        skip = dict(suite=suite, case=case, of=of, what=what, pending=int(pending),
                    reason=reason)
        if skip not in self.skips:
            self.skips.append(skip)

    def take_end(self, suite):
        if suite != self.suite:
            self.fail(f"the end of suite {suite}, which had not begun")
        elif not self.said:
            self.fail(f"suite {suite} said nothing")
        self.suite = None

    def no_longer(self):
        """Another suite begins, or the log ends: by then the last one must have ended."""
        if self.suite is not None:
            suite, pending = self.ran[-1]
            self.fail(f"suite {suite} with {pending} pending did not reach its end")
        self.suite = None

    def must_have_run(self, plan):
        """plan: words SUITE:PENDING:REPETITIONS, as the guest's job had it."""
        ran = list(self.ran)
        for item in plan:
            suite, pending = item.split(":")[:2]
            if (suite, int(pending)) in ran:
                ran.remove((suite, int(pending)))
            else:
                self.fail(f"suite {suite} with {pending} pending did not run")


def read(path):
    return Log(pathlib.Path(path).read_text(errors="replace").splitlines())
