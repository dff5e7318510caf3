// SPDX-License-Identifier: GPL-2.0
/*
 * Counts locks, atomic operations, user copies and so on for each kind of call; no time is
 * measured.
 *
 * Each case makes a call NR times and counts in its own thread. An expiry is counted in all
 * threads, to include its reaper and alarm. Work items, which resize the hash table of the keys,
 * run between the cases.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/twheel.h>
#include <rig/count.h>
#include <rig/fs.h>
#include <rig/time.h>

#include "rig.h"

#define NR	256
#define FAR	(3600 * NSEC_PER_SEC)
#define SOON	(250 * NSEC_PER_MSEC)

static struct twheel *wheel;
static struct twheel_purgatory *purgatory;
static struct file *file;

static struct twheel_timer timers[NR];
static struct counted_op {
	struct twheel_op op;
	struct twheel_watch watch[3];
} ops[NR];
static u64 ids[NR];
static struct twheel_event events[NR];
static atomic_t fired;

static void fn(struct twheel_timer *timer)
{
	atomic_inc(&fired);
}

static void ended(struct twheel_op *op)
{
	atomic_inc(&fired);
}

static void release(struct twheel_op *op)
{
}

static const struct twheel_op_ops op_ops = { .ended = ended, .release = release };

static void expect(bool good, const char *message)
{
	if (good)
		return;
	printf("FAILURE: %s\n", message);
	exit(1);
}

static struct twheel_key key_of(unsigned int n, unsigned int i)
{
	return (struct twheel_key) { { n, i } };
}

/* Timers */

static void timer_add(unsigned int n)
{
	expect(!twheel_timer_add(&timers[n], twheel_deadline(FAR + n * NSEC_PER_MSEC)), "add");
}

static void timer_later(unsigned int n)
{
	expect(twheel_timer_rearm(&timers[n], twheel_deadline(2 * FAR), TWHEEL_REARM_ALWAYS) == 1,
	       "rearm");
}

static void timer_cancel(unsigned int n)
{
	expect(!twheel_timer_cancel(&timers[n]), "cancel");
}

static void timer_soon(unsigned int n)
{
	expect(!twheel_timer_add(&timers[n], twheel_deadline(SOON)), "add");
}

static void all_fired(unsigned int n)
{
	if (n)
		return;
	rig_clock_advance(2 * SOON);
	expect(atomic_read(&fired) == NR, "expiry");
	atomic_set(&fired, 0);
}

/* Operations */

static void op_add(unsigned int n, u64 deadline, unsigned int nr_keys)
{
	struct twheel_watch_spec specs[3] = {};
	struct twheel_op_args args = {
		.deadline = deadline, .specs = specs, .watches = ops[n].watch, .nr_keys = nr_keys,
		.condition = nr_keys ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
	};
	unsigned int i;

	for (i = 0; i < nr_keys; i++)
		specs[i].key = key_of(n, i);
	twheel_op_init(&ops[n].op, &op_ops);
	expect(!twheel_op_add(purgatory, &ops[n].op, &args), "twheel_op_add");
}

static void op_add_keys0(unsigned int n)
{
	op_add(n, twheel_deadline(FAR), 0);
}

static void op_add_keys1(unsigned int n)
{
	op_add(n, twheel_deadline(FAR), 1);
}

static void op_add_keys3(unsigned int n)
{
	op_add(n, twheel_deadline(FAR), 3);
}

static void op_add_soon(unsigned int n)
{
	op_add(n, twheel_deadline(SOON), 1);
}

static void op_signal(unsigned int n)
{
	struct twheel_key key = key_of(n, 0);

	expect(twheel_signal(purgatory, &key, 1, 0) == 1, "twheel_signal");
}

static void op_complete(unsigned int n)
{
	expect(!twheel_op_complete(&ops[n].op, 0), "twheel_op_complete");
}

static void op_cancel(unsigned int n)
{
	expect(!twheel_op_cancel(&ops[n].op), "twheel_op_cancel");
}

static void op_put(unsigned int n)
{
	atomic_set(&fired, 0);
	twheel_op_put(&ops[n].op);
}

/* The device */

static struct twheel_add_args device_args(unsigned int n, u64 delay,
					  struct twheel_watch_spec *spec)
{
	*spec = (struct twheel_watch_spec) { .key = key_of(n, 0) };
	return (struct twheel_add_args) {
		.deadline = delay, .condition = TWHEEL_COND_ANY, .nr_keys = 1,
		.keys = (uintptr_t)spec, .key_size = sizeof(*spec),
	};
}

static void device_add_for(unsigned int n, u64 delay)
{
	struct twheel_watch_spec spec;
	struct twheel_add_args args = device_args(n, delay, &spec);

	expect(!rig_ioctl(file, TWHEEL_IOC_ADD, &args), "TWHEEL_IOC_ADD");
	ids[n] = args.id;
}

static void device_add(unsigned int n)
{
	device_add_for(n, FAR);
}

static void device_add_soon(unsigned int n)
{
	device_add_for(n, SOON);
}

static void device_signal(unsigned int n)
{
	struct twheel_signal_args args = { .key = key_of(n, 0) };

	expect(!rig_ioctl(file, TWHEEL_IOC_SIGNAL, &args) && args.completed == 1,
	       "TWHEEL_IOC_SIGNAL");
}

static void device_cancel(unsigned int n)
{
	struct twheel_cancel_args args = { .id = ids[n] };

	expect(!rig_ioctl(file, TWHEEL_IOC_CANCEL, &args), "TWHEEL_IOC_CANCEL");
}

static void device_read(unsigned int n)
{
	expect(rig_read(file, events, sizeof(events[0])) == sizeof(events[0]), "read");
}

/* Reads all events with one call. */
static void device_read_all(unsigned int n)
{
	if (!n)
		expect(rig_read(file, events, sizeof(events)) == sizeof(events), "read");
}

static void device_expire_read(unsigned int n)
{
	if (n)
		return;
	rig_clock_advance(2 * SOON);
	device_read_all(0);
}

static void device_batch(unsigned int n)
{
	static struct twheel_command commands[NR];
	static struct twheel_result results[NR];
	static struct twheel_watch_spec specs[NR];
	struct twheel_batch_args args = {
		.commands = (uintptr_t)commands, .results = (uintptr_t)results, .nr = NR,
		.command_size = sizeof(commands[0]), .result_size = sizeof(results[0]),
	};
	unsigned int i;

	if (n)
		return;
	memset(commands, 0, sizeof(commands));
	for (i = 0; i < NR; i++) {
		commands[i].call = TWHEEL_CALL_ADD;
		commands[i].add = device_args(i, FAR, &specs[i]);
	}
	expect(!rig_ioctl(file, TWHEEL_IOC_BATCH, &args) && args.done == NR && !args.failed,
	       "TWHEEL_IOC_BATCH");
	for (i = 0; i < NR; i++)
		ids[i] = results[i].value;
}

/*
 * Cases: calls in this order; calls with a name are counted, those with @expires in all threads.
 */
static const struct step {
	const char *name;
	void (*call)(unsigned int n);
	bool expires;
} steps[] = {
	{ "timer_add", timer_add },
	{ "timer_rearm", timer_later },
	{ "timer_cancel", timer_cancel },
	{ NULL, timer_soon },
	{ "timer_expire", all_fired, true },
	{ "op_add_keys0", op_add_keys0 },
	{ "op_complete_keys0", op_complete },
	{ NULL, op_put },
	{ "op_add_keys1", op_add_keys1 },
	{ "op_signal_keys1", op_signal },
	{ NULL, op_put },
	{ "op_add_keys3", op_add_keys3 },
	{ "op_signal_keys3", op_signal },
	{ NULL, op_put },
	{ NULL, op_add_keys1 },
	{ "op_cancel_keys1", op_cancel },
	{ NULL, op_put },
	{ NULL, op_add_soon },
	{ "op_expire_keys1", all_fired, true },
	{ NULL, op_put },
	{ "device_add", device_add },
	{ "device_signal", device_signal },
	{ "device_read1", device_read },
	{ NULL, device_add },
	{ "device_cancel", device_cancel },
	{ NULL, device_read },
	{ "device_add_batch", device_batch },
	{ NULL, device_cancel },
	{ "device_read_all", device_read_all },
	{ NULL, device_add_soon },
	{ "device_expire_read", device_expire_read, true },
};

static void show(const struct step *step, const char *kind, u64 count)
{
	printf("sample suite=counts case=%s of=twheel what=%s ", step->name, kind);
	printf("pending=%u unit=count value=%.4f\n", NR, (double)count / NR);
}

static void step_run(const struct step *step, bool counted)
{
	unsigned int n;

	rig_settle();
	rig_count_start(step->expires);
	for (n = 0; n < NR; n++)
		step->call(n);
	if (!counted || !step->name)
		return;
	show(step, "locks", rig_counts.locks);
	show(step, "atomics", rig_counts.atomics);
	show(step, "copies", rig_counts.copies);
	show(step, "allocations", rig_counts.allocations);
	show(step, "alarms", rig_counts.alarms);
	show(step, "wakeups", rig_counts.wakeups);
}

int main(void)
{
	struct twheel_purgatory_config config = { .name = "counts", .max_pending = 1 << 16 };
	unsigned int turn, i;

	rig_start(2, 1);
	rig_bind(0);
	expect(!rig_module_init("twheel"), "module");
	wheel = twheel_system();
	purgatory = twheel_purgatory_create(&config);
	file = rig_open("/dev/twheel", O_RDWR | O_NONBLOCK);
	expect(!IS_ERR(purgatory) && !IS_ERR(file), "open");
	for (i = 0; i < NR; i++)
		twheel_timer_init(&timers[i], wheel, fn);

	rig_works_hold(true);
	printf("begin suite=counts pending=%u\n", NR);
	/* The first turn creates threads and levels. */
	for (turn = 0; turn < 2; turn++)
		for (i = 0; i < ARRAY_SIZE(steps); i++)
			step_run(&steps[i], turn);
	printf("end suite=counts\n");
	rig_works_hold(false);

	rig_close(file);
	twheel_purgatory_destroy(purgatory);
	rig_module_exit("twheel");
	return rig_verdict();
}
