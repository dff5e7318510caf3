# SPDX-License-Identifier: GPL-2.0
"""
A consumer of python3-kafka in a group: prints the partition, offset and value of each record.

    consume.py ADDRESS TOPIC SESSION_MS [STOP]

After the record with the value STOP it does not poll for some time.
"""

import signal
import sys
import time

import kafka
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

address, topic, session_ms, *stop = sys.argv[1:]
consumer = kafka.KafkaConsumer(
    topic, group_id="group", bootstrap_servers=address, auto_offset_reset="earliest",
    session_timeout_ms=int(session_ms), heartbeat_interval_ms=1000, max_poll_interval_ms=8000,
    partition_assignment_strategy=[RoundRobinPartitionAssignor], max_poll_records=1,
    auto_commit_interval_ms=500)


def end(*_):
    consumer.close()
    sys.exit()


signal.signal(signal.SIGTERM, end)
for record in consumer:
    value = record.value.decode()
    print(record.partition, record.offset, value, flush=True)
    if value in stop:
        time.sleep(25)
