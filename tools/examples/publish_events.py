# SPDX-License-Identifier: GPL-2.0
"""
Publish the jobs of a purgatory that are due:

    publish_events.py FILE PURGATORY SUBJECT

An event is confirmed after the acknowledgement of the stream, so no job is lost with a killed worker.
One that is published twice has the same message id, so the stream stores it once.
"""

import sys

from publish import main as publish
from twheel import Purgatory


def main(path: str, name: str, subject: str) -> None:
    with Purgatory(name) as purgatory, purgatory.events(confirm=True) as queue:
        while events := queue.read():
            for event in events:
                publish(path, subject, f"{name}.{event.id}.{event.cookie}", str(event.cookie))
                queue.confirm(event)


main(*sys.argv[1:])
