#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A service whose workers have a queue of events each, which outlives them."""

import contextlib
import os
from collections.abc import Callable

import twheel

NAME = "example-routing"
ORDERS = {0: [10], 1: [11, 12, 13]}


def handle_events(purgatory: twheel.Purgatory, worker: int, handler: str) -> None:
    """Handle the events in the queue of a worker. A worker would wait for more of them."""
    with purgatory.events(worker, nonblock=True) as queue, contextlib.suppress(BlockingIOError):
        while events := queue.read(16):
            for event in events:
                end = "is paid" if event.reason == twheel.Reason.COMPLETED else "has ended"
                print(f"{handler}: order {event.cookie} of worker {worker} {end}", flush=True)


def first_run(worker: int) -> None:
    """The number of the worker is the number of its queue. It crashes before its orders are paid."""
    with twheel.Purgatory(NAME) as purgatory:
        for order in ORDERS[worker]:
            purgatory.add([order], timeout=3600, detached=True, queue=worker, cookie=order)
        os.abort()


def second_run(worker: int) -> None:
    with twheel.Purgatory(NAME) as purgatory:
        handle_events(purgatory, worker, "restarted")


def run(work: Callable[[int], None], worker: int) -> None:
    """In a process of its own."""
    pid = os.fork()
    if not pid:
        try:
            work(worker)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def take_over(purgatory: twheel.Purgatory, worker: int) -> None:
    """The worker will not come back. First the events, then the list, see restart.py."""
    handle_events(purgatory, worker, "supervisor")
    for pending in purgatory.list(others=True):
        if pending.detached and pending.queue == worker:
            print(f"supervisor: order {pending.cookie} of worker {worker} is pending", flush=True)


def main() -> None:
    with twheel.Purgatory.create(NAME) as purgatory:
        run(first_run, 0)
        run(first_run, 1)
        purgatory.signal(10)
        purgatory.signal(11)
        run(second_run, 0)
        run(second_run, 1)
        purgatory.signal(12)
        take_over(purgatory, 1)
        purgatory.signal(13)
        handle_events(purgatory, 1, "supervisor")
    twheel.Purgatory.remove(NAME)


main()
