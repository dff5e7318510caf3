# SPDX-License-Identifier: GPL-2.0
"""Servers of NATS and bridges for the tests, each with a folder and ports of its own."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BRIDGE = os.environ.get("TWHEEL_BRIDGE", "twheel-bridge")
SERVER = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")


def eventually(what, condition, seconds=int(os.environ.get("EVENTUALLY", 60))):
    """Wait until the condition holds. Return its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"timeout: {what}")
        time.sleep(0.05)
    return value


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def connect(port, address="127.0.0.1"):
    return socket.create_connection((address, port), timeout=60)


class Raw:
    """A client that publishes any bytes, by the text protocol."""

    def __init__(self, port):
        self.socket = connect(port)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(b'CONNECT {"verbose":false}\r\n')

    def publish(self, subject, text):
        self.socket.sendall(b"PUB %s %d\r\n%s\r\n" % (subject.encode(), len(text), text))

    def close(self):
        self.socket.sendall(b"PING\r\n")
        while (answer := self.file.readline()) != b"PONG\r\n":
            if not answer:
                raise ConnectionError("the server has closed the connection")
        self.file.close()
        self.socket.close()


class Host:
    """A network namespace, which is linked to this one. A router forwards to the others."""

    def __init__(self, number):
        self.link = f"host{number}"
        self.address = f"10.0.{number}.2"
        self.process = subprocess.Popen(["unshare", "-n", "sleep", "1000000"])
        eventually("a network namespace", lambda: os.readlink("/proc/self/ns/net") !=
                   os.readlink(f"/proc/{self.process.pid}/ns/net"))
        self.enter = ["nsenter", "-t", str(self.process.pid), "-n"]
        for command in (f"link add {self.link} type veth", f"link set veth0 netns {self.process.pid}",
                        f"addr add 10.0.{number}.1/24 dev {self.link}", f"link set {self.link} up"):
            subprocess.run(["ip", *command.split()], check=True)
        for command in ("link set lo up", f"addr add {self.address}/24 dev veth0",
                        "link set veth0 up", f"route add default via 10.0.{number}.1"):
            subprocess.run([*self.enter, "ip", *command.split()], check=True)

    def connect(self, connected):
        subprocess.run(["ip", "link", "set", self.link, "up" if connected else "down"], check=True)

    def close(self):
        self.process.kill()
        self.process.wait()


class Servers:
    """One server, or a cluster; on @hosts, or on this one."""

    def __init__(self, nr=1, settings="", host="127.0.0.1", hosts=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="twheel-bridge-"))
        self.ports = [free_port() for _ in range(nr)]
        self.monitors = [free_port() for _ in range(nr)]
        routes = [free_port() for _ in range(nr)]
        self.addresses = [host.address for host in hosts] or ["127.0.0.1"] * nr
        self.enter = [host.enter for host in hosts] or [[]] * nr
        self.urls = [f"nats://{self.addresses[i] if hosts else host}:{self.ports[i]}"
                     for i in range(nr)]
        self.processes = [None] * nr
        for i, address in enumerate(self.addresses):
            text = (f'server_name: n{i}\nlisten: "{address}:{self.ports[i]}"\n'
                    f'http: "{address}:{self.monitors[i]}"\n'
                    f'jetstream {{ store_dir: "{self.folder}/store{i}" }}\n')
            if nr > 1:
                peers = ", ".join(f'"nats://{self.addresses[j]}:{routes[j]}"' for j in range(nr))
                text += (f'cluster {{ name: test, listen: "{address}:{routes[i]}", '
                         f"routes: [{peers}] }}\n")
            (self.folder / f"server{i}.conf").write_text(text + settings)
            self.start(i)

    def start(self, i):
        with open(self.folder / f"server{i}.log", "a", encoding="utf-8") as log:
            self.processes[i] = subprocess.Popen(
                [*self.enter[i], SERVER, "-c", self.folder / f"server{i}.conf"], stderr=log)

    def ready(self, i):
        eventually("the server answers", lambda: self.monitor(i, "/varz"))

    def kill(self, i):
        self.processes[i].kill()
        self.processes[i].wait()

    def monitor(self, i, path):
        """The answer of a server's monitor, or None."""
        try:
            with connect(self.monitors[i], self.addresses[i]) as connection:
                connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
        except OSError:
            return None
        return json.loads(answer.partition(b"\r\n\r\n")[2] or "null")

    def leader(self):
        """The number of the server that leads the stream."""
        for i in range(len(self.ports)):
            answer = self.monitor(i, "/jsz?streams=1") or {}
            for account in answer.get("account_details") or []:
                for stream in account.get("stream_detail") or []:
                    return int(stream["cluster"]["leader"][1:])
        return None

    def configure(self, name, subjects, *lines):
        """Write the configuration of a bridge, which has the metrics NAME.prom."""
        path = self.folder / f"{name}.conf"
        path.write_text("\n".join([
            *(f"server {url}" for url in self.urls), "stream TEST",
            *(f"subject {subject}" for subject in subjects),
            f"metrics {self.folder}/{name}.prom", *lines, ""]))
        return path

    def run(self, command, config, purgatory, *arguments, text="", status=0):
        """Run another command of the bridge. Return its output."""
        done = subprocess.run([BRIDGE, command, "-c", config, purgatory, *arguments], input=text,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300)
        if status is not None and done.returncode != status:
            raise AssertionError(f"{command}: status {done.returncode}: {done.stdout}")
        return done.stdout

    def setup(self, config, purgatory):
        """The servers are ready when this succeeds."""
        def ready():
            done = subprocess.run([BRIDGE, "setup", "-c", config, purgatory], capture_output=True)
            return done.returncode == 0
        eventually("setup", ready)

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder)


class Bridge:
    """A running bridge."""

    def __init__(self, config, purgatory, enter=(), **environment):
        self.purgatory = purgatory
        self.metrics_file = config.with_suffix(".prom")
        self.metrics_file.unlink(missing_ok=True)
        self.log = open(config.with_suffix(".log"), "a+", encoding="utf-8")
        self.process = subprocess.Popen([*enter, BRIDGE, "run", "-c", config, purgatory],
                                        env=os.environ | environment, stderr=self.log)

    def metrics(self):
        """The values by metric and subject; a metric without subject is in the key ''."""
        found = {}
        if self.metrics_file.exists():
            for line in self.metrics_file.read_text().splitlines():
                if not line.startswith("#"):
                    series, value = line.split(" ")
                    name, labels = series.removeprefix("twheel_bridge_").split("{")
                    subject = labels.partition('subject="')[2].partition('"')[0]
                    found[name, subject] = float(value)
        return found

    def total(self, name):
        return sum(value for (metric, _), value in self.metrics().items() if metric == name)

    def ready(self):
        eventually("bridge is connected", lambda: self.total("connected"))

    def wait(self, seconds=60):
        """Wait for the end of the process. Return its status."""
        return self.process.wait(seconds)

    def stop(self, number=signal.SIGTERM):
        """End the process, and return its status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.log.close()
        return self.wait()
