# SPDX-License-Identifier: GPL-2.0
"""
A consumer of python3-kafka in a group: prints the partition, offset and value of each record.

    consume.py ADDRESS TOPIC SESSION_MS
"""

import signal
import sys

import kafka
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

address, topic, session_ms = sys.argv[1:]
consumer = kafka.KafkaConsumer(
    topic, group_id="group", bootstrap_servers=address, auto_offset_reset="earliest",
    session_timeout_ms=int(session_ms), heartbeat_interval_ms=1000,
    partition_assignment_strategy=[RoundRobinPartitionAssignor], max_poll_records=1,
    auto_commit_interval_ms=500)


def end(*_):
    consumer.close()
    sys.exit()


signal.signal(signal.SIGTERM, end)
for record in consumer:
    print(record.partition, record.offset, record.value.decode(), flush=True)
