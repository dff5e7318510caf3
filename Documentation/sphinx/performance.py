# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: tables of the figures in Documentation/performance/.

    .. goals:: KIND FILE...             the goals of a kind, bad ones first: see figures.Goal
    .. machines:: FILE...               the machines of the files
    .. peers:: FILE                     the table of bench-peers

A file is named without .txt. A file that does not exist is a sentence, until it is measured.
"""
import subprocess

import figures
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


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


def setup(app):
    app.add_directive("goals", Goals)
    app.add_directive("machines", Machines)
    app.add_directive("peers", Peers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
