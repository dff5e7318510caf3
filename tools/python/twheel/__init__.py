# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Delayed operations of the twheel kernel module.

An operation has a deadline and may watch keys. It ends exactly once: it completes when
signals of its keys have satisfied its condition, expires at its deadline, or is cancelled.

    Purgatory       the calls of the device, and a read of its events
    AsyncPurgatory  the same in an asyncio event loop, with awaitable operations
    AsyncEvents     the detached events of a named purgatory in an asyncio event loop
    Batch           many calls in one system call
    Key             a key of 128 bits, from a number, a text or a UUID

The package calls libtwheel through ctypes. Failed calls raise OSError with its errno.

A Purgatory may be used by several threads at once, but must not be closed while another
thread uses it. A Batch belongs to one thread, an AsyncPurgatory to the thread of its loop.
"""

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
    Rearm,
    Reason,
    Right,
    State,
)

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
    "Rearm",
    "Reason",
    "Result",
    "Right",
    "State",
    "Watch",
    "WatchLike",
]
