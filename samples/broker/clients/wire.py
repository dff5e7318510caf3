# SPDX-License-Identifier: GPL-2.0
"""
The part of Kafka's protocol that the tests of the broker need, independent of the broker and of
any client library: requests and responses of ApiVersions, Metadata, ListOffsets, Produce, Fetch
and of members of groups in versions without tagged fields, and record batches of format 2.

A Connection notes when a response has arrived, on the monotonic clock.
"""

import select
import socket
import struct
import time

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 0, 1, 2, 3, 18
OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 11, 12, 13, 14
# The version of each request.
VERSION = {PRODUCE: 7, FETCH: 4, LIST_OFFSETS: 1, METADATA: 1, API_VERSIONS: 0, OFFSET_COMMIT: 6,
           OFFSET_FETCH: 5, FIND_COORDINATOR: 0, JOIN_GROUP: 4, HEARTBEAT: 2, LEAVE_GROUP: 2,
           SYNC_GROUP: 2}

UNKNOWN_TOPIC_OR_PARTITION = 3
REQUEST_TIMED_OUT = 7
MESSAGE_TOO_LARGE = 10
NOT_ENOUGH_REPLICAS = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27

LATEST = -1


def crc32c_table():
    """Castagnoli's polynomial, reflected."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(value):
    """Zigzag encoding of a signed number, in groups of seven bits."""
    value = value << 1 ^ value >> 63
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(text):
    if text is None:
        return struct.pack(">h", -1)
    return struct.pack(">h", len(text)) + text.encode()


def blob(data):
    return struct.pack(">i", len(data)) + data


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


def of_partition(topic, partition, fields=b""):
    """An array of one topic with one partition."""
    return array([string(topic) + array([struct.pack(">i", partition) + fields])])


class Reader:
    """Takes values off the front of a response."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise ValueError("truncated response")
        self.at += size
        return self.data[self.at - size:self.at]

    def unpack(self, form):
        return struct.unpack(form, self.bytes(struct.calcsize(form)))[0]

    def i8(self):
        return self.unpack(">b")

    def i16(self):
        return self.unpack(">h")

    def i32(self):
        return self.unpack(">i")

    def i64(self):
        return self.unpack(">q")

    def string(self):
        size = self.i16()
        return None if size < 0 else self.bytes(size).decode()

    def blob(self):
        size = self.i32()
        return b"" if size < 0 else self.bytes(size)

    def array(self, item):
        return [item() for _ in range(self.i32())]

    def partitions(self, item):
        """The items of the partitions of all topics."""
        topics = self.array(lambda: (self.string(), self.array(item)))
        return [part for _, parts in topics for part in parts]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.bytes(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)


def batch(values, offset=0):
    """A record batch with these values and no keys."""
    records = b""
    for i, value in enumerate(values):
        record = b"\0" + varint(0) + varint(i) + varint(-1) + varint(len(value)) + value
        records += varint(len(record) + 1) + record + varint(0)
    last = len(values) - 1
    checked = struct.pack(">hiqqqhii", 0, last, 0, 0, -1, -1, -1, len(values)) + records
    body = struct.pack(">ibI", 0, 2, crc32c(checked)) + checked
    return struct.pack(">qi", offset, len(body)) + body


def values_of(data):
    """Yield (offset, value) for each record of the batches; the last may be truncated."""
    while len(data) >= 12:
        base, size = struct.unpack(">qi", data[:12])
        if len(data) < 12 + size:
            return
        body, data = data[12:12 + size], data[12 + size:]
        crc = struct.unpack(">I", body[5:9])[0]
        if body[4] != 2 or crc != crc32c(body[9:]):
            raise ValueError("corrupt batch")
        reader = Reader(body[9:])
        reader.bytes(36)
        for _ in range(reader.i32()):
            record = Reader(reader.bytes(reader.varint()))
            record.i8()
            record.varint()
            offset = base + record.varint()
            record.bytes(max(record.varint(), 0))
            yield offset, record.bytes(record.varint())


class Response:
    """The body of a response, and the time at which it had arrived completely."""

    def __init__(self, correlation, body, arrived):
        self.correlation, self.body, self.arrived = correlation, body, arrived


class Closed(Exception):
    """The broker has closed the connection."""


class Connection:
    """A connection with any number of requests in flight."""

    def __init__(self, address, timeout=120, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, api, body, version=None):
        """Send a request. The time before the first byte leaves is that of the request."""
        self.correlation += 1
        version = VERSION[api] if version is None else version
        header = struct.pack(">hhi", api, version, self.correlation) + string("test")
        frame = blob(header + body)
        sent = time.monotonic_ns()
        self.send_raw(frame)
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
        return bytes(data)

    def receive(self):
        size = struct.unpack(">i", self.read(4))[0]
        frame = self.read(size)
        arrived = time.monotonic_ns()
        return Response(struct.unpack(">i", frame[:4])[0], Reader(frame[4:]), arrived)

    def readable(self, seconds=0):
        return bool(select.select([self.socket], [], [], seconds)[0])

    def call(self, api, body, version=None):
        self.send(api, body, version)
        response = self.receive()
        if response.correlation != self.correlation:
            raise ValueError("response to another request")
        return response.body

    def closed(self):
        """Wait until the broker closes the connection."""
        try:
            while True:
                self.read(1)
        except Closed:
            return True


def produce_request(topic, partition, records, acks=-1, timeout_ms=30000):
    return (string(None) + struct.pack(">hi", acks, timeout_ms) +
            of_partition(topic, partition, blob(records)))


def produced(body):
    """The error and the base offset of the only partition."""
    def partition():
        body.i32()
        error, offset = body.i16(), body.i64()
        body.i64()
        body.i64()
        return error, offset

    return body.partitions(partition)[0]


def fetch_request(wanted, min_bytes=1, max_wait_ms=500, max_bytes=1 << 20, replica=-1):
    """Fetch (topic, partition, offset) for each of @wanted."""
    topics = [string(topic) + array([struct.pack(">iqi", partition, offset, max_bytes)])
              for topic, partition, offset in wanted]
    return struct.pack(">iiiib", replica, max_wait_ms, min_bytes, max_bytes, 0) + array(topics)


class Fetched:
    """The part of a response to Fetch for one partition."""

    def __init__(self, body):
        self.partition, self.error = body.i32(), body.i16()
        self.high_watermark = body.i64()
        body.i64()
        body.array(body.i64)
        self.records = body.blob()

    def values(self):
        return [value for _, value in values_of(self.records)]


def fetched(body):
    """The partitions of a response, as a list."""
    body.i32()
    return body.partitions(lambda: Fetched(body))


def produce(connection, topic, partition, values, acks=-1, timeout_ms=30000):
    """Produce and wait. Returns the error and the base offset."""
    return produced(connection.call(
        PRODUCE, produce_request(topic, partition, batch(values), acks, timeout_ms)))


def fetch(connection, topic, partition, offset, **options):
    return fetched(connection.call(
        FETCH, fetch_request([(topic, partition, offset)], **options)))[0]


def end_offset(connection, topic, partition):
    """The offset after the last record that consumers see."""
    body = connection.call(LIST_OFFSETS, struct.pack(">i", -1) +
                           of_partition(topic, partition, struct.pack(">q", LATEST)))
    error, offset = body.partitions(
        lambda: (body.i32(), body.i16(), body.i64(), body.i64())[1::2])[0]
    if error:
        raise ValueError(f"ListOffsets: error {error}")
    return offset


def api_versions(connection):
    """Map each API to its lowest and highest version."""
    body = connection.call(API_VERSIONS, b"")
    error = body.i16()
    if error:
        raise ValueError(f"ApiVersions: error {error}")
    return {api: (low, high) for api, low, high in
            body.array(lambda: (body.i16(), body.i16(), body.i16()))}


def metadata(connection, topics):
    """The brokers as (id, host, port), and the error and partitions of each topic."""
    body = connection.call(METADATA, array([string(topic) for topic in topics]))
    brokers = body.array(lambda: (body.i32(), body.string(), body.i32(), body.string())[:3])
    body.i32()

    def partition():
        error, number, leader = body.i16(), body.i32(), body.i32()
        return {"error": error, "partition": number, "leader": leader,
                "replicas": body.array(body.i32), "isr": body.array(body.i32)}

    def topic():
        error, name = body.i16(), body.string()
        body.i8()
        return name, {"error": error, "partitions": body.array(partition)}

    return brokers, dict(body.array(topic))


class Member:
    """
    A member of a group, with a connection. Its requests can be sent without the answer, as they
    may wait.
    """

    def __init__(self, connection, group="group", session_ms=10000, rebalance_ms=60000):
        self.connection, self.group = connection, group
        self.session_ms, self.rebalance_ms = session_ms, rebalance_ms
        self.id, self.generation, self.error, self.leader = "", -1, 0, False
        self.members, self.assignment = [], b""

    def join_request(self):
        return (string(self.group) + struct.pack(">ii", self.session_ms, self.rebalance_ms) +
                string(self.id) + string("consumer") +
                array([string("range") + blob(b"topics")]))

    def send_join(self):
        return self.connection.send(JOIN_GROUP, self.join_request())

    def joined(self):
        """Take the answer to a join, and return it."""
        response = self.connection.receive()
        body = response.body
        body.i32()
        self.error, self.generation = body.i16(), body.i32()
        body.string()
        leader, self.id = body.string(), body.string()
        self.members = [member for member, _ in
                        body.array(lambda: (body.string(), body.blob()))]
        self.leader = leader == self.id
        return response

    def join(self):
        self.send_join()
        self.joined()

    def identity(self):
        return (string(self.group) + struct.pack(">i", self.generation) + string(self.id))

    def sync_request(self):
        """The leader assigns its own ID to each member."""
        return self.identity() + array(
            [string(member) + blob(member.encode()) for member in self.members])

    def send_sync(self):
        return self.connection.send(SYNC_GROUP, self.sync_request())

    def synced(self):
        response = self.connection.receive()
        response.body.i32()
        self.error, self.assignment = response.body.i16(), response.body.blob()
        return response

    def sync(self):
        self.send_sync()
        self.synced()

    def heartbeat(self):
        """The error of a heartbeat."""
        body = self.connection.call(HEARTBEAT, self.identity())
        body.i32()
        return body.i16()

    def leave_request(self):
        return string(self.group) + string(self.id)

    def leave(self):
        body = self.connection.call(LEAVE_GROUP, self.leave_request())
        body.i32()
        return body.i16()

    def commit_request(self, topic, partition, offset):
        return self.identity() + of_partition(
            topic, partition, struct.pack(">qi", offset, -1) + string(""))

    def commit(self, topic, partition, offset):
        """The error of a commit."""
        body = self.connection.call(OFFSET_COMMIT, self.commit_request(topic, partition, offset))
        body.i32()
        return body.partitions(lambda: (body.i32(), body.i16())[1])[0]


def committed(connection, group, topic, partition):
    """The offset that a group has committed, or -1."""
    body = connection.call(OFFSET_FETCH, string(group) + of_partition(topic, partition))
    body.i32()
    offset, error = body.partitions(
        lambda: (body.i32(), body.i64(), body.i32(), body.string(), body.i16())[1::3])[0]
    if error:
        raise ValueError(f"OffsetFetch: error {error}")
    return offset
