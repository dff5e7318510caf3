# SPDX-License-Identifier: GPL-2.0
"""
Sphinx configuration, for `make htmldocs`: the kernel's own extensions, from the kernel source
in KERNEL_SOURCE, the manual pages, and the figures of the benchmarks.
"""
import os
import sys

source = os.environ["KERNEL_SOURCE"]
top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [source + "/Documentation/sphinx", top + "/Documentation/sphinx", top + "/scripts"]

project = "twheel"
with open(top + "/VERSION", encoding="ascii") as file:
    version = release = file.read().strip()
extensions = ["kerneldoc", "automarkup", "callerrors", "manpages", "performance", "wheel",
              "sequence", "sphinx_inline_tabs"]
exclude_patterns = ["ABI", "performance", "model", "sphinx"]
kerneldoc_bin = source + "/scripts/kernel-doc"
kerneldoc_srctree = top
kerneldoc_verbosity = 1
highlight_language = "none"

# Kernel-doc refers to types and functions of the kernel, which this site does not describe.
nitpicky = True
# The mark of a function for BPF programs.
c_id_attributes = ["__bpf_kfunc", "notrace"]
# A purgatory is an opaque type.
nitpick_ignore_regex = [("c:.*", r"(?!twheel_).*"), ("c:.*", "twheel_purgatory")]

# The :manpage: role refers to the pages that the extension "manpages" adds to the site.
manpages_source = top + "/tools/man"
manpages_url = "man/{page}.{section}.html"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["twheel.css"]
html_title = "twheel"
html_show_copyright = False
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
