// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, open files: how they come and go, and what they show of themselves.
 *
 * device.c opens private purgatories, named.c those that have a name; both have a
 * share, and each open file of it a box for what is added through it.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "device.h"

/**
 * twheel_share_init - make a purgatory for who will have it open
 * @share: zeroed
 * @name: of the purgatory
 * @max_pending: how many operations may be pending in it
 * @max_watches: how many watches they may have, 0 for any number
 *
 * Return: 0 or an error of twheel_purgatory_create().
 */
int twheel_share_init(struct twheel_share *share, const char *name, u32 max_pending,
		      u32 max_watches)
{
	const struct twheel_purgatory_config config = {
		.name		= name,
		.max_pending	= max_pending,
		.max_watches	= max_watches,
		.account	= true,
	};

	share->purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(share->purgatory))
		return PTR_ERR(share->purgatory);
	share->max_pending = max_pending;
	xa_init_flags(&share->ops, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	spin_lock_init(&share->lock);
	INIT_LIST_HEAD(&share->files);
	return 0;
}

/**
 * twheel_share_exit - end what twheel_share_init() made
 * @share: with no file and no operation any more
 *
 * Context: process; may sleep.
 */
void twheel_share_exit(struct twheel_share *share)
{
	twheel_purgatory_destroy(share->purgatory);
	WARN_ON_ONCE(!xa_empty(&share->ops));
	xa_destroy(&share->ops);
}

/* Be one of those who have it open, unless it has just been removed. */
static int share_enter(struct twheel_share *share, struct twheel_file *file)
{
	int err = 0;

	spin_lock(&share->lock);
	if (share->gone) {
		err = -ENODEV;
	} else {
		list_add_tail(&file->entry, &share->files);
		WRITE_ONCE(share->nr_files, share->nr_files + 1);
	}
	spin_unlock(&share->lock);
	return err;
}

/**
 * twheel_file_create - what belongs to an open file
 * @share: what it is open on, which stays until it is freed
 *
 * Return: the file, or an ERR_PTR(): -EDQUOT, -ENODEV if the purgatory has just
 * been removed, -ENOMEM.
 */
struct twheel_file *twheel_file_create(struct twheel_share *share)
{
	struct twheel_file *file;
	int err;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return ERR_PTR(-ENOMEM);
	file->user = twheel_user_open();
	if (IS_ERR(file->user)) {
		err = PTR_ERR(file->user);
		goto free;
	}
	refcount_set(&file->ref, 1);
	file->share = share;
	twheel_box_init(&file->own, share, twheel_max_pending);
	file->box = &file->own;
	err = share_enter(share, file);
	if (err)
		goto close;
	return file;

close:
	twheel_user_close(file->user);
free:
	kfree(file);
	return ERR_PTR(err);
}

/**
 * twheel_file_free - end an open file and all that was added through it
 * @file: the file, which nobody uses any more
 *
 * Context: process; may sleep.
 */
void twheel_file_free(struct twheel_file *file)
{
	struct twheel_share *share = file->share;

	twheel_box_shut(&file->own);
	twheel_box_cancel(&file->own);
	twheel_box_empty(&file->own);
	WARN_ON_ONCE(file->own.held);
	spin_lock(&share->lock);
	list_del(&file->entry);
	WRITE_ONCE(share->nr_files, share->nr_files - 1);
	spin_unlock(&share->lock);
	twheel_user_close(file->user);
	twheel_file_put(file);
}

/**
 * twheel_file_put - give back a reference to the memory of a file
 * @file: the file
 */
void twheel_file_put(struct twheel_file *file)
{
	if (refcount_dec_and_test(&file->ref))
		kfree(file);
}

/**
 * twheel_file_show_fdinfo - what /proc/PID/fdinfo/FD says
 * @m: where to
 * @file: of a purgatory
 */
void twheel_file_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_share *share = tf->share;
	struct twheel_box *box = READ_ONCE(tf->box);
	struct twheel_purgatory_stats stats;

	twheel_purgatory_stats(share->purgatory, &stats);
	seq_printf(m, "twheel-name:\t%s\n", share->named ? twheel_named_name(share->named) : "-");
	seq_printf(m, "twheel-detached:\t%d\n", box != &tf->own);
	seq_printf(m, "twheel-own:\t%u\n", READ_ONCE(box->nr_pending));
	seq_printf(m, "twheel-unread:\t%u\n", READ_ONCE(box->unread));
	seq_printf(m, "twheel-max-own:\t%u\n", box->max_pending);
	seq_printf(m, "twheel-files:\t%u\n", READ_ONCE(share->nr_files));
	seq_printf(m, "twheel-pending:\t%llu\n", stats.pending);
	seq_printf(m, "twheel-watches:\t%llu\n", stats.watches);
	seq_printf(m, "twheel-keys:\t%llu\n", stats.keys);
	seq_printf(m, "twheel-max-pending:\t%u\n", share->max_pending);
}
