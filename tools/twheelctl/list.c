// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl list: the named purgatories, or the pending operations of one.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "twheelctl.h"

static const char list_help[] =
"usage: twheelctl [-p NAME] list [OPTION]...\n"
"\n"
"Lists the named purgatories with their counts, or '-' without the permission to read\n"
"the node; with -p NAME, lists the pending operations of that purgatory.\n"
"\n"
"  --max N   list at most N operations; 0, the default, means no limit\n"
"  --json    print JSON, one object per line\n"
"\n"
"Operations are in no particular order. An operation that is pending during the\n"
"whole listing is listed once.\n";

static void print_table(const struct named *list, size_t nr)
{
	int width = strlen("NAME");

	for (size_t i = 0; i < nr; i++)
		if ((int)strlen(list[i].state.name) > width)
			width = strlen(list[i].state.name);
	printf("%-*s  %8s  %8s  %8s  %8s  %8s  %8s  %6s  %8s\n", width, "NAME", "PENDING",
	       "LIMIT", "DETACHED", "UNREAD", "KEYS", "WATCHES", "FILES", "REJECTED");
	for (const struct named *named = list; named < list + nr; named++) {
		const struct twheel_query_args *q = &named->state;

		if (named->error)
			printf("%-*s  %8s  %8u  %8s  %8s  %8s  %8s  %6s  %8s\n", width, q->name,
			       "-", q->max_pending, "-", "-", "-", "-", "-", "-");
		else
			printf("%-*s  %8llu  %8u  %8llu  %8llu  %8llu  %8llu  %6u  %8llu\n", width,
			       q->name, q->pending, q->max_pending, q->detached,
			       q->detached_unread, q->keys, q->watches, q->files, q->rejected);
	}
}

/* An empty list is not an error, a missing module is. */
static enum outcome list_purgatories(bool json)
{
	struct named *list;
	size_t nr;

	if (!device_present())
		return OUTCOME_DEVICE;
	nr = read_named(PURGATORY_CLASS, &list);
	nr = query_named("list", list, nr);
	for (size_t i = 0; json && i < nr; i++)
		print_json(list[i].error ? json_limits("purgatory", &list[i].state) :
					   json_query("purgatory", &list[i].state));
	if (!json && nr)
		print_table(list, nr);
	else if (!json)
		puts("no named purgatory: 'twheelctl create NAME' creates one");
	free_named(list, nr);
	return OUTCOME_OK;
}

static enum outcome list_operations(struct command_line *line, long max)
{
	struct listing listing = { .json = line->json };
	int fd = open_named(line, O_RDONLY);

	if (fd < 0)
		return line->outcome;
	if (list_pending(fd, max, show_pending, &listing) < 0)
		line->outcome = refused(line, "cannot list the operations");
	else if (!listing.begun && !line->json)
		puts("no pending operation");
	close(fd);
	return line->outcome;
}

enum outcome list_command(struct command_line *line)
{
	struct number max = { };
	const struct option_spec specs[] = {
		{ "max", take_number32, &max, NUMBER32_EXPECTED },
		{ }
	};

	if (!take_arguments(line, list_help, specs, 0, 0))
		return line->outcome;
	if (!line->purgatory && max.given)
		return wrong_usage(line, "--max requires a named purgatory: -p NAME");
	return line->purgatory ? list_operations(line, max.value ?: LONG_MAX) :
				 list_purgatories(line->json);
}
