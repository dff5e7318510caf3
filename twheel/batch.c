// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, batches: many calls in one.
 *
 * Commands are carried out in order, and a few of them are copied at a time, in
 * both directions: neither the stack nor the number of copies grows with them.
 * Whether results can be written is tried before anything is done, chunk by chunk.
 *
 * Once a command has been carried out, the batch has succeeded as far as it got:
 * what is wrong behind that comes up when the caller goes on from there.
 */
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "device.h"

/* How many commands are copied at a time; 1 KiB on the stack. */
#define BATCH_CHUNK	7

/* Write results behind those that are done; how many could be written. */
static u32 results_write(const struct twheel_batch_args *batch,
			 const struct twheel_result *results, u32 nr)
{
	struct twheel_result __user *to = u64_to_user_ptr(batch->results);

	if (!batch->results)
		return nr;
	return nr - DIV_ROUND_UP(copy_to_user(to + batch->done, results, nr * sizeof(*results)),
				 sizeof(*results));
}

/* Get up to so many commands; how many there are for whose results there is room. */
static u32 chunk_read(const struct twheel_batch_args *batch, struct twheel_command *commands,
		      struct twheel_result *results, u32 nr)
{
	const struct twheel_command __user *from = u64_to_user_ptr(batch->commands);

	nr -= DIV_ROUND_UP(copy_from_user(commands, from + batch->done, nr * sizeof(*commands)),
			   sizeof(*commands));
	memset(results, 0, nr * sizeof(*results));
	return results_write(batch, results, nr);
}

/* Carry out so many; how many it were, and whether none shall follow. */
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

/* Carry out a few more; -EFAULT if no further one can be got at. */
static int chunk_do(struct twheel_ioctl *call, struct twheel_batch_args *batch, bool *stop)
{
	u32 nr = min_t(u32, batch->nr - batch->done, BATCH_CHUNK);
	struct twheel_command commands[BATCH_CHUNK];
	struct twheel_result results[BATCH_CHUNK];
	u32 written;

	nr = chunk_read(batch, commands, results, nr);
	if (!nr)
		return -EFAULT;
	nr = chunk_run(call, batch, commands, results, nr, stop);
	written = results_write(batch, results, nr);
	batch->done += nr;
	return written < nr ? -EFAULT : 0;
}

/**
 * twheel_call_batch - TWHEEL_IOC_BATCH
 * @call: the call
 * @args: as from user space; how many were done, and how many of them failed, is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_batch_args *batch = &args->batch;
	bool stop = false;
	int err = 0;

	if (batch->flags & ~TWHEEL_BATCH_STOP || !batch->nr || batch->nr > TWHEEL_MAX_BATCH)
		return -EINVAL;
	batch->done = 0;
	batch->failed = 0;
	while (batch->done < batch->nr && !stop && !err) {
		err = chunk_do(call, batch, &stop);
		cond_resched();
	}
	return batch->done ? 0 : err;
}
