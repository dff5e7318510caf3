// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: batches, many calls of the device in one. See twheel.h.
 *
 * A batch has room for the commands, their results and copies of the keys that
 * the commands name.  Commands stay in it until the kernel has carried them out:
 * who calls may try again whatever has stopped a submission.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "twheel.h"

/* So that the keys of any one command fit. */
#define KEYS_OF_BLOCK	(4 * TWHEEL_MAX_KEYS)

struct key_block {
	struct key_block *next;
	unsigned int nr;
	struct twheel_watch_spec specs[KEYS_OF_BLOCK];
};

struct twheel_batch {
	int fd;
	unsigned int size;
	unsigned int flags;
	unsigned int nr;	/* commands that wait */
	unsigned int failed;	/* that the next submission tells of */
	bool stopped;		/* one failed, with TWHEEL_BATCH_STOP */
	bool telling;		/* fn runs */
	__u64 index;		/* of the first command that waits */
	twheel_batch_fn *fn;
	void *context;
	struct twheel_command *commands;
	struct twheel_result *results;
	struct key_block *blocks;	/* keys of the commands */
	struct key_block *block;	/* where the next ones go */
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
	batch->commands = calloc(size, sizeof(*batch->commands));
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

/* What the callback may not do. */
static int refuse_while_telling(const struct twheel_batch *batch)
{
	if (!batch->telling)
		return 0;
	errno = EBUSY;
	return -1;
}

int twheel_batch_on_result(struct twheel_batch *batch, twheel_batch_fn *fn, void *context)
{
	if (refuse_while_telling(batch))
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
 * Room for @nr keys: behind the last ones, or in another block. Blocks are kept
 * for the next commands, and reached in the order in which they were made.
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

/* No command waits: its keys are free. */
static void forget_keys(struct twheel_batch *batch)
{
	batch->block = batch->blocks;
	if (batch->block)
		batch->block->nr = 0;
}

/*
 * Gives the next command, which has its keys' address in @keys, a copy of them.
 * Without any, that address is not looked at.
 */
static int copy_keys(struct twheel_batch *batch, __u64 *keys, unsigned int nr)
{
	struct twheel_watch_spec *to;

	if (nr > TWHEEL_MAX_KEYS) {
		errno = EINVAL;
		return -1;
	}
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

/* The first @nr commands have been carried out: tell what came of them. */
static void tell(struct twheel_batch *batch, unsigned int nr)
{
	unsigned int i;

	batch->telling = true;
	for (i = 0; i < nr; i++) {
		if (batch->results[i].error)
			batch->failed++;
		if (batch->fn)
			batch->fn(batch->context, batch->index + i, &batch->commands[i],
				  &batch->results[i]);
	}
	batch->telling = false;
}

/* Forget the first @nr commands. The keys of those behind them stay where they are. */
static void drop(struct twheel_batch *batch, unsigned int nr)
{
	batch->index += nr;
	batch->nr -= nr;
	memmove(batch->commands, batch->commands + nr,
		batch->nr * sizeof(*batch->commands));
	if (!batch->nr)
		forget_keys(batch);
}

/* What stands behind a failure that stops the batch ends without being tried. */
static void skip_all(struct twheel_batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->nr; i++)
		batch->results[i] = (struct twheel_result) { .error = -ECANCELED };
	tell(batch, batch->nr);
	drop(batch, batch->nr);
}

/* One system call, which may carry out fewer commands than it is given. */
static int carry_out(struct twheel_batch *batch)
{
	struct twheel_batch_args args = {
		.commands = (uintptr_t)batch->commands,
		.results = (uintptr_t)batch->results,
		.nr = batch->nr,
		.flags = batch->flags,
	};

	if (ioctl(batch->fd, TWHEEL_IOC_BATCH, &args))
		return -1;
	/* The kernel promises one at least; without, this would never end. */
	if (!args.done || args.done > batch->nr) {
		errno = EIO;
		return -1;
	}
	tell(batch, args.done);
	drop(batch, args.done);
	if (args.failed && batch->flags & TWHEEL_BATCH_STOP)
		batch->stopped = true;
	return 0;
}

static int flush(struct twheel_batch *batch)
{
	while (batch->nr && !batch->stopped)
		if (carry_out(batch))
			return -1;
	skip_all(batch);
	return 0;
}

int twheel_batch_submit(struct twheel_batch *batch)
{
	unsigned int failed;

	if (refuse_while_telling(batch) || flush(batch))
		return -1;
	failed = batch->failed;
	batch->failed = 0;
	batch->stopped = false;
	return failed;
}

/*
 * A cleared command at the end of the batch, which is submitted if it is full.
 * It belongs to the batch when nr counts it. Return: NULL if there is no room.
 */
static struct twheel_command *next_command(struct twheel_batch *batch, enum twheel_call call)
{
	struct twheel_command *command;

	if (refuse_while_telling(batch))
		return NULL;
	if (batch->nr == batch->size && flush(batch))
		return NULL;
	command = &batch->commands[batch->nr];
	memset(command, 0, sizeof(*command));
	command->call = call;
	return command;
}

int twheel_batch_add(struct twheel_batch *batch, const struct twheel_add_args *args)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_ADD);

	if (!command)
		return -1;
	command->add = *args;
	command->add.id = 0;
	if (copy_keys(batch, &command->add.keys, args->nr_keys))
		return -1;
	batch->nr++;
	return 0;
}

int twheel_batch_watch(struct twheel_batch *batch, uint64_t id,
		       const struct twheel_watch_spec *specs, unsigned int nr)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_WATCH);

	if (!command)
		return -1;
	command->watch.id = id;
	command->watch.nr_keys = nr;
	command->watch.keys = (uintptr_t)specs;
	if (copy_keys(batch, &command->watch.keys, nr))
		return -1;
	batch->nr++;
	return 0;
}

int twheel_batch_cancel(struct twheel_batch *batch, uint64_t id)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_CANCEL);

	if (!command)
		return -1;
	command->cancel.id = id;
	batch->nr++;
	return 0;
}

static int put_complete(struct twheel_batch *batch, const struct twheel_complete_args *args)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_COMPLETE);

	if (!command)
		return -1;
	command->complete = *args;
	batch->nr++;
	return 0;
}

int twheel_batch_complete(struct twheel_batch *batch, uint64_t id, uint64_t value)
{
	struct twheel_complete_args args = { .id = id, .value = value };

	return put_complete(batch, &args);
}

int twheel_batch_complete_error(struct twheel_batch *batch, uint64_t id, int error)
{
	struct twheel_complete_args args = { .id = id, .error = error };

	return put_complete(batch, &args);
}

int twheel_batch_rearm(struct twheel_batch *batch, uint64_t id, uint64_t deadline,
		       unsigned int flags, unsigned int which)
{
	struct twheel_rearm_args args = {
		.id = id,
		.deadline = deadline,
		.flags = flags,
		.which = which,
	};

	return twheel_batch_rearm_with(batch, &args);
}

int twheel_batch_rearm_with(struct twheel_batch *batch, const struct twheel_rearm_args *args)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_REARM);

	if (!command)
		return -1;
	command->rearm = *args;
	batch->nr++;
	return 0;
}

int twheel_batch_unwatch(struct twheel_batch *batch, uint64_t id, struct twheel_key key)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_UNWATCH);

	if (!command)
		return -1;
	command->unwatch.id = id;
	command->unwatch.key = key;
	batch->nr++;
	return 0;
}

int twheel_batch_signal(struct twheel_batch *batch, struct twheel_key key, uint64_t value)
{
	struct twheel_signal_args args = { .key = key, .value = value };

	return twheel_batch_signal_with(batch, &args);
}

int twheel_batch_signal_with(struct twheel_batch *batch, const struct twheel_signal_args *args)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_SIGNAL);

	if (!command)
		return -1;
	command->signal = *args;
	batch->nr++;
	return 0;
}

int twheel_batch_cancel_key(struct twheel_batch *batch, struct twheel_key key)
{
	struct twheel_command *command = next_command(batch, TWHEEL_CALL_CANCEL_KEY);

	if (!command)
		return -1;
	command->cancel_key.key = key;
	batch->nr++;
	return 0;
}
