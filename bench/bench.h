/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the benchmark share. See main.c. */
#ifndef _TWHEEL_BENCH_H
#define _TWHEEL_BENCH_H

#include <linux/ktime.h>
#include <linux/types.h>

struct twheel;

/**
 * struct bench_config - what a run is asked to do, by the module's parameters
 * @nr: how many timers
 * @ahead_ns: how far ahead of the first add the bucket expires
 * @others: whether other timers are added and cancelled meanwhile
 */
struct bench_config {
	unsigned int	nr;
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
