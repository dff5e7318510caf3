// SPDX-License-Identifier: GPL-2.0
/*
 * Structures and arrays of the ioctls: unknown numbers, sizes smaller and larger than
 * those of the kernel, bad pointers, and valid input that resembles bad input.
 */
#include <limits.h>
#include "refused.h"

TEST(program_name_matches_its_word_size)
{
	const char *program = program_invocation_short_name;
	bool ends_in_32 = !strcmp(program + strlen(program) - 2, "32");
	struct utsname kernel;

	ASSERT_EQ(0, uname(&kernel));
	/* On a 32-bit kernel all programs have this size, and none has a suffix. */
	if (!strstr(kernel.machine, "64"))
		SKIP(return, "a 32-bit kernel: %s", kernel.machine);
	EXPECT_EQ(ends_in_32 ? 4 : 8, sizeof(void *));
}

/* Return: true if the node has a call with this number. */
static bool is_known(enum node node, unsigned int nr)
{
	return nr < ARRAY_SIZE(twheel_calls) && twheel_calls[nr].name &&
	       twheel_calls[nr].control == (node == CONTROL) &&
	       twheel_calls[nr].events == (node == QUEUE);
}

/*
 * Numbers, directions and types that no node has, and those of another node: a named purgatory
 * cannot be created or removed through a purgatory.
 */
TEST_F(refused, unknown_ioctl)
{
	const struct twheel_call_row *one;
	unsigned int nr, dir, size;
	struct good good;
	char zeroes[256] = { 0 };
	enum node node;
	void *args;

	for (node = 0; node < NR_NODES; node++) {
		for (nr = 0; nr < 256; nr++) {
			one = nr < ARRAY_SIZE(twheel_calls) && twheel_calls[nr].name ?
			      &twheel_calls[nr] : NULL;
			good_args(&good, self->watching);
			args = one ? args_of(&good, one) : zeroes;
			size = one ? _IOC_SIZE(one->request) : 64;
			EXPECT_EQ(ENOTTY, call(self->nodes[node], _IOC(3, 'T', nr, size), args));
			for (dir = 0; dir < 4; dir++) {
				if (is_known(node, nr) && dir == _IOC_DIR(one->request))
					continue;
				EXPECT_EQ(ENOTTY, call(self->nodes[node],
						       _IOC(dir, TWHEEL_IOC_MAGIC, nr, size),
						       args))
					TH_LOG("number %u, direction %u, node %d", nr, dir, node);
			}
		}
	}
}

TEST_F(refused, short_structure)
{
	const struct twheel_call_row *one;
	struct good good;
	unsigned int size;

	for_each_call(one) {
		for (size = 0; size < one->min_size; size++) {
			good_args(&good, self->watching);
			ASSERT_EQ(EINVAL, call(self->nodes[node_of(one)],
					       resized(one->request, size), args_of(&good, one)));
			if (one->batch)
				ASSERT_EQ(EINVAL, call_in_a_batch(self->fd, one, &good, size));
		}
	}
}

/* The longest structure of any ioctl number. */
static char longest[_IOC_SIZEMASK];

/* Append up to @more zero bytes to a structure, limited by the longest structure. */
static unsigned int lengthen(struct good *good, const struct twheel_call_row *one,
			     unsigned int more)
{
	unsigned int size = _IOC_SIZE(one->request);

	memset(longest, 0, sizeof(longest));
	memcpy(longest, args_of(good, one), size);
	return more < sizeof(longest) - size ? size + more : sizeof(longest);
}

static const unsigned int more[] = { 1, 8, 64, 4096, ~0U };

/* A batch has commands of up to 1024 bytes. */
TEST_F(refused, longer_structure_with_unknown_fields)
{
	const struct twheel_call_row *one;
	struct good good;
	unsigned int i, size;

	for_each_call(one) {
		for (size = _IOC_SIZE(one->request) + 1; one->batch && size < 1100; size++) {
			good_args(&good, self->watching);
			ASSERT_EQ(E2BIG, call_in_a_batch(self->fd, one, &good, size));
		}
		for (i = 0; i < ARRAY_SIZE(more); i++) {
			good_args(&good, self->watching);
			size = lengthen(&good, one, more[i]);
			longest[size - 1] = 1;
			EXPECT_EQ(E2BIG, call(self->nodes[node_of(one)],
					      resized(one->request, size), longest));
		}
	}
}

TEST_F(refused, bad_pointer)
{
	char *edge = cliff();
	void *bad[] = { NULL, edge, edge - 4, (void *)-4096L, (void *)-1L, (void *)LONG_MIN };
	const struct twheel_call_row *one;
	unsigned int i;

	for_each_call(one) {
		for (i = 0; i < ARRAY_SIZE(bad); i++)
			EXPECT_EQ(EFAULT, call_on_its_node(one, bad[i]));
	}
}

TEST_F(refused, array_at_a_bad_pointer)
{
	char *edge = cliff();
	__u64 bad[] = {
		0, 1, address(edge), address(edge) - 1, 1ULL << 63, ~0ULL,
		~0ULL - sizeof(struct twheel_watch_spec) + 1, 1ULL << 32, 1ULL << 47,
	};
	struct one_array array;
	struct good good;
	unsigned int i, j;

	for (i = 0; i < NR_ARRAYS; i++) {
		array = nth_array(&good, i);
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			/* A batch without results requires an entry size of 0. */
			if (array.call->request == TWHEEL_IOC_BATCH && !array.nr && !bad[j])
				continue;
			good_args(&good, self->watching);
			*array.entries = bad[j];
			EXPECT_EQ(EFAULT, call_on_its_node(array.call, args_of(&good, array.call)))
				TH_LOG("array %u at %#llx", i, bad[j]);
		}
	}
}

/* Space for arrays with the largest entry size. */
static char wide[3 * 4096];

/* Store the two entries of an array in wide[], @size bytes apart. */
static void widen(const struct one_array *array, __u32 size)
{
	const char *entries = (void *)(unsigned long)*array->entries;
	unsigned int i;

	memset(wide, 0, sizeof(wide));
	for (i = 0; i < 2; i++)
		memcpy(wide + i * size, entries + i * array->first, array->first);
	*array->entries = address(wide);
	*array->size = size;
}

static const __u32 wider[] = { 1, 8, 64, 1024 };

/* The error of a call; for a batch, the error of its first command. */
static int error_within(int fd, const struct one_array *array, struct good *good)
{
	int error = call(fd, array->call->request, args_of(good, array->call));

	if (error || array->call->request != TWHEEL_IOC_BATCH)
		return error;
	return -good->result[0].error;
}

TEST_F(refused, longer_entry_with_unknown_fields)
{
	struct one_array array;
	struct good good;
	unsigned int i, j;
	__u32 size;

	for (i = 0; i < NR_ARRAYS; i++) {
		array = nth_array(&good, i);
		for (j = 0; array.input && j < ARRAY_SIZE(wider); j++) {
			good_args(&good, self->watching);
			size = array.first + wider[j];
			widen(&array, size);
			wide[size - 1] = 1;
			/* The second command signals a key that is not watched. */
			EXPECT_EQ(E2BIG, error_within(self->fd, &array, &good))
				TH_LOG("array %u entry size %u", i, size);
		}
	}
}

TEST_F(refused, read_of_the_control_node)
{
	struct twheel_event event;

	EXPECT_EQ(-1, read_events(self->nodes[CONTROL], &event, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->nodes[CONTROL], &event, sizeof(event)));
	EXPECT_EQ(EINVAL, errno);
}

/*
 * Valid input that resembles bad input. Each call has its own purgatory, in which an
 * operation watches two keys, or the control node.
 */
FIXTURE(accepted) {
	int fd;
	struct good good;
};

FIXTURE_SETUP(accepted)
{
	self->fd = -1;
}

FIXTURE_TEARDOWN(accepted)
{
	close(self->fd);
	remove_all_named();
}

static int open_node(enum node node, __u64 *kept)
{
	if (node == CONTROL)
		return twheel_open_control();
	if (node == QUEUE)
		return open_keeping(kept);
	return node == NAMED ? twheel_open_named(OLD_NAME, O_NONBLOCK) :
			       twheel_open(O_NONBLOCK);
}

/* Prepare for a call. */
static bool prepare(struct _test_data_accepted *self, const struct twheel_call_row *one)
{
	struct twheel_add_args queued = { .flags = TWHEEL_ADD_DETACHED, .deadline = HOUR };
	__u64 id = 0;

	close(self->fd);
	remove_all_named();
	if (create_named(OLD_NAME, 0600))
		return false;
	self->fd = open_node(node_of(one), &id);
	if (!one->control && !one->events)
		id = add_keys(self->fd, TWHEEL_COND_ALL, 0, 2);
	if (one->request == TWHEEL_IOC_QUEUE && op_add(self->fd, &queued))
		return false;
	good_args(&self->good, id);
	return self->fd >= 0;
}

TEST_F(accepted, longer_structure_without_unknown_fields)
{
	const struct twheel_call_row *one;
	unsigned int i, k, size;

	for_each_call(one) {
		for (i = 0; i < ARRAY_SIZE(more); i++) {
			ASSERT_TRUE(prepare(self, one));
			size = lengthen(&self->good, one, more[i]);
			EXPECT_EQ(good_errno(one),
				  call(self->fd, resized(one->request, size), longest))
				TH_LOG("%s longer by %u", one->name, more[i]);
			for (k = _IOC_SIZE(one->request); k < sizeof(longest); k++)
				ASSERT_EQ(0, longest[k]);
		}
	}
}

/*
 * Output entries are padded with zeroes. The second of two entries is found, also if the size is
 * not a multiple of the first version's.
 */
TEST_F(accepted, longer_entry_without_unknown_fields)
{
	struct twheel_pending *pending;
	struct twheel_watch_spec *spec;
	struct one_array array;
	unsigned int i, j, k;
	__u32 size;

	for (i = 0; i < NR_ARRAYS; i++) {
		for (j = 0; j < ARRAY_SIZE(wider); j++) {
			array = nth_array(&self->good, i);
			ASSERT_TRUE(prepare(self, array.call));
			size = array.first + wider[j];
			widen(&array, size);
			if (!array.input)
				memset(wide, 0xa5, sizeof(wide));
			if (array.call->request == TWHEEL_IOC_LIST)
				ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
			EXPECT_EQ(0, error_within(self->fd, &array, &self->good))
				TH_LOG("array %u entry size %u", i, size);
			for (k = array.first; !array.input && k < size; k++)
				ASSERT_EQ(0, wide[k]);
			pending = (void *)(wide + size);
			spec = (void *)(wide + size);
			if (array.call->request == TWHEEL_IOC_LIST)
				EXPECT_TRUE(pending->id && pending->id != *(__u64 *)wide);
			if (array.call->request == TWHEEL_IOC_INFO && array.nr)
				EXPECT_EQ(2, spec->key.v[0]);
			if (array.call->request == TWHEEL_IOC_ADD) {
				EXPECT_EQ(0, key_signal(self->fd, 11, 0));
				EXPECT_EQ(1, key_signal(self->fd, 12, 0));
			}
		}
	}
}

TEST_F(accepted, largest_entry)
{
	struct one_array array;
	unsigned int i;

	for (i = 0; i < NR_ARRAYS; i++) {
		array = nth_array(&self->good, i);
		ASSERT_TRUE(prepare(self, array.call));
		widen(&array, 4096);
		EXPECT_EQ(0, error_within(self->fd, &array, &self->good));
	}
}

/* The input of output fields is ignored, all of them are written, and no other field changes. */
TEST_F(accepted, output_fields_with_any_input)
{
	const struct twheel_call_row *one;
	char *args, given[256];
	unsigned int at;

	for_each_call(one) {
		ASSERT_TRUE(prepare(self, one));
		args = args_of(&self->good, one);
		memset(args + one->out, 0xa5, one->out_end - one->out);
		/* Also inputs. */
		self->good.cells_args.nr = 0;
		self->good.queue_args.queue = 0;
		memcpy(given, args, _IOC_SIZE(one->request));
		EXPECT_EQ(good_errno(one), call(self->fd, one->request, args))
			TH_LOG("%s", one->name);
		for (at = one->out; at < one->out_end; at += sizeof(__u32))
			EXPECT_NE((__u32)POISON, *(__u32 *)(args + at))
				TH_LOG("%s byte %u", one->name, at);
		memcpy(given + one->out, args + one->out, one->out_end - one->out);
		EXPECT_EQ(0, memcmp(given, args, _IOC_SIZE(one->request)))
			TH_LOG("%s", one->name);
	}
}

TEST_F(accepted, structure_at_the_end_of_a_page)
{
	const struct twheel_call_row *one;
	char *edge = cliff();
	unsigned int size;

	for_each_call(one) {
		ASSERT_TRUE(prepare(self, one));
		size = _IOC_SIZE(one->request);
		memcpy(edge - size, args_of(&self->good, one), size);
		EXPECT_EQ(good_errno(one), call(self->fd, one->request, edge - size))
			TH_LOG("%s", one->name);
	}
}

/* The kernel writes to structures with output fields only, and after the call had its effect. */
TEST_F(accepted, read_only_structures)
{
	long page = sysconf(_SC_PAGESIZE);
	const struct twheel_call_row *one;
	char *copy = cliff() - page;
	__u64 added;

	for_each_call(one) {
		ASSERT_TRUE(prepare(self, one));
		added = one->control ? 0 : query(self->fd).added;
		ASSERT_EQ(0, mprotect(copy, page, PROT_READ | PROT_WRITE));
		memcpy(copy, args_of(&self->good, one), _IOC_SIZE(one->request));
		ASSERT_EQ(0, mprotect(copy, page, PROT_READ));
		EXPECT_EQ(one->out_end ? EFAULT : good_errno(one),
			  call(self->fd, one->request, copy))
			TH_LOG("%s", one->name);
		if (one->request == TWHEEL_IOC_ADD)
			EXPECT_EQ(added + 1, query(self->fd).added);
		if (one->request == TWHEEL_IOC_CREATE)
			EXPECT_EQ(0, remove_named(NEW_NAME));
		if (one->request == TWHEEL_IOC_REMOVE)
			EXPECT_EQ(ENOENT, remove_named(OLD_NAME));
	}
}

TEST_HARNESS_MAIN
