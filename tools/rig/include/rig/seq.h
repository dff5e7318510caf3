/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text files in debugfs, sysfs and fdinfo; rig_debugfs_read() reads them.
 */
#ifndef _RIG_SEQ_H
#define _RIG_SEQ_H

#include <rig/bug.h>

struct seq_file {
	char	*buf;
	size_t	size;
	size_t	count;
};

void seq_printf(struct seq_file *file, const char *fmt, ...) __printf(2, 3);
void seq_puts(struct seq_file *file, const char *text);
void seq_putc(struct seq_file *file, char c);
#define seq_has_overflowed(file)	((file)->count == (file)->size)

struct file_operations;
struct dentry;

#define DEFINE_SHOW_ATTRIBUTE(name)					\
static const struct file_operations name##_fops = { .rig_show = name##_show }

struct dentry *debugfs_create_dir(const char *name, struct dentry *parent);
struct dentry *debugfs_create_file(const char *name, umode_t mode, struct dentry *parent,
				   void *data, const struct file_operations *fops);
void debugfs_remove(struct dentry *dentry);
ssize_t rig_debugfs_read(const char *name, char *buf, size_t size);

#endif /* _RIG_SEQ_H */
