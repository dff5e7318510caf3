// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the memory of operations, limits, and the add.
 *
 * An operation has a slot in a leaf of its struct twheel_file, which may be closed. It is charged
 * to its file and event queue until its final event has been read, and to its user until its last
 * reference is dropped. The list of the leaves of a file is that of its operations.
 *
 * Leaves
 * ======
 *
 * A leaf of ids.c is the memory of some operations and of the watches of their adds: 16 operations
 * with the same number of keys, since to allocate and free one, and to charge it to a memory
 * cgroup, takes 860 instructions. An open file keeps up to 8 empty leaves, since operations are
 * often added and ended in turn, 128 at a time.
 *
 * A leaf of a single operation serves those with many keys; those that need memory in front of
 * them: the timer of a periodic operation, or what that of one by CLOCK_REALTIME or with a cell
 * needs in addition; and tasks of another user than that of the file. A task uses only leaves that
 * are charged to its memory cgroup: no cgroup pays for the operations of another one. It looks at
 * two: when tasks of more cgroups use a file in turn, an operation may have a leaf to itself.
 *
 * The id of an operation is freed when the final event has been read, and its memory with the last
 * reference. A look-up may find the memory even after that, see op.c.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../core/cell.h"
#include "../op/op.h"
#include "args.h"
#include "file.h"
#include "time.h"
#include "user.h"

/* Drop a reference to the memory of a file. */
void twheel_file_put(struct twheel_file *file)
{
	if (refcount_dec_and_test(&file->ref)) {
		twheel_user_put(file->user);
		kfree(file);
	}
}

/* Leaves of operations */

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
static struct twheel_leaf *leaf_alloc(u32 class, u32 nr_keys, size_t before)
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

static void leaf_free(struct twheel_leaf *leaf)
{
	if (likely(leaf->class < TWHEEL_LEAF_SINGLE))
		kmem_cache_free(leaf_cache[leaf->class], leaf);
	else
		kfree_rcu(leaf, rcu);
}

/* Number of leaves without operations that an open file keeps. */
#define EMPTY_MAX	8

/* The memory cgroup of the current task, by a number that is not used again. Without sleeping. */
static u64 caller_memcg(void)
{
#ifdef CONFIG_MEMCG
	/* Preemption is disabled, or this is a read-side critical section. */
	return task_css_check(current, memory_cgrp_id, true)->serial_nr;
#else
	return 0;
#endif
}

/* Add a leaf without operations to a file. */
static void file_add_leaf(struct twheel_file *file, struct twheel_leaf *leaf)
{
	lockdep_assert_held(&file->own.lock);
	if (leaf->class != TWHEEL_LEAF_SINGLE)
		leaf->memcg = caller_memcg();
	WRITE_ONCE(leaf->file, file);
	refcount_inc(&file->ref);
	list_add_tail(&leaf->entry, &file->leaves);
	WRITE_ONCE(file->nr_leaves, file->nr_leaves + 1);
	file->nr_empty++;
	list_add(&leaf->partial, &file->partial[leaf->class]);
}

static bool leaf_is_empty(const struct twheel_leaf *leaf)
{
	return leaf->free == TWHEEL_LEAF_EMPTY(leaf);
}

/* Move a leaf without operations to @unused. */
static void file_remove_leaf(struct twheel_file *file, struct twheel_leaf *leaf,
			     struct list_head *unused)
{
	lockdep_assert_held(&file->own.lock);
	list_move(&leaf->entry, unused);
	WRITE_ONCE(file->nr_leaves, file->nr_leaves - 1);
	file->nr_empty--;
	list_del(&leaf->partial);
}

/*
 * Give back the slot of an operation. An empty leaf goes to the end of those with free slots, or is
 * moved to @unused. Inlined: 25 instructions less for an event. Returns whether the leaf is charged
 * to a user by itself.
 */
static __always_inline bool leaf_give(struct twheel_file_op *file_op, struct list_head *unused)
{
	struct twheel_leaf *leaf = file_op->leaf;
	struct twheel_file *file = leaf->file;

	lockdep_assert_held(&file->own.lock);
	if (!leaf->free)
		list_add(&leaf->partial, &file->partial[leaf->class]);
	leaf->free |= BIT(twheel_file_op_slot(file_op));
	if (likely(!leaf_is_empty(leaf)))
		return false;
	file->nr_empty++;
	if (leaf->class == TWHEEL_LEAF_SINGLE || file->own.closed || file->nr_empty > EMPTY_MAX)
		file_remove_leaf(file, leaf, unused);
	else
		list_move_tail(&leaf->partial, &file->partial[leaf->class]);
	return leaf->class == TWHEEL_LEAF_SINGLE;
}

/* Free leaves without operations, which were removed. A single operation was charged to a user. */
static void leaves_free(struct list_head *unused)
{
	struct twheel_leaf *leaf, *next;
	struct twheel_file *file;

	list_for_each_entry_safe(leaf, next, unused, entry) {
		file = leaf->file;
		if (leaf->class == TWHEEL_LEAF_SINGLE) {
			twheel_user_uncharge(leaf->user, TWHEEL_USER_OPS, 1);
			if (leaf->user != file->user)
				twheel_user_put(leaf->user);
		}
		twheel_ids_remove(&file->instance->ids, leaf);
		leaf_free(leaf);
		twheel_file_put(file);
	}
}

/* Free the empty leaves of a closed file. Those that become empty from now on are freed at once. */
void twheel_file_free_leaves(struct twheel_file *file)
{
	struct twheel_leaf *leaf, *next;
	LIST_HEAD(unused);
	unsigned int i;

	spin_lock(&file->own.lock);
	for (i = 0; i < ARRAY_SIZE(file->partial); i++) {
		list_for_each_entry_safe_reverse(leaf, next, &file->partial[i], partial) {
			if (!leaf_is_empty(leaf))
				break;
			file_remove_leaf(file, leaf, &unused);
		}
	}
	spin_unlock(&file->own.lock);
	leaves_free(&unused);
}

/* Operations, from their allocation to their last reference */

/* The class of the leaf of an operation. */
static u32 leaf_class(const struct twheel_file *file, const struct twheel_user *user,
		      const struct twheel_add_args *args, enum twheel_clock clock)
{
	if (unlikely(user != file->user || args->period || args->nr_keys >= TWHEEL_LEAF_SINGLE ||
		     args->flags & TWHEEL_ADD_CELL || clock == TWHEEL_CLOCK_REALTIME))
		return TWHEEL_LEAF_SINGLE;
	return array_index_nospec(args->nr_keys, TWHEEL_LEAF_SINGLE);
}

/* A leaf for an operation, with a number, but without a file; or an ERR_PTR(). May sleep. */
static struct twheel_leaf *leaf_make(struct twheel_file *file, struct twheel_user *user,
				     const struct twheel_add_args *args, u32 class,
				     enum twheel_clock clock)
{
	struct twheel_leaf *leaf;
	int err;

	leaf = leaf_alloc(class, args->nr_keys,
			  args->period ? sizeof(struct twheel_file_periodic) :
			  clock == TWHEEL_CLOCK_REALTIME ? offsetof(struct twheel_wall_op, op) :
			  args->flags & TWHEEL_ADD_CELL ? offsetof(struct twheel_cell_op, op) : 0);
	if (!leaf)
		return ERR_PTR(-ENOMEM);
	leaf->user = user;
	err = twheel_ids_add(&file->instance->ids, leaf);
	if (!err)
		return leaf;
	leaf_free(leaf);
	return ERR_PTR(err);
}

/*
 * Find a leaf with a free slot that is charged to the memory cgroup of the caller. Tasks of two
 * cgroups may use a file in turn. Inlined, like the other parts of file_op_take(): 37 instructions
 * less for most adds, and 2 since this does not return the leaf.
 */
static __always_inline bool file_find_leaf(struct twheel_file *file, u32 class,
					   struct twheel_leaf **found)
{
	u64 memcg = caller_memcg();
	struct twheel_leaf *leaf;
	unsigned int tries = 2;

	list_for_each_entry(leaf, &file->partial[class], partial) {
		*found = leaf;
		if (likely(leaf->memcg == memcg))
			return true;
		if (!--tries)
			break;
	}
	return false;
}

/* Take a slot of a leaf. */
static __always_inline struct twheel_file_op *leaf_take(struct twheel_file *file,
							struct twheel_leaf *leaf, u64 *id)
{
	struct twheel_file_op *file_op;
	u32 slot;

	if (leaf_is_empty(leaf)) {
		file->nr_empty--;
		/* Another one without operations may precede it, of another cgroup. */
		list_move(&leaf->partial, &file->partial[leaf->class]);
	}
	*id = twheel_leaf_take(&file->instance->ids, leaf, &slot,
			       !twheel_file_may(file, TWHEEL_RIGHT_OTHERS));
	if (!leaf->free)
		list_del(&leaf->partial);
	file_op = twheel_leaf_object(leaf, slot);
	WRITE_ONCE(file_op->leaf, leaf);
	file_op->flags = slot << TWHEEL_FILE_OP_SLOT_SHIFT;
	return file_op;
}

/* Free what few operations have beside their slot. */
static __always_inline void file_op_free_rest(struct twheel_file_op *file_op)
{
	if (unlikely(!hlist_empty(&file_op->chunks)))
		twheel_chunks_free(file_op);
	if (unlikely(file_op->flags & TWHEEL_ADD_DETACHED))
		twheel_detached_free(twheel_file_op_detached(file_op));
}

/*
 * Release operations of a file, which have no references, and uncharge @held of its event queue,
 * which the caller keeps unless this is 0.
 */
static void file_ops_release(struct twheel_file *file, struct twheel_file_op **file_ops, u32 nr,
			     u32 held)
{
	u32 i, nr_single = 0;
	bool at_end = false;
	LIST_HEAD(unused);

	spin_lock(&file->own.lock);
	for (i = 0; i < nr; i++)
		nr_single += leaf_give(file_ops[i], &unused);
	if (likely(nr > nr_single))
		twheel_user_uncharge(file->user, TWHEEL_USER_OPS, nr - nr_single);
	if (likely(held))
		at_end = twheel_events_give(&file->own, held);
	spin_unlock(&file->own.lock);
	if (unlikely(at_end))
		twheel_events_wake(&file->own, true);
	/* The file may have been freed, unless it has a leaf here. */
	leaves_free(&unused);
}

/* Callback of an operation without references. */
void twheel_file_op_release(struct twheel_op *op)
{
	struct twheel_file_op *file_op = container_of(op, struct twheel_file_op, op);

	file_op_free_rest(file_op);
	file_ops_release(twheel_file_op_file(file_op), &file_op, 1, 0);
}

/* Before a periodic or detached operation is forgotten. May sleep. */
static void file_op_settle(struct twheel_file_op *file_op)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);

	if (periodic)
		twheel_timer_shutdown_sync(&periodic->timer.timer);
	/* Detached operations of a queue may be of several files, which may be closed. */
	if (file_op->flags & TWHEEL_ADD_DETACHED)
		atomic_dec(&twheel_file_op_file(file_op)->held_detached);
}

/*
 * Free the ids of up to TWHEEL_TAKE_MAX operations of one event queue, uncharge them and drop the
 * references of the queue: their final events have been read, or their add failed. Adjacent ones of
 * a file are released together. The caller keeps the queue, unless they are detached. May sleep.
 */
void twheel_file_ops_forget(struct twheel_file_op **file_ops, u32 nr)
{
	struct twheel_detached *detached = NULL;
	struct twheel_instance *instance;
	struct twheel_file *file = NULL, *of;
	struct twheel_events *events;
	u32 i, last = 0;

	if (!nr)
		return;
	instance = twheel_file_op_file(file_ops[0])->instance;
	events = file_ops[0]->events;
	if (file_ops[0]->flags & TWHEEL_ADD_DETACHED)
		detached = twheel_file_op_detached(file_ops[0]);
	for (i = 0; i < nr; i++) {
		if (unlikely(file_ops[i]->flags & (TWHEEL_FILE_OP_PERIODIC | TWHEEL_ADD_DETACHED)))
			file_op_settle(file_ops[i]);
		WRITE_ONCE(file_ops[i]->id, TWHEEL_NO_ID);
		if (!twheel_op_put_last(&file_ops[i]->op))
			continue;
		file_op_free_rest(file_ops[i]);
		of = twheel_file_op_file(file_ops[i]);
		if (last && of != file) {
			file_ops_release(file, file_ops, last, 0);
			last = 0;
		}
		file = of;
		file_ops[last++] = file_ops[i];
	}
	if (likely(!detached)) {
		file_ops_release(container_of(events, struct twheel_file, own), file_ops, last, nr);
		return;
	}
	if (last)
		file_ops_release(file, file_ops, last, 0);
	twheel_events_uncharge(events, nr);
	twheel_detached_put(instance, detached, nr);
}

/*
 * Returns the first operation at or after *@index with a reference and stores its index, or
 * returns NULL at the end. May sleep.
 */
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index)
{
	struct twheel_file_op *file_op;
	bool got, found;
	u64 id;

	while (*index < TWHEEL_INDEX_END) {
		rcu_read_lock();
		file_op = twheel_ids_next(&instance->ids, index);
		got = file_op && twheel_file_op_try_get(file_op);
		id = got ? twheel_file_op_id(file_op) : TWHEEL_NO_ID;
		found = id != TWHEEL_NO_ID && twheel_id_index(&instance->ids, id) == *index &&
			twheel_file_op_file(file_op)->instance == instance;
		/* Within the section, see twheel_ids_exit(). */
		if (got && !found)
			twheel_file_op_put(file_op);
		rcu_read_unlock();
		if (found)
			return file_op;
		/* It was removed in the meantime, or some leaves are empty. */
		*index += !!file_op;
		cond_resched();
	}
	return NULL;
}

/*
 * The operation behind @file_op in the leaves of a file, or the first one, with a reference; drops
 * that of @file_op, which kept its leaf. Visits at most *@leaves, which is decremented. It may be
 * detached, or have no id yet or any more.
 */
struct twheel_file_op *twheel_file_next_op(struct twheel_file *file, struct twheel_file_op *file_op,
					   u32 *leaves)
{
	struct twheel_file_op *last = file_op;
	struct twheel_leaf *leaf;
	unsigned long used;
	u32 slot = 0;

	spin_lock(&file->own.lock);
	leaf = list_first_entry_or_null(&file->leaves, struct twheel_leaf, entry);
	if (last) {
		leaf = last->leaf;
		slot = twheel_file_op_slot(last) + 1;
	}
	for (file_op = NULL; leaf && *leaves && !file_op; slot = 0) {
		used = ~leaf->free & TWHEEL_LEAF_EMPTY(leaf) & ~(BIT(slot) - 1);
		for_each_set_bit(slot, &used, TWHEEL_LEAF_SLOTS) {
			file_op = twheel_leaf_object(leaf, slot);
			if (twheel_file_op_try_get(file_op))
				break;
			/* It is being initialised or released. */
			file_op = NULL;
		}
		*leaves -= !file_op;
		leaf = list_is_last(&leaf->entry, &file->leaves) ? NULL :
		       list_next_entry(leaf, entry);
	}
	spin_unlock(&file->own.lock);
	if (last)
		twheel_file_op_put(last);
	return file_op;
}

/* Limits */

/*
 * The limits of a file and of an event queue. A pending operation becomes an event, which stays
 * until it is read: both together are limited to twice the limit on pending operations. For
 * detached operations that is a limit of their queue, since each may have another reader; and of
 * a restricted file, which must not fill the queues of others.
 *
 * Returns -ESHUTDOWN if the file was drained or the purgatory removed, -ENOSPC at the limit on
 * pending operations, or -ENOBUFS at the limit on both.
 */
static noinline int file_check(const struct twheel_file *file, bool detached)
{
	const struct twheel_events *own = &file->own;
	u32 max = file->instance->max_file_pending, held = 0;

	if (own->shut)
		return -ESHUTDOWN;
	if (twheel_events_pending(own) + atomic_read(&file->nr_detached) >= max)
		return -ENOSPC;
	if (!detached)
		held = own->held;
	else if (!twheel_file_may(file, TWHEEL_RIGHT_OTHERS))
		held = atomic_read(&file->held_detached);
	return held >= 2 * max ? -ENOBUFS : 0;
}

/* Whether an operation that is not detached is far from all limits. */
static __always_inline bool file_is_free(const struct twheel_file *file)
{
	return likely(!file->own.shut) && file->own.held + atomic_read(&file->nr_detached) <
					  file->instance->max_file_pending;
}

static void detached_uncharge_file(struct twheel_file *file)
{
	atomic_dec(&file->nr_detached);
	atomic_dec(&file->held_detached);
}

/*
 * Charge a detached operation to its file, and then to its queue: a restricted file at its own
 * limits neither fills the queue of others nor learns that it is full.
 */
static int detached_charge(struct twheel_file *file, struct twheel_events *events)
{
	int err;

	spin_lock(&file->own.lock);
	err = file_check(file, true);
	if (!err) {
		atomic_inc(&file->nr_detached);
		atomic_inc(&file->held_detached);
	}
	spin_unlock(&file->own.lock);
	if (err)
		return err;
	spin_lock(&events->lock);
	if (events->shut)
		err = -ESHUTDOWN;
	else if (events->held >= file->instance->max_queue)
		err = -ENOBUFS;
	else
		twheel_events_add(events);
	spin_unlock(&events->lock);
	if (err)
		detached_uncharge_file(file);
	return err;
}

/*
 * Charge an operation to its file and queue, unless it is detached, and take a slot of
 * @leaf, which is added to the file, or of one with a free slot. Returns NULL if there is none.
 */
static __always_inline struct twheel_file_op *file_op_take(struct twheel_file *file,
							   struct twheel_leaf *leaf, u32 class,
							   bool detached, u64 *id)
{
	struct twheel_file_op *file_op = NULL;
	int err = 0;

	spin_lock(&file->own.lock);
	if (likely(!detached) && unlikely(!file_is_free(file)))
		err = file_check(file, false);
	if (unlikely(err)) {
		file_op = ERR_PTR(err);
		goto unlock;
	}
	if (unlikely(leaf))
		file_add_leaf(file, leaf);
	else if (unlikely(!file_find_leaf(file, class, &leaf)))
		goto unlock;
	if (likely(!detached))
		twheel_events_add(&file->own);
	file_op = leaf_take(file, leaf, id);
unlock:
	spin_unlock(&file->own.lock);
	return file_op;
}

/* file_op_alloc() of a detached operation, or without a free slot. */
static noinline struct twheel_file_op *
file_op_alloc_slow(struct twheel_file *file, struct twheel_user *user,
		   struct twheel_events *events, const struct twheel_add_args *args, u32 class,
		   enum twheel_clock clock, u64 *id)
{
	bool detached = args->flags & TWHEEL_ADD_DETACHED;
	struct twheel_file_op *file_op;
	struct twheel_leaf *leaf = NULL;
	int err;

	if (detached) {
		err = detached_charge(file, events);
		if (err)
			return ERR_PTR(err);
	}
	while (!(file_op = file_op_take(file, leaf, class, detached, id))) {
		leaf = leaf_make(file, user, args, class, clock);
		if (IS_ERR(leaf)) {
			file_op = ERR_CAST(leaf);
			leaf = NULL;
			break;
		}
	}
	if (!IS_ERR(file_op))
		return file_op;
	if (leaf) {
		twheel_ids_remove(&file->instance->ids, leaf);
		leaf_free(leaf);
	}
	if (detached) {
		detached_uncharge_file(file);
		twheel_events_not_added(events);
		twheel_events_uncharge(events, 1);
	}
	return file_op;
}

/*
 * Memory for an operation of @user that is charged to its file and event queue, and an id. Until
 * the caller initialises it, it has no references, and calls on it fail with -ENOENT. Returns an
 * ERR_PTR() as file_check(), or -ENOMEM. May sleep.
 */
static __always_inline struct twheel_file_op *
file_op_alloc(struct twheel_file *file, struct twheel_user *user, struct twheel_events *events,
	      const struct twheel_add_args *args, enum twheel_clock clock, u64 *id)
{
	u32 class = leaf_class(file, user, args, clock);
	struct twheel_file_op *file_op = NULL;

	if (likely(!(args->flags & TWHEEL_ADD_DETACHED)))
		file_op = file_op_take(file, NULL, class, false, id);
	return likely(file_op) ? file_op :
	       file_op_alloc_slow(file, user, events, args, class, clock, id);
}

/* The add */

#define ADD_FLAGS	(TWHEEL_ADD_ABSTIME | TWHEEL_ADD_DETACHED | \
			 TWHEEL_ADD_CANCEL_ON_SET | TWHEEL_ADD_FIXED_DELAY | TWHEEL_ADD_CELL)

/* Initialise all fields but the watches, which the add does. */
static void file_op_init(struct twheel_file_op *file_op, struct twheel_events *events,
			 const struct twheel_add_args *args, u64 id)
{
	WRITE_ONCE(file_op->id, TWHEEL_NO_ID);
	/* Before the barrier: a look-up that finds the new id does not find the old shard. */
	WRITE_ONCE(file_op->op.timer.shard_flags, 0);
	/* They have the slot, and are read as soon as there is a reference. */
	file_op->flags |= args->flags | (args->period ? TWHEEL_FILE_OP_PERIODIC : 0);
	/* Pairs with the smp_rmb() of a look-up that has found an earlier life, see op.c. */
	smp_wmb();
	twheel_op_init(&file_op->op, &twheel_file_op_ops);
	file_op->events = events;
	file_op->cookie = args->cookie;
	INIT_HLIST_HEAD(&file_op->chunks);
	file_op->clock = args->clock;
	file_op->again = false;
	if (unlikely(args->flags & TWHEEL_ADD_DETACHED))
		kref_get(&twheel_file_op_detached(file_op)->ref);
	/* From here on every file of the instance can look the operation up. */
	twheel_file_op_set_id(file_op, id);
}

/*
 * Create an operation with an id that is charged, but not added. Sets the wheel in @op_args. May
 * sleep, unlike the rest of the add.
 */
static struct twheel_file_op *file_op_create(struct twheel_file *file,
					     const struct twheel_add_args *args,
					     enum twheel_clock clock,
					     struct twheel_op_args *op_args)
{
	struct twheel_events *events = &file->own;
	struct twheel_detached *detached = NULL;
	struct twheel_file_op *file_op;
	struct twheel_user *user;
	u64 id;

	/* Rather than an error that does not last. */
	if (unlikely(READ_ONCE(file->own.shut)))
		return ERR_PTR(-ESHUTDOWN);
	if (unlikely(args->flags & TWHEEL_ADD_DETACHED)) {
		/* The operation is a user of its queue. */
		detached = twheel_detached_get(file->instance, args->queue);
		if (IS_ERR(detached))
			return ERR_CAST(detached);
		events = &detached->events;
	}
	user = twheel_user_charge_op(file->user);
	if (IS_ERR(user)) {
		file_op = ERR_CAST(user);
		goto put_queue;
	}
	op_args->wheel = twheel_user_wheel(user, clock);
	file_op = IS_ERR(op_args->wheel) ? ERR_CAST(op_args->wheel) :
		  file_op_alloc(file, user, events, args, clock, &id);
	if (!IS_ERR(file_op)) {
		file_op_init(file_op, events, args, id);
		return file_op;
	}
	twheel_user_uncharge(user, TWHEEL_USER_OPS, 1);
	if (user != file->user)
		twheel_user_put(user);
put_queue:
	if (detached)
		twheel_detached_put(file->instance, detached, 1);
	twheel_instance_reject(file->instance, PTR_ERR(file_op));
	return file_op;
}

/* The add of a charged operation has failed: it is not pending. */
static void file_op_not_pending(struct twheel_file_op *file_op)
{
	if (file_op->flags & TWHEEL_ADD_DETACHED)
		atomic_dec(&twheel_file_op_file(file_op)->nr_detached);
	twheel_events_not_added(file_op->events);
}

/* Add an operation. After success it may have been freed. */
static int file_op_start(struct twheel_file *file, struct twheel_file_op *file_op,
			 struct twheel_op_args *op_args, const struct twheel_add_args *args)
{
	struct twheel_purgatory *purgatory = file->instance->purgatory;

	op_args->watches = file_op->watch;
	/* As late as possible: the clock may be set in the meantime. */
	op_args->deadline = twheel_time_deadline(args->clock, args->flags, args->deadline,
						 args->flags & TWHEEL_ADD_ABSTIME);
	if (unlikely(file_op->flags & (TWHEEL_FILE_OP_PERIODIC | TWHEEL_ADD_CELL))) {
		if (file_op->flags & TWHEEL_FILE_OP_PERIODIC)
			return twheel_periodic_add(purgatory, file_op, op_args, args);
		op_args->deadline = twheel_op_init_cell(&file_op->op, op_args->wheel,
							twheel_cell_find(file, args->cell),
							op_args->deadline);
		twheel_timer_cell(&file_op->op.timer)->number = args->cell;
	}
	return __twheel_op_add(purgatory, &file_op->op, op_args);
}

/*
 * The queue of the file was shut during the add, and the task that cancels its operations may have
 * visited this one before it was added. (Detached operations are cancelled with the purgatory,
 * which refuses adds by then.)
 *
 *	adder					task that shuts the queue
 *	-----					-------------------------
 *	events->lock: shut is false,
 *	  take a slot				events->lock: shut = true
 *	initialise and add it			smp_mb()
 *	smp_mb()				visit the slot: cancel
 *	read shut
 *
 * The visitor finds the slot, since it is taken before the queue is shut. If the visitor finds
 * nothing pending there, the adder reads true. Otherwise the visitor cancels the operation.
 *
 * Wait for the callback, no matter which thread ends the operation: file_free() may not.
 */
static void file_op_end_late(struct twheel_ioctl *call, u64 id)
{
	struct twheel_file_op *file_op = twheel_call_op(call, id);

	/* Its event has been read. */
	if (IS_ERR(file_op))
		return;
	twheel_op_cancel_sync(&file_op->op);
	twheel_file_op_put(file_op);
}

/* Check the arguments of an add that are usually zero. Returns 0 or -EINVAL. */
static noinline int rare_args_check(const struct twheel_file *file,
				    const struct twheel_add_args *args, int clock)
{
	if (!twheel_time_valid(args->slack))
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_CELL ?
	    args->flags & TWHEEL_ADD_DETACHED || args->clock == CLOCK_REALTIME || args->period ||
	    !twheel_cell_find(file, args->cell) : args->cell)
		return -EINVAL;
	if (args->period ? args->slack || args->deadline > KTIME_MAX || args->period > KTIME_MAX :
			   args->runs || args->flags & TWHEEL_ADD_FIXED_DELAY)
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_CANCEL_ON_SET && clock != TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_DETACHED)
		return twheel_detached_valid(file->instance, args->queue) ? 0 : -EINVAL;
	return args->queue ? -EINVAL : 0;
}

/*
 * Check the arguments and convert them, except wheel, deadline and watches. The fields are set one
 * by one, see event_fill(). Returns the clock of the wheel, or an error.
 */
static int add_args_convert(struct twheel_ioctl *call, const struct twheel_add_args *args,
			    struct twheel_op_args *op_args)
{
	int clock = twheel_wheel_clock(args->clock, args->flags);

	/* The conditions after TWHEEL_COND_SUM need a callback. */
	if (clock < 0 || args->condition > TWHEEL_COND_SUM || !twheel_time_valid(args->deadline))
		return -EINVAL;
	op_args->flags = TWHEEL_OP_MAY_SLEEP;
	if (unlikely(args->flags & ~TWHEEL_ADD_ABSTIME || clock == TWHEEL_CLOCK_REALTIME ||
		     args->slack | args->period | args->runs | args->queue | args->cell)) {
		if (args->flags & ~ADD_FLAGS || rare_args_check(call->file, args, clock))
			return -EINVAL;
		if (clock == TWHEEL_CLOCK_REALTIME)
			op_args->flags |= TWHEEL_OP_WALL;
		if (args->flags & TWHEEL_ADD_CANCEL_ON_SET)
			op_args->flags |= TWHEEL_OP_CANCEL_ON_SET;
		if (args->flags & TWHEEL_ADD_CELL)
			op_args->flags |= TWHEEL_OP_CELL;
	}
	op_args->wheel = NULL;
	op_args->slack_ns = args->slack;
	op_args->condition = args->condition;
	op_args->quorum = args->quorum;
	op_args->threshold = args->threshold;
	op_args->nr_keys = args->nr_keys;
	op_args->specs = twheel_call_specs(call, args->keys, args->nr_keys, args->key_size);
	if (IS_ERR(op_args->specs))
		return PTR_ERR(op_args->specs);
	return likely(twheel_args_are_simple(op_args)) ? clock : twheel_op_check(op_args) ?: clock;
}

int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_add_args *add = &args->add;
	struct twheel_op_args op_args __uninitialized;
	bool detached = add->flags & TWHEEL_ADD_DETACHED;
	struct twheel_file_op *file_op;
	int err, clock;

	/* Its event would have no reader. */
	if (!call->file->own.has_reader && !detached)
		return -EBADF;
	if (unlikely(!twheel_file_may(call->file, TWHEEL_RIGHT_OTHERS)) &&
	    !twheel_file_may(call->file,
			     (detached ? TWHEEL_RIGHT_ADD_DETACHED : TWHEEL_RIGHT_ADD) |
			     (add->nr_keys ? TWHEEL_RIGHT_WATCH : 0)))
		return -EPERM;
	clock = add_args_convert(call, add, &op_args);
	if (clock < 0)
		return clock;
	file_op = file_op_create(call->file, add, clock, &op_args);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	add->id = file_op->id;
	err = file_op_start(call->file, file_op, &op_args, add);
	if (unlikely(err)) {
		file_op_not_pending(file_op);
		twheel_file_ops_forget(&file_op, 1);
		return err;
	}
	/*
	 * Pairs with the barrier in twheel_events_shut(), before a drain visits the leaves:
	 * either this sees the store before it, or the drain sees that the operation is pending.
	 */
	smp_mb();
	if (READ_ONCE(call->file->own.shut) && !(add->flags & TWHEEL_ADD_DETACHED))
		file_op_end_late(call, add->id);
	return 0;
}
