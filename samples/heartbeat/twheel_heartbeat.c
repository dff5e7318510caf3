// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: group members that expire when they stop sending heartbeats.
 *
 * A member is an operation without keys. Its deadline is the end of its session, and each
 * heartbeat moves the deadline, sometimes to an earlier time. A member that stops sending
 * heartbeats expires. Work items, the beaters, send the heartbeats for a share of the
 * members each. There are three kinds of members: some send heartbeats in time and leave
 * at the end, some stop earlier, and some send each heartbeat close to their deadline, so
 * that it races with the expiry.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. The
 * load fails with -EIO unless ended() ran exactly once for each member, with a correct
 * result. The check uses recorded times, since even a heartbeat of a steady member may be
 * late on a busy machine: see member_valid().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/workqueue.h>

#define MAX_MEMBERS	4096
#define BEATERS		2

static unsigned int members = 240;
module_param(members, uint, 0444);
MODULE_PARM_DESC(members, "number of members, 1 to 4096 (default 240)");

static unsigned int session_ms = 200;
module_param(session_ms, uint, 0444);
MODULE_PARM_DESC(session_ms, "maximum length of a session in milliseconds, 20 to 4000 (default 200)");

static unsigned int run_ms = 800;
module_param(run_ms, uint, 0444);
MODULE_PARM_DESC(run_ms, "duration of the run in milliseconds, 1 to 60000 (default 800)");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "seed of the random numbers; 0 picks a new one (default 0)");

enum habit {
	STEADY,		/* sends heartbeats in time, leaves at the end */
	STOPPING,	/* stops after some heartbeats */
	TARDY,		/* sends heartbeats close to its deadline */
	HABITS,
};

struct member {
	struct twheel_op		op;
	enum habit			habit;
	unsigned int			beats, beats_left;
	u64				next_beat;
	u64				deadline;	/* set by the last heartbeat */
	bool				left;
	int				error;		/* of a heartbeat or of leaving */
	u64				from, to;	/* start and end of the last call */
	unsigned int			listed;
	u64				remaining;	/* time to the deadline when listed */
	atomic_t			nr_ended;		/* calls of ended() */
	u64				ended_at;
	struct twheel_op_result		result;
};

struct beater {
	struct work_struct	work;
	struct rnd_state	rng;
};

static struct twheel_purgatory *group;
static struct member **member;
static struct beater beater[BEATERS];
static unsigned int joined;		/* members visible to the beaters */
static bool leaving;			/* all members leave now */
static u64 listed_at;			/* end of the listing */
static atomic_t allocated;		/* members not released yet */

/* Members that have not ended, plus one, which run() drops. */
static atomic_t unfinished = ATOMIC_INIT(1);
static DECLARE_COMPLETION(all_ended);

static u64 below(struct rnd_state *rng, u32 limit)
{
	return prandom_u32_state(rng) % limit;
}

static void finish_one(void)
{
	if (atomic_dec_and_test(&unfinished))
		complete(&all_ended);
}

static void member_ended(struct twheel_op *op)
{
	struct member *m = container_of(op, struct member, op);

	m->ended_at = ktime_get_ns();
	twheel_op_get_result(op, &m->result);
	atomic_inc(&m->nr_ended);
	finish_one();
}

static void member_release(struct twheel_op *op)
{
	kfree(container_of(op, struct member, op));
	atomic_dec(&allocated);
}

static const struct twheel_op_ops member_ops = {
	.ended		= member_ended,
	.release	= member_release,
};

/* Session lengths differ, so a heartbeat may also move the deadline to an earlier time. */
static u64 random_session(const struct member *m, struct rnd_state *rng)
{
	u32 half = session_ms * (NSEC_PER_MSEC / 2);

	if (m->habit == TARDY)
		half /= 10;
	return half + below(rng, half);
}

static u64 random_next_beat(const struct member *m, struct rnd_state *rng)
{
	if (m->habit == TARDY)
		return m->deadline - NSEC_PER_MSEC + below(rng, 2 * NSEC_PER_MSEC);
	return ktime_get_ns() + (1 + below(rng, session_ms / 4)) * NSEC_PER_MSEC;
}

static struct member *member_alloc(unsigned int n, struct rnd_state *rng)
{
	struct member *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	twheel_op_init(&m->op, &member_ops);
	atomic_inc(&allocated);
	m->habit = n % HABITS;
	m->beats_left = m->habit == STOPPING ? below(rng, 10) : UINT_MAX;
	m->deadline = twheel_deadline(random_session(m, rng));
	m->next_beat = random_next_beat(m, rng);
	return m;
}

static int member_join(struct member *m)
{
	struct twheel_op_args args = {
		.deadline	= m->deadline,
		.condition	= TWHEEL_COND_NONE,
	};

	atomic_inc(&unfinished);
	return twheel_op_add(group, &m->op, &args);
}

static int join_all(void)
{
	struct rnd_state rng;
	unsigned int n;
	int err;

	prandom_seed_state(&rng, seed);
	for (n = 0; n < members; n++) {
		member[n] = member_alloc(n, &rng);
		if (!member[n])
			return -ENOMEM;
		err = member_join(member[n]);
		if (err)
			return err;
		/* Pairs with the acquire in beater_work(). */
		smp_store_release(&joined, n + 1);
	}
	return 0;
}

static void beat(struct member *m, struct rnd_state *rng)
{
	u64 deadline = twheel_deadline(random_session(m, rng));
	int ret = twheel_op_rearm(&m->op, deadline, TWHEEL_REARM_ALWAYS);

	m->to = ktime_get_ns();
	if (ret != 1) {
		m->error = ret ?: -EIO;
		return;
	}
	m->deadline = deadline;
	m->beats++;
	m->beats_left--;
	m->next_beat = random_next_beat(m, rng);
}

static void leave(struct member *m)
{
	m->from = ktime_get_ns();
	m->error = twheel_op_cancel(&m->op);
	m->to = ktime_get_ns();
	m->left = !m->error;
}

/* Send the heartbeats that are due. At the end, let the remaining members leave. */
static void beater_work(struct work_struct *work)
{
	struct beater *self = container_of(work, struct beater, work);
	unsigned int n, nr;
	bool over;

	do {
		/*
		 * Read before @joined, so that the last round covers all members. Pairs
		 * with the release in join_and_beat().
		 */
		over = smp_load_acquire(&leaving);
		/* Pairs with the release in join_all(). */
		nr = smp_load_acquire(&joined);
		for (n = self - beater; n < nr; n += BEATERS) {
			if (member[n]->error || !member[n]->beats_left)
				continue;
			if (over)
				leave(member[n]);
			else if (ktime_get_ns() >= member[n]->next_beat)
				beat(member[n], &self->rng);
		}
		usleep_range(100, 300);
	} while (!over);
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

/* The beaters run while the members join, since joining may take longer than a session. */
static int join_and_beat(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < BEATERS; i++) {
		prandom_seed_state(&beater[i].rng, seed + i + 1);
		INIT_WORK(&beater[i].work, beater_work);
		queue_work(system_unbound_wq, &beater[i].work);
	}
	err = join_all();
	if (!err) {
		msleep(run_ms / 2);
		list_group();
		msleep(run_ms / 2);
	}
	/* Pairs with the acquire in beater_work(). */
	smp_store_release(&leaving, true);
	for (i = 0; i < BEATERS; i++)
		flush_work(&beater[i].work);
	return err;
}

/*
 * A member must not expire before the deadline set by its last heartbeat. It only expires
 * if it has stopped, or if a heartbeat was late.
 */
static bool expiry_valid(const struct member *m)
{
	if (m->result.time < m->deadline || m->left)
		return false;
	if (!m->error)
		return m->habit == STOPPING && !m->beats_left;
	return m->error == -EALREADY && m->result.time <= m->to;
}

/*
 * A member that was pending during the whole listing is listed once, no member twice. Its
 * remaining time is at most the maximum length of a session.
 */
static bool listing_valid(const struct member *m)
{
	if (m->remaining >= session_ms * NSEC_PER_MSEC)
		return false;
	return m->listed == 1 || (!m->listed && m->result.time <= listed_at);
}

static bool member_valid(const struct member *m)
{
	const struct twheel_op_result *result = &m->result;

	if (atomic_read(&m->nr_ended) != 1 || m->ended_at < result->time ||
	    result->deadline != m->deadline || !listing_valid(m))
		return false;
	if (result->reason == TWHEEL_REASON_CANCELLED)
		return m->left && m->from <= result->time && m->ended_at <= m->to;
	return result->reason == TWHEEL_REASON_EXPIRED && expiry_valid(m);
}

static bool counts_valid(const struct twheel_purgatory_stats *stats, const unsigned int *ended)
{
	return stats->added == members &&
	       stats->ended[TWHEEL_REASON_EXPIRED] == ended[TWHEEL_REASON_EXPIRED] &&
	       stats->ended[TWHEEL_REASON_CANCELLED] == ended[TWHEEL_REASON_CANCELLED] &&
	       ended[TWHEEL_REASON_EXPIRED] + ended[TWHEEL_REASON_CANCELLED] == members &&
	       !stats->pending && !stats->keys && !stats->watches;
}

/* Check the results and the counters. */
static int check_all(void)
{
	unsigned int n, beats = 0, late = 0, wrong = 0, ended[TWHEEL_REASON_CANCELLED + 1] = {};
	struct twheel_purgatory_stats stats;
	bool right;

	twheel_purgatory_get_stats(group, &stats);
	twheel_purgatory_drain(group);

	for (n = 0; n < members; n++) {
		beats += member[n]->beats;
		late += !!member[n]->error;
		wrong += !member_valid(member[n]);
		ended[member[n]->result.reason]++;
	}
	right = counts_valid(&stats, ended);
	pr_info("%u members (seed %lu), %u heartbeats: %u left, %u expired, %u of these with a late heartbeat, %u incorrect%s\n",
		members, seed, beats, ended[TWHEEL_REASON_CANCELLED],
		ended[TWHEEL_REASON_EXPIRED], late, wrong, right ? "" : ", inconsistent counters");
	return wrong || !right ? -EIO : 0;
}

static int run(void)
{
	int err = join_and_beat();

	if (err)
		return err;
	/* The timeout only limits a failing run, which check_all() reports. */
	finish_one();
	wait_for_completion_timeout(&all_ended, msecs_to_jiffies(session_ms) + 30 * HZ);
	return check_all();
}

static void members_put(void)
{
	unsigned int n;

	for (n = 0; n < members && member[n]; n++)
		twheel_op_put(&member[n]->op);
	kfree(member);
}

static bool params_valid(void)
{
	if (members && members <= MAX_MEMBERS && session_ms >= 20 && session_ms <= 4000 &&
	    run_ms && run_ms <= 60000)
		return true;
	pr_err("invalid parameter: members=1..%u, session_ms=20..4000, run_ms=1..60000\n",
	       MAX_MEMBERS);
	return false;
}

static int __init heartbeat_init(void)
{
	struct twheel_purgatory_config config = {
		.name		= "heartbeat",
		.max_pending	= MAX_MEMBERS,
	};
	int err;

	if (!params_valid())
		return -EINVAL;
	if (!seed)
		seed = get_random_u32();
	member = kcalloc(members, sizeof(*member), GFP_KERNEL);
	if (!member)
		return -ENOMEM;
	group = twheel_purgatory_create(&config);
	err = PTR_ERR_OR_ZERO(group);
	if (!err)
		err = run();

	/* Drops the references that twheel still holds. */
	twheel_purgatory_destroy(group);
	members_put();
	if (atomic_read(&allocated)) {
		pr_err("%d members were not released\n", atomic_read(&allocated));
		err = -EIO;
	}
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
