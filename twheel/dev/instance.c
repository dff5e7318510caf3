// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the instance of a purgatory. It has the ids of the operations, the files and
 * the limits. A private one belongs to its only file; a named one is a part of its device, which
 * counts the references.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../op/purgatory.h"
#include "instance.h"

static_assert(2 * TWHEEL_PENDING_MAX <= TWHEEL_LEAVES_MAX << TWHEEL_LEAF_BITS);

unsigned int twheel_max_pending = BIT(18);
module_param_named(max_pending, twheel_max_pending, uint, 0444);
MODULE_PARM_DESC(max_pending, "operations that may be pending in one open file, 1 to 16777216 (default 262144)");

/* Create the purgatory of a zeroed instance. A @max_watches of 0 is no limit. */
int twheel_instance_init(struct twheel_instance *instance, const char *name, u32 max_pending,
			 u32 max_watches)
{
	const struct twheel_purgatory_config config = {
		.name		= name,
		.max_pending	= max_pending,
		.max_watches	= max_watches,
		.account	= true,
	};

	instance->purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(instance->purgatory))
		return PTR_ERR(instance->purgatory);
	instance->max_file_pending = min(max_pending, twheel_max_pending);
	twheel_ids_init(&instance->ids);
	spin_lock_init(&instance->lock);
	INIT_LIST_HEAD(&instance->files);
	mutex_init(&instance->complete_lock);
	xa_init_flags(&instance->queues, XA_FLAGS_ACCOUNT);
	return 0;
}

/* Destroy the purgatory of an instance without files and operations. May sleep. */
void twheel_instance_exit(struct twheel_instance *instance)
{
	struct twheel_attached *attached = instance->attached;
	struct module *owner;

	if (attached) {
		owner = attached->owner;
		attached->end(attached);
		/* Not in @end, whose code may be gone before it returns. */
		module_put(owner);
	}
	twheel_purgatory_destroy(instance->purgatory);
	WARN_ON_ONCE(!twheel_array_empty(&instance->queues));
	twheel_ids_exit(&instance->ids);
	xa_destroy(&instance->queues);
}

/* Create a private purgatory: it, or ERR_PTR(-ENOMEM). */
struct twheel_instance *twheel_instance_create(void)
{
	struct twheel_instance *instance = kzalloc(sizeof(*instance), TWHEEL_GFP_USER);
	int err;

	if (!instance)
		return ERR_PTR(-ENOMEM);
	err = twheel_instance_init(instance, "/dev/twheel", twheel_max_pending, 0);
	if (err) {
		kfree(instance);
		return ERR_PTR(err);
	}
	return instance;
}

void twheel_instance_put(struct twheel_instance *instance)
{
	if (instance->dev) {
		put_device(instance->dev);
	} else {
		twheel_instance_exit(instance);
		kfree(instance);
	}
}

/* Count an add that failed, if the reason is a limit. */
void twheel_instance_reject(struct twheel_instance *instance, int err)
{
	if (err == -ENOSPC)
		atomic64_inc(&instance->rejected[TWHEEL_REJECTED_ENOSPC]);
	else if (err == -ENOBUFS)
		atomic64_inc(&instance->rejected[TWHEEL_REJECTED_ENOBUFS]);
	else if (err == -EDQUOT)
		atomic64_inc(&instance->rejected[TWHEEL_REJECTED_EDQUOT]);
}

/* Number of adds and watch calls that failed with an error because of a limit. */
u64 twheel_instance_rejected(struct twheel_instance *instance, enum twheel_rejection rejection)
{
	u64 nr = atomic64_read(&instance->rejected[rejection]);

	if (rejection == TWHEEL_REJECTED_ENOSPC)
		nr += atomic64_read(&instance->purgatory->rejected);
	return nr;
}

/*
 * The totals of private purgatories, by user. Nothing is counted in a call: a purgatory has counts
 * of its own, and their increments are added to those of its user whenever these are read, and at
 * its end. So the totals never fall, and nothing is counted twice.
 */

/* The user whose line shows it. */
static struct twheel_user *shown_user(struct twheel_user *user)
{
	return user->owner ?: user;
}

/* Count a private purgatory. */
static void instance_count(struct twheel_instance *instance, struct twheel_user *user)
{
	struct twheel_purgatory_stats stats;
	u64 now[TWHEEL_TOTALS];
	unsigned int i;

	lockdep_assert_held(&user->private_lock);
	twheel_purgatory_count(instance->purgatory, &stats);
	now[TWHEEL_TOTAL_ADDED] = stats.added;
	for (i = 0; i < TWHEEL_REASON_CANCELLED; i++)
		now[TWHEEL_TOTAL_ENDED + i] = stats.ended[TWHEEL_REASON_COMPLETED + i];
	for (i = 0; i < TWHEEL_REJECTIONS; i++)
		now[TWHEEL_TOTAL_REJECTED + i] = twheel_instance_rejected(instance, i);
	for (i = 0; i < TWHEEL_TOTALS; i++) {
		user->totals[i] += now[i] - instance->counted[i];
		instance->counted[i] = now[i];
	}
}

/* A private purgatory has been opened by a user. */
void twheel_instance_enter(struct twheel_instance *instance, struct twheel_user *user)
{
	user = shown_user(user);
	spin_lock(&user->private_lock);
	list_add_tail(&instance->private, &user->private);
	user->nr_private++;
	spin_unlock(&user->private_lock);
}

/* A private purgatory is about to be destroyed. May sleep. */
void twheel_instance_leave(struct twheel_instance *instance, struct twheel_user *user)
{
	user = shown_user(user);
	/* Operations that other threads have ended are counted from now on. */
	twheel_purgatory_drain(instance->purgatory);
	spin_lock(&user->private_lock);
	instance_count(instance, user);
	list_del(&instance->private);
	user->nr_private--;
	spin_unlock(&user->private_lock);
}

/*
 * Count all private purgatories of a user: the first one, which moves to the end of the list, as
 * often as there are some. Another reader, which moves them as well, has counted those that this
 * one misses. May sleep.
 */
void twheel_instances_count(struct twheel_user *user)
{
	struct twheel_instance *instance;
	unsigned int done = 0;

	spin_lock(&user->private_lock);
	while (done++ < user->nr_private && !fatal_signal_pending(current)) {
		instance = list_first_entry(&user->private, struct twheel_instance, private);
		instance_count(instance, user);
		list_move_tail(&instance->private, &user->private);
		spin_unlock(&user->private_lock);
		cond_resched();
		spin_lock(&user->private_lock);
	}
	spin_unlock(&user->private_lock);
}
