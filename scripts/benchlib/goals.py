# SPDX-License-Identifier: GPL-2.0
"""
The goals B1 to B14: the figures of a result that each goal refers to, and whether it is reached.

A ratio is the ratio of the medians of two contenders in the same run; its range is the range
of the ratios of the repetitions.  Emulated figures are compared with the goals as well, and
labelled.
"""

from dataclasses import dataclass

from benchlib.table import aligned, chosen, pending_name, short

# The CPU time of an operation in Kafka's purgatory in ns, with a million pending and three
# keys: a port of it, measured in a separate run on a similar machine.
KAFKA_NS = 11000
THIRD_LEVEL = 1000000
# A time slice of the scheduler in uml is one tick, in us.
SLICE_US = 10000
DEVICE = 100000
# The batch sizes of the cases for the device and for io_uring.
BATCHES = (64, 1024)
# A cost that grows by less than this factor is constant apart from cache misses.
FLAT = 2


@dataclass
class Row:
    """A row of the table: a figure of a goal."""
    goal: str
    about: str
    limit: float
    unit: str
    command: str
    at_least: bool = False
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
        sign = "at least" if self.at_least else "at most"
        if not self.limit:
            return f"0{self.tail()}"
        limit = f"1/{round(1 / self.limit)}" if self.unit == "x" and self.limit < 1 else \
            short(self.limit)
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
        return text + self.tail() + (", emulated" if self.emulated else "")


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


def make_bench(suite):
    return f"make bench SUITES={suite}"


def timer(find, of, what, pending):
    return find.one(suite="timer", case="mixed", of=of, what=what, pending=pending)


def b1(find):
    for what in ("add", "cancel", "rearm"):
        for pending in (1000, 100000, 1000000):
            row = Row("B1", f"{what} at {pending_name(pending)}, relative to timer_list", 1, "x",
                      make_bench("timer"))
            yield find.ratio(row, timer(find, "twheel", what, pending),
                             timer(find, "timer_list", what, pending))


def b2(find):
    for what, limit in (("rearm", 1 / 10), ("add", 1 / 15)):
        row = Row("B2", f"{what} at 1e6, relative to hrtimer", limit, "x", make_bench("timer"))
        yield find.ratio(row, timer(find, "twheel", what, THIRD_LEVEL),
                         timer(find, "hrtimer", what, THIRD_LEVEL))


def b3(find):
    """All cases in the result."""
    for ours in find.all(suite="timer", of="twheel", what="expire", pending=THIRD_LEVEL):
        row = Row("B3", f"expire at 1e6, {ours['case']}, relative to timer_list", 1, "x",
                  make_bench("timer"))
        yield find.ratio(row, ours, find.one(suite="timer", case=ours["case"], of="timer_list",
                                             what="expire", pending=THIRD_LEVEL))


def growth(find, of, what):
    few, many = timer(find, of, what, 1000), timer(find, of, what, THIRD_LEVEL)
    return find.ratio(Row("", "", 0, "x", ""), many, few)


def b4(find):
    for what in ("add", "cancel", "rearm"):
        row = Row("B4", f"growth of {what} from 1e3 to 1e6, relative to timer_list", 1, "x",
                  make_bench("timer"))
        ours, theirs = growth(find, "twheel", what), growth(find, "timer_list", what)
        if ours.value is not None and theirs.value:
            row.value = ours.value / theirs.value
            row.low, row.high = ours.low / theirs.high, ours.high / theirs.low
            row.note = f"{short(ours.value)} times, timer_list {short(theirs.value)} times"
            row.emulated = ours.emulated
        yield row


def biggest(figures):
    return max(figures, key=lambda figure: figure["pending"], default=None)


def b5(find):
    def timers(of, case):
        return biggest(find.all(suite="memory", of=of, case=case, what="bytes"))

    row = Row("B5", "a timer", 40, "bytes", make_bench("memory"))
    slab = [timers(of, "kmem_cache") for of in ("twheel", "timer_list")]
    if all(slab):
        row.note = (f"{short(slab[0]['median'])} in a slab cache, "
                    f"timer_list {short(slab[1]['median'])}")
    yield find.absolute(row, timers("twheel", "sizeof"))
    row = Row("B5", "an operation with 3 keys, total", 224, "bytes", make_bench("memory"))
    yield find.absolute(row, biggest(find.all(suite="memory", of="twheel_op", case="keys3",
                                              what="bytes")))


def b6(find):
    row = Row("B6", "watch 3 keys, complete by one, at 1e6, relative to Kafka (11 us)", 1 / 20, "x",
              make_bench("purgatory"), note="the figure of Kafka is from another run")
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

    for ours in find.all(suite="lateness", case="50ms", of="twheel_op", what="p99", unit="us",
                         pending=THIRD_LEVEL) or [None]:
        same = {"place": ours["place"], "pending": THIRD_LEVEL} if ours else {}
        tick, wakeup = late("twheel_op", "tick", **same), late("wakeup", "p99", **same)
        limit = (tick["median"] if tick else 1048.576) + (wakeup["median"] if wakeup else 0)
        row = Row("B7", "p99 lateness of 50 ms operations with 1e6 pending", limit, "us",
                  make_bench("lateness"))
        if wakeup:
            row.note = f"a tick plus {short(wakeup['median'])} us for a wake-up (p99)"
        yield find.absolute(row, ours)


def b7b(find):
    def late(pending):
        return find.one(suite="neighbours", case="50ms", of="twheel", what="p99", unit="us",
                        pending=pending)

    alone = late(0)
    limit = (alone["median"] if alone else 1048.576) + SLICE_US
    row = Row("B7b", "p99 lateness while 1e6 operations of another user expire at once",
              limit, "us", make_bench("neighbours"))
    if alone:
        row.note = f"{short(alone['median'])} us without them, plus a time slice"
    yield find.absolute(row, late(THIRD_LEVEL))


def places_of(find, suite):
    """The places of a suite, native ones first."""
    places = dict.fromkeys(figure["place"] for figure in find.all(suite=suite))
    return sorted(places, key=lambda place: place in find.emulated) or ["-"]


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
    command = make_bench("device")
    for place in places_of(find, "device"):
        for batch in batches_of(find, place):
            case = f"batch{batch}"
            for about, what in (("add", ["add", "fill"]), ("cancel", "cancel")):
                row = Row("B8", f"{about} in batches of {batch} at 1e5, relative to the best peer",
                          1 / 2, "x", command)
                yield to_best_peer(find, row, place, what,
                                   of_device(find, place, "twheel", what, case), batch)
            row = Row("B8", f"growth of cancel in batches of {batch} from 1e3 to 1e5", FLAT, "x",
                      command)
            yield find.ratio(row, of_device(find, place, "twheel", "cancel", case),
                             of_device(find, place, "twheel", "cancel", case, 1000))


def b9(find):
    for place in places_of(find, "device"):
        for batch in batches_of(find, place):
            for about, what in (("an expiry until the read", "expire"),
                                ("only the delivery", "deliver")):
                row = Row("B9", f"{about}, up to {batch} at a time, at 1e5, "
                          "relative to the best peer", 1 / 2, "x", make_bench("device"))
                ours = of_device(find, place, "twheel", what, cases_up_to(batch))
                yield to_best_peer(find, row, place, what, ours, batch)


def b10(find):
    row = Row("B10", "an operation with one key through the device", 192, "bytes",
              make_bench("device"))
    yield find.absolute(row, biggest(find.all(suite="device", of="twheel", what="bytes",
                                              case=("keys1", "keys1-batch64"))))


def b11(find):
    """Use the rig, which has two real CPUs; the guests may be emulated."""
    for case, about, limit in (("timers_own", "timers on separate shards", 1.9),
                               ("ops_own", "operations in two purgatories", 1.9),
                               ("ops_shared", "operations in one purgatory", 1.7)):
        for ours in find.all(suite="contention", case=case, unit="ratio") or [None]:
            what = f", {ours['what']}" if ours else ""
            row = Row("B11", f"2 CPUs relative to 1: {about}{what}", limit, "x",
                      make_bench("contention"), at_least=True)
            yield find.absolute(row, ours)


def b12(find):
    for case, about in (("idle", "with nothing pending"), ("far", "with distant deadlines only")):
        row = Row("B12", f"wake-ups {about}", 0, "per second", make_bench("wakeups"))
        yield find.absolute(row, find.one(suite="wakeups", of="twheel", case=case,
                                          what="per_second"))
    levels = find.one(suite="wakeups", of="twheel", case="alone", what="levels")
    row = Row("B12", "wake-ups of a distant timer, one per level",
              levels["median"] if levels else 1, "wake-ups", make_bench("wakeups"))
    yield find.absolute(row, find.one(suite="wakeups", of="twheel", case="alone",
                                      what="per_timer"), worst=True)


def b13(find):
    """Use the longest stretch of all runs, not the median."""
    machine = biggest(find.all(suite="irqs_off", of="machine", what="longest", unit="ns"))
    for case in ("cascade", "cascade_spread", "clock_set"):
        row = Row("B13", f"longest stretch with interrupts off, {case} of 1e6", 20000, "ns",
                  make_bench("irqs_off"))
        ours = biggest(find.all(suite="irqs_off", of="twheel", case=case, what="longest",
                                unit="ns"))
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
        row = Row("B14", f"locks taken by {about}", limit, "locks", make_bench("counts"))
        yield find.absolute(row, find.one(suite="counts", case=case, what="locks"))


GOALS = (b1, b2, b3, b4, b5, b6, b7, b7b, b8, b9, b10, b11, b12, b13, b14)


def rows(result):
    find = Figures(result)
    for goal in GOALS:
        found = list(goal(find))
        yield from found or [Row(goal.__name__.upper(), "-", 0, "x", "make bench")]


def text_lines(table):
    head = ["goal", "figure", "wanted", "measured", "", "command", "note"]
    yield from aligned([head, *([row.goal, row.about, row.wanted(), row.measured(),
                                 row.verdict(), row.command, row.note] for row in table)])


def rst_lines(table):
    """A list-table, since it allows cells of any width."""
    yield ".. list-table::"
    yield "   :header-rows: 1"
    yield ""
    for cells in [["goal", "figure", "wanted", "measured", "", "command"],
                  *([row.goal, row.about + (f" ({row.note})" if row.note else ""), row.wanted(),
                     row.measured(), row.verdict(), f"``{row.command}``"] for row in table)]:
        for i, cell in enumerate(cells):
            yield f"   {'* -' if i == 0 else '  -'} {cell}".rstrip()


def summary(table):
    """A goal is reached if all its rows are."""
    verdicts = {}
    for row in table:
        verdicts.setdefault(row.goal, set()).add(row.verdict())
    for words in ("missed", "not measured", "reached"):
        names = [goal for goal, found in verdicts.items()
                 if words in found and (words == "missed" or "missed" not in found)
                 and (words != "reached" or found == {"reached"})]
        if names:
            yield f"{words}: {', '.join(names)}"
