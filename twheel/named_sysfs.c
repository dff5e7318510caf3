// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, named purgatories: /sys/class/twheel/twheel-NAME.
 *
 * One number in each file; see Documentation/ABI/testing/sysfs-class-twheel.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "named.h"

#define SHOW(name, format, value)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr,	\
			   char *buf)						\
{										\
	struct twheel_named *named = to_twheel_named(dev);			\
										\
	return sysfs_emit(buf, format "\n", value);				\
}										\
static DEVICE_ATTR_RO(name)

#define SHOW_STAT(name, value)							\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr,	\
			   char *buf)						\
{										\
	struct twheel_named *named = to_twheel_named(dev);			\
	struct twheel_purgatory_stats stats;					\
										\
	twheel_purgatory_stats(named->instance.purgatory, &stats);			\
	return sysfs_emit(buf, "%llu\n", (u64)(value));				\
}										\
static DEVICE_ATTR_RO(name)

SHOW(max_pending, "%u", named->instance.max_pending);
SHOW(max_file_pending, "%u", named->instance.max_file_pending);
SHOW(max_watches, "%u", named->max_watches);
SHOW(files, "%u", READ_ONCE(named->instance.nr_files));
SHOW(detached, "%u", READ_ONCE(named->instance.detached.nr_pending));
SHOW(detached_unread, "%u", READ_ONCE(named->instance.detached.unread));
SHOW_STAT(pending, stats.pending);
SHOW_STAT(keys, stats.keys);
SHOW_STAT(watches, stats.watches);
SHOW_STAT(added, stats.added);
SHOW_STAT(completed, stats.ended[TWHEEL_COMPLETED]);
SHOW_STAT(expired, stats.ended[TWHEEL_EXPIRED]);
SHOW_STAT(cancelled, stats.ended[TWHEEL_CANCELLED]);
SHOW_STAT(rejected, stats.rejected + atomic64_read(&named->instance.rejected));

static struct attribute *twheel_named_attrs[] = {
	&dev_attr_max_pending.attr,
	&dev_attr_max_file_pending.attr,
	&dev_attr_max_watches.attr,
	&dev_attr_files.attr,
	&dev_attr_detached.attr,
	&dev_attr_detached_unread.attr,
	&dev_attr_pending.attr,
	&dev_attr_keys.attr,
	&dev_attr_watches.attr,
	&dev_attr_added.attr,
	&dev_attr_completed.attr,
	&dev_attr_expired.attr,
	&dev_attr_cancelled.attr,
	&dev_attr_rejected.attr,
	NULL
};

static const struct attribute_group twheel_named_group = {
	.attrs = twheel_named_attrs,
};

const struct attribute_group *twheel_named_groups[] = { &twheel_named_group, NULL };
