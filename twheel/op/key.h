/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the hash table of watched keys. See key.c. */
#ifndef _TWHEEL_OP_KEY_H
#define _TWHEEL_OP_KEY_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/prefetch.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mem_cgroup;

/* Number of keys in the slots of a bucket, which is a cache line. */
#define TWHEEL_KEY_SLOTS	6

/*
 * Maximum number of chained keys of a bucket, beyond which new keys are refused; it bounds the
 * work with a lock held. A table that can grow does not get there: with four keys per bucket on
 * average, the probability of 38 in one of them is 10^-23. A table that cannot grow begins
 * to refuse keys when it has five times as many.
 */
#define TWHEEL_KEY_CHAIN	32

/**
 * struct twheel_key_bucket - some keys, in a cache line
 * @tag: part of the hash of the key in each slot, to skip other keys without a cache miss; 0
 *	if the slot is free
 * @slot: the first watch of each key
 * @more: the first watch of a chained key, for which there was no slot; its @chain is the
 *	next one
 */
struct twheel_key_bucket {
	u8			tag[TWHEEL_KEY_SLOTS];
	struct twheel_watch	*slot[TWHEEL_KEY_SLOTS];
	struct twheel_watch	*more;
} __aligned(64);

/**
 * struct twheel_key_buckets - an array of buckets
 * @bucket: the array
 * @mask: number of buckets, a power of two, minus one
 */
struct twheel_key_buckets {
	struct twheel_key_bucket	*bucket;
	u32				mask;
};

/**
 * struct twheel_stripe - a part of the table with its own lock
 * @lock: protects all members and the linked watches; taken outside of op->lock
 * @nr: number of keys; written under @lock, read without it
 * @now: the buckets; also read by prefetches without @lock
 * @to: the new buckets during a resize
 * @moved: number of buckets of @now that have been moved to @to; the next one may be moved in
 *	part
 * @tight: has more keys than its buckets should hold, or a full bucket: adds check their keys
 * @tried: whether an add has tried to allocate @to; also read without @lock
 * @few: a bucket that needs no allocation
 */
struct twheel_stripe {
	spinlock_t			lock;	/* outside of an op's */
	u32				nr;
	struct twheel_key_buckets	now;
	struct twheel_key_buckets	to;
	u32				moved;
	bool				tight;
	u8				tried;
	struct twheel_key_bucket	few;
} ____cacheline_aligned_in_smp;

/**
 * struct twheel_keys - the watched keys of a purgatory
 * @stripe: the stripes; immutable
 * @shift: log2 of the number of stripes; immutable
 * @secret: key of the hash function, random; immutable
 * @memcg: memory cgroup that is charged for the buckets, or NULL; immutable
 * @starved: an allocation of buckets by @resize failed, and it will retry; written by @resize
 * @nr_tight: number of tight stripes; changed under the lock of the stripe, read without it
 * @retry_delay: delay in jiffies of the last retry of @resize; used by @resize only
 * @resize: work item that resizes stripes
 */
struct twheel_keys {
	struct twheel_stripe	*stripe;
	unsigned int		shift;
	siphash_key_t		secret;
	struct mem_cgroup	*memcg;
	bool			starved;
	atomic_t		nr_tight;
	unsigned long		retry_delay;
	struct delayed_work	resize;
};

/**
 * struct twheel_key_at - position of a key in the table, with its stripe locked
 * @keys: the table
 * @stripe: the locked stripe
 * @hash: hash of the key
 * @bucket: bucket of the key; new keys go there
 * @from: other bucket in which the key may be during a resize, or NULL
 */
struct twheel_key_at {
	struct twheel_keys		*keys;
	struct twheel_stripe		*stripe;
	u32				hash;
	struct twheel_key_bucket	*bucket;
	struct twheel_key_bucket	*from;
};

/* Bits of watch->mark. */
#define TWHEEL_WATCH_LINKED	BIT(0)
#define TWHEEL_WATCH_FIRST	BIT(1)
#define TWHEEL_WATCH_HASH	GENMASK(31, 2)

static inline u32 twheel_watch_hash(const struct twheel_watch *watch)
{
	/* Without the lock of the stripe: the other bits may change. */
	return READ_ONCE(watch->mark) & TWHEEL_WATCH_HASH;
}

static inline bool twheel_watch_is_linked(const struct twheel_watch *watch)
{
	return READ_ONCE(watch->mark) & TWHEEL_WATCH_LINKED;
}

static inline bool twheel_watch_is_first(const struct twheel_watch *watch)
{
	return READ_ONCE(watch->mark) & TWHEEL_WATCH_FIRST;
}

static inline bool twheel_key_equal(const struct twheel_key *a, const struct twheel_key *b)
{
	return a->v[0] == b->v[0] && a->v[1] == b->v[1];
}

/*
 * SipHash-1-3 with a secret of 128 bits. 32 bits would be too few: lock contention shows user
 * space which keys share a stripe, and a few such pairs identify a secret of 32 bits by
 * brute force. On 32-bit kernels hsiphash has a secret of 64 bits only; these use SipHash-2-4.
 *
 * The lowest two bits are the flags of a watch. The next ones select the stripe, the bits
 * above them the bucket. The highest ones are the tag.
 */
static inline u32 twheel_keys_hash(const struct twheel_keys *keys, const struct twheel_key *key)
{
#ifdef CONFIG_64BIT
	u32 hash = hsiphash_4u32(key->v[0], key->v[0] >> 32, key->v[1], key->v[1] >> 32,
				 (const hsiphash_key_t *)&keys->secret);
#else
	u32 hash = siphash_2u64(key->v[0], key->v[1], &keys->secret);
#endif

	return hash & TWHEEL_WATCH_HASH;
}

static inline struct twheel_stripe *twheel_keys_stripe(const struct twheel_keys *keys, u32 hash)
{
	return &keys->stripe[(hash >> 2) & ((1U << keys->shift) - 1)];
}

/* Number of the bucket in its stripe, modulo the number of buckets. */
static inline u32 twheel_keys_number(const struct twheel_keys *keys, u32 hash)
{
	return hash >> (2 + keys->shift);
}

/*
 * Prefetch the bucket of a key, without a lock. With a million keys it is not cached. A
 * resize may change both fields meanwhile, and then another line is fetched.
 */
static inline void twheel_keys_prefetch(const struct twheel_keys *keys, u32 hash)
{
	const struct twheel_stripe *stripe = twheel_keys_stripe(keys, hash);

	prefetchw(READ_ONCE(stripe->now.bucket) +
		  (twheel_keys_number(keys, hash) & READ_ONCE(stripe->now.mask)));
}

struct twheel_key_at twheel_key_lock(struct twheel_keys *keys, u32 hash);
void twheel_key_unlock(const struct twheel_key_at *at);
struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
				      const struct twheel_key *key);
void twheel_key_link(const struct twheel_key_at *at, struct twheel_watch *watch);
void twheel_key_link_before(const struct twheel_key_at *at, struct twheel_watch *watch,
			    struct twheel_watch *next);
void twheel_key_unlink(const struct twheel_key_at *at, struct twheel_watch *watch);

int __twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr,
			bool may_sleep);

/*
 * Check that the table has space for the keys of @watches; their key and hash are set. Grow
 * tight stripes by one step for each of these keys.
 *
 * Linking cannot fail, since it happens when signals may have found the operation already,
 * so the caller checks before it does anything else. Concurrent callers may all succeed,
 * and exceed the bound of a chain by their keys at most.
 *
 * Return: 0, or -ENOMEM if the bucket of a new key is full.
 */
static inline int twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches,
				    u32 nr, bool may_sleep)
{
	return likely(!atomic_read(&keys->nr_tight)) ? 0 :
	       __twheel_keys_check(keys, watches, nr, may_sleep);
}

int twheel_stripe_alloc(struct twheel_keys *keys, struct twheel_stripe *stripe, gfp_t gfp);
bool twheel_stripe_move(struct twheel_keys *keys, struct twheel_stripe *stripe);

int twheel_keys_init(struct twheel_keys *keys, u32 max_ops, bool account);
void twheel_keys_destroy(struct twheel_keys *keys);
u64 twheel_keys_count(struct twheel_keys *keys);

int twheel_resize_init(void);
void twheel_resize_exit(void);

#endif /* _TWHEEL_OP_KEY_H */
