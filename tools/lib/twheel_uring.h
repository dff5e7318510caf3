/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands of io_uring for purgatories: each function prepares a submission queue entry, for
 * example one of io_uring_get_sqe(). The header needs neither liburing nor -ltwheel. See
 * twheel_uring_prep_add(3).
 *
 * Set the user data after the preparation. The structure of a call is read when the entry is
 * submitted. The functions do not set sizes: key_size, command_size and result_size are the
 * caller's.
 */
#ifndef TWHEEL_URING_H
#define TWHEEL_URING_H

#include <stdint.h>
#include <string.h>
#include <linux/io_uring.h>
#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * twheel_uring_prep() - prepare an entry for any call
 * @sqe: the entry, which is overwritten but for the second half of 128 bytes
 * @fd: the purgatory
 * @cmd_op: TWHEEL_IOC_*
 * @args: its structure
 */
static inline void twheel_uring_prep(struct io_uring_sqe *sqe, int fd, unsigned int cmd_op,
				     void *args)
{
	struct twheel_uring_args area;

	memset(&area, 0, sizeof(area));
	area.args = (uintptr_t)args;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = cmd_op;
	memcpy((char *)sqe + sizeof(*sqe) - sizeof(area), &area, sizeof(area));
}

/**
 * twheel_uring_embed() - move the structure of a prepared call into the entry
 * @sqe: the entry, of 128 bytes; not for TWHEEL_IOC_ADD
 *
 * The structure is not used any more, and receives no output.
 */
static inline void twheel_uring_embed(struct io_uring_sqe *sqe)
{
	struct twheel_uring_args area;
	char *at = (char *)sqe + sizeof(*sqe) - sizeof(area);

	memcpy(&area, at, sizeof(area));
	memcpy(sqe + 1, (const void *)(uintptr_t)area.args, _IOC_SIZE(sqe->cmd_op));
	area.args = 0;
	area.flags = TWHEEL_URING_INLINE;
	memcpy(at, &area, sizeof(area));
}

/**
 * twheel_uring_prep_read() - read all events, into provided buffers
 * @sqe: the entry
 * @fd: the purgatory, or a queue of detached operations
 * @group: group of the buffers; each has the size of some struct twheel_event
 *
 * IORING_OP_READ_MULTISHOT, of Linux 6.7: an entry completes for each buffer of events, until one
 * without IORING_CQE_F_MORE.
 */
static inline void twheel_uring_prep_read(struct io_uring_sqe *sqe, int fd, unsigned short group)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = 49;	/* older headers do not have it */
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->fd = fd;
	sqe->buf_group = group;
}

/*
 * Commands. They complete at once, and their result is the first output field of @args, or 0. That
 * of an add is 0, and its id is in @args.
 */

static inline void twheel_uring_prep_add(struct io_uring_sqe *sqe, int fd,
					 struct twheel_add_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_ADD, args);
}

static inline void twheel_uring_prep_cancel(struct io_uring_sqe *sqe, int fd,
					    struct twheel_cancel_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_CANCEL, args);
}

static inline void twheel_uring_prep_complete(struct io_uring_sqe *sqe, int fd,
					      struct twheel_complete_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_COMPLETE, args);
}

static inline void twheel_uring_prep_rearm(struct io_uring_sqe *sqe, int fd,
					   struct twheel_rearm_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_REARM, args);
}

static inline void twheel_uring_prep_watch(struct io_uring_sqe *sqe, int fd,
					   struct twheel_watch_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_WATCH, args);
}

static inline void twheel_uring_prep_unwatch(struct io_uring_sqe *sqe, int fd,
					     struct twheel_unwatch_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_UNWATCH, args);
}

static inline void twheel_uring_prep_signal(struct io_uring_sqe *sqe, int fd,
					    struct twheel_signal_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_SIGNAL, args);
}

static inline void twheel_uring_prep_cancel_key(struct io_uring_sqe *sqe, int fd,
						struct twheel_cancel_key_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_CANCEL_KEY, args);
}

static inline void twheel_uring_prep_batch(struct io_uring_sqe *sqe, int fd,
					   struct twheel_batch_args *args)
{
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_BATCH, args);
}

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_URING_H */
