// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: limits and wheels of users.
 *
 * An open file is charged to its opener, a named purgatory to its creator, and an operation
 * to the adding user: passing a descriptor to another user does not pass on the quota of the
 * opener. See twheel_caller_uid() for the user of a task.
 *
 * Each user has separate wheels and reapers, so the load of one user does not delay the
 * deadlines of another. A wheel is created by the first operation that needs it. All wheels
 * of a user are destroyed IDLE_TIME after the last operation was freed:
 *
 *	adder					idle work
 *	-----					---------
 *	ops++ (full barrier)			wheel = NULL
 *	load wheel				smp_mb()
 *	if NULL: take lock, create		if ops: restore wheel, else destroy
 *
 * Either the work sees the operation, or the adder sees no wheel. An operation is
 * uncharged when its memory is freed, so a charged operation may use its wheel without
 * further references.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "dev.h"

/* Idle wheels are kept this long, because creating their threads is expensive. */
#define IDLE_TIME	(5 * HZ)

static unsigned int user_max_files = BIT(14);
module_param(user_max_files, uint, 0444);
MODULE_PARM_DESC(user_max_files, "open files of a user, at least 1 (default 16384)");

static unsigned int user_max_ops = BIT(22);
module_param(user_max_ops, uint, 0444);
MODULE_PARM_DESC(user_max_ops, "operations of a user that are pending or unread, at least 1 (default 4194304)");

static unsigned int user_max_purgatories = 16;
module_param(user_max_purgatories, uint, 0444);
MODULE_PARM_DESC(user_max_purgatories, "named purgatories of a user without CAP_SYS_RESOURCE (default 16)");

/*
 * By uid. The lock is held from a lookup until the reference is taken. Distant ids, as those of a
 * user namespace, need more memory for the array than for the users: all of it is charged.
 */
static DEFINE_XARRAY_FLAGS(users, XA_FLAGS_ACCOUNT);

/* Check the module parameters of this file. */
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
	if (user_max_purgatories > INT_MAX) {
		pr_err("user_max_purgatories=%u is more than %d\n", user_max_purgatories, INT_MAX);
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

void twheel_user_put(struct twheel_user *user)
{
	if (refcount_dec_not_one(&user->ref))
		return;
	/* user_find() takes references under the lock. */
	xa_lock(&users);
	if (!refcount_dec_and_test(&user->ref)) {
		xa_unlock(&users);
		return;
	}
	__xa_erase(&users, __kuid_val(user->uid));
	xa_unlock(&users);
	kfree(user);
}

/* Destroy the wheels, unless operations were added again. Drops a reference to the user. */
static void user_idle(struct work_struct *work)
{
	struct twheel_user *user = container_of(to_delayed_work(work), struct twheel_user, idle);
	struct twheel *wheel[ARRAY_SIZE(user->wheel)];
	unsigned int i;

	mutex_lock(&user->lock);
	for (i = 0; i < ARRAY_SIZE(wheel); i++) {
		wheel[i] = user->wheel[i];
		WRITE_ONCE(user->wheel[i], NULL);
	}
	/* Pairs with the increment of ops in twheel_user_charge_op(). */
	smp_mb();
	for (i = 0; i < ARRAY_SIZE(wheel); i++) {
		if (atomic_read(&user->ops)) {
			/* Pairs with the acquire in twheel_user_wheel(). */
			smp_store_release(&user->wheel[i], wheel[i]);
		} else if (wheel[i]) {
			user->wakeups += twheel_wakeups(wheel[i]);
			twheel_destroy(wheel[i]);
		}
	}
	mutex_unlock(&user->lock);
	twheel_user_put(user);
}

static struct twheel_user *user_alloc(kuid_t uid)
{
	struct twheel_user *user = kzalloc(sizeof(*user), TWHEEL_GFP_USER);

	if (!user)
		return NULL;
	user->uid = uid;
	refcount_set(&user->ref, 1);
	mutex_init(&user->lock);
	INIT_DELAYED_WORK(&user->idle, user_idle);
	return user;
}

/*
 * Look up or create the user of the current task. Returns a reference or ERR_PTR(-ENOMEM).
 * May sleep.
 */
struct twheel_user *twheel_user_get(void)
{
	kuid_t uid = twheel_caller_uid();
	struct twheel_user *user;
	int err;

	for (;;) {
		user = user_find(uid);
		if (user)
			return user;
		user = user_alloc(uid);
		if (!user)
			return ERR_PTR(-ENOMEM);
		err = xa_insert(&users, __kuid_val(uid), user, TWHEEL_GFP_USER);
		if (!err)
			return user;
		kfree(user);
		/* -EBUSY: another thread has inserted the user. */
		if (err != -EBUSY)
			return ERR_PTR(err);
	}
}

/* The charge functions return -EDQUOT at the limit. */
int twheel_user_charge_file(struct twheel_user *user)
{
	return atomic_add_unless(&user->files, 1, user_max_files) ? 0 : -EDQUOT;
}

void twheel_user_uncharge_file(struct twheel_user *user)
{
	atomic_dec(&user->files);
}

/* @user is the calling user: CAP_SYS_RESOURCE overrides the limit. */
int twheel_user_charge_name(struct twheel_user *user)
{
	int names = atomic_read(&user->names);

	do {
		if (names >= (int)user_max_purgatories && !capable(CAP_SYS_RESOURCE))
			return -EDQUOT;
	} while (!atomic_try_cmpxchg(&user->names, &names, names + 1));
	return 0;
}

void twheel_user_uncharge_name(struct twheel_user *user)
{
	atomic_dec(&user->names);
}

int twheel_user_charge_op(struct twheel_user *user)
{
	/* A full barrier; pairs with the smp_mb() in user_idle(). */
	return atomic_add_unless(&user->ops, 1, user_max_ops) ? 0 : -EDQUOT;
}

/* The memory of an operation is about to be freed. */
void twheel_user_uncharge_op(struct twheel_user *user)
{
	/* The work holds a reference to the user. */
	if (atomic_dec_return(&user->ops))
		return;
	refcount_inc(&user->ref);
	if (!queue_delayed_work(twheel_wq, &user->idle, IDLE_TIME))
		twheel_user_put(user);
}

static struct twheel *wheel_create(struct twheel_user *user, enum twheel_clock clock)
{
	char name[sizeof("twheel-4294967295")];
	struct twheel_config config;

	snprintf(name, sizeof(name), "twheel-%u", __kuid_val(user->uid));
	twheel_system_config(&config, clock);
	config.name = name;
	return twheel_make(&config, TWHEEL_MAKE_UNLIMITED | TWHEEL_MAKE_ACCOUNT);
}

/*
 * Look up or create a wheel. The caller has charged an operation to the user, and the wheel is
 * valid until it is uncharged. Returns ERR_PTR(-ENOMEM) on failure. May sleep.
 */
struct twheel *twheel_user_wheel(struct twheel_user *user, enum twheel_clock clock)
{
	struct twheel *wheel;

	/* Pairs with the releases here and in user_idle(). */
	wheel = smp_load_acquire(&user->wheel[clock]);
	if (likely(wheel))
		return wheel;
	mutex_lock(&user->lock);
	wheel = user->wheel[clock];
	if (!wheel) {
		wheel = wheel_create(user, clock);
		if (!IS_ERR(wheel)) {
			/* Pairs with the acquire above. */
			smp_store_release(&user->wheel[clock], wheel);
		}
	}
	mutex_unlock(&user->lock);
	return wheel;
}

/* Number of wake-ups of the user's reapers. */
u64 twheel_user_wakeups(struct twheel_user *user)
{
	unsigned int i;
	u64 wakeups;

	mutex_lock(&user->lock);
	wakeups = user->wakeups;
	for (i = 0; i < ARRAY_SIZE(user->wheel); i++)
		if (user->wheel[i])
			wakeups += twheel_wakeups(user->wheel[i]);
	mutex_unlock(&user->lock);
	return wakeups;
}

/* Destroy the wheels of all users. No file is open. May sleep. */
void twheel_users_exit(void)
{
	struct twheel_user *user;
	unsigned long uid = 0;

	for (;;) {
		xa_lock(&users);
		user = xa_find(&users, &uid, ULONG_MAX, XA_PRESENT);
		if (user)
			refcount_inc(&user->ref);
		xa_unlock(&users);
		if (!user)
			break;
		flush_delayed_work(&user->idle);
		twheel_user_put(user);
		uid++;
	}
	WARN_ON_ONCE(!xa_empty(&users));
}
