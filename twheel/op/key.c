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
 * held is bounded, see signal.c. How the buckets become more and fewer is in
 * key.c.
 *
 * How long a chain can get is bounded, unless the table is about to grow: an add whose
 * key would make it longer fails.  So a lookup visits some 40 keys at most.
 *
 * All in process and softirq context.  Order of locks: a stripe's, then an
 * operation's.
 */
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
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
 * __twheel_keys_check - the slow path of twheel_keys_check()
 * @keys: the table
 * @watches: as there
 * @nr: as there
 *
 * Return: as there.
 */
int __twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr)
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
EXPORT_SYMBOL_IF_KUNIT(__twheel_keys_check);

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

/*
 * Layer 5, the table of keys: stripes of buckets, and how they grow and shrink.
 *
 * A stripe has a bucket for every two to four keys, the first of which costs nothing. When
 * it has more or far fewer keys than that, a work item gets it other buckets, and
 * brings the keys there in bounded steps:
 *
 *	now	|   |   |   | b | b | b | b |
 *	                      ^ moved
 *	to	| b | b | b | b | ...
 *
 * Between two steps whoever has the lock knows where a key is: in @to if its bucket of
 * @now has been emptied, in @now if not, and in either if it is that bucket's turn,
 * since many keys may be chained behind it. Nobody waits for it to end.
 *
 * Buckets are charged to the memory cgroup of the purgatory.  If that is full, keys are
 * chained behind the buckets that there are, up to a bound, see TWHEEL_KEY_CHAIN.
 *
 * The kernel's rhashtable does the same and more, but wants each key to outlive an
 * RCU grace period, so that it has to be an allocation of its own.
 */

/*
 * How many stripes there are: so many a CPU, that these seldom meet; one for so many
 * operations, that the buckets of each are memory that can be had in one piece, and
 * moved soon; and no fewer or more than this.
 */
#define STRIPES_PER_CPU	4U
#define OPS_PER_STRIPE	16384U
#define STRIPES_MIN	8U
#define STRIPES_MAX	256U

/*
 * Keys a bucket and buckets a key, at the most. With 4 keys on average one bucket of nine is
 * full, and one key of twenty behind it.
 */
#define KEYS_MAX	4
#define BUCKETS_MAX	2

/*
 * A stripe can do without.  One round of reclaim is enough: it must neither invoke the OOM
 * killer nor hold up other stripes for long.
 */
#define BUCKET_GFP	(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY)

/* For the other stripes when that was not enough. */
#define BUCKET_GFP_POOR	(GFP_NOWAIT | __GFP_NOWARN)

/* Delay of the next attempt, doubled by each failure: other work waits on the same queue. */
#define AGAIN		(HZ / 10)
#define AGAIN_MAX	(64 * AGAIN)

/* No fewer buckets than this are worth to be replaced by fewer. */
#define SHRINK_FROM	4

/* Number of buckets and keys that are moved before the lock is dropped. */
#define MOVE_CHUNK	32

static unsigned int nr_stripes(const struct twheel_keys *keys)
{
	return 1U << keys->shift;
}

/**
 * twheel_key_locate - find the bucket of a key
 * @at: its hash, and its stripe, locked; the rest is set
 */
void twheel_key_locate(struct twheel_key_at *at)
{
	u32 number = twheel_keys_number(at->keys, at->hash);
	struct twheel_stripe *stripe = at->stripe;
	u32 i = number & stripe->now.mask;

	lockdep_assert_held(&stripe->lock);
	at->bucket = &stripe->now.bucket[i];
	at->from = NULL;
	if (likely(!stripe->to.bucket) || i > stripe->moved)
		return;
	if (i == stripe->moved)
		at->from = at->bucket;
	at->bucket = &stripe->to.bucket[number & stripe->to.mask];
}

/**
 * twheel_stripe_fits - whether a stripe has buckets enough, and not by far too many
 * @stripe: the stripe, locked
 *
 * Return: false if it is to get others.
 */
bool twheel_stripe_fits(const struct twheel_stripe *stripe)
{
	u32 size = stripe->now.mask + 1;

	return stripe->nr <= size * KEYS_MAX &&
	       (size < SHRINK_FROM || stripe->nr >= size / BUCKETS_MAX);
}

/**
 * twheel_bucket_put - put a key into a bucket
 * @bucket: the bucket, its stripe locked
 * @tag: of the key
 * @first: its first watch
 */
void twheel_bucket_put(struct twheel_key_bucket *bucket, u8 tag, struct twheel_watch *first)
{
	unsigned int i;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++) {
		if (!bucket->tag[i]) {
			bucket->tag[i] = tag;
			bucket->slot[i] = first;
			return;
		}
	}
	first->chain = bucket->more;
	bucket->more = first;
}

static void stripe_init(struct twheel_stripe *stripe)
{
	spin_lock_init(&stripe->lock);
	stripe->now.bucket = &stripe->few;
	stripe->now.mask = 0;
}

static void buckets_free(struct twheel_stripe *stripe, const struct twheel_key_buckets *buckets)
{
	if (buckets->bucket != &stripe->few)
		kvfree(buckets->bucket);
}

/**
 * twheel_stripe_alloc - get buckets for the keys that a stripe has now, and for half as many more
 * @keys: the table
 * @stripe: the stripe, whose keys are not being moved
 * @gfp: how to allocate them
 *
 * Return: 0, and the keys are to be moved; or -ENOMEM.
 */
int twheel_stripe_alloc(struct twheel_keys *keys, struct twheel_stripe *stripe, gfp_t gfp)
{
	u32 nr = READ_ONCE(stripe->nr), size = roundup_pow_of_two(nr * 3 / 2 / KEYS_MAX + 1);
	struct twheel_key_bucket *bucket;

	if (keys->memcg)
		gfp |= __GFP_ACCOUNT;
	WRITE_ONCE(keys->alloc_since, jiffies ?: 1);
	bucket = kvcalloc(size, sizeof(*bucket), gfp);
	/* So that the end of this pass forgets about chains that were stuck meanwhile. */
	if (twheel_keys_slow(keys))
		WRITE_ONCE(keys->starved, true);
	WRITE_ONCE(keys->alloc_since, 0);
	if (!bucket)
		return -ENOMEM;
	spin_lock_bh(&stripe->lock);
	stripe->to = (struct twheel_key_buckets){ .bucket = bucket, .mask = size - 1 };
	stripe->moved = 0;
	spin_unlock_bh(&stripe->lock);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_stripe_alloc);

static void stripe_move_key(struct twheel_keys *keys, struct twheel_stripe *stripe,
			    struct twheel_watch *first)
{
	u32 hash = twheel_watch_hash(first);

	twheel_bucket_put(&stripe->to.bucket[twheel_keys_number(keys, hash) & stripe->to.mask],
			  twheel_key_tag(hash), first);
}

/* Move some keys of the next bucket, and be done with it if those were all; how many. */
static unsigned int stripe_move_bucket(struct twheel_keys *keys, struct twheel_stripe *stripe,
				       unsigned int budget)
{
	struct twheel_key_bucket *from = &stripe->now.bucket[stripe->moved];
	struct twheel_watch *first;
	unsigned int i, nr = 0;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++) {
		if (!from->tag[i])
			continue;
		stripe_move_key(keys, stripe, from->slot[i]);
		from->tag[i] = 0;
		from->slot[i] = NULL;
		nr++;
	}
	/* Very many, if there was no memory for long. */
	while ((first = from->more) && nr < budget) {
		from->more = first->chain;
		stripe_move_key(keys, stripe, first);
		nr++;
	}
	if (!first)
		stripe->moved++;
	return nr;
}

/**
 * twheel_stripe_move - move some keys to the other buckets
 * @keys: the table
 * @stripe: the stripe, which got them by twheel_stripe_alloc()
 * @old: the buckets that it had before, to be freed when all have been moved
 *
 * Return: whether there are more.
 */
bool twheel_stripe_move(struct twheel_keys *keys, struct twheel_stripe *stripe,
			struct twheel_key_buckets *old)
{
	unsigned int done = 0;
	bool more;

	spin_lock_bh(&stripe->lock);
	/* All slots of a bucket are emptied at once. */
	while (done + 1 + TWHEEL_KEY_SLOTS <= MOVE_CHUNK && stripe->moved <= stripe->now.mask)
		done += 1 + stripe_move_bucket(keys, stripe, MOVE_CHUNK - 1 - done);
	more = stripe->moved <= stripe->now.mask;
	if (!more) {
		*old = stripe->now;
		/* Who prefetches reads them without the lock. */
		WRITE_ONCE(stripe->now.bucket, stripe->to.bucket);
		WRITE_ONCE(stripe->now.mask, stripe->to.mask);
		stripe->to.bucket = NULL;
	}
	spin_unlock_bh(&stripe->lock);
	return more;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_stripe_move);

/* Until it fits; false if there is no memory. */
static bool stripe_resize(struct twheel_keys *keys, struct twheel_stripe *stripe, gfp_t gfp)
{
	struct twheel_key_buckets old;
	bool fits;

	for (;;) {
		spin_lock_bh(&stripe->lock);
		fits = twheel_stripe_fits(stripe);
		spin_unlock_bh(&stripe->lock);
		if (fits)
			return true;
		if (twheel_stripe_alloc(keys, stripe, gfp))
			return false;
		while (twheel_stripe_move(keys, stripe, &old))
			cond_resched();
		buckets_free(stripe, &old);
	}
}

static void keys_resize(struct work_struct *work)
{
	struct twheel_keys *keys = container_of(to_delayed_work(work), struct twheel_keys, resize);
	struct mem_cgroup *old = set_active_memcg(keys->memcg);
	bool was_starved, starved = false;
	unsigned int i;

	/* One that is to shrink gives back what another one may need. */
	for (i = 0; i < nr_stripes(keys); i++)
		starved |= !stripe_resize(keys, &keys->stripe[i],
					  starved ? BUCKET_GFP_POOR : BUCKET_GFP);
	set_active_memcg(old);
	was_starved = READ_ONCE(keys->starved);
	/* Whoever adds meanwhile does not ask for it, or we would try all the time. */
	WRITE_ONCE(keys->starved, starved);
	if (was_starved && !starved)
		WRITE_ONCE(keys->crowded, false);
	keys->again = starved ? clamp_t(unsigned long, 2 * keys->again, AGAIN, AGAIN_MAX) : 0;
	/* Who did not ask till now may have had reason to, in a stripe that was passed already. */
	if (starved || was_starved)
		mod_delayed_work(system_unbound_wq, &keys->resize, keys->again);
}

/**
 * twheel_keys_init - an empty table
 * @keys: the table
 * @max_ops: how many operations may watch
 * @account: whether the caller's memory cgroup is charged for it
 *
 * Context: process; may sleep.
 * Return: 0, or -ENOMEM.
 */
int twheel_keys_init(struct twheel_keys *keys, u32 max_ops, bool account)
{
	unsigned int i, nr = max(STRIPES_PER_CPU * nr_cpu_ids, max_ops / OPS_PER_STRIPE);

	keys->shift = order_base_2(clamp(nr, STRIPES_MIN, STRIPES_MAX));
	get_random_bytes(&keys->secret, sizeof(keys->secret));
	keys->stripe = kcalloc(nr_stripes(keys), sizeof(*keys->stripe),
			       account ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	if (!keys->stripe)
		return -ENOMEM;
	for (i = 0; i < nr_stripes(keys); i++)
		stripe_init(&keys->stripe[i]);
	keys->memcg = account ? get_mem_cgroup_from_mm(current->mm) : NULL;
	INIT_DELAYED_WORK(&keys->resize, keys_resize);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_init);

/**
 * twheel_keys_destroy - free the table
 * @keys: the table, in which no key is left
 *
 * Context: process; may sleep.
 */
void twheel_keys_destroy(struct twheel_keys *keys)
{
	unsigned int i;

	WARN_ON_ONCE(twheel_keys_count(keys));
	cancel_delayed_work_sync(&keys->resize);
	for (i = 0; i < nr_stripes(keys); i++)
		buckets_free(&keys->stripe[i], &keys->stripe[i].now);
	mem_cgroup_put(keys->memcg);
	kfree(keys->stripe);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_destroy);

/**
 * twheel_keys_count - how many keys there are
 * @keys: the table
 *
 * Context: process or softirq.
 * Return: the number; exact when nothing is under way.
 */
u64 twheel_keys_count(struct twheel_keys *keys)
{
	unsigned int i;
	u64 nr = 0;

	for (i = 0; i < nr_stripes(keys); i++)
		nr += READ_ONCE(keys->stripe[i].nr);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_count);
