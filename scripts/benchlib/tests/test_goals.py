# SPDX-License-Identifier: GPL-2.0
"""Tests of the goals: selection of figures and verdicts."""

import unittest

from benchlib import goals
from benchlib.tests import figure, made_up


def rows_of(goal, *figures):
    return [row for row in goals.rows(made_up(*figures)) if row.goal == goal]


DEVICE = {"suite": "device", "place": "6.12", "case": "batch64", "pending": 100000}


def one(goal, *figures, about=""):
    return next(row for row in rows_of(goal, *figures)
                if about in row.about and row.value is not None)


class Goals(unittest.TestCase):
    def test_goals_without_figures_are_not_measured(self):
        rows = list(goals.rows(made_up()))
        self.assertEqual({row.goal for row in rows},
                         {"B1b", "B7b", *(f"B{i}" for i in range(1, 15))})
        self.assertEqual({row.verdict() for row in rows}, {"not measured"})

    def test_b1_value_is_ratio_within_one_run(self):
        row = one("B1", figure([10, 20, 30]), figure([20, 40, 30], of="timer_list"))
        self.assertEqual((row.value, row.low, row.high), (20 / 30, 0.5, 1))
        self.assertEqual(row.verdict(), "reached")

    def test_b1_slightly_above_limit_is_missed(self):
        row = one("B1", figure([31]), figure([30], of="timer_list"))
        self.assertEqual(row.verdict(), "missed")

    def test_b1_rearm_is_to_earlier_deadline(self):
        def rearm(value, **words):
            return figure([value], **{"what": "rearm_earlier", "case": "heartbeat"} | words)
        row = one("B1", rearm(5), rearm(10, of="timer_list"), rearm(90, case="mixed"),
                  rearm(90, what="rearm"), about="earlier deadline at 1e3")
        self.assertEqual(row.value, 0.5)

    def test_b1b_limit_of_rearm_to_later_deadline(self):
        def rearm(value, of):
            return figure([value], of=of, what="rearm_later", case="heartbeat", pending=1000000)
        row = one("B1b", rearm(39, "twheel"), rearm(100, "timer_list"))
        self.assertEqual((row.verdict(), row.wanted()), ("reached", "at most 0.4"))
        self.assertEqual(one("B1b", rearm(41, "twheel"), rearm(100, "timer_list")).verdict(),
                         "missed")

    def test_ratio_across_places_is_not_measured(self):
        rows = rows_of("B1", figure([1]), figure([2], of="timer_list", place="6.12"))
        self.assertEqual({row.verdict() for row in rows}, {"not measured"})

    def test_native_figure_takes_precedence(self):
        both = [figure([value], of=of, place=place) for of, value in
                (("twheel", 10), ("timer_list", 20)) for place in ("6.12", "uml")]
        self.assertFalse(one("B1", *both).emulated)
        row = one("B1", *both[::2])
        self.assertTrue(row.emulated)
        self.assertIn("emulated", row.measured())

    def test_b3_missing_case_is_not_measured(self):
        rows = rows_of("B3", *(figure([value], case="burst", of=of, what="expire",
                                      pending=1000000)
                               for of, value in (("twheel", 125), ("timer_list", 100))))
        self.assertEqual([row.verdict() for row in rows], ["reached", "not measured"])

    def test_b4_limit_is_growth_of_timer_list_in_ns(self):
        def costs(many):
            return [figure([10, 11, 12]), figure([many] * 3, pending=1000000),
                    figure([20, 20], of="timer_list"),
                    figure([40, 41], of="timer_list", pending=1000000)]
        row = one("B4", *costs(31))
        self.assertEqual((row.value, row.low, row.high, row.limit), (20, 19, 21, 20.5))
        self.assertEqual(row.verdict(), "reached")
        self.assertEqual(one("B4", *costs(32)).verdict(), "missed")
        self.assertIn("limit 20.5 ns", row.measured())

    def test_b4_without_peer_is_not_measured(self):
        rows = rows_of("B4", figure([10]), figure([30], pending=1000000))
        self.assertEqual({row.verdict() for row in rows}, {"not measured"})

    def test_b5_limits_operations_by_number_of_keys(self):
        def memory(case, value):
            return figure([value], suite="memory", case=case, of="twheel_op", what="bytes",
                          unit="bytes", pending=100000)
        rows = [row for row in rows_of("B5", memory("keys1", 192), memory("keys3", 337))
                if row.value is not None]
        self.assertEqual([row.verdict() for row in rows], ["reached", "missed"])

    def test_b6_value_is_relative_to_kafka(self):
        row = one("B6", figure([900], suite="purgatory", case="keys3", of="twheel_op",
                               what="watch_complete", pending=1000000))
        self.assertEqual((row.value, row.verdict()), (9 / 110, "reached"))
        self.assertIn("another run", row.note)

    def test_b7_limit_is_tick_plus_wakeup(self):
        late = {"suite": "lateness", "case": "50ms", "what": "p99", "unit": "us",
                "pending": 1000000}
        ours = figure([1100], of="twheel_op", **late)
        self.assertEqual(one("B7", ours).verdict(), "missed")
        self.assertEqual(one("B7", ours, figure([60], of="wakeup", **late)).verdict(), "reached")

    def test_b7b_limit_is_lateness_alone_plus_time_slice(self):
        late = {"suite": "neighbours", "case": "50ms", "what": "p99", "unit": "us"}
        quiet = figure([1100], pending=0, **late)
        self.assertEqual(one("B7b", quiet, figure([11000], pending=1000000, **late)).verdict(),
                         "reached")
        self.assertEqual(one("B7b", quiet, figure([11200], pending=1000000, **late)).verdict(),
                         "missed")

    def test_b8_best_peer_has_its_largest_number_pending(self):
        def cancel(value, **words):
            return figure([value], **DEVICE | {"what": "cancel"} | words)
        row = one("B8", cancel(100), cancel(1500000, of="io_uring"),
                  cancel(300, of="timerfd", case="single", pending=1000),
                  cancel(400, of="timerfd", case="single", pending=19000),
                  cancel(9, of="heap_timerfd", case="single"),
                  about="cancel in batches of 64 at 1e5")
        self.assertEqual((row.value, row.verdict()), (0.25, "reached"))
        self.assertIn("timerfd", row.note)

    def test_b8_peers_have_batches_up_to_own_size(self):
        figures = [figure([value], **DEVICE | {"of": of, "what": "add", "case": case})
                   for of, case, value in (
                       ("twheel", "batch64", 30), ("io_uring", "batch64", 40),
                       ("twheel", "batch1024", 5), ("io_uring", "batch1024", 20))]
        for batch, value in ((64, 0.75), (1024, 0.25)):
            self.assertEqual(one("B8", *figures, about=f"add in batches of {batch} ").value, value)
        # The peer's best case may be a smaller batch.
        figures[1]["values"] = [10]
        figures[1]["median"] = figures[1]["min"] = figures[1]["max"] = 10
        self.assertEqual(one("B8", *figures, about="add in batches of 1024").value, 0.5)

    def test_b8_and_b9_omit_unmeasured_batches(self):
        ours = figure([1], **DEVICE | {"of": "twheel", "what": "add"})
        for goal in ("B8", "B9"):
            self.assertFalse([row for row in rows_of(goal, ours) if "1024" in row.about])

    def test_b8_add_is_lower_of_add_and_fill(self):
        row = one("B8", *(figure([value], of=of, what=what, **DEVICE) for of, what, value in
                          (("twheel", "add", 300), ("twheel", "fill", 200),
                           ("io_uring", "add", 900), ("io_uring", "fill", 400))))
        self.assertEqual(row.value, 0.5)

    def test_b9_is_judged_in_each_place(self):
        figures = [figure([value], of=of, what="expire", **DEVICE | {"place": place})
                   for place in ("6.12", "uml") for of, value in (("twheel", 1), ("io_uring", 4))]
        rows = [row for row in rows_of("B9", *figures) if row.value is not None]
        self.assertEqual([row.emulated for row in rows], [False, True])

    def test_b11_below_limit_is_missed(self):
        def contention(value):
            return figure([value], place="rig", suite="contention", case="ops_own",
                          what="add_complete", unit="ratio")

        self.assertEqual(one("B11", contention(1.95), about="two purgatories").verdict(), "reached")
        self.assertEqual(one("B11", contention(1.85), about="two purgatories").verdict(), "missed")

    def test_b14_above_limit_is_missed(self):
        def locks(value):
            return figure([value], place="rig", suite="counts", case="device_add", what="locks",
                          unit="count")

        self.assertEqual(one("B14", locks(6), about="device add").verdict(), "reached")
        self.assertEqual(one("B14", locks(9), about="device add").verdict(), "missed")

    def test_b12_any_idle_wakeup_is_missed(self):
        def idle(value):
            return figure([value], suite="wakeups", case="idle", what="per_second",
                          unit="per_second")
        self.assertEqual(one("B12", idle(0)).verdict(), "reached")
        self.assertEqual(one("B12", idle(0.5)).verdict(), "missed")

    def test_b12_any_wakeup_by_cancelled_timers_is_missed(self):
        def churn(value):
            return figure([value], suite="wakeups", case="churn", what="per_second", pending=0,
                          unit="per_second")
        self.assertEqual(one("B12", churn(0)).verdict(), "reached")
        self.assertEqual(one("B12", churn(0.5)).verdict(), "missed")

    def test_b12_limit_of_distant_timer_is_one_wakeup_per_level(self):
        def alone(value, what):
            return figure([value], suite="wakeups", case="alone", what=what, unit="count")
        self.assertEqual(one("B12", alone(4, "per_timer"), alone(4, "levels")).verdict(),
                         "reached")
        self.assertEqual(one("B12", alone(5, "per_timer"), alone(4, "levels")).verdict(),
                         "missed")

    def test_b13_value_is_longest_of_all_runs(self):
        longest = {"suite": "irqs_off", "case": "cascade", "what": "longest", "pending": 1000000}
        row = one("B13", figure([90000], **longest),
                  figure([900, 1000, 30000], place="rig", **longest))
        self.assertEqual((row.value, row.verdict()), (30000, "missed"))



def ratios(ours, *others, **words):
    """A result in which add takes @ours times as long as timer_list."""
    return made_up(figure([100 * ours], **words), figure([100], of="timer_list", **words), *others)


def line_of(goal, **results):
    return next(line for line in goals.lines(results) if line.any().goal == goal)


class Machines(unittest.TestCase):
    def test_goal_is_reached_only_on_all_machines(self):
        self.assertEqual(line_of("B1", a=ratios(0.9), b=ratios(0.8)).verdict(), "reached")
        self.assertEqual(line_of("B1", a=ratios(0.9), b=ratios(1.1)).verdict(), "missed")

    def test_machine_without_figure_is_named(self):
        self.assertEqual(line_of("B1", a=ratios(0.9), b=made_up()).verdict(),
                         "not measured on b")
        self.assertEqual(line_of("B1", a=made_up(), b=made_up()).verdict(), "not measured")
        self.assertEqual(line_of("B1", a=ratios(1.1), b=made_up()).verdict(), "missed")

    def test_figure_of_one_machine_only_has_a_line(self):
        device = figure([1], **DEVICE | {"of": "twheel", "what": "add"})
        table = list(goals.lines({"a": made_up(), "b": made_up(device)}))
        line = next(line for line in table if "6.12" in line.any().about)
        self.assertIsNone(line.rows["a"])
        self.assertEqual(line.cell("a"), "-")

    def test_lines_are_in_order_of_goals(self):
        table = list(goals.lines({"a": made_up(), "b": ratios(0.9)}))
        names = list(dict.fromkeys(line.any().goal for line in table))
        self.assertEqual(names[:3], ["B1", "B1b", "B2"])
        self.assertEqual(names[-1], "B14")

    def test_goal_with_one_missed_line_is_missed(self):
        table = list(goals.lines({"a": ratios(0.5, figure([3], what="cancel"), figure(
            [2], what="cancel", of="timer_list"))}))
        self.assertIn("missed: B1", list(goals.summary(table)))

    def test_goal_with_unmeasured_line_is_not_reached(self):
        table = list(goals.lines({"a": ratios(0.5)}))
        self.assertFalse([text for text in goals.summary(table) if text.startswith("reached")])
