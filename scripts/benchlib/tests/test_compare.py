# SPDX-License-Identifier: GPL-2.0
"""What counts as moved between two results, and what as noise."""

import unittest

from benchlib import compare
from benchlib.tests import MACHINE, figure, made_up

STEADY = [100, 101, 99, 100, 102]


def moved(old, new, **words):
    return compare.Comparison(made_up(figure(old, **words)), made_up(figure(new, **words)))


class Moving(unittest.TestCase):
    def test_a_result_has_not_moved_from_itself(self):
        found = moved(STEADY, STEADY)
        self.assertEqual((found.moved, len(found.pairs)), ([], 1))

    def test_twice_as_much_has_moved(self):
        found = moved(STEADY, [2 * value for value in STEADY])
        self.assertEqual(len(found.moved), 1)
        self.assertEqual(compare.factor(*found.moved[0]), 2)

    def test_less_than_the_spreads_is_noise(self):
        self.assertEqual(moved([80, 100, 120, 90, 110], [100, 120, 140, 110, 130]).moved, [])

    def test_steps_within_three_spreads_are_noise_even_if_nothing_overlaps(self):
        self.assertEqual(moved([80, 90, 100, 110, 120], [125, 135, 145, 155, 165]).moved, [])

    def test_what_lies_among_the_old_values_is_noise_however_steady(self):
        self.assertEqual(moved([100, 100, 100, 200, 200], [150] * 5).moved, [])

    def test_a_few_percent_are_noise_however_steady(self):
        self.assertEqual(moved([100] * 5, [104] * 5).moved, [])
        self.assertEqual(len(moved([100] * 5, [106] * 5).moved), 1)

    def test_one_outlier_moves_nothing(self):
        self.assertEqual(moved(STEADY, [100, 101, 99, 100, 900]).moved, [])

    def test_too_few_repetitions_are_not_judged(self):
        found = moved([100, 101], [200, 201])
        self.assertEqual((found.moved, len(found.unjudged)), ([], 1))

    def test_bytes_that_are_always_the_same_are_judged_by_one(self):
        found = moved([40], [48], unit="bytes", what="bytes")
        self.assertEqual((len(found.moved), found.unjudged), (1, []))

    def test_from_nothing_to_something_has_moved(self):
        found = moved([0, 0, 0], [5, 5, 5], suite="wakeups", unit="per_second")
        self.assertEqual(len(found.moved), 1)
        self.assertEqual(len(found.worse()), 1)

    def test_from_something_to_nothing_has_moved(self):
        found = moved([5, 5, 5], [0, 0, 0], suite="wakeups", unit="per_second")
        self.assertEqual((len(found.moved), found.worse()), (1, []))

    def test_what_moved_most_comes_first(self):
        pairs = [("add", 120), ("cancel", 20), ("rearm", 300)]
        found = compare.Comparison(
            made_up(*(figure([100] * 3, what=what) for what, _ in pairs)),
            made_up(*(figure([value] * 3, what=what) for what, value in pairs)))
        self.assertEqual([old["what"] for old, _ in found.moved], ["cancel", "rearm", "add"])

    def test_what_only_one_has_is_counted(self):
        found = compare.Comparison(made_up(figure([1]), figure([1], what="cancel")),
                                   made_up(figure([1])))
        self.assertEqual((len(found.pairs), found.gone, found.added), (1, 1, 0))


class Judging(unittest.TestCase):
    def test_more_time_is_worse_and_less_is_not(self):
        self.assertEqual(len(moved(STEADY, [200] * 5).worse()), 1)
        self.assertEqual(len(moved(STEADY, [50] * 5).worse()), 0)

    def test_more_a_second_is_better(self):
        words = {"suite": "scale", "unit": "per_second"}
        self.assertEqual(len(moved(STEADY, [200] * 5, **words).worse()), 0)
        self.assertEqual(len(moved(STEADY, [50] * 5, **words).worse()), 1)

    def test_more_wake_ups_a_second_are_worse(self):
        self.assertEqual(len(moved([1] * 3, [9] * 3, suite="wakeups",
                                   unit="per_second").worse()), 1)

    def test_a_peer_that_got_slower_is_no_regression(self):
        found = moved(STEADY, [200] * 5, of="hrtimer")
        self.assertEqual((len(found.moved), found.worse()), (1, []))

    def test_the_others_tell_how_the_machine_moved(self):
        self.assertEqual(moved(STEADY, [200] * 5, of="hrtimer").peers_factor(), 2)
        self.assertIsNone(moved(STEADY, [200] * 5).peers_factor())

    def test_another_machine_is_named(self):
        other = made_up(machine=MACHINE | {"cpu": "another"})
        self.assertEqual(list(compare.unlike_machines(made_up(), made_up())), [])
        self.assertEqual(len(list(compare.unlike_machines(made_up(), other))), 1)

    def test_another_kernel_is_named(self):
        other = made_up()
        other["places"][0]["release"] = "6.13"
        self.assertEqual(len(list(compare.unlike_machines(made_up(), other))), 1)
