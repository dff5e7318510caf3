/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests with racing threads: starting threads simultaneously, the operations of
 * a race, and a fixture that checks the counts at the end.
 *
 * The threads share a named purgatory, but use two files and two users: every second
 * operation is added through the second file for another user, and every second thread
 * makes its calls as that user on that file.
 */
#ifndef _TWHEEL_RACE_H
#define _TWHEEL_RACE_H

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
	int fd;			/* the first of @files */
	int files[2];
	pthread_barrier_t start;
	void (*job)(int me);
	struct race_op op[NR_OPS];
} race;

FIXTURE(race) {
	int fd;
};

FIXTURE_SETUP(race)
{
	remove_all_named();
	ASSERT_EQ(0, create_named(RACE_NAME, 0666));
	race.files[0] = twheel_open_named(RACE_NAME, O_NONBLOCK);
	race.files[1] = twheel_open_named(RACE_NAME, O_NONBLOCK);
	ASSERT_LE(0, race.files[0]);
	ASSERT_LE(0, race.files[1]);
	self->fd = race.files[0];
	race.fd = self->fd;
	if (query(self->fd).max_file_pending < NR_OPS)
		SKIP(return, "max_pending is below %d", NR_OPS);
	ASSERT_EQ(0, pthread_barrier_init(&race.start, NULL, NR_RACERS));
}

FIXTURE_TEARDOWN(race)
{
	struct twheel_query_args q = query(self->fd);

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
static inline int file_of(int me)
{
	return race.files[me % 2];
}

static inline void *racer(void *me)
{
	/* On failure, all operations belong to one user. */
	act_for((long)me % 2 ? STRANGER : 0);
	pthread_barrier_wait(&race.start);
	race.job((long)me);
	return NULL;
}

/* Start job(0) to job(NR_RACERS - 1) simultaneously. */
static inline bool start_race(void (*job)(int me), pthread_t threads[NR_RACERS])
{
	long me;

	race.job = job;
	for (me = 0; me < NR_RACERS; me++)
		if (pthread_create(&threads[me], NULL, racer, (void *)me))
			return false;
	return true;
}

static inline void end_race(pthread_t threads[NR_RACERS])
{
	int me;

	for (me = 0; me < NR_RACERS; me++)
		pthread_join(threads[me], NULL);
}

static inline bool run_race(void (*job)(int me))
{
	pthread_t threads[NR_RACERS];

	if (!start_race(job, threads))
		return false;
	end_race(threads);
	return true;
}

/* Read the events of all of race.op. Return: false after a timeout. */
static inline bool collect_events(void)
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
static inline bool add_race_ops(__u64 from, __u64 to)
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

#endif /* _TWHEEL_RACE_H */
