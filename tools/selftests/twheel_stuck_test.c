// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that block while the device writes to their memory, for as long as they like: the page
 * is missing, and a userfaultfd gets the fault. They keep little from others: a reader one event, a
 * lister nothing.
 */
#include <linux/userfaultfd.h>
#include <signal.h>
#include "named.h"

#define NAME	"stuck"
#define NR	200
#define SIZE	(NR * sizeof(struct twheel_event))
#define PAGES	1048576

FIXTURE(stuck) {
	int fd;
	int events;		/* of another reader; non-blocking */
	int faults;		/* userfaultfd */
	char *memory;		/* without pages */
	struct twheel_event event[NR];
};

FIXTURE_SETUP(stuck)
{
	remove_all_named();
	ASSERT_EQ(0, create_named(NAME, 0666));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->events = open_events(self->fd, O_NONBLOCK);
	ASSERT_LE(0, self->events);
	self->faults = -1;
}

FIXTURE_TEARDOWN(stuck)
{
	close(self->fd);
	close(self->events);
	close(self->faults);
}

/* Map @memory, with a userfaultfd of this process. Return: false if the kernel has none. */
static bool map_missing(struct _test_data_stuck *self)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	self->faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	self->memory = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	if (self->faults < 0 || self->memory == MAP_FAILED || ioctl(self->faults, UFFDIO_API, &api))
		return false;
	area.range.start = address(self->memory);
	area.range.len = PAGES;
	return !ioctl(self->faults, UFFDIO_REGISTER, &area);
}

/* Wait until a task blocks. Return: true if one does. */
static bool one_is_stuck(int faults)
{
	struct pollfd pfd = { .fd = faults, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&pfd, 1, BUDGET_MS) == 1 && read(faults, &msg, sizeof(msg)) == sizeof(msg);
}

/* Give the pages to those that are blocked. */
static bool supply(struct _test_data_stuck *self)
{
	struct uffdio_zeropage pages = {
		.range = { .start = address(self->memory), .len = PAGES },
	};

	return !ioctl(self->faults, UFFDIO_ZEROPAGE, &pages);
}

/* Queue events with ascending cookies. */
static bool add_events(int fd)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED,
		.deadline = TWHEEL_NEVER,
	};

	for (; args.cookie < NR; args.cookie++)
		if (op_add(fd, &args) || op_complete(fd, args.id, 0))
			return false;
	return true;
}

static long read_rest(struct _test_data_stuck *self)
{
	ssize_t size = read(self->events, self->event, SIZE);

	return size < 0 ? -errno : size / (ssize_t)sizeof(self->event[0]);
}

static void *read_stuck(void *arg)
{
	struct _test_data_stuck *self = arg;
	int fd = open_events(self->fd, 0);

	return (void *)(read(fd, self->memory, SIZE) / sizeof(struct twheel_event));
}

/* Unless another reader takes the rest, the events stay in order. */
TEST_F(stuck, blocked_reader_keeps_one_event)
{
	struct twheel_event *event;
	pthread_t thread;
	int round, i;
	void *nr;

	for (round = 0; round < 2; round++) {
		if (!map_missing(self))
			SKIP(return, "no userfaultfd");
		ASSERT_TRUE(add_events(self->fd));
		ASSERT_EQ(0, pthread_create(&thread, NULL, read_stuck, self));
		ASSERT_TRUE(one_is_stuck(self->faults));
		if (!round)
			EXPECT_EQ(NR - 1, read_rest(self));
		ASSERT_TRUE(supply(self));
		ASSERT_EQ(0, pthread_join(thread, &nr));
		EXPECT_EQ(round ? NR : 1, (long)nr);
		EXPECT_EQ(-EAGAIN, read_rest(self));
		event = (void *)self->memory;
		for (i = 0; i < (long)nr; i++)
			EXPECT_EQ(i, event[i].cookie);
		close(self->faults);
	}
}

TEST_F(stuck, killed_reader_gives_its_event_back)
{
	int ready[2], status;
	pthread_t thread;
	pid_t child;
	char byte;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_TRUE(add_events(self->fd));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		byte = !map_missing(self) ? 's' :
		       pthread_create(&thread, NULL, read_stuck, self) ||
		       !one_is_stuck(self->faults) ? 'f' : 'y';
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	if (byte == 'y')
		EXPECT_EQ(NR - 1, read_rest(self));
	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	close(ready[0]);
	close(ready[1]);
	if (byte == 's')
		SKIP(return, "no userfaultfd");
	ASSERT_EQ('y', byte);
	EXPECT_EQ(1, read_rest(self));
}

static void *list_stuck(void *arg)
{
	struct _test_data_stuck *self = arg;
	struct twheel_list_args args = {
		.flags = TWHEEL_LIST_OTHERS,
		.entries = address(self->memory),
		.entry_size = sizeof(struct twheel_pending),
		.max_entries = 1,
	};

	return (void *)(long)call(self->fd, TWHEEL_IOC_LIST, &args);
}

TEST_F(stuck, blocked_lister_keeps_no_operation)
{
	struct twheel_event event;
	pthread_t thread;
	void *error;
	__u64 id;

	if (!map_missing(self))
		SKIP(return, "no userfaultfd");
	id = add_deadline(self->fd, TWHEEL_NEVER, 0, 0);
	ASSERT_NE(0, id);
	ASSERT_EQ(1, query(self->fd).user_ops);
	ASSERT_EQ(0, pthread_create(&thread, NULL, list_stuck, self));
	ASSERT_TRUE(one_is_stuck(self->faults));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(0, query(self->fd).user_ops);
	ASSERT_TRUE(supply(self));
	ASSERT_EQ(0, pthread_join(thread, &error));
	EXPECT_EQ(0, (long)error);
}

TEST_HARNESS_MAIN
