// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, the operations of an open file: ids, memory, limits.
 *
 * An id is an index into the file's array and a generation, so that looking
 * it up is quick and an old id does not name a new operation: not before 2^38
 * more have been added.  The index is free again when the event has been read;
 * until then the id of an operation that has ended is known, and calls on it
 * are told -EALREADY.
 *
 * An operation that waits will be an event, and an event that nobody reads
 * stays, so both count against a limit of their own: see held.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"

static void file_op_ended(struct twheel_op *op)
{
	twheel_event_queue(container_of(op, struct twheel_file_op, op));
}

static void file_op_release(struct twheel_op *op)
{
	struct twheel_file_op *fop = container_of(op, struct twheel_file_op, op);
	struct twheel_file_watches *watches, *next;

	llist_for_each_entry_safe(watches, next, llist_del_all(&fop->more), node)
		kfree(watches);
	kfree(fop);
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
 * @file: whose
 * @id: its id
 *
 * Return: the operation, to be given back, or NULL.
 */
struct twheel_file_op *twheel_file_op_get(struct twheel_file *file, u64 id)
{
	struct twheel_file_op *fop;

	xa_lock(&file->ops);
	fop = xa_load(&file->ops, id_index(id));
	if (fop && fop->id == id)
		twheel_op_get(&fop->op);
	else
		fop = NULL;
	xa_unlock(&file->ops);
	return fop;
}

/**
 * twheel_file_op_forget - its event has been read, or it was never added
 * @fop: the operation; the file's reference is given back
 */
void twheel_file_op_forget(struct twheel_file_op *fop)
{
	struct twheel_file *file = fop->file;

	xa_erase(&file->ops, id_index(fop->id));
	atomic_dec(&file->held);
	twheel_file_op_put(fop);
}

/* Give an operation its id. From here on whoever guesses it may use it. */
static int file_op_publish(struct twheel_file_op *fop)
{
	struct twheel_file *file = fop->file;
	u32 index;
	int err;

	xa_lock(&file->ops);
	err = __xa_alloc(&file->ops, &index, fop,
			 XA_LIMIT(1, BIT(TWHEEL_INDEX_BITS) - 1), GFP_KERNEL);
	if (!err) {
		file->generation++;
		fop->id = file->generation << TWHEEL_INDEX_BITS | index;
	}
	xa_unlock(&file->ops);
	return err;
}

static int file_op_charge(struct twheel_file *file)
{
	if (atomic_add_unless(&file->held, 1, 2 * file->max_pending))
		return 0;
	atomic64_inc(&file->rejected);
	return -EAGAIN;
}

/* An operation that is known by its id, and not added yet. */
static struct twheel_file_op *file_op_create(struct twheel_file *file, u64 cookie, u32 nr_keys)
{
	struct twheel_file_op *fop;
	int err;

	err = file_op_charge(file);
	if (err)
		return ERR_PTR(err);
	fop = kzalloc(struct_size(fop, watch, nr_keys), GFP_KERNEL_ACCOUNT);
	if (!fop) {
		err = -ENOMEM;
		goto uncharge;
	}
	twheel_op_init(&fop->op, &file_op_ops);
	fop->file = file;
	fop->cookie = cookie;
	err = file_op_publish(fop);
	if (err)
		goto put;
	return fop;

put:
	twheel_file_op_put(fop);
uncharge:
	atomic_dec(&file->held);
	return ERR_PTR(err);
}

/* The keys of a call in our memory; the caller frees them. */
static struct twheel_watch_spec *specs_copy(u64 keys, u32 nr_keys)
{
	if (!nr_keys)
		return NULL;
	if (nr_keys > TWHEEL_MAX_KEYS)
		return ERR_PTR(-EINVAL);
	return memdup_user(u64_to_user_ptr(keys), nr_keys * sizeof(struct twheel_watch_spec));
}

/*
 * Add an operation that has an id. The id is told first, since once it is
 * added there is no way back: an address that can't be written to changes
 * nothing.
 */
static int file_op_start(struct twheel_file_op *fop, struct twheel_op_args *how,
			 u64 old_id, u64 __user *id)
{
	int err;

	if (put_user(fop->id, id))
		return -EFAULT;
	how->watches = fop->watch;
	err = twheel_op_add(fop->file->purgatory, &fop->op, how, GFP_KERNEL_ACCOUNT);
	/* A call that fails leaves what it was given as it was. */
	if (err && put_user(old_id, id))
		return -EFAULT;
	return err;
}

static int file_op_add(struct twheel_file *file, const struct twheel_add_args *args,
		       const struct twheel_watch_spec *specs, u64 __user *id)
{
	struct twheel_op_args how = {
		.deadline	= args->flags & TWHEEL_ADD_ABSTIME ?
				  args->deadline : twheel_deadline(args->deadline),
		.condition	= args->condition,
		.quorum		= args->quorum,
		.nr_keys	= args->nr_keys,
		.specs		= specs,
	};
	struct twheel_file_op *fop;
	int err;

	/* What else there is, is for the kernel. */
	if (args->condition > TWHEEL_COND_QUORUM)
		return -EINVAL;
	err = twheel_op_check(&how);
	if (err)
		return err;
	fop = file_op_create(file, args->cookie, args->nr_keys);
	if (IS_ERR(fop))
		return PTR_ERR(fop);
	/* Its event may be read, and the file's reference go, before we're done. */
	twheel_op_get(&fop->op);
	err = file_op_start(fop, &how, args->id, id);
	if (err)
		twheel_file_op_forget(fop);
	twheel_file_op_put(fop);
	return err;
}

/**
 * twheel_file_op_add - add an operation
 * @file: to which open file
 * @args: as from user space, its flags and fields not yet checked
 * @id: where user space wants its id
 *
 * Return: 0 or an error; Documentation/device.rst lists them.
 */
int twheel_file_op_add(struct twheel_file *file, const struct twheel_add_args *args,
		       u64 __user *id)
{
	struct twheel_watch_spec *specs;
	int err;

	if (args->flags & ~TWHEEL_ADD_ABSTIME || args->slack || args->period || args->runs || args->clock || args->reserved || args->threshold)
		return -EINVAL;
	specs = specs_copy(args->keys, args->nr_keys);
	if (IS_ERR(specs))
		return PTR_ERR(specs);
	err = file_op_add(file, args, specs, id);
	kfree(specs);
	return err;
}

static int file_op_watch(struct twheel_file_op *fop, const struct twheel_watch_spec *specs,
			 u32 nr_keys)
{
	struct twheel_file_watches *watches;
	int nr;

	watches = kmalloc(struct_size(watches, watch, nr_keys), GFP_KERNEL_ACCOUNT);
	if (!watches)
		return -ENOMEM;
	nr = twheel_op_watch(&fop->op, specs, watches->watch, nr_keys, GFP_KERNEL_ACCOUNT);
	if (nr > 0)
		llist_add(&watches->node, &fop->more);
	else
		kfree(watches);
	return min(nr, 0);
}

/**
 * twheel_file_op_watch - let an operation watch further keys
 * @file: whose operation
 * @args: as from user space, its flags and fields not yet checked
 *
 * Return: 0 or an error; Documentation/device.rst lists them.
 */
int twheel_file_op_watch(struct twheel_file *file, const struct twheel_watch_args *args)
{
	struct twheel_watch_spec *specs;
	struct twheel_file_op *fop;
	int err = -ENOENT;

	if (args->flags || !args->nr_keys)
		return -EINVAL;
	specs = specs_copy(args->keys, args->nr_keys);
	if (IS_ERR(specs))
		return PTR_ERR(specs);
	fop = twheel_file_op_get(file, args->id);
	if (fop) {
		err = file_op_watch(fop, specs, args->nr_keys);
		twheel_file_op_put(fop);
	}
	kfree(specs);
	return err;
}
