// SPDX-License-Identifier: GPL-2.0
/*
 * Test of layer 5: a purgatory takes the memory of what is pending now, however
 * many operations have passed through it.
 *
 * Operations are allocated, each with two keys that nobody has had before, and
 * freed when they are released. As many as the module's parameter "passes" says
 * pass, and all the time the same number is pending. What counts is all the
 * memory that the kernel's slab caches have got: theirs, and that of whatever else
 * is left behind. A kernel with KASAN keeps for a while what was freed, so
 * that some have to pass before it is measured for the first time, and lets go
 * of it a MiB at a time, whoever's it was: the figures waver by two.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../vtime.h"
#include "op_probe.h"

static ulong passes = 60000;
module_param(passes, ulong, 0444);
MODULE_PARM_DESC(passes, "how many operations pass through a purgatory");

/* Of those that have a place, a quarter expires, and the others are pending. */
#define PLACES		1000
#define PENDING		(PLACES / 4 * 3)
#define KEYS		2

/* In these, KASAN gets what it may keep, a 32nd of all memory. */
#define WARM_UP		20000

/* Half of what the default leaves behind if one key of each stays. */
#define LEEWAY_KB	3072

struct passer {
	struct twheel_op	op;
	struct twheel_watch	watch[KEYS];
	u64			number;
};

static struct passer *passers[PLACES];
static u64 nr_freed;

static void passer_ended(struct twheel_op *op)
{
}

static void passer_release(struct twheel_op *op)
{
	nr_freed++;
	kfree(container_of(op, struct passer, op));
}

static const struct twheel_op_ops passer_ops = {
	.ended		= passer_ended,
	.release	= passer_release,
};

static struct passer *passer_add(u64 number)
{
	const struct twheel_watch_spec specs[KEYS] = {
		{ .key = { .v = { number, 1 } } }, { .key = { .v = { number, 2 } } },
	};
	struct passer *passer = kmalloc(sizeof(*passer), GFP_KERNEL);
	const struct twheel_op_args args = {
		/* A quarter expires before anything else can happen to it. */
		.deadline	= twheel_deadline(number % 4 ? 10 * (u64)NSEC_PER_SEC : 0),
		.condition	= TWHEEL_COND_ALL,
		.nr_keys	= KEYS,
		.specs		= specs,
		.watches	= passer ? passer->watch : NULL,
	};

	if (!passer)
		return NULL;
	twheel_op_init(&passer->op, &passer_ops);
	passer->number = number;
	if (twheel_op_add(probe_purgatory, &passer->op, &args)) {
		kfree(passer);
		return NULL;
	}
	return passer;
}

/* Let one end, in one way or the other, if it has not yet. */
static void passer_end(struct passer *passer)
{
	const struct twheel_key keys[KEYS] = {
		{ .v = { passer->number, 1 } }, { .v = { passer->number, 2 } },
	};

	switch (passer->number % 4) {
	case 1:
		twheel_op_complete(&passer->op, 0);
		break;
	case 2:
		twheel_cancel_for_key(probe_purgatory, &keys[0], NULL, NULL, 0);
		break;
	case 3:
		twheel_signal(probe_purgatory, &keys[0], 1, 0);
		twheel_signal(probe_purgatory, &keys[1], 1, 0);
		break;
	}
	twheel_op_put(&passer->op);
}

static u64 slab_kb(void)
{
	return (u64)(global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B) +
		     global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B)) << (PAGE_SHIFT - 10);
}

/* Let so many pass, from that number on; the most memory that was in use. */
static u64 pass(struct kunit *test, u64 from, u64 nr)
{
	u64 number, most = 0;

	for (number = from; number < from + nr; number++) {
		struct passer **place = &passers[number % PLACES];

		if (*place)
			passer_end(*place);
		*place = passer_add(number);
		KUNIT_ASSERT_NOT_NULL(test, *place);
		/* Time for deadlines to come, and for RCU to free keys. */
		if (number % PLACES == 0) {
			vtime_sleep(10 * NSEC_PER_MSEC);
			most = max(most, slab_kb());
		}
	}
	return most;
}

/* What has ended is freed by now. */
static u64 settled_kb(void)
{
	vtime_sleep(NSEC_PER_SEC);
	rcu_barrier();
	vtime_sleep(NSEC_PER_SEC);
	return slab_kb();
}

static void it_takes_the_memory_of_what_is_pending(struct kunit *test)
{
	u64 before, most, after;
	unsigned int i;

	/* Where time is the real one, those that expire may be late. */
	probe_limit(test, 2 * PLACES, 2 * PLACES * KEYS);
	nr_freed = 0;
	pass(test, 0, WARM_UP);
	before = settled_kb();
	most = pass(test, WARM_UP, passes);
	after = settled_kb();
	kunit_info(test, "%lu passed, slab caches: %llu KiB before, %llu at most, %llu after",
		   passes, before, most, after);
	KUNIT_EXPECT_LE(test, after, before + LEEWAY_KB);
	KUNIT_EXPECT_LE(test, most, before + LEEWAY_KB);
	expect_counts(test, PENDING, KEYS * PENDING, KEYS * PENDING);
	expect_rejected(test, 0);
	for (i = 0; i < PLACES; i++) {
		passer_end(passers[i]);
		passers[i] = NULL;
	}
	KUNIT_EXPECT_EQ(test, nr_freed, WARM_UP + passes);
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE_SLOW(it_takes_the_memory_of_what_is_pending),
	{}
};

static struct kunit_suite memory_suite = {
	.name		= "twheel_purgatory_memory",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= memory_cases,
};

kunit_test_suite(memory_suite);
