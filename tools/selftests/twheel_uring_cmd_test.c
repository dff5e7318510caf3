// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of io_uring: an add completes when its operation ends, exactly once, all other calls
 * at once; the exit of a ring, a process or a thread cancels or completes pending commands.
 */
#include <sys/wait.h>
#include "gives.h"
#include "refused.h"
#include "ring.h"

#define NAME		"uring_cmd"

/* Fill the next entry of the ring for a command. */
static struct io_uring_sqe *prepare(struct ring *ring, int fd, __u32 cmd_op, const void *args,
				    void *event, __u64 name)
{
	struct twheel_uring_args area = { .args = address(args), .event = address(event) };
	struct io_uring_sqe *sqe = ring_entry(ring);

	sqe->opcode = OP_URING_CMD;
	sqe->fd = fd;
	sqe->user_data = name;
	memcpy((char *)sqe + SQE_CMD_OP, &cmd_op, sizeof(cmd_op));
	memcpy((char *)sqe + SQE_AREA, &area, sizeof(area));
	return sqe;
}

static bool command(struct ring *ring, int fd, __u32 cmd_op, const void *args, void *event,
		    __u64 name)
{
	prepare(ring, fd, cmd_op, args, event, name);
	return ring_submit(ring);
}

/* A command that completes at once. Return: its result. */
static int at_once(struct ring *ring, int fd, __u32 cmd_op, const void *args)
{
	__u64 name = 0;
	int result;

	if (!command(ring, fd, cmd_op, args, NULL, POISON))
		return NO_RESULT;
	result = ring_result(ring, &name);
	return name == POISON ? result : NO_RESULT;
}

static struct twheel_add_args add_args(__u64 deadline)
{
	return (struct twheel_add_args) {
		.deadline = deadline, .cookie = 77, .clock = CLOCK_MONOTONIC,
	};
}

/* The kernel has commands: the call does not exist otherwise. */
static bool has_commands(struct ring *ring, int fd)
{
	return at_once(ring, fd, TWHEEL_IOC_CANCEL, NULL) != -EOPNOTSUPP;
}

#define DEFERRED	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

FIXTURE(uring_cmd) {
	long users;		/* module reference count before this test */
	int fd;
	struct ring ring;
};

FIXTURE_VARIANT(uring_cmd) {
	unsigned int flags;
};

FIXTURE_VARIANT_ADD(uring_cmd, plain) { .flags = 0 };
FIXTURE_VARIANT_ADD(uring_cmd, large) { .flags = IORING_SETUP_SQE128 };
FIXTURE_VARIANT_ADD(uring_cmd, deferred) { .flags = DEFERRED };
FIXTURE_VARIANT_ADD(uring_cmd, sqpoll) { .flags = IORING_SETUP_SQPOLL };

FIXTURE_SETUP(uring_cmd)
{
	struct io_uring_params p = { .flags = variant->flags };

	remove_all_named();
	self->users = module_users();
	if (!ring_setup(&self->ring, &p))
		SKIP(return, "no such io_uring: %s", strerror(errno));
	ASSERT_EQ(0, create_named(NAME, 0600));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	if (!has_commands(&self->ring, self->fd)) {
		ring_close(&self->ring);
		close(self->fd);
		SKIP(return, "io_uring refuses commands, as documented before 6.12");
	}
}

FIXTURE_TEARDOWN(uring_cmd)
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

TEST_F(uring_cmd, add_completes_at_its_deadline)
{
	struct twheel_add_args args = add_args(20 * MSEC);
	struct twheel_event event = { 0 };
	__u64 name;

	ASSERT_TRUE(command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, &event, 5));
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, ring_result(&self->ring, &name));
	EXPECT_EQ(5, name);
	EXPECT_NE(0, args.id);
	EXPECT_EQ(args.id, event.id);
	EXPECT_EQ(77, event.cookie);
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
	EXPECT_LE(event.deadline, event.time);
	EXPECT_EQ(1, event.expirations);
	EXPECT_EQ(CLOCK_MONOTONIC, (int)event.clock);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_EQ(0, query(self->fd).own);
	EXPECT_EQ(EALREADY, op_cancel(self->fd, args.id));
	EXPECT_FALSE(ring_poll(&self->ring));
}

/* The operation ends before its add returns. */
TEST_F(uring_cmd, add_that_has_expired)
{
	struct twheel_add_args args = add_args(1);
	struct twheel_event event = { 0 };
	__u64 name;

	args.flags = TWHEEL_ADD_ABSTIME;
	ASSERT_TRUE(command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, &event, 5));
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, ring_result(&self->ring, &name));
	EXPECT_EQ(args.id, event.id);
	EXPECT_EQ(1, event.deadline);
}

/* Each call, with the structure at an address. */
TEST_F(uring_cmd, calls_complete_at_once)
{
	struct twheel_watch_spec spec = spec_of(1, 1), other = spec_of(2, 1);
	struct twheel_add_args args = add_args(TWHEEL_NEVER);
	struct twheel_rearm_args rearm = { .deadline = HOUR };
	struct twheel_watch_args watch = {
		.keys = address(&other), .nr_keys = 1, .key_size = sizeof(other),
	};
	struct twheel_unwatch_args unwatch = { .key = key_of(2) };
	struct twheel_signal_args signal = { .key = key_of(1), .value = 9 };
	struct twheel_complete_args complete = { .value = 10 };
	struct twheel_cancel_key_args cancel_key = { .key = key_of(1) };
	struct twheel_cancel_args cancel = { 0 };
	struct twheel_event event = { 0 };
	struct ring *ring = &self->ring;
	int fd = self->fd;
	__u64 name;

	args.condition = TWHEEL_COND_ANY;
	args.nr_keys = 1;
	args.keys = address(&spec);
	args.key_size = sizeof(spec);

	/* With SQPOLL, the add has been submitted when the next command has completed. */
	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_ADD, &args, &event, 1));
	EXPECT_EQ(-ENOENT, at_once(ring, fd, TWHEEL_IOC_CANCEL, &cancel));
	rearm.id = args.id;
	watch.id = args.id;
	unwatch.id = args.id;
	EXPECT_EQ(1, at_once(ring, fd, TWHEEL_IOC_REARM, &rearm));
	EXPECT_EQ(1, rearm.moved);
	EXPECT_EQ(0, at_once(ring, fd, TWHEEL_IOC_WATCH, &watch));
	EXPECT_EQ(2, query(fd).watches);
	EXPECT_EQ(0, at_once(ring, fd, TWHEEL_IOC_UNWATCH, &unwatch));
	EXPECT_EQ(-ESRCH, at_once(ring, fd, TWHEEL_IOC_UNWATCH, &unwatch));
	EXPECT_FALSE(ring_poll(ring));
	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_SIGNAL, &signal, NULL, 2));
	EXPECT_EQ(1, ring_result(ring, &name));
	EXPECT_EQ(1, ring_result(ring, &name));
	EXPECT_EQ(1, signal.completed);
	EXPECT_EQ(TWHEEL_REASON_COMPLETED, (int)event.reason);
	EXPECT_EQ(9, event.value);
	EXPECT_EQ(1, event.satisfied);

	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_ADD, &args, &event, 3));
	EXPECT_EQ(-ENOENT, at_once(ring, fd, TWHEEL_IOC_CANCEL, &cancel));
	complete.id = args.id;
	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_COMPLETE, &complete, NULL, 4));
	EXPECT_EQ(1, ring_result(ring, &name) + ring_result(ring, &name));
	EXPECT_EQ(10, event.value);

	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_ADD, &args, &event, 5));
	EXPECT_EQ(-ENOENT, at_once(ring, fd, TWHEEL_IOC_CANCEL, &cancel));
	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_CANCEL_KEY, &cancel_key, NULL, 6));
	EXPECT_EQ(1 + TWHEEL_REASON_CANCELLED, ring_result(ring, &name) + ring_result(ring, &name));
	EXPECT_EQ(1, cancel_key.cancelled);
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)event.reason);

	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_ADD, &args, &event, 7));
	EXPECT_EQ(-EALREADY, at_once(ring, fd, TWHEEL_IOC_REARM, &rearm));
	cancel.id = args.id;
	ASSERT_TRUE(command(ring, fd, TWHEEL_IOC_CANCEL, &cancel, NULL, 8));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(ring, &name) + ring_result(ring, &name));
	EXPECT_EQ(-EALREADY, at_once(ring, fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_FALSE(ring_poll(ring));
}

/* The commands of a batch are those of the ioctl: the events of their adds are read. */
TEST_F(uring_cmd, batch)
{
	struct twheel_command commands[2] = {
		{ .call = TWHEEL_CALL_ADD, .add = add_args(HOUR) },
		{ .call = TWHEEL_CALL_CANCEL },
	};
	struct twheel_result results[2] = { 0 };
	struct twheel_batch_args batch = {
		.commands = address(commands), .results = address(results), .nr = 2,
		.command_size = sizeof(commands[0]), .result_size = sizeof(results[0]),
	};

	EXPECT_EQ(2, at_once(&self->ring, self->fd, TWHEEL_IOC_BATCH, &batch));
	EXPECT_EQ(2, batch.done);
	EXPECT_EQ(1, batch.failed);
	EXPECT_EQ(-ENOENT, results[1].error);
	EXPECT_EQ(0, op_complete(self->fd, results[0].value, 3));
	EXPECT_EVENT(self->fd, results[0].value, TWHEEL_REASON_COMPLETED, 3);
}

/* A detached add completes at once; its event goes to its queue. */
TEST_F(uring_cmd, detached_add)
{
	struct twheel_add_args args = add_args(HOUR);
	int events_fd = open_events(self->fd, O_NONBLOCK);
	struct twheel_event event = { 0 };
	__u64 name;

	ASSERT_LE(0, events_fd);
	args.flags = TWHEEL_ADD_DETACHED;
	ASSERT_TRUE(command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, &event, 1));
	EXPECT_EQ(-EINVAL, ring_result(&self->ring, &name));
	EXPECT_EQ(0, args.id);
	EXPECT_EQ(0, at_once(&self->ring, self->fd, TWHEEL_IOC_ADD, &args));
	EXPECT_EQ(0, op_complete(self->fd, args.id, 4));
	EXPECT_EVENT(events_fd, args.id, TWHEEL_REASON_COMPLETED, 4);
	close(events_fd);
}

/* In an entry of 128 bytes the structure may follow the addresses. */
TEST_F(uring_cmd, structure_in_the_entry)
{
	struct twheel_add_args args = add_args(HOUR);
	struct twheel_event event = { 0 };
	struct twheel_cancel_args cancel;
	struct io_uring_sqe *sqe;
	__u64 name;
	int i;

	ASSERT_TRUE(command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, &event, 1));
	ASSERT_TRUE(wait_for(__atomic_load_n(&args.id, __ATOMIC_ACQUIRE)));
	cancel = (struct twheel_cancel_args) { .id = args.id };
	sqe = prepare(&self->ring, self->fd, TWHEEL_IOC_CANCEL, NULL, NULL, 2);
	if (!(variant->flags & IORING_SETUP_SQE128)) {
		ASSERT_TRUE(ring_submit(&self->ring));
		EXPECT_EQ(-EFAULT, ring_result(&self->ring, &name));
		ASSERT_EQ(0, op_cancel(self->fd, args.id));
		EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(&self->ring, &name));
		return;
	}
	memcpy((char *)(sqe + 1), &cancel, sizeof(cancel));
	ASSERT_TRUE(ring_submit(&self->ring));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED,
		  ring_result(&self->ring, &name) + ring_result(&self->ring, &name));
	/* A later version of the structure, with and without a value. */
	cancel = (struct twheel_cancel_args) { .id = args.id };
	for (i = 0; i < 2; i++) {
		sqe = prepare(&self->ring, self->fd,
			      _IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_MAGIC, TWHEEL_CALL_CANCEL,
				   64),
			      NULL, NULL, 2);
		memcpy((char *)(sqe + 1), &cancel, sizeof(cancel));
		((char *)(sqe + 1))[63] = i;
		ASSERT_TRUE(ring_submit(&self->ring));
		EXPECT_EQ(i ? -E2BIG : -EALREADY, ring_result(&self->ring, &name));
	}
}

static int failure(struct ring *ring, int fd, __u32 cmd_op, const void *args, void *event)
{
	__u64 name;

	if (!command(ring, fd, cmd_op, args, event, 1))
		return -1;
	return -ring_result(ring, &name);
}

/* A refused command changes nothing. */
TEST_F(uring_cmd, refused)
{
	struct twheel_cancel_args cancel = { .id = 1 };
	struct twheel_drain_args drain_args = { 0 };
	struct twheel_add_args args = add_args(HOUR);
	int events_fd = open_events(self->fd, 0);
	struct ring *ring = &self->ring;
	struct twheel_event event;
	struct io_uring_sqe *sqe;
	int fd = self->fd, half, i;
	__u64 name;

	ASSERT_LE(0, events_fd);
	GIVES(uring, EINVAL, failure(ring, fd, TWHEEL_IOC_CANCEL, &cancel, &event));
	for (i = 0; i < 3; i++) {
		sqe = prepare(ring, fd, TWHEEL_IOC_CANCEL, &cancel, NULL, 1);
		sqe->addr = i == 0;
		sqe->len = i == 1;
		/* uring_cmd_flags: with a registered buffer, and unknown. */
		sqe->rw_flags = i == 2 ? 2 : 0;
		ASSERT_TRUE(ring_submit(ring));
		EXPECT_EQ(-EINVAL, ring_result(ring, &name));
	}
	args.period = HOUR;
	GIVES(uring, EOPNOTSUPP, failure(ring, fd, TWHEEL_IOC_ADD, &args, NULL));
	args.period = 0;
	EXPECT_EQ(EOPNOTSUPP, failure(ring, events_fd, TWHEEL_IOC_CANCEL, &cancel, NULL));
	GIVES(uring, ENOTTY, failure(ring, fd, TWHEEL_IOC_DRAIN, &drain_args, NULL));
	EXPECT_EQ(ENOTTY, failure(ring, fd, 0, &args, NULL));
	EXPECT_EQ(ENOTTY, failure(ring, fd, ~0U, &args, NULL));
	GIVES(uring, EFAULT, failure(ring, fd, TWHEEL_IOC_ADD, cliff(), NULL));
	EXPECT_EQ(EFAULT, failure(ring, fd, TWHEEL_IOC_ADD, NULL, NULL));
	args.flags = 1U << 31;
	EXPECT_EQ(EINVAL, failure(ring, fd, TWHEEL_IOC_ADD, &args, NULL));
	args.flags = 0;
	for (i = 0; i < 2; i++) {
		half = open("/dev/twheel-" NAME, i ? O_WRONLY : O_RDONLY);
		EXPECT_EQ(EBADF, failure(ring, half, TWHEEL_IOC_ADD, &args, NULL));
		close(half);
	}
	EXPECT_EQ(0, query(fd).added);
	EXPECT_EQ(0, query(fd).user_ops);
	EXPECT_EQ(0, args.id);
	close(events_fd);
}

/* The output of an add cannot be written: there is no operation. */
TEST_F(uring_cmd, add_in_read_only_memory)
{
	struct twheel_add_args *args = (void *)(cliff() - 4096);

	*args = add_args(HOUR);
	ASSERT_EQ(0, mprotect(args, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, at_once(&self->ring, self->fd, TWHEEL_IOC_ADD, args));
	EXPECT_EQ(0, query(self->fd).pending);
	EXPECT_EQ(0, query(self->fd).user_ops);
}

/* An event that cannot be copied is queued. */
TEST_F(uring_cmd, event_in_memory_that_is_gone)
{
	struct twheel_add_args args = add_args(HOUR);
	__u64 name;

	ASSERT_TRUE(command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, cliff() - 8, 1));
	ASSERT_TRUE(wait_for(__atomic_load_n(&args.id, __ATOMIC_ACQUIRE)));
	ASSERT_EQ(0, op_complete(self->fd, args.id, 6));
	GIVES(uring, ENODATA, -ring_result(&self->ring, &name));
	EXPECT_EVENT(self->fd, args.id, TWHEEL_REASON_COMPLETED, 6);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_EQ(0, query(self->fd).own);
	EXPECT_EQ(0, query(self->fd).unread);
	EXPECT_EQ(0, query(self->fd).user_ops);
}

/* An operation is charged until its completion. */
TEST_F(uring_cmd, limits)
{
	struct twheel_create_args create = create_args("small", 0600);
	struct twheel_add_args args[3] = { add_args(HOUR), add_args(HOUR), add_args(HOUR) };
	__u64 name;
	int fd;

	create.max_pending = 2;
	create.max_file_pending = 2;
	fd = create_open(&create);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(command(&self->ring, fd, TWHEEL_IOC_ADD, &args[0], NULL, 1));
	ASSERT_TRUE(command(&self->ring, fd, TWHEEL_IOC_ADD, &args[1], NULL, 2));
	args[2].id = POISON;
	EXPECT_EQ(-ENOSPC, at_once(&self->ring, fd, TWHEEL_IOC_ADD, &args[2]));
	EXPECT_EQ(POISON, args[2].id);
	EXPECT_EQ(1, query(fd).rejected);
	EXPECT_EQ(2, query(fd).own);
	ASSERT_EQ(0, op_cancel(fd, args[0].id));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(&self->ring, &name));
	EXPECT_EQ(1, name);
	ASSERT_TRUE(command(&self->ring, fd, TWHEEL_IOC_ADD, &args[2], NULL, 3));
	ASSERT_EQ(0, op_cancel(fd, args[1].id));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(&self->ring, &name));
	EXPECT_EQ(1, drain(fd));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(&self->ring, &name));
	EXPECT_EQ(3, name);
	EXPECT_EQ(-ESHUTDOWN, at_once(&self->ring, fd, TWHEEL_IOC_ADD, &args[0]));
	close(fd);
}

/* At the limit of the purgatory, not of the file, the command is pending when the add fails. */
TEST_F(uring_cmd, add_fails_after_it_began)
{
	struct twheel_create_args create = create_args("small", 0600);
	struct twheel_add_args args = add_args(HOUR);
	struct io_uring_sqe *sqe;
	__u64 name;
	int fds[2];

	create.max_pending = 1;
	fds[0] = create_open(&create);
	fds[1] = twheel_open_named("small", 0);
	ASSERT_LE(0, fds[0]);
	ASSERT_LE(0, fds[1]);
	ASSERT_NE(0, add_deadline(fds[0], HOUR, 0, 0));
	args.id = POISON;
	EXPECT_EQ(-ENOSPC, at_once(&self->ring, fds[1], TWHEEL_IOC_ADD, &args));
	EXPECT_EQ(POISON, args.id);
	/* By a worker of io_uring. */
	sqe = prepare(&self->ring, fds[1], TWHEEL_IOC_ADD, &args, NULL, 2);
	sqe->flags = IOSQE_ASYNC;
	ASSERT_TRUE(ring_submit(&self->ring));
	EXPECT_EQ(-ENOSPC, ring_result(&self->ring, &name));
	EXPECT_EQ(POISON, args.id);
	EXPECT_EQ(1, query(fds[0]).pending);
	EXPECT_EQ(0, query(fds[1]).own);
	EXPECT_EQ(1, query(fds[1]).user_ops);
	close(fds[0]);
	close(fds[1]);
}

TEST_F(uring_cmd, add_by_a_worker)
{
	struct twheel_add_args args = add_args(MSEC);
	struct twheel_event event = { 0 };
	struct io_uring_sqe *sqe;
	__u64 name;

	sqe = prepare(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, &event, 2);
	sqe->flags = IOSQE_ASYNC;
	ASSERT_TRUE(ring_submit(&self->ring));
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, ring_result(&self->ring, &name));
	EXPECT_EQ(args.id, event.id);
}

TEST_F(uring_cmd, restricted_file)
{
	__u64 other = add_deadline(self->fd, HOUR, 0, 0), name;
	struct twheel_cancel_args cancel = { .id = other };
	struct twheel_add_args args = add_args(HOUR);
	int fd = twheel_open_named(NAME, 0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, file_restrict_to(fd, TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_END));
	EXPECT_EQ(-ENOENT, at_once(&self->ring, fd, TWHEEL_IOC_CANCEL, &cancel));
	ASSERT_TRUE(command(&self->ring, fd, TWHEEL_IOC_ADD, &args, NULL, 1));
	ASSERT_TRUE(wait_for(__atomic_load_n(&args.id, __ATOMIC_ACQUIRE)));
	ASSERT_EQ(0, file_restrict_to(fd, TWHEEL_RIGHT_END));
	EXPECT_EQ(0, op_cancel(fd, args.id));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(&self->ring, &name));
	EXPECT_EQ(-EPERM, at_once(&self->ring, fd, TWHEEL_IOC_ADD, &args));
	EXPECT_EQ(0, op_cancel(self->fd, other));
	close(fd);
}

/* The operation is pending although no descriptor of its file is left. */
TEST_F(uring_cmd, file_is_closed)
{
	struct twheel_add_args args = add_args(HOUR);
	int fd = twheel_open_named(NAME, 0);
	__u64 name;

	ASSERT_LE(0, fd);
	ASSERT_TRUE(command(&self->ring, fd, TWHEEL_IOC_ADD, &args, NULL, 1));
	ASSERT_TRUE(wait_for(__atomic_load_n(&args.id, __ATOMIC_ACQUIRE)));
	close(fd);
	EXPECT_EQ(1, query(self->fd).pending);
	EXPECT_EQ(2, query(self->fd).files);
	ASSERT_EQ(0, op_complete(self->fd, args.id, 0));
	EXPECT_EQ(TWHEEL_REASON_COMPLETED, ring_result(&self->ring, &name));
	EXPECT_TRUE(wait_for((ring_poll(&self->ring), query(self->fd).files == 1)));
}

TEST_F(uring_cmd, ring_is_closed)
{
	struct twheel_add_args args = add_args(TWHEEL_NEVER);
	struct twheel_event event = { .reason = 99 };
	int i;

	for (i = 0; i < 20; i++)
		ASSERT_TRUE(command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, &event, i));
	ASSERT_TRUE(wait_for(query(self->fd).pending == 20));
	ring_close(&self->ring);
	EXPECT_TRUE(wait_for(!query(self->fd).user_ops));
	EXPECT_EQ(20, query(self->fd).cancelled);
	EXPECT_EQ(0, query(self->fd).own);
	/* Nobody asked for these. */
	EXPECT_EQ(0, query(self->fd).unread);
	EXPECT_EQ(99, event.reason);
}

TEST_F(uring_cmd, removal_of_the_purgatory)
{
	struct twheel_add_args args = add_args(TWHEEL_NEVER);
	struct twheel_event event = { 0 };
	__u64 name;

	ASSERT_TRUE(command(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, &event, 1));
	ASSERT_TRUE(wait_for(query(self->fd).pending == 1));
	EXPECT_EQ(1, remove_by_force(NAME));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(&self->ring, &name));
	EXPECT_EQ(args.id, event.id);
	EXPECT_EQ(-ESHUTDOWN, at_once(&self->ring, self->fd, TWHEEL_IOC_ADD, &args));
}

/* The next entry of a chain starts when the operation ends. */
TEST_F(uring_cmd, linked_commands)
{
	struct twheel_add_args args = add_args(20 * MSEC);
	struct twheel_query_args q;
	struct twheel_signal_args signal = { .key = key_of(1) };
	struct io_uring_sqe *sqe;
	__u64 name;

	ASSERT_NE(0, add_keys(self->fd, TWHEEL_COND_ANY, 0, 1));
	sqe = prepare(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, NULL, 1);
	sqe->flags = IOSQE_IO_LINK;
	prepare(&self->ring, self->fd, TWHEEL_IOC_SIGNAL, &signal, NULL, 2);
	ASSERT_TRUE(ring_submit(&self->ring));
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, ring_result(&self->ring, &name));
	EXPECT_EQ(1, name);
	EXPECT_EQ(1, ring_result(&self->ring, &name));
	EXPECT_EQ(2, name);
	q = query(self->fd);
	EXPECT_EQ(1, q.completed);
	EXPECT_EQ(1, q.expired);
}

/* Processes and threads that exit */

static struct twheel_add_args child_args;
static struct twheel_event child_event;

/* In a child: add an operation through a ring of its own. Return: 0 if it is pending. */
static int add_in_child(unsigned int flags, int fd)
{
	struct io_uring_params p = { .flags = flags };
	struct ring ring;

	child_args = add_args(TWHEEL_NEVER);
	if (!ring_setup(&ring, &p) ||
	    !command(&ring, fd, TWHEEL_IOC_ADD, &child_args, &child_event, 1))
		return 1;
	return !wait_for(query(fd).pending == 1);
}

enum end { EXITS, IS_KILLED, EXECS };

/* Return: the wait status of a child that adds an operation, and then ends. */
static int child_that(enum end end, unsigned int flags, int fd)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (add_in_child(flags, fd))
			_exit(1);
		if (end == IS_KILLED)
			raise(SIGKILL);
		if (end == EXECS)
			execl("/bin/true", "true", NULL);
		_exit(end == EXECS);
	}
	return waitpid(child, &status, 0) == child ? status : -1;
}

TEST_F(uring_cmd, process_exits)
{
	unsigned int cancelled = 0;
	enum end end;

	for (end = EXITS; end <= EXECS; end++) {
		ASSERT_EQ(end == IS_KILLED ? SIGKILL : 0,
			  child_that(end, variant->flags, self->fd));
		EXPECT_TRUE(wait_for(!query(self->fd).user_ops));
		EXPECT_EQ(++cancelled, query(self->fd).cancelled);
		EXPECT_NO_EVENT(self->fd);
	}
}

/* Time that the kernel has worked on all CPUs since boot, in ticks of 10 ms. */
static long system_ticks(void)
{
	FILE *file = fopen("/proc/stat", "r");
	long ticks = -1;

	if (file && fscanf(file, "cpu %*u %*u %ld", &ticks) != 1)
		ticks = -1;
	if (file)
		fclose(file);
	return ticks;
}

/* In a child: add an operation, give up the ring, and stop. */
static void add_and_stop(struct ring *ring, int fd)
{
	child_args = add_args(10 * MSEC);
	if (!command(ring, fd, TWHEEL_IOC_ADD, &child_args, NULL, 1))
		_exit(1);
	ring_close(ring);
	raise(SIGSTOP);
	_exit(0);
}

/*
 * The completion waits for the submitter, which is stopped, and so does the exit of the ring:
 * without asking again and again. In virtual time nothing else keeps the CPUs busy.
 */
TEST_F(uring_cmd, exit_waits_for_a_stopped_process)
{
	pid_t child;
	long ticks;
	int status;

	/* The submitter is the opener of such a ring, or a thread of the kernel. */
	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL))
		SKIP(return, "a ring of one thread");
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		add_and_stop(&self->ring, self->fd);
	ASSERT_EQ(child, waitpid(child, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_TRUE(wait_for(query(self->fd).expired == 1));
	ring_close(&self->ring);
	ticks = system_ticks();
	ASSERT_LE(0, ticks);
	usleep(300000);
	if (virtual_time())
		EXPECT_GE(5, system_ticks() - ticks);
	EXPECT_EQ(1, query(self->fd).user_ops);
	ASSERT_EQ(0, kill(child, SIGCONT));
	EXPECT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(wait_for(!query(self->fd).user_ops));
}

struct submission {
	struct ring *ring;
	int fd;
	struct twheel_add_args args;
	struct twheel_event event;
};

static void *submit_and_exit(void *arg)
{
	struct submission *s = arg;

	return (void *)(long)command(s->ring, s->fd, TWHEEL_IOC_ADD, &s->args, &s->event, 1);
}

/*
 * The thread that submitted the add has exited, and the process and the ring remain. Its task work
 * runs in the kernel, which cannot write the event: it is read.
 */
TEST_F(uring_cmd, thread_exits)
{
	struct submission s = { .ring = &self->ring, .fd = self->fd, .args = add_args(HOUR) };
	pthread_t thread;
	__u64 name;
	void *ok;
	int res;

	/* Only the thread that opened such a ring can submit to it. */
	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "a ring of one thread");
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_and_exit, &s));
	ASSERT_EQ(0, pthread_join(thread, &ok));
	ASSERT_TRUE(ok);
	ASSERT_TRUE(wait_for(__atomic_load_n(&s.args.id, __ATOMIC_ACQUIRE)));
	/* The thread may still be exiting. */
	usleep(20000);
	ASSERT_EQ(0, op_complete(self->fd, s.args.id, 5));
	res = ring_result(&self->ring, &name);
	if (variant->flags & IORING_SETUP_SQPOLL) {
		EXPECT_EQ(TWHEEL_REASON_COMPLETED, res);
		EXPECT_EQ(5, s.event.value);
		return;
	}
	EXPECT_EQ(-ENODATA, res);
	EXPECT_EVENT(self->fd, s.args.id, TWHEEL_REASON_COMPLETED, 5);
	EXPECT_EQ(0, s.event.id);
}

/* Another user submits: it is charged. */
TEST_F(uring_cmd, personality)
{
	struct twheel_add_args args = add_args(HOUR);
	struct io_uring_sqe *sqe;
	int personality = -1;
	__u64 name;

	syscall(SYS_setfsuid, STRANGER);
	personality = syscall(SYS_io_uring_register, self->ring.fd, IORING_REGISTER_PERSONALITY,
			      NULL, 0);
	syscall(SYS_setfsuid, 0);
	ASSERT_LT(0, personality);
	sqe = prepare(&self->ring, self->fd, TWHEEL_IOC_ADD, &args, NULL, 1);
	sqe->personality = personality;
	ASSERT_TRUE(ring_submit(&self->ring));
	ASSERT_TRUE(wait_for(query(self->fd).pending == 1));
	EXPECT_EQ(0, query(self->fd).user_ops);
	syscall(SYS_setfsuid, STRANGER);
	EXPECT_EQ(1, query(self->fd).user_ops);
	syscall(SYS_setfsuid, 0);
	ASSERT_EQ(0, op_cancel(self->fd, args.id));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, ring_result(&self->ring, &name));
	syscall(SYS_setfsuid, STRANGER);
	EXPECT_EQ(0, query(self->fd).user_ops);
	syscall(SYS_setfsuid, 0);
}

/* A ring that polls for completions has no commands. */
TEST_F(uring_cmd, iopoll)
{
	struct io_uring_params p = { .flags = IORING_SETUP_IOPOLL };
	struct twheel_cancel_args cancel = { .id = 1 };
	struct ring polled;

	if (!ring_setup(&polled, &p))
		SKIP(return, "no such ring: %s", strerror(errno));
	EXPECT_EQ(-EOPNOTSUPP, at_once(&polled, self->fd, TWHEEL_IOC_CANCEL, &cancel));
	ring_close(&polled);
}

/* The same errors as those of the ioctls, from Documentation/calls.toml. */

#define PLAIN		(self->plain)
#define ENDED		(self->ended)
#define PERIODIC	(self->periodic)

TEST_F(refused, bad_arguments_in_a_ring)
{
	const struct twheel_call_row *one;
	struct good space, *good = &space;
	struct ring ring;

	if (!ring_open(&ring) || !has_commands(&ring, self->fd))
		SKIP(return, "no commands of io_uring");
#define REFUSAL(NAME, error, text, spoil)				\
	do {								\
		one = &twheel_calls[TWHEEL_CALL_##NAME];		\
		if (!one->ring)						\
			continue;					\
		good_args(good, self->watching);			\
		spoil;							\
		EXPECT_EQ(-(error), at_once(&ring, self->fd, one->request, args_of(good, one))) \
			TH_LOG("%s: %s", #NAME, text);			\
	} while (0)
	TWHEEL_REFUSALS(REFUSAL)
	ring_close(&ring);
}

/* The calls that the list says. */
TEST_F(refused, calls_in_a_ring)
{
	const struct twheel_call_row *one;
	struct good space, *good = &space;
	struct ring ring;

	if (!ring_open(&ring) || !has_commands(&ring, self->fd))
		SKIP(return, "no commands of io_uring");
	for_each_call(one) {
		good_args(good, 0);
		EXPECT_EQ(one->ring ? -EFAULT : -ENOTTY,
			  at_once(&ring, self->fd, one->request,
				  one->ring ? NULL : args_of(good, one)));
	}
	ring_close(&ring);
}

TEST_HARNESS_MAIN
