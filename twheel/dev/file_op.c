// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: memory and further watches of operations.
 *
 * One allocation holds an operation, the watches of its add and, in front of it, the timer of a
 * periodic operation, or what the timer of one by CLOCK_REALTIME needs in addition. Most operations
 * have few keys; these come from slab caches of their exact size, since kmalloc() would round 272
 * bytes up to 512.
 *
 * The id of an operation is freed when the final event has been read, and its memory with the last
 * reference. A look-up may find the memory even after that, see file.c.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "file_op.h"

/* There is a slab cache for each number of keys up to this one. */
#define CACHED_KEYS	8

static struct kmem_cache *op_cache[CACHED_KEYS + 1];

/* Bits of twheel_file_op.flags: 1 + number of keys of the slab cache, 0 for kmalloc(). */
#define FILE_OP_CACHE_SHIFT	24
#define FILE_OP_CACHE	GENMASK(27, FILE_OP_CACHE_SHIFT)

static_assert(CACHED_KEYS + 1 <= FILE_OP_CACHE >> FILE_OP_CACHE_SHIFT);

void twheel_file_ops_exit(void)
{
	unsigned int i;

	for (i = 0; i <= CACHED_KEYS; i++) {
		kmem_cache_destroy(op_cache[i]);
		op_cache[i] = NULL;
	}
}

int __init twheel_file_ops_init(void)
{
	struct twheel_file_op *file_op;
	char name[20];
	unsigned int i;

	for (i = 0; i <= CACHED_KEYS; i++) {
		snprintf(name, sizeof(name), "twheel_op_%u_keys", i);
		op_cache[i] = kmem_cache_create(name, struct_size(file_op, watch, i), 0,
						SLAB_ACCOUNT | SLAB_TYPESAFE_BY_RCU, NULL);
		if (!op_cache[i]) {
			twheel_file_ops_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Only @flags is initialised, and the timer of a periodic operation. Tasks that find the memory of
 * an operation that has been freed may access @op.ref and @id.
 */
struct twheel_file_op *twheel_file_op_alloc(u32 nr_keys, bool periodic, bool wall)
{
	struct twheel_file_wall *file_wall;
	struct twheel_file_periodic *fp;
	struct twheel_file_op *file_op;

	if (periodic) {
		fp = kzalloc(sizeof(*fp) + struct_size(file_op, watch, nr_keys),
			     TWHEEL_GFP_USER);
		if (!fp)
			return NULL;
		file_op = twheel_periodic_file_op(fp);
		file_op->flags = TWHEEL_FILE_OP_PERIODIC;
		return file_op;
	}
	if (unlikely(wall)) {
		file_wall = kmalloc(struct_size(file_wall, file_op.watch, nr_keys),
				    TWHEEL_GFP_USER);
		if (!file_wall)
			return NULL;
		file_wall->file_op.flags = TWHEEL_FILE_OP_WALL;
		return &file_wall->file_op;
	}
	if (nr_keys > CACHED_KEYS)
		file_op = kmalloc(struct_size(file_op, watch, nr_keys), TWHEEL_GFP_USER);
	else
		file_op = kmem_cache_alloc(op_cache[array_index_nospec(nr_keys, CACHED_KEYS + 1)],
					   TWHEEL_GFP_USER);
	if (file_op)
		file_op->flags = nr_keys > CACHED_KEYS ? 0 : (nr_keys + 1) << FILE_OP_CACHE_SHIFT;
	return file_op;
}

/* Free an operation without references, and its chunks. */
void twheel_file_op_free(struct twheel_file_op *file_op)
{
	struct twheel_file_periodic *fp = twheel_file_op_periodic(file_op);
	u32 cache = (file_op->flags & FILE_OP_CACHE) >> FILE_OP_CACHE_SHIFT;
	struct twheel_watch_chunk *chunk, *next;

	for (chunk = file_op->chunks; chunk; chunk = next) {
		next = chunk->next;
		kfree(chunk);
	}
	if (cache)
		kmem_cache_free(op_cache[cache - 1], file_op);
	else if (fp)
		kfree_rcu(fp, rcu);
	else if (file_op->flags & TWHEEL_FILE_OP_WALL)
		kfree_rcu(container_of(file_op, struct twheel_file_wall, file_op), file_op.rcu);
	else
		kfree_rcu(file_op, rcu);
}

/*
 * The functions for chunks need the lock of the operation's event queue, but for the allocation.
 *
 * A chunk is added before its watches are attached, since another thread may unwatch them at once.
 * Until the number of attached watches is known, all count as used, and one more for the caller.
 */

struct twheel_watch_chunk *twheel_chunk_alloc(u32 nr)
{
	struct twheel_watch_chunk *chunk;

	chunk = kmalloc(struct_size(chunk, watch, nr), TWHEEL_GFP_USER);
	if (!chunk)
		return NULL;
	chunk->nr = nr;
	chunk->used = nr + 1;
	return chunk;
}

void twheel_chunk_add(struct twheel_file_op *file_op, struct twheel_watch_chunk *chunk)
{
	chunk->next = file_op->chunks;
	file_op->chunks = chunk;
}

/*
 * Free the chunk when its last watch is unused, so that an operation which keeps watching
 * and unwatching keys does not grow.
 */
void twheel_chunk_release(struct twheel_file_op *file_op, struct twheel_watch_chunk *chunk, u32 nr)
{
	struct twheel_watch_chunk **link = &file_op->chunks;

	chunk->used -= nr;
	if (chunk->used)
		return;
	/* The list is as long as the limit on keys, plus the calls in progress. */
	while (*link != chunk)
		link = &(*link)->next;
	*link = chunk->next;
	kfree(chunk);
}

/* The chunk of a watch, or NULL if the watch belongs to the add. */
struct twheel_watch_chunk *twheel_chunk_find(struct twheel_file_op *file_op,
					     const struct twheel_watch *watch)
{
	struct twheel_watch_chunk *chunk;

	for (chunk = file_op->chunks; chunk; chunk = chunk->next)
		if (watch >= chunk->watch && watch < chunk->watch + chunk->nr)
			return chunk;
	return NULL;
}
