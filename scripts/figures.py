#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Figures of the benchmarks: read logs, write and read files of figures, and judge them by the goals.
Used by bench, bench-peers and htmldocs.

    figures.py result FILE PLACE=LOG...   write the figures of logs of benchmarks to a file, even if a
                                          suite failed, which is an error
    figures.py table FILE...              print files as tables: the goals, then each suite
    figures.py needed FILE                print only the comments, and the figures that goals refer to
    figures.py exact FILE RESULT          compare the figures of bench/exact.txt with those of a result:
                                          print pass, fail or skip, a tab and the figure for each
    figures.py update FILE RESULT         write those of the result to the file

A file of figures has a figure per line, and comments that begin with #.  The columns are those
of Figure; without a minimum and a maximum there was a single value, or all were the same.
"""

import datetime
import os
import pathlib
import re
import statistics
import subprocess
import sys
from typing import NamedTuple

TOP = pathlib.Path(__file__).resolve().parent.parent
FOLDER = TOP / "Documentation/performance"
GOALS = FOLDER / "goals.txt"

UNITS = ("ns", "us", "instructions", "lines", "locks", "hand-overs", "bytes", "ticks",
         "per_second", "count", "ratio")


class Figure(NamedTuple):
    """A figure: its key, which is the first seven columns, and its values."""
    place: str
    suite: str
    case: str
    of: str
    what: str
    pending: int
    unit: str
    median: float
    low: float
    high: float

    @property
    def key(self):
        return self[:7]

    def __str__(self):
        values = [self.median] if self.low == self.high else self[7:]
        return " ".join(map(str, [*self[:7], *map(plain, values)]))


def plain(value):
    """A number with at most four digits after the point, and without a superfluous one."""
    return f"{round(value, 4):.10g}" if value != int(value) else str(int(value))


def short(value):
    """A number with three digits; larger numbers keep their integer part."""
    if value == int(value) or abs(value) >= 100:
        return f"{round(value):,}"
    return f"{value:.3g}"


def aligned(rows):
    """The rows of a table as lines with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()


def figure_of(words):
    """Parse the columns of a figure."""
    if len(words) not in (8, 10) or words[6] not in UNITS:
        raise ValueError
    values = [float(word) for word in words[7:]]
    return Figure(*words[:5], int(words[5]), words[6], *(values if values[1:] else values * 3))


class Figures:
    """The figures of a file by key, and its comments."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.comments, self.by_key = [], {}
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            text, mark, comment = line.partition("#")
            if mark:
                self.comments.append(comment.strip())
            if not text.strip():
                continue
            try:
                figure = figure_of(text.split())
            except ValueError:
                sys.exit(f"{path}:{number}: not a figure: {text.strip()}")
            if figure.key in self.by_key:
                sys.exit(f"{path}:{number}: a second {' '.join(map(str, figure.key))}")
            self.by_key[figure.key] = figure

    def find(self, path):
        """
        The figure of a path of five or six parts, as in goals.txt. A part may have alternatives:
        a|b. If several figures match, those with the most pending are taken, and of these the
        lowest.
        """
        wanted = [part.split("|") for part in path]
        found = [figure for key, figure in self.by_key.items()
                 if all(str(word) in words for word, words in zip(key, wanted))]
        most = max((figure.pending for figure in found), default=0)
        return min((figure for figure in found if figure.pending == most),
                   key=lambda figure: figure.median, default=None)


# Logs

# The timestamp of the kernel, and the prefix of a guest program or of twheel_bench.
PREFIX = re.compile(r"^(?:\[ *\d+\.\d+\] )?(?:\| |twheel_bench: )?")
KEY = r"suite=(\S+) case=(\S+) of=(\S+) what=(\S+) pending=(\d+)"
LINES = {
    "sample": re.compile(rf"sample {KEY} unit=({'|'.join(UNITS)}) value=(-?\d+(?:\.\d+)?)"),
    "skip": re.compile(rf"skip {KEY} reason=(\S+)"),
    "begin": re.compile(r"begin suite=(\S+) pending=\d+"),
    "end": re.compile(r"end suite=(\S+)"),
    "place-note": re.compile(r"place-note (.+)"),
    "place": re.compile(r"place release=(\S+) cpus=(\d+)"),
}
SIMILAR = re.compile(r".*?\b(sample|skip|begin|end) suite=")


def read_log(place, lines):
    """
    The figures, comments and failures of the output of a place.

    "begin suite=S pending=N" precedes the lines of a suite, and "end suite=S" follows if it
    succeeded. Lines of other suites in between are ignored. A malformed line is a failure, and so
    is a suite without an end or without output.
    """
    values, notes, skips, failures, current, has_output = {}, [], {}, [], None, False
    for line in lines:
        text = PREFIX.sub("", line.rstrip())
        kind = text.split(" ", 1)[0]
        match = kind in LINES and LINES[kind].fullmatch(text)
        words = match.groups() if match else ()
        if not match and SIMILAR.match(text):
            failures.append(f"unreadable: {text}")
        elif not match and "FAILURE:" in text:
            failures.append(text.partition("FAILURE:")[2].strip())
        elif kind == "place" and match:
            notes.append(f"Linux {words[0]}, CPUs: {words[1]}")
        elif kind == "place-note" and match:
            notes.append(words[0])
        elif kind in ("begin", "end") and match:
            if kind == "begin" and current:
                failures.append(f"suite {current} has no end")
            elif kind == "end" and current != words[0]:
                failures.append(f"the end of suite {words[0]} without a begin")
            elif kind == "end" and not has_output:
                failures.append(f"suite {current} has no output")
            current, has_output = words[0] if kind == "begin" else None, False
        elif match and not current:
            failures.append(f"outside of suites: {text}")
        elif match and current == words[0]:
            has_output = True
            if kind == "sample":
                values.setdefault(words[:6], []).append(float(words[6]))
            else:
                skips[f"skipped: {place} {' '.join(words[:5])}: {words[5].replace('-', ' ')}"] = 1
    if current:
        failures.append(f"suite {current} has no end")
    if not values and not skips:
        failures.append("no figures")
    return ([Figure(place, *words[:4], int(words[4]), words[5], statistics.median(found),
                    min(found), max(found)) for words, found in values.items()],
            [f"{place}: {', '.join(notes)}", *skips],
            [f"FAILURE: {place}: {text}" for text in failures])


# Goals

class Goal(NamedTuple):
    """
    A line of goals.txt: the name, the limit, the figure, the peers and the description.

    The comment at the beginning of goals.txt describes them.
    """
    name: str
    limit: str
    figure: str
    peers: str
    about: str

    @property
    def kind(self):
        """The table of the goal."""
        place = self.figure.split("/")[0]
        if place == "peers" or self.limit == "-":
            return "peers" if place == "peers" else "ratios"
        return "exact" if place.startswith("exact") or place == "rig" else "native"

    @property
    def relative(self):
        return self.limit.endswith("x")

    @property
    def bound(self):
        number, _, divisor = self.limit[2:].rstrip("x").partition("/")
        return float(number) / float(divisor or 1)

    def wanted(self, files):
        if self.limit == "-":
            return ""
        text = "at most " if self.limit.startswith("<=") else "at least "
        limit = self.limit[2:].rstrip("x")
        found = [ours.unit for ours, _ in map(self.figures_of, files) if ours]
        unit = f" {found[0].replace('_', ' ')}" if found and found[0] != "ratio" else ""
        return text + (limit if "/" in limit else short(float(limit))) + (
            "" if self.relative else unit)

    def path_of(self, peer):
        """The path of a peer."""
        path = self.figure.split("/")
        parts = peer.split("/")
        if len(parts) == 1:
            parts.insert(0, path[2])
        if len(parts) > 4:
            return parts
        return [*path[:2], *parts, *path[2 + len(parts):]]

    def figures_of(self, figures):
        """The figure of the goal, and those of the peers that were measured, best first."""
        paths = map(self.path_of, self.peers.split(",") if self.peers != "-" else [])
        peers = [peer for peer in map(figures.find, paths) if peer]
        return figures.find(self.figure.split("/")), sorted(peers, key=lambda peer: peer.median)

    def value(self, figures):
        """The figure, or its ratio to the best peer; None if it was not measured."""
        ours, peers = self.figures_of(figures)
        if not ours:
            return None
        if self.relative or self.limit == "-":
            return ours.median / peers[0].median if peers and peers[0].median else None
        return ours.high if ours.what == "longest" else ours.median

    def cell(self, figures):
        """The value as text, with those of the peers."""
        value = self.value(figures)
        if value is None:
            return "-"
        ours, peers = self.figures_of(figures)
        if self.relative or self.limit == "-":
            text = f"{value:.2g}" if value < 0.1 else f"{value:.2f}"
            return text + f" ({short(ours.median)} : {short(peers[0].median)} {ours.unit})"
        notes = ", ".join(f"{peer.of} {short(peer.median)}" for peer in peers)
        return short(value) + (f" ({notes})" if notes else "")

    def excess(self, files):
        """By which factor the worst value misses the goal: reached up to 1; None if unknown."""
        found = []
        for value in map(self.value, files):
            if value is None or self.limit == "-":
                continue
            over, under = ((self.bound, value) if self.limit.startswith(">=")
                           else (value, self.bound))
            found.append(over / under if under else float("inf") if over else 1)
        return max(found, default=None)

    def verdict(self, files):
        worst = self.excess(files)
        if self.limit == "-":
            return ""
        # A tenth of a per cent is less than any figure can tell.
        return "not measured" if worst is None else "missed" if worst > 1.001 else "reached"

    def order(self, files):
        """The key to sort goals: missed ones first, the worst of them at the top."""
        verdict = self.verdict(files)
        worst = self.excess(files) if verdict == "missed" else 0
        return ("", "missed", "not measured", "reached").index(verdict), -worst


def goals(kind=None, path=GOALS):
    """The goals of a kind, or all, in the order of the file."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 4)
        if len(words) != 5 or not re.fullmatch(r"-|[<>]=[\d.]+(/\d+)?x?", words[1]) or \
                len(words[2].split("/")) not in (5, 6):
            sys.exit(f"{path}:{number}: not a goal: {line}")
        found.append(Goal(*words))
    return [goal for goal in found if kind in (None, goal.kind)]


def goal_rows(wanted, files):
    """A table of goals: the missed ones first."""
    yield ["goal", "figure", "wanted", *(figures.path.stem for figures in files), ""]
    for goal in sorted(wanted, key=lambda goal: goal.order(files)):
        yield [goal.name, goal.about, goal.wanted(files),
               *(goal.cell(figures) for figures in files), goal.verdict(files)]


def needed(figures):
    """The figures of a file that a goal refers to, in the order of the goals."""
    found = {}
    for goal in goals():
        ours, peers = goal.figures_of(figures)
        found.update((figure.key, figure) for figure in filter(None, [ours, *peers]))
    return found.values()


# Tables

def in_order(items):
    return list(dict.fromkeys(items))


def suite_rows(figures, place, suite):
    """A table of a suite: a row for each figure, a column for each contender."""
    found = [figure for figure in figures.by_key.values() if figure[:2] == (place, suite)]
    contenders = sorted(in_order(figure.of for figure in found),
                        key=lambda of: not of.startswith("twheel"))
    yield ["case", "figure", "pending", "unit", *contenders]
    rows = {}
    for figure in found:
        row = (figure.case, figure.what, f"{figure.pending:,}", figure.unit)
        rows.setdefault(row, {})[figure.of] = short(figure.median)
    for row, cells in rows.items():
        yield [*row, *(cells.get(of, "") for of in contenders)]


# Commands

def text_of(path):
    try:
        return pathlib.Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def facts():
    """The version, the date and the machine, with the sizes of the data caches of CPU 0."""
    described = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"],
                               check=False, capture_output=True, text=True).stdout.strip()
    cpuinfo = dict(re.findall(r"^([^\t:]+)\t*: *(.*)$", text_of("/proc/cpuinfo"), re.M))
    gib = int(re.search(r"MemTotal: *(\d+)", text_of("/proc/meminfo"))[1]) / 2 ** 20
    caches = sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    yield f"twheel {described or 'unknown'}, {datetime.date.today()}"
    yield ", ".join([
        f"{cpuinfo.get('model name', 'unknown')} (family {cpuinfo.get('cpu family')}, "
        f"model {cpuinfo.get('model')})", f"CPUs: {len(os.sched_getaffinity(0))}",
        *(f"L{text_of(index / 'level')} {text_of(index / 'size')}" for index in caches
          if text_of(index / "type") != "Instruction"),
        f"{gib:.0f} GiB", f"Linux {os.uname().release}",
        *(["a virtual machine"] if " hypervisor" in cpuinfo.get("flags", "") else []),
        *([f"load before: {os.environ['LOAD']}"] if "LOAD" in os.environ else [])])
    if os.environ.get("QUICK", "0") not in ("", "0"):
        yield "a smoke test: do not use these figures"


def write(path, comments, figures):
    pathlib.Path(path).write_text("".join([*(f"# {line}\n" for line in comments),
                                           *(f"{figure}\n" for figure in figures)]))


def write_result(path, *words):
    """Of each PLACE=LOG."""
    comments, found, failures = list(facts()), [], []
    for word in words:
        place, log = word.split("=", 1)
        figures, notes, failed = read_log(place, text_of(log).splitlines())
        comments += notes
        failures += failed
        found += figures
    write(path, comments + failures, found)
    print("".join(f"{line}\n" for line in failures), end="")
    sys.exit(bool(failures))


# The comment at the beginning of bench/exact.txt describes it.
TOLERANCE = 1.02


def exact(path, result_path):
    """The lowest value of the repetitions counts: deferred work of the kernel only adds to it."""
    found = Figures(result_path).by_key
    for key, figure in Figures(path).by_key.items():
        value = found[key].low if key in found else None
        outcome = ("fail" if value is None or value > TOLERANCE * figure.median else
                   "skip" if value < figure.median / TOLERANCE else "pass")
        print(outcome, f"{' '.join(map(str, key))}: {value or 'nothing'} instead of {figure.median}",
              sep="\t")


def update(path, result_path):
    found = Figures(result_path).by_key
    lines = pathlib.Path(path).read_text().splitlines()
    for number, line in enumerate(lines):
        key = figure_of(line.split()).key if line and not line.startswith("#") else None
        if key in found:
            value = found[key].low
            lines[number] = " ".join(map(str, [*key, plain(value if value < 100 else round(value))]))
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def table(*paths):
    files = [Figures(path) for path in paths]
    measured = [goal for goal in goals() if any(goal.value(file) is not None for file in files)]
    print(*aligned(list(goal_rows(measured, files))), "", sep="\n")
    others = in_order(goal.name for goal in goals() if goal not in measured)
    print("not or only partly measured:", ", ".join(others) or "none")
    for file in files:
        print("", file.path, *(f"  {line}" for line in file.comments), sep="\n")
        for place, suite in in_order(key[:2] for key in file.by_key):
            print("", f"{suite}, at {place}", *aligned(list(suite_rows(file, place, suite))),
                  sep="\n")


def main():
    match sys.argv[1:]:
        case ["result", path, word, *words]:
            write_result(path, word, *words)
        case ["table", path, *paths]:
            table(path, *paths)
        case ["exact", path, result_path]:
            exact(path, result_path)
        case ["update", path, result_path]:
            update(path, result_path)
        case ["needed", path]:
            file = Figures(path)
            print(*(f"# {line}" for line in file.comments if not line.startswith("skipped")),
                  *needed(file), sep="\n")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
