# SPDX-License-Identifier: GPL-2.0
"""Tests of purgatories in an event loop."""

import asyncio
import ctypes
import errno
import gc
import os
import resource
import socket
import threading
import traceback
import unittest
import unittest.mock
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import twheel
from twheel import AsyncEvents, AsyncPurgatory, Purgatory, Reason, _lib

NAME = "python-aio-test"

T = TypeVar("T")


def named(test: unittest.TestCase, **options: Any) -> Purgatory:
    """Create a purgatory that lasts as long as the test."""
    purgatory = test.enterContext(Purgatory.create(NAME, **options))
    test.addCleanup(Purgatory.remove, NAME, force=True)
    return purgatory


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until the condition holds."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


class Loop(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        warnings.simplefilter("error", ResourceWarning)

    async def asyncSetUp(self) -> None:
        self.purgatory = await self.enterAsyncContext(AsyncPurgatory())
        self.reported: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.reported.append(context))
        # An emulated CPU takes long for the stacks of the debug mode: it is for the fake device.
        loop.set_debug("LD_PRELOAD" in os.environ)

    async def asyncTearDown(self) -> None:
        await asyncio.sleep(0)
        self.assertEqual(self.reported, [])

    def pending(self) -> int:
        return self.purgatory.purgatory.query().pending

    async def start(self, *keys: twheel.WatchLike, **options: Any) -> "asyncio.Task[twheel.Event]":
        """Start a task that waits, and return once its operation is pending."""
        task = asyncio.create_task(self.purgatory.wait(keys, **options))
        await asyncio.sleep(0)
        return task


class Waits(Loop):
    async def test_an_awaited_event_has_its_keys(self) -> None:
        with self.assertRaises(TimeoutError) as caught:
            await self.purgatory.wait((key for key in "ab"), quorum=2, timeout=0.001)
        assert isinstance(caught.exception, twheel.Expired)
        event = caught.exception.event
        assert event.deadline is not None
        self.assertGreaterEqual(event.time, event.deadline)
        self.assertEqual((event.satisfied_keys(), event.unsatisfied_keys()), ([], ["a", "b"]))
        task = await self.start("a", "b", "c", quorum=2, timeout=3600, cookie=9)
        self.assertEqual(self.purgatory.signal("c"), 0)
        self.assertEqual(self.purgatory.signal("a", 5), 1)
        event = await task
        self.assertEqual((event.value, event.cookie), (5, 9))
        self.assertEqual(event.reason, Reason.COMPLETED)
        self.assertEqual(event.unsatisfied_keys(), ["b"])
        with self.assertRaises(TypeError):
            self.purgatory.add("ab")

    async def test_a_timeout_of_whole_seconds_may_be_long_or_negative(self) -> None:
        task = await self.start("a", timeout=10**10)
        self.assertIsNone(self.purgatory.purgatory.list()[0].deadline)
        self.purgatory.signal("a")
        await task
        with self.assertRaises(twheel.Expired):
            await self.purgatory.wait(timeout=-1)

    async def test_wait_raises_the_error_of_a_completion_and_cancelled(self) -> None:
        failed, cancelled = self.purgatory.add(), self.purgatory.add(["a"])
        self.purgatory.purgatory.complete_error(failed.id, -errno.EPIPE)
        self.purgatory.purgatory.cancel_key("a")
        with self.assertRaises(BrokenPipeError):
            await failed
        with self.assertRaises(twheel.Cancelled):
            await cancelled

    async def test_waits_end_in_the_order_of_their_events(self) -> None:
        ended: list[int] = []
        tasks = [await self.start(i) for i in range(500)]
        for i, task in enumerate(tasks):
            task.add_done_callback(lambda _, i=i: ended.append(i))  # type: ignore[misc]
        for i in reversed(range(500)):
            self.purgatory.signal(i, i)
        events = await asyncio.gather(*tasks)
        self.assertEqual([event.value for event in events], list(range(500)))
        self.assertEqual(ended, list(reversed(range(500))))

    async def test_an_operation_can_be_moved_completed_and_cancelled(self) -> None:
        operation = self.purgatory.add(timeout=3600)
        self.assertTrue(operation.rearm(7200, mode=twheel.Rearm.IF_LATER))
        self.assertTrue(operation.complete(4))
        self.assertFalse(operation.cancel())
        self.assertEqual((await operation).value, 4)
        self.assertFalse(operation.rearm(1) or operation.complete() or operation.cancel())
        operation = self.purgatory.add()
        self.assertTrue(operation.cancel())
        with self.assertRaises(asyncio.CancelledError):
            await operation


class Together(Loop):
    """The operations of all wait() of an iteration are added by one system call."""

    def calls(self, **options: Any) -> unittest.mock.Mock:
        """Watch the system calls that add operations."""
        mock = unittest.mock.Mock(wraps=_lib.lib.twheel_execute, **options)
        self.enterContext(unittest.mock.patch.object(_lib.lib, "twheel_execute", mock))
        return mock

    def begin(self, *keys: twheel.WatchLike, **options: Any) -> "asyncio.Task[twheel.Event]":
        return asyncio.create_task(self.purgatory.wait(keys, **options))

    async def test_waits_of_an_iteration_are_added_by_one_call(self) -> None:
        calls = self.calls()
        tasks = [self.begin(i, cookie=i, timeout=3600 + i % 2 / 2) for i in range(100)]
        tasks += [self.begin(i, "b", quorum=2, cookie=i) for i in range(100, 200)]
        await asyncio.sleep(0)
        self.assertEqual(calls.call_count, 0)
        await asyncio.sleep(0)
        self.assertEqual(calls.call_count, 1)
        pending = sorted(self.purgatory.purgatory.list(), key=lambda pending: pending.cookie)
        self.assertEqual([operation.cookie for operation in pending], list(range(200)))
        self.assertEqual([operation.nr_keys for operation in pending], [1] * 100 + [2] * 100)
        self.purgatory.signal("b")
        for i in range(200):
            self.assertEqual(self.purgatory.signal(i, i), 1)
        events = await asyncio.gather(*tasks)
        self.assertEqual([event.value for event in events], list(range(200)))

    async def test_a_call_adds_a_limited_number(self) -> None:
        calls = self.calls()
        tasks = [self.begin("a") for _ in range(600)]
        await asyncio.sleep(0)
        self.assertEqual(self.purgatory.signal("a"), 600)
        self.assertEqual(calls.call_count, 3)
        await asyncio.gather(*tasks)

    async def test_a_failed_add_concerns_its_task_only(self) -> None:
        first, wrong, last = self.begin("a"), self.begin("a", quorum=2), self.begin("a")
        with self.assertRaisesRegex(OSError, "condition QUORUM, nr_keys 1, quorum 2") as caught:
            await wrong
        self.assertEqual(caught.exception.errno, errno.EINVAL)
        self.assertEqual(self.purgatory.signal("a"), 2)
        await asyncio.gather(first, last)
        self.assertEqual(self.purgatory._waiting, {})

    async def test_a_wait_that_cannot_be_packed_concerns_its_task_only(self) -> None:
        wrong: list[Any] = [
            self.begin(cookie=2**64),
            self.begin(1.5),  # type: ignore[arg-type]
            self.begin("a", period=1),
            self.begin("a", timeout=1, deadline=1),
        ]
        task = self.begin("a")
        errors = await asyncio.gather(*wrong, return_exceptions=True)
        self.assertEqual([type(e) for e in errors], [OverflowError, *3 * [TypeError]])
        self.assertEqual(self.purgatory.signal("a"), 1)
        await task

    async def test_a_wait_with_too_many_keys_is_refused(self) -> None:
        with self.assertRaises(OSError) as expected:
            self.purgatory.add(range(65))
        with self.assertRaises(OSError) as caught:
            await self.purgatory.wait(range(65))
        self.assertEqual(caught.exception.errno, expected.exception.errno)

    async def test_a_full_purgatory_refuses_the_last_waits(self) -> None:
        named(self, max_pending=3)
        async with AsyncPurgatory(NAME) as purgatory:
            tasks = [asyncio.create_task(purgatory.wait(["a"])) for _ in range(5)]
            for task in tasks[3:]:
                with self.assertRaises(OSError) as caught:
                    await task
                self.assertEqual(caught.exception.errno, errno.ENOSPC)
            self.assertEqual(purgatory.signal("a"), 3)
            await asyncio.gather(*tasks[:3])

    async def test_a_call_that_ends_early_is_continued(self) -> None:
        execute = _lib.lib.twheel_execute
        calls = self.calls(side_effect=lambda *args: execute(*args[:4], 1, *args[5:]))
        tasks = [self.begin("a") for _ in range(3)]
        await asyncio.sleep(0)
        self.assertEqual(self.purgatory.signal("a"), 3)
        self.assertEqual(calls.call_count, 3)
        await asyncio.gather(*tasks)

    async def test_a_failed_call_ends_all_its_waits(self) -> None:
        def fail(*_: Any) -> int:
            ctypes.set_errno(errno.ENOMEM)
            return -1

        self.calls(side_effect=fail)
        tasks = [self.begin("a") for _ in range(3)]
        errors: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)
        self.assertEqual([error.errno for error in errors], 3 * [errno.ENOMEM])

    async def test_a_wait_that_is_cancelled_before_its_add_leaves_nothing_behind(self) -> None:
        task, other = self.begin("a"), self.begin("a")
        asyncio.get_running_loop().call_soon(task.cancel)
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(self.purgatory.signal("a"), 1)
        await other
        await until(lambda: not self.purgatory._waiting)

    async def test_a_wait_that_is_thrown_away_is_not_added(self) -> None:
        coroutine = self.purgatory.wait(["a"])
        coroutine.send(None)
        coroutine.close()
        self.assertEqual(self.pending(), 0)

    async def test_close_ends_a_wait_before_its_add(self) -> None:
        task = self.begin("a")
        await asyncio.sleep(0)
        calls = self.calls()
        self.purgatory.close()
        with self.assertRaises(twheel.Closed):
            await task
        self.assertEqual(calls.call_count, 0)

    async def test_close_of_the_inner_purgatory_ends_a_wait_before_its_add(self) -> None:
        inner = self.purgatory.purgatory
        task = self.begin("a")
        await asyncio.sleep(0)
        inner.close()
        with self.assertRaises(twheel.Closed):
            await task

    async def test_another_thread_leaves_the_adds_to_the_loop(self) -> None:
        results: list[int] = []
        task = self.begin("a")
        await asyncio.sleep(0)
        thread = threading.Thread(target=lambda: results.append(self.purgatory.signal("a")))
        thread.start()
        thread.join()
        self.assertEqual(results, [0])
        self.assertEqual(self.purgatory.signal("a", 3), 1)
        self.assertEqual((await task).value, 3)


class Cancellation(Loop):
    async def test_a_cancelled_task_cancels_its_operation(self) -> None:
        task = await self.start("a")
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(self.pending(), 0)
        self.assertEqual(self.purgatory.purgatory.query().cancelled, 1)
        # Its event is read and forgotten.
        await until(lambda: not self.purgatory._waiting)

    async def test_a_shielded_operation_continues(self) -> None:
        operation = self.purgatory.add(["a"])
        with self.assertRaises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(operation), 0.002)
        self.assertEqual(self.pending(), 1)
        self.purgatory.signal("a", 2)
        self.assertEqual((await operation).value, 2)


class Handover(Loop):
    """A signal reports completed operations: each of their events reaches a task or on_event."""

    WAITERS = 300

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.passed_on: list[int] = []
        self.taken: list[int] = []
        self.purgatory = await self.enterAsyncContext(
            AsyncPurgatory(on_event=lambda event: self.passed_on.append(event.value))
        )

    async def take(self) -> None:
        self.taken.append((await self.purgatory.wait(["token"])).value)

    def hand_over(self, token: int) -> int:
        return self.purgatory.signal("token", token, limit=1)

    async def test_no_token_of_a_cancelled_waiter_is_lost(self) -> None:
        tasks = [asyncio.create_task(self.take()) for _ in range(self.WAITERS)]
        await until(lambda: self.pending() == self.WAITERS)
        for i, task in enumerate(tasks):
            self.assertEqual(self.hand_over(i), 1)
            if i % 3 == 1:  # the event is unread
                task.cancel()
            elif i % 3 == 2:  # the event has been read, the task has not continued
                self.purgatory._read()
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.assertEqual(self.taken, list(range(0, self.WAITERS, 3)))
        await until(lambda: len(self.passed_on) == self.WAITERS * 2 // 3)
        self.assertEqual(sorted(self.taken + self.passed_on), list(range(self.WAITERS)))

    async def test_a_completed_operation_that_no_task_has_is_passed_on(self) -> None:
        self.purgatory.add(["token"])
        self.assertEqual(self.hand_over(1), 1)
        await until(lambda: self.passed_on == [1])
        with self.assertRaises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.purgatory.add(["token"])), 0.002)
        self.assertEqual(self.hand_over(2), 1)
        await until(lambda: self.passed_on == [1, 2])
        self.purgatory.purgatory.complete_error(self.purgatory.add().id, -errno.EIO)
        await until(lambda: self.passed_on == [1, 2, 0])

    async def test_an_operation_that_is_kept_is_not_passed_on(self) -> None:
        operation = self.purgatory.add(["token"])
        task = asyncio.ensure_future(asyncio.wait([operation]))
        await asyncio.sleep(0)
        self.assertEqual(self.hand_over(4), 1)
        task.cancel()
        await until(operation.done)
        self.assertEqual(operation.result().value, 4)
        del operation
        await asyncio.sleep(0.002)
        self.assertEqual(self.passed_on, [])

    async def test_close_delivers_events_that_were_on_the_way(self) -> None:
        operation = self.purgatory.add(["token"])
        self.assertEqual(self.hand_over(5), 1)
        thread = threading.Thread(target=self.purgatory.purgatory.complete_all)
        others = [self.purgatory.add() for _ in range(600)]
        thread.start()
        self.purgatory.close()
        thread.join()
        self.assertEqual((await operation).value, 5)
        ended = await asyncio.gather(*others, return_exceptions=True)
        completed = [event for event in ended if isinstance(event, twheel.Event)]
        self.assertEqual(len(completed) + sum(isinstance(e, twheel.Closed) for e in ended), 600)

    async def test_cancelled_waiters_hand_connections_on(self) -> None:
        """The recipe of bindings.rst."""
        idle = [1, 2, 3]

        def give(number: int) -> None:
            if not purgatory.signal("free", number, limit=1):
                idle.append(number)

        async def use(delay: float) -> None:
            async with asyncio.timeout(delay):
                number = idle.pop() if idle else (await purgatory.wait(["free"])).value
                try:
                    await asyncio.sleep(0)
                finally:
                    give(number)

        async with AsyncPurgatory(on_event=lambda event: give(event.value)) as purgatory:
            uses = [use(i % 50 / 1000) for i in range(300)]
            ends = await asyncio.gather(*uses, return_exceptions=True)
            self.assertEqual({type(end) for end in ends}, {type(None), TimeoutError})
            await until(lambda: len(idle) == 3)
        self.assertEqual(sorted(idle), [1, 2, 3])

    async def test_without_on_event_an_event_that_no_task_takes_is_reported(self) -> None:
        async with AsyncPurgatory() as purgatory:
            raw = purgatory.purgatory.add(["token"])
            task = asyncio.create_task(purgatory.wait(["token"]))
            await asyncio.sleep(0)
            self.assertEqual(purgatory.signal("token", 6), 2)
            task.cancel()
            await until(lambda: len(self.reported) == 2)
        events = [context["event"] for context in self.reported]
        self.assertEqual(events[0].id, raw)
        self.assertEqual([event.value for event in events], [6, 6])
        self.reported.clear()


class Futures(Loop):
    async def test_an_operation_is_a_future(self) -> None:
        first, second = self.purgatory.add(["a"]), self.purgatory.add(["b"])
        self.assertTrue(asyncio.isfuture(first))
        self.assertIs(asyncio.ensure_future(first), first)
        self.purgatory.signal("b", 2)
        done, pending = await asyncio.wait(
            [first, second], return_when=asyncio.FIRST_COMPLETED, timeout=5
        )
        self.assertEqual((done, pending), ({second}, {first}))
        self.assertEqual(second.result().value, 2)
        self.purgatory.signal("a", 1)
        events = await asyncio.gather(asyncio.shield(first), second)
        self.assertEqual([event.value for event in events], [1, 2])

    async def test_operations_that_no_task_awaits_are_quiet(self) -> None:
        for _ in range(500):
            self.purgatory.add(timeout=0)
        shielded = [asyncio.shield(self.purgatory.add(timeout=0.002)) for _ in range(300)]
        for future in shielded:
            future.cancel()
        self.purgatory.add(["a"])
        self.assertEqual(self.purgatory.purgatory.cancel_key("a"), 1)
        self.purgatory.add(["a"]).cancel()
        await until(lambda: not self.purgatory._waiting)
        gc.collect()
        # Tear-down checks that nothing was reported.


class Closing(Loop):
    async def test_close_ends_all_waits(self) -> None:
        tasks = [await self.start(i) for i in range(200)]
        fd = self.purgatory._fd
        self.purgatory.close()
        self.purgatory.close()
        self.assertTrue(self.purgatory.closed)
        for task in tasks:
            with self.assertRaises(twheel.Closed):
                await task
        with self.assertRaises(OSError):
            os.fstat(fd)
        with self.assertRaises(twheel.Closed):
            self.purgatory.add()

    async def test_close_delivers_queued_events(self) -> None:
        operations = [self.purgatory.add([i]) for i in range(600)]
        for i in range(600):
            self.purgatory.signal(i, i)
        self.purgatory.close()
        events = await asyncio.gather(*operations)
        self.assertEqual([event.value for event in events], list(range(600)))

    async def test_an_operation_without_a_wait_does_not_warn_after_close(self) -> None:
        self.purgatory.add(["a"])
        self.purgatory.close()
        await asyncio.sleep(0)

    async def test_a_cancelled_task_and_close_do_not_interfere(self) -> None:
        task = await self.start("a")
        task.cancel()
        self.purgatory.close()
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_a_drain_ends_the_waits_and_the_reader(self) -> None:
        task = await self.start("a")
        self.purgatory.purgatory.drain()
        with self.assertRaises(twheel.Cancelled):
            await task
        await until(lambda: self.purgatory.closed)
        self.purgatory.close()
        self.assertTrue(self.purgatory.purgatory.closed)

    async def test_close_cancels_operations_of_a_shared_purgatory(self) -> None:
        other = named(self)
        async with AsyncPurgatory(NAME) as purgatory:
            purgatory.add(["a"])
            self.assertEqual(other.query().pending, 1)
        self.assertEqual(other.query().pending, 0)


class Several(Loop):
    async def test_events_of_earlier_operations_are_passed_on(self) -> None:
        purgatory = Purgatory()
        early = purgatory.add(["a"])
        seen: list[twheel.Event] = []
        async with AsyncPurgatory(purgatory, on_event=seen.append) as adopted:
            operation = adopted.add(["a"])
            self.assertEqual(adopted.signal("a"), 2)
            await operation
            self.assertEqual([event.id for event in seen], [early])

    async def test_an_error_of_on_event_is_reported(self) -> None:
        def refuse(event: twheel.Event) -> None:
            raise ValueError(event.id)

        async with AsyncPurgatory(on_event=refuse) as purgatory:
            purgatory.purgatory.add(["a"])
            operation = purgatory.add(["a"])
            purgatory.signal("a")
            await operation
        self.assertEqual([type(context["exception"]) for context in self.reported], [ValueError])
        self.reported.clear()

    async def test_on_event_may_close_the_purgatory(self) -> None:
        closing: list[AsyncPurgatory] = []
        purgatory = AsyncPurgatory(on_event=lambda event: closing[0].close())
        closing.append(purgatory)
        for _ in range(2):  # the second event comes during the close() for the first one
            purgatory.purgatory.add(["a"])
        operation, pending = purgatory.add(["a"]), purgatory.add(["b"])
        purgatory.signal("a", 7)
        self.assertEqual((await operation).value, 7)
        with self.assertRaises(twheel.Closed):
            await pending

    async def test_another_loop_is_refused(self) -> None:
        errors: list[BaseException] = []

        async def use() -> None:
            try:
                self.purgatory.add(["a"])
            except RuntimeError as error:
                errors.append(error)

        thread = threading.Thread(target=lambda: asyncio.run(use()))
        thread.start()
        thread.join()
        (error,) = errors
        for subject in (repr(self.purgatory.purgatory), "MainThread", thread.name):
            self.assertIn(subject, str(error))
        self.assertEqual(self.pending(), 0)


class Reused(Loop):
    """The number of a descriptor that the loop knows from one that was closed."""

    async def works(self, purgatory: AsyncPurgatory) -> None:
        async with asyncio.timeout(60):
            operation = purgatory.add(["a"])
            purgatory.signal("a", 3)
            self.assertEqual((await operation).value, 3)

    async def test_a_purgatory_that_is_taken_over_is_detached(self) -> None:
        numbers = set()
        for _ in range(2):
            with Purgatory() as raw:
                numbers.add(raw.fileno())
                purgatory = await self.enterAsyncContext(AsyncPurgatory(raw))
                self.assertTrue(raw.closed)
                with self.assertRaisesRegex(OSError, "has no descriptor"):
                    AsyncPurgatory(raw)
            await self.works(purgatory)
        self.assertEqual(len(numbers), 2)

    async def test_a_purgatory_can_be_taken_over_from_another_one(self) -> None:
        first = AsyncPurgatory()
        operation = first.add(["a"])
        async with AsyncPurgatory(first.purgatory) as second:
            with self.assertRaises(twheel.Closed):
                await operation
            first.close()
            await self.works(second)
            self.reported.clear()  # the event of the operation

    async def test_close_of_the_inner_purgatory_ends_the_waits(self) -> None:
        first = AsyncPurgatory()
        task = asyncio.create_task(first.wait(["a"]))
        await asyncio.sleep(0)
        number = first.purgatory.fileno()
        first.purgatory.close()
        with self.assertRaises(twheel.Closed):
            await task
        self.assertTrue(first.closed)
        async with AsyncPurgatory() as second:
            self.assertEqual(second.purgatory.fileno(), number)
            first.close()
            first.close()
            await self.works(second)

    async def test_numbers_of_closed_sockets_can_be_reused(self) -> None:
        loop = asyncio.get_running_loop()
        for also_writes in (False, True):
            reader, writer = socket.socketpair()
            number = reader.fileno()
            loop.add_reader(number, self.fail)
            if also_writes:
                loop.add_writer(number, lambda: None)
            reader.close()
            async with AsyncPurgatory() as purgatory:
                self.assertEqual(purgatory.purgatory.fileno(), number)
                await self.works(purgatory)
            writer.close()

    async def test_a_number_that_only_a_writer_had_can_be_reused(self) -> None:
        reader, writer = socket.socketpair()
        asyncio.get_running_loop().add_writer(reader.fileno(), lambda: None)
        number = reader.fileno()
        reader.close()
        async with AsyncEvents(Purgatory()) as queue:
            self.assertEqual(queue.queue.fileno(), number)
            assert isinstance(queue.queue, Purgatory)
            task = asyncio.create_task(anext(queue))
            await asyncio.sleep(0.002)
            id = queue.queue.add(timeout=0)
            async with asyncio.timeout(60):
                self.assertEqual((await task).id, id)
        writer.close()


class Taken(Loop):
    """Another reader takes the event of an operation."""

    async def take(self) -> twheel.Operation:
        operation = self.purgatory.add(["a"])
        self.purgatory.signal("a")
        self.assertEqual(len(self.purgatory.purgatory.read()), 1)
        return operation

    async def test_wait_for_ends_at_its_timeout(self) -> None:
        operation = await self.take()
        with self.assertRaisesRegex(RuntimeError, f"took the event of operation {operation.id}"):
            await asyncio.wait_for(operation, 0.002)
        self.assertEqual(self.purgatory._waiting, {})

    async def test_a_timeout_ends_the_wait(self) -> None:
        operation = await self.take()
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(0.002):
                await operation

    async def test_a_cancelled_task_ends(self) -> None:
        operation = await self.take()
        task = asyncio.ensure_future(asyncio.wait([operation]))
        waiting = asyncio.create_task(self.purgatory.wait(["b"]))
        await asyncio.sleep(0)
        self.purgatory.signal("b")
        self.purgatory.purgatory.read()
        waiting.cancel()
        self.assertFalse(operation.cancel() or operation.cancel())
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        await task
        with self.assertRaises(RuntimeError):
            operation.result()

    async def test_an_event_that_is_only_late_is_delivered(self) -> None:
        operations = [self.purgatory.add() for _ in range(600)]
        asyncio.get_running_loop().remove_reader(self.purgatory.purgatory.fileno())
        self.assertEqual(self.purgatory.purgatory.complete_all(7), 600)
        self.assertFalse(operations[-1].cancel())
        events = await asyncio.gather(*operations)
        self.assertEqual({event.value for event in events}, {7})

    async def test_a_wait_ends_although_the_device_does_not_answer(self) -> None:
        operation, task = self.purgatory.add(), await self.start()
        raw = self.purgatory.purgatory
        with open(os.devnull) as other:
            number, raw._fd = raw._fd, other.fileno()
            task.cancel()
            with self.assertRaises(OSError):
                await asyncio.wait_for(operation, 0.002)
            with self.assertRaises(asyncio.CancelledError):
                await task
            raw._fd = number


class Forked(unittest.TestCase):
    """A forked process has copies of the loop and its objects, and shares the descriptors."""

    def setUp(self) -> None:
        warnings.simplefilter("error", ResourceWarning)
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)
        self.passed_on: list[int] = []
        self.run_in_loop(self.start())
        self.addCleanup(lambda: self.run_in_loop(self.stop()))

    def run_in_loop(self, task: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(task, 60))

    async def start(self) -> None:
        self.purgatory = AsyncPurgatory(on_event=lambda event: self.passed_on.append(event.value))
        self.operation = self.purgatory.add(["a"])

    async def stop(self) -> None:
        self.purgatory.close()

    def in_child(self, function: Callable[[], object]) -> None:
        child = os.fork()
        if not child:
            try:
                function()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def goes_on(self) -> None:
        """The operation of the parent is pending, and has its event."""

        async def check() -> None:
            self.assertEqual(self.purgatory.purgatory.query().pending, 1)
            self.assertEqual(self.purgatory.signal("a", 7), 1)
            self.assertEqual((await self.operation).value, 7)

        self.run_in_loop(check())

    def close_twice(self) -> None:
        fd = self.purgatory.purgatory.fileno()
        self.purgatory.close()
        self.purgatory.close()
        self.assertTrue(self.purgatory.closed and self.purgatory.purgatory.closed)
        self.assertFalse(self.operation.done())
        with self.assertRaises(OSError):
            os.fstat(fd)

    def test_close_changes_nothing_else(self) -> None:
        async def close() -> None:
            self.close_twice()

        async def fork() -> None:
            self.in_child(self.close_twice)

        def close_after_the_end() -> None:
            self.loop.close()
            self.close_twice()

        self.in_child(self.close_twice)
        self.in_child(lambda: self.run_in_loop(close()))  # the copy of the loop
        self.in_child(close_after_the_end)
        self.in_child(self.purgatory.purgatory.close)
        self.run_in_loop(fork())  # in a task of the parent
        self.goes_on()

    def test_a_cancel_ends_the_await_only(self) -> None:
        async def use() -> None:
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(self.operation, 0.002)
            self.assertTrue(self.operation.cancelled())
            self.assertEqual(self.purgatory.purgatory.query().cancelled, 0)

        self.in_child(lambda: self.run_in_loop(use()))
        self.goes_on()

    def test_other_calls_are_refused(self) -> None:
        async def use() -> None:
            about = rf"belongs to process {os.getppid()}.* {os.getpid()}"
            calls: list[Callable[[], object]] = [
                self.purgatory.add, self.operation.complete, lambda: self.operation.rearm(0)
            ]
            for call in calls:
                with self.assertRaisesRegex(RuntimeError, about):
                    call()
            with self.assertRaisesRegex(RuntimeError, about):
                await self.purgatory.wait()

        self.in_child(lambda: self.run_in_loop(use()))
        self.goes_on()

    def test_the_child_does_not_add_what_the_parent_waits_for(self) -> None:
        waits = self.loop.create_task(self.purgatory.wait(["b"]))
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()
        self.assertTrue(self.purgatory._adds.adds)

        def run() -> None:
            self.run_in_loop(asyncio.sleep(0.002))
            self.assertEqual(self.purgatory.purgatory.query().pending, 1)

        async def wait() -> None:
            self.assertEqual(self.purgatory.purgatory.query().pending, 2)
            self.assertEqual(self.purgatory.signal("b", 5), 1)
            self.assertEqual((await waits).value, 5)

        self.in_child(run)
        self.run_in_loop(wait())
        self.goes_on()

    def test_a_signal_of_the_child_reaches_the_parent(self) -> None:
        async def signal() -> None:
            self.assertEqual(self.purgatory.signal("a", 5), 1)
            # The copy of the loop does not read the event.
            await asyncio.sleep(0.002)

        async def wait() -> int:
            return (await self.operation).value

        self.in_child(lambda: self.run_in_loop(signal()))
        self.assertEqual(self.run_in_loop(wait()), 5)

    def test_an_event_is_not_passed_on_twice(self) -> None:
        def drop() -> None:
            self.loop.close()
            del self.operation
            gc.collect()
            self.assertEqual(self.passed_on, [])

        def run() -> None:
            self.run_in_loop(asyncio.sleep(0.002))
            self.assertEqual(self.passed_on, [])

        self.purgatory.signal("a", 3)
        self.run_in_loop(until(self.operation.done))
        self.in_child(drop)
        del self.operation
        self.in_child(run)
        self.run_in_loop(until(lambda: self.passed_on == [3]))

    def test_a_task_of_the_copy_does_not_read_the_queue(self) -> None:
        async def start() -> tuple[AsyncEvents, "asyncio.Task[twheel.Event]"]:
            queue = AsyncEvents(shared.events(nonblock=True))
            # The loop stops when it has begun.
            return queue, asyncio.create_task(anext(queue))

        async def refused() -> None:
            with self.assertRaisesRegex(RuntimeError, "belongs to process"):
                await task

        async def wait() -> None:
            self.assertEqual((await task).reason, Reason.COMPLETED)
            queue.close()

        shared = named(self)
        queue, task = self.loop.run_until_complete(start())
        shared.complete(shared.add(detached=True))
        self.in_child(lambda: self.run_in_loop(refused()))
        self.run_in_loop(wait())
        self.goes_on()

    def test_a_queue_is_only_closed(self) -> None:
        async def start() -> AsyncEvents:
            queue = AsyncEvents(shared.events(nonblock=True))
            for _ in range(3):
                shared.complete(shared.add(detached=True))
            await anext(queue)
            return queue

        async def use() -> None:
            with self.assertRaisesRegex(RuntimeError, "belongs to process"):
                queue.rest()
            with self.assertRaisesRegex(RuntimeError, "belongs to process"):
                await anext(queue)
            queue.close()
            queue.close()
            self.assertTrue(queue.closed and queue.queue.closed)

        async def wait() -> None:
            self.assertEqual(len(queue.rest()), 2)
            task = asyncio.create_task(anext(queue))
            await asyncio.sleep(0.002)
            self.in_child(queue.close)
            id = shared.add(detached=True, timeout=0)
            self.assertEqual((await task).id, id)
            queue.close()

        shared = named(self)
        queue = self.run_in_loop(start())
        self.loop.set_exception_handler(lambda *_: os._exit(1))
        self.in_child(lambda: self.run_in_loop(use()))
        self.run_in_loop(wait())
        self.goes_on()


class Detached(Loop):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.named = named(self)
        self.queue = await self.enterAsyncContext(AsyncEvents(self.named.events()))

    def add(self, number: int) -> None:
        for cookie in range(number):
            self.named.add(["k"], detached=True, cookie=cookie)

    def collect(self, *queues: AsyncEvents) -> "asyncio.Task[list[int]]":
        async def cookies() -> list[int]:
            return [event.cookie for queue in queues async for event in queue]

        return asyncio.create_task(cookies())

    async def test_detached_events_are_iterated(self) -> None:
        self.add(600)
        self.assertEqual(self.named.signal("k"), 600)
        cookies = []
        async for event in self.queue:
            cookies.append(event.cookie)
            if len(cookies) == 600:
                break
        self.assertEqual(sorted(cookies), list(range(600)))
        self.assertEqual(self.named.query().detached_unread, 0)

    async def test_an_iteration_waits_for_an_event(self) -> None:
        async with AsyncEvents(NAME) as queue:
            task = asyncio.create_task(anext(queue))
            await asyncio.sleep(0.002)
            self.assertFalse(task.done())
            self.named.add(detached=True, timeout=0.002, cookie=5)
            event = await task
        self.assertEqual((event.reason, event.cookie), (Reason.EXPIRED, 5))

    async def test_a_cancelled_iteration_loses_no_event(self) -> None:
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(0.002):
                await anext(self.queue)
        self.add(1)
        self.named.signal("k", 7)
        self.assertEqual((await anext(self.queue)).value, 7)

    async def test_tasks_share_a_queue(self) -> None:
        tasks = [asyncio.create_task(anext(self.queue)) for _ in range(3)]
        await asyncio.sleep(0.002)
        self.add(3)
        self.named.signal("k")
        events = await asyncio.gather(*tasks)
        self.assertEqual(sorted(event.cookie for event in events), [0, 1, 2])

    async def test_other_tasks_run_while_events_arrive(self) -> None:
        async for event in self.queue_that_is_never_empty():
            if event.cookie:
                break

    async def queue_that_is_never_empty(self) -> AsyncIterator[twheel.Event]:
        """The event with a cookie is added by another task."""
        self.named.add(detached=True, timeout=0)
        asyncio.get_running_loop().call_later(
            0.002, lambda: self.named.add(detached=True, timeout=0, cookie=1)
        )
        async for event in self.queue:
            self.named.add(detached=True, timeout=0)
            yield event

    async def test_close_reports_events_that_no_task_took(self) -> None:
        self.add(3)
        self.named.signal("k")
        first = await anext(self.queue)
        self.queue.close()
        (report,) = self.reported
        self.assertEqual({first.cookie, *(event.cookie for event in report["events"])}, {0, 1, 2})
        self.reported.clear()

    async def test_the_rest_is_not_reported(self) -> None:
        self.add(3)
        self.named.signal("k")
        events = [await anext(self.queue), *self.queue.rest()]
        self.queue.close()
        self.assertEqual(sorted(event.cookie for event in events), [0, 1, 2])
        self.assertEqual(self.queue.rest(), [])

    async def test_close_ends_the_iterations(self) -> None:
        tasks = [self.collect(self.queue), self.collect(self.queue)]
        await asyncio.sleep(0.002)
        self.queue.close()
        self.queue.close()
        self.assertEqual(await asyncio.gather(*tasks), [[], []])
        self.assertTrue(self.queue.closed and self.queue.queue.closed)

    async def test_close_of_the_inner_queue_ends_the_iterations(self) -> None:
        self.add(2)
        self.named.signal("k")
        await anext(self.queue)
        self.queue.queue.close()
        self.assertEqual(len(await self.collect(self.queue)), 1)
        queue = AsyncEvents(NAME)
        task = self.collect(queue)
        await asyncio.sleep(0.002)
        queue.queue.close()
        self.assertEqual(await task, [])
        self.assertTrue(queue.closed)

    async def test_another_reader_of_the_queue_ends_the_iterations(self) -> None:
        task = self.collect(self.queue)
        await asyncio.sleep(0.002)
        async with AsyncEvents(self.queue.queue) as queue:
            self.assertEqual(await task, [])
            self.add(1)
            self.named.signal("k", 7)
            self.assertEqual((await anext(queue)).value, 7)

    async def test_a_removal_ends_the_iteration_after_the_last_event(self) -> None:
        self.named.add(detached=True, cookie=4)
        task = self.collect(self.queue)
        await asyncio.sleep(0.002)
        Purgatory.remove(NAME, force=True)
        self.assertEqual(await task, [4])
        self.assertTrue(self.queue.closed)
        Purgatory.create(NAME).close()

    async def test_the_events_of_a_file_are_iterated(self) -> None:
        purgatory = Purgatory()
        async with AsyncEvents(purgatory) as queue:
            id = purgatory.add(timeout=0)
            self.assertEqual((await anext(queue)).id, id)
            purgatory.drain()
            self.assertEqual(await self.collect(queue), [])

    async def test_an_iteration_in_another_loop_is_refused(self) -> None:
        def use() -> None:
            with self.assertRaises(RuntimeError):
                asyncio.run(self.queue.__anext__())

        await asyncio.to_thread(use)


class EndOfLoop(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("error", ResourceWarning)

    def test_close_after_the_end_of_the_loop(self) -> None:
        async def start() -> AsyncPurgatory:
            purgatory = AsyncPurgatory(NAME)
            purgatory.add(["a"])
            return purgatory

        other = named(self)
        purgatory = asyncio.run(start())
        self.assertEqual(other.query().pending, 1)
        purgatory.close()
        purgatory.close()
        self.assertEqual(other.query().pending, 0)
        self.assertTrue(purgatory.closed and purgatory.purgatory.closed)

    def test_a_wait_is_not_added_after_the_end_of_the_loop(self) -> None:
        async def start() -> AsyncPurgatory:
            purgatory = AsyncPurgatory()
            self.task = asyncio.create_task(purgatory.wait(["a"]))
            return purgatory

        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # the task is destroyed while it is pending
        purgatory = loop.run_until_complete(start())
        self.assertTrue(purgatory._adds.adds)
        loop.close()
        self.assertEqual(purgatory.signal("a"), 0)
        purgatory.close()
        del self.task
        gc.collect()

    def test_a_queue_is_closed_after_the_end_of_the_loop(self) -> None:
        async def start() -> tuple[AsyncEvents, "asyncio.Task[twheel.Event]"]:
            queue = AsyncEvents(NAME)
            task = asyncio.create_task(anext(queue))
            await asyncio.sleep(0.002)
            return queue, task

        named(self)
        queue, task = asyncio.run(start())
        queue.close()
        self.assertTrue(task.cancelled() and queue.queue.closed)

    def test_close_after_the_end_of_the_loop_passes_events_on(self) -> None:
        passed_on: list[int] = []

        async def start() -> AsyncPurgatory:
            purgatory = AsyncPurgatory(on_event=lambda event: passed_on.append(event.value))
            self.tasks = [asyncio.create_task(purgatory.wait([i])) for i in range(3)]
            await until(lambda: purgatory.purgatory.query().pending == 3)
            return purgatory

        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # tasks are destroyed while they are pending
        purgatory = loop.run_until_complete(start())
        self.assertEqual(purgatory.signal(1, 8), 1)
        loop.close()
        purgatory.close()
        self.assertTrue(purgatory.purgatory.closed)
        del self.tasks
        gc.collect()
        self.assertEqual(passed_on, [8])


class Descriptors(unittest.TestCase):
    def test_without_a_free_descriptor(self) -> None:
        async def start() -> None:
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
            try:
                with self.assertRaises(OSError) as caught:
                    AsyncPurgatory()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            self.assertEqual(caught.exception.errno, errno.EMFILE)
            async with AsyncPurgatory() as purgatory:
                with self.assertRaises(twheel.Expired):
                    await purgatory.wait(timeout=0)

        asyncio.run(start())


class Constructor(unittest.TestCase):
    def test_a_loop_is_needed(self) -> None:
        with self.assertRaises(RuntimeError):
            AsyncPurgatory()
