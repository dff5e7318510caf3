# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: pictures of calls and events between programs, on a time line that runs down.

    .. sequence:: TITLE

       NAME, NAME, ...      the columns
       NAME -> NAME: TEXT   a call, a signal or an event
       NAME: TEXT           a remark
       NAME x: TEXT         the end of a process
       NAME +: TEXT         a process that begins here, perhaps again

The colours are in twheel.css, those of the theme.
"""
import re
from html import escape

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

WIDTH, HEAD, ROW, LETTER = 420, 34, 40, 7


class Picture:
    """The lines of the text, from the top down."""

    def __init__(self, title, lines):
        names = [name.strip() for name in lines[0].split(",")]
        step = WIDTH / len(names)
        self.title, self.lines, self.step = title, lines[1:], step
        self.x = {name: step * (i + .5) for i, name in enumerate(names)}
        first = {}  # the end or the begin of a process
        for found in filter(None, (re.match(r"([^:>]*) ([x+]):", line) for line in self.lines)):
            first.setdefault(found[1], found[2])
        self.since = {name: HEAD for name in names if first.get(name) != "+"}
        self.parts = [self.box(name, 0, name, "head") for name in self.since]

    def box(self, name, y, text, kind):
        """A box at a column, moved into the picture if its text is longer than the column."""
        width = max(len(text) * LETTER + 14, 40)
        x = min(max(self.x[name], width / 2 + 1), WIDTH - width / 2 - 1)
        return (f'<rect class="{kind}" x="{x - width / 2:g}" y="{y + 5}" width="{width}" '
                f'height="24" rx="5"/><text class="{kind}" x="{x:g}" y="{y + 21}">'
                f'{escape(text)}</text>')

    def arrow(self, here, there, y, text):
        x, end = self.x[here], self.x[there]
        back = 7 if end > x else -7
        half = len(text) * LETTER / 2
        middle = min(max((x + end) / 2, half), WIDTH - half)
        return (f'<path d="M{x:g} {y + 28} H{end:g} m{-back} -4 l{back} 4 l{-back} 4"/>'
                f'<text x="{middle:g}" y="{y + 21}">{escape(text)}</text>')

    def life(self, name, y):
        self.parts.insert(0, f'<path class="life" d="M{self.x[name]:g} {self.since.pop(name)} '
                             f'V{y}"/>')

    def row(self, line, y):
        found = re.fullmatch(r"([^:>]+?)(?: -> ([^:]+)| (x)| (\+))?: (.*)", line)
        if not found or not {found[1], found[2] or found[1]} <= set(self.x):
            raise ExtensionError(f"sequence: {line}")
        name, there, dies, begins, text = found.groups()
        if there:
            return self.arrow(name, there, y, text)
        if dies:
            self.life(name, y + 5)
        if begins:
            self.since[name] = y + 29
        kind = "dead" if dies else "head" if begins else "remark"
        return self.box(name, y, text, kind)

    def svg(self):
        y = HEAD
        for line in self.lines:
            self.parts.append(self.row(line, y))
            y += ROW
        for name in list(self.since):
            self.life(name, y)
        title = escape(self.title)
        return (f'<svg class="sequence" viewBox="0 0 {WIDTH} {y}" role="img" '
                f'aria-label="{title}">{"".join(self.parts)}</svg>')


class Sequence(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        picture = Picture(self.arguments[0], [line for line in self.content if line])
        return [nodes.raw("", picture.svg(), format="html")]


def setup(app):
    app.add_directive("sequence", Sequence)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
