# SPDX-License-Identifier: GPL-2.0
"""Tests of the presentation: tables, goals, plots and the published page."""

import pathlib
import unittest

from benchlib import goals, overview, plot, publish, result, table
from benchlib.tests import figure, made_up

DOCUMENTATION = pathlib.Path(__file__).resolve().parents[3] / "Documentation"


class Tables(unittest.TestCase):
    def lines(self, *figures, **changed):
        return list(table.lines(made_up(*figures, **changed)))

    def row(self, contender, *figures, **changed):
        return next(line for line in self.lines(*figures, **changed)
                    if line.split()[2:3] == [contender])

    def test_cell_has_median_minimum_and_maximum(self):
        self.assertIn("20 (10-40)", self.row("twheel", figure([10, 20, 40])))

    def test_cell_of_peer_has_ratio(self):
        row = self.row("hrtimer", figure([10]), figure([40], of="hrtimer"))
        self.assertIn("40 x0.25", row)

    def test_cell_of_machine_has_no_ratio(self):
        self.assertNotIn("x0.25", self.row("machine", figure([10]), figure([40], of="machine")))

    def test_emulated_figure_is_labelled(self):
        self.assertIn("ns emulated", self.row("twheel", figure([10], place="6.12")))
        self.assertNotIn("emulated", self.row("twheel", figure([10])))

    def test_skip_is_listed_with_reason(self):
        skip = {"place": "uml", "suite": "timer", "case": "mixed", "of": "hrtimer", "what": "add",
                "pending": 1000000, "reason": "no-memory"}
        lines = self.lines(figure([1]), figure([2], pending=1000000), figure([3], of="hrtimer"),
                           skips=[skip])
        self.assertTrue(any(line.startswith("cannot: hrtimer") and line.endswith("no memory")
                            for line in lines))
        self.assertTrue(any("hrtimer" in line and "cannot" in line for line in lines))

    def test_machine_is_in_first_line(self):
        self.assertIn("made up, 2 CPUs", self.lines()[0])


class GoalTables(unittest.TestCase):
    def test_every_goal_has_an_rst_row(self):
        lines = list(goals.rst_lines(list(goals.lines({"a": made_up()}))))
        for i in range(1, 15):
            self.assertIn(f"   * - B{i}", lines)

    def test_rst_rows_have_equal_number_of_cells(self):
        table = list(goals.lines({"a": made_up(figure([1])), "b": made_up()}))
        lines = list(goals.rst_lines(table))[3:]
        starts = [i for i, line in enumerate(lines) if line.startswith("   * -")]
        self.assertEqual({b - a for a, b in zip(starts, starts[1:])}, {7})

    def test_each_machine_has_a_column(self):
        table = list(goals.lines({"a": made_up(), "other": made_up()}))
        self.assertIn("     - other", list(goals.rst_lines(table)))
        self.assertIn("other", next(goals.text_lines(table)).split())


class Overview(unittest.TestCase):
    def rows(self, **results):
        return list(overview.lines(results))

    def test_each_job_has_a_row(self):
        starts = [line for line in self.rows(a=made_up()) if line.startswith("   * -")]
        self.assertEqual(len(starts), 1 + len(overview.JOBS))

    def test_cell_is_ratio_to_alternative(self):
        heartbeat = [figure([value], case="heartbeat", what="rearm_later", of=of, pending=1000000)
                     for of, value in (("twheel", 30), ("timer_list", 100))]
        self.assertIn("     - 0.30", self.rows(a=made_up(), b=made_up(*heartbeat)))

    def test_missing_figure_is_shown_as_dash(self):
        self.assertEqual(self.rows(a=made_up()).count("     - \\-"), len(overview.JOBS))


class Plots(unittest.TestCase):
    FIGURES = [figure([value], of=of, pending=pending) for of in ("twheel", "hrtimer")
               for value, pending in ((10, 1000), (20, 1000000))]

    def test_each_contender_has_a_curve(self):
        script = plot.scripts(made_up(*self.FIGURES))["timer-uml"]
        self.assertIn('title "twheel"', script)
        self.assertIn('title "hrtimer"', script)

    def test_emulated_plot_is_labelled_in_title(self):
        native = plot.scripts(made_up(*self.FIGURES))["timer-uml"]
        emulated = plot.scripts(made_up(*(value | {"place": "6.12"} for value in self.FIGURES)))
        self.assertNotIn("EMULATED", native)
        self.assertIn("EMULATED", emulated["timer-6_12"])

    def test_zero_figure_is_omitted_from_logarithmic_plot(self):
        zero = figure([0], what="cancel")
        self.assertNotIn("cancel", plot.scripts(made_up(*self.FIGURES, zero))["timer-uml"])

    def test_expiry_is_plotted_with_other_costs(self):
        burst = figure([5], what="expire", case="burst")
        self.assertIn('title "expire"', plot.scripts(made_up(*self.FIGURES, burst))["timer-uml"])

    def test_ticks_are_within_axis(self):
        self.assertEqual(plot.ticks(15, 130), [20, 50, 100])
        self.assertEqual(plot.ticks(1, 100000), [1, 10, 100, 1000, 10000, 100000])

    def test_horizon_is_parsed_from_case(self):
        self.assertEqual([plot.horizon_ns(case) for case in ("10ms", "1s", "1h", "idle", "-")],
                         [10 ** 7, 10 ** 9, 3600 * 10 ** 9, None, None])

    def test_quoted_text_is_escaped(self):
        self.assertEqual(plot.quoted('a"b\\c\nd'), '"a\\"b\\\\c\\nd"')


class Pages(unittest.TestCase):
    PAGE = (f"before\n{publish.COMPARISON[0]}old\n{publish.COMPARISON[1]}between\n"
            f"{publish.GOALS[0]}old\n{publish.GOALS[1]}after\n")
    RESULTS = {"a": made_up(figure([1])), "b": made_up(date="2021-01-01T00:00:00+00:00")}

    def test_page_is_replaced_between_marks_only(self):
        page = publish.page(self.PAGE, self.RESULTS, [pathlib.Path("x/timer-uml.svg")])
        self.assertTrue(page.startswith(f"before\n{publish.COMPARISON[0]}"))
        self.assertIn(f"{publish.COMPARISON[1]}between\n{publish.GOALS[0]}", page)
        self.assertTrue(page.endswith(f"{publish.GOALS[1]}after\n"))
        self.assertNotIn("old", page)
        self.assertIn("made up, 2 CPUs", page)
        self.assertIn(".. image:: performance/timer-uml.svg\n", page)

    def test_each_machine_is_described(self):
        page = publish.page(self.PAGE, self.RESULTS, [])
        for name in self.RESULTS:
            self.assertIn(f"performance/result-{name}.json", page)

    def test_plots_are_of_newest_result(self):
        self.assertEqual(publish.newest(self.RESULTS), "b")

    def test_publishing_twice_changes_nothing(self):
        once = publish.page(self.PAGE, self.RESULTS, [])
        self.assertEqual(publish.page(once, self.RESULTS, []), once)

    def test_published_page_matches_results(self):
        files = sorted((DOCUMENTATION / "performance").glob("result-*.json"))
        results = {path.stem.removeprefix("result-"): result.load(path) for path in files}
        plots = plot.scripts(results[publish.newest(results)])
        page = (DOCUMENTATION / "performance.rst").read_text()
        self.assertEqual(page, publish.page(page, results, [pathlib.Path(f"{name}.svg")
                                                            for name in plots]),
                         "run scripts/bench-publish")

    def test_page_without_marks_is_rejected(self):
        self.assertRaises(ValueError, publish.page, "no marks", self.RESULTS, [])
