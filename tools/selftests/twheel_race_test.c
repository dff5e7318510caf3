// SPDX-License-Identifier: GPL-2.0
/*
 * Three threads and the reapers race to end the same operations, of two users and two
 * files. Every operation ends exactly once, exactly one call reports that it ended it,
 * and the event agrees with that call.
 */
#include "race.h"

/* Values of the events, which identify the calls. */
#define BY_SIGNAL	1001
#define BY_COMPLETE	1002

/* The threads start at the first, the last and the middle operation: each wins some races. */
static void end_all(int me)
{
	int i;

	for (i = 0; i < NR_OPS; i++) {
		struct race_op *up = &race.op[i];
		struct race_op *down = &race.op[NR_OPS - 1 - i];
		int middle = (i + NR_OPS / 2) % NR_OPS;

		if (me == 0)
			up->cancelled = op_cancel(file_of(me), up->id);
		if (me == 1)
			down->completed = op_complete(file_of(me), down->id, BY_COMPLETE);
		if (me == 2)
			race.op[middle].signalled = key_signal(file_of(me), middle, BY_SIGNAL);
	}
}

/* Return: true if exactly one call or the deadline won, and the event agrees. */
static bool consistent(const struct race_op *op)
{
	const struct twheel_event *event = &op->event;
	int winners = (op->cancelled == 0) + (op->completed == 0) + (op->signalled == 1);

	if (op->nr_events != 1 || event->id != op->id)
		return false;
	switch (event->reason) {
	case TWHEEL_REASON_EXPIRED:
		return winners == 0 && event->value == 0 &&
		       event->time >= event->deadline;
	case TWHEEL_REASON_CANCELLED:
		return winners == 1 && op->cancelled == 0 && event->value == 0;
	case TWHEEL_REASON_COMPLETED:
		if (event->value == BY_SIGNAL)
			return winners == 1 && op->signalled == 1;
		return winners == 1 && op->completed == 0 &&
		       event->value == BY_COMPLETE;
	}
	return false;
}

/* Return: true if the other calls failed. */
static bool lost_properly(const struct race_op *op)
{
	int errors[] = { op->cancelled, op->completed };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i] && errors[i] != EALREADY)
			return false;
	return op->signalled == 0 || op->signalled == 1;
}

FIXTURE(contended) {
	FIXTURE_DATA(race) race;
};

FIXTURE_VARIANT(contended) {
	bool read_meanwhile;
};

FIXTURE_VARIANT_ADD(contended, read_meanwhile) {
	.read_meanwhile = true,
};

FIXTURE_VARIANT_ADD(contended, read_afterwards) {
	.read_meanwhile = false,
};

FIXTURE_SETUP(contended)
{
	race_setup(_metadata, &self->race, NULL);
}

FIXTURE_TEARDOWN(contended)
{
	race_teardown(_metadata, &self->race, NULL);
}

/* Return: true if each side has won some of the races. */
static bool all_have_won(const unsigned int *ended)
{
	return ended[TWHEEL_REASON_COMPLETED] && ended[TWHEEL_REASON_EXPIRED] &&
	       ended[TWHEEL_REASON_CANCELLED];
}

TEST_F(contended, exactly_one_call_wins)
{
	__u64 add_ns = 20 * MSEC, race_ns = 5 * MSEC, start, began;
	unsigned int ended[TWHEEL_REASON_CANCELLED + 1] = { 0 };
	struct twheel_query_args q;
	pthread_t threads[NR_RACERS];
	int round, i;

	/* A busy machine may need some more rounds. */
	for (round = 0; round < (all_have_won(ended) ? NR_ROUNDS : 10 * NR_ROUNDS); round++) {
		/* The deadlines expire during the race, if it takes as long as the last one. */
		began = now_ns();
		start = began + add_ns + add_ns / 4 + MSEC;
		ASSERT_TRUE(add_race_ops(start - race_ns / 4, start + race_ns));
		add_ns = now_ns() - began;
		while (now_ns() < start)
			sched_yield();

		began = now_ns();
		ASSERT_TRUE(start_race(end_all, threads));
		if (variant->read_meanwhile)
			ASSERT_TRUE(collect_events());
		end_race(threads);
		race_ns = now_ns() - began;
		if (!variant->read_meanwhile)
			ASSERT_TRUE(collect_events());

		for (i = 0; i < NR_OPS; i++) {
			struct race_op *op = &race.op[i];

			ASSERT_TRUE(consistent(op) && lost_properly(op))
				TH_LOG("%d/%d: %d events, reason %u value %llu; calls: %d %d %ld",
				       round, i, op->nr_events, op->event.reason,
				       op->event.value, op->cancelled, op->completed,
				       op->signalled);
			ended[op->event.reason]++;
		}
	}
	TH_LOG("%u completed, %u expired, %u cancelled", ended[TWHEEL_REASON_COMPLETED],
	       ended[TWHEEL_REASON_EXPIRED], ended[TWHEEL_REASON_CANCELLED]);
	q = query(race.fd);
	EXPECT_EQ(round * NR_OPS, q.added);
	EXPECT_EQ(ended[TWHEEL_REASON_COMPLETED], q.completed);
	EXPECT_EQ(ended[TWHEEL_REASON_EXPIRED], q.expired);
	EXPECT_EQ(ended[TWHEEL_REASON_CANCELLED], q.cancelled);
	/* On a single CPU the threads may run one after the other. */
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		EXPECT_TRUE(all_have_won(ended));
}

/*
 * Signals from several sides
 */

#define NR_SIGNALS	1000

static struct {
	long completed[NR_RACERS];
	__u64 value;		/* value of the signal that completed it */
} tally;

static void signal_one_key(int me)
{
	__u64 value;
	long nr;
	int i;

	for (i = 0; i < NR_SIGNALS; i++) {
		value = me * NR_SIGNALS + i;
		nr = key_signal(file_of(me), 1, value);
		if (nr > 0)
			tally.value = value;
		tally.completed[me] += nr;
	}
}

TEST_F(race, no_signal_is_lost)
{
	struct twheel_watch_spec exact = spec_of(1, NR_RACERS * NR_SIGNALS);
	struct twheel_watch_spec more = spec_of(1, NR_RACERS * NR_SIGNALS + 1);
	__u64 id = add_specs(self->fd, TWHEEL_COND_ALL, 0, &exact, 1);
	__u64 pending = add_specs(self->fd, TWHEEL_COND_ALL, 0, &more, 1);

	ASSERT_NE(0, id);
	ASSERT_NE(0, pending);
	ASSERT_TRUE(run_race(signal_one_key));
	EXPECT_EQ(1, tally.completed[0] + tally.completed[1] + tally.completed[2]);
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, tally.value);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_EQ(1, key_signal(self->fd, 1, 7));
	EXPECT_EVENT(self->fd, pending, TWHEEL_REASON_COMPLETED, 7);
}

TEST_HARNESS_MAIN
