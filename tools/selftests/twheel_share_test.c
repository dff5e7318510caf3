// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing of a file: duplicated, inherited, passed over a socket, closed while another
 * thread waits, used by a process that is killed, read by many threads. Its purgatory
 * ends with the last descriptor.
 */
#include <signal.h>
#include <sys/epoll.h>
#include "named.h"
#include "pass.h"
#include "waiter.h"

FIXTURE(share) {
	int fd;
	long users;	/* module reference count before this test */
};

FIXTURE_SETUP(share)
{
	self->users = module_users();
	self->fd = twheel_open(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(share)
{
	if (self->fd >= 0)
		close(self->fd);
	/* No file is left open. */
	EXPECT_TRUE(wait_for(module_users() == self->users));
}

TEST_F(share, fork_shares_both_ways)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
	struct twheel_event event;
	pid_t child = fork();

	if (!child)
		_exit(key_signal(self->fd, 1, 4) == 1 &&
		      add_deadline(self->fd, 5 * MSEC, 0, 77) ? 0 : 1);
	ASSERT_TRUE(child_exited_well(child));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 4);
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
	EXPECT_EQ(77, event.cookie);
}

TEST_F(share, descriptor_is_passed_over_a_socket)
{
	int pair[2], fd;
	pid_t child;
	__u64 id;

	if (!make_pair(pair))
		SKIP(return, "no sockets: %s", strerror(errno));
	child = fork();
	if (!child) {
		close(self->fd);
		fd = receive_fd(pair[1]);
		_exit(fd >= 0 && key_signal(fd, 1, 6) == 1 ? 0 : 1);
	}
	id = add_keys(self->fd, TWHEEL_COND_ALL, 0, 1);
	ASSERT_EQ(0, send_fd(pair[0], self->fd));
	ASSERT_TRUE(child_exited_well(child));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 6);
}

TEST_F(share, purgatory_ends_inside_a_socket)
{
	int pair[2];

	ASSERT_NE(0, add_keys(self->fd, TWHEEL_COND_ANY, 0, 9));
	if (!make_pair(pair))
		SKIP(return, "no sockets: %s", strerror(errno));
	ASSERT_EQ(0, send_fd(pair[0], self->fd));
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(module_has_users(self->users + 1));
	close(pair[0]);
	close(pair[1]);
}

TEST_F(share, close_while_another_thread_reads)
{
	struct waiter w = { .fd = self->fd };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_read, &w));
	ASSERT_TRUE(waits_in(&w, SYS_read));
	ASSERT_NE(0, add_deadline(self->fd, 50 * MSEC, 0, 8));
	close(self->fd);
	self->fd = -1;
	pthread_join(thread, NULL);
	EXPECT_EQ(1, w.result);
	EXPECT_EQ(8, w.event.cookie);
}

TEST_F(share, close_while_epoll_watches)
{
	struct epoll_event ready, in = { .events = EPOLLIN };
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, self->fd, &in));
	ASSERT_NE(0, add_deadline(self->fd, 20 * MSEC, 0, 0));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 100));
	close(epfd);
}

TEST_F(share, killed_while_others_read)
{
	struct twheel_event event;
	pid_t child[3];
	int i;

	for (i = 0; i < 3; i++) {
		child[i] = fork();
		if (!child[i])
			_exit(read_events(self->fd, &event, 1) != 1);
		ASSERT_TRUE(wait_for(blocked_in(child[i], SYS_read)));
	}
	kill(child[1], SIGKILL);
	ASSERT_EQ(child[1], waitpid(child[1], NULL, 0));
	for (i = 0; i < 3; i++)
		ASSERT_NE(0, add_deadline(self->fd, 5 * MSEC, 0, 0));
	EXPECT_TRUE(child_exited_well(child[0]));
	EXPECT_TRUE(child_exited_well(child[2]));
	ASSERT_TRUE(next_event(self->fd, &event));
	ASSERT_TRUE(wait_for(query(self->fd).pending == 0));
	EXPECT_EQ(0, query(self->fd).unread);
}

#define NR_READERS	6
#define NR_SHARED	4000
#define STOP		(~0ULL)

static struct {
	int fd;
	int running;
	unsigned int got;
	unsigned char seen[NR_SHARED];
	unsigned int unexpected;
} pool;

static void *read_until_stopped(void *arg)
{
	struct twheel_event events[4];
	long i, nr, max = 1 + (long)arg % 4;
	bool stop = false;

	while (!stop) {
		nr = read_events(pool.fd, events, max);
		if (nr < 1)
			break;
		for (i = 0; i < nr; i++) {
			if (events[i].cookie == STOP) {
				stop = true;
				continue;
			}
			if (events[i].cookie >= NR_SHARED)
				__atomic_add_fetch(&pool.unexpected, 1, __ATOMIC_RELAXED);
			else
				__atomic_add_fetch(&pool.seen[events[i].cookie], 1,
						   __ATOMIC_RELAXED);
			__atomic_add_fetch(&pool.got, 1, __ATOMIC_RELAXED);
		}
	}
	__atomic_sub_fetch(&pool.running, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST_F(share, each_event_to_exactly_one_reader)
{
	struct twheel_query_args q = query(self->fd);
	pthread_t threads[NR_READERS];
	int left;
	long i;

	pool.fd = self->fd;
	pool.running = NR_READERS;
	for (i = 0; i < NR_READERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, read_until_stopped,
					    (void *)i));
	for (i = 0; i < NR_SHARED; i++) {
		/* Of two users; some end immediately, some together a little later. */
		ASSERT_TRUE(act_for(i % 2 ? STRANGER : 0));
		while (!add_deadline(self->fd, i % 3 * MSEC, 0, i)) {
			ASSERT_TRUE(errno == ENOSPC || errno == ENOBUFS);
			usleep(1000);
		}
	}
	ASSERT_TRUE(act_for(0));
	EXPECT_TRUE(wait_for(__atomic_load_n(&pool.got, __ATOMIC_RELAXED) == NR_SHARED));

	/* One at a time, so that no reader takes two. */
	for (left = NR_READERS - 1; left >= 0; left--) {
		ASSERT_NE(0, add_deadline(self->fd, 0, 0, STOP));
		ASSERT_TRUE(wait_for(__atomic_load_n(&pool.running,
						     __ATOMIC_ACQUIRE) == left));
	}
	for (i = 0; i < NR_READERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR_SHARED; i++)
		ASSERT_EQ(1, pool.seen[i]);
	EXPECT_EQ(0, pool.unexpected);
	EXPECT_EQ(NR_SHARED, pool.got);
	q = query(self->fd);
	EXPECT_EQ(NR_SHARED + NR_READERS, q.expired);
	EXPECT_EQ(0, q.unread);
}

TEST_HARNESS_MAIN
