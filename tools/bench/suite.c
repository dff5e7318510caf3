// SPDX-License-Identifier: GPL-2.0
/*
 * The suite: for each repetition, run all contenders in turn, so that disturbances affect all of
 * them. The first contender changes with each repetition.
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
};

#define NR_CONTENDERS	ARRAY_SIZE(contenders)

/* Contenders that failed. */
static bool given_up[NR_CONTENDERS];

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

/* Skip the contender from now on. */
static void give_up(unsigned int i, const char *stage, unsigned int pending, int error)
{
	const char *name = error == -TOO_LONG ? NULL : strerrorname_np(-error);
	char reason[64];

	if (error == -FAILED)
		return;
	snprintf(reason, sizeof(reason), "%s%s", name ? "fails-with-" : "takes-too-long",
		 name ? name : "");
	skip(contenders[i], stage, pending, reason);
	given_up[i] = true;
}

static void run_one(unsigned int i, const struct options *options)
{
	const struct contender *contender = contenders[i];
	unsigned int pending = options->pending;
	const char *stage = "memory";
	double add_ns = 0;
	int error = 0;

	if (options->memory)
		error = memory(contender, pending);
	if (!error) {
		stage = "churn";
		error = churn(contender, pending, options, &add_ns);
	}
	if (!error) {
		stage = "expire";
		error = expire(contender, pending, add_ns);
	}
	if (error)
		give_up(i, stage, pending, error);
}

static void run_all(unsigned int repetition, const struct options *options)
{
	for (unsigned int i = 0; i < NR_CONTENDERS; i++) {
		unsigned int turn = (i + repetition) % NR_CONTENDERS;

		if (!given_up[turn] && (!options->only || is_in(options->only, contenders[turn])))
			run_one(turn, options);
	}
}

void run_suite(const struct options *options)
{
	for (unsigned int i = 0; i < options->repetitions + exact; i++) {
		discarding = exact && !i;
		run_all(i, options);
	}
}
