# SPDX-License-Identifier: GPL-2.0
"""
A client that sends one request at a time, with the messages and the batches of python3-kafka.

A response has the time at which it has arrived, on the monotonic clock.
"""

import collections
import io
import select
import socket
import time

from kafka.protocol.admin import ApiVersionRequest
from kafka.protocol.api import RequestHeader
from kafka.protocol.commit import OffsetCommitRequest
from kafka.protocol.fetch import FetchRequest
from kafka.protocol.group import (HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
                                  SyncGroupRequest)
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.offset import OffsetRequest
from kafka.protocol.produce import ProduceRequest
from kafka.protocol.types import Int32
from kafka.record import MemoryRecords, MemoryRecordsBuilder

REQUEST_TIMED_OUT = 7
NOT_ENOUGH_REPLICAS = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27

ACKS_ALL = LATEST = -1


class Closed(Exception):
    """The broker has closed the connection."""


class Connection:
    """A connection with any number of requests in flight."""

    def __init__(self, address, timeout=120):
        self.socket = socket.socket()
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent = collections.deque()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, request):
        """Send a request. The time before the first byte leaves is that of the request."""
        self.sent.append(request)
        header = RequestHeader(request, client_id="test")
        message = header.encode() + request.encode()
        sent = time.monotonic_ns()
        self.socket.sendall(Int32.encode(len(message)) + message)
        return sent

    def read(self, size):
        data = bytearray()
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionResetError:
                part = b""
            if not part:
                raise Closed
            data += part
        return io.BytesIO(data)

    def receive(self):
        data = self.read(Int32.decode(self.read(4)))
        arrived = time.monotonic_ns()
        Int32.decode(data)
        response = self.sent.popleft().RESPONSE_TYPE.decode(data)
        response.arrived = arrived
        return response

    def readable(self, seconds=0):
        return bool(select.select([self.socket], [], [], seconds)[0])

    def call(self, request):
        self.send(request)
        return self.receive()

    def closed(self):
        """Wait until the broker closes the connection."""
        try:
            while True:
                self.read(1)
        except Closed:
            return True


def batch(values):
    """A record batch with these values and no keys."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20)
    for value in values:
        builder.append(timestamp=0, key=None, value=value)
    builder.close()
    return builder.buffer()


def produce_request(topic, partition, records, timeout_ms=30000):
    return ProduceRequest[3](None, ACKS_ALL, timeout_ms, [(topic, [(partition, records)])])


def produced(response):
    """The error and the base offset of the only partition."""
    (_, ((_, error, offset, _),)), = response.topics
    return error, offset


def fetch_request(wanted, min_bytes=1, max_wait_ms=500):
    """Fetch (topic, partition, offset) for each of @wanted."""
    return FetchRequest[4](-1, max_wait_ms, min_bytes, 1 << 20, 0, [
        (topic, [(partition, offset, 1 << 20)]) for topic, partition, offset in wanted])


class Fetched:
    """The part of a response to Fetch for one partition."""

    def __init__(self, partition, error, high_watermark, _stable, _aborted, records):
        self.partition, self.error, self.high_watermark = partition, error, high_watermark
        self.records = records

    def values(self):
        records, found = MemoryRecords(self.records), []
        while records.has_next():
            found += [record.value for record in records.next_batch()]
        return found


def fetched(response):
    """The partitions of a response, as a list."""
    return [Fetched(*part) for _, parts in response.topics for part in parts]


def produce(connection, topic, partition, values, **options):
    """Produce and wait. Returns the error and the base offset."""
    return produced(connection.call(
        produce_request(topic, partition, batch(values), **options)))


def fetch(connection, topic, partition, offset, **options):
    return fetched(connection.call(fetch_request([(topic, partition, offset)], **options)))[0]


def end_offset(connection, topic, partition):
    """The offset after the last record that consumers see."""
    response = connection.call(OffsetRequest[1](-1, [(topic, [(partition, LATEST)])]))
    (_, ((_, error, _, offset),)), = response.topics
    if error:
        raise ValueError(f"ListOffsets: error {error}")
    return offset


def api_versions(connection):
    return connection.call(ApiVersionRequest[0]())


def in_sync(connection, topics):
    """The number of replicas in sync of each partition."""
    response = connection.call(MetadataRequest[1](topics))
    return [len(isr) for *_, parts in response.topics for *_, isr in parts]


class Member:
    """
    A member of a group, with a connection. Its requests can be sent without the answer, as they
    may wait.
    """

    def __init__(self, connection, session_ms=10000, rebalance_ms=60000):
        self.connection, self.session_ms, self.rebalance_ms = connection, session_ms, rebalance_ms
        self.id, self.generation, self.error, self.leader = "", -1, 0, False
        self.members, self.assignment = [], b""

    def send_join(self):
        return self.connection.send(JoinGroupRequest[2](
            "group", self.session_ms, self.rebalance_ms, self.id, "consumer",
            [("range", b"topics")]))

    def joined(self):
        """Take the answer to a join, and return it."""
        response = self.connection.receive()
        self.error, self.generation = response.error_code, response.generation_id
        self.id, self.members = response.member_id, [member for member, _ in response.members]
        self.leader = response.leader_id == self.id
        return response

    def join(self):
        self.send_join()
        self.joined()

    def send_sync(self):
        """The leader assigns its own ID to each member."""
        return self.connection.send(SyncGroupRequest[1](
            "group", self.generation, self.id,
            [(member, member.encode()) for member in self.members]))

    def synced(self):
        response = self.connection.receive()
        self.error, self.assignment = response.error_code, response.member_assignment
        return response

    def sync(self):
        self.send_sync()
        self.synced()

    def heartbeat(self):
        """The error of a heartbeat."""
        return self.connection.call(
            HeartbeatRequest[1]("group", self.generation, self.id)).error_code

    def leave(self):
        return self.connection.call(LeaveGroupRequest[1]("group", self.id)).error_code

    def commit(self, topic, partition, offset):
        """The error of a commit."""
        response = self.connection.call(OffsetCommitRequest[2](
            "group", self.generation, self.id, -1, [(topic, [(partition, offset, "")])]))
        (_, ((_, error),)), = response.topics
        return error
