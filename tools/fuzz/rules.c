// SPDX-License-Identifier: GPL-2.0
/*
 * The arguments that a call must refuse, according to the header, and the errors that it may
 * return, according to Documentation/calls.toml.
 *
 * The kernel is checked in both directions: a call with invalid arguments must fail, and a
 * call with valid arguments may only fail with errors that depend on the state.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "fuzz.h"

#define MAX_ERRNO	4095
#define MAX_STRIDE	4096

static bool bad_condition(const struct twheel_add_args *args)
{
	bool none = args->condition == TWHEEL_COND_NONE;
	bool quorum = args->condition == TWHEEL_COND_QUORUM;
	bool sum = args->condition == TWHEEL_COND_SUM;

	return args->condition > TWHEEL_COND_SUM || args->nr_keys > TWHEEL_MAX_KEYS ||
	       none != !args->nr_keys || quorum != !!args->quorum ||
	       args->quorum > args->nr_keys || sum != !!args->threshold;
}

/* For the entries of an array; @size is their size in the first version. */
static bool wrong_stride(__u32 nr, __u32 stride, size_t size)
{
	return nr ? stride < size || stride > MAX_STRIDE : stride;
}

bool not_zero(const void *memory, size_t size)
{
	const char *at = memory;

	while (size--) {
		if (*at++)
			return true;
	}
	return false;
}

/* Times end at INT64_MAX; the largest number means never, or a coarse slack. */
static bool bad_time(__u64 ns)
{
	return ns > INT64_MAX && ns != TWHEEL_NEVER;
}

bool bad_clock(__u32 clock)
{
	return clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME && clock != CLOCK_REALTIME;
}

static bool bad_cell(const struct twheel_add_args *args)
{
	__u32 other = TWHEEL_ADD_DETACHED | TWHEEL_ADD_CANCEL_ON_SET | TWHEEL_ADD_FIXED_DELAY;

	if (!(args->flags & TWHEEL_ADD_CELL))
		return args->cell;
	return args->flags & other || args->clock == CLOCK_REALTIME || args->slack ||
	       args->period || args->condition > TWHEEL_COND_ANY;
}

/* The word after an exchange is armed, and has the life that follows. */
static bool bad_exchange(const struct twheel_exchange_args *args)
{
	__u64 from = args->from;

	if (from & TWHEEL_CELL_IDLE)
		from = (from + TWHEEL_CELL_TIME + 1) & TWHEEL_CELL_LIFE;
	return args->to & (TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE) ||
	       (from ^ args->to) & ~TWHEEL_CELL_TIME;
}

static bool bad_add(const struct trial *trial, const struct twheel_add_args *args)
{
	if (bad_condition(args) || bad_clock(args->clock) || bad_time(args->deadline) ||
	    bad_time(args->slack) ||
	    wrong_stride(args->nr_keys, args->key_size, sizeof(struct twheel_watch_spec)) ||
	    (!args->nr_keys && args->keys))
		return true;
	if (args->period &&
	    (args->slack || args->deadline > INT64_MAX || args->period > INT64_MAX))
		return true;
	if (!args->period && (args->runs || args->flags & TWHEEL_ADD_FIXED_DELAY))
		return true;
	if (args->flags & TWHEEL_ADD_CANCEL_ON_SET &&
	    (args->clock != CLOCK_REALTIME || !(args->flags & TWHEEL_ADD_ABSTIME)))
		return true;
	if (args->queue >= TWHEEL_MAX_QUEUES ||
	    (args->queue && !(args->flags & TWHEEL_ADD_DETACHED)) || bad_cell(args))
		return true;
	return trial->known_file && !trial->named && args->flags & TWHEEL_ADD_DETACHED;
}

static bool bad_result(__s32 error, __u64 value)
{
	return error > 0 || error < -MAX_ERRNO || (error && value);
}

static bool bad_rearm(const struct twheel_rearm_args *args)
{
	__u32 modes = TWHEEL_REARM_IF_EARLIER | TWHEEL_REARM_IF_LATER;

	return (args->flags & modes) == modes || bad_time(args->deadline) || bad_time(args->slack);
}

static bool bad_watch(const struct twheel_watch_args *args)
{
	return !args->nr_keys || args->nr_keys > TWHEEL_MAX_KEYS ||
	       wrong_stride(args->nr_keys, args->key_size, sizeof(struct twheel_watch_spec));
}

static bool bad_info(const struct twheel_info_args *args)
{
	return (!args->max_keys && args->keys) ||
	       wrong_stride(1, args->entry_size, sizeof(struct twheel_pending)) ||
	       wrong_stride(args->max_keys, args->key_size, sizeof(struct twheel_watch_spec));
}

static bool bad_list(const struct twheel_list_args *args)
{
	return !args->max_entries ||
	       wrong_stride(args->max_entries, args->entry_size, sizeof(struct twheel_pending));
}

static bool bad_name(const char *name)
{
	static const char first[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	unsigned int i, length = strnlen(name, TWHEEL_NAME_SIZE);

	if (!length || length == TWHEEL_NAME_SIZE || !strchr(first, name[0]) ||
	    !strcmp(name, "control"))
		return true;
	for (i = 1; i < length; i++) {
		if (!strchr(first, name[i]) && !strchr("-_.", name[i]))
			return true;
	}
	for (; i < TWHEEL_NAME_SIZE; i++) {
		if (name[i])
			return true;
	}
	return false;
}

static bool bad_batch(const struct twheel_batch_args *args)
{
	return !args->nr || args->nr > TWHEEL_MAX_BATCH ||
	       wrong_stride(!!args->results, args->result_size, sizeof(struct twheel_result));
}

/* Return: true if a bit is set that the call does not know. */
static bool has_unknown_bits(unsigned int call, const union call_args *good)
{
	bool unknown = false;

#define ADD_UNKNOWN(name, field, known)	\
	(unknown |= call == TWHEEL_CALL_##name && ((field) & ~(known)))
	TWHEEL_KNOWN(ADD_UNKNOWN)
	return unknown;
}

/* Return: true if the kernel must refuse these arguments. */
static bool is_refused(const struct trial *trial)
{
	const union call_args *args = trial->args;

	if (has_unknown_bits(trial->call, args))
		return true;
	switch (trial->call) {
	case TWHEEL_CALL_ADD:
		return bad_add(trial, &args->add_args);
	case TWHEEL_CALL_COMPLETE:
		return bad_result(args->complete_args.error, args->complete_args.value);
	case TWHEEL_CALL_REARM:
		return bad_rearm(&args->rearm_args);
	case TWHEEL_CALL_WATCH:
		return bad_watch(&args->watch_args);
	case TWHEEL_CALL_EXCHANGE:
		return bad_exchange(&args->exchange_args);
	case TWHEEL_CALL_BATCH:
		return bad_batch(&args->batch_args);
	case TWHEEL_CALL_COMPLETE_ALL:
		return bad_result(args->complete_all_args.error, args->complete_all_args.value);
	case TWHEEL_CALL_EVENTS:
		return args->events_args.queue >= TWHEEL_MAX_QUEUES ||
		       (trial->known_file && !trial->named);
	case TWHEEL_CALL_INFO:
		return bad_info(&args->info_args);
	case TWHEEL_CALL_LIST:
		return bad_list(&args->list_args);
	case TWHEEL_CALL_CREATE:
		return bad_name(args->create_args.name);
	case TWHEEL_CALL_REMOVE:
		return bad_name(args->remove_args.name);
	default:
		return false;
	}
}

/* Return: NULL if the call does not exist. */
const struct twheel_call_row *row_of(unsigned int call)
{
	return call < ARRAY_SIZE(twheel_calls) && twheel_calls[call].name ?
	       &twheel_calls[call] : NULL;
}

/* Return: true if the node of the file does not support the call. */
static bool misplaced(const struct trial *trial)
{
	const struct twheel_call_row *row = row_of(trial->call);

	return trial->known_file && trial->type != (row->control ? FILE_CONTROL :
						    row->events ? FILE_EVENTS : FILE_PURGATORY);
}

/* Return: true if the file was opened without the required access. */
static bool lacks_access(const struct trial *trial)
{
	unsigned int mode = row_of(trial->call)->mode;
	const struct twheel_add_args *add = trial->args;

	/* The event of an operation that is not detached needs a reader. */
	if (trial->call == TWHEEL_CALL_ADD && !(add->flags & TWHEEL_ADD_DETACHED))
		mode |= READ;
	return trial->known_file && ((mode & WRITE && !trial->writable) ||
				     (mode & READ && !trial->readable));
}

/* Return: true if a restricted file does not support the call. */
static bool needs_all(const struct trial *trial)
{
	const union call_args *args = trial->args;

	switch (trial->call) {
	case TWHEEL_CALL_COMPLETE_ALL:
		return args->complete_all_args.flags & TWHEEL_COMPLETE_OTHERS;
	case TWHEEL_CALL_LIST:
		return args->list_args.flags & TWHEEL_LIST_OTHERS;
	default:
		return row_of(trial->call)->right == TWHEEL_RIGHT_OTHERS;
	}
}

/* Return: true if a restricted file needs a right for the call. */
static bool needs_right(const struct trial *trial)
{
	return trial->call == TWHEEL_CALL_ADD || trial->call == TWHEEL_CALL_CELLS ||
	       row_of(trial->call)->right;
}

/* Return: true if the call, made with mapped memory, must have been refused. */
bool must_fail(const struct trial *trial)
{
	if (!row_of(trial->call) || trial->shorter || trial->tail || trial->entry_tail)
		return true;
	if (misplaced(trial) || lacks_access(trial) || (trial->restricted && needs_all(trial)))
		return true;
	return trial->bad_spec || is_refused(trial);
}

/* The condition was corrupted: the keys may need several signals, which a sum does not count. */
static bool needs_may_not_fit(const struct trial *trial)
{
	const struct twheel_add_args *args = trial->args;

	return trial->call == TWHEEL_CALL_ADD && trial->odd &&
	       args->condition == TWHEEL_COND_SUM;
}

/* Return: true if the kernel reads the entries of an array at wrong addresses. */
static bool misreads_array(const struct trial *trial)
{
	const union call_args *args = trial->args;

	switch (trial->call) {
	case TWHEEL_CALL_ADD:
		return args->add_args.key_size && args->add_args.key_size != trial->stride;
	case TWHEEL_CALL_WATCH:
		return args->watch_args.key_size != trial->stride;
	case TWHEEL_CALL_BATCH:
		return args->batch_args.size != trial->stride;
	default:
		return false;
	}
}

/* Return: true if the entries of an array are larger than the kernel accepts. */
static bool too_large(const struct trial *trial)
{
	const union call_args *args = trial->args;

	switch (trial->call) {
	case TWHEEL_CALL_INFO:
		return args->info_args.entry_size > MAX_STRIDE ||
		       args->info_args.key_size > MAX_STRIDE;
	case TWHEEL_CALL_LIST:
		return args->list_args.entry_size > MAX_STRIDE;
	case TWHEEL_CALL_BATCH:
		return args->batch_args.result_size > MAX_STRIDE;
	default:
		return false;
	}
}

/* Return: true if EINVAL depends on the operation, on the descriptor, or on limits. */
static bool invalid_in_some_states(const struct trial *trial)
{
	const struct twheel_add_args *add = trial->args;

	/* The file may have no cells, or the keys need several signals. */
	if (trial->call == TWHEEL_CALL_ADD)
		return add->flags & TWHEEL_ADD_CELL;
	return trial->call == TWHEEL_CALL_WATCH || trial->call == TWHEEL_CALL_UNWATCH ||
	       trial->call == TWHEEL_CALL_REARM || trial->call == TWHEEL_CALL_CREATE ||
	       trial->call == TWHEEL_CALL_CONFIRM || trial->call == TWHEEL_CALL_CELLS;
}

/* Return: true if the call may have failed with @error. */
bool may_fail(const struct trial *trial, int error)
{
	const struct twheel_call_row *row = row_of(trial->call);
	unsigned int i;

	if (!row)
		return error == ENOTTY;
	switch (error) {
	case ENOTTY:
		return misplaced(trial);
	case EINVAL:
		return !trial->plain || must_fail(trial) || needs_may_not_fit(trial) ||
		       misreads_array(trial) || invalid_in_some_states(trial);
	case E2BIG:
		return trial->tail || trial->entry_tail || !trial->plain || misreads_array(trial) ||
		       too_large(trial);
	case EFAULT:
		return !trial->plain || trial->odd || trial->injected;
	case EBADF:
		return lacks_access(trial);
	case EPERM:
		return row->control || trial->call == TWHEEL_CALL_EXCHANGE ||
		       (trial->maybe_restricted && needs_right(trial));
	case ESHUTDOWN:
		return !row->control && row->mode & WRITE;
	case ENOMEM:
		return trial->injected;
	case EINTR:	/* only a killed process gets it */
	case EMFILE:
	case ENFILE:
		return false;
	}
	for (i = 0; i < ARRAY_SIZE(row->errors); i++) {
		if (error == row->errors[i])
			return true;
	}
	return false;
}
