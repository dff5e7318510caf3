// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: the conditions, the number of signals that a key needs, amounts, watching more keys and
 * fewer, what the event of the end tells about them, and the limit of a signal.
 */
#include "selftest.h"

FIXTURE_OF_A_FILE(private, twheel_open(O_NONBLOCK));

/*
 * A condition with its quorum or threshold, the keys of an operation, and steps. A letter stands
 * for a signal of this key, "+" and "-" watch and unwatch the next one. A number is the need of the
 * key before it, or the amount of the signal, by default 1. The last step, and no other, completes
 * the operation.
 */
static const struct {
	__u32 condition, needed;
	const char *keys, *steps;
} stories[] = {
	{ TWHEEL_COND_ANY, 0, "abc", "b" },
	{ TWHEEL_COND_ALL, 0, "abc", "caab" },
	{ TWHEEL_COND_QUORUM, 2, "abc", "aac" },
	{ TWHEEL_COND_QUORUM, 1, "abc", "a" },
	{ TWHEEL_COND_QUORUM, 3, "abc", "abc" },
	{ TWHEEL_COND_ALL, 0, "a3b0", "abaa" },		/* 0 means 1 */
	{ TWHEEL_COND_ANY, 0, "a", "+b+c2cc" },
	{ TWHEEL_COND_ALL, 0, "ab", "a+cbc" },
	{ TWHEEL_COND_QUORUM, 2, "ab", "a+cc" },
	{ TWHEEL_COND_ALL, 0, "ab", "a+a5+b5+c+c5cb" },	/* watched keys stay as they are */
	{ TWHEEL_COND_ANY, 0, "abc", "-bbc" },
	{ TWHEEL_COND_ALL, 0, "abc", "a-cb" },
	{ TWHEEL_COND_ALL, 0, "ab", "a-a+a2baa" },	/* a key that is back counts from zero */
	{ TWHEEL_COND_SUM, 10, "ab", "a4b5a0" },	/* 0 means 1 */
	{ TWHEEL_COND_SUM, 9, "ab", "a4-ab5" },
};

/* Return: the text after a key and its need. */
static const char *take_key(const char *text, struct twheel_watch_spec *spec)
{
	*spec = spec_of(*text++, 1);
	if (*text >= '0' && *text <= '9')
		spec->need = *text++ - '0';
	return text;
}

/* Add an operation of any condition. Return: its ID, 0 if refused. */
static __u64 add_needing(int fd, __u32 condition, __u32 needed,
			 const struct twheel_watch_spec *specs, __u32 nr)
{
	bool sum = condition == TWHEEL_COND_SUM;

	return add_fields(fd, .condition = condition, .quorum = sum ? 0 : needed,
			  .threshold = sum ? needed : 0, .nr_keys = nr, .key_size = sizeof(*specs),
			  .keys = address(specs), .deadline = TWHEEL_NEVER);
}

/* Return: number of operations completed by the signal, -1 if refused. */
static long give(int fd, __u64 name, __u64 amount, __u64 value, __u32 limit)
{
	struct twheel_signal_args args = {
		.key = key_of(name),
		.amount = amount,
		.value = value,
		.limit = limit,
	};

	return call(fd, TWHEEL_IOC_SIGNAL, &args) ? -1 : (long)args.completed;
}

TEST_F(private, condition_holds_at_the_last_step)
{
	struct twheel_watch_spec specs[4];
	const char *at;
	unsigned int i;
	__u64 id, value;
	__u32 nr;
	char step;

	for (i = 0; i < ARRAY_SIZE(stories); i++) {
		for (nr = 0, at = stories[i].keys; *at; nr++)
			at = take_key(at, &specs[nr]);
		id = add_needing(self->fd, stories[i].condition, stories[i].needed, specs, nr);
		ASSERT_NE(0, id);
		for (value = 0, at = stories[i].steps; *at; value++) {
			step = *at;
			at = take_key(at + (step == '+' || step == '-'), &specs[0]);
			if (step == '+')
				ASSERT_EQ(0, op_watch(self->fd, id, specs, 1));
			if (step == '-') {
				ASSERT_EQ(0, op_unwatch(self->fd, id, specs[0].key.v[0]));
				EXPECT_EQ(ESRCH, op_unwatch(self->fd, id, specs[0].key.v[0]));
			}
			if (step >= 'a')
				EXPECT_EQ(!*at, give(self->fd, step, specs[0].need, value, 0))
					TH_LOG("story %u step %llu", i, value);
		}
		EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, value - 1);
		EXPECT_EQ(0, query(self->fd).watches);
	}
	EXPECT_NO_EVENT(self->fd);
}

/* The next event is the end of @_id, with these satisfied and missing keys or amount. */
#define EXPECT_MISSING(_id, _reason, _satisfied, _missing)		\
do {									\
	struct twheel_event __event;					\
	unsigned int __i;						\
									\
	memset(&__event, 0xa5, sizeof(__event));			\
	ASSERT_TRUE(next_event(self->fd, &__event));			\
	EXPECT_EQ(_id, __event.id);					\
	EXPECT_EQ(_reason, (int)__event.reason);			\
	EXPECT_EQ(_satisfied, __event.satisfied);			\
	EXPECT_EQ(_missing, __event.missing);				\
	for (__i = 0; __i < ARRAY_SIZE(__event.spare); __i++)		\
		EXPECT_EQ(0, __event.spare[__i]);			\
} while (0)

TEST_F(private, expired_quorum_tells_which_key_answered)
{
	struct twheel_watch_spec specs[] = { spec_of(1, 1), spec_of(2, 1), spec_of(3, 1) };
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_QUORUM,
		.quorum = 2,
		.nr_keys = 3,
		.key_size = sizeof(specs[0]),
		.keys = address(specs),
		.deadline = 20 * MSEC,
	};

	ASSERT_EQ(0, op_add(self->fd, &args));
	EXPECT_EQ(0, key_signal(self->fd, 2, 0));
	EXPECT_MISSING(args.id, TWHEEL_REASON_EXPIRED, 2, 1);
}

TEST_F(private, each_end_tells_the_satisfied_keys)
{
	struct twheel_watch_spec specs[] = { spec_of(1, 2), spec_of(2, 1), spec_of(3, 1) };
	__u64 id = add_specs(self->fd, TWHEEL_COND_ALL, 0, specs, 3);

	EXPECT_EQ(0, key_signal(self->fd, 1, 0));
	EXPECT_EQ(0, key_signal(self->fd, 3, 0));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_MISSING(id, TWHEEL_REASON_CANCELLED, 4, 2);

	id = add_specs(self->fd, TWHEEL_COND_ALL, 0, specs, 3);
	EXPECT_EQ(0, key_signal(self->fd, 1, 0));
	EXPECT_EQ(0, key_signal(self->fd, 1, 0));
	ASSERT_EQ(0, op_complete(self->fd, id, 1));
	EXPECT_MISSING(id, TWHEEL_REASON_COMPLETED, 1, 2);

	id = add_specs(self->fd, TWHEEL_COND_QUORUM, 2, specs, 3);
	EXPECT_EQ(0, key_signal(self->fd, 3, 0));
	EXPECT_EQ(1, key_signal(self->fd, 2, 0));
	EXPECT_MISSING(id, TWHEEL_REASON_COMPLETED, 6, 0);

	id = add_keys(self->fd, TWHEEL_COND_ANY, 0, 3);
	EXPECT_EQ(1, key_signal(self->fd, 3, 0));
	EXPECT_MISSING(id, TWHEEL_REASON_COMPLETED, 4, 0);

	specs[0].need = 1;
	id = add_needing(self->fd, TWHEEL_COND_SUM, 10, specs, 2);
	EXPECT_EQ(0, give(self->fd, 2, 4, 0, 0));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_MISSING(id, TWHEEL_REASON_CANCELLED, 0, 6);

	id = add_deadline(self->fd, 0, 0, 0);
	EXPECT_MISSING(id, TWHEEL_REASON_EXPIRED, 0, 0);
}

TEST_F(private, limit_completes_the_first_watchers)
{
	__u64 ids[4];
	int i;

	for (i = 0; i < 4; i++)
		ids[i] = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
	EXPECT_EQ(1, give(self->fd, 1, 0, 11, 1));
	EXPECT_EVENT(self->fd, ids[0], TWHEEL_REASON_COMPLETED, 11);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_EQ(2, give(self->fd, 1, 0, 22, 2));
	EXPECT_EVENT(self->fd, ids[1], TWHEEL_REASON_COMPLETED, 22);
	EXPECT_EVENT(self->fd, ids[2], TWHEEL_REASON_COMPLETED, 22);
	EXPECT_EQ(1, give(self->fd, 1, 0, 33, ~0U));
	EXPECT_EVENT(self->fd, ids[3], TWHEEL_REASON_COMPLETED, 33);
}

TEST_F(private, condition_must_remain_possible)
{
	struct twheel_watch_spec specs[] = { spec_of(1, 1), spec_of(2, 2) };
	__u64 any = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
	__u64 all = add_keys(self->fd, TWHEEL_COND_ALL, 0, 1);
	__u64 quorum = add_keys(self->fd, TWHEEL_COND_QUORUM, 2, 2);
	__u64 sum = add_needing(self->fd, TWHEEL_COND_SUM, 1, specs, 1);

	EXPECT_EQ(EINVAL, op_unwatch(self->fd, any, 1));
	EXPECT_EQ(EINVAL, op_unwatch(self->fd, all, 1));
	EXPECT_EQ(EINVAL, op_unwatch(self->fd, quorum, 2));
	EXPECT_EQ(EINVAL, op_unwatch(self->fd, sum, 1));
	/* The keys of a sum need one signal. */
	EXPECT_EQ(EINVAL, op_watch(self->fd, sum, specs + 1, 1));
	EXPECT_EQ(5, query(self->fd).watches);
	EXPECT_EQ(3, key_signal(self->fd, 1, 1));
	EXPECT_EQ(1, key_signal(self->fd, 2, 2));
}

TEST_F(private, all_64_keys_are_told)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ALL, 0, TWHEEL_MAX_KEYS), odd = 0;
	struct twheel_watch_spec more = spec_of(100, 1);
	unsigned int i;

	for (i = 2; i <= TWHEEL_MAX_KEYS; i += 2) {
		EXPECT_EQ(0, key_signal(self->fd, i, 0));
		odd |= 1ULL << (i - 1);
	}
	/* Key 100 gets the bit of the last key, which was satisfied. */
	ASSERT_EQ(0, op_unwatch(self->fd, id, TWHEEL_MAX_KEYS));
	ASSERT_EQ(0, op_watch(self->fd, id, &more, 1));
	odd &= ~(1ULL << 63);
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_MISSING(id, TWHEEL_REASON_CANCELLED, odd, TWHEEL_MAX_KEYS / 2 + 1);
}

TEST_F(private, watch_up_to_the_maximum_of_keys)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ANY, 0, TWHEEL_MAX_KEYS - 1);
	struct twheel_watch_spec last[] = {
		spec_of(1, 1), spec_of(1000, 1), spec_of(2, 1),
	};

	ASSERT_NE(0, id);
	ASSERT_EQ(0, op_watch(self->fd, id, last, 3));
	EXPECT_EQ(TWHEEL_MAX_KEYS, query(self->fd).watches);
	EXPECT_EQ(0, op_watch(self->fd, id, last, 3));
	EXPECT_EQ(1, key_signal(self->fd, 1000, 5));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 5);
}

TEST_HARNESS_MAIN
