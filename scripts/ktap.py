#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Parse the test results in a console log and compare them with the cases in the sources: a
case that did not run is a failure, and so is a case that is not in the sources. Prints a
line "pass|fail|skip <tab> NAME" for each case, with a tab and the cause of a failure, as far as
the log shows it: the same text for all cases that fail alike. Used by check-*.

    ktap.py kunit LOG [GLOB]            KUnit suites, except *_misuse (GLOB: suite.case)
    ktap.py misuse LOG [GLOB]           KUnit suites named *_misuse
    ktap.py selftests LOG PROGRAM,...   programs of tools/selftests, with the suffix 32 if
                                        built for 32 bit; device_test of the tools; and
                                        "device", the guest job with the examples of the
                                        manual pages and of the documentation;
                                        "trace" and "bpf", guest jobs
    ktap.py broker LOG [TEST,...]       the tests of samples/broker in a guest
    ktap.py tap LOG                     other programs, compared with their TAP plans
"""

import fnmatch
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
STAMP = re.compile(r"^\[ *\d+\.\d+\] ")
RESULT = re.compile(r"^( *)(ok|not ok) \d+ (?:- )?(.*?)(?: +# (\w+).*)?$")
# Lines that differ although the cause is the same: those of kselftest_harness.h about a test, and
# the place of a check.
HARNESS = re.compile(r"^# +(RUN|OK|FAIL) |^# \w+: Test (failed|terminated)")
PLACE = re.compile(r"^# |\b\w+\.c:\d+:\w+:")


def text_of(path):
    """A guest that was not started has no log."""
    path = pathlib.Path(path)
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def log_lines(path, from_programs):
    """Yield the lines of the guest's programs or the lines of the kernel."""
    for line in text_of(path).splitlines():
        line, stamped = STAMP.subn("", line.rstrip())
        if stamped and line.startswith("| ") == from_programs:
            yield line[2:] if from_programs else line


def outcome(match):
    """Everything except a plain "ok" or a skip is a failure."""
    if match[2] == "ok" and match[4] is None:
        return "pass"
    return "skip" if match[2] == "ok" and match[4] == "SKIP" else "fail"


def without_comments(path):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)


def kunit_expected():
    """The names suite.case of all KUNIT_CASE*() in the tables of suites."""
    names = set()
    for path in TOP.glob("kunit/**/*.c"):
        text = without_comments(path)
        tables = {
            table[1]: re.findall(r"KUNIT_CASE\w*\(\s*(\w+)", table[2])
            for table in re.finditer(r"kunit_case\s+(\w+)\[\]\s*=\s*\{(.*?)\};", text, re.S)
        }
        for suite in re.finditer(r"kunit_suite\s+\w+\s*=\s*\{(.*?)\};", text, re.S):
            name = re.search(r'\.name\s*=\s*"([^"]+)"', suite[1])[1]
            table = re.search(r"\.test_cases\s*=\s*(\w+)", suite[1])[1]
            names |= {f"{name}.{case}" for case in tables.pop(table)}
        # Cases of a table without a suite never run: use the name of the table, to report
        # them.
        names |= {f"{table}.{case}" for table, cases in tables.items() for case in cases}
    return names


def of_boot(kind, names):
    """Select the suites of a boot: suites that provoke warnings run in a separate boot."""
    return {name for name in names
            if name.split(".")[0].endswith("_misuse") == (kind == "misuse")}


def kunit_results(log):
    """Suites have no indentation, cases four columns, and their parameters more."""
    results = {}
    causes = {}
    suite = failed = None
    for line in log_lines(log, from_programs=False):
        subtest = re.match(r"^ {4}# Subtest: (\S+)", line)
        if subtest:
            suite = subtest[1]
        failed = re.search(r"(?:EXPECTATION|ASSERTION) FAILED at \S+", line) or failed
        match = RESULT.match(line)
        if match and suite and match[1] == " " * 4:
            results[f"{suite}.{match[3]}"] = outcome(match)
            if failed:
                causes[f"{suite}.{match[3]}"] = failed[0]
            failed = None
        elif match and match[1] == "" and outcome(match) == "fail":
            results.setdefault(f"{match[3]}.*", "fail")
    # Do not count the failure of a suite that has failed cases.
    return {
        name: result
        for name, result in results.items()
        if not name.endswith(".*")
        or not any(r == "fail" and n.startswith(name[:-1]) and n != name
                   for n, r in results.items())
    }, causes


def source_with_headers(path):
    """The text of a program with its own headers, which may define fixtures and tests."""
    text = without_comments(path)
    for header in re.findall(r'#include "([^"]+)"', text):
        text += without_comments(path.parent / header)
    return text


def program_expected(path, program):
    """The names as printed by kselftest_harness.h: fixture[.variant].test."""
    text = source_with_headers(path)
    variants = {}
    for fixture, variant in re.findall(r"^FIXTURE_VARIANT_ADD\((\w+), (\w+)\)", text, re.M):
        variants.setdefault(fixture, []).append(f"{fixture}.{variant}")
    names = [f"global.{test}" for test in
             re.findall(r"^TEST(?:_SIGNAL|_TIMEOUT)?\((\w+)", text, re.M)]
    for fixture, test in re.findall(r"^TEST_F(?:_SIGNAL|_TIMEOUT)?\((\w+), (\w+)", text, re.M):
        names += [f"{prefix}.{test}" for prefix in variants.get(fixture, [fixture])]
    return {f"{program}: {name}" for name in names}


def script_expected():
    script = (TOP / "tools/tests/device_test").read_text()
    cases = re.findall(r'^\t?(?:plays|gives) \d (?:"[^"]*"|\'[^\']*\') "([^"]+)"', script, re.M)
    return {f"device_test: {name}" for name in cases}


def checks_of(job):
    script = (TOP / "scripts/guest" / job).read_text()
    return {f"{job}: {name}" for name in re.findall(r'^check "([^"]+)"', script, re.M)}


def example(path):
    """The program of a source, see tools/tests/examples."""
    beside = path.suffix == ".cc" and path.with_suffix(".c").exists()
    return path.stem + "_cc" * beside


def programs_expected():
    examples = [page for page in TOP.glob("tools/man/*.[347]")
                if not page.is_symlink() and "\n.EX\n" in page.read_text()]
    examples += [path for kind in ("c", "cc") for path in TOP.glob(f"tools/examples/*.{kind}")
                 if path.stem != "first"]
    # Those in other languages are built if the compilers are installed.
    built = TOP / "build/static/examples"
    examples += [path for path in TOP.glob("tools/examples/*.rs") if (built / path.stem).exists()]
    examples += built.glob("twheel_go_test")
    documented = TOP.glob("tools/examples/*.out")
    return (checks_of("programs") |
            {f"programs: {path.stem} prints its documented output" for path in documented} |
            {f"programs: the example of {example(path)} succeeds" for path in examples})


def selftests_expected(programs):
    names = set()
    for program in programs.split(","):
        path = TOP / "tools/selftests" / (program.removesuffix("_ring").removesuffix("32") + ".c")
        if program in ("device", "trace", "bpf"):
            names |= checks_of(program)
        elif program == "programs":
            names |= programs_expected()
        elif program == "device_test":
            names |= script_expected()
        elif path.exists():
            names |= program_expected(path, program)
        else:
            names.add(f"{program}: exists")
    return names


def broker_expected(tests):
    """The names in the files test_*.py; @tests has files, classes or tests to select."""
    names = set()
    for path in TOP.glob("samples/broker/clients/test_*.py"):
        group = None
        for found in re.finditer(r"^class (\w+)|^    def test_(\w+)", path.read_text(), re.M):
            group = found[1] or group
            test = f"{path.stem}.{group}.test_{found[2]}"
            if found[2] and (not tests or
                             any(f"{test}.".startswith(f"{t}.") for t in tests.split(","))):
                names.add(f"broker: {found[2]}")
    return names


def framed_results(lines):
    """Parse the TAP of programs, each between "# begin NAME" and "# end NAME STATUS".

    The cause of a failure is the line before it, and that of a program is its last line.
    """
    results = {}
    planned = {}
    causes = {}
    program = None
    said = ""
    for line in lines:
        frame = re.match(r"^# (begin|end) (\S+)(?: (\d+))?$", line)
        plan = re.match(r"^1\.\.(\d+)", line)
        match = RESULT.match(line)
        if frame:
            program = frame[2] if frame[1] == "begin" else None
            if frame[1] == "end" and frame[3] != "0":
                name = f"{frame[2]}: exit status {frame[3]}"
                causes[frame[2]] = causes[name] = \
                    f"{said}{', ' if said else ''}exit status {frame[3]}"
                if not any(r == "fail" and n.startswith(f"{frame[2]}: ")
                           for n, r in results.items()):
                    results[name] = "fail"
            said = ""
        elif plan and program:
            planned[program] = int(plan[1])
        elif match and program:
            results[f"{program}: {match[3]}"] = outcome(match)
            causes[f"{program}: {match[3]}"] = said
            said = ""
        elif program and not HARNESS.match(line):
            said = PLACE.sub("", line).replace(program, "PROGRAM").strip() or said
    return results, planned, causes


def last_line(log):
    """The end of a log tells why a guest has not finished."""
    lines = [STAMP.sub("", line).strip() for line in log.splitlines() if line.strip()]
    return f"the log ends with: {lines[-1]}" if lines else "no log"


def plan_mismatches(results, planned):
    """Yield the programs that did not run as many cases as planned."""
    for program, cases in planned.items():
        seen = sum(name.startswith(f"{program}: ") for name in results)
        if seen != cases:
            yield f"{program}: {seen} of {cases} cases"


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in (
            "kunit", "misuse", "selftests", "broker", "tap"):
        sys.exit(__doc__)
    kind, log = sys.argv[1:3]
    only = sys.argv[3] if len(sys.argv) == 4 else ""
    causes = {}
    if kind in ("kunit", "misuse"):
        expected = of_boot(kind, kunit_expected())
        results, causes = kunit_results(log)
        if only:
            glob = only if "." in only else f"{only}.*"
            expected = set(fnmatch.filter(expected, glob))
    elif kind in ("selftests", "broker"):
        expected = selftests_expected(only) if kind == "selftests" else broker_expected(only)
        results, _, causes = framed_results(log_lines(log, from_programs=True))
    else:
        results, planned, causes = framed_results(text_of(log).splitlines())
        expected = results.keys() | set(plan_mismatches(results, planned))

    for name in sorted(expected | results.keys()):
        result, shown, cause = results.get(name, "fail"), name, causes.get(name)
        if name not in results:
            shown += " (did not run)"
            cause = causes.get(name.split(": ")[0]) or last_line(text_of(log))
        elif name not in expected and result != "fail":
            result, shown, cause = "fail", f"{name} (ran, but is not in the sources)", None
        print("\t".join([result, shown, *([cause] if cause and result == "fail" else [])]))


if __name__ == "__main__":
    main()
