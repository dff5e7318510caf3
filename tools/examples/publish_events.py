# SPDX-License-Identifier: GPL-2.0
"""
Publish the jobs of a purgatory that are due:

    publish_events.py FILE PURGATORY SUBJECT

A job is a detached operation with a period, so its event comes again until the operation has ended.
It ends after the acknowledgement of the stream, so no job is lost with a killed worker. One that is
published twice has the same message id, so the stream stores it once.
"""

import sys

from publish import main as publish
from twheel import Purgatory


def main(path: str, name: str, subject: str) -> None:
    with Purgatory(name) as purgatory, purgatory.events() as queue:
        while True:
            for event in queue.read():
                if event.more:
                    publish(path, subject, f"{name}.{event.id}.{event.cookie}", str(event.cookie))
                    purgatory.complete(event.id)


main(*sys.argv[1:])
