/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of layer 5 share: a purgatory, and operations that remember
 * what became of them.
 */
#ifndef _KUNIT_OP_PROBE_H
#define _KUNIT_OP_PROBE_H

#include <kunit/test.h>
#include <linux/twheel.h>

#define MAX_PENDING	2000

extern struct twheel *probe_wheel;
extern struct twheel_purgatory *probe_purgatory;

struct probe {
	struct twheel_op	op;
	const struct twheel_op_ops *ops;
	struct twheel_watch	watch[TWHEEL_MAX_KEYS];
	struct twheel_op_result	result;
	unsigned int		ended;		/* how often it was told */
	unsigned int		order;		/* when, among all */
	unsigned int		released;
	u64			takes_ns;	/* how long the callback runs */
	void			(*then)(struct probe *probe);

	/* Of one that has a predicate: */
	unsigned int		asked;		/* how often that was evaluated */
	bool			holds;		/* what it says */
	u64			carries;	/* and the value it sets, if not 0 */
	u64			asked_ns;	/* how long it takes */
	void			(*when_asked)(struct probe *probe);

	/* Who runs beside its callback or its predicate, or too late, is an intruder. */
	bool			busy;
	bool			over;
	unsigned int		intruders;
};

struct probe_keys {
	struct twheel_watch_spec	spec[TWHEEL_MAX_KEYS + 1];
	u32				nr;
};

/* Init and exit of a suite: exit finds that nothing is left. */
int probe_suite_init(struct kunit *test);
void probe_suite_exit(struct kunit *test);

/* A purgatory on the suite's wheel. */
struct twheel_purgatory *probe_purgatory_create(u32 max_pending, u32 max_watches);

/* Let the suite's purgatory be one with other limits; its operations are gone. */
void probe_limit(struct kunit *test, u32 max_pending, u32 max_watches);

struct probe *probe_new(struct kunit *test);

/* One with a predicate, which does not hold. */
struct probe *probe_new_asking(struct kunit *test);

/* Use one again which has ended and to which only we refer. */
void probe_again(struct probe *probe);

/* Keys of small numbers, each needed once, for as long as the test runs. */
struct probe_keys *probe_keys_new(struct kunit *test, u64 first, u32 nr);

int probe_add(struct probe *probe, u64 delay, enum twheel_condition condition, u32 quorum,
	      const struct probe_keys *keys);

/* The same for what waits until amounts add up, or until a predicate holds. */
int probe_add_sum(struct probe *probe, u64 delay, u64 threshold, const struct probe_keys *keys);
int probe_add_asking(struct probe *probe, u64 delay, const struct probe_keys *keys);

/* Add an operation that waits for keys @first and following. */
struct probe *probe_waiting(struct kunit *test, enum twheel_condition condition, u32 quorum,
			    u64 first, u32 nr);

/* Watch keys @first and following, with room of the test's own. */
int probe_watch(struct kunit *test, struct probe *probe, u64 first, u32 nr);

u32 probe_signal(u64 number, u64 value);
u32 probe_signal_amount(u64 number, u64 amount, u64 value);
u32 probe_check(u64 number, u32 limit);

/* Have a call made on a probe by another thread; its answer is that of the join. */
struct task_struct *probe_fork(struct kunit *test, int (*call)(struct probe *probe),
			       struct probe *probe);
int probe_join(struct task_struct *task);

/* Be about to be killed, and no longer. */
void probe_die(void);
void probe_revive(void);

void expect_ended(struct kunit *test, const struct probe *probe, enum twheel_reason reason,
		  u64 value);
void expect_counts(struct kunit *test, u64 pending, u64 keys, u64 watches);
void expect_rejected(struct kunit *test, u64 rejected);

#endif /* _KUNIT_OP_PROBE_H */
