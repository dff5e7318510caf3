// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: appends that complete when their replicas have acknowledged them.
 *
 * An append is an operation with one key per replica. It completes when all replicas, or
 * a majority of them, have acknowledged it, and expires at its deadline otherwise. The
 * leader, which is the thread of insmod, appends. Each replica is a thread that follows
 * at its own pace and acknowledges an append by signalling its own key of that append.
 * Some acknowledgements are lost, and some are sent twice.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. The
 * load fails with -EIO unless ended() ran exactly once for each append, with a correct
 * result: see append_valid().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/wait.h>

#define MAX_APPENDS	4096
#define MAX_REPLICAS	8

static unsigned int appends = 200;
module_param(appends, uint, 0444);
MODULE_PARM_DESC(appends, "number of appends, 1 to 4096 (default 200)");

static unsigned int replicas = 3;
module_param(replicas, uint, 0444);
MODULE_PARM_DESC(replicas, "number of replicas, 1 to 8 (default 3)");

static unsigned int loss = 10;
module_param(loss, uint, 0444);
MODULE_PARM_DESC(loss, "percentage of lost acks, 0 to 100 (default 10)");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "seed of the random numbers; 0 picks a new one (default 0)");

/* Start and end of a replica's signalling of an append. @from is 0 if it sent no signal. */
struct ack {
	u64	from, to;
};

struct append {
	struct twheel_op		op;
	struct twheel_watch		watch[MAX_REPLICAS];
	struct ack			ack[MAX_REPLICAS];	/* written by the replica */
	unsigned int			need;	/* number of acks */
	u64				deadline;
	atomic_t			nr_ended;	/* calls of ended() */
	u64				ended_at;
	struct twheel_op_result		result;
};

struct replica {
	struct task_struct	*task;
	unsigned int		number;
	struct rnd_state	rng;
	u64			completed;	/* appends completed by its signals */
};

static struct twheel_purgatory *purgatory;
static struct append **append;
static struct replica replica[MAX_REPLICAS];
static unsigned int appended;		/* appends visible to the replicas */
static DECLARE_WAIT_QUEUE_HEAD(append_wq);
static atomic_t allocated;		/* appends not released yet */

/* Appends with a deadline that have not ended, plus one, which run() drops. */
static atomic_t unfinished = ATOMIC_INIT(1);
static DECLARE_COMPLETION(all_ended);

static u32 below(struct rnd_state *rng, u32 limit)
{
	return prandom_u32_state(rng) % limit;
}

static struct twheel_key append_key(unsigned int n, unsigned int r)
{
	return (struct twheel_key){ .v = { n, r } };
}

static void finish_one(void)
{
	if (atomic_dec_and_test(&unfinished))
		complete(&all_ended);
}

static void append_ended(struct twheel_op *op)
{
	struct append *a = container_of(op, struct append, op);

	a->ended_at = ktime_get_ns();
	twheel_op_get_result(op, &a->result);
	atomic_inc(&a->nr_ended);
	if (a->deadline != TWHEEL_NEVER)
		finish_one();
}

static void append_release(struct twheel_op *op)
{
	kfree(container_of(op, struct append, op));
	atomic_dec(&allocated);
}

static const struct twheel_op_ops append_ops = {
	.ended		= append_ended,
	.release	= append_release,
};

/* Half of the appends need all replicas, and a quarter have no deadline. */
static struct append *append_alloc(struct rnd_state *rng)
{
	struct append *a = kzalloc(sizeof(*a), GFP_KERNEL);

	if (!a)
		return NULL;
	twheel_op_init(&a->op, &append_ops);
	atomic_inc(&allocated);
	a->need = below(rng, 2) ? replicas : replicas / 2 + 1;
	a->deadline = TWHEEL_NEVER;
	if (below(rng, 4))
		a->deadline = twheel_deadline((20 + below(rng, 180)) * NSEC_PER_MSEC);
	return a;
}

static int append_add(struct append *a, unsigned int n)
{
	struct twheel_watch_spec specs[MAX_REPLICAS] = {};
	struct twheel_op_args args = {
		.deadline	= a->deadline,
		.condition	= TWHEEL_COND_ALL,
		.nr_keys	= replicas,
		.specs		= specs,
		.watches	= a->watch,
	};
	unsigned int r;

	if (a->need < replicas) {
		args.condition = TWHEEL_COND_QUORUM;
		args.quorum = a->need;
	}
	for (r = 0; r < replicas; r++)
		specs[r].key = append_key(n, r);
	if (a->deadline != TWHEEL_NEVER)
		atomic_inc(&unfinished);
	return twheel_op_add(purgatory, &a->op, &args);
}

/*
 * Add the operation before the replicas see the append. Otherwise an ack could arrive
 * before the operation watches its keys, and would be lost.
 */
static int append_all(void)
{
	struct rnd_state rng;
	unsigned int n;
	int err;

	prandom_seed_state(&rng, seed);
	for (n = 0; n < appends; n++) {
		append[n] = append_alloc(&rng);
		if (!append[n])
			return -ENOMEM;
		err = append_add(append[n], n);
		if (err)
			return err;
		/* Pairs with the acquire in replica_thread(). */
		smp_store_release(&appended, n + 1);
		wake_up_all(&append_wq);
		usleep_range(300, 1500);
	}
	return 0;
}

static void replica_ack(struct replica *self, unsigned int n)
{
	struct twheel_key key = append_key(n, self->number);
	struct ack *ack = &append[n]->ack[self->number];

	if (!below(&self->rng, 8))
		usleep_range(1000, 5000);
	if (below(&self->rng, 100) < loss)
		return;
	ack->from = ktime_get_ns();
	do {
		self->completed += twheel_signal_some(purgatory, &key, 1, self->number,
						      0, TWHEEL_MAY_SLEEP);
	} while (!below(&self->rng, 16));
	ack->to = ktime_get_ns();
}

/* A stopped replica handles all earlier appends before it exits. */
static int replica_thread(void *data)
{
	struct replica *self = data;
	unsigned int n;

	for (n = 0;; n++) {
		wait_event_idle(append_wq, READ_ONCE(appended) > n || kthread_should_stop());
		/* Pairs with the release in append_all(). */
		if (smp_load_acquire(&appended) <= n)
			return 0;
		replica_ack(self, n);
	}
}

static int replicas_start(void)
{
	unsigned int r;

	for (r = 0; r < replicas; r++) {
		replica[r].number = r;
		prandom_seed_state(&replica[r].rng, seed + r + 1);
		replica[r].task = kthread_run(replica_thread, &replica[r], "replica/%u", r);
		if (IS_ERR(replica[r].task))
			return PTR_ERR(replica[r].task);
	}
	return 0;
}

static void replicas_stop(void)
{
	unsigned int r;

	for (r = 0; r < replicas; r++)
		if (!IS_ERR_OR_NULL(replica[r].task))
			kthread_stop(replica[r].task);
}

/* Number of acks that were started by @time, or finished before it. */
static unsigned int acks(const struct append *a, u64 time, bool over)
{
	const struct ack *ack;
	unsigned int nr = 0;

	for (ack = a->ack; ack < a->ack + replicas; ack++)
		nr += ack->from && (over ? ack->to < time : ack->from <= time);
	return nr;
}

/* The value names the completing replica. Its ack must be in progress when ended() runs. */
static bool completion_valid(const struct append *a)
{
	const struct twheel_op_result *result = &a->result;
	const struct ack *last;

	if (result->value >= replicas || acks(a, result->time, false) < a->need)
		return false;
	last = &a->ack[result->value];
	return last->from && last->from <= result->time && a->ended_at <= last->to;
}

/*
 * An append must end as soon as it has enough acks. It completes by the last of these
 * acks, or expires at or after its deadline, or, without a deadline, is cancelled when
 * the purgatory is drained.
 */
static bool append_valid(const struct append *a)
{
	const struct twheel_op_result *result = &a->result;

	if (atomic_read(&a->nr_ended) != 1 || result->deadline != a->deadline || result->error ||
	    a->ended_at < result->time || acks(a, result->time, true) >= a->need)
		return false;
	switch (result->reason) {
	case TWHEEL_REASON_COMPLETED:
		return completion_valid(a);
	case TWHEEL_REASON_EXPIRED:
		return result->time >= a->deadline;
	default:
		return a->deadline == TWHEEL_NEVER;
	}
}

/* @before was taken before the purgatory was drained. */
static bool counts_valid(const struct twheel_purgatory_stats *before, u32 drained,
			 const unsigned int *ended)
{
	struct twheel_purgatory_stats stats;
	u64 completed = 0;
	unsigned int r;

	for (r = 0; r < replicas; r++)
		completed += replica[r].completed;
	twheel_purgatory_get_stats(purgatory, &stats);
	return before->added == appends && before->pending == drained &&
	       before->watches == drained * replicas && before->keys == before->watches &&
	       completed == ended[TWHEEL_REASON_COMPLETED] &&
	       drained == ended[TWHEEL_REASON_CANCELLED] &&
	       stats.ended[TWHEEL_REASON_COMPLETED] == ended[TWHEEL_REASON_COMPLETED] &&
	       stats.ended[TWHEEL_REASON_EXPIRED] == ended[TWHEEL_REASON_EXPIRED] &&
	       stats.ended[TWHEEL_REASON_CANCELLED] == ended[TWHEEL_REASON_CANCELLED] &&
	       !stats.pending && !stats.keys && !stats.watches;
}

/* Drain the purgatory and check the results. */
static int check_all(void)
{
	unsigned int n, wrong = 0, ended[TWHEEL_REASON_CANCELLED + 1] = {};
	struct twheel_purgatory_stats before;
	u32 drained;
	bool right;

	twheel_purgatory_get_stats(purgatory, &before);
	drained = twheel_purgatory_drain(purgatory);

	for (n = 0; n < appends; n++) {
		wrong += !append_valid(append[n]);
		ended[append[n]->result.reason]++;
	}
	right = counts_valid(&before, drained, ended);
	pr_info("%u appends to %u replicas (seed %lu): %u completed, %u expired, %u cancelled, %u incorrect%s\n",
		appends, replicas, seed, ended[TWHEEL_REASON_COMPLETED],
		ended[TWHEEL_REASON_EXPIRED], ended[TWHEEL_REASON_CANCELLED], wrong,
		right ? "" : ", inconsistent counters");
	return wrong || !right ? -EIO : 0;
}

static int run(void)
{
	int err = replicas_start();

	if (!err)
		err = append_all();
	replicas_stop();
	if (err)
		return err;
	/* The timeout only limits a failing run, which check_all() reports. */
	finish_one();
	wait_for_completion_timeout(&all_ended, 30 * HZ);
	return check_all();
}

static void appends_put(void)
{
	unsigned int n;

	for (n = 0; n < appends && append[n]; n++)
		twheel_op_put(&append[n]->op);
	kfree(append);
}

static bool params_valid(void)
{
	if (appends && appends <= MAX_APPENDS && replicas && replicas <= MAX_REPLICAS &&
	    loss <= 100)
		return true;
	pr_err("invalid parameter: appends=1..%u, replicas=1..%u, loss=0..100\n",
	       MAX_APPENDS, MAX_REPLICAS);
	return false;
}

static int __init produce_init(void)
{
	struct twheel_purgatory_config config = {
		.name		= "delayed_produce",
		.max_pending	= MAX_APPENDS,
	};
	int err;

	if (!params_valid())
		return -EINVAL;
	if (!seed)
		seed = get_random_u32();
	append = kcalloc(appends, sizeof(*append), GFP_KERNEL);
	if (!append)
		return -ENOMEM;
	purgatory = twheel_purgatory_create(&config);
	err = PTR_ERR_OR_ZERO(purgatory);
	if (!err)
		err = run();

	/* Drops the references that twheel still holds. */
	twheel_purgatory_destroy(purgatory);
	appends_put();
	if (atomic_read(&allocated)) {
		pr_err("%d appends were not released\n", atomic_read(&allocated));
		err = -EIO;
	}
	return err;
}

static void __exit produce_exit(void)
{
}

module_init(produce_init);
module_exit(produce_exit);

MODULE_DESCRIPTION("twheel sample: appends acknowledged by replicas");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
