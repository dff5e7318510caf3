/* SPDX-License-Identifier: GPL-2.0 */
/* The debugfs directory. See debugfs.c and buckets.c. */
#ifndef _TWHEEL_DEBUGFS_H
#define _TWHEEL_DEBUGFS_H

#include <linux/init.h>
#include <linux/twheel.h>

struct seq_file;

const char *twheel_clock_name(enum twheel_clock clock);
void twheel_buckets_show(struct seq_file *file);
void __init twheel_debugfs_init(void);
void twheel_debugfs_exit(void);

#endif /* _TWHEEL_DEBUGFS_H */
