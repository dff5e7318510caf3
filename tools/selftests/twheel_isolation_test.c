// SPDX-License-Identifier: GPL-2.0
/*
 * Users do not delay each other: an operation of user B is not late when the detached events of B
 * have many waiters of A, nor when A writes anything to very many cells. When the clock is set, B
 * waits for one turn of each other user. The program isolation of the rig adds very many operations
 * of A.
 *
 * Machines differ too much for a limit in ms: the lateness is compared with that of rounds without
 * waiters.
 */
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "cell.h"
#include "named.h"

#define ROUNDS		5

/* Time from the deadline of the operations of A to the deadline of B. */
#define BEHIND		(2 * MSEC)

/* Time for the wakeup of a thread on a busy machine, which may be emulated. */
#define WAKEUP		(virtual_time() ? WAKEUP_NS : 15 * MSEC)

FIXTURE(neighbours) {
	int b;
};

/*
 * On PREEMPT_RT the threads that the reapers of users wake compete with them, unless an
 * administrator gives the reapers a real-time priority. The bounds are for such reapers.
 */
static bool prefer_reapers(void)
{
	const struct sched_param param = { .sched_priority = 1 };
	char path[32], name[16];
	unsigned int nr = 0;
	pid_t pid;
	FILE *file;

	for (pid = 1; on_preempt_rt() && pid < 32768; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && !strncmp(name, "twheel-user/", 12))
			nr += !sched_setscheduler(pid, SCHED_FIFO, &param);
		fclose(file);
	}
	return !on_preempt_rt() || nr;
}

FIXTURE_SETUP(neighbours)
{
	ASSERT_TRUE(pin_to(0));
	self->b = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->b);
	ASSERT_TRUE(prefer_reapers());
	settle();
}

FIXTURE_TEARDOWN(neighbours)
{
	close(self->b);
}

/* A thread that wakes many waiters may end its time slice first: 0.7 ms on 7.3 with one CPU. */
#define SLICE		(virtual_time() ? MSEC : 0)

#define EVENTS_FDS	40
#define DETACHED	20

/*
 * Lateness, after its tick, of an operation of B that is due after detached ones of B, whose events
 * are read.
 */
static __u64 late_after_detached(int fd, int named, int events)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME | TWHEEL_ADD_DETACHED,
		.clock = CLOCK_MONOTONIC,
	};
	struct twheel_event event;
	__u64 due = now_ns() + 20 * MSEC;
	bool added;
	__u64 last;

	args.deadline = due;
	added = act_for(NEIGHBOUR) && add_many(named, &args, DETACHED);
	args.flags = TWHEEL_ADD_ABSTIME;
	args.deadline = due + BEHIND;
	added &= !op_add(fd, &args);
	if (!act_for(0) || !added || !next_event(fd, &event) || event.id != args.id)
		return KTIME_LAST;
	return read_all_events(events, &last) ? event.time - tick_end(fd, event.deadline) :
						KTIME_LAST;
}

/* Median, since in real time a single round may be late, whatever it waits for. */
static __u64 median_late(int fd, int named, int events)
{
	__u64 late[ROUNDS];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		late[i] = late_after_detached(fd, named, events);
		if (late[i] == KTIME_LAST)
			return KTIME_LAST;
	}
	return median(late, ROUNDS);
}

/* All epoll instances of A wait for all descriptors of the detached events. */
TEST_F(neighbours, lateness_does_not_grow_with_waiters_of_another_user)
{
	struct rlimit files = { 2048, 2048 };
	struct epoll_event in = { .events = EPOLLIN | EPOLLET };
	__u64 late, quiet;
	int fd, events[EVENTS_FDS], epfd[1000];
	unsigned int nr, i;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	ASSERT_EQ(0, create_named("waiters", 0600));
	fd = twheel_open_named("waiters", O_NONBLOCK);
	for (i = 0; i < EVENTS_FDS; i++) {
		events[i] = open_events(fd, O_NONBLOCK);
		ASSERT_LE(0, events[i]);
	}
	quiet = median_late(self->b, fd, events[0]);
	ASSERT_NE(KTIME_LAST, quiet);
	for (nr = 0; nr < ARRAY_SIZE(epfd); nr++) {
		epfd[nr] = epoll_create1(EPOLL_CLOEXEC);
		for (i = 0; i < EVENTS_FDS; i++)
			ASSERT_EQ(0, epoll_ctl(epfd[nr], EPOLL_CTL_ADD, events[i], &in));
	}
	late = median_late(self->b, fd, events[0]);
	TH_LOG("%llu us late, with %u waiters %llu us", quiet / USEC, nr * EVENTS_FDS, late / USEC);
	EXPECT_LE(late, 4 * quiet + WAKEUP + SLICE);
	while (nr)
		close(epfd[--nr]);
	for (i = 0; i < EVENTS_FDS; i++)
		close(events[i]);
	close(fd);
	EXPECT_EQ(0, remove_by_force("waiters"));
}

#define CELLS		(virtual_time() ? 100000 : 10000)
#define AHEAD		(20 * MSEC)
#define FIRST_LOOK	(500 * MSEC)

/* Operations of A with cells, whose words change at full speed until this process is killed. */
static void write_rubbish(int ready)
{
	unsigned int nr = CELLS, i;
	__u64 word, random = 1, at;
	cell_t *cells;
	int fd;

	fd = act_for(NEIGHBOUR) ? twheel_open(O_NONBLOCK) : -1;
	cells = fd < 0 ? NULL : map_cells(fd, nr);
	for (i = 0; cells && i < nr; i++)
		if (!add_cell(fd, i, FIRST_LOOK, 0))
			_exit(KSFT_FAIL);
	if (!cells)
		_exit(KSFT_FAIL);
	for (i = 0, at = now_ns() + FIRST_LOOK;; i = (i + 1) % nr) {
		if (!i)
			word = units(now_ns() + AHEAD);
		if (!i && at && now_ns() > at) {
			if (write(ready, &nr, sizeof(nr)) != sizeof(nr))
				_exit(KSFT_FAIL);
			at = 0;
		}
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		/* Most of them as soon as the kernel looks, so that it looks very often. */
		__atomic_store_n(&cells[i], random >> 58 ? (word + (random >> 60)) | LIFE :
							   random << 6, __ATOMIC_RELAXED);
	}
}

/* Lateness of an operation after its tick */
static __u64 late_alone(int fd)
{
	struct twheel_event event;
	__u64 due;

	if (!add_deadline(fd, 15 * MSEC, 0, 0) || !next_event(fd, &event))
		return KTIME_LAST;
	due = tick_end(fd, event.deadline);
	return event.time > due ? event.time - due : 0;
}

/* The reaper of A looks at 5 million cells a second, and so is always runnable. */
TEST_F(neighbours, lateness_does_not_grow_with_rubbish_in_cells_of_another_user)
{
	__u64 quiet[2 * ROUNDS], late[2 * ROUNDS];
	unsigned int nr, i;
	int ready[2];
	cell_t *cells;
	pid_t pid;

	cells = map_cells(self->b, 1);
	if (!cells && errno == EOPNOTSUPP)
		SKIP(return, "no cells on this machine");
	for (i = 0; i < ARRAY_SIZE(quiet); i++)
		quiet[i] = late_alone(self->b);
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		write_rubbish(ready[1]);
	close(ready[1]);
	ASSERT_EQ((ssize_t)sizeof(nr), read(ready[0], &nr, sizeof(nr)));
	for (i = 0; i < ARRAY_SIZE(late); i++)
		late[i] = late_alone(self->b);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	close(ready[0]);
	TH_LOG("%llu us late, with %u cells %llu us, at most %llu us",
	       median(quiet, ARRAY_SIZE(quiet)) / USEC, nr, median(late, ARRAY_SIZE(late)) / USEC,
	       late[ARRAY_SIZE(late) - 1] / USEC);
	EXPECT_LE(median(late, ARRAY_SIZE(late)),
		  4 * median(quiet, ARRAY_SIZE(quiet)) + WAKEUP + SLICE);
}

/* The clock is set: users with other ids have deadlines that may follow it, or are cancelled. */
#define IDS		2000
#define FIRST_ID	100000

/*
 * By how much the notice of a user is late at most, in virtual time, before and after other users.
 * No user is visited before the turns, and each of the others has one, which ends an operation:
 * measured are 11 us, and 2.2 us for each other user.
 */
#define NOTICE_FIRST	(2 * WAKEUP_NS)
#define NOTICE_LAST	(NOTICE_FIRST + IDS * 3 * USEC)

/* Add an operation of a user that is cancelled when the clock is set. Return: its file, or -1. */
static int add_on_set(uid_t user)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME | TWHEEL_ADD_CANCEL_ON_SET,
		.clock = CLOCK_REALTIME,
		.deadline = time_by(CLOCK_REALTIME) + 24 * HOUR,
	};
	int fd = act_for(user) ? twheel_open(O_NONBLOCK) : -1;

	return fd >= 0 && !op_add(fd, &args) ? fd : -1;
}

/* Time from a change of the clock to the end of the operation of a file; KTIME_LAST on failure. */
static __u64 notice_after(int fd, __u64 set)
{
	struct twheel_event event;

	return next_event(fd, &event) && event.error == -ECANCELED ? event.time - set : KTIME_LAST;
}

/* One neighbour was there before the others, and one comes after them. */
TEST(notice_of_a_set_clock_does_not_wait_for_other_ids)
{
	struct rlimit files = { IDS + 100, IDS + 100 };
	__u64 monotonic = now_ns(), wall = time_by(CLOCK_REALTIME), set, first, last;
	int fds[IDS + 2], i;

	ASSERT_TRUE(pin_to(0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	for (i = 0; i < IDS + 2; i++) {
		fds[i] = add_on_set(FIRST_ID + i);
		ASSERT_LE(0, fds[i]);
	}
	ASSERT_TRUE(act_for(0));
	settle();
	set = time_by(CLOCK_REALTIME) + HOUR;
	ASSERT_TRUE(set_wall_clock(set));
	first = notice_after(fds[0], set);
	last = notice_after(fds[IDS + 1], set);
	set_wall_clock(wall + now_ns() - monotonic);
	TH_LOG("with %d other ids: %llu and %llu us late", IDS, first / USEC, last / USEC);
	if (virtual_time()) {
		EXPECT_GE(NOTICE_FIRST, first);
		EXPECT_GE(NOTICE_LAST, last);
	}
	for (i = 0; i < IDS + 2; i++)
		close(fds[i]);
}

TEST_HARNESS_MAIN
