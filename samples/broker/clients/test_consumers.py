# SPDX-License-Identifier: GPL-2.0
"""
Unmodified consumers of one group: kcat with librdkafka, python3-kafka, and kafkajs if the guest
has node.
"""

import collections
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import wire
from cluster import HOST, LEADER, TIMEOUT, Cluster

HERE = pathlib.Path(__file__).resolve().parent
PARTITIONS = 6
SESSION_MS = 6000
HEARTBEAT_MS = 1000
RECORDS = 600
# An emulated CPU needs minutes for the consumers to start.
in_long = unittest.skipUnless("LONG" in os.environ, "only with LONG=1")


class Consumer:
    """A process that prints its records."""

    def __init__(self, test, command):
        self.output = test.cluster.folder / f"consumer-{time.monotonic_ns()}"
        with open(self.output, "w") as output:
            self.process = subprocess.Popen(command, stdout=output)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(TIMEOUT)

    def records(self):
        """The partition, offset and value of all complete lines."""
        lines = self.output.read_text().splitlines(keepends=True)
        return [line.split() for line in lines if line.endswith("\n") and line[0].isdigit()]

    def values(self):
        return [value for _, _, value in self.records()]

    def partitions(self):
        return {partition for partition, _, _ in self.records()}


class Consumers(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(topics={"six": PARTITIONS}, followers=0, delay_ms=1000)
        self.addCleanup(self.cluster.stop)
        self.address = f"{HOST}:{self.cluster.ports[LEADER]}"
        self.produced = 0

    def kcat(self, *options):
        return Consumer(self, [
            "kcat", "-b", self.address, "-G", "group", "-q", "-u", "-f", "%p %o %s\n",
            "-X", "auto.offset.reset=earliest", "-X", f"session.timeout.ms={SESSION_MS}",
            "-X", f"heartbeat.interval.ms={HEARTBEAT_MS}",
            "-X", "partition.assignment.strategy=roundrobin", *options, "six"])

    def python(self):
        return Consumer(self, [sys.executable, HERE / "consume.py", self.address, "six",
                               str(SESSION_MS)])

    def kafkajs(self):
        return Consumer(self, ["node", HERE / "consume.js", self.address, "six",
                               str(SESSION_MS)])

    def third(self):
        return self.kafkajs() if shutil.which("node") else self.kcat()

    def members(self, number):
        """Wait until that many members have a session and none waits for a rebalance."""
        def reached():
            kinds = self.cluster.kinds()
            return (kinds["session"], kinds["join"], kinds["assign"]) == (number, 0, 0)

        self.cluster.eventually(reached)

    def stable(self, number):
        """Wait until the members have had the time to take up their partitions."""
        for _ in range(2):
            self.members(number)
            time.sleep(2 * HEARTBEAT_MS / 1000)
        self.members(number)

    def produce(self, number=RECORDS):
        """Produce records to all partitions, and return their values."""
        values = [f"r{i}" for i in range(self.produced, self.produced + number)]
        self.produced += number
        with wire.Connection(self.cluster.address) as connection:
            for partition in range(PARTITIONS):
                error, _ = wire.produce(connection, "six", partition, [
                    value.encode() for value in values[partition::PARTITIONS]])
                self.assertEqual(error, 0)
        return values

    def consumed(self, consumers, values):
        """Wait until the consumers have these values. Returns how often each was consumed."""
        def found():
            return collections.Counter(value for consumer in consumers
                                       for value in consumer.values())

        self.cluster.eventually(lambda: set(values) <= found().keys())
        return found()

    def consumed_once(self, consumers, values):
        found = self.consumed(consumers, values)
        self.assertEqual({value: found[value] for value in values}, dict.fromkeys(values, 1))

    def test_consumers_of_three_libraries_share_six_partitions_and_those_of_a_killed_one(self):
        consumers = [self.kcat(), self.python(), self.third()]
        self.stable(3)
        first = self.produce()
        self.consumed_once(consumers, first)
        for consumer in consumers:
            self.assertEqual(len(consumer.values()), RECORDS // 3)
        killed = consumers.pop(0)
        killed.end(signal.SIGKILL)
        start = time.monotonic()
        second = self.produce()
        self.members(2)
        # Not before the end of its session; its last heartbeat was up to an interval before.
        self.assertGreaterEqual(time.monotonic() - start, (SESSION_MS - HEARTBEAT_MS) / 1000 - 1)
        found = self.consumed([killed, *consumers], first + second)
        # What it had not committed is consumed again, but nothing that it never had.
        for value in second:
            self.assertEqual(found[value], 1)

    @in_long
    def test_partitions_of_a_consumer_that_leaves_are_taken_over_at_once(self):
        for leave in range(3):
            consumers = [self.kcat(), self.python(), self.third()]
            self.stable(3)
            self.consumed_once(consumers, self.produce())
            left = consumers.pop(leave)
            left.end()
            self.assertEqual(self.cluster.waits("session:"), 2)
            self.consumed_once([left, *consumers], self.produce())
            for consumer in consumers:
                consumer.end()
            self.members(0)
