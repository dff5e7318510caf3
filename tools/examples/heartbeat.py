#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A server on a Unix or TCP socket that closes each connection which has been silent for too long."""

import asyncio

import twheel

SILENCE = 0.1  # seconds; rather 30 or more


class Connection(asyncio.Protocol):
    """Echoes. Each piece of data is a heartbeat."""

    transport: asyncio.Transport

    def __init__(self, pool: twheel.CellPool) -> None:
        self.timeout = pool.arm(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        # False if the connection is too late: its event comes, and closes it.
        if self.timeout.touch():
            self.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.timeout.cancel()


def close_silent(purgatory: twheel.Purgatory, cells: twheel.Cells) -> None:
    try:
        for event in purgatory.read():
            if cell := cells.ended(event):
                cell.cookie.transport.close()
    except BlockingIOError:
        pass


async def demonstrate(path: str) -> None:
    """Two clients: one sends all the time, the other one falls silent."""
    eager = await asyncio.open_unix_connection(path)
    silent = await asyncio.open_unix_connection(path)
    silent[1].write(b"hello")
    assert await silent[0].readexactly(5) == b"hello"
    end = asyncio.create_task(silent[0].read())
    while not end.done():
        eager[1].write(b"alive")
        assert await eager[0].readexactly(5) == b"alive"
        await asyncio.sleep(0.01)
    assert end.result() == b""
    print("the silent connection was closed")
    for _, writer in (eager, silent):
        writer.close()
        await writer.wait_closed()


async def main(path: str) -> None:
    with twheel.Purgatory(nonblock=True) as purgatory:
        cells = purgatory.cells(10_000)
        pool = cells.pool(SILENCE)
        loop = asyncio.get_running_loop()
        loop.add_reader(purgatory, close_silent, purgatory, cells)
        async with await loop.create_unix_server(lambda: Connection(pool), path):
            await demonstrate(path)
        loop.remove_reader(purgatory)


if __name__ == "__main__":
    asyncio.run(main("\0twheel-heartbeat"))
