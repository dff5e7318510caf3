/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the hash table of watched keys. See key.c. */
#ifndef _TWHEEL_OP_KEY_H
#define _TWHEEL_OP_KEY_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/bottom_half.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mem_cgroup;

/* Number of keys in the slots of a bucket, which is a cache line. */
#define TWHEEL_KEY_SLOTS	5

/*
 * Maximum number of keys of a bucket, beyond which new keys are refused; it bounds the work with
 * its lock held. A table that can grow does not get there: with six keys on average, the
 * probability of 33 in a bucket is 10^-14. A table that cannot grow begins to refuse keys when
 * it has some five times as many as it should have.
 */
#define TWHEEL_KEY_MOST		32

/* log2 of the number of buckets of a segment, and of the number of pointers in a node */
#define TWHEEL_SEGMENT_SHIFT	4
#define TWHEEL_NODE_SHIFT	9

/* Number of buckets of a segment. A table has at least one. */
#define TWHEEL_SEGMENT		BIT(TWHEEL_SEGMENT_SHIFT)

/* Maximum number of levels of nodes, and log2 of the number of buckets below one of each level */
#define TWHEEL_NODE_LEVELS	3
#define TWHEEL_NODE0_SHIFT	(TWHEEL_SEGMENT_SHIFT + TWHEEL_NODE_SHIFT)
#define TWHEEL_NODE1_SHIFT	(TWHEEL_NODE0_SHIFT + TWHEEL_NODE_SHIFT)

/**
 * struct twheel_key_bucket - some keys, in a cache line
 * @lock: protects all members and the watches of these keys; taken outside of op->lock
 * @mask: the keys whose number is that of the bucket in these bits belong here; 0 if there are
 *	none, because the table has fewer buckets. Bucket 0 always has some.
 * @tags: the next three members, to look at all tags at once
 * @tag: part of the hash of the key in each slot, to skip other keys without a cache miss; 0
 *	if the slot is free
 * @chained: a bit for each tag of a chained key, modulo 8, to skip the chain; there may be further
 *	bits
 * @nr: number of keys
 * @slot: the first watch of each key
 * @more: the first watch of a chained key, for which there was no slot; its @chain is the
 *	next one
 * @rcu: for the first bucket of a segment that is freed. A late look-up uses @lock and @mask only.
 *
 * With debugging of locks and on PREEMPT_RT it takes several lines.
 */
struct twheel_key_bucket {
	spinlock_t				lock;	/* outside of an op's */
	u32					mask;
	union {
		__le64				tags;
		struct {
			u8			tag[TWHEEL_KEY_SLOTS];
			u8			chained;
			u16			nr;
		};
	};
	union {
		struct {
			struct twheel_watch	*slot[TWHEEL_KEY_SLOTS];
			struct twheel_watch	*more;
		};
		struct rcu_head			rcu;
	};
} __aligned(64);

/**
 * struct twheel_key_node - pointers to segments, or to the nodes of the next level
 * @at: the pointers
 */
struct twheel_key_node {
	void	*at[BIT(TWHEEL_NODE_SHIFT)];
};

/**
 * struct twheel_key_count - number of keys that CPUs have added, minus those that they removed
 * @nr: the number
 */
struct twheel_key_count {
	atomic_long_t	nr;
} ____cacheline_aligned_in_smp;

/**
 * struct twheel_keys - the watched keys of a purgatory
 * @size: number of buckets; written under @lock and those of the split or merged buckets
 * @target: number of buckets that the table should grow to; a hint, written without a common lock:
 *	an add to a bucket with many keys sets it again
 * @nr_full: number of buckets with TWHEEL_KEY_MOST keys or more
 * @nr_counts: number of counts, a power of two; immutable
 * @count: the counts; immutable
 * @node: the root of the buckets from 16 on, from 2^13 on, and from 2^22 on; written under @lock
 * @secret: key of the hash function, random; immutable
 * @memcg: memory cgroup that is charged for the buckets, or NULL; immutable
 * @lock: serialises splits and merges; taken outside of the locks of the buckets
 * @capacity: number of buckets with memory; protected by @lock, also read without it
 * @retry: jiffies before which adds do not try to allocate: those that may not sleep, and those
 *	that may
 * @retry_delay: delay in jiffies of the last retry of @resize; used by @resize only
 * @resize: work item that shrinks the table, and that allocates buckets after a failure
 * @few: the first segment
 */
struct twheel_keys {
	u32				size;
	u32				target;
	atomic_t			nr_full;
	unsigned int			nr_counts;
	struct twheel_key_count		*count;
	struct twheel_key_node		*node[TWHEEL_NODE_LEVELS];
	siphash_key_t			secret;
	struct mem_cgroup		*memcg;
	spinlock_t			lock ____cacheline_aligned_in_smp;
	u32				capacity;
	unsigned long			retry[2];
	unsigned long			retry_delay;
	struct delayed_work		resize;
	struct twheel_key_bucket	few[TWHEEL_SEGMENT];
};

/**
 * struct twheel_key_at - position of a key in the table, with its bucket locked
 * @keys: the table
 * @bucket: the locked bucket
 * @hash: hash of the key
 */
struct twheel_key_at {
	struct twheel_keys		*keys;
	struct twheel_key_bucket	*bucket;
	u32				hash;
};

/* Bits of watch->mark. */
#define TWHEEL_WATCH_LINKED	BIT(0)
#define TWHEEL_WATCH_FIRST	BIT(1)
#define TWHEEL_WATCH_HASH	GENMASK(31, 2)

static inline u32 twheel_watch_hash(const struct twheel_watch *watch)
{
	/* Without the lock of the bucket: the other bits may change. */
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
 * space which keys share a bucket, and a few such pairs identify a secret of 32 bits by
 * brute force. On 32-bit kernels hsiphash has a secret of 64 bits only; these use SipHash-2-4.
 *
 * The lowest two bits are the flags of a watch. The others are the number that selects the
 * bucket. The highest ones are the tag.
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

static inline u32 twheel_key_number(u32 hash)
{
	return hash >> 2;
}

/* Return: the bucket of a number in a table of @size buckets, at least two. */
static inline u32 twheel_keys_index(u32 size, u32 number)
{
	u32 mask = (2U << __fls(size - 1)) - 1;
	u32 i = number & mask;

	return i < size ? i : i & (mask >> 1);
}

static inline void *twheel_key_node_at(const struct twheel_key_node *node, u32 i)
{
	return READ_ONCE(node->at[i % BIT(TWHEEL_NODE_SHIFT)]);
}

/* The caller has seen a size above @i, with acquire semantics. */
static inline struct twheel_key_bucket *twheel_keys_bucket(const struct twheel_keys *keys, u32 i)
{
	const struct twheel_key_node *node;
	struct twheel_key_bucket *segment;

	/* The first buckets need no node, and most tables need one level of nodes. */
	if (i < TWHEEL_SEGMENT)
		return (struct twheel_key_bucket *)&keys->few[i];
	if (likely(i < BIT(TWHEEL_NODE0_SHIFT))) {
		node = READ_ONCE(keys->node[0]);
	} else {
		node = READ_ONCE(keys->node[i < BIT(TWHEEL_NODE1_SHIFT) ? 1 : 2]);
		if (i >= BIT(TWHEEL_NODE1_SHIFT))
			node = twheel_key_node_at(node, i >> TWHEEL_NODE1_SHIFT);
		node = twheel_key_node_at(node, i >> TWHEEL_NODE0_SHIFT);
	}
	segment = twheel_key_node_at(node, i >> TWHEEL_SEGMENT_SHIFT);
	return segment + i % TWHEEL_SEGMENT;
}

/*
 * Prefetch the bucket of a key, without a lock. With a million keys it is not cached. The table
 * may shrink meanwhile, and the segment be freed: it is not accessed. Nodes stay.
 */
static inline void twheel_keys_prefetch(const struct twheel_keys *keys, u32 hash)
{
	/* Pairs with the release in keys_split_bucket(): sees its node. */
	u32 size = smp_load_acquire(&keys->size);
	u32 i = twheel_keys_index(size, twheel_key_number(hash));

	prefetchw(twheel_keys_bucket(keys, i));
}

/* Lock the bucket of a key. Return: the position of the key, for twheel_key_unlock(). */
static __always_inline struct twheel_key_at twheel_key_lock(struct twheel_keys *keys, u32 hash)
{
	struct twheel_key_at at = { .keys = keys, .hash = hash };
	u32 i, number = twheel_key_number(hash);

	/* A read-side section: the segment may be freed until the bucket is found to be the one. */
	local_bh_disable();
	for (;;) {
		/* Pairs with the release in keys_split_bucket(): sees its segment. */
		i = twheel_keys_index(smp_load_acquire(&keys->size), number);
		at.bucket = twheel_keys_bucket(keys, i);
		spin_lock(&at.bucket->lock);
		if (likely((number & at.bucket->mask) == i))
			break;
		spin_unlock(&at.bucket->lock);
	}
	/* Sparse does not count the lock of a position. */
	__release(&at.bucket->lock);
	return at;
}

static inline void twheel_key_unlock(const struct twheel_key_at *at)
{
	__acquire(&at->bucket->lock);
	spin_unlock_bh(&at->bucket->lock);
}

/* Likewise, but softirqs stay disabled. */
static inline void twheel_key_unlock_only(const struct twheel_key_at *at)
{
	__acquire(&at->bucket->lock);
	spin_unlock(&at->bucket->lock);
}

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
 * a table that is too small by some buckets for each of these keys.
 *
 * Linking cannot fail, since it happens when signals may have found the operation already,
 * so the caller checks before it does anything else. Concurrent callers may all succeed,
 * and exceed the bound of a bucket by their keys at most.
 *
 * Return: 0, or -ENOMEM if the bucket of a new key is full.
 */
static inline int twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches,
				    u32 nr, bool may_sleep)
{
	if (likely(READ_ONCE(keys->size) >= READ_ONCE(keys->target) &&
		   !atomic_read(&keys->nr_full)))
		return 0;
	return __twheel_keys_check(keys, watches, nr, may_sleep);
}

bool twheel_keys_extend(struct twheel_keys *keys, gfp_t gfp);
bool twheel_keys_split(struct twheel_keys *keys);
bool twheel_keys_merge(struct twheel_keys *keys, u32 size);

int twheel_keys_init(struct twheel_keys *keys, bool account);
void twheel_keys_destroy(struct twheel_keys *keys);
u64 twheel_keys_count(struct twheel_keys *keys);

int twheel_resize_init(void);
void twheel_resize_exit(void);

#endif /* _TWHEEL_OP_KEY_H */
