/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Character devices: files from open to close, see open.c; named purgatories, see named.c; the
 * nodes, see device.c.
 */
#ifndef _TWHEEL_DEV_OPEN_H
#define _TWHEEL_DEV_OPEN_H

#include <linux/fs.h>
#include <linux/init.h>
#include <linux/poll.h>

#include "args.h"
#include "instance.h"

struct iov_iter;
struct seq_file;
struct twheel_detached;

/* In device.c, since they name all calls */
extern const struct file_operations twheel_file_fops;
extern const struct file_operations twheel_events_fops;

extern bool twheel_device_ready;

int twheel_open(struct inode *inode, struct file *file);
struct file *twheel_open_anon(struct twheel_instance *instance, struct twheel_detached *detached,
			      int flags);
int twheel_release(struct inode *inode, struct file *file);
struct twheel_instance *twheel_file_instance(struct file *file);
ssize_t twheel_read_iter(struct kiocb *iocb, struct iov_iter *to);
__poll_t twheel_poll(struct file *file, struct poll_table_struct *wait);
void twheel_file_show(struct seq_file *m, struct file *file);
void twheel_events_show(struct seq_file *m, struct file *file);
int __init twheel_named_init(void);
void twheel_named_exit(void);
struct twheel_instance *twheel_named_open(struct inode *inode);
int __init twheel_device_init(void);
void twheel_device_exit(void);

#endif /* _TWHEEL_DEV_OPEN_H */
