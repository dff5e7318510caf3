// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: limits and wheels of users.
 *
 * An open file is charged to its opener, a named purgatory to its creator, and an operation
 * to the adding user: passing a descriptor to another user does not pass on the quota of the
 * opener. See twheel_caller_uid() for the user of a task.
 *
 * A user namespace has many ids. So a user in a namespace is charged to an owner as well, and its
 * shards share the turns of this owner (core/turn.c). Nested namespaces belong to the outermost
 * one of them. Its owner is its creator, or the namespace itself if this was root: root creates
 * them for others. The same id in two namespaces may be two users:
 *
 *	users, by id		namespaces of root, by address
 *	  ids, by id		  ids, by id
 *
 * Each user has separate wheels, which share a reaper per CPU with those of all other users. A
 * wheel is created by the first operation that needs it. All wheels of a user are destroyed
 * IDLE_TIME after the last operation was freed:
 *
 *	adder					idle work
 *	-----					---------
 *	operations++ (full barrier)		wheel = NULL
 *	load wheel				smp_mb()
 *	if NULL: take lock, create		if ops: restore wheel, else destroy
 *
 * Either the work sees the operation, or the adder sees no wheel. An operation is
 * uncharged when its memory is freed, so a charged operation may use its wheel without
 * further references.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "user.h"

/* Idle wheels are kept this long, for users with few operations at a time. */
#define IDLE_TIME	(5 * HZ)

static unsigned int user_max_files = BIT(14);
module_param(user_max_files, uint, 0444);
MODULE_PARM_DESC(user_max_files, "open files of a user, at least 1 (default 16384)");

static unsigned int user_max_ops = BIT(22);
module_param(user_max_ops, uint, 0444);
MODULE_PARM_DESC(user_max_ops, "operations of a user that are pending or unread, and cells, at least 1 (default 4194304)");

static unsigned int user_max_purgatories = 16;
module_param(user_max_purgatories, uint, 0444);
MODULE_PARM_DESC(user_max_purgatories, "named purgatories of a user without CAP_SYS_RESOURCE (default 16)");

/*
 * The lock of an array of users is held from a lookup until the reference is taken. Distant ids
 * need more memory for the array than for the users: all of it is charged.
 */
static DEFINE_XARRAY_FLAGS(users, XA_FLAGS_ACCOUNT);
static DEFINE_XARRAY_FLAGS(namespaces, XA_FLAGS_ACCOUNT);

/* The reapers of all users, created with the first user. */
static DEFINE_MUTEX(reapers_lock);
static struct twheel_reapers *reapers;

struct workqueue_struct *twheel_wq;

static int __init parameters_check(void)
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

/* Check the module parameters of this file, and create the workqueue. */
int __init twheel_users_init(void)
{
	int err = parameters_check();

	if (err)
		return err;
	twheel_wq = alloc_workqueue("twheel", WQ_UNBOUND, 0);
	return twheel_wq ? 0 : -ENOMEM;
}

static struct twheel_user *user_find(struct xarray *array, unsigned long key)
{
	struct twheel_user *user;

	xa_lock(array);
	user = xa_load(array, key);
	if (user)
		refcount_inc(&user->ref);
	xa_unlock(array);
	return user;
}

/* Drop a reference. Returns true if it was the last one. */
static bool user_unref(struct twheel_user *user)
{
	bool last;

	if (refcount_dec_not_one(&user->ref))
		return false;
	/* user_find() takes references under the lock. */
	xa_lock(user->array);
	last = refcount_dec_and_test(&user->ref);
	if (last)
		__xa_erase(user->array, user->key);
	xa_unlock(user->array);
	return last;
}

void twheel_user_put(struct twheel_user *user)
{
	struct twheel_user *owner;

	for (; user && user_unref(user); user = owner) {
		owner = user->owner;
		if (user->ns)
			put_user_ns(user->ns);
		xa_destroy(&user->ids);
		kfree(user);
	}
}

static u64 wheel_wakeups(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats.wakeups;
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
	/* Pairs with the increment of the operations in twheel_user_charge(). */
	smp_mb();
	for (i = 0; i < ARRAY_SIZE(wheel); i++) {
		if (atomic_read(&user->nr[TWHEEL_USER_OPS])) {
			/* Pairs with the acquire in twheel_user_wheel(). */
			smp_store_release(&user->wheel[i], wheel[i]);
		} else if (wheel[i]) {
			user->wakeups += wheel_wakeups(wheel[i]);
			twheel_destroy(wheel[i]);
		}
	}
	mutex_unlock(&user->lock);
	twheel_user_put(user);
}

/* Create the reapers with the first user. Returns their number or an error. */
static int reapers_create(void)
{
	int err;

	mutex_lock(&reapers_lock);
	err = twheel_system_reapers(&reapers, "twheel-user");
	mutex_unlock(&reapers_lock);
	return err ?: reapers->nr;
}

/* A user without an owner has a share in each reaper. */
static struct twheel_user *user_alloc(kuid_t uid, struct twheel_user *owner)
{
	int i, nr = owner ? 0 : reapers_create();
	struct twheel_user *user;

	if (nr < 0)
		return ERR_PTR(nr);
	user = kzalloc(struct_size(user, share, nr), TWHEEL_GFP_USER);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->uid = uid;
	user->owner = owner;
	xa_init_flags(&user->ids, XA_FLAGS_ACCOUNT);
	refcount_set(&user->ref, 1);
	mutex_init(&user->lock);
	spin_lock_init(&user->private_lock);
	INIT_LIST_HEAD(&user->private);
	INIT_DELAYED_WORK(&user->idle, user_idle);
	for (i = 0; i < nr; i++)
		twheel_share_init(&user->share[i], &reapers->reaper[i]);
	return user;
}

/* A user in one of the arrays. With @ns it stands for that namespace. */
struct place {
	struct xarray		*array;
	unsigned long		key;
	kuid_t			uid;
	struct twheel_user	*owner;
	struct user_namespace	*ns;
};

/*
 * Look up a user, or create it. The caller holds references to the owner and the namespace. Returns
 * a reference, or NULL, or an ERR_PTR().
 */
static struct twheel_user *user_get(const struct place *place, bool create)
{
	struct twheel_user *user;
	int err;

	for (;;) {
		user = user_find(place->array, place->key);
		if (user || !create)
			return user;
		user = user_alloc(place->uid, place->owner);
		if (IS_ERR(user))
			return user;
		user->array = place->array;
		user->key = place->key;
		user->ns = place->ns;
		err = xa_insert(place->array, place->key, user, TWHEEL_GFP_USER);
		if (!err)
			break;
		kfree(user);
		/* -EBUSY: another thread has inserted the user. */
		if (err != -EBUSY)
			return ERR_PTR(err);
	}
	if (place->owner)
		refcount_inc(&place->owner->ref);
	if (place->ns)
		get_user_ns(place->ns);
	return user;
}

/* The outermost user namespace of the current task below the initial one, or NULL. */
static struct user_namespace *caller_ns(void)
{
	struct user_namespace *ns = current_user_ns();

	if (likely(ns == &init_user_ns))
		return NULL;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns;
}

static bool ns_is_account(const struct user_namespace *ns)
{
	return uid_eq(ns->owner, GLOBAL_ROOT_UID);
}

/* Look up the user of the current task, or create it; returns as user_get(). */
static struct twheel_user *caller_get(bool create)
{
	struct place owner = { .array = &users }, user = { .uid = twheel_caller_uid() };
	struct user_namespace *ns = caller_ns();
	struct twheel_user *found;

	user.array = &users;
	user.key = __kuid_val(user.uid);
	if (likely(!ns) || (uid_eq(ns->owner, user.uid) && !ns_is_account(ns)))
		return user_get(&user, create);
	owner.uid = ns->owner;
	owner.key = __kuid_val(ns->owner);
	if (ns_is_account(ns)) {
		owner.array = &namespaces;
		owner.key = (unsigned long)ns;
		owner.ns = ns;
	}
	user.owner = user_get(&owner, create);
	if (IS_ERR_OR_NULL(user.owner))
		return user.owner;
	user.array = &user.owner->ids;
	found = user_get(&user, create);
	twheel_user_put(user.owner);
	return found;
}

/*
 * Look up or create the user of the current task. Returns a reference, or ERR_PTR(-ENOMEM), or
 * ERR_PTR(-EINTR) after a fatal signal. May sleep.
 */
struct twheel_user *twheel_user_get(void)
{
	return caller_get(true);
}

/* Whether twheel_user_get() would return this user. */
bool twheel_user_is_caller(const struct twheel_user *user)
{
	const struct twheel_user *owner = user->owner;
	struct user_namespace *ns = caller_ns();

	if (!uid_eq(user->uid, twheel_caller_uid()))
		return false;
	if (likely(!ns) || (uid_eq(ns->owner, user->uid) && !ns_is_account(ns)))
		return !owner;
	if (ns_is_account(ns))
		return owner && owner->ns == ns;
	return owner && !owner->ns && uid_eq(owner->uid, ns->owner);
}

/* CAP_SYS_RESOURCE overrides one limit. The user is the caller. */
static __always_inline bool at_limit(int nr, enum twheel_user_limit limit)
{
	switch (limit) {
	case TWHEEL_USER_FILES:
		return nr >= (int)user_max_files;
	case TWHEEL_USER_OPS:
		return nr >= (int)user_max_ops;
	case TWHEEL_USER_CELLS:
		return nr >= (int)DIV_ROUND_UP(user_max_ops, TWHEEL_CELLS_PER_PAGE);
	default:
		return nr >= (int)user_max_purgatories && !capable(CAP_SYS_RESOURCE);
	}
}

/* Inline: without the calls, an add takes 40 instructions less. */
static __always_inline bool charge(struct twheel_user *user, enum twheel_user_limit limit)
{
	int nr = atomic_read(&user->nr[limit]);

	do {
		if (at_limit(nr, limit))
			return false;
		/* A full barrier; pairs with the smp_mb() in user_idle(). */
	} while (!atomic_try_cmpxchg(&user->nr[limit], &nr, nr + 1));
	return true;
}

static void uncharge(struct twheel_user *user, enum twheel_user_limit limit, u32 nr)
{
	if (atomic_sub_return(nr, &user->nr[limit]) || limit != TWHEEL_USER_OPS)
		return;
	/* The work holds a reference to the user. */
	refcount_inc(&user->ref);
	if (!queue_delayed_work(twheel_wq, &user->idle, IDLE_TIME))
		twheel_user_put(user);
}

/* Charge a user and its owner. Returns -EDQUOT at a limit of either. */
int twheel_user_charge(struct twheel_user *user, enum twheel_user_limit limit)
{
	if (!charge(user, limit))
		return -EDQUOT;
	if (likely(!user->owner) || charge(user->owner, limit))
		return 0;
	uncharge(user, limit, 1);
	return -EDQUOT;
}

/*
 * Charge an operation to the caller. Returns it, with a reference if it is not the opener of the
 * file, or ERR_PTR(-EDQUOT), or an error as twheel_user_get().
 */
struct twheel_user *twheel_user_charge_op(struct twheel_user *opener)
{
	struct twheel_user *user = opener;
	int err;

	if (likely(!opener->owner && !caller_ns() && uid_eq(opener->uid, twheel_caller_uid())))
		return charge(opener, TWHEEL_USER_OPS) ? opener : ERR_PTR(-EDQUOT);
	if (!twheel_user_is_caller(user))
		user = twheel_user_get();
	if (IS_ERR(user))
		return user;
	err = twheel_user_charge(user, TWHEEL_USER_OPS);
	if (likely(!err))
		return user;
	if (user != opener)
		twheel_user_put(user);
	return ERR_PTR(err);
}

/* Operations are uncharged when their memory is freed, or is about to be. */
void twheel_user_uncharge(struct twheel_user *user, enum twheel_user_limit limit, u32 nr)
{
	if (user->owner)
		uncharge(user->owner, limit, nr);
	uncharge(user, limit, nr);
}

static struct twheel *wheel_create(struct twheel_user *user, enum twheel_clock clock)
{
	struct twheel_user *owner = user->owner ?: user;
	char name[sizeof("twheel-4294967295")];
	struct twheel_config config;

	snprintf(name, sizeof(name), "twheel-%u", __kuid_val(user->uid));
	twheel_system_config(&config, clock);
	config.name = name;
	return twheel_make(&config, reapers, owner->share);
}

/* Create a wheel, see twheel_user_wheel(). */
struct twheel *twheel_user_make_wheel(struct twheel_user *user, enum twheel_clock clock)
{
	struct twheel *wheel;

	mutex_lock(&user->lock);
	wheel = user->wheel[clock];
	if (!wheel) {
		wheel = wheel_create(user, clock);
		if (!IS_ERR(wheel)) {
			/* Pairs with the acquire in twheel_user_wheel(). */
			smp_store_release(&user->wheel[clock], wheel);
		}
	}
	mutex_unlock(&user->lock);
	return wheel;
}

/* Set the limits of users, and the counters of the calling user. May sleep. */
void twheel_users_query(struct twheel_query_args *query)
{
	struct twheel_user *user = caller_get(false);
	unsigned int i;

	query->user_max_ops = user_max_ops;
	query->user_max_files = user_max_files;
	/* A user without files and operations, with a file of another one. */
	if (!user)
		return;
	query->user_ops = atomic_read(&user->nr[TWHEEL_USER_OPS]);
	query->user_files = atomic_read(&user->nr[TWHEEL_USER_FILES]);
	mutex_lock(&user->lock);
	query->wakeups = user->wakeups;
	for (i = 0; i < ARRAY_SIZE(user->wheel); i++)
		if (user->wheel[i])
			query->wakeups += wheel_wakeups(user->wheel[i]);
	mutex_unlock(&user->lock);
	twheel_user_put(user);
}

/* The user with the lowest key from @key on, with a reference, or NULL. Sets @key behind it. */
static struct twheel_user *user_next(struct xarray *array, unsigned long *key)
{
	struct twheel_user *user;

	xa_lock(array);
	user = xa_find(array, key, ULONG_MAX, XA_PRESENT);
	if (user)
		refcount_inc(&user->ref);
	xa_unlock(array);
	++*key;
	return user;
}

static void user_show(struct seq_file *file, struct twheel_user *user)
{
	static const char * const names[TWHEEL_TOTALS] = {
		"added", "completed", "expired", "cancelled", "enospc", "enobufs", "edquot",
	};
	u64 totals[TWHEEL_TOTALS];
	unsigned int i;

	spin_lock(&user->private_lock);
	memcpy(totals, user->totals, sizeof(totals));
	spin_unlock(&user->private_lock);
	seq_printf(file, "twheel-user:\tops=%d max_ops=%u files=%d max_files=%u uid=%u",
		   atomic_read(&user->nr[TWHEEL_USER_OPS]), user_max_ops,
		   atomic_read(&user->nr[TWHEEL_USER_FILES]), user_max_files,
		   from_kuid_munged(current_user_ns(), user->uid));
	for (i = 0; i < TWHEEL_TOTALS; i++)
		seq_printf(file, " %s=%llu", names[i], totals[i]);
	seq_putc(file, '\n');
}

/*
 * Print a line for each user of the initial user namespace, which includes what the ids of its
 * namespaces are charged. The reader sees ids of its own namespace. @count brings the totals of a
 * user up to date.
 */
void twheel_users_show(struct seq_file *file, void (*count)(struct twheel_user *user))
{
	struct twheel_user *user;
	unsigned long key = 0;

	while ((user = user_next(&users, &key))) {
		count(user);
		user_show(file, user);
		twheel_user_put(user);
		/* The buffer is enlarged, and all of this repeated. */
		if (seq_has_overflowed(file) || fatal_signal_pending(current))
			break;
		cond_resched();
	}
}

/* Destroy the wheels of the users in an array, which has no ids of ids. */
static void users_exit(struct xarray *array)
{
	struct twheel_user *user;
	unsigned long key = 0;

	while ((user = user_next(array, &key))) {
		if (!user->owner)
			users_exit(&user->ids);
		flush_delayed_work(&user->idle);
		twheel_user_put(user);
	}
	WARN_ON_ONCE(!twheel_array_empty(array));
	xa_destroy(array);
}

/* Destroy the wheels of all users, the reapers and the workqueue. No file is open. May sleep. */
void twheel_users_exit(void)
{
	users_exit(&users);
	users_exit(&namespaces);
	twheel_reapers_destroy(reapers);
	destroy_workqueue(twheel_wq);
}
