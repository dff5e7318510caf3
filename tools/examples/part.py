# SPDX-License-Identifier: GPL-2.0
"""
Print the part of a key, as the servers of NATS compute it:

    part.py KEY
"""

import functools
import sys


def part_of(key: str, parts: int = 12) -> int:
    """Return FNV-1a of 32 bits, modulo the number of parts."""
    return functools.reduce(lambda n, byte: (n ^ byte) * 16777619 % 2**32, key.encode(), 2166136261) % parts


if __name__ == "__main__":
    print(part_of(sys.argv[1]))
