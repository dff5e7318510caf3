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
 * one of them. Its owner is its creator, or the namespace itself if this was root, since root
 * creates them for others: then the same id in two namespaces is two users.
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
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "user.h"

/* Idle wheels are kept this long, for users with few operations at a time. */
#define IDLE_TIME	(5 * HZ)

static unsigned int user_max[TWHEEL_USER_LIMITS] = {
	[TWHEEL_USER_FILES]	= BIT(14),
	[TWHEEL_USER_OPS]	= BIT(22),
	[TWHEEL_USER_NAMES]	= 16,
};

module_param_named(user_max_files, user_max[TWHEEL_USER_FILES], uint, 0444);
MODULE_PARM_DESC(user_max_files, "open files of a user, at least 1 (default 16384)");
module_param_named(user_max_ops, user_max[TWHEEL_USER_OPS], uint, 0444);
MODULE_PARM_DESC(user_max_ops, "operations of a user that are pending or unread, and cells, at least 1 (default 4194304)");
module_param_named(user_max_purgatories, user_max[TWHEEL_USER_NAMES], uint, 0444);
MODULE_PARM_DESC(user_max_purgatories, "named purgatories of a user without CAP_SYS_RESOURCE (default 16)");

/* All users, by key. A reference is taken with the lock held. */
static DEFINE_SPINLOCK(users_lock);
static struct rb_root users = RB_ROOT;

/* The reapers of all users, created with the first user. */
static DEFINE_MUTEX(reapers_lock);
static struct twheel_reapers *reapers;

struct workqueue_struct *twheel_wq;

/* Check a module parameter. */
int __init twheel_parameter_check(const char *name, unsigned int value, unsigned int min,
				  unsigned int max)
{
	if (value >= min && value <= max)
		return 0;
	pr_err("%s=%u is not between %u and %u\n", name, value, min, max);
	return -EINVAL;
}

/* Check the module parameters of this file, and create the workqueue. */
int __init twheel_users_init(void)
{
	unsigned int ops = user_max[TWHEEL_USER_OPS];
	int err;

	err = twheel_parameter_check("user_max_files", user_max[TWHEEL_USER_FILES], 1, INT_MAX) ?:
	      twheel_parameter_check("user_max_ops", ops, 1, INT_MAX) ?:
	      twheel_parameter_check("user_max_purgatories", user_max[TWHEEL_USER_NAMES], 0,
				     INT_MAX);
	if (err)
		return err;
	user_max[TWHEEL_USER_CELLS] = DIV_ROUND_UP(ops, TWHEEL_CELLS_PER_PAGE);
	twheel_wq = alloc_workqueue("twheel", WQ_UNBOUND, 0);
	return twheel_wq ? 0 : -ENOMEM;
}

/* Free a user that is not in the tree. */
static void user_free(struct twheel_user *user)
{
	struct twheel_user *owner = user->owner;

	if (user->key.ns)
		put_user_ns(user->key.ns);
	kfree(user);
	twheel_user_put(owner);
}

void twheel_user_put(struct twheel_user *user)
{
	bool last;

	if (!user || refcount_dec_not_one(&user->ref))
		return;
	spin_lock(&users_lock);
	last = refcount_dec_and_test(&user->ref);
	if (last)
		rb_erase(&user->node, &users);
	spin_unlock(&users_lock);
	if (last)
		user_free(user);
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

/*
 * The reference to the owner passes to the user. One without has a share in each reaper, which are
 * created with the first user.
 */
static struct twheel_user *user_alloc(const struct twheel_user_key *key, struct twheel_user *owner)
{
	struct twheel_user *user;
	int i, nr = 0, err;

	if (!owner) {
		mutex_lock(&reapers_lock);
		err = twheel_system_reapers(&reapers, "twheel-user");
		mutex_unlock(&reapers_lock);
		if (err)
			return ERR_PTR(err);
		nr = reapers->nr;
	}
	user = kzalloc(struct_size(user, share, nr), TWHEEL_GFP_USER);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->key = *key;
	if (key->ns)
		get_user_ns(key->ns);
	user->owner = owner;
	refcount_set(&user->ref, 1);
	mutex_init(&user->lock);
	spin_lock_init(&user->private_lock);
	INIT_LIST_HEAD(&user->private);
	INIT_DELAYED_WORK(&user->idle, user_idle);
	for (i = 0; i < nr; i++)
		twheel_share_init(&user->share[i], &reapers->reaper[i]);
	return user;
}

/* Any order will do. */
static int key_compare(const void *key, const struct rb_node *node)
{
	return memcmp(key, &rb_entry(node, struct twheel_user, node)->key,
		      sizeof(struct twheel_user_key));
}

static int user_compare(struct rb_node *new, const struct rb_node *node)
{
	return key_compare(&rb_entry(new, struct twheel_user, node)->key, node);
}

/* Find a user, or else add @new, which may be NULL. Returns it with a reference, or NULL. */
static struct twheel_user *user_find(const struct twheel_user_key *key, struct twheel_user *new)
{
	struct twheel_user *user = new;
	struct rb_node *node;

	spin_lock(&users_lock);
	node = new ? rb_find_add(&new->node, &users, user_compare) :
		     rb_find(key, &users, key_compare);
	if (node) {
		user = rb_entry(node, struct twheel_user, node);
		refcount_inc(&user->ref);
	}
	spin_unlock(&users_lock);
	return user;
}

/* Look up a user, or create it. Returns a reference, or an ERR_PTR(). May sleep. */
static struct twheel_user *user_get(const struct twheel_user_key *key)
{
	struct twheel_user_key owner_key = {
		.uid = key->owner, .owner = INVALID_UID, .ns = key->ns,
	};
	struct twheel_user *user = user_find(key, NULL), *owner = NULL, *new;

	if (user)
		return user;
	if (uid_valid(key->owner))
		owner = user_get(&owner_key);
	if (IS_ERR(owner))
		return owner;
	new = user_alloc(key, owner);
	if (IS_ERR(new)) {
		twheel_user_put(owner);
		return new;
	}
	user = user_find(key, new);
	/* Another thread was faster. */
	if (user != new)
		user_free(new);
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

static struct twheel_user_key caller_key(void)
{
	struct twheel_user_key key = { .uid = twheel_caller_uid(), .owner = INVALID_UID };
	struct user_namespace *ns = caller_ns();

	if (likely(!ns))
		return key;
	if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
		key.ns = ns;
	if (key.ns || !uid_eq(ns->owner, key.uid))
		key.owner = ns->owner;
	return key;
}

/*
 * Look up or create the user of the current task. Returns a reference, or ERR_PTR(-ENOMEM), or
 * ERR_PTR(-EINTR) after a fatal signal. May sleep.
 */
struct twheel_user *twheel_user_get(void)
{
	struct twheel_user_key key = caller_key();

	return user_get(&key);
}

/* CAP_SYS_RESOURCE overrides one limit. The user is the caller. */
static __always_inline bool at_limit(int nr, enum twheel_user_limit limit)
{
	return unlikely(nr >= (int)user_max[limit]) &&
	       (limit != TWHEEL_USER_NAMES || !capable(CAP_SYS_RESOURCE));
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

/* twheel_user_charge_op() of another user, or of one in a namespace */
static noinline struct twheel_user *charge_op(struct twheel_user *opener)
{
	struct twheel_user_key key = caller_key();
	struct twheel_user *user = opener;
	int err;

	if (key_compare(&key, &opener->node))
		user = user_get(&key);
	if (IS_ERR(user))
		return user;
	err = twheel_user_charge(user, TWHEEL_USER_OPS);
	if (likely(!err))
		return user;
	if (user != opener)
		twheel_user_put(user);
	return ERR_PTR(err);
}

/*
 * Charge an operation to the caller. Returns it, with a reference if it is not the opener of the
 * file, or ERR_PTR(-EDQUOT), or an error as twheel_user_get().
 */
struct twheel_user *twheel_user_charge_op(struct twheel_user *opener)
{
	if (likely(!opener->owner && !caller_ns() && uid_eq(opener->key.uid, twheel_caller_uid())))
		return charge(opener, TWHEEL_USER_OPS) ? opener : ERR_PTR(-EDQUOT);
	return charge_op(opener);
}

/* Operations are uncharged when their memory is freed, or is about to be. */
void twheel_user_uncharge(struct twheel_user *user, enum twheel_user_limit limit, u32 nr)
{
	if (user->owner)
		uncharge(user->owner, limit, nr);
	uncharge(user, limit, nr);
}

/* Create a wheel, see twheel_user_wheel(). */
struct twheel *twheel_user_make_wheel(struct twheel_user *user, enum twheel_clock clock)
{
	struct twheel_user *owner = user->owner ?: user;
	char name[sizeof("twheel-4294967295")];
	struct twheel_config config;
	struct twheel *wheel;

	snprintf(name, sizeof(name), "twheel-%u", __kuid_val(user->key.uid));
	twheel_system_config(&config, clock);
	config.name = name;
	mutex_lock(&user->lock);
	wheel = user->wheel[clock];
	if (!wheel) {
		wheel = twheel_make(&config, reapers, owner->share);
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
	struct twheel_user_key key = caller_key();
	struct twheel_user *user = user_find(&key, NULL);
	unsigned int i;

	query->user_max_ops = user_max[TWHEEL_USER_OPS];
	query->user_max_files = user_max[TWHEEL_USER_FILES];
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

/* The user behind @user, or the first one, with a reference, or NULL. Drops that of @user. */
static struct twheel_user *user_next(struct twheel_user *user)
{
	struct twheel_user *next;

	spin_lock(&users_lock);
	next = rb_entry_safe(user ? rb_next(&user->node) : rb_first(&users),
			     struct twheel_user, node);
	if (next)
		refcount_inc(&next->ref);
	spin_unlock(&users_lock);
	twheel_user_put(user);
	return next;
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
		   atomic_read(&user->nr[TWHEEL_USER_OPS]), user_max[TWHEEL_USER_OPS],
		   atomic_read(&user->nr[TWHEEL_USER_FILES]), user_max[TWHEEL_USER_FILES],
		   from_kuid_munged(current_user_ns(), user->key.uid));
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
	struct twheel_user *user = NULL;

	while ((user = user_next(user))) {
		if (!user->owner && !user->key.ns) {
			count(user);
			user_show(file, user);
		}
		/* The buffer is enlarged, and all of this repeated. */
		if (seq_has_overflowed(file) || fatal_signal_pending(current))
			break;
		cond_resched();
	}
	twheel_user_put(user);
}

/* Destroy the wheels of all users, the reapers and the workqueue. No file is open. May sleep. */
void twheel_users_exit(void)
{
	struct twheel_user *user = NULL;

	while ((user = user_next(user)))
		flush_delayed_work(&user->idle);
	WARN_ON_ONCE(!RB_EMPTY_ROOT(&users));
	twheel_reapers_destroy(reapers);
	destroy_workqueue(twheel_wq);
}
