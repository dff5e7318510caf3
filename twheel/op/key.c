// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the hash table of watched keys.
 *
 *
 * There is no per-key object. The watches of a key follow one another, in the order in which they
 * were linked, and the first of them represents the key in the table. So a key needs no allocation,
 * and it exists while it has a watch.
 *
 *	bucket	| lock, nr, tags | slot | slot | last slot |
 *		                   |      |      '--> w5 -> w6 -> w9	a key of w5 and w6, and
 *		                   |      '---------> w4		one of w9
 *		                   '----------------> w1 -> w2 -> w3
 *
 * A bucket is a cache line, usually the only one to fetch in order to find a key missing, to
 * add one or to remove one: without the tags, an operation would fetch 0.8 lines more. The first
 * slots are used. If all are, further keys follow that of the last slot: a link and a move must not
 * fail, and would have to if they had to allocate space.
 * watch->key_prev is circular, so that the last watch of a key is found through the first one, and
 * through that the next key. It is NULL in a watch that is not linked.
 *
 *
 * Locking
 * -------
 *
 * bucket->lock protects the bucket and its watches, and keeps the operations of these from being
 * freed. CPUs with keys of their own rarely share one, and write to nothing else. Unrelated keys
 * share a bucket, so the work with the lock held is bounded: see signal.c, and TWHEEL_KEY_MOST.
 * Interrupts are disabled meanwhile. From outer to inner:
 *
 *	keys->lock		moves
 *	  bucket->lock		of the older table
 *	    bucket->lock	of the next table
 *	      shard->lock	never in a move
 *
 *
 * Moves
 * -----
 *
 * A table has a power of two of buckets. To double or to halve it, all keys are moved to another
 * table, a bucket at a time:
 *
 *	mover                                look-up
 *	-----                                -------
 *	lock the bucket                      lock the bucket; MOVED: unlock,
 *	for each key: lock its bucket in       and look in the next table
 *	  the next table, put it there,
 *	  unlock
 *	mark it MOVED, unlock
 *
 * So at any time a key belongs to one bucket: the first one, in the order of the tables, that is
 * not MOVED. This stays so while its lock is held. The critical sections of a key thus follow one
 * another, those of different buckets by way of the move.
 *
 * Buckets are allocated, in segments, before the first key is moved there, and freed when the keys
 * of their segment have been moved. A look-up may hold a pointer to memory that is being freed,
 * hence RCU: its section begins before it reads the pointer to the table, with interrupts disabled.
 *
 * Calls that add or end operations make the moves, some keys and buckets each, so growth depends
 * on nobody else, and they do not wait for each other. A failure to allocate is not an error: the
 * move rests until another call finds the table too small or too large. Keys then share the
 * buckets, up to a bound. Beyond it adds fail. An add that may sleep moves keys until its bucket
 * has space.
 *
 * Keys are not counted. After a link that makes a bucket long, and now and then after an unlink
 * that makes one empty, the next call looks at the lengths of some buckets: with more than four
 * keys on average the table doubles, with less than one for four buckets it is halved. Between this
 * and no key there are a dozen such looks. After adds a table has 16 to 32 bytes for each key, if
 * it has some hundred.
 *
 *
 * Order of a walk
 * ---------------
 *
 * The hashes of a bucket are an interval. A walk visits them in their order, with a hash as its
 * position, so it visits a key once that is linked during the whole walk, whatever the size of the
 * table. The bucket to which a hash belongs, and those of it in earlier tables, which are MOVED,
 * are nested intervals. All hashes of the smallest one belong to the bucket.
 *
 * While a caller walks over the keys, the table does not shrink: if the caller removes the keys
 * that it visits, those that are left are in few buckets, which would become longer and longer.
 *
 *
 * Why not rhashtable
 * ------------------
 *
 * Its look-ups take no lock, so a key has to outlive a grace period, and needs an object with a
 * lock, an allocation and a callback of RCU. With such objects in an rhashtable beside this table,
 * which made all look-ups, an add of one key took 1,763 instructions instead of 1,377 on Debian's
 * 6.12, and its completion 1,226 instead of 980; this table takes at most 100 and 80 of these. The
 * objects and their table took 105 bytes for each key, where this table takes 16 to 32. Each
 * insertion and removal writes to one counter, which CPUs with keys of their own share.
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
#include "key.h"

static_assert(sizeof(struct twheel_key_bucket) == 64 || sizeof(spinlock_t) > sizeof(u32) ||
	      sizeof(void *) < sizeof(u64));

/* A bucket with as many keys is long: three times the average of a table that should grow. */
#define KEYS_LONG	12U

/* Of the smallest table */
#define SHIFT_MAX	(32 - const_ilog2(TWHEEL_KEY_MOST))

static u32 nr_segments(u32 shift)
{
	return DIV_ROUND_UP(1U << (32 - shift), TWHEEL_KEY_SEGMENT);
}

static size_t segment_size(const struct twheel_key_table *table)
{
	return min(twheel_key_table_size(table), TWHEEL_KEY_SEGMENT) * sizeof(**table->segment);
}

/* Return: the bucket of a hash in a table, or NULL if its segment is missing. */
static struct twheel_key_bucket *table_bucket(const struct twheel_key_table *table, u32 hash)
{
	struct twheel_key_bucket *segment = twheel_key_segment(table, hash);

	return segment ? segment + (hash >> table->shift) % TWHEEL_KEY_SEGMENT : NULL;
}

/* Return: the first watch of the next key of the last slot, or NULL. */
static struct twheel_watch *key_next(const struct twheel_watch *first)
{
	return first->key_prev->key_next;
}

/* twheel_key_first() for the keys behind that of the last slot. */
struct twheel_watch *twheel_key_following(const struct twheel_key_bucket *bucket,
					  struct twheel_key key)
{
	struct twheel_watch *first = bucket->slot[TWHEEL_KEY_SLOTS - 1];

	do {
		first = key_next(first);
	} while (first && !twheel_key_equal(&first->key, &key));
	return first;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_following);

/* Whether a key comes before that of a watch in the order of a walk. */
static bool key_before(u32 hash, const struct twheel_key *key, const struct twheel_watch *watch)
{
	if (hash != watch->hash)
		return hash < watch->hash;
	return key->v[0] != watch->key.v[0] ? key->v[0] < watch->key.v[0] :
					       key->v[1] < watch->key.v[1];
}

/*
 * Return: the first watch of the next key of a bucket in the order of a walk, whose position @at
 * is, or NULL. That is the key after @key, which has the hash of the position; without @key, the
 * first one from there on.
 */
struct twheel_watch *twheel_key_after(const struct twheel_key_at *at, const struct twheel_key *key)
{
	struct twheel_watch *first, *found = NULL;
	unsigned int i;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		for (first = at->bucket->slot[i]; first; first = key_next(first))
			if (first->hash <= at->last &&
			    (key ? key_before(at->hash, key, first) : first->hash >= at->hash) &&
			    (!found || key_before(first->hash, &first->key, found)))
				found = first;
	return found;
}

/* Watches and buckets */

/* Add a key, with all of its watches. */
static void bucket_put(struct twheel_keys *keys, struct twheel_key_bucket *bucket,
		       struct twheel_watch *first)
{
	struct twheel_watch **next;

	if (bucket->nr < TWHEEL_KEY_SLOTS) {
		bucket->tag[bucket->nr] = twheel_key_tag(first->hash);
		next = &bucket->slot[bucket->nr];
	} else {
		next = &bucket->slot[TWHEEL_KEY_SLOTS - 1]->key_prev->key_next;
	}
	first->key_prev->key_next = *next;
	*next = first;
	WRITE_ONCE(bucket->nr, bucket->nr + 1);
	if (unlikely(bucket->nr == TWHEEL_KEY_MOST))
		atomic_inc(&keys->nr_full);
	/* Far beyond the bound, and far below MOVED */
	WARN_ON_ONCE(bucket->nr == U16_MAX);
}

/* Return: the pointer to the first watch of a key. */
static struct twheel_watch **bucket_link(struct twheel_key_bucket *bucket,
					 const struct twheel_watch *first)
{
	struct twheel_watch **link;
	unsigned int i;

	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		if (bucket->slot[i] == first)
			return &bucket->slot[i];
	link = &bucket->slot[TWHEEL_KEY_SLOTS - 1];
	while (*link != first)
		link = &(*link)->key_prev->key_next;
	return link;
}

/* Remove a key, which has one watch. */
static void bucket_remove(struct twheel_keys *keys, struct twheel_key_bucket *bucket,
			  struct twheel_watch *watch)
{
	struct twheel_watch **link = bucket_link(bucket, watch), *extra;
	struct twheel_watch **last = &bucket->slot[TWHEEL_KEY_SLOTS - 1];
	size_t i = link - bucket->slot;

	if (unlikely(bucket->nr == TWHEEL_KEY_MOST))
		atomic_dec(&keys->nr_full);
	if (bucket->nr <= TWHEEL_KEY_SLOTS) {
		twheel_key_clear_slot(bucket, i, bucket->nr - 1);
		return;
	}
	WRITE_ONCE(bucket->nr, bucket->nr - 1);
	if (i < TWHEEL_KEY_SLOTS - 1) {
		/* The first key of the last slot takes its place. */
		extra = *last;
		*last = key_next(extra);
		extra->key_prev->key_next = NULL;
		*link = extra;
		bucket->tag[i] = twheel_key_tag(extra->hash);
	} else {
		*link = watch->key_next;
	}
	bucket->tag[TWHEEL_KEY_SLOTS - 1] = twheel_key_tag((*last)->hash);
}

/* twheel_key_link() for a key that may have watches, or for which there is no slot. */
void twheel_key_link_slow(struct twheel_keys *keys, struct twheel_key_bucket *bucket,
			  struct twheel_watch *watch, u64 slots)
{
	struct twheel_watch *first = twheel_key_find(bucket, &watch->key, slots), *last;

	if (first) {
		last = first->key_prev;
		watch->key_next = last->key_next;
		watch->key_prev = last;
		last->key_next = watch;
		first->key_prev = watch;
		return;
	}
	watch->key_prev = watch;
	bucket_put(keys, bucket, watch);
	if (unlikely(bucket->nr % KEYS_LONG == 0))
		WRITE_ONCE(keys->look, true);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_link_slow);

/* Whether a watch is the first one of its key. */
static bool watch_is_first(const struct twheel_watch *watch)
{
	return watch->key_prev->key_next != watch;
}

/* Insert a watch before another one of its key. */
static void key_link_before(const struct twheel_key_at *at, struct twheel_watch *watch,
			    struct twheel_watch *next)
{
	struct twheel_watch *prev = next->key_prev;

	lockdep_assert_held(&at->bucket->lock);
	if (watch_is_first(next))
		*bucket_link(at->bucket, next) = watch;
	else
		prev->key_next = watch;
	watch->key_prev = prev;
	watch->key_next = next;
	next->key_prev = watch;
}

/* twheel_key_unlink() for one of several watches, or of several keys. */
void twheel_key_unlink_slow(struct twheel_keys *keys, struct twheel_key_bucket *bucket,
			    struct twheel_watch *watch)
{
	const struct twheel_key_at at = { .bucket = bucket, .hash = watch->hash };
	struct twheel_watch *prev = watch->key_prev, *next = watch->key_next;

	lockdep_assert_held(&bucket->lock);
	if (likely(twheel_watch_is_only(watch))) {
		bucket_remove(keys, bucket, watch);
	} else if (watch_is_first(watch)) {
		*bucket_link(bucket, watch) = next;
		next->key_prev = prev;
	} else {
		prev->key_next = next;
		/* The next one may be another key. */
		if (!next || next->key_prev != watch)
			next = twheel_key_first(&at, &watch->key);
		next->key_prev = prev;
	}
	watch->key_prev = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_key_unlink_slow);

/* Link marks around a watch and those behind it. */
void twheel_marks_link(struct twheel_marks *marks, const struct twheel_key_at *at,
		       struct twheel_watch *next)
{
	marks->end = (struct twheel_watch){ .key = next->key, .hash = next->hash };
	marks->cursor = marks->end;
	marks->linked = true;
	twheel_key_link(at, &marks->end);
	key_link_before(at, &marks->cursor, next);
}

/* Move the cursor in front of another watch, or unlink the marks if @next is the end or NULL. */
void twheel_marks_move(struct twheel_marks *marks, const struct twheel_key_at *at,
		       struct twheel_watch *next)
{
	twheel_key_unlink(at, &marks->cursor);
	marks->linked = next && next != &marks->end;
	if (marks->linked)
		key_link_before(at, &marks->cursor, next);
	else
		twheel_key_unlink(at, &marks->end);
}

/* Moves */

/* Return: number of keys in TWHEEL_KEY_MOST buckets spread over a table, without their locks. */
static unsigned int table_sample(const struct twheel_key_table *table, u32 hash)
{
	const struct twheel_key_bucket *bucket;
	unsigned int keys, nr, sum = 0;

	for (nr = 0; nr < TWHEEL_KEY_MOST; nr++) {
		bucket = table_bucket(table, hash + (nr << SHIFT_MAX));
		keys = bucket ? READ_ONCE(bucket->nr) : TWHEEL_KEY_MOVED;
		sum += keys == TWHEEL_KEY_MOVED ? 0 : keys;
	}
	return sum;
}

/* Return: the shift that the table should have. */
static u32 keys_shift(struct twheel_keys *keys)
{
	const struct twheel_key_table *table = keys->table;
	unsigned int sum = table_sample(table, get_random_u32());

	if (sum > 4 * TWHEEL_KEY_MOST)
		return table->shift - 1;
	return table->shift + (sum < TWHEEL_KEY_MOST / 4 && table->shift < SHIFT_MAX &&
			       !atomic_read(&keys->walks) && !atomic_read(&keys->nr_full));
}

/* Move the keys of a bucket to the next table. Return: their number and 1. */
static unsigned int bucket_move(struct twheel_keys *keys, struct twheel_key_table *table,
				struct twheel_key_bucket *from)
{
	struct twheel_key_bucket *to;
	struct twheel_watch *first, *next;
	unsigned int slot, cost = 1;

	twheel_irqs_disable();
	spin_lock(&from->lock);
	for (slot = 0; slot < TWHEEL_KEY_SLOTS; slot++) {
		for (first = from->slot[slot]; first; first = next) {
			next = key_next(first);
			to = table_bucket(table->next, first->hash);
			spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
			bucket_put(keys, to, first);
			spin_unlock(&to->lock);
			cost++;
		}
	}
	if (from->nr >= TWHEEL_KEY_MOST)
		atomic_dec(&keys->nr_full);
	WRITE_ONCE(from->nr, TWHEEL_KEY_MOVED);
	spin_unlock(&from->lock);
	twheel_irqs_enable();
	return cost;
}

/* Memory that the next step of a move needs: a table with @shift, or a segment */
struct keys_need {
	void	**place;	/* the pointer to it, or NULL if nothing is missing */
	size_t	size;
	size_t	shift;
};

static struct keys_need keys_missing(struct twheel_keys *keys)
{
	struct twheel_key_table *table = keys->table, *next = table->next;
	struct keys_need need = {};
	u32 shift, i;

	lockdep_assert_held(&keys->lock);
	if (next) {
		i = (table->moved << table->shift >> next->shift) / TWHEEL_KEY_SEGMENT;
		need.size = segment_size(next);
		need.place = next->segment[i] ? NULL : (void **)&next->segment[i];
		return need;
	}
	shift = keys_shift(keys);
	if (shift != table->shift) {
		need.place = (void **)&table->next;
		need.shift = shift;
		need.size = struct_size(table, segment, nr_segments(shift));
	}
	return need;
}

/*
 * Allocate a table or a segment. An allocation may fail. One round of reclaim is enough: it must
 * not invoke the OOM killer.
 *
 * The active memory cgroup of softirqs is per CPU, and on PREEMPT_RT softirqs preempt each other:
 * there it must not be set. A purgatory of user space, which has one, is not used in softirqs.
 */
static void *keys_alloc(struct twheel_keys *keys, const struct keys_need *need, gfp_t gfp)
{
	struct twheel_key_bucket *bucket;
	struct mem_cgroup *old = NULL;
	void *memory;

	if (keys->memcg) {
		old = set_active_memcg(keys->memcg);
		gfp |= __GFP_ACCOUNT;
	}
	memory = kzalloc(need->size, gfp | __GFP_NOWARN | __GFP_NORETRY);
	if (keys->memcg)
		set_active_memcg(old);
	if (memory && need->shift)
		((struct twheel_key_table *)memory)->shift = need->shift;
	else if (memory)
		for (bucket = memory; (void *)bucket < memory + need->size; bucket++)
			spin_lock_init(&bucket->lock);
	return memory;
}

/*
 * Move a chunk of keys and buckets, as far as there is memory. Return: false if the table has the
 * size that it should have.
 */
static bool keys_move_chunk(struct twheel_keys *keys)
{
	struct twheel_key_table *table = keys->table;
	struct twheel_key_bucket *bucket, **segment;
	unsigned int done = 0;

	while (table->next && !keys_missing(keys).place) {
		segment = &table->segment[table->moved / TWHEEL_KEY_SEGMENT];
		bucket = *segment + table->moved % TWHEEL_KEY_SEGMENT;
		if (done && done + READ_ONCE(bucket->nr) >= TWHEEL_KEY_MOST)
			break;
		done += bucket_move(keys, table, bucket);
		table->moved++;
		if (table->moved % TWHEEL_KEY_SEGMENT && table->moved << table->shift)
			continue;
		bucket = *segment;
		/* Pairs with the smp_rmb() in twheel_key_lock_irqs_off(). */
		smp_store_release(segment, NULL);
		kfree_rcu(bucket, rcu);
		if (table->moved << table->shift)
			continue;
		/* The next table takes its place. Pairs with twheel_key_lock_irqs_off(). */
		smp_store_release(&keys->table, table->next);
		kfree_rcu(table, rcu);
		break;
	}
	return done;
}

/* Move some keys. @memory was allocated for @need. Return: the memory that is missing. */
static struct keys_need keys_step(struct twheel_keys *keys, const struct keys_need *need,
				  void **memory, bool *moves)
{
	struct keys_need missing = keys_missing(keys);

	if (*memory && !memcmp(&missing, need, sizeof(missing))) {
		/* Pairs with rcu_dereference_raw(). */
		smp_store_release(need->place, *memory);
		*memory = NULL;
		missing = keys_missing(keys);
	}
	if (!missing.place)
		*moves = keys_move_chunk(keys);
	return missing;
}

/*
 * Move some keys if the table should grow or shrink, unless another caller does just now. Softirqs
 * are enabled, and no lock is held. Return: false if it should not, or if there is no memory.
 */
bool __twheel_keys_move(struct twheel_keys *keys, bool may_sleep)
{
	struct keys_need need = {}, missing;
	void *memory = NULL;
	bool moves = true;

	while (moves) {
		if (!spin_trylock_bh(&keys->lock))
			break;
		missing = keys_step(keys, &need, &memory, &moves);
		spin_unlock_bh(&keys->lock);
		if (!missing.place)
			break;
		/* Another caller was faster, if there is any. */
		kfree(memory);
		need = missing;
		memory = keys_alloc(keys, &need, may_sleep ? GFP_KERNEL : GFP_NOWAIT);
		moves = memory;
	}
	kfree(memory);
	/* The next caller that finds a long or an empty bucket tries again. */
	if (!moves)
		WRITE_ONCE(keys->look, false);
	return moves;
}
EXPORT_SYMBOL_IF_KUNIT(__twheel_keys_move);

/*
 * After a move, which another caller may make just now. On PREEMPT_RT the lock lends that one the
 * priority of this caller, which may keep it from its CPU otherwise.
 */
static void keys_resched(struct twheel_keys *keys)
{
	spin_lock_bh(&keys->lock);
	spin_unlock_bh(&keys->lock);
	cond_resched();
}

/* Shrink the table as far as its keys allow, after many have been removed. May sleep. */
void twheel_keys_shrink(struct twheel_keys *keys)
{
	do {
		keys_resched(keys);
		WRITE_ONCE(keys->look, true);
	} while (__twheel_keys_move(keys, true));
}

/* Whether a new key would exceed the bound of its bucket. */
static bool key_is_refused(struct twheel_keys *keys, const struct twheel_watch *watch)
{
	struct twheel_key_at at = twheel_key_lock(keys, watch->hash);
	bool refused = at.bucket->nr >= TWHEEL_KEY_MOST && !twheel_key_first(&at, &watch->key);

	twheel_key_unlock(&at);
	if (refused)
		WRITE_ONCE(keys->look, true);
	return refused;
}

/* Slow path of twheel_keys_check(). */
int __twheel_keys_check(struct twheel_keys *keys, const struct twheel_watch *watches, u32 nr,
			bool may_sleep)
{
	const struct twheel_watch *watch;

	for (watch = watches; watch < watches + nr; watch++) {
		if (READ_ONCE(keys->look))
			__twheel_keys_move(keys, may_sleep);
		while (atomic_read(&keys->nr_full) && key_is_refused(keys, watch)) {
			if (!may_sleep || fatal_signal_pending(current) ||
			    !__twheel_keys_move(keys, true))
				return -ENOMEM;
			keys_resched(keys);
		}
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(__twheel_keys_check);

/* All keys */

/*
 * Return: number of keys; approximate while keys are added or removed, or if a fatal signal ended
 * the count of a caller that may sleep.
 */
u64 twheel_keys_count(struct twheel_keys *keys, bool may_sleep)
{
	const struct twheel_key_table *table;
	u64 nr = 0;
	bool more;
	u32 i = 0;

	do {
		more = false;
		rcu_read_lock();
		table = rcu_dereference_raw(keys->table);
		for (; table; table = rcu_dereference_raw(table->next)) {
			if (i >> (SHIFT_MAX - table->shift))
				continue;
			nr += table_sample(table, i << table->shift);
			more = true;
		}
		rcu_read_unlock();
		i++;
		if (may_sleep)
			cond_resched();
	} while (more && !(may_sleep && fatal_signal_pending(current)));
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_count);

/*
 * Initialise an empty table, which is zeroed; with @account it is charged to the memory cgroup of
 * the caller. May sleep. Return: 0 or -ENOMEM.
 */
int twheel_keys_init(struct twheel_keys *keys, bool account)
{
	struct keys_need need = { .shift = SHIFT_MAX };
	siphash_key_t secret;

	get_random_bytes(&secret, sizeof(secret));
	keys->state[0] = (SIPHASH_CONST_0 ^ secret.key[0]) + (SIPHASH_CONST_1 ^ secret.key[1]);
	keys->state[1] = rol64(SIPHASH_CONST_1 ^ secret.key[1], 13) ^ keys->state[0];
	keys->state[0] = rol64(keys->state[0], 32);
	keys->state[2] = SIPHASH_CONST_2 ^ secret.key[0];
	keys->state[3] = SIPHASH_CONST_3 ^ secret.key[1];
	spin_lock_init(&keys->lock);
	keys->memcg = account ? get_mem_cgroup_from_mm(current->mm) : NULL;
	need.size = struct_size(keys->table, segment, 1);
	keys->table = keys_alloc(keys, &need, GFP_KERNEL);
	if (keys->table) {
		need = (struct keys_need) { .size = segment_size(keys->table) };
		keys->table->segment[0] = keys_alloc(keys, &need, GFP_KERNEL);
		if (keys->table->segment[0])
			return 0;
	}
	twheel_keys_destroy(keys);
	return -ENOMEM;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_init);

/* Free the tables, which have no keys. May sleep. */
void twheel_keys_destroy(struct twheel_keys *keys)
{
	struct twheel_key_table *table, *next;
	u32 i;

	for (table = keys->table; table; table = next) {
		next = table->next;
		for (i = 0; i < nr_segments(table->shift); i++) {
			kfree(table->segment[i]);
			cond_resched();
		}
		kfree(table);
	}
	mem_cgroup_put(keys->memcg);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_keys_destroy);
