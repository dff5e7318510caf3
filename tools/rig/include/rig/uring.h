/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands of io_uring, as far as a driver sees them: the lock of the ring, its list of commands
 * that can be cancelled, task work, workers, and the reference of a request to its file.
 * kernel/uring.c follows io_uring/uring_cmd.c of Linux 6.12.
 */
#ifndef _RIG_URING_H
#define _RIG_URING_H

#include <rig/fs.h>

#define IO_URING_F_COMPLETE_DEFER	1
#define IO_URING_F_UNLOCKED		2
#define IO_URING_F_SQE128		BIT(8)
#define IO_URING_F_CANCEL		BIT(11)
#define IO_URING_F_NONBLOCK		INT_MIN
#define IORING_URING_CMD_MASK		1
#define IORING_URING_CMD_CANCELABLE	BIT(30)
#define EIOCBQUEUED			529
#define PF_EXITING			4
#define PF_KTHREAD			0x200000

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
	void				(*task_work_cb)(struct io_uring_cmd *cmd,
							unsigned int flags);
	u32				cmd_op;
	u32				flags;
	u8				pdu[32];
};

#define io_uring_cmd_to_pdu(cmd, type) ({				\
	BUILD_BUG_ON(sizeof(type) > sizeof((cmd)->pdu));		\
	(type *)(cmd)->pdu; })

void io_uring_cmd_done(struct io_uring_cmd *cmd, ssize_t res, u64 res2, unsigned int issue_flags);
void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags);
void io_uring_cmd_complete_in_task(struct io_uring_cmd *cmd,
				   void (*fn)(struct io_uring_cmd *cmd, unsigned int flags));
#define io_uring_cmd_do_in_task_lazy(cmd, fn) io_uring_cmd_complete_in_task(cmd, fn)

/* For programs. @complete is called once for each command, with the lock of the ring held. */
struct rig_ring;
struct rig_ring *rig_ring_new(void (*complete)(u64 user_data, int res));
/* Submit a command, by a worker if @worker; @sqe->fd is ignored. */
void rig_ring_submit(struct rig_ring *ring, struct file *file, const struct io_uring_sqe *sqe,
		     bool worker);
/* Run the task work in this thread, the submitter. */
void rig_ring_work(struct rig_ring *ring);
/* Run it as io_uring does after the submitter has exited. */
void rig_ring_work_fallback(struct rig_ring *ring);
/* Cancel all commands, wait for them, and free the ring: the work item of a closed ring. */
void rig_ring_exit(struct rig_ring *ring);

#endif /* _RIG_URING_H */
