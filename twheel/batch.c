// SPDX-License-Identifier: GPL-2.0
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
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "device.h"

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
