// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, ioctls: from numbers and user memory to calls, and back.
 *
 * Each call has one structure.  Its size is part of the number, so that it can
 * grow: what a longer one has behind our fields must be zero, and a shorter
 * one is what an older program has, its missing fields taken as zero.  Only
 * fields that are meant as answers are written to; they stand together.
 *
 * That an answer can be written is tried before anything is done, since most of
 * what is done can't be taken back.
 */
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "device.h"

/**
 * struct call_info - a call
 * @cmd: its number, with today's size
 * @min_size: where the structure ended in the first version; it stays when it grows
 * @answer: where the fields begin that it sets
 * @answer_end: and where they end, in the first version already
 * @changes: for who may write to the file only
 * @call: carries it out
 */
struct call_info {
	unsigned int	cmd;
	u16		min_size;
	u16		answer;
	u16		answer_end;
	bool		changes;
	int		(*call)(struct twheel_ioctl *call, union twheel_call_args *args);
};

#define CALL(NAME, name, last, is_changing)						\
	[TWHEEL_CALL_##NAME] = {							\
		.cmd		= TWHEEL_IOC_##NAME,					\
		.min_size	= offsetofend(struct twheel_##name##_args, last),	\
		.changes	= is_changing,						\
		.call		= twheel_call_##name,					\
	}

#define CALL_ANSWERS(NAME, name, last, is_changing, from, to)				\
	[TWHEEL_CALL_##NAME] = {							\
		.cmd		= TWHEEL_IOC_##NAME,					\
		.min_size	= offsetofend(struct twheel_##name##_args, last),	\
		.answer		= offsetof(struct twheel_##name##_args, from),		\
		.answer_end	= offsetofend(struct twheel_##name##_args, to),		\
		.changes	= is_changing,						\
		.call		= twheel_call_##name,					\
	}

static const struct call_info calls[] = {
	CALL_ANSWERS(ADD, add, id, true, id, id),
	CALL(CANCEL, cancel, reserved, true),
	CALL(COMPLETE, complete, flags, true),
	CALL_ANSWERS(REARM, rearm, reserved, true, moved, moved),
	CALL(WATCH, watch, keys, true),
	CALL(UNWATCH, unwatch, reserved, true),
	CALL_ANSWERS(SIGNAL, signal, reserved, true, completed, completed),
	CALL_ANSWERS(CANCEL_KEY, cancel_key, cancelled, true, cancelled, cancelled),
	CALL_ANSWERS(BATCH, batch, failed, true, done, failed),
	CALL_ANSWERS(COMPLETE_ALL, complete_all, reserved, true, completed, completed),
	CALL_ANSWERS(DRAIN, drain, cancelled, true, cancelled, cancelled),
	CALL(DETACHED, detached, reserved, true),
	CALL_ANSWERS(INFO, info, pending, false, pending, pending),
	CALL_ANSWERS(LIST, list, reserved, false, cursor, nr),
	CALL_ANSWERS(QUERY, query, name, false, max_pending, name),
	CALL_ANSWERS(CREATE, create, minor, true, major, minor),
	CALL_ANSWERS(REMOVE, remove, cancelled, true, cancelled, cancelled),
};

/* A command has the structure of its call, and room for what that may become. */
static_assert(sizeof(struct twheel_command) == 128);
static_assert(offsetof(struct twheel_command, room) == 8);

/**
 * twheel_call_op - the operation that a call names
 * @call: the call
 * @id: the operation
 *
 * Return: the operation, to be given back, or NULL.
 */
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id)
{
	return twheel_file_op_get(call->file->share, id);
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
	/* Nothing is added any more, and there is nothing to change. */
	if (info->changes && READ_ONCE(call->file->share->gone))
		return -ESHUTDOWN;
	return info->call(call, args);
}

/* What a command answers is a field of 32 bits, but for the id of an add. */
static u64 command_answer(const struct call_info *info, const void *args)
{
	const void *answer = args + info->answer;

	switch (info->answer_end - info->answer) {
	case sizeof(u64):
		return *(const u64 *)answer;
	case sizeof(u32):
		return *(const u32 *)answer;
	default:
		return 0;
	}
}

/**
 * twheel_call_command - carry out a command of a batch
 * @call: the batch
 * @command: the command as from user space; changed
 * @value: set to what it answers, unless it fails
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
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
	if (memchr_inv((void *)command->room + size, 0, sizeof(command->room) - size))
		return -E2BIG;
	err = call_do(call, info, (union twheel_call_args *)command->room);
	if (!err)
		*value = command_answer(info, command->room);
	return err;
}

static int answer_write(const struct call_info *info, const union twheel_call_args *args,
			void __user *user)
{
	size_t size = info->answer_end - info->answer;

	if (copy_to_user(user + info->answer, (const void *)args + info->answer, size))
		return -EFAULT;
	return 0;
}

static int ioctl_do(struct twheel_file *file, const struct call_info *info,
		    union twheel_call_args *args, void __user *user)
{
	struct twheel_ioctl call = { .file = file };
	int err;

	/* What is there stays there, unless the call succeeds. */
	err = answer_write(info, args, user);
	if (err)
		return err;
	err = call_do(&call, info, args);
	kfree(call.many);
	return err ?: answer_write(info, args, user);
}

/**
 * twheel_file_ioctl - the calls on an open file
 * @file: of a purgatory
 * @cmd: one of TWHEEL_IOC_*, whatever the size in it
 * @arg: address of the structure
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct call_info *info = call_find(_IOC_NR(cmd));
	void __user *user = (void __user *)arg;
	size_t size = _IOC_SIZE(cmd);
	union twheel_call_args args;
	int err;

	if (_IOC_TYPE(cmd) != TWHEEL_IOC_MAGIC || !info || _IOC_DIR(cmd) != _IOC_DIR(info->cmd))
		return -ENOTTY;
	if (info->changes && !(file->f_mode & FMODE_WRITE))
		return -EBADF;
	if (size < info->min_size)
		return -EINVAL;
	err = copy_struct_from_user(&args, _IOC_SIZE(info->cmd), user, size);
	if (err)
		return err;
	return ioctl_do(file->private_data, info, &args, user);
}
