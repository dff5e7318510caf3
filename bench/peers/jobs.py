#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Contenders in Python; see jobs.c for the jobs. asyncio: its call_later, and a dict for the keys.
twheel_python: the package of the device in batches of 64 calls. twheel_python_cells: its cells, with
a pool for each of ten timeouts, and the time read once for 1024 cells, since a system call is slow in
the guest; they do not count signals. twheel_asyncio and asyncio_timeout: 1,000 tasks at once, each of
which awaits an answer with a timeout, by wait() and by asyncio.timeout(); "await" is the part up to
all adds. All of these report only the time; the rest is that of the device. Random numbers are drawn
before, since that takes longer than a heartbeat.

    jobs.py CONTENDER JOB PENDING OPERATIONS SECONDS
"""

import asyncio
import random
import resource
import sys
import time

KEYS = 3
BATCH = 64
CONTENDER, JOB, PENDING, OPERATIONS, SECONDS = (
    *sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
NEED = {"quorum": 2, "any": 1}.get(JOB, 0)
SESSION = 30


def report(figure, unit, value):
    print(f"sample suite=peers case={JOB} of={CONTENDER} what={figure} pending={PENDING} "
          f"unit={unit} value={value:.2f}", flush=True)


def fail(text):
    print(f"FAILURE: {CONTENDER}: {text}")
    sys.exit(1)


def delay():
    return SESSION if JOB == "sessions" else random.uniform(60, 600)


def memory():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def usage():
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def batches(drawn, size=BATCH):
    return (drawn[i:i + size] for i in range(0, len(drawn), size))


class Items:
    """The pending items: their handles, and for each key its item."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.handles = [None] * PENDING
        self.keys = [0] * PENDING
        self.missing = [0] * PENDING
        self.watches = {}
        self.next_key = self.ended = self.early = 0

    def expire(self):
        self.early += 1

    def add(self, i):
        if NEED:
            self.keys[i] = self.next_key
            self.missing[i] = NEED
            for key in range(self.next_key, self.next_key + KEYS):
                self.watches[key] = i
            self.next_key += KEYS
        self.handles[i] = self.loop.call_later(delay(), self.expire)

    def signal(self, key):
        i = self.watches[key]
        self.missing[i] -= 1
        if self.missing[i]:
            return
        for other in range(self.keys[i], self.keys[i] + KEYS):
            del self.watches[other]
        self.stop(i)

    def stop(self, i):
        if self.handles[i].cancelled():
            fail("an item ended twice")
        self.handles[i].cancel()
        self.ended += 1

    def draw(self, number):
        return random.choices(range(PENDING), k=number)

    def step(self, i):
        if NEED:
            key = self.keys[i]
            for k in range(NEED):
                self.signal(key + k)
        else:
            self.stop(i)
        self.add(i)

    async def steps(self, drawn):
        """The loop drops cancelled handles from its heap when they are more than half of it."""
        before = self.ended
        for number, i in enumerate(drawn):
            self.step(i)
            if number % 1024 == 0:
                await asyncio.sleep(0)
        if self.ended - before != len(drawn):
            fail("an item did not end")


async def late(loop, number, early):
    """Add a timeout of 50 ms each millisecond."""
    us = []
    done = loop.create_future()

    def expire(due):
        us.append((loop.time() - due) * 1e6)
        if len(us) == number:
            done.set_result(None)

    start = loop.time()
    for i in range(number):
        await asyncio.sleep(start + i / 1000 - loop.time())
        due = loop.time() + 0.05
        loop.call_at(due, expire, due)
        loop.call_at(due, early).cancel()
    await done
    us.sort()
    if us[0] < -10000:
        fail("early by more than 10 ms")
    report("late_p50", "us", us[number // 2])
    report("late_p99", "us", us[number * 99 // 100])


async def run_asyncio():
    items = Items()
    before = memory()
    for i in range(PENDING):
        items.add(i)
    report("bytes", "bytes", (memory() - before) / PENDING)
    await items.steps(items.draw(OPERATIONS // 4))
    drawn = items.draw(OPERATIONS)
    cpu, _ = usage()
    await items.steps(drawn)
    report("cpu", "ns", (usage()[0] - cpu) * 1e9 / OPERATIONS)
    await late(items.loop, int(SECONDS * 1000), items.expire)
    _, switches = usage()
    await asyncio.sleep(SECONDS)
    _, last = usage()
    report("wakeups", "per_second", max(last - switches - 1, 0) / SECONDS)
    if items.early or NEED and len(items.watches) != KEYS * PENDING:
        fail("timeouts expired early, or keys are left")


class Waits:
    """The pending operations of a purgatory: their ids, and the first key of each."""

    def __init__(self, purgatory, batch):
        self.purgatory = purgatory
        self.batch = batch
        self.ids = [0] * PENDING
        self.keys = [0] * PENDING
        self.next_key = 0

    def submit(self):
        results = self.batch.submit()
        if any(result.error for result in results):
            fail("a call failed")
        return results

    def add(self, numbers):
        for i in numbers:
            self.keys[i] = self.next_key
            keys = range(self.next_key, self.next_key + KEYS) if NEED else ()
            self.next_key += len(keys)
            self.batch.add(keys, timeout=delay(), cookie=i,
                           quorum=NEED if NEED > 1 else None)
        for i, result in zip(numbers, self.submit()):
            self.ids[i] = result.value

    def end(self, numbers):
        for i in numbers:
            for k in range(NEED):
                self.batch.signal(self.keys[i] + k)
            if not NEED:
                self.batch.cancel(self.ids[i])
        self.submit()
        if sorted(event.cookie for event in self.purgatory.read(BATCH)) != numbers:
            fail("an item did not end, or another one did")

    def draw(self, number):
        """Each step takes one operation of each of 64 parts."""
        return [i % BATCH * (PENDING // BATCH) + pick for i, pick in
                enumerate(random.choices(range(PENDING // BATCH), k=number // BATCH * BATCH))]

    def steps(self, drawn):
        for numbers in batches(drawn):
            if JOB == "sessions":
                self.batch.rearm_many([self.ids[i] for i in numbers], SESSION)
                self.submit()
            else:
                self.end(numbers)
                self.add(numbers)


class Lives:
    """The lives of cells."""

    def __init__(self, cells):
        self.pools = [cells.pool(timeout) for timeout in
                      ([SESSION] if JOB == "sessions" else range(60, 601, 60))]
        self.lives = [self.pools[i % len(self.pools)].arm(i) for i in range(PENDING)]

    def draw(self, number):
        """A session has its life at hand when a message of it arrives."""
        return random.choices(self.lives if JOB == "sessions" else range(PENDING), k=number)

    def steps(self, drawn):
        for batch in batches(drawn, 1024):
            now = time.monotonic_ns()
            if JOB == "sessions":
                for life in batch:
                    if not life.touch(now):
                        fail("a session has ended")
                continue
            for i in batch:
                if not self.lives[i].cancel():
                    fail("an item did not end")
                self.lives[i] = self.pools[i % len(self.pools)].arm(i, now)


def awaits_of_twheel():
    import twheel

    purgatory = twheel.AsyncPurgatory()
    options = {"quorum": NEED} if NEED else {}

    def wait(keys):
        return purgatory.wait(keys, timeout=SESSION, **options)

    return wait, purgatory.signal


def awaits_of_asyncio():
    waits = {}

    async def wait(keys):
        future = asyncio.get_running_loop().create_future()
        entry = [future, max(NEED, 1)]
        for key in keys:
            waits[key] = entry
        try:
            async with asyncio.timeout(SESSION):
                await future
        finally:
            for key in keys:
                del waits[key]

    def signal(key):
        entry = waits.get(key)
        if entry:
            entry[1] -= 1
            if not entry[1]:
                entry[0].set_result(None)

    return wait, signal


async def run_awaits():
    """The keys are texts, as in most programs. Rounds of PENDING tasks."""
    wait, signal = awaits_of_twheel() if CONTENDER == "twheel_asyncio" else awaits_of_asyncio()
    keys = [tuple(f"order-{i}/{n}" for n in range(KEYS if NEED else 1)) for i in range(PENDING)]
    start = added = 0
    rounds = OPERATIONS // PENDING
    for number in range(-1, rounds):
        if not number:  # the first round is warm-up
            start, added = time.monotonic(), 0
        tasks = [asyncio.ensure_future(wait(of)) for of in keys]
        before = time.monotonic()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        added += time.monotonic() - before
        for of in keys:
            for key in of[:NEED or 1]:
                signal(key)
        await asyncio.gather(*tasks)
    report("cpu", "ns", (time.monotonic() - start) * 1e9 / (rounds * PENDING))
    report("await", "ns", added * 1e9 / (rounds * PENDING))


def measure(items):
    """The elapsed time, since the kernel does the work."""
    items.steps(items.draw(OPERATIONS // 4))
    drawn = items.draw(OPERATIONS)
    start = time.monotonic()
    items.steps(drawn)
    report("cpu", "ns", (time.monotonic() - start) * 1e9 / len(drawn))


def run_twheel():
    import twheel  # the other contender runs without it

    with twheel.Purgatory(nonblock=True) as purgatory, twheel.Batch(purgatory, BATCH) as batch:
        if CONTENDER == "twheel_python_cells":
            measure(Lives(purgatory.cells(PENDING)))
            return
        waits = Waits(purgatory, batch)
        for i in range(0, PENDING, BATCH):
            waits.add(range(i, min(i + BATCH, PENDING)))
        measure(waits)


if CONTENDER == "asyncio":
    asyncio.run(run_asyncio())
elif CONTENDER in ("twheel_asyncio", "asyncio_timeout"):
    asyncio.run(run_awaits())
elif not NEED or CONTENDER == "twheel_python":
    run_twheel()
print("end suite=peers")
