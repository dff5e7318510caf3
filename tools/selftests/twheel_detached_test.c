// SPDX-License-Identifier: GPL-2.0
/*
 * Detached operations: they belong to a named purgatory and outlive the file
 * that added them, however that was closed; who reads detached events gets each
 * of them once, whoever else does so.
 */
#include "named.h"

#define NAME	"detached"

FIXTURE(detached) {
	long users;	/* of the module, before this test */
	int fd;
};

FIXTURE_SETUP(detached)
{
	remove_all_named();
	self->users = module_users();
	ASSERT_EQ(0, create_named(NAME, 0600));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(detached)
{
	remove_all_named();
	close(self->fd);
}

static __u64 add_detached(int fd, __u64 name, __u64 deadline, __u64 cookie)
{
	struct twheel_watch_spec spec = spec_of(name, 1);
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED,
		.condition = TWHEEL_COND_ANY,
		.nr_keys = 1,
		.keys = address(&spec),
		.deadline = deadline,
		.cookie = cookie,
	};

	return op_add(fd, &args) ? 0 : args.id;
}

/* A file that reads detached events. */
static int open_reader(int flags)
{
	int fd = twheel_open_named(NAME, flags);

	return fd >= 0 && !read_detached(fd) ? fd : -1;
}

TEST_F(detached, only_in_a_named_purgatory)
{
	int fd = twheel_open(O_NONBLOCK);

	EXPECT_EQ(0, add_detached(fd, 1, HOUR, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(EINVAL, read_detached(fd));
	EXPECT_EQ(0, query(fd).added);
	close(fd);
}

TEST_F(detached, unknown_flags_are_refused)
{
	struct twheel_detached_args args;
	int bit;

	for (bit = 0; bit < 32; bit++) {
		args = (struct twheel_detached_args) { .flags = 1U << bit };
		EXPECT_EQ(EINVAL, call(self->fd, TWHEEL_IOC_DETACHED, &args));
		args = (struct twheel_detached_args) { .reserved = 1U << bit };
		EXPECT_EQ(EINVAL, call(self->fd, TWHEEL_IOC_DETACHED, &args));
	}
}

TEST_F(detached, it_is_not_of_the_file_that_added_it)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 0);
	struct twheel_pending pending;
	struct twheel_query_args q;

	ASSERT_NE(0, id);
	q = query(self->fd);
	EXPECT_EQ(0, q.own);
	EXPECT_EQ(1, q.detached);
	EXPECT_EQ(1, q.pending);
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(TWHEEL_PENDING_DETACHED, pending.flags);
	EXPECT_EQ(0, complete_all(self->fd, 0, 0, 0));
	EXPECT_EQ(1, key_signal(self->fd, 1, 1));
	EXPECT_NO_EVENT(self->fd);
	q = query(self->fd);
	EXPECT_EQ(0, q.unread);
	EXPECT_EQ(0, q.detached);
	EXPECT_EQ(1, q.detached_unread);
}

TEST_F(detached, it_outlives_its_file)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 77);
	struct twheel_event event;

	ASSERT_NE(0, id);
	close(self->fd);
	self->fd = open_reader(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(1, query(self->fd).own);
	EXPECT_EQ(1, key_signal(self->fd, 1, 9));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(77, event.cookie);
	EXPECT_EQ(9, event.value);
	EXPECT_EQ(0, query(self->fd).detached_unread);
	EXPECT_EQ(0, query(self->fd).own);
}

TEST_F(detached, it_expires_while_nobody_has_the_purgatory_open)
{
	__u64 id = add_detached(self->fd, 1, 20 * MSEC, 0);

	ASSERT_NE(0, id);
	close(self->fd);
	self->fd = open_reader(O_NONBLOCK);
	EXPECT_EVENT(self->fd, id, TWHEEL_EXPIRED, 0);
}

TEST_F(detached, it_outlives_a_process_that_is_killed)
{
	struct twheel_event event;
	pid_t child = fork();
	int fd;

	if (!child) {
		fd = twheel_open_named(NAME, 0);
		add_deadline(fd, HOUR, 0, 0);
		add_detached(fd, 1, HOUR, 5);
		pause();
	}
	ASSERT_TRUE(wait_for(query(self->fd).detached == 1));
	kill(child, SIGKILL);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	ASSERT_TRUE(wait_for(query(self->fd).files == 1));
	EXPECT_EQ(1, query(self->fd).pending);
	EXPECT_EQ(1, key_signal(self->fd, 1, 1));
	ASSERT_EQ(0, read_detached(self->fd));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(5, event.cookie);
}

TEST_F(detached, who_has_operations_of_its_own_cannot_read_them)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0);

	EXPECT_EQ(EBUSY, read_detached(self->fd));
	EXPECT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(EBUSY, read_detached(self->fd));
	EXPECT_EVENT(self->fd, id, TWHEEL_CANCELLED, 0);
	EXPECT_EQ(0, read_detached(self->fd));
	EXPECT_EQ(0, read_detached(self->fd));
}

TEST_F(detached, to_ask_for_them_again_is_no_error)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 0);

	ASSERT_EQ(0, read_detached(self->fd));
	EXPECT_EQ(0, read_detached(self->fd));
	EXPECT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(0, read_detached(self->fd));
	EXPECT_EVENT(self->fd, id, TWHEEL_CANCELLED, 0);
}

TEST_F(detached, what_a_reader_adds_is_detached)
{
	int reader = open_reader(O_NONBLOCK);
	struct twheel_pending pending;
	__u64 id;

	ASSERT_LE(0, reader);
	id = add_keys(reader, TWHEEL_COND_ANY, 0, 1);
	ASSERT_NE(0, id);
	ASSERT_EQ(0, op_info(reader, id, &pending));
	EXPECT_EQ(TWHEEL_PENDING_DETACHED | TWHEEL_PENDING_OWN, (int)pending.flags);
	EXPECT_EQ(1, query(self->fd).detached);
	close(reader);
	EXPECT_EQ(1, query(self->fd).detached);
	EXPECT_EQ(1, key_signal(self->fd, 1, 4));
	ASSERT_EQ(0, read_detached(self->fd));
	EXPECT_EVENT(self->fd, id, TWHEEL_COMPLETED, 4);
}

TEST_F(detached, poll_tells_every_reader_and_none_else)
{
	int first = open_reader(O_NONBLOCK), second = open_reader(O_NONBLOCK);
	__u64 id = add_detached(self->fd, 1, HOUR, 0);

	EXPECT_NO_EVENT(first);
	EXPECT_EQ(0, op_complete(self->fd, id, 2));
	EXPECT_NO_EVENT(self->fd);
	EXPECT_TRUE(readable(first, 0));
	EXPECT_TRUE(readable(second, 0));
	EXPECT_EVENT(second, id, TWHEEL_COMPLETED, 2);
	EXPECT_NO_EVENT(first);
	close(first);
	close(second);
}

TEST_F(detached, what_nobody_read_waits_for_a_reader)
{
	int reader = open_reader(O_NONBLOCK);
	__u64 id = add_detached(reader, 1, HOUR, 0);

	EXPECT_EQ(0, op_cancel(reader, id));
	close(reader);
	EXPECT_EQ(1, query(self->fd).detached_unread);
	EXPECT_EQ(EALREADY, op_cancel(self->fd, id));
	ASSERT_EQ(0, read_detached(self->fd));
	EXPECT_EVENT(self->fd, id, TWHEEL_CANCELLED, 0);
}

TEST_F(detached, a_read_that_fails_leaves_it_to_the_others)
{
	int first = open_reader(O_NONBLOCK), second = open_reader(O_NONBLOCK);
	__u64 id = add_detached(self->fd, 1, HOUR, 0);

	EXPECT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(-1, read(first, cliff(), 4096));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EVENT(second, id, TWHEEL_CANCELLED, 0);
	close(first);
	close(second);
}

TEST_F(detached, it_ends_with_complete_all_of_a_reader)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 0);
	__u64 own = add_deadline(self->fd, HOUR, 0, 0);
	int reader = open_reader(O_NONBLOCK);

	EXPECT_EQ(1, complete_all(reader, 6, 0, 0));
	EXPECT_EVENT(reader, id, TWHEEL_COMPLETED, 6);
	EXPECT_EQ(0, op_cancel(self->fd, own));
	close(reader);
}

TEST_F(detached, a_reader_cannot_be_drained)
{
	ASSERT_EQ(0, read_detached(self->fd));
	EXPECT_EQ(-1, drain(self->fd));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
}

TEST_F(detached, a_drained_file_may_not_add_them)
{
	ASSERT_EQ(0, drain(self->fd));
	EXPECT_EQ(0, add_detached(self->fd, 1, HOUR, 0));
	EXPECT_EQ(ESHUTDOWN, errno);
}

TEST_F(detached, the_purgatory_is_busy_while_one_waits_or_is_unread)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 0);

	close(self->fd);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	self->fd = open_reader(O_NONBLOCK);
	EXPECT_EQ(0, op_cancel(self->fd, id));
	close(self->fd);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	self->fd = open_reader(O_NONBLOCK);
	EXPECT_EVENT(self->fd, id, TWHEEL_CANCELLED, 0);
	close(self->fd);
	EXPECT_EQ(0, remove_named(NAME));
	self->fd = -1;
}

TEST_F(detached, removal_by_force_ends_them)
{
	ASSERT_NE(0, add_detached(self->fd, 1, HOUR, 0));
	ASSERT_NE(0, add_detached(self->fd, 2, HOUR, 0));
	EXPECT_EQ(1, key_signal(self->fd, 1, 1));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(1, remove_by_force(NAME));
	EXPECT_TRUE(wait_for(module_users() == self->users));
}

TEST_F(detached, a_reader_reads_on_after_removal_by_force)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 0);
	struct twheel_event event;

	ASSERT_EQ(0, read_detached(self->fd));
	EXPECT_EQ(1, remove_by_force(NAME));
	EXPECT_EVENT(self->fd, id, TWHEEL_CANCELLED, 0);
	EXPECT_EQ(0, read_events(self->fd, &event, 1));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(self->fd));
}

/* One who adds, while another thread makes the same file a reader. */
static struct {
	int fd;
	pthread_barrier_t start;
	__u64 id;
} turning;

static void *add_one(void *arg)
{
	pthread_barrier_wait(&turning.start);
	turning.id = add_deadline(turning.fd, HOUR, 0, 0);
	return arg;
}

TEST_F(detached, added_while_its_file_becomes_a_reader)
{
	unsigned int own = 0;
	pthread_t thread;
	int i, error;

	ASSERT_EQ(0, pthread_barrier_init(&turning.start, NULL, 2));
	for (i = 0; i < rounds(2000); i++) {
		turning.fd = twheel_open_named(NAME, O_NONBLOCK);
		ASSERT_LE(0, turning.fd);
		ASSERT_EQ(0, pthread_create(&thread, NULL, add_one, NULL));
		pthread_barrier_wait(&turning.start);
		error = read_detached(turning.fd);
		pthread_join(thread, NULL);
		ASSERT_TRUE(error == 0 || error == EBUSY);
		ASSERT_NE(0, turning.id);
		own += error == EBUSY;
		/* Wherever it belongs now, its event comes to who added it. */
		ASSERT_EQ(1, complete_all(turning.fd, i, 0, 0));
		EXPECT_EVENT(turning.fd, turning.id, TWHEEL_COMPLETED, i);
		close(turning.fd);
	}
	TH_LOG("%u of them were the file's own", own);
}

#define NR_READERS	3
#define NR_OPS		600

static struct {
	unsigned char seen[NR_OPS];
	unsigned int got;
	unsigned int strange;
} pool;

/* Until the purgatory is removed: then read() comes to an end. */
static void *read_until_the_end(void *arg)
{
	int fd = open_reader(0);
	struct twheel_event events[3];
	long i, nr;

	while ((nr = read_events(fd, events, 3)) > 0) {
		for (i = 0; i < nr; i++) {
			if (events[i].cookie >= NR_OPS)
				__atomic_add_fetch(&pool.strange, 1, __ATOMIC_RELAXED);
			else
				__atomic_add_fetch(&pool.seen[events[i].cookie], 1,
						   __ATOMIC_RELAXED);
			__atomic_add_fetch(&pool.got, 1, __ATOMIC_RELAXED);
		}
	}
	if (nr < 0)
		__atomic_add_fetch(&pool.strange, 1, __ATOMIC_RELAXED);
	close(fd);
	return arg;
}

TEST_F(detached, each_event_to_exactly_one_of_many_readers)
{
	pthread_t threads[NR_READERS];
	int i;

	for (i = 0; i < NR_READERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, read_until_the_end, NULL));
	ASSERT_TRUE(wait_for(query(self->fd).files == NR_READERS + 1));
	for (i = 0; i < NR_OPS; i++) {
		while (!add_detached(self->fd, i, i % 3 * MSEC, i)) {
			ASSERT_TRUE(errno == ENOSPC || errno == EAGAIN);
			usleep(1000);
		}
	}
	EXPECT_TRUE(wait_for(__atomic_load_n(&pool.got, __ATOMIC_RELAXED) == NR_OPS));
	EXPECT_EQ(0, remove_by_force(NAME));
	for (i = 0; i < NR_READERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR_OPS; i++)
		ASSERT_EQ(1, pool.seen[i]);
	EXPECT_EQ(0, pool.strange);
	EXPECT_EQ(NR_OPS, pool.got);
}

TEST_HARNESS_MAIN
