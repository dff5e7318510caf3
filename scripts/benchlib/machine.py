# SPDX-License-Identifier: GPL-2.0
"""
Describe the machine on which figures are measured.
"""

import os
import pathlib
import re

CPU = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")


def read(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def line_of(text, name):
    match = re.search(rf"^{name}\s*: *(.*)$", text, re.M)
    return match[1].strip() if match else ""


def caches():
    """The cache sizes of CPU 0, as {"L1d": "32K"}, without instruction caches."""
    found = {}
    for index in sorted(CPU.glob("index*")):
        kind = read(index / "type")
        if kind != "Instruction":
            name = f"L{read(index / 'level')}" + ("d" if kind == "Data" else "")
            found[name] = read(index / "size")
    return found


def describe():
    cpuinfo = read("/proc/cpuinfo")
    model = line_of(cpuinfo, "model name") or "unknown"
    family, number = line_of(cpuinfo, "cpu family"), line_of(cpuinfo, "model")
    return {
        "cpu": f"{model} (family {family}, model {number})" if family else model,
        "cpus": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "kernel": os.uname().release,
        "memory_kib": int(line_of(read("/proc/meminfo"), "MemTotal").split()[0]),
        "virtual": " hypervisor" in line_of(cpuinfo, "flags"),
    }


def sentence(machine):
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    return (f"{machine['cpu']}, {machine['cpus']} CPUs, {caches or 'caches unknown'}, "
            f"{machine['memory_kib'] >> 20} GiB, Linux {machine['kernel']}"
            + (", a virtual machine" if machine["virtual"] else "")
            + f"; load before: {machine['load']}")
