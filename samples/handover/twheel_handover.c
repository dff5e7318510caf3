// SPDX-License-Identifier: GPL-2.0
/*
 * A minimal consumer of twheel: operations completed by another thread.
 *
 * Loading the module runs the sample once. The thread of insmod adds operations, called
 * parcels here, to a purgatory. Each one watches three keys, completes when two of them
 * have been signalled, and otherwise expires at its deadline. A work item signals the
 * keys of nine parcels out of ten; every tenth parcel expires.
 *
 * The result is printed to the kernel log. The load fails with -EIO unless ended() ran
 * exactly once for each parcel, with the expected result.
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
#include <linux/workqueue.h>

#define PARCELS		1000
#define KEYS		3
#define LEFT_TO_EXPIRE(n)	((n) % 10 == 9)

/* A parcel is an operation, memory for its watches, and its recorded result. */
struct parcel {
	struct twheel_op	op;
	struct twheel_watch	watch[KEYS];
	atomic_t		nr_ended;
	enum twheel_reason	reason;
	u64			value;
	bool			early;
};

struct handover {
	struct twheel_purgatory	*purgatory;
	struct parcel		*parcel;
	struct work_struct	signaller;
	atomic_t		unreleased;	/* parcels not released yet */
	struct completion	all_released;
};

static struct handover handover;

static void parcel_ended(struct twheel_op *op)
{
	struct parcel *parcel = container_of(op, struct parcel, op);
	struct twheel_op_result result;

	twheel_op_get_result(op, &result);
	parcel->reason = result.reason;
	parcel->value = result.value;
	parcel->early = result.reason == TWHEEL_REASON_EXPIRED && result.time < result.deadline;
	atomic_inc(&parcel->nr_ended);
}

/* The last reference is gone. A consumer usually frees the operation here. */
static void parcel_release(struct twheel_op *op)
{
	if (atomic_dec_and_test(&handover.unreleased))
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

static int parcel_add(struct parcel *parcel, unsigned int n)
{
	struct twheel_watch_spec specs[KEYS] = {};
	struct twheel_op_args args = {
		/* Far longer than the run, except for the parcels that are meant to expire. */
		.deadline	= twheel_deadline(LEFT_TO_EXPIRE(n) ? 50 * NSEC_PER_MSEC :
						  600ULL * NSEC_PER_SEC),
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

static void signal_all(struct work_struct *work)
{
	struct twheel_key key;
	unsigned int n, k;

	for (n = 0; n < PARCELS; n++) {
		for (k = 0; k < KEYS && !LEFT_TO_EXPIRE(n); k++) {
			key = parcel_key(n, k);
			twheel_signal_some(handover.purgatory, &key, 1, n + k,
					   0, TWHEEL_MAY_SLEEP);
		}
	}
}

/* The second signal completes the parcel and provides the value. */
static bool parcel_valid(const struct parcel *parcel, unsigned int n)
{
	if (atomic_read(&parcel->nr_ended) != 1 || parcel->early)
		return false;
	if (LEFT_TO_EXPIRE(n))
		return parcel->reason == TWHEEL_REASON_EXPIRED;
	return parcel->reason == TWHEEL_REASON_COMPLETED && parcel->value == n + 1;
}

static int report(void)
{
	struct twheel_purgatory_stats stats;
	unsigned int n, wrong = 0;

	for (n = 0; n < PARCELS; n++)
		wrong += !parcel_valid(&handover.parcel[n], n);

	twheel_purgatory_get_stats(handover.purgatory, &stats);
	pr_info("%u added, %llu completed, %llu expired, %u incorrect\n",
		PARCELS, stats.ended[TWHEEL_REASON_COMPLETED],
		stats.ended[TWHEEL_REASON_EXPIRED], wrong);
	if (wrong || stats.pending || stats.keys || stats.watches)
		return -EIO;
	return 0;
}

static int run(void)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < PARCELS; n++)
		twheel_op_init(&handover.parcel[n].op, &parcel_ops);
	atomic_set(&handover.unreleased, PARCELS);
	init_completion(&handover.all_released);
	INIT_WORK(&handover.signaller, signal_all);

	for (n = 0; n < PARCELS && !err; n++)
		err = parcel_add(&handover.parcel[n], n);
	if (!err) {
		queue_work(system_unbound_wq, &handover.signaller);
		flush_work(&handover.signaller);
	} else {
		twheel_purgatory_drain(handover.purgatory);
	}
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

MODULE_DESCRIPTION("twheel sample: operations completed by another thread");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
