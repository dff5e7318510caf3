// SPDX-License-Identifier: GPL-2.0
/*
 * Three threads and the reapers race to end the same operations. Every operation ends exactly
 * once, exactly one call reports that it ended it, and the event agrees with that call.
 *
 * The threads share a named purgatory, but use two files and two users: every second
 * operation is added through the second file for another user, and every second thread
 * makes its calls as that user on that file.
 */
#include <sched.h>
#include "named.h"

#define NR_OPS		200
#define NR_ROUNDS	rounds(20)
#define NR_RACERS	3
#define RACE_NAME	"race"

struct race_op {
	__u64 id;
	int cancelled;		/* results of the calls */
	int completed;
	long signalled;
	int nr_events;
	struct twheel_event event;
};

static struct {
	int files[2];
	pthread_barrier_t start;
	struct race_op op[NR_OPS];
} race;

FIXTURE(race) {
};

FIXTURE_VARIANT(race) {
	bool read_meanwhile;
};

FIXTURE_VARIANT_ADD(race, read_meanwhile) {
	.read_meanwhile = true,
};

FIXTURE_VARIANT_ADD(race, read_afterwards) {
	.read_meanwhile = false,
};

FIXTURE_SETUP(race)
{
	remove_all_named();
	ASSERT_EQ(0, create_named(RACE_NAME, 0666));
	race.files[0] = twheel_open_named(RACE_NAME, O_NONBLOCK);
	race.files[1] = twheel_open_named(RACE_NAME, O_NONBLOCK);
	ASSERT_LE(0, race.files[0]);
	ASSERT_LE(0, race.files[1]);
	if (query(race.files[0]).max_file_pending < NR_OPS)
		SKIP(return, "max_pending is below %d", NR_OPS);
	ASSERT_EQ(0, pthread_barrier_init(&race.start, NULL, NR_RACERS));
}

FIXTURE_TEARDOWN(race)
{
	struct twheel_query_args q = query(race.files[0]);

	EXPECT_EQ(0, q.pending);
	EXPECT_EQ(0, q.unread);
	EXPECT_EQ(0, query(race.files[1]).unread);
	EXPECT_EQ(0, q.keys);
	EXPECT_EQ(0, q.watches);
	EXPECT_EQ(0, q.rejected);
	EXPECT_EQ(q.added, q.completed + q.expired + q.cancelled);
	close(race.files[0]);
	close(race.files[1]);
	remove_all_named();
}

/* The file of a thread. */
static int file_of(int me)
{
	return race.files[me % 2];
}

/* Read the events of all of race.op. Return: false after a timeout. */
static bool collect_events(void)
{
	struct twheel_event event;
	int left = NR_OPS;

	while (left--) {
		if (!next_event_of_two(race.files, &event) || event.cookie >= NR_OPS)
			return false;
		race.op[event.cookie].event = event;
		race.op[event.cookie].nr_events++;
	}
	return !readable(race.files[0], 0) && !readable(race.files[1], 0);
}

/* Add operations, each with its own key and a deadline between @from and @to. */
static bool add_race_ops(__u64 from, __u64 to)
{
	struct twheel_watch_spec spec;
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_MONOTONIC,
		.condition = TWHEEL_COND_ANY,
		.nr_keys = 1,
		.key_size = sizeof(struct twheel_watch_spec),
		.keys = address(&spec),
	};
	int i;

	memset(race.op, 0, sizeof(race.op));
	for (i = 0; i < NR_OPS; i++) {
		spec = spec_of(i, 1);
		args.deadline = from + random() % (to - from);
		args.cookie = i;
		if (!act_for(i % 2 ? STRANGER : 0) || op_add(file_of(i), &args))
			return false;
		race.op[i].id = args.id;
	}
	return act_for(0);
}

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

static void *racer(void *me)
{
	/* On failure, all operations belong to one user. */
	act_for((long)me % 2 ? STRANGER : 0);
	pthread_barrier_wait(&race.start);
	end_all((long)me);
	return NULL;
}

/* Start end_all(0) to end_all(NR_RACERS - 1) simultaneously. */
static bool start_race(pthread_t threads[NR_RACERS])
{
	long me;

	for (me = 0; me < NR_RACERS; me++)
		if (pthread_create(&threads[me], NULL, racer, (void *)me))
			return false;
	return true;
}

static void end_race(pthread_t threads[NR_RACERS])
{
	int me;

	for (me = 0; me < NR_RACERS; me++)
		pthread_join(threads[me], NULL);
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
		if (errors[i] && errors[i] != ENOENT)
			return false;
	return op->signalled == 0 || op->signalled == 1;
}

/* Return: true if each side has won some of the races. */
static bool all_have_won(const unsigned int *ended)
{
	return ended[TWHEEL_REASON_COMPLETED] && ended[TWHEEL_REASON_EXPIRED] &&
	       ended[TWHEEL_REASON_CANCELLED];
}

TEST_F(race, exactly_one_call_wins)
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
		ASSERT_TRUE(start_race(threads));
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
	q = query(race.files[0]);
	EXPECT_EQ(round * NR_OPS, q.added);
	EXPECT_EQ(ended[TWHEEL_REASON_COMPLETED], q.completed);
	EXPECT_EQ(ended[TWHEEL_REASON_EXPIRED], q.expired);
	EXPECT_EQ(ended[TWHEEL_REASON_CANCELLED], q.cancelled);
	/* On a single CPU the threads may run one after the other. */
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		EXPECT_TRUE(all_have_won(ended));
}

TEST_HARNESS_MAIN
