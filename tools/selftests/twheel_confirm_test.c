// SPDX-License-Identifier: GPL-2.0
/*
 * Events that are confirmed: a descriptor of TWHEEL_IOC_EVENTS with TWHEEL_EVENTS_CONFIRM keeps the
 * events of its latest read, until the next one or TWHEEL_IOC_CONFIRM. When it is closed, they are
 * the first ones of their queue again.
 */
#include <signal.h>
#include "named.h"

#define NAME	"confirm"

/* Number of events that a read of such a descriptor delivers at most. */
#define READ_MAX	64

FIXTURE_OF_A_PURGATORY(confirm, NAME, WITH_CONFIRM);

/* Add operations with these cookies that have been cancelled. Return: true if all were. */
static bool add_events(int fd, __u64 from, __u64 to)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED, .deadline = HOUR, .clock = CLOCK_MONOTONIC,
	};

	for (args.cookie = from; args.cookie <= to; args.cookie++)
		if (op_add(fd, &args) || op_cancel(fd, args.id))
			return false;
	return true;
}

/* The next events have these cookies and flags. */
#define EXPECT_COOKIES(fd, from, to, _flags)				\
do {									\
	struct twheel_event __events[2 * READ_MAX];			\
	__u64 __nr = (to) - (from) + 1, __i;				\
									\
	ASSERT_EQ((long)__nr, read_events(fd, __events, __nr));		\
	for (__i = 0; __i < __nr; __i++) {				\
		EXPECT_EQ((from) + __i, __events[__i].cookie);		\
		EXPECT_EQ(_flags, (int)__events[__i].flags);		\
	}								\
} while (0)

TEST_F(confirm, next_read_confirms)
{
	struct twheel_event event;

	ASSERT_TRUE(add_events(self->fd, 1, 3));
	EXPECT_COOKIES(self->events, 1, 2, 0);
	EXPECT_EQ(2, query(self->fd).unconfirmed);
	EXPECT_EQ(1, query(self->fd).detached_unread);
	EXPECT_EQ(3, queue_state(self->fd, 0).ops);
	EXPECT_COOKIES(self->events, 3, 3, 0);
	EXPECT_EQ(1, query(self->fd).unconfirmed);
	EXPECT_EQ(1, queue_state(self->fd, 0).ops);
	EXPECT_EQ(-1, read_events(self->events, &event, 1));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, query(self->fd).unconfirmed);
	EXPECT_EQ(0, queue_state(self->fd, 0).ops);
	close_it(&self->events);
	EXPECT_NO_EVENT(self->other);
}

TEST_F(confirm, close_puts_back_at_the_head_in_order)
{
	ASSERT_TRUE(add_events(self->fd, 1, 4));
	EXPECT_COOKIES(self->events, 1, 3, 0);
	ASSERT_TRUE(add_events(self->fd, 5, 5));
	close_it(&self->events);
	EXPECT_EQ(0, query(self->fd).unconfirmed);
	EXPECT_EQ(5, query(self->fd).detached_unread);
	EXPECT_COOKIES(self->other, 1, 3, TWHEEL_EVENT_AGAIN);
	EXPECT_COOKIES(self->other, 4, 5, 0);
	EXPECT_EQ(0, queue_state(self->fd, 0).ops);
}

TEST_F(confirm, an_event_comes_again_until_it_is_confirmed)
{
	unsigned int i;

	ASSERT_TRUE(add_events(self->fd, 1, 2));
	for (i = 0; i < 3; i++) {
		EXPECT_COOKIES(self->events, 1, 2, i ? TWHEEL_EVENT_AGAIN : 0);
		close(self->events);
		self->events = open_events(self->fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	}
	EXPECT_COOKIES(self->events, 1, 2, TWHEEL_EVENT_AGAIN);
	EXPECT_NO_EVENT(self->events);
	EXPECT_EQ(2, query(self->fd).unconfirmed);
}

TEST_F(confirm, call_confirms_one_event)
{
	struct twheel_event events[3];
	unsigned int i;

	ASSERT_TRUE(add_events(self->fd, 1, 3));
	ASSERT_EQ(3, read_events(self->events, events, 3));
	EXPECT_EQ(0, op_confirm(self->events, events[1].id));
	EXPECT_EQ(2, query(self->fd).unconfirmed);
	EXPECT_EQ(ENOENT, op_confirm(self->events, events[1].id));
	close_it(&self->events);
	for (i = 0; i < 3; i += 2)
		EXPECT_COOKIES(self->other, i + 1, i + 1, TWHEEL_EVENT_AGAIN);
	EXPECT_NO_EVENT(self->other);
}

TEST_F(confirm, a_read_delivers_a_bounded_number)
{
	struct twheel_event events[2 * READ_MAX];

	ASSERT_TRUE(add_events(self->fd, 1, READ_MAX + 1));
	ASSERT_EQ(READ_MAX, read_events(self->events, events, 2 * READ_MAX));
	EXPECT_EQ(READ_MAX, query(self->fd).unconfirmed);
	EXPECT_TRUE(readable(self->events, 0));
	close_it(&self->events);
	EXPECT_COOKIES(self->other, 1, READ_MAX, TWHEEL_EVENT_AGAIN);
	EXPECT_COOKIES(self->other, READ_MAX + 1, READ_MAX + 1, 0);
}

/* A descriptor keeps the events that it has delivered, not those of other descriptors. */
TEST_F(confirm, descriptors_confirm_their_own_events)
{
	int second = open_events(self->fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	struct twheel_event event;

	ASSERT_TRUE(add_events(self->fd, 1, 2));
	ASSERT_EQ(1, read_events(self->events, &event, 1));
	EXPECT_COOKIES(second, 2, 2, 0);
	GIVES(TWHEEL_IOC_CONFIRM, EINVAL, op_confirm(self->other, event.id));
	EXPECT_EQ(ENOENT, op_confirm(second, event.id));
	EXPECT_EQ(-1, read_events(second, &event, 1));
	EXPECT_EQ(1, query(self->fd).unconfirmed);
	close_it(&self->events);
	EXPECT_COOKIES(second, 1, 1, TWHEEL_EVENT_AGAIN);
	close(second);
}

TEST_F(confirm, query_shows_the_oldest_unconfirmed_event)
{
	int second = open_events(self->fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	__u64 before, age, after;

	ASSERT_TRUE(add_events(self->fd, 1, 2));
	EXPECT_EQ(0, query(self->fd).oldest_unconfirmed_ns);
	before = now_ns();
	EXPECT_COOKIES(self->events, 1, 1, 0);
	after = now_ns();
	usleep(2000);
	EXPECT_COOKIES(second, 2, 2, 0);
	after = now_ns() - after;
	age = query(self->fd).oldest_unconfirmed_ns;
	EXPECT_LE(after, age);
	EXPECT_GE(now_ns() - before, age);
	before = now_ns();
	close_it(&self->events);
	age = query(self->fd).oldest_unconfirmed_ns;
	EXPECT_NE(0, age);
	EXPECT_GT(after + now_ns() - before, age);
	close(second);
	EXPECT_EQ(0, query(self->fd).oldest_unconfirmed_ns);
}

/* The operation has ended; its id stays, like that of an unread event. */
TEST_F(confirm, operation_of_a_kept_event_has_ended)
{
	struct twheel_pending pending;
	struct twheel_event event;

	ASSERT_TRUE(add_events(self->fd, 1, 1));
	ASSERT_EQ(1, read_events(self->events, &event, 1));
	EXPECT_EQ(ENOENT, op_cancel(self->fd, event.id));
	EXPECT_EQ(ENOENT, op_complete(self->fd, event.id, 1));
	EXPECT_EQ(ENOENT, op_info(self->fd, event.id, &pending));
	EXPECT_EQ(-1, op_rearm(self->fd, event.id, HOUR, 0));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(0, query(self->fd).pending);
}

/* It is not delivered to a buffer that faults, and is not marked. */
TEST_F(confirm, fault_confirms_earlier_events_only)
{
	char *edge = cliff();

	ASSERT_TRUE(add_events(self->fd, 1, 4));
	EXPECT_COOKIES(self->events, 1, 1, 0);
	EXPECT_EQ(-1, read_events(self->events, (void *)edge, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, query(self->fd).unconfirmed);
	EXPECT_EQ(1, read_events(self->events, (void *)edge - sizeof(struct twheel_event), 3));
	EXPECT_EQ(1, query(self->fd).unconfirmed);
	close_it(&self->events);
	EXPECT_COOKIES(self->other, 2, 2, TWHEEL_EVENT_AGAIN);
	EXPECT_COOKIES(self->other, 3, 4, 0);
}

/* A buffer that is too small is refused before, and a read that may be one of io_uring. */
TEST_F(confirm, refused_read_confirms_nothing)
{
	struct twheel_event event;
	struct iovec iov = { &event, sizeof(event) };

	ASSERT_TRUE(add_events(self->fd, 1, 1));
	EXPECT_COOKIES(self->events, 1, 1, 0);
	EXPECT_EQ(-1, read(self->events, &event, sizeof(event) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, preadv2(self->events, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1, query(self->fd).unconfirmed);
}

TEST_F(confirm, limit_counts_unconfirmed_events)
{
	struct twheel_create_args create = create_args("limited", 0600);
	struct twheel_event event;
	int fd, events;

	create.max_queue = 2;
	fd = create_open(&create);
	ASSERT_LE(0, fd);
	events = open_events(fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	ASSERT_TRUE(add_events(fd, 1, 2));
	EXPECT_COOKIES(events, 1, 1, 0);
	EXPECT_FALSE(add_events(fd, 3, 3));
	EXPECT_EQ(ENOBUFS, errno);
	close(events);
	events = open_events(fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	EXPECT_COOKIES(events, 1, 1, TWHEEL_EVENT_AGAIN);
	EXPECT_COOKIES(events, 2, 2, 0);
	EXPECT_TRUE(add_events(fd, 3, 3));
	EXPECT_EQ(1, read_events(events, &event, 1));
	close(events);
	close(fd);
}

TEST_F(confirm, event_that_comes_back_wakes_a_reader)
{
	struct waiter waiter = { .fd = open_events(self->fd, 0) };
	pthread_t thread;

	ASSERT_TRUE(add_events(self->fd, 1, 1));
	EXPECT_COOKIES(self->events, 1, 1, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_read, &waiter));
	ASSERT_TRUE(waits_in(&waiter, SYS_read));
	close_it(&self->events);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, waiter.result);
	EXPECT_EQ(1, waiter.event.cookie);
	close(waiter.fd);
}

TEST_F(confirm, second_thread_is_refused)
{
	struct waiter waiter = { .fd = open_events(self->fd, TWHEEL_EVENTS_CONFIRM) };
	struct twheel_event event;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_read, &waiter));
	ASSERT_TRUE(waits_in(&waiter, SYS_read));
	GIVES(read, EBUSY, errno_of(read_events(waiter.fd, &event, 1)));
	GIVES(TWHEEL_IOC_CONFIRM, EBUSY, op_confirm(waiter.fd, 1));
	ASSERT_TRUE(add_events(self->fd, 1, 1));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, waiter.result);
	EXPECT_EQ(0, op_confirm(waiter.fd, waiter.event.id));
	close(waiter.fd);
}

/* The last descriptor of an open file counts. */
TEST_F(confirm, copy_of_the_descriptor_keeps_the_events)
{
	int copy = dup(self->events);

	ASSERT_TRUE(add_events(self->fd, 1, 1));
	EXPECT_COOKIES(self->events, 1, 1, 0);
	close_it(&self->events);
	EXPECT_EQ(1, query(self->fd).unconfirmed);
	EXPECT_NO_EVENT(self->other);
	close(copy);
	EXPECT_COOKIES(self->other, 1, 1, TWHEEL_EVENT_AGAIN);
}

TEST_F(confirm, purgatory_is_busy_while_an_event_is_kept)
{
	ASSERT_TRUE(add_events(self->fd, 1, 1));
	EXPECT_COOKIES(self->events, 1, 1, 0);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	close_it(&self->other);
	close_it(&self->events);
	close_it(&self->fd);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	self->events = open_events(self->fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	EXPECT_COOKIES(self->events, 1, 1, TWHEEL_EVENT_AGAIN);
}

/* The queue is at its end when the last event has been confirmed. */
TEST_F(confirm, removal_leaves_events_to_their_readers)
{
	int second = open_events(self->fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	struct twheel_event event;

	ASSERT_TRUE(add_events(self->fd, 1, 3));
	EXPECT_COOKIES(self->events, 1, 2, 0);
	ASSERT_EQ(1, read_events(second, &event, 1));
	EXPECT_EQ(0, poll_now(second));
	EXPECT_EQ(0, remove_by_force(NAME));
	EXPECT_EQ(0, op_confirm(second, event.id));
	EXPECT_EQ(0, poll_now(self->other));
	EXPECT_EQ(-1, read_events(self->other, &event, 1));
	EXPECT_EQ(EAGAIN, errno);
	close_it(&self->events);
	EXPECT_EQ(1, read_events(self->other, &event, 1));
	EXPECT_EQ(1, event.cookie);
	ASSERT_EQ(1, read_events(second, &event, 1));
	EXPECT_EQ(2, event.cookie);
	EXPECT_EQ(-1, read_events(self->other, &event, 1));
	/* Only read() confirms the last events, and returns 0 then. */
	EXPECT_EQ(POLLIN, poll_now(second));
	EXPECT_EQ(0, read_events(second, &event, 1));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(second));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(self->other));
	EXPECT_EQ(0, read_events(self->other, &event, 1));
	close(second);
}

static __u64 add_periodic(int fd, __u64 period)
{
	return add_fields(fd, .flags = TWHEEL_ADD_DETACHED, .deadline = MSEC, .period = period,
			  .clock = CLOCK_MONOTONIC);
}

/* Wait until nine further periods of 1 ms have passed. */
static bool periods_pass(int fd, const struct twheel_event *event)
{
	struct twheel_pending pending;

	return wait_for(!op_info(fd, event->id, &pending) &&
			pending.deadline > event->deadline + 9 * MSEC);
}

/* An operation has one event at a time: the periods that pass meanwhile are in the next one. */
TEST_F(confirm, periods_pass_while_an_event_is_kept)
{
	struct twheel_event event, again;

	ASSERT_TRUE(add_periodic(self->fd, MSEC));
	ASSERT_TRUE(next_event(self->events, &event));
	EXPECT_EQ(TWHEEL_EVENT_MORE, (int)event.flags);
	EXPECT_TRUE(periods_pass(self->fd, &event));
	EXPECT_NO_EVENT(self->other);
	close_it(&self->events);
	self->events = open_events(self->fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM);
	ASSERT_TRUE(next_event(self->events, &again));
	EXPECT_EQ(TWHEEL_EVENT_MORE | TWHEEL_EVENT_AGAIN, (int)again.flags);
	EXPECT_LT(event.expirations, again.expirations);
	EXPECT_EQ(0, op_confirm(self->events, again.id));
	ASSERT_TRUE(next_event(self->events, &event));
	EXPECT_EQ(TWHEEL_EVENT_MORE, (int)event.flags);
	EXPECT_EQ(again.deadline + event.expirations * MSEC, event.deadline);
}

/* The last event comes when the one before has been confirmed, or in its place. */
TEST_F(confirm, operation_ends_while_its_event_is_kept)
{
	struct twheel_event event;
	unsigned int i;
	__u64 id;

	for (i = 0; i < 2; i++) {
		id = add_periodic(self->fd, HOUR);
		ASSERT_NE(0, id);
		ASSERT_TRUE(next_event(self->events, &event));
		EXPECT_EQ(TWHEEL_EVENT_MORE, (int)event.flags);
		EXPECT_EQ(0, op_cancel(self->fd, id));
		EXPECT_NO_EVENT(self->other);
		EXPECT_EQ(i ? ENOENT : 0, op_confirm(self->events, i ? 0 : id));
		if (i)
			close_it(&self->events);
		ASSERT_TRUE(next_event(self->other, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(i ? TWHEEL_EVENT_AGAIN : 0, (int)event.flags);
		EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)event.reason);
		EXPECT_EQ(i, event.expirations);
		EXPECT_NO_EVENT(self->other);
	}
}

/* A fixed delay starts when the event is confirmed. */
TEST_F(confirm, fixed_delay_starts_at_the_confirmation)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_DETACHED | TWHEEL_ADD_FIXED_DELAY, .deadline = MSEC,
		.period = 2 * MSEC, .clock = CLOCK_MONOTONIC,
	};
	struct twheel_event event;
	__u64 confirmed;

	ASSERT_EQ(0, op_add(self->fd, &args));
	ASSERT_TRUE(next_event(self->events, &event));
	usleep(10000);
	confirmed = now_ns();
	EXPECT_EQ(0, op_confirm(self->events, args.id));
	ASSERT_TRUE(next_event(self->events, &event));
	EXPECT_LE(confirmed + args.period, event.time);
	EXPECT_EQ(1, event.expirations);
}

/* Shared by workers: how often each job was done, and what went wrong. */
struct record {
	unsigned int done[4096];
	unsigned int unmarked;	/* done before, without a mark */
	unsigned int gaps;	/* before a job that was not done before */
	unsigned int next;	/* first job that was not done */
};

/* Do jobs until the process is killed. */
static void work(struct record *record, bool alone)
{
	int fd = twheel_open_named(NAME, 0), queue = open_events(fd, TWHEEL_EVENTS_CONFIRM);
	struct twheel_event events[READ_MAX];
	unsigned int reads, *done;
	long i, nr;

	for (reads = 0; (nr = read_events(queue, events, 1 + reads % READ_MAX)) > 0; reads++) {
		for (i = 0; i < nr; i++) {
			done = &record->done[events[i].cookie];
			if (*done && !(events[i].flags & TWHEEL_EVENT_AGAIN))
				record->unmarked++;
			if (alone && events[i].cookie > record->next)
				record->gaps++;
			if (alone && events[i].cookie == record->next)
				record->next++;
			__atomic_fetch_add(done, 1, __ATOMIC_RELAXED);
			if (i % 3 == 2)
				op_confirm(queue, events[i].id);
			if (i % 2)
				usleep(20);
		}
	}
	_exit(1);
}

static pid_t start_worker(struct record *record, bool alone)
{
	pid_t child = fork();

	if (!child)
		work(record, alone);
	return child;
}

/*
 * Workers that are killed at random while they do jobs. No job is lost, at most those that a worker
 * has read and not confirmed are done twice; a single worker does them in order.
 */
TEST_F(confirm, killed_workers_lose_no_event)
{
	const unsigned int nr = ARRAY_SIZE(((struct record *)0)->done), nr_kills = rounds(100);
	unsigned int i, kills, twice, nr_workers;
	struct record *record;
	pid_t workers[4];

	record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, record);
	for (nr_workers = 1; nr_workers <= 4; nr_workers += 3) {
		memset(record, 0, sizeof(*record));
		ASSERT_TRUE(add_events(self->fd, 0, nr - 1));
		srand(nr_workers);
		for (i = 0; i < nr_workers; i++) {
			workers[i] = start_worker(record, nr_workers == 1);
			ASSERT_LT(0, workers[i]);
		}
		for (kills = 0; kills < nr_kills; kills++) {
			usleep(rand() % 2000);
			i = kills % nr_workers;
			kill(workers[i], SIGKILL);
			ASSERT_EQ(workers[i], waitpid(workers[i], NULL, 0));
			workers[i] = start_worker(record, nr_workers == 1);
			ASSERT_LT(0, workers[i]);
		}
		EXPECT_TRUE(wait_for(!query(self->fd).detached_unread &&
				     !query(self->fd).unconfirmed));
		for (i = 0; i < nr_workers; i++) {
			kill(workers[i], SIGKILL);
			waitpid(workers[i], NULL, 0);
		}
		for (i = 0, twice = 0; i < nr; i++) {
			EXPECT_LE(1, record->done[i])
				TH_LOG("job %u is lost", i);
			twice += record->done[i] > 1;
		}
		EXPECT_GE(nr_kills * READ_MAX, twice);
		EXPECT_EQ(0, record->unmarked);
		EXPECT_EQ(0, record->gaps);
		TH_LOG("%u jobs, %u kills, %u jobs done again", nr, nr_kills, twice);
	}
	munmap(record, sizeof(*record));
}

TEST_HARNESS_MAIN
