// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the hash table of watched keys.
 *
 *
 * Overview
 * --------
 *
 * There is no per-key object. The watches of a key are a ring, in the order in which they
 * were linked. The first of them represents the key in the table. So a key needs no
 * allocation, and it exists while it has a watch.
 *
 *	bucket	| tags | w1 | w4 |    |    |    |    | more -> w5 -> w9
 *		         |    '.
 *		       [w1 w2 w3]  [w4]
 *
 * A bucket is a cache line, the only one to fetch in order to find a key missing, to add
 * one or to remove one. When the first watch of a key is unlinked, the next one of its ring
 * replaces it in the bucket.
 *
 *
 * Locking
 * -------
 *
 * The table is divided into stripes. stripe->lock protects the buckets and the rings, and
 * keeps the operation of each linked watch from being freed. Signals, watches and ends of
 * operations take it, and unrelated keys share a stripe, so the work with the lock held is
 * bounded: see signal.c, and TWHEEL_KEY_CHAIN for lookups, which visit some 40 keys at
 * most. It is taken in process and softirq context, outside of op->lock.
 *
 *
 * Resize
 * ------
 *
 * A stripe has a bucket for every two to four keys; the first bucket is a part of the
 * stripe. With more or far fewer keys, a work item allocates other buckets and moves the
 * keys in bounded steps:
 *
 *	now	|   |   |   | b | b | b | b |
 *	                      ^ moved
 *	to	| b | b | b | b | ...
 *
 * Between two steps a key is in @to if its bucket of @now is before @moved, in @now if it
 * is after @moved, and in either if it is the bucket at @moved, since a long chain takes
 * several steps.
 *
 * The work item may wait for a CPU for any time, so growth does not depend on it. While a
 * stripe has more keys than it should have, it is tight, and each add of a key of this stripe
 * allocates the buckets if that has not been done, and moves one chunk of keys, see
 * twheel_keys_check(). An add that may not sleep allocates only small arrays, and does not
 * reclaim memory. A stripe of n buckets grows at 4n keys, and the next n / 5 adds move all of
 * these. The work item does the rest, and all of the work if keys are removed.
 *
 * Buckets are charged to the memory cgroup of the purgatory. If there is no memory, keys are
 * chained up to a bound. Beyond the bound adds fail. An add that may sleep waits while another
 * one allocates, and moves keys until its own bucket has space.
 *
 * rhashtable would do this and more, but it requires that each key outlives an RCU grace
 * period and therefore has its own allocation.
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
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
#include "../core/twheel.h"
#include "key.h"

/*
 * Number of stripes: several per CPU, against contention, and more for a purgatory with
 * many operations, to keep the allocation and the resize of each stripe short.
 */
#define STRIPES_PER_CPU	4U
#define OPS_PER_STRIPE	16384U
#define STRIPES_MIN	8U
#define STRIPES_MAX	256U

/*
 * Maximum number of keys per bucket and of buckets per key. With four keys on average one
 * bucket in nine is full, and one key in twenty is chained.
 */
#define KEYS_MAX	4
#define BUCKETS_MAX	2

/*
 * An allocation may fail. One round of reclaim is enough: it must neither invoke the OOM
 * killer nor delay other stripes for long.
 */
#define BUCKET_GFP	(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY)

/* For the remaining stripes after that has failed, and for adds that may not sleep. */
#define BUCKET_GFP_POOR	(GFP_NOWAIT | __GFP_NOWARN)

/* Maximum number of buckets that an add allocates if it may not sleep: 32 KB to clear */
#define ATOMIC_BUCKETS	512

/* Jiffies for which an add that may sleep waits for the allocation by another one */
#define WAIT_TIMEOUT	HZ

/* Number of work items that run at the same time, for all purgatories together */
#define RESIZE_WORKERS	4

/* Delay of a retry in jiffies, doubled by each failure */
#define RETRY_DELAY	(HZ / 10)
#define RETRY_DELAY_MAX	(64 * RETRY_DELAY)

/* Fewer buckets than this are not worth shrinking. */
#define SHRINK_MIN	4

/* Number of buckets and keys that are moved before the lock is dropped. */
#define MOVE_CHUNK	32

/* Values of stripe->tried */
enum {
	TRIED_NOT,
	TRIED_ATOMIC,		/* an add that may not sleep got no memory */
	TRIED_SLEEPING,		/* an add that may sleep is allocating */
};

static struct workqueue_struct *resize_wq;

static unsigned int nr_stripes(const struct twheel_keys *keys)
{
	return 1U << keys->shift;
}

/* Does not overlap the bits that select the stripe and the bucket, unless there are very many. */
static u8 key_tag(u32 hash)
{
	return hash >> 24 | 0x80;
}

/* Set the buckets of @at; its hash and its stripe are set. */
static void key_locate(struct twheel_key_at *at)
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

/* Lock the stripe of a key. Return: the position of the key, for twheel_key_unlock(). */
struct twheel_key_at twheel_key_lock(struct twheel_keys *keys, u32 hash)
	__acquires(keys)
{
	struct twheel_key_at at = {
		.keys	= keys,
		.stripe	= twheel_keys_stripe(keys, hash),
		.hash	= hash,
	};

	spin_lock_bh(&at.stripe->lock);
	key_locate(&at);
	return at;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_lock);

void twheel_key_unlock(const struct twheel_key_at *at)
	__releases(at)
{
	spin_unlock_bh(&at->stripe->lock);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_unlock);

/* Return: the first watch of a key, or NULL and the number of chained keys in @chained. */
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

/* Likewise in both buckets of a key; @chained is for the one that new keys go to. */
static struct twheel_watch *key_find(const struct twheel_key_at *at, const struct twheel_key *key,
				     unsigned int *chained)
{
	u8 tag = key_tag(at->hash);
	struct twheel_watch *first;
	unsigned int unused;

	lockdep_assert_held(&at->stripe->lock);
	first = bucket_find(at->bucket, tag, key, chained);
	if (unlikely(!first && at->from))
		first = bucket_find(at->from, tag, key, &unused);
	return first;
}

/* Return: the first watch of a key, or NULL if it is not watched. */
struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
				      const struct twheel_key *key)
{
	unsigned int unused;

	return key_find(at, key, &unused);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_first);

static bool stripe_must_grow(const struct twheel_stripe *stripe)
{
	return stripe->nr > (stripe->now.mask + 1) * KEYS_MAX;
}

/* Whether the number of buckets is right for the number of keys. */
static bool size_fits(u32 size, u32 nr)
{
	return nr <= size * KEYS_MAX && (size < SHRINK_MIN || nr >= size / BUCKETS_MAX);
}

static bool stripe_fits(const struct twheel_stripe *stripe)
{
	return size_fits(stripe->now.mask + 1, stripe->nr);
}

static void stripe_set_tight(struct twheel_keys *keys, struct twheel_stripe *stripe, bool tight)
{
	lockdep_assert_held(&stripe->lock);
	if (stripe->tight == tight)
		return;
	stripe->tight = tight;
	WRITE_ONCE(stripe->tried, TRIED_NOT);
	if (tight)
		atomic_inc(&keys->nr_tight);
	else
		atomic_dec(&keys->nr_tight);
}

static bool bucket_has_slot(const struct twheel_key_bucket *bucket)
{
	unsigned int i;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		if (!bucket->tag[i])
			return true;
	return false;
}

static noinline void stripe_misfits(struct twheel_keys *keys, struct twheel_stripe *stripe)
{
	if (stripe_must_grow(stripe))
		stripe_set_tight(keys, stripe, true);
	if (!stripe->to.bucket && !READ_ONCE(keys->starved))
		queue_delayed_work(resize_wq, &keys->resize, 0);
}

/* Change the number of keys, and queue a resize if needed. */
static void stripe_count(const struct twheel_key_at *at, int nr)
{
	struct twheel_stripe *stripe = at->stripe;

	/* twheel_keys_count() and twheel_stripe_alloc() read it without the lock. */
	WRITE_ONCE(stripe->nr, stripe->nr + nr);
	if (unlikely(!stripe_fits(stripe)))
		stripe_misfits(at->keys, stripe);
}

static void watch_mark(struct twheel_watch *watch, u32 flags)
{
	WRITE_ONCE(watch->mark, (watch->mark & TWHEEL_WATCH_HASH) | flags);
}

static void bucket_put(struct twheel_key_bucket *bucket, u8 tag, struct twheel_watch *first)
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

/* Append a watch to the ring of its key. Its key and hash are set. */
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
	bucket_put(at->bucket, key_tag(at->hash), watch);
	stripe_count(at, 1);
	/* Keys may have been chosen to collide, and the stripe may have enough buckets. */
	if (unlikely(chained >= TWHEEL_KEY_CHAIN - 1))
		stripe_set_tight(at->keys, at->stripe, true);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_link);

/*
 * Replace the first watch of a key in its bucket, or remove the key if @new is NULL. Return:
 * false if the key is not in this bucket.
 */
static bool bucket_replace(struct twheel_key_bucket *bucket, struct twheel_watch *first,
			   struct twheel_watch *new)
{
	struct twheel_watch **link = &bucket->more;
	unsigned int i;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++) {
		if (bucket->slot[i] == first) {
			bucket->slot[i] = new;
			if (!new)
				bucket->tag[i] = 0;
			return true;
		}
	}
	while (*link && *link != first)
		link = &(*link)->chain;
	if (!*link)
		return false;
	if (new)
		new->chain = first->chain;
	*link = new ?: first->chain;
	return true;
}

/* Make another watch of a key the first one, or remove the key if @new is NULL. */
static void key_replace_first(const struct twheel_key_at *at, struct twheel_watch *first,
			      struct twheel_watch *new)
{
	if (!bucket_replace(at->bucket, first, new))
		WARN_ON_ONCE(!at->from || !bucket_replace(at->from, first, new));
	watch_mark(first, TWHEEL_WATCH_LINKED);
	if (new)
		watch_mark(new, TWHEEL_WATCH_LINKED | TWHEEL_WATCH_FIRST);
	else
		stripe_count(at, -1);
}

/* Insert a watch before another one of its key. */
void twheel_key_link_before(const struct twheel_key_at *at, struct twheel_watch *watch,
			    struct twheel_watch *next)
{
	lockdep_assert_held(&at->stripe->lock);
	watch_mark(watch, TWHEEL_WATCH_LINKED);
	list_add_tail(&watch->entry, &next->entry);
	if (twheel_watch_is_first(next))
		key_replace_first(at, next, watch);
}

void twheel_key_unlink(const struct twheel_key_at *at, struct twheel_watch *watch)
{
	lockdep_assert_held(&at->stripe->lock);
	if (twheel_watch_is_first(watch))
		key_replace_first(at, watch, list_empty(&watch->entry) ? NULL :
						   list_next_entry(watch, entry));
	list_del(&watch->entry);
	watch_mark(watch, 0);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_unlink);

/* Resize */

static void buckets_free(struct twheel_stripe *stripe, const struct twheel_key_buckets *buckets)
{
	if (buckets->bucket != &stripe->few)
		kvfree(buckets->bucket);
}

/* Number of buckets for the keys of a stripe and half as many again */
static u32 stripe_size(const struct twheel_stripe *stripe)
{
	return roundup_pow_of_two(READ_ONCE(stripe->nr) * 3 / 2 / KEYS_MAX + 1);
}

/*
 * Begin a resize, unless another caller has begun one, or the number of keys has changed too much
 * during the allocation. Return: 0 or -ENOMEM.
 */
int twheel_stripe_alloc(struct twheel_keys *keys, struct twheel_stripe *stripe, gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(keys->memcg);
	struct twheel_key_bucket *bucket;
	u32 size = stripe_size(stripe);

	if (keys->memcg)
		gfp |= __GFP_ACCOUNT;
	bucket = kvcalloc(size, sizeof(*bucket), gfp);
	set_active_memcg(old);
	if (!bucket)
		return -ENOMEM;
	spin_lock_bh(&stripe->lock);
	if (!stripe->to.bucket && size_fits(size, stripe->nr)) {
		stripe->to = (struct twheel_key_buckets){ .bucket = bucket, .mask = size - 1 };
		stripe->moved = 0;
		bucket = NULL;
	}
	WRITE_ONCE(stripe->tried, TRIED_NOT);
	spin_unlock(&stripe->lock);
	/* vfree() does not sleep with softirqs disabled. */
	kvfree(bucket);
	local_bh_enable();
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_stripe_alloc);

static void stripe_move_key(struct twheel_keys *keys, struct twheel_stripe *stripe,
			    struct twheel_watch *first)
{
	u32 hash = twheel_watch_hash(first);

	bucket_put(&stripe->to.bucket[twheel_keys_number(keys, hash) & stripe->to.mask],
		   key_tag(hash), first);
}

/* Move keys of the bucket at @moved, and advance @moved after the last. Return: their number. */
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
	/* A chain may be long if there was no memory for some time. */
	while ((first = from->more) && nr < budget) {
		from->more = first->chain;
		stripe_move_key(keys, stripe, first);
		nr++;
	}
	if (!first)
		stripe->moved++;
	return nr;
}

/*
 * Move a chunk of keys, if a resize is in progress, and free the previous buckets after the last
 * one. Return: true if there are more. Context: any that may lock the stripe.
 */
bool twheel_stripe_move(struct twheel_keys *keys, struct twheel_stripe *stripe)
{
	struct twheel_key_buckets old = { .bucket = &stripe->few };
	unsigned int done = 0;
	bool more;

	spin_lock_bh(&stripe->lock);
	more = stripe->to.bucket;
	/* All slots of a bucket are moved in one step. */
	while (more && done + 1 + TWHEEL_KEY_SLOTS <= MOVE_CHUNK) {
		done += 1 + stripe_move_bucket(keys, stripe, MOVE_CHUNK - 1 - done);
		more = stripe->moved <= stripe->now.mask;
	}
	if (done && !more) {
		old = stripe->now;
		/* twheel_keys_prefetch() reads them without the lock. */
		WRITE_ONCE(stripe->now.bucket, stripe->to.bucket);
		WRITE_ONCE(stripe->now.mask, stripe->to.mask);
		stripe->to.bucket = NULL;
		stripe_set_tight(keys, stripe, stripe_must_grow(stripe));
	}
	spin_unlock(&stripe->lock);
	/* See twheel_stripe_alloc(). */
	buckets_free(stripe, &old);
	local_bh_enable();
	return more;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_stripe_move);

/* Adds */

/*
 * Whether an add has to allocate the buckets of a stripe. Only one at a time does, so that many
 * threads do not allocate them all.
 */
static bool stripe_claim(const struct twheel_keys *keys, struct twheel_stripe *stripe,
			 bool may_sleep)
{
	u8 tried = may_sleep ? TRIED_SLEEPING : TRIED_ATOMIC;
	bool claimed;

	spin_lock_bh(&stripe->lock);
	claimed = stripe_must_grow(stripe) && !stripe->to.bucket &&
		  READ_ONCE(stripe->tried) < tried && !READ_ONCE(keys->starved) &&
		  (may_sleep || stripe_size(stripe) <= ATOMIC_BUCKETS);
	if (claimed)
		WRITE_ONCE(stripe->tried, tried);
	spin_unlock_bh(&stripe->lock);
	return claimed;
}

/* Take part in the growth of a stripe. Return: true if it has more keys to be moved. */
static bool stripe_help(struct twheel_keys *keys, struct twheel_stripe *stripe, bool may_sleep)
{
	int err;

	if (stripe_claim(keys, stripe, may_sleep)) {
		err = twheel_stripe_alloc(keys, stripe, may_sleep ? BUCKET_GFP : BUCKET_GFP_POOR);
		/* The next add that may sleep tries again. */
		if (err && may_sleep)
			WRITE_ONCE(stripe->tried, TRIED_ATOMIC);
	}
	return twheel_stripe_move(keys, stripe);
}

static bool key_is_refused(struct twheel_keys *keys, const struct twheel_watch *watch)
{
	struct twheel_key_at at = twheel_key_lock(keys, twheel_watch_hash(watch));
	unsigned int chained;
	bool refused;

	refused = !key_find(&at, &watch->key, &chained) && chained >= TWHEEL_KEY_CHAIN &&
		  !bucket_has_slot(at.bucket);
	twheel_key_unlock(&at);
	return refused;
}

static int key_check(struct twheel_keys *keys, const struct twheel_watch *watch, bool may_sleep)
{
	struct twheel_stripe *stripe = twheel_keys_stripe(keys, twheel_watch_hash(watch));
	unsigned long end = jiffies + WAIT_TIMEOUT;
	bool more;

	for (;;) {
		more = stripe_help(keys, stripe, may_sleep);
		if (!key_is_refused(keys, watch))
			return 0;
		if (!may_sleep || fatal_signal_pending(current) || time_after(jiffies, end))
			return -ENOMEM;
		if (more)
			cond_resched();
		else if (READ_ONCE(stripe->tried) == TRIED_SLEEPING)
			schedule_timeout_killable(1);
		else
			return -ENOMEM;
	}
}

/* Slow path of twheel_keys_check(). */
int __twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr,
			bool may_sleep)
{
	const struct twheel_watch *watch;
	int err;

	for (watch = watches; watch < watches + nr; watch++) {
		err = key_check(keys, watch, may_sleep);
		if (err)
			return err;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(__twheel_keys_check);

/* The work item */

/* Return: false if there is no memory. */
static bool stripe_resize(struct twheel_keys *keys, struct twheel_stripe *stripe, gfp_t gfp)
{
	bool fits;

	for (;;) {
		while (twheel_stripe_move(keys, stripe))
			cond_resched();
		spin_lock_bh(&stripe->lock);
		fits = stripe_fits(stripe);
		/* Enough keys may have been removed. */
		if (fits && !stripe->to.bucket)
			stripe_set_tight(keys, stripe, false);
		spin_unlock_bh(&stripe->lock);
		if (fits)
			return true;
		if (twheel_stripe_alloc(keys, stripe, gfp))
			return false;
	}
}

static void keys_resize(struct work_struct *work)
{
	struct twheel_keys *keys = container_of(to_delayed_work(work), struct twheel_keys, resize);
	bool was_starved, starved = false;
	unsigned int i;

	/* Continue after a failure: a stripe that shrinks frees memory for others. */
	for (i = 0; i < nr_stripes(keys); i++)
		starved |= !stripe_resize(keys, &keys->stripe[i],
					  starved ? BUCKET_GFP_POOR : BUCKET_GFP);
	was_starved = READ_ONCE(keys->starved);
	/* Keeps adds from queueing the work, which would retry all the time. */
	WRITE_ONCE(keys->starved, starved);
	keys->retry_delay = starved ? clamp_t(unsigned long, 2 * keys->retry_delay, RETRY_DELAY,
					      RETRY_DELAY_MAX) : 0;
	/* While @starved was set, adds did not queue the work for stripes passed already. */
	if (starved || was_starved)
		mod_delayed_work(resize_wq, &keys->resize, keys->retry_delay);
}

/*
 * Initialise an empty table for @max_ops operations, charged to the memory cgroup of the
 * caller with @account. May sleep. Return: 0 or -ENOMEM.
 */
int twheel_keys_init(struct twheel_keys *keys, u32 max_ops, bool account)
{
	unsigned int i, nr = max(STRIPES_PER_CPU * nr_cpu_ids, max_ops / OPS_PER_STRIPE);

	keys->shift = order_base_2(clamp(nr, STRIPES_MIN, STRIPES_MAX));
	get_random_bytes(&keys->secret, sizeof(keys->secret));
	keys->stripe = kcalloc(nr_stripes(keys), sizeof(*keys->stripe),
			       GFP_KERNEL | (account ? TWHEEL_GFP_ACCOUNT : 0));
	if (!keys->stripe)
		return -ENOMEM;
	for (i = 0; i < nr_stripes(keys); i++) {
		spin_lock_init(&keys->stripe[i].lock);
		keys->stripe[i].now.bucket = &keys->stripe[i].few;
	}
	keys->memcg = account ? get_mem_cgroup_from_mm(current->mm) : NULL;
	INIT_DELAYED_WORK(&keys->resize, keys_resize);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_init);

/* Free a table without keys. May sleep. */
void twheel_keys_destroy(struct twheel_keys *keys)
{
	unsigned int i;

	WARN_ON_ONCE(twheel_keys_count(keys));
	cancel_delayed_work_sync(&keys->resize);
	for (i = 0; i < nr_stripes(keys); i++) {
		buckets_free(&keys->stripe[i], &keys->stripe[i].now);
		/* A resize that the work item has not finished. */
		kvfree(keys->stripe[i].to.bucket);
	}
	mem_cgroup_put(keys->memcg);
	kfree(keys->stripe);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_destroy);

/* Return: number of keys; approximate while keys are added or removed. */
u64 twheel_keys_count(struct twheel_keys *keys)
{
	unsigned int i;
	u64 nr = 0;

	for (i = 0; i < nr_stripes(keys); i++)
		nr += READ_ONCE(keys->stripe[i].nr);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_count);

int twheel_resize_init(void)
{
	resize_wq = alloc_workqueue("twheel_resize", WQ_UNBOUND, RESIZE_WORKERS);
	return resize_wq ? 0 : -ENOMEM;
}

void twheel_resize_exit(void)
{
	destroy_workqueue(resize_wq);
}
