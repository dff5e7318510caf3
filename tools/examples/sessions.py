#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sessions whose ends are handled by workers that are killed while they do: no end is lost."""

import mmap
import os
import signal
import time

import twheel

NAME = "example-sessions"
SESSIONS, WORKERS, KILLS = 500, 4, 20

# Stands for a database: how often the end of each session was written, up to 255.
ends = mmap.mmap(-1, SESSIONS)


def work() -> None:
    """Write ends of sessions until the process is killed."""
    with twheel.Purgatory(NAME) as purgatory, purgatory.events(confirm=True) as queue:
        while events := queue.read(16):  # confirms the events of the previous read
            for event in events:
                time.sleep(0.0001)
                # With event.again it may have been written before.
                ends[event.cookie] = min(ends[event.cookie] + 1, 255)


def start_worker() -> int:
    pid = os.fork()
    if not pid:
        try:
            work()
        finally:
            os._exit(1)
    return pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def main() -> None:
    with twheel.Purgatory.create(NAME) as purgatory:
        workers = [start_worker() for _ in range(WORKERS)]
        ids = [purgatory.add(timeout=0.02, detached=True, cookie=n) for n in range(SESSIONS)]
        for n in range(KILLS):
            time.sleep(0.005)
            for id in ids[::4]:  # these clients are alive: a heartbeat moves the deadline
                purgatory.rearm(id, 0.02)
            kill(workers[n % WORKERS])
            workers[n % WORKERS] = start_worker()
        while (state := purgatory.query()).pending or state.detached_unread or state.unconfirmed:
            time.sleep(0.001)
        for pid in workers:
            kill(pid)
    twheel.Purgatory.remove(NAME, force=True)
    assert all(ends), "the end of a session is lost"
    print(f"{KILLS} workers were killed, no end of {SESSIONS} sessions is lost")


main()
