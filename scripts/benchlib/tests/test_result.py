# SPDX-License-Identifier: GPL-2.0
"""Tests of the validation of results."""

import io
import json
import unittest

from benchlib import result
from benchlib.tests import figure, made_up


class Schema(unittest.TestCase):
    def assert_problem(self, whole, words):
        found = result.problems(whole)
        self.assertTrue(any(words in text for text in found), found)

    def test_valid_result_has_no_problems(self):
        self.assertEqual(result.problems(made_up(figure([1, 2, 3]))), [])

    def test_written_result_is_read_back_unchanged(self):
        whole = made_up(figure([1.5, 2]), figure([3], of="hrtimer"), failures=["one"])
        file = io.StringIO()
        result.dump(whole, file)
        self.assertEqual(json.loads(file.getvalue()), whole)

    def test_each_figure_is_written_on_one_line(self):
        file = io.StringIO()
        result.dump(made_up(figure([1]), figure([3], of="hrtimer")), file)
        self.assertEqual(sum('"suite"' in line for line in file.getvalue().splitlines()), 2)

    def test_missing_field_is_a_problem(self):
        for name in made_up():
            whole = made_up()
            del whole[name]
            self.assert_problem(whole, f"no {name}")

    def test_unknown_field_is_a_problem(self):
        self.assert_problem(made_up(speed=3), "unknown speed")

    def test_field_of_wrong_type_is_a_problem(self):
        self.assert_problem(made_up(figure([1]) | {"pending": "1000"}), "pending")
        self.assert_problem(made_up(figure([1]) | {"pending": True}), "pending")
        self.assert_problem(made_up(machine={}), "machine")

    def test_unknown_schema_is_a_problem(self):
        self.assert_problem(made_up(schema=result.SCHEMA + 1), "schema")

    def test_figure_without_values_is_a_problem(self):
        self.assert_problem(made_up(figure([1]) | {"values": []}), "values")

    def test_wrong_median_is_a_problem(self):
        self.assert_problem(made_up(figure([1, 2, 3]) | {"median": 2.5}), "median")

    def test_figure_of_unknown_place_is_a_problem(self):
        self.assert_problem(made_up(figure([1], place="moon")), "moon")

    def test_unknown_unit_is_a_problem(self):
        self.assert_problem(made_up(figure([1], unit="hours")), "hours")

    def test_duplicate_figure_is_a_problem(self):
        self.assert_problem(made_up(figure([1]), figure([2])), "duplicate")

    def test_non_object_is_a_problem(self):
        self.assert_problem([], "not an object")
        self.assert_problem(made_up("nothing"), "not an object")

    def test_spread_ignores_outlier(self):
        self.assertEqual(result.spread_of([10, 10, 10, 10, 1000]), 0)
        self.assertAlmostEqual(result.spread_of([8, 9, 10, 11, 12]), 1.4826)
