#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A reader of a log waits until the log has 1000 bytes, or for a minute."""

import threading
import time

import twheel


class Log:
    def __init__(self) -> None:
        self._purgatory = twheel.Purgatory()
        self._end = 0

    def append(self, size: int) -> None:
        """First the data, then the signal: a reader that misses the signal sees the data."""
        self._end += size  # by one thread
        self._purgatory.signal("log", amount=size)

    def wait(self, size: int, timeout: float) -> bool:
        """Return False at the deadline. One thread may wait."""
        deadline = time.monotonic_ns() + int(timeout * 10**9)
        while (end := self._end) < size:
            id = self._purgatory.add(["log"], threshold=size - end, deadline=deadline)
            # Signals before the add are lost.
            if self._end != end:
                self._purgatory.complete(id)
            (event,) = self._purgatory.read(1)
            if event.reason != twheel.Reason.COMPLETED:
                return False
        return True


def write(log: Log) -> None:
    for _ in range(5):
        log.append(300)


def main() -> None:
    log = Log()
    writer = threading.Thread(target=write, args=[log])
    writer.start()
    print("at least 1000 bytes:", "yes" if log.wait(1000, 60) else "no")
    writer.join()


main()
