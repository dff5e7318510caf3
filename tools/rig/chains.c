// SPDX-License-Identifier: GPL-2.0
/*
 * The buckets of the hash table of keys stay within their bound while no work item runs, that is
 * while the work item of the table waits for a CPU.
 *
 * One user adds many keys, and up to a thousand other users add some, each in a purgatory of its
 * own. No add on the device may fail, and the buckets must have few keys. Likewise in the kernel,
 * whether the add may sleep or not.
 *
 * While all allocations of the adds and of other threads fail, new keys are refused when their
 * bucket is full, until there is memory and the work item has run. No key is lost meanwhile.
 *
 * The work items of many purgatories do not run all at once.
 *
 * Threads signal keys of their own while the table grows and shrinks, and find each of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include <twheel/dev/file.h>
#include <twheel/op/purgatory.h>

#include "program.h"

#define KEYS		40000
#define OTHER_KEYS	200
#define MOST_OTHERS	1000
#define KERNEL_KEYS	(100 * 1000)

/* More than a table has space for without memory */
#define REFUSED_KEYS	5000

/* No bucket of a table that grows in time has this many keys. */
#define MANY		28

/* Keys of their own, of each thread, and rounds of growth and shrinking */
#define THREADS		3
#define OWN_KEYS	20
#define GROWN_KEYS	4000
#define ROUNDS		20

struct key_op {
	struct program_op	op;
	bool			pending;
};

/* Number of work items that may run at the same time */
#define MAX_RESIZES	4

static struct file *files[1 + MOST_OTHERS];
static u64 last_key;

static unsigned int most_keys(struct twheel_keys *keys)
{
	unsigned int most = 0;
	u32 i;

	for (i = 0; i < keys->size; i++)
		most = max_t(unsigned int, most, twheel_keys_bucket(keys, i)->nr);
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
	struct twheel_add_args args = program_add_args(TWHEEL_NEVER, &spec, 1);
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
	expect(!err, "a call on the device failed: %ld", err);
}

static void check_users(unsigned int nr_others)
{
	unsigned int i, most = 0;

	rig_works_hold(true);
	for (i = 0; i <= nr_others; i++) {
		rig_uid = 1000 + i;
		files[i] = program_open("/dev/twheel");
	}
	for (i = 1; i <= nr_others; i++) {
		rig_uid = 1000 + i;
		add(files[i], OTHER_KEYS);
		rig_uid = 1000;
		add(files[0], KEYS / nr_others);
		most = max(most, most_keys(keys_of(files[0])));
	}
	expect(most < MANY, "%u keys of a bucket on the device", most);
	printf("chains: %u other users: at most %u keys of a bucket\n", nr_others, most);
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

/* Work items shrink the tables. */
static void check_resizes(void)
{
	struct twheel_signal_args signal = { };
	unsigned int i, ms;

	rig_works_most = 0;
	WRITE_ONCE(paused, true);
	rig_at_resched = pause_work;
	for (i = 0; i < 2 * MAX_RESIZES; i++) {
		files[i] = program_open("/dev/twheel");
		signal.key.v[0] = last_key;
		add(files[i], KEYS / 10);
		while (signal.key.v[0]++ < last_key)
			rig_ioctl(files[i], TWHEEL_IOC_SIGNAL, &signal);
		for (ms = 0; ms < 5000 && rig_works_most < min(i + 1, MAX_RESIZES); ms++)
			msleep(1);
	}
	msleep(50);
	expect(rig_works_most == MAX_RESIZES, "%u work items at once", rig_works_most);
	WRITE_ONCE(paused, false);
	for (i = 0; i < 2 * MAX_RESIZES; i++)
		rig_close(files[i]);
	rig_settle();
	rig_at_resched = NULL;
}

static int add_op(struct twheel_purgatory *purgatory, struct key_op *op, u64 key,
		  unsigned int flags)
{
	return program_op_add(purgatory, &op->op, TWHEEL_NEVER,
			      (struct twheel_key) { { key } }, flags);
}

/* Return: number of operations that were refused. */
static unsigned int add_ops(struct twheel_purgatory *purgatory, struct key_op *ops,
			    unsigned int nr_ops, unsigned int flags)
{
	unsigned int i, nr = 0;
	int err;

	for (i = 0; i < nr_ops; i++) {
		if (ops[i].pending)
			continue;
		current->fail_nth = READ_ONCE(rig_fail_every);
		err = add_op(purgatory, &ops[i], i, flags);
		current->fail_nth = 0;
		ops[i].pending = !err;
		nr += !!err;
		expect(!err || err == -ENOMEM, "an add failed with another error: %d", err);
	}
	return nr;
}

static void check_kernel(unsigned int flags)
{
	struct twheel_purgatory *purgatory = program_purgatory(2 * KERNEL_KEYS);
	struct key_op *ops = calloc(KERNEL_KEYS, sizeof(*ops));
	unsigned int most, nr;

	rig_works_hold(true);
	nr = add_ops(purgatory, ops, KERNEL_KEYS, flags);
	most = most_keys(&purgatory->keys);
	printf("chains: %s in the kernel: at most %u keys of a bucket, %u adds refused\n",
	       flags ? "adds that may sleep" : "other adds", most, nr);
	expect(!nr, "%u refused adds", nr);
	expect(most < MANY, "%u keys of a bucket", most);
	rig_works_hold(false);
	twheel_purgatory_destroy(purgatory);
	free(ops);
}

/* Every second operation ends, and allows others to be added. */
static void end_every_second(struct twheel_purgatory *purgatory, struct key_op *ops)
{
	unsigned int i;

	for (i = 0; i < REFUSED_KEYS; i += 2) {
		struct twheel_key key = { { i } };

		expect(twheel_signal(purgatory, &key, 1, 0) == ops[i].pending,
		       "a watched key is not found");
		ops[i].pending = false;
	}
}

static void check_without_memory(unsigned int flags)
{
	struct twheel_purgatory *purgatory = program_purgatory(2 * KERNEL_KEYS);
	struct key_op *ops = calloc(REFUSED_KEYS, sizeof(*ops));
	struct twheel_keys *keys = &purgatory->keys;
	unsigned int most, nr;

	rig_works_hold(true);
	WRITE_ONCE(rig_fail_every, 1);
	nr = add_ops(purgatory, ops, REFUSED_KEYS, flags);
	most = most_keys(keys);
	printf("chains: without memory: at most %u keys of a bucket, %u adds refused\n", most, nr);
	expect(nr > REFUSED_KEYS / 2, "%u refused adds without memory", nr);
	expect(most == TWHEEL_KEY_MOST, "%u keys of a bucket without memory", most);
	end_every_second(purgatory, ops);
	WRITE_ONCE(rig_fail_every, 0);
	keys->retry[!!flags] = jiffies;
	rig_works_hold(false);
	mod_delayed_work(system_wq, &keys->resize, 0);
	rig_settle();
	nr = add_ops(purgatory, ops, REFUSED_KEYS, flags);
	most = most_keys(keys);
	expect(!nr, "%u refused adds after the resize", nr);
	expect(most < MANY, "%u keys of a bucket after the resize", most);
	nr = twheel_complete_all(purgatory, 0, 0, 0);
	expect(nr == REFUSED_KEYS, "%u operations are left", nr);
	twheel_purgatory_destroy(purgatory);
	free(ops);
}

/* Signals of own keys while other keys are added and removed */

static struct twheel_purgatory *shared;
static bool stop;

static void *signal_own(void *arg)
{
	u64 key, first = (uintptr_t)arg * OWN_KEYS;
	struct key_op ops[OWN_KEYS];
	unsigned int lost = 0;
	struct twheel_key k = { };
	int err = 0;

	rig_adopt("own", RIG_TASK);
	while (!READ_ONCE(stop)) {
		for (key = 0; key < OWN_KEYS; key++)
			err |= add_op(shared, &ops[key], first + key, 0);
		for (key = 0; key < OWN_KEYS; key++) {
			k.v[0] = first + key;
			lost += twheel_signal(shared, &k, 1, 1) != 1;
			twheel_op_cancel(&ops[key].op.op);
			twheel_op_put(&ops[key].op.op);
		}
	}
	expect(!err, "an add of a concurrent thread failed: %d", err);
	expect(!lost, "%u signals that did not find a key", lost);
	rig_leave();
	return NULL;
}

static void check_concurrent(void)
{
	struct key_op *ops = calloc(GROWN_KEYS, sizeof(*ops));
	unsigned long threads[THREADS];
	unsigned int i, round;
	u32 most = 0;
	int err = 0;

	shared = program_purgatory(2 * KERNEL_KEYS);
	for (i = 0; i < THREADS; i++)
		threads[i] = rig_thread(signal_own, (void *)(uintptr_t)(i + 1));
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < GROWN_KEYS; i++)
			err |= add_op(shared, &ops[i], (1 + round) << 20 | i, 0);
		most = max(most, READ_ONCE(shared->keys.size));
		for (i = 0; i < GROWN_KEYS; i++) {
			twheel_op_cancel(&ops[i].op.op);
			twheel_op_put(&ops[i].op.op);
		}
		for (i = 0; i < 1000 && READ_ONCE(shared->keys.size) > GROWN_KEYS / 16; i++)
			msleep(1);
		expect(i < 1000, "%u buckets left after removals",
		       READ_ONCE(shared->keys.size));
	}
	expect(!err, "an add failed: %d", err);
	WRITE_ONCE(stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("chains: signals found their keys while the table had up to %u buckets\n", most);
	twheel_purgatory_destroy(shared);
	free(ops);
}

int main(void)
{
	unsigned int nr;

	program_start(1, 1);
	/* First: idle users have work items as well. */
	check_resizes();
	check_concurrent();
	check_without_memory(TWHEEL_OP_MAY_SLEEP);
	check_without_memory(0);
	check_kernel(TWHEEL_OP_MAY_SLEEP);
	check_kernel(0);
	for (nr = 1; nr <= MOST_OTHERS; nr *= 10)
		check_users(nr);
	if (program_end())
		return 1;
	printf("chains: SUCCESS: buckets are bounded without the work item\n");
	return 0;
}
