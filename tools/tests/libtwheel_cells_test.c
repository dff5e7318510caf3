// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of twheel_cells.h on the fake device, which is linked to the program: what the tests of the
 * bindings, on the device too, do not see.
 */
#include <fcntl.h>
#include <string.h>
#include <twheel_cells.h>
#include <unistd.h>

#include "tap.h"

#define MSEC	1000000ULL
#define HOUR	(3600 * 1000 * MSEC)
#define UNIT	((uint64_t)(1U << TWHEEL_CELL_SHIFT))
#define NR	600

static struct twheel_cell_map map;
static struct twheel_cell_pool pool;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void start(void)
{
	CHECK(!twheel_cell_map_init(&map, twheel_open(0), NR));
	twheel_cell_pool_init(&pool, &map, CLOCK_MONOTONIC);
}

static void finish(void)
{
	close(map.fd);
	twheel_cell_map_free(&map);
}

static uint64_t word_of(uint64_t handle)
{
	return *__twheel_cell_at(&pool, handle);
}

/* Wait for an event. Return: its handle. */
static uint64_t take(uint64_t *cookie)
{
	struct twheel_event event;

	CHECK(twheel_read_events(map.fd, &event, 1) == 1);
	return twheel_cell_event(&map, &event, cookie);
}

/* Acquire and arm. */
static uint64_t armed(uint64_t cookie, uint64_t deadline)
{
	int cell = twheel_cell_acquire(&pool, cookie);

	return cell < 0 ? 0 : twheel_cell_arm(&pool, cell, deadline);
}

static int cell_of(uint64_t handle)
{
	return (uint32_t)handle - 1;
}

/* Calls fail from now on, or no longer. */
static void allow_calls(bool allowed)
{
	static int fd;

	if (!allowed)
		fd = map.fd;
	map.fd = allowed ? fd : -1;
}

#define FAILS(error, call)						\
	do {								\
		errno = 0;						\
		CHECK(call);						\
		CHECK(errno == (error));				\
	} while (0)

TEST("a cell is cancelled and armed without a call")
{
	uint64_t handle, late, deadline = now() + HOUR;
	int i;

	start();
	handle = armed(1, deadline);
	allow_calls(false);
	for (i = 0; i < 10; i++) {
		late = handle;
		CHECK(!twheel_cell_cancel(&pool, handle));
		FAILS(ENOENT, twheel_cell_cancel(&pool, handle) == -1);
		FAILS(ENOENT, twheel_cell_touch(&pool, handle, deadline + HOUR) == -1);
		handle = twheel_cell_arm(&pool, cell_of(handle), deadline + i);
		CHECK(handle && handle != late);
		FAILS(ENOENT, twheel_cell_touch(&pool, late, deadline + HOUR) == -1);
		FAILS(ENOENT, twheel_cell_cancel(&pool, late) == -1);
		FAILS(ENOENT, twheel_cell_move(&pool, late, deadline + HOUR) == -1);
	}
	allow_calls(true);
	finish();
}

TEST("a released cell is used by the next arming")
{
	uint64_t first, second, deadline = now() + HOUR, cookie = 0;

	start();
	first = armed(1, deadline);
	allow_calls(false);
	twheel_cell_release(&pool, cell_of(first));
	FAILS(ENOENT, twheel_cell_touch(&pool, first, deadline) == -1);
	second = armed(2, deadline + HOUR);
	CHECK(second && cell_of(second) == cell_of(first));
	allow_calls(true);
	CHECK(!twheel_cell_move(&pool, second, now()));
	CHECK(take(&cookie) == second);
	CHECK(cookie == 2);
	finish();
}

TEST("an earlier deadline is a call")
{
	uint64_t handle, deadline = now() + HOUR, cookie;

	start();
	handle = armed(1, deadline);
	allow_calls(false);
	CHECK(!twheel_cell_move(&pool, handle, deadline + HOUR));
	FAILS(EBADF, twheel_cell_move(&pool, handle, deadline) == -1);
	CHECK(twheel_cell_remaining(&pool, handle, deadline) > HOUR - 1);
	CHECK(!twheel_cell_cancel(&pool, handle));
	FAILS(EBADF, !twheel_cell_arm(&pool, cell_of(handle), deadline));
	allow_calls(true);
	handle = twheel_cell_arm(&pool, cell_of(handle), deadline);
	CHECK(handle);
	CHECK(twheel_cell_remaining(&pool, handle, deadline) <= UNIT);
	CHECK(!twheel_cell_move(&pool, handle, now()));
	CHECK(take(&cookie) == handle);
	finish();
}

TEST("several deadlines are lowered")
{
	uint64_t handles[101], same[101], cookie, ended;
	unsigned int i;

	start();
	for (i = 0; i < 100; i++) {
		handles[i] = armed(i, now() + HOUR);
		CHECK(handles[i]);
	}
	CHECK(!twheel_cell_cancel(&pool, handles[5]));
	ended = handles[5];
	handles[100] = 0;
	memcpy(same, handles, sizeof(handles));
	allow_calls(false);
	CHECK(twheel_cell_move_all(&pool, same, 101, now() + 2 * HOUR) == 1);
	CHECK(!same[5] && same[4] == handles[4]);
	allow_calls(true);
	CHECK(twheel_cell_move_all(&pool, handles, 101, now() + MSEC) == 1);
	CHECK(!handles[5]);
	for (i = 0; i < 99; i++) {
		uint64_t handle = take(&cookie);

		CHECK(cookie < 100 && cookie != 5 && handle == handles[cookie]);
		handles[cookie % 101] = 1;
	}
	CHECK(word_of(ended) & TWHEEL_CELL_IDLE);
	finish();
}

TEST("a cell that is released too late comes back with its event")
{
	uint64_t handle, cookie = 0, other;
	int cell;

	start();
	handle = armed(1, now());
	while (!(__atomic_load_n(__twheel_cell_at(&pool, handle), __ATOMIC_ACQUIRE) &
		 TWHEEL_CELL_ENDED))
		;
	cell = cell_of(handle);
	FAILS(EBUSY, !twheel_cell_arm(&pool, cell, now() + HOUR));
	twheel_cell_release(&pool, cell);
	other = armed(2, now() + HOUR);
	CHECK(other && cell_of(other) != cell);
	CHECK(!take(&cookie));
	CHECK(twheel_cell_acquire(&pool, 3) == cell);
	CHECK(twheel_cell_arm(&pool, cell, now()));
	CHECK(take(&cookie) && cookie == 3);
	/* With its event read, it comes back at once. */
	twheel_cell_release(&pool, cell);
	CHECK(twheel_cell_acquire(&pool, 4) == cell);
	finish();
}

TEST("the cells of a map are shared by its pools")
{
	struct twheel_cell_pool other;
	unsigned int i;
	int cell = -1;

	start();
	twheel_cell_pool_init(&other, &map, CLOCK_BOOTTIME);
	CHECK(map.nr >= NR);
	for (i = 0; i < map.nr; i++)
		cell = twheel_cell_acquire(i % 2 ? &pool : &other, i);
	CHECK(cell == (int)map.nr - 1);
	FAILS(ENOSPC, twheel_cell_acquire(&pool, 0) == -1);
	FAILS(ENOSPC, twheel_cell_acquire(&other, 0) == -1);
	twheel_cell_release(&other, cell);
	CHECK(twheel_cell_acquire(&other, 0) == cell);
	finish();
}

TEST("a handle that does not exist is refused")
{
	uint64_t next = TWHEEL_CELL_TIME + 1, life, wrong[5], cookie;
	unsigned int i;
	int cell;

	start();
	cell = twheel_cell_acquire(&pool, 1);
	life = twheel_cell_arm(&pool, cell, now() + HOUR);
	CHECK(life && !twheel_cell_cancel(&pool, life));
	twheel_cell_release(&pool, cell);
	wrong[0] = 0;
	wrong[1] = NR;			/* never in use */
	wrong[2] = life - 1 + (1ULL << 31);
	wrong[3] = life;
	wrong[4] = life + next;		/* not yet */
	for (i = 0; i < 5; i++) {
		CHECK(twheel_cell_touch(&pool, wrong[i], now() + HOUR) && errno == ENOENT);
		CHECK(twheel_cell_cancel(&pool, wrong[i]) && errno == ENOENT);
		CHECK(twheel_cell_move(&pool, wrong[i], now() + 2 * HOUR) && errno == ENOENT);
		CHECK(!twheel_cell_remaining(&pool, wrong[i], now()));
	}
	CHECK(twheel_cell_acquire(&pool, 2) == cell);
	life = twheel_cell_arm(&pool, cell, now() + HOUR);
	CHECK(!twheel_cell_move(&pool, life, now() + MSEC));
	CHECK(take(&cookie) == life && cookie == 2);
	CHECK(twheel_cell_cancel(&pool, life | TWHEEL_CELL_ENDED) && errno == ENOENT);
	finish();
}

TEST("the event of an idle cell ends no life")
{
	uint64_t handle, cookie;
	unsigned int nr = 0;
	int cell;

	start();
	handle = armed(1, now() + HOUR);
	CHECK(!twheel_cell_cancel(&pool, handle));
	CHECK(!twheel_cancel(map.fd, map.slots[cell_of(handle)].id));
	FAILS(EBUSY, !twheel_cell_arm(&pool, cell_of(handle), now() + HOUR));
	CHECK(!take(&cookie));
	CHECK(twheel_cell_arm(&pool, cell_of(handle), now() + HOUR));
	CHECK(!twheel_drain(map.fd, &nr) && nr == 1);
	/* An add that fails has no event for which the cell waits. */
	cell = twheel_cell_acquire(&pool, 2);
	FAILS(ESHUTDOWN, !twheel_cell_arm(&pool, cell, now() + HOUR));
	FAILS(ESHUTDOWN, !twheel_cell_arm(&pool, cell, now() + HOUR));
	finish();
}

/* Arm and cancel an armed cell, until it is armed in @life. */
static uint64_t skip_to(uint64_t life, uint64_t handle)
{
	while (handle && (handle & TWHEEL_CELL_LIFE) != life) {
		CHECK(!twheel_cell_cancel(&pool, handle));
		handle = twheel_cell_arm(&pool, cell_of(handle), TWHEEL_NEVER);
	}
	return handle;
}

TEST("life 0 ends at time 0")
{
	uint64_t handle, cookie;

	start();
	handle = skip_to(0, armed(1, TWHEEL_NEVER));
	CHECK(handle && !twheel_cell_move(&pool, handle, 0));
	CHECK(take(&cookie) == handle && cookie == 1);
	/* Now an add begins it. */
	handle = twheel_cell_arm(&pool, cell_of(handle), TWHEEL_NEVER);
	handle = skip_to(TWHEEL_CELL_LIFE, handle);
	CHECK(handle && !twheel_cell_move(&pool, handle, 0));
	CHECK(take(&cookie) == handle && cookie == 1);
	handle = twheel_cell_arm(&pool, cell_of(handle), 0);
	CHECK(handle && !(handle & TWHEEL_CELL_LIFE));
	CHECK(take(&cookie) == handle && cookie == 1);
	finish();
}

TEST("times are converted with the offsets")
{
	static const int64_t offsets[] = { 0, 12345678, -12345678, 1LL << 62, -(1LL << 62) };
	const uint64_t never = TWHEEL_CELL_TIME;
	unsigned int i;

	start();
	for (i = 0; i < 5; i++) {
		int64_t offset = offsets[i];
		uint64_t ns = (offset > 0 ? offset : 0) + 1000 * UNIT + 1, to;

		map.offset[0] = offset;
		CHECK(twheel_cell_time(&pool, TWHEEL_NEVER) == never);
		CHECK(twheel_cell_time(&pool, INT64_MAX) == never || offset > 1LL << 61);
		CHECK(twheel_cell_ns(&pool, never) == TWHEEL_NEVER);
		CHECK(twheel_cell_time(&pool, 0) <= -(offset < 0 ? offset : 0) / UNIT + 1);
		if (offset < -(1LL << 61))
			continue;
		to = twheel_cell_time(&pool, ns);
		CHECK(to * UNIT >= ns - offset && to * UNIT < ns - offset + UNIT);
		CHECK(twheel_cell_ns(&pool, TWHEEL_CELL_IDLE | to) == to * UNIT + offset);
		CHECK(twheel_cell_time(&pool, to * UNIT + offset) == to);
	}
	map.offset[0] = 0;
	CHECK(twheel_cell_time(&pool, 1ULL << 58) == never);
	CHECK(twheel_cell_time(&pool, (1ULL << 58) - 2 * UNIT) == never - 1);
	map.offset[1] = 10 * UNIT;
	pool.clock = 1;
	CHECK(twheel_cell_time(&pool, 11 * UNIT) == 1);
	finish();
}

TAP_MAIN
