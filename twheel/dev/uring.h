/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: commands of io_uring, see uring.c. */
#ifndef _TWHEEL_DEV_URING_H
#define _TWHEEL_DEV_URING_H

#include <linux/stddef.h>

#include "../compat.h"

struct io_uring_cmd;

#ifdef TWHEEL_HAS_URING
int twheel_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
#else
#define twheel_uring_cmd	NULL	/* io_uring refuses the commands with -EOPNOTSUPP */
#endif

#endif /* _TWHEEL_DEV_URING_H */
