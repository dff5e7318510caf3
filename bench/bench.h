/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the benchmark share. See main.c. */
#ifndef _TWHEEL_BENCH_H
#define _TWHEEL_BENCH_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/types.h>

struct twheel;

/**
 * struct bench_config - what a run is asked to do, by the module's parameters
 * @nr: how many timers or operations are pending
 * @reps: how often each contender is measured
 * @seed: of everything random
 * @quick: whether it is only to be seen that it works
 * @ahead_ns: how far ahead of the first add the bucket expires
 * @others: whether other timers are added and cancelled meanwhile
 */
struct bench_config {
	unsigned int	nr;
	unsigned int	reps;
	u64		seed;
	bool		quick;
	u64		ahead_ns;
	bool		others;
};

/**
 * struct bench - one of the benchmarks
 * @name: what the parameter @what calls it
 * @run: does it and prints a line of figures; fails if anything went wrong,
 *	never because it was slow
 */
struct bench {
	const char	*name;
	int		(*run)(const struct bench *bench, const struct bench_config *config);
};

/**
 * struct bench_suite - figures of several contenders, side by side
 * @name: what the parameter @suite calls it
 * @run: measures, and reports by bench_sample(); fails as above
 */
struct bench_suite {
	const char	*name;
	int		(*run)(const struct bench_config *config);
};

void bench_sample(const char *suite, const char *variant, const char *of, const char *what,
		  u64 pending, const char *unit, u64 milli);
void bench_sample_ns(const char *suite, const char *variant, const char *of, const char *what,
		     u64 pending, u64 ns, u64 nr);
void bench_skip(const char *suite, const char *variant, const char *of, const char *what,
		u64 pending, const char *reason);
__printf(1, 2) int bench_failure(const char *fmt, ...);

u64 bench_between(struct rnd_state *random, u64 from, u64 to);
void bench_shuffle(u32 *order, u32 nr, struct rnd_state *random);
u32 *bench_order(u32 nr, struct rnd_state *random);

/**
 * bench_turn - whose turn it is: each comes first as often as the others
 * @rep: which repetition
 * @i: the how-many-th in it
 * @nr: how many there are
 */
static inline unsigned int bench_turn(unsigned int rep, unsigned int i, unsigned int nr)
{
	return (rep + i) % nr;
}

int timer_suite(const struct bench_config *config);
int memory_suite(const struct bench_config *config);
int lateness_suite(const struct bench_config *config);
int wakeups_suite(const struct bench_config *config);
int irqs_off_suite(const struct bench_config *config);
int purgatory_suite(const struct bench_config *config);
int memory_op_suite(const struct bench_config *config);
int late_op_suite(const struct bench_config *config);
int scale_suite(const struct bench_config *config);

int cascade_one_tick(const struct bench *bench, const struct bench_config *config);
int cascade_spread(const struct bench *bench, const struct bench_config *config);
int cascade_cancel(const struct bench *bench, const struct bench_config *config);

/**
 * struct others_report - what became of the other timers
 * @turns: how often one was added and cancelled at once, and added again
 * @fired: how many of those that were left alone had their function called
 * @cancelled: how many of those were cancelled in time
 * @wrong: how many had neither, or both, or were early
 * @longest_ns: the longest that an add and a cancel took together
 */
struct others_report {
	u64	turns;
	u64	fired;
	u64	cancelled;
	u64	wrong;
	u64	longest_ns;
};

int others_start(struct twheel *wheel);
void others_stop(struct others_report *report);

/**
 * struct machine_gaps - times at which the machine did something else
 * @nr: how many there were
 * @longest_ns: how long the longest was
 */
struct machine_gaps {
	u64	nr;
	u64	longest_ns;
};

void machine_gaps(u64 ns, struct machine_gaps *gaps);

#endif /* _TWHEEL_BENCH_H */
