# SPDX-License-Identifier: GPL-2.0
"""
Unit tests of benchlib.

made_up() returns a valid result with the given figures.
"""

from benchlib import result

MACHINE = {"cpu": "made up", "cpus": 2, "caches": {"L1d": "32K"}, "kernel": "6.12",
           "memory_kib": 1 << 22, "virtual": True, "load": 0.1}
PLACE = {"name": "uml", "release": "6.12", "cpus": 1, "accel": "none", "emulated": False,
         "note": "made up"}
EMULATED = PLACE | {"name": "6.12", "accel": "tcg", "emulated": True}


def figure(values, place="uml", suite="timer", case="mixed", of="twheel", what="add",
           pending=1000, unit="ns"):
    return {"place": place, "suite": suite, "case": case, "of": of, "what": what,
            "pending": pending, "unit": unit, **result.summarize(list(values))}


def made_up(*figures, **changed):
    return {"schema": result.SCHEMA, "version": "v0", "date": "2020-01-01T00:00:00+00:00",
            "quick": False, "machine": dict(MACHINE), "places": [dict(PLACE), dict(EMULATED)],
            "figures": list(figures), "skips": [], "failures": [], **changed}
