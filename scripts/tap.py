# SPDX-License-Identifier: GPL-2.0
"""
Run the tests of unittest and print TAP for ktap.py.

    tap.py NAME FOLDER [TEST...]   as the program NAME: all tests of a folder, or a file, class or
                                   test such as test_waiting.Fetch
"""

import sys
import unittest


class Tap(unittest.TestResult):
    """Print a line for each test, after the traceback of a failure as comments."""

    def report(self, verdict, test, comment="", directive=""):
        name = test.id().rsplit(".", 1)[1].removeprefix("test_")
        lines = [f"# {line}\n" for line in comment.splitlines()]
        lines.append(f"{verdict} {self.testsRun} - {name}{directive}\n")
        # A single write: other processes may write to the same pipe.
        sys.stdout.write("".join(lines))
        sys.stdout.flush()

    def addSuccess(self, test):
        self.report("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.report("ok", test, directive=f" # SKIP {reason}")

    def addError(self, test, err):
        super().addError(test, err)
        self.report("not ok", test, self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.report("not ok", test, self.failures[-1][1])


def run(name, tests):
    """Run @tests as the program @name. Return whether all of them have passed."""
    print(f"# begin {name}")
    print(f"1..{tests.countTestCases()}")
    outcome = Tap()
    tests.run(outcome)
    print(f"# end {name} {0 if outcome.wasSuccessful() else 1}", flush=True)
    return outcome.wasSuccessful()


def main(name, folder, *names):
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    loader = unittest.defaultTestLoader
    return run(name, loader.loadTestsFromNames(names) if names else loader.discover(folder))


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
