#!/usr/bin/env python3
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
"""

import itertools
import pathlib
import re
import sys

TYPES = {"int", "unsigned", "long", "u64", "bool", "atomic_t", "spinlock_t", "struct", "volatile"}
FENCES = {
    "smp_mb": "Mb", "smp_rmb": "Rmb", "smp_wmb": "Wmb", "barrier": "Barrier",
    "smp_mb__before_atomic": "Before-atomic", "smp_mb__after_atomic": "After-atomic",
    "smp_mb__after_spinlock": "After-spinlock", "smp_mb__after_unlock_lock": "After-unlock-lock",
    "rcu_read_lock": "Rcu-lock", "rcu_read_unlock": "Rcu-unlock", "synchronize_rcu": "Sync-rcu",
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
    "||": lambda a, b: int(a != 0 or b != 0), "&&": lambda a, b: int(a != 0 and b != 0),
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b),
    "+": lambda a, b: a + b, "-": lambda a, b: a - b,
}
LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="], ["+", "-"]]


class Tokens:
    """The tokens of a text, with one to look ahead."""

    def __init__(self, regex, text):
        self.list = re.findall(regex, text)
        self.at = 0

    def peek(self):
        return self.list[self.at] if self.at < len(self.list) else ""

    def next(self):
        self.at += 1
        return self.list[self.at - 1]

    def accept(self, *tokens):
        return self.next() if self.peek() in tokens else ""

    def expect(self, token):
        if self.next() != token:
            sys.exit(f"expected {token} before {' '.join(self.list[self.at - 1:self.at + 8])}")


# Tests

def skip_type(tokens):
    found = False
    while tokens.peek() in TYPES:
        found = tokens.next() != ""
    while found and tokens.accept("*"):
        pass
    return found


def primary(tokens):
    token = tokens.next()
    if token == "(":
        if skip_type(tokens):
            tokens.expect(")")
            return primary(tokens)
        inner = expression(tokens)
        tokens.expect(")")
        return inner
    if token in ("*", "&", "!", "-"):
        return (token, primary(tokens))
    if token.isdigit():
        return ("number", int(token))
    if not tokens.accept("("):
        return ("name", token)
    arguments = []
    while not tokens.accept(")"):
        arguments.append(expression(tokens))
        tokens.accept(",")
    return ("call", token, arguments)


def expression(tokens, level=0):
    if level == len(LEVELS):
        return primary(tokens)
    left = expression(tokens, level + 1)
    while tokens.peek() in LEVELS[level]:
        left = ("binary", tokens.next(), left, expression(tokens, level + 1))
    return left


def statement(tokens):
    if tokens.accept("{"):
        block = []
        while not tokens.accept("}"):
            block.append(statement(tokens))
        return ("block", block)
    if tokens.accept("if"):
        tokens.expect("(")
        condition = expression(tokens)
        tokens.expect(")")
        then = statement(tokens)
        otherwise = statement(tokens) if tokens.accept("else") else ("block", [])
        return ("if", condition, then, otherwise)
    if tokens.accept(";"):
        return ("block", [])
    skip_type(tokens)
    left = expression(tokens)
    right = expression(tokens) if tokens.accept("=") else None
    tokens.expect(";")
    return ("set", left, right)


def condition_of(tokens):
    """Disjunctions, conjunctions and negations of R=V, as a function of the final state."""
    def atom():
        if tokens.accept("~"):
            inner = atom()
            return lambda state: not inner(state)
        if tokens.accept("("):
            inner = either()
            tokens.expect(")")
            return inner
        name = tokens.next()
        if name == "[":
            name = tokens.next()
            tokens.expect("]")
        if tokens.accept(":"):
            name += ":" + tokens.next()
        tokens.expect("=")
        value = tokens.next()
        value = int(value) if value.isdigit() else value
        return lambda state: state.get(name, 0) == value

    def both():
        parts = [atom()]
        while tokens.accept("/\\"):
            parts.append(atom())
        return lambda state: all(part(state) for part in parts)

    def either():
        parts = [both()]
        while tokens.accept("\\/"):
            parts.append(both())
        return lambda state: any(part(state) for part in parts)

    return either()


class Test:
    """A litmus test in C."""

    def __init__(self, text):
        text = re.sub(r"^\(\*.*?\*\)|/\*.*?\*/|//[^\n]*", "", text, flags=re.S | re.M)
        head, _, tail = text.partition("{")
        self.name = head.split()[1]
        init, _, text = tail.partition("}")
        self.init = {}
        for assignment in filter(str.strip, init.split(";")):
            name, _, value = assignment.partition("=")
            value = value.strip().lstrip("&") or "0"
            self.init[re.findall(r"\w+", name)[-1]] = int(value) if value.isdigit() else value
            if not value.isdigit():
                self.init.setdefault(value, 0)
        program, condition = re.split(r"^exists", text, flags=re.M)
        program = re.sub(r"^locations.*", "", program, flags=re.M)
        condition = re.sub(r"\(\*.*?\*\)", "", condition, flags=re.S)
        self.condition = condition_of(Tokens(r"/\\|\\/|\w+|[~()=:\[\]]", condition))
        tokens = Tokens(r"\w+|[=!<>]=|&&|\|\||[-+*&|^!<>=(){},;]", program)
        self.threads = []
        while tokens.peek():
            names = set()
            tokens.next()
            tokens.expect("(")
            while not tokens.accept(")"):
                skip_type(tokens)
                names.add(tokens.next())
                tokens.accept(",")
            for name in names:
                self.init.setdefault(name, 0)
            self.threads.append((names, statement(tokens)))


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
        self.execute(program)

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
        if expr[0] == "*":
            return self.evaluate(expr[1])
        return expr[1], frozenset()

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
        kind = expr[0]
        if kind == "number":
            return expr[1], frozenset()
        if kind == "name":
            return (expr[1], frozenset()) if expr[1] in self.names else self.registers[expr[1]]
        if kind == "call":
            return self.call(expr[1], expr[2])
        if kind == "&":
            return expr[1][1], frozenset()
        if kind == "*":
            return self.load(self.evaluate(expr[1]), "Plain-access")
        if kind == "binary":
            left, right = self.evaluate(expr[2]), self.evaluate(expr[3])
            return OPERATORS[expr[1]](left[0], right[0]), left[1] | right[1]
        value, taint = self.evaluate(expr[1])
        return -value if kind == "-" else int(not value), taint

    def execute(self, stmt):
        if stmt[0] == "block":
            for inner in stmt[1]:
                self.execute(inner)
        elif stmt[0] == "if":
            value, taint = self.evaluate(stmt[1])
            outer, self.ctrl = self.ctrl, self.ctrl | taint
            self.execute(stmt[2] if value else stmt[3])
            self.ctrl = outer
        elif stmt[2] is None:
            # A declaration, or a call.
            if stmt[1][0] == "call":
                self.evaluate(stmt[1])
        elif stmt[1][0] == "name":
            self.registers[stmt[1][1]] = self.evaluate(stmt[2])
        else:
            self.store(self.address_of(stmt[1]), self.evaluate(stmt[2]), "Plain-access")


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


# The memory model. A set of events is an integer with their bits, a relation a tuple of such sets
# of the successors of each event.

def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def compose(a, b):
    result = []
    for row in a:
        mask = 0
        for i in bits(row):
            mask |= b[i]
        result.append(mask)
    return tuple(result)


def inverse(a):
    result = [0] * len(a)
    for i, row in enumerate(a):
        for j in bits(row):
            result[j] |= 1 << i
    return tuple(result)


def closure(a):
    rows = list(a)
    for k, bit in enumerate(1 << i for i in range(len(rows))):
        for i, row in enumerate(rows):
            if row & bit:
                rows[i] |= rows[k]
    return tuple(rows)


class Model:
    """The statements of linux-kernel.bell and linux-kernel.cat."""

    KEYWORDS = {"let", "acyclic", "empty", "irreflexive", "flag", "include", "enum",
                "instructions", "show", "and", "in", "as", "rec"}

    def __init__(self, folder):
        self.statements = []
        for name in ("linux-kernel.bell", "linux-kernel.cat"):
            text = (folder / name).read_text()
            text = re.sub(r"\(\*.*?\*\)|//[^\n]*|\"[^\"]*\"", "", text, flags=re.S)
            tokens = Tokens(r"\^-1|[A-Za-z_][\w-]*|[^\s\w]", text)
            while tokens.peek():
                self.statement(tokens)

    def statement(self, tokens):
        word = tokens.next()
        if word == "let":
            self.statements.append(("let", self.bindings(tokens)))
            return
        flag = word == "flag"
        if flag:
            negated = tokens.accept("~")
            word = tokens.next()
        if word in ("acyclic", "irreflexive", "empty"):
            expr = self.expression(tokens)
            tokens.expect("as")
            name = tokens.next()
            if not flag:
                self.statements.append((word, expr, name))
            elif negated and name == "data-race":
                self.statements.append(("race", expr, name))
            return
        # Declarations of the annotations, and others that need no evaluation.
        while tokens.peek() and tokens.peek() not in self.KEYWORDS:
            tokens.next()

    def bindings(self, tokens):
        recursive, bindings = bool(tokens.accept("rec")), []
        while True:
            name, parameter = tokens.next(), None
            if tokens.accept("("):
                parameter = tokens.next()
                tokens.expect(")")
            tokens.expect("=")
            bindings.append((name, parameter, self.expression(tokens)))
            if not tokens.accept("and"):
                return recursive, bindings

    def expression(self, tokens, level=0):
        operators = ("|", ";", "\\", "&")
        if level == len(operators):
            return self.postfix(tokens)
        left = self.expression(tokens, level + 1)
        while tokens.accept(operators[level]):
            left = (operators[level], left, self.expression(tokens, level + 1))
        return left

    def starts_expression(self, token):
        return token in ("(", "[", "~") or (token[:1].isalpha() and token not in self.KEYWORDS)

    def postfix(self, tokens):
        expr = self.primary(tokens)
        while tokens.peek() in ("^-1", "?", "+", "*"):
            operator = tokens.next()
            if operator == "*" and self.starts_expression(tokens.peek()):
                return ("product", expr, self.postfix(tokens))
            expr = (operator, expr)
        return expr

    def primary(self, tokens):
        token = tokens.next()
        if token == "(":
            expr = self.expression(tokens)
            tokens.expect(")")
        elif token == "[":
            expr = ("identity", self.expression(tokens))
            tokens.expect("]")
        elif token == "~":
            expr = ("~", self.primary(tokens))
        elif token == "let":
            bindings = self.bindings(tokens)
            tokens.expect("in")
            expr = ("let", bindings, self.expression(tokens))
        elif tokens.accept("("):
            expr = ("apply", token, self.expression(tokens))
            tokens.expect(")")
        else:
            expr = ("name", token)
        return expr

    def check(self, env, want_races):
        """Whether an execution is consistent, and whether it has a data race."""
        env, race = dict(env), False
        evaluator = Evaluator(env)
        for word, value, *_ in self.statements:
            if word == "let":
                evaluator.bind(*value)
                continue
            if word == "race":
                race = want_races and any(evaluator.relation(value))
                continue
            result = evaluator.relation(value)
            if word == "acyclic":
                result = closure(result)
            if any(result) if word == "empty" else any(
                    row >> i & 1 for i, row in enumerate(result)):
                return False, False
        return True, race


class Evaluator:
    def __init__(self, env):
        self.env = env
        self.size = len(env["po"])
        self.empty = (0,) * self.size
        self.all = (1 << self.size) - 1

    def relation(self, expr):
        value = self.evaluate(expr)
        return self.empty if value is None else value

    def bind(self, recursive, bindings):
        if not recursive:
            values = [(name, ("function", parameter, expr) if parameter else self.evaluate(expr))
                      for name, parameter, expr in bindings]
            self.env.update(values)
            return
        names = [name for name, _, _ in bindings]
        old, values = None, [None] * len(names)
        while old != values:
            old = values
            self.env.update(zip(names, values))
            values = [self.evaluate(expr) for _, _, expr in bindings]

    def restrict(self, mask):
        return tuple(1 << i if (mask or 0) >> i & 1 else 0 for i in range(self.size))

    def apply(self, name, argument):
        if name == "domain":
            return sum(1 << i for i, row in enumerate(argument or ()) if row)
        if name == "range":
            return self.apply("domain", inverse(argument or self.empty))
        if name == "fencerel":
            po = self.env["po"]
            return compose(compose(po, self.restrict(argument)), po)
        _, parameter, expr = self.env[name]
        inner = Evaluator(dict(self.env))
        inner.env[parameter] = argument
        return inner.evaluate(expr)

    def combine(self, kind, left, right):
        if kind == ";":
            return None if left is None or right is None else compose(left, right)
        if right is None:
            return None if kind == "&" else left
        if left is None:
            return right if kind == "|" else None
        operate = {"|": lambda a, b: a | b, "&": lambda a, b: a & b,
                   "\\": lambda a, b: a & ~b}[kind]
        if isinstance(left, int):
            return operate(left, right)
        return tuple(map(operate, left, right))

    def evaluate(self, expr):
        """A set, a relation, or None, which is empty and may be either."""
        kind = expr[0]
        if kind == "name":
            return self.env.get(expr[1])
        if kind == "let":
            inner = Evaluator(dict(self.env))
            inner.bind(*expr[1])
            return inner.evaluate(expr[2])
        if kind == "apply":
            return self.apply(expr[1], self.evaluate(expr[2]))
        value = self.evaluate(expr[1])
        if kind in ("|", ";", "\\", "&"):
            return self.combine(kind, value, self.evaluate(expr[2]))
        if kind == "product":
            right = self.evaluate(expr[2]) or 0
            return tuple(right if (value or 0) >> i & 1 else 0 for i in range(self.size))
        if kind == "identity":
            return self.restrict(value or 0)
        if kind == "~":
            return self.all & ~(value or 0)
        value = value or self.empty
        if kind == "^-1":
            return inverse(value)
        if kind != "?":
            value = closure(value)
        return value if kind == "+" else self.combine("|", value, self.restrict(self.all))


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
        return tuple(sum(1 << j for j in pairs.get(i, ())) for i in range(self.size))

    def add_sets(self):
        env, events, size = self.env, self.events, self.size
        for i, event in enumerate(events):
            for name in event.tags | {event.kind}:
                env[name] = env.get(name, 0) | 1 << i
        for name in ("R", "W", "F"):
            env.setdefault(name, 0)
        env["M"] = env["R"] | env["W"]
        env["id"] = tuple(1 << i for i in range(size))
        env["loc"] = self.relation({
            i: {j for j in range(size) if events[j].loc == events[i].loc}
            for i in range(size) if events[i].loc is not None})
        env["int"] = self.relation({
            i: {j for j in range(size) if self.thread[j] == self.thread[i]} for i in range(size)})
        env["ext"] = tuple(~row & (1 << size) - 1 for row in env["int"])
        env["po-loc"] = tuple(map(int.__and__, env["po"], env["loc"]))

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
        atomic = self.env["rmw"][read]
        if atomic:
            writes = [before[atomic.bit_length() - 1]]
        else:
            writes = [i for i in range(self.size) if self.events[i].kind == "W" and
                      not self.env["po-loc"][read] >> i & 1]
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
        env["fr"] = compose(inverse(rf), co)
        for name in ("rf", "co", "fr"):
            env[name + "i"] = tuple(map(int.__and__, env[name], env["int"]))
            env[name + "e"] = tuple(map(int.__and__, env[name], env["ext"]))
        return env


def result_of(model, test):
    """Never, Sometimes or Race."""
    runs = all_runs(test)
    plain = any("Plain-access" in event.tags for thread in runs for run in thread
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
            changed = re.sub(rf"^.*/\* {mutant}\b:?(.*?)\*/$", r"\1", text, flags=re.M)
            cases.append(("Sometimes Race", f"{path.stem}: {mutant} is found", changed))
        for allowed, name, source in cases:
            result = result_of(model, Test(source))
            print("pass" if result in allowed.split() else "fail", name, sep="\t")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
