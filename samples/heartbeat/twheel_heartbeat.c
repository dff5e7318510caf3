// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: group members that expire when they stop sending heartbeats.
 *
 * A member is an operation without keys. Its deadline is the end of its session, and each
 * heartbeat moves the deadline, sometimes to an earlier time. The cost does not depend on the
 * number of members. twheel_op_rearm() returns 1 if the member stays in the group at least until
 * its new deadline. It returns -EALREADY if the heartbeat was too late: ended() has run or is
 * about to run. There is no third case: either the heartbeat or the expiry comes first.
 *
 * There are three kinds of members: some send heartbeats in time and leave at the end by
 * twheel_op_cancel(), some stop earlier, and some send each heartbeat close to their deadline, so
 * that it races with the expiry. Halfway through the run the group is listed.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. The load
 * fails with -EIO unless ended() ran exactly once for each member, with a correct result. The
 * check uses recorded times, since even a heartbeat of a steady member may be late on a busy
 * machine: see member_valid().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/vmalloc.h>

#define MEMBERS		240
#define SESSION_MS	200
#define RUN_NS		(800 * NSEC_PER_MSEC)

enum habit {
	STEADY,		/* sends heartbeats in time, leaves at the end */
	STOPPING,	/* stops after some heartbeats */
	TARDY,		/* sends heartbeats close to its deadline */
	HABITS,
};

struct member {
	struct twheel_op		op;
	enum habit			habit;
	unsigned int			beats_left;
	u64				next_beat;
	u64				deadline;	/* set by the last heartbeat */
	int				error;		/* of a heartbeat or of leaving */
	bool				left;
	unsigned int			listed;
	u64				remaining;	/* time to the deadline when listed */
	atomic_t			nr_ended;
	struct twheel_op_result		result;
};

static struct twheel_purgatory *group;
static struct member *member;
static unsigned int beats;
static u64 listed_at;			/* end of the listing */

/* Members that have not ended or are not released. */
static atomic_t unfinished = ATOMIC_INIT(MEMBERS), unreleased = ATOMIC_INIT(MEMBERS);
static DECLARE_COMPLETION(all_ended);
static DECLARE_COMPLETION(all_released);

static void member_ended(struct twheel_op *op)
{
	struct member *m = container_of(op, struct member, op);

	twheel_op_get_result(op, &m->result);
	atomic_inc(&m->nr_ended);
	if (atomic_dec_and_test(&unfinished))
		complete(&all_ended);
}

/* The last reference is gone. A consumer usually frees the operation here. */
static void member_release(struct twheel_op *op)
{
	if (atomic_dec_and_test(&unreleased))
		complete(&all_released);
}

static const struct twheel_op_ops member_ops = {
	.ended		= member_ended,
	.release	= member_release,
};

/* Session lengths differ, so a heartbeat may also move the deadline to an earlier time. */
static u64 random_session(const struct member *m)
{
	u32 half = SESSION_MS * (NSEC_PER_MSEC / 2);

	if (m->habit == TARDY)
		half /= 10;
	return half + get_random_u32_below(half);
}

static u64 random_next_beat(const struct member *m)
{
	if (m->habit == TARDY)
		return m->deadline - NSEC_PER_MSEC + get_random_u32_below(2 * NSEC_PER_MSEC);
	return ktime_get_ns() + (1 + get_random_u32_below(SESSION_MS / 4)) * NSEC_PER_MSEC;
}

static int join(struct member *m)
{
	struct twheel_op_args args = { .condition = TWHEEL_COND_NONE };

	m->beats_left = m->habit == STOPPING ? get_random_u32_below(10) : UINT_MAX;
	m->deadline = twheel_deadline(random_session(m));
	m->next_beat = random_next_beat(m);
	args.deadline = m->deadline;
	return twheel_op_add(group, &m->op, &args);
}

static void beat(struct member *m)
{
	u64 deadline = twheel_deadline(random_session(m));
	int ret = twheel_op_rearm(&m->op, deadline, TWHEEL_REARM_ALWAYS);

	if (ret != 1) {
		m->error = ret ?: -EIO;
		return;
	}
	m->deadline = deadline;
	m->beats_left--;
	m->next_beat = random_next_beat(m);
	beats++;
}

static void leave(struct member *m)
{
	m->error = twheel_op_cancel(&m->op);
	m->left = !m->error;
}

/* Send the heartbeats that are due until @end. */
static void beat_until(u64 end)
{
	struct member *m;

	while (ktime_get_ns() < end) {
		for (m = member; m < member + MEMBERS; m++)
			if (!m->error && m->beats_left && ktime_get_ns() >= m->next_beat)
				beat(m);
		usleep_range(100, 300);
	}
}

/* Iterate over the group while members expire. */
static void list_group(void)
{
	struct twheel_op_progress progress;
	struct twheel_op_iter iter;
	struct twheel_op *op;
	struct member *m;

	twheel_op_iter_start(&iter, group);
	while ((op = twheel_op_iter_next(&iter))) {
		m = container_of(op, struct member, op);
		m->listed++;
		/* The member may have ended since the iterator returned it. */
		if (!twheel_op_get_progress(op, &progress, NULL, 0))
			m->remaining = progress.remaining;
	}
	twheel_op_iter_end(&iter);
	listed_at = ktime_get_ns();
}

/*
 * A member must not expire before the deadline set by its last heartbeat. It only expires
 * if it has stopped, or if a heartbeat was late.
 */
static bool expiry_valid(const struct member *m)
{
	if (m->result.time < m->deadline || m->left)
		return false;
	return m->error ? m->error == -EALREADY : m->habit == STOPPING && !m->beats_left;
}

/*
 * A member that was pending during the whole listing is listed once, no member twice. Its
 * remaining time is at most the maximum length of a session.
 */
static bool listing_valid(const struct member *m)
{
	if (m->remaining >= SESSION_MS * NSEC_PER_MSEC)
		return false;
	return m->listed == 1 || (!m->listed && m->result.time <= listed_at);
}

static bool member_valid(const struct member *m)
{
	const struct twheel_op_result *result = &m->result;

	if (atomic_read(&m->nr_ended) != 1 || result->deadline != m->deadline ||
	    !listing_valid(m))
		return false;
	if (result->reason == TWHEEL_REASON_CANCELLED)
		return m->left;
	return result->reason == TWHEEL_REASON_EXPIRED && expiry_valid(m);
}

static int report(void)
{
	struct twheel_purgatory_stats stats;
	unsigned int n, late = 0, wrong = 0;

	for (n = 0; n < MEMBERS; n++) {
		late += !!member[n].error;
		wrong += !member_valid(&member[n]);
	}
	twheel_purgatory_get_stats(group, &stats);
	pr_info("%u members, %u heartbeats: %llu left, %llu expired, %u of these with a late heartbeat, %u incorrect\n",
		MEMBERS, beats, stats.ended[TWHEEL_REASON_CANCELLED],
		stats.ended[TWHEEL_REASON_EXPIRED], late, wrong);
	return wrong || stats.pending ? -EIO : 0;
}

static int run(void)
{
	u64 start = ktime_get_ns();
	unsigned int n;
	int err = 0;

	for (n = 0; n < MEMBERS; n++) {
		member[n].habit = n % HABITS;
		twheel_op_init(&member[n].op, &member_ops);
	}
	for (n = 0; n < MEMBERS && !err; n++)
		err = join(&member[n]);
	if (!err) {
		beat_until(start + RUN_NS / 2);
		list_group();
		beat_until(start + RUN_NS);
		for (n = 0; n < MEMBERS; n++)
			if (!member[n].error && member[n].beats_left)
				leave(&member[n]);
		/* The timeout only limits a failing run, which report() detects. */
		wait_for_completion_timeout(&all_ended, 30 * HZ);
	}
	twheel_purgatory_drain(group);
	for (n = 0; n < MEMBERS; n++)
		twheel_op_put(&member[n].op);
	wait_for_completion(&all_released);
	return err ?: report();
}

static int __init heartbeat_init(void)
{
	const struct twheel_purgatory_config config = {
		.name		= "heartbeat",
		.max_pending	= MEMBERS,
	};
	int err;

	member = vcalloc(MEMBERS, sizeof(*member));
	if (!member)
		return -ENOMEM;
	group = twheel_purgatory_create(&config);
	err = PTR_ERR_OR_ZERO(group) ?: run();
	twheel_purgatory_destroy(group);
	vfree(member);
	return err;
}

static void __exit heartbeat_exit(void)
{
}

module_init(heartbeat_init);
module_exit(heartbeat_exit);

MODULE_DESCRIPTION("twheel sample: group members with heartbeats");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
