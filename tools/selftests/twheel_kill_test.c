// SPDX-License-Identifier: GPL-2.0
/*
 * SIGKILL ends long calls between two chunks of their work: SIGNAL, CANCEL_KEY,
 * COMPLETE_ALL, DRAIN and BATCH. No operation is lost or ends twice, and the purgatory
 * works afterwards. Other signals do not end these calls. A process with a pending
 * SIGKILL takes no event from the queue.
 *
 * Machines differ too much for a limit in ms. A call is killed after a tenth of its time, with
 * enough operations for a long call, and must leave at least half of its work undone. Other load
 * delays the process that kills: after a miss the next call has more operations.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/uio.h>
#include "many.h"

#define NAME		"killed"

/* Number of calls killed in time, and of attempts: on a busy machine the kill may come late. */
#define ROUNDS		(virtual_time() ? 1 : 3)
#define ATTEMPTS	30

/* Duration of a call that is long compared with the wakeup of the process that kills it. */
#define LONG_CALL	(virtual_time() ? 2 * TURNS_NS : 50 * MSEC)

/* The duration that the number of operations is chosen for. */
#define AIM		(virtual_time() ? 5 * TURNS_NS : 75 * MSEC)

/* Number of operations of the first call, and the maximum. */
#define FEW		5000
#define MANY		200000

/* The amount that an operation waits for, which no test reaches. */
#define THRESHOLD	1000000000000000000ULL

/* Number of signals in a batch. */
#define BATCHED		16

/* Number of operations of a call that receives many other signals. */
#define OTHER_SIGNALS	6000

enum long_call {
	SIGNAL_KEY,
	CANCEL_KEY,
	COMPLETE_ALL,
	COMPLETE_OTHERS,
	DRAIN,
	BATCH,
};

FIXTURE(killed) {
	int fd;
	bool *began;
};

FIXTURE_VARIANT(killed) {
	enum long_call kind;
};

FIXTURE_VARIANT_ADD(killed, signal) { .kind = SIGNAL_KEY };
FIXTURE_VARIANT_ADD(killed, cancel_key) { .kind = CANCEL_KEY };
FIXTURE_VARIANT_ADD(killed, complete_all) { .kind = COMPLETE_ALL };
FIXTURE_VARIANT_ADD(killed, complete_others) { .kind = COMPLETE_OTHERS };
FIXTURE_VARIANT_ADD(killed, drain) { .kind = DRAIN };
FIXTURE_VARIANT_ADD(killed, batch) { .kind = BATCH };

static int create_and_open(void)
{
	remove_all_named();
	return create_named(NAME, 0600) ? -1 : twheel_open_named(NAME, O_NONBLOCK);
}

FIXTURE_SETUP(killed)
{
	self->fd = create_and_open();
	ASSERT_LE(0, self->fd);
	/* Shared with the child that makes the call. */
	self->began = mmap(NULL, sizeof(*self->began), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->began);
}

FIXTURE_TEARDOWN(killed)
{
	close(self->fd);
	remove_all_named();
}

/* Add operations that watch key 1; a signal of it completes none of them. */
static bool add_watchers(int fd, unsigned int nr)
{
	struct twheel_watch_spec spec = spec_of(1, 1);
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_SUM,
		.nr_keys = 1,
		.key_size = sizeof(spec),
		.keys = address(&spec),
		.threshold = THRESHOLD,
		.deadline = TWHEEL_NEVER,
	};

	return add_many(fd, &args, nr);
}

/* A batch with enough signals to be a long call. */
static int signal_in_a_batch(int fd)
{
	static __u64 space[BATCHED * TWHEEL_COMMAND_SIZE(TWHEEL_IOC_SIGNAL) / sizeof(__u64)];
	struct twheel_batch_args args = { .commands = address(space) };
	struct twheel_signal_args *signal;

	while (args.nr < BATCHED) {
		signal = put_command(&args, TWHEEL_IOC_SIGNAL);
		signal->key = key_of(1);
	}
	return call(fd, TWHEEL_IOC_BATCH, &args) || args.failed ? -1 : 0;
}

/* Return: number of ended operations, -1 with errno if refused. */
static long make_call(int fd, enum long_call kind)
{
	switch (kind) {
	case SIGNAL_KEY:
		return key_signal(fd, 1, 1);
	case CANCEL_KEY:
		return key_cancel(fd, 1);
	case COMPLETE_ALL:
		return complete_all(fd, 1, 0, 0);
	case COMPLETE_OTHERS:
		return complete_all(fd, 1, 0, TWHEEL_COMPLETE_OTHERS);
	case DRAIN:
		return drain(fd);
	case BATCH:
		return signal_in_a_batch(fd);
	}
	return -1;
}

/* Return: true if the call ends the operations. */
static bool ends_operations(enum long_call kind)
{
	return kind != SIGNAL_KEY && kind != BATCH;
}

/* Duration of a whole call on @nr operations, 0 on failure. */
static __u64 time_of_call(int fd, enum long_call kind, unsigned int nr)
{
	__u64 start, took, last;
	long ended;

	if (!add_watchers(fd, nr))
		return 0;
	start = now_ns();
	ended = make_call(fd, kind);
	took = now_ns() - start;
	if (ended != (ends_operations(kind) ? (long)nr : 0))
		return 0;
	if (!ends_operations(kind) && key_cancel(fd, 1) != (long)nr)
		return 0;
	return read_all_events(fd, &last) == nr ? took : 0;
}

/* Kill a child @moment after the start of the call. */
static void kill_in_call(int fd, enum long_call kind, bool *began, __u64 moment)
{
	pid_t child;

	*began = false;
	child = fork();
	if (!child) {
		__atomic_store_n(began, true, __ATOMIC_RELEASE);
		make_call(fd, kind);
		for (;;)
			pause();
	}
	while (!__atomic_load_n(began, __ATOMIC_ACQUIRE))
		sched_yield();
	usleep(moment / USEC);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Number of visits to an operation in a whole call. */
static unsigned int visits(enum long_call kind)
{
	return kind == BATCH ? BATCHED : 1;
}

/* Number of visits that a killed call has not made, -1 on failure. */
static long visits_left(int fd, enum long_call kind)
{
	static struct twheel_pending pending[1024];
	struct twheel_list_args args = {
		.entries = address(pending),
		.max_entries = ARRAY_SIZE(pending),
		.entry_size = sizeof(pending[0]),
	};
	long left = 0;
	__u32 i;

	while (args.cursor != TWHEEL_LIST_END) {
		args.nr = 0;
		if (call(fd, TWHEEL_IOC_LIST, &args))
			return -1;
		for (i = 0; i < args.nr; i++)
			left += visits(kind) - (THRESHOLD - pending[i].missing);
	}
	return left;
}

/* A drained file accepts no more operations. */
static int open_again(int fd, enum long_call kind)
{
	if (kind != DRAIN)
		return fd;
	close(fd);
	return create_and_open();
}

/* Number of operations for a long call, given the time for @nr operations. */
static unsigned int more_for(__u64 took, unsigned int nr)
{
	__u64 more = nr * AIM / took;

	return more < MANY ? more : MANY;
}

TEST_F(killed, call_ends_early)
{
	unsigned int nr = FEW, round, in_time = 0;
	__u64 whole, last;
	long all, left;

	while ((whole = time_of_call(self->fd, variant->kind, nr)) && whole < LONG_CALL &&
	       nr < MANY) {
		self->fd = open_again(self->fd, variant->kind);
		nr = more_for(whole, nr);
	}
	ASSERT_NE(0, whole);
	for (round = 0; round < ATTEMPTS && in_time < ROUNDS; round++) {
		self->fd = open_again(self->fd, variant->kind);
		ASSERT_TRUE(add_watchers(self->fd, nr));
		all = (long)nr * visits(variant->kind);
		kill_in_call(self->fd, variant->kind, self->began, whole / 10);
		left = visits_left(self->fd, variant->kind);
		ASSERT_LE(0, left);
		TH_LOG("%u operations, killed after %llu us of %llu: %ld of %ld visits left", nr,
		       whole / 10 / USEC, whole / USEC, left, all);
		EXPECT_LE(0, key_cancel(self->fd, 1));
		EXPECT_EQ(0, query(self->fd).pending);
		EXPECT_EQ(0, query(self->fd).watches);
		EXPECT_EQ(nr, read_all_events(self->fd, &last));
		if (left >= all / 2 && left < all)
			in_time++;
		else
			nr = nr < MANY / 2 ? 2 * nr : MANY;
	}
	if (whole < LONG_CALL)
		SKIP(return, "this machine is too fast to kill a call in time");
	EXPECT_EQ(ROUNDS, in_time);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST_F(killed, call_is_not_ended_by_other_signals)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = on_signal };
	__u64 last;
	long ended;

	ASSERT_TRUE(add_watchers(self->fd, OTHER_SIGNALS));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	ended = make_call(self->fd, variant->kind);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_EQ(ends_operations(variant->kind) ? OTHER_SIGNALS : 0, ended);
	if (!ends_operations(variant->kind))
		EXPECT_EQ(OTHER_SIGNALS, key_cancel(self->fd, 1));
	EXPECT_EQ(OTHER_SIGNALS, read_all_events(self->fd, &last));
}

FIXTURE(reader) {
	int fd;		/* blocking */
};

FIXTURE_SETUP(reader)
{
	self->fd = twheel_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(pin_to(0));
}

FIXTURE_TEARDOWN(reader)
{
	close(self->fd);
}

/* Read in an endless loop, in one of two ways, at idle priority. */
static void read_forever(int fd, bool pieces)
{
	struct sched_param param = { 0 };
	struct twheel_event events[2];
	struct iovec iov[2] = {
		{ &events[0], sizeof(events[0]) }, { &events[1], sizeof(events[1]) },
	};

	sched_setscheduler(0, SCHED_IDLE, &param);
	for (;;) {
		if (pieces)
			readv(fd, iov, 2);
		else
			read_events(fd, events, 2);
	}
}

/*
 * A child is killed while it sleeps in read(), then an event is queued, both before the
 * child runs again: it runs on the same CPU, at the lowest priority.
 */
TEST_F(reader, killed_process_takes_no_event)
{
	struct twheel_event event;
	unsigned int taken = 0;
	pid_t child;
	__u64 id;
	int i;

	for (i = 0; i < rounds(50); i++) {
		id = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
		child = fork();
		if (!child)
			read_forever(self->fd, i % 2);
		ASSERT_TRUE(wait_for(blocked_in(child, i % 2 ? SYS_readv : SYS_read)));
		kill(child, SIGKILL);
		ASSERT_EQ(1, key_signal(self->fd, 1, i));
		ASSERT_EQ(child, waitpid(child, NULL, 0));
		if (!readable(self->fd, 0)) {
			taken++;
			continue;
		}
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(id, event.id);
	}
	EXPECT_EQ(0, taken);
}

TEST_HARNESS_MAIN
