/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 6: named purgatories. See named.c. */
#ifndef _TWHEEL_NAMED_H
#define _TWHEEL_NAMED_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>

#include "device.h"

/**
 * struct twheel_named - a named purgatory
 * @instance: the purgatory
 * @dev: its device, whose references are those to all of this
 * @cdev: its character device
 * @entry: in all_named; protected by named_lock
 * @name: immutable
 * @max_watches: immutable
 * @creator: user who may remove it; immutable
 * @uid: owner of the node at its creation; immutable
 * @gid: group of the node; immutable
 * @mode: permissions of the node; immutable
 * @end: ends it after the name was taken away
 * @ended: by @end
 * @cancelled: number of operations that @end cancelled
 */
struct twheel_named {
	struct twheel_instance	instance;
	struct device		dev;
	struct cdev		cdev;
	struct list_head	entry;
	char			name[TWHEEL_NAME_SIZE];
	u32			max_watches;
	struct twheel_user	*creator;
	kuid_t			uid;
	kgid_t			gid;
	umode_t			mode;
	struct work_struct	end;
	struct completion	ended;
	u32			cancelled;
};

static inline struct twheel_named *to_twheel_named(struct device *dev)
{
	return container_of(dev, struct twheel_named, dev);
}

/* named_sysfs.c */
extern const struct attribute_group *twheel_named_groups[];

#endif /* _TWHEEL_NAMED_H */
