// SPDX-License-Identifier: GPL-2.0
/*
 * Locks and cache lines that move between CPUs; no time is measured.
 *
 * One thread plays all virtual CPUs, which take turns: each CPU adds one of its operations with a
 * key of their own in turn, until each has added POOL, and then they signal the keys in the same
 * order. A signal on the device includes the read of the event. Timers are cancelled. Figures are
 * per pair of add and end:
 *
 *	locks		locks taken
 *	handed_over	locks that another CPU was the last to hold
 *	moved		cache lines that came from another CPU, those of locks included; see
 *			kernel/count.c
 *
 * The cases:
 *
 *	timers_own	timers on the shard of each CPU
 *	ops_own		a purgatory for each CPU
 *	ops_shared	one purgatory
 *	device_file	one file
 *	device_user	a file for each CPU, of the same user
 *	device_named	a file for each CPU, on one named purgatory
 *
 * The suite hot_key has one key for all, on 1 to CPUS_MAX of CPUS_MAX CPUs. Each call is on the
 * next CPU, in turn an add of an operation and a signal that completes it. This is the worst
 * order, in which each call finds the lines in another cache. In the model the CPUs do nothing
 * else. An access costs 1 and a line that moves MOVE, and the sections under the busiest lock
 * follow one another:
 *
 *	cost(n)	= accesses + MOVE * moved
 *	time(n)	= max(cost(n) / n, the part of cost(n) with that lock held)
 *	cpu(n)	= n * time(n), which includes the wait for the lock
 *
 * Samples of time and cpu are relative to cost(1): the time between two pairs of the whole
 * machine, and the time that a CPU spends on a pair.
 */
#include <stdio.h>

#include <rig/count.h>

#include "program.h"

#define CPUS		2
#define CPUS_MAX	16
#define POOL		128
#define ROUNDS		20
/* Other operations that stay pending in each purgatory, so that its hash table keeps its size */
#define OTHERS		4096
#define AHEAD		(60 * NSEC_PER_SEC)
/*
 * A line from another cache takes as long as some 300 instructions; an access stands for ten. A
 * stock kernel executes 3,500 of them in an add and a signal, and the rig counts 340 accesses.
 */
#define MOVE		32

static struct player {
	struct file *file;
	struct program_op ops[POOL];
} players[CPUS_MAX];

static struct twheel_purgatory *purgatories[CPUS];
static struct twheel_timer timers[CPUS][POOL];
static struct program_op others[CPUS][OTHERS];
static u64 random_state = 1;
static unsigned int round_nr;

static u64 far(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return AHEAD + (random_state >> 28);
}

static void op_add(struct twheel_purgatory *purgatory, struct program_op *op, u64 deadline,
		   struct twheel_key key)
{
	expect(!program_op_add(purgatory, op, deadline, key, 0), "twheel_op_add");
}

/* Other keys in each round: where they are in the hash table is a matter of chance. */
static struct twheel_key key_of(unsigned int cpu, unsigned int i)
{
	return (struct twheel_key) { { cpu, round_nr * POOL + i } };
}

/* Calls of a CPU: add its i-th timer or operation, or end it */

static void timer_add_one(unsigned int cpu, unsigned int i)
{
	expect(!twheel_timer_add(&timers[cpu][i], twheel_deadline(far())), "add");
}

static void timer_cancel_one(unsigned int cpu, unsigned int i)
{
	expect(!twheel_timer_cancel(&timers[cpu][i]), "cancel");
}

static void op_add_one(unsigned int cpu, unsigned int i)
{
	op_add(purgatories[cpu], &players[cpu].ops[i], twheel_deadline(far()), key_of(cpu, i));
}

static void op_signal_one(unsigned int cpu, unsigned int i)
{
	struct twheel_key key = key_of(cpu, i);

	expect(twheel_signal(purgatories[cpu], &key, 1, 1) == 1, "twheel_signal");
	twheel_op_put(&players[cpu].ops[i].op);
}

static void device_add(struct file *file, u64 delay, struct twheel_key key)
{
	struct twheel_watch_spec spec = { .key = key };
	struct twheel_add_args args = program_add_args(delay, &spec, 1);

	expect(!rig_ioctl(file, TWHEEL_IOC_ADD, &args), "TWHEEL_IOC_ADD");
}

static void device_read(unsigned int cpu)
{
	struct twheel_event event;

	expect(rig_read(players[cpu].file, &event, sizeof(event)) == sizeof(event), "read");
}

static void device_add_one(unsigned int cpu, unsigned int i)
{
	device_add(players[cpu].file, far(), key_of(cpu, i));
}

static void device_signal_one(unsigned int cpu, unsigned int i)
{
	struct twheel_signal_args args = { .key = key_of(cpu, i) };

	expect(!rig_ioctl(players[cpu].file, TWHEEL_IOC_SIGNAL, &args) && args.completed == 1,
	       "TWHEEL_IOC_SIGNAL");
	device_read(cpu);
}

/* Setup and cleanup of all players */

static void never_called(struct twheel_timer *timer)
{
	program_fail("a timer fired");
}

static void timers_own(void)
{
	unsigned int cpu, i;

	for (cpu = 0; cpu < CPUS; cpu++)
		for (i = 0; i < POOL; i++)
			twheel_timer_init(&timers[cpu][i], twheel_system(), never_called);
}

static void purgatory_set(unsigned int cpu, unsigned int nr_others)
{
	unsigned int i;

	purgatories[cpu] = program_purgatory(1 << 16);
	for (i = 0; i < nr_others; i++) {
		op_add(purgatories[cpu], &others[cpu][i], TWHEEL_NEVER, key_of(CPUS_MAX, i));
		rig_settle();
	}
}

static void ops_own(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < CPUS; cpu++)
		purgatory_set(cpu, OTHERS);
}

static void ops_shared(void)
{
	purgatory_set(0, OTHERS);
	purgatories[1] = purgatories[0];
}

static void files_set(const char *name, unsigned int nr)
{
	unsigned int cpu, i;

	for (cpu = 0; cpu < CPUS; cpu++) {
		players[cpu].file = cpu < nr ? program_open(name) : players[0].file;
		for (i = 0; i < OTHERS / CPUS; i++) {
			device_add(players[cpu].file, TWHEEL_NEVER, key_of(CPUS_MAX + cpu, i));
			rig_settle();
		}
	}
}

static void device_file(void)
{
	files_set("/dev/twheel", 1);
}

static void device_user(void)
{
	files_set("/dev/twheel", 2);
}

static void device_named(void)
{
	struct file *control = program_open("/dev/twheel-control");

	expect(!program_create_name(control, "handover"), "TWHEEL_IOC_CREATE");
	rig_close(control);
	files_set("/dev/twheel-handover", 2);
}

static void close_all(void)
{
	struct file *control = program_open("/dev/twheel-control");
	unsigned int cpu;

	if (players[0].file)
		rig_close(players[0].file);
	if (players[1].file && players[1].file != players[0].file)
		rig_close(players[1].file);
	if (purgatories[1] != purgatories[0])
		twheel_purgatory_destroy(purgatories[1]);
	twheel_purgatory_destroy(purgatories[0]);
	for (cpu = 0; cpu < CPUS; cpu++) {
		players[cpu].file = NULL;
		purgatories[cpu] = NULL;
	}
	program_remove_name(control, "handover");
	rig_close(control);
}

static const struct job {
	const char *name;
	const char *figure;
	void (*open)(void);
	void (*add)(unsigned int cpu, unsigned int i);
	void (*end)(unsigned int cpu, unsigned int i);
} jobs[] = {
	{ "ops_shared", "add_signal_keys1", ops_shared, op_add_one, op_signal_one },
	{ "device_file", "add_signal_keys1", device_file, device_add_one, device_signal_one },
	{ "device_user", "add_signal_keys1", device_user, device_add_one, device_signal_one },
	{ "device_named", "add_signal_keys1", device_named, device_add_one, device_signal_one },
	{ "timers_own", "add_cancel", timers_own, timer_add_one, timer_cancel_one },
	{ "ops_own", "add_signal_keys1", ops_own, op_add_one, op_signal_one },
};

static void on(unsigned int cpu)
{
	rig_self()->cpu = cpu;
}

static void round_of(const struct job *job)
{
	unsigned int i, cpu;

	for (i = 0; i < POOL; i++)
		for (cpu = 0; cpu < CPUS; cpu++) {
			on(cpu);
			job->add(cpu, i);
			rig_settle();
		}
	for (i = 0; i < POOL; i++)
		for (cpu = 0; cpu < CPUS; cpu++) {
			on(cpu);
			job->end(cpu, i);
			rig_settle();
		}
}

static void sample(const char *suite, const char *name, const char *figure, const char *kind,
		   unsigned int pending, const char *unit, double value)
{
	printf("sample suite=%s case=%s of=twheel what=%s%s ", suite, name, figure, kind);
	printf("pending=%u unit=%s value=%.4f\n", pending, unit, value);
}

static void run_job(const struct job *job)
{
	const double pairs = ROUNDS * CPUS * POOL;

	rig_works_hold(true);
	job->open();
	for (round_nr = 0; round_nr < 2 * ROUNDS; round_nr++) {
		if (round_nr == ROUNDS)
			rig_count_start(false);
		round_of(job);
	}
	sample("handover", job->name, job->figure, ":locks", POOL, "locks",
	       rig_counts.locks / pairs);
	sample("handover", job->name, job->figure, ":handed_over", POOL, "hand-overs",
	       rig_counts.handed_over / pairs);
	sample("handover", job->name, job->figure, ":moved", POOL, "lines",
	       rig_counts.moved / pairs);
	on(0);
	rig_works_hold(false);
	close_all();
}

static void run_handover(void)
{
	unsigned int i;

	printf("begin suite=handover pending=%u\n", POOL);
	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		run_job(&jobs[i]);
	printf("end suite=handover\n");
}

/* One hot key: add and signal in turn, each on the next CPU */

static void hot_pairs(unsigned int cpus, unsigned int nr)
{
	struct program_op *op;
	struct twheel_key key = key_of(0, 0);
	unsigned int i, call = 0;

	for (i = 0; i < nr; i++) {
		op = &players[0].ops[i % POOL];
		on(call++ % cpus);
		op_add(purgatories[0], op, twheel_deadline(far()), key);
		rig_settle();
		on(call++ % cpus);
		expect(twheel_signal(purgatories[0], &key, 1, 1) == 1, "twheel_signal");
		twheel_op_put(&op->op);
		rig_settle();
	}
}

static double cost(const struct rig_counts *lines)
{
	return lines->accesses + (double)MOVE * lines->moved;
}

static void run_hot_key(void)
{
	const unsigned int nr = ROUNDS * POOL;
	unsigned int cpus;
	double alone = 0;

	printf("begin suite=hot_key pending=1\n");
	rig_works_hold(true);
	purgatory_set(0, 0);
	for (cpus = 1; cpus <= CPUS_MAX; cpus *= 2) {
		struct rig_counts held;
		double time;
		char name[16];

		snprintf(name, sizeof(name), "cpus%u", cpus);
		hot_pairs(cpus, nr);
		rig_count_start(false);
		hot_pairs(cpus, nr);
		held = rig_count_held();
		if (cpus == 1)
			alone = cost(&rig_counts);
		time = max(cost(&rig_counts) / cpus, cost(&held));
		sample("hot_key", name, "add_signal", ":locks", 1, "locks",
		       (double)rig_counts.locks / nr);
		sample("hot_key", name, "add_signal", ":handed_over", 1, "hand-overs",
		       (double)rig_counts.handed_over / nr);
		sample("hot_key", name, "add_signal", ":moved", 1, "lines",
		       (double)rig_counts.moved / nr);
		sample("hot_key", name, "add_signal", ":moved_locked", 1, "lines",
		       (double)held.moved / nr);
		sample("hot_key", name, "add_signal", ":accesses", 1, "count",
		       (double)rig_counts.accesses / nr);
		sample("hot_key", name, "add_signal", ":accesses_locked", 1, "count",
		       (double)held.accesses / nr);
		sample("hot_key", name, "add_signal", ":time", 1, "ratio", time / alone);
		sample("hot_key", name, "add_signal", ":cpu", 1, "ratio", cpus * time / alone);
	}
	on(0);
	rig_works_hold(false);
	close_all();
	printf("end suite=hot_key\n");
}

int main(int argc, char **argv)
{
	bool hot_key = argc > 1 && !strcmp(argv[1], "hot_key");

	program_start(hot_key ? CPUS_MAX : CPUS, 1);
	on(0);
	if (hot_key)
		run_hot_key();
	else
		run_handover();
	return program_end();
}
