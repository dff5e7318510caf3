/* SPDX-License-Identifier: GPL-2.0 */
/* Timers and their peers, for the suites that set them side by side. See timer.c. */
#ifndef _TWHEEL_BENCH_TIMER_H
#define _TWHEEL_BENCH_TIMER_H

#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/types.h>

struct kmem_cache;

/**
 * struct timer_run - what a loop that is timed walks along
 * @item: the timers, in the order in which it is their turn
 * @delay: for how long each is to wait, by the contender's clock
 * @nr: how many
 */
struct timer_run {
	void		**item;
	const u64	*delay;
	u32		nr;
};

/**
 * struct timer_contender - something that calls a function after a while
 * @name: of it
 * @size: of one
 * @jiffies: whether delays are in jiffies, not in ns
 * @start: make what all of them share
 * @stop: none is pending any more: wait for the functions, and undo @start
 * @init: make one ready; @held if @hold is to follow
 * @add: let each wait. This and the next return how many did as they should have
 * @add_delay: the same, each from the moment that it is added
 * @cancel: stop each, and count those that were pending
 * @rearm: give each another delay, and count those that were pending
 * @pairs: for each, cancel it and let the one before it wait
 * @hold: from here on no function is called
 * @release: from here on they are; some contenders call them all before returning
 * @moves: how often timers have moved in the structure so far, NULL if they don't
 *
 * Each loop is the contender's own, so that what it calls is called as its users
 * call it. Those who take a time rather than a delay read the clock once a loop,
 * but for @add_delay.
 */
struct timer_contender {
	const char	*name;
	size_t		size;
	bool		jiffies;
	int		(*start)(void);
	void		(*stop)(void);
	void		(*init)(void *item, bool held);
	u32		(*add)(const struct timer_run *run);
	u32		(*add_delay)(const struct timer_run *run);
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
extern const struct timer_contender bench_delayed_work;

/* With more than that, not everything is measured: it takes too long. */
#define TIMER_MANY		1000000

#define TIMER_CONTENDERS	4
extern const struct timer_contender *const timer_contenders[TIMER_CONTENDERS];

/**
 * struct timer_fired - the functions that were called
 * @nr: how many
 * @sum: of the addresses of their timers: each once, if it is that of all
 * @awaited: how many are awaited; the last of these completes @all
 * @end_ns: when that was
 * @all: they have been called
 *
 * All timers of a run are on one CPU or one shard, so that there is one to write.
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

/* What each contender's function does: no more than it takes to see that all were called. */
static inline void timer_fire(const void *item)
{
	timer_fired.sum += (unsigned long)item;
	if (++timer_fired.nr == timer_fired.awaited)
		timer_fired_last();
}

/**
 * struct timer_set - timers of one contender, allocated like anybody's
 * @contender: what they are
 * @cache: where they come from
 * @item: all of them, in random order; the first @nr are those that are pending
 *	while the others, a block, are added and cancelled
 * @nr: how many are pending
 * @block: how many others there are
 * @delay: room for as many delays
 * @random: chance
 * @added: how often one began to wait
 * @cancelled: how often one ceased to before its function was called
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
bool timer_set_fits(const struct timer_contender *contender, u64 nr);
void timer_set_delays(struct timer_set *set, u32 nr, u64 from_ns, u64 to_ns);
void timer_set_pick(struct timer_set *set);
u64 timer_set_add(struct timer_set *set, u32 from, u32 nr);
u64 timer_set_cancel(struct timer_set *set, u32 from, u32 nr);
int timer_set_check(struct timer_set *set);

struct bench_config;

int timer_expire(const struct timer_contender *contender, const struct bench_config *config,
		 unsigned int rep);

#endif /* _TWHEEL_BENCH_TIMER_H */
