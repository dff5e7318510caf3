// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: appends that wait for their replicas.
 *
 * The answer to an append is due when all of its replicas have acknowledged it,
 * or most of them, or when its time is over.  An append is an operation that
 * watches a key for each replica.  The leader, which is the thread of insmod,
 * appends; the replicas are threads that follow at a pace of their own, and
 * acknowledge an append by a signal under their key of it.  Some of these acks are
 * lost, and some come twice.
 *
 * Loading the module runs this once and reports in the kernel log.  It fails
 * with -EIO unless every append was told exactly once how it ended, and rightly:
 * told_rightly() says what that is.
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
MODULE_PARM_DESC(appends, "how many, 1 to 4096 (default 200)");

static unsigned int replicas = 3;
module_param(replicas, uint, 0444);
MODULE_PARM_DESC(replicas, "of each append, 1 to 8 (default 3)");

static unsigned int loss = 10;
module_param(loss, uint, 0444);
MODULE_PARM_DESC(loss, "per cent of the acks that are lost, 0 to 100 (default 10)");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of what is random; 0, the default, for a new one each time");

/* When a replica began to signal that it has an append, 0 for never, and when it was done. */
struct ack {
	u64	from, to;
};

struct append {
	struct twheel_op		op;
	struct twheel_watch		watch[MAX_REPLICAS];
	struct ack			ack[MAX_REPLICAS];	/* each its replica's */
	unsigned int			need;	/* acks */
	u64				deadline;
	atomic_t			told;	/* how often */
	u64				told_at;
	struct twheel_op_result		result;
};

struct replica {
	struct task_struct	*task;
	unsigned int		number;
	struct rnd_state	rng;
	u64			completed;	/* appends, by its signals */
};

static struct twheel_purgatory *purgatory;
static struct append **append;
static struct replica replica[MAX_REPLICAS];
static unsigned int appended;		/* the replicas follow up to here */
static DECLARE_WAIT_QUEUE_HEAD(appended_more);
static atomic_t allocated;		/* appends that were not released */
static atomic_t awaited = ATOMIC_INIT(1);	/* that end by themselves but have not, and one */
static DECLARE_COMPLETION(all_ended);

static u32 below(struct rnd_state *rng, u32 limit)
{
	return prandom_u32_state(rng) % limit;
}

static struct twheel_key append_key(unsigned int n, unsigned int r)
{
	return (struct twheel_key){ .v = { n, r } };
}

static void await_less(void)
{
	if (atomic_dec_and_test(&awaited))
		complete(&all_ended);
}

static void append_ended(struct twheel_op *op)
{
	struct append *a = container_of(op, struct append, op);

	a->told_at = ktime_get_ns();
	twheel_op_result(op, &a->result);
	atomic_inc(&a->told);
	if (a->deadline != TWHEEL_NEVER)
		await_less();
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

/* Half of them need all replicas, and a quarter waits for them however long it takes. */
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

static int append_park(struct append *a, unsigned int n)
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
		atomic_inc(&awaited);
	return twheel_op_add(purgatory, &a->op, &args);
}

/* Park first, then let the replicas know of it, so that no ack comes too early. */
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
		err = append_park(append[n], n);
		if (err)
			return err;
		/* Pairs with the acquire in follow(). */
		smp_store_release(&appended, n + 1);
		wake_up_all(&appended_more);
		usleep_range(300, 1500);
	}
	return 0;
}

static void acknowledge(struct replica *self, unsigned int n)
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

/* A replica that is stopped goes through all that was appended before. */
static int follow(void *data)
{
	struct replica *self = data;
	unsigned int n;

	for (n = 0;; n++) {
		wait_event_idle(appended_more, READ_ONCE(appended) > n || kthread_should_stop());
		/* Pairs with the release in append_all(). */
		if (smp_load_acquire(&appended) <= n)
			return 0;
		acknowledge(self, n);
	}
}

static int replicas_start(void)
{
	unsigned int r;

	for (r = 0; r < replicas; r++) {
		replica[r].number = r;
		prandom_seed_state(&replica[r].rng, seed + r + 1);
		replica[r].task = kthread_run(follow, &replica[r], "replica/%u", r);
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

/* How many acks had begun by some time, or were over before it. */
static unsigned int acks(const struct append *a, u64 time, bool over)
{
	const struct ack *ack;
	unsigned int nr = 0;

	for (ack = a->ack; ack < a->ack + replicas; ack++)
		nr += ack->from && (over ? ack->to < time : ack->from <= time);
	return nr;
}

/* Completed by the ack that its value names, before that was over. */
static bool completed_rightly(const struct append *a)
{
	const struct twheel_op_result *result = &a->result;
	const struct ack *last;

	if (result->value >= replicas || acks(a, result->time, false) < a->need)
		return false;
	last = &a->ack[result->value];
	return last->from && last->from <= result->time && a->told_at <= last->to;
}

/*
 * No append had what it needs before it ended.  It completed by the ack with which
 * it had; or expired, not before its deadline; or, without a deadline, was still
 * there in the end.
 */
static bool told_rightly(const struct append *a)
{
	const struct twheel_op_result *result = &a->result;

	if (atomic_read(&a->told) != 1 || result->deadline != a->deadline || result->error ||
	    a->told_at < result->time || acks(a, result->time, true) >= a->need)
		return false;
	switch (result->reason) {
	case TWHEEL_COMPLETED:
		return completed_rightly(a);
	case TWHEEL_EXPIRED:
		return result->time >= a->deadline;
	default:
		return a->deadline == TWHEEL_NEVER;
	}
}

/* Nothing is left of what ended, and all is there of what did not. */
static bool counts_right(const struct twheel_purgatory_stats *before, u32 handed_back,
			 const unsigned int *ended)
{
	struct twheel_purgatory_stats stats;
	u64 completed = 0;
	unsigned int r;

	for (r = 0; r < replicas; r++)
		completed += replica[r].completed;
	twheel_purgatory_stats(purgatory, &stats);
	return before->added == appends && before->pending == handed_back &&
	       before->watches == handed_back * replicas && before->keys == before->watches &&
	       completed == ended[TWHEEL_COMPLETED] && handed_back == ended[TWHEEL_CANCELLED] &&
	       stats.ended[TWHEEL_COMPLETED] == ended[TWHEEL_COMPLETED] &&
	       stats.ended[TWHEEL_EXPIRED] == ended[TWHEEL_EXPIRED] &&
	       stats.ended[TWHEEL_CANCELLED] == ended[TWHEEL_CANCELLED] &&
	       !stats.pending && !stats.keys && !stats.watches;
}

/* End what still waits, and see whether all was as it should be. */
static int settle(void)
{
	unsigned int n, wrong = 0, ended[TWHEEL_CANCELLED + 1] = {};
	struct twheel_purgatory_stats before;
	u32 handed_back;
	bool right;

	twheel_purgatory_stats(purgatory, &before);
	handed_back = twheel_purgatory_drain(purgatory);

	for (n = 0; n < appends; n++) {
		wrong += !told_rightly(append[n]);
		ended[append[n]->result.reason]++;
	}
	right = counts_right(&before, handed_back, ended);
	pr_info("%u appends to %u replicas (seed %lu): %u completed, %u expired, %u handed back, %u told wrongly%s\n",
		appends, replicas, seed, ended[TWHEEL_COMPLETED], ended[TWHEEL_EXPIRED],
		ended[TWHEEL_CANCELLED], wrong, right ? "" : ", counts that do not add up");
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
	/* What has not expired after so long never will, and is found by settle(). */
	await_less();
	wait_for_completion_timeout(&all_ended, 30 * HZ);
	return settle();
}

static void appends_put(void)
{
	unsigned int n;

	for (n = 0; n < appends && append[n]; n++)
		twheel_op_put(&append[n]->op);
	kfree(append);
}

static bool params_right(void)
{
	if (appends && appends <= MAX_APPENDS && replicas && replicas <= MAX_REPLICAS &&
	    loss <= 100)
		return true;
	pr_err("appends= is 1 to %u, replicas= 1 to %u, loss= 0 to 100\n",
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

	if (!params_right())
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

	/* After this, none of the references is twheel's. */
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

MODULE_DESCRIPTION("Sample consumer of twheel: appends that wait for their replicas");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
