/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: a table of ids, see ids.c. */
#ifndef _TWHEEL_DEV_IDS_H
#define _TWHEEL_DEV_IDS_H

#include <asm/barrier.h>
#include <linux/build_bug.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/*
 * The low bits of a plain id are the index; then follow 34 of a generation. There are numbers for
 * 2^25 leaves: a user, with 2^22 operations by default, cannot use them up even if each has a leaf.
 */
#define TWHEEL_INDEX_BITS	29
#define TWHEEL_INDEX_END	BIT(TWHEEL_INDEX_BITS)
#define TWHEEL_INDEX_MASK	(TWHEEL_INDEX_END - 1)

/* A leaf has a slot for each of so many low bits of an index, or less. */
#define TWHEEL_LEAF_BITS	4
#define TWHEEL_LEAF_SLOTS	BIT(TWHEEL_LEAF_BITS)

/* Leaves are counted from 1. The last number is not used. */
#define TWHEEL_LEAVES_MAX	(BIT(TWHEEL_INDEX_BITS - TWHEEL_LEAF_BITS) - 2)

/* The other bits of the id are encrypted. */
#define TWHEEL_ID_HIDDEN	BIT_ULL(63)

/* An id that no object has: its leaf does not exist, like that of 0. */
#define TWHEEL_NO_ID		(U64_MAX & ~TWHEEL_ID_HIDDEN)

struct twheel_file;
struct twheel_user;

/**
 * struct twheel_leaf - memory of objects; they follow
 * @file: the file that it belongs to, with a reference; immutable, like the layout
 * @entry: in the leaves of @file
 * @rcu: after the end of its life
 * @partial: in those of its class with free slots
 * @memcg: memory cgroup that a leaf of several operations is charged to; immutable
 * @user: the user that is charged for the only operation, with a reference if it is not the opener
 *	of @file; immutable
 * @plain: plain form of the latest id, without the slot; that is, with the number of the leaf
 * @free: a bit for each free slot
 * @first: offset of the first object
 * @stride: distance of the objects
 * @mask: number of slots less 1, which is that of a power of two
 * @class: sort of its objects, see file.c
 *
 * The lock of the event queue of @file protects the other members.
 */
struct twheel_leaf {
	struct twheel_file	*file;
	union {
		struct list_head	entry;
		struct rcu_head		rcu;
	};
	struct list_head	partial;
	union {
		u64			memcg;
		struct twheel_user	*user;
	};
	u64			plain;
	u16			free;
	u16			first;
	u16			stride;
	u8			mask;
	u8			class;
};

/**
 * struct twheel_id_leaf - the descriptor of a leaf
 * @leaf: the leaf, or NULL
 * @generation: without a leaf, generation of the latest id of earlier ones
 * @next: without a leaf, the next unused number, or 0
 */
struct twheel_id_leaf {
	struct twheel_leaf	*leaf;
	u64			generation : 35;
	u64			next : 29;
};

static_assert(TWHEEL_INDEX_BITS == 29);

/**
 * struct twheel_ids - a table of ids
 * @lock: protects @nr_leaves to @block, and the descriptors
 * @nr_leaves: number of descriptors; it does not decrease
 * @nr_used: number of leaves
 * @free: an unused number, or 0
 * @block: descriptors from 2^i to 2^(i+1) - 1 are in block i
 * @secret: encrypts ids; immutable
 */
struct twheel_ids {
	spinlock_t		lock;	/* of the descriptors */
	u32			nr_leaves;
	u32			nr_used;
	u32			free;
	struct twheel_id_leaf	*block[TWHEEL_INDEX_BITS - TWHEEL_LEAF_BITS];
	siphash_key_t		secret;
};

void twheel_ids_init(struct twheel_ids *ids);
void twheel_ids_exit(struct twheel_ids *ids);
int twheel_ids_add(struct twheel_ids *ids, struct twheel_leaf *leaf);
void twheel_ids_remove(struct twheel_ids *ids, struct twheel_leaf *leaf);
void *twheel_ids_next(const struct twheel_ids *ids, unsigned long *index);
u64 twheel_id_hide(const struct twheel_ids *ids, u64 plain);
u64 twheel_id_unhide(const struct twheel_ids *ids, u64 id);

/* The free slots of a leaf without objects. */
#define TWHEEL_LEAF_EMPTY(leaf)	((u16)((2U << (leaf)->mask) - 1))

static inline void *twheel_leaf_object(const struct twheel_leaf *leaf, u32 slot)
{
	return (void *)leaf + READ_ONCE(leaf->first) + slot * READ_ONCE(leaf->stride);
}

/* The plain form of an id: generation and index. */
static inline u64 twheel_id_plain(const struct twheel_ids *ids, u64 id)
{
	return likely(!(id & TWHEEL_ID_HIDDEN)) ? id : twheel_id_unhide(ids, id);
}

static inline u64 twheel_id_index(const struct twheel_ids *ids, u64 id)
{
	return twheel_id_plain(ids, id) & TWHEEL_INDEX_MASK;
}

/* The descriptor of a number that exists. */
static inline struct twheel_id_leaf *twheel_ids_at(const struct twheel_ids *ids, u32 nr)
{
	unsigned int block = __fls(nr);

	return &ids->block[block][nr & ~BIT(block)];
}

/* The leaf of an index of user space, or NULL, in a read-side critical section. */
static inline struct twheel_leaf *twheel_ids_leaf(const struct twheel_ids *ids, u64 index)
{
	/* Pairs with the release in number_take(). */
	u32 nr = index >> TWHEEL_LEAF_BITS, end = smp_load_acquire(&ids->nr_leaves);

	if (nr - 1 >= end)
		return NULL;
	/*
	 * The address dependency pairs with the release in twheel_ids_add(): the layout is
	 * initialised, and so are the objects, or they are earlier ones.
	 */
	return rcu_dereference_raw(twheel_ids_at(ids, array_index_nospec(nr - 1, end) + 1)->leaf);
}

/*
 * Find the object of an id, in a read-side critical section. It may be another one, or have been
 * freed. Returns NULL if there is none, and for 0 and TWHEEL_NO_ID.
 */
static inline void *twheel_ids_find(const struct twheel_ids *ids, u64 id)
{
	u64 index = twheel_id_index(ids, id);
	struct twheel_leaf *leaf;

	RCU_LOCKDEP_WARN(!rcu_read_lock_any_held(), "look-up without rcu_read_lock()");
	leaf = twheel_ids_leaf(ids, index);
	return leaf ? twheel_leaf_object(leaf, index & READ_ONCE(leaf->mask)) : NULL;
}

/*
 * Take a free slot of a leaf. Returns its id, encrypted if it is @hidden. The caller holds the lock
 * of the leaf.
 */
static inline u64 twheel_leaf_take(const struct twheel_ids *ids, struct twheel_leaf *leaf,
				   u32 *slot, bool hidden)
{
	u64 plain;

	*slot = __ffs(leaf->free);
	leaf->free &= leaf->free - 1;
	leaf->plain += TWHEEL_INDEX_END;
	plain = (leaf->plain & ~TWHEEL_ID_HIDDEN) | *slot;
	return unlikely(hidden) ? twheel_id_hide(ids, plain) : plain;
}

#endif /* _TWHEEL_DEV_IDS_H */
