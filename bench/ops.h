/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites of operations share. See ops.c. */
#ifndef _TWHEEL_BENCH_OPS_H
#define _TWHEEL_BENCH_OPS_H

#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/time64.h>
#include <linux/twheel.h>
#include <linux/types.h>

/* Deadlines that are not to come while something else is measured. */
#define OPS_FAR_MIN_NS	(10 * 60 * (u64)NSEC_PER_SEC)
#define OPS_FAR_MAX_NS	(100 * 60 * (u64)NSEC_PER_SEC)

/* The most keys that an operation of ours watches. */
#define OPS_KEYS_MAX	16

/**
 * struct bench_op - an operation as consumers have it: one object with all it needs
 * @op: the operation
 * @ended: how often it has ended
 * @id: which it is, for suites that want to know
 * @watch: as many as it has keys
 */
struct bench_op {
	struct twheel_op	op;
	u32			ended;
	u32			id;
	struct twheel_watch	watch[];
};

/**
 * struct bench_ops - a purgatory, and what has become of the operations in it
 * @purgatory: where they wait
 * @cache: where they are allocated
 * @nr_keys: how many each watches
 * @random: for their deadlines
 * @expected: how they are to end now
 * @added: how many were added
 * @added_own: how many more were added of which the suite takes care itself
 * @ended: how many have ended as expected, once and not early
 * @wrong: how many have not
 * @expiring: how many more are to expire before @expired is completed
 * @expired: by the last of them
 * @clock: read by the reaper, at the first that expires and at the last
 * @first: what it said at the first
 */
struct bench_ops {
	struct twheel_purgatory	*purgatory;
	struct kmem_cache	*cache;
	unsigned int		nr_keys;
	struct rnd_state	random;
	enum twheel_reason	expected;
	u64			added;
	u64			added_own;
	u64			ended;
	u64			wrong;
	u32			expiring;
	struct completion	expired;
	u64			clock;
	u64			first;
};

/* There is one, for each time that the module is loaded. */
extern struct bench_ops bench_ops;

bool ops_fit(u64 nr, unsigned int nr_keys);
int ops_start(unsigned int nr_keys, u64 seed);
int ops_stop(int err);
int ops_add(struct bench_op **op, const struct twheel_watch_spec *specs, u64 deadline);
int ops_add_own(const struct twheel_op_ops *ops, u32 id, const struct twheel_watch_spec *specs,
		u64 deadline);
void ops_release(struct twheel_op *op);
u64 ops_far(void);
int ops_stay(int (*run)(const struct bench_config *config), const struct bench_config *config);

/* The keys of operation @id, which no other has. */
static inline void ops_own_keys(struct twheel_watch_spec *specs, unsigned int nr, u32 id)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		specs[i] = (struct twheel_watch_spec){ .key.v = { id, i } };
}

#endif /* _TWHEEL_BENCH_OPS_H */
