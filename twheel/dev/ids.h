/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: a table of ids, see ids.c. */
#ifndef _TWHEEL_DEV_IDS_H
#define _TWHEEL_DEV_IDS_H

#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/init.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* The low bits of a plain id are the index; then follow 38 of a generation. */
#define TWHEEL_INDEX_BITS	25
#define TWHEEL_INDEX_END	BIT(TWHEEL_INDEX_BITS)
#define TWHEEL_INDEX_MASK	(TWHEEL_INDEX_END - 1)

/* A leaf has a slot for each of so many low bits of an index. */
#define TWHEEL_LEAF_BITS	6
#define TWHEEL_LEAF_SLOTS	BIT(TWHEEL_LEAF_BITS)

/* Leaves are counted from 1. */
#define TWHEEL_LEAVES_MAX	BIT(TWHEEL_INDEX_BITS - TWHEEL_LEAF_BITS)

/* The other bits of the id are encrypted. */
#define TWHEEL_ID_HIDDEN	BIT_ULL(63)

/* An id that no object has: its slot is not used, like that of 0. */
#define TWHEEL_NO_ID		(U64_MAX & ~TWHEEL_ID_HIDDEN)

#define TWHEEL_ID_SHARDS	8

/**
 * struct twheel_id_leaf - the descriptor of a leaf
 * @slots: its slots, or NULL
 * @next: next leaf with a free slot, or 0
 * @free: first free slot, or TWHEEL_LEAF_SLOTS
 * @used: number of objects
 * @shard: immutable
 */
struct twheel_id_leaf {
	void		**slots;
	u32		next;
	u8		free;
	u8		used;
	u8		shard;
};

/**
 * struct twheel_id_shard - the leaves of some users of a table
 * @lock: protects the other members, and those of the leaves
 * @free: number of the first leaf with a free slot, or 0
 * @leaf: this leaf
 * @generation: generation of the latest id
 */
struct twheel_id_shard {
	spinlock_t	lock;	/* of the leaves of a shard */
	u32		free;
	struct twheel_id_leaf *leaf;
	u64		generation;
} ____cacheline_aligned_in_smp;

/**
 * struct twheel_ids - a table of ids
 * @lock: protects @nr_leaves and @block
 * @nr_leaves: number of leaves; it does not decrease
 * @block: leaves from 2^i to 2^(i+1) - 1 are in block i
 * @shard: the parts of the table
 * @secret: encrypts ids; set under @lock before the first use
 * @has_secret: it is set
 */
struct twheel_ids {
	spinlock_t		lock;	/* of new leaves */
	u32			nr_leaves;
	struct twheel_id_leaf	*block[TWHEEL_INDEX_BITS - TWHEEL_LEAF_BITS + 1];
	struct twheel_id_shard	shard[TWHEEL_ID_SHARDS];
	siphash_key_t		secret;
	bool			has_secret;
};

int __init twheel_ids_setup(void);
void twheel_ids_cleanup(void);
void twheel_ids_init(struct twheel_ids *ids);
void twheel_ids_exit(struct twheel_ids *ids);
void twheel_ids_set_secret(struct twheel_ids *ids);
int twheel_ids_add(struct twheel_ids *ids, unsigned int shard, void *object, bool hidden, u64 *id);
void twheel_ids_remove(struct twheel_ids *ids, const u64 *id, u32 nr);
void *twheel_ids_find(struct twheel_ids *ids, u64 id);
void *twheel_ids_next(struct twheel_ids *ids, unsigned long *index);
u64 twheel_id_hide(const struct twheel_ids *ids, u64 plain);
u64 twheel_id_unhide(const struct twheel_ids *ids, u64 id);

/* The plain form of an id: generation and index. */
static inline u64 twheel_id_plain(const struct twheel_ids *ids, u64 id)
{
	return likely(!(id & TWHEEL_ID_HIDDEN)) ? id : twheel_id_unhide(ids, id);
}

static inline u64 twheel_id_index(const struct twheel_ids *ids, u64 id)
{
	return twheel_id_plain(ids, id) & TWHEEL_INDEX_MASK;
}

#endif /* _TWHEEL_DEV_IDS_H */
