# SPDX-License-Identifier: GPL-2.0
"""Tests of the calls that do not need an event loop."""

import ctypes
import errno
import hashlib
import inspect
import math
import os
import pathlib
import re
import select
import signal
import sys
import threading
import time
import unittest
import uuid
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager

import twheel
from twheel import Clock, Condition, Key, Purgatory, Reason, Rearm, Right, Watch, _lib
from twheel._purgatory import EVENT, events_of, interval

NAME = "python-test"
LAYOUT = pathlib.Path(__file__).parent / "../../../Documentation/ABI/dump"


class Calls(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("error", ResourceWarning)
        self.purgatory = self.enterContext(Purgatory())

    def fails(self, error: int) -> AbstractContextManager[object]:
        return self.assertRaisesRegex(OSError, re.escape(os.strerror(error)))


class Keys(unittest.TestCase):
    def test_keys_of_numbers_texts_and_uuids_differ(self) -> None:
        number = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")
        keys = [Key(7), Key("7"), Key(number), Key("acks")]
        self.assertEqual(len(set(keys)), 4)
        for key in keys:
            self.assertEqual(Key.parse(str(key)), key)
            self.assertEqual(Key(key), key)
            self.assertEqual(Key.from_raw(key.raw()), key)
        self.assertEqual(str(Key("acks")), "acks")
        self.assertEqual(Key.parse("7"), Key(7))

    def test_a_text_is_up_to_16_bytes_of_utf8(self) -> None:
        Key("ä" * 8)
        for text in ("", "a" * 17, "ä" * 9):
            with self.assertRaises(OSError):
                Key(text)
        with self.assertRaises(ValueError):
            Key("a\0b")

    def test_a_hash_is_the_first_half_of_sha256(self) -> None:
        for text in ("", "a" * 17, "ä" * 100, "a\0b"):
            half = hashlib.sha256(text.encode()).digest()[:16]
            self.assertEqual(Key.hash(text), Key(uuid.UUID(bytes=half)))
            self.assertEqual(Key.hash(text.encode()), Key.hash(text))
        self.assertEqual(Key.parse("hash:" + "a" * 17), Key.hash("a" * 17))

    def test_a_number_of_more_than_64_bits_is_no_key(self) -> None:
        Key(2**64 - 1)
        for number in (-1, 2**64):
            with self.assertRaises(OverflowError):
                Key(number)
        with self.assertRaises(TypeError):
            Key(1.5)  # type: ignore[arg-type]

    def test_a_text_is_not_an_iterable_of_keys(self) -> None:
        with self.assertRaises(TypeError):
            twheel._key.specs("abc")


class Times(unittest.TestCase):
    def test_times_round_up_to_ns(self) -> None:
        self.assertEqual(interval(1e-12), 1)
        self.assertEqual(interval(2), 2 * 10**9)
        self.assertEqual(interval(-1), 0)
        self.assertEqual(interval(0), 0)

    def test_a_long_time_is_never(self) -> None:
        for time_ in (None, math.inf, 1e300, 10**30, 10**10):
            self.assertEqual(interval(time_), _lib.NEVER)
        with self.assertRaises(ValueError):
            interval(math.nan)


class Help(unittest.TestCase):
    def test_each_parameter_is_described(self) -> None:
        names = [name for name in (*vars(Purgatory), "read") if not name.startswith("_")]
        for call in (Purgatory, *(getattr(Purgatory, name) for name in names)):
            text = inspect.getdoc(call) or ""
            for parameter in inspect.signature(call).parameters:
                if parameter not in ("self", "id", "key"):
                    self.assertRegex(text, rf"\b{parameter}\b", call)


class Layout(unittest.TestCase):
    @unittest.skipUnless(LAYOUT.exists(), "needs the sources")
    def test_structures_have_the_layout_of_the_kernel(self) -> None:
        text = LAYOUT.read_text()
        names = [name for name in vars(_lib) if name.startswith("twheel_")]
        self.assertGreater(len(names), 7)
        for name in names:
            structure = getattr(_lib, name)
            size = re.search(rf"^size {name} (\d+)$", text, re.M)
            assert size, name
            self.assertEqual(ctypes.sizeof(structure), int(size[1]), name)
            fields = re.findall(rf"^field {name}\.(\w+) (\d+) (\d+)$", text, re.M)
            for field, offset, length in fields:
                member = getattr(structure, field)
                self.assertEqual((member.offset, member.size), (int(offset), int(length)), field)

    @unittest.skipUnless(LAYOUT.exists(), "needs the sources")
    def test_an_event_has_the_layout_of_the_kernel(self) -> None:
        text = LAYOUT.read_text()
        packed = bytearray(EVENT.size)
        self.assertIn(f"\nsize twheel_event {len(packed)}\n", text)
        names = ("id", "cookie", "value", "deadline", "time", "reason", "flags", "error", "clock",
                 "expirations", "satisfied", "missing", "cell")
        for number, name in enumerate(names):
            field = re.search(rf"^field twheel_event\.{name} (\d+) (\d+)$", text, re.M)
            assert field, name
            offset, length = int(field[1]), int(field[2])
            packed[offset : offset + length] = number.to_bytes(length, sys.byteorder)
        self.assertEqual(EVENT.unpack(packed), tuple(range(len(names))))

    def test_an_event_may_have_values_of_a_newer_module(self) -> None:
        old, new = events_of(
            EVENT.pack(1, 0, 0, 0, 0, Reason.EXPIRED, 0, 0, Clock.REALTIME, 1, 0, 0, 0)
            + EVENT.pack(2, 0, 0, 0, 0, 9, 0, 0, 11, 1, 0, 0, 0)
        )
        self.assertIs(old.reason, Reason.EXPIRED)
        self.assertIs(old.clock, Clock.REALTIME)
        self.assertEqual((new.reason, new.clock, new.reason.name), (9, 11, "UNKNOWN_9"))
        self.assertRaises(ValueError, Clock, "UTC")


class WriteOnly(Calls):
    def setUp(self) -> None:
        super().setUp()
        self.owner = self.enterContext(Purgatory.create(NAME))
        self.addCleanup(Purgatory.remove, NAME, force=True)
        self.writer = self.enterContext(Purgatory(NAME, write_only=True, nonblock=True))

    def test_calls_that_change_operations_need_no_permission_to_read(self) -> None:
        writer, owner = self.writer, self.owner
        ids = [owner.add(["a"], timeout=3600) for _ in range(4)]
        self.assertTrue(writer.rearm(ids[0], timeout=7200))
        self.assertTrue(writer.complete(ids[0], 1) and writer.cancel(ids[1]))
        self.assertEqual(writer.signal("a", 7, limit=1), 1)
        with twheel.Batch(writer) as batch:
            batch.signal("a", 8)
            (result,) = batch.submit()
        self.assertEqual((result.error, result.value), (0, 1))
        self.assertEqual({event.value for event in owner.read()}, {0, 1, 7, 8})
        self.assertTrue(writer.cancel(writer.add(["a"], detached=True)))

    def test_other_calls_fail(self) -> None:
        calls: list[Callable[[], object]] = [
            self.writer.add, self.writer.read, self.writer.query, self.writer.queues, self.writer.list,
            self.writer.events, lambda: self.writer.info(1),
        ]
        for call in calls:
            with self.fails(errno.EBADF):
                call()

    def test_a_private_purgatory_is_not_write_only(self) -> None:
        with self.fails(errno.EINVAL):
            Purgatory(write_only=True)


class Operations(Calls):
    def test_two_of_three_keys_complete_an_operation(self) -> None:
        p = self.purgatory
        id = p.add(["a", Watch("b", 2), 3], quorum=2, timeout=3600, cookie=9)
        self.assertEqual(p.signal("a"), 0)
        self.assertEqual(p.signal("a"), 0)
        self.assertEqual(p.signal("b"), 0)
        self.assertEqual(p.signal("b", 5), 1)
        (event,) = p.read()
        self.assertEqual((event.id, event.cookie, event.value), (id, 9, 5))
        self.assertEqual((event.reason, event.error, event.more), (Reason.COMPLETED, 0, False))
        self.assertEqual((event.satisfied, event.missing), (3, 0))

    def test_an_expired_quorum_tells_which_key_answered(self) -> None:
        p = self.purgatory
        id = p.add(["a", "b", "c"], quorum=2, timeout=3600)
        p.signal("b")
        p.rearm(id, timeout=0)
        (event,) = p.read()
        self.assertEqual(event.reason, Reason.EXPIRED)
        self.assertEqual((event.satisfied, event.missing), (2, 1))
        self.assertEqual(event.satisfied_keys(["a", "b", "c"]), ["b"])
        self.assertEqual(event.unsatisfied_keys(["a", "b", Watch("c", 3)]), ["a", "c"])
        with self.assertRaisesRegex(ValueError, f"keys of operation {id} are unknown"):
            event.satisfied_keys()

    def test_keys_of_a_changed_operation_have_the_bits_of_info(self) -> None:
        p = self.purgatory
        id = p.add(["a", "b"], condition=Condition.ALL, timeout=3600)
        p.unwatch(id, "a")
        p.watch(id, ["c", "d"])
        keys = p.info(id).keys
        p.signal("c")
        p.cancel(id)
        (event,) = p.read()
        self.assertEqual(event.satisfied_keys(keys), [Key("c")])
        self.assertEqual(event.unsatisfied_keys(keys), [Key("b"), Key("d")])

    def test_the_condition_follows_from_the_parameters(self) -> None:
        p = self.purgatory
        conditions = {
            p.add(): Condition.NONE,
            p.add(["a"]): Condition.ANY,
            p.add(["a"], quorum=1): Condition.QUORUM,
            p.add(["a"], threshold=5): Condition.SUM,
            p.add(["a", "b"], condition=Condition.ALL): Condition.ALL,
        }
        self.assertEqual({entry.id: entry.condition for entry in p.list()}, conditions)

    def test_an_invalid_operation_is_refused(self) -> None:
        p = self.purgatory
        with self.fails(errno.EINVAL):
            p.add(["a"], quorum=2)
        with self.assertRaises(TypeError):
            p.add(["a"], quorum=1, threshold=1)
        with self.assertRaises(TypeError):
            p.add(timeout=1, deadline=1)
        with self.assertRaises(OverflowError):
            p.add(["a"], quorum=2**32 + 1)
        with self.assertRaises(OverflowError):
            p.add(cookie=-1)
        with self.assertRaises(OverflowError):
            p.complete_error(1, 2**32 - 5)
        self.assertEqual(p.query().added, 0)

    def test_an_operation_expires_on_each_clock(self) -> None:
        p = self.purgatory
        now = {
            Clock.MONOTONIC: time.clock_gettime_ns(time.CLOCK_MONOTONIC),
            Clock.BOOTTIME: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
            Clock.REALTIME: time.clock_gettime_ns(time.CLOCK_REALTIME),
        }
        for clock, at in now.items():
            p.add(timeout=0.001, clock=clock, cookie=clock)
            p.add(deadline=at + 10**6, clock=clock, cookie=clock)
        events: list[twheel.Event] = []
        while len(events) < 6:
            events += p.read()
        for event in events:
            assert event.deadline is not None
            self.assertEqual((event.reason, event.clock), (Reason.EXPIRED, event.cookie))
            self.assertGreaterEqual(event.time, event.deadline)
            self.assertGreaterEqual(event.deadline, now[Clock(event.cookie)] + 10**6)

    def test_the_loser_of_two_ends_learns_it(self) -> None:
        p = self.purgatory
        id = p.add()
        self.assertTrue(p.cancel(id))
        self.assertFalse(p.cancel(id))
        self.assertFalse(p.complete(id, 1))
        self.assertFalse(p.complete_error(id, -errno.EIO))
        self.assertFalse(p.rearm(id, 1))
        self.assertTrue(p.complete_error(p.add(), -errno.EIO))
        first, second = p.read()
        self.assertFalse(p.cancel(id) or p.complete(id) or p.rearm(id, 1))
        calls: list[Callable[[int], bool]] = [p.cancel, p.complete, p.rearm]
        for call in calls:
            for unknown in (0, 12345, 12345678):
                self.assertFalse(call(unknown))
        self.assertEqual(first.reason, Reason.CANCELLED)
        self.assertEqual((second.reason, second.error), (Reason.COMPLETED, -errno.EIO))

    def test_a_pending_operation_changes(self) -> None:
        p = self.purgatory
        id = p.add(["a"], timeout=3600)
        self.assertTrue(p.rearm(id, 7200, mode=Rearm.IF_LATER))
        self.assertFalse(p.rearm(id, None, mode=Rearm.IF_EARLIER))
        p.watch(id, ["b", Watch("c", 3)])
        p.unwatch(id, "a")
        with self.fails(errno.ESRCH):
            p.unwatch(id, "a")
        info = p.info(id)
        self.assertEqual((info.nr_keys, info.own, info.detached), (2, True, False))
        self.assertEqual(set(info.keys), {Watch(Key("b"), 1, 1), Watch(Key("c"), 3, 2)})
        self.assertEqual(p.cancel_key("c"), 1)
        with self.fails(errno.ENOENT):
            p.watch(id, ["a"])

    def test_amounts_and_limits_of_signals(self) -> None:
        p = self.purgatory
        p.add(["a", "b"], threshold=10)
        self.assertEqual(p.signal("a", amount=4), 0)
        self.assertEqual(p.signal("b", amount=6), 1)
        for _ in range(3):
            p.add(["c"])
        self.assertEqual(p.signal("c", limit=2), 2)
        self.assertEqual(p.signal("c"), 1)

    def test_listings_and_counts_have_all_operations(self) -> None:
        p = self.purgatory
        ids = {p.add(["a", "b", "c", "d"], cookie=i) for i in range(700)}
        self.assertEqual({entry.id for entry in p.list()}, ids)
        self.assertEqual([len(entry.keys) for entry in p.list()[:1]], [3])
        state = p.query()
        self.assertEqual((state.pending, state.added, state.name), (700, 700, ""))
        self.assertEqual(p.complete_all(3), 700)
        self.assertEqual(p.query().completed, 700)

    def test_periods_are_events_with_more(self) -> None:
        p = self.purgatory
        p.add(["k"], timeout=0.01, period=0.01, runs=3)
        events: list[twheel.Event] = []
        while not events or events[-1].more:
            events += p.read()
        # Periods that pass before a read share an event.
        *periods, last = events
        self.assertEqual(sum(event.expirations for event in events), 3)
        self.assertTrue(all(event.more for event in periods))
        self.assertEqual([event.unsatisfied_keys(["k"]) for event in periods], [[]] * len(periods))
        self.assertEqual(last.unsatisfied_keys(["k"]), ["k"])


class Errors(Calls):
    """The message of an error has the subject of the call."""

    def about(self, subject: str) -> AbstractContextManager[object]:
        return self.assertRaisesRegex(Exception, re.escape(subject))

    def test_an_error_has_the_path_of_the_node(self) -> None:
        calls: list[Callable[[str], object]] = [Purgatory, Purgatory.remove]
        for call in calls:
            with self.about("No such file or directory: '/dev/twheel-no-such'"):
                call("no-such")
        with self.about("Invalid argument: '/dev/twheel-a/b'"):
            Purgatory("a/b")
        with Purgatory.create(NAME) as p:
            self.addCleanup(Purgatory.remove, NAME, force=True)
            with self.about(f"'/dev/twheel-{NAME}'"):
                Purgatory.create(NAME)
            self.assertIn(f" /dev/twheel-{NAME} ", repr(p))
            p.restrict()
            with self.about("key k"):
                p.signal("k")
        with self.about("<Purgatory /dev/twheel fd="):
            self.purgatory.events()

    def test_an_error_has_the_key(self) -> None:
        with self.about("key 'a-key-of-18-bytes.', 18 bytes, Key.hash() takes more than 16"):
            Key("a-key-of-18-bytes.")
        with self.about("key 'num:x'"):
            Key.parse("num:x")
        with self.about("'a\\x00b'"):
            Key("a\0b")
        with self.about("not -1"):
            Key(-1)

    def test_an_error_has_the_operation(self) -> None:
        p = self.purgatory
        with self.about("operation with condition QUORUM, nr_keys 1, quorum 2"):
            p.add(["a"], quorum=2)
        with twheel.Batch(p) as batch, self.about("not 5000000000"):
            batch.add(["a"], quorum=5000000000)
        id = p.add(["a"])
        with self.about(f"operation {id} and key b"):
            p.unwatch(id, "b")
        with self.about("operation 12345"):
            p.info(12345)


class Files(Calls):
    def test_a_read_ends_after_a_drain(self) -> None:
        p = self.purgatory
        p.add()
        p.add()
        self.assertEqual(p.drain(), 2)
        self.assertEqual(len(p.read()), 2)
        self.assertEqual(p.read(), [])
        with self.fails(errno.ESHUTDOWN):
            p.add()

    def test_a_queue_can_be_polled(self) -> None:
        with Purgatory(nonblock=True) as p:
            self.assertEqual(select.select([p], [], [], 0)[0], [])
            with self.assertRaises(BlockingIOError):
                p.read()
            p.add(timeout=0)
            self.assertEqual(select.select([p], [], [])[0], [p])
            self.assertEqual(len(p.read()), 1)
            with self.assertRaises(ValueError):
                p.read(0)

    def test_a_blocking_read_lets_other_threads_run(self) -> None:
        p = self.purgatory
        p.add(["k"])
        thread = threading.Thread(target=lambda: p.signal("k", 8))
        thread.start()
        (event,) = p.read()
        thread.join()
        self.assertEqual(event.value, 8)

    def test_a_signal_handler_runs_during_a_read(self) -> None:
        p = self.purgatory
        id = p.add()
        old = signal.signal(signal.SIGALRM, lambda *_: p.complete(id, 4) and None)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        self.assertEqual(p.read()[0].value, 4)

    def test_a_closed_purgatory_refuses_calls(self) -> None:
        p = Purgatory()
        self.assertFalse(p.closed)
        p.close()
        p.close()
        self.assertTrue(p.closed)
        self.assertEqual(p.fileno(), -1)
        with self.fails(errno.EBADF):
            p.add()
        with self.fails(errno.EBADF):
            p.read()

    def test_a_descriptor_can_be_passed_on(self) -> None:
        p = Purgatory()
        id = p.add(["k"])
        fd = p.detach()
        self.assertTrue(p.closed)
        with Purgatory.from_fd(fd) as q:
            self.assertEqual(q.info(id).id, id)
        with self.assertRaises(OSError):
            os.fstat(fd)

    def test_an_unclosed_purgatory_warns(self) -> None:
        with self.assertWarns(ResourceWarning):
            Purgatory()

    def test_a_restricted_file_cannot_signal(self) -> None:
        p = self.purgatory
        p.restrict(Right.ADD | Right.WATCH)
        p.add(["k"])
        with self.fails(errno.EPERM):
            p.signal("k")


class Named(Calls):
    def setUp(self) -> None:
        super().setUp()
        self.named = self.enterContext(Purgatory.create(NAME))
        self.addCleanup(lambda: Purgatory.remove(NAME, force=True))

    def test_a_named_purgatory_is_opened_by_its_name(self) -> None:
        with Purgatory(NAME) as p:
            p.add(["k"])
            self.assertEqual(p.query().name, NAME)
            self.assertEqual(self.named.signal("k"), 1)
        with self.fails(errno.EEXIST):
            Purgatory.create(NAME)
        for name in ("", "a/b", "x" * 32):
            with self.fails(errno.EINVAL):
                Purgatory(name)
        with self.fails(errno.EINVAL):
            Purgatory.create("x" * 32)
        with self.assertRaises(ValueError):
            Purgatory("a\0b")

    def test_detached_events_have_a_queue(self) -> None:
        with Purgatory(NAME) as p:
            p.add(["k"], detached=True, cookie=6)
        with self.named.events(nonblock=True) as queue:
            with self.assertRaises(BlockingIOError):
                queue.read()
            self.named.signal("k")
            (state,) = self.named.queues()
            self.assertEqual((state.queue, state.ops, state.pending, state.unread), (0, 1, 0, 1))
            self.assertEqual(queue.read()[0].cookie, 6)
        with self.fails(errno.EINVAL):
            self.purgatory.events()

    def test_an_event_that_is_not_confirmed_comes_again(self) -> None:
        for cookie in (6, 7):
            self.named.cancel(self.named.add(detached=True, cookie=cookie))
        with self.named.events(confirm=True) as queue:
            first, second = queue.read()
            self.assertFalse(first.again)
            queue.confirm(first)
            kept = self.named.query().unconfirmed
        if kept:  # not on the fake device
            with self.named.events(confirm=True) as queue:
                (again,) = queue.read()
                self.assertEqual((again.id, again.cookie, again.again), (second.id, 7, True))
                with self.fails(errno.ENOENT):
                    queue.confirm(first)


class Batches(Calls):
    def test_a_batch_returns_each_result(self) -> None:
        p = self.purgatory
        with twheel.Batch(p, 4) as batch:
            for i in range(6):
                batch.add([i])
            ids = [result.value for result in batch.submit()]
            self.assertEqual(len(set(ids)), 6)
            batch.cancel(ids[0])
            batch.cancel(ids[0])
            batch.complete(ids[1], 3)
            batch.complete_error(ids[2], -errno.EIO)
            batch.rearm(ids[3], 3600)
            batch.watch(ids[3], ["b"])
            batch.unwatch(ids[3], 3)
            batch.signal("b")
            batch.cancel_key(4)
            results = batch.submit()
        errors = [result.error for result in results]
        self.assertEqual(errors, [0, -errno.ENOENT, 0, 0, 0, 0, 0, 0, 0])
        self.assertEqual([result.value for result in results[4:]], [1, 0, 0, 1, 1])
        self.assertEqual(p.query().pending, 1)

    def test_a_stopped_batch_skips_the_rest(self) -> None:
        with twheel.Batch(self.purgatory, stop=True) as batch:
            batch.add()
            batch.cancel(12345678)
            batch.add()
            errors = [result.error for result in batch.submit()]
        self.assertEqual(errors, [0, -errno.ENOENT, -errno.ECANCELED])

    def test_many_deadlines_are_moved_at_once(self) -> None:
        p = self.purgatory
        ids = [p.add(timeout=3600) for _ in range(10)]
        p.cancel(ids[3])
        with twheel.Batch(p, 4) as batch:
            batch.rearm_many(ids, 7200, mode=Rearm.IF_LATER)
            results = batch.submit()
            batch.rearm_many(ids, 7000, mode=Rearm.IF_LATER)
            self.assertEqual({result.value for result in batch.submit()}, {0})
            with self.assertRaises(OverflowError):
                batch.rearm_many([-1])
        self.assertEqual([result.value for result in results], [1, 1, 1, 0, *[1] * 6])
        self.assertEqual(results[3].error, -errno.ENOENT)
        self.assertTrue(all((entry.remaining or 0) > 7000 * 10**9 for entry in p.list()))

    def test_all_options_of_an_add_pass_through_a_batch(self) -> None:
        p = self.purgatory
        at = time.clock_gettime_ns(time.CLOCK_REALTIME) + 10**13
        with twheel.Batch(p) as batch:
            batch.add(
                [Watch("a", 3), "b"],
                quorum=2,
                timeout=10**4,
                clock=Clock.BOOTTIME,
                slack=math.inf,
                cookie=7,
            )
            batch.add(["a"], threshold=9, deadline=at, clock=Clock.REALTIME, cancel_on_set=True)
            batch.add(timeout=3600, period=60, runs=5, fixed_delay=True)
            first, second, third = (p.info(result.value) for result in batch.submit())
            with self.assertRaises(TypeError):
                batch.add(tiemout=1)  # type: ignore[call-arg]
        self.assertEqual((first.condition, first.missing, first.cookie), (Condition.QUORUM, 2, 7))
        self.assertEqual(first.keys, (Watch(Key("a"), 3, 0), Watch(Key("b"), 1, 1)))
        self.assertEqual((second.deadline, second.missing), (at, 9))
        self.assertEqual((third.period, third.runs), (60 * 10**9, 5))
        self.assertEqual((first.clock, second.clock), (Clock.BOOTTIME, Clock.REALTIME))

    def test_a_batch_belongs_to_its_thread(self) -> None:
        refused: list[str] = []

        def use() -> None:
            calls: list[Callable[[], object]] = [batch.add, batch.submit]
            for call in calls:
                try:
                    call()
                except RuntimeError as error:
                    refused.append(str(error))

        with twheel.Batch(self.purgatory) as batch:
            batch.add()
            thread = threading.Thread(target=use, name="other")
            thread.start()
            thread.join()
            self.assertEqual(len(batch.submit()), 1)
        text = "the batch belongs to thread MainThread, not to thread other"
        self.assertEqual(refused, [text, text])

    def test_a_failed_submit_keeps_the_commands(self) -> None:
        p = self.purgatory
        with twheel.Batch(p, 2) as batch:
            batch.add(["a"])
            batch.add(["b"])
            fd, p._fd = p._fd, 10**6
            calls: list[Callable[[], object]] = [batch.submit, batch.add]
            for call in calls:
                with self.fails(errno.EBADF):
                    call()
            p._fd = fd
            self.assertEqual([result.error for result in batch.submit()], [0, 0])
        self.assertEqual(p.signal("b"), 1)

    def test_a_batch_is_refused_after_close(self) -> None:
        p = Purgatory()
        batch = twheel.Batch(p)
        batch.add()
        p.close()
        with self.assertRaises(ValueError):
            batch.submit()
        batch.close()
        batch.close()
        with self.assertRaises(ValueError):
            batch.add()
        with self.assertRaises(ValueError):
            twheel.Batch(self.purgatory, 0)
