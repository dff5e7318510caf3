// SPDX-License-Identifier: GPL-2.0
/*
 * Extreme values in every field of every structure: a call returns one of its documented
 * errors, and the purgatory keeps working.
 *
 * The structure is static, so that an address with a corrupted half does not
 * refer to memory of this program.
 */
#include "private.h"
#include "refused.h"

#define NAME	"fields"

/* The kernel writes after the arrays if the size of their entries is up to a page. */
static union {
	struct good good;
	char space[16 * 4096];
} room;
static struct good *const good = &room.good;

static bool allowed(const struct twheel_call_row *one, int error)
{
	unsigned int i;

	if (!error || error == EINVAL || error == E2BIG || error == EFAULT)
		return true;
	for (i = 0; i < ARRAY_SIZE(one->errors); i++)
		if (one->errors[i] == error)
			return true;
	return false;
}

/* Number of values that fit into 32 bits. */
#define NR_SHORT	6

static const __u64 numbers[] = {
	0, 1, 4096, 1ULL << 31, ~0U - 1ULL, ~0U,
	1ULL << 32, 1ULL << 62, 1ULL << 63, (1ULL << 63) - 1, ~0ULL - 1, ~0ULL,
};

FIXTURE(field) {
	int fd;
};

FIXTURE_VARIANT(field) {
	bool batch;
};

FIXTURE_VARIANT_ADD(field, called) {
	.batch = false,
};

FIXTURE_VARIANT_ADD(field, in_a_batch) {
	.batch = true,
};

FIXTURE_SETUP(field)
{
	remove_all_named();
	ASSERT_EQ(0, create_named(NAME, 0600));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(field)
{
	remove_all_named();
	close(self->fd);
}

/* Make a call with @size bytes at @at set to @number. Return: an errno. */
static int spoilt(const struct twheel_call_row *one, bool batch, unsigned int at,
		  unsigned int size, __u64 number)
{
	int fd = one->control ? twheel_open_control() : twheel_open_named(NAME, O_NONBLOCK);
	int error;

	if (fd < 0)
		return errno;
	good_args(good, one->control ? 0 : add_keys(fd, TWHEEL_COND_QUORUM, 2, 4));
	memcpy((char *)args_of(good, one) + at, &number, size);
	error = batch ? call_in_a_batch(fd, one, good) : call(fd, one->request, args_of(good, one));
	if (one->control)
		remove_by_force(NEW_NAME);
	close(fd);
	return error;
}

struct counts {
	unsigned int calls;
	unsigned int accepted;
	unsigned int unexpected;
};

/* Try all values at one offset. */
static void spoil(const struct twheel_call_row *one, bool batch, unsigned int at,
		  unsigned int size, struct counts *counts)
{
	unsigned int i, nr = size == 4 ? NR_SHORT : ARRAY_SIZE(numbers);
	int error;

	for (i = 0; i < nr; i++) {
		error = spoilt(one, batch, at, size, numbers[i]);
		counts->calls++;
		counts->accepted += !error;
		if (allowed(one, error))
			continue;
		counts->unexpected++;
		printf("# %s: 0x%llx in %u bytes at %u: %s\n", one->name, numbers[i],
		       size, at, strerror(error));
	}
}

/* Thousands of calls take long on a debug kernel. */
TEST_F_TIMEOUT(field, extreme_values_are_handled, 240)
{
	const struct twheel_call_row *one;
	struct counts counts = { 0 };
	unsigned int at;

	for_each_call(one) {
		if (variant->batch && !one->batch)
			continue;
		for (at = 0; at + 4 <= _IOC_SIZE(one->request); at += 4)
			spoil(one, variant->batch, at, 4, &counts);
		for (at = 0; at + 8 <= _IOC_SIZE(one->request); at += 8)
			spoil(one, variant->batch, at, 8, &counts);
	}
	TH_LOG("%u calls, of which %u were accepted", counts.calls, counts.accepted);
	EXPECT_EQ(0, counts.unexpected);
	EXPECT_NE(0, counts.accepted);
	EXPECT_NE(counts.calls, counts.accepted);

	/* The purgatory still works. */
	EXPECT_EQ(query(self->fd).detached, query(self->fd).pending);
	EXPECT_NE(0, add_keys(self->fd, TWHEEL_COND_ANY, 0, 1));
	EXPECT_LE(1, key_signal(self->fd, 1, 1));
	EXPECT_TRUE(readable(self->fd, 0));
}

TEST_F(private, extreme_values_are_handled)
{
	struct twheel_watch_spec *specs = good->spec;
	unsigned int j, at;
	bool valid;
	int error;

	for (at = 0; at + 4 <= sizeof(good->spec); at += 4) {
		for (j = 0; j < NR_SHORT; j++) {
			good_args(good, 0);
			memcpy((char *)specs + at, &numbers[j], 4);
			error = op_add(self->fd, &good->add_args);
			EXPECT_TRUE(!error || error == EINVAL);
			valid = specs[0].need <= TWHEEL_MAX_NEED &&
				specs[1].need <= TWHEEL_MAX_NEED;
			EXPECT_EQ(valid, !error);
			if (!error)
				EXPECT_EQ(0, op_cancel(self->fd, good->add_args.id));
		}
	}
	EXPECT_EQ(0, query(self->fd).watches);
}

TEST_HARNESS_MAIN
