// SPDX-License-Identifier: GPL-2.0
/*
 * How the ioctls of /dev/twheel take their structures: unknown numbers, shorter
 * and longer structures than the kernel's, pointers that lead nowhere, and what
 * only looks like one of these.
 */
#include "refused.h"

static unsigned int resized(unsigned int request, unsigned int size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

TEST_F(refused, unknown_ioctl)
{
	char args[256] = { 0 };
	unsigned int nr;

	for (nr = 6; nr < 256; nr++)
		ASSERT_EQ(ENOTTY, call(self->fd, _IOC(_IOC_READ | _IOC_WRITE,
						      TWHEEL_IOC_MAGIC, nr, 64), args));
	for (nr = 0; nr < 6; nr++)
		ASSERT_EQ(ENOTTY, call(self->fd, _IOWR('T', nr, __u64), args));
}

TEST_F(refused, known_ioctl_in_another_direction)
{
	unsigned int i, dir, request;
	struct one_call one;
	struct good good;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(&good, i);
		for (dir = 0; dir < 4; dir++) {
			if (dir == _IOC_DIR(one.request))
				continue;
			good_args(&good, self->plain);
			request = _IOC(dir, TWHEEL_IOC_MAGIC, i, _IOC_SIZE(one.request));
			EXPECT_EQ(ENOTTY, call(self->fd, request, one.args));
		}
	}
}

TEST_F(refused, structure_too_short)
{
	struct one_call one;
	unsigned int i, size;
	struct good good;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(&good, i);
		for (size = 0; size < _IOC_SIZE(one.request); size++) {
			good_args(&good, self->watching);
			ASSERT_EQ(EINVAL, call(self->fd, resized(one.request, size),
					       one.args));
		}
	}
}

/* The longest structure that an ioctl number can tell of. */
static char longest[_IOC_SIZEMASK];

/* Make a structure longer by @more zero bytes, or as many as there can be. */
static unsigned int lengthen(const struct one_call *one, unsigned int more)
{
	unsigned int size = _IOC_SIZE(one->request);

	memset(longest, 0, sizeof(longest));
	memcpy(longest, one->args, size);
	return more < sizeof(longest) - size ? size + more : sizeof(longest);
}

static const unsigned int more[] = { 1, 8, 64, 4096, ~0U };

TEST_F(refused, longer_structure_that_says_more)
{
	unsigned int i, j, size;
	struct one_call one;
	struct good good;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(&good, i);
		for (j = 0; j < ARRAY_SIZE(more); j++) {
			good_args(&good, self->watching);
			size = lengthen(&one, more[j]);
			longest[size - 1] = 1;
			EXPECT_EQ(E2BIG, call(self->fd, resized(one.request, size),
					      longest));
		}
	}
}

TEST_F(refused, bad_pointer)
{
	char *edge = cliff();
	void *bad[] = { NULL, edge, edge - 8, (void *)-4096L, (void *)(1UL << 63) };
	struct good good;
	unsigned int i, j;

	for (i = 0; i < NR_CALLS; i++)
		for (j = 0; j < ARRAY_SIZE(bad); j++)
			EXPECT_EQ(EFAULT, call(self->fd, nth_call(&good, i).request,
					       bad[j]));
}

TEST_F(refused, result_that_cannot_be_stored)
{
	long page = sysconf(_SC_PAGESIZE);
	struct good *good = (void *)(cliff() - page);

	good_args(good, self->plain);
	ASSERT_EQ(0, mprotect(good, page, PROT_READ));
	EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_ADD, &good->add));
	EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_SIGNAL, &good->signal));
	EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_QUERY, &good->query));
}

TEST_F(refused, keys_at_a_bad_pointer)
{
	size_t spec_size = sizeof(struct twheel_watch_spec);
	char *edge = cliff();
	__u64 bad[] = {
		0, 1, (__u64)(unsigned long)edge,
		(__u64)(unsigned long)edge - 1,			/* nothing of it */
		(__u64)(unsigned long)edge - spec_size,		/* the first */
		(__u64)(unsigned long)edge - spec_size - 8,	/* and a bit */
		1ULL << 63, ~0ULL, ~0ULL - spec_size + 1,
	};
	struct good good;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		good_args(&good, self->watching);
		good.add.keys = bad[i];
		good.watch.keys = bad[i];
		EXPECT_EQ(EFAULT, op_add(self->fd, &good.add));
		EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_WATCH, &good.watch));
	}
}

/* What only looks like bad input. */
FIXTURE(accepted) {
	int fd;
};

FIXTURE_SETUP(accepted)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(accepted)
{
	close(self->fd);
}

TEST_F(accepted, longer_structure_that_says_no_more)
{
	unsigned int i, j, k, size;
	struct one_call one;
	struct good good;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(&good, i);
		for (j = 0; j < ARRAY_SIZE(more); j++) {
			good_args(&good, add_keys(self->fd, TWHEEL_COND_ALL, 0, 2));
			size = lengthen(&one, more[j]);
			EXPECT_EQ(0, call(self->fd, resized(one.request, size), longest));
			for (k = _IOC_SIZE(one.request); k < sizeof(longest); k++)
				ASSERT_EQ(0, longest[k]);
		}
	}
}

TEST_F(accepted, structure_at_the_end_of_a_page)
{
	char *edge = cliff();
	struct one_call one;
	unsigned int i, size;
	struct good good;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(&good, i);
		good_args(&good, add_keys(self->fd, TWHEEL_COND_ALL, 0, 2));
		size = _IOC_SIZE(one.request);
		memcpy(edge - size, one.args, size);
		EXPECT_EQ(0, call(self->fd, one.request, edge - size));
	}
}

TEST_F(accepted, keys_at_the_end_of_a_page)
{
	struct twheel_watch_spec *specs = (void *)cliff();
	__u64 id;

	specs -= 2;
	specs[0] = spec_of(1, 1);
	specs[1] = spec_of(2, 1);
	id = add_specs(self->fd, TWHEEL_COND_ALL, 0, specs, 2);
	ASSERT_NE(0, id);
	specs[0] = spec_of(3, 1);
	EXPECT_EQ(0, op_watch(self->fd, id, specs, 2));
	EXPECT_EQ(3, query(self->fd).watches);
}

TEST_F(accepted, structures_that_are_only_read)
{
	long page = sysconf(_SC_PAGESIZE);
	struct good *good = (void *)(cliff() - page);

	good_args(good, add_keys(self->fd, TWHEEL_COND_ALL, 0, 2));
	good->complete.id = add_deadline(self->fd, HOUR, 0, 0);
	ASSERT_EQ(0, mprotect(good, page, PROT_READ));
	EXPECT_EQ(0, call(self->fd, TWHEEL_IOC_WATCH, &good->watch));
	EXPECT_EQ(0, call(self->fd, TWHEEL_IOC_CANCEL, &good->cancel));
	EXPECT_EQ(0, call(self->fd, TWHEEL_IOC_COMPLETE, &good->complete));
}

TEST_HARNESS_MAIN
