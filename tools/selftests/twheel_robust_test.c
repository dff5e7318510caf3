// SPDX-License-Identifier: GPL-2.0
/*
 * Misbehaving programs, which only affect themselves: files without a reader, processes
 * that are killed during any call, descriptors that are closed and memory that is
 * unmapped during a call, and many open files. They belong to two users.
 */
#include <signal.h>
#include <sys/epoll.h>
#include "named.h"

#define NAME	"abused"

FIXTURE(robust) {
	long users;
	int fd;		/* of a well-behaved user of the same purgatory */
};

FIXTURE_SETUP(robust)
{
	remove_all_named();
	self->users = module_users();
	ASSERT_EQ(0, create_named(NAME, 0666));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(robust)
{
	struct twheel_query_args q;

	EXPECT_TRUE(wait_for(query(self->fd).files == 1));
	q = query(self->fd);
	EXPECT_EQ(0, q.pending);
	EXPECT_EQ(0, q.watches);
	EXPECT_EQ(0, q.keys);
	close(self->fd);
	remove_all_named();
	EXPECT_TRUE(wait_for(module_users() == self->users));
}

/* Return: true if the operations of the well-behaved user complete. */
static bool works(int fd)
{
	__u64 id = add_keys(fd, TWHEEL_COND_ALL, 0, 2);
	struct twheel_event event;

	return id && key_signal(fd, 1, 1) == 0 && key_signal(fd, 2, 2) == 1 &&
	       next_event(fd, &event) && event.id == id && event.value == 2;
}

TEST_F(robust, only_the_file_without_reads_is_refused)
{
	int fd = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_query_args q;
	unsigned int i, most;
	int error = 0;
	__u64 id;

	most = 2 * query(fd).max_file_pending;
	if (most > 5000)
		most = 5000;
	for (i = 0; i < most && !error; i++) {
		id = add_deadline(fd, HOUR, 0, i);
		error = id ? op_cancel(fd, id) : errno;
	}
	EXPECT_TRUE(error == 0 || error == ENOBUFS);
	EXPECT_TRUE(works(self->fd));
	q = query(fd);
	EXPECT_EQ(q.added, q.cancelled + q.completed);
	close(fd);
	EXPECT_TRUE(works(self->fd));
}

/* Endless loops of processes that are killed. */
static void do_adds(int fd)
{
	struct twheel_event events[16];

	for (;;) {
		op_cancel(fd, add_keys(fd, TWHEEL_COND_ALL, 0, 40));
		if (read_events(fd, events, 16) < 0)
			add_deadline(fd, MSEC, 0, 0);
	}
}

static void do_batches(int fd)
{
	static struct twheel_command commands[TWHEEL_MAX_BATCH];
	struct twheel_watch_spec spec = spec_of(5, 1);
	struct twheel_batch_args args = {
		.commands = address(commands),
		.command_size = sizeof(struct twheel_command),
		.nr = TWHEEL_MAX_BATCH,
	};
	int i;

	for (i = 0; i < TWHEEL_MAX_BATCH; i++) {
		commands[i].call = i % 9 < 8 ? TWHEEL_CALL_ADD : TWHEEL_CALL_SIGNAL;
		if (i % 9 == 8) {
			commands[i].signal.key = key_of(5);
			continue;
		}
		commands[i].add.deadline = HOUR;
		commands[i].add.condition = TWHEEL_COND_ANY;
		commands[i].add.nr_keys = 1;
		commands[i].add.key_size = sizeof(struct twheel_watch_spec);
		commands[i].add.keys = address(&spec);
	}
	for (;;) {
		call(fd, TWHEEL_IOC_BATCH, &args);
		args.done = 0;
		args.failed = 0;
	}
}

static void do_reads(int fd)
{
	struct twheel_event event;

	fcntl(fd, F_SETFL, 0);
	for (;;) {
		add_deadline(fd, 300 * USEC, 0, 0);
		read_events(fd, &event, 1);
	}
}

static void do_polls(int fd)
{
	struct twheel_event event;

	for (;;) {
		add_deadline(fd, 300 * USEC, 0, 0);
		readable(fd, 1000);
		read_events(fd, &event, 1);
	}
}

static void do_opens(int fd)
{
	for (;;) {
		int more = twheel_open_named(NAME, O_NONBLOCK);

		add_keys(more, TWHEEL_COND_ANY, 0, 3);
		complete_all(more, 0, 0, 0);
		close(more);
		drain(fd);
	}
}

static void do_periods(int fd)
{
	struct twheel_add_args args = { .deadline = 1, .period = 50 * USEC };
	struct twheel_event event;

	for (;;) {
		if (op_add(fd, &args))
			read_events(fd, &event, 1);
		op_cancel(fd, args.id);
	}
}

static void do_lists(int fd)
{
	struct twheel_pending entries[32];
	struct twheel_list_args args = {
		.entries = address(entries),
		.max_entries = 32,
		.entry_size = sizeof(entries[0]),
	};

	for (;;) {
		add_keys(fd, TWHEEL_COND_ANY, 0, 2);
		args.flags = TWHEEL_LIST_OTHERS;
		args.nr = 0;
		if (call(fd, TWHEEL_IOC_LIST, &args) || args.cursor == TWHEEL_LIST_END)
			args.cursor = 0;
	}
}

static void (* const deeds[])(int fd) = {
	do_adds, do_batches, do_reads, do_polls, do_opens, do_periods, do_lists,
};

TEST_F(robust, process_is_killed_at_random_times)
{
	unsigned int i, round;
	pid_t child;
	int fd;

	for (round = 0; round < 8; round++) {
		for (i = 0; i < ARRAY_SIZE(deeds); i++) {
			child = fork();
			if (!child) {
				close(self->fd);
				if (round % 2)
					become(STRANGER);
				fd = twheel_open_named(NAME, O_NONBLOCK);
				deeds[i](fd);
			}
			ASSERT_LT(0, child);
			/* At a random time. */
			usleep(1000 + round * 1700);
			kill(child, SIGKILL);
			ASSERT_EQ(child, waitpid(child, NULL, 0));
		}
		ASSERT_TRUE(works(self->fd));
	}
}

/* Threads that make calls on a descriptor that another thread closes. */
struct victim {
	int fd;
	bool over;
	unsigned int threads;
	unsigned int unexpected;
};

/* Return: true if a call on a descriptor that may be closed has a valid result. */
static bool as_expected(bool good)
{
	return good || errno == EBADF || errno == EAGAIN || errno == ENOBUFS ||
	       errno == EINVAL || errno == ENOTTY || errno == ESHUTDOWN || errno == ENOENT ||
	       errno == EALREADY;
}

static void *make_calls(void *arg)
{
	struct victim *victim = arg;
	struct twheel_event event;
	__u64 id;
	int fd;

	if (__atomic_add_fetch(&victim->threads, 1, __ATOMIC_RELAXED) % 2)
		act_for(STRANGER);
	while (!__atomic_load_n(&victim->over, __ATOMIC_RELAXED)) {
		fd = __atomic_load_n(&victim->fd, __ATOMIC_RELAXED);
		id = add_keys(fd, TWHEEL_COND_ANY, 0, 8);
		if (!as_expected(id) || !as_expected(key_signal(fd, 7, 1) >= 0) ||
		    !as_expected(read_events(fd, &event, 1) == 1))
			__atomic_add_fetch(&victim->unexpected, 1, __ATOMIC_RELAXED);
		readable(fd, 0);
	}
	return NULL;
}

TEST_F(robust, descriptor_is_closed_during_calls)
{
	struct victim victim = { .fd = twheel_open_named(NAME, O_NONBLOCK) };
	pthread_t threads[3];
	int i, fd;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, make_calls, &victim));
	/* The descriptor number is reused, so that a late call uses the next file. */
	for (i = 0; i < 500; i++) {
		fd = twheel_open_named(NAME, O_NONBLOCK);
		ASSERT_LE(0, fd);
		ASSERT_EQ(victim.fd, dup2(fd, victim.fd));
		close(fd);
		if (i % 50 == 0)
			usleep(1000);
	}
	__atomic_store_n(&victim.over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, victim.unexpected);
	close(victim.fd);
	EXPECT_TRUE(works(self->fd));
}

/* Memory that is mapped and unmapped while calls read and write it. */
struct mapping {
	char *page;
	bool over;
};

static void *remap_in_loop(void *arg)
{
	long size = sysconf(_SC_PAGESIZE);
	struct mapping *mapping = arg;

	while (!__atomic_load_n(&mapping->over, __ATOMIC_RELAXED)) {
		mprotect(mapping->page, size, PROT_NONE);
		munmap(mapping->page, size);
		mmap(mapping->page, size, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
		mprotect(mapping->page, size, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* Return: true for errors of unmapped or zeroed memory. */
static bool harmless(int error)
{
	return !error || error == EFAULT || error == EINVAL || error == ENOENT ||
	       error == EALREADY || error == EAGAIN || error == ENOSPC ||
	       error == ENOBUFS || error == E2BIG;
}

TEST_F(robust, memory_is_unmapped_during_calls)
{
	struct mapping mapping = { .page = cliff() };
	struct twheel_batch_args batch = {
		.nr = 8,
		.command_size = sizeof(struct twheel_command),
		.result_size = sizeof(struct twheel_result),
	};
	struct twheel_list_args list = {
		.max_entries = 16,
		.entry_size = sizeof(struct twheel_pending),
		.flags = TWHEEL_LIST_OTHERS,
	};
	int fd = twheel_open_named(NAME, O_NONBLOCK);
	unsigned int i, unexpected = 0;
	char *at = mapping.page - 64;
	pthread_t thread;
	__u64 id = 0;

	ASSERT_EQ(0, pthread_create(&thread, NULL, remap_in_loop, &mapping));
	for (i = 0; i < 5000; i++) {
		/* One half is always mapped: zeroes there are an operation without keys. */
		unexpected += !harmless(call(fd, TWHEEL_IOC_ADD, at));
		unexpected += !harmless(call(fd, TWHEEL_IOC_SIGNAL, mapping.page - 8));
		unexpected += !harmless(call(fd, TWHEEL_IOC_QUERY, at));
		unexpected += read(fd, at, 4096) < 0 && !harmless(errno);
		batch.commands = address(at);
		batch.results = address(mapping.page - 8);
		unexpected += !harmless(call(fd, TWHEEL_IOC_BATCH, &batch));
		list.entries = address(at);
		list.cursor = 0;
		unexpected += !harmless(call(fd, TWHEEL_IOC_LIST, &list));
		id = add_specs(fd, TWHEEL_COND_ANY, 0, (void *)(mapping.page - 24), 4);
		if (id)
			op_cancel(fd, id);
		memset(at, 0, 64);
	}
	__atomic_store_n(&mapping.over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, unexpected);
	close(fd);
	EXPECT_TRUE(works(self->fd));
}

TEST_F(robust, many_open_files)
{
	unsigned int i, nr = 0;
	int fds[900];

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = i % 2 ? twheel_open_named(NAME, O_NONBLOCK) : twheel_open(O_NONBLOCK);
		if (fds[i] < 0)
			break;
		nr += add_keys(fds[i], TWHEEL_COND_ANY, 0, 1) && i % 2;
	}
	EXPECT_EQ(nr + 1, query(self->fd).files);
	EXPECT_EQ(nr, key_signal(self->fd, 1, 1));
	while (i--)
		close(fds[i]);
	EXPECT_TRUE(works(self->fd));
}

TEST_HARNESS_MAIN
