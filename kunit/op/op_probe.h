/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the suites of operations: a purgatory, and operations that record their end.
 */
#ifndef _KUNIT_OP_PROBE_H
#define _KUNIT_OP_PROBE_H

#include <kunit/test.h>
#include <linux/twheel.h>

#define MAX_PENDING	2000

extern struct twheel *probe_wheel;
extern struct twheel_purgatory *probe_purgatory;

struct probe {
	struct twheel_wall_part	part;		/* as in struct twheel_wall_op */
	struct twheel_op	op;
	const struct twheel_op_ops *ops;
	struct twheel_watch	watch[TWHEEL_MAX_KEYS];
	struct twheel_op_result	result;
	unsigned int		ended;		/* number of callbacks */
	unsigned int		order;		/* position among all callbacks */
	unsigned int		released;
	u64			takes_ns;	/* run time of the callback */
	struct task_struct	*ended_by;	/* thread of the callback, only for comparison */
	void			(*on_ended)(struct probe *probe);

	/* Only if it has a predicate: */
	unsigned int		evaluated;	/* number of evaluations */
	bool			holds;		/* return value of the predicate */
	u64			value;		/* value set by the predicate, if not 0 */
	u64			eval_ns;	/* run time of the predicate */
	void			(*on_eval)(struct probe *probe);
	bool			(*predicate)(struct probe *probe, u64 *value);	/* instead */

	/* Overlapping calls of callback and predicate, or calls after the end, are errors. */
	bool			busy;
	bool			done;
	unsigned int		overlaps;
};

struct probe_keys {
	struct twheel_watch_spec	spec[TWHEEL_MAX_KEYS + 1];
	u32				nr;
};

/* Suite init and exit. Exit checks that no operation, key or watch is left. */
int probe_suite_init(struct kunit *test);
void probe_suite_exit(struct kunit *test);

/* Create a purgatory on the wheel of the suite. */
struct twheel_purgatory *probe_purgatory_create(u32 max_pending, u32 max_watches);

/* Replace the purgatory of the suite by one with other limits. Its operations are cancelled. */
void probe_limit(struct kunit *test, u32 max_pending, u32 max_watches);

struct probe *probe_new(struct kunit *test);

/* Create an operation with a predicate, which returns false, or initialise one in zeroed memory. */
struct probe *probe_new_predicate(struct kunit *test);
void probe_init_predicate(struct probe *probe);

/* Keys @first to @first + @nr - 1, each with need 1. Freed at the end of the test. */
struct probe_keys *probe_keys_new(struct kunit *test, u64 first, u32 nr);

int probe_add(struct probe *probe, u64 delay, enum twheel_condition condition, u32 quorum,
	      const struct probe_keys *keys);

/* The same for TWHEEL_COND_SUM and TWHEEL_COND_PREDICATE. */
int probe_add_sum(struct probe *probe, u64 delay, u64 threshold, const struct probe_keys *keys);
int probe_add_predicate(struct probe *probe, u64 delay, const struct probe_keys *keys);

/* probe_add_predicate() with @nr keys from @first on. */
static inline int watcher_add(struct kunit *test, struct probe *watcher, u64 delay, u64 first,
			      u32 nr)
{
	return probe_add_predicate(watcher, delay, probe_keys_new(test, first, nr));
}

/* Add an operation that watches @nr keys from @first on and never expires. */
struct probe *probe_pending(struct kunit *test, enum twheel_condition condition, u32 quorum,
			    u64 first, u32 nr);

/* Watch @nr more keys from @first on, with watches allocated for the test. */
int probe_watch(struct kunit *test, struct probe *probe, u64 first, u32 nr);

u32 probe_signal(u64 number, u64 value);
u32 probe_check(u64 number, u32 limit);

/* Run @call on a probe in another thread. probe_join() returns its return value. */
struct task_struct *probe_fork(struct kunit *test, int (*call)(struct probe *probe),
			       struct probe *probe);
int probe_join(struct task_struct *task);

static inline void expect_pending(struct kunit *test, const struct probe *probe)
{
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe->overlaps, 0);
}

void expect_ended(struct kunit *test, const struct probe *probe, enum twheel_reason reason,
		  u64 value);

/* Expect a single expiry at @deadline, and late by at most @slack and a tick. */
void expect_expired(struct kunit *test, const struct probe *probe, u64 deadline, u64 slack);

void expect_counts(struct kunit *test, u64 pending, u64 keys, u64 watches);
void expect_rejected(struct kunit *test, u64 rejected);

#endif /* _KUNIT_OP_PROBE_H */
