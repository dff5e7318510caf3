# SPDX-License-Identifier: GPL-2.0
"""The bridge with real servers and the fake device: tests that need no kernel."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from proxy import Proxy
from servers import BRIDGE, Bridge, Raw, Servers, eventually

BRIDGE_FILES = pathlib.Path(__file__).parents[1]
LONG = bool(os.environ.get("LONG"))
GO_CLIENT = pathlib.Path("/usr/share/gocode/src/github.com/nats-io/nats.go")
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
PURGATORY = "orders"
ALL = "twheel.orders.all"


def signals(nr, start=0):
    return "".join(f"id{i} num:{i}\n" for i in range(start, start + nr))


class Case(unittest.TestCase):
    def start(self, *lines, nr=1, subjects=(ALL,), **settings):
        """Servers with a stream; the lines are of its configuration."""
        self.servers = Servers(nr, **settings)
        self.addCleanup(self.servers.close)
        self.config = self.servers.configure(PURGATORY, subjects)
        self.servers.setup(self.servers.configure("setup", subjects, *lines), PURGATORY)

    def bridge(self, config=None):
        bridge = Bridge(config or self.config, PURGATORY)
        self.addCleanup(bridge.stop, signal.SIGKILL)
        return bridge

    def publish(self, text, subject=ALL, status=0):
        ids = ["--ids"] if text.startswith("id") else []
        return self.servers.run("publish", self.config, PURGATORY, *ids, subject, text=text,
                                status=status)

    def applied(self, bridge, nr):
        eventually(f"{nr} signals are applied", lambda: bridge.total("applied_total") >= nr)
        self.assertEqual(bridge.total("applied_total"), nr)


class Configuration(unittest.TestCase):
    LINES = ["server a\nstream S", "server a\nstream S\nsubject s"]

    def says(self, text, status, expected, purgatory=PURGATORY):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "c")
        path.write_text(text)
        done = subprocess.run([BRIDGE, "run", "-c", path, purgatory], stderr=subprocess.PIPE,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(expected, done.stderr)

    def test_a_wrong_line_is_refused_with_its_number(self):
        for line in ("server", "server a b", "colour red", "subject a.*", "subject a.>",
                     "max-age 5", "replicas 6", "stream T", "stream a.b", "subject s"):
            text = f"# comment\n\n{self.LINES[1]}\n{line}\n"
            with self.subTest(line=line):
                self.says(text, 2, f":6: wrong line: '{line.split()[0]}'")

    def test_a_seventeenth_subject_is_refused(self):
        subjects = "".join(f"subject s{i}\n" for i in range(17))
        self.says(f"{self.LINES[0]}\n{subjects}", 2, ":19: wrong line: 'subject'")

    def test_a_missing_server_stream_or_subject_is_refused(self):
        self.says("stream S\n", 2, "no line 'server'")
        self.says("server a\n", 2, "no line 'stream'")
        self.says(self.LINES[0], 2, "no subject")

    def test_a_purgatory_that_does_not_exist_is_reported(self):
        self.says(self.LINES[1], 1, "cannot open purgatory none: No such file", "none")


class Stream(Case):
    def test_signals_are_applied_from_several_subjects(self):
        subjects = [ALL, "twheel.orders.host.h1", "twheel.orders.part.2"]
        self.start(subjects=subjects)
        bridge = self.bridge()
        for i, subject in enumerate(subjects):
            self.publish(signals(1000, 1000 * i), subject)
        self.applied(bridge, 3000)
        self.assertEqual(bridge.total("lag"), 0)
        self.assertEqual(bridge.stop(), 0)

    def test_a_signal_with_the_same_id_counts_once(self):
        self.start()
        bridge = self.bridge()
        self.assertEqual(self.publish(signals(10)), "10 stored, 0 of them before\n")
        self.assertEqual(self.publish(signals(15)), "15 stored, 10 of them before\n")
        self.applied(bridge, 15)
        wide = "".join(f"id{'x' * 300}{i} num:{i}\n" for i in range(2))
        self.assertEqual(self.publish(wide), "2 stored, 0 of them before\n")
        self.applied(bridge, 17)

    def test_signals_without_ids_count_each_time(self):
        self.start()
        bridge = self.bridge()
        for _ in range(2):
            self.assertEqual(self.publish("num:1\n"), "1 stored, 0 of them before\n")
        self.applied(bridge, 2)

    def test_publish_refuses_a_wrong_signal(self):
        self.start()
        for line in ("", "k 1 2 3 4", "k x", "k 1 2 4294967296", "text:seventeen-letters", "k -1",
                     f"k {'0' * 22}1{'0' * 20}"):
            with self.subTest(line=line):
                self.assertIn("wrong signal", self.publish(f"{line}\n", status=2))
        text = self.servers.run("publish", self.config, PURGATORY, "--ids", ALL, text=" k\n", status=2)
        self.assertIn("wrong signal", text)

    def test_a_wrong_message_is_counted_and_skipped(self):
        self.start()
        bridge = self.bridge()
        bridge.ready()
        raw = Raw(self.servers.ports[0])
        for text in (b"", b"k 1 2 3 4", b"k\0", b"k" * 2000):
            raw.publish(ALL, text)
        # The key of the position of this subject.
        raw.publish(ALL, b"hash:" + b"twheel-bridge TEST " + ALL.encode())
        raw.close()
        self.publish("k\n")
        self.applied(bridge, 1)
        self.assertEqual(bridge.total("wrong_total"), 5)

    def test_an_old_signal_is_skipped(self):
        self.start()
        bridge = self.bridge()
        self.publish(signals(5))
        self.applied(bridge, 5)
        # The fake purgatory ends with the bridge: a stopped bridge keeps it.
        config = self.servers.configure(PURGATORY, [ALL], "max-age 2s")
        bridge = self.bridge(config)
        bridge.ready()
        bridge.process.send_signal(signal.SIGSTOP)
        self.publish(signals(3, 5))
        time.sleep(2.5)
        bridge.process.send_signal(signal.SIGCONT)
        self.publish("k\n")
        eventually("old signals are skipped", lambda: bridge.total("skipped_total") == 3)
        eventually("the new one is applied", lambda: bridge.total("applied_total"))

    def test_a_signal_that_the_stream_has_dropped_is_counted(self):
        self.start("max-age 1s")
        proxy = Proxy(self.servers.ports[0])
        bridge = self.through(proxy)
        self.publish(signals(5))
        self.applied(bridge, 5)
        proxy.silent.set()
        self.publish(signals(100, 5))
        eventually("the stream drops its signals",
                   lambda: self.servers.monitor(0, "/jsz")["messages"] == 0)
        eventually("the loss is noticed", lambda: not bridge.total("connected"))
        proxy.silent.clear()
        eventually("they are counted", lambda: bridge.total("dropped_total"))
        self.publish("k\n")
        self.applied(bridge, 6)
        self.assertEqual(bridge.total("dropped_total"), 100)

    def test_signals_dropped_before_a_connected_bridge_are_counted(self):
        """The server does not correct the number of those that are left."""
        self.start()

        def purge():
            raw = Raw(self.servers.ports[0])
            raw.publish("$JS.API.STREAM.PURGE.TEST", b"")
            raw.close()

        # More than the server sends ahead.
        self.publish(signals(20000))
        bridge = self.through(Proxy(self.servers.ports[0], 50, purge))
        eventually("all signals are counted", lambda: bridge.total("applied_total") +
                   bridge.total("dropped_total") == 20000)
        eventually("none is left", lambda: bridge.total("lag") == 0)
        self.assertGreater(bridge.total("dropped_total"), 0)

    def test_a_bridge_starts_before_its_server(self):
        self.start()
        self.servers.kill(0)
        bridge = self.bridge()
        eventually("metrics", bridge.metrics)
        self.assertEqual(bridge.total("connected"), 0)
        self.servers.start(0)
        bridge.ready()
        self.publish("k\n")
        self.applied(bridge, 1)

    def test_a_stream_that_is_set_up_again_is_noticed(self):
        self.start()
        bridge = self.bridge()
        self.publish(signals(10))
        self.applied(bridge, 10)
        self.servers.kill(0)
        shutil.rmtree(self.servers.folder / "store0")
        self.servers.start(0)
        self.servers.setup(self.config, PURGATORY)
        self.publish(signals(3))
        self.applied(bridge, 13)
        self.assertEqual(bridge.total("resets_total"), 1)

    def through(self, proxy):
        """A bridge that is connected through a proxy."""
        self.addCleanup(proxy.close)
        direct, self.servers.urls = self.servers.urls, [proxy.url]
        config = self.servers.configure("proxied", [ALL])
        self.servers.urls = direct
        return self.bridge(config)

    @unittest.skipUnless(LONG, "takes a minute")
    def test_a_host_that_is_cut_off_for_a_minute_loses_nothing(self):
        self.start()
        proxy = Proxy(self.servers.ports[0])
        bridge = self.through(proxy)
        self.publish(signals(100))
        self.applied(bridge, 100)
        proxy.silent.set()
        self.publish(signals(100, 100))
        eventually("the loss is noticed", lambda: not bridge.total("connected"))
        time.sleep(60)
        proxy.silent.clear()
        self.publish(signals(100, 200))
        self.applied(bridge, 300)
        self.assertEqual(bridge.total("skipped_total"), 0)

    @unittest.skipUnless(LONG, "takes a minute")
    def test_a_million_signals_are_applied_once(self):
        self.start()
        bridge = self.bridge()
        self.publish("".join(f"num:{i}\n" for i in range(10 ** 6)))
        self.applied(bridge, 10 ** 6)

    def test_a_lost_message_is_fetched_again(self):
        self.start()
        bridge = self.through(Proxy(self.servers.ports[0], 50))
        self.publish(signals(100))
        self.applied(bridge, 100)
        self.assertEqual(bridge.total("consumers_total"), 2)

    def test_the_metrics_are_openmetrics(self):
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
        self.start()
        bridge = self.bridge()
        self.publish("k\n")
        self.applied(bridge, 1)
        text = bridge.metrics_file.read_text()
        names = {family.name for family in text_string_to_metric_families(text)}
        self.assertIn("twheel_bridge_applied", names)


class Cluster(Case):
    """Three servers, one of which is killed during the publishing and started again."""

    NR = 6000

    def survives(self, choose):
        self.start("replicas 3", nr=3)
        bridge = self.bridge()
        bridge.ready()
        publisher = subprocess.Popen([BRIDGE, "publish", "-c", self.config, "--ids", PURGATORY, ALL],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(publisher.stdout.close)
        killed = None
        for i in range(0, self.NR, 100):
            publisher.stdin.write(signals(100, i))
            publisher.stdin.flush()
            time.sleep(0.05)
            if i == self.NR // 3:
                killed = choose(eventually("leader", lambda: self.servers.leader() is not None and
                                           [self.servers.leader()])[0])
                self.servers.kill(killed)
            if i == self.NR * 2 // 3:
                self.servers.start(killed)
        publisher.stdin.close()
        self.assertEqual(publisher.wait(120), 0)
        self.assertTrue(publisher.stdout.read().startswith(f"{self.NR} stored, "))
        self.applied(bridge, self.NR)
        time.sleep(2)
        self.applied(bridge, self.NR)
        self.assertEqual(bridge.total("resets_total"), 0)
        self.assertEqual(bridge.total("dropped_total"), 0)

    def test_the_kill_of_the_leader_loses_and_doubles_nothing(self):
        self.survives(lambda leader: leader)

    def test_the_kill_of_a_follower_loses_and_doubles_nothing(self):
        self.survives(lambda leader: (leader + 1) % 3)


class Secure(Case):
    """The example of a configuration for servers, with TLS and accounts."""

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=self.folder, capture_output=True)

    def certify(self, name, host):
        """Make a certificate for a host, which an authority has signed."""
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}-key.pem", "-out",
                     f"{name}.csr", "-subj", f"/CN={host}")
        (self.folder / "san").write_text(f"subjectAltName=DNS:{host}")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem",
                     "-CAcreateserial", "-days", "2", "-extfile", "san", "-out", f"{name}.pem")

    def authority(self, name):
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                     f"/CN={name}", "-keyout", f"{name}-key.pem", "-out", f"{name}.pem")

    def start_secure(self, host="localhost"):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.authority("ca")
        self.authority("other")
        self.certify("server", host)
        text = (BRIDGE_FILES / "nats-server.conf").read_text()
        settings = (text[text.index("tls {"):text.index("cluster {")] +
                    text[text.index("accounts {"):]).replace("/etc/nats", str(self.folder))
        self.servers = Servers(settings=settings, host="localhost")
        self.addCleanup(self.servers.close)
        self.ca = self.folder / "ca.pem"

    def config_of(self, user, ca=None, password=None, subject=ALL):
        path = self.servers.configure(PURGATORY, [subject], f"tls-ca {ca or self.ca}", f"user {user}",
                                      f"password {password or user + '-secret'}")
        path.write_text(path.read_text().replace("stream TEST", "stream ORDERS"))
        return path

    def test_the_examples_permissions_suffice(self):
        self.start_secure()
        self.servers.setup(self.config_of("admin"), PURGATORY)
        bridge = self.bridge(self.config_of("bridge"))
        bridge.ready()
        self.config = self.config_of("service")
        # Enough for requests for flow control.
        self.publish(signals(20000))
        self.applied(bridge, 20000)

    def test_a_bridge_or_a_service_cannot_change_the_stream(self):
        self.start_secure()
        self.servers.setup(self.config_of("admin"), PURGATORY)
        for user in ("bridge", "service"):
            text = self.servers.run("setup", self.config_of(user), PURGATORY, status=1)
            self.assertIn("Permissions Violation", text)

    def test_a_subject_without_permission_is_reported_at_once(self):
        self.start_secure()
        self.servers.setup(self.config_of("admin"), PURGATORY)
        start = time.monotonic()
        self.config = self.config_of("service")
        text = self.publish(signals(1), "other", status=1)
        self.assertIn('Permissions Violation for Publish to "other"', text)
        self.assertLess(time.monotonic() - start, 30)

    def test_a_wrong_password_is_reported(self):
        self.start_secure()
        config = self.config_of("bridge", password="wrong")
        self.assertIn("uthorization", self.servers.run("setup", config, PURGATORY, status=1))
        bridge = self.bridge(config)
        self.assertEqual(bridge.wait(), 1)

    def test_a_server_with_another_name_is_refused(self):
        self.start_secure("elsewhere.example.org")
        config = self.config_of("admin")
        self.servers.ready(0)
        self.assertIn("hostname mismatch", self.servers.run("setup", config, PURGATORY, status=1))

    def test_a_server_of_another_authority_is_refused(self):
        self.start_secure()
        config = self.config_of("admin", self.folder / "other.pem")
        self.servers.ready(0)
        self.assertIn("cannot connect", self.servers.run("setup", config, PURGATORY, status=1))

    def start_publisher(self):
        """A bridge for the part of the key order-18."""
        self.start_secure()
        self.servers.setup(self.config_of("admin"), PURGATORY)
        self.key = "twheel.orders.key.order-18"
        part = subprocess.run(["/usr/bin/python3", EXAMPLES / "part.py", "order-18"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        bridge = self.bridge(self.config_of("bridge", subject=f"twheel.orders.part.{part}"))
        bridge.ready()
        return bridge

    def test_the_publisher_in_python_stores_a_signal_once(self):
        bridge = self.start_publisher()
        command = ["/usr/bin/python3", EXAMPLES / "publish.py", self.config_of("service"), self.key,
                   "order-18", "order-18 1 200"]
        for expected in ("stored\n", "stored before\n"):
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, expected))
        for subject, error in (("twheel.orders.other", "503"), ("other", "Permissions Violation")):
            command[3] = subject
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertIn(error, done.stderr)
        self.applied(bridge, 1)

    def test_the_publisher_in_python_tries_again_without_a_stream(self):
        self.start_secure()
        publisher = subprocess.Popen(
            ["/usr/bin/python3", EXAMPLES / "publish.py", self.config_of("service"), ALL, "id", "k"],
            stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        self.servers.setup(self.config_of("admin"), PURGATORY)
        self.assertEqual(publisher.communicate(timeout=60)[0], "stored\n")

    @unittest.skipUnless(shutil.which("go") and GO_CLIENT.exists(), "no Go or no client in Go")
    def test_the_publisher_in_go_stores_a_signal_once(self):
        bridge = self.start_publisher()
        environment = os.environ | {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode"}
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["go", "build", "-o", f"{folder}/publish", EXAMPLES / "publish.go"],
                           check=True, env=environment, timeout=600)
            url = self.servers.urls[0].replace("nats://", "tls://service:service-secret@")
            environment |= {"NATS_URL": url, "SSL_CERT_FILE": str(self.ca)}
            for expected in ("stored: true\n", "stored: false\n"):
                done = subprocess.run([f"{folder}/publish", self.key, "order-18", "order-18 1 200"],
                                      stdout=subprocess.PIPE, text=True, env=environment)
                self.assertEqual((done.returncode, done.stdout), (0, expected))
        self.applied(bridge, 1)


if __name__ == "__main__":
    unittest.main()
