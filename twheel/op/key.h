/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 5: the keys that something watches. See key.c, and key.c for its growth. */
#ifndef _TWHEEL_OP_KEY_H
#define _TWHEEL_OP_KEY_H

#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/prefetch.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mem_cgroup;

/* How many keys fit into a bucket of a cache line. */
#define TWHEEL_KEY_SLOTS	6

/*
 * Number of keys chained behind a bucket from which on new ones are refused: as many as
 * may be visited with a lock held.  A table that can grow does not get there.  It has
 * four keys a bucket on average, and the probability of 38 in one of them is 10^-23.
 * One that cannot grow begins to refuse keys when it has five times as many.
 */
#define TWHEEL_KEY_CHAIN	32

/* The time in jiffies that reclaim may take for an allocation of buckets. */
#define TWHEEL_KEY_PATIENCE	(HZ / 50)

/**
 * struct twheel_key_bucket - some keys, by a cache line
 * @tag: of each slot a part of the key's hash, so that other keys need not be looked
 *	at; 0 if it is free
 * @slot: the first watch of each key
 * @more: the first watch of a key for which there was no slot; the next is its @chain
 */
struct twheel_key_bucket {
	u8			tag[TWHEEL_KEY_SLOTS];
	struct twheel_watch	*slot[TWHEEL_KEY_SLOTS];
	struct twheel_watch	*more;
} __aligned(64);

/**
 * struct twheel_key_buckets - an array of them
 * @bucket: the array
 * @mask: one less than how many there are, a power of two
 */
struct twheel_key_buckets {
	struct twheel_key_bucket	*bucket;
	u32				mask;
};

/**
 * struct twheel_stripe - a part of the keys of a purgatory, with a lock of its own
 * @lock: protects the rest, and all watches that are linked; outside of an op's
 * @nr: how many keys
 * @now: where they are
 * @to: where they are being brought, while there are other buckets to be
 * @moved: so many buckets of @now have been emptied to @to; the next one may be
 *	in part
 * @few: a bucket that needs no allocation
 */
struct twheel_stripe {
	spinlock_t			lock;	/* outside of an op's */
	u32				nr;
	struct twheel_key_buckets	now;
	struct twheel_key_buckets	to;
	u32				moved;
	struct twheel_key_bucket	few;
} ____cacheline_aligned_in_smp;

/**
 * struct twheel_keys - the watched keys of a purgatory
 * @stripe: parts of them; immutable
 * @shift: log2 of how many stripes there are; immutable
 * @secret: key of the hash function, unknown to callers; immutable
 * @memcg: the memory cgroup charged for the buckets, NULL for none; immutable
 * @starved: an allocation of buckets failed, or takes long; @resize tries again by itself
 * @crowded: some chain has reached its bound: see twheel_keys_check()
 * @alloc_since: the time in jiffies at which @resize began an allocation; 0 for none
 * @again: time in jiffies from a failed @resize to the next one; its own
 * @resize: gives stripes other buckets
 */
struct twheel_keys {
	struct twheel_stripe	*stripe;
	unsigned int		shift;
	siphash_key_t		secret;
	struct mem_cgroup	*memcg;
	bool			starved;
	bool			crowded;
	unsigned long		alloc_since;
	unsigned long		again;
	struct delayed_work	resize;
};

/**
 * struct twheel_key_at - where a key is, or would be, while its stripe is locked
 * @keys: among which
 * @stripe: locked
 * @hash: of the key
 * @bucket: its bucket
 * @from: another one in which it may still be, NULL for none
 */
struct twheel_key_at {
	struct twheel_keys		*keys;
	struct twheel_stripe		*stripe;
	u32				hash;
	struct twheel_key_bucket	*bucket;
	struct twheel_key_bucket	*from;
};

/* In the mark of a watch; the other bits are those of the hash. */
#define TWHEEL_WATCH_LINKED	BIT(0)
#define TWHEEL_WATCH_FIRST	BIT(1)
#define TWHEEL_WATCH_HASH	GENMASK(31, 2)

static inline u32 twheel_watch_hash(const struct twheel_watch *watch)
{
	/* Some may be linking it, or what is beside it. */
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

/**
 * twheel_keys_hash - hash a key
 * @keys: the table in which it is looked up
 * @key: the key
 *
 * SipHash with a secret of 128 bits.  32 bits would not do: lock contention shows user
 * space which keys share a stripe, and a few such pairs identify a secret of 32 bits
 * by brute force.
 *
 * Return: the hash.  Its lowest bits stay free for &struct twheel_watch, the next ones
 * select a stripe, those above a bucket, and the highest ones are its tag.
 */
static inline u32 twheel_keys_hash(const struct twheel_keys *keys, const struct twheel_key *key)
{
	return siphash_2u64(key->v[0], key->v[1], &keys->secret) & TWHEEL_WATCH_HASH;
}

static inline struct twheel_stripe *twheel_keys_stripe(const struct twheel_keys *keys, u32 hash)
{
	return &keys->stripe[(hash >> 2) & ((1U << keys->shift) - 1)];
}

/* Among the buckets of its stripe; to be taken modulo their number. */
static inline u32 twheel_keys_number(const struct twheel_keys *keys, u32 hash)
{
	return hash >> (2 + keys->shift);
}

/* A part of the hash that chooses neither stripe nor bucket, unless they are very many. */
static inline u8 twheel_key_tag(u32 hash)
{
	return hash >> 24 | 0x80;
}

/* Whether an allocation of buckets takes so long that it counts as failed until it ends. */
static inline bool twheel_keys_slow(const struct twheel_keys *keys)
{
	unsigned long since = READ_ONCE(keys->alloc_since);

	return since && time_after(jiffies, since + TWHEEL_KEY_PATIENCE);
}

/**
 * twheel_keys_prefetch - have the bucket of a key fetched while there is something else to do
 * @keys: the table
 * @hash: of the key
 *
 * Without a lock: nothing is read but where the bucket probably is. With a million
 * of keys it is in no cache.
 */
static inline void twheel_keys_prefetch(const struct twheel_keys *keys, u32 hash)
{
	const struct twheel_stripe *stripe = twheel_keys_stripe(keys, hash);

	/* Both may be changing: then it is another line that is fetched. */
	prefetchw(READ_ONCE(stripe->now.bucket) +
		  (twheel_keys_number(keys, hash) & READ_ONCE(stripe->now.mask)));
}

/* key.c */
int __twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr);
struct twheel_key_at twheel_key_lock(struct twheel_keys *keys, u32 hash);
void twheel_key_unlock(const struct twheel_key_at *at);

struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
				      const struct twheel_key *key);
void twheel_key_link(const struct twheel_key_at *at, struct twheel_watch *watch);
void twheel_key_link_before(struct twheel_watch *watch, struct twheel_watch *next);
void twheel_key_unlink(const struct twheel_key_at *at, struct twheel_watch *watch);

/* key.c */
int twheel_keys_init(struct twheel_keys *keys, u32 max_ops, bool account);
void twheel_keys_destroy(struct twheel_keys *keys);
u64 twheel_keys_count(struct twheel_keys *keys);

void twheel_key_locate(struct twheel_key_at *at);
bool twheel_stripe_fits(const struct twheel_stripe *stripe);
int twheel_stripe_alloc(struct twheel_keys *keys, struct twheel_stripe *stripe, gfp_t gfp);
bool twheel_stripe_move(struct twheel_keys *keys, struct twheel_stripe *stripe,
			struct twheel_key_buckets *old);
void twheel_bucket_put(struct twheel_key_bucket *bucket, u8 tag, struct twheel_watch *first);

/**
 * twheel_keys_check - check that the table has room for new keys
 * @keys: the table
 * @watches: the watches to be linked, with key and hash
 * @nr: number of watches
 *
 * Linking a watch cannot fail, since it happens when signals may have found the operation
 * already.  So the caller asks before it does anything else.  Calls that do so at the same
 * time may all be admitted; the chain of a bucket exceeds its bound by their keys at most.
 *
 * Context: process or softirq.
 * Return: 0, or -ENOMEM if a new key finds its bucket full and the table cannot grow.
 */
static inline int twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches,
				    u32 nr)
{
	return likely(!READ_ONCE(keys->crowded)) ? 0 : __twheel_keys_check(keys, watches, nr);
}

#endif /* _TWHEEL_OP_KEY_H */
