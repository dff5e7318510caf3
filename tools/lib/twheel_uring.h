/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands of io_uring for purgatories: each function prepares a submission queue entry, for
 * example one of io_uring_get_sqe(). The header needs neither liburing nor -ltwheel. See
 * twheel_uring_prep_add(3).
 *
 * Set the user data after the preparation. The structure of a call is read when the entry is
 * submitted. The functions do not set sizes: key_size, and size and result_size of a batch, are the
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
 * twheel_uring_prep() - prepare an entry for a call that io_uring has
 * @sqe: the entry, which is overwritten but for the second half of 128 bytes
 * @fd: the purgatory
 * @cmd_op: TWHEEL_IOC_ADD to TWHEEL_IOC_BATCH
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

#define TWHEEL_URING_PREP(name, NAME)						\
static inline void twheel_uring_prep_##name(struct io_uring_sqe *sqe, int fd,	\
					    struct twheel_##name##_args *args)	\
{										\
	twheel_uring_prep(sqe, fd, TWHEEL_IOC_##NAME, args);			\
}

TWHEEL_URING_PREP(add, ADD)
TWHEEL_URING_PREP(cancel, CANCEL)
TWHEEL_URING_PREP(complete, COMPLETE)
TWHEEL_URING_PREP(rearm, REARM)
TWHEEL_URING_PREP(watch, WATCH)
TWHEEL_URING_PREP(unwatch, UNWATCH)
TWHEEL_URING_PREP(signal, SIGNAL)
TWHEEL_URING_PREP(cancel_key, CANCEL_KEY)
TWHEEL_URING_PREP(batch, BATCH)

#undef TWHEEL_URING_PREP

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_URING_H */
