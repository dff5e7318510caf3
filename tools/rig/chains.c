// SPDX-License-Identifier: GPL-2.0
/*
 * The buckets of the hash table of keys stay within their bound, by what adds do alone.
 *
 * One user adds many keys, and up to a thousand other users add some, each in a purgatory of its
 * own. No add on the device may fail, and the buckets must have few keys. Likewise in the kernel,
 * whether the add may sleep or not. The table has neither too many buckets nor too few.
 *
 * While all allocations of the adds and of other threads fail, new keys are refused when their
 * bucket is full, until there is memory. No key is lost meanwhile.
 *
 * Threads signal keys of their own while the table grows and shrinks, and find each of them.
 * Walks over the table meanwhile, also in the middle of a move, visit each key once that stays.
 *
 * Threads watch a key each of one operation, and unwatch it: the operation has keys or none.
 *
 * Threads add operations without keys and without deadlines to a purgatory that is drained: each
 * is ended by the drain, or refused.
 *
 * A call completes all operations while one that watches a key waits for memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include <twheel/dev/file.h>
#include <twheel/op/op.h>
#include <twheel/op/purgatory.h>

#include "program.h"

#define KEYS		40000
#define OTHER_KEYS	200
#define MOST_OTHERS	1000
#define KERNEL_KEYS	(100 * 1000)

/* More than a table has space for without memory */
#define REFUSED_KEYS	5000

/* No bucket of a table that grows in time has this many keys. */
#define MANY		20

/* Keys of each thread; those of each growth, and its rounds; keys that stay */
#define THREADS		3
#define OWN_KEYS	20
#define GROWN_KEYS	4000
#define ROUNDS		20
#define STAYING_KEYS	100
#define WALK_EVERY	32

/* Watches of each thread of an operation */
#define ALTERNATIONS	20000

/* Drains of a purgatory to which threads add operations without keys */
#define DRAINS		50

struct key_op {
	struct program_op	op;
	bool			pending;
};

static struct file *files[1 + MOST_OTHERS];
static u64 last_key;

static unsigned int most_keys(struct twheel_keys *keys)
{
	struct twheel_key_at at;
	unsigned int most = 0;
	u32 hash = 0;

	do {
		at = twheel_key_lock(keys, hash);
		most = max_t(unsigned int, most, at.bucket->nr);
		twheel_key_unlock(&at);
		hash = at.last + 1;
	} while (hash);
	return most;
}

/* Another thread may free the table. */
static u32 size_of(struct twheel_keys *keys)
{
	u32 size;

	rcu_read_lock();
	size = twheel_key_table_size(READ_ONCE(keys->table));
	rcu_read_unlock();
	return size;
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
	rig_settle();
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
		err = add_op(purgatory, &ops[i], i, flags);
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
	u32 size;

	nr = add_ops(purgatory, ops, KERNEL_KEYS, flags);
	most = most_keys(&purgatory->keys);
	size = size_of(&purgatory->keys);
	printf("chains: %s in the kernel: at most %u keys of a bucket of %u, %u adds refused\n",
	       flags ? "adds that may sleep" : "other adds", most, size, nr);
	expect(!nr, "%u refused adds", nr);
	expect(most < MANY, "%u keys of a bucket", most);
	expect(size > KERNEL_KEYS / 6 && size < KERNEL_KEYS / 2, "%u buckets", size);
	nr = twheel_complete_all(purgatory, 0, 0, 0);
	expect(nr == KERNEL_KEYS, "%u operations are left", nr);
	size = size_of(&purgatory->keys);
	expect(size < KERNEL_KEYS / 100, "%u buckets without keys", size);
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

/* The first operation, which is pending, watches the key of one that was refused. */
static int watch_refused(struct key_op *ops)
{
	struct twheel_watch_spec spec = { };
	static struct twheel_watch watch;

	while (ops[spec.key.v[0]].pending)
		spec.key.v[0]++;
	return twheel_op_watch(&ops[0].op.op, &spec, &watch, 1);
}

/* A thread of its own: allocations of the first one do not fail. */
static void *check_without_memory(void *arg)
{
	unsigned int flags = (uintptr_t)arg;
	struct twheel_purgatory *purgatory = program_purgatory(2 * KERNEL_KEYS);
	struct key_op *ops = calloc(REFUSED_KEYS, sizeof(*ops));
	struct twheel_keys *keys = &purgatory->keys;
	unsigned int most, nr;

	rig_adopt("no memory", RIG_TASK);
	WRITE_ONCE(rig_fail_every, 1);
	nr = add_ops(purgatory, ops, REFUSED_KEYS, flags);
	most = most_keys(keys);
	printf("chains: without memory: at most %u keys of a bucket, %u adds refused\n", most, nr);
	expect(nr > REFUSED_KEYS / 2, "%u refused adds without memory", nr);
	expect(most == TWHEEL_KEY_MOST, "%u keys of a bucket without memory", most);
	expect(watch_refused(ops) == -ENOMEM, "a refused key is watched");
	end_every_second(purgatory, ops);
	WRITE_ONCE(rig_fail_every, 0);
	/* One pass of adds that do not sleep may not be enough: each moves the keys of a bucket. */
	nr = add_ops(purgatory, ops, REFUSED_KEYS, flags);
	expect(!nr || !flags, "%u refused adds with memory", nr);
	nr = add_ops(purgatory, ops, REFUSED_KEYS, flags);
	most = most_keys(keys);
	expect(!nr, "%u refused adds with a larger table", nr);
	expect(most < MANY, "%u keys of a bucket of a larger table", most);
	nr = twheel_complete_all(purgatory, 0, 0, 0);
	expect(nr == REFUSED_KEYS, "%u operations are left", nr);
	twheel_purgatory_destroy(purgatory);
	free(ops);
	rig_leave();
	return NULL;
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

static void walk(void)
{
	unsigned int visits[STAYING_KEYS] = { }, i, slot;
	struct twheel_watch *watch;
	struct twheel_key_at at;
	u32 hash = 0;

	do {
		at = twheel_key_lock(&shared->keys, hash);
		for (slot = 0; slot < TWHEEL_KEY_SLOTS; slot++)
			for (watch = at.bucket->slot[slot]; watch; watch = watch->key_next)
				if (watch->key.v[1] && hash <= watch->hash &&
				    watch->hash <= at.last)
					visits[watch->key.v[1] - 1]++;
		twheel_key_unlock(&at);
		hash = at.last + 1;
	} while (hash);
	for (i = 0; i < STAYING_KEYS; i++)
		expect(visits[i] == 1, "a walk visits a key that stays %u times", visits[i]);
}

static bool never(struct twheel_op *op, u64 *value)
{
	return false;
}

static void nothing(struct twheel_op *op)
{
}

static const struct twheel_op_ops alternating_ops = {
	.ended		= nothing,
	.release	= nothing,
	.try_complete	= never,
};

static struct twheel_op alternating;

static void *alternate(void *number)
{
	struct twheel_watch_spec spec = { .key = { { (uintptr_t)number } }, .need = 1 };
	struct twheel_watch *watches = calloc(ALTERNATIONS, sizeof(*watches));
	unsigned int i;

	rig_adopt("alternate", RIG_TASK);
	for (i = 0; i < ALTERNATIONS; i++) {
		expect(twheel_op_watch(&alternating, &spec, &watches[i], 1) == 1, "a watch failed");
		expect(!IS_ERR(twheel_op_unwatch(&alternating, &spec.key)), "an unwatch failed");
	}
	rig_leave();
	return watches;
}

static void check_last_keys(void)
{
	struct twheel_purgatory *purgatory = program_purgatory(1);
	struct twheel_op_args args = {
		.condition = TWHEEL_COND_PREDICATE, .deadline = TWHEEL_NEVER,
	};
	unsigned long threads[2];
	void *watches[2];
	unsigned int i;

	twheel_op_init(&alternating, &alternating_ops);
	expect(!twheel_op_add(purgatory, &alternating, &args), "an add failed");
	for (i = 0; i < 2; i++)
		threads[i] = rig_thread(alternate, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], &watches[i]);
	twheel_op_cancel(&alternating);
	twheel_op_put(&alternating);
	twheel_purgatory_destroy(purgatory);
	for (i = 0; i < 2; i++)
		free(watches[i]);
}

static void check_concurrent(void)
{
	struct key_op *ops = calloc(GROWN_KEYS + STAYING_KEYS, sizeof(*ops));
	struct key_op *staying = ops + GROWN_KEYS;
	unsigned long threads[THREADS];
	unsigned int i, round;
	u32 most = 0, least = UINT_MAX;
	int err = 0;

	shared = program_purgatory(2 * KERNEL_KEYS);
	for (i = 0; i < STAYING_KEYS; i++)
		err |= program_op_add(shared, &staying[i].op, TWHEEL_NEVER,
				      (struct twheel_key) { { 0, 1 + i } }, 0);
	for (i = 0; i < THREADS; i++)
		threads[i] = rig_thread(signal_own, (void *)(uintptr_t)(i + 1));
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < GROWN_KEYS; i++) {
			err |= add_op(shared, &ops[i], (1 + round) << 20 | i, 0);
			if (i % WALK_EVERY == 0)
				walk();
		}
		most = max(most, size_of(&shared->keys));
		for (i = 0; i < GROWN_KEYS; i++) {
			twheel_op_cancel(&ops[i].op.op);
			twheel_op_put(&ops[i].op.op);
			if (i % WALK_EVERY == 0)
				walk();
		}
		least = min(least, size_of(&shared->keys));
	}
	expect(!err, "an add failed: %d", err);
	WRITE_ONCE(stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("chains: signals found their keys while the table had %u to %u buckets\n", least,
	       most);
	expect(least < most, "the table kept its size");
	twheel_purgatory_destroy(shared);
	free(ops);
}

/* Adds against a drain */

static void op_free(struct twheel_op *op)
{
	kfree(op);
}

static const struct twheel_op_ops unkeyed_ops = { .ended = nothing, .release = op_free };

static void *add_unkeyed(void *arg)
{
	const struct twheel_op_args args = { .deadline = TWHEEL_NEVER };
	struct twheel_op *op;
	int err;

	rig_adopt("add", RIG_TASK);
	do {
		op = kzalloc(sizeof(*op), GFP_KERNEL);
		twheel_op_init(op, &unkeyed_ops);
		err = twheel_op_add(shared, op, &args);
		twheel_op_put(op);
	} while (!err || err == -ENOSPC);
	expect(err == -ESHUTDOWN, "an add failed with another error: %d", err);
	rig_leave();
	return NULL;
}

static void drain(void)
{
	twheel_purgatory_drain(shared);
}

static void complete_pending(void)
{
	twheel_complete_all(shared, 0, 0, 0);
}

/* Makes a call, and stays until kthread_stop(). */
static int make_call(void *fn)
{
	((void (*)(void))fn)();
	WRITE_ONCE(stop, true);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			return 0;
		schedule();
	}
}

static void check_drains(void)
{
	struct task_struct *drainer;
	unsigned long threads[THREADS];
	unsigned int i, round;

	for (round = 0; round < DRAINS; round++) {
		shared = program_purgatory(KERNEL_KEYS);
		WRITE_ONCE(stop, false);
		for (i = 0; i < THREADS; i++)
			threads[i] = rig_thread(add_unkeyed, NULL);
		/* Most of them add by now. */
		usleep_range(500, 1500);
		drainer = kthread_create(make_call, drain, "drain");
		wake_up_process(drainer);
		for (i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		/* The drain has returned, or waits for an operation that it has missed. */
		rig_settle();
		expect(READ_ONCE(stop), "drain %u has missed an operation", round);
		kthread_stop(drainer);
		twheel_purgatory_destroy(shared);
	}
	WRITE_ONCE(stop, false);
}

/* A watch that waits for memory */

static bool waits, resumed;

static void wait_in_alloc(void)
{
	/* The first one only. */
	if (xchg(&waits, true))
		return;
	while (!READ_ONCE(resumed))
		cpu_relax();
}

static void *watch_many(void *arg)
{
	struct twheel_op_args args = {
		.condition = TWHEEL_COND_PREDICATE, .deadline = TWHEEL_NEVER,
	};
	struct program_op *ops = arg;
	unsigned int i;

	rig_adopt("watch", RIG_TASK);
	for (i = 0; i < GROWN_KEYS && !READ_ONCE(waits); i++) {
		struct twheel_watch_spec spec = { .key = { { i } } };

		twheel_op_init(&ops[i].op, &alternating_ops);
		twheel_op_add(shared, &ops[i].op, &args);
		__twheel_op_watch(&ops[i].op, &spec, &ops[i].watch, 1, true);
	}
	expect(READ_ONCE(waits), "no watch has made the table grow");
	rig_leave();
	return NULL;
}

static void check_watch(void)
{
	struct program_op *ops = calloc(GROWN_KEYS, sizeof(*ops));
	struct twheel_purgatory_stats stats;
	struct task_struct *completer;
	unsigned long watcher;

	shared = program_purgatory(GROWN_KEYS);
	WRITE_ONCE(rig_at_alloc, wait_in_alloc);
	watcher = rig_thread(watch_many, ops);
	while (!READ_ONCE(waits))
		msleep(1);
	completer = kthread_create(make_call, complete_pending, "complete");
	wake_up_process(completer);
	rig_settle();
	expect(READ_ONCE(stop), "a call that completes all waits for a watch that sleeps");
	WRITE_ONCE(resumed, true);
	kthread_stop(completer);
	pthread_join(watcher, NULL);
	WRITE_ONCE(rig_at_alloc, NULL);
	complete_pending();
	twheel_purgatory_get_stats(shared, &stats);
	/* The end of the purgatory would wait for them for ever. */
	expect(!stats.pending, "%llu operations are found by no key", stats.pending);
	twheel_purgatory_destroy(shared);
	free(ops);
	WRITE_ONCE(stop, false);
}

int main(void)
{
	unsigned int nr;

	program_start(1, 1);
	check_drains();
	check_watch();
	check_concurrent();
	check_last_keys();
	pthread_join(rig_thread(check_without_memory, (void *)TWHEEL_OP_MAY_SLEEP), NULL);
	pthread_join(rig_thread(check_without_memory, NULL), NULL);
	check_kernel(TWHEEL_OP_MAY_SLEEP);
	check_kernel(0);
	for (nr = 1; nr <= MOST_OTHERS; nr *= 10)
		check_users(nr);
	if (program_end())
		return 1;
	printf("chains: SUCCESS: buckets are bounded by what adds do alone\n");
	return 0;
}
