// SPDX-License-Identifier: GPL-2.0
/*
 * The suite: for each number of pending operations and each repetition, run all
 * contenders in turn, so that disturbances affect all of them. The first contender
 * changes with each repetition.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

static const struct contender *const contenders[] = {
	&twheel_single,
	&twheel_batch,
	&twheel_large_batch,
	&twheel_keys1,
	&twheel_keys1_batch,
	&twheel_uring,
	&twheel_uring_keys1,
	&timerfd_single,
	&posix_single,
	&uring_single,
	&uring_batch,
	&uring_large_batch,
	&heap_single,
};

#define NR_CONTENDERS	ARRAY_SIZE(contenders)

/* Reason to skip a contender: it failed, and would also fail with more operations. */
static char given_up[NR_CONTENDERS][64];

/* Returns true if the comma-separated @list contains "name" or "name/case" of the contender. */
static bool is_in(const char *list, const struct contender *contender)
{
	char full[64];
	size_t length;

	snprintf(full, sizeof(full), "%s/%s", contender->name, contender->case_name);
	while (list) {
		length = strcspn(list, ",");
		if (!strncmp(list, full, length) && (!full[length] || full[length] == '/'))
			return true;
		list = list[length] ? list + length + 1 : NULL;
	}
	return false;
}

/* In the order of measurement. */
enum stage {
	STAGE_OPEN,
	STAGE_MEMORY,
	STAGE_CHURN,
	STAGE_EXPIRE,
};

static const struct {
	enum stage	stage;
	const char	*name;
} figures[] = {
	{ STAGE_MEMORY, "bytes" },
	{ STAGE_CHURN, "fill" },
	{ STAGE_CHURN, "add" },
	{ STAGE_CHURN, "cancel" },
	{ STAGE_CHURN, "rearm" },
	{ STAGE_EXPIRE, "expire" },
	{ STAGE_EXPIRE, "deliver" },
};

/* Report all figures of @stage and later stages as skipped. */
static void skip_from(unsigned int i, enum stage stage, unsigned int pending,
		      const struct options *options)
{
	for (unsigned int j = 0; j < ARRAY_SIZE(figures); j++) {
		if (figures[j].stage < stage)
			continue;
		if (figures[j].stage == STAGE_MEMORY &&
		    (!options->memory || pending < LEAST_FOR_MEMORY))
			continue;
		skip(contenders[i], figures[j].name, pending, given_up[i]);
	}
}

/* Skip the contender from now on: it would also fail with more operations. */
static void give_up(unsigned int i, enum stage stage, unsigned int pending,
		    const struct options *options, int error)
{
	static const char *const doing[] = { "open", "fill", "churn", "expire" };
	const char *name = error == -TOO_LONG ? NULL : strerrorname_np(-error);

	if (error == -FAILED)
		return;
	if (name)
		snprintf(given_up[i], sizeof(given_up[i]), "%s-fails-with-%s", doing[stage], name);
	else
		snprintf(given_up[i], sizeof(given_up[i]), "%s-takes-too-long", doing[stage]);
	skip_from(i, stage, pending, options);
}

/* Check that the contender is available. */
static int try_one(const struct contender *contender)
{
	struct session session;
	int error = session_open(&session, contender, BATCH);

	if (!error)
		session_close(&session);
	return error;
}

static int run_stage(const struct contender *contender, enum stage stage, unsigned int pending,
		     const struct options *options, double *add_ns)
{
	switch (stage) {
	case STAGE_OPEN:
		return try_one(contender);
	case STAGE_MEMORY:
		return options->memory ? memory(contender, pending) : 0;
	case STAGE_CHURN:
		return churn(contender, pending, options, add_ns);
	case STAGE_EXPIRE:
		return expire(contender, pending, *add_ns);
	}
	return 0;
}

static void run_one(unsigned int i, unsigned int pending, const struct options *options)
{
	enum stage stage;
	double add_ns = 0;
	int error;

	for (stage = STAGE_OPEN; stage <= STAGE_EXPIRE; stage++) {
		error = run_stage(contenders[i], stage, pending, options, &add_ns);
		if (error) {
			give_up(i, stage, pending, options, error);
			return;
		}
	}
}

static bool is_selected(const struct contender *contender, const struct options *options)
{
	if (options->only && !is_in(options->only, contender))
		return false;
	return !is_in(options->skip, contender);
}

static void run_all(unsigned int pending, unsigned int repetition, const struct options *options)
{
	for (unsigned int i = 0; i < NR_CONTENDERS; i++) {
		unsigned int turn = (i + repetition) % NR_CONTENDERS;

		if (!is_selected(contenders[turn], options))
			continue;
		if (!given_up[turn][0])
			run_one(turn, pending, options);
		else if (!repetition)
			skip_from(turn, STAGE_OPEN, pending, options);
	}
}

void run_suite(const struct options *options)
{
	for (unsigned int i = 0; i < options->nr_pending; i++) {
		for (unsigned int j = 0; j < options->repetitions + options->exact; j++) {
			discard(options->exact && !j);
			run_all(options->pending[i], j, options);
		}
	}
}
