# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: adds the manual pages in the folder `manpages_source` to the site, as
man/NAME.SECTION.html.  mandoc converts them.  Other pages refer to them by :manpage:.
"""
import pathlib
import re
import subprocess


def html_of(path):
    """The page as HTML, with links to the other pages, and headings below that of the page."""
    text = subprocess.run(["mandoc", "-Thtml", "-O", "fragment,man=%N.%S.html", path],
                          check=True, capture_output=True, text=True).stdout
    return re.sub(r"<(/?)h([12])\b",
                  lambda tag: f"<{tag[1]}h{int(tag[2]) + 1}", text)


def file_of(path):
    """The page with the text: the target of a page that only consists of a .so request."""
    alias = re.match(r"\.so \S*?([^/\s]+)$", path.read_text().strip())
    return path.with_name(alias[1]) if alias else path


def without_missing(text, names):
    """Remove links to pages of other packages."""
    return re.sub(r'<a class="Xr" href="([^"#]+)\.html">(.*?)</a>',
                  lambda link: link[0] if link[1] in names else link[2], text)


def pages(app):
    if app.builder.format != "html":
        return
    found = sorted(pathlib.Path(app.config.manpages_source).glob("*.[1-8]"))
    names = {path.name for path in found}
    for path in found:
        name, section = path.name.rsplit(".", 1)
        body = without_missing(html_of(file_of(path)), names)
        title = f"{name}({section})"
        yield (f"man/{path.name}",
               {"title": title, "body": f"<h1>{title}</h1>\n{body}"}, "page.html")


def setup(app):
    app.add_config_value("manpages_source", "", "html")
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
