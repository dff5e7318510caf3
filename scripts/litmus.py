#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Check litmus tests with the kernel's memory model, as herd7 does, which Debian does not package.

    litmus.py MODEL TEST...

MODEL is tools/memory-model of a kernel: its linux-kernel.bell and .cat are evaluated for each
execution of a test. Prints a line "pass|fail <tab> NAME" for the result that the comment of a test
expects ("Result: Never"), and for each of its mutants, which must change "Never" to "Sometimes". A
mutant changes the lines that end with its name in a comment:

    smp_mb();			/* NAME */		the line is removed
    smp_store_release(x, 1);	/* NAME: WRITE_ONCE(*x, 1); */	the line is replaced

Supported are the marked accesses, barriers, locks and dependencies of linux-kernel.def, without
loops, SRCU, spin_trylock() and spin_is_locked(), and plain accesses: a data race is the result
"Race".

Tests and models are translated to Python and evaluated by it. A test must be formatted as the
kernel's code: the indentation of its statements is that of Python.
"""

import ast
import functools
import itertools
import operator
import pathlib
import re
import sys

TYPE = r"(?:\b(?:int|unsigned|long|u64|bool|atomic_t|spinlock_t|struct|volatile)\b\s*)+\**"
FENCES = {
    "smp_mb": "Mb", "smp_rmb": "Rmb", "smp_wmb": "Wmb", "barrier": "Barrier",
    "smp_mb__before_atomic": "Before_atomic", "smp_mb__after_atomic": "After_atomic",
    "smp_mb__after_spinlock": "After_spinlock", "smp_mb__after_unlock_lock": "After_unlock_lock",
    "rcu_read_lock": "Rcu_lock", "rcu_read_unlock": "Rcu_unlock", "synchronize_rcu": "Sync_rcu",
}
# The tag of an access, and whether the first argument is its address.
LOADS = {
    "READ_ONCE": ("Once", False), "rcu_dereference": ("Once", False),
    "smp_load_acquire": ("Acquire", True), "atomic_read": ("Once", True),
    "atomic_read_acquire": ("Acquire", True),
}
STORES = {
    "WRITE_ONCE": ("Once", False), "rcu_assign_pointer": ("Release", False),
    "smp_store_release": ("Release", True), "atomic_set": ("Once", True),
    "atomic_set_release": ("Release", True),
}
SUFFIX = r"(_relaxed|_acquire|_release)?"
EXCHANGE = re.compile(r"(?:atomic_)?(xchg|cmpxchg)" + SUFFIX)
ATOMIC = re.compile(r"atomic_(fetch_)?(add|sub|inc|dec)(_return|_and_test)?" + SUFFIX)
OPERATORS = {
    ast.Or: lambda a, b: a != 0 or b != 0, ast.And: lambda a, b: a != 0 and b != 0,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.BitAnd: operator.and_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.Gt: operator.gt,
    ast.LtE: operator.le, ast.GtE: operator.ge, ast.Add: operator.add, ast.Sub: operator.sub,
}


# Tests

def statements(text):
    """The statements of a thread, with P[0] for *P."""
    lines = []
    for line in re.sub(rf"\({TYPE}\)", "", text).splitlines():
        line, declares = re.subn(rf"^(\s*){TYPE}", r"\1", line)
        # Leave out braces, and declarations without a value.
        if not line.strip(" \t{}") or (declares and "=" not in line):
            continue
        line = re.sub(r"(?<![\w)\s])(\s*)\*(\w+)", r"\1\2[0]", line)
        line = line.replace("&&", " and ").replace("||", " or ")
        line = re.sub(r"!(?!=)", " not ", re.sub(r"&(?=\w)", "", line))
        line = re.sub(r"^(\s*)(?:\} )?(else|if .*?)(?: \{)?$", r"\1\2:", line)
        line = re.sub(r"^(\s*);$", r"\1pass", line)
        lines.append(line.rstrip("; \t}"))
    return ast.parse("if True:\n" + "\n".join(lines)).body[0].body


def condition_of(text):
    """Disjunctions, conjunctions and negations of R=V, as a function of the final state."""
    def comparison(match):
        value = match[2] if match[2].isdigit() else repr(match[2])
        return f"(state.get({match[1].strip('[]')!r}, 0) == {value})"

    text = re.sub(r"([\w:]+|\[\w+\])=(\w+)", comparison, " ".join(text.split()))
    text = text.replace("/\\", " and ").replace("\\/", " or ").replace("~", " not ")
    code = compile(text.strip(), "exists", "eval")
    return lambda state: eval(code, {"state": state})


class Test:
    """A litmus test in C."""

    def __init__(self, text):
        text = re.sub(r"^\(\*.*?\*\)|/\*.*?\*/|//[^\n]*", "", text, flags=re.S | re.M)
        init, _, text = text.partition("{")[2].partition("}")
        self.init = {}
        for assignment in filter(str.strip, init.split(";")):
            name, _, value = assignment.partition("=")
            value = value.strip().lstrip("&") or "0"
            self.init[re.findall(r"\w+", name)[-1]] = int(value) if value.isdigit() else value
            if not value.isdigit():
                self.init.setdefault(value, 0)
        program, condition = re.split(r"^exists", text, flags=re.M)
        self.condition = condition_of(re.sub(r"\(\*.*?\*\)", "", condition, flags=re.S))
        self.threads = []
        for parameters, body in re.findall(r"^P\d+\((.*?)\)\s*\{\n(.*?)^\}", program, re.S | re.M):
            names = set(re.findall(r"(\w+)\s*(?:,|$)", parameters))
            for name in names:
                self.init.setdefault(name, 0)
            self.threads.append((names, statements(body)))


class Choose(Exception):
    """A thread reads a location, and the value has not been chosen."""


class Event:
    def __init__(self, kind, tags, loc=None, value=None):
        self.kind, self.tags, self.loc, self.value = kind, tags, loc, value
        self.addr = self.data = self.ctrl = frozenset()
        self.rmw = None


class Thread:
    """An execution of a thread, which reads the values of @choices in turn."""

    def __init__(self, names, program, choices):
        self.names, self.choices = names, list(choices)
        self.events, self.registers, self.ctrl = [], {}, frozenset()
        for stmt in program:
            self.execute(stmt)

    def emit(self, kind, *tags, loc=None, value=None, addr=frozenset(), data=frozenset()):
        event = Event(kind, set(tags), loc, value)
        event.addr, event.data, event.ctrl = addr, data, self.ctrl
        self.events.append(event)
        return len(self.events) - 1

    def choose(self, loc):
        if not self.choices:
            raise Choose(loc)
        return self.choices.pop(0)

    def load(self, address, tag):
        loc, addr = address
        value = self.choose(loc)
        return value, frozenset({self.emit("R", tag, loc=loc, value=value, addr=addr)})

    def store(self, address, value, tag):
        self.emit("W", tag, loc=address[0], value=value[0], addr=address[1], data=value[1])

    def update(self, address, new, order, tag="Once"):
        """An atomic access: @new is a function of the old value, None if it fails."""
        loc, addr = address
        old = self.choose(loc)
        result = new(old)
        full = result is not None and order is None
        if full:
            self.emit("F", "Mb")
        read = self.emit("R", "Acquire" if order == "_acquire" and result is not None else tag,
                         "RMW", loc=loc, value=old, addr=addr)
        if result is not None:
            value, data, depends = result
            write = self.emit("W", "Release" if order == "_release" else "Once", "RMW", loc=loc,
                              value=value, addr=addr, data=data | ({read} if depends else set()))
            self.events[write].rmw = read
        if full:
            self.emit("F", "Mb")
        return old, frozenset({read})

    def address_of(self, expr):
        """The address of an lvalue."""
        if isinstance(expr, ast.Subscript):
            return self.evaluate(expr.value)
        return expr.id, frozenset()

    def atomic(self, match, arguments):
        fetch, op, result, order = match.groups()
        amount, taint = (1, frozenset()) if op in ("inc", "dec") else self.evaluate(arguments[0])
        amount = -amount if op in ("sub", "dec") else amount
        address = self.evaluate(arguments[-1])
        if not fetch and not result:
            return self.update(address, lambda old: (old + amount, taint, True), "_relaxed",
                               "Noreturn")
        old, read = self.update(address, lambda old: (old + amount, taint, True), order)
        if result == "_and_test":
            return int(old + amount == 0), read
        return (old, read) if fetch else (old + amount, read | taint)

    def lock(self, loc):
        self.choices[:0] = [0]
        self.choose(loc)
        read = self.emit("R", "LKR", "Acquire", loc=loc, value=0)
        self.events[self.emit("W", "LKW", loc=loc, value=1)].rmw = read

    def call(self, name, arguments):
        nothing = 0, frozenset()
        if name in FENCES:
            self.emit("F", FENCES[name])
            return nothing
        if name in LOADS:
            tag, pointer = LOADS[name]
            find = self.evaluate if pointer else self.address_of
            return self.load(find(arguments[0]), tag)
        if name in STORES:
            tag, pointer = STORES[name]
            find = self.evaluate if pointer else self.address_of
            self.store(find(arguments[0]), self.evaluate(arguments[1]), tag)
            return nothing
        if name == "spin_lock":
            self.lock(self.evaluate(arguments[0])[0])
            return nothing
        if name == "spin_unlock":
            self.emit("W", "UL", "Release", loc=self.evaluate(arguments[0])[0], value=0)
            return nothing
        match = EXCHANGE.fullmatch(name)
        if match:
            address = self.evaluate(arguments[0])
            values = [self.evaluate(argument) for argument in arguments[1:]]
            value, data = values[-1]
            return self.update(address, lambda old: (value, data, False)
                               if match[1] == "xchg" or old == values[0][0] else None, match[2])
        match = ATOMIC.fullmatch(name)
        if not match:
            sys.exit(f"not supported: {name}()")
        return self.atomic(match, arguments)

    def evaluate(self, expr):
        """The value of an expression, and the reads on which it depends."""
        match expr:
            case ast.Constant(value):
                return value, frozenset()
            case ast.Name(name):
                return (name, frozenset()) if name in self.names else self.registers[name]
            case ast.Call(ast.Name(name), arguments):
                return self.call(name, arguments)
            case ast.Subscript(pointer):
                return self.load(self.evaluate(pointer), "Plain_access")
            case ast.UnaryOp(kind, operand):
                value, taint = self.evaluate(operand)
                return -value if isinstance(kind, ast.USub) else int(not value), taint
            case ast.BoolOp(kind, parts):
                parts = [self.evaluate(part) for part in parts]
            case ast.BinOp(left, kind, right) | ast.Compare(left, [kind], [right]):
                parts = [self.evaluate(left), self.evaluate(right)]
        value = functools.reduce(OPERATORS[type(kind)], (value for value, _ in parts))
        return int(value), frozenset().union(*(taint for _, taint in parts))

    def execute(self, stmt):
        match stmt:
            case ast.If(condition, then, otherwise):
                value, taint = self.evaluate(condition)
                outer, self.ctrl = self.ctrl, self.ctrl | taint
                for inner in then if value else otherwise:
                    self.execute(inner)
                self.ctrl = outer
            case ast.Expr(call):
                self.evaluate(call)
            case ast.Assign([ast.Name(register)], value):
                self.registers[register] = self.evaluate(value)
            case ast.Assign([pointer], value):
                self.store(self.address_of(pointer), self.evaluate(value), "Plain_access")


def runs_of(thread, values):
    """All executions of a thread that read any of @values of each location."""
    todo = [[]]
    while todo:
        choices = todo.pop()
        try:
            yield Thread(*thread, choices)
        except Choose as choose:
            todo += [choices + [value] for value in values[choose.args[0]]]


def all_runs(test):
    """The executions of each thread, with any value that a thread may write."""
    values = {loc: {value} for loc, value in test.init.items()}
    while True:
        runs = [list(runs_of(thread, values)) for thread in test.threads]
        writes = {(event.loc, event.value) for run in itertools.chain(*runs)
                  for event in run.events if event.kind == "W"}
        size = sum(map(len, values.values()))
        for loc, value in writes:
            # A value that depends on itself is written in no execution, but counts on for ever.
            if not isinstance(value, int) or abs(value) < 10:
                values[loc].add(value)
        if sum(map(len, values.values())) == size:
            return runs


# The memory model

class Relation:
    """
    A relation between events: for each event the set of its successors, an integer with their bits.
    A set of events is the identity of its members. The operators | ; \\ & and the product of a model
    are | ^ - * and @, which have their precedence.
    """

    def __init__(self, rows):
        self.rows = tuple(rows)

    def __bool__(self):
        return any(self.rows)

    def __eq__(self, other):
        return self.rows == other.rows

    def __or__(self, other):
        return Relation(map(operator.or_, self.rows, other.rows))

    def __xor__(self, other):
        return Relation(functools.reduce(operator.or_, (other.rows[i] for i in bits(row)), 0)
                        for row in self.rows)

    def __sub__(self, other):
        return Relation(a & ~b for a, b in zip(self.rows, other.rows))

    def __mul__(self, other):
        return Relation(map(operator.and_, self.rows, other.rows))

    def __matmul__(self, other):
        members = sum(other.rows)
        return Relation(members if row else 0 for row in self.rows)

    def __invert__(self):
        return Relation(0 if row else 1 << i for i, row in enumerate(self.rows))

    def domain(self):
        return Relation(1 << i if row else 0 for i, row in enumerate(self.rows))

    def has_loop(self):
        return any(row >> i & 1 for i, row in enumerate(self.rows))

    @property
    def inverse(self):
        result = [0] * len(self.rows)
        for i, row in enumerate(self.rows):
            for j in bits(row):
                result[j] |= 1 << i
        return Relation(result)

    @property
    def plus(self):
        rows = list(self.rows)
        for k, bit in enumerate(1 << i for i in range(len(rows))):
            for i, row in enumerate(rows):
                if row & bit:
                    rows[i] |= rows[k]
        return Relation(rows)

    @property
    def optional(self):
        return Relation(row | 1 << i for i, row in enumerate(self.rows))

    @property
    def star(self):
        return self.plus.optional


def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def translated(text):
    """An expression of a model as code of Python, with the operators of Relation."""
    text = re.sub(r"(?<=\w)-(?=\w)", "_", text.replace("^-1", ".inverse"))
    # A * with nothing to its right is a closure, another one a product.
    text = re.sub(r"\*(?=\s*(?:[])|;&\\]|$))", ".star", text).replace("*", "@")
    for old, new in (("?", ".optional"), ("+", ".plus"), ("[", "("), ("]", ")"), ("&", "*"),
                     ("\\", "-"), (";", "^")):
        text = text.replace(old, new)
    return compile(" ".join(text.split()), "model", "eval")


class Names(dict):
    """The values of the names of a model. A tag that no event has is empty."""

    def __missing__(self, name):
        return self["empty"]

    def evaluate(self, code):
        return eval(code, {}, self)

    def bind(self, name, code):
        """Define NAME, or a function NAME(PARAMETER) with the names at its definition."""
        function = re.fullmatch(r"(\w+)\((\w+)\)", name)
        if not function:
            self[name] = self.evaluate(code)
            return
        outer = Names(self)
        self[function[1]] = lambda argument: Names(
            outer, **{function[2]: argument}).evaluate(code)


class Model:
    """The statements of linux-kernel.bell and linux-kernel.cat, which begin in the first column."""

    def __init__(self, folder):
        self.statements = []
        for name in ("linux-kernel.bell", "linux-kernel.cat"):
            text = (folder / name).read_text()
            text = re.sub(r"\(\*.*?\*\)|//[^\n]*|\"[^\"]*\"", "", text, flags=re.S)
            for statement in re.split(r"^(?=[a-z])", text, flags=re.M):
                self.add(*statement.partition(" ")[::2])

    def add(self, word, rest):
        inner = re.fullmatch(r"(\S+) = let rec(.*)\sin\s(.*)", rest, re.S)
        if word == "let" and inner:
            self.add("let", f"rec {inner[2]}")
            self.add("let", f"{inner[1]} = {inner[3]}")
        elif word == "let":
            kind = "rec" if rest.startswith("rec ") else "let"
            bindings = [binding.split("=", 1) for binding in
                        re.split(r"\sand\s", rest.removeprefix("rec "))]
            self.statements.append((kind, [(name.strip().replace("-", "_"), translated(text))
                                           for name, text in bindings]))
        elif word in ("acyclic", "irreflexive", "empty"):
            self.statements.append((word, translated(rest.rpartition(" as ")[0])))
        elif rest.strip().endswith(" as data-race"):
            self.statements.append(("race", translated(
                rest.rpartition(" as ")[0].removeprefix("~empty"))))

    def check(self, env, want_races):
        """Whether an execution is consistent, and whether it has a data race."""
        names, race = Names(env), False
        for kind, value in self.statements:
            if kind == "let":
                names.bind(*value[0])
            elif kind == "rec":
                names.update((name, names["empty"]) for name, _ in value)
                old = None
                while old != (new := [names.evaluate(code) for _, code in value]):
                    old = new
                    names.update((name, result) for (name, _), result in zip(value, new))
            elif kind == "race":
                race = want_races and bool(names.evaluate(value))
            else:
                result = names.evaluate(value)
                if kind == "acyclic":
                    result = result.plus
                if bool(result) if kind == "empty" else result.has_loop():
                    return False, False
        return True, race


# Executions

def orders_of(threads):
    """The interleavings of lists."""
    threads = [thread for thread in threads if thread]
    if not threads:
        yield []
    for i, thread in enumerate(threads):
        for rest in orders_of(threads[:i] + [thread[1:]] + threads[i + 1:]):
            yield thread[:1] + rest


class Execution:
    """The events of an execution of each thread, numbered, without the order of the accesses."""

    def __init__(self, test, runs):
        self.events = [Event("W", {"IW"}, loc, value) for loc, value in test.init.items()]
        self.thread = [-1] * len(self.events)
        self.state = {}
        relations = {name: {} for name in ("addr", "data", "ctrl", "rmw", "po")}
        for number, run in enumerate(runs):
            first = len(self.events)
            for at, event in enumerate(run.events, first):
                for name in ("addr", "data", "ctrl"):
                    for source in getattr(event, name):
                        relations[name].setdefault(first + source, set()).add(at)
                if event.rmw is not None:
                    relations["rmw"][first + event.rmw] = {at}
                relations["po"][at] = set(range(at + 1, first + len(run.events)))
            self.events += run.events
            self.thread += [number] * len(run.events)
            self.state.update({f"{number}:{name}": value
                               for name, (value, _) in run.registers.items()})
        self.size = len(self.events)
        self.env = {name: self.relation(pairs) for name, pairs in relations.items()}
        self.add_sets()

    def relation(self, pairs):
        return Relation(sum(1 << j for j in pairs.get(i, ())) for i in range(self.size))

    def add_sets(self):
        env, events, size = self.env, self.events, range(self.size)
        tags = {}
        for i, event in enumerate(events):
            for name in event.tags | {event.kind}:
                tags.setdefault(name, {})[i] = {i}
        env.update((name, self.relation(members)) for name, members in tags.items())
        env["empty"] = self.relation({})
        env["id"] = env["empty"].optional
        env["M"] = env.get("R", env["empty"]) | env["W"]
        env["loc"] = self.relation({
            i: {j for j in size if events[j].loc == events[i].loc}
            for i in size if events[i].loc is not None})
        env["int"] = self.relation({
            i: {j for j in size if self.thread[j] == self.thread[i]} for i in size})
        env["ext"] = env["id"] @ env["id"] - env["int"]
        env["po_loc"] = env["po"] * env["loc"]
        env["domain"] = Relation.domain
        env["range"] = lambda relation: relation.inverse.domain()
        env["fencerel"] = lambda fences: env["po"] ^ fences ^ env["po"]

    def coherence_orders(self):
        locs = {}
        for i, event in enumerate(self.events):
            if event.kind == "W":
                locs.setdefault(event.loc, {}).setdefault(self.thread[i], []).append(i)
        orders = [[writes[-1] + order for order in orders_of(
            [writes[thread] for thread in writes if thread != -1])
            if not any("LKW" in self.events[a].tags and self.thread[a] != self.thread[b]
                       for a, b in zip(order, order[1:]))] for writes in locs.values()]
        return itertools.product(*orders)

    def sources_of(self, read, before):
        """The writes that a read may read from. An atomic access reads the one before its own."""
        event = self.events[read]
        atomic = self.env["rmw"].rows[read]
        if atomic:
            writes = [before[atomic.bit_length() - 1]]
        else:
            writes = [i for i in range(self.size) if self.events[i].kind == "W" and
                      not self.env["po_loc"].rows[read] >> i & 1]
        return [i for i in writes if self.events[i].loc == event.loc and
                self.events[i].value == event.value]

    def candidates(self, condition):
        """The environments of the orders of the accesses with a state that a condition allows."""
        reads = [i for i, event in enumerate(self.events) if event.kind == "R"]
        for order in self.coherence_orders():
            final = {self.events[writes[-1]].loc: self.events[writes[-1]].value
                     for writes in order}
            if not condition({**self.state, **final}):
                continue
            co = self.relation({write: set(writes[i + 1:]) for writes in order
                                for i, write in enumerate(writes)})
            before = dict(pair for writes in order for pair in zip(writes[1:], writes))
            for source in itertools.product(*(self.sources_of(read, before) for read in reads)):
                pairs = {}
                for read, write in zip(reads, source):
                    pairs.setdefault(write, set()).add(read)
                yield self.environment(self.relation(pairs), co)

    def environment(self, rf, co):
        env = dict(self.env, rf=rf, co=co)
        env["fr"] = rf.inverse ^ co
        for name in ("rf", "co", "fr"):
            env[name + "i"] = env[name] * env["int"]
            env[name + "e"] = env[name] * env["ext"]
        return env


def result_of(model, test):
    """Never, Sometimes or Race."""
    runs = all_runs(test)
    plain = any("Plain_access" in event.tags for thread in runs for run in thread
                for event in run.events)
    found = False
    for combination in itertools.product(*runs):
        execution = Execution(test, combination)
        for env in execution.candidates(test.condition):
            consistent, _ = model.check(env, False)
            found |= consistent
            if found:
                break
        if found and not plain:
            return "Sometimes"
        for env in execution.candidates(lambda state: True) if plain else ():
            if model.check(env, True)[1]:
                return "Race"
    return "Sometimes" if found else "Never"


def main(folder, *paths):
    model = Model(pathlib.Path(folder))
    for path in map(pathlib.Path, paths):
        text = path.read_text()
        expected = re.search(r"^ \* Result: (\w+)", text, re.M)[1]
        mutants = sorted(set(re.findall(r"/\* ([A-Z_]{3,})\b[^\n]*\*/$", text, re.M)))
        cases = [(expected, f"{path.stem}: {expected}", text)]
        for mutant in mutants:
            changed = re.sub(rf"^(\t*).*/\* {mutant}\b:? ?(.*?)\*/$", r"\1\2;", text, flags=re.M)
            cases.append(("Sometimes Race", f"{path.stem}: {mutant} is found", changed))
        for allowed, name, source in cases:
            result = result_of(model, Test(source))
            print("pass" if result in allowed.split() else "fail", name, sep="\t")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
