// SPDX-License-Identifier: GPL-2.0
/*
 * timerfd is the oracle. The same absolute deadlines are armed by timerfd and by twheel while
 * CLOCK_REALTIME is set in both directions, is slewed, has a leap second, or the machine suspends.
 * The same deadlines must fire, and the same must be cancelled, but for the differences that the
 * documents name.
 *
 * After each change both sides have a moment to agree, which is short in virtual time: an expiry
 * that is late or early is a difference. Both sides are armed on one CPU. SEED=number repeats the
 * random numbers of a run.
 */
#include <linux/time_types.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include "cell.h"
#include "named.h"

/* The kernel takes up to this many timers in an interrupt. */
#define CHUNK		32

#define MAX_PAIRS	300

/* Time to agree: a tick of the wheels of other clocks, and the end of as many operations. */
#define AGREE_NS	(virtual_time() ? 10 * MSEC : BUDGET_MS * MSEC)

/* Longest sleep between two changes. */
#define SLEEP_NS	(30 * MSEC)

enum outcome {
	PENDING,
	FIRED,
	CANCELLED,
};

static const char * const outcomes[] = { "is pending", "has fired", "was cancelled" };

/*
 * A deadline, of a timerfd and of an operation.
 *
 * @fd: the timerfd; -1 once it has fired or was cancelled
 * @excused: it was cancelled, but the deadline had passed when the clock was set: if the operation
 *	has fired, this is a difference that the documents name
 */
struct pair {
	int fd;
	int clock;
	bool on_set;
	bool excused;
	__u64 deadline;
	__u64 armed;
	__u64 id;
	enum outcome timer;
	enum outcome op;
};

struct oracle {
	int fd;
	unsigned int nr;
	struct pair pair[MAX_PAIRS];
	bool wrong;		/* an event was wrong */
	__u64 random;
	__u64 offset;		/* of CLOCK_REALTIME before the last change */
	__u64 changed;		/* time of the last change, 0 if it is not known */
	__u64 shown;		/* latest time before a step was undone */
	__u64 timely;		/* later deadlines come by the passing of time */
	unsigned int fast;	/* percent by which the clock is slewed to run faster */
	__u64 wall;		/* to restore the clock */
	__u64 monotonic;
};

FIXTURE(timerfd) {
	struct oracle oracle;
};

FIXTURE_SETUP(timerfd)
{
	struct oracle *o = &self->oracle;
	__u64 now = time_by(CLOCK_REALTIME);

	ASSERT_TRUE(pin_to(0));
	o->wall = now;
	o->monotonic = now_ns();
	/* Far from the ends of 32 bits. */
	if (!set_wall_clock(1700000000 * SEC))
		SKIP(return, "cannot set the realtime clock: %s", strerror(errno));
	o->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, o->fd);
	o->random = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : now | 1;
	TH_LOG("SEED=%llu", o->random);
	settle();
}

FIXTURE_TEARDOWN(timerfd)
{
	struct oracle *o = &self->oracle;

	close(o->fd);
	set_wall_clock(o->wall + now_ns() - o->monotonic);
}

/* A random number below @n. */
static __u64 below(struct oracle *o, __u64 n)
{
	o->random ^= o->random << 13;
	o->random ^= o->random >> 7;
	o->random ^= o->random << 17;
	return (o->random >> 8) % n;
}

/*
 * Lateness of an operation by CLOCK_REALTIME, which has no ticks, if all are due at once. The
 * kernel does not slew the device that interrupts it: while the clock is fast, all timers are late.
 */
static __u64 max_late(struct oracle *o)
{
	return virtual_time() ? o->nr * WAKEUP_NS + SLEEP_NS / 100 * o->fast : KTIME_LAST;
}

/* Arm a timerfd; @deadline may be TWHEEL_NEVER. The structure is the same for 32-bit programs. */
static bool arm_timerfd(const struct pair *p)
{
	struct {
		struct __kernel_timespec interval, value;
	} when = {
		.value = { .tv_sec = p->deadline / SEC, .tv_nsec = p->deadline % SEC },
	};
	int flags = TFD_TIMER_ABSTIME | (p->on_set ? TFD_TIMER_CANCEL_ON_SET : 0);

#ifdef SYS_timerfd_settime64
	return !syscall(SYS_timerfd_settime64, p->fd, flags, &when, NULL);
#else
	return !syscall(SYS_timerfd_settime, p->fd, flags, &when, NULL);
#endif
}

/* Arm both sides of a pair that is not pending. */
static bool arm(struct oracle *o, struct pair *p, int clock, __u64 deadline, bool on_set)
{
	struct twheel_add_args args = {
		.clock = clock,
		.deadline = deadline,
		.flags = TWHEEL_ADD_ABSTIME | (on_set ? TWHEEL_ADD_CANCEL_ON_SET : 0),
		.cookie = p - o->pair,
	};

	*p = (struct pair) {
		.clock = clock, .on_set = on_set, .deadline = deadline, .armed = time_by(clock),
	};
	p->fd = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
	if (p->fd < 0 || op_add(o->fd, &args))
		return false;
	p->id = args.id;
	return arm_timerfd(p);
}

static bool arm_next(struct oracle *o, __u64 deadline, bool on_set)
{
	return o->nr < MAX_PAIRS && arm(o, &o->pair[o->nr++], CLOCK_REALTIME, deadline, on_set);
}

/* Re-arm both sides. The operation may have fired in this moment: then the timerfd has, too. */
static bool rearm(struct oracle *o, struct pair *p, __u64 deadline)
{
	if (op_rearm(o->fd, p->id, deadline, TWHEEL_REARM_ABSTIME) < 0)
		return errno == ENOENT;
	p->deadline = deadline;
	p->armed = time_by(p->clock);
	return arm_timerfd(p);
}

static __u64 wall_offset(void)
{
	return time_by(CLOCK_REALTIME) - now_ns();
}

static void read_timerfds(struct oracle *o)
{
	__u64 ticks, changed = o->changed ?: now_ns();
	struct pair *p;

	for (p = o->pair; p < o->pair + o->nr; p++) {
		if (p->timer != PENDING)
			continue;
		if (read(p->fd, &ticks, sizeof(ticks)) == sizeof(ticks))
			p->timer = FIRED;
		else if (errno == ECANCELED)
			p->timer = CANCELLED;
		else
			continue;
		close_it(&p->fd);
		p->excused = p->timer == CANCELLED && p->deadline <= o->offset + changed + USEC;
	}
}

static void wrong_event(struct oracle *o, const struct twheel_event *event,
			const char *what)
{
	o->wrong = true;
	printf("# event %s: reason %u error %d deadline %llu time %llu\n", what, event->reason,
	       event->error, event->deadline, event->time);
}

static void read_op(struct oracle *o, const struct twheel_event *event)
{
	struct pair *p = &o->pair[event->cookie];

	if (event->cookie >= o->nr || p->id != event->id || p->op != PENDING) {
		wrong_event(o, event, "of no pending operation");
		return;
	}
	if (event->deadline != p->deadline)
		wrong_event(o, event, "with another deadline");
	if (event->reason == TWHEEL_REASON_EXPIRED && !event->error) {
		p->op = FIRED;
		if (event->time < event->deadline)
			wrong_event(o, event, "is early");
		if (p->clock == CLOCK_REALTIME && p->deadline > p->armed &&
		    p->deadline > o->timely && event->time - p->deadline > max_late(o))
			wrong_event(o, event, "is late");
	} else if (event->reason == TWHEEL_REASON_CANCELLED && event->error == -ECANCELED) {
		p->op = CANCELLED;
	} else {
		wrong_event(o, event, "of another kind");
	}
}

static void read_ops(struct oracle *o)
{
	struct twheel_event event;

	while (read_events(o->fd, &event, 1) == 1)
		read_op(o, &event);
}

/*
 * Whether the sides of a pair may differ. After a step that was undone before the kernel has
 * examined its timers, this may hold for deadlines that the clock has shown meanwhile.
 */
static bool may_differ(struct oracle *o, const struct pair *p)
{
	return (p->excused && p->op == FIRED) ||
	       (p->deadline <= o->shown && p->timer + p->op == FIRED + PENDING);
}

/* The first pair whose sides differ, or NULL. */
static struct pair *difference(struct oracle *o)
{
	struct pair *p;

	for (p = o->pair; p < o->pair + o->nr; p++)
		if (p->timer != p->op && !may_differ(o, p))
			return p;
	return NULL;
}

/*
 * The kernel examines the timers of the CPU that has set the clock at the next expiry of any timer,
 * or at its next tick: let one expire.
 */
static void nap(void)
{
	usleep(20);
}

/* Return: whether both sides agree soon. */
static bool agree(struct oracle *o)
{
	__u64 end = now_ns() + AGREE_NS;
	struct pair *p;

	for (;;) {
		nap();
		read_timerfds(o);
		read_ops(o);
		p = difference(o);
		if (!p || o->wrong)
			return !o->wrong;
		if (now_ns() > end)
			break;
	}
	printf("# deadline %llu of clock %d, %s: the timerfd %s, the operation %s\n", p->deadline,
	       p->clock, p->on_set ? "cancel-on-set" : "plain", outcomes[p->timer],
	       outcomes[p->op]);
	printf("# the clock shows %llu, without the last change %llu\n", time_by(p->clock),
	       o->offset + now_ns());
	return false;
}

/*
 * On PREEMPT_RT a thread of normal or low priority finds deadlines due. A step may come before or
 * after it has looked at one side of a pair, so that nothing holds for a step in that time.
 */
static void note_clock(struct oracle *o)
{
	o->offset = wall_offset();
	o->changed = 0;
	o->shown = on_preempt_rt() ? time_by(CLOCK_REALTIME) + MSEC : 0;
}

/*
 * Before the first change after an agreement. A timerfd that has fired must be read before: a
 * change would cancel it.
 */
static void before_change(struct oracle *o)
{
	note_clock(o);
	o->timely = KTIME_LAST;
	read_timerfds(o);
}

static void after_change(struct oracle *o)
{
	if (!o->changed)
		o->changed = now_ns();
}

static bool step(struct oracle *o, __s64 ns)
{
	bool done = turn_wall_clock(ns);

	after_change(o);
	return done;
}

static bool step_to(struct oracle *o, __u64 wall)
{
	bool done = set_wall_clock(wall);

	after_change(o);
	return done;
}

/* Steps of adjtimex(), which takes a negative one as seconds and a positive fraction. */
static bool step_by_offset(struct oracle *o, __s64 ns)
{
	struct timex tx = { .modes = ADJ_SETOFFSET | ADJ_NANO };
	bool done;

	tx.time.tv_sec = ns / (__s64)SEC;
	tx.time.tv_usec = ns % (__s64)SEC;
	if (tx.time.tv_usec < 0) {
		tx.time.tv_sec--;
		tx.time.tv_usec += SEC;
	}
	done = adjtimex(&tx) >= 0;
	after_change(o);
	return done;
}

/* Let the clock run by a tenth faster or slower, or slew it, or neither. */
static bool slew(struct oracle *o, int percent)
{
	struct timex tick = { .modes = ADJ_TICK };
	struct timex offset = { .modes = ADJ_OFFSET_SINGLESHOT, .offset = percent * 100 };
	long hz = sysconf(_SC_CLK_TCK);

	o->fast = percent > 0 ? percent : 0;
	tick.tick = 1000000 / hz + percent * (10000 / hz);
	return adjtimex(&tick) >= 0 && adjtimex(&offset) >= 0;
}

/* With @late the reaper has to wait: this thread has a higher priority. */
static bool keep_reaper_late(bool late)
{
	struct sched_param param = { .sched_priority = late };

	return !sched_setscheduler(0, late ? SCHED_FIFO : SCHED_OTHER, &param);
}

static void spin(__u64 ns)
{
	__u64 end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* The distance of a step or deadline: often some ms, so that they meet. */
static __u64 distance(struct oracle *o)
{
	return below(o, 4) ? below(o, 40 * MSEC) : below(o, HOUR);
}

static __u64 random_deadline(struct oracle *o)
{
	__u64 now = time_by(CLOCK_REALTIME), other = o->pair[below(o, o->nr)].deadline;

	switch (below(o, 8)) {
	case 0:
		return below(o, 2) ? TWHEEL_NEVER : now + below(o, HOUR);
	case 1:
		return now - distance(o);
	case 2:
		return other && other != TWHEEL_NEVER ? other + below(o, 2) : now;
	default:
		return now + distance(o);
	}
}

static bool random_step(struct oracle *o)
{
	__u64 target = o->pair[below(o, o->nr)].deadline;
	__s64 ns = distance(o);

	switch (below(o, 4)) {
	case 0:
		/* To the deadline of a pair, or to a nanosecond before it. */
		if (target < 2000000000 * SEC && target > 1600000000 * SEC)
			return step_to(o, target - below(o, 2));
		return step(o, ns);
	case 1:
		return step(o, ns);
	case 2:
		return step(o, -ns);
	default:
		return step_by_offset(o, below(o, 2) ? ns : -ns);
	}
}

/* Set the clock forward or back, and undo that at once. */
static bool undone_step(struct oracle *o)
{
	__s64 ns = below(o, 2) ? distance(o) : -distance(o);

	if (!step(o, ns))
		return false;
	if (!on_preempt_rt() && below(o, 2))
		nap();
	else if (ns > 0)
		o->shown = time_by(CLOCK_REALTIME);
	return step_to(o, o->offset + now_ns());
}

static bool random_change(struct oracle *o, bool undo, bool late)
{
	bool done;

	if (late && !keep_reaper_late(true))
		return false;
	if (late)
		spin(below(o, 3 * MSEC));
	before_change(o);
	done = undo && below(o, 3) == 0 ? undone_step(o) : random_step(o);
	if (late) {
		spin(below(o, 3 * MSEC));
		done = done && (!undo || below(o, 2) || undone_step(o));
		done = keep_reaper_late(false) && done;
	}
	return done;
}

static bool random_rearms(struct oracle *o)
{
	unsigned int nr = o->nr / 4;
	struct pair *p;

	while (nr--) {
		p = &o->pair[below(o, o->nr)];
		if (p->timer == PENDING && p->op == PENDING && !rearm(o, p, random_deadline(o)))
			return false;
	}
	return true;
}

static bool random_act(struct oracle *o, bool undo)
{
	o->timely = KTIME_LAST;
	switch (below(o, 8)) {
	case 0:
	case 1:
		o->timely = time_by(CLOCK_REALTIME);
		usleep(below(o, SLEEP_NS / USEC));
		return true;
	case 2:
		return slew(o, (int)below(o, 21) - 10);
	case 3:
		return random_rearms(o);
	default:
		return random_change(o, undo, !on_preempt_rt() && below(o, 4) == 0);
	}
}

/* End the pending side of a pair whose sides differ, unless it ends at this moment. */
static bool release(struct oracle *o, struct pair *p)
{
	struct twheel_event event;

	if (p->timer == PENDING && p->id)
		close_it(&p->fd);
	if (p->op != PENDING || !p->id)
		return true;
	if (op_cancel(o->fd, p->id) && errno != ENOENT)
		return false;
	while (next_event(o->fd, &event)) {
		if (event.id == p->id)
			return true;
		read_op(o, &event);
	}
	return false;
}

/* Steps are undone only with @few timers, which the kernel takes at once. */
static bool random_walk(struct oracle *o, bool few, unsigned int ended[3])
{
	unsigned int i, round;
	struct pair *p;

	o->nr = few ? CHUNK - 2 : MAX_PAIRS;
	for (round = 0; round < (unsigned int)rounds(500); round++) {
		for (i = 0; i < o->nr; i++) {
			p = &o->pair[i];
			if (p->id && p->timer == PENDING && p->op == PENDING)
				continue;
			ended[p->timer]++;
			if (!release(o, p) ||
			    !arm(o, p, CLOCK_REALTIME, random_deadline(o), below(o, 3) == 0))
				return false;
		}
		if (!random_act(o, few) || !agree(o)) {
			printf("# in round %u: %s\n", round, strerror(errno));
			return false;
		}
	}
	return slew(o, 0);
}

TEST_F(timerfd, random_changes_end_the_same_deadlines)
{
	struct oracle *o = &self->oracle;
	unsigned int few;

	for (few = 2; few--;) {
		unsigned int ended[3] = { 0 };

		ASSERT_TRUE(random_walk(o, few, ended));
		TH_LOG("%u of %u deadlines have fired, %u were cancelled", ended[FIRED], o->nr,
		       ended[CANCELLED]);
		EXPECT_LT(few ? 100 : 1000, ended[FIRED]);
		EXPECT_LT(few ? 50 : 500, ended[CANCELLED]);
	}
}

/*
 * Set the clock to just before the end of a day, at which a leap second is inserted.
 * Return: the end of the day; 0 if the clock cannot be set so.
 */
static __u64 insert_leap_second(void)
{
	struct timex leap = { .modes = ADJ_STATUS, .status = STA_PLL | STA_INS };
	__u64 end = (time_by(CLOCK_REALTIME) / (24 * HOUR) + 1) * 24 * HOUR;

	/* Setting the clock clears the status, and a later second examines it. */
	return set_wall_clock(end - 1200 * MSEC) && adjtimex(&leap) >= 0 ? end : 0;
}

/*
 * The clock goes back by a second at the end of a day, at a tick of the kernel. The deadlines
 * around it are added before the leap second, and once more in the repeated second.
 */
TEST_F(timerfd, leap_second_ends_the_same_deadlines)
{
	struct oracle *o = &self->oracle;
	static const __s64 at[] = {
		-1500 * (__s64)MSEC, -700 * (__s64)MSEC, -20 * (__s64)MSEC, -1, 0, 1,
		100 * MSEC, SEC,
	};
	__u64 end = insert_leap_second(), start = now_ns();
	struct timex none = { .modes = ADJ_STATUS };
	unsigned int i, nr = 2 * ARRAY_SIZE(at);
	bool repeated = false;

	if (!end)
		SKIP(return, "cannot insert a leap second: %s", strerror(errno));
	for (i = 0; i < nr; i++)
		ASSERT_TRUE(arm_next(o, end + at[i / 2], i % 2));
	before_change(o);
	while (now_ns() - start < 4 * SEC) {
		ASSERT_TRUE(agree(o));
		usleep(3000);
		if (repeated || wall_offset() > o->offset - SEC / 2)
			continue;
		repeated = true;
		after_change(o);
		ASSERT_TRUE(agree(o));
		for (i = 0; i < nr; i++)
			ASSERT_TRUE(arm_next(o, end + at[i / 2], i % 2));
	}
	ASSERT_TRUE(repeated);
	for (i = 0; i < 2 * nr; i++) {
		EXPECT_NE(PENDING, o->pair[i].op);
		if (!(i % 2) || i >= nr)
			EXPECT_EQ(FIRED, o->pair[i].op);
	}
	/* That of a second later. */
	EXPECT_EQ(CANCELLED, o->pair[nr - 1].op);
	adjtimex(&none);
}

static bool change_tai(void)
{
	struct timex tx = { .modes = 0 };

	if (adjtimex(&tx) < 0)
		return false;
	tx = (struct timex) { .modes = ADJ_TAI, .constant = tx.tai + 1 };
	return adjtimex(&tx) >= 0;
}

/* A difference: twheel counts a change of the offset of TAI, and timerfd does not. */
TEST_F(timerfd, offset_of_tai_cancels_only_operations)
{
	struct oracle *o = &self->oracle;
	struct pair *p = o->pair;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_TRUE(arm_next(o, time_by(CLOCK_REALTIME) + (i < 2 ? SEC : HOUR), i % 2));
	before_change(o);
	ASSERT_TRUE(change_tai());
	ASSERT_TRUE(wait_for((read_ops(o), p[1].op != PENDING && p[3].op != PENDING)));
	read_timerfds(o);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(PENDING, p[i].timer);
		EXPECT_EQ(i % 2 ? CANCELLED : PENDING, p[i].op);
	}
	for (i = 1; i < 4; i += 2) {
		close_it(&p[i].fd);
		p[i].timer = CANCELLED;
	}
	sleep(1);
	ASSERT_TRUE(agree(o));
	EXPECT_EQ(FIRED, p[0].op);
	EXPECT_EQ(PENDING, p[2].op);
}

/* Suspend up to the last step, and resume at once. */
static bool suspend(void)
{
	return write_file("/sys/power/state", "mem");
}

/* Time of the clock of the machine; 0 if the kernel has no driver for it. */
static __u64 machine_time(void)
{
	FILE *file = fopen("/sys/class/rtc/rtc0/since_epoch", "r");
	unsigned long long seconds = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &seconds) != 1)
		seconds = 0;
	fclose(file);
	return seconds * SEC;
}

/*
 * Cells are moved before the suspend, which their looks have to find at the right time after it.
 *
 * CLOCK_REALTIME and CLOCK_BOOTTIME advance during suspend by the clock of the machine, which
 * counts seconds. The kernel adds up to two seconds by which CLOCK_REALTIME has fallen behind it
 * since the previous suspend.
 */
TEST_F(timerfd, suspend_ends_the_same_deadlines)
{
	struct twheel_add_args cell[] = {
		{ .flags = TWHEEL_ADD_CELL, .clock = CLOCK_BOOTTIME, .cell = 0, .deadline = MSEC },
		{ .flags = TWHEEL_ADD_CELL, .clock = CLOCK_MONOTONIC, .cell = 1, .deadline = MSEC },
	};
	int fd = twheel_open(O_NONBLOCK);
	cell_t *cells = map_cells(fd, 2);
	struct twheel_event event;
	struct oracle *o = &self->oracle;
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_MONOTONIC };
	static const __u64 ahead[] = { 500 * MSEC, 5 * SEC, HOUR };
	__u64 boot, monotonic;
	unsigned int i, c;

	ASSERT_TRUE(cells || lacks_cells(errno));
	if (!virtual_time())
		SKIP(return, "this machine may have a use");
	if (!write_file("/sys/module/suspend/parameters/pm_test_delay", "0") ||
	    !write_file("/sys/power/pm_test", "core") || !suspend())
		SKIP(return, "this machine cannot suspend: %s", strerror(errno));
	/* Some kernels take a difference from that clock for time asleep. */
	ASSERT_TRUE(set_wall_clock(machine_time() ?: time_by(CLOCK_REALTIME)));
	ASSERT_TRUE(step(o, -1600 * (__s64)MSEC));
	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (i = 0; i < 2 * ARRAY_SIZE(ahead); i++)
			ASSERT_TRUE(arm(o, &o->pair[o->nr++], clocks[c],
					time_by(clocks[c]) + ahead[i / 2], !c && i % 2));
	for (i = 0; cells && i < 2; i++) {
		ASSERT_EQ(0, op_add(fd, &cell[i]));
		ASSERT_TRUE(cell_touch(&cells[i], time_by(cell[i].clock) + 500 * MSEC));
	}
	boot = time_by(CLOCK_BOOTTIME);
	monotonic = now_ns();
	before_change(o);
	ASSERT_TRUE(suspend());
	after_change(o);
	ASSERT_TRUE(agree(o));
	monotonic = now_ns() - monotonic;
	boot = time_by(CLOCK_BOOTTIME) - boot;
	TH_LOG("suspended for %llu of %llu us", (boot - monotonic) / USEC, boot / USEC);
	ASSERT_LT(SEC, boot - monotonic);
	ASSERT_GT(4 * SEC, boot);
	for (i = 0; i < o->nr; i++) {
		struct pair *p = &o->pair[i];

		bool passed = i % 6 < 2 && p->clock != CLOCK_MONOTONIC;

		EXPECT_EQ(p->on_set ? CANCELLED : passed ? FIRED : PENDING, p->op);
	}
	if (cells) {
		ASSERT_TRUE(next_event(fd, &event));
		EXPECT_EQ(cell[0].id, event.id);
		EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
		EXPECT_TRUE(is_armed(cell_read(&cells[1])));
		munmap(cells, 2 * sizeof(*cells));
	}
	close(fd);
	usleep(6000000);
	ASSERT_TRUE(agree(o));
	write_file("/sys/power/pm_test", "none");
}

TEST_HARNESS_MAIN
