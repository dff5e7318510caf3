/* SPDX-License-Identifier: GPL-2.0 */
/* Commands of io_uring, as far as dev/ioctl.c sees them. No program of the rig submits any. */
#ifndef _RIG_URING_H
#define _RIG_URING_H

#include <rig/fs.h>

#define IO_URING_F_SQE128		BIT(8)
#define IORING_URING_CMD_MASK		1

struct io_uring_sqe {
	u8	opcode;
	u8	flags;
	u16	ioprio;
	s32	fd;
	u32	cmd_op;
	u32	__pad1;
	u64	addr;
	u32	len;
	u32	uring_cmd_flags;
	u64	user_data;
	u16	buf_index;
	u16	personality;
	u32	file_index;
	u8	cmd[16];	/* more in an entry of 128 bytes */
};

struct io_uring_cmd {
	struct file			*file;
	const struct io_uring_sqe	*sqe;
	u32				cmd_op;
	u32				flags;
};

#define EIOCBQUEUED	529

static inline void io_uring_cmd_done(struct io_uring_cmd *cmd, ssize_t ret, u64 res2,
				     unsigned int issue_flags)
{
}

#endif /* _RIG_URING_H */
