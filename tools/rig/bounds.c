// SPDX-License-Identifier: GPL-2.0
/*
 * Bounds of the work of one call, regardless of what others do meanwhile.
 *
 * A signal claims a chunk of operations with a lock held, each with the maximum number of keys:
 * it must not touch the buckets of all of these keys under that lock. A call visits the watchers of
 * a key in such chunks, and lets other threads run in between.
 *
 * The close of a file frees a large hash table, and lets other threads run meanwhile.
 *
 * An event wakes all pollers of its queue once, but the thread that ends the operation visits none
 * of them, and no thread visits many without dropping the lock of the wait queue. It wakes one
 * blocked reader, and the end of a queue wakes all of them, also if one is killed meanwhile.
 *
 * A reaper whose work does not end lets RCU tasks pass a grace period.
 */
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

/* One chunk of a signal, see SIGNAL_OPS */
#define OPS	16
/* For each operation: two neighbours in each of two lists, and some of its keys */
#define MAX_PREFETCHES	(OPS * 12)

/* Watchers of a key */
#define WATCHERS	10000

/* Operations with the maximum number of keys, and the minimum number of segments for these */
#define LARGE		2000
#define SEGMENTS	(LARGE * TWHEEL_MAX_KEYS / 4 / 256)

#define WAITERS		10000
/* Watchers or waiters that one hold may visit */
#define MAX_HOLD	32
/* Waiters at a time, and the wait queues that they need */
#define POLLERS		128
#define MAX_QUEUES	(POLLERS / MAX_HOLD)
/* Events of which each may come while the work item for the previous one starts */
#define EVENTS		1000

/* Ends of a queue with blocked readers */
#define ROUNDS		200

/* Callbacks of a timer, one after another: of several thousand turns */
#define CALLS		100000

static struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
static struct file *file;
static unsigned int frees;

static void add(u32 nr_keys)
{
	struct twheel_add_args args = program_add_args(nr_keys ? TWHEEL_NEVER :
						       3600 * NSEC_PER_SEC, specs, nr_keys);
	struct twheel_complete_args complete = { };
	long err = rig_ioctl(file, TWHEEL_IOC_ADD, &args);

	if (!err && !nr_keys) {
		complete.id = args.id;
		err = rig_ioctl(file, TWHEEL_IOC_COMPLETE, &complete);
	}
	expect(!err, "the add failed: %ld", err);
}

static void check_signal(void)
{
	struct twheel_signal_args args = { .key = specs[0].key };
	unsigned long before;
	unsigned int i;

	for (i = 0; i < OPS; i++)
		add(TWHEEL_MAX_KEYS);
	before = rig_prefetches;
	expect(!rig_ioctl(file, TWHEEL_IOC_SIGNAL, &args) && args.completed == OPS,
	       "%u operations completed", args.completed);
	expect(rig_prefetches - before <= MAX_PREFETCHES, "%lu prefetches in a chunk of a signal",
	       rig_prefetches - before);
}

static unsigned int rescheds;

static void count_resched(void)
{
	rescheds++;
}

/* The first of two signals ends none. */
static u32 visit_watchers(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			  unsigned int call)
{
	switch (call) {
	case 0:
	case 1:
		return twheel_signal_some(purgatory, key, 1, 0, 0, TWHEEL_MAY_SLEEP);
	case 2:
		return twheel_cancel_for_key(purgatory, key, NULL, NULL, TWHEEL_MAY_SLEEP);
	default:
		return twheel_complete_all(purgatory, 0, 0, 0);
	}
}

static void check_watchers(void)
{
	const struct twheel_watch_spec spec = { .key.v = { 1, 2 }, .need = 2 };
	struct twheel_purgatory *purgatory = program_purgatory(WATCHERS);
	struct program_op *ops = calloc(WATCHERS, sizeof(*ops));
	struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = 1, .specs = &spec,
	};
	unsigned int call, i;
	u32 nr;

	for (call = 0; call < 4; call++) {
		for (i = 0; call != 1 && i < WATCHERS; i++) {
			twheel_op_init(&ops[i].op, &program_ops);
			args.watches = &ops[i].watch;
			expect(!twheel_op_add(purgatory, &ops[i].op, &args), "an add failed");
		}
		rescheds = 0;
		rig_at_resched = count_resched;
		nr = visit_watchers(purgatory, &spec.key, call);
		rig_at_resched = NULL;
		expect(nr == (call ? WATCHERS : 0), "call %u ends %u operations", call, nr);
		expect(rescheds >= WATCHERS / MAX_HOLD, "call %u lets others run %u times", call,
		       rescheds);
		for (i = 0; nr && i < WATCHERS; i++)
			twheel_op_put(&ops[i].op);
	}
	twheel_purgatory_destroy(purgatory);
	free(ops);
}

static struct wait_queue_entry waiters[WAITERS];
static wait_queue_head_t *queues[WAITERS];
static unsigned int nr_waiters, nr_late;
static atomic_t visits;
static int most_visits = INT_MAX;
static __thread unsigned int own_visits, hold_visits, hold_event;
static unsigned int longest_hold, event;

static int visit(struct wait_queue_entry *waiter, unsigned int mode, int flags, void *key)
{
	own_visits++;
	if (hold_event != event)
		hold_visits = 0;
	hold_event = event;
	if (++hold_visits > READ_ONCE(longest_hold))
		WRITE_ONCE(longest_hold, hold_visits);
	expect(atomic_inc_return(&visits) <= most_visits, "more than %d visits", most_visits);
	return 0;
}

static void end_hold(void)
{
	hold_visits = 0;
}

/* As an epoll instance, with or without EPOLLEXCLUSIVE, in which no thread sleeps */
static void add_waiter(struct file *polled, wait_queue_head_t *head, poll_table *table)
{
	queues[nr_waiters] = head;
	list_add(&waiters[nr_waiters++].entry, &head->head);
}

static void read_all(void)
{
	static struct twheel_event read[100];

	while (rig_read(file, read, sizeof(read)) > 0)
		;
}

/* As waiters that all sleep for memory before the first one is in a wait queue */
static void add_waiter_late(struct file *polled, wait_queue_head_t *head, poll_table *table)
{
	if (++nr_late < POLLERS)
		polled->f_op->poll(polled, table);
	add_waiter(polled, head, table);
}

static void end_one(void)
{
	own_visits = 0;
	event++;
	add(0);
	expect(!own_visits, "%u visits of the thread that ends an operation", own_visits);
	rig_settle();
}

static void add_waiters(unsigned int nr, bool exclusive)
{
	poll_table table = { ._qproc = add_waiter };
	unsigned int i;

	read_all();
	nr_waiters = 0;
	for (i = 0; i < nr; i++) {
		waiters[i] = (struct wait_queue_entry) {
			.flags = exclusive ? WQ_FLAG_EXCLUSIVE : 0, .func = visit,
		};
		file->f_op->poll(file, &table);
	}
}

static void remove_waiters(void)
{
	while (nr_waiters--)
		remove_wait_queue(queues[nr_waiters], &waiters[nr_waiters]);
}

static void check_waiters(unsigned int nr, bool exclusive)
{
	add_waiters(nr, exclusive);
	atomic_set(&visits, 0);
	rig_at_resched = end_hold;
	end_one();
	end_one();
	expect(atomic_read(&visits) >= (int)nr, "%d waiters visited", atomic_read(&visits));
	rig_at_resched = NULL;
	expect(longest_hold <= MAX_HOLD, "%u visits with the lock held", longest_hold);
	remove_waiters();
}

static atomic_t paused, resumed;

/* The work item has visited some waiters, but not all. */
static void pause_walk(void)
{
	if (!own_visits)
		return;
	end_hold();
	rig_at_resched = end_hold;
	atomic_set(&paused, 1);
	while (!atomic_read(&resumed))
		sched_yield();
}

/* An event that is queued in the middle of a walk wakes the waiters that it has visited, too. */
static void check_again(void)
{
	add_waiters(POLLERS, false);
	atomic_set(&visits, 0);
	own_visits = 0;
	rig_at_resched = pause_walk;
	add(0);
	while (!atomic_read(&paused))
		sched_yield();
	read_all();
	add(0);
	atomic_set(&resumed, 1);
	rig_settle();
	rig_at_resched = NULL;
	expect(atomic_read(&visits) >= POLLERS + MAX_HOLD, "%d waiters visited",
	       atomic_read(&visits));
	remove_waiters();
}

/* An event wakes a waiter once at most. There is one wait queue: that is the end of each walk. */
static void check_once(void)
{
	unsigned int i;

	rig_settle();
	add_waiters(1, false);
	atomic_set(&visits, 0);
	most_visits = EVENTS;
	rig_at_resched = end_hold;
	for (i = 0; i < EVENTS; i++) {
		add(0);
		read_all();
	}
	rig_settle();
	rig_at_resched = NULL;
	most_visits = INT_MAX;
	remove_waiters();
}

/* Waiters that come and go share few wait queues. */
static void check_queues(void)
{
	wait_queue_head_t *seen[MAX_QUEUES + 1];
	unsigned int round, i, j, nr = 0;

	for (round = 0; round < 100; round++) {
		add_waiters(POLLERS, false);
		for (i = 0; i < nr_waiters; i++) {
			for (j = 0; j < nr && seen[j] != queues[i]; j++)
				;
			if (j == nr && nr <= MAX_QUEUES)
				seen[nr++] = queues[i];
		}
		remove_waiters();
	}
	expect(nr <= MAX_QUEUES, "more than %u wait queues", MAX_QUEUES);
}

/* A wait queue stays as short if many waiters are about to be added while it is empty. */
static void check_late(void)
{
	poll_table table = { ._qproc = add_waiter_late };
	unsigned int i;

	read_all();
	nr_waiters = 0;
	nr_late = 0;
	for (i = 0; i < POLLERS; i++)
		waiters[i] = (struct wait_queue_entry) { .func = visit };
	file->f_op->poll(file, &table);
	longest_hold = 0;
	rig_at_resched = end_hold;
	end_one();
	rig_at_resched = NULL;
	expect(longest_hold && longest_hold <= MAX_HOLD, "%u visits of late waiters",
	       longest_hold);
	remove_waiters();
}

static void count_free(void)
{
	frees++;
}

/* Close a file with a table that did not shrink, since there was no memory for a smaller one. */
static void *check_large(void *arg)
{
	struct twheel_complete_all_args args = { };
	struct file *other = file;
	unsigned int i, key;

	rig_adopt("large", RIG_TASK);
	file = program_open("/dev/twheel");
	for (i = 0; i < LARGE; i++) {
		for (key = 0; key < TWHEEL_MAX_KEYS; key++)
			specs[key].key.v[1] = i + 1;
		add(TWHEEL_MAX_KEYS);
	}
	WRITE_ONCE(rig_fail_every, 1);
	expect(!rig_ioctl(file, TWHEEL_IOC_COMPLETE_ALL, &args) && args.completed == LARGE,
	       "%u operations completed", args.completed);
	read_all();
	rig_at_resched = count_free;
	rig_close(file);
	rig_at_resched = NULL;
	WRITE_ONCE(rig_fail_every, 0);
	expect(frees >= SEGMENTS, "%u times that a close lets other threads run", frees);
	file = other;
	rig_leave();
	return NULL;
}

/* Close the file while its work item is to wake waiters. */
static void check_close(void)
{
	add_waiters(WAITERS, false);
	rig_works_hold(true);
	add(0);
	remove_waiters();
	rig_close(file);
	rig_works_hold(false);
	rig_settle();
}

struct reader {
	pthread_t		thread;
	struct task_struct	*task;
	bool			returned;
};

static bool may_leave;
static atomic_t nr_read;

static void *read_until_end(void *arg)
{
	struct reader *reader = arg;
	struct twheel_event got;

	rig_adopt("reader", RIG_TASK);
	WRITE_ONCE(reader->task, current);
	while (rig_read(file, &got, sizeof(got)) > 0)
		atomic_inc(&nr_read);
	smp_store_release(&reader->returned, true);
	while (!READ_ONCE(may_leave))
		sched_yield();
	rig_leave();
	return NULL;
}

static bool is_asleep(struct task_struct *task)
{
	bool waits = READ_ONCE(task->state) != TASK_RUNNING;

	/* A task that was woken may wait again, but has left schedule() before. */
	smp_rmb();
	return waits && READ_ONCE(task->sleeps);
}

static void check_end(void)
{
	struct twheel_drain_args drain = { };
	struct reader readers[2] = { };
	unsigned int i;

	may_leave = false;
	atomic_set(&nr_read, 0);
	for (i = 0; i < 2; i++) {
		readers[i].thread = rig_thread(read_until_end, &readers[i]);
		while (!READ_ONCE(readers[i].task) || !is_asleep(readers[i].task))
			sched_yield();
	}
	add(0);
	while (!atomic_read(&nr_read) || !is_asleep(readers[0].task) ||
	       !is_asleep(readers[1].task))
		sched_yield();
	expect(atomic_read(&nr_read) == 1, "%d reads of an event", atomic_read(&nr_read));
	/* The other one waits longer, so that it is the first to be woken. */
	rig_signal(readers[1].task, RIG_SIGNAL_FATAL);
	expect(!rig_ioctl(file, TWHEEL_IOC_DRAIN, &drain), "the drain failed");
	for (i = 0; i < 2; i++)
		while (!smp_load_acquire(&readers[i].returned))
			expect(!READ_ONCE(readers[!i].returned) || !is_asleep(readers[i].task),
			       "a reader sleeps at the end of its queue");
	WRITE_ONCE(may_leave, true);
	for (i = 0; i < 2; i++)
		pthread_join(readers[i].thread, NULL);
}

static void check_readers(void)
{
	struct file *other = file;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		file = rig_open("/dev/twheel", O_RDWR);
		check_end();
		rig_close(file);
	}
	file = other;
}

static unsigned int nr_calls;

static void arm_again(struct twheel_timer *timer)
{
	if (++nr_calls < CALLS)
		expect(!twheel_timer_add(timer, 0), "an add failed");
}

/* The reaper does not sleep; see rig_cond_resched(). */
static void check_reaper(void)
{
	static struct twheel_timer timer;

	twheel_timer_init(&timer, twheel_system(), arm_again);
	expect(!twheel_timer_add(&timer, 0), "an add failed");
	rig_settle();
	expect(nr_calls == CALLS, "%u callbacks", nr_calls);
}

int main(void)
{
	unsigned int i, nr;

	for (i = 0; i < TWHEEL_MAX_KEYS; i++)
		specs[i].key.v[0] = i;
	program_start(1, 1);
	file = program_open("/dev/twheel");
	check_signal();
	check_watchers();
	check_once();
	check_queues();
	check_late();
	check_again();
	for (nr = 1; nr <= WAITERS; nr *= 10) {
		check_waiters(nr, false);
		check_waiters(nr, true);
	}
	pthread_join(rig_thread(check_large, NULL), NULL);
	check_close();
	check_readers();
	check_reaper();
	if (program_end())
		return 1;
	printf("bounds: SUCCESS: %u other threads during a close\n", frees);
	return 0;
}
