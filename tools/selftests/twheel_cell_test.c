// SPDX-License-Identifier: GPL-2.0
/*
 * Cells: the transitions of their words by a program and by the kernel, the life cycle of their
 * memory, and the flags and conditions that exclude them.
 */
#include "cell.h"
#include "named.h"

#define NR	600

FIXTURE(cell) {
	int fd;
	cell_t *cells;
};

FIXTURE_SETUP(cell)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->cells = map_cells(self->fd, NR);
	if (!self->cells && lacks_cells(errno))
		SKIP(return, "no cells on this machine");
	ASSERT_NE(NULL, self->cells);
}

FIXTURE_TEARDOWN(cell)
{
	close(self->fd);
}

#define EXPECT_END(_id, _reason, _word)					\
do {									\
	struct twheel_event _event;					\
	__u64 _was = (_word);						\
									\
	ASSERT_TRUE(next_event(self->fd, &_event));			\
	EXPECT_EQ(_id, _event.id);					\
	EXPECT_EQ(_reason, (int)_event.reason);				\
	EXPECT_EQ(_was, _event.cell);					\
	EXPECT_EQ(_was & TWHEEL_CELL_IDLE ? TWHEEL_NEVER :		\
		  (_was & TWHEEL_CELL_TIME) << TWHEEL_CELL_SHIFT, _event.deadline); \
	if (_event.reason == TWHEEL_REASON_EXPIRED)			\
		EXPECT_LE(_event.deadline, _event.time);		\
} while (0)

TEST_F(cell, expires_after_the_last_touch)
{
	__u64 id = add_cell(self->fd, 5, 20 * MSEC, 0), word;
	struct twheel_pending pending;
	int i;

	ASSERT_NE(0, id);
	EXPECT_EQ(LIFE, cell_read(&self->cells[5]) & ~TWHEEL_CELL_TIME);
	for (i = 0; i < 10; i++) {
		usleep(5000);
		if (!cell_touch(&self->cells[5], now_ns() + 50 * MSEC))
			SKIP(return, "this machine is too slow");
	}
	word = cell_read(&self->cells[5]);
	EXPECT_END(id, TWHEEL_REASON_EXPIRED, word);
	EXPECT_EQ(word | TWHEEL_CELL_ENDED, cell_read(&self->cells[5]));
	EXPECT_FALSE(cell_touch(&self->cells[5], now_ns() + HOUR));
	/* The cell is free for the next operation. */
	id = add_cell(self->fd, 5, HOUR, 0);
	ASSERT_NE(0, id);
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(5, pending.cell);
	EXPECT_EQ(2 * LIFE, cell_read(&self->cells[5]) & ~TWHEEL_CELL_TIME);
}

TEST_F(cell, idle_op_is_listed_and_skipped_by_signals)
{
	__u64 id = add_cell(self->fd, 0, 10 * MSEC, 1), word;
	struct twheel_pending pending;

	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(TWHEEL_PENDING_OWN | TWHEEL_PENDING_CELL, (int)pending.flags);
	ASSERT_TRUE(cell_cancel(&self->cells[0]));
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(TWHEEL_PENDING_OWN | TWHEEL_PENDING_CELL | TWHEEL_PENDING_IDLE,
		  (int)pending.flags);
	EXPECT_EQ(TWHEEL_NEVER, pending.deadline);
	EXPECT_EQ(0, key_signal(self->fd, 1, 7));
	GIVES(TWHEEL_IOC_COMPLETE, EAGAIN, op_complete(self->fd, id, 7));
	/* The kernel parks it, and arming it takes a call. */
	ASSERT_TRUE(wait_for((cell_read(&self->cells[0]) & TWHEEL_CELL_TIME) ==
			     TWHEEL_CELL_TIME));
	EXPECT_NO_EVENT(self->fd);
	word = cell_read(&self->cells[0]);
	ASSERT_EQ(0, op_exchange(self->fd, id, word, next_life(word, now_ns() + HOUR)));
	word = cell_read(&self->cells[0]);
	EXPECT_EQ(2 * LIFE, word & ~TWHEEL_CELL_TIME);
	EXPECT_EQ(1, key_signal(self->fd, 1, 7));
	EXPECT_END(id, TWHEEL_REASON_COMPLETED, word);
}

/* No operation has it, so it is not armed. */
TEST_F(cell, failed_add_ends_the_word)
{
	struct twheel_create_args args = create_args("one", 0600);
	cell_t *cells;
	int fd;

	args.max_watches = 1;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
	fd = twheel_open_named("one", 0);
	cells = map_cells(fd, 2);
	ASSERT_NE(NULL, cells);
	ASSERT_NE(0, add_cell(fd, 0, HOUR, 1));
	EXPECT_EQ(0, add_cell(fd, 1, HOUR, 2));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(LIFE | TWHEEL_CELL_ENDED, cell_read(&cells[1]) & ~TWHEEL_CELL_TIME);
	munmap(cells, 2 * sizeof(*cells));
	close(fd);
	EXPECT_EQ(0, remove_named("one"));
}

TEST_F(cell, exchange_lowers_the_deadline)
{
	__u64 id = add_cell(self->fd, 1, HOUR, 0), word = cell_read(&self->cells[1]), to;

	to = LIFE | units(now_ns() + 5 * MSEC);
	GIVES(TWHEEL_IOC_EXCHANGE, EAGAIN, op_exchange(self->fd, id, word + 1, to));
	EXPECT_EQ(word, cell_read(&self->cells[1]));
	ASSERT_EQ(0, op_exchange(self->fd, id, word, to));
	EXPECT_END(id, TWHEEL_REASON_EXPIRED, to);
}

/* twheel_errno_test has the words that are refused. */
TEST_F(cell, exchange_is_refused)
{
	__u64 id = add_cell(self->fd, 1, HOUR, 0), word = cell_read(&self->cells[1]);

	EXPECT_EQ(EINVAL, op_exchange(self->fd, id, word, word + LIFE));
	EXPECT_EQ(word, cell_read(&self->cells[1]));
	EXPECT_EQ(-1, op_rearm(self->fd, id, HOUR, 0));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(ENOENT, op_exchange(self->fd, id, word, word));
}

/* The other file has a mapping of its own. */
TEST(exchange_through_another_file_is_refused)
{
	int fd, other;
	cell_t *cells;
	__u64 id;

	remove_all_named();
	ASSERT_EQ(0, create_named("cells", 0600));
	fd = twheel_open_named("cells", 0);
	other = twheel_open_named("cells", 0);
	cells = map_cells(fd, 1);
	if (!cells && lacks_cells(errno))
		SKIP(return, "no cells on this machine");
	ASSERT_NE(NULL, cells);
	id = add_cell(fd, 0, HOUR, 0);
	GIVES(TWHEEL_IOC_EXCHANGE, EPERM, op_exchange(other, id, cells[0], cells[0]));
	EXPECT_EQ(0, op_exchange(fd, id, cells[0], cells[0]));
	EXPECT_EQ(0, op_cancel(other, id));
	close(fd);
	close(other);
	munmap(cells, sizeof(*cells));
	remove_all_named();
}

TEST_F(cell, add_is_refused)
{
	static const struct twheel_add_args refused[] = {
		{ .clock = CLOCK_REALTIME },
		{ .clock = CLOCK_REALTIME, .flags = TWHEEL_ADD_ABSTIME },
		{ .clock = CLOCK_MONOTONIC, .flags = TWHEEL_ADD_DETACHED },
		{ .clock = CLOCK_MONOTONIC, .flags = TWHEEL_ADD_FIXED_DELAY },
		{ .clock = CLOCK_MONOTONIC, .slack = 1 },
		{ .clock = CLOCK_MONOTONIC, .period = 1 },
		{ .clock = CLOCK_MONOTONIC, .cell = 1 << 20 },
		{ .clock = CLOCK_MONOTONIC, .cell = ~0U },
		{ .clock = CLOCK_MONOTONIC, .condition = TWHEEL_COND_ALL },
		{ .clock = CLOCK_MONOTONIC, .condition = TWHEEL_COND_ANY },
	};
	struct twheel_watch_spec spec = spec_of(1, 1);
	struct twheel_add_args args;
	unsigned int i;
	__u64 id;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		args = refused[i];
		args.flags |= TWHEEL_ADD_CELL;
		args.deadline = HOUR;
		if (args.condition) {
			spec.need = args.condition == TWHEEL_COND_ANY ? 2 : 1;
			args.nr_keys = 1;
			args.keys = address(&spec);
			args.key_size = sizeof(spec);
		}
		EXPECT_EQ(EINVAL, op_add(self->fd, &args))
			TH_LOG("add %u", i);
	}
	EXPECT_EQ(0, cell_read(&self->cells[0]));
	/* Neither may a key with a memory be added later. */
	id = add_cell(self->fd, 0, HOUR, 2);
	EXPECT_EQ(EINVAL, op_watch(self->fd, id, &spec, 1));
	spec.need = 1;
	EXPECT_EQ(0, op_watch(self->fd, id, &spec, 1));
}

TEST(cells_are_allocated_once)
{
	struct twheel_cells_args args = { 0 };
	int fd = twheel_open(0);
	struct twheel_add_args add = { .flags = TWHEEL_ADD_CELL, .clock = CLOCK_MONOTONIC };
	int error;
	__u32 nr;

	ASSERT_EQ(0, call(fd, TWHEEL_IOC_CELLS, &args));
	EXPECT_EQ(0, args.nr);
	EXPECT_EQ(EINVAL, op_add(fd, &add));
	args.nr = ~0U;
	error = call(fd, TWHEEL_IOC_CELLS, &args);
	if (lacks_cells(error))
		SKIP(return, "no cells on this machine");
	GIVES(TWHEEL_IOC_CELLS, EINVAL, error);
	args.nr = 1;
	ASSERT_EQ(0, call(fd, TWHEEL_IOC_CELLS, &args));
	nr = args.nr;
	EXPECT_EQ(sysconf(_SC_PAGESIZE) / 8, nr);
	args.monotonic_offset = POISON;
	args.boottime_offset = POISON;
	EXPECT_EQ(0, call(fd, TWHEEL_IOC_CELLS, &args));
	EXPECT_EQ(nr, args.nr);
	EXPECT_EQ(0, args.monotonic_offset);
	EXPECT_EQ(0, args.boottime_offset);
	args.nr = nr + 1;
	GIVES(TWHEEL_IOC_CELLS, EBUSY, call(fd, TWHEEL_IOC_CELLS, &args));
	close(fd);
}

static int map_errno(int fd, size_t size, int prot, int flags, off_t at)
{
	return mmap(NULL, size, prot, flags, fd, at) == MAP_FAILED ? errno : 0;
}

TEST_F(cell, mappings)
{
	size_t page = sysconf(_SC_PAGESIZE), size = (NR * 8 + page - 1) / page * page;
	const int both = PROT_READ | PROT_WRITE;
	int fd = twheel_open(0);

	GIVES(mmap, EINVAL, map_errno(fd, page, both, MAP_SHARED, 0));
	close(fd);
	EXPECT_EQ(EINVAL, map_errno(self->fd, size, both, MAP_PRIVATE, 0));
	EXPECT_EQ(EINVAL, map_errno(self->fd, size, PROT_READ | PROT_EXEC, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_errno(self->fd, page, both, MAP_SHARED, page));
	EXPECT_EQ(EINVAL, map_errno(self->fd, size + page, both, MAP_SHARED, 0));
	EXPECT_EQ(0, map_errno(self->fd, page, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(-1, mprotect(self->cells, page, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mremap(self->cells, size, size + page, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(cell, restricted_file)
{
	const __u32 left = ALL_RIGHTS & ~TWHEEL_RIGHT_REARM;
	size_t page = sysconf(_SC_PAGESIZE);
	struct twheel_cells_args args = { .nr = 1 };
	int fd = twheel_open(0);

	GIVES(TWHEEL_IOC_RESTRICT, EBUSY, file_restrict_to(self->fd, left));
	EXPECT_EQ(0, file_restrict_to(self->fd, ALL_RIGHTS & ~TWHEEL_RIGHT_DRAIN));
	EXPECT_EQ(0, map_errno(self->fd, page, PROT_READ | PROT_WRITE, MAP_SHARED, 0));
	ASSERT_EQ(0, file_restrict_to(fd, left));
	GIVES(TWHEEL_IOC_CELLS, EPERM, call(fd, TWHEEL_IOC_CELLS, &args));
	close(fd);
}

/* A child of fork() has the descriptor only. */
TEST_F(cell, child_maps_the_cells_itself)
{
	__u64 id = add_cell(self->fd, 0, HOUR, 0), word = cell_read(&self->cells[0]);
	int ends[2];
	pid_t child;
	cell_t *mine;

	ASSERT_EQ(0, pipe(ends));
	child = fork();
	if (!child) {
		if (write(ends[1], self->cells, sizeof(*mine)) != -1 || errno != EFAULT)
			_exit(1);
		mine = map_cells(self->fd, NR);
		_exit(!mine || !cell_touch(mine, now_ns() + 2 * HOUR));
	}
	EXPECT_TRUE(child_exited_well(child));
	EXPECT_LT(word, cell_read(&self->cells[0]));
	EXPECT_EQ(0, op_cancel(self->fd, id));
	close(ends[0]);
	close(ends[1]);
}

TEST_F(cell, word_outlives_the_mapping)
{
	__u64 id = add_cell(self->fd, 0, HOUR, 0), word = LIFE | units(now_ns() + 20 * MSEC);
	cell_t *again;

	ASSERT_EQ(0, op_exchange(self->fd, id, cell_read(&self->cells[0]), word));
	ASSERT_EQ(0, munmap(self->cells, NR * sizeof(cell_t)));
	EXPECT_END(id, TWHEEL_REASON_EXPIRED, word);
	again = map_cells(self->fd, 1);
	ASSERT_NE(NULL, again);
	EXPECT_EQ(word | TWHEEL_CELL_ENDED, cell_read(again));
}

TEST_F(cell, mapping_keeps_the_operations)
{
	long users = module_users(), of_a_file;
	int other = twheel_open(0);

	of_a_file = module_users() - users;
	close(other);
	ASSERT_NE(0, add_cell(self->fd, 0, 20 * MSEC, 0));
	close(self->fd);
	EXPECT_TRUE(module_has_users(users));
	EXPECT_TRUE(wait_for(cell_read(&self->cells[0]) & TWHEEL_CELL_ENDED));
	munmap(self->cells, NR * sizeof(cell_t));
	EXPECT_TRUE(wait_for(module_has_users(users - of_a_file)));
	self->fd = -1;
}

TEST_HARNESS_MAIN
