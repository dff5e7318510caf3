# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Purgatories in an asyncio event loop: one descriptor, and a future for each operation.  Queues of
events as asynchronous iterators.
"""

import asyncio
import collections
import contextlib
import os
from collections.abc import Callable, Generator, Iterable
from types import TracebackType
from typing import Any, Self

from ._batch import Batch
from ._key import KeyLike, WatchLike
from ._purgatory import Clock, Condition, Event, EventQueue, Purgatory, Rearm, Reason

# Events that are taken at once. Other callbacks of the loop run before further events.
MAX_EVENTS = 256


class Expired(TimeoutError):
    """The operation expired at its deadline."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"operation {event.id} expired")
        self.event = event


class Cancelled(Exception):
    """The operation was cancelled, by a key or by another task, thread or process."""

    def __init__(self, event: Event) -> None:
        super().__init__(f"operation {event.id} was cancelled")
        self.event = event


class Closed(Exception):
    """The purgatory was closed or removed before the operation ended."""


def resolve(future: "asyncio.Future[Event]", event: Event) -> None:
    if event.reason == Reason.EXPIRED:
        future.set_exception(Expired(event))
    elif event.reason == Reason.CANCELLED:
        future.set_exception(Cancelled(event))
        # Do not warn about an operation that no task awaits.
        future.exception()
    elif event.error:
        future.set_exception(OSError(-event.error, os.strerror(-event.error)))
    else:
        future.set_result(event)


class Operation:
    """
    An operation of an AsyncPurgatory.

    Awaiting it returns its event when it has completed.  It raises Expired, which is a
    TimeoutError, Cancelled, Closed, or the OSError of complete_error().  If the awaiting task
    is cancelled, the operation is cancelled too; asyncio.shield() prevents this.
    """

    def __init__(self, purgatory: "AsyncPurgatory", id: int) -> None:
        self.id = id
        self._purgatory = purgatory
        self._future: asyncio.Future[Event] = purgatory._loop.create_future()

    def __await__(self) -> Generator[Any, None, Event]:
        return self._future.__await__()

    def __repr__(self) -> str:
        return f"<Operation {self.id} {'done' if self.done() else 'pending'}>"

    def done(self) -> bool:
        """True if the event has been read. The operation may have ended before."""
        return self._future.done()

    def cancel(self) -> bool:
        """Return True if this call ended the operation. An await of it raises Cancelled."""
        return self._purgatory.purgatory.cancel(self.id)

    def complete(self, value: int = 0) -> bool:
        """Return True if this call ended the operation."""
        return self._purgatory.purgatory.complete(self.id, value)

    def rearm(self, timeout: float | None, *, mode: Rearm = Rearm.ALWAYS) -> bool:
        """Move the deadline, as Purgatory.rearm()."""
        return self._purgatory.purgatory.rearm(self.id, timeout, mode=mode)


class AsyncPurgatory:
    """
    A purgatory whose events are read by the running event loop.

        async with twheel.AsyncPurgatory() as purgatory:
            event = await purgatory.wait(["a", "b", "c"], quorum=2, timeout=5)

    The parameter is the name of a purgatory, None for a private one, or a Purgatory to take
    over.  It must be made in the loop's thread, and all of its methods must be called there.
    The one exception is signal().  Other threads use the same purgatory through the attribute
    purgatory, whose calls are thread-safe, but they must not read its events.

    A Purgatory that is taken over may have operations already, for example after a restart.
    Their events are passed to on_event; so are the events of operations that were added
    through the attribute purgatory.
    """

    def __init__(
        self,
        purgatory: Purgatory | str | None = None,
        *,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        if not isinstance(purgatory, Purgatory):
            purgatory = Purgatory(purgatory, nonblock=True)
        self.purgatory = purgatory
        self._fd = purgatory.fileno()
        self._on_event = on_event
        self._waiting: dict[int, Operation] = {}
        # Operations that nobody awaits any longer, whose events are still to be read.
        self._abandoned: set[int] = set()
        # Events that were read and not delivered, since on_event may close the purgatory.
        self._events: collections.deque[Event] = collections.deque()
        self._ended = False
        os.set_blocking(self._fd, False)
        self._loop.add_reader(self._fd, self._readable)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def add(
        self,
        keys: Iterable[WatchLike] = (),
        *,
        timeout: float | None = None,
        deadline: int | None = None,
        clock: Clock = Clock.MONOTONIC,
        condition: Condition | None = None,
        quorum: int | None = None,
        threshold: int | None = None,
        slack: float = 0,
        cookie: int = 0,
        cancel_on_set: bool = False,
    ) -> Operation:
        """Add an operation to await, with the parameters of Purgatory.add()."""
        self._check()
        id = self.purgatory.add(
            keys,
            timeout=timeout,
            deadline=deadline,
            clock=clock,
            condition=condition,
            quorum=quorum,
            threshold=threshold,
            slack=slack,
            cookie=cookie,
            cancel_on_set=cancel_on_set,
        )
        # The event may be queued already, but only the loop reads it.
        operation = Operation(self, id)
        operation._future.add_done_callback(lambda future: self._done(id, future))
        self._waiting[id] = operation
        return operation

    async def wait(
        self,
        keys: Iterable[WatchLike] = (),
        *,
        timeout: float | None = None,
        deadline: int | None = None,
        clock: Clock = Clock.MONOTONIC,
        condition: Condition | None = None,
        quorum: int | None = None,
        threshold: int | None = None,
        slack: float = 0,
        cookie: int = 0,
        cancel_on_set: bool = False,
    ) -> Event:
        """Add an operation and await it, with the results of Operation."""
        return await self.add(
            keys,
            timeout=timeout,
            deadline=deadline,
            clock=clock,
            condition=condition,
            quorum=quorum,
            threshold=threshold,
            slack=slack,
            cookie=cookie,
            cancel_on_set=cancel_on_set,
        )

    def signal(self, key: KeyLike, value: int = 0, *, amount: int = 1, limit: int = 0) -> int:
        """Signal a key, from any thread. Return the number of completed operations."""
        return self.purgatory.signal(key, value, amount=amount, limit=limit)

    def close(self) -> None:
        """
        Cancel the operations of add() and wait(), and close the descriptor.  An await of one
        of them raises Closed, unless its event had been queued before.  It may be called again,
        and after the end of the loop.
        """
        if self._loop.is_closed() and not self._ended:
            # The loop has removed its readers, and refuses callbacks of futures.
            self._ended = True
            self._cancel_waiting()
            self._waiting.clear()
        if self._ended:
            self.purgatory.close()
            return
        self._check()
        try:
            while self._events:
                self._deliver(self._events.popleft())
            while self._read():
                pass
            self._cancel_waiting()
        finally:
            self._end()
            self.purgatory.close()

    @property
    def closed(self) -> bool:
        """True after close(), and after the purgatory was removed or drained."""
        return self._ended

    def _check(self) -> None:
        """A future or a reader of another thread's loop would be used without its lock."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("the purgatory belongs to another event loop")
        if self._ended:
            raise Closed("the purgatory is closed")

    def _readable(self) -> None:
        self._read()

    def _read(self) -> bool:
        """Deliver the queued events, up to a number. Return False if none was queued."""
        try:
            events = self.purgatory.read(MAX_EVENTS)
        except BlockingIOError:
            return False
        self._events.extend(events)
        while self._events:
            self._deliver(self._events.popleft())
        if not events:
            self._end()
        return bool(events)

    def _deliver(self, event: Event) -> None:
        operation = self._waiting.pop(event.id, None)
        if operation is not None:
            if not operation._future.done():
                resolve(operation._future, event)
        elif event.id in self._abandoned:
            self._abandoned.discard(event.id)
        elif self._on_event is not None:
            self._call_on_event(self._on_event, event)

    def _call_on_event(self, on_event: Callable[[Event], None], event: Event) -> None:
        """An exception must not prevent the delivery of the other events."""
        try:
            on_event(event)
        except Exception as error:
            self._loop.call_exception_handler(
                {"message": "exception in on_event of a purgatory", "exception": error}
            )

    def _done(self, id: int, future: "asyncio.Future[Event]") -> None:
        """The future is done. If the awaiting task was cancelled, cancel the operation."""
        if future.cancelled() and self._waiting.pop(id, None) is not None:
            self._abandoned.add(id)
            # A removed purgatory has cancelled its operations.
            with contextlib.suppress(OSError):
                self.purgatory.cancel(id)

    def _cancel_waiting(self) -> None:
        """Closing the descriptor is not enough: another process may have it open, too."""
        with contextlib.suppress(OSError), Batch(self.purgatory) as batch:
            for id in self._waiting:
                batch.cancel(id)
            batch.submit()

    def _end(self) -> None:
        """No further event is read."""
        if self._ended:
            return
        self._ended = True
        self._loop.remove_reader(self._fd)
        waiting, self._waiting = self._waiting, {}
        for operation in waiting.values():
            if not operation._future.done():
                operation._future.set_exception(Closed("the purgatory was closed"))
                # Do not warn about an operation that no task awaits.
                operation._future.exception()


class AsyncEvents:
    """
    The events of a queue in the running event loop.  Detached operations have their events there:

        async with twheel.AsyncEvents("orders") as events:
            async for event in events:
                handle(event)

    The parameter is the name of a purgatory, for its detached events, or an EventQueue to take
    over, such as that of Purgatory.events().  It must be made and used in the loop's thread.

    The loop ends after close(), and after the last event of a removed purgatory.  Several tasks
    may iterate at once; each event goes to one of them.  Events are taken from the queue in
    advance, and kept until the next iteration: those that remain at close() are lost.
    """

    def __init__(self, queue: EventQueue | str) -> None:
        self._loop = asyncio.get_running_loop()
        if isinstance(queue, str):
            with Purgatory(queue) as purgatory:
                queue = purgatory.events(nonblock=True)
        self.queue = queue
        self._events: collections.deque[Event] = collections.deque()
        # Held by the task that reads the queue or waits for it.
        self._lock = asyncio.Lock()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        os.set_blocking(queue.fileno(), False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("the queue belongs to another event loop")
        async with self._lock:
            while not self._events and not self._ended:
                await self._read()
            if not self._events:
                raise StopAsyncIteration
            return self._events.popleft()

    def close(self) -> None:
        """Close the queue, and end the loops over it. It may be called again."""
        self._ended = True
        self._events.clear()
        self._wake()
        self.queue.close()

    @property
    def closed(self) -> bool:
        """True after close(), and after the last event of a removed purgatory."""
        return self._ended

    async def _read(self) -> None:
        """Take events from the queue, or wait until there are some."""
        # A queue that is never empty must not keep other callbacks from running.
        await asyncio.sleep(0)
        if self._ended:
            return
        try:
            events = self.queue.read(MAX_EVENTS)
        except BlockingIOError:
            await self._wait()
            return
        self._events.extend(events)
        self._ended = not events

    async def _wait(self) -> None:
        """Wait until the queue is readable or closed."""
        self._waiter = self._loop.create_future()
        self._loop.add_reader(self.queue.fileno(), self._wake)
        try:
            await self._waiter
        finally:
            self._wake()

    def _wake(self) -> None:
        """Stop waiting. The descriptor is still open: its number may be reused after that."""
        waiter, self._waiter = self._waiter, None
        if waiter is None or self._loop.is_closed():
            return
        self._loop.remove_reader(self.queue.fileno())
        if not waiter.done():
            waiter.set_result(None)
