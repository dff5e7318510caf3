# SPDX-License-Identifier: GPL-2.0
"""A leader with followers on this machine, for one test or a class of tests."""

import collections
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import observe
import wire

BROKER = "broker"

HOST = "127.0.0.1"
LEADER = 1
# Each cluster has purgatories of its own.
NUMBERS = itertools.count(1)
# A guest may be slow: no condition needs this long unless something is wrong.
TIMEOUT = 120


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def eventually(condition):
    """Repeat until the condition holds, less and less often: an emulated CPU is slow."""
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        if waited > TIMEOUT:
            raise AssertionError("timeout")
        time.sleep(min(max(waited / 8, 0.02), 1))


class Cluster:
    """
    Broker 1, the first replica, leads all partitions; brokers 2 and up follow. A topic has a number
    of partitions, and a minimum of replicas in sync.
    """

    eventually = staticmethod(eventually)

    def __init__(self, topics, followers=2, workers=3, min_insync=None, port=None,
                 purgatory=None, lag_ms=30000, delay_ms=0):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="broker-"))
        self.topics = topics
        self.name = purgatory or f"test{next(NUMBERS)}"
        self.ports = {number: free_port() for number in range(1, followers + 2)}
        if port:
            self.ports[LEADER] = port
        self.address = (HOST, self.ports[LEADER])
        self.running = {}
        # The configurations differ in the number of workers.
        for broker in self.ports:
            self.config(broker).write_text(json.dumps({
                "purgatory": self.name,
                "workers": workers if broker == LEADER else 1,
                "replica.lag.time.max.ms": lag_ms,
                "group.initial.rebalance.delay.ms": delay_ms,
                "nodes": [{"id": number, "host": HOST, "port": port,
                           "data": str(self.folder / str(number))}
                          for number, port in self.ports.items()],
                "topics": [{"name": topic, "partitions": partitions,
                            "replicas": list(self.ports),
                            "min.insync.replicas": (min_insync or {}).get(topic, 1)}
                           for topic, partitions in self.topics.items()],
            }))
        try:
            for number in self.ports:
                self.start(number)
            self.in_sync(followers + 1)
            # The first worker answers before the last one is started.
            eventually(lambda: len(self.workers()) == workers)
        except BaseException:
            self.stop()
            raise

    def config(self, number):
        return self.folder / f"config-{number}"

    def start(self, number):
        self.running[number] = subprocess.Popen(
            [BROKER, self.config(number), str(number)])

    def end(self, number, how=signal.SIGTERM):
        """End a broker and return its exit status."""
        process = self.running.pop(number)
        process.send_signal(how)
        status = process.wait(TIMEOUT)
        # The workers of a killed broker end after it.
        eventually(lambda: not self.listens(number))
        return status

    def listens(self, number):
        with socket.socket() as probe:
            return not probe.connect_ex((HOST, self.ports[number]))

    def stop(self):
        """Stop all brokers, and check that each has ended cleanly."""
        # A test that fails may leave brokers paused.
        for number in self.running:
            self.resume(number)
        ends = {number: self.end(number) for number in list(self.running)}
        shutil.rmtree(self.folder)
        if any(ends.values()):
            raise AssertionError(f"exit status of the brokers: {ends}")

    def pause(self, number, how=signal.SIGSTOP):
        """Stop all processes of a broker, or let them continue."""
        pid = self.running[number].pid
        for process in [pid, *observe.children(pid)]:
            os.kill(process, how)

    def resume(self, number):
        self.pause(number, signal.SIGCONT)

    def in_sync(self, replicas):
        """Wait until all partitions have that many replicas in sync."""
        def reached():
            try:
                connection = wire.Connection(self.address)
            except ConnectionRefusedError:
                return False
            with connection:
                return all(number == replicas
                           for number in wire.in_sync(connection, list(self.topics)))

        eventually(reached)

    def workers(self):
        """The process IDs of the leader's workers."""
        return [pid for pid in observe.children(self.running[LEADER].pid)
                if observe.name(pid).startswith("broker/")]

    def replicator(self, number):
        """The process that copies for a follower."""
        pid, = (pid for pid in observe.children(self.running[number].pid)
                if observe.name(pid) == "broker/copy")
        return pid

    def connect(self, test):
        """A connection to the leader until the end of the test."""
        connection = wire.Connection(self.address)
        test.addCleanup(connection.close)
        return connection

    def connect_to_each_worker(self, test):
        """Map the process ID of each worker to a connection; the kernel selects the worker."""
        workers = self.workers()
        found = {}
        while len(found) < len(workers):
            connection = self.connect(test)
            # The worker has accepted the connection once it has answered.
            wire.api_versions(connection)
            port = connection.socket.getsockname()[1]
            found.setdefault(observe.owner(port, workers), connection)
        return found

    def twheelctl(self, *arguments):
        """Run twheelctl with the leader's purgatory, and return its output."""
        return subprocess.run(["twheelctl", "-p", f"{self.name}-{LEADER}", *arguments], text=True,
                              check=True, timeout=TIMEOUT, stdout=subprocess.PIPE).stdout

    def waits(self, key=""):
        """The number of requests that wait in the leader's purgatory, under this kind of key."""
        lines = self.twheelctl("list").splitlines()[1:]
        return sum(f" {key}" in line for line in lines)

    def kinds(self):
        """The number of requests that wait under each kind of key, in one view."""
        return collections.Counter(re.findall(r" (\w+):\d+", self.twheelctl("list")))

    def log(self, number, topic, partition):
        return (self.folder / str(number) / f"{topic}-{partition}.log").read_bytes()

    def kcat(self, *arguments, text=None):
        """Run kcat with the leader, and return its output."""
        command = ["kcat", "-b", "%s:%d" % self.address, *arguments]
        return subprocess.run(command, input=text, text=True, check=True, timeout=5 * TIMEOUT,
                              stdout=subprocess.PIPE).stdout
