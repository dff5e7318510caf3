# SPDX-License-Identifier: GPL-2.0
"""
Common code of the scripts bench-*: parse logs, read and write results, and present them.
Documentation/performance.rst describes the format.
"""
