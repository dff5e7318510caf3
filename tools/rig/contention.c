// SPDX-License-Identifier: GPL-2.0
/*
 * Throughput of two CPUs compared with one: real CPUs, each with a thread bound to it, and
 * fair locks as in the kernel.
 *
 *	timers_own	each thread uses its own timers, on the shard of its CPU
 *	ops_own		each thread uses its own purgatory
 *	ops_shared	both threads use one purgatory, with their own keys
 *
 * Samples with one and with two threads alternate; the figures are the ratio of their rates
 * and the time of a pair of calls. A thread that was interrupted by another program may have
 * held a lock: such a sample is repeated, up to a limit. Therefore samples are short.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "program.h"

#define POOL		128
/* Other operations that stay pending in each purgatory, so that its hash table keeps its size. */
#define OTHERS		4096
#define CPUS		2
#define AHEAD		(60 * NSEC_PER_SEC)

struct runner {
	const struct job *job;
	struct twheel_purgatory *purgatory;
	unsigned int cpu;
	u64 random;
	u64 pairs;
	u64 ns;
	long interrupted;	/* involuntary context switches of the thread */
	struct twheel_timer timers[POOL];
	struct program_op ops[POOL];
} __aligned(128);

static unsigned int sample_ms, tries;
static unsigned int disturbed;
static struct runner runners[CPUS];
static struct program_op others[CPUS][OTHERS];
static atomic_t ready;
static bool go, stop;

static u64 far(struct runner *r, u64 now)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return now + AHEAD + (r->random & 0xfffffffff);
}

static void never_called(struct twheel_timer *timer)
{
	program_fail("a timer fired");
}

/* Each of these functions does POOL pairs of calls. */

static void timer_pairs(struct runner *r, u64 now)
{
	unsigned int i;

	for (i = 0; i < POOL; i++)
		expect(!twheel_timer_add(&r->timers[i], far(r, now)), "add");
	for (i = 0; i < POOL; i++)
		expect(!twheel_timer_cancel(&r->timers[i]), "cancel");
}

static void timer_rearms(struct runner *r, u64 now)
{
	unsigned int i;

	for (i = 0; i < POOL; i++)
		twheel_timer_rearm(&r->timers[i], far(r, now), TWHEEL_REARM_ALWAYS);
	for (i = 0; i < POOL; i++)
		twheel_timer_rearm(&r->timers[i], far(r, now), TWHEEL_REARM_ALWAYS);
}

static void op_pairs(struct runner *r, u64 now, unsigned int nr_keys)
{
	struct twheel_watch_spec spec = {};
	struct twheel_op_args args = {
		.specs = &spec, .nr_keys = nr_keys,
		.condition = nr_keys ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
	};
	unsigned int i;

	for (i = 0; i < POOL; i++) {
		args.deadline = far(r, now);
		args.watches = &r->ops[i].watch;
		spec.key = (struct twheel_key) { { r->cpu, i } };
		twheel_op_init(&r->ops[i].op, &program_ops);
		expect(!twheel_op_add(r->purgatory, &r->ops[i].op, &args), "twheel_op_add");
	}
	for (i = 0; i < POOL; i++) {
		spec.key.v[1] = i;
		expect(nr_keys ? twheel_signal(r->purgatory, &spec.key, 1, 1) == 1 :
				 !twheel_op_complete(&r->ops[i].op, 1), "complete");
		twheel_op_put(&r->ops[i].op);
	}
}

static void op_pairs_keys0(struct runner *r, u64 now)
{
	op_pairs(r, now, 0);
}

static void op_pairs_keys1(struct runner *r, u64 now)
{
	op_pairs(r, now, 1);
}

static const struct job {
	const char *name;
	const char *figure;
	void (*pairs)(struct runner *r, u64 now);
	bool ops;
	bool shared;
} jobs[] = {
	{ "timers_own", "add_cancel", timer_pairs },
	{ "timers_own", "rearm_rearm", timer_rearms },
	{ "ops_own", "add_complete", op_pairs_keys0, .ops = true },
	{ "ops_own", "add_signal_keys1", op_pairs_keys1, .ops = true },
	{ "ops_shared", "add_complete", op_pairs_keys0, .ops = true, .shared = true },
	{ "ops_shared", "add_signal_keys1", op_pairs_keys1, .ops = true, .shared = true },
};

static long times_interrupted(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static void *run(void *arg)
{
	struct runner *r = arg;
	unsigned int i;
	u64 begin;

	rig_bind(r->cpu);
	for (i = 0; i < POOL; i++)
		twheel_timer_init(&r->timers[i], twheel_system(), never_called);
	r->pairs = 0;
	atomic_inc(&ready);
	while (!smp_load_acquire(&go))
		cpu_relax();
	r->interrupted = -times_interrupted();
	begin = ktime_get_ns();
	/* At least once: on a loaded machine, the thread may run after the end of the sample. */
	do {
		r->job->pairs(r, ktime_get_ns());
		r->pairs += POOL;
	} while (!READ_ONCE(stop));
	r->ns = ktime_get_ns() - begin;
	r->interrupted += times_interrupted();
	for (i = 0; i < POOL; i++)
		twheel_timer_cancel_sync(&r->timers[i]);
	rig_leave();
	return NULL;
}

static struct twheel_purgatory *purgatory_of(const struct job *job, unsigned int cpu)
{
	struct twheel_purgatory *purgatory;
	unsigned int i;

	if (!job->ops || (cpu && job->shared))
		return runners[0].purgatory;
	purgatory = program_purgatory(1 << 16);
	for (i = 0; i < OTHERS; i++)
		expect(!program_op_add(purgatory, &others[cpu][i], TWHEEL_NEVER,
				       (struct twheel_key) { { CPUS + cpu, i } }, 0),
		       "twheel_op_add");
	return purgatory;
}

/* Return: pairs per second of all threads; @interrupted is set if one was interrupted. */
static double rate_once(const struct job *job, unsigned int cpus, bool *interrupted)
{
	pthread_t thread[CPUS];
	double sum = 0;
	unsigned int cpu;

	WRITE_ONCE(stop, false);
	smp_store_release(&go, false);
	atomic_set(&ready, 0);
	for (cpu = 0; cpu < cpus; cpu++) {
		runners[cpu].job = job;
		runners[cpu].cpu = cpu;
		runners[cpu].random = 0x9e3779b97f4a7c15ULL * (cpu + 1);
		runners[cpu].purgatory = purgatory_of(job, cpu);
		thread[cpu] = rig_thread(run, &runners[cpu]);
	}
	while (atomic_read(&ready) < (int)cpus)
		msleep(1);
	msleep(20);	/* buckets for the keys of the other operations */
	smp_store_release(&go, true);
	msleep(sample_ms);
	WRITE_ONCE(stop, true);
	for (cpu = 0; cpu < cpus; cpu++) {
		pthread_join(thread[cpu], NULL);
		sum += runners[cpu].pairs * 1e9 / runners[cpu].ns;
		*interrupted |= runners[cpu].interrupted != 0;
	}
	for (cpu = 0; job->ops && cpu < (job->shared ? 1 : cpus); cpu++)
		twheel_purgatory_destroy(runners[cpu].purgatory);
	runners[0].purgatory = NULL;
	return sum;
}

static double rate(const struct job *job, unsigned int cpus)
{
	bool interrupted;
	double result = 0;
	unsigned int i;

	for (i = 0; i < tries; i++) {
		interrupted = false;
		result = rate_once(job, cpus, &interrupted);
		if (!interrupted)
			return result;
	}
	disturbed++;
	return result;
}

static void sample(const struct job *job, const char *suffix, const char *unit, double value)
{
	printf("sample suite=contention case=%s of=twheel what=%s%s ",
	       job->name, job->figure, suffix);
	printf("pending=%u unit=%s value=%.3f\n", POOL, unit, value);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned int i, repetition, repetitions = program_option(argv, "repetitions", 15);

	sample_ms = program_option(argv, "ms", 20);
	tries = program_option(argv, "tries", 30);
	program_start(CPUS, 1);
	printf("begin suite=contention pending=%u\n", POOL);
	if (sysconf(_SC_NPROCESSORS_ONLN) < CPUS) {
		printf("skip suite=contention case=all of=twheel what=ratio ");
		printf("pending=%u reason=one_cpu\n", POOL);
		repetitions = 0;
	}
	for (repetition = 0; repetition < repetitions; repetition++) {
		for (i = 0; i < ARRAY_SIZE(jobs); i++) {
			double one = rate(&jobs[i], 1), two = rate(&jobs[i], 2);

			sample(&jobs[i], "", "ratio", two / one);
			sample(&jobs[i], ":1", "ns", 1e9 / one);
			sample(&jobs[i], ":2", "ns", 2e9 / two);
		}
	}
	if (disturbed)
		printf("place-note %u samples were disturbed by other programs\n", disturbed);
	printf("end suite=contention\n");
	return program_end();
}
