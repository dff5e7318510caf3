#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A service that is restarted while its operations are pending and one event is unread."""

import os
from collections.abc import Callable

import twheel

NAME = "example-restart"


def first_run() -> None:
    """The first run of the service. Its second operation ends after its exit."""
    with twheel.Purgatory(NAME) as purgatory:
        purgatory.add(timeout=3600, detached=True, cookie=1)
        purgatory.add(timeout=0.1, detached=True, cookie=2)


def second_run() -> None:
    """First the events, then the list: an operation that ends in between has an unread event."""
    with twheel.Purgatory(NAME) as purgatory, purgatory.events() as queue:
        for event in queue.read(1):
            print(f"operation {event.cookie} has expired")
        for pending in purgatory.list(others=True):
            print(f"operation {pending.cookie} is pending", flush=True)


def run(service: Callable[[], None]) -> None:
    """In a process of its own."""
    pid = os.fork()
    if not pid:
        try:
            service()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def main() -> None:
    twheel.Purgatory.create(NAME).close()
    run(first_run)
    run(second_run)
    twheel.Purgatory.remove(NAME, force=True)


main()
