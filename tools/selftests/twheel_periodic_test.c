// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic operations: an event for each period, or one event for several unread periods,
 * and an event for the end.
 */
#include "named.h"

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
		.key_size = sizeof(struct twheel_watch_spec),
		.deadline = PERIOD,
		.period = PERIOD,
		.cookie = 42,
		.clock = CLOCK_MONOTONIC,
	};
}

FIXTURE_TEARDOWN(periodic)
{
	close(self->fd);
}

/* Add self->args. The keys are set here, since the fixture may move. */
#define ADD()								\
({									\
	self->args.keys = address(&self->spec);				\
	ASSERT_EQ(0, op_add(self->fd, &self->args));			\
	self->args.id;							\
})

/* The next event is the end of operation @_id, not of a period. */
#define EXPECT_END(_id, _reason, _value, event)				\
do {									\
	ASSERT_TRUE(next_event(self->fd, event));			\
	EXPECT_EQ(_id, (event)->id);					\
	EXPECT_EQ(0, (event)->flags);					\
	EXPECT_EQ(_reason, (int)(event)->reason);			\
	EXPECT_EQ(_value, (event)->value);				\
} while (0)

/* Deadlines are multiples of the period after the first one, and none is skipped. */
TEST_F(periodic, every_deadline_is_counted_once)
{
	__u64 counted = 0, before = now_ns(), id = ADD(), first = now_ns() + PERIOD;
	struct twheel_event event;
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(42, event.cookie);
		EXPECT_EQ(0, event.value);
		EXPECT_EQ(0, event.error);
		EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
		EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
		EXPECT_LE(1, event.expirations);
		EXPECT_LE(event.deadline, event.time);
		counted += event.expirations;
		EXPECT_LE(before + counted * PERIOD, event.deadline);
		EXPECT_GE(first + (counted - 1) * PERIOD, event.deadline);
		/* Let some of them pass before the next read. */
		usleep(i * 7000);
	}
	EXPECT_EQ(1, query(self->fd).pending);
	EXPECT_EQ(0, query(self->fd).expired);
	EXPECT_EQ(1, query(self->fd).added);
}

/* The next deadline of an operation, 0 if it has ended. */
static __u64 next_deadline(int fd, __u64 id)
{
	struct twheel_pending pending;

	return op_info(fd, id, &pending) ? 0 : pending.deadline;
}

TEST_F(periodic, unread_periods_share_an_event)
{
	__u64 id = ADD(), start = next_deadline(self->fd, id);
	struct twheel_event events[2];

	ASSERT_NE(0, start);
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= start + 5 * PERIOD));
	EXPECT_EQ(1, query(self->fd).unread);
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(1, query(self->fd).unread);
	ASSERT_EQ(1, read_events(self->fd, events, 2));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)events[0].reason);
	EXPECT_EQ(0, events[0].flags);
	EXPECT_LE(5, events[0].expirations);
	EXPECT_EQ(ENOENT, op_cancel(self->fd, id));
}

TEST_F(periodic, operation_expires_after_its_runs)
{
	struct twheel_event event;
	__u64 id, counted = 0;
	int more = 0;

	self->args.runs = 4;
	id = ADD();
	for (;;) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
		counted += event.expirations;
		if (!event.flags)
			break;
		more++;
	}
	EXPECT_GE(3, more);
	EXPECT_EQ(4, counted);
	EXPECT_EQ(0, query(self->fd).pending);
	EXPECT_EQ(1, query(self->fd).expired);
	EXPECT_EQ(0, query(self->fd).watches);
	EXPECT_EQ(ENOENT, op_cancel(self->fd, id));
}

TEST_F(periodic, unread_periods_are_runs)
{
	__u64 start = now_ns() + PERIOD, id;
	struct twheel_pending pending;
	struct twheel_event event;

	self->args.flags = TWHEEL_ADD_ABSTIME;
	self->args.deadline = start;
	self->args.runs = 6;
	id = ADD();
	/* All but the last one are a single event, however long it is not read. */
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) == start + 5 * PERIOD));
	ASSERT_TRUE(wait_for(now_ns() > start + 9 * PERIOD));
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(1, pending.runs);
	EXPECT_EQ(start + 5 * PERIOD, pending.deadline);
	EXPECT_EQ(1, query(self->fd).unread);
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
	EXPECT_EQ(5, event.expirations);
	EXPECT_END(id, TWHEEL_REASON_EXPIRED, 0, &event);
	EXPECT_EQ(1, event.expirations);
	EXPECT_EQ(start + 5 * PERIOD, event.deadline);
	EXPECT_EQ(1, query(self->fd).expired);
}

/* Periods that have passed before the first wake-up do not exceed the runs. */
TEST_F(periodic, missed_periods_are_runs)
{
	__u64 start = now_ns() - 9 * PERIOD, id;
	struct twheel_event event;

	self->args.flags = TWHEEL_ADD_ABSTIME;
	self->args.deadline = start;
	self->args.runs = 3;
	id = ADD();
	EXPECT_END(id, TWHEEL_REASON_EXPIRED, 0, &event);
	EXPECT_EQ(3, event.expirations);
	EXPECT_EQ(start + 2 * PERIOD, event.deadline);
	EXPECT_LE(event.deadline, event.time);
}

/* An unread event does not keep the reaper busy, even with a short period. */
TEST_F(periodic, unread_event_causes_no_wakeups)
{
	__u64 wakeups, end, id;

	self->args.period = 100 * USEC;
	id = ADD();
	ASSERT_TRUE(wait_for(query(self->fd).unread == 1));
	end = next_deadline(self->fd, id) + SEC;
	/* The first run after that event finds it unread, and is the last one. */
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= end - SEC / 2));
	wakeups = query(self->fd).wakeups;
	ASSERT_TRUE(wait_for(next_deadline(self->fd, id) >= end));
	EXPECT_GE(wakeups + 2, query(self->fd).wakeups);
	EXPECT_EQ(1, query(self->fd).unread);
	EXPECT_EQ(0, op_cancel(self->fd, id));
}

TEST_F(periodic, info_has_the_remaining_runs)
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

TEST_F(periodic, operation_completes_by_key_between_periods)
{
	struct twheel_event event;
	__u64 id = ADD();

	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(1, key_signal(self->fd, 1, 9));
	EXPECT_END(id, TWHEEL_REASON_COMPLETED, 9, &event);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_EQ(0, key_signal(self->fd, 1, 9));
	EXPECT_EQ(1, query(self->fd).completed);
}

TEST_F(periodic, unread_period_becomes_the_last_event)
{
	struct twheel_event event;
	__u64 id = ADD();
	struct twheel_complete_args fail = { .id = id, .error = -EPIPE };

	ASSERT_TRUE(readable(self->fd, BUDGET_MS));
	EXPECT_EQ(0, call(self->fd, TWHEEL_IOC_COMPLETE, &fail));
	EXPECT_EQ(1, query(self->fd).unread);
	EXPECT_END(id, TWHEEL_REASON_COMPLETED, 0, &event);
	EXPECT_EQ(-EPIPE, event.error);
	EXPECT_LE(1, event.expirations);
	EXPECT_NO_EVENT(self->fd);
}

TEST_F(periodic, fixed_delay_counts_from_the_read)
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
	/* No period is counted while an event is unread. */
	ASSERT_TRUE(readable(self->fd, BUDGET_MS));
	for (i = 0; i < 5; i++) {
		usleep(2 * PERIOD / USEC);
		ASSERT_EQ(0, op_info(self->fd, id, &pending));
	}
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(1, event.expirations);
}

/* The period starts when the event is queued: a read within the period does not move it. */
TEST_F(periodic, fixed_delay_starts_before_the_read)
{
	struct twheel_event event;
	__u64 queued;

	self->args.flags = TWHEEL_ADD_FIXED_DELAY;
	self->args.deadline = 0;
	self->args.period = SEC;
	ADD();
	ASSERT_TRUE(readable(self->fd, BUDGET_MS));
	usleep(100000);
	ASSERT_TRUE(next_event(self->fd, &event));
	queued = event.time;
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(queued + SEC, event.deadline);
}

/* Periods from far below a tick up to the largest one. */
TEST_F(periodic, extreme_periods_expire)
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
	/* Another operation expires meanwhile, and the counts are valid. */
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

#define NR_OPS	100

/* Another user completes the operations during their last runs. */
static struct {
	int fd;
	__u64 ids[NR_OPS];
	unsigned int completed;
	unsigned int unexpected;
} ending;

static void *complete_them(void *arg)
{
	int i, error;

	act_for(STRANGER);
	for (i = 0; i < NR_OPS; i++) {
		error = op_complete(ending.fd, ending.ids[i], 5);
		ending.completed += !error;
		ending.unexpected += error && error != ENOENT;
		usleep(i % 3 * 30);
	}
	return arg;
}

/* There are no more periods than runs, all if it expires, and no event after the last one. */
TEST_F(periodic, complete_races_with_the_last_run)
{
	unsigned int runs[NR_OPS], expired = 0, completed = 0;
	bool ended[NR_OPS];
	struct twheel_event event;
	pthread_t thread;
	int round, i, left;

	ending.fd = self->fd;
	for (round = 0; round < rounds(30); round++) {
		memset(ended, 0, sizeof(ended));
		for (i = 0; i < NR_OPS; i++) {
			runs[i] = 1 + i % 3;
			self->args.runs = runs[i];
			self->args.cookie = i;
			self->args.period = 300 * USEC;
			self->args.deadline = 2 * MSEC + i * 60 * USEC;
			ending.ids[i] = ADD();
		}
		ASSERT_EQ(0, pthread_create(&thread, NULL, complete_them, NULL));
		for (left = NR_OPS; left;) {
			ASSERT_TRUE(next_event(self->fd, &event));
			ASSERT_GT(NR_OPS, event.cookie);
			i = event.cookie;
			ASSERT_FALSE(ended[i]);
			ASSERT_GE(runs[i], event.expirations);
			runs[i] -= event.expirations;
			if (event.reason == TWHEEL_REASON_EXPIRED && !event.flags)
				ASSERT_EQ(0, runs[i]);
			if (event.flags & TWHEEL_EVENT_MORE)
				continue;
			ended[i] = true;
			left--;
			expired += event.reason == TWHEEL_REASON_EXPIRED;
			completed += event.reason == TWHEEL_REASON_COMPLETED;
		}
		pthread_join(thread, NULL);
		EXPECT_NO_EVENT(self->fd);
		EXPECT_EQ(0, query(self->fd).pending);
	}
	TH_LOG("%u expired, %u were completed", expired, completed);
	EXPECT_EQ(0, ending.unexpected);
	EXPECT_EQ(ending.completed, completed);
}

TEST_HARNESS_MAIN
