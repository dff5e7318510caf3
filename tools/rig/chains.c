// SPDX-License-Identifier: GPL-2.0
/*
 * The chains of the hash table of keys stay within their bound while no work item runs, that is
 * while the resize waits for a CPU.
 *
 * One user adds many keys, and up to a thousand other users add some, each in a purgatory of its
 * own. No add on the device may fail, and the chains must be short.
 *
 * The work items of many purgatories do not run all at once.
 *
 * In the kernel, an add that may not sleep may fail, but only until the work item has run.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/twheel.h>
#include <rig/fs.h>
#include <twheel/dev/file.h>
#include <twheel/op/purgatory.h>

#include "rig.h"

#define KEYS		40000
#define OTHER_KEYS	200
#define MOST_OTHERS	1000
/* More than a table holds with the buckets that an add allocates without sleeping */
#define KERNEL_KEYS	(400 * 1000)

/* No bucket of a table that grows in time has this many chained keys. */
#define SHORT_CHAIN	20

struct key_op {
	struct twheel_op	op;
	struct twheel_watch	watch;
	bool			pending;
};

/* Number of work items that may run at the same time */
#define MAX_RESIZES	4

static struct file *files[1 + MOST_OTHERS];
static unsigned int failures;
static u64 last_key;

static void expect(bool good, const char *message, unsigned long nr)
{
	if (good)
		return;
	printf("chains: FAILURE: %s: %lu\n", message, nr);
	failures++;
}

static unsigned int longest_of(const struct twheel_key_buckets *buckets)
{
	const struct twheel_watch *watch;
	unsigned int nr, most = 0;
	u32 i;

	for (i = 0; buckets->bucket && i <= buckets->mask; i++) {
		nr = 0;
		for (watch = buckets->bucket[i].more; watch; watch = watch->chain)
			nr++;
		most = max(most, nr);
	}
	return most;
}

static unsigned int longest(struct twheel_keys *keys)
{
	unsigned int i, most = 0;

	for (i = 0; i < 1U << keys->shift; i++) {
		most = max(most, longest_of(&keys->stripe[i].now));
		most = max(most, longest_of(&keys->stripe[i].to));
	}
	return most;
}

static struct twheel_keys *keys_of(struct file *file)
{
	struct twheel_file *tf = file->private_data;

	return &tf->instance->purgatory->keys;
}

/* Every second key is that of a new operation, the next one is watched later. */
static void add(struct file *file, unsigned int nr)
{
	struct twheel_watch_spec spec = { };
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_ANY, .deadline = TWHEEL_NEVER,
		.nr_keys = 1, .key_size = sizeof(spec), .keys = (uintptr_t)&spec,
	};
	struct twheel_watch_args watch = {
		.nr_keys = 1, .key_size = sizeof(spec), .keys = (uintptr_t)&spec,
	};
	long err = 0;

	for (; nr && !err; nr -= 2) {
		spec.key.v[0] = ++last_key;
		err = rig_ioctl(file, TWHEEL_IOC_ADD, &args);
		if (err)
			break;
		watch.id = args.id;
		spec.key.v[0] = ++last_key;
		err = rig_ioctl(file, TWHEEL_IOC_WATCH, &watch);
	}
	expect(!err, "a call on the device failed", -err);
}

static void check_users(unsigned int nr_others)
{
	unsigned int i, most = 0;

	rig_works_hold(true);
	for (i = 0; i <= nr_others; i++) {
		rig_uid = 1000 + i;
		files[i] = rig_open("/dev/twheel", O_RDWR);
		if (IS_ERR(files[i]))
			exit(1);
	}
	for (i = 1; i <= nr_others; i++) {
		rig_uid = 1000 + i;
		add(files[i], OTHER_KEYS);
		rig_uid = 1000;
		add(files[0], KEYS / nr_others);
		most = max(most, longest(keys_of(files[0])));
	}
	expect(most < SHORT_CHAIN, "longest chain on the device", most);
	printf("chains: %u other users: longest chain %u\n", nr_others, most);
	/* With resizes in progress. */
	for (i = 0; i <= nr_others; i++)
		rig_close(files[i]);
	rig_uid = 0;
	rig_works_hold(false);
	rig_settle();
}

/* Work items wait, so that others begin meanwhile. */
static bool paused;

static void pause_work(void)
{
	while (current->pid != 1 && READ_ONCE(paused))
		msleep(1);
}

static void check_resizes(void)
{
	unsigned int i, ms;

	rig_works_most = 0;
	WRITE_ONCE(paused, true);
	rig_at_resched = pause_work;
	for (i = 0; i < 2 * MAX_RESIZES; i++) {
		files[i] = rig_open("/dev/twheel", O_RDWR);
		if (IS_ERR(files[i]))
			exit(1);
		add(files[i], KEYS / 10);
		for (ms = 0; ms < 5000 && rig_works_most < min(i + 1, MAX_RESIZES); ms++)
			msleep(1);
	}
	msleep(50);
	expect(rig_works_most == MAX_RESIZES, "work items at once", rig_works_most);
	WRITE_ONCE(paused, false);
	for (i = 0; i < 2 * MAX_RESIZES; i++)
		rig_close(files[i]);
	rig_settle();
	rig_at_resched = NULL;
}

static void op_ended(struct twheel_op *op)
{
}

/* Return: number of operations that were refused. */
static unsigned int add_ops(struct twheel_purgatory *purgatory, struct key_op *ops,
			    unsigned int flags)
{
	static const struct twheel_op_ops op_ops = { .ended = op_ended, .release = op_ended };
	unsigned int i, nr = 0;
	int err;

	for (i = 0; i < KERNEL_KEYS; i++) {
		const struct twheel_watch_spec spec = { .key.v[0] = i };
		const struct twheel_op_args args = {
			.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY, .flags = flags,
			.nr_keys = 1, .specs = &spec, .watches = &ops[i].watch,
		};

		if (ops[i].pending)
			continue;
		twheel_op_init(&ops[i].op, &op_ops);
		err = twheel_op_add(purgatory, &ops[i].op, &args);
		ops[i].pending = !err;
		nr += !!err;
		expect(!err || err == -ENOMEM, "an add failed with another error", -err);
	}
	return nr;
}

static void check_kernel(unsigned int flags)
{
	const struct twheel_purgatory_config config = {
		.name = "chains", .max_pending = KERNEL_KEYS,
	};
	struct twheel_purgatory *purgatory = twheel_purgatory_create(&config);
	struct key_op *ops = calloc(KERNEL_KEYS, sizeof(*ops));
	unsigned int most, nr;

	rig_works_hold(true);
	nr = add_ops(purgatory, ops, flags);
	most = longest(&purgatory->keys);
	printf("chains: %s in the kernel: longest chain %u, %u adds refused\n",
	       flags ? "adds that may sleep" : "other adds", most, nr);
	if (flags) {
		expect(!nr, "refused adds that may sleep", nr);
		expect(most < SHORT_CHAIN, "longest chain of adds that may sleep", most);
	} else {
		expect(nr, "refused adds", nr);
		expect(most <= TWHEEL_KEY_CHAIN, "longest chain", most);
	}
	rig_works_hold(false);
	rig_settle();
	nr = add_ops(purgatory, ops, flags);
	expect(!nr, "refused adds after the resize", nr);
	twheel_purgatory_destroy(purgatory);
	free(ops);
}

int main(void)
{
	unsigned int nr;

	rig_start(1, 1);
	if (rig_module_init("twheel"))
		return 1;
	/* First: idle users have work items as well. */
	check_resizes();
	for (nr = 1; nr <= MOST_OTHERS; nr *= 10)
		check_users(nr);
	check_kernel(TWHEEL_OP_MAY_SLEEP);
	check_kernel(0);
	rig_module_exit("twheel");
	if (rig_verdict() || failures)
		return 1;
	printf("chains: SUCCESS: chains are bounded without the work item\n");
	return 0;
}
