# SPDX-License-Identifier: GPL-2.0
"""Tests of the log parser."""

import unittest

from benchlib.log import Log

SAMPLE = "sample suite=timer case=mixed of=twheel what=add pending=1000 unit=ns value=23.410"
WORDS = ("timer", "mixed", "twheel", "add", 1000, "ns")


def kernel(text):
    return f"[   12.345678] twheel_bench: {text}\r"


def guest(text):
    return f"[   12.345678] | {text}\r"


def framed(*lines):
    return Log([guest("begin suite=timer pending=1000"), *lines, kernel("end suite=timer")])


class Reading(unittest.TestCase):
    def test_samples_of_kernel_and_programs_are_read_in_order(self):
        log = framed(kernel(SAMPLE), guest(SAMPLE.replace("23.410", "7")), SAMPLE)
        self.assertEqual(log.figures, {WORDS: [23.41, 7, 23.41]})
        self.assertEqual(log.failures, [])

    def test_whole_number_is_read_as_int(self):
        log = framed(kernel(SAMPLE.replace("23.410", "40.000")))
        self.assertIsInstance(log.figures[WORDS][0], int)

    def test_samples_with_different_words_are_separate_figures(self):
        log = framed(kernel(SAMPLE), kernel(SAMPLE.replace("pending=1000", "pending=10")))
        self.assertEqual(len(log.figures), 2)

    def test_sample_of_suite_part_is_accepted(self):
        log = Log([guest("begin suite=timer_far pending=1000"), kernel(SAMPLE),
                   kernel("end suite=timer_far")])
        self.assertEqual((log.figures, log.failures), ({WORDS: [23.41]}, []))

    def test_sample_of_another_suite_is_ignored(self):
        log = framed(kernel(SAMPLE), kernel(SAMPLE.replace("suite=timer", "suite=tim")),
                     kernel(SAMPLE.replace("suite=timer", "suite=irqs_off")))
        self.assertEqual((list(log.figures), log.failures), ([WORDS], []))

    def test_repeated_skip_is_kept_once(self):
        skip = kernel("skip suite=timer case=- of=timerfd what=add pending=10 reason=no-files")
        log = framed(skip, skip)
        self.assertEqual([skip["reason"] for skip in log.skips], ["no-files"])
        self.assertEqual(log.failures, [])

    def test_place_is_read_from_log(self):
        log = Log([guest("place release=6.12.1-amd64 cpus=2")])
        self.assertEqual((log.release, log.cpus), ("6.12.1-amd64", 2))

    def test_place_note_is_read_from_log(self):
        self.assertEqual(Log(["| place-note memory in huge pages"]).note, "memory in huge pages")

    def test_unrelated_lines_are_ignored(self):
        noise = ["[    0.1] Linux version 6.12", "sample text", "| a skip of nothing", "",
                 kernel("what=cascade nr=10 add_ns=3")]
        self.assertEqual(framed(kernel(SAMPLE), *noise).failures, [])


class Failing(unittest.TestCase):
    def fails(self, log, words):
        self.assertTrue(any(words in text for text in log.failures), log.failures)

    def test_suite_without_end_fails(self):
        self.fails(Log([guest("begin suite=timer pending=1000"), kernel(SAMPLE)]),
                   "has no end")

    def test_suite_interrupted_by_next_begin_fails(self):
        self.fails(Log([guest("begin suite=timer pending=1000"), kernel(SAMPLE),
                        guest("begin suite=timer pending=10"), kernel(SAMPLE),
                        kernel("end suite=timer")]), "with 1000 pending has no end")

    def test_end_of_another_suite_fails(self):
        self.fails(Log([guest("begin suite=timer pending=1000"), kernel(SAMPLE),
                        kernel("end suite=purgatory")]), "without a begin")

    def test_suite_without_output_fails(self):
        self.fails(framed(), "has no output")

    def test_suite_with_samples_of_another_suite_only_fails(self):
        self.fails(framed(kernel(SAMPLE.replace("suite=timer", "suite=irqs_off"))), "has no output")

    def test_sample_outside_of_suites_fails(self):
        self.fails(Log([kernel(SAMPLE)]), "outside")

    def test_line_with_missing_word_fails(self):
        self.fails(framed(kernel(SAMPLE), kernel(SAMPLE.replace("what=add ", ""))), "unreadable")

    def test_non_numeric_value_fails(self):
        for value in ("", "nan", "1.2.3", "12ns", "1e3"):
            self.fails(framed(kernel(SAMPLE), kernel(SAMPLE.replace("23.410", value))),
                       "unreadable")

    def test_unknown_unit_fails(self):
        self.fails(framed(kernel(SAMPLE), kernel(SAMPLE.replace("unit=ns", "unit=hours"))),
                   "unreadable")

    def test_two_samples_in_one_line_fail(self):
        self.fails(framed(kernel(SAMPLE), kernel(SAMPLE) + kernel(SAMPLE)), "unreadable")

    def test_truncated_line_fails(self):
        self.fails(framed(kernel(SAMPLE), "[ 1.2] random: sample suite=timer case=mi"),
                   "unreadable")

    def test_failure_line_is_recorded(self):
        self.fails(framed(kernel(SAMPLE), kernel("FAILURE: 3 timers were early")), "3 timers")
        self.fails(framed(kernel(SAMPLE), guest("FAILURE: lost one")), "lost one")

    def test_planned_suite_missing_from_log_fails(self):
        log = framed(kernel(SAMPLE))
        log.check_plan(["timer:1000:5"])
        self.assertEqual(log.failures, [])
        log.check_plan(["timer:1000:5", "timer:10000:5"])
        self.fails(log, "with 10000 pending did not run")

    def test_suite_planned_twice_must_run_twice(self):
        log = framed(kernel(SAMPLE))
        log.check_plan(["timer:1000:5", "timer:1000:5"])
        self.fails(log, "did not run")
