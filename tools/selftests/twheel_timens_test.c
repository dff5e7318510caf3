// SPDX-License-Identifier: GPL-2.0
/*
 * Time namespaces: a process passes and gets times of its own namespace, for the clocks
 * that have an offset there. An operation is shared by processes in different
 * namespaces, each of which sees its deadline in its own time.
 */
#include <sched.h>
#include <sys/wait.h>
#include "named.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x80
#endif

#define NAME	"timens"

static const __u32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };

/* In seconds; if negative, not smaller than the time since boot. */
static long offsets[CLOCK_BOOTTIME + 1];

/* Shared with the children: the line of the failed check, and data of the children. */
struct shared {
	int line;
	__u64 id;
	__u64 deadline;
	__u64 time;
};

FIXTURE(timens) {
	int fd;
	struct shared *shared;
};

FIXTURE_VARIANT(timens) {
	bool negative;
};

FIXTURE_VARIANT_ADD(timens, clocks_ahead) {
	.negative = false,
};

FIXTURE_VARIANT_ADD(timens, clocks_behind) {
	.negative = true,
};

/* Let the next child of this process run in a new namespace. */
static bool make_namespace(void)
{
	FILE *file;
	bool good;

	if (unshare(CLONE_NEWTIME))
		return false;
	file = fopen("/proc/self/timens_offsets", "w");
	if (!file)
		return false;
	good = fprintf(file, "monotonic %ld 0\nboottime %ld 0\n",
		       offsets[CLOCK_MONOTONIC], offsets[CLOCK_BOOTTIME]) > 0;
	return !fclose(file) && good;
}

FIXTURE_SETUP(timens)
{
	long uptime = now_ns() / SEC;

	remove_all_named();
	ASSERT_EQ(0, create_named(NAME, 0666));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	offsets[CLOCK_MONOTONIC] = variant->negative ? -(uptime / 2) : 1000;
	offsets[CLOCK_BOOTTIME] = variant->negative ? -(uptime / 3) : 3000;
	if (!make_namespace())
		SKIP(return, "no time namespaces: %s", strerror(errno));
}

FIXTURE_TEARDOWN(timens)
{
	close(self->fd);
	remove_all_named();
}

/* In a child, store the line of the first condition that does not hold. */
static void check(struct shared *shared, bool condition, int line)
{
	if (!condition && !shared->line)
		shared->line = line;
}

#define CHECK(condition)	check(shared, condition, __LINE__)

/* Run a function in the namespace; it has failed if it stored a line. */
#define EXPECT_INSIDE(function)						\
do {									\
	pid_t __child = fork();						\
									\
	self->shared->line = 0;						\
	if (!__child) {							\
		settle();						\
		function(self->fd, self->shared);			\
		_exit(0);						\
	}								\
	EXPECT_TRUE(child_exited_well(__child));			\
	EXPECT_EQ(0, self->shared->line);				\
} while (0)

static void report_time(int fd, struct shared *shared)
{
	(void)fd;
	shared->time = now_ns();
}

/* The other tests rely on this. */
TEST_F(timens, child_has_offset_clocks)
{
	__u64 before = now_ns(), offset = offsets[CLOCK_MONOTONIC] * SEC;

	EXPECT_INSIDE(report_time);
	EXPECT_LE(before + offset, self->shared->time);
	EXPECT_GE(now_ns() + offset, self->shared->time);
}

static void add_absolute(int fd, struct shared *shared)
{
	__u64 tick = query(fd).tick_ns;
	struct twheel_pending pending;
	struct twheel_event event;
	unsigned int i;
	__u64 deadline;
	__u32 clock;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct twheel_add_args args = {
			.flags = TWHEEL_ADD_ABSTIME,
			.clock = clocks[i],
		};

		clock = clocks[i];
		deadline = time_by(clock) + 2 * SEC;
		args.deadline = deadline;
		CHECK(!op_add(fd, &args));
		CHECK(!op_info(fd, args.id, &pending));
		CHECK(pending.deadline == deadline);
		CHECK(pending.remaining <= 2 * SEC);
		/* The offset between the namespaces does not affect the comparison. */
		CHECK(op_rearm(fd, args.id, deadline - 1900 * MSEC,
			       TWHEEL_REARM_ABSTIME | TWHEEL_REARM_IF_EARLIER) == 1);
		deadline -= 1900 * MSEC;
		CHECK(next_event(fd, &event));
		CHECK(event.id == args.id);
		CHECK(event.reason == TWHEEL_REASON_EXPIRED);
		CHECK(event.deadline == deadline);
		CHECK(event.time >= deadline);
		CHECK(event.time <= time_by(clock));
		/* Late, but not by the offset. */
		CHECK(event.time < deadline + (virtual_time() ? tick + WAKEUP_NS : 100 * SEC));
	}
}

TEST_F(timens, absolute_deadlines_are_converted)
{
	EXPECT_INSIDE(add_absolute);
}

static void add_relative(int fd, struct shared *shared)
{
	struct twheel_pending pending;
	struct twheel_event event;
	unsigned int i;
	__u64 before;
	__u32 clock;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct twheel_add_args args = { .clock = clocks[i], .deadline = 20 * MSEC };

		clock = clocks[i];
		before = time_by(clock);
		CHECK(!op_add(fd, &args));
		CHECK(next_event(fd, &event));
		CHECK(event.deadline >= before + 20 * MSEC);
		CHECK(event.deadline <= time_by(clock) + 20 * MSEC);
		CHECK(event.time >= event.deadline);
		CHECK(event.time <= time_by(clock));
		args.deadline = HOUR;
		CHECK(!op_add(fd, &args));
		CHECK(!op_info(fd, args.id, &pending));
		CHECK(pending.deadline >= before + HOUR);
		CHECK(pending.deadline <= time_by(clock) + HOUR);
		CHECK(pending.remaining <= HOUR);
		CHECK(!op_cancel(fd, args.id));
		CHECK(next_event(fd, &event));
		CHECK(event.deadline == pending.deadline);
		CHECK(event.time <= time_by(clock) && event.time >= before);
	}
}

TEST_F(timens, relative_deadlines_are_reported_in_the_namespace)
{
	EXPECT_INSIDE(add_relative);
}

static void add_never(int fd, struct shared *shared)
{
	static const __u32 flags[] = { 0, TWHEEL_ADD_ABSTIME };
	struct twheel_pending pending;
	struct twheel_event event;
	unsigned int i;
	__u64 id;

	for (i = 0; i < 2; i++) {
		id = add_deadline(fd, TWHEEL_NEVER, flags[i], 0);
		CHECK(id);
		CHECK(!op_info(fd, id, &pending));
		CHECK(pending.deadline == TWHEEL_NEVER);
		CHECK(pending.remaining == TWHEEL_NEVER);
		CHECK(!op_cancel(fd, id));
		CHECK(next_event(fd, &event));
		CHECK(event.deadline == TWHEEL_NEVER);
	}
	/* The last deadline does not wrap into the past. */
	id = add_deadline(fd, KTIME_LAST, TWHEEL_ADD_ABSTIME, 0);
	CHECK(id);
	CHECK(!readable(fd, 50));
	CHECK(!op_cancel(fd, id));
	CHECK(next_event(fd, &event));
	CHECK(event.deadline >= KTIME_LAST / 2);
	/* The first time has passed, even if it is out of range in the other namespace. */
	id = add_deadline(fd, 1, TWHEEL_ADD_ABSTIME, 0);
	CHECK(id);
	CHECK(next_event(fd, &event));
	CHECK(event.id == id && event.reason == TWHEEL_REASON_EXPIRED);
	CHECK(event.time <= now_ns() && event.time >= event.deadline);
}

TEST_F(timens, extreme_deadlines_do_not_wrap)
{
	EXPECT_INSIDE(add_never);
}

static void add_periodic(int fd, struct shared *shared)
{
	__u64 start = now_ns() + 20 * MSEC;
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_MONOTONIC,
		.deadline = start,
		.period = 20 * MSEC,
	};
	struct twheel_event event;
	int i;

	CHECK(!op_add(fd, &args));
	for (i = 0; i < 4; i++) {
		CHECK(next_event(fd, &event));
		CHECK(event.deadline >= start);
		CHECK((event.deadline - start) % (20 * MSEC) == 0);
		CHECK(event.time >= event.deadline);
		CHECK(event.time <= now_ns());
	}
	CHECK(!op_cancel(fd, args.id));
}

TEST_F(timens, periods_are_in_the_namespace)
{
	EXPECT_INSIDE(add_periodic);
}

/* The child describes, moves and reads an operation of the parent. */
static void use_operation(int fd, struct shared *shared)
{
	__u64 offset = offsets[CLOCK_MONOTONIC] * SEC;
	struct twheel_pending pending, entry;
	struct twheel_list_args list = {
		.entries = address(&entry),
		.max_entries = 1,
		.entry_size = sizeof(entry),
	};

	CHECK(!op_info(fd, shared->id, &pending));
	CHECK(pending.deadline == shared->deadline + offset);
	CHECK(pending.remaining <= HOUR);
	CHECK(!call(fd, TWHEEL_IOC_LIST, &list));
	CHECK(list.nr == 1);
	CHECK(entry.deadline == pending.deadline);
	CHECK(op_rearm(fd, shared->id, pending.deadline + SEC,
		       TWHEEL_REARM_ABSTIME | TWHEEL_REARM_IF_LATER) == 1);
}

static void read_it(int fd, struct shared *shared)
{
	__u64 offset = offsets[CLOCK_MONOTONIC] * SEC;
	struct twheel_event event;

	CHECK(next_event(fd, &event));
	CHECK(event.id == shared->id);
	CHECK(event.deadline == shared->deadline + offset);
	CHECK(event.time <= now_ns());
	CHECK(event.time + HOUR > now_ns());
}

TEST_F(timens, operation_of_another_namespace)
{
	struct twheel_pending pending;

	self->shared->deadline = now_ns() + HOUR;
	self->shared->id = add_deadline(self->fd, self->shared->deadline,
					TWHEEL_ADD_ABSTIME, 0);
	ASSERT_NE(0, self->shared->id);
	EXPECT_INSIDE(use_operation);
	ASSERT_EQ(0, op_info(self->fd, self->shared->id, &pending));
	EXPECT_EQ(self->shared->deadline + SEC, pending.deadline);
	self->shared->deadline = pending.deadline;
	ASSERT_EQ(0, op_cancel(self->fd, self->shared->id));
	EXPECT_INSIDE(read_it);
}

static void add_and_leave(int fd, struct shared *shared)
{
	shared->deadline = now_ns() + 30 * MSEC;
	shared->id = add_deadline(fd, shared->deadline, TWHEEL_ADD_ABSTIME, 0);
	CHECK(shared->id);
}

/* The event has the time of the reader's namespace, not of the adding task's. */
TEST_F(timens, event_is_in_the_time_of_its_reader)
{
	__u64 offset = offsets[CLOCK_MONOTONIC] * SEC;
	struct twheel_event event;

	EXPECT_INSIDE(add_and_leave);
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(self->shared->id, event.id);
	EXPECT_EQ(self->shared->deadline - offset, event.deadline);
	EXPECT_LE(event.deadline, event.time);
	EXPECT_GE(now_ns(), event.time);
}

/* The words of cells are in the time of the initial namespace. */
static void ask_for_offsets(int fd, struct shared *shared)
{
	struct twheel_cells_args args = { 0 };

	CHECK(!call(fd, TWHEEL_IOC_CELLS, &args));
	CHECK(args.monotonic_offset == (__s64)(offsets[CLOCK_MONOTONIC] * SEC));
	CHECK(args.boottime_offset == (__s64)(offsets[CLOCK_BOOTTIME] * SEC));
}

TEST_F(timens, offset_from_the_time_of_cells)
{
	EXPECT_INSIDE(ask_for_offsets);
}

TEST_HARNESS_MAIN
