# SPDX-License-Identifier: GPL-2.0
"""
A result: all figures of a run, with the machine and the places where they were
taken, as it lies in a JSON file.  problems() says what is wrong with one.
"""

import json
import statistics

from benchlib.log import UNITS, WORDS

SCHEMA = 1
KEY = ("place", *WORDS)
NUMBER = (int, float)

MACHINE = {"cpu": str, "cpus": int, "caches": dict, "kernel": str, "memory_kib": int,
           "virtual": bool, "load": NUMBER}
PLACE = {"name": str, "release": str, "cpus": int, "accel": str, "emulated": bool,
         "note": str}
FIGURE = {"place": str, "suite": str, "case": str, "of": str, "what": str, "pending": int,
          "unit": str, "values": list, "median": NUMBER, "min": NUMBER, "max": NUMBER,
          "spread": NUMBER}
SKIP = {"place": str, "suite": str, "case": str, "of": str, "what": str, "pending": int,
        "reason": str}
RESULT = {"schema": int, "version": str, "date": str, "quick": bool, "machine": dict,
          "places": list, "figures": list, "skips": list, "failures": list}


class BadResult(Exception):
    """A file that is no result, or one that is wrong."""


def spread_of(values):
    """The median absolute deviation, made comparable to a standard deviation."""
    middle = statistics.median(values)
    return round(1.4826 * statistics.median(abs(value - middle) for value in values), 4)


def summed_up(values):
    return {"values": values, "median": statistics.median(values), "min": min(values),
            "max": max(values), "spread": spread_of(values)}


def figures_of(place, log):
    return [{"place": place, **dict(zip(WORDS, words)), **summed_up(values)}
            for words, values in log.figures.items()]


def skips_of(place, log):
    return [{"place": place, **skip} for skip in log.skips]


def unlike(what, thing, fields):
    """How a dictionary differs from the fields and types that it must have."""
    if not isinstance(thing, dict):
        return [f"{what}: not an object"]
    said = [f"{what}: no {name}" for name in fields if name not in thing]
    said += [f"{what}: unknown {name}" for name in thing if name not in fields]
    # A bool is an int to Python, and none to us.
    said += [f"{what}: {name} is {thing[name]!r}" for name, kind in fields.items()
             if name in thing and (not isinstance(thing[name], kind)
                                   or (kind != bool and isinstance(thing[name], bool)))]
    return said


def figure_problems(what, figure, places):
    said = unlike(what, figure, FIGURE)
    if said:
        return said
    if figure["place"] not in places:
        said.append(f"{what}: a place that is not described, {figure['place']}")
    if figure["unit"] not in UNITS:
        said.append(f"{what}: unit {figure['unit']}")
    values = figure["values"]
    if not values or not all(type(value) in NUMBER for value in values):
        return said + [f"{what}: values {values}"]
    said += [f"{what}: {name} is not that of its values"
             for name, value in summed_up(values).items() if figure[name] != value]
    return said


def twice(figures):
    seen = set()
    for figure in figures:
        words = tuple(figure[name] for name in KEY)
        if words in seen:
            yield f"twice: {words}"
        seen.add(words)


def problems(result):
    """All that is wrong with a result, as sentences; none if it is one."""
    said = unlike("result", result, RESULT)
    if said:
        return said
    if result["schema"] != SCHEMA:
        return [f"schema {result['schema']}, and not {SCHEMA}"]
    said += unlike("machine", result["machine"], MACHINE)
    for i, place in enumerate(result["places"]):
        said += unlike(f"place {i}", place, PLACE)
    for i, skip in enumerate(result["skips"]):
        said += unlike(f"skip {i}", skip, SKIP)
    said += [f"failure {i}: not a string" for i, text in enumerate(result["failures"])
             if not isinstance(text, str)]
    if said:
        return said
    places = {place["name"] for place in result["places"]}
    for i, figure in enumerate(result["figures"]):
        said += figure_problems(f"figure {i}", figure, places)
    return said or list(twice(result["figures"]))


def load(path):
    try:
        with open(path) as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        raise BadResult(f"{path}: {error}") from error
    said = problems(result)
    if said:
        raise BadResult(f"{path}: {said[0]}" + (f" (and {len(said) - 1} more)" if said[1:] else ""))
    return result


def dump(result, file):
    """One figure a line, so that two files can be compared by eye."""
    lists = ("places", "figures", "skips", "failures")
    head = {name: value for name, value in result.items() if name not in lists}
    file.write(json.dumps(head, indent=1)[:-2])
    for name in lists:
        items = ",\n  ".join(json.dumps(item) for item in result[name])
        file.write(f',\n "{name}": [' + (f"\n  {items}\n ]" if items else "]"))
    file.write("\n}\n")
