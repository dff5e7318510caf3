/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by all benchmarks. See main.c. */
#ifndef _TWHEEL_BENCH_H
#define _TWHEEL_BENCH_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/types.h>

/**
 * struct bench_config - configuration of a run, from the module parameters
 * @suite: the suite
 * @only: comma-separated list of contenders, or contender/case, to run; NULL for all
 * @nr: number of pending timers or operations
 * @reps: number of repetitions per contender, including a discarded first one
 * @seed: seed of the random numbers
 * @quick: run only a short functional check
 * @exact: the clock counts instructions; the first repetition is not reported, since it includes
 *	the set-up at first use
 * @ahead_ns: time from the first add to the expiry of the bucket, set by the suite irqs_off
 */
struct bench_config {
	char		*suite;
	char		*only;
	unsigned int	nr;
	unsigned int	reps;
	u64		seed;
	bool		quick;
	bool		exact;
	u64		ahead_ns;
};

extern struct bench_config bench_config;

void bench_repetition(unsigned int rep);
bool bench_wanted(const char *of, const char *variant);
void bench_sample(const char *variant, const char *of, const char *figure, u64 pending,
		  const char *unit, u64 milli);
void bench_sample_ns(const char *variant, const char *of, const char *figure, u64 pending, u64 ns,
		     u64 nr);
void bench_skip(const char *variant, const char *of, const char *figure, u64 pending,
		const char *reason);
__printf(1, 2) int bench_failure(const char *fmt, ...);

u64 bench_between(struct rnd_state *random, u64 from, u64 to);
u32 *bench_order(u32 nr, struct rnd_state *random);
void bench_sleep_until(u64 ns);

/* The contender for a position in a repetition: each comes first equally often. */
static inline unsigned int bench_turn(unsigned int rep, unsigned int i, unsigned int nr)
{
	return (rep + i) % nr;
}

int timer_suite(const struct bench_config *config);
int memory_suite(const struct bench_config *config);
int purgatory_suite(const struct bench_config *config);
int cells_case(const struct bench_config *config);
int peers_suite(const struct bench_config *config);
int irqs_off_suite(const struct bench_config *config);

void irqs_probe_start(u64 seed);
void irqs_probe_stop(void);
void irqs_probe_report(const char *name, u64 pending);

#endif /* _TWHEEL_BENCH_H */
