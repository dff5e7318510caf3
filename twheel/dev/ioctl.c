// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the ioctl table, argument structures and batches.
 *
 * Each call has one argument structure. Its size is part of the ioctl number and may differ
 * from the kernel's: in a longer structure the unknown bytes must be zero, in a shorter one
 * (of an older program) the missing fields are zero. The output fields are adjacent and are the
 * only fields written back; their input is ignored. Array entries follow the same rules.
 *
 * Most calls cannot be undone. The output is therefore written once before the call, unchanged,
 * to detect bad addresses, and once after it.
 *
 * The functions twheel_call_*() execute the calls. Each checks its arguments and sets the output
 * fields in them, also for -EINTR. Documentation/device-calls.rst and device-files.rst list the
 * errors.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/ioctls.h>

#include "args.h"
#include "event.h"
#include "file.h"
#include "ioctl.h"
#include "list.h"
#include "named.h"
#include "op.h"
#include "open.h"
#include "query.h"

/**
 * struct call_info - an entry of the ioctl table
 * @cmd: ioctl number, with the current size
 * @min_size: size of the first version of the structure
 * @output: offset of the output fields
 * @output_end: end of the output fields of the first version
 * @mode: FMODE_READ, FMODE_WRITE or both: the file must be open for that; 0 for any file
 * @right: right of the file, or 0 if every file may make the call, or the function checks it
 * @opens: returns a descriptor
 * @call: function
 */
struct call_info {
	unsigned int	cmd;
	u16		min_size;
	u16		output;
	u16		output_end;
	u32		right;
	fmode_t		mode;
	bool		opens;
	int		(*call)(struct twheel_ioctl *call, union twheel_call_args *args);
};

#define CALL(NAME, name, last, needs, rights, ...)					\
	[TWHEEL_CALL_##NAME] = {							\
		.cmd		= TWHEEL_IOC_##NAME,					\
		.min_size	= offsetofend(struct twheel_##name##_args, last),	\
		.mode		= needs,						\
		.right		= rights,						\
		.call		= twheel_call_##name,					\
		__VA_ARGS__								\
	}

#define CALL_OUTPUT(NAME, name, last, needs, rights, from, to, ...)			\
	[TWHEEL_CALL_##NAME] = {							\
		.cmd		= TWHEEL_IOC_##NAME,					\
		.min_size	= offsetofend(struct twheel_##name##_args, last),	\
		.output		= offsetof(struct twheel_##name##_args, from),		\
		.output_end	= offsetofend(struct twheel_##name##_args, to),		\
		.mode		= needs,						\
		.right		= rights,						\
		.call		= twheel_call_##name,					\
		__VA_ARGS__								\
	}

static int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args);

static const struct call_info calls[] = {
	CALL_OUTPUT(ADD, add, id, FMODE_WRITE, 0, id, id),
	CALL(CANCEL, cancel, reserved, FMODE_WRITE, TWHEEL_RIGHT_END),
	CALL(COMPLETE, complete, flags, FMODE_WRITE, TWHEEL_RIGHT_END),
	CALL_OUTPUT(REARM, rearm, moved, FMODE_WRITE, TWHEEL_RIGHT_REARM, moved, moved),
	CALL(WATCH, watch, reserved, FMODE_WRITE, TWHEEL_RIGHT_WATCH),
	CALL(UNWATCH, unwatch, reserved, FMODE_WRITE, TWHEEL_RIGHT_WATCH),
	CALL_OUTPUT(SIGNAL, signal, reserved, FMODE_WRITE, TWHEEL_RIGHT_SIGNAL,
		    completed, completed),
	CALL_OUTPUT(CANCEL_KEY, cancel_key, cancelled, FMODE_WRITE, TWHEEL_RIGHT_OTHERS,
		    cancelled, cancelled),
	CALL_OUTPUT(BATCH, batch, failed, FMODE_WRITE, 0, done, failed),
	CALL_OUTPUT(COMPLETE_ALL, complete_all, reserved, FMODE_WRITE, TWHEEL_RIGHT_END,
		    completed, completed),
	CALL_OUTPUT(DRAIN, drain, cancelled, FMODE_WRITE, TWHEEL_RIGHT_DRAIN, cancelled, cancelled),
	CALL(EVENTS, events, queue, FMODE_READ | FMODE_WRITE, TWHEEL_RIGHT_OTHERS, .opens = true),
	CALL(RESTRICT, restrict, rights, 0, 0),
	CALL(INFO, info, flags, FMODE_READ, TWHEEL_RIGHT_LIST),
	CALL_OUTPUT(LIST, list, cursor, FMODE_READ, TWHEEL_RIGHT_LIST, nr, cursor),
	CALL_OUTPUT(QUERY, query, name, FMODE_READ, TWHEEL_RIGHT_QUERY, max_pending, name),
	CALL_OUTPUT(CREATE, create, minor, FMODE_WRITE, 0, major, minor, .opens = true),
	CALL_OUTPUT(REMOVE, remove, cancelled, FMODE_WRITE, 0, cancelled, cancelled),
};

/* The arguments of a command are those of its call; the array leaves space for growth. */
static_assert(sizeof(struct twheel_command) == 128);
static_assert(offsetof(struct twheel_command, pad) == 8);

static const struct call_info *call_find(unsigned int nr)
{
	const struct call_info *info;

	if (nr >= ARRAY_SIZE(calls))
		return NULL;
	info = &calls[array_index_nospec(nr, ARRAY_SIZE(calls))];
	return info->call ? info : NULL;
}

static int call_do(struct twheel_ioctl *call, const struct call_info *info,
		   union twheel_call_args *args)
{
	/* A removed purgatory cannot be changed. */
	if (info->mode & FMODE_WRITE && call->file && READ_ONCE(call->file->instance->removed))
		return -ESHUTDOWN;
	if (info->right && !twheel_file_may(call->file, info->right))
		return -EPERM;
	return info->call(call, args);
}

static int output_write(const struct call_info *info, const union twheel_call_args *args,
			void __user *user)
{
	size_t size = info->output_end - info->output;

	if (copy_to_user(user + info->output, (const void *)args + info->output, size))
		return -EFAULT;
	return 0;
}

static int ioctl_do(struct twheel_ioctl *call, const struct call_info *info,
		    union twheel_call_args *args, void __user *user)
{
	int err, fd = 0;

	/* The output fields keep their value unless the call succeeds. */
	err = output_write(info, args, user);
	if (err)
		return err;
	/* A purgatory must not be created without a descriptor for it. */
	if (info->opens) {
		fd = get_unused_fd_flags(O_CLOEXEC);
		if (fd < 0)
			return fd;
	}
	err = call_do(call, info, args);
	kfree(call->many);
	if (!err || err == -EINTR)
		err = output_write(info, args, user) ?: err;
	if (!err && info->opens)
		fd_install(fd, call->opened);
	else if (call->opened)
		fput(call->opened);
	if (err && info->opens)
		put_unused_fd(fd);
	return err ?: fd;
}

static long ioctl(struct twheel_file *tf, struct file *file, unsigned int cmd, void __user *user)
{
	const struct call_info *info = call_find(_IOC_NR(cmd));
	struct twheel_ioctl call = { .file = tf, .readable = file->f_mode & FMODE_READ };
	size_t size = _IOC_SIZE(cmd);
	union twheel_call_args args;
	int err;

	if (_IOC_TYPE(cmd) != TWHEEL_IOC_MAGIC || !info || _IOC_DIR(cmd) != _IOC_DIR(info->cmd))
		return -ENOTTY;
	/* TWHEEL_CALL_CREATE and later are calls of the control node. */
	if (!tf != (_IOC_NR(cmd) >= TWHEEL_CALL_CREATE))
		return -ENOTTY;
	if (info->mode & ~file->f_mode)
		return -EBADF;
	if (size < info->min_size)
		return -EINVAL;
	err = copy_struct_from_user(&args, _IOC_SIZE(info->cmd), user, size);
	if (err)
		return err;
	return ioctl_do(&call, info, &args, user);
}

long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (unlikely(cmd == FIONREAD))
		return twheel_events_ioctl(file, cmd, arg);
	return ioctl(file->private_data, file, cmd, (void __user *)arg);
}

/* Descriptors of detached events have no calls, but what any descriptor may have. */
long twheel_events_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct twheel_file *tf = file->private_data;

	if (cmd != FIONREAD)
		return -ENOTTY;
	if (!(file->f_mode & FMODE_READ))
		return -EBADF;
	return twheel_events_fionread(twheel_file_queue(tf), (int __user *)arg);
}

long twheel_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return ioctl(NULL, file, cmd, (void __user *)arg);
}

/*
 * Batches: commands are executed in order and in chunks, so that stack usage does not depend
 * on their number. The results of a chunk are written once before it is executed.
 *
 * A batch succeeds once a command has been executed, and returns the number of executed
 * commands. The caller sees an error of the next command when it continues there.
 */

/* Number of commands in a chunk: 1 KiB on the stack. */
#define BATCH_CHUNK	7

/* The output of a command is a 32-bit field; the id of an add has 64 bits. */
static u64 command_output(const struct call_info *info, const void *args)
{
	const void *output = args + info->output;

	switch (info->output_end - info->output) {
	case sizeof(u64):
		return *(const u64 *)output;
	case sizeof(u32):
		return *(const u32 *)output;
	default:
		return 0;
	}
}

/* Execute a command and set *@value to its output, unless it fails. */
static int command_run(struct twheel_ioctl *call, struct twheel_command *command, u64 *value)
{
	const struct call_info *info;
	size_t size;
	int err;

	if (command->call > TWHEEL_CALL_CANCEL_KEY)
		return -ENOTTY;
	info = call_find(command->call);
	if (!info)
		return -ENOTTY;
	if (command->reserved)
		return -EINVAL;
	size = _IOC_SIZE(info->cmd);
	if (memchr_inv((void *)command->pad + size, 0, sizeof(command->pad) - size))
		return -E2BIG;
	err = call_do(call, info, (union twheel_call_args *)command->pad);
	if (!err || err == -EINTR)
		*value = command_output(info, command->pad);
	return err;
}

/* Write results starting at index batch->done. Returns the number of written results. */
static u32 results_write(const struct twheel_batch_args *batch,
			 const struct twheel_result *results, u32 nr)
{
	void __user *to = u64_to_user_ptr(batch->results) +
			  (size_t)batch->done * batch->result_size;
	u32 i;

	if (!batch->results)
		return nr;
	if (batch->result_size == sizeof(*results) &&
	    !copy_to_user(to, results, nr * sizeof(*results)))
		return nr;
	for (i = 0; i < nr; i++)
		if (twheel_entry_write(batch->results, batch->done + i, batch->result_size,
				       &results[i], sizeof(*results)))
			break;
	return i;
}

/*
 * Read up to @nr commands. Returns the number of commands with writable results; if it is 0,
 * *@err is the reason.
 */
static u32 chunk_read(const struct twheel_batch_args *batch, struct twheel_command *commands,
		      struct twheel_result *results, u32 nr, int *err)
{
	nr = twheel_entries_read(commands, sizeof(*commands), batch->commands, batch->done, nr,
				 batch->command_size, err);
	if (nr)
		*err = -EFAULT;
	memset(results, 0, nr * sizeof(*results));
	return results_write(batch, results, nr);
}

/* Execute up to @nr commands. Returns their number; sets *@stop if the batch must stop. */
static u32 chunk_run(struct twheel_ioctl *call, struct twheel_batch_args *batch,
		     struct twheel_command *commands, struct twheel_result *results,
		     u32 nr, bool *stop)
{
	u32 i;

	for (i = 0; i < nr && !*stop; i++) {
		results[i].error = command_run(call, &commands[i], &results[i].value);
		batch->failed += !!results[i].error;
		*stop = (results[i].error && batch->flags & TWHEEL_BATCH_STOP) ||
			fatal_signal_pending(current);
	}
	return i;
}

/* Returns an error if the next command cannot be read, or a result cannot be written. */
static int chunk_do(struct twheel_ioctl *call, struct twheel_batch_args *batch, bool *stop)
{
	u32 nr = min_t(u32, batch->nr - batch->done, BATCH_CHUNK);
	struct twheel_command commands[BATCH_CHUNK];
	struct twheel_result results[BATCH_CHUNK];
	u32 written;
	int err = 0;

	nr = chunk_read(batch, commands, results, nr, &err);
	if (!nr)
		return err;
	nr = chunk_run(call, batch, commands, results, nr, stop);
	written = results_write(batch, results, nr);
	batch->done += nr;
	return written < nr ? -EFAULT : 0;
}

static int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_batch_args *batch = &args->batch;
	bool stop = false;
	int err = 0;

	batch->done = 0;
	batch->failed = 0;
	if (batch->flags & ~TWHEEL_BATCH_STOP || !batch->nr || batch->nr > TWHEEL_MAX_BATCH)
		return -EINVAL;
	if (batch->result_size > PAGE_SIZE)
		return -E2BIG;
	if (batch->results ? batch->result_size < sizeof(struct twheel_result) : batch->result_size)
		return -EINVAL;
	while (batch->done < batch->nr && !stop && !err) {
		err = chunk_do(call, batch, &stop);
		cond_resched();
	}
	return batch->done ? 0 : err;
}
