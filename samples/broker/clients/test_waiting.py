# SPDX-License-Identifier: GPL-2.0
"""
Requests that wait, with the tests' own client.

A request must never be answered early, which is measured on the monotonic clock, nor late in a
guest in virtual time, see scripts/vm. Elsewhere a late answer is no failure, since a guest may be
arbitrarily slow. Other requests have a deadline that no test reaches: their answer proves that an
event has completed them. That it was not completed sooner follows from the content of the answer.
"""

import os
import signal
import unittest

import wire
from cluster import Cluster

NEVER_MS = 3600 * 1000
MS = 1000 * 1000
# In virtual time: a tick, turns of the CPUs, and the instructions of the broker and the client.
LATE = 20 * MS if os.environ.get("VIRTUAL_TIME") else NEVER_MS * MS


class Timed(unittest.TestCase):
    def assert_waited(self, wait_ms, sent, response):
        late = response.arrived - sent - wait_ms * MS
        self.assertGreaterEqual(late, 0)
        self.assertLessEqual(late, LATE)


class Fetch(Timed):
    """A fetch completes when min.bytes are available, or expires after max.wait."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(topics={"fetch": 4}, followers=0)
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        self.consumer = self.cluster.connect(self)
        self.producer = self.cluster.connect(self)

    def wait(self, wanted, **options):
        """Send a fetch and return once it waits."""
        sent = self.consumer.send(wire.fetch_request(wanted, **options))
        self.cluster.eventually(lambda: self.cluster.waits("read:") == 1)
        return sent

    def test_fetch_without_data_is_not_answered_before_max_wait(self):
        end = wire.end_offset(self.producer, "fetch", 0)
        for wait_ms in (1, 2, 3, 5, 10, 20, 50, 99, 250, 1000):
            sent = self.consumer.send(wire.fetch_request(
                [("fetch", 0, end)], min_bytes=1, max_wait_ms=wait_ms))
            response = self.consumer.receive()
            self.assert_waited(wait_ms, sent, response)
            part, = wire.fetched(response)
            self.assertEqual((part.error, part.values()), (0, []))

    def test_fetch_with_too_few_bytes_expires_with_these(self):
        _, offset = wire.produce(self.producer, "fetch", 1, [b"few"])
        sent = self.wait([("fetch", 1, offset)], min_bytes=100000, max_wait_ms=1500)
        response = self.consumer.receive()
        self.assert_waited(1500, sent, response)
        part, = wire.fetched(response)
        self.assertEqual(part.values(), [b"few"])

    def test_fetch_completes_at_the_byte_that_reaches_min_bytes(self):
        batches = [wire.batch([b"first"]), wire.batch([b"second"]), wire.batch([b"third"])]
        start = wire.end_offset(self.producer, "fetch", 2)
        # Two batches are one byte short of min.bytes.
        self.wait([("fetch", 2, start)], max_wait_ms=NEVER_MS,
                  min_bytes=len(batches[0]) + len(batches[1]) + 1)
        for records in batches:
            self.assertFalse(self.consumer.readable())
            wire.produced(self.producer.call(
                wire.produce_request("fetch", 2, records)))
        part, = wire.fetched(self.consumer.receive())
        self.assertEqual(part.values(), [b"first", b"second", b"third"])

    def test_signal_of_an_administrator_answers_no_fetch(self):
        """The broker reads the state of the partition, and waits again."""
        self.wait([("fetch", 0, wire.end_offset(self.producer, "fetch", 0))],
                  max_wait_ms=NEVER_MS)
        for value in "0", "1":
            self.cluster.twheelctl("signal", "read:0", "--value", value)
            self.cluster.eventually(lambda: self.cluster.waits("read:") == 1)
            self.assertFalse(self.consumer.readable(0.5))
        wire.produce(self.producer, "fetch", 0, [b"record"])
        part, = wire.fetched(self.consumer.receive())
        self.assertEqual(part.values(), [b"record"])

    def test_fetch_sums_the_bytes_of_its_partitions(self):
        first, second = wire.batch([b"of 0"]), wire.batch([b"of 3"])
        wanted = [("fetch", number, wire.end_offset(self.producer, "fetch", number))
                  for number in (0, 3)]
        self.wait(wanted, min_bytes=len(first) + len(second), max_wait_ms=NEVER_MS)
        wire.produce(self.producer, "fetch", 0, [b"of 0"])
        self.assertFalse(self.consumer.readable())
        wire.produce(self.producer, "fetch", 3, [b"of 3"])
        parts = wire.fetched(self.consumer.receive())
        self.assertEqual({part.partition: part.values() for part in parts},
                         {0: [b"of 0"], 3: [b"of 3"]})

    def test_closed_connection_cancels_its_fetch(self):
        self.wait([("fetch", 0, wire.end_offset(self.producer, "fetch", 0))],
                  max_wait_ms=NEVER_MS)
        self.consumer.close()
        self.cluster.eventually(lambda: self.cluster.waits() == 0)


class Replicated(Timed):
    """A produce with acks=all waits until its records are replicated, or for its timeout."""

    LAG_MS = NEVER_MS

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(topics={"two": 1, "three": 1}, lag_ms=cls.LAG_MS,
                              min_insync={"two": 2, "three": 3}, followers=2)
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        self.producer = self.cluster.connect(self)

    def tearDown(self):
        """Each test has restarted the follower, which is in sync again."""
        self.cluster.in_sync(3)

    def produce(self, topic, value, timeout_ms=NEVER_MS):
        return wire.produce(self.producer, topic, 0, [value], timeout_ms=timeout_ms)

    def produce_that_waits(self, topic, value, timeout_ms=NEVER_MS):
        """Stop the processes of a follower, and produce. The follower counts as in sync."""
        self.cluster.pause(2)
        sent = self.producer.send(wire.produce_request(
            topic, 0, wire.batch([value]), timeout_ms=timeout_ms))
        self.cluster.eventually(lambda: self.cluster.waits("acks:") == 1)
        self.assertFalse(self.producer.readable())
        return sent

    def produced(self):
        return wire.produced(self.producer.receive())

    def last(self, topic):
        """The high watermark and the records from the last one that consumers see."""
        consumer = self.cluster.connect(self)
        end = wire.end_offset(consumer, topic, 0)
        part = wire.fetch(consumer, topic, 0, max(end - 1, 0), max_wait_ms=1)
        return part.high_watermark, part.values()


class Produce(Replicated):
    """The follower is in sync while it does not fetch."""

    def test_produce_is_not_answered_before_its_timeout(self):
        sent = self.produce_that_waits("two", b"late", timeout_ms=1500)
        response = self.producer.receive()
        self.assert_waited(1500, sent, response)
        self.assertEqual(wire.produced(response)[0], wire.REQUEST_TIMED_OUT)
        self.cluster.resume(2)

    def test_waiting_produce_completes_when_its_follower_goes_on(self):
        _, offset = wire.produce(self.producer, "three", 0, [b"before"])
        self.produce_that_waits("three", b"held")
        # Consumers do not see records that are not replicated.
        self.assertEqual(self.last("three"), (offset + 1, [b"before"]))
        self.cluster.resume(2)
        self.assertEqual(self.produced(), (0, offset + 1))
        self.assertEqual(self.last("three"), (offset + 2, [b"held"]))

    def test_restarted_follower_has_stayed_in_sync(self):
        self.produce_that_waits("three", b"restart")
        self.cluster.end(2, signal.SIGKILL)
        self.assertFalse(self.producer.readable(1))
        self.cluster.start(2)
        self.assertEqual(self.produced()[0], 0)


class Lag(Replicated):
    """A follower that does not fetch leaves the replicas in sync."""

    LAG_MS = 5000

    def test_waiting_produce_completes_when_enough_followers_are_left(self):
        self.produce_that_waits("two", b"enough")
        self.assertEqual(self.produced()[0], 0)
        self.assertEqual(self.produce("two", b"next")[0], 0)
        self.assertEqual(self.last("two")[1], [b"next"])
        self.cluster.resume(2)

    def test_waiting_produce_fails_when_too_few_followers_are_left(self):
        self.produce_that_waits("three", b"too few")
        self.assertEqual(self.produced()[0], wire.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        self.assertEqual(self.produce("three", b"refused")[0], wire.NOT_ENOUGH_REPLICAS)
        self.cluster.resume(2)
        self.cluster.in_sync(3)
        self.assertEqual(self.produce("three", b"accepted")[0], 0)
        self.assertEqual(self.last("three")[1], [b"accepted"])
