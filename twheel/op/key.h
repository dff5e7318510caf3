/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the hash table of watched keys. See key.c. */
#ifndef _TWHEEL_OP_KEY_H
#define _TWHEEL_OP_KEY_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/kconfig.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include <asm/byteorder.h>

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
	union {
		u8		tag[8];	/* of the hash of the first key of each slot */
		__le64		tags;
	};
	union {
		struct twheel_watch	*slot[TWHEEL_KEY_SLOTS];	/* first watches of keys */
		struct rcu_head		rcu;	/* late look-ups use the lock and @nr only */
	};
};

/* Buckets; all pointers are written under keys->lock */
struct twheel_key_table {
	u32				shift;		/* 32 - log2 of the number of buckets */
	u32				moved;		/* number of buckets; under keys->lock */
	struct twheel_key_table		*next;		/* gets the keys, or NULL; set once */
	struct rcu_head			rcu;
	struct twheel_key_bucket	*segment[];	/* NULL before and after their use */
};

/* The watched keys of a purgatory */
struct twheel_keys {
	struct twheel_key_table		*table;		/* first one of up to two; under @lock */
	u64				state[4];	/* of the hash, with a secret; immutable */
	bool				look;		/* at the size, or move keys; a hint */
	atomic_t			nr_full;	/* buckets with at least TWHEEL_KEY_MOST */
	atomic_t			walks;		/* under way; the table does not shrink */
	struct mem_cgroup		*memcg;		/* charged for buckets; immutable */
	spinlock_t			lock ____cacheline_aligned_in_smp;	/* for moves */
};

/* Position of a key: its bucket is locked */
struct twheel_key_at {
	struct twheel_keys		*keys;
	struct twheel_key_bucket	*bucket;
	u32				hash;
	u32				last;	/* the bucket has all keys from @hash to this one */
};

/* With the lock of its bucket. */
static inline bool twheel_watch_is_linked(const struct twheel_watch *watch)
{
	return watch->key_prev;
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
 * brute force. Inlined: 20 instructions less than hsiphash_4u32(), and registers that need not be
 * saved. The state is that after the part of the first round that precedes the key.
 *
 * The highest bits select the bucket. The lowest ones are the tag.
 */
static __always_inline u32 twheel_keys_hash(const struct twheel_keys *keys,
					    const struct twheel_key *key)
{
	u64 v0 = keys->state[0], v1 = keys->state[1], v2 = keys->state[2], v3 = keys->state[3];
	u64 length = (u64)sizeof(*key) << 56;

	v3 ^= key->v[0];
	v2 += v3;
	v3 = rol64(v3, 16) ^ v2;
	v0 += v3;
	v3 = rol64(v3, 21) ^ v0;
	v2 += v1;
	v1 = rol64(v1, 17) ^ v2;
	v2 = rol64(v2, 32);
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
}

static inline u32 twheel_key_table_size(const struct twheel_key_table *table)
{
	return 1U << (32 - table->shift);
}

/* Return: the segment with the bucket of a hash, or NULL if it is missing. */
static __always_inline struct twheel_key_bucket *
twheel_key_segment(const struct twheel_key_table *table, u32 hash)
{
	return rcu_dereference_raw(table->segment[(hash >> table->shift) / TWHEEL_KEY_SEGMENT]);
}

/*
 * Disable interrupts, for some locks, and for a read-side section of RCU. On PREEMPT_RT, the locks
 * sleep, and it is enough that the task stays on its CPU. Interrupts are enabled before.
 */
static __always_inline void twheel_irqs_disable(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		migrate_disable();
		rcu_read_lock();
	} else {
		lockdep_assert_irqs_enabled();
		local_irq_disable();
	}
}

static __always_inline void twheel_irqs_enable(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		rcu_read_unlock();
		migrate_enable();
	} else {
		local_irq_enable();
	}
}

/* Lock the bucket of a key, with interrupts disabled. Return: the position of the key. */
static __always_inline struct twheel_key_at twheel_key_lock_irqs_off(struct twheel_keys *keys,
								     u32 hash)
{
	/* Pairs with the release in keys_move_chunk(). */
	const struct twheel_key_table *table = rcu_dereference_raw(keys->table);
	struct twheel_key_bucket *bucket;
	u32 last = U32_MAX;

	for (;;) {
		last = min(last, hash | ((1U << table->shift) - 1));
		bucket = twheel_key_segment(table, hash);
		if (likely(bucket)) {
			bucket += (hash >> table->shift) % TWHEEL_KEY_SEGMENT;
			spin_lock(&bucket->lock);
			if (likely(bucket->nr != TWHEEL_KEY_MOVED))
				break;
			spin_unlock(&bucket->lock);
		}
		/* Pairs with the release in keys_move_chunk(): sees the keys in the next table. */
		smp_rmb();
		table = rcu_dereference_raw(table->next);
	}
	/* Sparse does not count the lock of a position. */
	__release(&bucket->lock);
	return (struct twheel_key_at) { keys, bucket, hash, last };
}

/* Lock the bucket of a key. Return: the position of the key, for twheel_key_unlock(). */
static __always_inline struct twheel_key_at twheel_key_lock(struct twheel_keys *keys, u32 hash)
{
	twheel_irqs_disable();
	return twheel_key_lock_irqs_off(keys, hash);
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

static inline u8 twheel_key_tag(u32 hash)
{
	return (hash & 0x7f) | 0x80;
}

struct twheel_watch *twheel_key_following(const struct twheel_key_bucket *bucket,
					  struct twheel_key key);
struct twheel_watch *twheel_key_after(const struct twheel_key_at *at, const struct twheel_key *key);
void twheel_key_link_slow(struct twheel_keys *keys, struct twheel_key_bucket *bucket,
			  struct twheel_watch *watch, u64 slots);
void twheel_key_unlink_slow(struct twheel_keys *keys, struct twheel_key_bucket *bucket,
			    struct twheel_watch *watch);
void twheel_marks_link(struct twheel_marks *marks, const struct twheel_key_at *at,
		       struct twheel_watch *next);
void twheel_marks_move(struct twheel_marks *marks, const struct twheel_key_at *at,
		       struct twheel_watch *next);

/*
 * The frequent cases of the following functions are inlined, with the position in registers: a key
 * in a slot, a new one for which there is a slot, and the only watch of one in the first four
 * slots.
 */

/* Return: the highest bit of the byte of each slot whose key may have the hash. */
static __always_inline u64 twheel_key_slots(const struct twheel_key_at *at)
{
	const u64 ones = 0x010101010101ULL;
	u64 differ = le64_to_cpu(at->bucket->tags) ^ twheel_key_tag(at->hash) * ones;

	lockdep_assert_held(&at->bucket->lock);
	/* Of each byte that is 0, perhaps of a 1 above it: of a used slot, too */
	return (differ - ones) & ~differ & ones << 7;
}

/* twheel_key_first() with the slots that may have the key */
static __always_inline struct twheel_watch *twheel_key_find(const struct twheel_key_bucket *bucket,
							    const struct twheel_key *key,
							    u64 slots)
{
	struct twheel_watch *first;

	/* Short for a missing key: the others have more work to do. */
	for (; unlikely(slots); slots &= slots - 1) {
		first = bucket->slot[__ffs64(slots) / 8];
		if (likely(twheel_key_equal(&first->key, key)))
			return first;
	}
	if (likely(bucket->nr <= TWHEEL_KEY_SLOTS))
		return NULL;
	/* By value: with a pointer to it, the key of a signal would not be in registers. */
	return twheel_key_following(bucket, *key);
}

/* Return: the first watch of a key, or NULL if it is not watched. */
static __always_inline struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
							     const struct twheel_key *key)
{
	return twheel_key_find(at->bucket, key, twheel_key_slots(at));
}

/* Append a watch to those of its key. Its key and hash are set. */
static __always_inline void twheel_key_link(const struct twheel_key_at *at,
					    struct twheel_watch *watch)
{
	struct twheel_key_bucket *bucket = at->bucket;
	u64 slots = twheel_key_slots(at);
	u32 nr = bucket->nr;

	if (unlikely(slots || nr >= TWHEEL_KEY_SLOTS)) {
		twheel_key_link_slow(at->keys, bucket, watch, slots);
		return;
	}
	watch->key_next = NULL;
	watch->key_prev = watch;
	bucket->slot[nr] = watch;
	bucket->tag[nr] = twheel_key_tag(at->hash);
	WRITE_ONCE(bucket->nr, nr + 1);
}

/* Remove the key of a slot. The last key takes its place; it is in a slot, too. */
static __always_inline void twheel_key_clear_slot(struct twheel_key_bucket *bucket, unsigned int i,
						  u32 last)
{
	bucket->tag[i] = bucket->tag[last];
	bucket->tag[last] = 0;
	bucket->slot[i] = bucket->slot[last];
	bucket->slot[last] = NULL;
	WRITE_ONCE(bucket->nr, last);
}

/* Remove a linked watch from its key. */
static __always_inline void twheel_key_unlink(const struct twheel_key_at *at,
					      struct twheel_watch *watch)
{
	struct twheel_key_bucket *bucket = at->bucket;
	struct twheel_watch **slot = bucket->slot;
	unsigned int i = slot[0] == watch ? 0 : slot[1] == watch ? 1 : slot[2] == watch ? 2 :
			 slot[3] == watch ? 3 : TWHEEL_KEY_SLOTS;
	u32 shift, nr = bucket->nr;

	lockdep_assert_held(&bucket->lock);
	if (unlikely(i == TWHEEL_KEY_SLOTS) || unlikely(!twheel_watch_is_only(watch)) ||
	    unlikely(nr > TWHEEL_KEY_SLOTS)) {
		twheel_key_unlink_slow(at->keys, bucket, watch);
		return;
	}
	twheel_key_clear_slot(bucket, i, nr - 1);
	watch->key_prev = NULL;
	if (unlikely(nr == 1)) {
		/* One of a 64th as many hashes as the table has buckets, in larger tables */
		shift = rcu_dereference_raw(at->keys->table)->shift + 6;
		if (shift < 32 && !(at->hash << shift))
			WRITE_ONCE(at->keys->look, true);
	}
}

bool __twheel_keys_move(struct twheel_keys *keys, bool may_sleep);
int __twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr,
			bool may_sleep);

/* After an unlink, with no lock held: move some keys, if the table should shrink or grow. */
static inline void twheel_keys_move(struct twheel_keys *keys)
{
	if (unlikely(READ_ONCE(keys->look)))
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
	if (likely(!READ_ONCE(keys->look) && !atomic_read(&keys->nr_full)))
		return 0;
	return __twheel_keys_check(keys, watches, nr, may_sleep);
}

int twheel_keys_init(struct twheel_keys *keys, bool account);
void twheel_keys_destroy(struct twheel_keys *keys);
void twheel_keys_shrink(struct twheel_keys *keys);
u64 twheel_keys_count(struct twheel_keys *keys, bool may_sleep);

#endif /* _TWHEEL_OP_KEY_H */
