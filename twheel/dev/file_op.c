// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: memory of operations.
 *
 * A leaf of ids.c is the memory of some operations and of the watches of their adds: 16 operations
 * with the same number of keys, since to allocate and free one, and to charge it to a memory
 * cgroup, takes 860 instructions. A leaf belongs to a file. An open file keeps up to 8 empty
 * leaves, since operations are often added and ended in turn, 128 at a time.
 *
 * A leaf of a single operation serves those with many keys; those that need memory in front of
 * them: the timer of a periodic operation, or what that of one by CLOCK_REALTIME or with a cell
 * needs in addition; and tasks of another user than that of the file. A task uses only leaves that
 * are charged to its memory cgroup: no cgroup pays for the operations of another one. It looks at
 * two: when tasks of more cgroups use a file in turn, an operation may have a leaf to itself.
 *
 * The id of an operation is freed when the final event has been read, and its memory with the last
 * reference. A look-up may find the memory even after that, see file.c.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/refcount.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "file_op.h"

static struct kmem_cache *leaf_cache[TWHEEL_LEAF_SINGLE];

/* Size of an operation with its watches. */
static size_t stride(u32 nr_keys)
{
	const struct twheel_file_op *file_op = NULL;

	return struct_size(file_op, watch, nr_keys);
}

void twheel_leaves_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(leaf_cache); i++) {
		kmem_cache_destroy(leaf_cache[i]);
		leaf_cache[i] = NULL;
	}
}

int __init twheel_leaves_init(void)
{
	char name[20];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(leaf_cache); i++) {
		snprintf(name, sizeof(name), "twheel_op_%u_keys", i);
		leaf_cache[i] = kmem_cache_create(name, sizeof(struct twheel_leaf) +
						  TWHEEL_LEAF_SLOTS * stride(i), 0,
						  SLAB_ACCOUNT | SLAB_TYPESAFE_BY_RCU, NULL);
		if (!leaf_cache[i]) {
			twheel_leaves_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* What precedes an operation keeps its alignment. */
static_assert(!(sizeof(struct twheel_leaf) % __alignof__(struct twheel_file_op)));

/*
 * Allocate a leaf of a class, or of a single operation. Tasks that find the memory of an earlier
 * leaf may access the layout, which is the same for all of a slab cache, and what look-ups need of
 * its operations. Other leaves are freed after a grace period. Operations that are not in use have
 * no references and no id. May sleep.
 */
struct twheel_leaf *twheel_leaf_alloc(u32 class, u32 nr_keys, size_t before)
{
	struct twheel_file_op *file_op;
	struct twheel_leaf *leaf;
	u32 i;

	if (likely(class < TWHEEL_LEAF_SINGLE))
		leaf = kmem_cache_alloc(leaf_cache[class], TWHEEL_GFP_USER);
	else
		leaf = kzalloc(sizeof(*leaf) + before + stride(nr_keys), TWHEEL_GFP_USER);
	if (!leaf)
		return NULL;
	leaf->class = class;
	WRITE_ONCE(leaf->mask, class < TWHEEL_LEAF_SINGLE ? TWHEEL_LEAF_SLOTS - 1 : 0);
	WRITE_ONCE(leaf->first, sizeof(*leaf) + before);
	WRITE_ONCE(leaf->stride, stride(nr_keys));
	leaf->free = TWHEEL_LEAF_EMPTY(leaf);
	for (i = 0; i <= leaf->mask; i++) {
		file_op = twheel_leaf_object(leaf, i);
		refcount_set(&file_op->op.ref, 0);
		WRITE_ONCE(file_op->id, TWHEEL_NO_ID);
	}
	return leaf;
}

void twheel_leaf_free(struct twheel_leaf *leaf)
{
	if (likely(leaf->class < TWHEEL_LEAF_SINGLE))
		kmem_cache_free(leaf_cache[leaf->class], leaf);
	else
		kfree_rcu(leaf, rcu);
}
