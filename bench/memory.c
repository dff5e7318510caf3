// SPDX-License-Identifier: GPL-2.0
/*
 * Suite memory: bytes per pending timer, from the growth of the slab caches.
 *
 *	kmem_cache	timers from a slab cache of their size, which is also their cost
 *			as a member of a larger object. They are pending, so the memory
 *			of the data structure is included
 *	kmalloc		timers allocated by kmalloc(), not pending
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>

#include "bench.h"
#include "timer.h"

#define SUITE		"memory"

/* With fewer timers, pages on per-CPU lists would distort the result. */
#define NR_MIN		100000U
#define NR_MAX		1000000U

/* Range of the delays. */
#define NEAR_NS		(3600 * NSEC_PER_SEC)
#define FAR_NS		(86400 * NSEC_PER_SEC)

static u64 slab_bytes(void)
{
	return (u64)(global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B) +
		     global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B)) << PAGE_SHIFT;
}

static void memory_report(const char *variant, const struct timer_contender *contender, u32 nr,
			  s64 bytes)
{
	bench_sample(SUITE, variant, contender->name, "bytes", nr, "bytes",
		     div_u64(max_t(s64, bytes, 0) * 1000, nr));
}

static int memory_pending(const struct timer_contender *contender, u32 nr, u64 seed)
{
	s64 before = slab_bytes();
	struct timer_set set;
	int err;

	err = timer_set_make(&set, contender, nr, 0, seed);
	if (err)
		return err;
	timer_set_init(&set, false);
	timer_set_delays(&set, nr, NEAR_NS, FAR_NS);
	timer_set_add(&set, 0, nr);
	memory_report("kmem_cache", contender, nr, slab_bytes() - before);
	timer_set_cancel(&set, 0, nr);
	err = timer_set_check(&set);
	timer_set_free(&set);
	return err;
}

static int memory_alone(const struct timer_contender *contender, u32 nr)
{
	s64 before = slab_bytes();
	void **item;
	u32 i;

	item = vcalloc(nr, sizeof(*item));
	if (!item)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		item[i] = kmalloc(contender->size, GFP_KERNEL);
		if (!item[i])
			break;
		if (i % 1024 == 0)
			cond_resched();
	}
	if (i == nr)
		memory_report("kmalloc", contender, nr, slab_bytes() - before);
	while (i--)
		kfree(item[i]);
	vfree(item);
	return 0;
}

static int contender_run(const struct timer_contender *contender, u32 nr, u64 seed)
{
	int err;

	if (!timer_set_fits(contender, 2 * nr)) {
		bench_skip(SUITE, "-", contender->name, "bytes", nr, "not-enough-memory");
		return 0;
	}
	bench_sample(SUITE, "sizeof", contender->name, "bytes", 0, "bytes",
		     contender->size * 1000);
	err = memory_pending(contender, nr, seed);
	return err ?: memory_alone(contender, nr);
}

/**
 * memory_suite - run the suite
 * @config: configuration
 *
 * The order of the contenders does not matter and is not rotated.
 *
 * Return: 0 or a negative error number.
 */
int memory_suite(const struct bench_config *config)
{
	u32 nr = clamp(config->nr, NR_MIN, NR_MAX);
	unsigned int rep, i;
	int err = 0;

	for (rep = 0; rep < config->reps; rep++)
		for (i = 0; i < TIMER_CONTENDERS && !err; i++)
			err = contender_run(timer_contenders[i], nr, config->seed + rep);
	return err;
}
