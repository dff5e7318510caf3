// SPDX-License-Identifier: GPL-2.0
/*
 * Cells by the functions of libtwheel: threads that use them while the kernel looks at the words,
 * and a child. This program has the library's source, as there is no library of 32 bits.
 */
#include <sched.h>
#include "selftest.h"
#include <twheel_cells.h>
#include "../lib/twheel.c"
#include "../lib/batch.c"
#include "../lib/cells.c"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x80
#endif

#define NR	64

/* Few, so that a touch often meets the end of its cell. */
#define TOUCHED	4

/* A life, and its deadline after the last touch that succeeded. One thread touches a cell. */
struct life {
	uint64_t handle;
	uint64_t touched;
};

static struct twheel_cell_map map;
static struct twheel_cell_pool pool;
static struct life lives[NR];
static bool stop;

FIXTURE(libcell) {
	int fd;
};

FIXTURE_SETUP(libcell)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	if (twheel_cell_map_init(&map, self->fd, NR)) {
		ASSERT_TRUE(lacks_cells(errno));
		SKIP(return, "no cells on this machine");
	}
	twheel_cell_pool_init(&pool, &map, CLOCK_MONOTONIC);
	stop = false;
}

FIXTURE_TEARDOWN(libcell)
{
	close(self->fd);
	twheel_cell_map_free(&map);
}

static uint64_t take(int fd, struct twheel_event *event, uint64_t *cookie)
{
	return next_event(fd, event) ? twheel_cell_event(&map, event, cookie) : 0;
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static uint64_t handle_of(const struct life *life)
{
	return __atomic_load_n(&life->handle, __ATOMIC_ACQUIRE);
}

/* Touch each second cell at about its end, until the kernel's tick comes first. */
static void *toucher(void *me)
{
	unsigned int random = now_ns(), nr;
	uint64_t handle, now, deadline;

	while (!stopped()) {
		usleep(rand_r(&random) % 200);
		nr = rand_r(&random) % (TOUCHED / 2) * 2 + (long)me;
		handle = handle_of(&lives[nr]);
		now = now_ns();
		if (twheel_cell_remaining(&pool, handle, now) > 100 * USEC || rand_r(&random) % 4)
			continue;
		deadline = now + rand_r(&random) % MSEC;
		if (!twheel_cell_touch(&pool, handle, deadline))
			__atomic_store_n(&lives[nr].touched, (handle & TWHEEL_CELL_LIFE) |
					 twheel_cell_time(&pool, deadline), __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Each life ends once, and none before its last touch. */
TEST_F(libcell, threads_touch_while_cells_expire)
{
	struct twheel_event event;
	pthread_t threads[2];
	uint64_t touched, cookie, handle;
	int i, left = rounds(5000);
	long nr;

	for (i = 0; i < TOUCHED; i++) {
		ASSERT_EQ(i, twheel_cell_acquire(&pool, i));
		lives[i].handle = twheel_cell_arm(&pool, i, now_ns() + 2 * MSEC);
		ASSERT_NE(0, lives[i].handle);
	}
	for (nr = 0; nr < 2; nr++)
		ASSERT_EQ(0, pthread_create(&threads[nr], NULL, toucher, (void *)nr));
	for (; left; left--) {
		handle = take(self->fd, &event, &cookie);
		ASSERT_NE(0, handle);
		ASSERT_LT(cookie, TOUCHED);
		EXPECT_EQ(lives[cookie].handle, handle);
		EXPECT_LE(event.deadline, event.time);
		EXPECT_EQ(event.cell | TWHEEL_CELL_ENDED,
			  __atomic_load_n(&map.cells[cookie], __ATOMIC_ACQUIRE));
		touched = __atomic_load_n(&lives[cookie].touched, __ATOMIC_ACQUIRE);
		if (!((touched ^ event.cell) & TWHEEL_CELL_LIFE))
			EXPECT_LE(touched, event.cell);
		handle = twheel_cell_arm(&pool, cookie, now_ns() + left % 3 * MSEC);
		ASSERT_NE(0, handle);
		__atomic_store_n(&lives[cookie].handle, handle, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (nr = 0; nr < 2; nr++)
		pthread_join(threads[nr], NULL);
	for (i = 0; i < TOUCHED; i++)
		EXPECT_NE(0, take(self->fd, &event, &cookie));
	EXPECT_NO_EVENT(self->fd);
}

static bool failed;

/* Acquire, arm and release cells, often too late. */
static void *user(void *mine)
{
	struct twheel_cell_pool *from = mine;
	unsigned int random = now_ns(), i;
	uint64_t handle, end;
	int cell;

	while (!stopped()) {
		cell = twheel_cell_acquire(from, 1);
		/* All cells wait for their events. */
		if (cell < 0)
			continue;
		for (i = rand_r(&random) % 3; i; i--) {
			end = now_ns() + rand_r(&random) % MSEC;
			handle = twheel_cell_arm(from, cell, end - rand_r(&random) % MSEC);
			/* The event of the previous life is on its way. */
			if (!handle && errno == EBUSY)
				break;
			if (!handle)
				__atomic_store_n(&failed, true, __ATOMIC_RELEASE);
			while (now_ns() < end)
				;
			if (rand_r(&random) % 2 && twheel_cell_cancel(from, handle))
				break;
		}
		twheel_cell_release(from, cell);
	}
	return NULL;
}

static bool waits_for_event(void)
{
	unsigned int i;

	for (i = 0; i < map.used; i++)
		if (map.slots[i].state & TWHEEL_CELL_RELEASED)
			return true;
	return false;
}

/* No cell is lost, and none is in two lists. */
TEST_F(libcell, threads_release_while_cells_expire)
{
	struct twheel_cell_pool pools[2];
	struct twheel_event event;
	pthread_t threads[2];
	uint64_t cookie;
	unsigned int nr;
	int i, cell;

	failed = false;
	for (i = 0; i < 2; i++) {
		twheel_cell_pool_init(&pools[i], &map, CLOCK_MONOTONIC);
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, user, &pools[i]));
	}
	for (i = rounds(5000); i; i--) {
		ASSERT_TRUE(next_event(self->fd, &event));
		twheel_cell_event(&map, &event, &cookie);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	EXPECT_FALSE(failed);
	while (waits_for_event()) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(0, twheel_cell_event(&map, &event, &cookie));
	}
	EXPECT_NO_EVENT(self->fd);
	for (nr = 0; nr < map.nr; nr++) {
		cell = twheel_cell_acquire(&pools[0], 2);
		if (cell < 0)
			cell = twheel_cell_acquire(&pools[1], 2);
		ASSERT_LE(0, cell);
		/* An operation of a cell that was acquired twice would be armed. */
		ASSERT_NE(0, twheel_cell_arm(&pool, cell, now_ns() + HOUR));
	}
	EXPECT_EQ(-1, twheel_cell_acquire(&pools[0], 2));
	EXPECT_EQ(map.nr, query(self->fd).own);
}

/* Move each deadline by a unit, as fast as possible. */
static void *creeper(void *unused)
{
	uint64_t left;
	int i;

	while (!stopped())
		for (i = 0; i < NR; i++) {
			left = twheel_cell_remaining(&pool, lives[i].handle, 0);
			twheel_cell_touch(&pool, lives[i].handle,
					  left + (1 << TWHEEL_CELL_SHIFT));
		}
	return unused;
}

/* The call finds another word, and is made again. */
TEST_F(libcell, deadlines_are_lowered_while_a_thread_touches)
{
	uint64_t handles[NR], cookie;
	struct twheel_event event;
	pthread_t thread;
	int i, round;

	for (i = 0; i < NR; i++)
		ASSERT_EQ(i, twheel_cell_acquire(&pool, i));
	for (round = 0; round < rounds(20); round++) {
		stop = false;
		for (i = 0; i < NR; i++) {
			lives[i].handle = twheel_cell_arm(&pool, i, now_ns() + HOUR);
			ASSERT_NE(0, lives[i].handle);
			handles[i] = lives[i].handle;
		}
		ASSERT_EQ(0, pthread_create(&thread, NULL, creeper, NULL));
		EXPECT_EQ(0, twheel_cell_move_all(&pool, handles, NR, now_ns() + SEC));
		EXPECT_EQ(0, twheel_cell_move_all(&pool, handles, NR, now_ns() - SEC));
		__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
		/* It may have touched a cell by a deadline that it had read before. */
		for (i = 0; i < NR; i++)
			EXPECT_EQ(0, twheel_cell_move(&pool, handles[i], now_ns() - SEC) &&
				  errno != ENOENT);
		for (i = 0; i < NR; i++) {
			ASSERT_NE(0, take(self->fd, &event, &cookie));
			EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
		}
	}
}

/* It may also lower deadlines. */
TEST_F(libcell, child_of_fork_maps_the_cells_itself)
{
	struct twheel_event event;
	uint64_t cookie;
	pid_t child;
	int i;

	for (i = 0; i < 2; i++) {
		twheel_cell_acquire(&pool, i);
		lives[i].handle = twheel_cell_arm(&pool, i, now_ns() + HOUR);
		ASSERT_NE(0, lives[i].handle);
	}
	child = fork();
	if (!child)
		_exit(twheel_cell_remap(&map) ||
		      twheel_cell_move(&pool, lives[0].handle, now_ns()) ||
		      twheel_cell_cancel(&pool, lives[1].handle));
	EXPECT_TRUE(child_exited_well(child));
	EXPECT_EQ(lives[0].handle, take(self->fd, &event, &cookie));
	EXPECT_EQ(-1, twheel_cell_touch(&pool, lives[1].handle, now_ns()));
	EXPECT_NE(0, twheel_cell_arm(&pool, 1, now_ns() + 2 * HOUR));
	EXPECT_NO_EVENT(self->fd);
}

/* The clock is an hour ahead. */
TEST_F(libcell, deadlines_are_in_the_time_namespace)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	FILE *file = unshare(CLONE_NEWTIME) ? NULL : fopen("/proc/self/timens_offsets", "w");
	struct twheel_event event;
	uint64_t handle, cookie, now;
	int i;

	if (!file)
		SKIP(return, "no time namespaces");
	fprintf(file, "monotonic 3600 0\nboottime 3600 0\n");
	ASSERT_EQ(0, fclose(file));
	ASSERT_EQ(0, setns(open("/proc/self/ns/time_for_children", O_RDONLY), CLONE_NEWTIME));
	twheel_cell_map_free(&map);
	ASSERT_EQ(0, twheel_cell_map_init(&map, self->fd, NR));
	EXPECT_EQ((int64_t)HOUR, map.offset[0]);
	for (i = 0; i < 2; i++) {
		twheel_cell_pool_init(&pool, &map, clocks[i]);
		now = time_by(clocks[i]);
		handle = twheel_cell_arm(&pool, twheel_cell_acquire(&pool, 5), now + HOUR);
		ASSERT_NE(0, handle);
		EXPECT_GE(HOUR + MSEC, twheel_cell_remaining(&pool, handle, now));
		EXPECT_EQ(0, twheel_cell_touch(&pool, handle, now + 2 * HOUR));
		EXPECT_GE(2 * HOUR + MSEC, twheel_cell_remaining(&pool, handle, now));
		EXPECT_LE(2 * HOUR, twheel_cell_remaining(&pool, handle, now));
		EXPECT_EQ(0, twheel_cell_move(&pool, handle, now + 20 * MSEC));
		EXPECT_EQ(handle, take(self->fd, &event, &cookie));
		EXPECT_LE(now + 20 * MSEC, event.time);
	}
}

TEST_HARNESS_MAIN
