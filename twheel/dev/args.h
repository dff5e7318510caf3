/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the calls and their arguments, see ioctl.c. */
#ifndef _TWHEEL_DEV_ARGS_H
#define _TWHEEL_DEV_ARGS_H

#include <linux/err.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "../compat.h"

struct file;
struct io_uring_cmd;
struct twheel_file;
struct twheel_ioctl;

/* Number of keys that fit into struct twheel_ioctl. */
#define TWHEEL_CALL_KEYS	4

/**
 * struct twheel_ioctl - an ioctl, or a command of io_uring, in progress
 * @file: the open file; NULL on the control node
 * @few: keys, if there are at most TWHEEL_CALL_KEYS
 * @many: array of TWHEEL_MAX_KEYS, allocated on demand and freed at the end of the ioctl
 * @opened: new file to install in the returned descriptor, or NULL; of a call that opens one
 */
struct twheel_ioctl {
	struct twheel_file		*file;
	struct twheel_watch_spec	few[TWHEEL_CALL_KEYS];
	struct twheel_watch_spec	*many;
	struct file			*opened;
};

/* The argument structures of all calls. */
union twheel_call_args {
	struct twheel_add_args		add;
	struct twheel_cancel_args	cancel;
	struct twheel_complete_args	complete;
	struct twheel_rearm_args	rearm;
	struct twheel_watch_args	watch;
	struct twheel_unwatch_args	unwatch;
	struct twheel_signal_args	signal;
	struct twheel_cancel_key_args	cancel_key;
	struct twheel_exchange_args	exchange;
	struct twheel_batch_args	batch;
	struct twheel_complete_all_args	complete_all;
	struct twheel_drain_args	drain;
	struct twheel_events_args	events;
	struct twheel_confirm_args	confirm;
	struct twheel_restrict_args	restrict_file;
	struct twheel_cells_args	cells;
	struct twheel_info_args		info;
	struct twheel_list_args		list;
	struct twheel_query_args	query;
	struct twheel_queue_args	queue;
	struct twheel_create_args	create;
	struct twheel_remove_args	remove;
};

/* The calls, see ioctl.c. */
int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_events(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_confirm(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_restrict(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_info(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_list(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_queue(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cells(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_exchange(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_create(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_remove(struct twheel_ioctl *call, union twheel_call_args *args);

int twheel_entry_check(u32 size, size_t known);
int twheel_entry_write(u64 array, u32 index, u32 size, const void *from, size_t known);
void twheel_file_query(struct twheel_file *file, struct twheel_query_args *query);
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long twheel_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long twheel_events_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
#ifdef TWHEEL_HAS_URING
int twheel_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
#else
#define twheel_uring_cmd	NULL	/* io_uring refuses the commands with -EOPNOTSUPP */
#endif
struct twheel_watch_spec *twheel_call_keys(struct twheel_ioctl *call);
const struct twheel_watch_spec *__twheel_call_specs(struct twheel_ioctl *call, u64 keys,
						    u32 nr_keys, u32 key_size);

/*
 * Copy the keys of a call. The array is valid until the next use or the end of the call.
 * Returns NULL for no keys, or -EINVAL for too many or a bad size, -E2BIG, -EFAULT, -ENOMEM.
 */
static inline const struct twheel_watch_spec *
twheel_call_specs(struct twheel_ioctl *call, u64 keys, u32 nr_keys, u32 key_size)
{
	if (nr_keys)
		return __twheel_call_specs(call, keys, nr_keys, key_size);
	return keys || key_size ? ERR_PTR(-EINVAL) : NULL;
}

#endif /* _TWHEEL_DEV_ARGS_H */
