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

HERE = pathlib.Path(__file__).resolve().parent
BRIDGE = os.environ.get("TWHEEL_BRIDGE", "twheel-bridge")
SERVER = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")


def eventually(what, condition, seconds=60):
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


def connect(port):
    """Unlike socket.create_connection(), this needs no codec for names, which a guest lacks."""
    connection = socket.socket()
    try:
        connection.settimeout(60)
        connection.connect(("127.0.0.1", port))
    except OSError:
        connection.close()
        raise
    return connection


class Servers:
    """One server, or a cluster."""

    def __init__(self, nr=1, settings="", host="127.0.0.1"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="twheel-bridge-"))
        self.ports = [free_port() for _ in range(nr)]
        self.monitors = [free_port() for _ in range(nr)]
        routes = [free_port() for _ in range(nr)]
        self.urls = [f"nats://{host}:{port}" for port in self.ports]
        self.processes = [None] * nr
        for i in range(nr):
            text = (f'server_name: n{i}\nlisten: "127.0.0.1:{self.ports[i]}"\n'
                    f'http: "127.0.0.1:{self.monitors[i]}"\n'
                    f'jetstream {{ store_dir: "{self.folder}/store{i}" }}\n')
            if nr > 1:
                peers = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
                text += (f'cluster {{ name: test, listen: "127.0.0.1:{routes[i]}", '
                         f"routes: [{peers}] }}\n")
            (self.folder / f"server{i}.conf").write_text(text + settings)
            self.start(i)

    def start(self, i):
        with open(self.folder / f"server{i}.log", "a", encoding="utf-8") as log:
            self.processes[i] = subprocess.Popen(
                [SERVER, "-c", self.folder / f"server{i}.conf"], stderr=log)

    def ready(self, i):
        eventually("the server answers", lambda: self.monitor(i, "/varz"))

    def kill(self, i):
        self.processes[i].kill()
        self.processes[i].wait()

    def monitor(self, i, path):
        """The answer of a server's monitor, or None."""
        try:
            with connect(self.monitors[i]) as connection:
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

    def __init__(self, config, purgatory, **environment):
        self.metrics_file = config.with_suffix(".prom")
        self.metrics_file.unlink(missing_ok=True)
        self.log = open(config.with_suffix(".log"), "a+", encoding="utf-8")
        self.process = subprocess.Popen([BRIDGE, "run", "-c", config, purgatory],
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
