// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the ioctl table, argument structures and batches.
 *
 * Each call has one argument structure. Its size is part of the ioctl number and may differ
 * from the kernel's: in a longer structure the unknown bytes must be zero, in a shorter one
 * (of an older program) the missing fields are zero. The output fields are adjacent in the first
 * version; the call writes back the structure from there on, once, at its end. Their input is
 * ignored. If the output cannot be written, the call has had its effect.
 *
 * An array is passed with the size of its entries, which may differ from the kernel's as well: a
 * shorter one than in the first version is refused.
 *
 * The functions twheel_call_*() execute the calls. Each checks its arguments and sets the output
 * fields in them, also for -EINTR. Documentation/device-calls.rst and device-files.rst list the
 * errors.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
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

#include "../compat.h"
#include "args.h"
#include "file.h"
#include "user.h"

#ifdef TWHEEL_HAS_URING
#include <linux/io_uring/cmd.h>
#endif

/* Arrays in the memory of the caller */

/*
 * Check the entry size of an array. @known is the size of the first version, which is the current
 * one. Returns 0, -EINVAL if @size is too small, or -E2BIG if it exceeds a page.
 */
int twheel_entry_check(u32 size, size_t known)
{
	if (size < known)
		return -EINVAL;
	return size > PAGE_SIZE ? -E2BIG : 0;
}

/* Copy an array entry to user space and pad it with zeroes. Returns 0 or -EFAULT. */
int twheel_entry_write(u64 array, u32 index, u32 size, const void *from, size_t known)
{
	void __user *to = u64_to_user_ptr(array) + (size_t)index * size;

	return copy_to_user(to, from, known) || clear_user(to + known, size - known) ? -EFAULT : 0;
}

/* The array of the call for TWHEEL_MAX_KEYS keys, or NULL if it cannot be allocated. */
struct twheel_watch_spec *twheel_call_keys(struct twheel_ioctl *call)
{
	if (!call->many)
		call->many = kmalloc_array(TWHEEL_MAX_KEYS, sizeof(*call->many),
					   TWHEEL_GFP_USER);
	return call->many;
}

/* twheel_call_specs(), if there are keys. */
const struct twheel_watch_spec *__twheel_call_specs(struct twheel_ioctl *call, u64 keys,
						    u32 nr_keys, u32 key_size)
{
	struct twheel_watch_spec *specs = call->few;
	const size_t size = sizeof(*specs);
	u32 i, bits = 0;
	int err = nr_keys > TWHEEL_MAX_KEYS ? -EINVAL : twheel_entry_check(key_size, size);

	if (err)
		return ERR_PTR(err);
	if (nr_keys > ARRAY_SIZE(call->few))
		specs = twheel_call_keys(call);
	if (!specs)
		return ERR_PTR(-ENOMEM);
	/* The usual case is a copy of a constant size. */
	if (nr_keys == 1 && key_size == size) {
		err = copy_from_user(specs, u64_to_user_ptr(keys), size) ? -EFAULT : 0;
	} else if (key_size == size) {
		err = copy_from_user(specs, u64_to_user_ptr(keys), nr_keys * size) ? -EFAULT : 0;
	} else {
		for (i = 0; i < nr_keys && !err; i++)
			err = copy_struct_from_user(&specs[i], size,
						    u64_to_user_ptr(keys) + (size_t)i * key_size,
						    key_size);
	}
	if (err)
		return ERR_PTR(err);
	for (i = 0; i < nr_keys; i++)
		bits |= specs[i].bit;
	return bits ? ERR_PTR(-EINVAL) : specs;
}

/* The table of calls */

/* Properties of a call */
#define READS		BIT(0)	/* needs a file that is open for reading */
#define WRITES		BIT(1)	/* needs one that is open for writing; refused after a removal */
#define CONTROL		BIT(2)	/* on the control node, instead of files of purgatories */
#define IN_BATCH	BIT(3)	/* may be a command of a batch */
#define KILLABLE	BIT(4)	/* has an output with -EINTR */
#define OPENS		BIT(5)	/* returns a descriptor */
#define IN_RING		BIT(6)	/* may be a command of io_uring */
#define CONFIRMS	BIT(7)	/* on descriptors of detached events, instead of files */
#define KINDS		(CONTROL | CONFIRMS)

/**
 * struct call_info - a row of the table of calls
 * @cmd: ioctl number, with the current size
 * @min_size: size of the first version of the structure
 * @output: offset of the output fields, or 0 without any
 * @flags: properties, see above
 * @right: right of the file, or 0 if every file may make the call, or the function checks it
 * @call: function
 */
struct call_info {
	unsigned int	cmd;
	u16		min_size;
	u16		output;
	u16		flags;
	u32		right;
	int		(*call)(struct twheel_ioctl *call, union twheel_call_args *args);
};

/* @last: last field of the first version of the structure */
#define CALL(NAME, name, last, properties, needs, ...)					\
	[_IOC_NR(TWHEEL_IOC_##NAME)] = {						\
		.cmd		= TWHEEL_IOC_##NAME,					\
		.min_size	= offsetofend(struct twheel_##name##_args, last),	\
		.flags		= properties,						\
		.right		= needs,						\
		.call		= twheel_call_##name,					\
		__VA_ARGS__								\
	}

#define OUTPUT(name, field)	.output = offsetof(struct twheel_##name##_args, field)

static int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args);

static const struct call_info calls[] = {
	/* Of 0 and of numbers past the end. It has another one, see call_find(). */
	[0] = { .cmd = TWHEEL_IOC_ADD },
	CALL(ADD, add, id, WRITES | IN_BATCH | IN_RING, 0, OUTPUT(add, id)),
	CALL(CANCEL, cancel, reserved, WRITES | IN_BATCH | IN_RING, TWHEEL_RIGHT_END),
	CALL(COMPLETE, complete, flags, WRITES | IN_BATCH | IN_RING, TWHEEL_RIGHT_END),
	CALL(REARM, rearm, moved, WRITES | IN_BATCH | IN_RING, TWHEEL_RIGHT_REARM,
	     OUTPUT(rearm, moved)),
	CALL(WATCH, watch, reserved, WRITES | IN_BATCH | IN_RING, TWHEEL_RIGHT_WATCH),
	CALL(UNWATCH, unwatch, reserved, WRITES | IN_BATCH | IN_RING, TWHEEL_RIGHT_WATCH),
	CALL(SIGNAL, signal, reserved, WRITES | IN_BATCH | IN_RING | KILLABLE, TWHEEL_RIGHT_SIGNAL,
	     OUTPUT(signal, completed)),
	CALL(CANCEL_KEY, cancel_key, cancelled, WRITES | IN_BATCH | IN_RING | KILLABLE,
	     TWHEEL_RIGHT_OTHERS, OUTPUT(cancel_key, cancelled)),
	CALL(EXCHANGE, exchange, reserved, WRITES | IN_BATCH | IN_RING, TWHEEL_RIGHT_REARM),
	CALL(BATCH, batch, failed, WRITES | IN_RING | KILLABLE, 0, OUTPUT(batch, done)),
	CALL(COMPLETE_ALL, complete_all, reserved, WRITES | KILLABLE, TWHEEL_RIGHT_END,
	     OUTPUT(complete_all, completed)),
	CALL(DRAIN, drain, cancelled, WRITES | KILLABLE, TWHEEL_RIGHT_DRAIN,
	     OUTPUT(drain, cancelled)),
	CALL(EVENTS, events, queue, READS | WRITES | OPENS, TWHEEL_RIGHT_OTHERS),
	CALL(CONFIRM, confirm, reserved, READS | CONFIRMS, 0),
	CALL(RESTRICT, restrict, rights, 0, 0),
	CALL(INFO, info, flags, READS, TWHEEL_RIGHT_LIST),
	CALL(LIST, list, cursor, READS, TWHEEL_RIGHT_LIST, OUTPUT(list, nr)),
	CALL(QUERY, query, name, READS, TWHEEL_RIGHT_QUERY, OUTPUT(query, max_pending)),
	CALL(QUEUE, queue, oldest_unconfirmed_ns, READS, TWHEEL_RIGHT_OTHERS,
	     OUTPUT(queue, queue)),
	CALL(CELLS, cells, boottime_offset, WRITES | KILLABLE, 0, OUTPUT(cells, nr)),
	CALL(CREATE, create, minor, WRITES | CONTROL | OPENS, 0, OUTPUT(create, major)),
	CALL(REMOVE, remove, cancelled, WRITES | CONTROL | KILLABLE, 0,
	     OUTPUT(remove, cancelled)),
};

static_assert((__force u32)FMODE_READ == READS && (__force u32)FMODE_WRITE == WRITES);

/* The row of a number. Without such a call, the row has another number: call_is() is false. */
static const struct call_info *call_find(unsigned int nr)
{
	const struct call_info *info = calls;

	BUILD_BUG_ON(!_IOC_NR(TWHEEL_IOC_ADD));
	if (likely(nr < ARRAY_SIZE(calls)))
		info += array_index_nospec(nr, ARRAY_SIZE(calls));
	/* GCC would compute the address again for each member. */
	OPTIMIZER_HIDE_VAR(info);
	return info;
}

static bool call_is(const struct call_info *info, unsigned int cmd)
{
	return !((cmd ^ info->cmd) & ~IOCSIZE_MASK);
}

/* The error that the caller sees: an operation that has ended does not exist any more. */
static int call_error(int err)
{
	return unlikely(err == -EALREADY) ? -ENOENT : err;
}

/* Inlined, like the functions that lead to it: 30 instructions less for an ioctl. */
static __always_inline int call_do(struct twheel_ioctl *call, const struct call_info *info,
				   union twheel_call_args *args)
{
	/*
	 * A removed purgatory cannot be changed. A call that does not yet see the store in
	 * named_close() finds it drained, or is before the drain.
	 */
	if (info->flags & WRITES && call->file && READ_ONCE(call->file->instance->removed))
		return -ESHUTDOWN;
	if (info->right && !twheel_file_may(call->file, info->right))
		return -EPERM;
	return call_error(info->call(call, args));
}

/* Sizes of an add without keys and rarely used fields, and of one with keys. */
#define ADD_PLAIN	offsetofend(struct twheel_add_args, id)
#define ADD_KEYS	offsetofend(struct twheel_add_args, quorum)

/* Copy @size bytes of a structure, a constant, and zero the rest up to @known. */
static __always_inline int args_copy(void *args, size_t known, const void __user *user,
				     const void *entry, size_t size)
{
	if (size < known)
		memset(args + size, 0, known - size);
	if (!entry)
		return copy_from_user(args, user, size) ? -EFAULT : 0;
	memcpy(args, entry, size);
	return 0;
}

/* args_read() of any size, which may be longer or shorter than the kernel's. */
static noinline int args_read_any(void *args, size_t known, const void __user *user,
				  const void *entry, size_t size)
{
	if (!entry)
		return copy_struct_from_user(args, known, user, size);
	memset(args, 0, known);
	memcpy(args, entry, min(size, known));
	return size > known && memchr_inv(entry + known, 0, size - known) ? -E2BIG : 0;
}

/*
 * Read a structure at @user, or at @entry, if this is not NULL: in a batch, or in a submission
 * queue entry, which other threads may change. A copy of a constant size takes few instructions;
 * these are the sizes of the frequent calls.
 */
static int args_read(void *args, size_t known, const void __user *user, const void *entry,
		     size_t size)
{
	const size_t cancel = sizeof(struct twheel_cancel_args);
	const size_t rearm = sizeof(struct twheel_rearm_args);
	const size_t batch = sizeof(struct twheel_batch_args);
	const size_t signal = sizeof(struct twheel_signal_args);
	const size_t add = sizeof(struct twheel_add_args);

	if (size == known) {
		if (size == rearm)
			return args_copy(args, rearm, user, entry, rearm);
		if (size == cancel)
			return args_copy(args, cancel, user, entry, cancel);
		if (size == batch)
			return args_copy(args, batch, user, entry, batch);
		if (size == signal)
			return args_copy(args, signal, user, entry, signal);
		if (size == add)
			return args_copy(args, add, user, entry, add);
	} else if (known == add) {
		if (size == ADD_PLAIN)
			return args_copy(args, add, user, entry, ADD_PLAIN);
		if (size == ADD_KEYS)
			return args_copy(args, add, user, entry, ADD_KEYS);
	}
	return args_read_any(args, known, user, entry, size);
}

/* A call that was killed reports its progress. */
static bool has_output(const struct call_info *info, int err)
{
	return !err || (err == -EINTR && info->flags & KILLABLE);
}

/* Write back the output of a call on a structure of @size bytes. */
static int output_write(const struct call_info *info, const union twheel_call_args *args,
			void __user *user, size_t size)
{
	size_t nr = min_t(size_t, size, _IOC_SIZE(info->cmd)) - info->output;
	const void *from = (const void *)args + info->output;

	user += info->output;
	/* Input follows. */
	if (info->call == twheel_call_add)
		nr = sizeof(args->add.id);
	switch (nr) {
	case sizeof(u32):
		return put_user(*(const u32 *)from, (u32 __user *)user);
	case sizeof(u64):
		return put_user(*(const u64 *)from, (u64 __user *)user);
	default:
		return copy_to_user(user, from, nr) ? -EFAULT : 0;
	}
}

/* Execute a call, and write its output to @user if it @writes. */
static __always_inline int ioctl_do(struct twheel_ioctl *call, const struct call_info *info,
				    union twheel_call_args *args, bool writes, void __user *user,
				    size_t size)
{
	int err = call_do(call, info, args);

	if (unlikely(call->many))
		kfree(call->many);
	if (writes && info->output && has_output(info, err))
		err = output_write(info, args, user, size) ?: err;
	return err;
}

/* A purgatory must not be created without a descriptor for it. */
static noinline int ioctl_open(struct twheel_ioctl *call, const struct call_info *info,
			       union twheel_call_args *args, void __user *user, size_t size)
{
	int err, fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return fd;
	call->opened = NULL;
	err = ioctl_do(call, info, args, true, user, size);
	if (!err) {
		fd_install(fd, call->opened);
		return fd;
	}
	if (call->opened)
		fput(call->opened);
	put_unused_fd(fd);
	return err;
}

/* Check the number of a call on a file, or on another descriptor of @kind. */
static __always_inline int call_check(const struct call_info *info, u16 kind,
				      const struct file *file, unsigned int cmd)
{
	if (!call_is(info, cmd) || (info->flags & KINDS) != kind)
		return -ENOTTY;
	if (info->flags & (READS | WRITES) & ~(__force u32)file->f_mode)
		return -EBADF;
	return _IOC_SIZE(cmd) < info->min_size ? -EINVAL : 0;
}

static long ioctl(struct file *file, u16 kind, unsigned int cmd, void __user *user)
{
	const struct call_info *info = call_find(_IOC_NR(cmd));
	size_t size = _IOC_SIZE(cmd);
	union twheel_call_args args __uninitialized;
	struct twheel_ioctl call __uninitialized;
	int err;

	err = call_check(info, kind, file, cmd);
	if (err)
		return err;
	err = args_read(&args, _IOC_SIZE(info->cmd), user, NULL, size);
	if (err)
		return err;
	/* All but the keys. */
	call.file = kind == CONTROL ? NULL : file->private_data;
	call.many = NULL;
	if (unlikely(info->flags & OPENS))
		return ioctl_open(&call, info, &args, user, size);
	return ioctl_do(&call, info, &args, true, user, size);
}

long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return ioctl(file, 0, cmd, (void __user *)arg);
}

long twheel_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return ioctl(file, CONTROL, cmd, (void __user *)arg);
}

long twheel_events_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return ioctl(file, CONFIRMS, cmd, (void __user *)arg);
}

/*
 * Batches: commands are read and executed in order and in chunks, so that stack usage does not
 * depend on their number. The results of a chunk are written after it.
 *
 * A batch succeeds once a command has been executed, and returns the number of executed
 * commands. The caller sees an error of the next command when it continues there. If a result
 * cannot be written, the batch fails with -EFAULT after that chunk.
 */

/* Bytes and number of commands of a chunk. A longer command is refused. */
#define CHUNK_SIZE	(16 * BITS_PER_LONG)
#define CHUNK_NR	(BITS_PER_LONG / 2)

/* An add has the longest structure of the calls in batches. */
static_assert(sizeof(struct twheel_add_args) >= sizeof(struct twheel_signal_args));
static_assert(sizeof(struct twheel_command) + sizeof(struct twheel_add_args) <= CHUNK_SIZE);

/*
 * Execute a command that is in the chunk, unless it is longer than any. It may write to the
 * structure. The file does not have the rights @denied. Inlined: 15 instructions less.
 */
static __always_inline int command_run(struct twheel_ioctl *call, struct twheel_command *command,
				       u32 denied, u64 *value)
{
	const struct call_info *info = call_find(_IOC_NR(command->cmd));
	u64 space[sizeof(struct twheel_add_args) / sizeof(u64)] __uninitialized;
	bool same = command->cmd == info->cmd;
	size_t size = _IOC_SIZE(command->cmd);
	void *args = command + 1;
	int err;

	*value = 0;
	if ((!same && !call_is(info, command->cmd)) || !(info->flags & IN_BATCH))
		return -ENOTTY;
	if (command->reserved || (!same && size < info->min_size))
		return -EINVAL;
	if (!same) {
		if (TWHEEL_COMMAND_SIZE(command->cmd) > CHUNK_SIZE)
			return -E2BIG;
		args = space;
		err = args_read(args, _IOC_SIZE(info->cmd), NULL, command + 1, size);
		if (err)
			return err;
	}
	if (info->right & denied)
		return -EPERM;
	err = info->call(call, args);
	/* The output is a 32-bit field; the id of an add has 64 bits. */
	if (info->output && has_output(info, err))
		*value = info->call == twheel_call_add ? *(u64 *)(args + info->output) :
							 *(u32 *)(args + info->output);
	return err;
}

/* Write results starting at index batch->done. */
static int results_write(const struct twheel_batch_args *batch,
			 const struct twheel_result *results, u32 nr)
{
	struct twheel_result __user *to = u64_to_user_ptr(batch->results);
	int err = 0;
	u32 i;

	if (!batch->results)
		return 0;
	if (likely(batch->result_size == sizeof(*results)))
		return copy_to_user(to + batch->done, results, nr * sizeof(*results)) ? -EFAULT : 0;
	for (i = 0; i < nr && !err; i++)
		err = twheel_entry_write(batch->results, batch->done + i, batch->result_size,
					 &results[i], sizeof(*results));
	return err;
}

/* Read the commands at offset @at, or one if there is a fault. Returns the number of bytes read. */
static u32 chunk_read(const struct twheel_batch_args *batch, u32 at, struct twheel_command *chunk)
{
	const void __user *from = u64_to_user_ptr(batch->commands) + at;
	u32 size = min_t(u32, batch->size - at, CHUNK_SIZE);

	if (!copy_from_user(chunk, from, size))
		return size;
	if (size < sizeof(*chunk) || copy_from_user(chunk, from, sizeof(*chunk)))
		return 0;
	size = min_t(u32, size, TWHEEL_COMMAND_SIZE(chunk->cmd));
	return copy_from_user(chunk, from, size) ? 0 : size;
}

/*
 * Execute the commands of a chunk at offset *@at, which is advanced; sets *@stop if the batch must
 * stop. Returns an error if the first command cannot be read, or a result cannot be written.
 */
static int chunk_do(struct twheel_ioctl *call, struct twheel_batch_args *batch, u32 *at, bool *stop)
{
	struct twheel_command chunk[CHUNK_SIZE / sizeof(struct twheel_command)] __aligned(8)
									      __uninitialized;
	u32 max = min_t(u32, batch->nr - batch->done, CHUNK_NR), nr = 0, pos = 0, size, length;
	struct twheel_result results[CHUNK_NR] __uninitialized;
	struct twheel_command *command;
	u32 denied;
	int err;

	size = chunk_read(batch, *at, chunk);
	/* The read may have waited for memory. See call_do(). */
	*stop = READ_ONCE(call->file->instance->removed);
	if (unlikely(*stop))
		return batch->done ? 0 : -ESHUTDOWN;
	denied = ~READ_ONCE(call->file->rights);
	while (nr < max && pos + sizeof(*command) <= size) {
		command = (void *)chunk + pos;
		length = TWHEEL_COMMAND_SIZE(command->cmd);
		/* The rest is in the next chunk, unless it is longer than any. */
		if (unlikely(length > size - pos) && length <= CHUNK_SIZE)
			break;
		err = command_run(call, command, denied, &results[nr].value);
		results[nr].error = err;
		results[nr++].reserved = 0;
		pos += length;
		if (likely(!err))
			continue;
		results[nr - 1].error = call_error(err);
		batch->failed++;
		*stop = batch->flags & TWHEEL_BATCH_STOP;
		if (*stop)
			break;
	}
	*stop |= !nr || fatal_signal_pending(current);
	if (!nr) {
		if (batch->done)
			return 0;
		return size || !batch->size ? -EINVAL : -EFAULT;
	}
	err = results_write(batch, results, nr);
	batch->done += nr;
	*at += pos;
	return err;
}

static int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_batch_args *batch = &args->batch;
	bool stop = false;
	int err = 0;
	u32 at = 0;

	batch->done = 0;
	batch->failed = 0;
	if (batch->flags & ~TWHEEL_BATCH_STOP || !batch->nr || batch->nr > TWHEEL_MAX_BATCH)
		return -EINVAL;
	if (batch->result_size > PAGE_SIZE)
		return -E2BIG;
	if (batch->results ? batch->result_size < sizeof(struct twheel_result) : batch->result_size)
		return -EINVAL;
	while (batch->done < batch->nr && at <= batch->size && !stop && !err) {
		err = chunk_do(call, batch, &at, &stop);
		cond_resched();
	}
	return err;
}

#ifdef TWHEEL_HAS_URING

/*
 * Commands of io_uring (IORING_OP_URING_CMD)
 *
 * A command is a call of a batch, or a batch. It has the structure and the checks of the ioctl, and
 * the credentials of its submission: io_uring overrides those of the current task for a
 * personality, for SQPOLL and for its workers. These threads share the memory and the namespaces of
 * the submitter.
 *
 * All commands complete at once, with the lock of the ring held, also if they must not block
 * (IO_URING_F_NONBLOCK): they sleep for memory at most, as io_uring itself does. Workers would
 * execute them in any order. So io_uring must not see -EAGAIN, after which a worker executes the
 * command once more. Events are read, for example by IORING_OP_READ_MULTISHOT.
 */

/*
 * Execute a command of io_uring. The structure is at @user, or at @entry if this is not NULL; then
 * no output is written. Returns the first output field, 0 without one and for an add, or an error.
 */
static int ring_call(struct file *file, unsigned int cmd, void __user *user, const void *entry)
{
	const struct call_info *info = call_find(_IOC_NR(cmd));
	size_t size = _IOC_SIZE(cmd);
	union twheel_call_args args __uninitialized;
	struct twheel_ioctl call __uninitialized;
	int err;

	call.file = file->private_data;
	err = call_check(info, 0, file, cmd);
	if (err)
		return err;
	if (!(info->flags & IN_RING))
		return -ENOTTY;
	err = args_read(&args, _IOC_SIZE(info->cmd), user, entry, size);
	if (err)
		return err;
	call.many = NULL;
	err = ioctl_do(&call, info, &args, !entry, user, size);
	if (err || !info->output || info->call == twheel_call_add)
		return err;
	return min(*(u32 *)((void *)&args + info->output), (u32)INT_MAX);
}

/* Space for the structure of a call in an entry of 128 bytes. */
#define ENTRY_ARGS	(2 * sizeof(struct io_uring_sqe) - offsetof(struct io_uring_sqe, cmd) - \
			 sizeof(struct twheel_uring_args))

/* io_uring itself refuses unknown flags of the entry with -EINVAL. */
int twheel_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct twheel_uring_args *area = (const void *)cmd->sqe->cmd;
	void __user *user = u64_to_user_ptr(READ_ONCE(area->args));
	u32 flags = READ_ONCE(area->flags);
	const void *entry = NULL;
	int ret;

	if (cmd->flags & IORING_URING_CMD_MASK || READ_ONCE(cmd->sqe->addr) ||
	    READ_ONCE(cmd->sqe->len) || flags & ~TWHEEL_URING_INLINE || READ_ONCE(area->reserved))
		return -EINVAL;
	if (flags & TWHEEL_URING_INLINE) {
		if (user || !(issue_flags & IO_URING_F_SQE128) ||
		    _IOC_SIZE(cmd->cmd_op) > ENTRY_ARGS)
			return -EINVAL;
		entry = area + 1;
	}
	ret = ring_call(cmd->file, cmd->cmd_op, user, entry);
	if (likely(ret != -EAGAIN))
		return ret;
	/* See above. */
	TWHEEL_URING_DONE(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}

#endif /* TWHEEL_HAS_URING */
