#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Contender: asyncio's call_later; see jobs.c for the jobs. A dict for the keys."""

import asyncio
import random
import resource
import sys
import time

KEYS = 3
JOB, PENDING, OPERATIONS, SECONDS = (
    sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
NEED = {"quorum": 2, "any": 1}.get(JOB, 0)


def report(figure, unit, value):
    print(f"sample suite=peers case={JOB} of=asyncio what={figure} pending={PENDING} "
          f"unit={unit} value={value:.2f}", flush=True)


def fail(text):
    print("FAILURE: asyncio:", text)
    sys.exit(1)


def memory():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def usage():
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


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
        delay = 30 if JOB == "sessions" else random.uniform(60, 600)
        self.handles[i] = self.loop.call_later(delay, self.expire)

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

    def step(self):
        i = random.randrange(PENDING)
        if NEED:
            key = self.keys[i]
            for k in range(NEED):
                self.signal(key + k)
        else:
            self.stop(i)
        self.add(i)

    async def steps(self, number):
        """The loop drops cancelled handles from its heap when they are more than half of it."""
        before = self.ended
        for i in range(number):
            self.step()
            if i % 1024 == 0:
                await asyncio.sleep(0)
        if self.ended - before != number:
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
    report("late_min", "us", us[0])
    report("late_p50", "us", us[number // 2])
    report("late_p99", "us", us[number * 99 // 100])
    report("late_max", "us", us[-1])


async def main():
    items = Items()
    before = memory()
    for i in range(PENDING):
        items.add(i)
    report("bytes", "bytes", (memory() - before) / PENDING)
    await items.steps(OPERATIONS // 4)
    cpu, _ = usage()
    await items.steps(OPERATIONS)
    report("cpu", "ns", (usage()[0] - cpu) * 1e9 / OPERATIONS)
    await late(items.loop, int(SECONDS * 1000), items.expire)
    cpu, switches = usage()
    await asyncio.sleep(SECONDS)
    end, last = usage()
    report("wakeups", "per_second", max(last - switches - 1, 0) / SECONDS)
    report("idle_cpu", "us", (end - cpu) * 1e6 / SECONDS)
    if items.early or NEED and len(items.watches) != KEYS * PENDING:
        fail("timeouts expired early, or keys are left")
    print("end suite=peers")


asyncio.run(main())
