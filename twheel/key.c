// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, keys: which watches there are under a key.
 *
 * A key is nothing of its own.  Those who watch it are a ring, in the order in which
 * they came, and the first of them stands for the key in a hash table: so nothing
 * is allocated for a key, it exists as long as something watches it, and whoever is
 * last takes it along.
 *
 *	bucket	| tags | w1 | w4 |    |    |    |    | more -> w5 -> w9
 *		         |    '.
 *		       [w1 w2 w3]  [w4]
 *
 * A bucket is a cache line, and that is all that has to be fetched to find that a key
 * is not there, to add one, or to remove one.
 *
 * When the first one goes, the next of its ring takes its place in the bucket.
 *
 * The table is in stripes, each with a lock, which is taken by whoever signals,
 * watches, or leaves a key: it protects buckets and rings, and keeps the operation
 * of each watch that is linked. Some keys share a stripe; so what is done with the lock
 * held is bounded, see walk.c. How the buckets become more and fewer is in
 * key_table.c.
 *
 * How long a chain can get is bounded, unless the table is about to grow: an add whose
 * key would make it longer fails.  So a lookup visits some 40 keys at most.
 *
 * All in process and softirq context.  Order of locks: a stripe's, then an
 * operation's.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/lockdep.h>

#include "compat.h"
#include "key.h"

/**
 * twheel_key_lock - lock the stripe of a key
 * @keys: the table
 * @hash: of the key, from twheel_keys_hash()
 *
 * Context: process or softirq.
 * Return: where the key is, or would be; for twheel_key_unlock() at last.
 */
struct twheel_key_at twheel_key_lock(struct twheel_keys *keys, u32 hash)
	__acquires(keys)
{
	struct twheel_key_at at = {
		.keys	= keys,
		.stripe	= twheel_keys_stripe(keys, hash),
		.hash	= hash,
	};

	spin_lock_bh(&at.stripe->lock);
	twheel_key_locate(&at);
	return at;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_lock);

/**
 * twheel_key_unlock - unlock it
 * @at: from twheel_key_lock()
 */
void twheel_key_unlock(const struct twheel_key_at *at)
	__releases(at)
{
	spin_unlock_bh(&at->stripe->lock);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_unlock);

/* The first watch of a key; or NULL, and @chained is the number of chained keys. */
static struct twheel_watch *bucket_find(const struct twheel_key_bucket *bucket, u8 tag,
					const struct twheel_key *key, unsigned int *chained)
{
	struct twheel_watch *first;
	unsigned int i;

	*chained = 0;
	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		if (bucket->tag[i] == tag && twheel_key_equal(&bucket->slot[i]->key, key))
			return bucket->slot[i];
	for (first = bucket->more; first; first = first->chain) {
		if (twheel_key_equal(&first->key, key))
			break;
		++*chained;
	}
	return first;
}

/* Likewise, in both buckets in which the key may be; @chained is of the one for new keys. */
static struct twheel_watch *key_find(const struct twheel_key_at *at, const struct twheel_key *key,
				     unsigned int *chained)
{
	u8 tag = twheel_key_tag(at->hash);
	struct twheel_watch *first;
	unsigned int unused;

	lockdep_assert_held(&at->stripe->lock);
	first = bucket_find(at->bucket, tag, key, chained);
	if (unlikely(!first && at->from))
		first = bucket_find(at->from, tag, key, &unused);
	return first;
}

/**
 * twheel_key_first - the watch that came first of those under a key
 * @at: where it would be
 * @key: the key
 *
 * Return: the watch, or NULL if nothing watches the key.
 */
struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
				      const struct twheel_key *key)
{
	unsigned int unused;

	return key_find(at, key, &unused);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_first);

/*
 * Whether a chain that is too long will stay so: there is no memory for more buckets, or the
 * stripe has enough of them, and the keys of this one were chosen.
 */
static bool key_is_stuck(const struct twheel_key_at *at)
{
	return READ_ONCE(at->keys->starved) || twheel_keys_slow(at->keys) ||
	       (!at->stripe->to.bucket && twheel_stripe_fits(at->stripe));
}

static bool bucket_has_slot(const struct twheel_key_bucket *bucket)
{
	unsigned int i;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		if (!bucket->tag[i])
			return true;
	return false;
}

/**
 * __twheel_keys_admit - the slow path of twheel_keys_admit()
 * @keys: the table
 * @watches: as there
 * @nr: as there
 *
 * Return: as there.
 */
int __twheel_keys_admit(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr)
{
	const struct twheel_watch *watch;
	struct twheel_key_at at;
	unsigned int chained;
	bool full;

	for (watch = watches; watch < watches + nr; watch++) {
		at = twheel_key_lock(keys, twheel_watch_hash(watch));
		full = !key_find(&at, &watch->key, &chained) && chained >= TWHEEL_KEY_CHAIN &&
		       !bucket_has_slot(at.bucket) && key_is_stuck(&at);
		twheel_key_unlock(&at);
		if (full)
			return -ENOMEM;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(__twheel_keys_admit);

/* The number of keys has changed: have the number of buckets follow some time. */
static void stripe_count(const struct twheel_key_at *at, int more)
{
	struct twheel_stripe *stripe = at->stripe;

	/* Those who count all keys read it without the lock. */
	WRITE_ONCE(stripe->nr, stripe->nr + more);
	if (unlikely(!twheel_stripe_fits(stripe)) && !stripe->to.bucket &&
	    !READ_ONCE(at->keys->starved))
		queue_delayed_work(system_unbound_wq, &at->keys->resize, 0);
}

static void watch_mark(struct twheel_watch *watch, u32 flags)
{
	WRITE_ONCE(watch->mark, (watch->mark & TWHEEL_WATCH_HASH) | flags);
}

/**
 * twheel_key_link - put a watch behind the others of its key
 * @at: where its key is, or will be by that
 * @watch: not linked; its key and its mark are set
 */
void twheel_key_link(const struct twheel_key_at *at, struct twheel_watch *watch)
{
	unsigned int chained;
	struct twheel_watch *first = key_find(at, &watch->key, &chained);

	if (first) {
		watch_mark(watch, TWHEEL_WATCH_LINKED);
		list_add_tail(&watch->entry, &first->entry);
		return;
	}
	watch_mark(watch, TWHEEL_WATCH_LINKED | TWHEEL_WATCH_FIRST);
	INIT_LIST_HEAD(&watch->entry);
	twheel_bucket_put(at->bucket, twheel_key_tag(at->hash), watch);
	stripe_count(at, 1);
	/* Adds read it without the lock. */
	if (unlikely(chained >= TWHEEL_KEY_CHAIN) && key_is_stuck(at))
		WRITE_ONCE(at->keys->crowded, true);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_link);

/**
 * twheel_key_link_before - put a watch before another of its key
 * @watch: not linked
 * @next: linked, and not the first; their stripe is locked
 */
void twheel_key_link_before(struct twheel_watch *watch, struct twheel_watch *next)
{
	WARN_ON_ONCE(twheel_watch_is_first(next));
	watch_mark(watch, TWHEEL_WATCH_LINKED);
	list_add_tail(&watch->entry, &next->entry);
}

/* Put another in the place of the first watch of a key, or none; whether it was there. */
static bool bucket_replace(struct twheel_key_bucket *bucket, struct twheel_watch *first,
			   struct twheel_watch *heir)
{
	struct twheel_watch **link = &bucket->more;
	unsigned int i;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++) {
		if (bucket->slot[i] == first) {
			bucket->slot[i] = heir;
			if (!heir)
				bucket->tag[i] = 0;
			return true;
		}
	}
	while (*link && *link != first)
		link = &(*link)->chain;
	if (!*link)
		return false;
	if (heir)
		heir->chain = first->chain;
	*link = heir ?: first->chain;
	return true;
}

/* Let the first watch of a key be followed by the next of its ring, or by nothing. */
static void key_pass_on(const struct twheel_key_at *at, struct twheel_watch *first)
{
	struct twheel_watch *heir = NULL;

	if (!list_empty(&first->entry)) {
		heir = list_next_entry(first, entry);
		watch_mark(heir, TWHEEL_WATCH_LINKED | TWHEEL_WATCH_FIRST);
	}
	if (!bucket_replace(at->bucket, first, heir))
		WARN_ON_ONCE(!at->from || !bucket_replace(at->from, first, heir));
	if (!heir)
		stripe_count(at, -1);
}

/**
 * twheel_key_unlink - end a watch, and with it its key if it was the only one
 * @at: where its key is
 * @watch: linked
 */
void twheel_key_unlink(const struct twheel_key_at *at, struct twheel_watch *watch)
{
	lockdep_assert_held(&at->stripe->lock);
	if (twheel_watch_is_first(watch))
		key_pass_on(at, watch);
	list_del(&watch->entry);
	watch_mark(watch, 0);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_unlink);
