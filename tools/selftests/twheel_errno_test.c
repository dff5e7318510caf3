// SPDX-License-Identifier: GPL-2.0
/*
 * Invalid contents of arguments, and the errno of the ioctls: flags, reserved fields,
 * conditions, keys and IDs.  twheel_abi_test covers sizes and pointers, twheel_limit_test
 * covers the limits.
 */
#include "refused.h"

TEST_F(refused, unknown_flag)
{
	struct one_call one;
	struct good good;
	unsigned int i;
	int bit;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(&good, i);
		for (bit = 0; bit < 32; bit++) {
			if (one.known & (1U << bit))
				continue;
			good_args(&good, self->watching);
			*one.flags = 1U << bit;
			EXPECT_EQ(EINVAL, call_on_its_node(one, one.args))
				TH_LOG("request %#x bit %d", one.request, bit);
		}
	}
}

TEST_F(refused, reserved_field)
{
	struct one_call one;
	struct good good;
	unsigned int i;
	int bit;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(&good, i);
		for (bit = 0; one.reserved && bit < 32; bit++) {
			good_args(&good, self->watching);
			*one.reserved = 1U << bit;
			EXPECT_EQ(EINVAL, call_on_its_node(one, one.args))
				TH_LOG("request %#x bit %d", one.request, bit);
		}
	}
}

TEST_F(refused, need_above_the_limit)
{
	static const __u32 needs[] = { TWHEEL_MAX_NEED + 1, ~0U };
	struct good good;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		good_args(&good, self->watching);
		good.spec[i].need = needs[i];
		EXPECT_EQ(EINVAL, op_add(self->fd, &good.add));
		EXPECT_EQ(EINVAL, call(self->fd, TWHEEL_IOC_WATCH, &good.watch));
	}
}

TEST_F(refused, inconsistent_condition)
{
	static const struct {
		__u32 condition;
		__u32 quorum;
		__u32 nr_keys;
	} bad[] = {
		{ TWHEEL_COND_SUM + 1, 0, 2 },
		{ TWHEEL_COND_SUM + 1, 0, 0 },
		{ 128, 0, 2 },		/* only for kernel modules */
		{ 128, 0, 0 },
		{ ~0U, 0, 2 },
		{ TWHEEL_COND_SUM, 0, 2 },	/* without a threshold */
		{ TWHEEL_COND_NONE, 0, 1 },
		{ TWHEEL_COND_NONE, 1, 0 },
		{ TWHEEL_COND_ANY, 0, 0 },
		{ TWHEEL_COND_ALL, 0, 0 },
		{ TWHEEL_COND_ANY, 1, 2 },
		{ TWHEEL_COND_ALL, 2, 2 },
		{ TWHEEL_COND_QUORUM, 0, 0 },
		{ TWHEEL_COND_QUORUM, 1, 0 },
		{ TWHEEL_COND_QUORUM, 0, 2 },
		{ TWHEEL_COND_QUORUM, 3, 2 },
		{ TWHEEL_COND_QUORUM, ~0U, 2 },
	};
	struct good good;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		good_args(&good, 0);
		good.add.condition = bad[i].condition;
		good.add.quorum = bad[i].quorum;
		good.add.nr_keys = bad[i].nr_keys;
		good.add.key_size = bad[i].nr_keys ? sizeof(good.spec[0]) : 0;
		EXPECT_EQ(EINVAL, op_add(self->fd, &good.add))
			TH_LOG("condition %u quorum %u keys %u", bad[i].condition,
			       bad[i].quorum, bad[i].nr_keys);
	}
}

TEST_F(refused, inconsistent_threshold)
{
	struct good good;
	__u32 condition;

	for (condition = TWHEEL_COND_ANY; condition <= TWHEEL_COND_SUM; condition++) {
		good_args(&good, 0);
		good.add.condition = condition;
		good.add.quorum = condition == TWHEEL_COND_QUORUM;
		good.add.threshold = condition != TWHEEL_COND_SUM;
		EXPECT_EQ(EINVAL, op_add(self->fd, &good.add))
			TH_LOG("condition %u", condition);
	}
	good_args(&good, 0);
	good.add.condition = TWHEEL_COND_NONE;
	good.add.nr_keys = 0;
	good.add.keys = 0;
	good.add.key_size = 0;
	good.add.threshold = 1;
	EXPECT_EQ(EINVAL, op_add(self->fd, &good.add));
}

TEST_F(refused, need_with_sum_condition)
{
	struct good good;

	good_args(&good, 0);
	good.add.condition = TWHEEL_COND_SUM;
	good.add.threshold = 10;
	good.spec[1].need = 2;
	EXPECT_EQ(EINVAL, op_add(self->fd, &good.add));
}

TEST_F(refused, equal_keys)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		specs[i] = spec_of(11 + i, 1);
	specs[i - 1] = specs[i - 2];
	EXPECT_EQ(0, add_specs(self->fd, TWHEEL_COND_ANY, 0, specs, i));
	EXPECT_EQ(EINVAL, errno);
	specs[1] = specs[0];
	EXPECT_EQ(EINVAL, op_watch(self->fd, self->watching, specs, 2));
	/* Even if it is watched already. */
	specs[0] = spec_of(1, 1);
	specs[1] = specs[0];
	EXPECT_EQ(EINVAL, op_watch(self->fd, self->watching, specs, 2));
}

TEST_F(refused, too_many_keys)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS + 1];
	static const __u32 nr[] = { TWHEEL_MAX_KEYS + 1, 1U << 27, ~0U };
	struct good good;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		specs[i] = spec_of(11 + i, 1);
	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		good_args(&good, self->watching);
		good.add.keys = address(specs);
		good.add.nr_keys = nr[i];
		good.watch.keys = good.add.keys;
		good.watch.nr_keys = nr[i];
		EXPECT_EQ(EINVAL, op_add(self->fd, &good.add));
		EXPECT_EQ(EINVAL, call(self->fd, TWHEEL_IOC_WATCH, &good.watch));
	}
}

TEST_F(refused, watch_of_too_many_keys)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS - 1];
	unsigned int i;

	/* Two keys are watched, so one more is too many. */
	for (i = 0; i < ARRAY_SIZE(specs); i++)
		specs[i] = spec_of(100 + i, 1);
	EXPECT_EQ(EINVAL, op_watch(self->fd, self->watching, specs, i));
}

TEST_F(refused, watch_without_keys)
{
	struct twheel_watch_spec spec = spec_of(11, 1);

	EXPECT_EQ(EINVAL, op_watch(self->fd, self->watching, &spec, 0));
}

TEST_F(refused, watch_without_condition)
{
	struct twheel_watch_spec spec = spec_of(11, 1);

	EXPECT_EQ(EINVAL, op_watch(self->fd, self->plain, &spec, 1));
}

TEST_F(refused, unknown_id)
{
	struct twheel_watch_spec spec = spec_of(11, 1);
	/* The bits from 26 on count the adds. */
	__u64 unknown[] = {
		0, 1, 12345, self->ended + (1ULL << 26), ~0ULL, 1ULL << 63, 1ULL << 32,
	};
	struct twheel_pending pending;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		EXPECT_EQ(ENOENT, op_cancel(self->fd, unknown[i]));
		EXPECT_EQ(ENOENT, op_complete(self->fd, unknown[i], 1));
		EXPECT_EQ(ENOENT, op_watch(self->fd, unknown[i], &spec, 1));
		EXPECT_EQ(ENOENT, op_unwatch(self->fd, unknown[i], 1));
		EXPECT_EQ(ENOENT, op_info(self->fd, unknown[i], &pending));
		EXPECT_EQ(-1, op_rearm(self->fd, unknown[i], HOUR, 0));
		EXPECT_EQ(ENOENT, errno);
	}
}

TEST_F(refused, id_of_another_purgatory)
{
	struct twheel_watch_spec spec = spec_of(11, 1);
	int other = twheel_open(0);

	ASSERT_LE(0, other);
	EXPECT_EQ(ENOENT, op_cancel(other, self->plain));
	EXPECT_EQ(ENOENT, op_complete(other, self->plain, 1));
	EXPECT_EQ(ENOENT, op_watch(other, self->watching, &spec, 1));
	close(other);
}

TEST_F(refused, ended_operation)
{
	struct twheel_watch_spec spec = spec_of(11, 1);

	EXPECT_EQ(EALREADY, op_cancel(self->fd, self->ended));
	EXPECT_EQ(EALREADY, op_complete(self->fd, self->ended, 1));
	EXPECT_EQ(EALREADY, op_watch(self->fd, self->ended, &spec, 1));
}

TEST_F(refused, write)
{
	EXPECT_EQ(-1, write(self->fd, self, sizeof(self->before)));
	EXPECT_EQ(EINVAL, errno);
}

/* 2^63 ns and more; ~0ULL is "never" or "coarse", but no period. */
TEST_F(refused, time_above_the_range_of_times)
{
	static const __u64 times[] = {
		KTIME_LAST + 1, KTIME_LAST + 2, ~0ULL - 1, ~0ULL,
	};
	struct good good;
	__u64 *fields[] = {
		&good.add.period, &good.add.deadline, &good.add.slack,
		&good.rearm.deadline, &good.rearm.slack,
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		for (j = 0; j < ARRAY_SIZE(times) - !!i; j++) {
			good_args(&good, self->watching);
			*fields[i] = times[j];
			EXPECT_EQ(EINVAL, i < 3 ? op_add(self->fd, &good.add) :
					  call(self->fd, TWHEEL_IOC_REARM, &good.rearm))
				TH_LOG("field %u, time %llu", i, times[j]);
		}
	}
}

/* The same errors for operations that end during the test. */
FIXTURE(ended) {
	int fd;
};

FIXTURE_SETUP(ended)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(ended)
{
	close(self->fd);
}

TEST_F(ended, calls_fail_before_and_after_the_event_is_read)
{
	struct twheel_watch_spec spec = spec_of(11, 1);
	struct twheel_pending pending;
	__u64 ids[4];
	int i;

	for (i = 1; i < 4; i++)
		ids[i] = add_keys(self->fd, TWHEEL_COND_ANY, 0, i + 1);
	EXPECT_EQ(1, key_signal(self->fd, 4, 1));
	EXPECT_EQ(0, op_complete(self->fd, ids[2], 1));
	EXPECT_EQ(0, op_cancel(self->fd, ids[1]));
	ids[0] = add_deadline(self->fd, 0, 0, 0);
	ASSERT_TRUE(wait_for(query(self->fd).unread == 4));

	for (i = 0; i < 4; i++) {
		EXPECT_EQ(EALREADY, op_cancel(self->fd, ids[i]));
		EXPECT_EQ(EALREADY, op_complete(self->fd, ids[i], 2));
		EXPECT_EQ(EALREADY, op_watch(self->fd, ids[i], &spec, 1));
	}
	EXPECT_EVENT(self->fd, ids[3], TWHEEL_REASON_COMPLETED, 1);
	EXPECT_EVENT(self->fd, ids[2], TWHEEL_REASON_COMPLETED, 1);
	EXPECT_EVENT(self->fd, ids[1], TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EVENT(self->fd, ids[0], TWHEEL_REASON_EXPIRED, 0);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(EALREADY, op_cancel(self->fd, ids[i]));
		EXPECT_EQ(EALREADY, op_complete(self->fd, ids[i], 2));
		EXPECT_EQ(EALREADY, op_watch(self->fd, ids[i], &spec, 1));
		EXPECT_EQ(EALREADY, op_unwatch(self->fd, ids[i], 1));
		EXPECT_EQ(EALREADY, op_info(self->fd, ids[i], &pending));
		EXPECT_EQ(-1, op_rearm(self->fd, ids[i], HOUR, 0));
		EXPECT_EQ(EALREADY, errno);
	}
	/* Also after the index has been assigned again. */
	for (i = 0; i < 4; i++)
		ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(EALREADY, op_cancel(self->fd, ids[i]));
	EXPECT_EQ(4, query(self->fd).pending);
}

TEST_HARNESS_MAIN
