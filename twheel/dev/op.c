// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: operations, their ids, charges and keys, and the calls on them.
 *
 * An id is an index into twheel_instance.ops and a generation above it. A lookup is fast, and
 * an old id does not match a new operation until 2^38 more have been added. The index is
 * freed when the final event has been read. Calls on an operation that has ended return
 * -EALREADY before and after that: an id without an operation was assigned if its generation
 * is not later than the latest one.
 *
 * One allocation holds an operation, the watches of its add and, in front of it, the timer of
 * a periodic operation. Most operations have few keys; these come from slab caches of
 * their exact size, since kmalloc() would round 272 bytes up to 512.
 *
 * An operation holds a reference to its struct twheel_file, which may be closed. It is
 * charged to its file and event queue until its final event has been read, and to its
 * user until its memory is freed.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>

#include "../core/shard.h"
#include "../op/purgatory.h"
#include "dev.h"

#define ADD_FLAGS	(TWHEEL_ADD_ABSTIME | TWHEEL_ADD_DETACHED | \
			 TWHEEL_ADD_CANCEL_ON_SET | TWHEEL_ADD_FIXED_DELAY)

#define REARM_MODES	(TWHEEL_REARM_IF_EARLIER | TWHEEL_REARM_IF_LATER)

/* There is a slab cache for each number of keys up to this one. */
#define CACHED_KEYS	8

static struct kmem_cache *op_cache[CACHED_KEYS + 1];

/* Bits of twheel_file_op.flags: 1 + number of keys of the slab cache, 0 for kmalloc(). */
#define FILE_OP_CACHE_SHIFT	24
#define FILE_OP_CACHE	GENMASK(27, FILE_OP_CACHE_SHIFT)

static_assert(CACHED_KEYS + 1 <= FILE_OP_CACHE >> FILE_OP_CACHE_SHIFT);

/* Watches that a TWHEEL_IOC_WATCH added to an operation. */
struct twheel_watch_chunk {
	struct twheel_watch_chunk	*next;
	u32				nr;
	u32				used;
	struct twheel_watch		watch[];
};

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
						SLAB_ACCOUNT, NULL);
		if (!op_cache[i]) {
			twheel_file_ops_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* Only @flags is initialised, and the timer of a periodic operation. */
static struct twheel_file_op *file_op_alloc(u32 nr_keys, bool periodic)
{
	struct twheel_file_periodic *fp;
	struct twheel_file_op *file_op;

	if (periodic) {
		fp = kzalloc(sizeof(*fp) + struct_size(file_op, watch, nr_keys),
			     TWHEEL_GFP_USER);
		if (!fp)
			return NULL;
		fp->file_op = (struct twheel_file_op *)(fp + 1);
		fp->file_op->flags = TWHEEL_FILE_OP_PERIODIC;
		return fp->file_op;
	}
	if (nr_keys > CACHED_KEYS)
		file_op = kmalloc(struct_size(file_op, watch, nr_keys), TWHEEL_GFP_USER);
	else
		file_op = kmem_cache_alloc(op_cache[nr_keys], TWHEEL_GFP_USER);
	if (file_op)
		file_op->flags = nr_keys > CACHED_KEYS ? 0 : (nr_keys + 1) << FILE_OP_CACHE_SHIFT;
	return file_op;
}

static void file_op_free(struct twheel_file_op *file_op)
{
	struct twheel_file_periodic *fp = twheel_file_op_periodic(file_op);
	u32 cache = (file_op->flags & FILE_OP_CACHE) >> FILE_OP_CACHE_SHIFT;

	if (cache)
		kmem_cache_free(op_cache[cache - 1], file_op);
	else
		kfree(fp ? (void *)fp : file_op);
}

static void file_op_ended(struct twheel_op *op)
{
	twheel_event_ended(container_of(op, struct twheel_file_op, op));
}

static void file_op_release(struct twheel_op *op)
{
	struct twheel_file_op *file_op = container_of(op, struct twheel_file_op, op);
	struct twheel_watch_chunk *chunk, *next;

	for (chunk = file_op->chunks; chunk; chunk = next) {
		next = chunk->next;
		kfree(chunk);
	}
	twheel_user_uncharge(file_op->user, TWHEEL_USER_OPS);
	if (file_op->flags & TWHEEL_FILE_OP_USER)
		twheel_user_put(file_op->user);
	if (unlikely(file_op->flags & TWHEEL_ADD_DETACHED))
		twheel_detached_free(twheel_file_op_detached(file_op));
	twheel_file_put(file_op->file);
	file_op_free(file_op);
}

static const struct twheel_op_ops file_op_ops = {
	.ended		= file_op_ended,
	.release	= file_op_release,
};

/*
 * The limits of a file and of an event queue. A pending operation becomes an event, which stays
 * until it is read: both together are limited to twice the limit on pending operations. For
 * detached operations that is a limit of their queue, since each may have another reader; and of
 * a restricted file, which must not fill the queues of others.
 *
 * Returns -ESHUTDOWN if the file was drained or the purgatory removed, -ENOSPC at the limit on
 * pending operations, or -ENOBUFS at the limit on both.
 */
static int file_check(const struct twheel_file *file, bool detached)
{
	const struct twheel_events *own = &file->own;
	u32 max = file->instance->max_file_pending, held = 0;

	if (READ_ONCE(own->shut))
		return -ESHUTDOWN;
	if (READ_ONCE(own->nr_pending) + atomic_read(&file->nr_detached) >= max)
		return -ENOSPC;
	if (likely(!detached))
		held = READ_ONCE(own->held);
	else if (!twheel_file_may(file, TWHEEL_RIGHT_OTHERS))
		held = atomic_read(&file->held_detached);
	return held >= 2 * max ? -ENOBUFS : 0;
}

/* Operations that have ended may still be counted as pending. */
static int file_check_exactly(struct twheel_file *file, bool detached)
{
	int err = file_check(file, detached);

	lockdep_assert_held(&file->own.lock);
	if (err != -ENOSPC)
		return err;
	twheel_events_collect(&file->own);
	return file_check(file, detached);
}

static int detached_check(const struct twheel_instance *instance,
			  const struct twheel_events *events)
{
	if (READ_ONCE(events->shut))
		return -ESHUTDOWN;
	return READ_ONCE(events->held) >= instance->max_queue ? -ENOBUFS : 0;
}

/* Check the limits of a file without a charge, so that an add beyond one costs little. */
static int limits_check(struct twheel_file *file, bool detached)
{
	int err = file_check(file, detached);

	if (likely(!err))
		return 0;
	spin_lock(&file->own.lock);
	err = file_check_exactly(file, detached);
	spin_unlock(&file->own.lock);
	return err;
}

/* Put a new operation on the pending list, with the lock of its event queue held. */
static void events_add(struct twheel_events *events, struct twheel_file_op *file_op)
{
	lockdep_assert_held(&events->lock);
	list_add_tail(&file_op->entry, &events->pending);
	WRITE_ONCE(events->nr_pending, events->nr_pending + 1);
	WRITE_ONCE(events->held, events->held + 1);
}

static int detached_charge(struct twheel_file_op *file_op)
{
	struct twheel_events *events = file_op->events;
	int err;

	spin_lock(&events->lock);
	err = detached_check(file_op->file->instance, events);
	if (!err)
		events_add(events, file_op);
	spin_unlock(&events->lock);
	return err;
}

/*
 * Charge an operation to its file and event queue and put it on the pending list of the queue.
 * It has not been added yet: calls on it fail with -ENOENT. Errors as file_check().
 */
static int file_op_charge(struct twheel_file_op *file_op)
{
	bool detached = file_op->flags & TWHEEL_ADD_DETACHED;
	struct twheel_file *file = file_op->file;
	int err;

	spin_lock(&file->own.lock);
	err = file_check_exactly(file, detached);
	if (!err && detached) {
		atomic_inc(&file->nr_detached);
		atomic_inc(&file->held_detached);
	} else if (!err) {
		events_add(&file->own, file_op);
	}
	spin_unlock(&file->own.lock);
	if (err || !detached)
		return err;
	err = detached_charge(file_op);
	if (err) {
		atomic_dec(&file->nr_detached);
		atomic_dec(&file->held_detached);
	}
	return err;
}

/* The add of a charged operation has failed: it is not pending. */
static void file_op_not_pending(struct twheel_file_op *file_op)
{
	struct twheel_events *events = file_op->events;

	if (file_op->flags & TWHEEL_ADD_DETACHED)
		atomic_dec(&file_op->file->nr_detached);
	spin_lock(&events->lock);
	list_del_init(&file_op->entry);
	WRITE_ONCE(events->nr_pending, events->nr_pending - 1);
	spin_unlock(&events->lock);
}

static unsigned long id_index(u64 id)
{
	return id & (BIT(TWHEEL_INDEX_BITS) - 1);
}

/* Errors of a lookup without a result: the operation has ended, or never existed. */
static int id_error(const struct twheel_instance *instance, u64 id)
{
	u64 generation = id >> TWHEEL_INDEX_BITS;

	return generation && generation <= instance->generation ? -EALREADY : -ENOENT;
}

/*
 * Returns the operation with a reference, or ERR_PTR(-EALREADY) if its final event has been read,
 * or ERR_PTR(-ENOENT) if the id was never assigned.
 */
struct twheel_file_op *twheel_file_op_get(struct twheel_instance *instance, u64 id)
{
	struct twheel_file_op *file_op;

	xa_lock(&instance->ops);
	file_op = xa_load(&instance->ops, id_index(id));
	if (file_op && file_op->id == id)
		twheel_op_get(&file_op->op);
	else
		file_op = ERR_PTR(id_error(instance, id));
	xa_unlock(&instance->ops);
	return file_op;
}

/*
 * Returns the first operation at or after *@index with a reference and stores its index, or
 * returns NULL at the end.
 */
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index)
{
	struct twheel_file_op *file_op;

	xa_lock(&instance->ops);
	file_op = xa_find(&instance->ops, index, ULONG_MAX, XA_PRESENT);
	if (file_op)
		twheel_op_get(&file_op->op);
	xa_unlock(&instance->ops);
	return file_op;
}

/* Before a periodic or detached operation is forgotten. May sleep. */
static void file_op_settle(struct twheel_file_op *file_op)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);

	if (periodic && periodic->wheel)
		twheel_periodic_shutdown_sync(&periodic->periodic);
	/* Detached operations of a queue may be of several files, which may be closed. */
	if (file_op->flags & TWHEEL_ADD_DETACHED)
		atomic_dec(&file_op->file->held_detached);
}

/*
 * Free the ids of operations of one event queue, uncharge them and drop the references of the
 * queue: their final events have been read, or their add failed. May sleep.
 */
void twheel_file_ops_forget(struct twheel_file_op **file_ops, u32 nr)
{
	struct twheel_detached *detached = NULL;
	struct twheel_instance *instance;
	struct xarray *ops;
	u32 i;

	if (!nr)
		return;
	for (i = 0; i < nr; i++)
		if (unlikely(file_ops[i]->flags & (TWHEEL_FILE_OP_PERIODIC | TWHEEL_ADD_DETACHED)))
			file_op_settle(file_ops[i]);
	instance = file_ops[0]->file->instance;
	if (file_ops[0]->flags & TWHEEL_ADD_DETACHED)
		detached = twheel_file_op_detached(file_ops[0]);
	ops = &instance->ops;
	xa_lock(ops);
	for (i = 0; i < nr; i++)
		__xa_erase(ops, id_index(file_ops[i]->id));
	xa_unlock(ops);
	twheel_events_uncharge(file_ops[0]->events, nr);
	for (i = 0; i < nr; i++)
		twheel_file_op_put(file_ops[i]);
	if (detached)
		twheel_detached_put(instance, detached, nr);
}

/*
 * Time namespaces: CLOCK_MONOTONIC and CLOCK_BOOTTIME are shifted by offsets that do not
 * change once a task is in the namespace. Operations store host time.
 */

/* Offset of the caller's clock from the host's. */
static s64 timens_offset(u32 clock)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets = &current->nsproxy->time_ns->offsets;

	if (clock == CLOCK_MONOTONIC)
		return timespec64_to_ns(&offsets->monotonic);
	if (clock == CLOCK_BOOTTIME)
		return timespec64_to_ns(&offsets->boottime);
#endif
	return 0;
}

/* TWHEEL_NEVER if out of range. A negative sum becomes 0. */
u64 twheel_time_shift(u64 ns, s64 offset)
{
	s64 sum;

	if (ns > KTIME_MAX)
		return TWHEEL_NEVER;
	if (check_add_overflow((s64)ns, offset, &sum))
		return offset > 0 ? TWHEEL_NEVER : 0;
	return max(sum, 0LL);
}

/*
 * Offset of the caller's clock from the clock of the operation's wheel. That of a relative
 * deadline on CLOCK_REALTIME changes when this clock is set.
 */
s64 twheel_file_op_offset(const struct twheel_file_op *file_op)
{
	if (file_op->clock != CLOCK_REALTIME)
		return timens_offset(file_op->clock);
	return file_op->flags & TWHEEL_ADD_ABSTIME ? 0 : ktime_mono_to_any(0, TK_OFFS_REAL);
}

/* A deadline of the caller on the clock of the operation's wheel; TWHEEL_NEVER if out of range. */
static u64 deadline_to_host(const struct twheel_file_op *file_op, u64 ns, bool absolute)
{
	return absolute ? twheel_time_shift(ns, -timens_offset(file_op->clock)) :
			  twheel_time_after(twheel_file_op_clock(file_op), ns);
}

/* Host time @delay_ns from now; TWHEEL_NEVER if out of range. */
u64 twheel_time_after(enum twheel_clock clock, u64 delay_ns)
{
	u64 ns;

	if (check_add_overflow(twheel_clock_ns(clock), delay_ns, &ns) || ns > KTIME_MAX)
		return TWHEEL_NEVER;
	return ns;
}

/* The array of the call for TWHEEL_MAX_KEYS keys, or NULL if it cannot be allocated. */
struct twheel_watch_spec *twheel_call_keys(struct twheel_ioctl *call)
{
	if (!call->many)
		call->many = kmalloc_array(TWHEEL_MAX_KEYS, sizeof(*call->many),
					   TWHEEL_GFP_USER);
	return call->many;
}

/*
 * Copy the keys of a call. The array is valid until the next use or the end of the call.
 * Returns NULL for no keys, or -EINVAL for too many or a bad size, -E2BIG, -EFAULT, -ENOMEM.
 */
static const struct twheel_watch_spec *call_specs(struct twheel_ioctl *call, u64 keys, u32 nr_keys,
						  u32 key_size)
{
	struct twheel_watch_spec *specs = call->few;
	int err;

	if (!nr_keys)
		return keys || key_size ? ERR_PTR(-EINVAL) : NULL;
	if (nr_keys > TWHEEL_MAX_KEYS)
		return ERR_PTR(-EINVAL);
	if (nr_keys > ARRAY_SIZE(call->few))
		specs = twheel_call_keys(call);
	if (!specs)
		return ERR_PTR(-ENOMEM);
	twheel_entries_read(specs, sizeof(*specs), keys, 0, nr_keys, key_size, &err);
	return err ? ERR_PTR(err) : specs;
}

static struct twheel_watch_chunk *chunk_create(struct twheel_file_op *file_op, u32 nr)
{
	struct twheel_watch_chunk *chunk;

	chunk = kmalloc(struct_size(chunk, watch, nr), TWHEEL_GFP_USER);
	if (!chunk)
		return NULL;
	chunk->nr = nr;
	/*
	 * Link the chunk before its watches are attached, since another thread may unwatch
	 * them at once. Until the number of attached watches is known, count all as used, and
	 * one more for the caller.
	 */
	chunk->used = nr + 1;
	spin_lock(&file_op->events->lock);
	chunk->next = file_op->chunks;
	file_op->chunks = chunk;
	spin_unlock(&file_op->events->lock);
	return chunk;
}

/*
 * Free the chunk when its last watch is unused, so that an operation which keeps watching
 * and unwatching keys does not grow.
 */
static void chunk_release(struct twheel_file_op *file_op, struct twheel_watch_chunk *chunk, u32 nr)
{
	struct twheel_watch_chunk **link = &file_op->chunks;

	lockdep_assert_held(&file_op->events->lock);
	chunk->used -= nr;
	if (chunk->used)
		return;
	/* The list is not longer than the limit on keys of an operation. */
	while (*link != chunk)
		link = &(*link)->next;
	*link = chunk->next;
	kfree(chunk);
}

/* The chunk of a watch, or NULL if the watch belongs to the add. */
static struct twheel_watch_chunk *chunk_find(struct twheel_file_op *file_op,
					     const struct twheel_watch *watch)
{
	struct twheel_watch_chunk *chunk;

	for (chunk = file_op->chunks; chunk; chunk = chunk->next)
		if (watch >= chunk->watch && watch < chunk->watch + chunk->nr)
			return chunk;
	return NULL;
}

/* Charge the calling user, with a reference if it is not the opener. */
static struct twheel_user *caller_charge(struct twheel_file *file)
{
	struct twheel_user *user = file->user;
	int err;

	if (!twheel_user_is_caller(user))
		user = twheel_user_get();
	if (IS_ERR(user))
		return user;
	err = twheel_user_charge(user, TWHEEL_USER_OPS);
	if (!err)
		return user;
	if (user != file->user)
		twheel_user_put(user);
	return ERR_PTR(err);
}

/* Assign an id. From here on every file of the instance can look the operation up. */
static int file_op_assign_id(struct twheel_file_op *file_op)
{
	struct twheel_instance *instance = file_op->file->instance;
	u32 index;
	int err;

	xa_lock(&instance->ops);
	err = __xa_alloc(&instance->ops, &index, file_op,
			 XA_LIMIT(1, BIT(TWHEEL_INDEX_BITS) - 1), TWHEEL_GFP_USER);
	if (!err) {
		instance->generation++;
		file_op->id = instance->generation << TWHEEL_INDEX_BITS | index;
	}
	xa_unlock(&instance->ops);
	/* Several files together may use up the indices. */
	return err == -EBUSY ? -ENOSPC : err;
}

static void file_op_free_id(struct twheel_file_op *file_op)
{
	struct xarray *ops = &file_op->file->instance->ops;

	xa_lock(ops);
	__xa_erase(ops, id_index(file_op->id));
	xa_unlock(ops);
}

/* Initialise all fields but the watches, which the add does. It has no id yet. */
static void file_op_init(struct twheel_file_op *file_op, struct twheel_file *file,
			 struct twheel_user *user, struct twheel_events *events,
			 const struct twheel_add_args *args)
{
	twheel_op_init(&file_op->op, &file_op_ops);
	file_op->file = file;
	file_op->user = user;
	file_op->events = events;
	file_op->id = 0;
	file_op->cookie = args->cookie;
	INIT_LIST_HEAD(&file_op->entry);
	INIT_LIST_HEAD(&file_op->event);
	file_op->chunks = NULL;
	file_op->ended = false;
	file_op->queued = false;
	file_op->reading = false;
	file_op->clock = args->clock;
	file_op->flags |= args->flags;
}

/* Allocate an operation and charge its user. */
static struct twheel_file_op *file_op_make(struct twheel_file *file, struct twheel_events *events,
					   const struct twheel_add_args *args)
{
	struct twheel_user *user = caller_charge(file);
	struct twheel_file_op *file_op;

	if (IS_ERR(user))
		return ERR_CAST(user);
	file_op = file_op_alloc(args->nr_keys, args->period);
	if (!file_op) {
		twheel_user_uncharge(user, TWHEEL_USER_OPS);
		if (user != file->user)
			twheel_user_put(user);
		return ERR_PTR(-ENOMEM);
	}
	refcount_inc(&file->ref);
	if (user != file->user)
		file_op->flags |= TWHEEL_FILE_OP_USER;
	file_op_init(file_op, file, user, events, args);
	if (unlikely(args->flags & TWHEEL_ADD_DETACHED))
		kref_get(&twheel_file_op_detached(file_op)->ref);
	return file_op;
}

static void rejected_count(struct twheel_instance *instance, int err)
{
	if (err == -ENOSPC)
		atomic64_inc(&instance->rejected[TWHEEL_REJECTED_ENOSPC]);
	else if (err == -ENOBUFS)
		atomic64_inc(&instance->rejected[TWHEEL_REJECTED_ENOBUFS]);
	else if (err == -EDQUOT)
		atomic64_inc(&instance->rejected[TWHEEL_REJECTED_EDQUOT]);
}

/*
 * Create an operation with an id that is charged and on a pending list, but not added. Sets
 * the wheel in @op_args. May sleep, unlike the rest of the add.
 */
static struct twheel_file_op *file_op_create(struct twheel_file *file,
					     const struct twheel_add_args *args,
					     struct twheel_op_args *op_args)
{
	struct twheel_events *events = &file->own;
	struct twheel_detached *detached = NULL;
	struct twheel_file_op *file_op;
	int err;

	err = limits_check(file, args->flags & TWHEEL_ADD_DETACHED);
	if (err)
		goto rejected;
	if (unlikely(args->flags & TWHEEL_ADD_DETACHED)) {
		/* The operation is a user of its queue. */
		detached = twheel_detached_get(file->instance, args->queue);
		if (IS_ERR(detached))
			return ERR_CAST(detached);
		events = &detached->events;
		err = detached_check(file->instance, events);
		if (err)
			goto put_queue;
	}
	file_op = file_op_make(file, events, args);
	err = PTR_ERR_OR_ZERO(file_op);
	if (err)
		goto put_queue;
	op_args->wheel = twheel_user_wheel(file_op->user, twheel_file_op_clock(file_op));
	err = PTR_ERR_OR_ZERO(op_args->wheel);
	if (err)
		goto put;
	err = file_op_assign_id(file_op);
	if (err)
		goto put;
	err = file_op_charge(file_op);
	if (!err)
		return file_op;
	file_op_free_id(file_op);
put:
	twheel_file_op_put(file_op);
put_queue:
	if (detached)
		twheel_detached_put(file->instance, detached, 1);
rejected:
	rejected_count(file->instance, err);
	return ERR_PTR(err);
}

/* Add a periodic operation and start its timer, unless the operation has ended at once. */
static int file_op_start_periodic(struct twheel_file_op *file_op, struct twheel_op_args *op_args,
				  const struct twheel_add_args *args)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);
	struct twheel_events *events = file_op->events;
	int err;

	twheel_file_periodic_init(periodic, op_args->wheel, args, op_args->deadline);
	op_args->deadline = TWHEEL_NEVER;
	/* A reader may drop the reference of the event queue at once. */
	twheel_op_get(&file_op->op);
	err = __twheel_op_add(file_op->file->instance->purgatory, &file_op->op, op_args);
	if (!err) {
		spin_lock(&events->lock);
		if (!file_op->ended)
			twheel_file_periodic_start(periodic);
		spin_unlock(&events->lock);
	}
	twheel_file_op_put(file_op);
	return err;
}

/* Add an operation. After success it may have been freed. */
static int file_op_start(struct twheel_file_op *file_op, struct twheel_op_args *op_args,
			 const struct twheel_add_args *args)
{
	op_args->watches = file_op->watch;
	/* As late as possible: the clock may be set in the meantime. */
	op_args->deadline = deadline_to_host(file_op, args->deadline,
					     args->flags & TWHEEL_ADD_ABSTIME);
	if (file_op->flags & TWHEEL_FILE_OP_PERIODIC)
		return file_op_start_periodic(file_op, op_args, args);
	return __twheel_op_add(file_op->file->instance->purgatory, &file_op->op, op_args);
}

/*
 * The queue of the file was shut during the add, and the task that cancels its operations may have
 * visited this one before it was added. (Detached operations are cancelled with the purgatory,
 * which refuses adds by then.)
 *
 *	adder					task that shuts the queue
 *	-----					-------------------------
 *	events->lock: shut is false,
 *	  put it on the pending list		events->lock: shut = true
 *	add it, with op->lock held		visit it: cancel, with op->lock held
 *	read shut
 *
 * The visitor finds it, since it is listed before the queue is shut. If the visitor takes
 * op->lock first, it finds a new operation and takes it off the list, and the adder reads true.
 * Otherwise the visitor cancels it.
 *
 * Wait for the callback, no matter which thread ends the operation: file_free() does not wait for
 * an operation that is not on the pending list.
 */
static void file_op_end_late(struct twheel_instance *instance, u64 id)
{
	struct twheel_file_op *file_op = twheel_file_op_get(instance, id);

	/* Its event has been read. */
	if (IS_ERR(file_op))
		return;
	twheel_op_cancel_sync(&file_op->op);
	twheel_file_op_put(file_op);
}

/*
 * A deadline or slack in the range of times, or TWHEEL_NEVER or TWHEEL_SLACK_COARSE. The rest is an
 * overflow in the caller, or a negative number.
 */
static bool time_valid(u64 ns)
{
	BUILD_BUG_ON(TWHEEL_SLACK_COARSE != TWHEEL_NEVER);
	return ns <= KTIME_MAX || ns == TWHEEL_NEVER;
}

/* Check the arguments of an add that concern the period. Returns 0 or -EINVAL. */
static int period_check(const struct twheel_add_args *args)
{
	if (!args->period)
		return args->runs || args->flags & TWHEEL_ADD_FIXED_DELAY ? -EINVAL : 0;
	return args->slack || args->deadline > KTIME_MAX || args->period > KTIME_MAX ? -EINVAL : 0;
}

/* Check the arguments and convert them, except wheel, deadline and watches. */
static int add_args_convert(struct twheel_ioctl *call, const struct twheel_add_args *args,
			    struct twheel_op_args *op_args)
{
	int clock = twheel_wheel_clock(args->clock, args->flags);

	if (args->flags & ~ADD_FLAGS || clock < 0)
		return -EINVAL;
	/* The conditions after TWHEEL_COND_SUM need a callback. */
	if (args->condition > TWHEEL_COND_SUM || period_check(args))
		return -EINVAL;
	if (!time_valid(args->deadline) || !time_valid(args->slack))
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_CANCEL_ON_SET && clock != TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	if (args->reserved ||
	    (args->flags & TWHEEL_ADD_DETACHED ?
	     !twheel_detached_valid(call->file->instance, args->queue) : args->queue))
		return -EINVAL;
	*op_args = (struct twheel_op_args) {
		.slack_ns	= args->slack,
		.flags		= TWHEEL_OP_MAY_SLEEP |
				  (args->flags & TWHEEL_ADD_CANCEL_ON_SET ?
				   TWHEEL_OP_CANCEL_ON_SET : 0),
		.condition	= args->condition,
		.quorum		= args->quorum,
		.threshold	= args->threshold,
		.nr_keys	= args->nr_keys,
		.specs		= call_specs(call, args->keys, args->nr_keys, args->key_size),
	};
	if (IS_ERR(op_args->specs))
		return PTR_ERR(op_args->specs);
	return twheel_op_check(op_args);
}

/* The rights that an add needs. */
static u32 add_rights(const struct twheel_add_args *args)
{
	return (args->flags & TWHEEL_ADD_DETACHED ? TWHEEL_RIGHT_ADD_DETACHED : TWHEEL_RIGHT_ADD) |
	       (args->nr_keys ? TWHEEL_RIGHT_WATCH : 0);
}

int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_add_args *add = &args->add;
	struct twheel_file_op *file_op;
	struct twheel_op_args op_args;
	int err;

	/* Its event would have no reader. */
	if (!call->readable && !(add->flags & TWHEEL_ADD_DETACHED))
		return -EBADF;
	if (!twheel_file_may(call->file, add_rights(add)))
		return -EPERM;
	err = add_args_convert(call, add, &op_args);
	if (err)
		return err;
	file_op = file_op_create(call->file, add, &op_args);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	add->id = file_op->id;
	err = file_op_start(file_op, &op_args, add);
	if (err) {
		file_op_not_pending(file_op);
		twheel_file_ops_forget(&file_op, 1);
		return err;
	}
	if (READ_ONCE(call->file->own.shut) && !(add->flags & TWHEEL_ADD_DETACHED))
		file_op_end_late(call->file->instance, add->id);
	return 0;
}

static int file_op_watch(struct twheel_file_op *file_op, const struct twheel_watch_spec *specs,
			 u32 nr_keys)
{
	struct twheel_watch_chunk *chunk;
	int nr;

	chunk = chunk_create(file_op, nr_keys);
	if (!chunk)
		return -ENOMEM;
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
	specs = call_specs(call, watch->keys, watch->nr_keys, watch->key_size);
	if (IS_ERR(specs))
		return PTR_ERR(specs);
	file_op = twheel_call_op(call, watch->id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	err = file_op_watch(file_op, specs, watch->nr_keys);
	twheel_file_op_put(file_op);
	return err;
}

int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_watch_chunk *chunk;
	struct twheel_file_op *file_op;
	struct twheel_watch *watch;

	if (args->unwatch.flags || args->unwatch.reserved)
		return -EINVAL;
	file_op = twheel_call_op(call, args->unwatch.id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	watch = twheel_op_unwatch(&file_op->op, &args->unwatch.key);
	if (!IS_ERR(watch)) {
		spin_lock(&file_op->events->lock);
		chunk = chunk_find(file_op, watch);
		if (chunk)
			chunk_release(file_op, chunk, 1);
		spin_unlock(&file_op->events->lock);
	}
	twheel_file_op_put(file_op);
	return PTR_ERR_OR_ZERO(watch);
}

int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file_op *file_op;
	int err;

	if (args->cancel.flags || args->cancel.reserved)
		return -EINVAL;
	file_op = twheel_call_op(call, args->cancel.id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	err = twheel_op_cancel(&file_op->op);
	twheel_file_op_put(file_op);
	return err;
}

static bool result_valid(int error, u64 value)
{
	return !error || (error < 0 && error >= -MAX_ERRNO && !value);
}

int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args)
{
	const struct twheel_complete_args *complete = &args->complete;
	struct twheel_file_op *file_op;
	int err;

	if (complete->flags || !result_valid(complete->error, complete->value))
		return -EINVAL;
	file_op = twheel_call_op(call, complete->id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	err = twheel_op_end(&file_op->op, TWHEEL_REASON_COMPLETED, complete->error,
			    complete->value);
	twheel_file_op_put(file_op);
	return err;
}

static int file_op_rearm(struct twheel_file_op *file_op, const struct twheel_rearm_args *rearm)
{
	bool absolute = rearm->flags & TWHEEL_REARM_ABSTIME;

	if (twheel_file_op_periodic(file_op))
		return -EOPNOTSUPP;
	/* An operation stays on its wheel. */
	if (file_op->clock == CLOCK_REALTIME && absolute != !!(file_op->flags & TWHEEL_ADD_ABSTIME))
		return -EOPNOTSUPP;
	return twheel_op_rearm_slack(&file_op->op,
				     deadline_to_host(file_op, rearm->deadline, absolute),
				     rearm->slack, rearm->flags & REARM_MODES);
}

int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_rearm_args *rearm = &args->rearm;
	struct twheel_file_op *file_op;
	int ret;

	if (rearm->flags & ~(TWHEEL_REARM_ABSTIME | REARM_MODES) ||
	    (rearm->flags & REARM_MODES) == REARM_MODES)
		return -EINVAL;
	if (!time_valid(rearm->deadline) || !time_valid(rearm->slack))
		return -EINVAL;
	file_op = twheel_call_op(call, rearm->id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	ret = file_op_rearm(file_op, rearm);
	twheel_file_op_put(file_op);
	rearm->moved = ret > 0;
	return min(ret, 0);
}

/* Result of a call that stops at a fatal signal; its output has the progress. */
static int interrupted(void)
{
	return fatal_signal_pending(current) ? -EINTR : 0;
}

int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_purgatory *purgatory = call->file->instance->purgatory;
	struct twheel_signal_args *signal = &args->signal;

	if (signal->flags || signal->reserved)
		return -EINVAL;
	signal->completed = twheel_signal_some(purgatory, &signal->key, signal->amount,
					       signal->value, signal->limit, TWHEEL_KILLABLE);
	return interrupted();
}

int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_cancel_key_args *cancel = &args->cancel_key;

	if (cancel->flags)
		return -EINVAL;
	cancel->cancelled = twheel_cancel_for_key(call->file->instance->purgatory, &cancel->key,
						  NULL, NULL, TWHEEL_KILLABLE);
	return interrupted();
}

static int complete_others(struct twheel_instance *instance, struct twheel_complete_all_args *all)
{
	all->completed = 0;
	if (mutex_lock_killable(&instance->complete_lock))
		return -EINTR;
	all->completed = twheel_complete_all(instance->purgatory, all->error, all->value,
					     TWHEEL_KILLABLE);
	mutex_unlock(&instance->complete_lock);
	return interrupted();
}

int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_complete_all_args *all = &args->complete_all;
	struct twheel_file *file = call->file;
	bool others = all->flags & TWHEEL_COMPLETE_OTHERS;

	if (all->flags & ~TWHEEL_COMPLETE_OTHERS || all->reserved)
		return -EINVAL;
	if (!result_valid(all->error, all->value))
		return -EINVAL;
	if (others && !twheel_file_may(file, TWHEEL_RIGHT_OTHERS))
		return -EPERM;
	if (others)
		return complete_others(file->instance, all);
	all->completed = twheel_events_end_all(&file->own, TWHEEL_REASON_COMPLETED, all->error,
					       all->value, TWHEEL_KILLABLE);
	return interrupted();
}

int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;

	if (args->drain.flags)
		return -EINVAL;
	twheel_events_shut(&file->own);
	args->drain.cancelled = twheel_events_end_all(&file->own, TWHEEL_REASON_CANCELLED, 0, 0,
						      TWHEEL_KILLABLE);
	return interrupted();
}
