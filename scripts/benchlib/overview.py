# SPDX-License-Identifier: GPL-2.0
"""
The first table of Documentation/performance.rst: the time that twheel takes for the jobs of its
users, relative to the usual alternative, on each machine.
"""

from dataclasses import dataclass
from typing import Callable

from benchlib.goals import (BATCHES, KAFKA_NS, THIRD_LEVEL, Figures, Row, list_table, of_device,
                            places_of, timer, to_best_peer)


@dataclass
class Job:
    """A job, with the function that finds the ratio in a result."""
    about: str
    alternative: str
    ratio: Callable
    better: str


def to_peer(peer, what):
    def ratio(find, row):
        return find.ratio(row, timer(find, "twheel", what, THIRD_LEVEL),
                          timer(find, peer, what, THIRD_LEVEL))
    return ratio


def to_kafka(find, row):
    ours = find.one(suite="purgatory", case="keys3", of=("twheel", "twheel_op"),
                    what="watch_complete", pending=THIRD_LEVEL)
    if ours:
        find.absolute(row, ours)
        row.value = ours["median"] / KAFKA_NS
    return row


def to_user_timers(find, row):
    batch = BATCHES[-1]
    place = places_of(find, "device")[0]
    ours = of_device(find, place, "twheel", ["add", "fill"], f"batch{batch}")
    return to_best_peer(find, row, place, ["add", "fill"], ours, batch)


JOBS = (
    Job("Kernel code: timeouts that are nearly always cancelled",
        "timer_list", to_peer("timer_list", "add_cancel"),
        "timer_list, if timers may be late by an eighth of their delay"),
    Job("Kernel code: heartbeats and idle timeouts, with deadlines that move later",
        "timer_list, mod_timer()", to_peer("timer_list", "rearm_later"),
        "timer_list, in the same case"),
    Job("Kernel code: a large number of exact deadlines",
        "hrtimer", to_peer("hrtimer", "add"),
        "hrtimer, if a tick of 1 ms is too coarse"),
    Job("Operations that wait for any of several keys",
        "Kafka's purgatory", to_kafka,
        "a completion with a timeout, if one thread waits for one event"),
    Job("Programs: many timeouts, in batches",
        "the best of io_uring, timerfd and POSIX timers", to_user_timers,
        "a heap and one timerfd, if one process owns all of its timers"),
)


def cell(job, result):
    row = job.ratio(Figures(result), Row("", "", 1, "x", ""))
    if row.value is None:
        return "-"
    return (f"{row.value:.2f}" if row.value >= 0.1 else f"{row.value:.2g}") + (
        ", emulated" if row.emulated else "")


def lines(results):
    """The table, with a column for each machine; results are by name."""
    yield from list_table([["job", "alternative", *(f"time on {name}" for name in results),
                            "better choice"], *(
        [job.about, job.alternative, *(cell(job, result) for result in results.values()),
         job.better] for job in JOBS)])
