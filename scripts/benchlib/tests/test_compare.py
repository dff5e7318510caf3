# SPDX-License-Identifier: GPL-2.0
"""Tests of the comparison of two results."""

import unittest

from benchlib import compare
from benchlib.tests import MACHINE, figure, made_up

STEADY = [100, 101, 99, 100, 102]


def moved(old, new, **words):
    return compare.Comparison(made_up(figure(old, **words)), made_up(figure(new, **words)))


class Moving(unittest.TestCase):
    def test_result_compared_with_itself_has_not_moved(self):
        found = moved(STEADY, STEADY)
        self.assertEqual((found.moved, len(found.pairs)), ([], 1))

    def test_doubled_figure_has_moved(self):
        found = moved(STEADY, [2 * value for value in STEADY])
        self.assertEqual(len(found.moved), 1)
        self.assertEqual(compare.factor(*found.moved[0]), 2)

    def test_change_within_spreads_is_noise(self):
        self.assertEqual(moved([80, 100, 120, 90, 110], [100, 120, 140, 110, 130]).moved, [])

    def test_change_within_three_spreads_is_noise_without_overlap(self):
        self.assertEqual(moved([80, 90, 100, 110, 120], [125, 135, 145, 155, 165]).moved, [])

    def test_steady_value_among_old_values_is_noise(self):
        self.assertEqual(moved([100, 100, 100, 200, 200], [150] * 5).moved, [])

    def test_change_of_few_percent_is_noise(self):
        self.assertEqual(moved([100] * 5, [104] * 5).moved, [])
        self.assertEqual(len(moved([100] * 5, [106] * 5).moved), 1)

    def test_single_outlier_is_noise(self):
        self.assertEqual(moved(STEADY, [100, 101, 99, 100, 900]).moved, [])

    def test_figure_with_too_few_repetitions_is_not_judged(self):
        found = moved([100, 101], [200, 201])
        self.assertEqual((found.moved, len(found.unjudged)), ([], 1))

    def test_constant_bytes_are_judged_with_one_value(self):
        found = moved([40], [48], unit="bytes", what="bytes")
        self.assertEqual((len(found.moved), found.unjudged), (1, []))

    def test_increase_from_zero_has_moved(self):
        found = moved([0, 0, 0], [5, 5, 5], suite="wakeups", unit="per_second")
        self.assertEqual(len(found.moved), 1)
        self.assertEqual(len(found.worse()), 1)

    def test_decrease_to_zero_has_moved(self):
        found = moved([5, 5, 5], [0, 0, 0], suite="wakeups", unit="per_second")
        self.assertEqual((len(found.moved), found.worse()), (1, []))

    def test_moved_figures_are_sorted_by_size(self):
        pairs = [("add", 120), ("cancel", 20), ("rearm", 300)]
        found = compare.Comparison(
            made_up(*(figure([100] * 3, what=what) for what, _ in pairs)),
            made_up(*(figure([value] * 3, what=what) for what, value in pairs)))
        self.assertEqual([old["what"] for old, _ in found.moved], ["cancel", "rearm", "add"])

    def test_unpaired_figures_are_counted(self):
        found = compare.Comparison(made_up(figure([1]), figure([1], what="cancel")),
                                   made_up(figure([1])))
        self.assertEqual((len(found.pairs), found.gone, found.added), (1, 1, 0))


class Judging(unittest.TestCase):
    def test_increase_of_time_is_worse(self):
        self.assertEqual(len(moved(STEADY, [200] * 5).worse()), 1)
        self.assertEqual(len(moved(STEADY, [50] * 5).worse()), 0)

    def test_increase_of_throughput_is_better(self):
        words = {"suite": "scale", "unit": "per_second"}
        self.assertEqual(len(moved(STEADY, [200] * 5, **words).worse()), 0)
        self.assertEqual(len(moved(STEADY, [50] * 5, **words).worse()), 1)

    def test_increase_of_wakeup_rate_is_worse(self):
        self.assertEqual(len(moved([1] * 3, [9] * 3, suite="wakeups",
                                   unit="per_second").worse()), 1)

    def test_slower_peer_is_no_regression(self):
        found = moved(STEADY, [200] * 5, of="hrtimer")
        self.assertEqual((len(found.moved), found.worse()), (1, []))

    def test_peers_factor_is_ratio_of_peers(self):
        self.assertEqual(moved(STEADY, [200] * 5, of="hrtimer").peers_factor(), 2)
        self.assertIsNone(moved(STEADY, [200] * 5).peers_factor())

    def test_different_machine_is_reported(self):
        other = made_up(machine=MACHINE | {"cpu": "another"})
        self.assertEqual(list(compare.machine_differences(made_up(), made_up())), [])
        self.assertEqual(len(list(compare.machine_differences(made_up(), other))), 1)

    def test_different_kernel_is_reported(self):
        other = made_up()
        other["places"][0]["release"] = "6.13"
        self.assertEqual(len(list(compare.machine_differences(made_up(), other))), 1)
