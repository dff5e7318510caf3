# SPDX-License-Identifier: GPL-2.0
"""
Compare two results and find the changes that exceed the noise.

A figure has moved if the difference of its medians is larger than NOISE times the sum of both
spreads, and larger than the fraction LEAST of the old median, and if the middle halves of the
values do not overlap.  A figure with fewer than ENOUGH values on either side is not judged,
except for counts and sizes if all values are equal.
"""

import statistics

from benchlib.result import KEY
from benchlib.table import is_ours, is_peer

NOISE = 3
LEAST = 0.05
ENOUGH = 3
# For these units more is better, except in the suites below; for other units less is better.
MORE_IS_BETTER = ("per_second",)
LESS_IS_BETTER = ("wakeups", "irqs_off")


def middle_half(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def too_few(figure):
    return len(figure["values"]) < ENOUGH and (
        figure["min"] != figure["max"] or figure["unit"] in ("ns", "us", "per_second"))


def beyond_noise(old, new):
    difference = abs(new["median"] - old["median"])
    noise = NOISE * (old["spread"] + new["spread"])
    if difference <= noise or difference <= LEAST * abs(old["median"]):
        return False
    old_low, old_high = middle_half(old["values"])
    new_low, new_high = middle_half(new["values"])
    return old_high < new_low or new_high < old_low


def is_worse(old, new):
    more = new["median"] > old["median"]
    if old["unit"] in MORE_IS_BETTER and old["suite"] not in LESS_IS_BETTER:
        return not more
    return more


def factor(old, new):
    """The ratio of the medians; infinite if only the old one is 0."""
    if old["median"] == new["median"]:
        return 1.0
    return new["median"] / old["median"] if old["median"] else float("inf")


def size(old, new):
    """The size of a change, regardless of its direction."""
    times = factor(old, new)
    return max(times, 1 / times if times > 0 else float("inf"))


class Comparison:
    """The common figures of two results, and the moved ones."""

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
        """The median ratio of the peers' times; not 1 if the speed of the machine changed."""
        times = [factor(*pair) for pair in self.pairs
                 if is_peer(pair[0]["of"]) and pair[0]["unit"] == "ns" and pair[0]["median"]]
        return statistics.median(times) if times else None


def machine_differences(old, new):
    for name in ("cpu", "cpus", "caches", "virtual"):
        if old["machine"][name] != new["machine"][name]:
            yield (f"the machine differs: {name} {old['machine'][name]}, "
                   f"then {new['machine'][name]}")
    places = {place["name"]: place for place in old["places"]}
    for place in new["places"]:
        before = places.get(place["name"], place)
        for name in ("release", "accel", "cpus"):
            if before[name] != place[name]:
                yield (f"the place differs: {place['name']} had {name} {before[name]}, "
                       f"then {place[name]}")
