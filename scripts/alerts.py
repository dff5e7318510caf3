#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
The alert rules of share/, and the dashboard.

    alerts.py tests FOLDER LOG...   write a test of promtool for each situation of scripts/guest/alerts
                                    and tools/bridge/tests/situations
    alerts.py queries               print the queries of the dashboard as recording rules
    alerts.py dashboard             print the dashboard, with a panel for each metric of twheelctl

The metrics of a situation are taken before and after it. In its test, the gauges keep their last
values for half an hour, and the counters go on by their increments every 15 seconds.
"""

import json
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
METRICS = TOP / "tools/twheelctl/metrics.c"
BY_USER = ("twheel_user_", "twheel_private_")

# The alerts that fire in each situation.
FIRES = {
    "healthy": [],
    "nearly_full": ["TwheelNearlyFull"],
    "rejects": ["TwheelRejects"],
    "reader_stopped": ["TwheelEventsNotRead", "TwheelMostlyExpires"],
    "queue_not_read": ["TwheelEventsNotRead"],
    "queue_nearly_full": ["TwheelEventsNotRead"],
    "worker_hangs": ["TwheelEventsNotConfirmed"],
    "mostly_expires": ["TwheelMostlyExpires"],
    "late": ["TwheelLate"],
    "slow_callbacks": ["TwheelSlowCallbacks"],
    "vanished": ["TwheelPurgatoryVanished"],
    "user_nearly_full": ["TwheelUserNearlyFull"],
    "private_rejects": ["TwheelRejects", "TwheelUserNearlyFull"],
    "bridge_healthy": [],
    "bridge_cut_off": ["TwheelBridgeCutOff"],
    "bridge_behind": ["TwheelBridgeBehind"],
}
# These need no situation of a guest.
WHEEL = {'twheel_wheel_pending{wheel="users",clock="monotonic"}': "0+0x120"}
OTHERS = {
    "stale": (["TwheelMetricsStale"],
              WHEEL | {'node_textfile_mtime_seconds{file="/var/lib/twheel.prom"}': "0+0x120"}),
    "missing": (["TwheelMetricsMissing"], {}),
}


def samples(logs):
    """The values by situation, moment and series."""
    found = {}
    for line in [line for log in logs for line in log.read_text(errors="replace").splitlines()]:
        match = re.search(r"\| sample (\w+) (before|after) (twheel\S+) (\S+)", line)
        if match:
            moments = found.setdefault(match[1], {"before": {}, "after": {}})
            moments[match[2]][match[3]] = float(match[4])
    return found


def is_counter(series):
    return re.match(r"\w+_(total|bucket|count|sum)\b", series)


def values(series, before, after):
    if series not in after:
        return f"{before[series]:g}+0x20 _x100"
    if not is_counter(series):
        return f"{after[series]:g}+0x120"
    start = before.get(series, 0)
    return f"{start:.9g}+{after[series] - start:.9g}x120"


def test(fires, series):
    return {
        "rule_files": [str(TOP / "share/alerts.yml")],
        "evaluation_interval": "15s",
        "tests": [{
            "interval": "15s",
            "input_series": [{"series": name, "values": text} for name, text in series.items()],
            "promql_expr_test": [{
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"} == 1) > bool 0',
                "eval_time": "25m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1}
                                for name in fires],
            }],
        }],
    }


def write_tests(folder, logs):
    folder.mkdir(parents=True, exist_ok=True)
    found = samples(logs)
    if found.keys() != FIRES.keys():
        sys.exit(f"situations differ: {found.keys() ^ FIRES.keys()}")
    tests = {name: (fires, WHEEL | {series: values(series, **found[name]) for series in
                                    found[name]["before"] | found[name]["after"]})
             for name, fires in FIRES.items()}
    for name, arguments in (tests | OTHERS).items():
        # JSON is YAML.
        (folder / f"{name}.yml").write_text(json.dumps(test(*arguments), indent=1))


def panel(number, title, help_text, unit, targets):
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "description": help_text,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": number % 3 * 8, "y": number // 3 * 8, "w": 8, "h": 8},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": chr(ord("A") + at), "expr": expr, "legendFormat": legend}
                    for at, (expr, legend) in enumerate(targets)],
    }


def selected(name):
    """The filter of the variables, by the labels of a metric."""
    if name.startswith(("twheel_wheel_", *BY_USER)):
        return f'{name}{{instance=~"$instance"}}'
    return f'{name}{{instance=~"$instance",purgatory=~"$purgatory"}}'


def legend_of(name):
    if name.startswith("twheel_wheel_"):
        return "{{wheel}} {{clock}}"
    if name.startswith(BY_USER):
        return "user {{user}} {{reason}}{{error}}"
    return "{{purgatory}} {{queue}}{{reason}}{{error}}"


def metrics():
    """The name, type and description of each metric, from the tables of twheelctl."""
    text = METRICS.read_text()
    found = re.findall(r'\{ "(twheel_\w+)", "(gauge|counter)",\s*"(.*?)",', text)
    lateness = re.search(r'^#define LATENESS\s+"(\w+)"', text, re.M)[1]
    help_text = re.search(r'"# HELP " LATENESS " (.*?)\\n"', text)[1]
    return [*found, (lateness, "histogram", help_text)]


def panels():
    """A panel for each metric; a limit is in the panel of the metric that it limits."""
    families = metrics()
    limits = {name for name, *_ in families if name.endswith("_limit")}
    for name, kind, help_text in families:
        if kind == "histogram":
            rate = f"sum by (clock, le) (rate({selected(name + '_bucket')}[$__rate_interval]))"
            yield (name, help_text, "s",
                   [(f"histogram_quantile({quantile}, {rate})", f"{quantile} {{{{clock}}}}")
                    for quantile in (0.5, 0.99, 0.999)])
        elif kind == "counter":
            yield (f"{name} a second", help_text, "ops",
                   [(f"rate({selected(name + '_total')}[$__rate_interval])", legend_of(name))])
        elif name == "twheel_file_pending_limit" or name not in limits:
            targets = [(selected(name), legend_of(name))]
            if name + "_limit" in limits:
                targets.append((selected(name + "_limit"), legend_of(name) + " limit"))
            yield name, help_text, "s" if name.endswith("_seconds") else "short", targets


def variable(name, query):
    return {"name": name, "type": "query", "query": query, "includeAll": True, "multi": True,
            "datasource": {"type": "prometheus", "uid": "${datasource}"}, "refresh": 2,
            "current": {"text": "All", "value": "$__all"}}


def dashboard():
    return {
        "title": "twheel",
        "uid": "twheel",
        "tags": ["twheel"],
        "schemaVersion": 36,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus"},
            variable("instance", "label_values(twheel_wheel_pending, instance)"),
            variable("purgatory", 'label_values(twheel_pending{instance=~"$instance"}, purgatory)'),
        ]},
        "panels": [panel(number, *arguments) for number, arguments in enumerate(panels())],
    }


def queries():
    """With values for the variables."""
    found = [target["expr"] for entry in dashboard()["panels"]
             for target in entry["targets"]]
    rules = [{"record": f"query:{number}", "expr": expr.replace("$__rate_interval", "1m")}
             for number, expr in enumerate(found)]
    return {"groups": [{"name": "dashboard", "rules": rules}]}


match sys.argv[1:]:
    case ["tests", folder, *logs]:
        write_tests(pathlib.Path(folder), [pathlib.Path(log) for log in logs])
    case ["queries"]:
        print(json.dumps(queries()))
    case ["dashboard"]:
        print(json.dumps(dashboard(), indent="\t"))
    case _:
        sys.exit(__doc__)
