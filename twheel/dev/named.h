/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: named purgatories, see named.c. */
#ifndef _TWHEEL_DEV_NAMED_H
#define _TWHEEL_DEV_NAMED_H

#include <linux/init.h>

#include "args.h"
#include "instance.h"

struct inode;

int __init twheel_named_init(void);
void twheel_named_exit(void);
struct twheel_instance *twheel_named_open(struct inode *inode);

#endif /* _TWHEEL_DEV_NAMED_H */
