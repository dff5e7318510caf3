// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, users: how much each of them may have in all files together.
 *
 * Who opened a file is charged for it and for the operations that are added
 * through it, whoever adds them.  Without that, a limit for each file would be
 * none for who opens many.
 *
 * A user is known while one of their files is open, or a detached operation of
 * theirs waits or is not read yet.  An operation that is not detached goes before
 * its file does, and needs no reference of its own.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "device.h"

static unsigned int user_max_files = BIT(14);
module_param(user_max_files, uint, 0444);
MODULE_PARM_DESC(user_max_files, "open files of a user, at least 1 (default 16384)");

static unsigned int user_max_ops = BIT(22);
module_param(user_max_ops, uint, 0444);
MODULE_PARM_DESC(user_max_ops, "operations of a user that are pending or unread, at least 1 (default 4194304)");

/* By their numbers. Its lock protects the way from there to a reference. */
static DEFINE_XARRAY(users);

/**
 * twheel_users_check - check the parameters of this file
 *
 * Return: 0, or -EINVAL with a message that names the bad one.
 */
int __init twheel_users_check(void)
{
	if (!user_max_files || user_max_files > INT_MAX) {
		pr_err("user_max_files=%u is not between 1 and %d\n", user_max_files, INT_MAX);
		return -EINVAL;
	}
	if (!user_max_ops || user_max_ops > INT_MAX) {
		pr_err("user_max_ops=%u is not between 1 and %d\n", user_max_ops, INT_MAX);
		return -EINVAL;
	}
	return 0;
}

static struct twheel_user *user_find(kuid_t uid)
{
	struct twheel_user *user;

	xa_lock(&users);
	user = xa_load(&users, __kuid_val(uid));
	if (user)
		refcount_inc(&user->ref);
	xa_unlock(&users);
	return user;
}

static void user_put(struct twheel_user *user)
{
	if (refcount_dec_not_one(&user->ref))
		return;
	/* The last one goes while nobody looks users up. */
	xa_lock(&users);
	if (!refcount_dec_and_test(&user->ref)) {
		xa_unlock(&users);
		return;
	}
	__xa_erase(&users, __kuid_val(user->uid));
	xa_unlock(&users);
	kfree(user);
}

/* The user, found or made, with a reference. */
static struct twheel_user *user_get(kuid_t uid)
{
	struct twheel_user *user, *made;
	int err;

	for (;;) {
		user = user_find(uid);
		if (user)
			return user;
		made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
		if (!made)
			return ERR_PTR(-ENOMEM);
		made->uid = uid;
		refcount_set(&made->ref, 1);
		err = xa_insert(&users, __kuid_val(uid), made, GFP_KERNEL);
		if (!err)
			return made;
		kfree(made);
		/* Another thread was as quick. */
		if (err != -EBUSY)
			return ERR_PTR(err);
	}
}

/**
 * twheel_user_open - charge the caller for an open file
 *
 * Return: the user, until twheel_user_close(), or an ERR_PTR(): -EDQUOT if they
 * have as many as they may, -ENOMEM.
 */
struct twheel_user *twheel_user_open(void)
{
	struct twheel_user *user = user_get(current_uid());

	if (IS_ERR(user))
		return user;
	if (!atomic_add_unless(&user->files, 1, user_max_files)) {
		user_put(user);
		return ERR_PTR(-EDQUOT);
	}
	return user;
}

/**
 * twheel_user_close - a file is open no more
 * @user: who had been charged for it
 */
void twheel_user_close(struct twheel_user *user)
{
	atomic_dec(&user->files);
	user_put(user);
}

/**
 * twheel_user_charge - charge a user for an operation
 * @user: the user
 * @detached: it may outlive the file through which it is added
 *
 * Return: 0, or -EDQUOT if they have as many as they may.
 */
int twheel_user_charge(struct twheel_user *user, bool detached)
{
	if (!atomic_add_unless(&user->ops, 1, user_max_ops))
		return -EDQUOT;
	if (detached)
		refcount_inc(&user->ref);
	return 0;
}

/**
 * twheel_user_uncharge - an operation is gone
 * @user: who had been charged for it
 * @detached: as it was charged
 */
void twheel_user_uncharge(struct twheel_user *user, bool detached)
{
	atomic_dec(&user->ops);
	if (detached)
		user_put(user);
}
