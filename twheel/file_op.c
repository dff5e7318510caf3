// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, the operations of open files: ids, memory, how they are added.
 *
 * An id is an index into an array of the purgatory and a generation, so that
 * looking it up is quick and an old id does not name a new operation: not before
 * 2^38 more have been added.  The index is free again when the last event has been
 * read; until then the id of an operation that has ended is known, and calls on it
 * are told -EALREADY.
 *
 * One allocation holds an operation, the watches that it is added with, and what
 * a periodic one needs. Most operations have few keys, or none, and for these there
 * are caches of just their size: kmalloc() would round 272 bytes up to 512.
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
	if (!(fop->flags & TWHEEL_ADD_DETACHED))
		twheel_file_put(container_of(fop->box, struct twheel_file, own));
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
 * @share: in which purgatory
 * @id: its id
 *
 * Return: the operation, to be given back, or NULL.
 */
struct twheel_file_op *twheel_file_op_get(struct twheel_share *share, u64 id)
{
	struct twheel_file_op *fop;

	xa_lock(&share->ops);
	fop = xa_load(&share->ops, id_index(id));
	if (fop && fop->id == id)
		twheel_op_get(&fop->op);
	else
		fop = NULL;
	xa_unlock(&share->ops);
	return fop;
}

/**
 * twheel_file_op_next - look up the first operation from some index on
 * @share: in which purgatory
 * @index: from where; set to where it is
 *
 * Return: the operation, to be given back, or NULL at the end.
 */
struct twheel_file_op *twheel_file_op_next(struct twheel_share *share, unsigned long *index)
{
	struct twheel_file_op *fop;

	xa_lock(&share->ops);
	fop = xa_find(&share->ops, index, ULONG_MAX, XA_PRESENT);
	if (fop)
		twheel_op_get(&fop->op);
	xa_unlock(&share->ops);
	return fop;
}

/**
 * twheel_file_op_wheel - the wheel of an operation
 * @fop: the operation
 */
struct twheel *twheel_file_op_wheel(const struct twheel_file_op *fop)
{
	/* It is there: it was asked for when the operation was added. */
	return twheel_system_clock(fop->clock);
}

static void file_op_shutdown(struct twheel_file_op *fop)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);

	if (periodic)
		twheel_periodic_shutdown_sync(&periodic->periodic);
}

/**
 * twheel_file_op_forget - its end has been read, or it was never added
 * @fop: the operation; the box's reference is given back
 *
 * Context: process; may sleep.
 */
void twheel_file_op_forget(struct twheel_file_op *fop)
{
	file_op_shutdown(fop);
	xa_erase(&fop->box->share->ops, id_index(fop->id));
	twheel_user_uncharge(fop->user, fop->flags & TWHEEL_ADD_DETACHED);
	twheel_box_uncharge(fop->box, !fop->ended, 1);
	twheel_file_op_put(fop);
}

/**
 * twheel_file_ops_forget - the ends of some have been read
 * @box: whose they are
 * @fops: the operations; the box's references are given back
 * @nr: how many
 *
 * Context: process; may sleep.
 */
void twheel_file_ops_forget(struct twheel_box *box, struct twheel_file_op **fops, u32 nr)
{
	struct xarray *ops = &box->share->ops;
	u32 i;

	if (!nr)
		return;
	for (i = 0; i < nr; i++)
		file_op_shutdown(fops[i]);
	xa_lock(ops);
	for (i = 0; i < nr; i++)
		__xa_erase(ops, id_index(fops[i]->id));
	xa_unlock(ops);
	for (i = 0; i < nr; i++)
		twheel_user_uncharge(fops[i]->user, fops[i]->flags & TWHEEL_ADD_DETACHED);
	twheel_box_uncharge(box, 0, nr);
	for (i = 0; i < nr; i++)
		twheel_file_op_put(fops[i]);
}

/* Give an operation its id. From here on whoever guesses it may use it. */
static int file_op_publish(struct twheel_file_op *fop)
{
	struct twheel_share *share = fop->box->share;
	u32 index;
	int err;

	xa_lock(&share->ops);
	err = __xa_alloc(&share->ops, &index, fop,
			 XA_LIMIT(1, BIT(TWHEEL_INDEX_BITS) - 1), GFP_KERNEL);
	if (!err) {
		share->generation++;
		fop->id = share->generation << TWHEEL_INDEX_BITS | index;
	}
	xa_unlock(&share->ops);
	/* There are fewer indices than several files may hold together. */
	return err == -EBUSY ? -ENOSPC : err;
}

static int file_op_charge(struct twheel_file *file, struct twheel_box *box)
{
	int err = twheel_box_charge(box);

	if (err)
		goto rejected;
	err = twheel_user_charge(file->user, box != &file->own);
	if (!err)
		return 0;
	twheel_box_uncharge(box, 1, 1);
rejected:
	if (err != -ESHUTDOWN)
		atomic64_inc(&file->share->rejected);
	return err;
}

/* Charged for, with what is to be known of it. */
static struct twheel_file_op *file_op_make(struct twheel_file *file, struct twheel_box *box,
					   const struct twheel_add_args *args)
{
	struct twheel_file_op *fop = file_op_alloc(args->nr_keys, args->period);

	if (!fop)
		return NULL;
	twheel_op_init(&fop->op, &file_op_ops);
	fop->box = box;
	fop->user = file->user;
	fop->cookie = args->cookie;
	fop->clock = args->clock;
	fop->flags |= args->flags;
	if (box != &file->own)
		fop->flags |= TWHEEL_ADD_DETACHED;
	else
		refcount_inc(&file->ref);
	INIT_LIST_HEAD(&fop->entry);
	return fop;
}

/* An operation that is known by its id, and not added yet. */
static struct twheel_file_op *file_op_create(struct twheel_file *file, struct twheel_box *box,
					     const struct twheel_add_args *args)
{
	struct twheel_file_op *fop;
	int err;

	err = file_op_charge(file, box);
	if (err)
		return ERR_PTR(err);
	fop = file_op_make(file, box, args);
	if (!fop) {
		err = -ENOMEM;
		goto uncharge;
	}
	err = file_op_publish(fop);
	if (err)
		goto put;
	return fop;

put:
	twheel_file_op_put(fop);
uncharge:
	twheel_user_uncharge(file->user, box != &file->own);
	twheel_box_uncharge(box, 1, 1);
	return ERR_PTR(err);
}

/* It has been added: let its box know of it, unless it has ended already. */
static void file_op_settle(struct twheel_file_op *fop)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);
	struct twheel_box *box = fop->box;
	bool shut;

	spin_lock(&box->lock);
	shut = box->shut;
	if (!fop->ended) {
		list_add_tail(&fop->entry, &box->pending);
		if (periodic)
			twheel_file_periodic_start(periodic);
	}
	spin_unlock(&box->lock);
	/* Who shut the box may have looked for those that wait before this one came. */
	if (shut)
		twheel_op_cancel(&fop->op);
}

static int file_op_start(struct twheel_file_op *fop, struct twheel_op_args *how,
			 const struct twheel_add_args *args)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);
	int err;

	how->watches = fop->watch;
	/* As late as can be: the clock may be set meanwhile. */
	how->deadline = args->flags & TWHEEL_ADD_ABSTIME ? args->deadline :
			twheel_deadline_on(how->wheel, args->deadline);
	if (periodic) {
		twheel_file_periodic_init(periodic, how->wheel, args, how->deadline);
		how->deadline = TWHEEL_NEVER;
	}
	err = twheel_op_add(fop->box->share->purgatory, &fop->op, how);
	if (!err)
		file_op_settle(fop);
	return err;
}

/* Where an operation that is added like this belongs. */
static struct twheel_box *file_op_box(struct twheel_file *file, u32 flags)
{
	struct twheel_box *box = READ_ONCE(file->box);

	if (!(flags & TWHEEL_ADD_DETACHED) || box != &file->own)
		return box;
	if (!file->share->named)
		return ERR_PTR(-EINVAL);
	/*
	 * A file that has been drained adds nothing, wherever that would belong. Pairs
	 * with twheel_call_detached(), which shuts a box that the file has left.
	 */
	if (smp_load_acquire(&box->shut) && READ_ONCE(file->box) == box)
		return ERR_PTR(-ESHUTDOWN);
	return twheel_named_detached(file->share->named);
}

/* What is asked of the layer below, all but the deadline and the room for watches. */
static int add_how(struct twheel_ioctl *call, const struct twheel_add_args *args,
		   struct twheel_op_args *how)
{
	if (args->flags & ~ADD_FLAGS || args->reserved || args->clock > TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	/* What else there is, is for the kernel. */
	if (args->condition > TWHEEL_COND_SUM || twheel_file_periodic_check(args))
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_CANCEL_ON_SET && args->clock != TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	*how = (struct twheel_op_args) {
		.wheel		= twheel_system_clock(args->clock),
		.slack_ns	= args->slack,
		.flags		= args->flags & TWHEEL_ADD_CANCEL_ON_SET ?
				  TWHEEL_OP_CANCEL_ON_SET : 0,
		.condition	= args->condition,
		.quorum		= args->quorum,
		.threshold	= args->threshold,
		.nr_keys	= args->nr_keys,
		.specs		= twheel_call_specs(call, args->keys, args->nr_keys),
	};
	if (IS_ERR(how->specs))
		return PTR_ERR(how->specs);
	if (IS_ERR(how->wheel))
		return PTR_ERR(how->wheel);
	return twheel_op_check(how);
}

static int call_add(struct twheel_ioctl *call, struct twheel_box *box,
		    struct twheel_op_args *how, struct twheel_add_args *args)
{
	struct twheel_file_op *fop;
	int err;

	fop = file_op_create(call->file, box, args);
	if (IS_ERR(fop))
		return PTR_ERR(fop);
	/* Its event may be read, and the box's reference go, before we're done. */
	twheel_op_get(&fop->op);
	args->id = fop->id;
	err = file_op_start(fop, how, args);
	if (err)
		twheel_file_op_forget(fop);
	twheel_file_op_put(fop);
	return err;
}

/**
 * twheel_call_add - TWHEEL_IOC_ADD
 * @call: the call
 * @args: as from user space; the id is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;
	struct twheel_op_args how;
	struct twheel_box *box;
	int err;

	err = add_how(call, &args->add, &how);
	if (err)
		return err;
	do {
		box = file_op_box(file, args->add.flags);
		if (IS_ERR(box))
			return PTR_ERR(box);
		err = call_add(call, box, &how, &args->add);
		/* It may have become a reader of detached events just now. */
	} while (err == -ESHUTDOWN && box == &file->own && READ_ONCE(file->box) != box);
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
