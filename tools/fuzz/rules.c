// SPDX-License-Identifier: GPL-2.0
/*
 * What the header and Documentation/device.rst say that a call must refuse, and with which
 * errors it may fail.
 *
 * Both directions are held against what the kernel does: a call with something in it that
 * must not be there has to fail, and one that is as it should be may fail only with what
 * its state can bring about.  EINVAL is among the errors of a rule where the state can.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz.h"

#define MAX_ERRNO	4095

static bool bad_condition(const struct twheel_add_args *args)
{
	bool none = args->condition == TWHEEL_COND_NONE;
	bool quorum = args->condition == TWHEEL_COND_QUORUM;
	bool sum = args->condition == TWHEEL_COND_SUM;

	return args->condition > TWHEEL_COND_SUM || args->nr_keys > TWHEEL_MAX_KEYS ||
	       none != !args->nr_keys || quorum != !!args->quorum ||
	       args->quorum > args->nr_keys || sum != !!args->threshold;
}

static bool refused_add(const struct trial *trial)
{
	const struct twheel_add_args *args = trial->args;
	__u32 known = TWHEEL_ADD_ABSTIME | TWHEEL_ADD_DETACHED | TWHEEL_ADD_CANCEL_ON_SET |
		      TWHEEL_ADD_FIXED_DELAY;

	if (args->flags & ~known || args->reserved || bad_condition(args) ||
	    args->clock > TWHEEL_CLOCK_REALTIME)
		return true;
	if (args->period && (args->slack || args->deadline > INT64_MAX))
		return true;
	if (!args->period && (args->runs || args->flags & TWHEEL_ADD_FIXED_DELAY))
		return true;
	if (args->flags & TWHEEL_ADD_CANCEL_ON_SET && args->clock != TWHEEL_CLOCK_REALTIME)
		return true;
	return trial->known_file && !trial->named && args->flags & TWHEEL_ADD_DETACHED;
}

static bool refused_cancel(const struct trial *trial)
{
	const struct twheel_cancel_args *args = trial->args;

	return args->flags || args->reserved;
}

static bool bad_result(__s32 error, __u64 value)
{
	return error > 0 || error < -MAX_ERRNO || (error && value);
}

static bool refused_complete(const struct trial *trial)
{
	const struct twheel_complete_args *args = trial->args;

	return args->flags || bad_result(args->error, args->value);
}

static bool refused_rearm(const struct trial *trial)
{
	const struct twheel_rearm_args *args = trial->args;

	return args->flags & ~TWHEEL_REARM_ABSTIME || args->which > TWHEEL_REARM_IF_LATER ||
	       args->reserved;
}

static bool refused_watch(const struct trial *trial)
{
	const struct twheel_watch_args *args = trial->args;

	return args->flags || !args->nr_keys || args->nr_keys > TWHEEL_MAX_KEYS;
}

static bool refused_unwatch(const struct trial *trial)
{
	const struct twheel_unwatch_args *args = trial->args;

	return args->flags || args->reserved;
}

static bool refused_signal(const struct trial *trial)
{
	const struct twheel_signal_args *args = trial->args;

	return args->flags || args->reserved;
}

static bool refused_cancel_key(const struct trial *trial)
{
	const struct twheel_cancel_key_args *args = trial->args;

	return args->flags;
}

static bool refused_complete_all(const struct trial *trial)
{
	const struct twheel_complete_all_args *args = trial->args;

	return args->flags & ~TWHEEL_COMPLETE_OTHERS || args->reserved ||
	       bad_result(args->error, args->value);
}

static bool refused_drain(const struct trial *trial)
{
	const struct twheel_drain_args *args = trial->args;

	return args->flags;
}

static bool refused_detached(const struct trial *trial)
{
	const struct twheel_detached_args *args = trial->args;

	return args->flags || args->reserved || (trial->known_file && !trial->named);
}

static bool refused_info(const struct trial *trial)
{
	const struct twheel_info_args *args = trial->args;

	return args->flags;
}

static bool refused_list(const struct trial *trial)
{
	const struct twheel_list_args *args = trial->args;

	return args->flags & ~TWHEEL_LIST_OTHERS || !args->room || args->reserved;
}

static bool refused_query(const struct trial *trial)
{
	const struct twheel_query_args *args = trial->args;

	return args->flags;
}

static bool bad_name(const char *name)
{
	static const char first[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	unsigned int i, length = strnlen(name, TWHEEL_NAME_SIZE);

	if (!length || length == TWHEEL_NAME_SIZE || !strchr(first, name[0]))
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

static bool refused_create(const struct trial *trial)
{
	const struct twheel_create_args *args = trial->args;

	return bad_name(args->name) || args->flags || args->mode & ~0666 ||
	       (trial->known_file && trial->named);
}

static bool refused_remove(const struct trial *trial)
{
	const struct twheel_remove_args *args = trial->args;

	return args->flags & ~TWHEEL_REMOVE_FORCE || bad_name(args->name) ||
	       (trial->known_file && trial->named);
}

static bool refused_batch(const struct trial *trial)
{
	const struct twheel_batch_args *args = trial->args;

	return args->flags & ~TWHEEL_BATCH_STOP || !args->nr || args->nr > TWHEEL_MAX_BATCH;
}

#define RULE(_call, _name, _changes, ...)				\
[TWHEEL_CALL_##_call] = {						\
	.name		= #_call,					\
	.size		= sizeof(struct twheel_##_name##_args),		\
	.request	= TWHEEL_IOC_##_call,				\
	.changes	= _changes,					\
	.refused	= refused_##_name,				\
	.errors		= { __VA_ARGS__ },				\
}

static const struct rule rules[] = {
	RULE(ADD, add, true, ENOSPC, EAGAIN, EDQUOT, ESHUTDOWN),
	RULE(CANCEL, cancel, true, ENOENT, EALREADY, ESHUTDOWN),
	RULE(COMPLETE, complete, true, ENOENT, EALREADY, ESHUTDOWN),
	RULE(REARM, rearm, true, ENOENT, EALREADY, EOPNOTSUPP, ESHUTDOWN),
	RULE(WATCH, watch, true, ENOENT, EALREADY, EINVAL, ENOSPC, ESHUTDOWN),
	RULE(UNWATCH, unwatch, true, ENOENT, EALREADY, EINVAL, ESRCH, ESHUTDOWN),
	RULE(SIGNAL, signal, true, ESHUTDOWN),
	RULE(CANCEL_KEY, cancel_key, true, ESHUTDOWN),
	RULE(BATCH, batch, true, ESHUTDOWN),
	RULE(COMPLETE_ALL, complete_all, true, ESHUTDOWN),
	RULE(DRAIN, drain, true, EINVAL, ESHUTDOWN),
	RULE(DETACHED, detached, true, EBUSY, ESHUTDOWN),
	RULE(INFO, info, false, ENOENT, EALREADY),
	RULE(LIST, list, false, EINVAL),
	RULE(QUERY, query, false),
	RULE(CREATE, create, true, EEXIST, ENOSPC, EPERM, EINVAL, ESHUTDOWN),
	RULE(REMOVE, remove, true, ENOENT, EPERM, EBUSY, ESHUTDOWN),
};

/* Return: NULL if there is no such call. */
const struct rule *rule_of(unsigned int call)
{
	return call < ARRAY_SIZE(rules) && rules[call].name ? &rules[call] : NULL;
}

/* Whether the call, made on memory that is there, must have been refused. */
bool must_fail(const struct trial *trial)
{
	const struct rule *rule = rule_of(trial->call);

	if (!rule || trial->shorter || trial->tail)
		return true;
	if (rule->changes && trial->known_file && !trial->writable)
		return true;
	return trial->bad_spec || rule->refused(trial);
}

/* Of keys that are drawn, two may be the same one, and be too few then. */
static bool too_few_keys(const struct trial *trial)
{
	const struct twheel_add_args *args = trial->args;

	return trial->call == TWHEEL_CALL_ADD && args->quorum > 1;
}

/* Whether it may have failed with @error. */
bool may_fail(const struct trial *trial, int error)
{
	const struct rule *rule = rule_of(trial->call);
	unsigned int i;

	for (i = 0; rule && i < ARRAY_SIZE(rule->errors); i++) {
		if (error == rule->errors[i])
			return true;
	}
	switch (error) {
	case ENOTTY:
		return !rule || is_missing(trial->call) ||
		       (trial->named && (trial->call == TWHEEL_CALL_CREATE ||
					 trial->call == TWHEEL_CALL_REMOVE));
	case EINVAL:
		return !trial->plain || must_fail(trial) || too_few_keys(trial);
	case E2BIG:
		return trial->tail || !trial->plain;
	case EFAULT:
		return !trial->plain || trial->odd || trial->injected;
	case EBADF:
		return rule && rule->changes && !trial->writable;
	case ENOMEM:
		return trial->injected;
	default:
		return false;
	}
}
