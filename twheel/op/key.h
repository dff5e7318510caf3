/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the hash table of watched keys. See key.c. */
#ifndef _TWHEEL_OP_KEY_H
#define _TWHEEL_OP_KEY_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/kconfig.h>
#include <linux/lockdep.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>

struct mem_cgroup;

#define TWHEEL_KEY_SLOTS	6	/* of a bucket */

/*
 * Keys of a bucket beyond which new ones are refused, which bounds the work with its lock held.
 * Adds that race may exceed it by their keys, and a smaller table by those of the buckets that it
 * joins. Also the number of keys and buckets that a call moves, and of the buckets of the smallest
 * table. With four keys on average, the probability of 33 in a bucket is 10^-19.
 */
#define TWHEEL_KEY_MOST		32U

/* Number of buckets that are allocated and freed at once, in larger tables */
#define TWHEEL_KEY_SEGMENT	128U

#define TWHEEL_KEY_MOVED	U32_MAX

/* Some keys, in a cache line; more with debugging of locks and on PREEMPT_RT */
struct twheel_key_bucket {
	spinlock_t		lock;	/* of all of this and the watches; outside of a shard's */
	u32			nr;	/* of keys, or MOVED; a hint without @lock */
	u64			tags;	/* a byte of the hash of the first key of each slot */
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
	siphash_key_t			secret;		/* random; immutable, as the next one */
	u64				state[4];	/* of SipHash with the secret */
	struct mem_cgroup		*memcg;		/* charged for buckets; immutable */
	atomic_t			walks;		/* under way; the table does not shrink */
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
	/* hsiphash_4u32(), inlined: 20 instructions less, and registers that need not be saved. */
	u64 v0 = keys->state[0], v1 = keys->state[1], v2 = keys->state[2], v3 = keys->state[3];
	u64 length = (u64)sizeof(*key) << 56;

	v3 ^= key->v[0];
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	v0 ^= key->v[0];
	v3 ^= key->v[1];
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	v0 ^= key->v[1];
	v3 ^= length;
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	v0 ^= length;
	v2 ^= 0xff;
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	SIPHASH_PERMUTATION(v0, v1, v2, v3);
	return v0 ^ v1 ^ v2 ^ v3;
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
 * Disable interrupts, for some locks, and for a read-side section of RCU. On PREEMPT_RT, the locks
 * sleep, and only the latter is needed. Interrupts are enabled before.
 */
static __always_inline void twheel_irqs_disable(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		rcu_read_lock();
	} else {
		lockdep_assert_irqs_enabled();
		local_irq_disable();
	}
}

static __always_inline void twheel_irqs_enable(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		rcu_read_unlock();
	else
		local_irq_enable();
}

/*
 * Lock the bucket of a key, with interrupts disabled. With @mask, set the bits of the masks of all
 * tables that were looked at: the bucket has all keys with the same hash in these bits. Return: the
 * position of the key.
 */
static __always_inline struct twheel_key_at
twheel_key_lock_irqs_off(struct twheel_keys *keys, u32 hash, u32 *mask)
{
	struct twheel_key_at at;

	at.keys = keys;
	at.hash = hash;
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
	twheel_irqs_disable();
	return twheel_key_lock_irqs_off(keys, hash, NULL);
}

static inline void twheel_key_unlock_irqs_off(const struct twheel_key_at *at)
{
	__acquire(&at->bucket->lock);
	spin_unlock(&at->bucket->lock);
}

static inline void twheel_key_unlock(const struct twheel_key_at *at)
{
	twheel_key_unlock_irqs_off(at);
	twheel_irqs_enable();
}

/*
 * Whether a bucket that becomes empty is one that asks the table to shrink: of one in so many
 * hashes that it is 16 times between too few keys and none.
 */
static inline bool twheel_key_may_shrink(const struct twheel_key_at *at)
{
	return at->table->mask >= TWHEEL_KEY_MOST && !(at->hash >> 8 & at->table->mask / 128);
}

/* Position of a walk over all keys, which begins with zeros; see key.c for the order */
struct twheel_key_walk {
	u32	hash;	/* first hash yet to be visited */
	u32	mask;	/* the locked bucket has the hashes that are equal in these bits */
};

/*
 * Before and after a walk: its caller may remove the keys that it visits, in its order. Their
 * buckets are emptied one after the other, while the others stay as long as they are. A smaller
 * table would be right on average, and have all keys in few buckets.
 */
static inline void twheel_keys_walk_begin(struct twheel_keys *keys)
{
	atomic_inc(&keys->walks);
}

void twheel_keys_walk_end(struct twheel_keys *keys);

/* Lock the next bucket of a walk, with interrupts disabled. */
static inline struct twheel_key_at twheel_keys_walk(struct twheel_keys *keys,
						    struct twheel_key_walk *walk)
{
	walk->mask = 0;
	return twheel_key_lock_irqs_off(keys, walk->hash, &walk->mask);
}

/* Whether the present step of the walk visits a watch of the locked bucket. */
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

/* The tags of all slots; of a slot without a key it is 0. */
#define TWHEEL_TAGS(tag)	((tag) * 0x010101010101ULL)
/* Set in the tags if keys follow that of the last slot */
#define TWHEEL_KEYS_FOLLOW	BIT_ULL(8 * TWHEEL_KEY_SLOTS)

static inline u64 twheel_key_tag(u32 hash)
{
	return hash >> 25 | 0x80;
}

/* Return: the highest bit of the byte of each slot with a tag. */
static __always_inline u64 twheel_key_slots(u64 tags, u64 tag)
{
	u64 differ = tags ^ TWHEEL_TAGS(tag);

	return ~(((differ & TWHEEL_TAGS(0x7f)) + TWHEEL_TAGS(0x7f)) | differ) & TWHEEL_TAGS(0x80);
}

static __always_inline void twheel_key_set_slot(struct twheel_key_bucket *bucket, unsigned int i,
						struct twheel_watch *first, u64 tag)
{
	bucket->slot[i] = first;
	((u8 *)&bucket->tags)[IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? 7 - i : i] = tag;
}

struct twheel_watch *twheel_key_following(const struct twheel_key_bucket *bucket,
					  const struct twheel_key *key);
void twheel_key_link_slow(struct twheel_keys *keys, struct twheel_key_table *table,
			  struct twheel_key_bucket *bucket, struct twheel_watch *watch,
			  struct twheel_watch *first);
void twheel_key_unlink_slow(struct twheel_keys *keys, struct twheel_key_table *table,
			    struct twheel_key_bucket *bucket, struct twheel_watch *watch);

/*
 * The frequent cases of the following functions are inlined, with the position in registers: a key
 * in a slot, a new one for which there is a slot, and the only watch of one in the first four
 * slots.
 */

/* Return: the first watch of a key, or NULL if it is not watched. */
static __always_inline struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
							     const struct twheel_key *key)
{
	const struct twheel_key_bucket *bucket = at->bucket;
	u64 slots = twheel_key_slots(bucket->tags, twheel_key_tag(at->hash));
	struct twheel_watch *first;

	lockdep_assert_held(&bucket->lock);
	for (; slots; slots &= slots - 1) {
		first = bucket->slot[__ffs64(slots) / 8];
		if (likely(twheel_key_equal(&first->key, key)))
			return first;
	}
	if (likely(!(bucket->tags & TWHEEL_KEYS_FOLLOW)))
		return NULL;
	return twheel_key_following(bucket, key);
}

/* Append a watch to those of its key. Its key and hash are set. */
static __always_inline void twheel_key_link(const struct twheel_key_at *at,
					    struct twheel_watch *watch)
{
	struct twheel_watch *first = twheel_key_first(at, &watch->key);
	struct twheel_key_bucket *bucket = at->bucket;
	u64 free = twheel_key_slots(bucket->tags, 0);

	if (unlikely(first || !free || bucket->tags & TWHEEL_KEYS_FOLLOW)) {
		twheel_key_link_slow(at->keys, at->table, bucket, watch, first);
		return;
	}
	watch->key_next = NULL;
	WRITE_ONCE(watch->key_prev, watch);
	twheel_key_set_slot(bucket, __ffs64(free) / 8, watch, twheel_key_tag(at->hash));
	WRITE_ONCE(bucket->nr, bucket->nr + 1);
}

/* Remove a linked watch from its key. */
static __always_inline void twheel_key_unlink(const struct twheel_key_at *at,
					      struct twheel_watch *watch)
{
	struct twheel_key_bucket *bucket = at->bucket;
	unsigned int i = bucket->slot[0] == watch ? 0 : bucket->slot[1] == watch ? 1 :
			 bucket->slot[2] == watch ? 2 : 3;

	lockdep_assert_held(&bucket->lock);
	/* A bucket that becomes empty may be a reason to shrink. */
	if (likely(bucket->slot[i] == watch && twheel_watch_is_only(watch) &&
		   bucket->nr <= TWHEEL_KEY_SLOTS &&
		   (bucket->nr > 1 || !twheel_key_may_shrink(at)))) {
		twheel_key_set_slot(bucket, i, NULL, 0);
		WRITE_ONCE(bucket->nr, bucket->nr - 1);
		WRITE_ONCE(watch->key_prev, NULL);
		return;
	}
	twheel_key_unlink_slow(at->keys, at->table, bucket, watch);
}

struct twheel_watch *twheel_key_after(const struct twheel_key_at *at,
				      const struct twheel_key_walk *walk,
				      const struct twheel_key *key);
void twheel_key_link_before(const struct twheel_key_at *at, struct twheel_watch *watch,
			    struct twheel_watch *next);

void twheel_keys_shrink(struct twheel_keys *keys);
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
