# SPDX-License-Identifier: GPL-2.0
"""
Sphinx configuration, for `make htmldocs`: the kernel's own extensions, from the kernel source
in KERNEL_SOURCE.
"""
import os
import sys

source = os.environ["KERNEL_SOURCE"]
top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, source + "/Documentation/sphinx")

project = "twheel"
with open(top + "/VERSION", encoding="ascii") as file:
    version = release = file.read().strip()
extensions = ["kerneldoc", "automarkup"]
exclude_patterns = ["ABI", "performance", "model"]
kerneldoc_bin = source + "/scripts/kernel-doc"
kerneldoc_srctree = top
kerneldoc_verbosity = 1
highlight_language = "none"
html_theme = "alabaster"
html_show_copyright = False
