// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, ioctls: from ioctl numbers and user memory to calls, and back.
 *
 * Each call has one structure, whose size is part of the ioctl number.  In a longer
 * structure than ours the bytes behind our fields must be zero; in a shorter one,
 * of an older program, the missing fields are zero.  Output fields stand together,
 * must be zero, and are the only ones that are written to.  Entries of arrays
 * follow the same rules.
 *
 * Most calls cannot be undone.  So the output is written once before the call, to
 * find bad addresses, and once after it.
 */
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

#include "dev.h"

/**
 * struct call_info - a call
 * @cmd: ioctl number, with the present size
 * @min_size: size of the first version of the structure
 * @output: offset of the output fields
 * @output_end: end of the output fields of the first version
 * @mode: FMODE_READ or FMODE_WRITE if the file must be open for that, or 0
 * @opens: it returns a descriptor
 * @call: function
 */
struct call_info {
	unsigned int	cmd;
	u16		min_size;
	u16		output;
	u16		output_end;
	fmode_t		mode;
	bool		opens;
	int		(*call)(struct twheel_ioctl *call, union twheel_call_args *args);
};

#define CALL(NAME, name, last, needs, ...)						\
	[TWHEEL_CALL_##NAME] = {							\
		.cmd		= TWHEEL_IOC_##NAME,					\
		.min_size	= offsetofend(struct twheel_##name##_args, last),	\
		.mode		= needs,						\
		.call		= twheel_call_##name,					\
		__VA_ARGS__								\
	}

#define CALL_OUTPUT(NAME, name, last, needs, from, to, ...)				\
	[TWHEEL_CALL_##NAME] = {							\
		.cmd		= TWHEEL_IOC_##NAME,					\
		.min_size	= offsetofend(struct twheel_##name##_args, last),	\
		.output		= offsetof(struct twheel_##name##_args, from),		\
		.output_end	= offsetofend(struct twheel_##name##_args, to),		\
		.mode		= needs,						\
		.call		= twheel_call_##name,					\
		__VA_ARGS__								\
	}

static const struct call_info calls[] = {
	CALL_OUTPUT(ADD, add, id, FMODE_WRITE, id, id),
	CALL(CANCEL, cancel, reserved, FMODE_WRITE),
	CALL(COMPLETE, complete, flags, FMODE_WRITE),
	CALL_OUTPUT(REARM, rearm, reserved, FMODE_WRITE, moved, moved),
	CALL(WATCH, watch, reserved, FMODE_WRITE),
	CALL(UNWATCH, unwatch, reserved, FMODE_WRITE),
	CALL_OUTPUT(SIGNAL, signal, reserved, FMODE_WRITE, completed, completed),
	CALL_OUTPUT(CANCEL_KEY, cancel_key, cancelled, FMODE_WRITE, cancelled, cancelled),
	CALL_OUTPUT(BATCH, batch, failed, FMODE_WRITE, done, failed),
	CALL_OUTPUT(COMPLETE_ALL, complete_all, reserved, FMODE_WRITE, completed, completed),
	CALL_OUTPUT(DRAIN, drain, cancelled, FMODE_WRITE, cancelled, cancelled),
	CALL(EVENTS, events, reserved, FMODE_READ, .opens = true),
	CALL(RESTRICT, restrict, reserved, FMODE_WRITE),
	CALL_OUTPUT(INFO, info, pending, 0, pending, pending),
	CALL_OUTPUT(LIST, list, cursor, 0, nr, cursor),
	CALL_OUTPUT(QUERY, query, name, 0, max_pending, name),
	CALL_OUTPUT(CREATE, create, minor, FMODE_WRITE, major, minor, .opens = true),
	CALL_OUTPUT(REMOVE, remove, cancelled, FMODE_WRITE, cancelled, cancelled),
};

/* A command has the structure of its call, and room for its growth. */
static_assert(sizeof(struct twheel_command) == 128);
static_assert(offsetof(struct twheel_command, pad) == 8);

/**
 * twheel_entry_read - copy an entry of an array
 * @to: the entry
 * @known: size of the entry as known to the kernel, that of its first version
 * @array: address of the array in user space
 * @index: index of the entry
 * @size: size of the entries of the array
 *
 * Return: 0, -EINVAL for a size below @known, -E2BIG for one above a page or non-zero
 * bytes behind @known, -EFAULT.
 */
int twheel_entry_read(void *to, size_t known, u64 array, u32 index, u32 size)
{
	if (size < known)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(to, known, u64_to_user_ptr(array) + (size_t)index * size,
				     size);
}

/**
 * twheel_entry_write - write an entry of an array, padded with zeroes
 * @array: address of the array in user space
 * @index: index of the entry
 * @size: size of the entries of the array
 * @from: the entry
 * @known: size of the entry as known to the kernel, that of its first version
 *
 * Return: as twheel_entry_read().
 */
int twheel_entry_write(u64 array, u32 index, u32 size, const void *from, size_t known)
{
	void __user *to = u64_to_user_ptr(array) + (size_t)index * size;

	if (size < known)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (copy_to_user(to, from, known) || clear_user(to + known, size - known))
		return -EFAULT;
	return 0;
}

/**
 * twheel_call_op - look up the operation of a call
 * @call: the call
 * @id: id of the operation
 *
 * Return: the operation, for twheel_file_op_put(), or NULL; a restricted file finds its
 * own operations only.
 */
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id)
{
	struct twheel_file *file = call->file;
	struct twheel_file_op *file_op = twheel_file_op_get(file->instance, id);

	if (file_op && READ_ONCE(file->restricted) && file_op->file != file) {
		twheel_file_op_put(file_op);
		file_op = NULL;
	}
	return file_op;
}

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
	/* The cursor of a listing is input as well. */
	u16 end = info->call == twheel_call_list ? offsetofend(struct twheel_list_args, nr) :
						   info->output_end;

	if (memchr_inv((void *)args + info->output, 0, end - info->output))
		return -EINVAL;
	/* Nothing can be added to a removed purgatory, or changed in it. */
	if (info->mode && call->file && READ_ONCE(call->file->instance->gone))
		return info->mode == FMODE_READ ? -ENODEV : -ESHUTDOWN;
	return info->call(call, args);
}

/* The output of a command is a field of 32 bits, but for the id of an add. */
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

/**
 * twheel_call_command - execute a command of a batch
 * @call: the batch
 * @command: the command as from user space; changed
 * @value: set to its output, unless it fails
 *
 * Return: 0 or an error; Documentation/device-calls.rst lists them.
 */
int twheel_call_command(struct twheel_ioctl *call, struct twheel_command *command, u64 *value)
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
	struct twheel_ioctl call = { .file = tf };
	size_t size = _IOC_SIZE(cmd);
	union twheel_call_args args;
	int err;

	if (_IOC_TYPE(cmd) != TWHEEL_IOC_MAGIC || !info || _IOC_DIR(cmd) != _IOC_DIR(info->cmd))
		return -ENOTTY;
	/* The control node has the calls that no purgatory has. */
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

/**
 * twheel_file_ioctl - the ioctls of a file
 * @file: file of a private or named purgatory
 * @cmd: one of TWHEEL_IOC_*, with any size
 * @arg: address of the structure
 *
 * Return: 0, a descriptor, or an error; Documentation/device-calls.rst and
 * device-files.rst list them.
 */
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return ioctl(file->private_data, file, cmd, (void __user *)arg);
}

/**
 * twheel_control_ioctl - the ioctls of the control node
 * @file: file of the control node
 * @cmd: TWHEEL_IOC_CREATE or TWHEEL_IOC_REMOVE, with any size
 * @arg: address of the structure
 *
 * Return: 0, a descriptor, or an error; Documentation/device-files.rst lists them.
 */
long twheel_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return ioctl(NULL, file, cmd, (void __user *)arg);
}

/*
 * Layer 6, batches: many calls in one.
 *
 * Commands are executed in order, a few at a time, so that the stack does not grow
 * with their number.  Whether results can be written is tried before each of these
 * chunks is executed.
 *
 * Once a command has been executed the batch succeeds, with the number of commands
 * done.  An error behind that is reported when the caller continues from there.
 */

/* Number of commands in a chunk; 1 KiB on the stack. */
#define BATCH_CHUNK	7

/* Write results behind those that are done; the number of those written. */
static u32 results_write(const struct twheel_batch_args *batch,
			 const struct twheel_result *results, u32 nr)
{
	u32 i;

	if (!batch->results)
		return nr;
	for (i = 0; i < nr; i++)
		if (twheel_entry_write(batch->results, batch->done + i, batch->result_size,
				       &results[i], sizeof(*results)))
			break;
	return i;
}

/*
 * Read up to @nr commands; the number of those whose results can be written. If there is
 * none, *err is why.
 */
static u32 chunk_read(const struct twheel_batch_args *batch, struct twheel_command *commands,
		      struct twheel_result *results, u32 nr, int *err)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		*err = twheel_entry_read(&commands[i], sizeof(*commands), batch->commands,
					 batch->done + i, batch->command_size);
		if (*err)
			break;
	}
	if (i)
		*err = -EFAULT;
	memset(results, 0, i * sizeof(*results));
	return results_write(batch, results, i);
}

/* Execute @nr commands: the number of those executed, and whether to stop there. */
static u32 chunk_run(struct twheel_ioctl *call, struct twheel_batch_args *batch,
		     struct twheel_command *commands, struct twheel_result *results,
		     u32 nr, bool *stop)
{
	u32 i;

	for (i = 0; i < nr && !*stop; i++) {
		results[i].error = twheel_call_command(call, &commands[i], &results[i].value);
		batch->failed += !!results[i].error;
		*stop = (results[i].error && batch->flags & TWHEEL_BATCH_STOP) ||
			fatal_signal_pending(current);
	}
	return i;
}

/* Execute a few more; an error if no further one can be read, or its result written. */
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

/**
 * twheel_call_batch - TWHEEL_IOC_BATCH
 * @call: the call
 * @args: as from user space; the numbers of commands done and failed are set
 *
 * Return: 0 or an error; Documentation/device-calls.rst lists them.
 */
int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_batch_args *batch = &args->batch;
	bool stop = false;
	int err = 0;

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
