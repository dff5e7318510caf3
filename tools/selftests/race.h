/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests that let threads race on one /dev/twheel: starting them at the
 * same moment, the operations that they race for, and a fixture that looks at
 * the counts when all is over.
 */
#ifndef _TWHEEL_RACE_H
#define _TWHEEL_RACE_H

#include <sched.h>
#include "selftest.h"

#define NR_OPS		200
#define NR_ROUNDS	rounds(20)
#define NR_RACERS	3

struct race_op {
	__u64 id;
	int cancelled;		/* what each call answered */
	int completed;
	long signalled;
	int nr_events;
	struct twheel_event event;
};

static struct {
	int fd;
	pthread_barrier_t start;
	void (*job)(int who);
	struct race_op op[NR_OPS];
} race;

FIXTURE(race) {
	int fd;
};

FIXTURE_SETUP(race)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	if (query(self->fd).max_pending < NR_OPS)
		SKIP(return, "max_pending is below %d", NR_OPS);
	race.fd = self->fd;
	ASSERT_EQ(0, pthread_barrier_init(&race.start, NULL, NR_RACERS));
}

FIXTURE_TEARDOWN(race)
{
	struct twheel_query_args q = query(self->fd);

	EXPECT_EQ(0, q.pending);
	EXPECT_EQ(0, q.unread);
	EXPECT_EQ(0, q.keys);
	EXPECT_EQ(0, q.watches);
	EXPECT_EQ(0, q.rejected);
	EXPECT_EQ(q.added, q.completed + q.expired + q.cancelled);
	close(self->fd);
}

static inline void *racer(void *who)
{
	pthread_barrier_wait(&race.start);
	race.job((long)who);
	return NULL;
}

/* Let job(0) to job(NR_RACERS - 1) start at the same moment. */
static inline bool start_race(void (*job)(int who), pthread_t threads[NR_RACERS])
{
	long who;

	race.job = job;
	for (who = 0; who < NR_RACERS; who++)
		if (pthread_create(&threads[who], NULL, racer, (void *)who))
			return false;
	return true;
}

static inline void end_race(pthread_t threads[NR_RACERS])
{
	int who;

	for (who = 0; who < NR_RACERS; who++)
		pthread_join(threads[who], NULL);
}

static inline bool run_race(void (*job)(int who))
{
	pthread_t threads[NR_RACERS];

	if (!start_race(job, threads))
		return false;
	end_race(threads);
	return true;
}

/* Read until all of race.op have their event: false if that takes too long. */
static inline bool collect_events(void)
{
	struct twheel_event event;
	int left = NR_OPS;

	while (left--) {
		if (!next_event(race.fd, &event) || event.cookie >= NR_OPS)
			return false;
		race.op[event.cookie].event = event;
		race.op[event.cookie].nr_events++;
	}
	return !readable(race.fd, 0);
}

/* Each with a key of its own and a deadline at some time from @from to @to. */
static inline bool add_race_ops(__u64 from, __u64 to)
{
	struct twheel_watch_spec spec;
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME,
		.condition = TWHEEL_COND_ANY,
		.nr_keys = 1,
		.keys = (__u64)(unsigned long)&spec,
	};
	int i;

	memset(race.op, 0, sizeof(race.op));
	for (i = 0; i < NR_OPS; i++) {
		spec = spec_of(i, 1);
		args.deadline = from + random() % (to - from);
		args.cookie = i;
		if (op_add(race.fd, &args))
			return false;
		race.op[i].id = args.id;
	}
	return true;
}

#endif /* _TWHEEL_RACE_H */
