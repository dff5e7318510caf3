// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl list: the named purgatories, or the pending operations of one.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"
#include "options.h"
#include "pending.h"
#include "show.h"
#include "failure.h"

static const char list_help[] =
"usage: twheelctl [-p NAME] list [OPTION]...\n"
"\n"
"Lists the named purgatories with their counts; with -p NAME, lists the pending\n"
"operations of that purgatory.\n"
"\n"
"  --max N   list at most N operations; 0, the default, means no limit\n"
"  --json    print JSON, one object per line\n"
"\n"
"Operations are in no particular order. An operation that is pending during the\n"
"whole listing is listed once.\n";

/* "detached" and "keys" are fields of an operation in JSON, and of other types. */
static const char *json_name(enum named_count count)
{
	switch (count) {
	case NAMED_DETACHED:
		return "nr_detached";
	case NAMED_KEYS:
		return "nr_keys";
	default:
		return named_counts[count];
	}
}

static void print_named_json(const struct named *named)
{
	json_t *object = json_pack("{s:s, s:s}", "type", "purgatory", "name", named->name);

	for (int i = 0; i < NR_NAMED_COUNTS; i++)
		json_object_set_new(object, json_name(i), i == NAMED_OLDEST_UNREAD_NS ||
				    i == NAMED_OLDEST_UNCONFIRMED_NS ?
				    json_digits(named->counts[i]) : json_number(named->counts[i]));
	print_json(object);
}

static void print_named(const struct named *named, int width)
{
	printf("%-*s  %8llu  %8llu  %8llu  %8llu  %8llu  %6llu  %8llu\n", width, named->name,
	       named->counts[NAMED_PENDING], named->counts[NAMED_DETACHED],
	       named->counts[NAMED_DETACHED_UNREAD], named->counts[NAMED_KEYS],
	       named->counts[NAMED_WATCHES], named->counts[NAMED_FILES],
	       named->counts[NAMED_REJECTED]);
}

static void print_table(const struct named *list, size_t nr)
{
	size_t width = strlen("NAME");

	for (size_t i = 0; i < nr; i++)
		if (strlen(list[i].name) > width)
			width = strlen(list[i].name);
	printf("%-*s  %8s  %8s  %8s  %8s  %8s  %6s  %8s\n", (int)width, "NAME", "PENDING",
	       "DETACHED", "UNREAD", "KEYS", "WATCHES", "FILES", "REJECTED");
	for (size_t i = 0; i < nr; i++)
		print_named(&list[i], width);
}

/* An empty list is not an error, a missing module is. */
static enum outcome list_purgatories(bool json)
{
	struct named *list;
	size_t all, nr;

	if (!device_present())
		return OUTCOME_DEVICE;
	all = read_named(PURGATORY_CLASS, &list);
	nr = drop_hidden("list", list, all);
	for (size_t i = 0; json && i < nr; i++)
		print_named_json(&list[i]);
	if (!json && nr)
		print_table(list, nr);
	else if (!json && !all)
		puts("no named purgatory: 'twheelctl create NAME' creates one");
	free(list);
	return OUTCOME_OK;
}

static enum outcome list_operations(struct command_line *line, long max)
{
	struct listing listing = { .json = line->json };
	int fd = open_named(line, OPEN_READ_ONLY);

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

	line->help = list_help;
	if (!take_arguments(line, specs, 0, 0))
		return line->outcome;
	if (!line->purgatory && max.given)
		return wrong_usage(line, "--max requires a named purgatory: -p NAME");
	return line->purgatory ? list_operations(line, max.value ?: LONG_MAX) :
				 list_purgatories(line->json);
}
