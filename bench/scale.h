/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the parts of the suite scale. See scale.c. */
#ifndef _TWHEEL_BENCH_SCALE_H
#define _TWHEEL_BENCH_SCALE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/types.h>

struct bench_config;
struct scale_contender;

/* Operations between two readings of the clock. */
#define SCALE_BATCH	64

/**
 * struct scale_thread - a thread of the suite, bound to a CPU
 * @contender: the contender to run
 * @index: number of the thread
 * @cpu: its CPU
 * @nr: its share of the pending timers or operations
 * @random: state of its generator
 * @private: data of the contender
 * @done: number of operations done
 * @ns: duration
 * @err: result
 * @ended: completed when the thread has finished
 */
struct scale_thread {
	const struct scale_contender	*contender;
	unsigned int			index;
	unsigned int			cpu;
	u32				nr;
	struct rnd_state		random;
	void				*private;
	u64				done;
	u64				ns;
	int				err;
	struct completion		ended;
} ____cacheline_aligned_in_smp;

/**
 * struct scale_contender - a workload that runs on several CPUs in parallel
 * @of: name of the contender
 * @figure: name of the figure
 * @suffix: suffix of the case, besides the number of CPUs
 * @start: sets up the state shared by all threads
 * @stop: undoes @start and checks the state; @err is the result so far
 * @prepare: sets up the data of a thread, on its CPU
 * @turn: performs %SCALE_BATCH operations; returns the number of successful ones
 * @clear: undoes @prepare, also if it failed
 */
struct scale_contender {
	const char	*of;
	const char	*figure;
	const char	*suffix;
	int		(*start)(const struct bench_config *config);
	int		(*stop)(int err);
	int		(*prepare)(struct scale_thread *thread);
	unsigned int	(*turn)(struct scale_thread *thread);
	void		(*clear)(struct scale_thread *thread);
};

#define SCALE_TIMERS	3
extern const struct scale_contender scale_timers[SCALE_TIMERS];

#define SCALE_OPS	2
extern const struct scale_contender scale_ops[SCALE_OPS];

#endif /* _TWHEEL_BENCH_SCALE_H */
