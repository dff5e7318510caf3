# SPDX-License-Identifier: GPL-2.0
"""
Set two results side by side, and tell what moved beyond the noise.

A figure has moved if its medians are further apart than NOISE times the spreads of both
together, and further than LEAST of the old one, and if the middle halves of their
values do not overlap.  A figure of fewer than ENOUGH values on either side is not
judged, unless all its values are the same.
"""

import statistics

from benchlib.result import KEY
from benchlib.table import is_ours, is_peer

NOISE = 3
LEAST = 0.05
ENOUGH = 3
# More of these is better; of all else, less.
MORE_IS_BETTER = ("per_second",)
LESS_AFTER_ALL = ("wakeups", "irqs_off")


def middle_half(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def too_few(figure):
    return len(figure["values"]) < ENOUGH and (
        figure["min"] != figure["max"] or figure["unit"] in ("ns", "us", "per_second"))


def beyond_noise(old, new):
    apart = abs(new["median"] - old["median"])
    if apart <= NOISE * (old["spread"] + new["spread"]) or apart <= LEAST * abs(old["median"]):
        return False
    old_low, old_high = middle_half(old["values"])
    new_low, new_high = middle_half(new["values"])
    return old_high < new_low or new_high < old_low


def is_worse(old, new):
    more = new["median"] > old["median"]
    if old["unit"] in MORE_IS_BETTER and old["suite"] not in LESS_AFTER_ALL:
        return not more
    return more


def factor(old, new):
    """How many times as much; from nothing to something is without limit."""
    if old["median"] == new["median"]:
        return 1.0
    return new["median"] / old["median"] if old["median"] else float("inf")


def size(old, new):
    """How far something moved, up or down alike."""
    times = factor(old, new)
    return max(times, 1 / times if times > 0 else float("inf"))


class Comparison:
    """What two results have in common, and what of it moved."""

    def __init__(self, old, new):
        olds = {tuple(figure[name] for name in KEY): figure for figure in old["figures"]}
        news = {tuple(figure[name] for name in KEY): figure for figure in new["figures"]}
        self.pairs = [(olds[key], news[key]) for key in olds if key in news]
        self.gone = len(olds) - len(self.pairs)
        self.added = len(news) - len(self.pairs)
        self.unjudged = [pair for pair in self.pairs if any(map(too_few, pair))]
        moved = [pair for pair in self.pairs
                 if not any(map(too_few, pair)) and beyond_noise(*pair)]
        self.moved = sorted(moved, key=lambda pair: size(*pair), reverse=True)

    def worse(self):
        return [pair for pair in self.moved
                if is_worse(*pair) and is_ours(pair[0]["of"])]

    def peers_factor(self):
        """By how much all the others moved: if they did, the machine is another."""
        times = [factor(*pair) for pair in self.pairs
                 if is_peer(pair[0]["of"]) and pair[0]["unit"] == "ns" and pair[0]["median"]]
        return statistics.median(times) if times else None


def unlike_machines(old, new):
    for name in ("cpu", "cpus", "caches", "virtual"):
        if old["machine"][name] != new["machine"][name]:
            yield (f"another machine: {name} {old['machine'][name]}, "
                   f"then {new['machine'][name]}")
    places = {place["name"]: place for place in old["places"]}
    for place in new["places"]:
        before = places.get(place["name"], place)
        for name in ("release", "accel", "cpus"):
            if before[name] != place[name]:
                yield (f"another place: {place['name']} had {name} {before[name]}, "
                       f"then {place[name]}")
