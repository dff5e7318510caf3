// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: fetches of a minimum number of bytes.
 *
 * Kafka answers the fetch of a consumer when the requested partitions together have a minimum
 * number of new bytes, or when a time limit expires. twheel has two styles of such an
 * operation, and the sample issues each fetch in both of them at the same time:
 *
 *			by sum				by predicate
 *	condition	TWHEEL_COND_SUM, the number	TWHEEL_COND_PREDICATE, a callback that
 *			of missing bytes		counts the available bytes
 *	an append	signals its number of bytes	reports a change
 *	cost		a lock around append and	a call of the predicate per append
 *			signal, and around count
 *			and add
 *	available	the reader counts them, and	twheel_op_add() calls the predicate
 *	bytes		adds a fetch of the rest	and returns 1
 *
 * A signal is an event, so the sum needs the lock. Without it, bytes are lost that are appended
 * after the reader has counted, and signalled before the operation watches the partition. Bytes
 * count twice that are appended before the reader counts, and signalled after the operation
 * watches the partition. A predicate checks state and needs no lock: twheel calls it before the
 * operation watches its keys, and once more afterwards.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. Leaders append
 * to the partitions while a reader fetches from them. One fetch out of four has a short deadline;
 * that of the others is far longer than the run. The load fails with -EIO unless each fetch was
 * answered once, with its bytes or after its short deadline.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/twheel.h>
#include <linux/workqueue.h>

#define PARTITIONS	4
#define FETCHES		100
#define IS_SHORT(n)	((n) % 4 == 3)

enum style {
	BY_SUM,
	BY_PREDICATE,
	STYLES,
};

struct partition {
	struct work_struct	leader;	/* appends */
	struct twheel_key	key;
	u64			end;	/* offset after the last byte */
};

struct fetch {
	struct twheel_op	op;
	struct twheel_watch	watch[PARTITIONS];
	unsigned long		partitions;		/* bitmap of the partitions to read */
	u64			start[PARTITIONS];	/* offset in each of them */
	u64			min;			/* bytes wanted in total */
	u64			deadline;
	struct completion	answered;
	bool			expired;
	u64			bytes;			/* available bytes at that time */
	u64			time;			/* of the expiry */
};

static struct twheel_purgatory *purgatory[STYLES];
static struct partition partition[PARTITIONS];
static u64 offset[PARTITIONS];		/* read up to here */
static bool stopping;
static atomic_t nr_ended, nr_allocated;

/*
 * Held for reading while bytes are appended and signalled, and for writing while the available
 * bytes are counted and a fetch for the missing ones is added. So each byte is either counted or
 * signalled, never both.
 */
static DECLARE_RWSEM(append_sem);

static void append(struct partition *self, u64 bytes)
{
	down_read(&append_sem);
	WRITE_ONCE(self->end, self->end + bytes);
	twheel_signal_some(purgatory[BY_SUM], &self->key, bytes, 0, 0, TWHEEL_MAY_SLEEP);
	up_read(&append_sem);

	/* A predicate checks state and needs neither the lock nor the amount. */
	twheel_check_and_complete(purgatory[BY_PREDICATE], &self->key, 0, TWHEEL_MAY_SLEEP);
}

static void leader_work(struct work_struct *work)
{
	struct partition *self = container_of(work, struct partition, leader);

	while (!READ_ONCE(stopping)) {
		append(self, 1 + get_random_u32_below(1000));
		usleep_range(100, 1000);
	}
}

/* Number of bytes available to a fetch. */
static u64 fetch_bytes(const struct fetch *fetch)
{
	u64 bytes = 0;
	unsigned int p;

	for_each_set_bit(p, &fetch->partitions, PARTITIONS)
		bytes += READ_ONCE(partition[p].end) - fetch->start[p];
	/* Reading a real log takes time, during which it may grow. */
	udelay(5);
	return bytes;
}

static bool fetch_try_complete(struct twheel_op *op, u64 *value)
{
	struct fetch *fetch = container_of(op, struct fetch, op);

	*value = fetch_bytes(fetch);
	return *value >= fetch->min;
}

static void fetch_ended(struct twheel_op *op)
{
	struct fetch *fetch = container_of(op, struct fetch, op);
	struct twheel_op_result result;

	twheel_op_get_result(op, &result);
	fetch->expired = result.reason == TWHEEL_REASON_EXPIRED;
	fetch->time = result.time;
	fetch->bytes = fetch_bytes(fetch);
	atomic_inc(&nr_ended);
	complete(&fetch->answered);
}

static void fetch_release(struct twheel_op *op)
{
	kfree(container_of(op, struct fetch, op));
	atomic_dec(&nr_allocated);
}

static const struct twheel_op_ops fetch_ops[STYLES] = {
	[BY_SUM] = {
		.ended		= fetch_ended,
		.release	= fetch_release,
	},
	[BY_PREDICATE] = {
		.try_complete	= fetch_try_complete,
		.ended		= fetch_ended,
		.release	= fetch_release,
	},
};

static int fetch_add(struct fetch *fetch, enum style style, u64 threshold)
{
	struct twheel_watch_spec specs[PARTITIONS] = {};
	struct twheel_op_args args = {
		.deadline	= fetch->deadline,
		.condition	= style == BY_SUM ? TWHEEL_COND_SUM : TWHEEL_COND_PREDICATE,
		.threshold	= threshold,
		.specs		= specs,
		.watches	= fetch->watch,
	};
	unsigned int p;

	for_each_set_bit(p, &fetch->partitions, PARTITIONS)
		specs[args.nr_keys++].key = partition[p].key;
	return twheel_op_add(purgatory[style], &fetch->op, &args);
}

/* Count the available bytes, and let twheel count the missing ones. */
static int fetch_by_sum(struct fetch *fetch)
{
	int err = 0;

	down_write(&append_sem);
	fetch->bytes = fetch_bytes(fetch);
	if (fetch->bytes < fetch->min)
		err = fetch_add(fetch, BY_SUM, fetch->min - fetch->bytes);
	else
		complete(&fetch->answered);
	up_write(&append_sem);
	return err;
}

static struct fetch *fetch_alloc(enum style style, const struct fetch *request)
{
	struct fetch *fetch = kzalloc(sizeof(*fetch), GFP_KERNEL);

	if (!fetch)
		return NULL;
	*fetch = *request;
	memcpy(fetch->start, offset, sizeof(offset));
	init_completion(&fetch->answered);
	twheel_op_init(&fetch->op, &fetch_ops[style]);
	atomic_inc(&nr_allocated);
	return fetch;
}

/* Wait for an answer and check it. The timeout only limits a failing run. */
static int fetch_wait(struct fetch *fetch)
{
	if (!wait_for_completion_timeout(&fetch->answered, 30 * HZ))
		return -ETIME;
	if (fetch->expired)
		return fetch->time < fetch->deadline ? -EIO : 0;
	return fetch->bytes < fetch->min ? -EIO : 0;
}

/* Issue the same request in both styles, and wait for both answers. */
static int fetch_once(unsigned int n)
{
	const struct fetch request = {
		.partitions	= 1 + get_random_u32_below(BIT(PARTITIONS) - 1),
		.min		= 1 + get_random_u32_below(5000),
		.deadline	= twheel_deadline(IS_SHORT(n) ? 2 * NSEC_PER_MSEC :
						  600ULL * NSEC_PER_SEC),
	};
	struct fetch *by_sum = fetch_alloc(BY_SUM, &request);
	struct fetch *by_predicate = fetch_alloc(BY_PREDICATE, &request);
	unsigned int p;
	int err = -ENOMEM;

	if (by_sum && by_predicate) {
		err = fetch_by_sum(by_sum);
		/* twheel calls the predicate during the add and at each report of a change. */
		if (!err)
			err = fetch_add(by_predicate, BY_PREDICATE, 0);
		if (err >= 0)
			err = fetch_wait(by_sum) ?: fetch_wait(by_predicate);
	}
	/* The purgatories have references of their own. */
	if (by_sum)
		twheel_op_put(&by_sum->op);
	if (by_predicate)
		twheel_op_put(&by_predicate->op);
	/* Skip the bytes that are available now. */
	for (p = 0; p < PARTITIONS; p++)
		offset[p] = READ_ONCE(partition[p].end);
	return err;
}

static void partitions_start(void)
{
	struct partition *part;

	for (part = partition; part < partition + PARTITIONS; part++) {
		part->key = (struct twheel_key){ .v = { part - partition } };
		INIT_WORK(&part->leader, leader_work);
		queue_work(system_unbound_wq, &part->leader);
	}
}

static void partitions_stop(void)
{
	unsigned int p;

	WRITE_ONCE(stopping, true);
	for (p = 0; p < PARTITIONS; p++)
		flush_work(&partition[p].leader);
}

/* Print and check the counters: each fetch that was added has ended once. */
static int report(void)
{
	struct twheel_purgatory_stats sum, predicate;

	twheel_purgatory_get_stats(purgatory[BY_SUM], &sum);
	twheel_purgatory_get_stats(purgatory[BY_PREDICATE], &predicate);
	pr_info("fetches by sum: %llu added, %llu completed, %llu expired; by predicate: %llu, %llu, %llu\n",
		sum.added, sum.ended[TWHEEL_REASON_COMPLETED], sum.ended[TWHEEL_REASON_EXPIRED],
		predicate.added, predicate.ended[TWHEEL_REASON_COMPLETED],
		predicate.ended[TWHEEL_REASON_EXPIRED]);
	if (atomic_read(&nr_ended) != sum.added + predicate.added || sum.pending ||
	    predicate.pending || predicate.added != FETCHES)
		return -EIO;
	return 0;
}

static int run(void)
{
	unsigned int n;
	int err = 0;

	partitions_start();
	for (n = 0; n < FETCHES && !err; n++)
		err = fetch_once(n);
	partitions_stop();
	return err ?: report();
}

static int __init fetch_init(void)
{
	struct twheel_purgatory_config config = { .max_pending = 1 };
	int err;

	config.name = "fetch_by_sum";
	purgatory[BY_SUM] = twheel_purgatory_create(&config);
	if (IS_ERR(purgatory[BY_SUM]))
		return PTR_ERR(purgatory[BY_SUM]);
	config.name = "fetch_by_predicate";
	purgatory[BY_PREDICATE] = twheel_purgatory_create(&config);
	err = PTR_ERR_OR_ZERO(purgatory[BY_PREDICATE]) ?: run();

	/* Drops the references that twheel still holds. */
	twheel_purgatory_destroy(purgatory[BY_PREDICATE]);
	twheel_purgatory_destroy(purgatory[BY_SUM]);
	if (atomic_read(&nr_allocated)) {
		pr_err("%d fetches were not released\n", atomic_read(&nr_allocated));
		err = -EIO;
	}
	return err;
}

static void __exit fetch_exit(void)
{
}

module_init(fetch_init);
module_exit(fetch_exit);

MODULE_DESCRIPTION("twheel sample: fetches of a minimum number of bytes");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
