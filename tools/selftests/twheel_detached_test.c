// SPDX-License-Identifier: GPL-2.0
/*
 * Detached operations: they belong to a named purgatory and outlive the file that added
 * them, regardless of how that was closed. Their events have numbered queues, of which
 * TWHEEL_IOC_EVENTS returns descriptors; each event is delivered to one of these.
 */
#include <signal.h>
#include "named.h"

#define NAME	"detached"

FIXTURE_OF_A_PURGATORY(detached, NAME, WITH_EVENTS);

static __u64 add_detached(int fd, __u64 name, __u64 deadline, __u64 cookie)
{
	struct twheel_watch_spec spec = spec_of(name, 1);

	return add_fields(fd, .flags = TWHEEL_ADD_DETACHED, .condition = TWHEEL_COND_ANY,
			  .nr_keys = 1, .key_size = sizeof(spec), .keys = address(&spec),
			  .deadline = deadline, .cookie = cookie);
}

/* Add an operation that has expired, detached to a queue. Return: its id. */
static __u64 add_to_queue(int fd, __u32 queue)
{
	return add_fields(fd, .flags = TWHEEL_ADD_DETACHED, .queue = queue);
}

TEST_F(detached, queues_have_events_of_their_own)
{
	static const __u32 queues[] = { 1, 5, TWHEEL_MAX_QUEUES - 1 };
	struct twheel_event event;
	unsigned int i;
	__u64 ids[3];
	int fd;

	for (i = 0; i < 3; i++) {
		ids[i] = add_to_queue(self->fd, queues[i]);
		ASSERT_NE(0, ids[i]);
	}
	EXPECT_EQ(0, add_to_queue(self->fd, TWHEEL_MAX_QUEUES));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_TRUE(wait_for(query(self->fd).detached_unread == 3));
	EXPECT_EQ(-1, read_events(self->events, &event, 1));
	for (i = 3; i--; close(fd)) {
		fd = open_queue(self->fd, queues[i], O_NONBLOCK);
		ASSERT_LE(0, fd);
		EXPECT_EQ(i + 1, query(self->fd).detached_unread);
		ASSERT_EQ(1, read_events(fd, &event, 1));
		EXPECT_EQ(ids[i], event.id);
		EXPECT_EQ(-1, read_events(fd, &event, 1));
	}
}

/* Return: true if the oldest unread event became readable between two times. */
static bool oldest_since(int fd, __u64 from, __u64 to)
{
	__u64 before = now_ns(), age = query(fd).oldest_unread_ns;

	return age >= before - to && age <= now_ns() - from;
}

/* The age does not depend on the clock, and is that of the oldest event of all queues. */
TEST_F(detached, query_shows_the_oldest_unread_event)
{
	static const __u32 clocks[] = {
		CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_REALTIME,
	};
	struct twheel_add_args args = { .deadline = TWHEEL_NEVER };
	__u64 from[4], to[4];
	struct twheel_event event;
	unsigned int i;
	int fd;

	EXPECT_EQ(0, query(self->fd).oldest_unread_ns);
	for (i = 0; i < 4; i++) {
		args.clock = clocks[i];
		args.flags = TWHEEL_ADD_DETACHED | (i == 3 ? TWHEEL_ADD_ABSTIME : 0);
		args.queue = 9 - i;
		ASSERT_EQ(0, op_add(self->fd, &args));
		from[i] = now_ns();
		ASSERT_EQ(0, op_cancel(self->fd, args.id));
		to[i] = now_ns();
		usleep(5000);
	}
	for (i = 0; i < 4; i++, close(fd)) {
		EXPECT_TRUE(oldest_since(self->fd, from[i], to[i]));
		fd = open_queue(self->fd, 9 - i, O_NONBLOCK);
		EXPECT_EQ(1, read_events(fd, &event, 1));
	}
	EXPECT_EQ(0, query(self->fd).oldest_unread_ns);
}

/* Listings count the periods that have passed, and do not make the event younger. */
TEST_F(detached, age_of_periods_is_that_of_the_first)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED, .deadline = 4 * MSEC, .period = 4 * MSEC,
	};
	__u64 from = now_ns() + args.deadline, to;
	struct twheel_pending pending;

	ASSERT_EQ(0, op_add(self->fd, &args));
	to = now_ns() + args.deadline;
	ASSERT_TRUE(wait_for(query(self->fd).detached_unread));
	usleep(20000);
	EXPECT_TRUE(oldest_since(self->fd, from, to));
	EXPECT_EQ(0, op_info(self->fd, args.id, &pending));
	usleep(5000);
	EXPECT_TRUE(oldest_since(self->fd, from, to));
	EXPECT_EQ(0, op_cancel(self->fd, args.id));
	EXPECT_TRUE(oldest_since(self->fd, from, to));
}

/* One queue has an event that is not confirmed, the other one an unread event of another user. */
TEST_F(detached, each_queue_has_its_counts)
{
	int reader = open_queue(self->fd, 5, TWHEEL_EVENTS_CONFIRM);
	struct twheel_queue_args counts;
	struct twheel_event event;
	__u64 from = now_ns();

	ASSERT_NE(0, add_to_queue(self->fd, 5));
	ASSERT_TRUE(next_event(reader, &event));
	ASSERT_TRUE(act_for(STRANGER));
	ASSERT_NE(0, add_to_queue(self->fd, 900));
	ASSERT_TRUE(act_for(0));
	ASSERT_TRUE(wait_for(queue_state(self->fd, 900).unread));
	usleep(5000);
	counts = queue_state(self->fd, 1);
	EXPECT_EQ(5, counts.queue);
	EXPECT_EQ(1, counts.ops);
	EXPECT_EQ(0, counts.pending);
	EXPECT_EQ(0, counts.unread);
	EXPECT_EQ(1, counts.unconfirmed);
	EXPECT_EQ(0, counts.oldest_unread_ns);
	EXPECT_LE(5 * MSEC, counts.oldest_unconfirmed_ns);
	counts = queue_state(self->fd, 6);
	EXPECT_EQ(900, counts.queue);
	EXPECT_EQ(1, counts.unread);
	EXPECT_EQ(0, counts.unconfirmed);
	EXPECT_LE(5 * MSEC, counts.oldest_unread_ns);
	EXPECT_GE(now_ns() - from, counts.oldest_unread_ns);
	EXPECT_EQ(0, counts.oldest_unconfirmed_ns);
	EXPECT_EQ(0, queue_state(self->fd, 901).queue);
	close(reader);
}

/* The operations of a queue outlive its descriptors, and a removal ends all queues. */
TEST_F(detached, removal_ends_each_queue)
{
	struct twheel_add_args add = { .flags = TWHEEL_ADD_DETACHED, .queue = 3 };
	int fds[2] = { open_queue(self->fd, 1, 0), open_queue(self->fd, 2, 0) };
	struct twheel_event event;
	unsigned int i;

	ASSERT_NE(0, add_to_queue(self->fd, 2));
	ASSERT_TRUE(wait_for(query(self->fd).detached_unread == 1));
	add.deadline = HOUR;
	ASSERT_EQ(0, op_add(self->fd, &add));
	close_it(&self->fd);
	close_it(&self->events);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	self->events = open_queue(self->fd, 3, O_NONBLOCK);
	ASSERT_EQ(1, remove_by_force(NAME));
	EXPECT_EVENT(self->events, add.id, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EQ(0, read_events(self->events, &event, 1));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(self->events));
	EXPECT_EQ(-1, open_events(self->fd, 0));
	EXPECT_EQ(ESHUTDOWN, errno);
	EXPECT_EQ(0, read(fds[0], &event, sizeof(event)));
	EXPECT_EQ(1, read_events(fds[1], &event, 1));
	EXPECT_EQ(0, read(fds[1], &event, sizeof(event)));
	for (i = 0; i < 2; i++)
		close(fds[i]);
}

TEST_F(detached, descriptor_is_close_on_exec_and_read_only)
{
	int blocking = open_events(self->fd, 0);
	struct twheel_event event = { 0 };

	EXPECT_EQ(FD_CLOEXEC, fcntl(self->events, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(blocking, F_GETFD));
	EXPECT_EQ(O_RDONLY, fcntl(blocking, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(O_RDONLY, fcntl(self->events, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(0, fcntl(blocking, F_GETFL) & O_NONBLOCK);
	EXPECT_EQ(O_NONBLOCK, fcntl(self->events, F_GETFL) & O_NONBLOCK);
	EXPECT_EQ(-1, write(blocking, &event, sizeof(event)));
	EXPECT_EQ(EBADF, errno);
	close(blocking);
}

TEST_F(detached, descriptor_counts_as_an_open_file)
{
	EXPECT_EQ(2, query(self->fd).files);
	close_it(&self->events);
	EXPECT_EQ(1, query(self->fd).files);
	self->events = open_events(self->fd, 0);
	close_it(&self->fd);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	close_it(&self->events);
	EXPECT_EQ(0, remove_named(NAME));
}

/* Every file shows the cookie of a detached operation, only the adding file shows OWN. */
TEST_F(detached, other_files_see_its_cookie)
{
	int other = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED, .queue = 7, .deadline = HOUR, .cookie = POISON,
	};
	struct twheel_pending pending;

	ASSERT_EQ(0, op_add(self->fd, &args));
	ASSERT_EQ(0, op_info(self->fd, args.id, &pending));
	EXPECT_EQ(TWHEEL_PENDING_DETACHED | TWHEEL_PENDING_OWN, (int)pending.flags);
	EXPECT_EQ(7, pending.queue);
	ASSERT_EQ(0, op_info(other, args.id, &pending));
	EXPECT_EQ(TWHEEL_PENDING_DETACHED, (int)pending.flags);
	EXPECT_EQ(POISON, pending.cookie);
	close(other);
}

/* Calls on all operations of a file do not end its detached ones. */
TEST_F(detached, drain_ends_only_own_operations)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 0);
	__u64 own = add_deadline(self->fd, HOUR, 0, 0);

	EXPECT_EQ(1, complete_all(self->fd, 5, 0, 0));
	EXPECT_EVENT(self->fd, own, TWHEEL_REASON_COMPLETED, 5);
	own = add_deadline(self->fd, HOUR, 0, 0);
	EXPECT_EQ(1, drain(self->fd));
	EXPECT_EVENT(self->fd, own, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_NO_EVENT(self->events);
	EXPECT_EQ(0, add_detached(self->fd, 1, HOUR, 0));
	EXPECT_EQ(ESHUTDOWN, errno);
	EXPECT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EVENT(self->events, id, TWHEEL_REASON_CANCELLED, 0);
}

TEST_F(detached, operation_expires_without_any_open_file)
{
	__u64 id = add_detached(self->fd, 1, 20 * MSEC, 0);

	ASSERT_NE(0, id);
	close_it(&self->events);
	close_it(&self->fd);
	/* Otherwise it would expire after the next open. */
	usleep(50000);
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	self->events = open_events(self->fd, 0);
	EXPECT_EVENT(self->events, id, TWHEEL_REASON_EXPIRED, 0);
}

TEST_F(detached, event_wakes_all_descriptors_and_is_read_once)
{
	int other = open_events(self->fd, O_NONBLOCK);
	__u64 id = add_detached(self->fd, 1, HOUR, 0);
	struct twheel_event event;

	EXPECT_NO_EVENT(other);
	EXPECT_EQ(0, op_complete(self->fd, id, 2));
	EXPECT_NO_EVENT(self->fd);
	EXPECT_TRUE(readable(self->events, 0));
	EXPECT_TRUE(readable(other, 0));
	EXPECT_EVENT(other, id, TWHEEL_REASON_COMPLETED, 2);
	EXPECT_NO_EVENT(self->events);
	EXPECT_EQ(-1, read_events(self->events, &event, 1));
	EXPECT_EQ(EAGAIN, errno);
	close(other);
}

TEST_F(detached, purgatory_is_busy_while_operation_is_pending_or_unread)
{
	__u64 id = add_detached(self->fd, 1, HOUR, 0);

	close_it(&self->events);
	close_it(&self->fd);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	EXPECT_EQ(0, op_cancel(self->fd, id));
	close_it(&self->fd);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	EXPECT_EQ(1, query(self->fd).detached_unread);
	EXPECT_EQ(ENOENT, op_cancel(self->fd, id));
	self->events = open_events(self->fd, 0);
	EXPECT_EVENT(self->events, id, TWHEEL_REASON_CANCELLED, 0);
	close_it(&self->events);
	close_it(&self->fd);
	EXPECT_EQ(0, remove_named(NAME));
}

/* Number of voluntary context switches of a thread of this process. */
static long switches_of(pid_t tid)
{
	char path[64], line[256];
	long nr = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &nr) == 1)
			break;
	if (file)
		fclose(file);
	return nr;
}

/* Detached events of one file do not wake the pollers of other files. */
TEST_F(detached, event_does_not_wake_pollers_of_other_files)
{
	struct waiter w = { .fd = twheel_open_named(NAME, O_NONBLOCK) };
	struct twheel_event event;
	pthread_t thread;
	long before;
	__u64 id;
	int i;

	ASSERT_LE(0, w.fd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_poll, &w));
	ASSERT_TRUE(waits_in(&w, SYS_poll));
	before = switches_of(w.tid);
	ASSERT_LE(0, before);
	for (i = 0; i < 50; i++) {
		id = add_detached(self->fd, 1, i % 2 ? 0 : HOUR, i);
		if (i % 2 == 0)
			ASSERT_EQ(0, op_complete(self->fd, id, 0));
		ASSERT_TRUE(next_event(self->events, &event));
		/* Give a thread that was woken the time to sleep again. */
		usleep(2000);
	}
	EXPECT_GE(before + 1, switches_of(w.tid));
	/* Its own event wakes it. */
	ASSERT_NE(0, add_deadline(w.fd, 0, 0, 0));
	pthread_join(thread, NULL);
	EXPECT_EQ(POLLIN, w.revents);
	close(w.fd);
}

TEST_HARNESS_MAIN
