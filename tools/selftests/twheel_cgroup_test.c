// SPDX-License-Identifier: GPL-2.0
/*
 * Memory cgroups. In a full one an add fails with ENOMEM, and neither the caller nor another
 * process of the cgroup is killed. All calls that end, move or read operations need no memory.
 * An operation is charged to the cgroup that adds it.
 */
#include <signal.h>
#include <sys/mount.h>
#include "named.h"

#define ROOT	"/tmp/twheel_cgroup"
#define GROUP	ROOT "/full"
#define LIMIT	"6291456"

/* Operations of another cgroup through a file. */
#define SHARED	4000	/* enough that their charge is more than the kernel keeps in its CPUs */

/* Keys of the small operations, in turn. */
#define KEYS	4

FIXTURE(cgroup) {
	pid_t other;	/* in the cgroup */
	int leave;	/* a write leaves the cgroup; to open a file needs memory */
};

/* Number of a line of a file of the cgroup, or -1. */
static long group_number(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char word[64];
	long value, found = -1;

	while (file && fscanf(file, "%63s %ld", word, &value) == 2)
		if (!strcmp(word, name))
			found = value;
	if (file)
		fclose(file);
	return found;
}

#define memory_event(name)	group_number(GROUP "/memory.events", name)

/* Enter the cgroup. No page fault must charge memory to it when it is full. */
static bool enter_group(void)
{
	return !mlockall(MCL_CURRENT | MCL_FUTURE) && write_file(GROUP "/cgroup.procs", "0");
}

FIXTURE_SETUP(cgroup)
{
	mkdir(ROOT, 0700);
	if (mount("none", ROOT, "cgroup2", 0, NULL) ||
	    !write_file(ROOT "/cgroup.subtree_control", "+memory"))
		SKIP(return, "no memory cgroups");
	ASSERT_EQ(0, mkdir(GROUP, 0700));
	ASSERT_TRUE(write_file(GROUP "/memory.max", LIMIT));
	self->leave = open(ROOT "/cgroup.procs", O_WRONLY | O_CLOEXEC);
	self->other = fork();
	if (!self->other) {
		enter_group();
		for (;;)
			pause();
	}
	ASSERT_LT(0, self->other);
	ASSERT_TRUE(wait_for(file_number(GROUP "/cgroup.procs") == self->other));
}

/* Nothing was killed. */
FIXTURE_TEARDOWN(cgroup)
{
	if (self->other > 0) {
		EXPECT_EQ(1, write(self->leave, "0", 1));
		close(self->leave);
		EXPECT_EQ(0, waitpid(self->other, NULL, WNOHANG));
		EXPECT_EQ(0, memory_event("oom_kill"));
		kill(self->other, SIGKILL);
		waitpid(self->other, NULL, 0);
		wait_for(!rmdir(GROUP));
	}
	umount(ROOT);
	rmdir(ROOT);
}

static __u64 add_small(int fd, unsigned int nr)
{
	struct twheel_watch_spec spec = spec_of(nr % KEYS, 1);

	return add_fields(fd, .condition = TWHEEL_COND_ANY, .nr_keys = 1,
			  .key_size = sizeof(spec), .deadline = HOUR, .clock = CLOCK_MONOTONIC,
			  .keys = address(&spec));
}

/*
 * Add operations with many keys and then small ones, so that none of either fits in the end. The
 * pages that other CPUs have charged in advance come back after the first failure.
 */
static unsigned int fill(int fd, __u64 *first, __u64 *last)
{
	unsigned int nr = 0, before;
	__u64 id;

	do {
		before = nr;
		usleep(10000);
		while (add_keys(fd, TWHEEL_COND_ALL, 0, TWHEEL_MAX_KEYS))
			;
		while ((id = add_small(fd, nr))) {
			if (!nr++)
				*first = id;
			*last = id;
		}
	} while (nr != before);
	return nr;
}

TEST_F(cgroup, full_group_refuses_adds_and_nothing_is_killed)
{
	struct twheel_watch_spec more[TWHEEL_MAX_KEYS - 1], keys[TWHEEL_MAX_KEYS];
	long nr, signalled, cancelled;
	struct twheel_pending entry;
	struct twheel_info_args info = {
		.entry = address(&entry),
		.entry_size = sizeof(entry),
		.keys = address(keys),
		.max_keys = 1,
		.key_size = sizeof(*keys),
	};
	int fd = twheel_open(O_NONBLOCK), error, i;
	__u64 first = 0, last = 0;

	for (i = 0; i < TWHEEL_MAX_KEYS - 1; i++)
		more[i] = spec_of(1000 + i, 1);
	ASSERT_TRUE(enter_group());
	nr = fill(fd, &first, &last);
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_LT(KEYS, nr);
	EXPECT_EQ(ENOMEM, op_watch(fd, last, more, TWHEEL_MAX_KEYS - 1));
	info.id = last;
	error = call(fd, TWHEEL_IOC_INFO, &info);
	EXPECT_TRUE(!error || error == ENOMEM);
	/* To a level of the wheel that does not exist. */
	EXPECT_EQ(1, op_rearm(fd, last, KTIME_LAST, TWHEEL_REARM_ABSTIME));
	EXPECT_EQ(0, op_cancel(fd, last));
	EXPECT_EQ(0, op_complete(fd, first, 0));
	/* The key may have been that of the cancelled or completed operation. */
	signalled = key_signal(fd, 1, 0);
	cancelled = key_cancel(fd, 2);
	EXPECT_LE(nr / KEYS - 1, signalled);
	EXPECT_LE(nr / KEYS - 1, cancelled);
	EXPECT_EQ(2 + signalled + cancelled, (long)read_all_events(fd));
	for (i = 0; i < 10; i++)
		EXPECT_NE(0, add_small(fd, i));
	ASSERT_EQ(1, write(self->leave, "0", 1));
	EXPECT_EQ(0, memory_event("oom"));
	close(fd);
}

/* The pages of cells are charged, and not allocated by a page fault, which could be killed. */
TEST_F(cgroup, cells_are_charged)
{
	int fds[25], nr = 0, error = 0;	/* 24 would fit, without anything else */

	ASSERT_TRUE(enter_group());
	while (!error) {
		struct twheel_cells_args args = { .nr = 1 << 15 };

		ASSERT_GT((int)ARRAY_SIZE(fds), nr);
		fds[nr] = twheel_open(0);
		error = call(fds[nr++], TWHEEL_IOC_CELLS, &args);
	}
	while (nr)
		close(fds[--nr]);
	if (lacks_cells(error))
		SKIP(return, "no cells on this machine");
	EXPECT_EQ(ENOMEM, error);
}

/* Although the file has memory for them, which is charged to the cgroup of the opener. */
TEST_F(cgroup, operations_are_charged_to_the_cgroup_that_adds_them)
{
	static __u64 ids[2 * SHARED];
	int fd = twheel_open(O_NONBLOCK), i;
	long before;

	ASSERT_TRUE(write_file(GROUP "/memory.max", "max"));
	for (i = 0; i < 2 * SHARED; i++) {
		ids[i] = add_small(fd, i);
		ASSERT_NE(0, ids[i]);
	}
	for (i = 0; i < 2 * SHARED; i += 2)
		ASSERT_EQ(0, op_cancel(fd, ids[i]));
	read_all_events(fd);
	ASSERT_TRUE(enter_group());
	before = group_number(GROUP "/memory.stat", "slab_unreclaimable");
	for (i = 0; i < SHARED; i++)
		ASSERT_NE(0, add_small(fd, i));
	before = group_number(GROUP "/memory.stat", "slab_unreclaimable") - before;
	TH_LOG("%d operations: %ld bytes", SHARED, before);
	EXPECT_LE(SHARED * 100, before);
	close(fd);
}

TEST_F(cgroup, leaf_of_another_cgroup_is_freed)
{
	struct twheel_add_args own = { .deadline = HOUR, .clock = CLOCK_MONOTONIC };
	struct twheel_add_args detached = {
		.flags = TWHEEL_ADD_DETACHED, .deadline = HOUR, .clock = CLOCK_MONOTONIC,
	};
	static struct twheel_event events[64];
	__u64 a;
	int fd;

	ASSERT_TRUE(write_file(GROUP "/memory.max", "max"));
	ASSERT_EQ(0, create_named("leak", 0600));
	fd = twheel_open_named("leak", O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, op_add(fd, &own));
	a = own.id;
	ASSERT_TRUE(enter_group());
	ASSERT_EQ(0, op_add(fd, &own));
	ASSERT_EQ(0, op_cancel(fd, a));
	ASSERT_EQ(1, read_events(fd, events, 64));
	ASSERT_EQ(0, op_cancel(fd, own.id));
	ASSERT_EQ(1, read_events(fd, events, 64));
	ASSERT_EQ(0, op_add(fd, &detached));
	ASSERT_EQ(1, write(self->leave, "0", 1));
	close(fd);
	EXPECT_EQ(1, remove_by_force("leak"));
}

TEST_HARNESS_MAIN
