// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of io_uring race with the ends of their operations, with the exits of their rings, and
 * with cancels, completions and signals of other threads.
 *
 * Each thread has a ring at a time. It adds operations, some of them through a worker, runs its
 * task work, now and then as io_uring does for a thread that has exited, and lets the ring exit
 * with operations pending. Every command must complete exactly once. Its event must be in its
 * memory, or be read from the file if the result says so, or not exist if the exit has cancelled
 * the operation. All threads use one file.
 */
#include <stdio.h>

#include <rig/uring.h>

#include "program.h"

#define THREADS		3
#define OPS		64
#define KEYS		16
#define ROUNDS		8	/* of a ring */

struct slot {
	struct twheel_add_args args;
	struct twheel_event event;
	struct twheel_watch_spec spec;
	unsigned int completions;
	int res;
};

static struct file *file;
static struct slot slots[THREADS][OPS];
static u64 ids[THREADS * OPS];	/* of the latest operations, for other threads */
static u64 until, ops, unread, rest, exited, wrong, lost, twice;
static u32 ending;

static void completed(u64 user_data, int res)
{
	struct slot *slot = (struct slot *)user_data;

	slot->res = res;
	__atomic_add_fetch(&slot->completions, 1, __ATOMIC_RELEASE);
}

static void submit(struct rig_ring *ring, struct slot *slot, u64 what)
{
	struct twheel_uring_args area = {
		.args = (uintptr_t)&slot->args, .event = (uintptr_t)&slot->event,
	};
	struct io_uring_sqe sqe[2] = { { .cmd_op = TWHEEL_IOC_ADD, .user_data = (uintptr_t)slot } };

	*slot = (struct slot) {
		.args = program_add_args(what % 3 ? (what >> 8) % (2 * NSEC_PER_MSEC) :
					 TWHEEL_NEVER, &slot->spec, !!(what & BIT(33))),
		.spec.key.v[0] = (what >> 40) % KEYS,
	};
	slot->args.cookie = (uintptr_t)slot;
	memcpy(sqe->cmd, &area, sizeof(area));
	if (!(what >> 34 & 31)) {
		rig_ring_submit(ring, file, sqe, true);
		return;
	}
	rig_ring_submit(ring, file, sqe, false);
	__atomic_store_n(&ids[slot - slots[0]], slot->args.id, __ATOMIC_RELEASE);
}

/* All commands of the ring have completed. */
static void check(struct slot *slot)
{
	u64 *error = NULL;

	__atomic_add_fetch(&ops, 1, __ATOMIC_RELAXED);
	if (slot->completions != 1)
		error = slot->completions ? &twice : &lost;
	else if (slot->res == -ENODATA)
		__atomic_add_fetch(&unread, 1, __ATOMIC_RELAXED);
	else if (slot->res == -ECANCELED)
		__atomic_add_fetch(&exited, 1, __ATOMIC_RELAXED);
	else if (slot->res < TWHEEL_REASON_COMPLETED || slot->res > TWHEEL_REASON_CANCELLED ||
		 slot->event.reason != slot->res || slot->event.id != slot->args.id ||
		 slot->event.cookie != (uintptr_t)slot)
		error = &wrong;
	if (slot->res < 0 && slot->event.id)
		error = &wrong;
	if (error)
		__atomic_add_fetch(error, 1, __ATOMIC_RELAXED);
}

/* Submit to unused slots, while others are pending. */
static void run_ring(struct slot *own)
{
	struct rig_ring *ring = rig_ring_new(completed);
	unsigned int round, i, used = 0;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < OPS / ROUNDS; i++)
			submit(ring, &own[used++], rig_random());
		if (rig_random() & 1)
			usleep_range(1, 500);
		if (rig_random() & BIT(40))
			rig_ring_work(ring);
		else if (!(rig_random() & 7))
			rig_ring_work_fallback(ring);
	}
	rig_ring_exit(ring);
	for (i = 0; i < used; i++)
		check(&own[i]);
}

static void *submitter(void *arg)
{
	while (ktime_get_ns() < until)
		run_ring(arg);
	__atomic_add_fetch(&ending, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Read the events that were not delivered by rings: the file holds a limited number. */
static void read_rest(void)
{
	struct twheel_event events[16];
	ssize_t got;

	while ((got = rig_read(file, events, sizeof(events))) > 0)
		rest += got / sizeof(events[0]);
}

/* End operations of all threads by id and key, and read events. */
static void *ender(void *arg)
{
	struct twheel_signal_args signal = {};
	struct twheel_cancel_args cancel = {};
	struct twheel_complete_all_args all = {};
	u64 what;

	while (__atomic_load_n(&ending, __ATOMIC_ACQUIRE) < THREADS) {
		what = rig_random();
		cancel.id = __atomic_load_n(&ids[(what >> 8) % ARRAY_SIZE(ids)], __ATOMIC_ACQUIRE);
		signal.key.v[0] = (what >> 24) % KEYS;
		if (what & 1)
			rig_ioctl(file, TWHEEL_IOC_CANCEL, &cancel);
		else if (what & 0x3f0000000)
			rig_ioctl(file, TWHEEL_IOC_SIGNAL, &signal);
		else
			rig_ioctl(file, TWHEEL_IOC_COMPLETE_ALL, &all);
		if (!(what >> 32 & 1023))
			read_rest();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct twheel_query_args query = {};
	pthread_t threads[THREADS + 1];
	bool failed;
	int i;

	program_start(3, program_option(argv, "seed", 1));
	file = program_open("/dev/twheel");
	until = ktime_get_ns() + program_option(argv, "seconds", 10) * NSEC_PER_SEC;
	for (i = 0; i < THREADS; i++)
		BUG_ON(pthread_create(&threads[i], NULL, submitter, slots[i]));
	BUG_ON(pthread_create(&threads[i], NULL, ender, NULL));
	for (i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	read_rest();
	rig_ioctl(file, TWHEEL_IOC_QUERY, &query);
	failed = wrong || lost || twice || rest != unread || query.pending || query.user_ops ||
		 query.own || query.added != query.completed + query.expired + query.cancelled;
	rig_close(file);
	failed |= program_end();
	printf("ring: %s: %llu commands, %llu lost, %llu ended twice, %llu wrong; ",
	       failed ? "FAILURE" : "SUCCESS", ops, lost, twice, wrong);
	printf("%llu cancelled by an exit, %llu events read of %llu\n", exited, rest, unread);
	return failed;
}
