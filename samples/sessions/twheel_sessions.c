// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: a table of sessions, as of a firewall or a tunnel. A packet looks up its
 * session in a softirq, under RCU, and moves its deadline. A session without packets is freed by
 * its own timer.
 *
 * A session in the table has a pending timer, or a callback that is about to remove it. One of
 * these takes the timer out of the wheel, and owns the session then:
 *
 *	the callback	the deadline has passed
 *	session_close	its twheel_timer_cancel() has returned 0
 *
 * The owner removes the session from the table, and the memory is freed after a grace period. A
 * packet that has found the session before may still try to move its deadline: with
 * TWHEEL_REARM_IF_PENDING this does nothing, since the timer is not pending any more.
 *
 * The order of the exit:
 *
 *	1. stop the packets	nothing moves a deadline from now on
 *	2. close all sessions	no timer is pending; callbacks may be running
 *	3. twheel_flush()	the callbacks have returned: no other grace period begins
 *	4. rcu_barrier()	all sessions are freed, by a function of this module
 *
 * Loading the module opens sessions, sends packets to half of them until the other half has timed
 * out, and prints the result to the kernel log. The load fails if one of the others does not time
 * out, or does so early. The remaining ones are left to the exit, which warns if any is left.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/twheel.h>
#include <linux/wait.h>

#define NR_SESSIONS	100U
#define IDLE_NS		(200 * NSEC_PER_MSEC)

struct session {
	struct hlist_node	node;	/* changed under table_lock, read under RCU */
	u32			id;
	u64			opened;
	struct twheel_timer	timer;
	struct rcu_head		rcu;
};

static DEFINE_HASHTABLE(table, 6);
static DEFINE_SPINLOCK(table_lock);

static struct twheel *wheel;
static atomic_t nr_allocated, nr_expired, nr_early, nr_packets;
static DECLARE_WAIT_QUEUE_HEAD(expired);

static void session_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct session, rcu));
	atomic_dec(&nr_allocated);
}

/* The caller owns the session. */
static void session_remove(struct session *s)
{
	spin_lock_bh(&table_lock);
	hash_del_rcu(&s->node);
	spin_unlock_bh(&table_lock);
	call_rcu(&s->rcu, session_free);
}

/* In the reaper. The wheel does not touch the timer any more. */
static void session_timeout(struct twheel_timer *timer)
{
	struct session *s = container_of(timer, struct session, timer);

	if (ktime_get_ns() < s->opened + IDLE_NS)
		atomic_inc(&nr_early);
	session_remove(s);
	atomic_inc(&nr_expired);
	wake_up(&expired);
}

static int session_open(u32 id)
{
	struct session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	atomic_inc(&nr_allocated);
	s->id = id;
	s->opened = ktime_get_ns();
	twheel_timer_init(&s->timer, wheel, session_timeout);
	spin_lock_bh(&table_lock);
	hash_add_rcu(table, &s->node, id);
	spin_unlock_bh(&table_lock);
	/* In the table first: the callback removes it. This cannot fail on the system wheel. */
	twheel_timer_add(&s->timer, twheel_deadline(IDLE_NS));
	return 0;
}

/* Close a session, unless it is timing out. The caller has found it under RCU. */
static void session_close(struct session *s)
{
	if (!twheel_timer_cancel(&s->timer))
		session_remove(s);
}

/* Find a session. The caller is in a read-side critical section of RCU. */
static struct session *session_find(u32 id)
{
	struct session *s;

	hash_for_each_possible_rcu(table, s, node, id)
		if (s->id == id)
			return s;
	return NULL;
}

/* Returns false if there is no such session, or if it is timing out. Any context but NMI. */
static bool packet_received(u32 id)
{
	struct session *s;
	bool found;

	rcu_read_lock();
	s = session_find(id);
	found = s && twheel_timer_rearm(&s->timer, twheel_deadline(IDLE_NS),
					TWHEEL_REARM_IF_PENDING) == 1;
	rcu_read_unlock();
	return found;
}

/* In a softirq, at each tick of the kernel: a packet for each session with an even id. */
static void receive(struct timer_list *packets)
{
	u32 id;

	for (id = 0; id < NR_SESSIONS; id += 2)
		if (packet_received(id))
			atomic_inc(&nr_packets);
	mod_timer(packets, jiffies + 1);
}

static DEFINE_TIMER(packets, receive);

static bool odd_ones_gone(void)
{
	bool gone = true;
	u32 id;

	rcu_read_lock();
	for (id = 1; id < NR_SESSIONS && gone; id += 2)
		gone = !session_find(id);
	rcu_read_unlock();
	return gone;
}

static void close_all(void)
{
	struct session *s;
	unsigned int i;

	rcu_read_lock();
	hash_for_each_rcu(table, i, s, node)
		session_close(s);
	rcu_read_unlock();
}

static void sessions_end(void)
{
	timer_shutdown_sync(&packets);
	close_all();
	twheel_flush(wheel);
	rcu_barrier();
	WARN_ON(atomic_read(&nr_allocated) || !hash_empty(table));
}

static int __init sessions_init(void)
{
	int err = 0;
	u32 id;

	wheel = twheel_system();
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	for (id = 0; id < NR_SESSIONS && !err; id++)
		err = session_open(id);
	mod_timer(&packets, jiffies + 1);
	if (!err && !wait_event_timeout(expired, odd_ones_gone(), 30 * HZ))
		err = -ETIME;
	if (!err && (atomic_read(&nr_early) || !atomic_read(&nr_packets)))
		err = -EIO;
	pr_info("%u sessions, %d packets, %d timeouts, %d early\n", NR_SESSIONS,
		atomic_read(&nr_packets), atomic_read(&nr_expired), atomic_read(&nr_early));
	if (err)
		sessions_end();
	return err;
}

module_init(sessions_init);
module_exit(sessions_end);

MODULE_DESCRIPTION("twheel sample: a table of sessions under RCU, freed by their timers");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
