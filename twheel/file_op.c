// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, operations added through files: ids, memory, adding.
 *
 * An id is an index into an array of the instance and a generation above it, so
 * that a lookup is fast and an old id does not name a new operation, until 2^38
 * more have been added.  The index becomes free when the final event has been
 * read; until then calls with the id of an operation that has ended return
 * -EALREADY.
 *
 * One allocation holds an operation, the watches of its add, and the periods of a
 * periodic one.  Most operations have few keys or none, and have slab caches of
 * exactly their size: kmalloc() would round 272 bytes up to 512.
 *
 * An operation has a reference to the memory of its file.  It is charged to its
 * file and its event queue until its final event has been read, and to its user
 * until its memory is freed.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "device.h"

#define ADD_FLAGS	(TWHEEL_ADD_ABSTIME | TWHEEL_ADD_DETACHED | \
			 TWHEEL_ADD_CANCEL_ON_SET | TWHEEL_ADD_FIXED_DELAY)

/* Operations with so many keys at most have a slab cache of their own size. */
#define CACHED_KEYS	4

static struct kmem_cache *op_cache[CACHED_KEYS + 1];

/* Beside other flags: from which of them it is, counted from 1. */
#define FOP_CACHE_SHIFT	24
#define FOP_CACHE	GENMASK(26, FOP_CACHE_SHIFT)

static_assert(CACHED_KEYS + 1 <= FOP_CACHE >> FOP_CACHE_SHIFT);

/* One allocation holds an operation, its watches, and before it what makes it periodic. */
static struct twheel_file_op *file_op_alloc(u32 nr_keys, bool periodic)
{
	struct twheel_file_periodic *fp;
	struct twheel_file_op *fop;

	if (periodic) {
		fp = kzalloc(sizeof(*fp) + struct_size(fop, watch, nr_keys), GFP_KERNEL_ACCOUNT);
		if (!fp)
			return NULL;
		fp->fop = (struct twheel_file_op *)(fp + 1);
		fp->fop->flags = TWHEEL_FOP_PERIODIC;
		return fp->fop;
	}
	if (nr_keys > CACHED_KEYS)
		return kzalloc(struct_size(fop, watch, nr_keys), GFP_KERNEL_ACCOUNT);
	fop = kmem_cache_zalloc(op_cache[nr_keys], GFP_KERNEL_ACCOUNT);
	if (fop)
		fop->flags = (nr_keys + 1) << FOP_CACHE_SHIFT;
	return fop;
}

static void file_op_free(struct twheel_file_op *fop)
{
	struct twheel_file_periodic *fp = twheel_file_op_periodic(fop);
	u32 cache = (fop->flags & FOP_CACHE) >> FOP_CACHE_SHIFT;

	if (cache)
		kmem_cache_free(op_cache[cache - 1], fop);
	else
		kfree(fp ? (void *)fp : fop);
}

static void file_op_ended(struct twheel_op *op)
{
	twheel_event_ended(container_of(op, struct twheel_file_op, op));
}

static void file_op_release(struct twheel_op *op)
{
	struct twheel_file_op *fop = container_of(op, struct twheel_file_op, op);

	twheel_file_watches_free(fop);
	twheel_user_uncharge_op(fop->user);
	if (fop->flags & TWHEEL_FOP_USER)
		twheel_user_put(fop->user);
	twheel_file_put(fop->file);
	file_op_free(fop);
}

static const struct twheel_op_ops file_op_ops = {
	.ended		= file_op_ended,
	.release	= file_op_release,
};

/**
 * twheel_file_op_put - give back a reference to an operation
 * @fop: the operation
 */
void twheel_file_op_put(struct twheel_file_op *fop)
{
	twheel_op_put(&fop->op);
}

static unsigned long id_index(u64 id)
{
	return id & (BIT(TWHEEL_INDEX_BITS) - 1);
}

/**
 * twheel_file_op_get - look up an operation
 * @instance: its instance
 * @id: its id
 *
 * Return: the operation, to be given back, or NULL.
 */
struct twheel_file_op *twheel_file_op_get(struct twheel_instance *instance, u64 id)
{
	struct twheel_file_op *fop;

	xa_lock(&instance->ops);
	fop = xa_load(&instance->ops, id_index(id));
	if (fop && fop->id == id)
		twheel_op_get(&fop->op);
	else
		fop = NULL;
	xa_unlock(&instance->ops);
	return fop;
}

/**
 * twheel_file_op_next - look up the first operation from some index on
 * @instance: its instance
 * @index: from where; set to where it is
 *
 * Return: the operation, to be given back, or NULL at the end.
 */
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index)
{
	struct twheel_file_op *fop;

	xa_lock(&instance->ops);
	fop = xa_find(&instance->ops, index, ULONG_MAX, XA_PRESENT);
	if (fop)
		twheel_op_get(&fop->op);
	xa_unlock(&instance->ops);
	return fop;
}

/**
 * twheel_file_ops_forget - the final events of operations have been read
 * @fops: operations of one event queue, whose references are dropped
 * @nr: number of operations
 *
 * Context: process; may sleep.
 */
void twheel_file_ops_forget(struct twheel_file_op **fops, u32 nr)
{
	struct twheel_file_periodic *periodic;
	struct xarray *ops;
	u32 i;

	if (!nr)
		return;
	for (i = 0; i < nr; i++) {
		periodic = twheel_file_op_periodic(fops[i]);
		if (periodic && periodic->wheel)
			twheel_periodic_shutdown_sync(&periodic->periodic);
	}
	ops = &fops[0]->file->instance->ops;
	xa_lock(ops);
	for (i = 0; i < nr; i++)
		__xa_erase(ops, id_index(fops[i]->id));
	xa_unlock(ops);
	for (i = 0; i < nr; i++) {
		twheel_file_uncharge(fops[i]->file, fops[i]->flags & TWHEEL_ADD_DETACHED,
				     !fops[i]->ended, 1);
		twheel_file_op_put(fops[i]);
	}
}

/* Give an operation its id. From here on every file of the instance can use it. */
static int file_op_publish(struct twheel_file_op *fop)
{
	struct twheel_instance *instance = fop->file->instance;
	u32 index;
	int err;

	xa_lock(&instance->ops);
	err = __xa_alloc(&instance->ops, &index, fop,
			 XA_LIMIT(1, BIT(TWHEEL_INDEX_BITS) - 1), GFP_KERNEL);
	if (!err) {
		instance->generation++;
		fop->id = instance->generation << TWHEEL_INDEX_BITS | index;
	}
	xa_unlock(&instance->ops);
	/* There are fewer indices than several files may hold together. */
	return err == -EBUSY ? -ENOSPC : err;
}

/* The calling user, charged for an operation; with a reference if it is not the opener. */
static struct twheel_user *caller_charge(struct twheel_file *file)
{
	struct twheel_user *user = file->user;
	int err;

	if (!uid_eq(user->uid, current_uid()))
		user = twheel_user_get();
	if (IS_ERR(user))
		return user;
	err = twheel_user_charge_op(user);
	if (!err)
		return user;
	if (user != file->user)
		twheel_user_put(user);
	return ERR_PTR(err);
}

static void caller_uncharge(struct twheel_file *file, struct twheel_user *user)
{
	twheel_user_uncharge_op(user);
	if (user != file->user)
		twheel_user_put(user);
}

/* An operation without an id, whose memory is charged to a user. */
static struct twheel_file_op *file_op_make(struct twheel_file *file,
					   const struct twheel_add_args *args)
{
	struct twheel_user *user = caller_charge(file);
	struct twheel_file_op *fop;

	if (IS_ERR(user))
		return ERR_CAST(user);
	fop = file_op_alloc(args->nr_keys, args->period);
	if (!fop) {
		caller_uncharge(file, user);
		return ERR_PTR(-ENOMEM);
	}
	twheel_op_init(&fop->op, &file_op_ops);
	refcount_inc(&file->ref);
	fop->file = file;
	fop->user = user;
	fop->cookie = args->cookie;
	fop->clock = args->clock;
	fop->flags |= args->flags;
	if (user != file->user)
		fop->flags |= TWHEEL_FOP_USER;
	INIT_LIST_HEAD(&fop->entry);
	return fop;
}

/* An operation with an id, charged and not added yet. */
static struct twheel_file_op *file_op_create(struct twheel_file *file,
					     const struct twheel_add_args *args)
{
	bool detached = args->flags & TWHEEL_ADD_DETACHED;
	struct twheel_file_op *fop;
	int err;

	err = twheel_file_charge(file, detached);
	if (err)
		goto rejected;
	fop = file_op_make(file, args);
	err = PTR_ERR_OR_ZERO(fop);
	if (err)
		goto uncharge;
	err = file_op_publish(fop);
	if (!err)
		return fop;
	twheel_file_op_put(fop);
uncharge:
	twheel_file_uncharge(file, detached, 1, 1);
rejected:
	if (err == -ENOSPC || err == -ENOBUFS || err == -EDQUOT)
		atomic64_inc(&file->instance->rejected);
	return ERR_PTR(err);
}

/* Add a new operation to its event queue, unless it has ended already. */
static void file_op_settle(struct twheel_file_op *fop)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);
	struct twheel_events *events = twheel_file_op_events(fop);
	bool shut;

	spin_lock(&events->lock);
	shut = events->shut;
	if (!fop->ended) {
		list_add_tail(&fop->entry, &events->pending);
		if (periodic)
			twheel_file_periodic_start(periodic);
	}
	spin_unlock(&events->lock);
	/* A task that shut the queue may have cancelled before this one was there. */
	if (shut)
		twheel_op_cancel(&fop->op);
}

static int file_op_start(struct twheel_file_op *fop, struct twheel_op_args *how,
			 const struct twheel_add_args *args)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);
	int err;

	how->watches = fop->watch;
	how->wheel = twheel_user_wheel(fop->user, fop->clock);
	if (IS_ERR(how->wheel))
		return PTR_ERR(how->wheel);
	/* As late as possible: the clock may be set meanwhile. */
	how->deadline = args->flags & TWHEEL_ADD_ABSTIME ?
			twheel_time_to_host(args->clock, args->deadline) :
			twheel_time_after(args->clock, args->deadline);
	if (periodic) {
		twheel_file_periodic_init(periodic, how->wheel, args, how->deadline);
		how->deadline = TWHEEL_NEVER;
	}
	err = twheel_op_add(fop->file->instance->purgatory, &fop->op, how);
	if (!err)
		file_op_settle(fop);
	return err;
}

/* Arguments of the layer below, without wheel, deadline and watches. */
static int add_how(struct twheel_ioctl *call, const struct twheel_add_args *args,
		   struct twheel_op_args *how)
{
	if (args->flags & ~ADD_FLAGS || args->clock > TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	/* Further conditions are for the kernel. */
	if (args->condition > TWHEEL_COND_SUM || twheel_file_periodic_check(args))
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_CANCEL_ON_SET && args->clock != TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_DETACHED && !call->file->instance->named)
		return -EINVAL;
	*how = (struct twheel_op_args) {
		.slack_ns	= args->slack,
		.flags		= args->flags & TWHEEL_ADD_CANCEL_ON_SET ?
				  TWHEEL_OP_CANCEL_ON_SET : 0,
		.condition	= args->condition,
		.quorum		= args->quorum,
		.threshold	= args->threshold,
		.nr_keys	= args->nr_keys,
		.specs		= twheel_call_specs(call, args->keys, args->nr_keys,
						    args->key_size),
	};
	if (IS_ERR(how->specs))
		return PTR_ERR(how->specs);
	return twheel_op_check(how);
}

/**
 * twheel_call_add - TWHEEL_IOC_ADD
 * @call: the call
 * @args: as from user space; the id is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst lists them.
 */
int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_add_args *add = &args->add;
	struct twheel_file_op *fop;
	struct twheel_op_args how;
	int err;

	err = add_how(call, add, &how);
	if (err)
		return err;
	fop = file_op_create(call->file, add);
	if (IS_ERR(fop))
		return PTR_ERR(fop);
	/* Its event may be read, and the reference of its queue dropped, before the end of this. */
	twheel_op_get(&fop->op);
	add->id = fop->id;
	err = file_op_start(fop, &how, add);
	if (err)
		twheel_file_ops_forget(&fop, 1);
	twheel_file_op_put(fop);
	return err;
}

/**
 * twheel_file_ops_exit - give up the caches; no operation is left
 */
void twheel_file_ops_exit(void)
{
	unsigned int i;

	for (i = 0; i <= CACHED_KEYS; i++) {
		kmem_cache_destroy(op_cache[i]);
		op_cache[i] = NULL;
	}
}

/**
 * twheel_file_ops_init - make caches for operations of open files
 *
 * Return: 0 or -ENOMEM.
 */
int __init twheel_file_ops_init(void)
{
	static const char *const name[CACHED_KEYS + 1] = {
		"twheel_op_0_keys", "twheel_op_1_key", "twheel_op_2_keys", "twheel_op_3_keys",
		"twheel_op_4_keys",
	};
	struct twheel_file_op *fop;
	unsigned int i;

	for (i = 0; i <= CACHED_KEYS; i++) {
		op_cache[i] = kmem_cache_create(name[i], struct_size(fop, watch, i), 0,
						SLAB_ACCOUNT, NULL);
		if (!op_cache[i]) {
			twheel_file_ops_exit();
			return -ENOMEM;
		}
	}
	return 0;
}
