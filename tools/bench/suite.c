// SPDX-License-Identifier: GPL-2.0
/*
 * The suite: for each number pending and each repetition, all contenders, one after the other
 * so that what the machine does meanwhile hits all of them. Each repetition begins with
 * another one.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

static const struct contender *const contenders[] = {
	&twheel_single,
	&twheel_batch,
	&twheel_keys1,
	&twheel_keys1_batch,
	&timerfd_single,
	&posix_single,
	&uring_single,
	&uring_batch,
	&heap_single,
};

#define NR_CONTENDERS	ARRAY_SIZE(contenders)

/* Why a contender goes no further: what it could not do with fewer it can't do with more. */
static char given_up[NR_CONTENDERS][64];

/* Whether @list, with commas between, has this contender, as "name" or as "name/case" */
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

static void skip_all(const struct contender *contender, unsigned int pending, const char *reason,
		     const struct options *options)
{
	static const char *const figures[] = {
		"fill", "add", "cancel", "rearm", "expire", "deliver",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(figures); i++)
		skip(contender, figures[i], pending, reason);
	if (options->memory && pending >= LEAST_FOR_MEMORY)
		skip(contender, "bytes", pending, reason);
}

/* Return: @error. What fails with this number will with larger ones, and is not tried. */
static int look_at(unsigned int i, unsigned int pending, const struct options *options,
		   const char *doing, int error)
{
	const char *name = error == -TOO_LONG ? NULL : strerrorname_np(-error);

	if (!error || error == -FAILED)
		return error;
	if (name)
		snprintf(given_up[i], sizeof(given_up[i]), "%s-fails-with-%s", doing, name);
	else
		snprintf(given_up[i], sizeof(given_up[i]), "%s-takes-too-long", doing);
	skip_all(contenders[i], pending, given_up[i], options);
	return error;
}

/* Whether it is there at all */
static int try_one(const struct contender *contender)
{
	struct session session;
	int error = session_open(&session, contender, BATCH);

	if (!error)
		session_close(&session);
	return error;
}

static void run_one(unsigned int i, unsigned int pending, const struct options *options)
{
	const struct contender *contender = contenders[i];

	if (look_at(i, pending, options, "open", try_one(contender)))
		return;
	if (options->memory && look_at(i, pending, options, "fill", memory(contender, pending)))
		return;
	if (look_at(i, pending, options, "churn", churn(contender, pending, options)))
		return;
	look_at(i, pending, options, "expire", expire(contender, pending));
}

static bool takes_part(const struct contender *contender, const struct options *options)
{
	if (options->only && !is_in(options->only, contender))
		return false;
	return !is_in(options->skip, contender);
}

static void run_all(unsigned int pending, unsigned int repetition, const struct options *options)
{
	for (unsigned int i = 0; i < NR_CONTENDERS; i++) {
		unsigned int turn = (i + repetition) % NR_CONTENDERS;

		if (!takes_part(contenders[turn], options))
			continue;
		if (!given_up[turn][0])
			run_one(turn, pending, options);
		else if (!repetition)
			skip_all(contenders[turn], pending, given_up[turn], options);
	}
}

void run_suite(const struct options *options)
{
	for (unsigned int i = 0; i < options->nr_pending; i++)
		for (unsigned int j = 0; j < options->repetitions; j++)
			run_all(options->pending[i], j, options);
}
