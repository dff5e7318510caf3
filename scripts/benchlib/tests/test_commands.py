# SPDX-License-Identifier: GPL-2.0
"""The commands bench-*, with files: what they say, and their exit status."""

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
    def test_a_log_becomes_a_result(self):
        self.assertEqual(self.make(LOG), (0, ""))
        made = result.load(self.folder / "made.json")
        self.assertEqual((made["places"][0]["release"], made["figures"][0]["median"]),
                         ("6.12.1", 23.4))
        self.assertEqual(self.call("bench-result", "check", self.folder / "made.json"), (0, ""))

    def test_a_suite_that_failed_fails_both_commands(self):
        status, said = self.make(LOG + "[ 1.4] twheel_bench: FAILURE: lost 1 timer\n")
        self.assertEqual((status, "lost 1 timer" in said), (1, True))
        self.assertEqual(self.call("bench-result", "check", self.folder / "made.json")[0], 1)

    def test_a_suite_without_an_end_fails(self):
        self.assertEqual(self.make(LOG.replace("end suite", "ended"))[0], 1)

    def test_a_line_that_can_t_be_read_fails(self):
        self.assertEqual(self.make(LOG.replace("value=23.4", "value="))[0], 1)

    def test_a_suite_that_did_not_run_fails(self):
        self.assertEqual(self.make(LOG, "timer:1000:5,purgatory:1000:5")[0], 1)

    def test_a_log_without_a_figure_fails(self):
        self.assertEqual(self.make("")[0], 1)

    def test_what_is_no_json_or_no_result_fails(self):
        path = self.folder / "bad.json"
        for text in ("", "{", "[]", '{"schema": 1}'):
            path.write_text(text)
            for command in (("bench-result", "check"), ("bench-table",), ("bench-goals",)):
                self.assertEqual(self.call(*command, path)[0], 1)


class Comparing(Commands):
    def test_a_file_and_itself_have_nothing_that_moved(self):
        path = self.file("a.json", figure([1, 2, 3]), figure([4, 5, 6], of="hrtimer"))
        status, said = self.call("bench-compare", "--fail", path, path)
        self.assertEqual((status, "nothing moved" in said), (0, True))

    def test_a_regression_fails_only_if_it_is_asked_to(self):
        old, new = self.file("a.json", figure([100] * 5)), self.file("b.json", figure([200] * 5))
        status, said = self.call("bench-compare", old, new)
        self.assertEqual((status, "x2.00" in said, "worse" in said), (0, True, True))
        self.assertEqual(self.call("bench-compare", "--fail", old, new)[0], 2)
        self.assertEqual(self.call("bench-compare", "--fail", new, old)[0], 0)

    def test_nothing_in_common_is_an_error(self):
        old, new = self.file("a.json", figure([1])), self.file("b.json", figure([1], of="hrtimer"))
        self.assertEqual(self.call("bench-compare", old, new)[0], 1)

    def test_bad_usage_is_an_error(self):
        self.assertEqual(self.call("bench-compare")[0], 1)
        self.assertEqual(self.call("bench-compare", "/nowhere", "/nowhere")[0], 1)
