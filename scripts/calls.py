#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Print what is derived from Documentation/calls.toml, the list of the calls of the device.

    calls.py man PAGE   a manual page, with the errors of the calls in its line .\\" ERRORS CALL...
    calls.py header     the header <twheel_calls.h>, for the selftests, the fuzzer and the fake
    calls.py go         the structures and numbers of the uapi header that tools/go uses

The extension of Sphinx in Documentation/sphinx renders the errors, a table of the calls, and one of
their numbers and structures, which come from the uapi header.
"""

import itertools
import pathlib
import re
import sys
import textwrap
import tomllib

TOP = pathlib.Path(__file__).resolve().parent.parent
LIST = TOP / "Documentation/calls.toml"
with LIST.open("rb") as file:
    CALLS = tomllib.load(file)
IOCTLS = [call for call in CALLS if call.isupper()]

# The functions of the library that are not named after their call.
FUNCTIONS = {"BATCH": "twheel_batch_submit", "open": "twheel_open", "read": "twheel_read_events",
             "mmap": "twheel_cells", "uring": "twheel_uring_prep_add"}


def node(call):
    return CALLS[call].get("node", "file")


def right(call):
    return CALLS[call].get("right", "")


def errors(call):
    return CALLS[call].get("errors", {})


def text_of(call, error):
    """The text of an error, without line breaks, and the call that has it."""
    text = " ".join(errors(call)[error].split())
    return text_of(text, error) if text in CALLS else (text, call)


def grouped(names, text):
    """Yield the errors of calls; adjacent ones with the same text together."""
    listed = dict.fromkeys(error for call in names for error in errors(call))
    for body, group in itertools.groupby(listed, text):
        yield list(group), body


def rst_errors(call):
    def text(error):
        body, owner = text_of(call, error)
        return body if owner == call else f"As for TWHEEL_IOC_{owner}."

    return "\n".join(", ".join(f"``{error}``" for error in group) + f"\n    {body}"
                     for group, body in grouped([call], text))


def rst_table():
    """A table of the ioctls."""
    rows = [("call", "node", "open for", "right", "in a batch", "io_uring", "descriptor",
             "killable")]
    rows += [(f"TWHEEL_IOC_{call}", node(call), CALLS[call]["mode"], right(call).lower(),
              *("yes" if CALLS[call].get(key) else "" for key in ("batch", "ring", "opens", "killable")))
             for call in IOCTLS]
    lines = [f"   {'  -' if column else '* -'} {cell}".rstrip()
             for row in rows for column, cell in enumerate(row)]
    return "\n".join([".. list-table::", "   :header-rows: 1", "", *lines])


SIZES = {"__u8": 1, "char": 1, "__u32": 4, "__s32": 4, "__u64": 8, "__s64": 8}


class Layout:
    """The structures of the uapi header, whose fields have their natural alignment."""

    def __init__(self):
        text = (TOP / "include/uapi/linux/twheel.h").read_text()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        self.constants = {
            name: eval(re.sub(r"\b(\w+?)U?L*\b", r"\1", re.sub(
                r"~0U(L*)", lambda match: hex(2 ** (64 if match[1] else 32) - 1), value)))
            for name, value in re.findall(
                r"^(?:#define |\t)(TWHEEL_\w+)(?:\s*=)?\s+([~0-9a-fA-FxUL<() -]+?),?\s*?$", text, re.M)}
        self.numbers = {name: int(value) for name, value in re.findall(
            r"^#define TWHEEL_IOC_(\w+)\s+_IOWR\(TWHEEL_IOC_MAGIC, (\d+),", text, re.M)}
        self.bodies = dict(re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.S | re.M))

    def size(self, kind):
        """Size and alignment of a type."""
        if kind in SIZES:
            return SIZES[kind], SIZES[kind]
        fields = list(self.fields(kind.removeprefix("struct ")))
        align = max(self.size(base)[1] for _, base, _, _ in fields)
        _, base, count, offset = fields[-1]
        return -(-(offset + self.size(base)[0] * count) // align) * align, align

    def fields(self, struct):
        """Name, type, length and offset of each field."""
        offset = 0
        for kind, name, length in re.findall(r"^\t(struct \w+|\w+) (\w+)(?:\[(\w+)\])?;",
                                             self.bodies[struct], re.M):
            count = self.constants.get(length) or int(length or 1)
            size, align = self.size(kind)
            offset = -(-offset // align) * align
            yield name, kind, count, offset
            offset += size * count

    def request(self, call):
        """_IOWR() of the magic number, the call and the structure."""
        return (3 << 30 | self.size(f"struct twheel_{call.lower()}_args")[0] << 16 |
                self.constants["TWHEEL_IOC_MAGIC"] << 8 | self.numbers[call])


def add_defaults():
    """Set the properties that the list has by default."""
    layout = Layout()
    for call in IOCTLS:
        row = CALLS[call]
        row.setdefault("mode", "write")
        row.setdefault("ring", row.get("batch", False))
        struct = f"twheel_{call.lower()}_args"
        fields = [field[0] for field in layout.fields(struct)]
        row["min_size"] = layout.size(f"struct {struct}")[0]
        if "first_version" in row:
            row["min_size"] = next(offset + layout.size(kind)[0] * count for name, kind, count, offset
                                   in layout.fields(struct) if name == row["first_version"])
        row["known"] = {field: 0 for field in fields if field in ("flags", "reserved")} | \
            row.get("known", {})


add_defaults()


def rst_fields(layout, struct):
    for name, kind, count, offset in layout.fields(struct):
        short = kind.removeprefix("struct ").removeprefix("__")
        yield f"{offset} {name}: {short}{f'[{count}]' if count > 1 else ''}"


def rst_numbers():
    """Tables of the numbers of the ioctls, and of the offsets of fields."""
    layout = Layout()
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 22 14 8 56", "",
             "   * - call", "     - number", "     - bytes", "     - offset and type of the fields"]
    for call in IOCTLS:
        struct = f"twheel_{call.lower()}_args"
        lines += [f"   * - TWHEEL_IOC_{call}", f"     - ``{layout.request(call):#010x}``",
                  f"     - {layout.size(f'struct {struct}')[0]}",
                  f"     - {', '.join(rst_fields(layout, struct))}"]
    for struct in ("twheel_key", "twheel_watch_spec", "twheel_event"):
        lines += [f"   * - {struct}", "     -", f"     - {layout.size(f'struct {struct}')[0]}",
                  f"     - {', '.join(rst_fields(layout, struct))}"]
    return "\n".join(lines)


def function(call):
    return FUNCTIONS.get(call, f"twheel_{call.lower()}")


def man_text(text):
    """Convert the markup of a text to that of manual pages."""
    text = text.replace("-", r"\-").replace("^", r"\(ha")
    text = re.sub(r"``([^`]+)``", lambda word:
                  rf"\f{'B' if word[1].isupper() else 'I'}{word[1]}\fR", text)
    text = re.sub(r"TWHEEL_IOC_(\w+)", lambda name: rf"\fB{function(name[1])}\fR(3)", text)
    return textwrap.fill(text, 90, break_long_words=False, break_on_hyphens=False)


def man_errors(names):
    def text(error):
        """A paragraph for the calls with the same text, without their names if all calls have it."""
        calls = {}
        for call in names:
            if error in errors(call):
                calls.setdefault(text_of(call, error)[0], []).append(call)
        if list(calls.values()) == [names]:
            return man_text(next(iter(calls)))
        return "\n.br\n".join(
            f""".BR {' "(), " '.join(map(function, found))} "():"\n{man_text(body)}"""
            for body, found in calls.items())

    yield from (f".TP\n.B {', '.join(group)}\n{body}\n" for group, body in grouped(names, text))
    if not {"every_ioctl", "command", "uring"} & set(names):
        yield ".PP\nFor errors common to all calls, see\n.BR libtwheel (7).\n"


def man(path):
    return re.sub(r'^\.\\" ERRORS (.*)\n', lambda line: "".join(man_errors(line[1].split())),
                  pathlib.Path(path).read_text(), flags=re.M)


STRUCT = """
/**
 * struct twheel_call_row - an ioctl
 * @name: its name
 * @request: ioctl number
 * @min_size: size of the first version of its structure
 * @control: a call of the control node
 * @events: a call of descriptors of TWHEEL_IOC_EVENTS
 * @mode: bits of the access that it needs, 1 to read and 2 to write
 * @right: TWHEEL_RIGHT_* that a restricted file needs; 0 for none, or if it depends on the
 *	arguments; TWHEEL_RIGHT_OTHERS if such a file cannot make the call
 * @batch: available in a batch
 * @ring: available as a command of io_uring
 * @opens: returns a descriptor
 * @out: offset of the output fields
 * @out_end: end of the output fields, 0 without any
 * @errors: its errors, except those of each ioctl
 */
struct twheel_call_row {
	const char *name;
	unsigned int request;
	unsigned int min_size;
	bool control;
	bool events;
	unsigned int mode;
	__u32 right;
	bool batch;
	bool ring;
	bool opens;
	unsigned int out;
	unsigned int out_end;
	int errors[10];
};

#define TWHEEL_RIGHT_OTHERS	(1U << 31)

#define TWHEEL_OUT(type, first, last)	\\
	.out = offsetof(type, first), .out_end = offsetof(type, last) + sizeof(((type *)0)->last)
"""
MODES = {"any": 0, "read": 1, "write": 2, "both": 3}


def c_row(call):
    row, name = CALLS[call], call.lower()
    fields = [f'.name = "{name}"', f".request = TWHEEL_IOC_{call}", f".mode = {MODES[row['mode']]}",
              f".errors = {{ {', '.join(errors(call))} }}",
              f".min_size = {row['min_size']}"]
    if right(call):
        fields.append(f".right = TWHEEL_RIGHT_{right(call)}")
    fields += [f".{key} = true" for key in ("batch", "ring", "opens") if row.get(key)]
    if node(call) != "file":
        fields.append(f".{node(call)} = true")
    if "output" in row:
        fields.append(f"TWHEEL_OUT(struct twheel_{name}_args, {row['output'][0]}, "
                      f"{row['output'][-1]})")
    return f"\t[TWHEEL_CALL_{call}] = {{ " + ", ".join(fields) + " },"


def c_assignments(call, text):
    """Assignments to fields of the structure of a call, or to others of struct good."""
    parts = (part if part.startswith("good.") else f"good.{call.lower()}_args.{part}"
             for part in text.split(", "))
    return ", ".join(parts).replace("good.", "good->")


def header():
    yield "/* Generated by scripts/calls.py from Documentation/calls.toml. */"
    yield "#ifndef _TWHEEL_CALLS_H\n#define _TWHEEL_CALLS_H\n"
    yield "#include <errno.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <linux/twheel.h>"
    yield "\n/* The numbers of the calls. */\nenum twheel_call {"
    yield from (f"\tTWHEEL_CALL_{call} = {number}," for call, number in Layout().numbers.items())
    yield "};"
    yield STRUCT
    yield "static const struct twheel_call_row twheel_calls[] = {"
    yield from map(c_row, IOCTLS)
    yield "};\n\n/* Members of a structure: the arguments of each call. */\n#define TWHEEL_ARGS\t\\"
    yield from (f"\tstruct twheel_{call.lower()}_args {call.lower()}_args;\t\\" for call in IOCTLS)
    yield "\n/* Initializers of an array: X(name) for each call. */\n#define TWHEEL_CALLS(X)\t\\"
    yield from (f"\t[TWHEEL_CALL_{call}] = X({call.lower()}),\t\\" for call in IOCTLS)
    yield "\n/* Call, field, and its valid bits. */\n#define TWHEEL_KNOWN(X)\t\\"
    for call in IOCTLS:
        for field, bits in CALLS[call]["known"].items():
            yield f"\tX({call}, good->{call.lower()}_args.{field}, {' '.join(str(bits).split())});\t\\"
    yield "\n/* Call, error, and an assignment that provokes it: text and code. */"
    yield "#define TWHEEL_REFUSALS(X)\t\\"
    for call in IOCTLS:
        for error, texts in CALLS[call].get("bad", {}).items():
            for text in texts:
                yield f'\tX({call}, {error}, "{text}", ({c_assignments(call, text)}));\t\\'
    yield "\n/* The table of the numbers in the documentation. */"
    layout = Layout()
    yield from (f"_Static_assert(TWHEEL_IOC_{call} == {layout.request(call):#x}, "
                f'"number of {call}");' for call in IOCTLS)
    for struct in layout.bodies:
        yield from (f"_Static_assert(offsetof(struct {struct}, {name}) == {offset}, "
                    f'"{struct}.{name}");' for name, _, _, offset in layout.fields(struct))
    yield "\n#endif"


GO = {"__u8": "uint8", "char": "byte", "__u32": "uint32", "__s32": "int32", "__u64": "uint64",
      "__s64": "int64", "struct twheel_key": "Key"}


def go_exported(name):
    return "".join(map(str.capitalize, name.lower().removeprefix("twheel_").split("_")))


def go_name(name):
    name = go_exported(name)
    return name[0].lower() + name[1:]


def go_struct(layout, struct):
    """Its fields, those of a type that follow each other in one line, as gofmt aligns them."""
    fields = [(go_name(name), (f"[{count}]" if count > 1 else "") + GO[kind])
              for name, kind, count, _ in layout.fields(struct)]
    rows = [(", ".join(name for name, _ in group), kind)
            for kind, group in itertools.groupby(fields, lambda field: field[1])]
    if len(rows) == 1:
        return f"type {go_name(struct)} struct{{ {' '.join(rows[0])} }}"
    width = max(len(names) for names, _ in rows)
    lines = (f"\t{names:{width}} {kind}\n" for names, kind in rows)
    return f"type {go_name(struct)} struct {{\n{''.join(lines)}}}"


def go_constants(numbers):
    """Those with the same first word together, four in a line."""
    for _, group in itertools.groupby(numbers, lambda name: re.match(".[a-z]*", name)[0]):
        names = list(group)
        for line in (names[at:at + 4] for at in range(0, len(names), 4)):
            yield f"const {', '.join(line)} = {', '.join(f'{numbers[name]:#x}' for name in line)}"


def go():
    """What the other files of the package use. Constants are those that the compiler has printed."""
    layout = Layout()
    used = {word for path in (TOP / "tools/go").glob("*.go")
            if path.name != "abi.go" and not path.name.endswith("_test.go")
            for word in re.findall(r"\w+", path.read_text())}
    numbers = {name: int(value) for constant, value in re.findall(
        r"^constant (\w+) (\d+)$", (TOP / "Documentation/ABI/dump").read_text(), re.M)
        for name in (go_name(constant), go_exported(constant))}
    numbers |= {go_name(f"ioc_{call}"): layout.request(call) for call in IOCTLS}
    yield '// Code generated by "scripts/calls.py go" from <linux/twheel.h>; DO NOT EDIT.'
    yield "// SPDX-License-Identifier: LGPL-2.1-or-later\n\npackage twheel\n"
    yield from go_constants({name: numbers[name] for name in numbers if name in used})
    yield ""
    yield from (go_struct(layout, struct) for struct in layout.bodies
                if go_name(struct) in used and struct.endswith(("_args", "_command")))


def main():
    match sys.argv[1:]:
        case ["man", page]:
            print(man(page), end="")
        case ["header"]:
            print(*header(), sep="\n")
        case ["go"]:
            print(*go(), sep="\n")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
