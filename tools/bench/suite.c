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

#define NR_CONTENDERS	(sizeof(contenders) / sizeof(contenders[0]))

/* Why a contender goes no further: what it could not do with fewer it can't do with more. */
static char given_up[NR_CONTENDERS][64];

/* Whether @list, names with commas between, has this one */
static bool is_in(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (list) {
		if (!strncmp(list, name, length) && (!list[length] || list[length] == ','))
			return true;
		list = strchr(list, ',');
		if (list)
			list++;
	}
	return false;
}

static void give_up(unsigned int i, const char *doing, int error)
{
	const char *name = error == -TOO_LONG ? NULL : strerrorname_np(-error);

	if (name)
		snprintf(given_up[i], sizeof(given_up[i]), "%s-fails-with-%s", doing, name);
	else
		snprintf(given_up[i], sizeof(given_up[i]), "%s-takes-too-long", doing);
}

static void skip_all(const struct contender *contender, unsigned int pending, const char *reason,
		     const struct options *options)
{
	static const char *const figures[] = { "add", "cancel", "rearm", "expire", "deliver" };

	for (unsigned int i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		skip(contender, figures[i], pending, reason);
	if (options->memory)
		skip(contender, "bytes", pending, reason);
}

static void run_one(unsigned int i, unsigned int pending, const struct options *options)
{
	const struct contender *contender = contenders[i];
	const char *doing = "churn";
	int error = 0;

	if (!given_up[i][0]) {
		if (options->memory) {
			doing = "memory";
			error = memory(contender, pending);
		}
		if (!error) {
			doing = "churn";
			error = churn(contender, pending, options);
		}
		if (!error) {
			doing = "expire";
			error = expire(contender, pending);
		}
		if (!error || error == -FAILED)
			return;
		give_up(i, doing, error);
	}
	skip_all(contender, pending, given_up[i], options);
}

static bool takes_part(const struct contender *contender, const struct options *options)
{
	if (options->only && !is_in(options->only, contender->name))
		return false;
	return !is_in(options->skip, contender->name);
}

static void run_all(unsigned int pending, unsigned int repetition, const struct options *options)
{
	for (unsigned int i = 0; i < NR_CONTENDERS; i++) {
		unsigned int turn = (i + repetition) % NR_CONTENDERS;

		if (takes_part(contenders[turn], options))
			run_one(turn, pending, options);
	}
}

void run_suite(const struct options *options)
{
	for (unsigned int i = 0; i < options->nr_pending; i++)
		for (unsigned int j = 0; j < options->repetitions; j++)
			run_all(options->pending[i], j, options);
}
