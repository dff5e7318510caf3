/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 6: a named purgatory, and what sysfs shows of it. See named.c. */
#ifndef _TWHEEL_NAMED_H
#define _TWHEEL_NAMED_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>

#include "device.h"

/**
 * struct twheel_named - a named purgatory
 * @share: what all who open it share
 * @detached: operations that outlive the files through which they were added
 * @dev: its device; the references to it are those to all of this
 * @cdev: likewise, for who opens it
 * @entry: among all; protected by named_lock
 * @name: immutable
 * @max_watches: immutable
 * @creator: who may remove it; immutable
 * @uid: owner of the node when it was made; immutable
 * @gid: and its group
 * @mode: and its permissions
 */
struct twheel_named {
	struct twheel_share	share;
	struct twheel_box	detached;
	struct device		dev;
	struct cdev		cdev;
	struct list_head	entry;
	char			name[TWHEEL_NAME_SIZE];
	u32			max_watches;
	kuid_t			creator;
	kuid_t			uid;
	kgid_t			gid;
	umode_t			mode;
};

static inline struct twheel_named *to_twheel_named(struct device *dev)
{
	return container_of(dev, struct twheel_named, dev);
}

/* named_sysfs.c */
extern const struct attribute_group *twheel_named_groups[];

#endif /* _TWHEEL_NAMED_H */
