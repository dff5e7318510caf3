# SPDX-License-Identifier: GPL-2.0
"""
Groups, with the tests' own client: rebalances and sessions, see test_waiting.py about their times,
and members that are connected to different workers.
"""

import os
import signal
import subprocess
import time
import unittest

import observe
import wire
from cluster import LEADER, Cluster
from test_waiting import MS, NEVER_MS, Timed

MEMBERS = 1000
# Each member sends this number of heartbeats.
HEARTBEATS = 3


class WithGroup(Timed):
    DELAY_MS = 0
    WORKERS = 3

    def setUp(self):
        self.cluster = Cluster(topics={"topic": 2}, workers=self.WORKERS, followers=0,
                               delay_ms=self.DELAY_MS)
        self.addCleanup(self.cluster.stop)

    def member(self, connection=None, **options):
        options.setdefault("session_ms", 1800 * 1000)
        options.setdefault("rebalance_ms", NEVER_MS)
        return wire.Member(connection or self.cluster.connect(self), **options)

    def waits(self, kind, number):
        self.cluster.eventually(lambda: self.cluster.waits(kind) == number)

    def form(self, *members):
        """Join all members, in one generation."""
        for member in members:
            member.send_join()
            if member is not members[0]:
                # The group is stable.
                self.waits("join:", 1)
                for other in members[:members.index(member)]:
                    other.send_join()
                for other in members[:members.index(member)]:
                    other.joined()
            member.joined()
            joined = members[:members.index(member) + 1]
            for other in joined:
                other.send_sync()
            for other in joined:
                other.synced()
        for member in members:
            self.assertEqual((member.error, member.assignment), (0, member.id.encode()))

    def rejoin(self, leader, *others):
        """Rebalance a stable group, which only its leader can start by a join."""
        leader.send_join()
        self.waits("join:", 1)
        for member in others:
            member.send_join()
        for member in leader, *others:
            member.joined()


class Rebalance(WithGroup):
    def test_member_gets_its_assignment_when_the_leader_syncs(self):
        first, second = self.member(), self.member()
        self.form(first)
        second.send_join()
        self.waits("join:", 1)
        self.assertEqual(first.heartbeat(), wire.REBALANCE_IN_PROGRESS)
        self.assertFalse(second.connection.readable(0.5))
        first.join()
        second.joined()
        self.assertEqual((first.leader, second.leader), (True, False))
        self.assertEqual(set(first.members), {first.id, second.id})
        self.assertEqual(first.generation, second.generation)
        second.send_sync()
        self.waits("assign:", 1)
        self.assertFalse(second.connection.readable(0.5))
        first.sync()
        second.synced()
        self.assertEqual(second.assignment, second.id.encode())
        self.assertEqual((first.heartbeat(), second.heartbeat()), (0, 0))

    def test_rebalance_ends_at_its_timeout_without_a_missing_member(self):
        first, second = self.member(rebalance_ms=1500), self.member(rebalance_ms=1000)
        self.form(first)
        sent = second.send_join()
        self.assert_waited(1500, sent, second.joined())
        self.assertEqual((second.leader, second.members), (True, [second.id]))
        self.assertEqual(first.heartbeat(), wire.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.cluster.waits("session:"), 1)

    def test_rebalance_ends_when_the_last_missing_member_leaves(self):
        first, second = self.member(), self.member()
        self.form(first)
        second.send_join()
        self.waits("join:", 1)
        self.assertEqual(first.leave(), 0)
        second.joined()
        self.assertEqual((second.leader, second.members), (True, [second.id]))

    def test_waiting_sync_is_answered_when_another_member_joins(self):
        first, second, third = self.member(), self.member(), self.member()
        self.form(first, second)
        self.rejoin(first, second)
        second.send_sync()
        self.waits("assign:", 1)
        third.send_join()
        second.synced()
        self.assertEqual(second.error, wire.REBALANCE_IN_PROGRESS)

    def test_heartbeats_do_not_replace_a_sync(self):
        first, second = self.member(rebalance_ms=2000), self.member(rebalance_ms=2000)
        self.form(first, second)
        self.rejoin(first, second)
        joined = time.monotonic_ns()
        first.sync()
        while not first.heartbeat():
            self.assertEqual(second.heartbeat(), 0)
            time.sleep(0.2)
        self.assertGreaterEqual(time.monotonic_ns() - joined, 1500 * MS)
        self.assertEqual(second.heartbeat(), wire.UNKNOWN_MEMBER_ID)

    def test_sync_is_not_answered_before_the_rebalance_timeout_without_a_leader(self):
        first, second = self.member(rebalance_ms=2000), self.member(rebalance_ms=2000)
        self.form(first, second)
        start = time.monotonic_ns()
        self.rejoin(first, second)
        second.send_sync()
        self.assertGreaterEqual(second.synced().arrived - start, 2000 * MS)
        self.assertEqual(second.error, wire.REBALANCE_IN_PROGRESS)

    def test_closed_connection_of_a_new_member_ends_its_join(self):
        first, second = self.member(), self.member()
        self.form(first)
        second.send_join()
        self.waits("join:", 1)
        second.connection.close()
        self.waits("join:", 0)
        self.waits("session:", 1)
        first.join()
        self.assertEqual(first.members, [first.id])


class InitialDelay(WithGroup):
    DELAY_MS = 1000

    def test_first_rebalance_is_not_over_before_the_initial_delay(self):
        member = self.member()
        sent = member.send_join()
        self.assert_waited(1000, sent, member.joined())

    def test_further_members_extend_the_first_rebalance_up_to_its_timeout(self):
        first, second = self.member(rebalance_ms=1500), self.member()
        sent = first.send_join()
        time.sleep(0.7)
        second.send_join()
        self.assert_waited(1500, sent, first.joined())
        second.joined()
        self.assertEqual(first.generation, second.generation)


class Session(WithGroup):
    def test_session_ends_without_heartbeats_and_not_before(self):
        first, second = self.member(), self.member(session_ms=2000)
        self.form(first, second)
        for _ in range(4):
            time.sleep(1)
            self.assertEqual(second.heartbeat(), 0)
        sent = time.monotonic_ns()
        self.assertEqual(second.heartbeat(), 0)
        # All members but one have joined.
        first.send_join()
        self.assert_waited(2000, sent, first.joined())
        self.assertEqual(first.members, [first.id])
        self.assertEqual(second.heartbeat(), wire.UNKNOWN_MEMBER_ID)

    def test_commits_count_as_heartbeats(self):
        member = self.member(session_ms=2000)
        self.form(member)
        for offset in range(4):
            time.sleep(1)
            self.assertEqual(member.commit("topic", 0, offset), 0)
        self.assertEqual(member.heartbeat(), 0)

    def test_session_does_not_end_while_a_join_waits(self):
        first, second = self.member(), self.member(session_ms=1000)
        self.form(first)
        second.send_join()
        self.assertFalse(second.connection.readable(3))
        first.join()
        second.joined()
        self.assertEqual((first.error, second.error), (0, 0))
        self.assertEqual(len(first.members + second.members), 2)


class Workers(WithGroup):
    """Members that are connected to different workers."""

    def setUp(self):
        super().setUp()
        self.workers = self.cluster.connect_to_each_worker(self)
        self.members = [self.member(connection) for connection in self.workers.values()]

    def test_members_of_a_killed_worker_go_on_in_their_sessions(self):
        self.form(*self.members)
        killed, lost = next(iter(self.workers)), self.members[0]
        os.kill(killed, signal.SIGKILL)
        self.assertTrue(lost.connection.closed())
        lost.connection = self.cluster.connect(self)
        self.assertEqual([member.heartbeat() for member in self.members], [0, 0, 0])
        self.cluster.eventually(lambda: len(self.cluster.workers()) == 3)

    def test_killed_worker_takes_the_requests_that_wait_with_it(self):
        new, first, second = self.members
        first.session_ms = second.session_ms = 2000
        self.form(first, second)
        new.send_join()
        self.waits("join:", 1)
        os.kill(next(iter(self.workers)), signal.SIGKILL)
        self.assertTrue(new.connection.closed())
        # The group does not wait for the new member.
        self.cluster.eventually(lambda: self.cluster.waits("session:") == 2)
        self.rejoin(first, second)
        self.assertEqual(set(first.members), {first.id, second.id})

    def test_session_ends_although_its_worker_was_killed(self):
        lost, first, second = self.members
        lost.session_ms = 2000
        self.form(first, second, lost)
        os.kill(next(iter(self.workers)), signal.SIGKILL)
        self.assertTrue(lost.connection.closed())
        self.rejoin(first, second)
        self.assertEqual(set(first.members), {first.id, second.id})

    def test_request_that_waits_is_answered_when_its_member_sends_another_one(self):
        """To another worker. The first request is answered at once: nothing else ends it."""
        first, second, again = self.members
        self.form(second, first)
        second.send_join()
        self.waits("join:", 1)
        again.id = second.id
        again.send_join()
        second.joined()
        self.assertEqual(second.error, wire.REBALANCE_IN_PROGRESS)
        first.send_join()
        for member in again, first:
            member.joined()
            self.assertEqual(member.error, 0)
        self.assertTrue(again.leader)
        first.send_sync()
        self.waits("assign:", 1)
        second.id, second.generation = first.id, first.generation
        second.members = []
        second.send_sync()
        first.synced()
        self.assertEqual(first.error, wire.REBALANCE_IN_PROGRESS)
        again.sync()
        second.synced()
        self.assertEqual((second.error, second.assignment), (0, first.id.encode()))


class Limit(unittest.TestCase):
    def test_member_whose_session_is_refused_does_not_delay_its_group(self):
        subprocess.run(["twheelctl", "create", "narrow-1", "--max-pending", "1"], check=True)
        cluster = Cluster(topics={"topic": 1}, followers=0, purgatory="narrow")
        self.addCleanup(cluster.stop)
        first, second = (wire.Member(cluster.connect(self)) for _ in range(2))
        first.join()
        first.sync()
        self.assertEqual(first.error, 0)
        second.send_join()
        self.assertTrue(second.connection.closed())
        first.join()
        self.assertEqual((first.error, first.members), (0, [first.id]))


class Idle(WithGroup):
    """1,000 members, which only send heartbeats."""

    WORKERS = 1

    def test_members_cost_no_wakeup_beyond_their_heartbeats(self):
        members = [self.member(session_ms=1800 * 1000) for _ in range(MEMBERS)]
        self.form(members[0])
        for member in members[1:]:
            member.send_join()
        self.waits("join:", MEMBERS - 1)
        members[0].join()
        for member in members[1:]:
            member.joined()
        leader, = [member for member in members if member.leader]
        self.assertEqual(len(leader.members), MEMBERS)
        for member in members:
            if member is not leader:
                member.send_sync()
        leader.sync()
        for member in members:
            if member is not leader:
                member.synced()
            self.assertEqual(member.error, 0)
        worker, = self.cluster.workers()
        others = [self.cluster.running[LEADER].pid, *observe.named("twheel-")]
        before = observe.settled(others)
        sleeps = observe.sleeps(worker)
        for _ in range(HEARTBEATS):
            for member in members:
                self.assertEqual(member.heartbeat(), 0)
        self.assertLessEqual(observe.sleeps(worker) - sleeps, HEARTBEATS * MEMBERS)
        self.assertEqual(observe.settled(others), before)
        # And none at all without heartbeats.
        before = observe.settled([worker, *others])
        time.sleep(5)
        self.assertEqual(observe.settled([worker, *others]), before)
