# SPDX-License-Identifier: GPL-2.0
"""Unmodified clients of Kafka: kcat with librdkafka, and python3-kafka."""

import unittest

import kafka

from cluster import Cluster

MESSAGES = [f"message {i:05d}" for i in range(1, 10001)]


class Clients(unittest.TestCase):
    """A leader of three workers, with two followers."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(topics={"kcat": 1, "python": 1}, followers=2,
                              min_insync={"kcat": 3, "python": 3})
        cls.addClassCleanup(cls.cluster.stop)

    def replicated(self, topic):
        """The logs of all replicas have the same bytes."""
        logs = [self.cluster.log(broker, topic, 0) for broker in (1, 2, 3)]
        self.assertGreater(len(logs[0]), 0)
        self.assertEqual(logs[0], logs[1])
        self.assertEqual(logs[0], logs[2])

    def test_kcat_gets_its_10000_messages_in_order(self):
        self.cluster.kcat("-P", "-t", "kcat", "-p", "0", "-z", "gzip", "-X", "acks=all",
                          text="".join(f"{line}\n" for line in MESSAGES))
        out = self.cluster.kcat("-C", "-t", "kcat", "-p", "0", "-o", "beginning", "-e", "-q")
        self.assertEqual(out.splitlines(), MESSAGES)
        self.replicated("kcat")

    def test_python3_kafka_gets_its_10000_messages_in_order(self):
        servers = "%s:%d" % self.cluster.address
        producer = kafka.KafkaProducer(bootstrap_servers=servers, acks="all")
        sent = [producer.send("python", message.encode(), partition=0)
                for message in MESSAGES]
        producer.flush()
        self.assertEqual([future.get().offset for future in sent], list(range(len(MESSAGES))))
        producer.close()

        consumer = kafka.KafkaConsumer(bootstrap_servers=servers)
        partition = kafka.TopicPartition("python", 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        found = [next(consumer).value.decode() for _ in MESSAGES]
        consumer.close()
        self.assertEqual(found, MESSAGES)
        self.replicated("python")
