# SPDX-License-Identifier: GPL-2.0
"""The transcripts in Documentation/broker.rst: commands and their output, as in a shell."""

import collections
import pathlib
import re
import subprocess
import unittest

from cluster import Cluster


def masked(text):
    """IDs and times differ from run to run."""
    return re.sub(r"(?m)^\d+ +\d+(\.\d+)? \w+ +", "NNN           NN.NNN s        ", text)


class Shell:
    """Runs commands in a shell, and writes them down with their output."""

    def __init__(self):
        self.text = ""

    def run(self, command):
        done = subprocess.run(command, shell=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return f"$ {command}\n{masked(done.stdout)}"

    def __call__(self, command):
        self.text += self.run(command)

    def when(self, condition, command):
        """Repeat the command until its output is as wanted, and write that down."""
        def wanted():
            nonlocal text
            text = self.run(command)
            return condition(text)

        text = ""
        Cluster.eventually(wanted)
        self.text += text

    def start(self, command, shown=None):
        """Start a command in the background; ended() writes down its output."""
        self.text += f"$ {shown or command} &\n"
        return subprocess.Popen(command, shell=True, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def ended(self, process):
        self.text += process.communicate(timeout=300)[0]


def rows(**wanted):
    """A condition on the output of twheelctl list: the number of operations of each kind."""
    def condition(text):
        return collections.Counter(re.findall(r" (\w+):\d+$", text, re.M)) == wanted

    return condition


class Transcript(unittest.TestCase):
    def check(self, shell, name):
        self.maxDiff = None
        self.assertEqual(shell.text, pathlib.Path(__file__).with_name(name).read_text())

    def test_transcript_of_kcat_holds(self):
        cluster = Cluster(topics={"orders": 1}, min_insync={"orders": 2}, port=9092,
                          purgatory="broker")
        self.addCleanup(cluster.stop)
        shell = Shell()
        shell("printf 'first\\nsecond\\n' | kcat -P -b 127.0.0.1:9092 -t orders -X acks=all")
        shell("kcat -C -b 127.0.0.1:9092 -t orders -o beginning -e -q -f '%o %s\\n'")
        consumer = shell.start("kcat -C -b 127.0.0.1:9092 -t orders -o 2 -c 1 "
                               "-X fetch.wait.max.ms=50000 -f '%o %s\\n'")
        shell.when(rows(copy=2, read=1, lease=2), "twheelctl -p broker-1 list | sort -k 6")
        shell.text += "$ kill -STOP $FOLLOWER\n"
        cluster.pause(3)
        producer = shell.start("echo third | kcat -P -b 127.0.0.1:9092 -t orders -X acks=all")
        shell.when(rows(copy=1, read=1, acks=1, lease=2), "twheelctl -p broker-1 list | sort -k 6")
        shell.text += "$ kill -CONT $FOLLOWER\n"
        cluster.resume(3)
        shell.ended(producer)
        shell.ended(consumer)
        # Now and then a follower has no fetch that waits.
        shell.when(re.compile("^broker-1 +4 ", re.M).search, "twheelctl list")
        self.check(shell, "transcript.txt")

    def test_transcript_of_a_group_holds(self):
        cluster = Cluster(topics={"orders": 2}, followers=0, port=9092, purgatory="broker",
                          delay_ms=3000)
        self.addCleanup(cluster.stop)
        shell = Shell()
        command = "twheelctl -p broker-1 list | grep -v read: | sort -k 6"
        consumer = "kcat -q -G readers -b 127.0.0.1:9092 orders"
        first = shell.start(f"exec {consumer}", consumer)
        self.addCleanup(first.kill)
        shell.when(rows(join=1, session=1), command)
        shell.when(rows(session=1), command)
        second = shell.start(f"exec {consumer}", consumer)
        self.addCleanup(second.kill)
        shell.when(rows(join=1, session=2), command)
        shell.when(rows(session=2), command)
        shell.text += "$ kill -KILL %1\n"
        first.kill()
        shell.when(rows(session=2), command)
        shell.when(rows(session=1), command)
        self.check(shell, "transcript-group.txt")
