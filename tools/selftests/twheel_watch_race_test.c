// SPDX-License-Identifier: GPL-2.0
/*
 * Operations end while they are added, or while they start to watch more keys: no signal
 * is missed, and no watch is left behind.
 */
#include "race.h"

static struct {
	long completed[NR_RACERS];
	unsigned int failed;
	bool adding;
} tally;

/* The first thread adds, the others signal until each operation has ended. */
static void add_against_signals(int me)
{
	struct twheel_watch_spec spec;
	int i;

	if (me == 0) {
		for (i = 0; i < NR_OPS; i++) {
			spec = spec_of(i, 1);
			if (!add_specs(file_of(me), TWHEEL_COND_ALL, 0, &spec, 1))
				__atomic_add_fetch(&tally.failed, 1, __ATOMIC_RELAXED);
		}
		return;
	}
	for (i = me - 1; i < NR_OPS; i += NR_RACERS - 1) {
		if (!wait_for(key_signal(file_of(me), i, i) == 1))
			__atomic_add_fetch(&tally.failed, 1, __ATOMIC_RELAXED);
	}
}

TEST_F(race, add_against_signal_misses_nothing)
{
	struct twheel_event event;
	int i;

	ASSERT_TRUE(run_race(add_against_signals));
	EXPECT_EQ(0, tally.failed);
	for (i = 0; i < NR_OPS; i++)
		ASSERT_TRUE(next_event(self->fd, &event));
}

/* The first thread adds, the others signal the first key as soon as it is watched. */
static void add_many_keys_against_signals(int me)
{
	int i;

	if (me == 0) {
		for (i = 0; i < NR_OPS; i++)
			if (!add_keys(file_of(me), TWHEEL_COND_ANY, 0, TWHEEL_MAX_KEYS))
				__atomic_add_fetch(&tally.failed, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&tally.adding, false, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&tally.adding, __ATOMIC_ACQUIRE))
		tally.completed[me] += key_signal(file_of(me), 1, me);
}

TEST_F(race, add_that_ends_halfway_leaves_no_watch)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
	struct twheel_event event;
	int round, i;
	__u64 keeper;

	/* The other keys stay watched, so that a signal would find a watch left behind. */
	for (i = 0; i < TWHEEL_MAX_KEYS; i++)
		specs[i] = spec_of(i + 2, 1);
	keeper = add_specs(self->fd, TWHEEL_COND_ALL, 0, specs, TWHEEL_MAX_KEYS);
	ASSERT_NE(0, keeper);
	for (round = 0; round < NR_ROUNDS / 2; round++) {
		memset(&tally, 0, sizeof(tally));
		tally.adding = true;
		ASSERT_TRUE(run_race(add_many_keys_against_signals));
		ASSERT_EQ(0, tally.failed);
		ASSERT_EQ(NR_OPS - tally.completed[1] - tally.completed[2],
			  key_signal(self->fd, 1, 0));
		ASSERT_EQ(TWHEEL_MAX_KEYS, query(self->fd).watches);
		for (i = 0; i < NR_OPS; i++)
			ASSERT_TRUE(next_event(self->fd, &event));
	}
	for (i = 2; i <= TWHEEL_MAX_KEYS; i++)
		ASSERT_EQ(0, key_signal(self->fd, i, 0));
	EXPECT_EQ(0, op_cancel(self->fd, keeper));
	EXPECT_EVENT(self->fd, keeper, TWHEEL_REASON_CANCELLED, 0);
}

/* One thread watches more keys, one signals them, one cancels. */
static void watch_against_end(int me)
{
	struct twheel_watch_spec more;
	int i, error = 0;

	for (i = 0; i < NR_OPS; i++) {
		if (me == 0) {
			more = spec_of(NR_OPS + i, 1);
			error = op_watch(file_of(me), race.op[i].id, &more, 1);
		}
		if (me == 1)
			key_signal(file_of(me), NR_OPS + i, 1);
		if (me == 2 && i % 2)
			error = op_cancel(file_of(me), race.op[i].id);
		if (error && error != EALREADY)
			__atomic_add_fetch(&tally.failed, 1, __ATOMIC_RELAXED);
	}
}

TEST_F(race, watch_against_end_leaves_no_watch)
{
	int round, i;

	for (round = 0; round < NR_ROUNDS; round++) {
		ASSERT_TRUE(add_race_ops(now_ns() + HOUR, now_ns() + 2 * HOUR));
		ASSERT_TRUE(run_race(watch_against_end));
		ASSERT_EQ(0, tally.failed);
		/* Only the pending operations watch keys, two each. */
		ASSERT_EQ(2 * query(self->fd).pending, query(self->fd).watches);
		for (i = 0; i < NR_OPS; i++)
			op_cancel(self->fd, race.op[i].id);
		ASSERT_TRUE(collect_events());
		for (i = 0; i < NR_OPS; i++)
			ASSERT_EQ(1, race.op[i].nr_events);
		ASSERT_EQ(0, query(self->fd).watches);
		ASSERT_EQ(0, query(self->fd).keys);
	}
}

/* One thread watches a key, the others unwatch it immediately. */
static void watch_against_unwatch(int me)
{
	struct twheel_watch_spec more = spec_of(2, 1);
	int i, error;

	for (i = 0; me == 0 && i < rounds(50) * NR_OPS; i++) {
		error = op_watch(file_of(me), race.op[0].id, &more, 1);
		if (error)
			__atomic_add_fetch(&tally.failed, 1, __ATOMIC_RELAXED);
	}
	if (me == 0)
		__atomic_store_n(&tally.adding, false, __ATOMIC_RELEASE);
	while (__atomic_load_n(&tally.adding, __ATOMIC_ACQUIRE)) {
		error = op_unwatch(file_of(me), race.op[0].id, 2);
		if (error && error != ESRCH)
			__atomic_add_fetch(&tally.failed, 1, __ATOMIC_RELAXED);
	}
}

TEST_F(race, watch_races_with_unwatch)
{
	struct twheel_watch_spec spec = spec_of(1, 1);
	struct twheel_event event;
	int error;

	memset(&tally, 0, sizeof(tally));
	tally.adding = true;
	race.op[0].id = add_specs(self->fd, TWHEEL_COND_ANY, 0, &spec, 1);
	ASSERT_NE(0, race.op[0].id);
	ASSERT_TRUE(run_race(watch_against_unwatch));
	EXPECT_EQ(0, tally.failed);
	error = op_unwatch(self->fd, race.op[0].id, 2);
	EXPECT_TRUE(error == 0 || error == ESRCH);
	EXPECT_EQ(1, query(self->fd).watches);
	EXPECT_EQ(1, key_signal(self->fd, 1, 0));
	EXPECT_TRUE(next_event(self->fd, &event));
}

TEST_HARNESS_MAIN
