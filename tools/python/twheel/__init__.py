# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Delayed operations of the twheel kernel module.

An operation has a deadline and may watch keys. It ends exactly once: it completes when
signals of its keys have satisfied its condition, expires at its deadline, or is cancelled.

    Purgatory       the calls of the device, and a read of its events
    AsyncPurgatory  the same in an asyncio event loop, with awaitable operations
    AsyncEvents     the detached events of a named purgatory in an asyncio event loop
    Batch           many calls in one system call
    Cells           timeouts and heartbeats without a system call, see Purgatory.cells()
    Key             a key of 128 bits, from a number, a text or a UUID

The package calls libtwheel through ctypes, and cells by an extension. Failed calls raise OSError with its errno.

A Purgatory may be used by several threads at once, but must not be closed while another
thread uses it. A Batch belongs to one thread, an AsyncPurgatory to the thread of its loop.
"""

from typing import TYPE_CHECKING, Any

from ._aio import AsyncEvents, AsyncPurgatory, Cancelled, Closed, Expired, Operation
from ._batch import Batch, Result
from ._key import Key, KeyLike, Watch, WatchLike
from ._purgatory import (
    Clock,
    Condition,
    Event,
    EventQueue,
    Pending,
    Purgatory,
    QueueState,
    Rearm,
    Reason,
    Right,
    State,
)

if TYPE_CHECKING:
    from ._cells import Cell as Cell, CellPool as CellPool, Cells as Cells
else:

    def __getattr__(name: str) -> Any:
        """The extension is loaded when it is needed, since it is optional."""
        if name not in ("Cell", "CellPool", "Cells"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from . import _cells
        except ImportError as missing:
            raise ImportError(
                "this package was built without its extension for cells, which needs the headers "
                f"of Python and libtwheel and a compiler: {missing}"
            ) from missing
        return getattr(_cells, name)


__all__ = [
    "AsyncEvents",
    "AsyncPurgatory",
    "Batch",
    "Cancelled",
    "Clock",
    "Closed",
    "Condition",
    "Event",
    "EventQueue",
    "Expired",
    "Key",
    "KeyLike",
    "Operation",
    "Pending",
    "Purgatory",
    "QueueState",
    "Rearm",
    "Reason",
    "Result",
    "Right",
    "State",
    "Watch",
    "WatchLike",
]
