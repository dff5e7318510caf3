/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the ioctl table, see ioctl.c. */
#ifndef _TWHEEL_DEV_IOCTL_H
#define _TWHEEL_DEV_IOCTL_H

#include <linux/compiler.h>

struct file;

long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long twheel_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long twheel_events_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int twheel_ring_call(struct file *file, unsigned int cmd, void __user *user, const void *entry);

#endif /* _TWHEEL_DEV_IOCTL_H */
