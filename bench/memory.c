// SPDX-License-Identifier: GPL-2.0
/*
 * Suite memory: bytes of a timer, and of a pending operation with 1 or 3 keys that no other
 * operation watches.
 *
 * The latter is the decrease in unused pages, per operation. Other activity on the machine is
 * counted as well; a large number of operations keeps its share small.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmstat.h>

#include "bench.h"
#include "ops.h"
#include "timer.h"

#define OF	"twheel_op"

/* With fewer operations, pages of other users would distort the result. */
#define NR_MIN		100000U

/* Time for kfree_rcu(), which waits for 5 s, and for slab caches to free empty pages. */
#define SETTLE_MS	50
#define SETTLE_TIMES	200
#define QUIET_TIMES	120

/* Pages on the per-CPU lists of the allocator: unused, but not counted as free. */
static s64 zone_cached(const struct zone *zone)
{
	unsigned int cpu;
	s64 nr = 0;

	for_each_online_cpu(cpu)
		nr += READ_ONCE(per_cpu_ptr(zone->per_cpu_pageset, cpu)->count);
	return nr;
}

/* Free pages, with those on the per-CPU lists: replaced hash tables leave hundreds there. */
s64 ops_pages_unused(void)
{
	s64 nr = global_zone_page_state(NR_FREE_PAGES);
	struct zone *zone;
	unsigned int i;
	int node;

	for_each_online_node(node) {
		for (i = 0; i < MAX_NR_ZONES; i++) {
			zone = &NODE_DATA(node)->node_zones[i];
			if (populated_zone(zone))
				nr += zone_cached(zone);
		}
	}
	return nr;
}

static s64 pages_slab(void)
{
	return global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B) +
	       global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B);
}

/* Wait until slab caches have stopped shrinking. */
static void slab_settle(void)
{
	s64 before, now = pages_slab();
	unsigned int i, quiet = 0;

	for (i = 0; i < SETTLE_TIMES && quiet < QUIET_TIMES; i++) {
		before = now;
		msleep(SETTLE_MS);
		now = pages_slab();
		quiet = now < before ? 0 : quiet + 1;
	}
}

static int fill(u32 nr)
{
	struct twheel_watch_spec specs[OPS_KEYS_MAX];
	int err = 0;
	u32 id;

	for (id = 0; id < nr && !err; id++) {
		ops_unique_keys(specs, bench_ops.nr_keys, id);
		err = ops_add(NULL, specs, ops_far_deadline());
		if (id % 1024 == 0)
			cond_resched();
	}
	return err;
}

/* Fill an empty purgatory, and report the growth. */
static int measure(const char *variant, u32 nr)
{
	s64 unused = ops_pages_unused();
	u64 bytes;
	int err;

	err = fill(nr);
	if (err)
		return err;
	slab_settle();
	bytes = max(unused - ops_pages_unused(), 0LL) * PAGE_SIZE;
	bench_sample(variant, OF, "bytes", nr, "bytes", div64_u64(bytes * 1000, nr));
	return 0;
}

static int memory_of(const struct bench_config *config, const char *variant, unsigned int nr_keys)
{
	u32 nr = max(config->nr, NR_MIN);
	int err;

	slab_settle();
	err = ops_start(nr_keys, config->seed);
	return err ?: ops_stop(measure(variant, nr));
}

int memory_suite(const struct bench_config *config)
{
	unsigned int rep, i;
	int err = 0;

	for (i = 0; i < TIMER_CONTENDERS; i++)
		bench_sample("sizeof", timer_contenders[i]->name, "bytes", 0, "bytes",
			     timer_contenders[i]->size * 1000);
	for (rep = 0; rep < config->reps && !err; rep++)
		err = memory_of(config, "keys1", 1) ?: memory_of(config, "keys3", 3);
	return err;
}
