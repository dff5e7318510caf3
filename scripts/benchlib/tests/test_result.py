# SPDX-License-Identifier: GPL-2.0
"""What a result must hold."""

import io
import json
import unittest

from benchlib import result
from benchlib.tests import figure, made_up


class Schema(unittest.TestCase):
    def red(self, whole, words):
        said = result.problems(whole)
        self.assertTrue(any(words in text for text in said), said)

    def test_a_result_in_order_has_no_problem(self):
        self.assertEqual(result.problems(made_up(figure([1, 2, 3]))), [])

    def test_what_is_written_is_read_again(self):
        whole = made_up(figure([1.5, 2]), figure([3], of="hrtimer"), failures=["one"])
        file = io.StringIO()
        result.dump(whole, file)
        self.assertEqual(json.loads(file.getvalue()), whole)

    def test_each_figure_has_a_line_of_its_own(self):
        file = io.StringIO()
        result.dump(made_up(figure([1]), figure([3], of="hrtimer")), file)
        self.assertEqual(sum('"suite"' in line for line in file.getvalue().splitlines()), 2)

    def test_a_field_that_is_missing_is_a_problem(self):
        for name in made_up():
            whole = made_up()
            del whole[name]
            self.red(whole, f"no {name}")

    def test_a_field_that_nobody_knows_is_a_problem(self):
        self.red(made_up(speed=3), "unknown speed")

    def test_a_field_of_another_type_is_a_problem(self):
        self.red(made_up(figure([1]) | {"pending": "1000"}), "pending")
        self.red(made_up(figure([1]) | {"pending": True}), "pending")
        self.red(made_up(machine={}), "machine")

    def test_another_schema_is_a_problem(self):
        self.red(made_up(schema=result.SCHEMA + 1), "schema")

    def test_a_figure_without_values_is_a_problem(self):
        self.red(made_up(figure([1]) | {"values": []}), "values")

    def test_a_median_that_is_not_that_of_the_values_is_a_problem(self):
        self.red(made_up(figure([1, 2, 3]) | {"median": 2.5}), "median")

    def test_a_figure_of_an_unknown_place_is_a_problem(self):
        self.red(made_up(figure([1], place="moon")), "moon")

    def test_an_unknown_unit_is_a_problem(self):
        self.red(made_up(figure([1], unit="hours")), "hours")

    def test_the_same_figure_twice_is_a_problem(self):
        self.red(made_up(figure([1]), figure([2])), "twice")

    def test_what_is_no_object_is_a_problem(self):
        self.red([], "not an object")
        self.red(made_up("nothing"), "not an object")

    def test_the_spread_is_that_of_the_middle_and_no_outlier_s(self):
        self.assertEqual(result.spread_of([10, 10, 10, 10, 1000]), 0)
        self.assertAlmostEqual(result.spread_of([8, 9, 10, 11, 12]), 1.4826)
