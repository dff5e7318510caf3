/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the hash table of watched keys. See key.c. */
#ifndef _TWHEEL_OP_KEY_H
#define _TWHEEL_OP_KEY_H

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>

struct mem_cgroup;

#define TWHEEL_KEY_SLOTS	3	/* of a bucket */

/*
 * The bound of all work with a lock held, and so the maximum number of keys of a bucket, beyond
 * which new keys are refused. Also the number of buckets of the smallest table. With two keys on
 * average, the probability of 33 in a bucket is 10^-28.
 */
#define TWHEEL_KEY_MOST		32U

/* Number of buckets that are allocated and freed at once, in larger tables */
#define TWHEEL_KEY_SEGMENT	256U

#define TWHEEL_KEY_MOVED	U16_MAX

/* Some keys, in half a cache line; more with debugging of locks and on PREEMPT_RT */
struct twheel_key_bucket {
	spinlock_t		lock;	/* of all of this and the watches; outside of an op's */
	u16			tags;	/* part of the hash of the first key of each slot */
	u16			nr;	/* of keys, or MOVED; a hint without @lock */
	union {
		struct twheel_watch	*slot[TWHEEL_KEY_SLOTS];	/* first watches of keys */
		struct rcu_head		rcu;	/* late look-ups use the lock and @nr only */
	};
};

/* Buckets; all pointers are written under keys->lock */
struct twheel_key_table {
	u32				mask;		/* number of buckets - 1; immutable */
	u32				moved;		/* number of buckets; under keys->lock */
	struct twheel_key_table		*next;		/* gets the keys, or NULL; set once */
	struct rcu_head			rcu;
	struct twheel_key_bucket	*segment[];	/* NULL before and after their use */
};

/* The watched keys of a purgatory */
struct twheel_keys {
	struct twheel_key_table		*table;		/* first one of up to two; under @lock */
	u32				target;		/* wanted number of buckets, or 0; a hint */
	atomic_t			nr_full;	/* buckets with at least TWHEEL_KEY_MOST */
	siphash_key_t			secret;		/* random; immutable */
	struct mem_cgroup		*memcg;		/* charged for buckets; immutable */
	spinlock_t			lock ____cacheline_aligned_in_smp;	/* for moves */
};

/* Position of a key: its bucket is locked */
struct twheel_key_at {
	struct twheel_keys		*keys;
	struct twheel_key_table		*table;
	struct twheel_key_bucket	*bucket;
	u32				hash;
};

static inline bool twheel_watch_is_linked(const struct twheel_watch *watch)
{
	/* Without the lock of the bucket: another watch may take the place of this neighbour. */
	return READ_ONCE(watch->key_prev);
}

/* The watch of a linked key is the only one. */
static inline bool twheel_watch_is_only(const struct twheel_watch *watch)
{
	return watch->key_prev == watch;
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
 * The lowest bits select the bucket. The highest ones are the tag.
 */
static inline u32 twheel_keys_hash(const struct twheel_keys *keys, const struct twheel_key *key)
{
#ifdef CONFIG_64BIT
	return hsiphash_4u32(key->v[0], key->v[0] >> 32, key->v[1], key->v[1] >> 32,
			     (const hsiphash_key_t *)&keys->secret);
#else
	return siphash_2u64(key->v[0], key->v[1], &keys->secret);
#endif
}

/* Return: a bucket of a table, or NULL if its segment is missing. */
static __always_inline struct twheel_key_bucket *
twheel_key_bucket(const struct twheel_key_table *table, u32 i)
{
	struct twheel_key_bucket *segment;

	i &= table->mask;
	segment = rcu_dereference_raw(table->segment[i / TWHEEL_KEY_SEGMENT]);
	return likely(segment) ? segment + i % TWHEEL_KEY_SEGMENT : NULL;
}

/*
 * Prefetch the bucket of a key. With a million keys it is not cached. The caller is in a read-side
 * section of RCU.
 */
static inline void twheel_keys_prefetch(const struct twheel_keys *keys, u32 hash)
{
	const struct twheel_key_table *table = rcu_dereference_raw(keys->table);

	prefetchw(twheel_key_bucket(table, hash));
}

/*
 * Lock the bucket of a key; softirqs or interrupts are disabled until it is unlocked, which is also
 * a read-side section of RCU. With @mask, set the bits of the masks of all tables that were looked
 * at: the bucket has all keys with the same hash in these bits. Return: the position of the key.
 */
static __always_inline struct twheel_key_at
twheel_key_lock_nobh(struct twheel_keys *keys, u32 hash, u32 *mask)
{
	struct twheel_key_at at = { .keys = keys, .hash = hash };

	/* Pairs with the release in keys_move_chunk(). */
	at.table = rcu_dereference_raw(keys->table);
	for (;;) {
		if (mask)
			*mask |= at.table->mask;
		at.bucket = twheel_key_bucket(at.table, hash);
		if (likely(at.bucket)) {
			spin_lock(&at.bucket->lock);
			if (likely(at.bucket->nr != TWHEEL_KEY_MOVED))
				break;
			spin_unlock(&at.bucket->lock);
		}
		/* Pairs with the release in keys_move_chunk(): sees the keys in the next table. */
		smp_rmb();
		at.table = rcu_dereference_raw(at.table->next);
	}
	/* Sparse does not count the lock of a position. */
	__release(&at.bucket->lock);
	return at;
}

/* Lock the bucket of a key. Return: the position of the key, for twheel_key_unlock(). */
static __always_inline struct twheel_key_at twheel_key_lock(struct twheel_keys *keys, u32 hash)
{
	local_bh_disable();
	return twheel_key_lock_nobh(keys, hash, NULL);
}

static inline void twheel_key_unlock(const struct twheel_key_at *at)
{
	__acquire(&at->bucket->lock);
	spin_unlock_bh(&at->bucket->lock);
}

/* Unlock the bucket, and leave softirqs or interrupts disabled. */
static inline void twheel_key_unlock_nobh(const struct twheel_key_at *at)
{
	__acquire(&at->bucket->lock);
	spin_unlock(&at->bucket->lock);
}

/* Position of a walk over all keys, which begins with zeros; see key.c for the order */
struct twheel_key_walk {
	u32	hash;	/* first hash yet to be visited */
	u32	mask;	/* the locked bucket has the hashes that are equal in these bits */
};

/* Lock the next bucket of a walk, with softirqs or interrupts disabled. */
static inline struct twheel_key_at twheel_keys_walk(struct twheel_keys *keys,
						    struct twheel_key_walk *walk)
{
	walk->mask = 0;
	return twheel_key_lock_nobh(keys, walk->hash, &walk->mask);
}

/* Whether a watch of the locked bucket is to be visited now, and not earlier or later. */
static inline bool twheel_key_walk_visits(const struct twheel_key_walk *walk,
					  const struct twheel_watch *watch)
{
	u32 differ = walk->hash ^ watch->hash;

	differ &= -differ;
	return !differ || (differ > walk->mask && watch->hash & differ);
}

/* Move to the next bucket, when it is unlocked. Return: false at the end. */
static inline bool twheel_key_walk_next(struct twheel_key_walk *walk)
{
	u32 bit = (walk->mask >> 1) + 1;

	walk->hash &= walk->mask;
	for (; walk->hash & bit; bit >>= 1)
		walk->hash ^= bit;
	walk->hash |= bit;
	return bit;
}

struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
				      const struct twheel_key *key);
void twheel_key_link(const struct twheel_key_at *at, struct twheel_watch *watch);
void twheel_key_link_before(const struct twheel_key_at *at, struct twheel_watch *watch,
			    struct twheel_watch *next);
void twheel_key_unlink(const struct twheel_key_at *at, struct twheel_watch *watch);

bool __twheel_keys_move(struct twheel_keys *keys, bool may_sleep);
int __twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr,
			bool may_sleep);

/* After an unlink, with no lock held: move some keys, if the table should shrink or grow. */
static inline void twheel_keys_move(struct twheel_keys *keys)
{
	if (unlikely(READ_ONCE(keys->target)))
		__twheel_keys_move(keys, false);
}

/*
 * Check that the table has space for the keys of @watches; their key and hash are set. Move some
 * keys for each of them, if the table should grow or shrink.
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
	if (likely(!READ_ONCE(keys->target) && !atomic_read(&keys->nr_full)))
		return 0;
	return __twheel_keys_check(keys, watches, nr, may_sleep);
}

int twheel_keys_init(struct twheel_keys *keys, bool account);
void twheel_keys_destroy(struct twheel_keys *keys);
u64 twheel_keys_count(struct twheel_keys *keys);

#endif /* _TWHEEL_OP_KEY_H */
