// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: commands of io_uring (IORING_OP_URING_CMD).
 *
 * A command is a call of a batch, or a batch. It has the structure and the checks of the ioctl, and
 * the credentials of its submission: io_uring overrides those of the current task for a
 * personality, for SQPOLL and for its workers. These threads share the memory and the namespaces of
 * the submitter.
 *
 * All commands but an add complete at once, with the lock of the ring held, also if they must not
 * block (IO_URING_F_NONBLOCK): they sleep for memory at most, as io_uring itself does. Workers
 * would execute them in any order.
 *
 * An add
 * ======
 *
 * The command of an add is pending as long as the operation:
 *
 *	add		uring_add_begin(): the operation is charged and on the pending list as any
 *			other, and the command can be cancelled. Then it becomes pending.
 *	end		uring_op_ended(): it leaves the pending list, and task work is queued
 *	task work	uring_add_complete(): the event is copied to the memory of the submitter,
 *			the operation is forgotten, and the completion queue entry is posted
 *
 * So the event does not pass the queue of the file, and the operation is charged until the task
 * work has run. If the event cannot be copied, it is queued for read() after all, and the result is
 * -ENODATA: the memory is not writable, or the submitting thread has exited, and a kernel thread
 * runs its task work.
 *
 * An add that fails after its command can be cancelled completes through task work as well.
 *
 * When a ring exits, io_uring calls twheel_uring_cmd() with IO_URING_F_CANCEL for each command that
 * can be cancelled, again and again until none can. This cancels the operation and completes the
 * command at once: if thousands of them waited for their task work, each of many calls would visit
 * all the others. It has no effect while the add is in progress. The event of an operation that it
 * has cancelled is dropped, since the ring has no reader.
 *
 * If the operation has ended already, the task work is queued. The submitter may be stopped, and
 * not run it for any time. So the command is no longer one that can be cancelled, or the exit of
 * the ring would spin. io_uring clears this flag and takes the command off the list of the ring
 * together, in io_uring_cmd_done(): uring_add_complete() sets it again for that.
 *
 * References and locks
 * ====================
 *
 * A request of io_uring holds a reference to its file until its completion queue entry is posted.
 * So a file is not released while it has an operation of a ring, even if its descriptors are
 * closed. uring_op_ended() must not use the file after it has queued the task work. op/ keeps the
 * operation until the callback has returned.
 *
 * The lock of the ring is a mutex, outside of all locks of this module. Submissions, cancellations
 * and task work hold it, but workers of io_uring do not. It protects struct uring_add, which a
 * worker writes before the command can be cancelled, and uring_add_fail() before it queues the task
 * work. uring_op_ended() does not take it: a command of any ring can end any operation. It only
 * tests whether it runs within uring_cancel(), and if so, changes the members for it.
 *
 *	thread that ends the operation		task work
 *	------------------------------		---------
 *	write the result
 *	llist_add(), a full barrier		llist_del_all()
 *						read the result
 */
#include "../compat.h"
#include "uring.h"

#ifdef TWHEEL_HAS_URING

#include <linux/io_uring/cmd.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "args.h"
#include "event.h"
#include "file.h"
#include "ioctl.h"

/**
 * struct uring_add - a pending add, in the command
 * @file_op: the operation, with the reference of its event queue
 * @event: address for the event, or 0
 * @canceller: task that calls uring_cancel(), or NULL
 * @error: the operation did not become pending
 * @exits: the exit of the ring has cancelled the operation
 * @ended: the operation has ended within uring_cancel(), which completes the command
 */
struct uring_add {
	struct twheel_file_op	*file_op;
	u64			event;
	struct task_struct	*canceller;
	int			error;
	bool			exits;
	bool			ended;
};

/**
 * struct uring_call - a command that is being submitted
 * @call: the call
 * @cmd: the command
 * @issue_flags: of the submission
 * @add: address of the arguments of an add
 * @id: the caller's value of its output field
 * @event: as in struct uring_add
 * @written: an id has been written there
 * @queued: the command is pending
 */
struct uring_call {
	struct twheel_ioctl		call;
	struct io_uring_cmd		*cmd;
	unsigned int			issue_flags;
	struct twheel_add_args __user	*add;
	u64				id;
	u64				event;
	bool				written;
	bool				queued;
};

/* Space for the structure of a call in an entry of 128 bytes. */
#define ENTRY_ARGS	(2 * sizeof(struct io_uring_sqe) - offsetof(struct io_uring_sqe, cmd) - \
			 sizeof(struct twheel_uring_args))

/*
 * Copy the event of an ended operation to the memory of the submitter, which is that of the current
 * task, unless this is a kernel thread. Returns the reason, or -ENODATA.
 */
static int uring_deliver(struct twheel_file_op *file_op, u64 address)
{
	struct twheel_event event;

	if (!address)
		return file_op->op.reason;
	/* An exiting task may have no time namespace any more, which the event needs. */
	if (current->flags & (PF_KTHREAD | PF_EXITING))
		return -ENODATA;
	twheel_event_fill(file_op, &event);
	if (copy_to_user(u64_to_user_ptr(address), &event, sizeof(event)))
		return -ENODATA;
	return event.reason;
}

/* Complete the command of an add, with the lock of the ring held. */
static void uring_add_complete(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct uring_add *add = io_uring_cmd_to_pdu(cmd, struct uring_add);
	struct twheel_file_op *file_op = add->file_op;
	struct twheel_events *events = file_op->events;
	int res = add->error;

	if (unlikely(add->exits))
		res = -ECANCELED;
	else if (likely(!res))
		res = uring_deliver(file_op, add->event);
	/* A reader may forget the operation at once. */
	if (unlikely(res == -ENODATA))
		twheel_events_wake(events, twheel_event_return(file_op));
	else
		twheel_file_ops_forget(&file_op, 1);
	/* See uring_cancel(). */
	cmd->flags |= IORING_URING_CMD_CANCELABLE;
	twheel_uring_done(cmd, res, issue_flags);
}

TWHEEL_URING_TASK_WORK(uring_op_done, uring_add_complete)

/* Callback of an operation that has ended. */
static void uring_op_ended(struct twheel_op *op)
{
	struct twheel_file_op *file_op = container_of(op, struct twheel_file_op, op);
	struct uring_add *add = io_uring_cmd_to_pdu(file_op->cmd, struct uring_add);

	twheel_events_leave(file_op);
	/* Other tasks may read any value but their own. */
	if (unlikely(READ_ONCE(add->canceller) == current)) {
		add->ended = true;
		return;
	}
	/* It posts one entry: a task that waits for several need not be woken for each. */
	io_uring_cmd_do_in_task_lazy(file_op->cmd, uring_op_done);
}

static const struct twheel_op_ops uring_op_ops = {
	.ended		= uring_op_ended,
	.release	= twheel_file_op_release,
	.looked_up	= true,
};

/* The id is written before the operation can end: after that, the structure may be gone. */
static int uring_add_begin(struct twheel_ioctl *call, struct twheel_file_op *file_op,
			   const struct twheel_add_args *args)
{
	struct uring_call *uc = container_of(call, struct uring_call, call);

	uc->id = args->id;
	if (args->flags & TWHEEL_ADD_DETACHED && uc->event)
		return -EINVAL;
	/* A command completes once. */
	if (args->period && !(args->flags & TWHEEL_ADD_DETACHED))
		return -EOPNOTSUPP;
	if (copy_to_user(&uc->add->id, &file_op->id, sizeof(file_op->id)))
		return -EFAULT;
	uc->written = true;
	if (args->flags & TWHEEL_ADD_DETACHED)
		return 0;
	/* Not read before the operation is pending. */
	file_op->op.ops = &uring_op_ops;
	file_op->cmd = uc->cmd;
	*io_uring_cmd_to_pdu(uc->cmd, struct uring_add) = (struct uring_add) {
		.file_op	= file_op,
		.event		= uc->event,
	};
	uc->queued = true;
	io_uring_cmd_mark_cancelable(uc->cmd, uc->issue_flags);
	return 0;
}

static bool uring_add_fail(struct twheel_ioctl *call, struct twheel_file_op *file_op, int err)
{
	struct uring_call *uc = container_of(call, struct uring_call, call);

	if (uc->written && copy_to_user(&uc->add->id, &uc->id, sizeof(uc->id)))
		err = -EFAULT;
	if (!uc->queued)
		return false;
	/* uring_cancel() may read it. */
	WRITE_ONCE(io_uring_cmd_to_pdu(uc->cmd, struct uring_add)->error, err);
	io_uring_cmd_complete_in_task(uc->cmd, uring_op_done);
	return true;
}

static const struct twheel_ring uring_ring = {
	.begin	= uring_add_begin,
	.fail	= uring_add_fail,
};

/*
 * The ring or the process exits. The lock of the ring is held.
 *
 * The callback of the operation usually runs within this call. If another task runs it, this task
 * queues the task work, which waits for the lock of the ring.
 */
static void uring_cancel(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct uring_add *add = io_uring_cmd_to_pdu(cmd, struct uring_add);
	int err;

	WRITE_ONCE(add->canceller, current);
	if (twheel_uring_defers(current))
		WRITE_ONCE(add->canceller, NULL);
	err = twheel_op_cancel(&add->file_op->op);
	if (!err)
		add->exits = true;
	WRITE_ONCE(add->canceller, NULL);
	if (add->ended)
		uring_add_complete(cmd, issue_flags);
	else if (err != -ENOENT || READ_ONCE(add->error))
		cmd->flags &= ~IORING_URING_CMD_CANCELABLE;
	/* The caller visits all commands of the ring. */
	cond_resched();
}

/*
 * Returns -EIOCBQUEUED for an add, or the result: the first output field of the call, 0 without
 * one, or an error. io_uring itself refuses unknown flags with -EINVAL.
 */
int twheel_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct io_uring_sqe *sqe = cmd->sqe;
	const struct twheel_uring_args *area;
	struct uring_call uc;
	void __user *user;
	const void *entry;
	bool is_add;
	int res;

	if (unlikely(issue_flags & IO_URING_F_CANCEL)) {
		uring_cancel(cmd, issue_flags);
		return 0;
	}
	if (twheel_uring_polls(cmd))
		return -EOPNOTSUPP;
	area = (const void *)sqe->cmd;
	user = u64_to_user_ptr(READ_ONCE(area->args));
	uc.event = READ_ONCE(area->event);
	is_add = _IOC_NR(cmd->cmd_op) == TWHEEL_CALL_ADD;
	if (cmd->flags & IORING_URING_CMD_MASK || READ_ONCE(sqe->addr) || READ_ONCE(sqe->len) ||
	    (uc.event && !is_add))
		return -EINVAL;
	entry = NULL;
	if (issue_flags & IO_URING_F_SQE128 && !user && _IOC_SIZE(cmd->cmd_op) <= ENTRY_ARGS)
		entry = area + 1;
	uc.call.ring = is_add ? &uring_ring : NULL;
	uc.cmd = cmd;
	uc.issue_flags = issue_flags;
	uc.add = user;
	uc.written = false;
	uc.queued = false;
	res = twheel_ring_call(&uc.call, cmd->file, cmd->cmd_op, user, entry);
	return uc.queued ? -EIOCBQUEUED : res;
}

#endif /* TWHEEL_HAS_URING */
