// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl drain: no more adds to a named purgatory, before it is removed or saved.
 *
 * The device can refuse the adds of one file only, so the node refuses writers, except root.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twheelctl.h"

static const char drain_help[] =
"usage: twheelctl -p NAME drain [OPTION]...\n"
"\n"
"Takes the permission to write from the node of a purgatory, and lists the operations\n"
"that are left. Root, and processes that have it open already, can still add: stop them,\n"
"see 'twheelctl -p NAME holders'.\n"
"\n"
"  --wait      wait until all operations with a deadline have ended, and all periodic\n"
"              ones with a number of periods, or until interrupted by ^C\n"
"  --for TIME  with --wait: wait up to TIME\n"
"  --json      print JSON, one object per line\n"
"\n"
"'chmod MODE /dev/twheel-NAME' ends this. Exits with 1 if operations or unread events\n"
"are left.\n";

/* Between looks at operations that signals may complete. */
#define MAX_PAUSE	NSEC_PER_SEC

/* For list_pending(): the time, more than 0, until no operation is left that ends by itself. */
static void find_last(const struct twheel_pending *pending, void *last)
{
	__u64 *ns = last;

	if (pending->remaining > INT64_MAX || (pending->period && !pending->runs))
		return;
	if (pending->remaining >= *ns)
		*ns = pending->remaining + NSEC_PER_MSEC;
}

static enum outcome wait_for_ends(const struct command_line *line, int fd, __u64 until)
{
	struct pollfd none = { .fd = -1 };
	struct timespec pause;
	__u64 last = 1, now;

	catch_interrupts();
	while (last && !interrupted()) {
		last = 0;
		if (list_pending(fd, LONG_MAX, find_last, &last) < 0)
			return refused(line, line->purgatory);
		now = now_ns();
		if (now >= until)
			break;
		last = last < until - now ? last : until - now;
		pause = to_timespec(last < MAX_PAUSE ? last : MAX_PAUSE);
		if (last)
			wait_or_interrupt(&none, 1, &pause);
	}
	return OUTCOME_OK;
}

static enum outcome list_left(const struct command_line *line, int fd)
{
	struct listing listing = { .json = line->json };
	struct twheel_query_args query;

	if (list_pending(fd, LONG_MAX, show_pending, &listing) < 0 || query_others(fd, &query))
		return refused(line, line->purgatory);
	if (line->json)
		print_json(json_query("purgatory", &query));
	else
		printf("%s: pending %llu, unread %llu, open files %u\n", query.name, query.pending,
		       query.detached_unread + query.unconfirmed, query.files);
	/* An operation that has ended counts as detached until its event can be read. */
	return query.pending || query.detached || query.detached_unread || query.unconfirmed ?
	       OUTCOME_FAILED : OUTCOME_OK;
}

enum outcome drain_command(struct command_line *line)
{
	struct number time = { };
	bool wait = false;
	const struct option_spec specs[] = {
		{ "wait", NULL, &wait, NULL },
		{ "for", take_time, &time, TIME_EXPECTED },
		{ }
	};
	struct stat node;
	int fd;

	if (!take_arguments(line, drain_help, specs, 0, 0))
		return line->outcome;
	if (time.given && !wait)
		return wrong_usage(line, "--for requires --wait");
	fd = open_named(line, O_RDONLY);
	if (fd < 0)
		return line->outcome;
	if (fstat(fd, &node) || fchmod(fd, node.st_mode & 0444))
		line->outcome = refused(line, line->purgatory);
	else if (wait)
		line->outcome = wait_for_ends(line, fd, time.given ? now_ns() + time.value :
								     UINT64_MAX);
	if (!line->outcome)
		line->outcome = list_left(line, fd);
	close(fd);
	return line->outcome;
}
