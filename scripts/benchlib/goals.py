# SPDX-License-Identifier: GPL-2.0
"""
The goals B1 to B14: the figures of a result that each goal refers to, and whether it is reached.

A ratio is the ratio of the medians of two contenders in the same run; its range is the range
of the ratios of the repetitions.  Emulated figures are compared with the goals as well, and
labelled.  Results of several machines are shown side by side: a goal is reached if all of its
medians are within the limits on every machine.
"""

from dataclasses import dataclass

from benchlib.table import aligned, chosen, pending_name, short, title_of

# The CPU time of an operation in Kafka's purgatory in ns, with a million pending and three
# keys: a port of it, measured in a separate run on a similar machine.
KAFKA_NS = 11000
THIRD_LEVEL = 1000000
# The case of each figure of the suite timer; "mixed" for all others.
CASES = {"add_cancel": "pairs", "rearm_earlier": "heartbeat", "rearm_later": "heartbeat"}
OPERATIONS = ("add", "cancel", "rearm_earlier")
TICK_US = 1048.576
# A time slice of the scheduler in uml is one tick, in us.
SLICE_US = 10000
DEVICE = 100000
# The batch sizes of the cases for the device and for io_uring.
BATCHES = (64, 1024)
OPS_WORK = ("add_complete", "add_signal_keys1")
# A cost that grows by less than this factor is constant apart from cache misses.
FLAT = 2


@dataclass
class Row:
    """A row of the table: a figure of a goal."""
    goal: str
    about: str
    limit: float
    unit: str
    suite: str
    at_least: bool = False
    rule: str = ""  # describes a limit that depends on the machine
    value: float = None
    low: float = None
    high: float = None
    emulated: bool = False
    note: str = ""

    def verdict(self):
        if self.value is None:
            return "not measured"
        good = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "reached" if good else "missed"

    def wanted(self):
        return self.rule or self.limit_text()

    def limit_text(self):
        sign = "at least" if self.at_least else "at most"
        if not self.limit:
            return f"0{self.tail()}"
        parts = 1 / self.limit
        limit = f"1/{round(parts)}" if self.unit == "x" and self.limit < 1 and \
            abs(parts - round(parts)) < 1e-9 else short(self.limit)
        return f"{sign} {limit}{self.tail()}"

    def tail(self):
        return "" if self.unit == "x" else f" {self.unit}"

    def measured(self):
        if self.value is None:
            return "-"
        texts = [f"{value:.3f}" if self.unit == "x" else short(value)
                 for value in (self.value, self.low, self.high)]
        text = texts[0]
        if self.low != self.high:
            text += f" ({texts[1]} to {texts[2]})"
        text += self.tail() + (", emulated" if self.emulated else "")
        return text + (f"; limit {short(self.limit)}{self.tail()}" if self.rule else "")


@dataclass
class Line:
    """A row of the same figure for each machine; the machines without it have None."""
    rows: dict

    def any(self):
        return next(row for row in self.rows.values() if row)

    def verdict(self):
        verdicts = {name: row.verdict() if row else "not measured"
                    for name, row in self.rows.items()}
        missing = [name for name, verdict in verdicts.items() if verdict == "not measured"]
        if "missed" in verdicts.values():
            return "missed"
        if not missing:
            return "reached"
        return "not measured" + ("" if len(missing) == len(verdicts) else
                                 f" on {', '.join(missing)}")

    def cell(self, name):
        """The figure of a machine, and its note."""
        row = self.rows[name]
        if not row or row.value is None:
            return "-"
        return row.measured() + (f" ({row.note})" if row.note else "")


class Figures:
    """Look up figures in a result; native figures take precedence over emulated ones."""

    def __init__(self, result):
        self.result = result
        self.emulated = {place["name"] for place in result["places"] if place["emulated"]}

    def one(self, **words):
        found = chosen(self.result, **words)
        found.sort(key=lambda figure: figure["place"] in self.emulated)
        return found[0] if found else None

    def all(self, **words):
        return chosen(self.result, **words)

    def absolute(self, row, figure, worst=False):
        if figure:
            row.value = figure["max"] if worst else figure["median"]
            row.low, row.high = figure["min"], figure["max"]
            row.emulated = figure["place"] in self.emulated
        return row

    def ratio(self, row, over, under):
        """Set the ratio of two figures of the same place; its range is over the repetitions."""
        if not over or not under or over["place"] != under["place"] or not under["median"]:
            return row
        row.value = row.low = row.high = over["median"] / under["median"]
        row.emulated = over["place"] in self.emulated
        if len(over["values"]) == len(under["values"]) and all(under["values"]):
            each = [a / b for a, b in zip(over["values"], under["values"])]
            row.low, row.high = min(each), max(each)
        elif under["min"]:
            row.low, row.high = over["min"] / under["max"], over["max"] / under["min"]
        return row


def timer(find, of, what, pending):
    return find.one(suite="timer", case=CASES.get(what, "mixed"), of=of, what=what,
                    pending=pending)


def b1(find):
    for what in OPERATIONS:
        for pending in (1000, 100000, 1000000):
            row = Row("B1", f"{title_of(what)} at {pending_name(pending)}, relative to timer_list",
                      1, "x", "timer")
            yield find.ratio(row, timer(find, "twheel", what, pending),
                             timer(find, "timer_list", what, pending))


def b1b(find):
    row = Row("B1b", f"{title_of('rearm_later')} at 1e6, relative to timer_list", 0.4, "x", "timer")
    yield find.ratio(row, timer(find, "twheel", "rearm_later", THIRD_LEVEL),
                     timer(find, "timer_list", "rearm_later", THIRD_LEVEL))


def b2(find):
    for what, limit in (("rearm", 1 / 10), ("add", 1 / 15)):
        row = Row("B2", f"{title_of(what)} at 1e6, relative to hrtimer", limit, "x", "timer")
        yield find.ratio(row, timer(find, "twheel", what, THIRD_LEVEL),
                         timer(find, "hrtimer", what, THIRD_LEVEL))


def b3(find):
    for case in ("burst", "spread"):
        row = Row("B3", f"expire at 1e6, {case}, relative to timer_list", 1.3, "x", "timer")
        yield find.ratio(row, *(find.one(suite="timer", case=case, of=of, what="expire",
                                         pending=THIRD_LEVEL) for of in ("twheel", "timer_list")))


def growth(find, row, of, what):
    """Set the difference in ns; its range is over the repetitions."""
    few, many = timer(find, of, what, 1000), timer(find, of, what, THIRD_LEVEL)
    if not few or not many or few["place"] != many["place"]:
        return row
    row.value = many["median"] - few["median"]
    row.emulated = many["place"] in find.emulated
    if len(few["values"]) == len(many["values"]):
        each = [b - a for a, b in zip(few["values"], many["values"])]
        row.low, row.high = min(each), max(each)
    else:
        row.low, row.high = many["min"] - few["max"], many["max"] - few["min"]
    return row


def b4(find):
    for what in OPERATIONS:
        theirs = growth(find, Row("", "", 0, "ns", ""), "timer_list", what)
        row = Row("B4", f"growth of {title_of(what)} from 1e3 to 1e6", theirs.value or 0, "ns",
                  "timer", rule="at most that of timer_list")
        yield row if theirs.value is None else growth(find, row, "twheel", what)


def biggest(figures):
    return max(figures, key=lambda figure: figure["pending"], default=None)


def b5(find):
    def timers(of, case):
        return biggest(find.all(suite="memory", of=of, case=case, what="bytes"))

    row = Row("B5", "a timer", 40, "bytes", "memory")
    slab = [timers(of, "kmem_cache") for of in ("twheel", "timer_list")]
    if all(slab):
        row.note = (f"{short(slab[0]['median'])} in a slab cache, "
                    f"timer_list {short(slab[1]['median'])}")
    yield find.absolute(row, timers("twheel", "sizeof"))
    for case, about, limit in (("keys1", "an operation with 1 key, total", 192),
                               ("keys3", "an operation with 3 keys, total", 336)):
        row = Row("B5", about, limit, "bytes", "memory")
        yield find.absolute(row, biggest(find.all(suite="memory", of="twheel_op", case=case,
                                                  what="bytes")))


def b6(find):
    row = Row("B6", "watch 3 keys, complete by one, at 1e6, relative to Kafka (11 us)", 1 / 12, "x",
              "purgatory", note="the figure of Kafka is from another run")
    figure = find.one(suite="purgatory", case="keys3", of=("twheel", "twheel_op"),
                      what="watch_complete", pending=THIRD_LEVEL)
    find.absolute(row, figure)
    if figure:
        row.value, row.low, row.high = (figure[name] / KAFKA_NS
                                        for name in ("median", "min", "max"))
    yield row


def b7(find):
    def late(of, what, **words):
        return find.one(suite="lateness", case="50ms", of=of, what=what, unit="us", **words)

    ours = late("twheel_op", "p99", pending=THIRD_LEVEL)
    same = {"place": ours["place"], "pending": THIRD_LEVEL} if ours else {}
    tick, wakeup = late("twheel_op", "tick", **same), late("wakeup", "p99", **same)
    limit = (tick["median"] if tick else TICK_US) + (wakeup["median"] if wakeup else 0)
    row = Row("B7", "p99 lateness of 50 ms operations with 1e6 pending", limit, "us", "lateness",
              rule="at most a tick and a wake-up (p99)")
    yield find.absolute(row, ours)


def b7b(find):
    def late(pending):
        return find.one(suite="neighbours", case="50ms", of="twheel", what="p99", unit="us",
                        pending=pending)

    alone = late(0)
    limit = (alone["median"] if alone else TICK_US) + SLICE_US
    row = Row("B7b", "p99 lateness while 1e6 operations of another user expire at once",
              limit, "us", "neighbours", rule="at most that without them and a time slice")
    yield find.absolute(row, late(THIRD_LEVEL))


def places_of(find, suite):
    """The places of a suite, native ones first."""
    places = dict.fromkeys(figure["place"] for figure in find.all(suite=suite))
    return sorted(places, key=lambda place: place in find.emulated) or ["uml"]


def of_device(find, place, of, what, case, pending=DEVICE):
    """The lowest of several equivalent figures of a contender."""
    found = find.all(suite="device", place=place, of=of, what=what, case=case, pending=pending)
    return min(found, key=lambda figure: figure["median"], default=None)


def best_peer(find, place, what, batch):
    """The best peer: each with its largest number pending and batches no larger than ours."""
    peers = []
    for of in ("io_uring", "timerfd", "posix_timer"):
        figures = [figure for figure in find.all(suite="device", place=place, of=of, what=what,
                                                 case=cases_up_to(batch), unit="ns")
                   if figure["pending"] <= DEVICE]
        most = biggest(figures)
        peers += [figure for figure in figures if figure["pending"] == most["pending"]]
    return min(peers, key=lambda figure: figure["median"], default=None)


def to_best_peer(find, row, place, what, ours, batch):
    """A cost of the device relative to the best peer, which is named in the note."""
    peer = best_peer(find, place, what, batch)
    if peer:
        row.note = f"{peer['of']}, {peer['case']}, at {pending_name(peer['pending'])}"
    return find.ratio(row, ours, peer)


def cases_up_to(batch):
    return ["single"] + [f"batch{size}" for size in BATCHES if size <= batch]


def batches_of(find, place):
    """The measured batch sizes; only the first size if there is none."""
    found = {figure["case"] for figure in find.all(suite="device", place=place, of="twheel")}
    return [size for size in BATCHES if f"batch{size}" in found] or BATCHES[:1]


def b8(find):
    """The cost of an add is the lower one of the figures "add" and "fill"."""
    for place in places_of(find, "device"):
        for batch in batches_of(find, place):
            case = f"batch{batch}"
            for about, what in (("add", ["add", "fill"]), ("cancel", "cancel")):
                row = Row("B8", f"{about} in batches of {batch} at 1e5, relative to the best peer, "
                          f"{place}", 1 / 2, "x", "device")
                yield to_best_peer(find, row, place, what,
                                   of_device(find, place, "twheel", what, case), batch)
            row = Row("B8", f"growth of cancel in batches of {batch} from 1e3 to 1e5, {place}",
                      FLAT, "x", "device")
            yield find.ratio(row, of_device(find, place, "twheel", "cancel", case),
                             of_device(find, place, "twheel", "cancel", case, 1000))


def b9(find):
    for place in places_of(find, "device"):
        for batch in batches_of(find, place):
            for about, what in (("an expiry until the read", "expire"),
                                ("only the delivery", "deliver")):
                row = Row("B9", f"{about}, up to {batch} at a time, at 1e5, "
                          f"relative to the best peer, {place}", 1 / 2, "x", "device")
                ours = of_device(find, place, "twheel", what, cases_up_to(batch))
                yield to_best_peer(find, row, place, what, ours, batch)


def b10(find):
    row = Row("B10", "an operation with one key through the device", 256, "bytes",
              "device")
    yield find.absolute(row, biggest(find.all(suite="device", of="twheel", what="bytes",
                                              case=("keys1", "keys1-batch64"))))


def b11(find):
    """Use the rig, which has two real CPUs; the guests may be emulated."""
    for case, about, works, limit in (
            ("timers_own", "timers on separate shards", ("add_cancel", "rearm_rearm"), 1.9),
            ("ops_own", "operations in two purgatories", OPS_WORK, 1.9),
            ("ops_shared", "operations in one purgatory", OPS_WORK, 1.7)):
        for what in works:
            row = Row("B11", f"2 CPUs relative to 1: {about}, {what}", limit, "x", "contention",
                      at_least=True)
            yield find.absolute(row, find.one(suite="contention", case=case, what=what,
                                              unit="ratio"))


def b12(find):
    for case, about in (("idle", "with nothing pending"), ("far", "with distant deadlines only"),
                        ("churn", "by a loop of add and cancel that never fires")):
        row = Row("B12", f"wake-ups {about}", 0, "per second", "wakeups")
        yield find.absolute(row, find.one(suite="wakeups", of="twheel", case=case,
                                          what="per_second"))
    levels = find.one(suite="wakeups", of="twheel", case="alone", what="levels")
    row = Row("B12", "wake-ups of a distant timer", levels["median"] if levels else 1, "wake-ups",
              "wakeups", rule="at most one per level")
    yield find.absolute(row, find.one(suite="wakeups", of="twheel", case="alone",
                                      what="per_timer"), worst=True)


def b13(find):
    """Use the longest stretch of all runs, not the median."""
    def longest(**words):
        return biggest(find.all(suite="irqs_off", place="rig", what="longest", unit="ns", **words))

    machine = longest(of="machine")
    for case in ("cascade", "cascade_spread", "clock_set"):
        row = Row("B13", f"longest stretch with interrupts off, {case} of 1e6", 20000, "ns",
                  "irqs_off")
        ours = longest(of="twheel", case=case)
        find.absolute(row, ours, worst=True)
        if ours and machine:
            row.note = (f"median {short(ours['median'])}; an idle loop "
                        f"was interrupted for {short(machine['median'])}, "
                        f"{short(machine['max'])} at most")
        yield row


def b14(find):
    for case, about, limit in (("device_add", "a device add with one key", 6),
                               ("device_signal", "a completing signal", 6),
                               ("device_expire_read", "an expiry until the read", 5)):
        row = Row("B14", f"locks taken by {about}", limit, "locks", "counts")
        yield find.absolute(row, find.one(suite="counts", case=case, what="locks"))


GOALS = (b1, b1b, b2, b3, b4, b5, b6, b7, b7b, b8, b9, b10, b11, b12, b13, b14)


def rows(result):
    find = Figures(result)
    for goal in GOALS:
        yield from goal(find)


def lines(results):
    """The rows of results by name of the machine, as lines in the order of the goals."""
    found = {}
    for name, result in results.items():
        for row in rows(result):
            same = found.setdefault(row.goal, {}).setdefault(row.about, dict.fromkeys(results))
            same[name] = row
    for goal in found.values():
        yield from map(Line, goal.values())


def notes(line):
    return "; ".join(dict.fromkeys(row.note for row in line.rows.values() if row and row.note))


def text_lines(table):
    names = list(table[0].rows)
    head = ["goal", "figure", "wanted", *names, "", "command", "note"]
    yield from aligned([head, *(
        [line.any().goal, line.any().about, line.any().wanted(),
         *(row.measured() if row else "-" for row in line.rows.values()), line.verdict(),
         f"make bench SUITES={line.any().suite}", notes(line)] for line in table)])


def list_table(rows_):
    """
    A list-table, since it allows cells of any width.  The first row is the header.  A dash
    would be a list.
    """
    yield from (".. list-table::", "   :header-rows: 1", "")
    for cells in rows_:
        for i, cell in enumerate(cells):
            text = "\\-" if cell == "-" else cell
            yield f"   {'* -' if i == 0 else '  -'} {text}".rstrip()


def rst_lines(table):
    names = list(table[0].rows)
    yield from list_table([["goal", "figure", "suite", "wanted", *names, ""], *(
        [line.any().goal, line.any().about, f"``{line.any().suite}``", line.any().wanted(),
         *map(line.cell, names), line.verdict()] for line in table)])


def summary(table):
    """A goal is reached if all its lines are."""
    verdicts = {}
    for line in table:
        verdicts.setdefault(line.any().goal, set()).add(line.verdict())
    of_goals = {goal: "missed" if "missed" in found else
                "reached" if found == {"reached"} else "not fully measured"
                for goal, found in verdicts.items()}
    for words in ("missed", "not fully measured", "reached"):
        names = [goal for goal, verdict in of_goals.items() if verdict == words]
        if names:
            yield f"{words}: {', '.join(names)}"
