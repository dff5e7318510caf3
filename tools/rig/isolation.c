// SPDX-License-Identifier: GPL-2.0
/*
 * An operation of a user and a timer of a kernel consumer are not late in proportion to the
 * number of operations of another user that are due slightly earlier on the same CPU, nor to the
 * number of ids among which the owner of a user namespace spreads them. The same holds if all of
 * them are cancelled because CLOCK_REALTIME is set.
 *
 * Machines differ too much for a limit in ms: the lateness is compared with the time that the
 * many operations take in the same round, and with rounds without them. The threads of the
 * rig are scheduled by the kernel of this machine, as reapers are.
 *
 * A change of the clock is noticed even in the middle of a re-arm.
 */
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

#define ROUNDS		5
#define LONG_ROUNDS	3
#define BATCH		256

/* Time from the deadline of the many operations to the deadline of the two. */
#define BEHIND		(2 * NSEC_PER_MSEC)
/* Time for the wakeup of a thread on a busy machine. */
#define WAKEUP		(10 * NSEC_PER_MSEC)
/* Time to deadlines that are not reached. */
#define FAR		(3600 * NSEC_PER_SEC)
/* Time after which a timer or an event has been lost. */
#define LOST		(20 * NSEC_PER_SEC)
/* Minimum duration of the many operations for a meaningful comparison. */
#define BUSY		(40 * NSEC_PER_MSEC)

enum { NOBODY, NEIGHBOUR = 100, MANY = 100000 };

/* Lateness of the operation and of the timer, and duration of the many operations. */
enum { USER, CONSUMER, TAKEN, NR_FIGURES };

struct round {
	u64 ns[NR_FIGURES];
};

static struct file *many, *neighbour;
static struct twheel *wheel, *wall;
static struct twheel_timer timer;
static struct twheel_wall_timer watcher;
static u64 ran;

static void fn(struct twheel_timer *expired)
{
	__atomic_store_n(&ran, twheel_now(expired == &timer ? wheel : wall), __ATOMIC_RELEASE);
}

/* Users that add the many operations: ids from MANY on, in a namespace or in none. */
static struct crowd {
	struct user_namespace *ns;
	unsigned int ids;
} crowd = { .ids = 1 };

static struct user_namespace container = { .parent = &init_user_ns, .owner = KUIDT_INIT(1000) };

/* Add operations as @user, with TWHEEL_ADD_CANCEL_ON_SET or 0 in @flags. */
static void add(struct file *file, uid_t user, u32 flags, u64 deadline, unsigned int nr)
{
	static struct {
		struct twheel_command head;
		struct twheel_add_args add;
	} commands[BATCH];
	struct twheel_batch_args args = {
		.commands = (uintptr_t)commands, .size = sizeof(commands),
	};
	unsigned int i;

	rig_uid = user;
	for (i = 0; i < BATCH; i++) {
		commands[i].head.cmd = TWHEEL_IOC_ADD;
		commands[i].add = (struct twheel_add_args) {
			.flags = TWHEEL_ADD_ABSTIME | flags, .deadline = deadline,
			.clock = flags ? CLOCK_REALTIME : CLOCK_MONOTONIC,
		};
	}
	for (; nr; nr -= args.done) {
		args.nr = min(nr, BATCH);
		expect(!rig_ioctl(file, TWHEEL_IOC_BATCH, &args) && !args.failed, "an add failed");
	}
	rig_uid = NOBODY;
}

/* Wait for something that is expected since a time. */
static void wait_since(u64 time)
{
	expect(ktime_get_ns() - time < LOST, "a timer or an event is lost");
	msleep(1);
}

/* Wait for the timer. Not since the adds, which take long beside other work. */
static void wait_for_timer(void)
{
	u64 since = ktime_get_ns();

	while (!__atomic_load_n(&ran, __ATOMIC_ACQUIRE))
		wait_since(since);
}

/* Wait for @nr events and read them. Return: time of the latest one. */
static u64 last_end(struct file *file, unsigned int nr)
{
	static struct twheel_event events[BATCH];
	u64 last = 0, since = ktime_get_ns();
	ssize_t got, i;

	while (nr) {
		got = rig_read(file, events, sizeof(events));
		if (got == -EAGAIN) {
			wait_since(since);
			continue;
		}
		expect(got > 0, "read failed");
		got /= (ssize_t)sizeof(events[0]);
		for (i = 0; i < got; i++)
			last = max(last, events[i].time);
		nr -= got;
		since = ktime_get_ns();
	}
	return last;
}

/* Return: true if all operations were added before they were due. */
static bool run_round(unsigned int nr, u64 lead, struct round *round)
{
	u64 due = twheel_now(wheel) + lead;
	unsigned int i;
	bool in_time;

	__atomic_store_n(&ran, 0, __ATOMIC_RELAXED);
	rig_user_ns = crowd.ns;
	for (i = 0; i < crowd.ids; i++)
		add(many, MANY + i, 0, due, nr / crowd.ids);
	rig_user_ns = NULL;
	add(neighbour, NEIGHBOUR, 0, due + BEHIND, 1);
	expect(!twheel_timer_add(&timer, due + BEHIND), "the timer was not added");
	in_time = twheel_now(wheel) < due;
	wait_for_timer();
	round->ns[CONSUMER] = ran - (due + BEHIND);
	round->ns[USER] = last_end(neighbour, 1) - (due + BEHIND);
	round->ns[TAKEN] = last_end(many, nr) - due;
	return in_time;
}

/* Likewise, with operations and a timer that setting the clock cancels: from that moment on. */
static bool step_round(unsigned int nr, u64 lead, struct round *round)
{
	u64 far = twheel_now(wall) + FAR, set;
	struct timespec64 time;

	__atomic_store_n(&ran, 0, __ATOMIC_RELAXED);
	add(many, MANY, TWHEEL_ADD_CANCEL_ON_SET, far, nr);
	add(neighbour, NEIGHBOUR, TWHEEL_ADD_CANCEL_ON_SET, far, 1);
	expect(!twheel_timer_add(&watcher.timer, far), "the timer was not added");
	set = twheel_now(wall) + NSEC_PER_SEC;
	time = ns_to_timespec64(set);
	do_settimeofday64(&time);
	wait_for_timer();
	round->ns[CONSUMER] = ran - set;
	round->ns[USER] = last_end(neighbour, 1) - set;
	round->ns[TAKEN] = last_end(many, nr) - set;
	return true;
}

static int error_of_watcher;

static void note_error(struct twheel_timer *expired)
{
	error_of_watcher = twheel_timer_error(expired);
	fn(expired);
}

/* The clock is set and set back. */
static void step_and_undo(void)
{
	u64 now = twheel_now(wall), since = ktime_get_ns();
	struct timespec64 time = ns_to_timespec64(now + NSEC_PER_SEC);

	WRITE_ONCE(rig_at_snapshot, NULL);
	do_settimeofday64(&time);
	time = ns_to_timespec64(now + ktime_get_ns() - since);
	do_settimeofday64(&time);
}

/* Between the two looks of a re-arm, which may move the timer to the shard of another CPU. */
static void check_step_in_rearm(void)
{
	u64 far = twheel_now(wall) + FAR;
	unsigned int cpu;
	int ret;

	for (cpu = 0; cpu < 2; cpu++) {
		rig_bind(0);
		twheel_wall_timer_init(&watcher, wall, note_error, TWHEEL_TIMER_CANCEL_ON_SET);
		expect(!twheel_timer_add(&watcher.timer, far), "the timer was not added");
		rig_bind(cpu);
		__atomic_store_n(&ran, 0, __ATOMIC_RELAXED);
		WRITE_ONCE(rig_at_snapshot, step_and_undo);
		ret = twheel_timer_rearm(&watcher.timer, far + 1, TWHEEL_REARM_ALWAYS);
		expect(!rig_at_snapshot, "a re-arm does not look at the clock");
		expect(ret == 1 || ret == -ECANCELED, "a re-arm returns %d", ret);
		wait_for_timer();
		expect(error_of_watcher == -ECANCELED, "the step is not an error of the timer");
	}
	rig_bind(0);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Medians of several rounds. */
static struct round measure(bool (*run)(unsigned int nr, u64 lead, struct round *round),
			    unsigned int nr)
{
	static u64 lead = 20 * NSEC_PER_MSEC;
	unsigned int rounds = nr > 50000 ? LONG_ROUNDS : ROUNDS;
	u64 all[NR_FIGURES][ROUNDS];
	unsigned int done = 0, i;
	struct round round;

	while (done < rounds) {
		if (!run(nr, lead, &round)) {
			lead *= 2;
			continue;
		}
		for (i = 0; i < NR_FIGURES; i++)
			all[i][done] = round.ns[i];
		done++;
	}
	for (i = 0; i < NR_FIGURES; i++) {
		qsort(all[i], rounds, sizeof(all[i][0]), compare);
		round.ns[i] = all[i][rounds / 2];
	}
	return round;
}

/*
 * Return: true if the lateness is about that of a quiet round, and does not grow: not by a @part of
 * the time that the many operations take.
 */
static bool is_apart(const struct round *round, const struct round *quiet, unsigned int part)
{
	u64 most = WAKEUP + round->ns[TAKEN] / part;

	return round->ns[TAKEN] < BUSY ||
	       (round->ns[USER] <= 4 * quiet->ns[USER] + most &&
		round->ns[CONSUMER] <= 4 * quiet->ns[CONSUMER] + most);
}

static void show(unsigned int nr, const struct round *round)
{
	printf("%u operations take %llu us: user %llu us late, consumer %llu us\n",
	       nr, round->ns[TAKEN] / 1000, round->ns[USER] / 1000, round->ns[CONSUMER] / 1000);
}

int main(void)
{
	static const unsigned int sizes[] = { 1000, 10000, 100000, 245760 };
	struct round quiet, round;
	unsigned int i;

	program_start(2, 1);
	rig_bind(0);
	wheel = twheel_system();
	wall = twheel_system_clock(TWHEEL_CLOCK_REALTIME);
	expect(!IS_ERR(wheel) && !IS_ERR(wall), "no system wheel");
	many = program_open("/dev/twheel");
	neighbour = program_open("/dev/twheel");
	twheel_timer_init(&timer, wheel, fn);
	check_step_in_rearm();
	twheel_wall_timer_init(&watcher, wall, fn, TWHEEL_TIMER_CANCEL_ON_SET);

	quiet = measure(run_round, 1);
	printf("isolation: ");
	show(1, &quiet);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		round = measure(run_round, sizes[i]);
		printf("isolation: ");
		show(sizes[i], &round);
		expect(is_apart(&round, &quiet, 8), "the lateness grows with the operations");
	}
	expect(round.ns[TAKEN] >= BUSY, "this machine is too fast for the comparison");
	for (crowd.ids = 10; crowd.ids <= 1000; crowd.ids *= 100) {
		crowd.ns = &container;
		round = measure(run_round, 60000);
		printf("isolation: %u ids of one owner: ", crowd.ids);
		show(60000, &round);
		expect(is_apart(&round, &quiet, 8), "the lateness grows with the ids");
	}

	crowd.ids = 1;
	crowd.ns = NULL;
	quiet = measure(step_round, 1);
	printf("isolation: the clock is set: ");
	show(1, &quiet);
	round = measure(step_round, 100000);
	printf("isolation: the clock is set: ");
	show(100000, &round);
	/* To find out that an operation is cancelled takes a tenth of its end. */
	expect(is_apart(&round, &quiet, 128), "the lateness grows with the operations of a step");

	twheel_timer_shutdown_sync(&timer);
	twheel_timer_shutdown_sync(&watcher.timer);
	rig_close(many);
	rig_close(neighbour);
	if (program_end())
		return 1;
	printf("isolation: SUCCESS: the lateness does not grow\n");
	return 0;
}
