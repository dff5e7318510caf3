# SPDX-License-Identifier: GPL-2.0
"""
Sphinx extension: pictures of a timing wheel from recorded trace events.

    .. wheel-frames:: FILE [NUMBER]     a picture for each event, or only that of this number

The file has lines of the trace events twheel_timer_add, twheel_timer_cascade and
twheel_timer_fire, and comments that begin with #:

    # begin=16000 tick_ns=1000000 slots=20 levels=3
"""
import pathlib
import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

CELL, LEFT, TOP, ROW, WIDTH = 21, 98, 40, 46, 530
COLOURS = ("#0077b6", "#d1495b", "#2a9d8f", "#bc6c25")


class Recording:
    """The frames of a trace: a time, a sentence, and the place of each timer at that time."""

    def __init__(self, path):
        text = path.read_text(encoding="ascii")
        values = dict(re.findall(r"(\w+)=(\d+)", re.search(r"^# begin=.*", text, re.M)[0]))
        self.begin, self.tick_ns, self.slots, self.levels = (
            int(values[name]) for name in ("begin", "tick_ns", "slots", "levels"))
        self.names, self.frames, places = {}, [], {}
        for event, rest in re.findall(r"twheel_timer_(\w+): (.*)", text):
            fields = dict(re.findall(r"(\w+)=(\S+)", rest))
            timer = fields["timer"]
            if event == "add":
                places[timer] = int(fields["level"]), int(fields["slot"])
                self.names[timer] = int(fields["tick"]) - self.begin
                added = ", ".join(f"{self.ms(ticks)} on level {places[name][0]} in slot "
                                  f"{places[name][1]}" for name, ticks in self.names.items())
                self.frames = [(0, f"added: {added}", dict(places))]
                continue
            if event == "cascade":
                now = int(fields["now"]) - self.begin
                places[timer] = int(fields["to_level"]), int(fields["to_slot"])
                what = (f"{self.ms(self.names[timer])} moves from level {fields['level']} to "
                        f"level {places[timer][0]}, slot {places[timer][1]}")
            else:
                now = self.names[timer]
                del places[timer]
                what = f"{self.ms(now)} expires"
            self.frames.append((now, what, dict(places)))

    def ms(self, ticks):
        return f"{ticks * self.tick_ns / 1e6:g} ms"

    def row(self, level, now, places):
        """The slots of a level, the current one marked, and the timers in them."""
        y = TOP + level * ROW
        span = self.slots ** level
        yield (f'<text x="0" y="{y + 17}">level {level}</text>'
               f'<text x="0" y="{y + 32}" font-size="11">{self.ms(span)} a slot</text>')
        current = (self.begin + now) // span % self.slots
        for slot in range(self.slots):
            x = LEFT + slot * CELL
            fill = "#f2c14e" if slot == current else "#fff"
            yield (f'<rect x="{x}" y="{y}" width="{CELL}" height="24" fill="{fill}" '
                   f'stroke="#888"/><text x="{x + CELL / 2}" y="{y + 36}" font-size="9" '
                   f'text-anchor="middle">{slot}</text>')
        for at, (timer, ticks) in enumerate(self.names.items()):
            if places.get(timer, (-1, 0))[0] != level:
                continue
            x = LEFT + places[timer][1] * CELL
            yield (f'<rect x="{x}" y="{y}" width="{CELL}" height="24" fill="{COLOURS[at]}"/>'
                   f'<text x="{x + CELL / 2}" y="{y + 16}" font-size="10" fill="#fff" '
                   f'text-anchor="middle">{ticks}</text>')

    def svg(self, frame):
        now, what, places = frame
        rows = "".join(text for level in range(self.levels)
                       for text in self.row(level, now, places))
        title = f"{self.ms(now)}: {what}"
        return (f'<svg class="wheel-frame" viewBox="0 0 {WIDTH} {TOP + self.levels * ROW}" '
                f'role="img" aria-label="{title}" font-size="14" fill="#333">'
                f'<text x="0" y="18"><tspan font-weight="bold">{self.ms(now)}</tspan>: {what}'
                f'</text>{rows}</svg>')


class WheelFrames(SphinxDirective):
    required_arguments = 1
    optional_arguments = 1

    def run(self):
        name, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(name)
        recording = Recording(pathlib.Path(path))
        frames = recording.frames
        if len(self.arguments) > 1:
            frames = [frames[int(self.arguments[1])]]
        pictures = "".join(map(recording.svg, frames))
        return [nodes.raw("", f'<div class="wheel-frames">{pictures}</div>', format="html")]


def setup(app):
    app.add_directive("wheel-frames", WheelFrames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
