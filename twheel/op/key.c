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
 *	bucket	| lock, tags | w1 | w4 |    |    |    | more -> w5 -> w9
 *		               |    '.
 *		             [w1 w2 w3]  [w4]
 *
 * A bucket is a cache line, the only one to fetch in order to find a key missing, to add
 * one or to remove one. When the first watch of a key is unlinked, the next one of its ring
 * replaces it in the bucket. Keys without a slot are chained through their watches: a link and a
 * move must not fail, and would have to if they had to allocate space for more slots.
 *
 *
 * Locking
 * -------
 *
 * Each bucket has a lock, so that CPUs with keys of their own rarely hand over a line. It
 * protects the bucket and the rings, and keeps the operation of each linked watch from being
 * freed. Signals, watches and ends of operations take it, and unrelated keys share a bucket, so
 * the work with the lock held is bounded: see signal.c, and TWHEEL_KEY_MOST for lookups. It is
 * taken in process and softirq context. From outer to inner:
 *
 *	keys->lock		splits and merges
 *	  bucket->lock		of the bucket with the lower number
 *	    bucket->lock	of the other one, in a split or merge
 *	      op->lock		never in a split or merge
 *
 *
 * Growth
 * ------
 *
 * This is linear hashing. With 2^k to 2^(k+1) buckets, a key belongs to the bucket with the number
 * of its lowest k + 1 bits, or, if there is no such bucket yet, of its lowest k bits. The next
 * split moves about half of the keys of bucket n - 2^k to the new bucket n:
 *
 *	| 0 | 1 | 2 | ...     | 2^k | 2^k + 1 |
 *	          ^ n - 2^k                    ^ n
 *
 * Both are locked for that, so at any time a key is in one bucket, the one that says so itself, in
 * bucket->mask. A look-up reads the size without a lock, locks the bucket, and begins again if a
 * split or merge was faster. The critical sections of a key thus follow one another, those of
 * different buckets by way of the split between them. (The second read of the size that this
 * replaces would be wrong: the table may have shrunk and grown again, with other memory.)
 *
 * The memory is in segments of 16 buckets. Nodes have the pointers to them, in up to three
 * levels. All of these are small allocations, so the table grows without long stretches of work,
 * and also if the caller must not sleep. A look-up may hold a pointer to a segment that is being
 * freed, hence RCU: its section begins before the read of the size, with softirqs disabled. Nodes
 * stay until the end of the table; they are less than a hundredth of it.
 *
 * A table has a bucket for about every three keys. Each link of a key in a long bucket looks if
 * it has fewer, and sets the size to which it should grow. From then on each add splits some
 * buckets for each of its keys, see twheel_keys_check(), so growth depends on nobody else. Adds do
 * not wait for each other in this, unless the bucket of their key is half full. A work item
 * shrinks the table if there are far more buckets than keys. It also allocates buckets after a
 * failure; adds try that only from time to time then.
 *
 * Each CPU counts keys in a line of its own. The counts are summed up when a bucket is long and
 * once in several removals.
 *
 * Segments are charged to the memory cgroup of the purgatory. If there is no memory, keys are
 * chained up to a bound. Beyond the bound adds fail. An add that may sleep splits until its own
 * bucket has space.
 *
 * rhashtable would do this and more, but it requires that each key outlives an RCU grace
 * period and therefore has its own allocation.
 */
#include <asm/byteorder.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/bottom_half.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "../core/twheel.h"
#include "key.h"

static_assert(sizeof(struct twheel_key_bucket) == 64 || sizeof(spinlock_t) > sizeof(u32));

/* A table grows when it has more keys per bucket than this, by a quarter more than it needs. */
#define KEYS_MAX	3

/* It shrinks when it has more buckets per key than this, until half of the buckets have a key. */
#define BUCKETS_MAX	2

/*
 * Number of keys that make a bucket long. With three keys on average, and six in those yet to be
 * split, few are; then the counts of all CPUs are read.
 */
#define LONG_BUCKET	8

/* Number of removals on a CPU after which the table may be found to be too large */
#define REMOVALS	64

/* Maximum number of buckets */
#define BUCKETS_MOST	BIT(28)

/* With more counts it takes longer to sum them up, and contention is no rarer. */
#define COUNTS_MOST	16

/* Number of buckets and keys of splits or merges before the locks are dropped. */
#define MOVE_CHUNK	32

/*
 * An allocation may fail. One round of reclaim is enough: it must not invoke the OOM killer. An
 * add that may not sleep does not reclaim memory.
 */
#define BUCKET_GFP	(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY)
#define BUCKET_GFP_POOR	(GFP_NOWAIT | __GFP_NOWARN)

/* Number of work items that run at the same time, for all purgatories together */
#define RESIZE_WORKERS	4

/* Delay of a retry in jiffies; the work item doubles it by each failure */
#define RETRY_DELAY	(HZ / 10)
#define RETRY_DELAY_MAX	(64 * RETRY_DELAY)

static struct workqueue_struct *resize_wq;

static u8 key_tag(u32 hash)
{
	return hash >> 24 | 0x80;
}

/* A byte for each slot of a bucket */
#define SLOT_BYTES(byte)	((u64)(byte) * 0x0101010101ULL)

/* Return: a word whose byte of a slot is 0x80 if this slot has the tag, and 0 otherwise. */
static u64 bucket_slots(const struct twheel_key_bucket *bucket, u8 tag)
{
	u64 differ = le64_to_cpu(bucket->tags) ^ SLOT_BYTES(tag);
	/* The top bit of a byte is set if any bit is; no byte carries over to the next one. */
	u64 set = ((differ & SLOT_BYTES(0x7f)) + SLOT_BYTES(0x7f)) | differ;

	BUILD_BUG_ON(TWHEEL_KEY_SLOTS != 5);
	return ~set & SLOT_BYTES(0x80);
}

static unsigned int slot_of(u64 slots)
{
	return __ffs64(slots) / BITS_PER_BYTE;
}

/* Return: the first watch of a key, or NULL if it is not watched. */
struct twheel_watch *twheel_key_first(const struct twheel_key_at *at,
				      const struct twheel_key *key)
{
	const struct twheel_key_bucket *bucket = at->bucket;
	struct twheel_watch *first;
	u8 tag = key_tag(at->hash);
	u64 slots;

	lockdep_assert_held(&bucket->lock);
	for (slots = bucket_slots(bucket, tag); slots; slots &= slots - 1) {
		first = bucket->slot[slot_of(slots)];
		if (likely(twheel_key_equal(&first->key, key)))
			return first;
	}
	if (likely(!(bucket->chained & BIT(tag % 8))))
		return NULL;
	for (first = bucket->more; first; first = first->chain)
		if (twheel_key_equal(&first->key, key))
			break;
	return first;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_first);

/* The number of keys */

static struct twheel_key_count *keys_count(const struct twheel_keys *keys)
{
	return &keys->count[raw_smp_processor_id() & (keys->nr_counts - 1)];
}

/* Return: number of keys; approximate while keys are added or removed. */
u64 twheel_keys_count(struct twheel_keys *keys)
{
	unsigned int i;
	long nr = 0;

	for (i = 0; i < keys->nr_counts; i++)
		nr += atomic_long_read(&keys->count[i].nr);
	/* A removal may have been counted, but not the add before it. */
	return max(nr, 0L);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_count);

static bool keys_are_few(struct twheel_keys *keys)
{
	return READ_ONCE(keys->size) > max_t(u64, TWHEEL_SEGMENT,
					     twheel_keys_count(keys) * BUCKETS_MAX);
}

static void bucket_set_nr(struct twheel_keys *keys, struct twheel_key_bucket *bucket,
			  unsigned int nr)
{
	bool was_full = bucket->nr >= TWHEEL_KEY_MOST, full = nr >= TWHEEL_KEY_MOST;

	bucket->nr = nr;
	if (unlikely(was_full != full))
		atomic_add(full ? 1 : -1, &keys->nr_full);
}

/* Set the size to which the table should grow; the next adds split buckets. */
static noinline void keys_aim(struct twheel_keys *keys)
{
	u32 size = READ_ONCE(keys->size);
	u64 nr;

	/* It is growing. */
	if (size < READ_ONCE(keys->target))
		return;
	nr = twheel_keys_count(keys);
	if (nr > (u64)size * KEYS_MAX)
		WRITE_ONCE(keys->target, min_t(u64, nr * 5 / (4 * KEYS_MAX) + 1, BUCKETS_MOST));
}

static void bucket_count_added(const struct twheel_key_at *at)
{
	unsigned int nr = at->bucket->nr + 1;

	atomic_long_inc(&keys_count(at->keys)->nr);
	if (likely(nr < LONG_BUCKET)) {
		at->bucket->nr = nr;
		return;
	}
	bucket_set_nr(at->keys, at->bucket, nr);
	/* There may be too few buckets. */
	keys_aim(at->keys);
}

static void bucket_count_removed(const struct twheel_key_at *at)
{
	struct twheel_keys *keys = at->keys;

	if (likely(at->bucket->nr < LONG_BUCKET))
		at->bucket->nr--;
	else
		bucket_set_nr(keys, at->bucket, at->bucket->nr - 1);
	if (atomic_long_dec_return(&keys_count(keys)->nr) % REMOVALS)
		return;
	if (keys_are_few(keys))
		queue_delayed_work(resize_wq, &keys->resize, 0);
}

/* Rings and buckets */

static void watch_mark(struct twheel_watch *watch, u32 flags)
{
	WRITE_ONCE(watch->mark, (watch->mark & TWHEEL_WATCH_HASH) | flags);
}

static void bucket_put(struct twheel_key_bucket *bucket, u8 tag, struct twheel_watch *first)
{
	u64 free = bucket_slots(bucket, 0);
	unsigned int i;

	if (likely(free)) {
		i = slot_of(free);
		bucket->tag[i] = tag;
		bucket->slot[i] = first;
		return;
	}
	first->chain = bucket->more;
	bucket->more = first;
	bucket->chained |= BIT(tag % 8);
}

/* Append a watch to the ring of its key. Its key and hash are set. */
void twheel_key_link(const struct twheel_key_at *at, struct twheel_watch *watch)
{
	struct twheel_watch *first = twheel_key_first(at, &watch->key);

	if (first) {
		watch_mark(watch, TWHEEL_WATCH_LINKED);
		list_add_tail(&watch->entry, &first->entry);
		return;
	}
	watch_mark(watch, TWHEEL_WATCH_LINKED | TWHEEL_WATCH_FIRST);
	INIT_LIST_HEAD(&watch->entry);
	bucket_put(at->bucket, key_tag(at->hash), watch);
	bucket_count_added(at);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_link);

/* Replace the first watch of a key in the chain of its bucket, or remove it if @new is NULL. */
static noinline void chain_replace(struct twheel_key_bucket *bucket, struct twheel_watch *first,
				   struct twheel_watch *new)
{
	struct twheel_watch **link = &bucket->more;

	while (*link && *link != first)
		link = &(*link)->chain;
	if (WARN_ON_ONCE(!*link))
		return;
	if (new)
		new->chain = first->chain;
	*link = new ?: first->chain;
	if (!bucket->more)
		bucket->chained = 0;
}

/* Likewise, in its bucket. */
static __always_inline void bucket_replace(const struct twheel_key_at *at,
					   struct twheel_watch *first, struct twheel_watch *new)
{
	struct twheel_key_bucket *bucket = at->bucket;
	unsigned int i;
	u64 slots;

	for (slots = bucket_slots(bucket, key_tag(at->hash)); slots; slots &= slots - 1) {
		i = slot_of(slots);
		if (unlikely(bucket->slot[i] != first))
			continue;
		bucket->slot[i] = new;
		if (!new)
			bucket->tag[i] = 0;
		return;
	}
	chain_replace(bucket, first, new);
}

/* Make another watch of a key the first one. */
static void key_replace_first(const struct twheel_key_at *at, struct twheel_watch *first,
			      struct twheel_watch *new)
{
	bucket_replace(at, first, new);
	watch_mark(first, TWHEEL_WATCH_LINKED);
	watch_mark(new, TWHEEL_WATCH_LINKED | TWHEEL_WATCH_FIRST);
}

/* Insert a watch before another one of its key. */
void twheel_key_link_before(const struct twheel_key_at *at, struct twheel_watch *watch,
			    struct twheel_watch *next)
{
	lockdep_assert_held(&at->bucket->lock);
	watch_mark(watch, TWHEEL_WATCH_LINKED);
	list_add_tail(&watch->entry, &next->entry);
	if (twheel_watch_is_first(next))
		key_replace_first(at, next, watch);
}

void twheel_key_unlink(const struct twheel_key_at *at, struct twheel_watch *watch)
{
	lockdep_assert_held(&at->bucket->lock);
	if (list_empty(&watch->entry)) {
		/* The only watch: the key goes. */
		bucket_replace(at, watch, NULL);
		bucket_count_removed(at);
	} else {
		if (twheel_watch_is_first(watch))
			key_replace_first(at, watch, list_next_entry(watch, entry));
		list_del(&watch->entry);
	}
	watch_mark(watch, 0);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_unlink);

/* Splits and merges */

/* Move the keys with one of @bits in their number, or all if @bits is 0. Both are locked. */
static void bucket_move(struct twheel_keys *keys, struct twheel_key_bucket *from,
			struct twheel_key_bucket *to, u32 bits)
{
	struct twheel_watch *first, *next = from->more;
	unsigned int i, nr = 0;
	u32 hash;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		if (from->tag[i])
			prefetch(&from->slot[i]->mark);
	for (i = 0; i < TWHEEL_KEY_SLOTS; i++) {
		if (!from->tag[i])
			continue;
		hash = twheel_watch_hash(from->slot[i]);
		if (bits && !(twheel_key_number(hash) & bits))
			continue;
		bucket_put(to, from->tag[i], from->slot[i]);
		from->tag[i] = 0;
		from->slot[i] = NULL;
		nr++;
	}
	from->more = NULL;
	from->chained = 0;
	while ((first = next)) {
		next = first->chain;
		hash = twheel_watch_hash(first);
		if (bits && !(twheel_key_number(hash) & bits)) {
			/* Perhaps to a slot that has become free. */
			bucket_put(from, key_tag(hash), first);
			continue;
		}
		bucket_put(to, key_tag(hash), first);
		nr++;
	}
	bucket_set_nr(keys, to, to->nr + nr);
	bucket_set_nr(keys, from, from->nr - nr);
}

/* Split a bucket, if its keys are in the budget. Return: their number and 1, or 0. */
static unsigned int keys_split_bucket(struct twheel_keys *keys, unsigned int budget)
{
	u32 size = keys->size, half = rounddown_pow_of_two(size);
	struct twheel_key_bucket *from = twheel_keys_bucket(keys, size - half);
	struct twheel_key_bucket *to = twheel_keys_bucket(keys, size);
	unsigned int cost;

	lockdep_assert_held(&keys->lock);
	spin_lock(&from->lock);
	cost = from->nr + 1;
	/* The first bucket of a chunk may be full. */
	if (cost > budget && budget < MOVE_CHUNK) {
		spin_unlock(&from->lock);
		return 0;
	}
	spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	bucket_move(keys, from, to, half);
	from->mask = 2 * half - 1;
	to->mask = from->mask;
	/* Pairs with the acquire in twheel_key_lock(). */
	smp_store_release(&keys->size, size + 1);
	spin_unlock(&to->lock);
	spin_unlock(&from->lock);
	return cost;
}

/* Split a chunk of buckets, if the table has to grow and has the memory. Return: whether it did. */
static bool keys_split_chunk(struct twheel_keys *keys)
{
	unsigned int cost, done = 0;

	while (done < MOVE_CHUNK && keys->size < READ_ONCE(keys->target) &&
	       keys->size < keys->capacity) {
		cost = keys_split_bucket(keys, MOVE_CHUNK - done);
		if (!cost)
			break;
		done += cost;
	}
	return done;
}

/* Likewise, from any context that may lock a bucket */
bool twheel_keys_split(struct twheel_keys *keys)
{
	bool done;

	spin_lock_bh(&keys->lock);
	done = keys_split_chunk(keys);
	spin_unlock_bh(&keys->lock);
	return done;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_split);

/*
 * Merge the last bucket with the one from which it was split, if their keys are in the budget.
 * Return: the number of moved keys and 1, or 0.
 */
static unsigned int keys_merge_bucket(struct twheel_keys *keys, unsigned int budget)
{
	u32 size = keys->size - 1, half = rounddown_pow_of_two(size);
	struct twheel_key_bucket *to = twheel_keys_bucket(keys, size - half);
	struct twheel_key_bucket *from = twheel_keys_bucket(keys, size);
	unsigned int cost;

	lockdep_assert_held(&keys->lock);
	spin_lock(&to->lock);
	spin_lock_nested(&from->lock, SINGLE_DEPTH_NESTING);
	cost = from->nr + 1;
	if ((cost > budget && budget < MOVE_CHUNK) || from->nr + to->nr > TWHEEL_KEY_MOST) {
		cost = 0;
		goto unlock;
	}
	bucket_move(keys, from, to, 0);
	to->mask = half - 1;
	/* No key belongs to it, and a late look-up sees that. */
	from->mask = 0;
	/* An add that aims at more, in this moment, does so again. */
	WRITE_ONCE(keys->target, size);
	WRITE_ONCE(keys->size, size);
unlock:
	spin_unlock(&from->lock);
	spin_unlock(&to->lock);
	return cost;
}

/* Free the last segment after a grace period. Its pointer stays, for late look-ups. */
static void keys_free_segment(struct twheel_keys *keys)
{
	struct twheel_key_bucket *segment;

	lockdep_assert_held(&keys->lock);
	WRITE_ONCE(keys->capacity, keys->capacity - TWHEEL_SEGMENT);
	segment = twheel_keys_bucket(keys, keys->capacity);
	kfree_rcu(segment, rcu);
}

/*
 * Merge a chunk of buckets until there are only @size, at least TWHEEL_SEGMENT. Return: whether it
 * did. Context: any that may lock a bucket.
 */
bool twheel_keys_merge(struct twheel_keys *keys, u32 size)
{
	unsigned int cost, done = 0;

	spin_lock_bh(&keys->lock);
	while (done < MOVE_CHUNK && keys->size > size) {
		cost = keys_merge_bucket(keys, MOVE_CHUNK - done);
		if (!cost)
			break;
		done += cost;
		/* Keep one, so that the next key does not allocate it again. */
		if (keys->capacity - keys->size >= 2 * TWHEEL_SEGMENT)
			keys_free_segment(keys);
	}
	spin_unlock_bh(&keys->lock);
	return done;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_merge);

/* Memory */

static void *keys_alloc(struct twheel_keys *keys, bool node, gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(keys->memcg);
	size_t size = node ? sizeof(struct twheel_key_node) :
			     TWHEEL_SEGMENT * sizeof(struct twheel_key_bucket);
	struct twheel_key_bucket *segment;
	unsigned int i;

	if (keys->memcg)
		gfp |= __GFP_ACCOUNT;
	segment = kzalloc(size, gfp);
	set_active_memcg(old);
	for (i = 0; segment && !node && i < TWHEEL_SEGMENT; i++)
		spin_lock_init(&segment[i].lock);
	return segment;
}

/* Return: where the pointer to the segment of bucket @i belongs, or to a node on the way. */
static void **keys_place(struct twheel_keys *keys, u32 i, bool *node)
{
	unsigned int level = (i >= BIT(TWHEEL_NODE0_SHIFT)) + (i >= BIT(TWHEEL_NODE1_SHIFT));
	unsigned int shift = TWHEEL_SEGMENT_SHIFT + level * TWHEEL_NODE_SHIFT;
	void **place = (void **)&keys->node[level];

	lockdep_assert_held(&keys->lock);
	for (*node = true; *place; shift -= TWHEEL_NODE_SHIFT) {
		place = &((struct twheel_key_node *)*place)->at[i >> shift &
								(BIT(TWHEEL_NODE_SHIFT) - 1)];
		if (shift == TWHEEL_SEGMENT_SHIFT) {
			*node = false;
			break;
		}
	}
	return place;
}

/* Install memory for the next segment, or a node that it needs. Return: whether it was needed. */
static bool keys_install(struct twheel_keys *keys, void *memory, bool node)
{
	void **place;
	bool needed;

	lockdep_assert_held(&keys->lock);
	if (keys->size < keys->capacity)
		return false;
	place = keys_place(keys, keys->capacity, &needed);
	if (node != needed)
		return false;
	/*
	 * Pairs with the address dependency in twheel_keys_bucket(). A look-up with the size of an
	 * earlier table, which was larger, may find this memory before the size changes.
	 */
	smp_store_release(place, memory);
	if (!node)
		WRITE_ONCE(keys->capacity, keys->capacity + TWHEEL_SEGMENT);
	return true;
}

static bool keys_need_node(struct twheel_keys *keys)
{
	bool node;

	spin_lock_bh(&keys->lock);
	keys_place(keys, keys->capacity, &node);
	spin_unlock_bh(&keys->lock);
	return node;
}

/* Allocate memory for the next bucket, if there is none. Return: false if there is no memory. */
bool twheel_keys_extend(struct twheel_keys *keys, gfp_t gfp)
{
	void *memory;
	bool node;

	while (READ_ONCE(keys->size) >= READ_ONCE(keys->capacity)) {
		node = keys_need_node(keys);
		memory = keys_alloc(keys, node, gfp);
		if (!memory)
			return false;
		spin_lock_bh(&keys->lock);
		if (keys_install(keys, memory, node))
			memory = NULL;
		spin_unlock_bh(&keys->lock);
		/* Another caller was faster. */
		kfree(memory);
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_extend);

static void keys_free_node(struct twheel_key_node *node, unsigned int level)
{
	unsigned int i;

	for (i = 0; level && i < ARRAY_SIZE(node->at); i++)
		if (node->at[i])
			keys_free_node(node->at[i], level - 1);
	kfree(node);
	cond_resched();
}

/* Adds */

static bool keys_must_grow(const struct twheel_keys *keys)
{
	return READ_ONCE(keys->size) < READ_ONCE(keys->target);
}

/* The memory for a growing table, from an add. The checks without a lock are hints. */
static bool keys_try_extend(struct twheel_keys *keys, bool may_sleep)
{
	unsigned long *retry = &keys->retry[may_sleep];

	if (READ_ONCE(keys->size) < READ_ONCE(keys->capacity))
		return true;
	if (time_before(jiffies, READ_ONCE(*retry)))
		return false;
	if (twheel_keys_extend(keys, may_sleep ? BUCKET_GFP : BUCKET_GFP_POOR))
		return true;
	WRITE_ONCE(*retry, jiffies + RETRY_DELAY);
	queue_delayed_work(resize_wq, &keys->resize, may_sleep ? RETRY_DELAY : 0);
	return false;
}

/*
 * Help to grow the table. Without @wait, do not wait for another caller that is splitting buckets.
 * Return: false if it does not grow.
 */
static bool keys_grow(struct twheel_keys *keys, bool may_sleep, bool wait)
{
	/* A merge may have been faster than the last aim. */
	if (wait)
		keys_aim(keys);
	if (!keys_must_grow(keys) || !keys_try_extend(keys, may_sleep))
		return false;
	if (wait) {
		twheel_keys_split(keys);
	} else if (spin_trylock_bh(&keys->lock)) {
		keys_split_chunk(keys);
		spin_unlock_bh(&keys->lock);
	}
	/* Keys may have been added faster, as long as there was no memory. */
	if (!keys_must_grow(keys))
		keys_aim(keys);
	return true;
}

/* Return: number of other keys in the bucket of a key, or 0 if it is watched already. */
static unsigned int key_neighbours(struct twheel_keys *keys, const struct twheel_watch *watch)
{
	struct twheel_key_at at = twheel_key_lock(keys, twheel_watch_hash(watch));
	unsigned int nr = twheel_key_first(&at, &watch->key) ? 0 : at.bucket->nr;

	twheel_key_unlock(&at);
	return nr;
}

static int key_check(struct twheel_keys *keys, const struct twheel_watch *watch, bool may_sleep)
{
	bool waited = false, grown;
	unsigned int nr;

	keys_grow(keys, may_sleep, false);
	for (;;) {
		nr = key_neighbours(keys, watch);
		/* Long before the bucket is full, growth has to keep up with the adds. */
		if (nr < TWHEEL_KEY_MOST / 2 || (waited && nr < TWHEEL_KEY_MOST))
			return 0;
		grown = !(waited && (!may_sleep || fatal_signal_pending(current))) &&
			keys_grow(keys, may_sleep, true);
		if (!grown)
			return nr < TWHEEL_KEY_MOST ? 0 : -ENOMEM;
		waited = true;
		if (may_sleep)
			cond_resched();
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

static void keys_shrink(struct twheel_keys *keys)
{
	if (!keys_are_few(keys))
		return;
	/* Keys may be added meanwhile. */
	while (twheel_keys_merge(keys, max_t(u64, TWHEEL_SEGMENT, twheel_keys_count(keys) / 2)))
		cond_resched();
}

static void keys_resize(struct work_struct *work)
{
	struct twheel_keys *keys = container_of(to_delayed_work(work), struct twheel_keys, resize);

	for (;;) {
		keys_aim(keys);
		if (!keys_must_grow(keys) || !twheel_keys_extend(keys, BUCKET_GFP))
			break;
		twheel_keys_split(keys);
		cond_resched();
	}
	keys_shrink(keys);
	if (!keys_must_grow(keys)) {
		keys->retry_delay = 0;
		return;
	}
	keys->retry_delay = clamp_t(unsigned long, 2 * keys->retry_delay, RETRY_DELAY,
				    RETRY_DELAY_MAX);
	mod_delayed_work(resize_wq, &keys->resize, keys->retry_delay);
}

/*
 * Initialise an empty table, which is zeroed; with @account it is charged to the memory cgroup of
 * the caller. May sleep. Return: 0 or -ENOMEM.
 */
int twheel_keys_init(struct twheel_keys *keys, bool account)
{
	unsigned int i;

	keys->nr_counts = min_t(unsigned int, roundup_pow_of_two(nr_cpu_ids), COUNTS_MOST);
	keys->count = kcalloc(keys->nr_counts, sizeof(*keys->count),
			      GFP_KERNEL | (account ? TWHEEL_GFP_ACCOUNT : 0));
	if (!keys->count)
		return -ENOMEM;
	get_random_bytes(&keys->secret, sizeof(keys->secret));
	spin_lock_init(&keys->lock);
	for (i = 0; i < TWHEEL_SEGMENT; i++) {
		spin_lock_init(&keys->few[i].lock);
		keys->few[i].mask = TWHEEL_SEGMENT - 1;
	}
	keys->size = TWHEEL_SEGMENT;
	keys->capacity = TWHEEL_SEGMENT;
	keys->retry[0] = jiffies;
	keys->retry[1] = jiffies;
	keys->memcg = account ? get_mem_cgroup_from_mm(current->mm) : NULL;
	INIT_DELAYED_WORK(&keys->resize, keys_resize);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_init);

/* Free a table without keys. May sleep. */
void twheel_keys_destroy(struct twheel_keys *keys)
{
	unsigned int level;
	u32 i;

	WARN_ON_ONCE(twheel_keys_count(keys));
	cancel_delayed_work_sync(&keys->resize);
	for (i = TWHEEL_SEGMENT; i < keys->capacity; i += TWHEEL_SEGMENT) {
		kfree(twheel_keys_bucket(keys, i));
		cond_resched();
	}
	for (level = 0; level < TWHEEL_NODE_LEVELS; level++)
		if (keys->node[level])
			keys_free_node(keys->node[level], level);
	mem_cgroup_put(keys->memcg);
	kfree(keys->count);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_destroy);

int twheel_resize_init(void)
{
	resize_wq = alloc_workqueue("twheel_resize", WQ_UNBOUND, RESIZE_WORKERS);
	return resize_wq ? 0 : -ENOMEM;
}

void twheel_resize_exit(void)
{
	destroy_workqueue(resize_wq);
}
