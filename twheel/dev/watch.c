// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: watching further keys of an operation, and unwatching them.
 *
 * The memory of the watches of an add follows the operation. Those of a TWHEEL_IOC_WATCH are in a
 * chunk, which is freed with its last watch, so that an operation which keeps watching and
 * unwatching keys does not grow. A chunk is added before its watches are attached, since another
 * thread may unwatch them at once. Until the number of attached watches is known, all count as
 * used, and one more for the call.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../op/op.h"
#include "args.h"
#include "file.h"

/* Watches of a call; the lock of the event queue protects @node and @used. */
struct chunk {
	struct hlist_node	node;
	u32			nr;
	u32			used;
	struct twheel_watch	watch[];
};

/* Free the chunks of an operation without references. */
void twheel_chunks_free(struct twheel_file_op *file_op)
{
	struct hlist_node *next;
	struct chunk *chunk;

	hlist_for_each_entry_safe(chunk, next, &file_op->chunks, node)
		kfree(chunk);
}

/* @nr watches of a chunk are not used any more. */
static void chunk_release(struct twheel_file_op *file_op, struct chunk *chunk, u32 nr)
{
	lockdep_assert_held(&file_op->events->lock);
	chunk->used -= nr;
	if (chunk->used)
		return;
	hlist_del(&chunk->node);
	kfree(chunk);
}

static int file_op_watch(struct twheel_file_op *file_op, const struct twheel_watch_spec *specs,
			 u32 nr_keys)
{
	struct chunk *chunk = kmalloc(struct_size(chunk, watch, nr_keys), TWHEEL_GFP_USER);
	int nr;

	if (!chunk)
		return -ENOMEM;
	chunk->nr = nr_keys;
	chunk->used = nr_keys + 1;
	spin_lock(&file_op->events->lock);
	hlist_add_head(&chunk->node, &file_op->chunks);
	spin_unlock(&file_op->events->lock);
	nr = __twheel_op_watch(&file_op->op, specs, chunk->watch, nr_keys, true);
	spin_lock(&file_op->events->lock);
	chunk_release(file_op, chunk, nr_keys - max(nr, 0) + 1);
	spin_unlock(&file_op->events->lock);
	return min(nr, 0);
}

int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	const struct twheel_watch_args *watch = &args->watch;
	const struct twheel_watch_spec *specs;
	struct twheel_file_op *file_op;
	int err;

	if (watch->flags || watch->reserved || !watch->nr_keys)
		return -EINVAL;
	specs = twheel_call_specs(call, watch->keys, watch->nr_keys, watch->key_size);
	if (IS_ERR(specs))
		return PTR_ERR(specs);
	file_op = twheel_call_op(call, watch->id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	err = file_op_watch(file_op, specs, watch->nr_keys);
	twheel_file_op_put(file_op);
	return err;
}

/* The watch has been detached, and belongs to a chunk, or to the add. */
static void file_op_unwatched(struct twheel_file_op *file_op, const struct twheel_watch *watch)
{
	struct chunk *chunk;

	spin_lock(&file_op->events->lock);
	hlist_for_each_entry(chunk, &file_op->chunks, node) {
		if (watch >= chunk->watch && watch < chunk->watch + chunk->nr) {
			chunk_release(file_op, chunk, 1);
			break;
		}
	}
	spin_unlock(&file_op->events->lock);
}

int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file_op *file_op;
	struct twheel_watch *watch;

	if (args->unwatch.flags || args->unwatch.reserved)
		return -EINVAL;
	file_op = twheel_call_op(call, args->unwatch.id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	watch = twheel_op_unwatch(&file_op->op, &args->unwatch.key);
	if (!IS_ERR(watch))
		file_op_unwatched(file_op, watch);
	twheel_file_op_put(file_op);
	return PTR_ERR_OR_ZERO(watch);
}
