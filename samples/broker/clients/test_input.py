# SPDX-License-Identifier: GPL-2.0
"""Bad input: a protocol error or a closed connection, and bounded memory."""

import random
import struct
import unittest

import observe
import wire
from cluster import Cluster

# A worker may grow by this much during a test.
SLACK_KIB = 16 * 1024


class Input(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(topics={"input": 1}, workers=1, followers=0)
        cls.addClassCleanup(cls.cluster.stop)
        cls.worker, = cls.cluster.workers()

    def setUp(self):
        self.resident = observe.resident_kib(self.worker)
        self.good = self.cluster.connect(self)

    def tearDown(self):
        """The worker still runs, serves the earlier connection, and has not grown."""
        self.assertIn(wire.API_VERSIONS, wire.api_versions(self.good))
        self.assertLess(observe.resident_kib(self.worker), self.resident + SLACK_KIB)

    def closes(self, data):
        """The broker closes the connection, without a response."""
        connection = self.cluster.connect(self)
        connection.send_raw(data)
        with self.assertRaises(wire.Closed, msg=f"after {data.hex()}"):
            connection.receive()

    def test_absurd_sizes_of_frames_close_the_connection(self):
        for size in (-1, -0x80000000, 0x7FFFFFFF, 0x40000000, 0, 1, 7):
            self.closes(struct.pack(">i", size) + bytes(64))

    def test_truncated_frame_waits_without_memory(self):
        """Headers that announce the largest frame reserve no memory."""
        size = struct.pack(">i", 900 * 1024)
        for _ in range(200):
            self.cluster.connect(self).send_raw(size + b"x")

    def test_absurd_lengths_inside_a_frame_close_the_connection(self):
        request = wire.produce_request("input", 0, wire.batch([b"value"]))
        header = struct.pack(">hhi", wire.PRODUCE, 7, 1) + wire.string("test")
        for length in (-2, 0x7FFFFFFF, -0x80000000, len(request)):
            bad = struct.pack(">i", length)
            # The counts of topics and of partitions, and the size of the records.
            for at in (8, 19, 27):
                self.closes(wire.blob(header + request[:at] + bad + request[at + 4:]))

    def group_requests(self):
        """Requests of a member of a stable group."""
        member = wire.Member(self.cluster.connect(self), "input")
        member.join()
        member.sync()
        self.assertEqual(member.error, 0)
        return [
            (wire.FIND_COORDINATOR, wire.string("input")),
            (wire.JOIN_GROUP, member.join_request()),
            (wire.SYNC_GROUP, member.sync_request()),
            (wire.HEARTBEAT, member.identity()),
            (wire.OFFSET_COMMIT, member.commit_request("input", 0, 1)),
            (wire.OFFSET_FETCH, wire.offset_fetch_request("input", "input", 0)),
            (wire.LEAVE_GROUP, member.leave_request()),
        ]

    def test_truncated_requests_of_groups_close_the_connection(self):
        for api, request in self.group_requests():
            header = struct.pack(">hhi", api, wire.VERSION[api], 1) + wire.string("test")
            for size in range(0, len(request), 3):
                self.closes(wire.blob(header + request[:size]))

    def test_absurd_counts_of_groups_close_the_connection(self):
        member = wire.Member(self.good, "input")
        header = struct.pack(">hhi", wire.JOIN_GROUP, 5, 1) + wire.string("test")
        request = member.join_request()
        for count in 0x7FFFFFFF, -0x80000000, -2, 1000:
            bad = struct.pack(">i", count)
            # The number of protocols, and the size of the metadata.
            for at in len(request) - 21, len(request) - 10:
                self.closes(wire.blob(header + request[:at] + bad + request[at + 4:]))

    def test_unknown_requests_and_versions_are_refused(self):
        connection = self.cluster.connect(self)
        body = connection.call(wire.API_VERSIONS, b"", version=99)
        self.assertEqual(body.i16(), wire.UNSUPPORTED_VERSION)
        for api, version in ((99, 0), (-1, 0), (wire.FETCH, 99), (wire.PRODUCE, -1)):
            header = struct.pack(">hhi", api, version, 1) + wire.string("test")
            self.closes(wire.blob(header + bytes(32)))

    def test_bad_crc_is_refused_and_not_stored(self):
        end = wire.end_offset(self.good, "input", 0)
        records = bytearray(wire.batch([b"value"]))
        records[-3] ^= 1
        error, _ = wire.produced(self.good.call(
            wire.PRODUCE, wire.produce_request("input", 0, bytes(records))))
        self.assertEqual(error, wire.CORRUPT_MESSAGE)
        self.assertEqual(wire.end_offset(self.good, "input", 0), end)

    def test_random_damage_of_requests_never_ends_the_worker(self):
        requests = [
            (wire.PRODUCE, wire.produce_request("input", 0, wire.batch([b"value"] * 3))),
            (wire.FETCH, wire.fetch_request([("input", 0, 0)], max_wait_ms=1)),
            (wire.METADATA, wire.array([wire.string("input")])),
            *self.group_requests(),
        ]
        chance = random.Random(18)
        for _ in range(600):
            api, body = chance.choice(requests)
            frame = bytearray(struct.pack(">hhi", api, wire.VERSION[api], 1) +
                              wire.string("test") + body)
            for _ in range(chance.randint(1, 4)):
                frame[chance.randrange(8, len(frame))] = chance.choice(
                    (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            del frame[chance.randint(10, len(frame)):]
            connection = wire.Connection(self.cluster.address)
            connection.send_raw(wire.blob(bytes(frame)))
            connection.close()

    def test_slow_reader_does_not_grow_the_worker(self):
        """A client sends fetches of a megabyte and never reads the responses."""
        records = wire.batch([bytes(64 * 1024)])
        for _ in range(16):
            error, _ = wire.produced(self.good.call(
                wire.PRODUCE, wire.produce_request("input", 0, records)))
            self.assertEqual(error, 0)
        request = wire.fetch_request([("input", 0, 0)])
        slow = wire.Connection(self.cluster.address, receive_buffer=4096)
        self.addCleanup(slow.close)
        slow.socket.settimeout(3)
        with self.assertRaises((TimeoutError, OSError)):
            for _ in range(100000):
                slow.send(wire.FETCH, request)
