/* SPDX-License-Identifier: GPL-2.0 */
/* Timers and their peers, for the suites that compare them. See timer.c. */
#ifndef _TWHEEL_BENCH_TIMER_H
#define _TWHEEL_BENCH_TIMER_H

#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/types.h>

struct kmem_cache;

/**
 * struct timer_run - input of a timed loop
 * @item: the timers, in the order of processing
 * @delay: their delays, in the unit of the contender
 * @nr: number of timers
 */
struct timer_run {
	void		**item;
	const u64	*delay;
	u32		nr;
};

/**
 * struct timer_contender - a timer implementation
 * @name: its name
 * @size: size of a timer
 * @jiffies: delays are in jiffies instead of ns
 * @start: sets up the shared state; may be NULL
 * @stop: waits for running functions and undoes @start; no timer is pending; may be NULL
 * @init: initialises a timer; @held is set if @hold will be called
 * @add: adds the timers. Like the following ones, returns the number of successes.
 * @cancel: cancels the timers; returns the number of pending ones
 * @rearm: sets new delays; returns the number of timers that were pending
 * @pairs: for each timer, cancels it and adds the previous one
 * @hold: prevents functions from being called
 * @release: undoes @hold; some contenders call all functions before it returns
 * @sleeps: the suite may sleep between @hold and @release
 * @moves: number of moves of timers within the data structure so far; may be NULL
 *
 * Each contender has its own loops, see timer_loops.h.
 */
struct timer_contender {
	const char	*name;
	size_t		size;
	bool		jiffies;
	bool		sleeps;
	int		(*start)(void);
	void		(*stop)(void);
	void		(*init)(void *item, bool held);
	u32		(*add)(const struct timer_run *run);
	u32		(*cancel)(const struct timer_run *run);
	u32		(*rearm)(const struct timer_run *run);
	u32		(*pairs)(const struct timer_run *run);
	void		(*hold)(void);
	void		(*release)(void);
	u64		(*moves)(void);
};

extern const struct timer_contender bench_twheel;
extern const struct timer_contender bench_timer_list;
extern const struct timer_contender bench_hrtimer;

#define TIMER_CONTENDERS	3
extern const struct timer_contender *const timer_contenders[TIMER_CONTENDERS];

/**
 * struct timer_fired - record of the calls
 * @nr: number of calls
 * @sum: sum of the addresses of the timers, to detect lost and repeated calls
 * @awaited: number of calls that completes @all
 * @end_ns: time of that call
 * @all: completed by that call
 *
 * There is only one writer, since all timers of a run are on one CPU or one shard.
 */
struct timer_fired {
	u64			nr;
	u64			sum;
	u64			awaited;
	u64			end_ns;
	struct completion	all;
};

extern struct timer_fired timer_fired;

void timer_fired_last(void);

/* Function of all timers: only records the call. */
static inline void timer_fire(const void *item)
{
	timer_fired.sum += (unsigned long)item;
	if (++timer_fired.nr == timer_fired.awaited)
		timer_fired_last();
}

/**
 * struct timer_set - timers of one contender
 * @contender: the contender
 * @cache: slab cache of the timers
 * @item: all timers, in random order; the first @nr stay pending while the others, the
 *	block, are added and cancelled
 * @nr: number of pending timers
 * @block: number of other timers
 * @delay: delays, an array of the same length
 * @random: state of the generator
 * @added: number of adds
 * @cancelled: number of successful cancels
 */
struct timer_set {
	const struct timer_contender	*contender;
	struct kmem_cache		*cache;
	void				**item;
	u32				nr;
	u32				block;
	u64				*delay;
	struct rnd_state		random;
	u64				added;
	u64				cancelled;
};

int timer_set_make(struct timer_set *set, const struct timer_contender *contender, u32 nr,
		   u32 block, u64 seed);
void timer_set_init(struct timer_set *set, bool held);
void timer_set_free(struct timer_set *set);
void timer_set_delays(struct timer_set *set, u32 nr, u64 from_ns, u64 to_ns);
void timer_set_shuffle(struct timer_set *set, u32 first, u32 end);
u64 timer_set_add(struct timer_set *set, u32 from, u32 nr);
u64 timer_set_cancel(struct timer_set *set, u32 from, u32 nr);
int timer_set_check(struct timer_set *set);

struct bench_config;

int timer_expire(const struct timer_contender *contender, const struct bench_config *config,
		 unsigned int rep);

#endif /* _TWHEEL_BENCH_TIMER_H */
