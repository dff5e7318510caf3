/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: limits and counts, see query.c. */
#ifndef _TWHEEL_DEV_QUERY_H
#define _TWHEEL_DEV_QUERY_H

#include <linux/twheel.h>

#include "args.h"
#include "file.h"
#include "instance.h"

void twheel_file_query(struct twheel_file *file, struct twheel_query_args *query);
int twheel_call_queue(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args);

#endif /* _TWHEEL_DEV_QUERY_H */
