# SPDX-License-Identifier: GPL-2.0
"""
What the scripts bench-* share: how a log is read, what a result holds, and what is
made of it.  The format is in Documentation/performance.rst.
"""
