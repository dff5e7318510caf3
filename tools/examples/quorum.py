#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Wait for two of three keys, with a timeout, in an asyncio event loop."""

import asyncio
import sys

import twheel


def ack(write: int, replica: str) -> str:
    """The key by which a replica acknowledges a write."""
    return f"{write}/{replica}"


async def write(purgatory: twheel.AsyncPurgatory, number: int, timeout: float) -> str:
    """Return how the write ended; other tasks run in the meantime."""
    acks = [ack(number, replica) for replica in ("a", "b", "c")]
    try:
        event = await purgatory.wait(acks, quorum=2, timeout=timeout)
    except twheel.Expired as expired:
        return f"timeout, late: {expired.event.unsatisfied_keys()}"
    return f"acknowledged with value {event.value}"


async def main() -> int:
    async with twheel.AsyncPurgatory() as purgatory, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(write(purgatory, 1, timeout=5))
        second = tasks.create_task(write(purgatory, 2, timeout=0.02))
        await asyncio.sleep(0)  # let both add their operations

        purgatory.signal(ack(1, "a"), 10)
        purgatory.signal(ack(2, "a"), 20)
        purgatory.signal(ack(1, "c"), 30)

    print(f"write 1: {first.result()}")
    print(f"write 2: {second.result()}")
    return (first.result(), second.result()) != (
        "acknowledged with value 30",
        "timeout, late: ['2/b', '2/c']",
    )


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
