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
	struct twheel_watch	watch[TWHEEL_MAX_KEYS];
	struct twheel_op_result	result;
	unsigned int		ended;		/* how often it was told */
	unsigned int		order;		/* when, among all */
	unsigned int		released;
	u64			takes_ns;	/* how long the callback runs */
	void			(*then)(struct probe *probe);
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

struct probe *probe_new(struct kunit *test);

/* Keys of small numbers, each needed once, for as long as the test runs. */
struct probe_keys *probe_keys_new(struct kunit *test, u64 first, u32 nr);

int probe_add(struct probe *probe, u64 delay, enum twheel_condition condition, u32 quorum,
	      const struct probe_keys *keys);

/* Add an operation that waits for keys @first and following. */
struct probe *probe_waiting(struct kunit *test, enum twheel_condition condition, u32 quorum,
			    u64 first, u32 nr);

u32 probe_signal(u64 number, u64 value);

void expect_ended(struct kunit *test, const struct probe *probe, enum twheel_reason reason,
		  u64 value);
void expect_counts(struct kunit *test, u64 pending, u64 keys, u64 watches);

#endif /* _KUNIT_OP_PROBE_H */
