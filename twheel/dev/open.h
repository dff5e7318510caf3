/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the nodes and their files, see open.c; named purgatories, see named.c. */
#ifndef _TWHEEL_DEV_OPEN_H
#define _TWHEEL_DEV_OPEN_H

#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kdev_t.h>
#include <linux/types.h>

#include "args.h"
#include "instance.h"

struct twheel_detached;

/* Minor numbers, of one region and one class. Named purgatories have those from the third on. */
enum {
	TWHEEL_MINOR_PRIVATE,
	TWHEEL_MINOR_CONTROL,
	TWHEEL_MINOR_NAMED,
};

#define TWHEEL_NR_MINORS	BIT(MINORBITS)

extern dev_t twheel_devt;	/* the first one */
extern struct class *twheel_class;
extern const struct file_operations twheel_file_fops;

struct file *twheel_open_anon(struct twheel_instance *instance, struct twheel_detached *detached,
			      int flags);
struct twheel_instance *twheel_file_instance(struct file *file);
int __init twheel_named_init(void);
void twheel_named_exit(void);
struct twheel_instance *twheel_named_open(struct inode *inode);
int __init twheel_device_init(void);
void twheel_device_exit(void);

#endif /* _TWHEEL_DEV_OPEN_H */
