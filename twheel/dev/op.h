/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: calls on operations and keys, see op.c. */
#ifndef _TWHEEL_DEV_OP_H
#define _TWHEEL_DEV_OP_H

#include "args.h"

int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args);

#endif /* _TWHEEL_DEV_OP_H */
