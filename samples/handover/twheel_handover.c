// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel in the kernel, by its exported symbols only.
 *
 * One thread, that of insmod, parks operations that each wait for two of three
 * keys, or for their deadline; another, a worker, signals the keys of every
 * operation but each tenth, which is left to expire.  Loading the module runs
 * it, reports in the kernel log, and fails if not every operation was told
 * exactly once how it ended.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/twheel.h>
#include <linux/vmalloc.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#define PARCELS		1000
#define KEYS		3
#define LEFT_TO_EXPIRE(n)	((n) % 10 == 9)

/* One thing handed over: an operation, and what became of it. */
struct parcel {
	struct twheel_op	op;
	struct twheel_watch	watch[KEYS];
	atomic_t		told;
	enum twheel_reason	reason;
	u64			value;
	bool			early;
};

struct handover {
	struct twheel_purgatory	*purgatory;
	struct parcel		*parcel;
	struct work_struct	signaller;
	atomic_t		parked;		/* how many the signaller may signal */
	atomic_t		referenced;	/* parcels that are not released */
	struct completion	all_released;
};

static struct handover handover;

static void parcel_ended(struct twheel_op *op)
{
	struct parcel *parcel = container_of(op, struct parcel, op);
	struct twheel_op_result result;

	twheel_op_result(op, &result);
	parcel->reason = result.reason;
	parcel->value = result.value;
	parcel->early = result.reason == TWHEEL_EXPIRED && result.time < result.deadline;
	atomic_inc(&parcel->told);
}

/* Nothing refers to the parcel any more: its memory could be freed here. */
static void parcel_release(struct twheel_op *op)
{
	if (atomic_dec_and_test(&handover.referenced))
		complete(&handover.all_released);
}

static const struct twheel_op_ops parcel_ops = {
	.ended		= parcel_ended,
	.release	= parcel_release,
};

static struct twheel_key parcel_key(unsigned int n, unsigned int k)
{
	return (struct twheel_key){ .v = { n, k } };
}

static int parcel_park(struct parcel *parcel, unsigned int n)
{
	struct twheel_watch_spec specs[KEYS] = {};
	struct twheel_op_args args = {
		/* Those that are signalled have all the time they need. */
		.deadline	= twheel_deadline(LEFT_TO_EXPIRE(n) ? 50 * NSEC_PER_MSEC :
						  600 * NSEC_PER_SEC),
		.condition	= TWHEEL_COND_QUORUM,
		.quorum		= 2,
		.nr_keys	= KEYS,
		.specs		= specs,
		.watches	= parcel->watch,
	};
	unsigned int k;

	for (k = 0; k < KEYS; k++)
		specs[k].key = parcel_key(n, k);
	return twheel_op_add(handover.purgatory, &parcel->op, &args);
}

static void let_signal(unsigned int n)
{
	atomic_set(&handover.parked, n);
	smp_mb();	/* pairs with the one in wait_var_event() */
	wake_up_var(&handover.parked);
}

static int park_all(void)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < PARCELS && !err; n++) {
		err = parcel_park(&handover.parcel[n], n);
		let_signal(n + 1);
	}
	/* What could not be parked is signalled to nobody, which does no harm. */
	let_signal(PARCELS);
	return err;
}

static void signal_all(struct work_struct *work)
{
	struct twheel_key key;
	unsigned int n, k;

	for (n = 0; n < PARCELS; n++) {
		wait_var_event(&handover.parked, atomic_read(&handover.parked) > n);
		for (k = 0; k < KEYS && !LEFT_TO_EXPIRE(n); k++) {
			key = parcel_key(n, k);
			twheel_signal_some(handover.purgatory, &key, 1, n + k,
					   0, TWHEEL_MAY_SLEEP);
		}
	}
}

/* The second of its keys completes a parcel, with the value of that signal. */
static bool parcel_is_right(const struct parcel *parcel, unsigned int n)
{
	if (atomic_read(&parcel->told) != 1 || parcel->early)
		return false;
	if (LEFT_TO_EXPIRE(n))
		return parcel->reason == TWHEEL_EXPIRED;
	return parcel->reason == TWHEEL_COMPLETED && parcel->value == n + 1;
}

static int report(void)
{
	struct twheel_purgatory_stats stats;
	unsigned int n, wrong = 0;

	for (n = 0; n < PARCELS; n++)
		wrong += !parcel_is_right(&handover.parcel[n], n);

	twheel_purgatory_stats(handover.purgatory, &stats);
	pr_info("%u parked, %llu completed, %llu expired, %u not told exactly once and rightly\n",
		PARCELS, stats.ended[TWHEEL_COMPLETED], stats.ended[TWHEEL_EXPIRED], wrong);
	if (wrong || stats.pending || stats.keys || stats.watches)
		return -EIO;
	return 0;
}

static int run(void)
{
	unsigned int n;
	int err;

	for (n = 0; n < PARCELS; n++)
		twheel_op_init(&handover.parcel[n].op, &parcel_ops);
	atomic_set(&handover.referenced, PARCELS);
	init_completion(&handover.all_released);
	INIT_WORK(&handover.signaller, signal_all);

	queue_work(system_unbound_wq, &handover.signaller);
	err = park_all();
	flush_work(&handover.signaller);

	if (err)
		twheel_purgatory_drain(handover.purgatory);
	for (n = 0; n < PARCELS; n++)
		twheel_op_put(&handover.parcel[n].op);
	wait_for_completion(&handover.all_released);
	return err ?: report();
}

static int __init handover_init(void)
{
	const struct twheel_purgatory_config config = {
		.name		= "handover",
		.max_pending	= PARCELS,
	};
	int err;

	handover.parcel = vcalloc(PARCELS, sizeof(*handover.parcel));
	if (!handover.parcel)
		return -ENOMEM;
	handover.purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(handover.purgatory)) {
		err = PTR_ERR(handover.purgatory);
	} else {
		err = run();
		twheel_purgatory_destroy(handover.purgatory);
	}
	vfree(handover.parcel);
	return err;
}

static void __exit handover_exit(void)
{
}

module_init(handover_init);
module_exit(handover_exit);

MODULE_DESCRIPTION("Sample consumer of twheel: operations handed from one thread to another");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
