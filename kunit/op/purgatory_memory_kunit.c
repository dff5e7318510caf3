// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test for purgatories: memory use depends on the number of pending
 * operations, and not on the number of operations that have ended.
 *
 * Operations are allocated, each with two keys that have not been used before, and freed
 * when they are released. The module parameter "passes" sets their number. The number of
 * pending operations stays the same. The test measures the size of all slab caches, which
 * includes the operations and any leak.
 *
 * With KASAN, freed objects stay in quarantine. Therefore some operations run before the
 * first measurement. KASAN releases objects of all slab caches in steps of 1 MiB, which
 * makes the result vary by 2 MiB.
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
MODULE_PARM_DESC(passes, "number of operations that pass through a purgatory");

/* A quarter of the operations has expired, the others are pending. */
#define NR_SLOTS	1000
#define NR_PENDING	(NR_SLOTS / 4 * 3)
#define NR_KEYS		2

/* Fills the quarantine of KASAN, which is limited to 1/32 of the memory. */
#define WARM_UP		20000

/* Half of the growth if the default number of operations leaks about 100 bytes each. */
#define LEEWAY_KB	3072

struct mem_op {
	struct twheel_op	op;
	struct twheel_watch	watch[NR_KEYS];
	u64			number;
};

static struct mem_op *mem_ops[NR_SLOTS];
static u64 nr_freed;

static void mem_op_ended(struct twheel_op *op)
{
}

static void mem_op_release(struct twheel_op *op)
{
	nr_freed++;
	kfree(container_of(op, struct mem_op, op));
}

static const struct twheel_op_ops mem_op_ops = {
	.ended		= mem_op_ended,
	.release	= mem_op_release,
};

static struct mem_op *mem_op_add(u64 number)
{
	const struct twheel_watch_spec specs[NR_KEYS] = {
		{ .key = { .v = { number, 1 } } }, { .key = { .v = { number, 2 } } },
	};
	struct mem_op *mem_op = kmalloc(sizeof(*mem_op), GFP_KERNEL);
	const struct twheel_op_args args = {
		/* A quarter of the operations expires at once. */
		.deadline	= twheel_deadline(number % 4 ? 10 * (u64)NSEC_PER_SEC : 0),
		.condition	= TWHEEL_COND_ALL,
		.nr_keys	= NR_KEYS,
		.specs		= specs,
		.watches	= mem_op ? mem_op->watch : NULL,
	};

	if (!mem_op)
		return NULL;
	twheel_op_init(&mem_op->op, &mem_op_ops);
	mem_op->number = number;
	if (twheel_op_add(probe_purgatory, &mem_op->op, &args)) {
		kfree(mem_op);
		return NULL;
	}
	return mem_op;
}

/* End an operation by one of several calls, unless it has expired. */
static void mem_op_end(struct mem_op *mem_op)
{
	const struct twheel_key keys[NR_KEYS] = {
		{ .v = { mem_op->number, 1 } }, { .v = { mem_op->number, 2 } },
	};

	switch (mem_op->number % 4) {
	case 1:
		twheel_op_complete(&mem_op->op, 0);
		break;
	case 2:
		twheel_cancel_for_key(probe_purgatory, &keys[0], NULL, NULL, 0);
		break;
	case 3:
		twheel_signal(probe_purgatory, &keys[0], 1, 0);
		twheel_signal(probe_purgatory, &keys[1], 1, 0);
		break;
	}
	twheel_op_put(&mem_op->op);
}

static u64 slab_kb(void)
{
	return (u64)(global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B) +
		     global_node_page_state_pages(NR_SLAB_RECLAIMABLE_B)) << (PAGE_SHIFT - 10);
}

/* Run @nr operations with numbers from @from on. Returns the maximum size of the slab caches. */
static u64 run_ops(struct kunit *test, u64 from, u64 nr)
{
	u64 number, max_kb = 0;

	for (number = from; number < from + nr; number++) {
		struct mem_op **slot = &mem_ops[number % NR_SLOTS];

		if (*slot)
			mem_op_end(*slot);
		*slot = mem_op_add(number);
		KUNIT_ASSERT_NOT_NULL(test, *slot);
		/* Let deadlines expire. */
		if (number % NR_SLOTS == 0) {
			vtime_sleep(10 * NSEC_PER_MSEC);
			max_kb = max(max_kb, slab_kb());
		}
	}
	return max_kb;
}

/* Size of the slab caches after all ended operations have been freed. */
static u64 settled_kb(void)
{
	vtime_sleep(NSEC_PER_SEC);
	rcu_barrier();
	vtime_sleep(NSEC_PER_SEC);
	return slab_kb();
}

static void memory_use_depends_on_pending_ops_only(struct kunit *test)
{
	u64 before_kb, max_kb, after_kb;
	unsigned int i;

	/* Without virtual time, operations may expire late. */
	probe_limit(test, 2 * NR_SLOTS, 2 * NR_SLOTS * NR_KEYS);
	nr_freed = 0;
	run_ops(test, 0, WARM_UP);
	before_kb = settled_kb();
	max_kb = run_ops(test, WARM_UP, passes);
	after_kb = settled_kb();
	kunit_info(test, "%lu operations, slab caches: %llu KiB before, %llu at most, %llu after",
		   passes, before_kb, max_kb, after_kb);
	KUNIT_EXPECT_LE(test, after_kb, before_kb + LEEWAY_KB);
	KUNIT_EXPECT_LE(test, max_kb, before_kb + LEEWAY_KB);
	expect_counts(test, NR_PENDING, NR_KEYS * NR_PENDING, NR_KEYS * NR_PENDING);
	expect_rejected(test, 0);
	for (i = 0; i < NR_SLOTS; i++) {
		mem_op_end(mem_ops[i]);
		mem_ops[i] = NULL;
	}
	KUNIT_EXPECT_EQ(test, nr_freed, WARM_UP + passes);
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE_SLOW(memory_use_depends_on_pending_ops_only),
	{}
};

static struct kunit_suite memory_suite = {
	.name		= "twheel_purgatory_memory",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= memory_cases,
};

kunit_test_suite(memory_suite);
