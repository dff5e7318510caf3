// SPDX-License-Identifier: GPL-2.0
/*
 * Memory cgroups. In a full one an add fails with ENOMEM, and neither the caller nor another
 * process of the cgroup is killed. All calls that end, move or read operations need no memory.
 * The table of users is charged, and an operation to the cgroup that adds it.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "named.h"

#define ROOT	"/tmp/twheel_cgroup"
#define GROUP	ROOT "/full"
#define LIMIT	"6291456"

/* Operations of another cgroup through a file. */
#define SHARED	4000	/* enough that their charge is more than the kernel keeps in its CPUs */

/* Keys of the small operations, in turn. */
#define KEYS	4

/* The results of the process in the cgroup */
struct seen {
	unsigned int nr;
	int add_error;
	int watch_error;
	int info_error;
	int cancel_error;
	int complete_error;
	bool moved;
	long signalled;
	long cancelled;
	long read;
	unsigned int added_again;
	long shared;
};

FIXTURE(cgroup) {
	struct seen *seen;
	pid_t other;
};

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

static bool enter_group(void)
{
	return write_file(GROUP "/cgroup.procs", "0");
}

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

/* A process that enters the cgroup and runs @fn. */
static pid_t run_in_group(void (*fn)(struct seen *seen), struct seen *seen)
{
	pid_t child = fork();

	if (child)
		return child;
	/* No page fault must charge memory to the full cgroup. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || !enter_group())
		_exit(1);
	fn(seen);
	_exit(0);
}

static void stay(__attribute__((unused)) struct seen *seen)
{
	for (;;)
		pause();
}

FIXTURE_SETUP(cgroup)
{
	mkdir(ROOT, 0700);
	if (mount("none", ROOT, "cgroup2", 0, NULL) ||
	    !write_file(ROOT "/cgroup.subtree_control", "+memory"))
		SKIP(return, "no memory cgroups");
	ASSERT_EQ(0, mkdir(GROUP, 0700));
	ASSERT_TRUE(write_file(GROUP "/memory.max", LIMIT));
	self->seen = mmap(NULL, sizeof(*self->seen), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->seen);
	self->other = run_in_group(stay, self->seen);
	ASSERT_LT(0, self->other);
}

FIXTURE_TEARDOWN(cgroup)
{
	if (self->other > 0) {
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
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_ANY,
		.nr_keys = 1,
		.key_size = sizeof(spec),
		.deadline = HOUR,
		.clock = CLOCK_MONOTONIC,
		.keys = address(&spec),
	};

	errno = op_add(fd, &args);
	return errno ? 0 : args.id;
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

static void use_full_group(struct seen *seen)
{
	static struct twheel_event events[64];
	struct twheel_watch_spec more[TWHEEL_MAX_KEYS - 1], keys[TWHEEL_MAX_KEYS];
	struct twheel_pending entry;
	struct twheel_info_args info = {
		.entry = address(&entry),
		.entry_size = sizeof(entry),
		.keys = address(keys),
		.max_keys = 1,
		.key_size = sizeof(*keys),
	};
	int fd = twheel_open(O_NONBLOCK), i;
	__u64 first = 0, last = 0;

	for (i = 0; i < TWHEEL_MAX_KEYS - 1; i++)
		more[i] = spec_of(1000 + i, 1);
	seen->nr = fill(fd, &first, &last);
	seen->add_error = errno;
	seen->watch_error = op_watch(fd, last, more, TWHEEL_MAX_KEYS - 1);
	info.id = last;
	seen->info_error = call(fd, TWHEEL_IOC_INFO, &info);
	/* To a level of the wheel that does not exist. */
	seen->moved = op_rearm(fd, last, KTIME_LAST, TWHEEL_REARM_ABSTIME) == 1;
	seen->cancel_error = op_cancel(fd, last);
	seen->complete_error = op_complete(fd, first, 0);
	seen->signalled = key_signal(fd, 1, 0);
	seen->cancelled = key_cancel(fd, 2);
	while ((i = read_events(fd, events, 64)) > 0)
		seen->read += i;
	for (i = 0; i < 10; i++)
		seen->added_again += !!add_small(fd, i);
}

TEST_F(cgroup, full_group_refuses_adds_and_nothing_is_killed)
{
	const struct seen *seen = self->seen;
	int status;

	ASSERT_LT(0, waitpid(run_in_group(use_full_group, self->seen), &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, waitpid(self->other, NULL, WNOHANG));
	EXPECT_EQ(0, memory_event("oom"));
	EXPECT_EQ(0, memory_event("oom_kill"));

	EXPECT_LT(KEYS, seen->nr);
	EXPECT_EQ(ENOMEM, seen->add_error);
	EXPECT_EQ(ENOMEM, seen->watch_error);
	EXPECT_TRUE(seen->info_error == 0 || seen->info_error == ENOMEM);
	EXPECT_TRUE(seen->moved);
	EXPECT_EQ(0, seen->cancel_error);
	EXPECT_EQ(0, seen->complete_error);
	/* The key may have been that of the cancelled or completed operation. */
	EXPECT_LE(seen->nr / KEYS - 1, seen->signalled);
	EXPECT_LE(seen->nr / KEYS - 1, seen->cancelled);
	EXPECT_EQ(2 + seen->signalled + seen->cancelled, seen->read);
	EXPECT_EQ(10, seen->added_again);
}

/* The pages of cells are charged, and not allocated by a page fault, which could be killed. */
static void allocate_cells(struct seen *seen)
{
	while (!seen->add_error) {
		struct twheel_cells_args args = { .nr = 1 << 15 };

		seen->add_error = call(twheel_open(0), TWHEEL_IOC_CELLS, &args);
		seen->nr += !seen->add_error;
	}
}

TEST_F(cgroup, cells_are_charged)
{
	int status;

	ASSERT_LT(0, waitpid(run_in_group(allocate_cells, self->seen), &status, 0));
	EXPECT_EQ(0, status);
	if (self->seen->add_error == EOPNOTSUPP)
		SKIP(return, "no cells on this machine");
	EXPECT_EQ(ENOMEM, self->seen->add_error);
	EXPECT_LE(1, self->seen->nr);
	EXPECT_GE(strtol(LIMIT, NULL, 10) / (8 << 15), self->seen->nr);
	EXPECT_EQ(0, waitpid(self->other, NULL, WNOHANG));
	EXPECT_EQ(0, memory_event("oom_kill"));
}

static int shared;

static void add_to_shared(struct seen *seen)
{
	long before = group_number(GROUP "/memory.stat", "slab_unreclaimable");
	int i;

	for (i = 0; i < SHARED; i++)
		if (!add_small(shared, i))
			_exit(2);
	seen->shared = group_number(GROUP "/memory.stat", "slab_unreclaimable") - before;
}

/* Although the file has memory for them, which is charged to the cgroup of the opener. */
TEST_F(cgroup, operations_are_charged_to_the_cgroup_that_adds_them)
{
	static struct twheel_event events[64];
	static __u64 ids[2 * SHARED];
	int status, i;

	ASSERT_TRUE(write_file(GROUP "/memory.max", "max"));
	shared = twheel_open(O_NONBLOCK);
	for (i = 0; i < 2 * SHARED; i++) {
		ids[i] = add_small(shared, i);
		ASSERT_NE(0, ids[i]);
	}
	for (i = 0; i < 2 * SHARED; i += 2)
		ASSERT_EQ(0, op_cancel(shared, ids[i]));
	while (read_events(shared, events, 64) > 0)
		;
	ASSERT_LT(0, waitpid(run_in_group(add_to_shared, self->seen), &status, 0));
	ASSERT_EQ(0, status);
	TH_LOG("%d operations: %ld bytes", SHARED, self->seen->shared);
	EXPECT_LE(SHARED * 100, self->seen->shared);
}

TEST_HARNESS_MAIN
