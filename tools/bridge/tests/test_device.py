# SPDX-License-Identifier: GPL-2.0
"""The bridge with a real server and the device."""

import contextlib
import itertools
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time
import unittest

from part import part_of
from servers import BRIDGE, Bridge, Host, Raw, Servers, eventually
from twheel import Batch, Purgatory

EXAMPLES = pathlib.Path(__file__).parent  # in a guest
LONG = bool(os.environ.get("LONG"))
SEED = int(os.environ.get("SEED") or 1)
STOP_BATCH = os.environ.get("STOP_BATCH", "/bin/stop_batch.so")
NAMES = itertools.count()
NEED = 1000
PARTS = 3


class Case(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.ids = itertools.count()
        self.servers = Servers(settings='mappings { "twheel.t.key.*": '
                                        f'"twheel.t.part.{{{{partition({PARTS},1)}}}}" }}\n')
        self.addCleanup(self.servers.close)
        self.running = []
        self.addCleanup(lambda: [bridge.stop(signal.SIGKILL) for bridge in self.running
                                 if bridge.process.poll() is None])

    def purgatory(self):
        """A new purgatory, and its name."""
        name = f"t{next(NAMES)}"
        found = Purgatory.create(name, max_pending=200000, max_file_pending=200000)
        self.addCleanup(Purgatory.remove, name, force=True)
        self.addCleanup(found.close)
        return found, name

    def bridge(self, config, name, enter=(), **environment):
        bridge = Bridge(config, name, enter, **environment)
        self.running.append(bridge)
        return bridge

    def publish(self, config, lines):
        """Publish pairs of a subject and a signal."""
        by_subject = {}
        for subject, text in lines:
            by_subject.setdefault(subject, []).append(f"{next(self.ids)} {text}\n")
        for subject, texts in by_subject.items():
            self.servers.run("publish", config, "t", "--ids", subject, text="".join(texts))


def add_counters(purgatory, nr):
    """Operations that count the signals of their keys."""
    with Batch(purgatory) as batch:
        for i in range(nr):
            batch.add([i], threshold=NEED)
        batch.submit()


def counts_of(purgatory):
    """How often each signal was applied."""
    found = {int(str(entry.keys[0].key)): NEED - entry.missing for entry in purgatory.list()}
    return [found[key] for key in sorted(found)]


class Counted(Case):
    """A purgatory with operations that count the signals of their keys."""

    def start(self, nr):
        self.purgatory_, self.name = self.purgatory()
        self.config = self.servers.configure(self.name, ["twheel.t.all"])
        self.servers.setup(self.config, "t")
        self.nr = nr
        add_counters(self.purgatory_, nr)

    def counts(self):
        return counts_of(self.purgatory_)

    def publish_all(self, start=0, end=None):
        self.publish(self.config, [("twheel.t.all", f"num:{i}")
                                   for i in range(start, end or self.nr)])

    def last(self):
        """Wait until the last signal was applied."""
        with Purgatory(self.name) as other:
            other.add([self.nr], timeout=60)
            self.publish(self.config, [("twheel.t.all", f"num:{self.nr}")])
            self.assertEqual(other.read(1)[0].reason.name, "COMPLETED")

    def exactly(self, extra):
        """None is lost, and at most @extra are applied twice."""
        counts = self.counts()
        self.assertEqual(len(counts), self.nr)
        lost, more = counts.count(0), sum(counts) - self.nr
        print(f"# {self.nr} signals, {lost} lost, {more + lost} applied again")
        self.assertEqual(lost, 0)
        self.assertLessEqual(more, extra)

    def test_a_kill_at_a_boundary_doubles_one_signal_at_most(self):
        kills = 10
        self.start(4000)
        self.publish_all()
        for boundary in range(2 * kills):
            # An odd number of commands ends with a signal, an even one with its step.
            after = 2 * self.random.randrange(1, 100) - boundary % 2
            bridge = self.bridge(self.config, self.name, LD_PRELOAD=STOP_BATCH, STOP_AFTER=str(after))
            self.assertEqual(bridge.wait(), -signal.SIGKILL)
        bridge = self.bridge(self.config, self.name)
        self.last()
        self.exactly(kills)

    def test_a_kill_at_random_doubles_one_signal_at_most(self):
        kills = 20
        self.start(4000)
        publisher = subprocess.Popen(
            [BRIDGE, "publish", "-c", self.config, "t", "twheel.t.all"], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, text=True)
        part = self.nr // kills
        for i in range(kills):
            bridge = self.bridge(self.config, self.name)
            publisher.stdin.write("".join(f"num:{j}\n" for j in range(i * part, (i + 1) * part)))
            publisher.stdin.flush()
            time.sleep(self.random.random() * 0.05)
            self.assertEqual(bridge.stop(signal.SIGKILL), -signal.SIGKILL)
        publisher.stdin.close()
        self.assertEqual(publisher.wait(), 0)
        self.bridge(self.config, self.name)
        self.last()
        self.exactly(kills)

    def test_a_restart_doubles_nothing(self):
        restarts = 5
        self.start(2000)
        for i in range(restarts):
            bridge = self.bridge(self.config, self.name)
            part = self.nr // restarts
            self.publish_all(i * part, (i + 1) * part)
            self.assertEqual(bridge.stop(), 0)
        self.bridge(self.config, self.name)
        self.last()
        self.exactly(0)

    def test_a_position_that_is_ended_or_changed_is_added_again(self):
        self.start(30)
        bridge = self.bridge(self.config, self.name)
        self.publish_all(0, 10)
        eventually("applied", lambda: self.counts()[:11].count(1) == 10)
        position = [entry for entry in self.purgatory_.list(others=True) if entry.detached]
        self.assertEqual(len(position), 1)
        self.purgatory_.cancel(position[0].id)
        self.publish_all(10, 20)
        eventually("applied", lambda: self.counts()[:21].count(1) == 20)
        eventually("counted", lambda: bridge.total("positions_total") == 1)
        position = [entry for entry in self.purgatory_.list(others=True) if entry.detached]
        self.purgatory_.signal(position[0].keys[0].key, amount=1000)
        self.publish_all(20, 30)
        eventually("counted", lambda: bridge.total("positions_total") == 2)
        self.assertEqual(bridge.stop(signal.SIGKILL), -signal.SIGKILL)
        self.bridge(self.config, self.name)
        self.last()
        self.exactly(0)
        self.assertEqual(self.purgatory_.query().detached_unread, 0)

    @unittest.skipUnless(LONG, "takes a minute")
    def test_a_full_disk_of_the_server_loses_no_stored_signal(self):
        self.start(3000)
        self.bridge(self.config, self.name)
        self.publish_all(0, 1000)
        self.servers.kill(0)
        store = self.servers.folder / "store0"
        subprocess.run(f"cp -a {store} {store}.old && mount -t tmpfs -o size=1m none {store} && "
                       f"cp -a {store}.old/. {store}", shell=True, check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", store], check=True)
        self.servers.start(0)
        self.servers.ready(0)
        lines = "".join(f"again{i} num:{i}\n" for i in range(1000, 3000))
        wide = "".join(f"wide{i} hash:{'x' * 900}\n" for i in range(2000))
        self.servers.run("publish", self.config, "t", "--ids", "twheel.t.all", text=wide + lines,
                         status=1)
        self.servers.kill(0)
        subprocess.run(["mount", "-o", "remount,size=100m", store], check=True)
        self.servers.start(0)
        self.servers.ready(0)
        self.servers.run("publish", self.config, "t", "--ids", "twheel.t.all", text=lines)
        self.last()
        self.exactly(0)

    def test_a_second_bridge_is_refused(self):
        self.start(1)
        first = self.bridge(self.config, self.name)
        self.last()
        second = Bridge(self.servers.configure("second", ["twheel.t.all"]), self.name)
        self.assertEqual(second.wait(), 1)
        self.assertIsNone(first.process.poll())

    def test_many_pending_operations_do_not_hide_the_position(self):
        self.start(100000 if LONG else 3000)
        bridge = self.bridge(self.config, self.name)
        self.last()
        self.assertEqual(bridge.stop(signal.SIGKILL), -signal.SIGKILL)
        self.publish_all(0, 10)
        self.bridge(self.config, self.name)
        self.last()
        self.assertEqual(self.counts()[:10], [1] * 10)


class Order(Case):
    def start(self):
        self.purgatory_, self.name = self.purgatory()
        self.config = self.servers.configure(self.name, ["twheel.t.all"])
        self.servers.setup(self.config, "t")

    def test_signals_are_applied_in_the_order_of_the_stream(self):
        self.start()
        nr = 1000
        for i in range(nr):
            self.purgatory_.add([i], cookie=i)
        self.publish(self.config, [("twheel.t.all", f"num:{i}") for i in range(nr)])
        for _ in range(5):
            after = str(self.random.randrange(1, 300))
            bridge = self.bridge(self.config, self.name, LD_PRELOAD=STOP_BATCH, STOP_AFTER=after)
            self.assertEqual(bridge.wait(), -signal.SIGKILL)
        self.bridge(self.config, self.name)
        found = []
        while len(found) < nr:
            found += [event.cookie for event in self.purgatory_.read()]
        self.assertEqual(found, list(range(nr)))

    def test_a_signal_before_the_add_is_gone(self):
        self.start()
        bridge = self.bridge(self.config, self.name)
        self.publish(self.config, [("twheel.t.all", "early")])
        eventually("the signal is applied", lambda: bridge.total("applied_total"))
        self.purgatory_.add(["early"], timeout=0.1)
        self.assertEqual(self.purgatory_.read(1)[0].reason.name, "EXPIRED")


class Hosts(Case):
    """Three hosts: a purgatory each, with a bridge."""

    def start(self):
        self.purgatories = []
        for host in range(PARTS):
            purgatory, name = self.purgatory()
            config = self.servers.configure(name, [
                "twheel.t.all", f"twheel.t.host.h{host}", f"twheel.t.part.{host}"])
            if not host:
                self.servers.setup(config, "t")
            self.purgatories.append(purgatory)
            self.bridge(config, name).ready()

    def test_each_operation_on_three_hosts_ends_once(self):
        self.start()
        nr = 20000
        lines = []
        with contextlib.ExitStack() as stack:
            batches = [stack.enter_context(Batch(purgatory)) for purgatory in self.purgatories]
            for i in range(nr):
                host = i % PARTS
                kind = i // PARTS % 3
                subject = ("twheel.t.all", f"twheel.t.host.h{host}", f"twheel.t.key.{i:x}")[kind]
                if kind == 2:
                    host = part_of(f"{i:x}", PARTS)
                lines.append((subject, b"num:%d 1 %d" % (i, i)))
                batches[host].add([i], cookie=i)
            for batch in batches:
                batch.submit()
        raw = Raw(self.servers.ports[0])
        for subject, text in lines:
            raw.publish(subject, text)
        raw.close()
        found = [0] * nr
        for purgatory in self.purgatories:
            eventually("all operations have ended", lambda p=purgatory: not p.query().own, 120)
            while unread := purgatory.query().unread:
                for event in purgatory.read(min(unread, 1000)):
                    self.assertEqual((event.reason.name, event.value), ("COMPLETED", event.cookie))
                    found[event.cookie] += 1
        self.assertEqual(found, [1] * nr)


class Network(Case):
    """Three hosts in network namespaces: a server, a purgatory and a bridge each."""

    NR = 1000

    def start(self):
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        self.hosts = []
        for number in range(3):
            self.hosts.append(Host(number))
            self.addCleanup(self.hosts[-1].close)
        self.servers = Servers(3, hosts=self.hosts)
        self.addCleanup(self.servers.close)
        self.purgatories, self.bridges = [], []
        for number, host in enumerate(self.hosts):
            purgatory, name = self.purgatory()
            add_counters(purgatory, 2 * self.NR)
            self.config = self.servers.configure(
                name, ["twheel.t.all", f"twheel.t.host.h{number}"], "replicas 3")
            if not number:
                self.servers.setup(self.config, "t")
            self.purgatories.append(purgatory)
            self.bridges.append(self.bridge(self.config, name, host.enter))
            self.bridges[-1].ready()

    def publish_part(self, part):
        self.publish(self.config, [("twheel.t.all", f"num:{part * self.NR + i}")
                                   for i in range(self.NR)])

    def applied(self, number, nr):
        eventually("signals are applied", lambda: sum(counts_of(self.purgatories[number])) >= nr)

    @unittest.skipUnless(LONG, "takes a minute")
    def test_a_partition_of_a_minute_loses_and_doubles_nothing(self):
        self.start()
        self.publish_part(0)
        for number in range(3):
            self.applied(number, self.NR)
        cut = eventually("leader", lambda: self.servers.leader() is not None and
                         [self.servers.leader()])[0]
        self.hosts[cut].connect(False)
        self.publish_part(1)
        for number in {0, 1, 2} - {cut}:
            self.applied(number, 2 * self.NR)
        eventually("the loss is noticed", lambda: not self.bridges[cut].total("connected"))
        with Purgatory(self.bridges[cut].purgatory) as local:
            local.add(["local"], timeout=0.1)
            local.signal("local")
            self.assertEqual(local.read(1)[0].reason.name, "COMPLETED")
        time.sleep(60)
        self.assertEqual(sum(counts_of(self.purgatories[cut])), self.NR)
        self.hosts[cut].connect(True)
        self.applied(cut, 2 * self.NR)
        time.sleep(2)
        for purgatory, bridge in zip(self.purgatories, self.bridges):
            self.assertEqual(counts_of(purgatory), [1] * (2 * self.NR))
            self.assertEqual([bridge.total(f"{name}_total")
                              for name in ("skipped", "dropped", "resets")], [0, 0, 0])


class Events(Case):
    """The worker of the documents, which publishes events."""

    def test_no_job_is_lost_or_doubled_with_killed_workers(self):
        jobs, kills = 30, 3
        purgatory, name = self.purgatory()
        counted, counted_name = self.purgatory()
        add_counters(counted, jobs)
        config = self.servers.configure(counted_name, ["twheel.t.all"])
        self.servers.setup(config, "t")
        self.bridge(config, counted_name).ready()
        command = ["/usr/bin/python3", EXAMPLES / "publish_events.py", config, name, "twheel.t.all"]
        for job in range(jobs):
            purgatory.add(timeout=0.01, detached=True, cookie=job)
        for _ in range(kills):
            worker = subprocess.Popen(command, stdout=subprocess.PIPE,
                                      env=os.environ | {"PYTHONUNBUFFERED": "1"})
            for _ in range(self.random.randrange(1, jobs // kills)):
                worker.stdout.readline()
            worker.kill()
            worker.communicate()
        worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        eventually("all events are confirmed", lambda: (state := purgatory.query()) and not (
            state.detached or state.detached_unread or state.unconfirmed))
        worker.kill()
        worker.wait()
        eventually("all jobs are published", lambda: 0 not in counts_of(counted))
        self.assertEqual(counts_of(counted), [1] * jobs)


class Transcript(Case):
    """The transcript of the documents: commands of two hosts and their output."""

    def run_(self, prompt, command):
        done = subprocess.run(command, shell=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.text += f"{prompt}$ {command}\n{done.stdout}"

    def start_(self, prompt, command):
        self.text += f"{prompt}$ {command} &\n"
        process = subprocess.Popen(command, shell=True, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        return process

    def test_the_transcript_holds(self):
        self.text = ""
        socket.sethostname("web1.example.org")
        metrics = pathlib.Path("/run/twheel-bridge/orders/metrics.prom")
        metrics.parent.mkdir(parents=True)
        config = self.servers.configure("orders", ["twheel.orders.all", "twheel.orders.host.%H"])
        config.write_text(config.read_text().replace(f"{self.servers.folder}/orders.prom", str(metrics)))
        self.servers.setup(config, "orders")
        Purgatory.create("orders").close()
        self.addCleanup(Purgatory.remove, "orders", force=True)
        self.bridge(config, "orders")
        eventually("connected", lambda: metrics.exists() and
                   'connected{purgatory="orders"} 1' in metrics.read_text())
        os.chdir(self.servers.folder)
        config.rename("service.conf")
        waiting = self.start_("web1", "twheelctl -p orders add --in 60s --key order-17")
        self.text += waiting.stdout.readline()
        self.run_("web2", "echo order-17 1 200 | twheel-bridge publish -c service.conf orders twheel.orders.host.web1")
        self.text += waiting.communicate(timeout=60)[0]
        waiting = self.start_("web1", "twheelctl -p orders add --in 60s --quorum 2 --key a --key b --key c")
        self.text += waiting.stdout.readline()
        for _ in range(2):
            self.run_("web2", "echo id-1 a | twheel-bridge publish -c service.conf orders --ids twheel.orders.all")
        self.run_("web3", "echo id-2 c | twheel-bridge publish -c service.conf orders --ids twheel.orders.all")
        self.text += waiting.communicate(timeout=60)[0]
        eventually("metrics", lambda: len(re.findall(r"applied_total.* [12]$", metrics.read_text(),
                                                     re.M)) == 2)
        self.run_("web1", "grep applied_total /run/twheel-bridge/orders/metrics.prom")
        text = re.sub(r"operation \d+", "operation NNN", self.text)
        text = re.sub(r"\d+\.\d+ s", "NN.NNN s", text)
        expected = pathlib.Path(__file__).with_name("transcript.txt").read_text()
        if text != expected:
            print(*(f"# got: {line}" for line in text.splitlines()), sep="\n")
        self.assertEqual(text, expected)


if __name__ == "__main__":
    unittest.main()
