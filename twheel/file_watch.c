// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, keys of operations: how they come from user space, and the room for
 * the watches of those that are watched later.
 *
 * Each TWHEEL_IOC_WATCH brings a chunk of room.  It is freed when none of its watches
 * is in use any more, so that an operation which watches and unwatches keys for
 * ever does not grow.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"

/* Room for further watches of an operation. */
struct twheel_file_watches {
	struct twheel_file_watches	*next;
	u32			nr;
	u32			used;
	struct twheel_watch	watch[];
};

/**
 * twheel_call_room - room for as many keys as there may be
 * @call: the call, at whose end it is freed
 *
 * Return: the room, the same one each time, or NULL.
 */
struct twheel_watch_spec *twheel_call_room(struct twheel_ioctl *call)
{
	if (!call->many)
		call->many = kmalloc_array(TWHEEL_MAX_KEYS, sizeof(*call->many),
					   GFP_KERNEL_ACCOUNT);
	return call->many;
}

/**
 * twheel_call_specs - copy the keys of a call
 * @call: the call, which keeps them until its end or the next use
 * @keys: address of the array in user space
 * @nr_keys: number of its entries
 * @key_size: size of an entry, 0 without entries
 *
 * Return: the keys, NULL for none, or an ERR_PTR(): -EINVAL for too many or a bad
 * size, -E2BIG, -EFAULT, -ENOMEM.
 */
const struct twheel_watch_spec *twheel_call_specs(struct twheel_ioctl *call, u64 keys, u32 nr_keys,
						  u32 key_size)
{
	struct twheel_watch_spec *specs = call->few;
	int err;
	u32 i;

	if (!nr_keys)
		return key_size ? ERR_PTR(-EINVAL) : NULL;
	if (nr_keys > TWHEEL_MAX_KEYS)
		return ERR_PTR(-EINVAL);
	if (nr_keys > ARRAY_SIZE(call->few))
		specs = twheel_call_room(call);
	if (!specs)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < nr_keys; i++) {
		err = twheel_entry_read(&specs[i], sizeof(*specs), keys, i, key_size);
		if (err)
			return ERR_PTR(err);
	}
	return specs;
}

/**
 * twheel_file_watches_free - free the room for further watches
 * @fop: an operation that nobody has a reference to any more
 */
void twheel_file_watches_free(struct twheel_file_op *fop)
{
	struct twheel_file_watches *watches, *next;

	for (watches = fop->more; watches; watches = next) {
		next = watches->next;
		kfree(watches);
	}
}

/* Have the chunk known before its watches are: they may be given up at once. */
static struct twheel_file_watches *file_watches_create(struct twheel_file_op *fop, u32 nr)
{
	struct twheel_file_watches *watches;

	watches = kmalloc(struct_size(watches, watch, nr), GFP_KERNEL_ACCOUNT);
	if (!watches)
		return NULL;
	watches->nr = nr;
	/*
	 * All of it is in use until it is known how much really is, and by who asks that:
	 * another thread may have unwatched the keys by then.
	 */
	watches->used = nr + 1;
	spin_lock(&twheel_file_op_events(fop)->lock);
	watches->next = fop->more;
	fop->more = watches;
	spin_unlock(&twheel_file_op_events(fop)->lock);
	return watches;
}

/* So many watches are not in use; the chunk may be gone. */
static void file_watches_release(struct twheel_file_op *fop,
				 struct twheel_file_watches *watches, u32 nr)
{
	struct twheel_file_watches **link = &fop->more;

	lockdep_assert_held(&twheel_file_op_events(fop)->lock);
	watches->used -= nr;
	if (watches->used)
		return;
	/* There are no more of them than an operation may watch keys. */
	while (*link != watches)
		link = &(*link)->next;
	*link = watches->next;
	kfree(watches);
}

/* The chunk of a watch, or NULL if it is one that the operation came with. */
static struct twheel_file_watches *file_watches_of(struct twheel_file_op *fop,
						   const struct twheel_watch *watch)
{
	struct twheel_file_watches *watches;

	for (watches = fop->more; watches; watches = watches->next)
		if (watch >= watches->watch && watch < watches->watch + watches->nr)
			return watches;
	return NULL;
}

static int file_op_watch(struct twheel_file_op *fop, const struct twheel_watch_spec *specs,
			 u32 nr_keys)
{
	struct twheel_file_watches *watches;
	int nr;

	watches = file_watches_create(fop, nr_keys);
	if (!watches)
		return -ENOMEM;
	nr = twheel_op_watch(&fop->op, specs, watches->watch, nr_keys);
	spin_lock(&twheel_file_op_events(fop)->lock);
	file_watches_release(fop, watches, nr_keys - max(nr, 0) + 1);
	spin_unlock(&twheel_file_op_events(fop)->lock);
	return min(nr, 0);
}

/**
 * twheel_call_watch - TWHEEL_IOC_WATCH
 * @call: the call
 * @args: as from user space
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	const struct twheel_watch_args *watch = &args->watch;
	const struct twheel_watch_spec *specs;
	struct twheel_file_op *fop;
	int err;

	if (watch->flags || watch->reserved || !watch->nr_keys)
		return -EINVAL;
	specs = twheel_call_specs(call, watch->keys, watch->nr_keys, watch->key_size);
	if (IS_ERR(specs))
		return PTR_ERR(specs);
	fop = twheel_call_op(call, watch->id);
	if (!fop)
		return -ENOENT;
	err = file_op_watch(fop, specs, watch->nr_keys);
	twheel_file_op_put(fop);
	return err;
}

/**
 * twheel_call_unwatch - TWHEEL_IOC_UNWATCH
 * @call: the call
 * @args: as from user space
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file_watches *watches;
	struct twheel_file_op *fop;
	struct twheel_watch *watch;

	if (args->unwatch.flags || args->unwatch.reserved)
		return -EINVAL;
	fop = twheel_call_op(call, args->unwatch.id);
	if (!fop)
		return -ENOENT;
	watch = twheel_op_unwatch(&fop->op, &args->unwatch.key);
	if (!IS_ERR(watch)) {
		spin_lock(&twheel_file_op_events(fop)->lock);
		watches = file_watches_of(fop, watch);
		if (watches)
			file_watches_release(fop, watches, 1);
		spin_unlock(&twheel_file_op_events(fop)->lock);
	}
	twheel_file_op_put(fop);
	return PTR_ERR_OR_ZERO(watch);
}
