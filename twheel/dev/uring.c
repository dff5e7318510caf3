// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: commands of io_uring (IORING_OP_URING_CMD).
 *
 * A command is a call of a batch, or a batch. It has the structure and the checks of the ioctl, and
 * the credentials of its submission: io_uring overrides those of the current task for a
 * personality, for SQPOLL and for its workers. These threads share the memory and the namespaces of
 * the submitter.
 *
 * All commands complete at once, with the lock of the ring held, also if they must not block
 * (IO_URING_F_NONBLOCK): they sleep for memory at most, as io_uring itself does. Workers would
 * execute them in any order. Events are read, for example by IORING_OP_READ_MULTISHOT.
 */
#include "../compat.h"
#include "uring.h"

#ifdef TWHEEL_HAS_URING

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/io_uring/cmd.h>
#include <linux/kernel.h>
#include <linux/twheel.h>

#include "args.h"

/* Space for the structure of a call in an entry of 128 bytes. */
#define ENTRY_ARGS	(2 * sizeof(struct io_uring_sqe) - offsetof(struct io_uring_sqe, cmd) - \
			 sizeof(struct twheel_uring_args))

/* io_uring itself refuses unknown flags of the entry with -EINVAL. */
int twheel_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct twheel_uring_args *area = (const void *)cmd->sqe->cmd;
	void __user *user = u64_to_user_ptr(READ_ONCE(area->args));
	u32 flags = READ_ONCE(area->flags);

	if (cmd->flags & IORING_URING_CMD_MASK || READ_ONCE(cmd->sqe->addr) ||
	    READ_ONCE(cmd->sqe->len) || flags & ~TWHEEL_URING_INLINE || READ_ONCE(area->reserved))
		return -EINVAL;
	if (!(flags & TWHEEL_URING_INLINE))
		return twheel_ring_call(cmd->file, cmd->cmd_op, user, NULL);
	if (user || !(issue_flags & IO_URING_F_SQE128) || _IOC_SIZE(cmd->cmd_op) > ENTRY_ARGS)
		return -EINVAL;
	return twheel_ring_call(cmd->file, cmd->cmd_op, NULL, area + 1);
}

#endif /* TWHEEL_HAS_URING */
