// SPDX-License-Identifier: GPL-2.0
/*
 * Bugs found by the fuzzer, see tools/fuzz.
 *
 * Most of them were races, which only the checks of the kernel can report. The tests are
 * for a kernel with KASAN and repeat each race many times.
 */
#include "named.h"

#define NAME	"fuzzed"
#define ROUNDS	300
#define NR_OPS	8

FIXTURE(fuzzed) {
	int fd;
};

/* One thread queries operations of other files, most of which have ended. */
static struct {
	int fd;
	__u64 ids[NR_OPS];
	bool done;
} asked;

FIXTURE_SETUP(fuzzed)
{
	ASSERT_EQ(0, create_named(NAME, 0600));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(fuzzed)
{
	close(self->fd);
	remove_all_named();
}

static __u64 add_periodic(int fd)
{
	struct twheel_watch_spec spec = spec_of(1, 1);
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_ALL,
		.nr_keys = 1,
		.key_size = sizeof(struct twheel_watch_spec),
		.keys = address(&spec),
		.deadline = HOUR,
		.period = HOUR,
	};

	return op_add(fd, &args) ? 0 : args.id;
}

static void add_and_close(void)
{
	int fd = twheel_open_named(NAME, O_NONBLOCK);
	unsigned int i;

	for (i = 0; i < NR_OPS; i++)
		__atomic_store_n(&asked.ids[i], add_periodic(fd), __ATOMIC_RELAXED);
	close(fd);
}

/* Each call accesses state of the file that is closed; the result does not matter. */
static void ask_about(int fd, __u64 id)
{
	struct twheel_unwatch_args unwatch = { .id = id, .key = key_of(2) };
	struct twheel_pending pending;
	struct twheel_watch_spec spec = spec_of(2, 1);

	op_watch(fd, id, &spec, 1);
	op_info(fd, id, &pending);
	call(fd, TWHEEL_IOC_UNWATCH, &unwatch);
}

static void list_all(int fd)
{
	struct twheel_pending entries[2 * NR_OPS];
	struct twheel_list_args list = {
		.entries = address(entries),
		.max_entries = 2 * NR_OPS,
		.entry_size = sizeof(entries[0]),
		.flags = TWHEEL_LIST_OTHERS,
	};

	call(fd, TWHEEL_IOC_LIST, &list);
}

static void *ask(void *data)
{
	unsigned int i;

	(void)data;
	act_for(STRANGER);
	while (!__atomic_load_n(&asked.done, __ATOMIC_RELAXED)) {
		for (i = 0; i < NR_OPS; i++)
			ask_about(asked.fd, __atomic_load_n(&asked.ids[i], __ATOMIC_RELAXED));
		list_all(asked.fd);
	}
	return NULL;
}

/* A call had a reference to the operation, but not to its file. */
TEST_F(fuzzed, file_is_closed_during_queries_of_its_operations)
{
	pthread_t asker;
	int round;

	asked.fd = self->fd;
	ASSERT_EQ(0, pthread_create(&asker, NULL, ask, NULL));
	for (round = 0; round < ROUNDS; round++)
		add_and_close();
	__atomic_store_n(&asked.done, true, __ATOMIC_RELAXED);
	pthread_join(asker, NULL);
	EXPECT_EQ(0, query(self->fd).pending);
}

TEST_HARNESS_MAIN
