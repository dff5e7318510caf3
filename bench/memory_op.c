// SPDX-License-Identifier: GPL-2.0
/*
 * Suite memory_op: what an operation takes that is pending, with 1, 3 or 16 keys that
 * no other has.
 *
 *	bytes		all in: by how much fewer pages are free, per operation
 *	slab_bytes	by how much more pages the slab caches have; what is missing to
 *			@bytes is a table that is too large for them
 *	object_bytes	the operation and its watches, before the allocator rounds
 *	left_bytes	what slab caches still have when all have ended, per operation
 *
 * Nothing is calculated from what structures should take. Each CPU keeps lists of pages
 * that are in use by nobody, and yet not counted as free: these are emptied first. What
 * others do on the machine meanwhile is counted too, and so it takes many operations for
 * that not to matter.
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmstat.h>

#include "bench.h"
#include "ops.h"

#define SUITE	"memory"
#define OF	"twheel_op"

/* With fewer the pages that are not theirs would count. */
#define NR_MIN		100000U

/* Until RCU has freed what was used last, and slab caches their empty pages. */
#define SETTLE_MS	50
#define SETTLE_TIMES	200
#define QUIET_TIMES	10

/* Pages that we hold, of each order of which a CPU keeps some: each leads to the next. */
static void *hoard[PAGE_ALLOC_COSTLY_ORDER + 1];

static s64 pages_free(void)
{
	return global_zone_page_state(NR_FREE_PAGES);
}

static s64 pages_slab(void)
{
	return global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B) +
	       global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B);
}

/* A CPU that has none left of an order takes those that are free. */
static void hoard_order(unsigned int order)
{
	s64 before = pages_free();
	void **page;

	while (pages_free() >= before) {
		page = (void **)__get_free_pages(GFP_KERNEL, order);
		if (!page)
			break;
		*page = hoard[order];
		hoard[order] = page;
	}
}

static void hoard_take(void)
{
	unsigned int order;

	for (order = 0; order < ARRAY_SIZE(hoard); order++)
		hoard_order(order);
}

static void hoard_return(void)
{
	unsigned int order;
	void **page;

	for (order = 0; order < ARRAY_SIZE(hoard); order++) {
		while ((page = hoard[order])) {
			hoard[order] = *page;
			free_pages((unsigned long)page, order);
		}
	}
}

/* Wait until slab caches have given back no more for a while, or enough. */
static s64 slab_settled(s64 enough)
{
	s64 before, now = pages_slab();
	unsigned int i, quiet = 0;

	for (i = 0; i < SETTLE_TIMES && quiet < QUIET_TIMES && now > enough; i++) {
		before = now;
		msleep(SETTLE_MS);
		now = pages_slab();
		quiet = now < before ? 0 : quiet + 1;
	}
	return now;
}

static void report(const char *variant, const char *what, u64 nr, s64 pages)
{
	u64 bytes = max(pages, 0LL) * PAGE_SIZE;

	bench_sample(SUITE, variant, OF, what, nr, "bytes", div64_u64(bytes * 1000, nr));
}

static int fill(u32 nr)
{
	struct twheel_watch_spec specs[OPS_KEYS_MAX];
	int err = 0;
	u32 id;

	for (id = 0; id < nr && !err; id++) {
		ops_own_keys(specs, bench_ops.nr_keys, id);
		err = ops_add(NULL, specs, ops_far());
		if (id % 1024 == 0)
			cond_resched();
	}
	return err;
}

/* From a purgatory with nothing in it to one with all that are pending. */
static int measure(const char *variant, u32 nr)
{
	s64 was_free = pages_free(), was_slab = pages_slab();
	int err;

	err = fill(nr);
	if (err)
		return err;
	slab_settled(S64_MIN);
	report(variant, "bytes", nr, was_free - pages_free());
	report(variant, "slab_bytes", nr, pages_slab() - was_slab);
	bench_sample(SUITE, variant, OF, "object_bytes", nr, "bytes",
		     1000 * (sizeof(struct twheel_op) +
			     bench_ops.nr_keys * sizeof(struct twheel_watch)));
	return 0;
}

static int memory_of(const struct bench_config *config, const char *variant, unsigned int nr_keys)
{
	u32 nr = max(config->nr, NR_MIN);
	s64 before;
	int err;

	if (!ops_fit(nr, nr_keys)) {
		bench_skip(SUITE, variant, OF, "bytes", nr, "no-memory");
		return 0;
	}
	before = slab_settled(S64_MIN);
	err = ops_start(nr_keys, config->seed);
	if (err)
		return err;
	hoard_take();
	err = ops_stop(measure(variant, nr));
	hoard_return();
	if (!err)
		report(variant, "left_bytes", nr, slab_settled(before) - before);
	return err;
}

static int memory_run(const struct bench_config *config)
{
	unsigned int rep;
	int err = 0;

	for (rep = 0; rep < config->reps && !err; rep++)
		err = memory_of(config, "keys1", 1) ?: memory_of(config, "keys3", 3) ?:
		      memory_of(config, "keys16", 16);
	return err;
}

/**
 * memory_op_suite - bytes an operation
 * @config: how many, if that is enough to be measured, and how often
 */
int memory_op_suite(const struct bench_config *config)
{
	return ops_stay(memory_run, config);
}
