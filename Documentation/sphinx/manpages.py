# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: adds the manual pages in the folder `manpages_source` to the site, as
man/NAME.SECTION.html, with the errors of the calls.  mandoc converts them. Other pages refer
to them by :manpage:, and the directive `manual-pages` lists them.
"""
import pathlib
import re
import subprocess

import calls
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


class ManualPages(SphinxDirective):
    """A definition list of the pages, with the names that each describes."""

    def lines(self):
        for path in sorted(pathlib.Path(self.config.manpages_source).glob("*.[1-8]")):
            if not path.is_symlink():
                self.env.note_dependency(str(path))
                names, text = re.search(r"^\.SH NAME\n(.*) \\- (.*)$", path.read_text(), re.M).groups()
                section = path.suffix[1:]
                yield ", ".join(f":manpage:`{name}({section})`" for name in names.split(", "))
                yield f"    {text}"

    def run(self):
        parsed = nodes.Element()
        self.state.nested_parse(StringList(list(self.lines()), ""), 0, parsed)
        return parsed.children


def html_of(path):
    """The page as HTML, with headings below that of the page."""
    text = subprocess.run(["mandoc", "-Thtml", "-O", "fragment"], input=calls.man(path),
                          check=True, capture_output=True, text=True).stdout
    return re.sub(r"<(/?)h([12])\b",
                  lambda tag: f"<{tag[1]}h{int(tag[2]) + 1}", text)


def file_of(path):
    """The page with the text: the target of a page that only consists of a .so request."""
    alias = re.match(r"\.so \S*?([^/\s]+)$", path.read_text().strip())
    return path.with_name(alias[1]) if alias else path


def with_links(text, names):
    """Link the references to other pages of the site, which are a bold name and a section."""
    def link(reference):
        page = f"{reference[1]}.{reference[2]}"
        if page not in names:
            return reference[0]
        return f'<a class="Xr" href="{page}.html">{reference[0]}</a>'
    return re.sub(r"<b>([\w.-]+)</b>\((\d)\)", link, text)


def pages(app):
    if app.builder.format != "html":
        return
    found = sorted(pathlib.Path(app.config.manpages_source).glob("*.[1-8]"))
    names = {path.name for path in found}
    for path in found:
        name, section = path.name.rsplit(".", 1)
        body = with_links(html_of(file_of(path)), names - {path.name})
        title = f"{name}({section})"
        yield (f"man/{path.name}",
               {"title": title, "body": f"<h1>{title}</h1>\n{body}"}, "page.html")


def setup(app):
    app.add_config_value("manpages_source", "", "html")
    app.connect("html-collect-pages", pages)
    app.add_directive("manual-pages", ManualPages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
