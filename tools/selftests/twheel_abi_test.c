// SPDX-License-Identifier: GPL-2.0
/*
 * How the ioctls of /dev/twheel take their structures: unknown numbers, shorter
 * and longer structures than the kernel's, pointers that lead nowhere, and what
 * only looks like one of these.
 */
#include <limits.h>
#include "refused.h"

static unsigned int resized(unsigned int request, unsigned int size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

static bool is_known(unsigned int nr)
{
	struct good good;
	unsigned int i;

	for (i = 0; i < NR_CALLS; i++)
		if (_IOC_NR(nth_call(&good, i).request) == nr)
			return true;
	return false;
}

TEST_F(refused, unknown_ioctl)
{
	char args[256] = { 0 };
	unsigned int nr;

	for (nr = 0; nr < 256; nr++) {
		EXPECT_EQ(ENOTTY, call(self->fd, _IOWR('T', nr, __u64), args));
		if (is_known(nr))
			continue;
		EXPECT_EQ(ENOTTY, call(self->fd, _IOC(_IOC_READ | _IOC_WRITE,
						      TWHEEL_IOC_MAGIC, nr, 64), args));
		EXPECT_EQ(ENOTTY, call(self->fd, _IOC(_IOC_WRITE, TWHEEL_IOC_MAGIC,
						      nr, 64), args));
	}
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
			good_args(&good, self->watching);
			request = _IOC(dir, TWHEEL_IOC_MAGIC, _IOC_NR(one.request),
				       _IOC_SIZE(one.request));
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
	void *bad[] = { NULL, edge, edge - 4, (void *)-4096L, (void *)-1L, (void *)LONG_MIN };
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
	struct one_call one;
	unsigned int i;

	ASSERT_EQ(0, create_named(OLD_NAME, 0600));
	good_args(good, self->watching);
	ASSERT_EQ(0, mprotect(good, page, PROT_READ));
	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(good, i);
		if (_IOC_DIR(one.request) & _IOC_READ)
			EXPECT_EQ(EFAULT, call(self->fd, one.request, one.args))
				TH_LOG("request %#x", one.request);
	}
	EXPECT_EQ(0, remove_named(OLD_NAME));
}

/* Let all arrays be there. */
static void point_to(struct good *good, __u64 where)
{
	good->add.keys = where;
	good->watch.keys = where;
	good->info.keys = where;
	good->batch.commands = where;
	good->list.entries = where;
}

TEST_F(refused, array_at_a_bad_pointer)
{
	char *edge = cliff();
	__u64 bad[] = {
		0, 1, address(edge), address(edge) - 1, 1ULL << 63, ~0ULL,
		~0ULL - sizeof(struct twheel_watch_spec) + 1, 1ULL << 32, 1ULL << 47,
	};
	struct good good;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		good_args(&good, self->watching);
		point_to(&good, bad[i]);
		EXPECT_EQ(EFAULT, op_add(self->fd, &good.add));
		EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_WATCH, &good.watch));
		EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_INFO, &good.info));
		EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_LIST, &good.list));
		EXPECT_EQ(EFAULT, call(self->fd, TWHEEL_IOC_BATCH, &good.batch));
	}
}

TEST_F(refused, keys_that_are_not_all_there)
{
	size_t spec_size = sizeof(struct twheel_watch_spec);
	char *edge = cliff();
	__u64 bad[] = {
		address(edge) - spec_size,	/* the first */
		address(edge) - spec_size - 8,	/* and a bit */
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

/*
 * What only looks like bad input.  Each call has a private purgatory of its own, or for
 * what needs one a named, in which an operation watches two keys.
 */
struct prepared {
	int fd;
	struct good good;
	struct one_call one;
};

FIXTURE(accepted) {
	struct prepared prepared;
};

FIXTURE_SETUP(accepted)
{
	self->prepared.fd = -1;
}

FIXTURE_TEARDOWN(accepted)
{
	close(self->prepared.fd);
	remove_all_named();
}

/* Prepare for the call in the place @nr. */
static bool prepare(struct prepared *made, unsigned int nr)
{
	close(made->fd);
	remove_all_named();
	made->one = nth_call(&made->good, nr);
	if (create_named(OLD_NAME, 0600))
		return false;
	made->fd = wants_a_name(&made->one) ? twheel_open_named(OLD_NAME, O_NONBLOCK) :
					      twheel_open(O_NONBLOCK);
	good_args(&made->good, wants_a_name(&made->one) ? 0 :
		  add_keys(made->fd, TWHEEL_COND_ALL, 0, 2));
	return made->fd >= 0;
}

TEST_F(accepted, longer_structure_that_says_no_more)
{
	struct prepared *made = &self->prepared;
	unsigned int i, j, k, size;

	for (i = 0; i < NR_CALLS; i++) {
		for (j = 0; j < ARRAY_SIZE(more); j++) {
			ASSERT_TRUE(prepare(made, i));
			size = lengthen(&made->one, more[j]);
			EXPECT_EQ(0, call(made->fd, resized(made->one.request, size), longest))
				TH_LOG("request %#x longer by %u", made->one.request, more[j]);
			for (k = _IOC_SIZE(made->one.request); k < sizeof(longest); k++)
				ASSERT_EQ(0, longest[k]);
		}
	}
}

TEST_F(accepted, structure_at_the_end_of_a_page)
{
	struct prepared *made = &self->prepared;
	char *edge = cliff();
	unsigned int i, size;

	for (i = 0; i < NR_CALLS; i++) {
		ASSERT_TRUE(prepare(made, i));
		size = _IOC_SIZE(made->one.request);
		memcpy(edge - size, made->one.args, size);
		EXPECT_EQ(0, call(made->fd, made->one.request, edge - size))
			TH_LOG("request %#x", made->one.request);
	}
}

TEST_F(accepted, keys_at_the_end_of_a_page)
{
	struct twheel_watch_spec *specs = (void *)cliff();
	int fd = twheel_open(O_NONBLOCK);
	__u64 id;

	ASSERT_LE(0, fd);
	specs -= 2;
	specs[0] = spec_of(1, 1);
	specs[1] = spec_of(2, 1);
	id = add_specs(fd, TWHEEL_COND_ALL, 0, specs, 2);
	ASSERT_NE(0, id);
	specs[0] = spec_of(3, 1);
	EXPECT_EQ(0, op_watch(fd, id, specs, 2));
	EXPECT_EQ(3, query(fd).watches);
	close(fd);
}

TEST_F(accepted, structures_that_are_only_read)
{
	struct prepared *made = &self->prepared;
	long page = sysconf(_SC_PAGESIZE);
	char *copy = cliff() - page;
	unsigned int i;

	for (i = 0; i < NR_CALLS; i++) {
		ASSERT_TRUE(prepare(made, i));
		if (_IOC_DIR(made->one.request) & _IOC_READ)
			continue;
		ASSERT_EQ(0, mprotect(copy, page, PROT_READ | PROT_WRITE));
		memcpy(copy, made->one.args, _IOC_SIZE(made->one.request));
		ASSERT_EQ(0, mprotect(copy, page, PROT_READ));
		EXPECT_EQ(0, call(made->fd, made->one.request, copy))
			TH_LOG("request %#x", made->one.request);
	}
}

TEST_HARNESS_MAIN
