// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: a table of ids.
 *
 * A plain id is an index and a generation above it. The upper bits of the index are the number of a
 * leaf, the lower ones that of a slot in it. A slot has the address of an object or, with the
 * lowest bit set, the number of the next free slot of the leaf. Adding, removing and finding an
 * object are O(1). An index is used again at once, but its generation has grown: an old id does not
 * match a new object until 2^38 more have been added to the same shard.
 *
 * A shard has leaves, with a lock, and a list of those with free slots. The caller chooses a shard,
 * so that CPUs do not contend for one lock:
 *
 *	shard[1] -> leaf 5 -> leaf 2 -> leaf 9	each with a list of its free slots
 *
 * A leaf without objects gives back the memory of its slots while it is not the first of the list,
 * and keeps its place there. Its descriptor of 16 bytes stays until the end of the table.
 * Descriptors are in blocks of 1, 2, 4, ..., so that none moves when the table grows.
 *
 * Finding an object takes no lock, but is a read-side critical section of RCU. The memory of slots
 * may be that of another leaf or table by then, and so may be the object found there (see
 * SLAB_TYPESAFE_BY_RCU): the caller takes a reference and compares the id.
 *
 * The locks are taken in process context only, and never one inside of another.
 *
 * Index and generation show how many objects others have added. The holder of a restricted file
 * must not learn that: the ids of its objects are encrypted with a secret of the table. This is a
 * Feistel network of four rounds with SipHash, a permutation of 63 bits, so these ids are as unique
 * as the plain ones and found in O(1). Bit 63 tells them apart.
 */
#include <asm/barrier.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../compat.h"
#include "ids.h"
#include "user.h"

/* End of a list of free slots. */
#define NO_SLOT		TWHEEL_LEAF_SLOTS

/* Number of leaves that a listing visits in a read-side critical section. */
#define VISIT_MAX	32

static struct kmem_cache *slots_cache;

int __init twheel_ids_setup(void)
{
	slots_cache = kmem_cache_create("twheel_ids", TWHEEL_LEAF_SLOTS * sizeof(void *), 0,
					SLAB_ACCOUNT | SLAB_TYPESAFE_BY_RCU, NULL);
	return slots_cache ? 0 : -ENOMEM;
}

void twheel_ids_cleanup(void)
{
	kmem_cache_destroy(slots_cache);
}

/* A round of the Feistel network; a half is the upper 31 bits or the lower 32 bits. */
static u32 hide_round(const struct twheel_ids *ids, u32 round, u32 half)
{
	return siphash_2u32(half, round, &ids->secret);
}

/* Before a file is restricted. Most tables need no secret. */
void twheel_ids_set_secret(struct twheel_ids *ids)
{
	spin_lock(&ids->lock);
	if (!ids->has_secret)
		get_random_bytes(&ids->secret, sizeof(ids->secret));
	/* Pairs with the acquire in twheel_id_unhide(). */
	smp_store_release(&ids->has_secret, true);
	spin_unlock(&ids->lock);
	/* Pairs with the smp_rmb() in twheel_id_hide(): before the rights of the file change. */
	smp_wmb();
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_set_secret);

u64 twheel_id_hide(const struct twheel_ids *ids, u64 plain)
{
	u32 upper = plain >> 32, lower = plain, round;

	/* Pairs with the smp_wmb() in twheel_ids_set_secret(). The caller has read the rights. */
	smp_rmb();
	/* So this is true; it pairs with the release there. */
	WARN_ON_ONCE(!smp_load_acquire(&ids->has_secret));
	for (round = 0; round < 4; round += 2) {
		lower ^= hide_round(ids, round, upper);
		upper ^= hide_round(ids, round + 1, lower) & (U32_MAX >> 1);
	}
	return TWHEEL_ID_HIDDEN | (u64)upper << 32 | lower;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_id_hide);

/* Return: the plain id; 0, which is none, as long as no file is restricted. */
u64 twheel_id_unhide(const struct twheel_ids *ids, u64 id)
{
	u32 upper = (id & ~TWHEEL_ID_HIDDEN) >> 32, lower = id, round;

	/* Pairs with the release in twheel_ids_set_secret(). A caller may guess an id. */
	if (!smp_load_acquire(&ids->has_secret))
		return 0;
	for (round = 4; round; round -= 2) {
		upper ^= hide_round(ids, round - 1, lower) & (U32_MAX >> 1);
		lower ^= hide_round(ids, round - 2, upper);
	}
	return (u64)upper << 32 | lower;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_id_unhide);

/* @ids is zeroed. */
void twheel_ids_init(struct twheel_ids *ids)
{
	unsigned int i;

	spin_lock_init(&ids->lock);
	for (i = 0; i < ARRAY_SIZE(ids->shard); i++)
		spin_lock_init(&ids->shard[i].lock);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_init);

static struct twheel_id_leaf *leaf_at(const struct twheel_ids *ids, u32 nr)
{
	unsigned int block = ilog2(nr);

	return &ids->block[block][nr - BIT(block)];
}

static u32 id_leaf(u64 id)
{
	return ((id & TWHEEL_INDEX_MASK) >> TWHEEL_LEAF_BITS) + 1;
}

static u32 id_slot(u64 id)
{
	return id & (TWHEEL_LEAF_SLOTS - 1);
}

static bool slot_is_free(const void *slot)
{
	return (unsigned long)slot & 1;
}

static void *slot_free(u32 next)
{
	return (void *)((unsigned long)next << 1 | 1);
}

static u32 slot_next(const void *slot)
{
	return (unsigned long)slot >> 1;
}

/* Destroy a table without objects. May sleep. */
void twheel_ids_exit(struct twheel_ids *ids)
{
	u32 nr;

	for (nr = 1; nr <= ids->nr_leaves; nr++) {
		WARN_ON_ONCE(leaf_at(ids, nr)->used);
		if (leaf_at(ids, nr)->slots)
			kmem_cache_free(slots_cache, leaf_at(ids, nr)->slots);
		cond_resched();
	}
	for (nr = 0; nr < ARRAY_SIZE(ids->block); nr++)
		kvfree(ids->block[nr]);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_exit);

/* Allocate a block of descriptors, unless another task has done so. Returns 0 or -ENOMEM. */
static int block_alloc(struct twheel_ids *ids, unsigned int nr)
{
	struct twheel_id_leaf *block = kvcalloc(BIT(nr), sizeof(*block), TWHEEL_GFP_USER);

	if (!block)
		return -ENOMEM;
	spin_lock(&ids->lock);
	if (!ids->block[nr])
		swap(ids->block[nr], block);
	spin_unlock(&ids->lock);
	kvfree(block);
	return 0;
}

/* Returns the number of a new leaf, 0 if its block has to be allocated first, or -ENOSPC. */
static int leaf_try_new(struct twheel_ids *ids, u8 shard)
{
	u32 nr = ids->nr_leaves + 1;

	lockdep_assert_held(&ids->lock);
	if (nr > TWHEEL_LEAVES_MAX)
		return -ENOSPC;
	if (!ids->block[ilog2(nr)])
		return 0;
	leaf_at(ids, nr)->shard = shard;
	/* Pairs with the acquire in leaf_find(). */
	smp_store_release(&ids->nr_leaves, nr);
	return nr;
}

/* Returns the number of a new leaf without slots, -ENOSPC or -ENOMEM. */
static int leaf_new(struct twheel_ids *ids, u8 shard)
{
	unsigned int block;
	int nr, err;

	for (;;) {
		spin_lock(&ids->lock);
		nr = leaf_try_new(ids, shard);
		block = ilog2(ids->nr_leaves + 1);
		spin_unlock(&ids->lock);
		if (nr)
			return nr;
		err = block_alloc(ids, block);
		if (err)
			return err;
	}
}

/* Allocate free slots. Readers of an earlier leaf see the addresses of its objects at most. */
static void **slots_alloc(void)
{
	void **slots = kmem_cache_alloc(slots_cache, TWHEEL_GFP_USER);
	u32 i;

	for (i = 0; slots && i < TWHEEL_LEAF_SLOTS; i++)
		WRITE_ONCE(slots[i], slot_free(i + 1));
	return slots;
}

/* Give slots to a leaf. */
static void leaf_set_slots(struct twheel_ids *ids, u32 nr, void **slots)
{
	struct twheel_id_leaf *leaf = leaf_at(ids, nr);

	/* Of 0 and TWHEEL_NO_ID. */
	leaf->free = nr == 1;
	if (nr == TWHEEL_LEAVES_MAX)
		WRITE_ONCE(slots[TWHEEL_LEAF_SLOTS - 2], slot_free(NO_SLOT));
	/* Pairs with the address dependency in twheel_ids_find(). */
	smp_store_release(&leaf->slots, slots);
}

/* Set the first leaf of the list. */
static void shard_set_first(struct twheel_ids *ids, struct twheel_id_shard *shard, u32 nr)
{
	WRITE_ONCE(shard->free, nr);
	shard->leaf = nr ? leaf_at(ids, nr) : NULL;
}

/*
 * Give slots to the first leaf of the list, if it has none, or to a new one, which becomes the
 * first. Returns 0, also if another task was faster, -ENOSPC or -ENOMEM. May sleep.
 */
static noinline int shard_grow(struct twheel_ids *ids, struct twheel_id_shard *shard)
{
	void **slots = slots_alloc();
	int nr = 0;

	if (!slots)
		return -ENOMEM;
	/* Without the lock: at worst a leaf more than needed, or another try. */
	if (!READ_ONCE(shard->free))
		nr = leaf_new(ids, shard - ids->shard);
	spin_lock(&shard->lock);
	if (nr > 0) {
		leaf_at(ids, nr)->next = shard->free;
		shard_set_first(ids, shard, nr);
	}
	if (nr >= 0 && shard->leaf && !shard->leaf->slots) {
		leaf_set_slots(ids, shard->free, slots);
		slots = NULL;
	}
	spin_unlock(&shard->lock);
	if (slots)
		kmem_cache_free(slots_cache, slots);
	return min(nr, 0);
}

/* Put an object in a free slot. Returns false if none is at hand. */
static bool shard_add(struct twheel_ids *ids, struct twheel_id_shard *shard, void *object,
		      bool hidden, u64 *id)
{
	struct twheel_id_leaf *leaf = shard->leaf;
	u64 generation = shard->generation + 1, plain;
	void **slot;
	u32 free;

	lockdep_assert_held(&shard->lock);
	if (!leaf || !leaf->slots)
		return false;
	free = leaf->free;
	slot = &leaf->slots[free];
	shard->generation = generation;
	/* Pairs with the smp_rmb() of a task that has found an earlier object at this address. */
	smp_wmb();
	plain = (generation << TWHEEL_INDEX_BITS & ~TWHEEL_ID_HIDDEN) |
		(shard->free - 1) << TWHEEL_LEAF_BITS | free;
	WRITE_ONCE(*id, unlikely(hidden) ? twheel_id_hide(ids, plain) : plain);
	leaf->free = slot_next(*slot);
	leaf->used++;
	if (leaf->free == NO_SLOT)
		shard_set_first(ids, shard, leaf->next);
	/* Pairs with the address dependency in twheel_ids_find(). */
	smp_store_release(slot, object);
	return true;
}

/*
 * Add an object to a shard, or to another one if this has no free index. *@id is set before the
 * object can be found, and encrypted if it is @hidden. Returns -ENOSPC if all indices are in use,
 * or -ENOMEM. May sleep.
 */
int twheel_ids_add(struct twheel_ids *ids, unsigned int nr, void *object, bool hidden, u64 *id)
{
	unsigned int tries = TWHEEL_ID_SHARDS;
	struct twheel_id_shard *shard;
	bool added;
	int err;

	do {
		shard = &ids->shard[nr % TWHEEL_ID_SHARDS];
		spin_lock(&shard->lock);
		added = shard_add(ids, shard, object, hidden, id);
		spin_unlock(&shard->lock);
		if (likely(added))
			return 0;
		err = shard_grow(ids, shard);
		/* Other shards may have the rest of the leaves, or free slots. */
		if (err && --tries) {
			nr++;
			err = 0;
		}
	} while (!err);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_add);

/* Returns slots to free, or NULL. */
static void **shard_remove(struct twheel_ids *ids, struct twheel_id_shard *shard, u64 id)
{
	struct twheel_id_leaf *leaf = leaf_at(ids, id_leaf(id)), *unused = leaf;
	void **slots;

	lockdep_assert_held(&shard->lock);
	if (leaf->free == NO_SLOT) {
		/* The leaf that was the first until now may have no objects. */
		unused = shard->leaf;
		leaf->next = shard->free;
		shard_set_first(ids, shard, id_leaf(id));
	}
	WRITE_ONCE(leaf->slots[id_slot(id)], slot_free(leaf->free));
	leaf->free = id_slot(id);
	leaf->used--;
	if (!unused || unused->used || unused == shard->leaf)
		return NULL;
	slots = unused->slots;
	WRITE_ONCE(unused->slots, NULL);
	return slots;
}

/* Remove the objects of the first ids, as far as they are in one shard. Returns their number. */
static u32 ids_remove_some(struct twheel_ids *ids, const u64 *id, u32 nr)
{
	u64 plain = twheel_id_plain(ids, *id);
	u8 number = leaf_at(ids, id_leaf(plain))->shard;
	struct twheel_id_shard *shard = &ids->shard[number];
	void **slots;
	u32 i = 0;

	spin_lock(&shard->lock);
	do {
		slots = shard_remove(ids, shard, plain);
		if (unlikely(slots))
			kmem_cache_free(slots_cache, slots);
		if (++i == nr)
			break;
		plain = twheel_id_plain(ids, id[i]);
	} while (leaf_at(ids, id_leaf(plain))->shard == number);
	spin_unlock(&shard->lock);
	return i;
}

/*
 * Remove the objects of some ids, few enough for a section with a lock held. They may still be
 * found by tasks in a read-side critical section.
 */
void twheel_ids_remove(struct twheel_ids *ids, const u64 *id, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i += ids_remove_some(ids, &id[i], nr - i))
		;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_remove);

/* The leaf of an id of user space, or NULL. */
static struct twheel_id_leaf *leaf_find(struct twheel_ids *ids, u64 id)
{
	/* Pairs with the release in leaf_try_new(). */
	u32 nr = id_leaf(id), end = smp_load_acquire(&ids->nr_leaves) + 1;

	if (nr >= end)
		return NULL;
	return leaf_at(ids, array_index_nospec(nr, end) ?: 1);
}

/*
 * The object in a slot, or NULL. The address dependencies pair with the releases in
 * leaf_set_slots() and shard_add(): the slots are initialised, and so is the object, or it is an
 * earlier one.
 */
static void *leaf_object(const struct twheel_id_leaf *leaf, u32 nr)
{
	void **slots = rcu_dereference_raw(leaf->slots);
	void *slot = slots ? rcu_dereference_raw(slots[nr]) : NULL;

	return slot_is_free(slot) ? NULL : slot;
}

/* Apart, so that the usual look-up makes no call. */
static noinline void *ids_find_hidden(struct twheel_ids *ids, u64 id)
{
	u64 plain = id & TWHEEL_ID_HIDDEN ? twheel_id_unhide(ids, id) : 0;
	struct twheel_id_leaf *leaf = plain ? leaf_find(ids, plain) : NULL;

	return leaf ? leaf_object(leaf, id_slot(plain)) : NULL;
}

/*
 * Find the object of an id, in a read-side critical section. It may be another one, or have been
 * freed. Returns NULL if there is none, and for 0 and TWHEEL_NO_ID.
 */
void *twheel_ids_find(struct twheel_ids *ids, u64 id)
{
	struct twheel_id_leaf *leaf;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "look-up without rcu_read_lock()");
	if (unlikely(id - 1 >= TWHEEL_NO_ID - 1))
		return ids_find_hidden(ids, id);
	leaf = leaf_find(ids, id);
	return leaf ? leaf_object(leaf, id_slot(id)) : NULL;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_find);

/*
 * Find the first object at or after *@index, and store its index; otherwise as above. It visits
 * some leaves at a time: without an object, *@index is where to go on, TWHEEL_INDEX_END at the end.
 */
void *twheel_ids_next(struct twheel_ids *ids, unsigned long *index)
{
	struct twheel_id_leaf *leaf;
	u32 leaves = VISIT_MAX;
	void *object;

	while (*index < TWHEEL_INDEX_END && leaves) {
		leaf = leaf_find(ids, *index);
		if (!leaf) {
			*index = TWHEEL_INDEX_END;
			break;
		}
		object = leaf_object(leaf, id_slot(*index));
		if (object)
			return object;
		/* NULL if shard_remove() has freed them: nothing is missed. */
		if (READ_ONCE(leaf->slots))
			++*index;
		else
			*index = (*index | (TWHEEL_LEAF_SLOTS - 1)) + 1;
		leaves -= !id_slot(*index);
	}
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_next);
