// SPDX-License-Identifier: GPL-2.0
/*
 * Suite timer: cost of adding, cancelling and re-arming a timer while many are pending,
 * for twheel and its peers. timer_expire.c measures the cost of expiry.
 *
 *	mixed	delays of 1 ms to 10 min
 *	pairs	30 s to 31 s, as for requests that are answered long before their timeout
 *	heartbeat
 *		30 s to 40 s, as for connections that are closed when idle: each re-arm moves
 *		the deadline in a known direction
 *
 * Each repetition runs all contenders, one after the other. The given number of timers is
 * added in random order and stays pending. Then blocks of an eighth of that number are
 * added, re-armed and cancelled, until the cost of reading the clock is negligible. The
 * timers to re-arm and to cancel are picked at random from all of them. Everything runs
 * on one CPU. Timers may fire during the run; in the end, each add must have led to one
 * call or one cancel. These re-arms are to random delays: the new deadline is earlier or
 * later than the old one with equal probability.
 *
 * In the case pairs, timers are cancelled from the oldest to the newest, with some
 * reordering, and each cancelled timer is reused for the request after the next one. None
 * of them expires.
 *
 * In the case heartbeat, all pending timers are re-armed to earlier deadlines, in random
 * order, and then to later ones, in another order. The old deadline is always in the
 * future. Then all are cancelled and added again, since a contender may keep a timer in the
 * place of its earliest deadline, which would make the next re-arm to an earlier deadline
 * cheap. The move of such a timer at that deadline is not included in the figures.
 */
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "timer.h"

/* Block size: a share of the pending timers, but at least BLOCK_MIN. */
#define BLOCK_SHARE	8
#define BLOCK_MIN	100U

/* Minimum number of operations per sample. */
#define OPS		100000U
#define OPS_QUICK	10000U

/* Timers added at a time to reach the pending number. */
#define POPULATE	65536U

/* Maximum distance by which requests overtake each other. */
#define JITTER		16

/*
 * @limit_ns: time limit for the initial adds, after which too many timers would have
 * expired.
 */
struct timer_case {
	const char	*name;
	u64		from_ns;
	u64		to_ns;
	u64		limit_ns;
};

static const struct timer_case mixed = {
	"mixed", NSEC_PER_MSEC, 600 * NSEC_PER_SEC, 30 * NSEC_PER_SEC,
};

static const struct timer_case pairs = {
	"pairs", 30 * NSEC_PER_SEC, 31 * NSEC_PER_SEC, 15 * NSEC_PER_SEC,
};

static const struct timer_case heartbeat = {
	"heartbeat", 30 * NSEC_PER_SEC, 40 * NSEC_PER_SEC, 10 * NSEC_PER_SEC,
};

/* Delays of a re-arm to an earlier deadline. The gap leaves time for slow machines. */
#define EARLIER_FROM_NS	(15 * NSEC_PER_SEC)
#define EARLIER_TO_NS	(25 * NSEC_PER_SEC)

static u32 ops_of(const struct bench_config *config)
{
	return config->quick ? OPS_QUICK : OPS;
}

/* A re-arm counts as an add if the timer was no longer pending. */
static u64 some_rearm(struct timer_set *set, u32 from, u32 nr)
{
	const struct timer_run run = { set->item + from, set->delay, nr };
	u64 begin = ktime_get_ns();

	set->added += nr - set->contender->rearm(&run);
	return ktime_get_ns() - begin;
}

/* Select random timers as the block. */
static void pick(struct timer_set *set)
{
	timer_set_shuffle(set, set->nr, set->nr + set->block);
}

/* Add the timers that stay pending. Returns false if this takes too long. */
static bool populate(struct timer_set *set, const struct timer_case *c)
{
	u64 end = ktime_get_ns() + c->limit_ns;
	u32 from, nr;

	for (from = 0; from < set->nr && ktime_get_ns() < end; from += nr) {
		nr = min(set->nr - from, POPULATE);
		timer_set_delays(set, nr, c->from_ns, c->to_ns);
		timer_set_add(set, from, nr);
		cond_resched();
	}
	if (from == set->nr)
		return true;
	bench_skip(c->name, set->contender->name, "-", set->nr, "adding-took-too-long");
	return false;
}

static int depopulate(struct timer_set *set)
{
	timer_set_cancel(set, 0, set->nr + set->block);
	cond_resched();
	return timer_set_check(set);
}

/*
 * Timers of a block are pending before they are re-armed or cancelled, but not before
 * they are added.
 */
static int mixed_run(struct timer_set *set, const struct bench_config *config)
{
	const char *of = set->contender->name;
	u64 done = 0, add_ns = 0, cancel_ns = 0, rearm_ns = 0;

	if (!bench_wanted(of, mixed.name))
		return 0;
	timer_set_init(set, false);
	if (!populate(set, &mixed))
		return depopulate(set);
	while (done < ops_of(config)) {
		timer_set_delays(set, set->block, mixed.from_ns, mixed.to_ns);
		add_ns += timer_set_add(set, set->nr, set->block);
		pick(set);
		rearm_ns += some_rearm(set, set->nr, set->block);
		pick(set);
		cancel_ns += timer_set_cancel(set, set->nr, set->block);
		done += set->block;
		cond_resched();
	}
	bench_sample_ns(mixed.name, of, "add", set->nr, add_ns, done);
	bench_sample_ns(mixed.name, of, "cancel", set->nr, cancel_ns, done);
	bench_sample_ns(mixed.name, of, "rearm", set->nr, rearm_ns, done);
	return depopulate(set);
}

/* Run a block of requests. item[-1] is not pending before, and item[nr - 1] not after this. */
static u64 some_pairs(struct timer_set *set, void **item, u32 nr)
{
	const struct timer_run run = { item, set->delay, nr };
	u32 i, other, done;
	u64 begin, ns;

	/* Swap each timer with one of the next JITTER timers. */
	for (i = 0; i + JITTER < nr; i++) {
		other = i + bench_between(&set->random, 0, JITTER);
		swap(item[i], item[other]);
	}
	timer_set_delays(set, nr, pairs.from_ns, pairs.to_ns);
	begin = ktime_get_ns();
	done = set->contender->pairs(&run);
	ns = ktime_get_ns() - begin;
	set->added += nr;
	set->cancelled += done;
	return ns;
}

static int pairs_run(struct timer_set *set, const struct bench_config *config)
{
	u64 done = 0, ns = 0;
	u32 at, nr;

	if (!bench_wanted(set->contender->name, pairs.name))
		return 0;
	timer_set_init(set, false);
	if (!populate(set, &pairs))
		return depopulate(set);
	/* The first request uses item[0], which must not be pending. */
	swap(set->item[0], set->item[set->nr]);
	while (done < ops_of(config)) {
		for (at = 1; at <= set->nr; at += nr) {
			nr = min(set->block, set->nr + 1 - at);
			ns += some_pairs(set, set->item + at, nr);
			done += nr;
			cond_resched();
		}
		swap(set->item[0], set->item[set->nr]);
	}
	bench_sample_ns(pairs.name, set->contender->name, "add_cancel", set->nr, ns, done);
	return depopulate(set);
}

/* Re-arm all pending timers in random order. */
static u64 all_rearm(struct timer_set *set, u64 from_ns, u64 to_ns)
{
	u64 ns = 0;
	u32 at, nr;

	timer_set_shuffle(set, 0, set->nr);
	for (at = 0; at < set->nr; at += nr) {
		nr = min(set->block, set->nr - at);
		timer_set_delays(set, nr, from_ns, to_ns);
		ns += some_rearm(set, at, nr);
		cond_resched();
	}
	return ns;
}

static int heartbeat_run(struct timer_set *set, const struct bench_config *config)
{
	const char *of = set->contender->name;
	u64 done = 0, earlier_ns = 0, later_ns = 0;

	if (!bench_wanted(of, heartbeat.name))
		return 0;
	timer_set_init(set, false);
	while (done < ops_of(config) && populate(set, &heartbeat)) {
		earlier_ns += all_rearm(set, EARLIER_FROM_NS, EARLIER_TO_NS);
		later_ns += all_rearm(set, heartbeat.from_ns, heartbeat.to_ns);
		timer_set_cancel(set, 0, set->nr);
		done += set->nr;
	}
	bench_sample_ns(heartbeat.name, of, "rearm_earlier", set->nr, earlier_ns, done);
	bench_sample_ns(heartbeat.name, of, "rearm_later", set->nr, later_ns, done);
	return depopulate(set);
}

static int contender_run(const struct timer_contender *contender,
			 const struct bench_config *config, unsigned int rep)
{
	struct timer_set set;
	int err;

	err = timer_set_make(&set, contender, config->nr,
			     max(config->nr / BLOCK_SHARE, BLOCK_MIN), config->seed + rep);
	if (err)
		return err;
	err = mixed_run(&set, config) ?: pairs_run(&set, config) ?: heartbeat_run(&set, config);
	timer_set_free(&set);
	return err ?: timer_expire(contender, config, rep);
}

int timer_suite(const struct bench_config *config)
{
	unsigned int rep, i;
	int err = 0;

	for (rep = 0; rep < config->reps; rep++) {
		bench_repetition(rep);
		for (i = 0; i < TIMER_CONTENDERS && !err; i++)
			err = contender_run(timer_contenders[bench_turn(rep, i, TIMER_CONTENDERS)],
					    config, rep);
	}
	return err;
}
