# SPDX-License-Identifier: GPL-2.0
"""Tests of the commands bench-*: output and exit status."""

import pathlib
import subprocess
import tempfile
import unittest

from benchlib import result
from benchlib.tests import figure, made_up

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent
LOG = """\
[    0.1] | place release=6.12.1 cpus=1
[    0.2] | begin suite=timer pending=1000
[    1.2] twheel_bench: sample suite=timer case=mixed of=twheel what=add pending=1000 unit=ns value=23.4
[    1.3] twheel_bench: end suite=timer
"""


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, name, *args):
        done = subprocess.run([SCRIPTS / name, *args], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def file(self, name, *figures, **changed):
        path = self.folder / name
        with open(path, "w") as file:
            result.dump(made_up(*figures, **changed), file)
        return path

    def make(self, log, plan="timer:1000:5"):
        path = self.folder / "guest.log"
        path.write_text(log)
        return self.call("bench-result", "make", self.folder / "made.json", "full", "0.5",
                         f"uml=none={plan}={path}")


class Results(Commands):
    def test_make_of_valid_log_writes_valid_result(self):
        self.assertEqual(self.make(LOG), (0, ""))
        made = result.load(self.folder / "made.json")
        self.assertEqual((made["places"][0]["release"], made["figures"][0]["median"]),
                         ("6.12.1", 23.4))
        self.assertEqual(self.call("bench-result", "check", self.folder / "made.json"), (0, ""))

    def test_failed_suite_fails_make_and_check(self):
        status, output = self.make(LOG + "[ 1.4] twheel_bench: FAILURE: lost 1 timer\n")
        self.assertEqual((status, "lost 1 timer" in output), (1, True))
        self.assertEqual(self.call("bench-result", "check", self.folder / "made.json")[0], 1)

    def test_make_of_suite_without_end_fails(self):
        self.assertEqual(self.make(LOG.replace("end suite", "ended"))[0], 1)

    def test_make_of_malformed_line_fails(self):
        self.assertEqual(self.make(LOG.replace("value=23.4", "value="))[0], 1)

    def test_make_of_missing_suite_fails(self):
        self.assertEqual(self.make(LOG, "timer:1000:5,purgatory:1000:5")[0], 1)

    def test_make_of_empty_log_fails(self):
        self.assertEqual(self.make("")[0], 1)

    def test_invalid_file_fails_all_commands(self):
        path = self.folder / "bad.json"
        for text in ("", "{", "[]", '{"schema": 1}'):
            path.write_text(text)
            for command in (("bench-result", "check"), ("bench-table",), ("bench-goals",)):
                self.assertEqual(self.call(*command, path)[0], 1)


class Publishing(Commands):
    def test_goals_of_several_files_have_columns(self):
        output = self.call("bench-goals", self.file("result-a.json", figure([1])),
                           self.file("b.json", figure([1])))[1]
        self.assertEqual(output.split()[3:5], ["a", "b"])

    def test_incomplete_results_are_refused(self):
        for changed in ({"quick": True}, {"failures": ["lost 1 timer"]}):
            status, output = self.call("bench-publish", "a", self.file("a.json", **changed))
            self.assertEqual((status, "refusing" in output), (1, True))

    def test_invalid_name_of_machine_is_refused(self):
        for name in ("", "../a", "A machine"):
            status, output = self.call("bench-publish", name, self.file("a.json", quick=True))
            self.assertEqual((status, "invalid name" in output), (1, True))


class Comparing(Commands):
    def test_compare_with_itself_finds_no_change(self):
        path = self.file("a.json", figure([1, 2, 3]), figure([4, 5, 6], of="hrtimer"))
        status, output = self.call("bench-compare", "--fail", path, path)
        self.assertEqual((status, "nothing moved" in output), (0, True))

    def test_regression_fails_only_with_fail_option(self):
        old, new = self.file("a.json", figure([100] * 5)), self.file("b.json", figure([200] * 5))
        status, output = self.call("bench-compare", old, new)
        self.assertEqual((status, "x2.00" in output, "worse" in output), (0, True, True))
        self.assertEqual(self.call("bench-compare", "--fail", old, new)[0], 2)
        self.assertEqual(self.call("bench-compare", "--fail", new, old)[0], 0)

    def test_compare_without_common_figures_fails(self):
        old, new = self.file("a.json", figure([1])), self.file("b.json", figure([1], of="hrtimer"))
        self.assertEqual(self.call("bench-compare", old, new)[0], 1)

    def test_compare_with_bad_arguments_fails(self):
        self.assertEqual(self.call("bench-compare")[0], 1)
        self.assertEqual(self.call("bench-compare", "/nowhere", "/nowhere")[0], 1)
