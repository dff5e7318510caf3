#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A worker with three requests. Two of them are answered, one of these too late."""

import twheel


class Request:
    """A request, and its timeout."""

    def __init__(self, number: int, pool: twheel.CellPool) -> None:
        self.number = number
        self.timeout = pool.arm(self)

    def answered(self, answer: int) -> None:
        # If the request has timed out before, its event decides.
        if self.timeout.cancel():
            print(f"request {self.number}: answer {answer}")
        else:
            print(f"answer {answer} is too late")


def time_out(purgatory: twheel.Purgatory, cells: twheel.Cells) -> None:
    """Wait for events. With an event loop, read them when the descriptor is ready."""
    for event in purgatory.read():
        if cell := cells.ended(event):
            print(f"request {cell.cookie.number}: timeout")


def main() -> None:
    with twheel.Purgatory() as purgatory:
        cells = purgatory.cells(1000)
        slow, quick = cells.pool(60), cells.pool(0.05)
        first = Request(1, slow)
        second = Request(2, quick)
        first.answered(111)
        time_out(purgatory, cells)
        second.answered(222)
        Request(3, quick)
        time_out(purgatory, cells)


if __name__ == "__main__":
    main()
