// SPDX-License-Identifier: GPL-2.0
/*
 * Operations whose deadline comes again and again: an event for each period, or
 * one for many if nobody reads, and one at the end that says so.
 */
#include "selftest.h"

#define PERIOD	(20 * MSEC)

FIXTURE(periodic) {
	int fd;
	struct twheel_watch_spec spec;
	struct twheel_add_args args;
};

FIXTURE_SETUP(periodic)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->spec = spec_of(1, 1);
	self->args = (struct twheel_add_args) {
		.condition = TWHEEL_COND_ANY,
		.nr_keys = 1,
		.deadline = PERIOD,
		.period = PERIOD,
		.cookie = 42,
	};
}

FIXTURE_TEARDOWN(periodic)
{
	close(self->fd);
}

/* self->args as they are now; their keys are put in here, since a fixture moves. */
#define ADD()								\
({									\
	self->args.keys = address(&self->spec);				\
	ASSERT_EQ(0, op_add(self->fd, &self->args));			\
	self->args.id;							\
})

/* The next event is of operation @id: no period, but its end. */
#define EXPECT_END(_id, _reason, _value, event)				\
do {									\
	ASSERT_TRUE(next_event(self->fd, event));			\
	EXPECT_EQ(_id, (event)->id);					\
	EXPECT_EQ(0, (event)->flags);					\
	EXPECT_EQ(_reason, (int)(event)->reason);			\
	EXPECT_EQ(_value, (event)->value);				\
} while (0)

TEST_F(periodic, an_event_for_each_period)
{
	struct twheel_event event;
	__u64 id = ADD();
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(42, event.cookie);
		EXPECT_EQ(0, event.value);
		EXPECT_EQ(0, event.error);
		EXPECT_EQ(TWHEEL_EXPIRED, (int)event.reason);
		EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
		EXPECT_LE(1, event.expirations);
		EXPECT_LE(event.deadline, event.time);
	}
	EXPECT_EQ(1, query(self->fd).pending);
	EXPECT_EQ(0, query(self->fd).expired);
	EXPECT_EQ(1, query(self->fd).added);
}

/* Deadlines are multiples of the period from the first, and none is left out. */
TEST_F(periodic, every_deadline_is_told_of_once)
{
	__u64 told = 0, first, before = now_ns();
	struct twheel_event event;
	int i;

	ADD();
	first = now_ns() + PERIOD;
	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		told += event.expirations;
		EXPECT_LE(before + told * PERIOD, event.deadline);
		EXPECT_GE(first + (told - 1) * PERIOD, event.deadline);
		/* Let some of them pass before the next is read. */
		usleep(i * 7000);
	}
}

/* When the next deadline of an operation comes, 0 if it has ended. */
static __u64 next_deadline(int fd, __u64 id)
{
	struct twheel_pending pending;

	return op_info(fd, id, &pending) ? 0 : pending.deadline;
}

TEST_F(periodic, one_event_for_all_that_nobody_read)
{
	__u64 id = ADD(), start = next_deadline(self->fd, id);
	struct twheel_event events[2];

	ASSERT_NE(0, start);
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= start + 5 * PERIOD));
	EXPECT_EQ(1, query(self->fd).unread);
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(1, query(self->fd).unread);
	ASSERT_EQ(1, read_events(self->fd, events, 2));
	EXPECT_EQ(TWHEEL_CANCELLED, (int)events[0].reason);
	EXPECT_EQ(0, events[0].flags);
	EXPECT_LE(5, events[0].expirations);
	EXPECT_EQ(ENOENT, op_cancel(self->fd, id));
}

TEST_F(periodic, a_late_reader_learns_how_many_there_were)
{
	__u64 start = now_ns() + PERIOD, told, id;
	struct twheel_event event;

	self->args.flags = TWHEEL_ADD_ABSTIME;
	self->args.deadline = start;
	id = ADD();
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= start + 5 * PERIOD));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
	EXPECT_LE(5, event.expirations);
	/* Those have been told of: the next event begins to count anew. */
	told = event.expirations;
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_END(id, TWHEEL_CANCELLED, 0, &event);
	EXPECT_GE((event.time - start) / PERIOD + 1, told + event.expirations);
}

TEST_F(periodic, it_ends_after_its_runs)
{
	struct twheel_event event;
	__u64 id, told = 0;
	int more = 0;

	self->args.runs = 4;
	id = ADD();
	for (;;) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(TWHEEL_EXPIRED, (int)event.reason);
		told += event.expirations;
		if (!event.flags)
			break;
		more++;
	}
	EXPECT_GE(3, more);
	EXPECT_LE(4, told);
	EXPECT_EQ(0, query(self->fd).pending);
	EXPECT_EQ(1, query(self->fd).expired);
	EXPECT_EQ(0, query(self->fd).watches);
	EXPECT_EQ(ENOENT, op_cancel(self->fd, id));
}

TEST_F(periodic, who_does_not_read_uses_up_no_run)
{
	__u64 start = now_ns() + PERIOD, id;
	struct twheel_pending pending;
	struct twheel_event event;
	int events = 0;

	self->args.flags = TWHEEL_ADD_ABSTIME;
	self->args.deadline = start;
	self->args.runs = 3;
	id = ADD();
	/* However many periods pass, they are told of as one. */
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= start + 5 * PERIOD));
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(2, pending.runs);
	EXPECT_EQ(1, query(self->fd).unread);
	do {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		if (!events)
			EXPECT_LE(5, event.expirations);
		events++;
	} while (event.flags & TWHEEL_EVENT_MORE);
	EXPECT_EQ(3, events);
	EXPECT_EQ(TWHEEL_EXPIRED, (int)event.reason);
	EXPECT_EQ(1, query(self->fd).expired);
}

/* What nobody reads does not keep the reaper busy, however short the period. */
TEST_F(periodic, an_unread_event_costs_no_wakeups)
{
	__u64 wakeups, end, id;

	self->args.period = 100 * USEC;
	id = ADD();
	ASSERT_TRUE(wait_for(query(self->fd).unread == 1));
	end = next_deadline(self->fd, id) + SEC;
	/* The first run after that event finds it, and none comes after that one. */
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= end - SEC / 2));
	wakeups = query(self->fd).wakeups;
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= end));
	EXPECT_GE(wakeups + 2, query(self->fd).wakeups);
	EXPECT_EQ(1, query(self->fd).unread);
	EXPECT_EQ(0, op_cancel(self->fd, id));
}

TEST_F(periodic, one_run_is_an_expiry)
{
	struct twheel_event event;
	__u64 id;

	self->args.runs = 1;
	id = ADD();
	EXPECT_END(id, TWHEEL_EXPIRED, 0, &event);
	EXPECT_LE(1, event.expirations);
}

TEST_F(periodic, info_tells_what_is_left)
{
	struct twheel_pending pending;
	struct twheel_event event;
	__u64 id;

	self->args.runs = 1000000;
	self->args.flags = TWHEEL_ADD_FIXED_DELAY;
	id = ADD();
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(PERIOD, pending.period);
	EXPECT_NE(0, pending.flags & TWHEEL_PENDING_FIXED_DELAY);
	ASSERT_TRUE(next_event(self->fd, &event));
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_GT(1000000, pending.runs);
	EXPECT_LT(1000000 - BUDGET_MS, pending.runs);
}

TEST_F(periodic, it_completes_by_key_in_between)
{
	struct twheel_event event;
	__u64 id = ADD();

	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(1, key_signal(self->fd, 1, 9));
	EXPECT_END(id, TWHEEL_COMPLETED, 9, &event);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_EQ(0, key_signal(self->fd, 1, 9));
	EXPECT_EQ(1, query(self->fd).completed);
}

TEST_F(periodic, what_is_unread_becomes_the_end)
{
	struct twheel_event event;
	__u64 id = ADD();

	ASSERT_TRUE(readable(self->fd, BUDGET_MS));
	EXPECT_EQ(0, op_fail(self->fd, id, -EPIPE));
	EXPECT_EQ(1, query(self->fd).unread);
	EXPECT_END(id, TWHEEL_COMPLETED, 0, &event);
	EXPECT_EQ(-EPIPE, event.error);
	EXPECT_LE(1, event.expirations);
	EXPECT_NO_EVENT(self->fd);
}

TEST_F(periodic, a_close_ends_it)
{
	long users = module_users();
	int i, fd;

	for (i = 0; i < 50; i++) {
		self->args.period = i * 50 * USEC + 1;
		self->args.deadline = i * 10 * USEC;
		self->args.keys = address(&self->spec);
		fd = twheel_open(O_NONBLOCK);
		ASSERT_EQ(0, op_add(fd, &self->args));
		if (i % 2)
			ASSERT_TRUE(readable(fd, BUDGET_MS));
		close(fd);
	}
	EXPECT_TRUE(wait_for(module_users() == users));
}

TEST_F(periodic, a_fixed_delay_counts_from_what_was_told)
{
	struct twheel_pending pending;
	struct twheel_event event;
	__u64 last = 0, id;
	int i;

	self->args.flags = TWHEEL_ADD_FIXED_DELAY;
	id = ADD();
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(1, event.expirations);
		EXPECT_LE(last + PERIOD, event.deadline);
		last = event.time;
	}
	/* Nor is any counted while an event is unread, however often one looks. */
	ASSERT_TRUE(readable(self->fd, BUDGET_MS));
	for (i = 0; i < 5; i++) {
		usleep(2 * PERIOD / USEC);
		ASSERT_EQ(0, op_info(self->fd, id, &pending));
	}
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(1, event.expirations);
}

TEST_F(periodic, its_deadline_is_not_to_be_moved)
{
	__u64 id = ADD();
	__u32 which;

	for (which = TWHEEL_REARM_ALWAYS; which <= TWHEEL_REARM_IF_LATER; which++) {
		EXPECT_EQ(-1, op_rearm(self->fd, id, HOUR, 0, which));
		EXPECT_EQ(EOPNOTSUPP, errno);
	}
}

TEST_F(periodic, the_first_deadline_may_be_far_from_the_period)
{
	struct twheel_event event;
	__u64 id;

	self->args.deadline = 0;
	self->args.period = HOUR;
	id = ADD();
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
	EXPECT_EQ(1, event.expirations);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_LE(event.deadline + HOUR, next_deadline(self->fd, id));
}

/* Periods far below a tick and far beyond any time. */
TEST_F(periodic, absurd_periods)
{
	static const __u64 periods[] = {
		1, 2, 999, KTIME_LAST / 2, KTIME_LAST - 1, KTIME_LAST,
	};
	__u64 ids[ARRAY_SIZE(periods)], other;
	struct twheel_event event;
	unsigned int i, ended = 0;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		self->args.period = periods[i];
		self->args.deadline = MSEC;
		self->args.cookie = i;
		ids[i] = ADD();
	}
	self->args.period = KTIME_LAST + 1;
	EXPECT_EQ(EINVAL, op_add(self->fd, &self->args));
	self->args.period = ~0ULL;
	EXPECT_EQ(EINVAL, op_add(self->fd, &self->args));
	/* Another operation expires meanwhile, and the counts stay in bounds. */
	other = add_deadline(self->fd, 50 * MSEC, 0, 99);
	ASSERT_NE(0, other);
	do {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_LE(1, event.expirations);
		EXPECT_GE(now_ns(), event.time);
	} while (event.cookie != 99);
	for (i = 0; i < ARRAY_SIZE(periods); i++)
		op_cancel(self->fd, ids[i]);
	while (ended < ARRAY_SIZE(periods)) {
		ASSERT_TRUE(next_event(self->fd, &event));
		ended += !(event.flags & TWHEEL_EVENT_MORE);
	}
	EXPECT_EQ(0, query(self->fd).pending);
	EXPECT_NO_EVENT(self->fd);
}

TEST_F(periodic, a_nanosecond_counts_each)
{
	struct twheel_event event;
	__u64 id, first = 0;
	int i;

	self->args.period = 1;
	id = ADD();
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		if (i)
			EXPECT_EQ(first + event.expirations, event.deadline);
		first = event.deadline;
		EXPECT_LE(event.deadline, event.time);
	}
	EXPECT_EQ(0, op_cancel(self->fd, id));
}

TEST_F(periodic, what_does_not_fit_together)
{
	struct twheel_add_args good = self->args, args;

	good.keys = address(&self->spec);
	args = good;
	args.period = 0;
	args.runs = 1;
	EXPECT_EQ(EINVAL, op_add(self->fd, &args));
	args = good;
	args.deadline = TWHEEL_NEVER;
	EXPECT_EQ(EINVAL, op_add(self->fd, &args));
	args = good;
	args.slack = 1;
	EXPECT_EQ(EINVAL, op_add(self->fd, &args));
	args = good;
	args.period = 0;
	args.flags = TWHEEL_ADD_FIXED_DELAY;
	EXPECT_EQ(EINVAL, op_add(self->fd, &args));
	EXPECT_EQ(0, query(self->fd).added);
}

#define NR_OPS	100

/* Each ends by a signal while its periods pass, and is told of its end once. */
TEST_F(periodic, ends_that_race_with_periods)
{
	unsigned char ended[NR_OPS];
	struct twheel_event event;
	int round, i, left;

	for (round = 0; round < rounds(20); round++) {
		memset(ended, 0, sizeof(ended));
		self->args.period = (round + 1) * 100 * USEC;
		for (i = 0; i < NR_OPS; i++) {
			self->args.cookie = i;
			self->args.deadline = i * 20 * USEC;
			ADD();
		}
		EXPECT_EQ(NR_OPS, key_signal(self->fd, 1, 5));
		for (left = NR_OPS; left;) {
			ASSERT_TRUE(next_event(self->fd, &event));
			ASSERT_GT(NR_OPS, event.cookie);
			EXPECT_EQ(0, ended[event.cookie]);
			if (event.flags & TWHEEL_EVENT_MORE)
				continue;
			EXPECT_EQ(5, event.value);
			ended[event.cookie] = 1;
			left--;
		}
		EXPECT_NO_EVENT(self->fd);
	}
}

TEST_HARNESS_MAIN
