/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: limits and wheels of users, see user.c. */
#ifndef _TWHEEL_DEV_USER_H
#define _TWHEEL_DEV_USER_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/cred.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rbtree_types.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "../core/twheel.h"

struct seq_file;

/* For all memory that users can multiply. */
#define TWHEEL_GFP_USER		(GFP_KERNEL | TWHEEL_GFP_ACCOUNT)

/* Limits of a user: open files, operations that have not been freed, names, and pages of cells. */
enum twheel_user_limit {
	TWHEEL_USER_FILES,
	TWHEEL_USER_OPS,
	TWHEEL_USER_NAMES,
	TWHEEL_USER_CELLS,
	TWHEEL_USER_LIMITS,
};

#define TWHEEL_CELLS_PER_PAGE	(PAGE_SIZE / sizeof(u64))

/* Errors of adds at a limit, which are counted separately. */
enum twheel_rejection {
	TWHEEL_REJECTED_ENOSPC,
	TWHEEL_REJECTED_ENOBUFS,
	TWHEEL_REJECTED_EDQUOT,
	TWHEEL_REJECTIONS,
};

/* Totals of private purgatories; those of each reason and each error are in one array. */
enum twheel_total {
	TWHEEL_TOTAL_ADDED,
	TWHEEL_TOTAL_ENDED,
	TWHEEL_TOTAL_REJECTED	= TWHEEL_TOTAL_ENDED + TWHEEL_REASON_CANCELLED,
	TWHEEL_TOTALS		= TWHEEL_TOTAL_REJECTED + TWHEEL_REJECTIONS,
};

/**
 * struct twheel_user_key - what tells users apart
 * @uid: user ID
 * @owner: that of its owner, or INVALID_UID
 * @ns: the user namespace that it belongs to, or stands for as an owner, if root has created it
 */
struct twheel_user_key {
	kuid_t			uid;
	kuid_t			owner;
	struct user_namespace	*ns;
};

/* Keys are compared as memory. */
static_assert(sizeof(struct twheel_user_key) == 2 * sizeof(kuid_t) + sizeof(void *));

/**
 * struct twheel_user - limits and wheels of a user
 * @key: immutable, like @owner; with a reference to the namespace
 * @owner: charged for it as well, with a reference, or NULL
 * @wheel: by clock; NULL while unused
 * @ref: one per file, per name, per user that it is the owner of, and per operation added by
 *	another user than the opener
 * @node: in the tree of users
 * @nr: what counts towards each limit
 * @lock: serialises creation and removal of @wheel; protects @wakeups
 * @wakeups: reaper wake-ups of destroyed wheels
 * @private_lock: protects @private to @totals; taken outside of the locks of purgatories
 * @private: private purgatories of the user and of those that it is the owner of, the one that was
 *	counted least recently first
 * @nr_private: number of these
 * @totals: of these purgatories, as far as they were counted, and of those that were destroyed
 * @idle: destroys the wheels when there are no operations
 * @share: in each reaper, unless it has an owner
 */
struct twheel_user {
	/* Adds read these, and write @nr, which is in another cache line. */
	struct twheel_user_key	key;
	struct twheel_user	*owner;
	struct twheel		*wheel[TWHEEL_CLOCK_REALTIME + 1];
	refcount_t		ref;
	struct rb_node		node;
	atomic_t		nr[TWHEEL_USER_LIMITS];
	struct mutex		lock;	/* of the wheels */
	u64			wakeups;
	spinlock_t		private_lock;	/* of the totals */
	struct list_head	private;
	unsigned int		nr_private;
	u64			totals[TWHEEL_TOTALS];
	struct delayed_work	idle;
	struct twheel_share	share[];
};

/* For work that may outlive the last file. It is drained on module exit. */
extern struct workqueue_struct *twheel_wq;

/*
 * The user that a call is charged to and judged by. It is the owner of the files that the task
 * creates, and follows the effective user ID: the real one of a set-user-ID program is not the
 * user that it acts for.
 */
static inline kuid_t twheel_caller_uid(void)
{
	return current_fsuid();
}

int __init twheel_parameter_check(const char *name, unsigned int value, unsigned int min,
				  unsigned int max);
int __init twheel_users_init(void);
void twheel_users_exit(void);
struct twheel_user *twheel_user_get(void);
void twheel_user_put(struct twheel_user *user);
int twheel_user_charge(struct twheel_user *user, enum twheel_user_limit limit);
struct twheel_user *twheel_user_charge_op(struct twheel_user *opener);
void twheel_user_uncharge(struct twheel_user *user, enum twheel_user_limit limit, u32 nr);
struct twheel *twheel_user_make_wheel(struct twheel_user *user, enum twheel_clock clock);
void twheel_users_query(struct twheel_query_args *query);
void twheel_users_show(struct seq_file *file, void (*count)(struct twheel_user *user));

/*
 * Look up or create a wheel. The caller has charged an operation to the user, and the wheel is
 * valid until it is uncharged. Returns ERR_PTR(-ENOMEM) on failure. May sleep.
 */
static inline struct twheel *twheel_user_wheel(struct twheel_user *user, enum twheel_clock clock)
{
	/* Pairs with the releases in twheel_user_make_wheel() and user_idle(). */
	struct twheel *wheel = smp_load_acquire(&user->wheel[clock]);

	return likely(wheel) ? wheel : twheel_user_make_wheel(user, clock);
}

#endif /* _TWHEEL_DEV_USER_H */
