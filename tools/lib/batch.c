// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: batches, which execute many commands in one system call. See twheel.h.
 *
 * A batch holds commands, one behind the other, their results and copies of their keys. A command
 * stays in the batch until the kernel has executed it, so that the caller can submit the batch
 * again after any failure.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "twheel.h"

/* An empty block has space for the keys of any command. */
#define KEYS_OF_BLOCK	(4 * TWHEEL_MAX_KEYS)

/* The longest command. */
#define MAX_COMMAND	TWHEEL_COMMAND_SIZE(TWHEEL_IOC_ADD)

struct key_block {
	struct key_block *next;
	unsigned int nr;
	struct twheel_watch_spec specs[KEYS_OF_BLOCK];
};

struct twheel_batch {
	int fd;
	unsigned int size;
	unsigned int flags;
	unsigned int nr;	/* commands not yet executed */
	unsigned int failed;	/* failures since the last successful submit */
	bool stopped;		/* a command failed, with TWHEEL_BATCH_STOP */
	bool reporting;		/* fn is running */
	__u64 index;		/* index of the first command in the batch */
	twheel_batch_fn *fn;
	void *context;
	char *commands;
	unsigned int used;	/* bytes of the commands */
	struct twheel_result *results;
	struct key_block *blocks;	/* keys of the commands */
	struct key_block *block;	/* current block */
};

struct twheel_batch *twheel_batch_new(int fd, unsigned int size, unsigned int flags)
{
	struct twheel_batch *batch;

	if (!size || size > TWHEEL_MAX_BATCH || flags & ~TWHEEL_BATCH_STOP) {
		errno = EINVAL;
		return NULL;
	}
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return NULL;
	batch->fd = fd;
	batch->size = size;
	batch->flags = flags;
	batch->commands = malloc(size * MAX_COMMAND);
	batch->results = calloc(size, sizeof(*batch->results));
	if (batch->commands && batch->results)
		return batch;
	twheel_batch_free(batch);
	errno = ENOMEM;
	return NULL;
}

void twheel_batch_free(struct twheel_batch *batch)
{
	if (!batch)
		return;
	while (batch->blocks) {
		struct key_block *next = batch->blocks->next;

		free(batch->blocks);
		batch->blocks = next;
	}
	free(batch->commands);
	free(batch->results);
	free(batch);
}

/* The callback must not use its batch. */
static int refuse_while_reporting(const struct twheel_batch *batch)
{
	if (!batch->reporting)
		return 0;
	errno = EBUSY;
	return -1;
}

int twheel_batch_on_result(struct twheel_batch *batch, twheel_batch_fn *fn, void *context)
{
	if (refuse_while_reporting(batch))
		return -1;
	if (batch->nr) {
		errno = EBUSY;
		return -1;
	}
	batch->fn = fn;
	batch->context = context;
	batch->index = 0;
	return 0;
}

/*
 * Returns space for @nr keys in the current block or the next one. Blocks are kept for
 * later commands and reused in the order of their allocation.
 */
static struct twheel_watch_spec *reserve_keys(struct twheel_batch *batch, unsigned int nr)
{
	struct key_block *block = batch->block;

	if (block && block->nr + nr <= KEYS_OF_BLOCK)
		return block->specs + block->nr;
	if (!block || !block->next) {
		block = calloc(1, sizeof(*block));
		if (!block)
			return NULL;
		*(batch->block ? &batch->block->next : &batch->blocks) = block;
		batch->block = block;
	} else {
		batch->block = block->next;
		batch->block->nr = 0;
	}
	return batch->block->specs;
}

/* The batch is empty: reuse all blocks. */
static void forget_keys(struct twheel_batch *batch)
{
	batch->block = batch->blocks;
	if (batch->block)
		batch->block->nr = 0;
}

/*
 * Replaces @keys, the address of @nr keys, by the address of a copy, and sets the size
 * of an entry. The address is ignored if @nr is 0.
 */
static int copy_keys(struct twheel_batch *batch, __u64 *keys, unsigned int nr, __u32 *key_size)
{
	struct twheel_watch_spec *to;

	if (nr > TWHEEL_MAX_KEYS) {
		errno = EINVAL;
		return -1;
	}
	*key_size = nr ? sizeof(*to) : 0;
	if (!nr || !*keys) {
		*keys = 0;
		return 0;
	}
	to = reserve_keys(batch, nr);
	if (!to)
		return -1;
	memcpy(to, (const void *)(uintptr_t)*keys, nr * sizeof(*to));
	batch->block->nr += nr;
	*keys = (uintptr_t)to;
	return 0;
}

/*
 * Reports the results of the first @nr commands, and removes them. The keys of the others stay in
 * place.
 */
static void report(struct twheel_batch *batch, unsigned int nr)
{
	const char *at = batch->commands;
	unsigned int i;

	batch->reporting = true;
	for (i = 0; i < nr; i++) {
		const struct twheel_command *command = (const void *)at;

		if (batch->results[i].error)
			batch->failed++;
		if (batch->fn)
			batch->fn(batch->context, batch->index + i, command, &batch->results[i]);
		at += TWHEEL_COMMAND_SIZE(command->cmd);
	}
	batch->reporting = false;
	batch->index += nr;
	batch->nr -= nr;
	batch->used -= at - batch->commands;
	memmove(batch->commands, at, batch->used);
	if (!batch->nr)
		forget_keys(batch);
}

int twheel_execute(int fd, const struct twheel_command *commands, unsigned int size,
		   struct twheel_result *results, unsigned int nr, unsigned int flags)
{
	struct twheel_batch_args args = {
		.commands = (uintptr_t)commands,
		.results = (uintptr_t)results,
		.nr = nr,
		.size = size,
		.flags = flags,
		.result_size = sizeof(*results),
	};

	if (ioctl(fd, TWHEEL_IOC_BATCH, &args))
		return -1;
	/* The kernel executes at least one command; otherwise callers would loop forever. */
	if (!args.done || args.done > nr) {
		errno = EIO;
		return -1;
	}
	return args.done;
}

static int flush(struct twheel_batch *batch)
{
	unsigned int i;

	while (batch->nr && !batch->stopped) {
		unsigned int failed = batch->failed;
		int done = twheel_execute(batch->fd, (const void *)batch->commands, batch->used,
					  batch->results, batch->nr, batch->flags);

		if (done < 0)
			return -1;
		report(batch, done);
		batch->stopped = batch->failed > failed && batch->flags & TWHEEL_BATCH_STOP;
	}
	/* Cancel the commands after the failure that stopped the batch. */
	for (i = 0; i < batch->nr; i++)
		batch->results[i] = (struct twheel_result) { .error = -ECANCELED };
	report(batch, batch->nr);
	return 0;
}

int twheel_batch_submit(struct twheel_batch *batch)
{
	unsigned int failed;

	if (refuse_while_reporting(batch) || flush(batch))
		return -1;
	failed = batch->failed;
	batch->failed = 0;
	batch->stopped = false;
	return failed;
}

/* Returns space for a command at the end of the batch, or NULL. A full batch is submitted first. */
static void *next_command(struct twheel_batch *batch)
{
	if (refuse_while_reporting(batch))
		return NULL;
	if (batch->nr == batch->size && flush(batch))
		return NULL;
	return batch->commands + batch->used;
}

/* Puts a command with the structure @args into the batch. */
static int put(struct twheel_batch *batch, unsigned int cmd, const void *args)
{
	struct twheel_command *command = next_command(batch);

	if (!command)
		return -1;
	command->cmd = cmd;
	command->reserved = 0;
	memcpy(command + 1, args, _IOC_SIZE(cmd));
	batch->used += TWHEEL_COMMAND_SIZE(cmd);
	batch->nr++;
	return 0;
}

int twheel_batch_add(struct twheel_batch *batch, const struct twheel_add_args *args)
{
	struct twheel_add_args copy = *args;

	/* First, since it may submit the batch, which forgets the keys. */
	if (!next_command(batch) || copy_keys(batch, &copy.keys, copy.nr_keys, &copy.key_size))
		return -1;
	return put(batch, twheel_add_cmd(&copy), &copy);
}

int twheel_batch_watch(struct twheel_batch *batch, uint64_t id,
		       const struct twheel_watch_spec *specs, unsigned int nr)
{
	struct twheel_watch_args args = { .id = id, .keys = (uintptr_t)specs, .nr_keys = nr };

	if (!next_command(batch) || copy_keys(batch, &args.keys, nr, &args.key_size))
		return -1;
	return put(batch, TWHEEL_IOC_WATCH, &args);
}

int twheel_batch_cancel(struct twheel_batch *batch, uint64_t id)
{
	struct twheel_cancel_args args = { .id = id };

	return put(batch, TWHEEL_IOC_CANCEL, &args);
}

int twheel_batch_complete(struct twheel_batch *batch, uint64_t id, uint64_t value)
{
	struct twheel_complete_args args = { .id = id, .value = value };

	return put(batch, TWHEEL_IOC_COMPLETE, &args);
}

int twheel_batch_complete_error(struct twheel_batch *batch, uint64_t id, int error)
{
	struct twheel_complete_args args = { .id = id, .error = error };

	return put(batch, TWHEEL_IOC_COMPLETE, &args);
}

int twheel_batch_rearm(struct twheel_batch *batch, uint64_t id, uint64_t deadline,
		       unsigned int flags)
{
	struct twheel_rearm_args args = { .id = id, .deadline = deadline, .flags = flags };

	return twheel_batch_rearm_with(batch, &args);
}

int twheel_batch_rearm_with(struct twheel_batch *batch, const struct twheel_rearm_args *args)
{
	return put(batch, TWHEEL_IOC_REARM, args);
}

int twheel_batch_unwatch(struct twheel_batch *batch, uint64_t id, struct twheel_key key)
{
	struct twheel_unwatch_args args = { .id = id, .key = key };

	return put(batch, TWHEEL_IOC_UNWATCH, &args);
}

int twheel_batch_signal(struct twheel_batch *batch, struct twheel_key key, uint64_t value)
{
	struct twheel_signal_args args = { .key = key, .value = value };

	return twheel_batch_signal_with(batch, &args);
}

int twheel_batch_signal_with(struct twheel_batch *batch, const struct twheel_signal_args *args)
{
	return put(batch, TWHEEL_IOC_SIGNAL, args);
}

int twheel_batch_cancel_key(struct twheel_batch *batch, struct twheel_key key)
{
	struct twheel_cancel_key_args args = { .key = key };

	return put(batch, TWHEEL_IOC_CANCEL_KEY, &args);
}
