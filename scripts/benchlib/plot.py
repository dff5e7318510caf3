# SPDX-License-Identifier: GPL-2.0
"""
Plots of a result: gnuplot scripts that include their data.  A contender has the same colour
in all plots, and the line of twheel is thicker.
"""

import math

from benchlib.table import chosen, in_order, is_ours, pending_name, short, title_of

COLOURS = {
    "twheel": "#d1495b", "twheel single": "#ee9b00", "twheel batch64": "#d1495b",
    "twheel batch1024": "#9d0208", "io_uring batch1024": "#264653",
    "twheel_op": "#d1495b",
    "timer_list": "#0077b6", "hrtimer": "#2a9d8f", "delayed_work": "#8d6cab",
    "timerfd": "#0077b6", "posix_timer": "#8d6cab", "io_uring": "#2a9d8f",
    "io_uring single": "#8ab17d", "io_uring batch64": "#2a9d8f", "heap_timerfd": "#6c757d",
    "watch": "#0077b6", "complete": "#2a9d8f", "watch_complete": "#d1495b", "signal": "#ee9b00",
    "cancel": "#8d6cab", "signal_nobody": "#6c757d", "expire": "#bc6c25",
}
SPARE = ("#457b9d", "#bc6c25", "#588157", "#b5838d", "#3d405b")
INK, GRID = "#333333", "#dddddd"
OPERATIONS = ("add", "cancel", "rearm", "rearm_earlier", "rearm_later", "expire")

PREAMBLE = f"""\
set terminal svg size {{width}},{{height}} dynamic noenhanced font 'DejaVu Sans,13' \\
    background '#ffffff'
set encoding utf8
set border 3 lc rgb '{INK}'
set tics nomirror textcolor rgb '{INK}'
set grid ytics lc rgb '{GRID}' lt 1
set key outside right center Left reverse samplen 1.5 spacing 1.3 textcolor rgb '{INK}'
"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def colour_of(contender, used):
    spare = used.setdefault(contender, SPARE[len(used) % len(SPARE)])
    return COLOURS.get(contender, spare)


def block(name, rows):
    """A data block of a gnuplot script."""
    lines = "\n".join(" ".join(str(cell) for cell in row) for row in rows)
    return f"${name} << EOD\n{lines}\nEOD\n"


def curves(series, used):
    """Plot series, which maps contenders to rows of x, median, minimum and maximum, with error
    bars.  Shift the curves slightly along x, so that none hides another."""
    data, plots = "", []
    xs = [row[0] for rows in series.values() for row in rows]
    step = (max(xs) / min(xs)) ** (0.06 / len(series)) if len(series) > 1 else 1
    for i, (contender, rows) in enumerate(series.items()):
        shift = step ** (i - (len(series) - 1) / 2)
        data += block(f"c{i}", [(f"{row[0] * shift:.6g}", *row[1:]) for row in rows])
        width = 3 if is_ours(contender) else 1.6
        plots.append(f"$c{i} using 1:2:3:4 with yerrorlines lw {width} pt 7 ps 0.45 "
                     f"lc rgb '{colour_of(contender, used)}' title {quoted(contender)}")
    return data, "plot " + ", \\\n    ".join(plots) + "\n"


def label_of(place, machine_):
    emulated = ", EMULATED" if place["emulated"] else ""
    return f"{place['name']} {place['release']}{emulated}, on {machine_['cpu']}"


def ticks(low, high):
    """1, 2 and 5 times powers of 10; only powers of 10 if there are many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    parts = (1, 2, 5) if last - first <= 3 else (1,)
    return [part * 10 ** i for i in range(first, last + 1) for part in parts
            if low <= part * 10 ** i <= high]


def value_axis(series):
    """A logarithmic axis that covers all values with a margin."""
    values = [value for rows in series.values() for row in rows for value in row[1:]]
    low, high = min(values) / 1.4, max(values) * 1.4
    names = ", ".join(f"{quoted(short(tick))} {tick}" for tick in ticks(low, high))
    return f"set logscale y\nset yrange [{low}:{high}]\nset ytics ({names})\n"


def pending_axis(figures):
    numbers = sorted(set(figure["pending"] for figure in figures))
    tics = ", ".join(f"{quoted(pending_name(nr))} {nr}" for nr in numbers)
    return (f"set logscale x\nset xrange [{numbers[0] / 1.5}:{numbers[-1] * 1.5}]\n"
            f"set xtics ({tics})\nset xlabel 'pending'\n")


def cost_panel(figures, title, used, name_of):
    series = {}
    for figure in sorted(figures, key=lambda figure: figure["pending"]):
        series.setdefault(name_of(figure), []).append(
            (figure["pending"], figure["median"], figure["min"], figure["max"]))
    order = sorted(series, key=lambda name: (not is_ours(name), name))
    data, plot = curves({name: series[name] for name in order}, used)
    return (data + pending_axis(figures) + value_axis(series) +
            f"set ylabel 'ns per operation'\nset title {quoted(title)}\n" + plot)


def cost_plot(result, place, suite, case, name_of=lambda figure: figure["of"]):
    """A log-log panel for each kind of operation, over the number pending."""
    panels, used = [], {}
    for what in OPERATIONS:
        figures = [figure for figure in chosen(result, place=place["name"], suite=suite,
                                               what=what, unit="ns", case=case)
                   if figure["median"] > 0 and figure["pending"] > 0 and figure["min"] > 0]
        if figures:
            panels.append(cost_panel(figures, title_of(what), used, name_of))
    if not panels:
        return None
    title = quoted(f"{suite}: cost of an operation; median, minimum and maximum\n"
                   + label_of(place, result["machine"]))
    script = PREAMBLE.format(width=1080, height=400 * ((len(panels) + 1) // 2) + 60)
    return (script + f"set multiplot layout {(len(panels) + 1) // 2},2 title "
            + title + f" font ',14' textcolor rgb '{INK}'\n"
            + "".join(panels) + "unset multiplot\n")


def horizon_ns(case):
    """Parse a case such as 10ms or 1s; None for other cases."""
    for unit, ns in (("ms", 10 ** 6), ("us", 1000), ("min", 60 * 10 ** 9), ("h", 3600 * 10 ** 9),
                     ("s", 10 ** 9)):
        if case.endswith(unit) and case[:-len(unit)].isdigit():
            return int(case[:-len(unit)]) * ns
    return None


def lateness_plot(result, place):
    """p99, with p50 and the maximum, over the time to expiry, log-log."""
    figures = [figure for figure in chosen(result, place=place["name"], suite="lateness",
                                           unit="us", what=("p50", "p99", "max"))
               if horizon_ns(figure["case"]) and figure["of"] not in ("twheel_op", "wakeup")]
    cases = sorted(in_order(figures, "case"), key=horizon_ns)
    if len(cases) < 2:
        return None
    tics = ", ".join(f"{quoted(case)} {horizon_ns(case)}" for case in cases)
    script = PREAMBLE.format(width=900, height=520)
    script += f"set logscale x\nset xtics ({tics})\n"
    script += f"set xrange [{horizon_ns(cases[0]) / 2}:{horizon_ns(cases[-1]) * 2}]\n"
    script += "set xlabel 'time to expiry'\nset ylabel 'lateness, us'\n"
    title = ("lateness: p99, with bars from p50 to the maximum\n"
             + label_of(place, result["machine"]))
    script += "set title " + quoted(title) + "\n"
    series = {}
    for of in sorted(in_order(figures, "of"), key=lambda name: (not is_ours(name), name)):
        for case in cases:
            by_what = {figure["what"]: max(figure["median"], 0.1) for figure in figures
                       if figure["of"] == of and figure["case"] == case}
            if len(by_what) == 3:
                series.setdefault(of, []).append((horizon_ns(case), by_what["p99"],
                                                  by_what["p50"], by_what["max"]))
    if not series:
        return None
    data, plot = curves(series, {})
    return script + value_axis(series) + data + plot


def bar_name(figure):
    case = "" if figure["case"] in ("-", "kmem_cache") else f" {figure['case']}"
    return f"{figure['of']}{case}"


def memory_plot(result, place):
    """Bytes of a pending object; each contender at its largest measured number."""
    bars = {}
    for figure in chosen(result, place=place["name"], what="bytes", unit="bytes"):
        name = bar_name(figure)
        if figure["case"] in ("sizeof", "kmalloc"):
            continue
        if name not in bars or figure["pending"] >= bars[name]["pending"]:
            bars[name] = figure
    if not bars:
        return None
    rows = sorted(bars.items(), key=lambda bar: bar[1]["median"])
    script = PREAMBLE.format(width=900, height=120 + 34 * len(rows))
    script += "unset key\nset style fill solid 1.0 noborder\nset grid noytics xtics\n"
    script += "set ytics scale 0\n"
    script += "set xlabel 'bytes of kernel memory per pending object'\nset xrange [0:*]\n"
    script += f"set yrange [-0.6:{len(rows) - 0.4}] reverse\nset title "
    script += quoted(f"memory\n{label_of(place, result['machine'])}") + "\n"
    script += block("bars", [(i, bar["median"], quoted(name), quoted(short(bar["median"])),
                              int(COLOURS.get(bar["of"], SPARE[0])[1:], 16))
                             for i, (name, bar) in enumerate(rows)])
    return script + ("plot $bars using (0.5*$2):1:(0.5*$2):(0.35):5:ytic(3) "
                     "with boxxyerror lc rgb variable, \\\n    $bars using 2:1:4 with labels "
                     f"left offset 0.5,0 textcolor rgb '{INK}'\n")


def device_name(figure):
    if figure["of"] in ("twheel", "io_uring"):
        return f"{figure['of']} {figure['case']}"
    return figure["of"]


def purgatory_plot(result, place):
    """The cost of an operation with three keys, by figure: there is no peer in the kernel."""
    figures = [figure for figure in chosen(result, place=place["name"], suite="purgatory",
                                           case="keys3", unit="ns", of=("twheel", "twheel_op"))
               if figure["min"] > 0 and figure["pending"] > 0]
    if not figures:
        return None
    title = f"purgatory: an operation with 3 keys\n{label_of(place, result['machine'])}"
    return (PREAMBLE.format(width=900, height=520)
            + cost_panel(figures, title, {}, lambda figure: figure["what"]))


def scripts(result):
    """The gnuplot scripts by name of the plot."""
    found = {}
    for place in result["places"]:
        at = place["name"].replace(".", "_")
        found[f"timer-{at}"] = cost_plot(result, place, "timer",
                                         ("mixed", "heartbeat", "burst"))
        found[f"purgatory-{at}"] = purgatory_plot(result, place)
        found[f"device-{at}"] = cost_plot(result, place, "device",
                                          ("single", "batch64", "batch1024"), device_name)
        found[f"lateness-{at}"] = lateness_plot(result, place)
        found[f"memory-{at}"] = memory_plot(result, place)
    return {name: script for name, script in found.items() if script}
