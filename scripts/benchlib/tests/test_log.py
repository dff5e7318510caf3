# SPDX-License-Identifier: GPL-2.0
"""What is taken from a log, and what in one is a failure."""

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
    def test_samples_of_the_kernel_and_of_programs_are_taken_in_their_order(self):
        said = framed(kernel(SAMPLE), guest(SAMPLE.replace("23.410", "7")), SAMPLE)
        self.assertEqual(said.figures, {WORDS: [23.41, 7, 23.41]})
        self.assertEqual(said.failures, [])

    def test_a_whole_number_stays_whole(self):
        said = framed(kernel(SAMPLE.replace("23.410", "40.000")))
        self.assertIsInstance(said.figures[WORDS][0], int)

    def test_other_words_are_another_figure(self):
        said = framed(kernel(SAMPLE), kernel(SAMPLE.replace("pending=1000", "pending=10")))
        self.assertEqual(len(said.figures), 2)

    def test_a_part_of_a_suite_speaks_for_the_suite(self):
        said = Log([guest("begin suite=timer_far pending=1000"), kernel(SAMPLE),
                    kernel("end suite=timer_far")])
        self.assertEqual((said.figures, said.failures), ({WORDS: [23.41]}, []))

    def test_what_another_suite_says_meanwhile_is_left_out(self):
        said = framed(kernel(SAMPLE), kernel(SAMPLE.replace("suite=timer", "suite=tim")),
                      kernel(SAMPLE.replace("suite=timer", "suite=irqs_off")))
        self.assertEqual((list(said.figures), said.failures), ([WORDS], []))

    def test_a_skip_is_kept_once_with_its_reason(self):
        skip = kernel("skip suite=timer case=- of=timerfd what=add pending=10 reason=no-files")
        said = framed(skip, skip)
        self.assertEqual([skip["reason"] for skip in said.skips], ["no-files"])
        self.assertEqual(said.failures, [])

    def test_the_place_is_what_the_guest_says(self):
        said = Log([guest("place release=6.12.1-amd64 cpus=2")])
        self.assertEqual((said.release, said.cpus), ("6.12.1-amd64", 2))

    def test_a_note_about_the_place_is_kept(self):
        self.assertEqual(Log(["| place-note memory in huge pages"]).note, "memory in huge pages")

    def test_what_else_a_log_has_is_left_alone(self):
        noise = ["[    0.1] Linux version 6.12", "sample text", "| a skip of nothing", "",
                 kernel("what=cascade nr=10 add_ns=3")]
        self.assertEqual(framed(kernel(SAMPLE), *noise).failures, [])


class Failing(unittest.TestCase):
    def red(self, said, words):
        self.assertTrue(any(words in text for text in said.failures), said.failures)

    def test_a_suite_without_an_end_is_a_failure(self):
        self.red(Log([guest("begin suite=timer pending=1000"), kernel(SAMPLE)]),
                 "did not reach its end")

    def test_a_suite_that_another_follows_without_an_end_is_a_failure(self):
        self.red(Log([guest("begin suite=timer pending=1000"), kernel(SAMPLE),
                      guest("begin suite=timer pending=10"), kernel(SAMPLE),
                      kernel("end suite=timer")]), "with 1000 pending did not reach")

    def test_an_end_of_another_suite_is_a_failure(self):
        self.red(Log([guest("begin suite=timer pending=1000"), kernel(SAMPLE),
                      kernel("end suite=purgatory")]), "had not begun")

    def test_a_suite_that_says_nothing_is_a_failure(self):
        self.red(framed(), "said nothing")

    def test_a_suite_for_which_only_another_speaks_is_a_failure(self):
        self.red(framed(kernel(SAMPLE.replace("suite=timer", "suite=irqs_off"))), "said nothing")

    def test_a_sample_outside_of_any_suite_is_a_failure(self):
        self.red(Log([kernel(SAMPLE)]), "outside")

    def test_a_line_with_a_word_too_few_is_a_failure(self):
        self.red(framed(kernel(SAMPLE), kernel(SAMPLE.replace("what=add ", ""))), "unreadable")

    def test_a_value_that_is_no_number_is_a_failure(self):
        for value in ("", "nan", "1.2.3", "12ns", "1e3"):
            self.red(framed(kernel(SAMPLE), kernel(SAMPLE.replace("23.410", value))), "unreadable")

    def test_an_unknown_unit_is_a_failure(self):
        self.red(framed(kernel(SAMPLE), kernel(SAMPLE.replace("unit=ns", "unit=hours"))),
                 "unreadable")

    def test_two_lines_in_one_are_a_failure(self):
        self.red(framed(kernel(SAMPLE), kernel(SAMPLE) + kernel(SAMPLE)), "unreadable")

    def test_a_line_that_something_else_interrupted_is_a_failure(self):
        self.red(framed(kernel(SAMPLE), "[ 1.2] random: sample suite=timer case=mi"), "unreadable")

    def test_what_a_suite_finds_wrong_is_a_failure(self):
        self.red(framed(kernel(SAMPLE), kernel("FAILURE: 3 timers were early")), "3 timers")
        self.red(framed(kernel(SAMPLE), guest("FAILURE: lost one")), "lost one")

    def test_a_suite_of_the_plan_that_did_not_run_is_a_failure(self):
        said = framed(kernel(SAMPLE))
        said.must_have_run(["timer:1000:5"])
        self.assertEqual(said.failures, [])
        said.must_have_run(["timer:1000:5", "timer:10000:5"])
        self.red(said, "with 10000 pending did not run")

    def test_a_suite_planned_twice_has_to_run_twice(self):
        said = framed(kernel(SAMPLE))
        said.must_have_run(["timer:1000:5", "timer:1000:5"])
        self.red(said, "did not run")
