# SPDX-License-Identifier: LGPL-2.1-or-later
"""
The extension for cells. It needs the headers of Python and of libtwheel, and a compiler; without them
the package is installed without it.
"""

from setuptools import Extension, setup

CELLS = Extension(
    "twheel._cells", ["cells.c"], libraries=["twheel"], py_limited_api=True, optional=True
)

setup(ext_modules=[CELLS], options={"bdist_wheel": {"py_limited_api": "cp311"}})
