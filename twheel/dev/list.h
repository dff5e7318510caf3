/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: calls that list operations, see list.c. */
#ifndef _TWHEEL_DEV_LIST_H
#define _TWHEEL_DEV_LIST_H

#include "args.h"

int twheel_call_info(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_list(struct twheel_ioctl *call, union twheel_call_args *args);

#endif /* _TWHEEL_DEV_LIST_H */
