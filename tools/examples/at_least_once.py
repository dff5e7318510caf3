#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A job that is due in 50 ms. The first worker dies after it has read the event."""

import os
import signal

import twheel

NAME = "example-jobs"


def work(dies: bool) -> None:
    """The descriptor is the worker's own: whatever ends it gives back the events that it keeps."""
    with twheel.Purgatory(NAME) as purgatory, purgatory.events(confirm=True) as queue:
        (event,) = queue.read(1)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        print(f"job {event.cookie} is done{', perhaps again' if event.again else ''}", flush=True)
        queue.confirm(event)


def run_worker(dies: bool) -> int:
    """Run a worker to its end, and return its wait status."""
    pid = os.fork()
    if not pid:
        try:
            work(dies)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1]


def main() -> None:
    with twheel.Purgatory.create(NAME) as purgatory:
        purgatory.add(timeout=0.05, detached=True, cookie=17)
        if os.WIFSIGNALED(run_worker(dies=True)):
            print("the first worker has died", flush=True)
        assert run_worker(dies=False) == 0
    twheel.Purgatory.remove(NAME)


main()
