# SPDX-License-Identifier: GPL-2.0
"""Several worker processes that share a purgatory."""

import errno
import json
import os
import signal
import subprocess
import time
import unittest

import observe
import wire
from cluster import BROKER, LEADER, TIMEOUT, Cluster, free_port

HOUR_MS = 3600 * 1000
CONSUMERS = 1000
# Duration of the measurement of an idle broker.
SECONDS = 5
RECORDS = wire.batch([b"noise"])


class Workers(unittest.TestCase):
    """A request that one worker receives completes requests that wait in others."""

    def setUp(self):
        self.cluster = Cluster(topics={"shared": 1}, workers=3, followers=0)
        self.addCleanup(self.cluster.stop)
        # A connection to each of the workers.
        self.workers = self.cluster.connect_to_each_worker(self)

    def wait_at_end(self, connections):
        """Fetch through each connection, and return once all of the fetches wait."""
        for connection in connections:
            connection.send(wire.fetch_request(
                [("shared", 0, 0)], max_wait_ms=HOUR_MS))
        self.cluster.eventually(lambda: self.cluster.waits("read:") == len(connections))

    def test_produce_to_one_worker_completes_fetches_of_all(self):
        first, *others = self.workers.values()
        self.wait_at_end(others)
        wire.produce(first, "shared", 0, [b"for all"])
        for connection in others:
            part, = wire.fetched(connection.receive())
            self.assertEqual(part.values(), [b"for all"])

    def test_killed_worker_takes_only_its_connections(self):
        (killed, lost), (_, waiting), (_, producer) = self.workers.items()
        self.wait_at_end([lost, waiting])
        os.kill(killed, signal.SIGKILL)
        self.assertTrue(lost.closed())
        self.cluster.eventually(lambda: self.cluster.waits("read:") == 1)
        self.assertFalse(waiting.readable())
        wire.produce(producer, "shared", 0, [b"goes on"])
        part, = wire.fetched(waiting.receive())
        self.assertEqual(part.values(), [b"goes on"])
        # The killed worker is replaced, once the leader has waited for it.
        self.cluster.eventually(lambda: len({*self.cluster.workers()} - {killed}) == 3)

    def test_connections_may_close_while_their_events_arrive(self):
        (paused, one), (_, producer), _ = self.workers.items()
        connections = [one]
        while len(connections) < 10:
            connection = self.cluster.connect(self)
            wire.api_versions(connection)
            if observe.owner(connection.socket.getsockname()[1], [paused]):
                connections.append(connection)
        self.wait_at_end(connections)
        os.kill(paused, signal.SIGSTOP)
        wire.produce(producer, "shared", 0, [b"for all"])
        for connection in connections:
            connection.close()
        os.kill(paused, signal.SIGCONT)
        self.cluster.eventually(lambda: self.cluster.waits() == 0)
        # The worker still serves new connections.
        self.assertIn(paused, self.cluster.connect_to_each_worker(self))

    def test_removal_of_the_purgatory_stops_the_broker(self):
        connections = list(self.workers.values())
        self.wait_at_end(connections)
        subprocess.run(["twheelctl", "remove", f"{self.cluster.name}-1", "--force"], check=True)
        self.assertEqual(self.cluster.running.pop(LEADER).wait(TIMEOUT), 1)
        for connection in connections:
            self.assertTrue(connection.closed())

    def test_fetch_beyond_a_limit_closes_its_connection(self):
        """An answer without a wait would make the client ask again at once."""
        subprocess.run(["twheelctl", "create", "small-1", "--max-pending", "2"], check=True)
        cluster = Cluster(topics={"shared": 1}, followers=0, purgatory="small")
        self.addCleanup(cluster.stop)
        connections = [cluster.connect(self) for _ in range(3)]
        for connection in connections:
            wire.api_versions(connection)
            connection.send(wire.fetch_request(
                [("shared", 0, 0)], max_wait_ms=HOUR_MS))
        cluster.eventually(lambda: any(connection.readable() for connection in connections))
        closed, = [connection for connection in connections if connection.readable()]
        self.assertTrue(closed.closed())
        self.assertEqual(cluster.waits("read:"), 2)

    def test_shutdown_answers_waiting_requests(self):
        connections = list(self.workers.values())
        self.wait_at_end(connections)
        self.assertEqual(self.cluster.end(LEADER), 0)
        for connection in connections:
            part, = wire.fetched(connection.receive())
            self.assertEqual((part.error, part.values()), (0, []))
            self.assertTrue(connection.closed())


class Followers(unittest.TestCase):
    """A worker that is killed takes no follower out of the replicas in sync."""

    def test_killed_worker_of_a_follower_ends_no_produce(self):
        cluster = Cluster(topics={"all": 1}, min_insync={"all": 3})
        self.addCleanup(cluster.stop)
        port = observe.client_port(cluster.replicator(3), cluster.address[1])
        killed = observe.owner(port, cluster.workers())
        workers = cluster.connect_to_each_worker(self)
        del workers[killed]
        producer, *_ = workers.values()
        cluster.pause(2)
        cluster.pause(3)
        producer.send(wire.produce_request(
            "all", 0, wire.batch([b"kept"]), timeout_ms=HOUR_MS))
        cluster.eventually(lambda: cluster.waits("acks:") == 1)
        os.kill(killed, signal.SIGKILL)
        cluster.eventually(lambda: killed not in cluster.workers())
        cluster.resume(2)
        self.assertFalse(producer.readable(2))
        cluster.resume(3)
        error, _ = wire.produced(producer.receive())
        self.assertEqual(error, 0)
        cluster.eventually(lambda: len(cluster.workers()) == 3)


class Purgatory(unittest.TestCase):
    def test_broker_does_not_take_the_purgatory_of_another_one(self):
        cluster = Cluster(topics={"both": 1}, followers=1)
        self.addCleanup(cluster.stop)
        config = cluster.folder / "other"
        config.write_text(json.dumps({
            "purgatory": cluster.name, "topics": [],
            "nodes": [{"id": LEADER, "host": "127.0.0.1", "port": free_port(),
                       "data": str(cluster.folder / "other-data")}]}))
        done = subprocess.run([BROKER, config], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(os.strerror(errno.EBUSY), done.stderr)
        # The lease of the follower is still there.
        self.assertEqual(cluster.waits("lease:"), 1)


class Idle(unittest.TestCase):
    """1,000 consumers in long fetches, of a leader without followers."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(topics={"quiet": 1}, followers=0)
        cls.addClassCleanup(cls.cluster.stop)
        cls.consumers = []
        for _ in range(CONSUMERS):
            connection = wire.Connection(cls.cluster.address)
            cls.addClassCleanup(connection.close)
            connection.send(wire.fetch_request(
                [("quiet", 0, 0)], min_bytes=len(RECORDS), max_wait_ms=HOUR_MS))
            cls.consumers.append(connection)
        cls.cluster.eventually(lambda: cls.cluster.waits("read:") == CONSUMERS)

    def test_waiting_fetches_cause_no_wakeup(self):
        processes = [*self.cluster.workers(), *observe.named("twheel-")]
        # The last add may still be under way.
        before = observe.settled(processes)
        time.sleep(SECONDS)
        self.assertEqual(observe.settled(processes), before)
        # The counts are not always the same.
        wire.api_versions(self.cluster.connect(self))
        self.assertNotEqual(observe.settled(processes), before)

    def test_waiting_fetches_complete_by_one_produce(self):
        producer = self.cluster.connect(self)
        error, _ = wire.produced(producer.call(
            wire.produce_request("quiet", 0, RECORDS)))
        self.assertEqual(error, 0)
        for connection in self.consumers:
            part, = wire.fetched(connection.receive())
            self.assertEqual(part.values(), [b"noise"])
        self.assertEqual(self.cluster.waits(), 0)
