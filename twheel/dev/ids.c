// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: ids, and the memory of the objects that have them.
 *
 * A plain id is an index and a generation above it. The upper bits of the index are the number of a
 * leaf, the lower ones that of a slot in it. A leaf is memory for up to 16 objects of one size. It
 * belongs to a file, whose lock protects its slots: CPUs with files of their own share no lock.
 * The slot of an object that was freed is used again at once, but the generation of the leaf has
 * grown: an old id does not match a new object until 2^34 more have been added to the leaf.
 *
 * The table has a descriptor of 16 bytes for each number of a leaf. It stays until the end of the
 * table, keeps the generation while no leaf has the number, and links the unused numbers.
 * Descriptors are in blocks of 1, 2, 4, ..., so that none moves when the table grows.
 *
 * Finding an object takes no lock, but is a read-side critical section of RCU. The leaf may be
 * another one of the same layout by then, and so may be the object found there (see leaf_alloc()):
 * op.c compares the id once the object cannot change.
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
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../compat.h"
#include "ids.h"
#include "user.h"

/* A round of the Feistel network; a half is the upper 31 bits or the lower 32 bits. */
static u32 hide_round(const struct twheel_ids *ids, u32 round, u32 half)
{
	return siphash_2u32(half, round, &ids->secret);
}

u64 twheel_id_hide(const struct twheel_ids *ids, u64 plain)
{
	u32 upper = plain >> 32, lower = plain, round;

	for (round = 0; round < 4; round += 2) {
		lower ^= hide_round(ids, round, upper);
		upper ^= hide_round(ids, round + 1, lower) & (U32_MAX >> 1);
	}
	return TWHEEL_ID_HIDDEN | (u64)upper << 32 | lower;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_id_hide);

u64 twheel_id_unhide(const struct twheel_ids *ids, u64 id)
{
	u32 upper = (id & ~TWHEEL_ID_HIDDEN) >> 32, lower = id, round;

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
	spin_lock_init(&ids->lock);
	get_random_bytes(&ids->secret, sizeof(ids->secret));
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_init);

/*
 * Destroy a table without objects. A look-up in another table may have taken the last reference to
 * one that was here before: wait until it has removed the leaf, see op.c. May sleep.
 */
void twheel_ids_exit(struct twheel_ids *ids)
{
	bool used;
	u32 nr;

	spin_lock(&ids->lock);
	used = ids->nr_used;
	spin_unlock(&ids->lock);
	if (used)
		synchronize_rcu();
	WARN_ON_ONCE(ids->nr_used);
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

/* Returns an unused number, 0 if its block has to be allocated first, or -ENOSPC. */
static int number_take(struct twheel_ids *ids)
{
	u32 nr = ids->free;

	lockdep_assert_held(&ids->lock);
	if (nr) {
		ids->free = twheel_ids_at(ids, nr)->next;
		return nr;
	}
	nr = ids->nr_leaves + 1;
	if (nr > TWHEEL_LEAVES_MAX)
		return -ENOSPC;
	if (!ids->block[ilog2(nr)])
		return 0;
	/* Pairs with the acquire in twheel_ids_leaf(). */
	smp_store_release(&ids->nr_leaves, nr);
	return nr;
}

/*
 * Add a leaf without objects, whose size and layout are set. Returns -ENOSPC if all numbers are in
 * use, or -ENOMEM. May sleep.
 */
int twheel_ids_add(struct twheel_ids *ids, struct twheel_leaf *leaf)
{
	struct twheel_id_leaf *at;
	unsigned int block;
	int nr, err = 0;

	do {
		spin_lock(&ids->lock);
		nr = number_take(ids);
		block = ilog2(ids->nr_leaves + 1);
		if (nr > 0) {
			at = twheel_ids_at(ids, nr);
			leaf->plain = (u64)at->generation << TWHEEL_INDEX_BITS |
				      nr << TWHEEL_LEAF_BITS;
			ids->nr_used++;
			/* Pairs with the address dependency in twheel_ids_leaf(). */
			smp_store_release(&at->leaf, leaf);
		}
		spin_unlock(&ids->lock);
		if (!nr)
			err = block_alloc(ids, block);
	} while (!nr && !err);
	return min(nr, 0) ?: err;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_add);

/* Remove a leaf without objects. Tasks in a read-side critical section may still find it. */
void twheel_ids_remove(struct twheel_ids *ids, struct twheel_leaf *leaf)
{
	u32 nr = (leaf->plain & TWHEEL_INDEX_MASK) >> TWHEEL_LEAF_BITS;
	struct twheel_id_leaf *at;

	spin_lock(&ids->lock);
	at = twheel_ids_at(ids, nr);
	at->generation = leaf->plain >> TWHEEL_INDEX_BITS;
	at->next = ids->free;
	WRITE_ONCE(at->leaf, NULL);
	ids->free = nr;
	ids->nr_used--;
	spin_unlock(&ids->lock);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_ids_remove);

/*
 * The object at *@index, in a read-side critical section, as twheel_ids_find(). If there is no such
 * slot, *@index becomes the next one that may exist, TWHEEL_INDEX_END at the end.
 */
void *twheel_ids_next(const struct twheel_ids *ids, unsigned long *index)
{
	const struct twheel_leaf *leaf = twheel_ids_leaf(ids, *index);
	u32 slot = *index & (TWHEEL_LEAF_SLOTS - 1);

	if (leaf && slot <= READ_ONCE(leaf->mask))
		return twheel_leaf_object(leaf, slot);
	*index = (*index | (TWHEEL_LEAF_SLOTS - 1)) + 1;
	if (*index >> TWHEEL_LEAF_BITS > READ_ONCE(ids->nr_leaves))
		*index = TWHEEL_INDEX_END;
	return NULL;
}
