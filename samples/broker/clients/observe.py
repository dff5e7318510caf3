# SPDX-License-Identifier: GPL-2.0
"""Views of the kernel on processes: wake-ups and the owners of connections."""

import contextlib
import os
import pathlib
import re

PROC = pathlib.Path("/proc")
TRACING = pathlib.Path("/sys/kernel/tracing")


def status(pid, field):
    """The first number of a line of /proc/PID/status."""
    text = (PROC / str(pid) / "status").read_text()
    return int(re.search(rf"^{field}:\s*(\d+)", text, re.M)[1])


def switches(pid):
    """How often the process has slept, including by preemption."""
    return status(pid, "voluntary_ctxt_switches") + status(pid, "nonvoluntary_ctxt_switches")


def cpu_ns(pid):
    return int((PROC / str(pid) / "schedstat").read_text().split()[0])


def name(pid):
    """The name of a process, or "" if it has ended."""
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "comm").read_text().strip()
    return ""


def children(pid):
    text = (PROC / str(pid) / "task" / str(pid) / "children").read_text()
    return [int(word) for word in text.split()]


def named(prefix):
    """The IDs of the processes and kernel threads with this prefix of their names."""
    for comm in PROC.glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if comm.read_text().startswith(prefix):
                yield int(comm.parent.name)


def connections():
    """Yield the local port, the remote port and the name of each connection."""
    for line in (PROC / "net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote = (int(field.split(":")[1], 16) for field in fields[1:3])
        yield local, remote, f"socket:[{fields[9]}]"


def owner(port, pids):
    """The one of @pids that has accepted the connection from a port, or None."""
    for _, remote, socket in connections():
        for pid in pids:
            if remote == port and socket in links(PROC / str(pid) / "fd"):
                return pid
    return None


def client_port(pid, server_port):
    """The local port of a process that is connected to a server, or None."""
    found = links(PROC / str(pid) / "fd")
    for local, remote, socket in connections():
        if remote == server_port and socket in found:
            return local
    return None


def links(folder):
    found = set()
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            found.add(os.readlink(entry.path))
    return found


class Trace:
    """Counts trace events, here wake-ups, in a with statement."""

    EVENTS = ("twheel/twheel_reaper_wake", "syscalls/sys_exit_epoll_wait",
              "syscalls/sys_exit_epoll_pwait")

    def enable(self, value):
        for event in self.EVENTS:
            (TRACING / "events" / event / "enable").write_text(value)

    def __enter__(self):
        # Names of processes are recorded by two events of the scheduler. They are not needed,
        # and to enable them patches code that every CPU runs all the time.
        (TRACING / "options/record-cmd").write_text("0")
        (TRACING / "trace").write_text("")
        self.enable("1")
        return self

    def __exit__(self, *_):
        self.enable("0")

    def count(self, event, pids=None):
        """The number of events so far, by these processes."""
        found = 0
        for line in (TRACING / "trace").read_text().splitlines():
            match = re.match(r"\s*\S.*-(\d+)\s+\[\d+\].*: (\w+)(?:\(| ->|:)", line)
            found += bool(match and event in match[2] and
                          (pids is None or int(match[1]) in pids))
        return found


class Calls:
    """Counts the system calls of processes in a with statement."""

    EVENT = TRACING / "events/raw_syscalls/sys_enter"
    COUNTS = "hist:keys=common_pid"

    def __init__(self, pids):
        self.pids = set(pids)

    def __enter__(self):
        (self.EVENT / "trigger").write_text(self.COUNTS)
        return self

    def __exit__(self, *_):
        (self.EVENT / "trigger").write_text("!" + self.COUNTS)

    def count(self):
        found = re.findall(r"common_pid: +(\d+) } hitcount: +(\d+)",
                           (self.EVENT / "hist").read_text())
        return sum(int(count) for pid, count in found if int(pid) in self.pids)
