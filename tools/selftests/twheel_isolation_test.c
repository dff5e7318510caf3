// SPDX-License-Identifier: GPL-2.0
/*
 * Users do not delay each other: an operation of user B is not late when A writes anything to very
 * many cells. The programs isolation and bounds of the rig have very many operations of A, and very
 * many waiters for events of B; turn_kunit.c has the turns of users when the clock is set.
 *
 * Machines differ too much for a limit in ms: the lateness is compared with that of rounds without
 * them.
 */
#include "cell.h"
#include "named.h"

#define ROUNDS		5

/* Time for the wakeup of a thread on a busy machine, which may be emulated. */
#define WAKEUP		(virtual_time() ? WAKEUP_NS : 15 * MSEC)

FIXTURE(neighbours) {
	int b;
};

/*
 * On PREEMPT_RT the threads that the reapers of users wake compete with them, unless an
 * administrator gives the reapers a real-time priority. The bounds are for such reapers. The
 * threads that run timers of the kernel have a higher one: with the same, they wait until a reaper
 * sleeps.
 */
static bool prefer_reapers(void)
{
	const struct sched_param param = { .sched_priority = 1 }, higher = { .sched_priority = 2 };
	char path[32], name[16];
	unsigned int nr = 0;
	pid_t pid;
	FILE *file;

	for (pid = 1; on_preempt_rt() && pid < 32768; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (!fgets(name, sizeof(name), file))
			*name = '\0';
		fclose(file);
		if (!strncmp(name, "twheel-user/", 12))
			nr += !sched_setscheduler(pid, SCHED_FIFO, &param);
		else if (!strncmp(name, "ktimers/", 8))
			sched_setscheduler(pid, SCHED_FIFO, &higher);
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

/* A busy thread may end its time slice first: 0.7 ms on 7.3 with one CPU. */
#define SLICE		(virtual_time() ? MSEC : 0)

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
	__u64 quiet[2 * ROUNDS], late[2 * ROUNDS], usual, loaded;
	unsigned int nr, i;
	int ready[2];
	cell_t *cells;
	pid_t pid;

	cells = map_cells(self->b, 1);
	if (!cells && lacks_cells(errno))
		SKIP(return, "no cells on this machine");
	ASSERT_NE(NULL, cells);
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
	usual = median(quiet, ARRAY_SIZE(quiet));
	loaded = median(late, ARRAY_SIZE(late));
	TH_LOG("%llu us late, with %u cells %llu us, at most %llu us", usual / USEC, nr,
	       loaded / USEC, late[ARRAY_SIZE(late) - 1] / USEC);
	EXPECT_LE(loaded, 4 * usual + WAKEUP + SLICE);
}

TEST_HARNESS_MAIN
