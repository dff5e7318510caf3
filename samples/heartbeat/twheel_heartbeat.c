// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: members of a group, who stay in it as long as they beat.
 *
 * A member is an operation that watches nothing and has a deadline: the end of
 * its session.  Each beat re-arms that, sometimes for less than it was; who stops
 * beating expires.  There are members who beat steadily and leave in the end,
 * members who stop, and tardy ones whose every beat races their deadline.
 * Beaters, which are work items, beat for a share of the members each.
 *
 * Loading the module runs this once and reports in the kernel log.  It fails
 * with -EIO unless every member was told exactly once how its membership ended,
 * and rightly.  What is right is judged by times that were taken, since on a busy
 * machine also a steady member may come too late: see told_rightly().
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
MODULE_PARM_DESC(members, "of the group, 1 to 4096 (default 240)");

static unsigned int session_ms = 200;
module_param(session_ms, uint, 0444);
MODULE_PARM_DESC(session_ms, "how long a session lasts at most, 20 to 4000 (default 200)");

static unsigned int run_ms = 800;
module_param(run_ms, uint, 0444);
MODULE_PARM_DESC(run_ms, "after how long those who still beat leave, 1 to 60000 (default 800)");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of what is random; 0, the default, for a new one each time");

enum habit {
	STEADY,		/* beats well within its session, and leaves in the end */
	STOPPING,	/* does likewise, and stops */
	TARDY,		/* beats at its deadline, about */
	HABITS,
};

struct member {
	struct twheel_op		op;
	enum habit			habit;
	unsigned int			beats, beats_left;
	u64				next_beat;
	u64				deadline;	/* that the last beat has set */
	bool				left;
	int				refusal;	/* of a beat, or of leaving, or 0 */
	u64				from, to;	/* when it left, or beat last */
	unsigned int			listed;
	atomic_t			told;		/* how often */
	u64				told_at;
	struct twheel_op_result		result;
};

struct beater {
	struct work_struct	work;
	struct rnd_state	rng;
};

static struct twheel_purgatory *group;
static struct member **member;
static struct beater beater[BEATERS];
static unsigned int joined;		/* the beaters beat for so many */
static bool leaving;			/* all, when that is true */
static u64 listed_at;			/* when all had been who were there throughout */
static atomic_t allocated;		/* members that were not released */
static atomic_t awaited = ATOMIC_INIT(1);	/* whose membership has not ended, and one */
static DECLARE_COMPLETION(all_ended);

static u64 below(struct rnd_state *rng, u32 limit)
{
	return prandom_u32_state(rng) % limit;
}

static void await_less(void)
{
	if (atomic_dec_and_test(&awaited))
		complete(&all_ended);
}

static void member_ended(struct twheel_op *op)
{
	struct member *m = container_of(op, struct member, op);

	m->told_at = ktime_get_ns();
	twheel_op_result(op, &m->result);
	atomic_inc(&m->told);
	await_less();
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

/* Of different lengths, so that a beat may also bring the deadline nearer. */
static u64 draw_session(const struct member *m, struct rnd_state *rng)
{
	u32 half = session_ms * (NSEC_PER_MSEC / 2);

	if (m->habit == TARDY)
		half /= 10;
	return half + below(rng, half);
}

static u64 draw_next_beat(const struct member *m, struct rnd_state *rng)
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
	m->deadline = twheel_deadline(draw_session(m, rng));
	m->next_beat = draw_next_beat(m, rng);
	return m;
}

static int member_join(struct member *m)
{
	struct twheel_op_args args = {
		.deadline	= m->deadline,
		.condition	= TWHEEL_COND_NONE,
	};

	atomic_inc(&awaited);
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
		/* Pairs with beat_for_members(). */
		smp_store_release(&joined, n + 1);
	}
	return 0;
}

static void beat(struct member *m, struct rnd_state *rng)
{
	u64 deadline = twheel_deadline(draw_session(m, rng));
	int ret = twheel_op_rearm(&m->op, deadline, TWHEEL_REARM_ALWAYS);

	m->to = ktime_get_ns();
	if (ret != 1) {
		m->refusal = ret ?: -EIO;
		return;
	}
	m->deadline = deadline;
	m->beats++;
	m->beats_left--;
	m->next_beat = draw_next_beat(m, rng);
}

static void leave(struct member *m)
{
	m->from = ktime_get_ns();
	m->refusal = twheel_op_cancel(&m->op);
	m->to = ktime_get_ns();
	m->left = !m->refusal;
}

/* Whose members' time has come beat, and at the end who still beats leaves. */
static void beat_for_members(struct work_struct *work)
{
	struct beater *self = container_of(work, struct beater, work);
	unsigned int n, nr;
	bool over;

	do {
		/* First, so that in the end all have joined. Pairs with join_and_beat(). */
		over = smp_load_acquire(&leaving);
		/* Pairs with join_all(). */
		nr = smp_load_acquire(&joined);
		for (n = self - beater; n < nr; n += BEATERS) {
			if (member[n]->refusal || !member[n]->beats_left)
				continue;
			if (over)
				leave(member[n]);
			else if (ktime_get_ns() >= member[n]->next_beat)
				beat(member[n], &self->rng);
		}
		usleep_range(100, 300);
	} while (!over);
}

/* Walk the group once while it lives. */
static void list_group(void)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;

	twheel_op_iter_start(&iter, group);
	while ((op = twheel_op_iter_next(&iter)))
		container_of(op, struct member, op)->listed++;
	twheel_op_iter_end(&iter);
	listed_at = ktime_get_ns();
}

/* They beat from when they join, which may take a while, until all leave. */
static int join_and_beat(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < BEATERS; i++) {
		prandom_seed_state(&beater[i].rng, seed + i + 1);
		INIT_WORK(&beater[i].work, beat_for_members);
		queue_work(system_unbound_wq, &beater[i].work);
	}
	err = join_all();
	if (!err) {
		msleep(run_ms / 2);
		list_group();
		msleep(run_ms / 2);
	}
	/* Pairs with beat_for_members(). */
	smp_store_release(&leaving, true);
	for (i = 0; i < BEATERS; i++)
		flush_work(&beater[i].work);
	return err;
}

/*
 * Nobody expires before the deadline that the last beat had set, by the clock; and
 * who has not stopped expires only by coming too late.
 */
static bool expired_rightly(const struct member *m)
{
	if (m->result.time < m->deadline || m->left)
		return false;
	if (!m->refusal)
		return m->habit == STOPPING && !m->beats_left;
	return m->refusal == -EALREADY && m->result.time <= m->to;
}

/* Who was there throughout is listed once, and nobody twice. */
static bool listed_rightly(const struct member *m)
{
	return m->listed == 1 || (!m->listed && m->result.time <= listed_at);
}

static bool told_rightly(const struct member *m)
{
	const struct twheel_op_result *result = &m->result;

	if (atomic_read(&m->told) != 1 || m->told_at < result->time ||
	    result->deadline != m->deadline || !listed_rightly(m))
		return false;
	if (result->reason == TWHEEL_CANCELLED)
		return m->left && m->from <= result->time && m->told_at <= m->to;
	return result->reason == TWHEEL_EXPIRED && expired_rightly(m);
}

static bool counts_right(const struct twheel_purgatory_stats *stats, const unsigned int *ended)
{
	return stats->added == members &&
	       stats->ended[TWHEEL_EXPIRED] == ended[TWHEEL_EXPIRED] &&
	       stats->ended[TWHEEL_CANCELLED] == ended[TWHEEL_CANCELLED] &&
	       ended[TWHEEL_EXPIRED] + ended[TWHEEL_CANCELLED] == members &&
	       !stats->pending && !stats->keys && !stats->watches;
}

/* See whether all was as it should be, and nobody is left. */
static int settle(void)
{
	unsigned int n, beats = 0, late = 0, wrong = 0, ended[TWHEEL_CANCELLED + 1] = {};
	struct twheel_purgatory_stats stats;
	bool right;

	twheel_purgatory_stats(group, &stats);
	twheel_purgatory_drain(group);

	for (n = 0; n < members; n++) {
		beats += member[n]->beats;
		late += !!member[n]->refusal;
		wrong += !told_rightly(member[n]);
		ended[member[n]->result.reason]++;
	}
	right = counts_right(&stats, ended);
	pr_info("%u members (seed %lu) beat %u times: %u left, %u expired, of whom %u beat too late, %u told wrongly%s\n",
		members, seed, beats, ended[TWHEEL_CANCELLED], ended[TWHEEL_EXPIRED], late, wrong,
		right ? "" : ", counts that do not add up");
	return wrong || !right ? -EIO : 0;
}

static int run(void)
{
	int err = join_and_beat();

	if (err)
		return err;
	/* Who has not expired after so long never will, and is found by settle(). */
	await_less();
	wait_for_completion_timeout(&all_ended, msecs_to_jiffies(session_ms) + 30 * HZ);
	return settle();
}

static void members_put(void)
{
	unsigned int n;

	for (n = 0; n < members && member[n]; n++)
		twheel_op_put(&member[n]->op);
	kfree(member);
}

static bool params_right(void)
{
	if (members && members <= MAX_MEMBERS && session_ms >= 20 && session_ms <= 4000 &&
	    run_ms && run_ms <= 60000)
		return true;
	pr_err("members= is 1 to %u, session_ms= 20 to 4000, run_ms= 1 to 60000\n", MAX_MEMBERS);
	return false;
}

static int __init heartbeat_init(void)
{
	struct twheel_purgatory_config config = {
		.name		= "heartbeat",
		.max_pending	= MAX_MEMBERS,
	};
	int err;

	if (!params_right())
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

	/* After this, none of the references is twheel's. */
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

MODULE_DESCRIPTION("Sample consumer of twheel: members who stay as long as they beat");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
