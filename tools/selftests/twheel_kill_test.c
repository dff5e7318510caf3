// SPDX-License-Identifier: GPL-2.0
/*
 * SIGKILL ends long calls between two chunks of their work: SIGNAL, CANCEL_KEY,
 * COMPLETE_ALL, DRAIN and BATCH. No operation is lost or ends twice, and the purgatory
 * works afterwards. Other signals do not end these calls. A process with a pending
 * SIGKILL takes no event from the queue, and wakes the next reader at its end.
 */
#include <signal.h>
#include <sys/time.h>
#include "named.h"

#define NAME		"killed"

/* Number of operations of the first call, and the maximum. */
#define FEW		40000
#define MANY		200000

/* Attempts to kill a call in time. */
#define ATTEMPTS	30

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

/* A drained file accepts no more operations: start each attempt with a new one. */
static int create_and_open(void)
{
	remove_all_named();
	return create_named(NAME, 0600) ? -1 : twheel_open_named(NAME, O_NONBLOCK);
}

/* The process that kills and the call share a CPU, so that the one interrupts the other. */
FIXTURE_SETUP(killed)
{
	self->fd = create_and_open();
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(pin_to(0));
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

/* Add operations that a signal of key 1 completes. */
static bool add_watchers(int fd, unsigned int nr)
{
	struct twheel_watch_spec spec = spec_of(1, 1);
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_ANY,
		.nr_keys = 1,
		.key_size = sizeof(spec),
		.keys = address(&spec),
		.deadline = TWHEEL_NEVER,
	};

	return add_many(fd, &args, nr);
}

/* Each signal of the batch completes its share of @nr operations. */
static long signal_in_a_batch(int fd, unsigned int nr)
{
	static __u64 space[BATCHED * TWHEEL_COMMAND_SIZE(TWHEEL_IOC_SIGNAL) / sizeof(__u64)];
	struct twheel_result results[BATCHED];
	struct twheel_batch_args args = {
		.commands = address(space), .results = address(results),
		.result_size = sizeof(results[0]),
	};
	struct twheel_signal_args *signal;
	long ended = 0;

	while (args.nr < BATCHED) {
		signal = put_command(&args, TWHEEL_IOC_SIGNAL);
		signal->key = key_of(1);
		signal->limit = nr / BATCHED + 1;
	}
	if (call(fd, TWHEEL_IOC_BATCH, &args) || args.failed)
		return -1;
	while (args.done)
		ended += results[--args.done].value;
	return ended;
}

/* A call that ends @nr operations. Return: number of ended operations, -1 if refused. */
static long make_call(int fd, enum long_call kind, unsigned int nr)
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
		return signal_in_a_batch(fd, nr);
	}
	return -1;
}

/* Kill a child in the call. */
static void kill_in_call(int fd, enum long_call kind, unsigned int nr, bool *began)
{
	pid_t child;

	*began = false;
	child = fork();
	if (!child) {
		__atomic_store_n(began, true, __ATOMIC_RELEASE);
		make_call(fd, kind, nr);
		for (;;)
			pause();
	}
	while (!__atomic_load_n(began, __ATOMIC_ACQUIRE))
		sched_yield();
	usleep(500);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/*
 * Machines differ too much for a limit in ms. The call must leave at least half of its work undone,
 * with enough operations for the process that kills it to be in time.
 */
TEST_F(killed, call_ends_early)
{
	unsigned int nr = FEW, attempt;
	bool in_time = false;
	__u64 left;

	for (attempt = 0; attempt < ATTEMPTS && !in_time; attempt++) {
		ASSERT_TRUE(add_watchers(self->fd, nr));
		kill_in_call(self->fd, variant->kind, nr, self->began);
		left = query(self->fd).pending;
		TH_LOG("%llu of %u operations left", left, nr);
		in_time = left >= nr / 2 && left < nr;
		EXPECT_EQ((long)left, key_cancel(self->fd, 1));
		EXPECT_EQ(0, query(self->fd).pending);
		EXPECT_EQ(0, query(self->fd).watches);
		EXPECT_EQ(nr, read_all_events(self->fd));
		/* Unless it was killed before the call. */
		if (left < nr)
			nr = nr < MANY / 2 ? 2 * nr : MANY;
		close(self->fd);
		self->fd = create_and_open();
	}
	EXPECT_TRUE(in_time);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST_F(killed, call_is_not_ended_by_other_signals)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = on_signal };
	long ended;

	ASSERT_TRUE(add_watchers(self->fd, OTHER_SIGNALS));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	ended = make_call(self->fd, variant->kind, OTHER_SIGNALS);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_EQ(OTHER_SIGNALS, ended);
	EXPECT_EQ(OTHER_SIGNALS, read_all_events(self->fd));
}

/* A blocking file; this process and its children share a CPU. */
FIXTURE_OF_A_FILE(reader, pin_to(0) ? twheel_open(0) : -1);

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

/* In the same way, the reader that is woken for the end of the queue has been killed. */
TEST_F(reader, killed_process_wakes_the_next_reader_at_the_end)
{
	struct twheel_event event;
	pid_t killed, other;
	int status = -1;

	killed = fork();
	if (!killed)
		read_forever(self->fd, false);
	ASSERT_TRUE(wait_for(blocked_in(killed, SYS_read)));
	other = fork();
	if (!other)
		_exit(read_events(self->fd, &event, 1) != 0);
	ASSERT_TRUE(wait_for(blocked_in(other, SYS_read)));
	kill(killed, SIGKILL);
	EXPECT_EQ(0, drain(self->fd));
	ASSERT_EQ(killed, waitpid(killed, NULL, 0));
	EXPECT_TRUE(wait_for(waitpid(other, &status, WNOHANG) == other));
	EXPECT_EQ(0, status);
	if (status < 0)
		kill(other, SIGKILL);
}

TEST_HARNESS_MAIN
