# SPDX-License-Identifier: GPL-2.0
"""Views of the kernel on processes: wake-ups and the owners of connections."""

import contextlib
import os
import pathlib
import re
import time

PROC = pathlib.Path("/proc")


def status(pid, field):
    """The first number of a line of /proc/PID/status."""
    text = (PROC / str(pid) / "status").read_text()
    return int(re.search(rf"^{field}:\s*(\d+)", text, re.M)[1])


def sleeps(pid):
    return status(pid, "voluntary_ctxt_switches")


def settled(pids):
    """How often each process has slept, including by preemption, once none runs any more."""
    last = {}
    while last != (last := {pid: sleeps(pid) + status(pid, "nonvoluntary_ctxt_switches")
                            for pid in pids}):
        time.sleep(0.2)
    return last


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
