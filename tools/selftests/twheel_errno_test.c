// SPDX-License-Identifier: GPL-2.0
/*
 * The errors that depend only on the arguments, the node, the access mode or a right, from
 * twheel_calls.h.  twheel_abi_test covers sizes and pointers, and GIVES() in other
 * programs the errors that need a scenario.
 */
#include "refused.h"

FIXTURE_OF_A_FILE(private, twheel_open(O_NONBLOCK));

/* The operations in the list. */
#define PLAIN		(self->plain)
#define ENDED		(self->ended)
#define PERIODIC	(self->periodic)

TEST_F(refused, bad_arguments)
{
	const struct twheel_call_row *one;
	struct good space, *good = &space;

#define REFUSAL(NAME, error, text, spoil)				\
	do {								\
		one = &twheel_calls[TWHEEL_CALL_##NAME];		\
		good_args(good, self->watching);			\
		spoil;							\
		EXPECT_EQ(error, call_on_its_node(one, args_of(good, one)))	\
			TH_LOG("%s: %s", #NAME, text);			\
		if (one->batch)						\
			EXPECT_EQ(error, call_in_a_batch(self->fd, one, good,	\
						  _IOC_SIZE(one->request)))	\
				TH_LOG("%s in a batch: %s", #NAME, text);	\
	} while (0)
	TWHEEL_REFUSALS(REFUSAL)
}

/* Unknown flags, and reserved fields. The output fields keep their values. */
TEST_F(refused, unknown_bits)
{
	const struct twheel_call_row *one;
	struct good space, *good = &space;
	unsigned int at, bit;
	char *args;

#define KNOWN(NAME, field, known)					\
	do {								\
		one = &twheel_calls[TWHEEL_CALL_##NAME];		\
		for (bit = 0; bit < 8 * sizeof(field); bit++) {		\
			if ((known) & (1ULL << bit))			\
				continue;				\
			good_args(good, self->watching);		\
			args = args_of(good, one);			\
			memset(args + one->out, 0xa5, one->out_end - one->out);	\
			(field) = 1ULL << bit;				\
			EXPECT_EQ(EINVAL, call_on_its_node(one, args))	\
				TH_LOG("%s bit %u", #field, bit);	\
			for (at = one->out; at < one->out_end; at++)	\
				EXPECT_EQ(0xa5, (unsigned char)args[at]);	\
		}							\
	} while (0)
	TWHEEL_KNOWN(KNOWN)
}

TEST_F(refused, call_without_the_access_mode)
{
	static const unsigned int modes[] = { [O_RDONLY] = 1, [O_WRONLY] = 2 };
	__u64 id = add_keys(self->nodes[NAMED], TWHEEL_COND_ALL, 0, 2);
	const struct twheel_call_row *one;
	struct good good;
	unsigned int i;
	bool allowed;
	int fd;

	for_each_call(one) {
		for (i = 0; i < ARRAY_SIZE(modes); i++) {
			allowed = !(one->mode & ~modes[i]);
			/* It would have an effect, or there is no such node. */
			if ((allowed && i == O_WRONLY) || one->events)
				continue;
			fd = open(one->control ? "/dev/twheel-control" :
						 "/dev/twheel-" OLD_NAME, i);
			ASSERT_LE(0, fd);
			good_args(&good, id);
			EXPECT_EQ(allowed ? 0 : EBADF, call(fd, one->request, args_of(&good, one)))
				TH_LOG("%s with mode %u", one->name, i);
			close(fd);
		}
	}
	EXPECT_EQ(1, query(self->nodes[NAMED]).pending);
	EXPECT_EQ(2, query(self->nodes[NAMED]).watches);
}

/* The right of a call is the only one that it needs. That of an add depends on its arguments. */
TEST_F(refused, call_without_the_right)
{
	const struct twheel_call_row *one;
	struct good good;
	__u32 right;
	int fd;

	for_each_call(one) {
		for (right = 1; one->right && right <= ALL_RIGHTS; right <<= 1) {
			fd = twheel_open_named(OLD_NAME, O_NONBLOCK);
			good_args(&good, add_keys(fd, TWHEEL_COND_ALL, 0, 2));
			ASSERT_EQ(0, file_restrict_to(fd, right));
			EXPECT_EQ(right == one->right ? good_errno(one) : EPERM,
				  call(fd, one->request, args_of(&good, one)))
				TH_LOG("%s with right %#x", one->name, right);
			close(fd);
		}
	}
}

TEST_F(refused, call_on_a_removed_purgatory)
{
	const struct twheel_call_row *one;
	struct good good;
	__u64 id = add_keys(self->nodes[NAMED], TWHEEL_COND_ALL, 0, 2);

	ASSERT_EQ(1, remove_by_force(OLD_NAME));
	for_each_call(one) {
		if (one->control || !(one->mode & 2))
			continue;
		good_args(&good, id);
		EXPECT_EQ(ESHUTDOWN, call(self->nodes[NAMED], one->request, args_of(&good, one)))
			TH_LOG("%s", one->name);
	}
}

/* Two keys are watched, so that one more than the others is too many. */
TEST_F(refused, too_many_keys)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS + 1];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		specs[i] = spec_of(11 + i, 1);
	EXPECT_EQ(0, add_specs(self->fd, TWHEEL_COND_ANY, 0, specs, i));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(EINVAL, op_watch(self->fd, self->watching, specs, i));
	EXPECT_EQ(EINVAL, op_watch(self->fd, self->watching, specs, TWHEEL_MAX_KEYS - 1));
}

/* The bits of an id from 26 on count the adds. */
TEST_F(refused, id_that_was_not_assigned_yet)
{
	EXPECT_EQ(ENOENT, op_cancel(self->fd, self->ended + (1ULL << 26)));
}

/* The same errors for operations that end during the test, in each way. */
TEST_F(private, calls_fail_before_and_after_the_event_is_read)
{
	struct twheel_watch_spec spec = spec_of(11, 1);
	struct twheel_pending pending;
	struct twheel_event events[4];
	__u64 ids[4];
	int i, round;

	for (i = 1; i < 4; i++)
		ids[i] = add_keys(self->fd, TWHEEL_COND_ANY, 0, i + 1);
	EXPECT_EQ(1, key_signal(self->fd, 4, 1));
	EXPECT_EQ(0, op_complete(self->fd, ids[2], 1));
	EXPECT_EQ(0, op_cancel(self->fd, ids[1]));
	ids[0] = add_deadline(self->fd, 0, 0, 0);
	ASSERT_TRUE(wait_for(query(self->fd).unread == 4));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 4; i++) {
			EXPECT_EQ(ENOENT, op_cancel(self->fd, ids[i]));
			EXPECT_EQ(ENOENT, op_complete(self->fd, ids[i], 2));
			EXPECT_EQ(ENOENT, op_watch(self->fd, ids[i], &spec, 1));
			EXPECT_EQ(ENOENT, op_unwatch(self->fd, ids[i], 1));
			EXPECT_EQ(ENOENT, op_info(self->fd, ids[i], &pending));
			EXPECT_EQ(-1, op_rearm(self->fd, ids[i], HOUR, 0));
			EXPECT_EQ(ENOENT, errno);
		}
		if (round == 0)
			ASSERT_EQ(4, read_events(self->fd, events, 4));
		/* Also after the index has been assigned again. */
		for (i = 0; round == 1 && i < 4; i++)
			ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	}
	EXPECT_EQ(4, query(self->fd).pending);
}

TEST_HARNESS_MAIN
