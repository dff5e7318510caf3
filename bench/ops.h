/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the suites of operations. See ops.c. */
#ifndef _TWHEEL_BENCH_OPS_H
#define _TWHEEL_BENCH_OPS_H

#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/time64.h>
#include <linux/twheel.h>
#include <linux/types.h>

/* Delays that exceed the length of a run. */
#define OPS_FAR_MIN_NS	(10 * 60 * (u64)NSEC_PER_SEC)
#define OPS_FAR_MAX_NS	(100 * 60 * (u64)NSEC_PER_SEC)

/* Maximum number of keys of an operation. */
#define OPS_KEYS_MAX	3

/**
 * struct bench_op - an operation and its watches, in one object
 * @op: the operation
 * @ended: number of ended() calls
 * @watch: one watch per key
 */
struct bench_op {
	struct twheel_op	op;
	u32			ended;
	struct twheel_watch	watch[];
};

/**
 * struct bench_ops - a purgatory and counters of its operations
 * @purgatory: the purgatory
 * @cache: slab cache of the operations
 * @nr_keys: number of keys of each operation
 * @quorum: number of keys that complete it; 0 for any of them
 * @random: state of the generator of deadlines
 * @expected: reason that operations should end with at present
 * @added: operations added by ops_add()
 * @added_custom: operations added by ops_add_custom(), which the suite tracks itself
 * @ended: operations that ended once, not early, and for the expected reason
 * @wrong: operations that ended otherwise
 * @expiring: operations that still have to expire before @expired is completed
 * @expired: completed by the last of these
 * @clock: time read by the reaper at the first and the last expiry
 * @first: time of the first expiry
 */
struct bench_ops {
	struct twheel_purgatory	*purgatory;
	struct kmem_cache	*cache;
	unsigned int		nr_keys;
	u32			quorum;
	struct rnd_state	random;
	enum twheel_reason	expected;
	u64			added;
	u64			added_custom;
	u64			ended;
	u64			wrong;
	u32			expiring;
	struct completion	expired;
	u64			clock;
	u64			first;
};

/* The module runs one suite at a time. */
extern struct bench_ops bench_ops;

int ops_start(unsigned int nr_keys, u64 seed);
int ops_stop(int err);
int ops_add(struct bench_op **op, const struct twheel_watch_spec *specs, u64 deadline);
int ops_add_custom(const struct twheel_op_ops *ops, const struct twheel_watch_spec *specs,
		   u64 deadline);
void ops_trim(void);
void ops_release(struct twheel_op *op);
u64 ops_far_deadline(void);
s64 ops_pages_unused(void);

/* Keys that only operation @id watches. */
static inline void ops_unique_keys(struct twheel_watch_spec *specs, unsigned int nr, u32 id)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		specs[i] = (struct twheel_watch_spec){ .key.v = { id, i } };
}

#endif /* _TWHEEL_BENCH_OPS_H */
