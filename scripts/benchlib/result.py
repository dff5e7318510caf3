# SPDX-License-Identifier: GPL-2.0
"""
A result, stored as JSON: all figures of a run, with a description of the machine and the
places.  problems() validates a result.
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
    """The file does not have a valid result."""


def spread_of(values):
    """The median absolute deviation, scaled to estimate the standard deviation."""
    middle = statistics.median(values)
    return round(1.4826 * statistics.median(abs(value - middle) for value in values), 4)


def summarize(values):
    return {"values": values, "median": statistics.median(values), "min": min(values),
            "max": max(values), "spread": spread_of(values)}


def figures_of(place, log):
    return [{"place": place, **dict(zip(WORDS, words)), **summarize(values)}
            for words, values in log.figures.items()]


def skips_of(place, log):
    return [{"place": place, **skip} for skip in log.skips]


def mismatches(label, item, fields):
    """The differences of a dictionary from the required fields and types."""
    if not isinstance(item, dict):
        return [f"{label}: not an object"]
    found = [f"{label}: no {name}" for name in fields if name not in item]
    found += [f"{label}: unknown {name}" for name in item if name not in fields]
    # In Python a bool is an int: do not accept it as a number.
    found += [f"{label}: {name} is {item[name]!r}" for name, kind in fields.items()
              if name in item and (not isinstance(item[name], kind)
                                   or (kind != bool and isinstance(item[name], bool)))]
    return found


def figure_problems(label, figure, places):
    found = mismatches(label, figure, FIGURE)
    if found:
        return found
    if figure["place"] not in places:
        found.append(f"{label}: unknown place {figure['place']}")
    if figure["unit"] not in UNITS:
        found.append(f"{label}: unknown unit {figure['unit']}")
    values = figure["values"]
    if not values or not all(type(value) in NUMBER for value in values):
        return found + [f"{label}: invalid values {values}"]
    found += [f"{label}: {name} does not match the values"
              for name, value in summarize(values).items() if figure[name] != value]
    return found


def duplicates(figures):
    seen = set()
    for figure in figures:
        words = tuple(figure[name] for name in KEY)
        if words in seen:
            yield f"duplicate figure: {words}"
        seen.add(words)


def problems(result):
    """The errors in a result, as sentences; empty if it is valid."""
    found = mismatches("result", result, RESULT)
    if found:
        return found
    if result["schema"] != SCHEMA:
        return [f"schema is {result['schema']}, not {SCHEMA}"]
    found += mismatches("machine", result["machine"], MACHINE)
    for i, place in enumerate(result["places"]):
        found += mismatches(f"place {i}", place, PLACE)
    for i, skip in enumerate(result["skips"]):
        found += mismatches(f"skip {i}", skip, SKIP)
    found += [f"failure {i}: not a string" for i, text in enumerate(result["failures"])
              if not isinstance(text, str)]
    if found:
        return found
    places = {place["name"] for place in result["places"]}
    for i, figure in enumerate(result["figures"]):
        found += figure_problems(f"figure {i}", figure, places)
    return found or list(duplicates(result["figures"]))


def load(path):
    try:
        with open(path) as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        raise BadResult(f"{path}: {error}") from error
    found = problems(result)
    if found:
        more = f" (and {len(found) - 1} more)" if found[1:] else ""
        raise BadResult(f"{path}: {found[0]}" + more)
    return result


def dump(result, file):
    """Write one figure per line, so that diffs are readable."""
    lists = ("places", "figures", "skips", "failures")
    head = {name: value for name, value in result.items() if name not in lists}
    file.write(json.dumps(head, indent=1)[:-2])
    for name in lists:
        items = ",\n  ".join(json.dumps(item) for item in result[name])
        file.write(f',\n "{name}": [' + (f"\n  {items}\n ]" if items else "]"))
    file.write("\n}\n")
