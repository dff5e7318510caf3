# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: tables and plots of the figures in Documentation/performance/.

    .. goals:: KIND FILE...             the goals of a kind, bad ones first: see figures.Goal
    .. machines:: FILE...               the machines of the files
    .. peers:: FILE                     the table of bench-peers
    .. rates:: FILE                     jobs a second of some of these, on the machine of the file
    .. costs:: FILE SUITE               plots of the cost of each figure over the number pending

A file is named without .txt. A file that does not exist is a sentence, until it is measured.
"""
import math
import subprocess

import figures
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

COLOURS = ("#d1495b", "#0077b6", "#2a9d8f", "#8d6cab", "#bc6c25")
WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT, TOP = 360, 300, 50, 55, 20, 45


def list_table(rows):
    """A list-table, since its cells may be of any width. The first row is the header."""
    yield from ("", ".. list-table::", "   :header-rows: 1", "")
    for cells in rows:
        for i, cell in enumerate(cells):
            # A dash would be a list.
            text = "\\-" if cell == "-" else cell
            yield f"   {'* -' if i == 0 else '  -'} {text}".rstrip()
    yield ""


class Base(SphinxDirective):
    """A directive that writes reStructuredText."""
    required_arguments = 1
    final_argument_whitespace = True

    def file(self, name):
        path = figures.FOLDER / f"{name}.txt"
        self.env.note_dependency(str(path))
        return figures.Figures(path) if path.exists() else None

    def run(self):
        self.env.note_dependency(str(figures.GOALS))
        self.env.note_dependency(figures.__file__)
        node = nodes.container()
        self.state.nested_parse(StringList(list(self.lines(*self.arguments[0].split())), ""),
                                self.content_offset, node)
        return node.children


class Goals(Base):
    def lines(self, kind, *names):
        files = [file for file in map(self.file, names) if file]
        rows = list(figures.goal_rows(figures.goals(kind), files))
        # The ratios have no limits.
        shown = [i for i, title in enumerate(rows[0])
                 if kind != "ratios" or title not in ("wanted", "")]
        yield from list_table([[row[i] for i in shown] for row in rows])


class Machines(Base):
    def lines(self, *names):
        for name in names:
            yield f"``{name}`` (:download:`{name}.txt <performance/{name}.txt>`)"
            yield from (f"   | {line}" for line in self.file(name).comments)
        yield ""


class Peers(Base):
    def lines(self, name):
        found = self.file(name)
        if not found:
            yield f"``{name}.txt`` was not measured yet."
            return
        table = subprocess.run([figures.TOP / "scripts/bench-peers", "--table", found.path],
                               check=True, capture_output=True, text=True).stdout
        yield from ("", *table.splitlines(), "")


class Rates(Base):
    rows = (("twheel_kernel", "twheel, in the kernel"),
            ("twheel_device", "twheel, from programs in C, 64 calls at once"),
            ("twheel_python", "twheel, from programs in Python, likewise"),
            ("heap_timerfd", "a heap in the process, in C"),
            ("asyncio", "a heap in the process, in Python (asyncio)"))
    jobs = ("timeouts", "sessions", "quorum")

    def lines(self, name):
        found = self.file(name)
        cpu = {(figure.of, figure.case): figure.median for figure in found.by_key.values()
               if figure.what == "cpu"}
        rows = [["a second, on one CPU", "timeouts", "heartbeats", "waits for 2 of 3 keys"]]
        rows += [[title, *(f"{float(f'{1e9 / cpu[of, job]:.2g}'):,.0f}" for job in self.jobs)]
                 for of, title in self.rows]
        yield from list_table(rows)
        yield f"The machine: {'; '.join(found.comments[1:] or found.comments)}."
        yield ""


def scale(low, high, size):
    """A logarithmic axis: the position of a value, and the powers of ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last += first == last
    return (lambda value: size * (math.log10(value) - first) / (last - first),
            [10 ** power for power in range(first, last + 1)])


def plot(title, curves, colours):
    """An SVG group: a curve for each contender, as a list of pending and median."""
    points = [point for curve in curves.values() for point in curve]
    x_of, x_ticks = scale(min(x for x, _ in points), max(x for x, _ in points),
                          WIDTH - LEFT - RIGHT)
    y_of, y_ticks = scale(min(y for _, y in points), max(y for _, y in points),
                          HEIGHT - TOP - BOTTOM)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    yield f'<text x="{LEFT}" y="18" font-weight="bold">{title}</text>'
    for tick in x_ticks:
        yield (f'<text x="{LEFT + x_of(tick):.1f}" y="{bottom + 18}" text-anchor="middle">'
               f'1e{round(math.log10(tick))}</text>')
    for tick in y_ticks:
        y = bottom - y_of(tick)
        yield f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>'
    yield (f'<text x="{(LEFT + right) / 2}" y="{bottom + 36}" text-anchor="middle">'
           'pending</text>')
    for at, (of, curve) in enumerate(curves.items()):
        dots = [(LEFT + x_of(x), bottom - y_of(y)) for x, y in curve]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        yield f'<polyline points="{line}" fill="none" stroke="{colours[of]}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[of]}"/>'
                    for x, y in dots)
        yield f'<text x="{LEFT + 90 * at}" y="34" fill="{colours[of]}">{of}</text>'


class Costs(Base):
    def run(self):
        name, suite = self.arguments[0].split()
        curves = {}
        for figure in self.file(name).by_key.values():
            if figure.suite == suite and figure.unit == "ns":
                title = f"{figure.case}: {figure.what.replace('_', ' ')}, ns"
                curves.setdefault(title, {}).setdefault(figure.of, []).append(
                    (figure.pending, figure.median))
        curves = {title: found for title, found in curves.items()
                  if all(len(curve) > 2 for curve in found.values())}
        contenders = figures.in_order(of for found in curves.values() for of in found)
        colours = dict(zip(contenders, COLOURS))
        panels = "".join(f'<g transform="translate({WIDTH * at} 0)">'
                         + "".join(plot(title, found, colours)) + "</g>"
                         for at, (title, found) in enumerate(curves.items()))
        svg = (f'<svg class="curves" viewBox="0 0 {WIDTH * len(curves)} {HEIGHT}" role="img" '
               f'aria-label="{suite} on {name}" font-size="13" fill="#333">{panels}</svg>')
        return [nodes.raw("", svg, format="html")]


def setup(app):
    app.add_directive("goals", Goals)
    app.add_directive("machines", Machines)
    app.add_directive("peers", Peers)
    app.add_directive("rates", Rates)
    app.add_directive("costs", Costs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
