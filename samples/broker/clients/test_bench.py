# SPDX-License-Identifier: GPL-2.0
"""A short run of the comparison with the heap; the figures are not judged."""

import pathlib
import re
import subprocess
import unittest

BENCH = pathlib.Path(__file__).with_name("bench")


class Bench(unittest.TestCase):
    def test_bench_prints_all_figures(self):
        done = subprocess.run([BENCH, "--requests", "5", "--rounds", "1"], check=True,
                              text=True, timeout=500, stdout=subprocess.PIPE)
        rows = re.findall(r"^(.+?)  +(heap|twheel.*?)" + r"  +([\d.]+)" * 4 + "$",
                          done.stdout, re.M)
        self.assertEqual([row[:2] for row in rows], [
            (request, broker)
            for request in ("produce with acks=all", "waiting fetch")
            for broker in ("heap", "twheel", "twheel, 3 workers")])
        # Each request costs at least a read and a write.
        self.assertTrue(all(float(row[-1]) >= 2 for row in rows))
