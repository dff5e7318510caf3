# SPDX-License-Identifier: GPL-2.0
"""Tests of cells."""

import errno
import gc
import math
import os
import random
import re
import subprocess
import sys
import threading
import time
import unittest
import warnings
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager

import twheel
from twheel import Cell, Clock, Purgatory, Reason

SOON = 0.03
HOUR = 3600
HOUR_NS = HOUR * 10**9


class Session:
    """A cookie that may refer to its cell."""

    cell: Cell | None = None


class WithCells(unittest.TestCase):
    number = 1

    def setUp(self) -> None:
        warnings.simplefilter("error", ResourceWarning)
        self.purgatory = self.enterContext(Purgatory())
        try:
            self.cells = self.purgatory.cells(self.number)
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            self.skipTest("no cells on this machine")

    def fails(self, error: int) -> AbstractContextManager[object]:
        return self.assertRaisesRegex(OSError, re.escape(os.strerror(error)))

    def next_end(self, reason: Reason = Reason.EXPIRED) -> object:
        """Read an event. Return the cookie of its life."""
        (event,) = self.purgatory.read(1)
        self.assertEqual(event.reason, reason)
        cell = self.cells.ended(event)
        self.assertIsNotNone(cell)
        assert cell
        self.assertFalse(cell.touch() or cell.cancel() or cell.move(HOUR) or cell.remaining())
        self.assertIsNone(self.cells.ended(event))
        return cell.cookie

    def left(self, cell: Cell) -> float:
        left = cell.remaining()
        assert left is not None
        return left


class Lives(WithCells):
    def test_a_silent_life_expires_not_before_its_deadline(self) -> None:
        session = Session()
        for clock in (Clock.MONOTONIC, Clock.BOOTTIME):
            begun = time.clock_gettime_ns(clock)
            session.cell = self.cells.pool(SOON, clock=clock).arm(session)
            self.assertIs(self.next_end(), session)
            self.assertGreaterEqual(time.clock_gettime_ns(clock), begun + SOON * 10**9)

    def test_a_touched_life_does_not_expire(self) -> None:
        pool = self.cells.pool(SOON)
        touched, silent = pool.arm("touched"), pool.arm("silent")
        self.assertTrue(touched.touch(time.monotonic_ns() + HOUR_NS))
        self.assertEqual(self.next_end(), "silent")
        self.assertGreater(self.left(touched), HOUR - 100)
        self.assertFalse(silent.touch())

    def test_a_late_heartbeat_does_not_lower_a_deadline(self) -> None:
        cell = self.cells.pool(HOUR).arm()
        self.assertTrue(cell.touch(0))
        self.assertGreater(self.left(cell), HOUR - 100)

    def test_a_move_lowers_a_deadline(self) -> None:
        cell = self.cells.pool(HOUR).arm("moved")
        self.assertTrue(cell.move(SOON))
        self.assertLessEqual(self.left(cell), SOON + 0.001)
        self.assertEqual(self.next_end(), "moved")

    def test_a_life_without_a_timeout_has_none_until_it_is_moved(self) -> None:
        for never in (None, math.inf, 1e300):
            cell = self.cells.pool(never).arm(never)
            self.assertIsNone(cell.remaining())
            self.assertTrue(cell.touch())
            self.assertTrue(cell.move(0))
            self.assertEqual(self.next_end(), never)

    def test_a_cancelled_life_has_no_event(self) -> None:
        pool = self.cells.pool(SOON)
        cancelled = pool.arm("cancelled")
        self.assertTrue(cancelled.cancel())
        self.assertFalse(cancelled.cancel())
        self.assertEqual(cancelled.remaining(), 0)
        self.cells.pool(2 * SOON).arm("other")
        self.assertEqual(self.next_end(), "other")

    def test_a_cell_is_used_again_without_another_operation(self) -> None:
        pool = self.cells.pool(HOUR)
        for number in range(100):
            cell = pool.arm(number)
            (pending,) = self.purgatory.list()
            self.assertEqual((pending.cell, pending.idle), (0, False))
            cell.cancel()
            (pending,) = self.purgatory.list()
            self.assertEqual((pending.cell, pending.idle), (0, True))
        state = self.purgatory.query()
        self.assertEqual((state.added, state.pending), (1, 1))

    def test_an_old_life_does_not_change_the_next_one(self) -> None:
        pool = self.cells.pool(HOUR)
        old = pool.arm("old")
        old.cancel()
        new = pool.arm("new")
        self.assertFalse(old.touch() or old.move(0) or old.cancel() or old.remaining())
        self.assertGreater(self.left(new), HOUR - 100)
        new.move(0)
        self.assertEqual(self.next_end(), "new")

    def test_a_cell_that_was_idle_beyond_its_deadline_expires_again(self) -> None:
        pool = self.cells.pool(SOON)
        pool.arm().cancel()
        self.cells.pool(2 * SOON).arm("other")
        self.assertEqual(self.next_end(), "other")
        pool.arm("parked")
        self.assertEqual(self.next_end(), "parked")

    def test_a_completed_life_has_an_event(self) -> None:
        self.cells.pool(HOUR).arm("completed")
        self.assertTrue(self.purgatory.complete(self.purgatory.list()[0].id, 7))
        self.assertEqual(self.next_end(Reason.COMPLETED), "completed")

    def test_drain_cancels_a_life(self) -> None:
        self.cells.pool(HOUR).arm("drained")
        self.purgatory.drain()
        self.assertEqual(self.next_end(Reason.CANCELLED), "drained")

    def test_an_operation_without_a_cell_is_no_life(self) -> None:
        self.cells.pool(HOUR).arm()
        self.purgatory.add(timeout=0)
        (event,) = self.purgatory.read()
        self.assertIsNone(self.cells.ended(event))
        self.assertEqual(event.cell, 0)

    def test_a_cell_is_free_after_its_life(self) -> None:
        pool = self.cells.pool(HOUR)
        armed = []
        with self.fails(errno.ENOSPC):
            while True:
                armed.append(pool.arm())
        armed.pop().cancel()
        armed.append(pool.arm())
        with self.fails(errno.ENOSPC):
            pool.arm()
        armed.pop().move(0)
        self.next_end()
        pool.arm()

    def test_each_life_has_one_end_while_threads_touch(self) -> None:
        pool, kept = self.cells.pool(SOON), range(200)
        lives = [pool.arm(number) for number in kept]
        ends: list[int] = []
        cancelled: list[int] = []

        def play(seed: int) -> None:
            numbers = random.Random(seed)
            for _ in range(5000):
                cell = lives[numbers.choice(kept)]
                if numbers.random() < 0.01:
                    if cell.cancel():
                        cancelled.append(cell.cookie)
                else:
                    cell.touch()

        threads = [threading.Thread(target=play, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        while self.purgatory.query().pending and len(ends) + len(cancelled) < len(kept):
            self.purgatory.add(timeout=SOON)
            for event in self.purgatory.read():
                if cell := self.cells.ended(event):
                    ends.append(cell.cookie)
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(ends + cancelled), list(kept))


class LifeCycle(WithCells):
    def test_close_of_the_purgatory_closes_the_cells(self) -> None:
        pool = self.cells.pool(HOUR)
        cell = pool.arm()
        self.purgatory.close()
        calls: list[Callable[[], object]] = [cell.touch, cell.cancel, cell.remaining, pool.arm]
        for call in calls:
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        with self.assertRaisesRegex(ValueError, "closed"):
            self.cells.pool(1)
        self.cells.close()

    def test_an_event_may_close_the_cells(self) -> None:
        cells = self.cells

        class Closing:
            cell = 1

            @property
            def cookie(self) -> int:
                cells.close()
                return 0

        with self.assertRaisesRegex(ValueError, "closed"):
            cells.ended(Closing())  # type: ignore[arg-type]

    def test_a_purgatory_has_cells_once(self) -> None:
        with self.assertRaisesRegex(ValueError, "already"):
            self.purgatory.cells(1)

    def test_a_child_of_fork_has_no_cells(self) -> None:
        cell = self.cells.pool(HOUR).arm()
        child = os.fork()
        if not child:
            try:
                cell.touch()
            except ValueError:
                os._exit(0)
            os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(cell.touch())

    def test_cookies_are_freed_after_the_life(self) -> None:
        pool = self.cells.pool(HOUR)
        sessions = [Session() for _ in range(3)]
        for session in sessions:
            session.cell = pool.arm(session)
        alive = [weakref.ref(session) for session in sessions]
        for session in sessions[:2]:
            assert session.cell
            session.cell.cancel()
        sessions.clear()
        del session
        gc.collect()
        self.assertEqual([session() is not None for session in alive], [False, False, True])
        self.purgatory.close()
        gc.collect()
        self.assertIsNone(alive[2]())

    def test_unused_cells_are_freed(self) -> None:
        self.cells.pool(HOUR).arm(self.cells)
        alive = weakref.ref(self.cells)
        self.purgatory.close()
        self.purgatory._cells = None
        del self.cells
        gc.collect()
        self.assertIsNone(alive())

    def test_wrong_arguments_are_refused(self) -> None:
        pool = self.cells.pool(HOUR)
        with self.assertRaises(ValueError):
            self.cells.pool(math.nan)
        with self.assertRaises(ValueError):
            self.cells.pool(1, clock=Clock.REALTIME)
        with self.assertRaises(OverflowError):
            pool.arm(None, -1)
        for wrong in ("1", object()):
            with self.assertRaises(TypeError):
                pool.arm(None, wrong)  # type: ignore[arg-type]
            with self.assertRaises(TypeError):
                pool.arm().move(wrong)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            pool.arm(1, 2, 3)  # type: ignore[call-arg]
        with self.assertRaises(AttributeError):
            self.cells.ended(None)  # type: ignore[arg-type]
        with self.assertRaises(OverflowError):
            Purgatory.cells(self.purgatory.__class__.__new__(Purgatory), -1)

    def test_without_the_extension_only_cells_are_missing(self) -> None:
        program = (
            "import sys; sys.modules['twheel._cells'] = None\n"
            "import twheel\n"
            "with twheel.Purgatory() as purgatory:\n"
            "    for use in (lambda: twheel.Cells, lambda: purgatory.cells(1)):\n"
            "        try:\n"
            "            use()\n"
            "        except ImportError as missing:\n"
            "            assert 'built without its extension for cells' in str(missing)\n"
            "        else:\n"
            "            sys.exit('imported')\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_an_unknown_name_is_no_attribute(self) -> None:
        with self.assertRaisesRegex(AttributeError, "no attribute 'Bells'"):
            getattr(twheel, "Bells")
