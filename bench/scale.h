/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the suite scale share. See scale.c. */
#ifndef _TWHEEL_BENCH_SCALE_H
#define _TWHEEL_BENCH_SCALE_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/types.h>

struct bench_config;
struct scale_contender;

/* What is done between two readings of the clock. */
#define SCALE_BATCH	64

/**
 * struct scale_thread - one of the threads that do the same on a CPU each
 * @contender: what they do
 * @index: which thread this is
 * @cpu: where it runs
 * @nr: how many this thread has pending
 * @random: chance, its own
 * @own: what the contender needs for this thread
 * @done: how often it has done it
 * @ns: in what time
 * @err: what it has come to
 * @ended: it is through
 */
struct scale_thread {
	const struct scale_contender	*contender;
	unsigned int			index;
	unsigned int			cpu;
	u32				nr;
	struct rnd_state		random;
	void				*own;
	u64				done;
	u64				ns;
	int				err;
	struct completion		ended;
} ____cacheline_aligned_in_smp;

/**
 * struct scale_contender - something that several CPUs do at a time
 * @of: who does it
 * @what: what it is
 * @suffix: of the case, for what is varied beside the CPUs
 * @start: make what all threads share
 * @stop: undo that, and see that nothing is wrong; @err is what there was
 * @prepare: on its CPU, make what a thread needs
 * @turn: do it %SCALE_BATCH times; how often it went as it should
 * @clear: undo @prepare, as far as it came
 */
struct scale_contender {
	const char	*of;
	const char	*what;
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
