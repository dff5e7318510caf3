# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Purgatories in an asyncio event loop: one descriptor, and a future for each operation. Queues of
events as asynchronous iterators.
"""

import asyncio
import collections
import contextlib
import errno
import os
import select
import threading
import weakref
from collections.abc import Callable, Generator, Iterable
from typing import Any, Self

from ._batch import Adds, Batch, Wait, add_error
from ._key import KeyLike, WatchLike, tuple_of_keys
from ._purgatory import (
    Clock,
    Condition,
    Event,
    EventQueue,
    Purgatory,
    Rearm,
    Reason,
    parameters_of,
)

# Events that are taken at once. Other callbacks of the loop run before further events.
MAX_EVENTS = 256
# Seconds from the end of an operation until its event is queued, with much to spare.
LATEST_EVENT = 1


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


class Operation(asyncio.Future[Event]):
    """
    An operation of an AsyncPurgatory: a future of its event.

    Awaiting it returns its event when it has completed. It raises Expired, which is a
    TimeoutError, Cancelled, Closed, or the OSError of complete_error(). If the awaiting task
    is cancelled, the operation is cancelled too; asyncio.shield() prevents this.

    If it completes and its event is not taken by an await, result() or exception() before the
    last reference to it is gone, the purgatory passes the event to on_event, or reports it.
    """

    # The event of a completed operation, and how often it was taken.
    _completed: Event | None = None
    _taken = 0

    def __init__(self, purgatory: "AsyncPurgatory", id: int) -> None:
        super().__init__(loop=purgatory._loop)
        self.id = id
        self._purgatory = purgatory

    def __del__(self) -> None:
        """Replaces the report of a future about an exception that was not retrieved."""
        if self._completed is not None and self._taken <= 0:
            self._purgatory._pass_on_soon(self._completed)

    def __await__(self) -> Generator[Any, None, Event]:
        try:
            if not self.done():
                self._asyncio_future_blocking = True
                yield self
            return self.result()
        except asyncio.CancelledError:
            # The task has called result() before it learned that it was cancelled.
            self._taken -= self.done()
            raise
        finally:
            # The traceback of a cancelled task does not keep the operation.
            del self

    __iter__ = __await__

    def __repr__(self) -> str:
        return f"<Operation {self.id} {'done' if self.done() else 'pending'}>"

    def result(self) -> Event:
        self._taken += 1
        return super().result()

    def exception(self) -> BaseException | None:
        error = super().exception()
        self._taken += error is not None
        return error

    def cancel(self, msg: Any | None = None) -> bool:
        """
        Return True if this call ended the operation: an await of it raises CancelledError.
        Return False if it had ended before; its event, which may not have been read, decides. If
        another reader has taken the event, an await raises RuntimeError.

        In a forked process it ends the await, but not the operation.
        """
        if self._purgatory._owner.is_forked:
            return super().cancel(msg)
        try:
            if self._call(self._purgatory.purgatory.cancel):
                return super().cancel(msg)
            if not self.done():
                self._purgatory._expect(self.id)
        except OSError as error:  # of a descriptor that is not ours any more
            self.set_exception(error)
        return False

    def complete(self, value: int = 0) -> bool:
        """Return True if this call ended the operation."""
        self._purgatory._owner.check_process(self)
        return self._call(self._purgatory.purgatory.complete, value)

    def rearm(self, timeout: float | None, *, mode: Rearm = Rearm.ALWAYS) -> bool:
        """Move the deadline. Return False if the operation had ended, or the mode prevented it."""
        self._purgatory._owner.check_process(self)
        return self._call(self._purgatory.purgatory.rearm, timeout, mode=mode)

    def _call(self, call: Callable[..., bool], *args: Any, **options: Any) -> bool:
        """The removal of the purgatory ends its operations, too."""
        try:
            return not self.done() and call(self.id, *args, **options)
        except OSError as error:
            if error.errno != errno.ESHUTDOWN:
                raise
            return False


def resolve(future: asyncio.Future[Event], event: Event) -> None:
    if isinstance(future, Operation) and event.reason == Reason.COMPLETED:
        future._completed = event
    if event.reason == Reason.EXPIRED:
        future.set_exception(Expired(event))
    elif event.reason == Reason.CANCELLED:
        future.set_exception(Cancelled(event))
    elif event.reason != Reason.COMPLETED:
        future.set_exception(RuntimeError(f"operation {event.id} ended by {event.reason!r}"))
    elif event.error:
        future.set_exception(OSError(-event.error, os.strerror(-event.error)))
    else:
        future.set_result(event)


class Owner:
    """
    The loop of a queue, and its process.

    Another thread would use the futures and readers of the loop without a lock. After fork(), the
    child has a copy of the loop, but the file that epoll_wait() reads, the queue and its operations
    are those of the parent.
    """

    all: "weakref.WeakSet[Owner]" = weakref.WeakSet()

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        # The loop, until the end of the purgatory, and not in a child.
        self.usable: object = self.loop
        self.is_forked = False
        self._thread = threading.current_thread().name
        self._ident = threading.get_ident()
        self._process = os.getpid()
        self.all.add(self)

    @classmethod
    def fork(cls) -> None:
        """This process is the child."""
        for owner in cls.all:
            owner.is_forked, owner.usable = True, False

    def is_here(self) -> bool:
        """This thread is that of the loop, which has not ended."""
        here = not self.is_forked and threading.get_ident() == self._ident
        return here and not self.loop.is_closed()

    def check_process(self, subject: object) -> None:
        if self.is_forked:
            raise RuntimeError(
                f"{subject} belongs to process {self._process}: process {os.getpid()}, "
                "which was forked from it, can only close it"
            )

    def check(self, queue: EventQueue) -> None:
        self.check_process(queue)
        if asyncio._get_running_loop() is self.loop:
            return
        thread = threading.current_thread().name
        if thread != self._thread:
            other = f"not to thread {thread}"
        elif asyncio._get_running_loop() is None:
            other = "which is not running"
        else:
            other = "not to the one that is running"
        raise RuntimeError(f"{queue} belongs to an event loop of thread {self._thread}, {other}")

    def add_reader(self, fd: int, callback: Callable[[], object]) -> None:
        """
        The loop may have this number from a descriptor that was closed before its reader or writer
        was removed. It would only replace the callback then, and not watch the new descriptor.
        """
        for remove in (self.loop.remove_writer, self.loop.remove_reader):
            with contextlib.suppress(OSError):  # of epoll, which has forgotten the number
                remove(fd)
        self.loop.add_reader(fd, callback)


os.register_at_fork(after_in_child=Owner.fork)


class AsyncPurgatory:
    """
    A purgatory whose events are read by the running event loop.

        async with twheel.AsyncPurgatory() as purgatory:
            event = await purgatory.wait(["a", "b", "c"], quorum=2, timeout=5)

    The parameter is the name of a purgatory, None for a private one, or a Purgatory to take
    over, whose descriptor the attribute purgatory has then. It must be made in the loop's thread, and
    all of its methods must be called there. The one exception is signal(). Other threads use the
    same purgatory through the attribute purgatory, whose calls are thread-safe, but they must not
    read its events. A forked process can close() it and use signal().

    The function on_event gets the events that no task takes: those of operations that a
    Purgatory had before it was taken over, or that were added through the attribute purgatory,
    and those of operations that completed although the task that awaited them was cancelled.
    Without on_event, such an event is reported to the exception handler of the loop.
    """

    def __init__(
        self,
        purgatory: Purgatory | str | None = None,
        *,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._owner = Owner()
        self._loop = self._owner.loop
        if isinstance(purgatory, Purgatory):
            self._purgatory = purgatory._take_over()
        else:
            self._purgatory = Purgatory(purgatory, nonblock=True)
        self._fd = self._purgatory.fileno()
        self._on_event = on_event
        # Those of wait() that have not been added.
        self._adds = Adds()
        # Operations whose events have not been read.
        self._waiting: dict[int, Wait] = {}
        # Events that were read and not delivered, since on_event may close the purgatory.
        self._events: collections.deque[Event] = collections.deque()
        self._ended = False
        os.set_blocking(self._fd, False)
        self._owner.add_reader(self._fd, self._read)
        self._purgatory._begin_reader(self._end)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    @property
    def purgatory(self) -> Purgatory:
        """The calls of the device. In the loop's thread they follow each wait() that has begun."""
        if self._adds.adds:
            self._send()
        return self._purgatory

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
        """
        Add an operation to await, with the parameters of Purgatory.add(). It is pending when the call
        returns: a message that makes others signal its keys may follow.
        """
        self._check()
        keys = tuple_of_keys(keys)
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
        wait = self._waiting[id] = Wait()
        wait.keys, wait.future, wait.id = keys, operation, id
        return operation

    @parameters_of(add)
    async def wait(
        self,
        keys: Iterable[WatchLike] = (),
        *,
        timeout: float | None = None,
        cookie: int = 0,
        **options: Any,
    ) -> Event:
        """
        Add an operation and await it, with the results of Operation. Those of all tasks that wait in
        an iteration of the loop are added together, at its end, or before another call of the loop's
        thread.
        """
        # A plain future, of the running loop, costs half as much to await as an Operation.
        future: asyncio.Future[Event] = asyncio.Future()
        if future.get_loop() is not self._owner.usable:
            self._check()
        wait = Wait()
        wait.future = future
        if type(keys) is not tuple:
            keys = tuple_of_keys(keys)
        adds = self._adds
        if not adds.adds:
            self._loop.call_soon(self._send)
        adds.put(wait, keys, timeout, cookie, options)
        try:
            return await future
        except (asyncio.CancelledError, GeneratorExit):
            self._abandon(wait)
            raise

    def signal(self, key: KeyLike, value: int = 0, *, amount: int = 1, limit: int = 0) -> int:
        """Signal a key, from any thread. Return the number of completed operations."""
        return self.purgatory.signal(key, value, amount=amount, limit=limit)

    def _send(self) -> None:
        """Add the operations of wait(). Only the loop does so, not other threads or a forked process."""
        if not self._adds.adds or not self._owner.is_here():
            return
        waiting = self._waiting
        for wait, (id, error) in self._adds.execute(self._fd):
            if not error:
                # The event may be queued already, but only the loop reads it.
                wait.id = id
                wait.command = wait.specs = b""
                waiting[id] = wait
            elif not wait.future.done():
                wait.future.set_exception(add_error(error, wait.command))

    def _abandon(self, wait: Wait) -> None:
        """The task of a wait() was cancelled, or is destroyed: no task takes the event."""
        future = wait.future
        if future.done() and not future.cancelled():
            if future.exception() is None:
                self._pass_on_soon(future.result())
            return
        with contextlib.suppress(RuntimeError, OSError):  # of what is closed
            future.cancel()
            if not self._owner.is_here():
                return
            if wait.command:
                self._adds.drop(wait)
            elif wait.id in self._waiting and not self._purgatory.cancel(wait.id):
                self._expect(wait.id)

    def close(self) -> None:
        """
        Cancel the operations of add() and wait(), and close the descriptor. An await of one
        of them raises Closed, unless it had ended before. It may be called again, and after the
        end of the loop. In a process that was forked from this one, it closes the descriptor and
        changes nothing else.
        """
        open_here = not self._ended and not self._owner.is_forked
        if open_here and not self._loop.is_closed():
            self._check()
        try:
            if open_here:
                self._finish()
        finally:
            self._purgatory.close()

    @property
    def closed(self) -> bool:
        """True after close(), and after the purgatory was removed or drained."""
        return self._ended

    def _check(self) -> None:
        self._owner.check(self._purgatory)
        if self._ended:
            raise Closed(f"{self._purgatory} is closed")

    def _read(self) -> bool:
        """Deliver the queued events, up to a number. Return False if none was queued."""
        if self._owner.is_forked:  # in a copy of the loop
            return False
        try:
            events = self._purgatory.read(MAX_EVENTS)
        except BlockingIOError:
            return False
        self._events.extend(events)
        self._deliver()
        if not events:
            self._end()
        return bool(events)

    def _deliver(self) -> None:
        while self._events:
            event = self._events.popleft()
            wait = self._waiting.pop(event.id, None)
            if wait is None:
                self._pass_on(event)
                continue
            event = Event(*event[:-1], wait.keys)
            future = wait.future
            if not future.done():
                try:
                    resolve(future, event)
                except RuntimeError:  # of a loop that is closed
                    pass
            elif event.reason == Reason.COMPLETED and not isinstance(future, Operation):
                self._pass_on(event)

    def _expect(self, id: int) -> None:
        """
        An operation has ended. Its event is or will be queued, unless another reader took it. The
        timer must not keep the operation, see Operation.__del__().
        """
        if not self._loop.is_closed():
            self._loop.call_later(LATEST_EVENT, self._find, id)

    def _find(self, id: int) -> None:
        if id not in self._waiting:
            return
        lost: Exception = RuntimeError(f"another reader took the event of operation {id}")
        try:
            if self._read():
                self._loop.call_soon(self._find, id)
                return
        except OSError as error:  # of a descriptor that something else has closed
            lost = error
        wait = self._waiting.pop(id, None)
        if wait is not None and not wait.future.done():
            wait.future.set_exception(lost)

    def _pass_on(self, event: Event) -> None:
        """No task takes the event. An exception must not prevent the delivery of others."""
        if self._owner.is_forked:  # the parent passes it on
            return
        context: dict[str, Any] = {
            "message": f"no task took the event of operation {event.id}, and there is no on_event",
            "event": event,
        }
        if self._on_event is not None:
            try:
                self._on_event(event)
                return
            except Exception as error:
                context["message"] = "exception in on_event of a purgatory"
                context["exception"] = error
        self._loop.call_exception_handler(context)

    def _pass_on_soon(self, event: Event) -> None:
        """The garbage collector may run in any thread, and at any place of the program."""
        try:
            self._loop.call_soon_threadsafe(self._pass_on, event)
        except RuntimeError:  # after the end of the loop
            self._pass_on(event)

    def _finish(self) -> None:
        """
        Cancel the operations, and deliver the events of those that had ended before. Closing the
        descriptor is not enough: another process may have it open, too.
        """
        self._close_all(self._adds.take())
        self._deliver()
        if self._ended:  # on_event has closed it
            return
        ids = [id for id, wait in self._waiting.items() if not wait.future.done()]
        with contextlib.suppress(OSError), Batch(self._purgatory) as batch:
            for id in ids:
                batch.cancel(id)
            for id, result in zip(ids, batch.submit()):
                if not result.error:
                    self._close_all([self._waiting[id]])
        # The others have their events in the queue, or on the way to it.
        late = [wait for wait in self._waiting.values() if not wait.future.done()]
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while not self._ended and (self._read() or (late and poll.poll(LATEST_EVENT * 1000))):
            late = [wait for wait in late if not wait.future.done()]

    def _close_all(self, waits: Iterable[Wait]) -> None:
        for wait in waits:
            if not wait.future.done():
                with contextlib.suppress(RuntimeError):  # of a loop that is closed
                    wait.future.set_exception(Closed(f"{self._purgatory} was closed"))

    def _end(self) -> None:
        """No further event is read. The descriptor is still open."""
        if self._ended:
            return
        self._ended = True
        self._owner.usable = False
        if self._owner.is_forked:
            return
        self._loop.remove_reader(self._fd)
        waiting, self._waiting = self._waiting, {}
        self._close_all([*waiting.values(), *self._adds.take()])


class AsyncEvents:
    """
    The events of a queue in the running event loop. Detached operations have their events there:

        async with twheel.AsyncEvents("orders") as events:
            async for event in events:
                handle(event)

    The parameter is the name of a purgatory, for its detached events, or an EventQueue to take
    over, such as that of Purgatory.events(). It must be made and used in the loop's thread. A forked
    process can only close it.

    The loop ends after close(), and after the last event of a removed purgatory. Several tasks
    may iterate at once; each event goes to one of them. Events are taken from the queue in
    advance, and kept until the next iteration: rest() returns those that remain, and close()
    reports them. A queue with confirm delivers them again; one task iterates over it, and the
    iteration that follows the last event of a read confirms them.
    """

    def __init__(self, queue: EventQueue | str) -> None:
        self._owner = Owner()
        self._loop = self._owner.loop
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
        queue._begin_reader(self._end)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        self._owner.check(self.queue)
        async with self._lock:
            while not self._events and not self._ended:
                await self._read()
            if not self._events:
                raise StopAsyncIteration
            return self._events.popleft()

    def rest(self) -> list[Event]:
        """Return the events that were taken from the queue and not delivered. They are yours."""
        self._owner.check_process(self.queue)
        events = list(self._events)
        self._events.clear()
        return events

    def close(self) -> None:
        """
        Close the queue, and end the loops over it. Events that remain are reported to the exception
        handler of the loop. It may be called again. In a process that was forked from this one, it
        closes the descriptor and changes nothing else.
        """
        if not self._owner.is_forked and (events := self.rest()) and not self.queue._confirms:
            message = f"{self.queue} was closed before {len(events)} of its events were taken"
            self._loop.call_exception_handler({"message": message, "events": events})
        self.queue.close()

    @property
    def closed(self) -> bool:
        """True after close(), and after the last event of a removed purgatory."""
        return self._ended

    async def _read(self) -> None:
        """Take events from the queue, or wait until there are some."""
        # A queue that is never empty must not keep other callbacks from running.
        await asyncio.sleep(0)
        self._owner.check_process(self.queue)
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
        self._owner.add_reader(self.queue.fileno(), self._wake)
        try:
            await self._waiter
        finally:
            self._wake()

    def _wake(self) -> None:
        """Stop waiting. The descriptor is still open: its number may be reused after that."""
        if self._owner.is_forked:
            return
        waiter, self._waiter = self._waiter, None
        if waiter is None or self._loop.is_closed():
            return
        self._loop.remove_reader(self.queue.fileno())
        if not waiter.done():
            waiter.set_result(None)

    def _end(self) -> None:
        """No further event is read. The descriptor is still open."""
        self._ended = True
        self._wake()
