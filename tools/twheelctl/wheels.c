// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the counts of the wheels and of the users. See wheels.h.
 *
 * A line consists of fields, each after a space or a tab: "clock=", the counts, "late=" and
 * "name=", which is the last one and extends to the end of the line; or for a user the counts and
 * "uid=".
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show.h"
#include "twheelctl.h"
#include "units.h"
#include "wheels.h"

#define LINE_PREFIX	"twheel-wheel:"
#define USER_PREFIX	"twheel-user:"

static const char *const wheel_counts[NR_WHEEL_COUNTS] = {
	[WHEEL_PENDING] = "pending",
	[WHEEL_ADDED] = "added",
	[WHEEL_FIRED] = "fired",
	[WHEEL_REJECTED] = "rejected",
	[WHEEL_LOOKS] = "looks",
	[WHEEL_WAKEUPS] = "wakeups",
	[WHEEL_SLOW] = "slow",
	[WHEEL_LATE_NS] = "late_ns",
};

static const char *const user_counts[NR_USER_COUNTS] = {
	[USER_OPS] = "ops",
	[USER_MAX_OPS] = "max_ops",
	[USER_FILES] = "files",
	[USER_MAX_FILES] = "max_files",
	[USER_ADDED] = "added",
	[USER_COMPLETED] = "completed",
	[USER_EXPIRED] = "expired",
	[USER_CANCELLED] = "cancelled",
	[USER_REJECTED_ENOSPC] = "enospc",
	[USER_REJECTED_ENOBUFS] = "enobufs",
	[USER_REJECTED_EDQUOT] = "edquot",
};

/* Return: the text after "field=", NULL without the field. The name may contain anything. */
static const char *find_field(const char *line, const char *field)
{
	const char *end = strstr(line, " name=");
	size_t size = strlen(field);

	if (!end)
		end = line + strlen(line);
	for (const char *at = line; (at = strpbrk(at, " \t")) && at <= end;)
		if (!strncmp(++at, field, size) && at[size] == '=')
			return at + size + 1;
	return NULL;
}

/* Return: the end of the number, NULL if there is none. */
static const char *parse_number(const char *text, __u64 *number)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return NULL;
	*number = strtoull(text, &end, 10);
	return end;
}

static bool parse_histogram(const char *text, struct wheel *wheel)
{
	for (int i = 0; i < WHEEL_LATE_BUCKETS; i++) {
		text = parse_number(text, &wheel->late[i]);
		if (!text || *text != (i < WHEEL_LATE_BUCKETS - 1 ? ',' : ' '))
			return false;
		text++;
	}
	return true;
}

static bool parse_counts(const char *line, const char *const *names, int nr, __u64 *counts)
{
	const char *end;

	for (int i = 0; i < nr; i++) {
		end = parse_number(find_field(line, names[i]), &counts[i]);
		if (!end || (*end && !isspace((unsigned char)*end)))
			return false;
	}
	return true;
}

/* Copies the text up to a character of @stop. Return: false if it does not fit. */
static bool copy_text(char *to, size_t size, const char *from, const char *stop)
{
	size_t length;

	if (!from)
		return false;
	length = strcspn(from, stop);
	if (length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = 0;
	return true;
}

static bool is_wheel(const char *line)
{
	return !strncmp(line, LINE_PREFIX, strlen(LINE_PREFIX));
}

bool parse_wheel(const char *line, struct wheel *wheel)
{
	if (!is_wheel(line) ||
	    !copy_text(wheel->clock, sizeof(wheel->clock), find_field(line, "clock"), " ") ||
	    !copy_text(wheel->name, sizeof(wheel->name), find_field(line, "name"), "\n"))
		return false;
	/* The name is chosen by a module; OpenMetrics text must be UTF-8. */
	make_printable(wheel->clock);
	make_printable(wheel->name);
	return parse_counts(line, wheel_counts, NR_WHEEL_COUNTS, wheel->counts) &&
	       parse_histogram(find_field(line, "late"), wheel);
}

static struct wheel *find_wheel(struct wheel *list, size_t nr, const struct wheel *wheel)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(list[i].name, wheel->name) && !strcmp(list[i].clock, wheel->clock))
			return &list[i];
	return NULL;
}

static void add_up(struct wheel *sum, const struct wheel *wheel)
{
	for (int i = 0; i < NR_WHEEL_COUNTS; i++)
		sum->counts[i] += wheel->counts[i];
	for (int i = 0; i < WHEEL_LATE_BUCKETS; i++)
		sum->late[i] += wheel->late[i];
}

size_t read_wheels(const char *path, struct wheel **list, size_t *unknown)
{
	FILE *file = fopen(path, "re");
	struct wheel wheel, *same;
	char *line = NULL;
	size_t size = 0, nr = 0;

	*list = NULL;
	*unknown = 0;
	if (!file)
		return 0;
	while (getline(&line, &size, file) >= 0) {
		if (!parse_wheel(line, &wheel)) {
			*unknown += is_wheel(line);
			continue;
		}
		same = find_wheel(*list, nr, &wheel);
		if (same) {
			add_up(same, &wheel);
			continue;
		}
		*list = must_realloc(*list, nr + 1, sizeof(wheel));
		(*list)[nr++] = wheel;
	}
	free(line);
	fclose(file);
	return nr;
}

static bool parse_user(const char *line, struct user *user)
{
	return !strncmp(line, USER_PREFIX, strlen(USER_PREFIX)) &&
	       parse_number(find_field(line, "uid"), &user->uid) &&
	       parse_counts(line, user_counts, NR_USER_COUNTS, user->counts);
}

size_t read_users(const char *path, struct user **list)
{
	FILE *file = fopen(path, "re");
	struct user user;
	char *line = NULL;
	size_t size = 0, nr = 0;

	*list = NULL;
	if (!file)
		return 0;
	while (getline(&line, &size, file) >= 0) {
		if (!parse_user(line, &user))
			continue;
		*list = must_realloc(*list, nr + 1, sizeof(user));
		(*list)[nr++] = user;
	}
	free(line);
	fclose(file);
	return nr;
}
