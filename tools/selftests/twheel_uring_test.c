// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring, used without a library. A read of events completes when one is queued, without a worker
 * thread that blocks, and takes each event once. Commands all complete at once: the operations of
 * their adds belong to the file, and outlive the ring; a multishot read of the file delivers their
 * events. RING=1 makes the calls of the other programs such commands.
 */
#include "cell.h"
#include "refused.h"

#define NAME		"uring"

static int at_once(struct ring *ring, int fd, __u32 cmd_op, const void *args)
{
	ring_command(ring, fd, cmd_op, args, 0, POISON);
	return ring_submit_command(ring);
}

static struct twheel_add_args add_args(__u64 deadline)
{
	return (struct twheel_add_args) {
		.deadline = deadline, .cookie = 77, .clock = CLOCK_MONOTONIC,
	};
}

/* Return: true if the kernel has this version or a later one. */
static bool kernel_is(unsigned int major, unsigned int minor)
{
	struct utsname kernel;
	unsigned int has[2];

	return !uname(&kernel) && sscanf(kernel.release, "%u.%u", &has[0], &has[1]) == 2 &&
	       (has[0] > major || (has[0] == major && has[1] >= minor));
}

/* The kernel has commands: the call does not exist otherwise. */
static bool has_commands(struct ring *ring, int fd)
{
	return kernel_is(6, 12) || at_once(ring, fd, TWHEEL_IOC_CANCEL, NULL) != -EOPNOTSUPP;
}

#define DEFERRED	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

FIXTURE(uring) {
	long users;		/* module reference count before this test */
	int fd;			/* blocking */
	struct ring ring;
};

FIXTURE_VARIANT(uring) {
	unsigned int flags;
};

FIXTURE_VARIANT_ADD(uring, plain) { .flags = 0 };
FIXTURE_VARIANT_ADD(uring, large) { .flags = IORING_SETUP_SQE128 };
FIXTURE_VARIANT_ADD(uring, deferred) { .flags = DEFERRED };
FIXTURE_VARIANT_ADD(uring, sqpoll) { .flags = IORING_SETUP_SQPOLL };

FIXTURE_SETUP(uring)
{
	struct io_uring_params p = { .flags = variant->flags };

	remove_all_named();
	self->users = module_users();
	if (!ring_setup(&self->ring, &p))
		SKIP(return, "no such io_uring: %s", strerror(errno));
	ASSERT_EQ(0, create_named(NAME, 0600));
	self->fd = twheel_open_named(NAME, 0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uring)
{
	struct twheel_query_args q = query(self->fd);

	EXPECT_EQ(q.added - q.pending, q.completed + q.expired + q.cancelled);
	if (self->ring.fd >= 0)
		ring_close(&self->ring);
	close(self->fd);
	remove_all_named();
	/* A ring releases its files some time after it was closed. */
	EXPECT_TRUE(wait_for(module_users() == self->users));
}

/* Submit a read of up to @nr events, or into the pieces @iov. */
static bool ring_read(struct ring *ring, int fd, struct twheel_event *events, unsigned int nr,
		      const struct iovec *iov, __u64 name)
{
	struct io_uring_sqe *sqe = ring_entry(ring);

	*sqe = (struct io_uring_sqe) {
		.opcode = iov ? IORING_OP_READV : IORING_OP_READ,
		.fd = fd,
		.off = ~0ULL,
		.addr = iov ? address(iov) : address(events),
		.len = iov ? nr : nr * sizeof(*events),
		.user_data = name,
	};
	return ring_submit(ring);
}

TEST_F(uring, read_waits_for_an_event)
{
	struct twheel_event event;
	__u64 name, id;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, &event, 1, NULL, 8));
	EXPECT_FALSE(is_complete(&self->ring));
	id = add_deadline(self->fd, 20 * MSEC, 0, 0);
	EXPECT_EQ((int)sizeof(event), ring_result(&self->ring, &name));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
}

TEST_F(uring, readv_into_odd_pieces)
{
	struct twheel_event events[2];
	char *at = (char *)events;
	struct iovec iov[3] = { { at, 5 }, { at + 5, 90 }, { at + 95, 161 } };
	__u64 name;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, NULL, 3, iov, 9));
	ASSERT_TRUE(end_one(self->fd, 0, 5));
	EXPECT_EQ((int)sizeof(events[0]), ring_result(&self->ring, &name));
	EXPECT_EQ(5, events[0].value);
	ASSERT_TRUE(end_one(self->fd, 0, 6) && end_one(self->fd, 0, 7));
	ASSERT_TRUE(ring_read(&self->ring, self->fd, NULL, 3, iov, 9));
	EXPECT_EQ((int)sizeof(events), ring_result(&self->ring, &name));
	EXPECT_EQ(6, events[0].value);
	EXPECT_EQ(7, events[1].value);
}

/* Several reads of one queue: each event is delivered to one of them. */
TEST_F(uring, each_event_completes_one_read)
{
	struct twheel_event events[4];
	int events_fd = open_events(self->fd, 0);
	unsigned int seen = 0;
	__u64 name;
	int i;

	ASSERT_LE(0, events_fd);
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(ring_read(&self->ring, events_fd, &events[i], 1, NULL, i));
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(end_one(self->fd, TWHEEL_ADD_DETACHED, 1 << i));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ((int)sizeof(events[0]), ring_result(&self->ring, &name));
		ASSERT_GT(4, name);
		seen += events[name].value;
	}
	EXPECT_EQ(15, seen);
	EXPECT_FALSE(is_complete(&self->ring));
	close(events_fd);
}

TEST_F(uring, read_at_the_end)
{
	struct twheel_event event;
	__u64 name;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, &event, 1, NULL, 1));
	EXPECT_EQ(0, drain(self->fd));
	EXPECT_EQ(0, ring_result(&self->ring, &name));
}

/* A pending read holds the file; closing the ring cancels it. */
TEST_F(uring, ring_is_closed_during_a_read)
{
	struct twheel_event event;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, &event, 1, NULL, 1));
	ring_close(&self->ring);
	usleep(10000);
	ASSERT_TRUE(end_one(self->fd, 0, 3));
	/* The event was not lost, unless the read completed before it was cancelled. */
	if (readable(self->fd, 0))
		EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(3, event.value);
}

TEST_F(uring, bad_buffers)
{
	struct twheel_event event;
	struct iovec small = { &event, sizeof(event) - 1 };
	__u64 name;

	ASSERT_TRUE(end_one(self->fd, 0, 4));
	ASSERT_TRUE(ring_read(&self->ring, self->fd, (void *)cliff(), 1, NULL, 1));
	EXPECT_EQ(-EFAULT, ring_result(&self->ring, &name));
	ASSERT_TRUE(ring_read(&self->ring, self->fd, NULL, 1, &small, 1));
	EXPECT_EQ(-EINVAL, ring_result(&self->ring, &name));
	EXPECT_EQ(1, query(self->fd).unread);
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(4, event.value);
}

#define NO_COMMANDS	"no commands of io_uring, as documented before 6.12"

/* In an entry of 128 bytes the structure may be part of the entry. */
TEST_F(uring, structure_in_the_entry)
{
	struct twheel_cancel_args cancel = { .id = add_deadline(self->fd, HOUR, 0, 0) };
	bool large = variant->flags & IORING_SETUP_SQE128;
	struct ring *ring = &self->ring;
	struct io_uring_sqe *sqe;
	int i;

	if (!has_commands(&self->ring, self->fd))
		SKIP(return, NO_COMMANDS);
	/* With an address as well. */
	ring_command(ring, self->fd, TWHEEL_IOC_CANCEL, &cancel, TWHEEL_URING_INLINE, POISON);
	EXPECT_EQ(-EINVAL, ring_submit_command(ring));
	sqe = ring_command(ring, self->fd, TWHEEL_IOC_CANCEL, NULL, TWHEEL_URING_INLINE, POISON);
	if (large)
		memcpy(sqe + 1, &cancel, sizeof(cancel));
	ASSERT_EQ(large ? 0 : -EINVAL, ring_submit_command(ring));
	if (!large) {
		ASSERT_EQ(0, op_cancel(self->fd, cancel.id));
		return;
	}
	/* A later version of the structure, with and without a value, and one that does not fit. */
	for (i = 0; i < 3; i++) {
		sqe = ring_command(ring, self->fd, resized(TWHEEL_IOC_CANCEL, i < 2 ? 64 : 72),
				   NULL, TWHEEL_URING_INLINE, POISON);
		memcpy(sqe + 1, &cancel, sizeof(cancel));
		((char *)(sqe + 1))[63] = i == 1;
		EXPECT_EQ(i == 0 ? -ENOENT : i == 1 ? -E2BIG : -EINVAL, ring_submit_command(ring));
	}
}

static int failure(struct ring *ring, int fd, __u32 cmd_op, const void *args, __u32 flags)
{
	ring_command(ring, fd, cmd_op, args, flags, POISON);
	return -ring_submit_command(ring);
}

/* A refused command changes nothing. */
TEST_F(uring, refused)
{
	struct twheel_cancel_args cancel = { .id = 1 };
	struct twheel_drain_args drain_args = { 0 };
	struct twheel_add_args args = add_args(HOUR);
	struct ring *ring = &self->ring;
	int fd = self->fd, events_fd, i;
	struct io_uring_sqe *sqe;

	if (!has_commands(&self->ring, self->fd))
		SKIP(return, NO_COMMANDS);
	events_fd = open_events(fd, 0);
	ASSERT_LE(0, events_fd);
	GIVES(uring, EINVAL, failure(ring, fd, TWHEEL_IOC_CANCEL, &cancel, 2));
	for (i = 0; i < 4; i++) {
		sqe = ring_command(ring, fd, TWHEEL_IOC_CANCEL, &cancel, 0, POISON);
		sqe->addr = i == 0;
		sqe->len = i == 1;
		/* uring_cmd_flags: with a registered buffer, and unknown. */
		sqe->rw_flags = i == 2 ? 2 : 0;
		/* The reserved field of struct twheel_uring_args. */
		((char *)sqe)[SQE_AREA + 12] = i == 3;
		EXPECT_EQ(-EINVAL, ring_submit_command(ring));
	}
	GIVES(uring, EOPNOTSUPP, failure(ring, events_fd, TWHEEL_IOC_CANCEL, &cancel, 0));
	GIVES(uring, ENOTTY, failure(ring, fd, TWHEEL_IOC_DRAIN, &drain_args, 0));
	EXPECT_EQ(ENOTTY, failure(ring, fd, 0, &args, 0));
	EXPECT_EQ(ENOTTY, failure(ring, fd, ~0U, &args, 0));
	GIVES(uring, EFAULT, failure(ring, fd, TWHEEL_IOC_ADD, cliff(), 0));
	EXPECT_EQ(0, query(fd).added);
	EXPECT_EQ(0, query(fd).user_ops);
	EXPECT_EQ(0, args.id);
	close(events_fd);
}

TEST_F(uring, add_by_a_worker)
{
	struct twheel_add_args args = add_args(HOUR);
	struct io_uring_sqe *sqe;

	if (!has_commands(&self->ring, self->fd))
		SKIP(return, NO_COMMANDS);
	sqe = ring_command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, 0, POISON);
	sqe->flags = IOSQE_ASYNC;
	ASSERT_EQ(0, ring_submit_command(&self->ring));
	EXPECT_EQ(0, op_complete(self->fd, args.id, 2));
	EXPECT_EVENT(self->fd, args.id, TWHEEL_REASON_COMPLETED, 2);
}

/* The operations are those of the file. */
TEST_F(uring, ring_is_closed)
{
	struct twheel_add_args args = add_args(TWHEEL_NEVER);

	if (!has_commands(&self->ring, self->fd))
		SKIP(return, NO_COMMANDS);
	ASSERT_EQ(0, at_once(&self->ring, self->fd, TWHEEL_IOC_ADD, &args));
	ring_close(&self->ring);
	EXPECT_EQ(1, query(self->fd).pending);
	EXPECT_EQ(0, op_complete(self->fd, args.id, 3));
	EXPECT_EVENT(self->fd, args.id, TWHEEL_REASON_COMPLETED, 3);
}

/* Commands of a chain are executed in order. */
TEST_F(uring, linked_commands)
{
	struct twheel_watch_spec spec = spec_of(1, 1);
	struct twheel_signal_args signal = { .key = key_of(1) };
	struct twheel_add_args args = add_args(HOUR);
	struct io_uring_sqe *sqe;
	__u64 name;

	if (!has_commands(&self->ring, self->fd))
		SKIP(return, NO_COMMANDS);
	args.condition = TWHEEL_COND_ANY;
	args.nr_keys = 1;
	args.keys = address(&spec);
	args.key_size = sizeof(spec);
	sqe = ring_command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, 0, 1);
	sqe->flags = IOSQE_IO_LINK;
	ring_command(&self->ring, self->fd, TWHEEL_IOC_SIGNAL, &signal, 0, 2);
	ASSERT_TRUE(ring_submit(&self->ring));
	EXPECT_EQ(0, ring_result(&self->ring, &name));
	EXPECT_EQ(1, name);
	EXPECT_EQ(1, ring_result(&self->ring, &name));
	EXPECT_EQ(2, name);
}

/* io_uring repeats a command that returns EAGAIN: in a worker, after those that follow it. */
TEST_F(uring, completion_of_an_idle_cell_is_not_repeated)
{
	struct twheel_complete_args complete = { .value = 1 };
	struct twheel_exchange_args exchange;
	__u64 id, name;
	cell_t *cells;

	if (!has_commands(&self->ring, self->fd))
		SKIP(return, NO_COMMANDS);
	cells = map_cells(self->fd, 1);
	if (!cells && errno == EOPNOTSUPP)
		SKIP(return, "no cells on this machine");
	ASSERT_NE(NULL, cells);
	id = add_cell(self->fd, 0, HOUR, 0);
	ASSERT_NE(0, id);
	ASSERT_TRUE(cell_cancel(cells));
	complete.id = id;
	exchange = (struct twheel_exchange_args) {
		.id = id,
		/* The completion leaves this bit, which means nothing in an idle cell. */
		.from = cell_read(cells) | TWHEEL_CELL_ENDED,
		.to = next_life(cell_read(cells), now_ns() + HOUR),
	};
	ring_command(&self->ring, self->fd, TWHEEL_IOC_COMPLETE, &complete, 0, 1);
	ring_command(&self->ring, self->fd, TWHEEL_IOC_EXCHANGE, &exchange, 0, 2);
	ASSERT_TRUE(ring_submit(&self->ring));
	EXPECT_EQ(-EAGAIN, ring_result(&self->ring, &name));
	EXPECT_EQ(1, name);
	EXPECT_EQ(0, ring_result(&self->ring, &name));
	EXPECT_EQ(2, name);
	EXPECT_EQ(exchange.to, cell_read(cells));
	EXPECT_EQ(1, query(self->fd).pending);
	munmap(cells, sizeof(*cells));
}

/* Another user submits: it is charged. */
TEST_F(uring, personality)
{
	struct twheel_add_args args = add_args(HOUR);
	struct io_uring_sqe *sqe;
	int personality = -1;

	if (!has_commands(&self->ring, self->fd))
		SKIP(return, NO_COMMANDS);
	syscall(SYS_setfsuid, STRANGER);
	personality = syscall(SYS_io_uring_register, self->ring.fd, IORING_REGISTER_PERSONALITY,
			      NULL, 0);
	syscall(SYS_setfsuid, 0);
	ASSERT_LT(0, personality);
	sqe = ring_command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, 0, POISON);
	sqe->personality = personality;
	ASSERT_EQ(0, ring_submit_command(&self->ring));
	EXPECT_EQ(0, query(self->fd).user_ops);
	syscall(SYS_setfsuid, STRANGER);
	EXPECT_EQ(1, query(self->fd).user_ops);
	syscall(SYS_setfsuid, 0);
	ASSERT_EQ(0, op_cancel(self->fd, args.id));
	EXPECT_EVENT(self->fd, args.id, TWHEEL_REASON_CANCELLED, 0);
}

/* Events by a read that was submitted once, also those of adds that follow. */

#define BUFFERS		4
#define GROUP		3
#define OPS		100

static struct {
	struct io_uring_buf_ring ring __attribute__((aligned(4096)));
	struct io_uring_buf space[BUFFERS];
	struct twheel_event events[BUFFERS][8];
} provided __attribute__((aligned(4096)));

static void provide(unsigned int nr)
{
	struct io_uring_buf *buf = &provided.ring.bufs[provided.ring.tail % BUFFERS];

	buf->addr = address(provided.events[nr]);
	buf->len = sizeof(provided.events[nr]);
	buf->bid = nr;
	__atomic_store_n(&provided.ring.tail, provided.ring.tail + 1, __ATOMIC_RELEASE);
}

static bool register_buffers(struct ring *ring)
{
	struct io_uring_buf_reg group = {
		.ring_addr = address(&provided), .ring_entries = BUFFERS, .bgid = GROUP,
	};
	unsigned int i;

	memset(&provided, 0, sizeof(provided));
	if (syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_PBUF_RING, &group, 1))
		return false;
	for (i = 0; i < BUFFERS; i++)
		provide(i);
	return true;
}

TEST_F(uring, multishot_read)
{
	unsigned int seen[OPS] = { 0 }, reads = 1, got = 0, nr = 0, i;
	struct twheel_add_args args = add_args(0);
	struct ring *ring = &self->ring;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;

	ASSERT_TRUE(register_buffers(ring));
	while (got < OPS) {
		if (reads) {
			sqe = ring_entry(ring);
			sqe->opcode = OP_READ_MULTISHOT;
			sqe->flags = IOSQE_BUFFER_SELECT;
			sqe->fd = self->fd;
			sqe->buf_group = GROUP;
			ASSERT_TRUE(ring_submit(ring));
			reads = 0;
		}
		for (; nr < OPS && nr < got + 24; nr++) {
			args.deadline = nr % 10 * MSEC;
			args.cookie = nr;
			ASSERT_EQ(0, op_add(self->fd, &args));
		}
		ASSERT_TRUE(ring_completion(ring, &cqe));
		if (cqe.res == -EINVAL && !kernel_is(6, 7))
			SKIP(return, "no multishot read, as documented before 6.7");
		reads = !(cqe.flags & IORING_CQE_F_MORE);
		/* The earlier completions have all buffers, and none is lost. */
		if (cqe.res == -ENOBUFS)
			continue;
		ASSERT_LT(0, cqe.res);
		for (i = 0; i < cqe.res / sizeof(struct twheel_event); i++)
			seen[provided.events[cqe.flags >> 16][i].cookie]++;
		got += i;
		provide(cqe.flags >> 16);
	}
	for (i = 0; i < OPS; i++)
		EXPECT_EQ(1, seen[i]);
	EXPECT_FALSE(ring_poll(ring));
	EXPECT_EQ(0, query(self->fd).user_ops);
}

/* io_uring repeats a multishot read by itself, so no read of a ring confirms events. */
TEST_F(uring, read_that_would_confirm_events_is_refused)
{
	static const __u8 reads[] = { IORING_OP_READ, OP_READ_MULTISHOT };
	struct twheel_add_args args = { .flags = TWHEEL_ADD_DETACHED };
	struct ring *ring = &self->ring;
	struct twheel_event event;
	struct io_uring_sqe *sqe;
	unsigned int i;
	__u64 name;
	int queue;

	ASSERT_TRUE(register_buffers(ring));
	queue = open_events(self->fd, TWHEEL_EVENTS_CONFIRM);
	ASSERT_EQ(0, op_add(self->fd, &args));
	ASSERT_EQ(1, read_events(queue, &event, 1));
	for (i = 0; i < ARRAY_SIZE(reads); i++) {
		sqe = ring_entry(ring);
		sqe->opcode = reads[i];
		sqe->fd = queue;
		sqe->addr = i ? 0 : address(&event);
		sqe->len = i ? 0 : sizeof(event);
		sqe->flags = i ? IOSQE_BUFFER_SELECT : 0;
		sqe->buf_group = i ? GROUP : 0;
		ASSERT_TRUE(ring_submit(ring));
		EXPECT_EQ(-EINVAL, ring_result(ring, &name));
	}
	EXPECT_EQ(1, query(self->fd).unconfirmed);
	close(queue);
}

/* The calls that the list says. */
TEST_F(refused, calls_in_a_ring)
{
	const struct twheel_call_row *one;
	struct good space, *good = &space;
	struct ring ring;

	if (!ring_open(&ring) || !has_commands(&ring, self->fd))
		SKIP(return, NO_COMMANDS);
	for_each_call(one) {
		good_args(good, 0);
		EXPECT_EQ(one->ring ? -EFAULT : -ENOTTY,
			  at_once(&ring, self->fd, one->request,
				  one->ring ? NULL : args_of(good, one)));
	}
	ring_close(&ring);
}

TEST_HARNESS_MAIN
