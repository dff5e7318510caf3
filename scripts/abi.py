#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Compare the stable interfaces with Documentation/ABI/dump, which is committed. An interface has a
line for each fact that must stay: a structure, field, constant or ioctl of the header, a symbol of
the library, an element of the JSON Schema, a metric, a label, an exit status.

  abi.py            print the lines that the dump lacks, and fail if a line of it has gone
  abi.py update     write the dump

A structure may grow at its end, except for the event. Used by check-static and make abi-update.
"""

import json
import pathlib
import re
import subprocess
import sys

import calls

TOP = pathlib.Path(__file__).resolve().parent.parent
DUMP = TOP / "Documentation/ABI/dump"
HEADER = TOP / "include/uapi/linux/twheel.h"
FIXED = "twheel_event"
# The bits of an ioctl's number that have the size of its structure, see _IOC().
IOC_SIZE = 0x3fff << 16


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def read(path):
    return without_comments((TOP / path).read_text())


def header():
    """The values of calls.Layout, which those of the compiler must be, in a 32-bit program, too."""
    layout, lines, source = calls.Layout(), [], f'#include "{HEADER}"\n'

    def line(label, *facts):
        nonlocal source
        lines.append(" ".join([label, *(str(value) for _, value in facts)]))
        source += "".join(f'_Static_assert(({expression}) == {value}ULL, "{label}");\n'
                          for expression, value in facts)

    for struct in layout.bodies:
        line(f"size {struct}", (f"sizeof(struct {struct})", layout.size(f"struct {struct}")[0]))
        for name, kind, count, offset in layout.fields(struct):
            line(f"field {struct}.{name}", (f"__builtin_offsetof(struct {struct}, {name})", offset),
                 (f"sizeof(((struct {struct} *)0)->{name})", layout.size(kind)[0] * count))
    for name, value in layout.constants.items():
        line(f"constant {name}", (name, value))
    for call in layout.numbers:
        name = f"TWHEEL_IOC_{call}"
        line(f"ioctl {name}", (f"({name} & ~{IOC_SIZE}ULL)", layout.request(call) & ~IOC_SIZE))
    for bits in ("-m64", "-m32"):
        subprocess.run(["gcc", bits, "-fsyntax-only", "-x", "c", "-"], input=source, text=True,
                       check=True)
    return lines


def library():
    for version, text in re.findall(r"^(LIBTWHEEL_\S+) \{(.*?)^\}", read("tools/lib/libtwheel.map"),
                                    re.S | re.M):
        text = text.split("local:")[0]
        yield from (f"symbol {name}@{version}" for name in re.findall(r"^\t(\w+);", text, re.M))


def schema(value, path="json"):
    """The place of a value in a list has no meaning."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("description", "title", "$schema"):
                yield from schema(inner, f"{path}/{key}")
    elif isinstance(value, list) and not isinstance(value[0], dict):
        yield f"{path}[] {' '.join(sorted(map(json.dumps, value)))}"
    elif isinstance(value, list):
        for inner in value:
            yield from schema(inner, f"{path}[]")
    else:
        yield f"{path} {json.dumps(value)}"


def metrics():
    text = read("tools/twheelctl/metrics.c")
    for name, kind in re.findall(r'"(twheel_\w+)",\s*"(gauge|counter)"', text):
        yield f"metric {name} {kind}"
    yield f"metric {re.search(r'LATENESS.*?(twheel_[a-z_]+)', text)[1]} histogram"
    text += read("tools/bridge/metrics.c")
    for name, kind in re.findall(r"# TYPE (twheel_\w+) (\w+)", text):
        yield f"metric {name} {kind}"
    for name, kind in re.findall(r'\{ "(\w+)", "(\w+)"', read("tools/bridge/metrics.c")):
        yield f"metric twheel_bridge_{name} {kind}"
    for name, values in re.findall(r'struct label \w+ = \{ "(\w+)", \{ (.*?) \}', text):
        yield from (f"label {name} {value}" for value in re.findall(r"\w+", values))
    for name in re.findall(r'["{,](\w+)=\\"%', text):
        yield f"label {name}"


def statuses():
    for name, value in re.findall(r"\b(OUTCOME_\w+)\s*=\s*(\d+)", read("tools/twheelctl/twheelctl.h")):
        yield f"status {name} {value}"


def interface():
    document = json.loads(subprocess.check_output([TOP / "tools/twheelctl/schema.py"]))
    return sorted({*header(), *library(), *schema(document), *metrics(), *statuses()})


def grown(line, now):
    """A structure that has grown keeps its other lines, and a list has its values."""
    path, is_list, values = line.partition("[] ")
    if is_list:
        return any(new.startswith(path + is_list) and {*values.split()} <= {*new.split()[1:]}
                   for new in now)
    match = re.fullmatch(r"size (\w+) (\d+)", line)
    if not match or match[1] == FIXED:
        return False
    size = next((int(new.split()[2]) for new in now if new.startswith(f"size {match[1]} ")), 0)
    return size > int(match[2])


if sys.argv[1:] == ["update"]:
    DUMP.write_text("\n".join(interface()) + "\n")
    sys.exit()
if sys.argv[1:]:
    sys.exit(__doc__)
before, after = DUMP.read_text().splitlines(), interface()
gone = [line for line in before if line not in after and not grown(line, after)]
for line in after:
    if line not in before:
        print(f"new: {line}")
for line in gone:
    print(f"gone: {line}")
if set(after) - set(before):
    print("make abi-update adds what is new")
sys.exit(bool(gone))
