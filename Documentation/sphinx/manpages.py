# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: adds the manual pages in the folder `manpages_source` to the site, as
man/NAME.SECTION.html, with the errors of the calls.  mandoc converts them. Other pages refer
to them by :manpage:.
"""
import pathlib
import re
import subprocess

import calls


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
    return {"parallel_read_safe": True, "parallel_write_safe": True}
