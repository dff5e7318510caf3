// SPDX-License-Identifier: GPL-2.0
/*
 * A purgatory for the suites of layer 5, and operations to try it with. See
 * op_probe.h.
 */
#include <linux/slab.h>

#include "op_probe.h"
#include "stats.h"
#include "vtime.h"

struct twheel *probe_wheel;
struct twheel_purgatory *probe_purgatory;

/* How many callbacks there were, to number them. */
static unsigned int nr_ended;

static void probe_ended(struct twheel_op *op)
{
	struct probe *probe = container_of(op, struct probe, op);

	twheel_op_result(op, &probe->result);
	probe->ended++;
	probe->order = ++nr_ended;
	if (probe->then)
		probe->then(probe);
	if (probe->takes_ns)
		vtime_sleep(probe->takes_ns);
}

static void probe_release(struct twheel_op *op)
{
	container_of(op, struct probe, op)->released++;
}

static const struct twheel_op_ops probe_ops = {
	.ended		= probe_ended,
	.release	= probe_release,
};

struct probe *probe_new(struct kunit *test)
{
	struct probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	twheel_op_init(&probe->op, &probe_ops);
	return probe;
}

struct probe_keys *probe_keys_new(struct kunit *test, u64 first, u32 nr)
{
	struct probe_keys *keys = kunit_kzalloc(test, sizeof(*keys), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, keys);
	for (i = 0; i < nr; i++)
		keys->spec[i].key.v[1] = first + i;
	keys->nr = nr;
	return keys;
}

int probe_add(struct probe *probe, u64 delay, enum twheel_condition condition, u32 quorum,
	      const struct probe_keys *keys)
{
	const struct twheel_op_args args = {
		.deadline	= twheel_deadline(delay),
		.condition	= condition,
		.quorum		= quorum,
		.nr_keys	= keys ? keys->nr : 0,
		.specs		= keys ? keys->spec : NULL,
		.watches	= probe->watch,
	};

	return twheel_op_add(probe_purgatory, &probe->op, &args, GFP_KERNEL);
}

struct probe *probe_waiting(struct kunit *test, enum twheel_condition condition, u32 quorum,
			    u64 first, u32 nr)
{
	struct probe *probe = probe_new(test);
	struct probe_keys *keys = probe_keys_new(test, first, nr);

	KUNIT_ASSERT_EQ(test, probe_add(probe, TWHEEL_NEVER, condition, quorum, keys), 0);
	return probe;
}

u32 probe_signal(u64 number, u64 value)
{
	const struct twheel_key key = { .v = { 0, number } };

	return twheel_signal(probe_purgatory, &key, 1, value);
}

void expect_ended(struct kunit *test, const struct probe *probe, enum twheel_reason reason,
		  u64 value)
{
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, probe->result.reason, reason);
	KUNIT_EXPECT_EQ(test, probe->result.value, value);
}

void expect_counts(struct kunit *test, u64 pending, u64 keys, u64 watches)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_stats(probe_purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, pending);
	KUNIT_EXPECT_EQ(test, stats.keys, keys);
	KUNIT_EXPECT_EQ(test, stats.watches, watches);
	KUNIT_EXPECT_EQ(test, stats.added, stats.pending + stats.ended[TWHEEL_COMPLETED] +
			stats.ended[TWHEEL_EXPIRED] + stats.ended[TWHEEL_CANCELLED]);
}

struct twheel_purgatory *probe_purgatory_create(u32 max_pending, u32 max_watches)
{
	const struct twheel_purgatory_config config = {
		.name		= "kunit",
		.wheel		= probe_wheel,
		.max_pending	= max_pending,
		.max_watches	= max_watches,
	};

	return twheel_purgatory_create(&config);
}

int probe_suite_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };

	probe_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, probe_wheel);
	probe_purgatory = probe_purgatory_create(MAX_PENDING, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, probe_purgatory);
	nr_ended = 0;
	return 0;
}

void probe_suite_exit(struct kunit *test)
{
	twheel_purgatory_drain(probe_purgatory);
	expect_counts(test, 0, 0, 0);
	twheel_purgatory_destroy(probe_purgatory);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	twheel_destroy(probe_wheel);
}
