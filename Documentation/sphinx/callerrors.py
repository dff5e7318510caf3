# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: the directives `errors`, with the name of a call, and `calls`, a table of all
ioctls, from Documentation/calls.toml; and `numbers`, a table of their numbers, from the header.
"""
import calls
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


class Rendered(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(calls.LIST))
        parsed = nodes.Element()
        self.state.nested_parse(StringList(self.text().splitlines(), str(calls.LIST)), 0, parsed)
        return parsed.children


class Errors(Rendered):
    required_arguments = 1

    def text(self):
        return calls.rst_errors(self.arguments[0])


class Calls(Rendered):
    def text(self):
        return calls.rst_table()


class Numbers(Rendered):
    def text(self):
        return calls.rst_numbers()


def setup(app):
    app.add_directive("errors", Errors)
    app.add_directive("calls", Calls)
    app.add_directive("numbers", Numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
