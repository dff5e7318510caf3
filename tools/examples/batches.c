// SPDX-License-Identifier: GPL-2.0
/*
 * Batches: 1000 operations are added in eight system calls, and some are changed in one. A
 * function gets the result of each command, for an add the id.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <twheel.h>
#include <unistd.h>

#define OPS	1000
#define HOUR	3600000000000ULL

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void keep_id(void *context, uint64_t index, const struct twheel_command *command,
		    const struct twheel_result *result)
{
	uint64_t *ids = context;

	(void)index;
	if (!result->error)
		ids[command->add.cookie] = result->value;
}

static void count_errors(void *context, uint64_t index, const struct twheel_command *command,
			 const struct twheel_result *result)
{
	unsigned int *ended = context;

	(void)index;
	(void)command;
	*ended += result->error == -EALREADY;
}

/* A full batch is submitted by the next command. */
static void add_all(int purgatory, uint64_t *ids)
{
	struct twheel_batch *batch = twheel_batch_new(purgatory, 128, 0);
	struct twheel_add_args op = { .deadline = HOUR };

	if (!batch || twheel_batch_on_result(batch, keep_id, ids))
		die("batch");
	for (op.cookie = 0; op.cookie < OPS; op.cookie++)
		if (twheel_batch_add(batch, &op))
			die("add");
	if (twheel_batch_submit(batch))
		die("submit");
	twheel_batch_free(batch);
}

/* A failed command does not stop the others, unless the batch has TWHEEL_BATCH_STOP. */
static unsigned int change(int purgatory, const uint64_t *ids)
{
	struct twheel_batch *batch = twheel_batch_new(purgatory, 8, 0);
	unsigned int ended = 0;
	int failed;

	if (!batch || twheel_batch_on_result(batch, count_errors, &ended))
		die("batch");
	if (twheel_batch_cancel(batch, ids[0]) ||
	    twheel_batch_cancel(batch, ids[0]) ||
	    twheel_batch_complete(batch, ids[1], 7) ||
	    twheel_batch_rearm(batch, ids[2], 2 * HOUR, TWHEEL_REARM_IF_LATER))
		die("command");
	failed = twheel_batch_submit(batch);
	twheel_batch_free(batch);
	printf("%d command failed, since its operation had ended\n", failed);
	return failed == 1 && ended == 1;
}

int main(void)
{
	static uint64_t ids[OPS];
	struct twheel_query_args state;
	int purgatory = twheel_open(0);

	if (purgatory < 0)
		die(TWHEEL_DEVICE);
	add_all(purgatory, ids);
	if (!change(purgatory, ids) || twheel_query(purgatory, &state))
		die("batch");
	printf("%llu pending, %llu completed, %llu cancelled\n", state.pending,
	       state.completed, state.cancelled);
	close(purgatory);
	return state.pending != OPS - 2 || state.completed != 1 || state.cancelled != 1;
}
