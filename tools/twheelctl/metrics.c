// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl metrics: counts of purgatories and wheels in the OpenMetrics text format.
 *
 * Those of a purgatory need the permission to read its node; those of wheels and users are in
 * debugfs, for root.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twheelctl.h"

#define LINE_PREFIX	"twheel-wheel:"
#define USER_PREFIX	"twheel-user:"

/* Numbers in the histogram of the kernel, see Documentation/device.rst. */
#define WHEEL_LATE_BUCKETS	26

/**
 * struct wheel - the wheels with a name and a clock
 * @clock: name of the clock
 * @name: name of the wheel, without control characters; "users" for all wheels of users
 * @late: histogram of lateness: entry i counts callbacks that were less than 2^(10 + i) ns
 *	late and are in no earlier entry, the last one all others
 *
 * The others are counts, with the names in the file.
 */
struct wheel {
	char clock[16];
	char name[32];
	__u64 pending;
	__u64 added;
	__u64 fired;
	__u64 rejected;
	__u64 looks;
	__u64 wakeups;
	__u64 slow;
	__u64 late_ns;
	__u64 late[WHEEL_LATE_BUCKETS];
};

/* What a user has. From @added on, totals of private purgatories. */
struct user {
	__u64 uid;
	__u64 ops;
	__u64 max_ops;
	__u64 files;
	__u64 max_files;
	__u64 added;
	__u64 completed;
	__u64 expired;
	__u64 cancelled;
	__u64 enospc;
	__u64 enobufs;
	__u64 edquot;
};

/* The names of adjacent counts in the file. */
static const char *const wheel_counts[] = {
	"pending", "added", "fired", "rejected", "looks", "wakeups", "slow", "late_ns",
};

static const char *const user_counts[] = {
	"uid", "ops", "max_ops", "files", "max_files", "added", "completed", "expired", "cancelled",
	"enospc", "enobufs", "edquot",
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

static bool parse_histogram(const char *text, struct wheel *wheel)
{
	for (int i = 0; i < WHEEL_LATE_BUCKETS; i++) {
		text = parse_digits(text, UINT64_MAX, &wheel->late[i]);
		if (!text || *text != (i < WHEEL_LATE_BUCKETS - 1 ? ',' : ' '))
			return false;
		text++;
	}
	return true;
}

static bool parse_counts(const char *line, const char *const *names, size_t nr, __u64 *counts)
{
	const char *end;

	for (size_t i = 0; i < nr; i++) {
		end = parse_digits(find_field(line, names[i]), UINT64_MAX, &counts[i]);
		if (!end || (*end && !isspace((unsigned char)*end)))
			return false;
	}
	return true;
}

static bool is_wheel(const char *line)
{
	return !strncmp(line, LINE_PREFIX, strlen(LINE_PREFIX));
}

/* Return: false if the line, with or without its newline, is of another kind, or lacks a count. */
static bool parse_wheel(const char *line, struct wheel *wheel)
{
	const char *clock = find_field(line, "clock"), *name = find_field(line, "name");

	if (!is_wheel(line) || !clock || !name || sscanf(clock, "%15[^ ]", wheel->clock) != 1)
		return false;
	snprintf(wheel->name, sizeof(wheel->name), "%.*s", (int)strcspn(name, "\n"), name);
	/* The name is chosen by a module; OpenMetrics text must be UTF-8. */
	make_printable(wheel->clock);
	make_printable(wheel->name);
	return parse_counts(line, wheel_counts, ARRAY_SIZE(wheel_counts), &wheel->pending) &&
	       parse_histogram(find_field(line, "late"), wheel);
}

static void add_up(struct wheel *sum, const struct wheel *wheel)
{
	for (size_t i = 0; i < ARRAY_SIZE(wheel_counts); i++)
		(&sum->pending)[i] += (&wheel->pending)[i];
	for (int i = 0; i < WHEEL_LATE_BUCKETS; i++)
		sum->late[i] += wheel->late[i];
}

/**
 * struct counts - what the file in debugfs has
 * @wheels: the wheels; those with the same name and clock are added up
 * @nr_wheels: number of entries in @wheels
 * @users: the users
 * @nr_users: number of entries in @users
 * @unknown: number of lines of wheels that cannot be parsed
 */
struct counts {
	struct wheel *wheels;
	size_t nr_wheels;
	struct user *users;
	size_t nr_users;
	size_t unknown;
};

static void take_line(struct counts *counts, const char *line)
{
	struct wheel wheel;
	struct user user;

	if (!strncmp(line, USER_PREFIX, strlen(USER_PREFIX)) &&
	    parse_counts(line, user_counts, ARRAY_SIZE(user_counts), &user.uid)) {
		counts->users = must_realloc(counts->users, counts->nr_users + 1, sizeof(user));
		counts->users[counts->nr_users++] = user;
		return;
	}
	if (!parse_wheel(line, &wheel)) {
		counts->unknown += is_wheel(line);
		return;
	}
	for (size_t i = 0; i < counts->nr_wheels; i++) {
		struct wheel *sum = &counts->wheels[i];

		if (!strcmp(sum->name, wheel.name) && !strcmp(sum->clock, wheel.clock)) {
			add_up(sum, &wheel);
			return;
		}
	}
	counts->wheels = must_realloc(counts->wheels, counts->nr_wheels + 1, sizeof(wheel));
	counts->wheels[counts->nr_wheels++] = wheel;
}

/* The caller frees the arrays. Return: false if the file cannot be opened. */
static bool read_counts(const char *path, struct counts *counts)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	*counts = (struct counts){ };
	if (!file)
		return false;
	while (getline(&line, &size, file) >= 0)
		take_line(counts, line);
	free(line);
	fclose(file);
	return true;
}

static const char metrics_help[] =
"usage: twheelctl metrics\n"
"\n"
"Prints counts in the OpenMetrics text format, for example for the textfile collector of\n"
"the node exporter: those of all named purgatories, those of all wheels, which include a\n"
"histogram of lateness, and those of all users, which include private purgatories. The\n"
"latter two are printed for root, if debugfs is mounted.\n"
"\n"
"A counter begins at 0 when the purgatory is created or the module is loaded.\n";

#define COUNTS		"/sys/kernel/debug/twheel/counts"

#define NR_VALUES	3

/* Place and size of a count in its structure. */
#define COUNT(type, field)	{ offsetof(struct type, field), sizeof(((struct type *)0)->field) }
#define NAMED(field)	COUNT(twheel_query_args, field)
#define QUEUE(field)	COUNT(twheel_queue_args, field)
#define WHEEL(field)	COUNT(wheel, field)
#define USER(field)	COUNT(user, field)

/* A label with a value for each of adjacent counts. */
struct label {
	const char *name;
	const char *values[NR_VALUES];
};

/**
 * struct family - a metric family
 * @name: name without the suffix _total; with the suffix _seconds for a count in ns
 * @type: "counter" or "gauge"
 * @help: description
 * @count: place and size of its count, or of the first of several
 * @label: label that tells several counts apart, or NULL
 */
struct family {
	const char *name;
	const char *type;
	const char *help;
	struct {
		size_t offset;
		size_t size;
	} count;
	const struct label *label;
};

static const struct label by_reason = { "reason", { "completed", "expired", "cancelled" } };
static const struct label by_error = { "error", { "ENOSPC", "ENOBUFS", "EDQUOT" } };

static const struct family purgatory_families[] = {
	{ "twheel_pending", "gauge", "Pending operations.", NAMED(pending), NULL },
	{ "twheel_pending_limit", "gauge", "Limit on pending operations.",
	  NAMED(max_pending), NULL },
	{ "twheel_file_pending_limit", "gauge", "Limit on pending operations of an open file.",
	  NAMED(max_file_pending), NULL },
	{ "twheel_queue_operations_limit", "gauge",
	  "Limit on the operations in a queue of detached ones.", NAMED(max_queue), NULL },
	{ "twheel_keys", "gauge", "Watched keys.", NAMED(keys), NULL },
	{ "twheel_watches", "gauge", "Watches on all keys.", NAMED(watches), NULL },
	{ "twheel_watches_limit", "gauge", "Limit on watches.", NAMED(max_watches), NULL },
	{ "twheel_files", "gauge", "Open files.", NAMED(files), NULL },
	{ "twheel_added", "counter", "Operations added.", NAMED(added), NULL },
	{ "twheel_ended", "counter", "Operations ended, by reason.", NAMED(completed), &by_reason },
	{ "twheel_rejected", "counter",
	  "Adds and watch calls that failed because of a limit, by error.", NAMED(rejected_enospc),
	  &by_error },
	{ }
};

static const struct family queue_families[] = {
	{ "twheel_detached", "gauge", "Pending detached operations.", QUEUE(pending), NULL },
	{ "twheel_detached_unread", "gauge", "Unread events of detached operations.",
	  QUEUE(unread), NULL },
	{ "twheel_oldest_unread_seconds", "gauge",
	  "Age of the oldest unread event of detached operations.", QUEUE(oldest_unread_ns), NULL },
	{ "twheel_unconfirmed", "gauge", "Events that were read and have to be confirmed.",
	  QUEUE(unconfirmed), NULL },
	{ "twheel_oldest_unconfirmed_seconds", "gauge",
	  "Time since the read of the oldest of these events.", QUEUE(oldest_unconfirmed_ns),
	  NULL },
	{ "twheel_queue_operations", "gauge", "Detached operations, pending or unread.",
	  QUEUE(ops), NULL },
	{ }
};

static const struct family wheel_families[] = {
	{ "twheel_wheel_pending", "gauge", "Pending timers.", WHEEL(pending), NULL },
	{ "twheel_wheel_added", "counter", "Timers added.", WHEEL(added), NULL },
	{ "twheel_wheel_fired", "counter", "Callbacks called.", WHEEL(fired), NULL },
	{ "twheel_wheel_rejected", "counter", "Adds that failed because of a limit.",
	  WHEEL(rejected), NULL },
	{ "twheel_wheel_looks", "counter", "Looks at cells.", WHEEL(looks), NULL },
	{ "twheel_wheel_wakeups", "counter", "Wake-ups of reapers.", WHEEL(wakeups), NULL },
	{ "twheel_wheel_slow", "counter", "Callbacks that took long.", WHEEL(slow), NULL },
	{ }
};

static const struct family user_families[] = {
	{ "twheel_user_operations", "gauge",
	  "Operations that are pending or unread, in all purgatories.", USER(ops), NULL },
	{ "twheel_user_operations_limit", "gauge", "Limit on these operations.",
	  USER(max_ops), NULL },
	{ "twheel_user_files", "gauge", "Open files of all purgatories.", USER(files), NULL },
	{ "twheel_user_files_limit", "gauge", "Limit on open files.", USER(max_files), NULL },
	{ "twheel_private_added", "counter", "Operations added to private purgatories.",
	  USER(added), NULL },
	{ "twheel_private_ended", "counter",
	  "Operations of private purgatories ended, by reason.", USER(completed), &by_reason },
	{ "twheel_private_rejected", "counter",
	  "Adds and watch calls of private purgatories that failed at a limit, by error.",
	  USER(enospc), &by_error },
	{ }
};

/* Whether the count of a family is a time in ns. */
static bool in_seconds(const struct family *family)
{
	const char *end = strrchr(family->name, '_');

	return !strcmp(end, "_seconds");
}

/* Prints ns as seconds with all digits. */
static void print_seconds(__u64 ns)
{
	printf("%llu.%09llu", ns / 1000000000, ns % 1000000000);
}

static void print_head(const struct family *family)
{
	printf("# TYPE %s %s\n", family->name, family->type);
	if (in_seconds(family))
		printf("# UNIT %s seconds\n", family->name);
	printf("# HELP %s %s\n", family->name, family->help);
}

/* The name may contain any printable character. */
static void wheel_labels(char labels[128], const struct wheel *wheel)
{
	char name[2 * sizeof(wheel->name)], *to = name;

	for (const char *from = wheel->name; *from; from++) {
		if (*from == '\\' || *from == '"')
			*to++ = '\\';
		*to++ = *from;
	}
	*to = 0;
	snprintf(labels, 128, "wheel=\"%s\",clock=\"%s\"", name, wheel->clock);
}

/* The count of a family in a structure, and those after it. */
static __u64 count_of(const struct family *family, const void *counts, int i)
{
	const char *at = (const char *)counts + family->count.offset + i * family->count.size;

	return family->count.size == sizeof(__u64) ? *(const __u64 *)at : *(const __u32 *)at;
}

/* @labels: those that all samples have; @counts: the structure */
static void print_samples(const struct family *family, const char *labels, const void *counts)
{
	const struct label *more = family->label;

	for (int i = 0; i < (more ? NR_VALUES : 1); i++) {
		printf("%s%s{%s", family->name, strcmp(family->type, "counter") ? "" : "_total",
		       labels);
		if (more)
			printf(",%s=\"%s\"", more->name, more->values[i]);
		fputs("} ", stdout);
		if (in_seconds(family))
			print_seconds(count_of(family, counts, i));
		else
			printf("%llu", count_of(family, counts, i));
		putchar('\n');
	}
}

static void print_purgatory_metrics(const struct named *list, size_t nr)
{
	const size_t watches = offsetof(struct twheel_query_args, max_watches);
	char labels[64];

	for (const struct family *family = purgatory_families; family->name; family++) {
		print_head(family);
		for (size_t i = 0; i < nr; i++) {
			const struct twheel_query_args *state = &list[i].state;

			snprintf(labels, sizeof(labels), "purgatory=\"%s\"", state->name);
			/* A limit on watches of 0 is none. */
			if (!list[i].error &&
			    (family->count.offset != watches || state->max_watches))
				print_samples(family, labels, state);
		}
	}
	for (const struct family *family = queue_families; family->name; family++) {
		print_head(family);
		for (size_t i = 0; i < nr; i++)
			for (size_t j = 0; j < list[i].nr_queues; j++) {
				snprintf(labels, sizeof(labels), "purgatory=\"%s\",queue=\"%u\"",
					 list[i].state.name, list[i].queues[j].queue);
				print_samples(family, labels, &list[i].queues[j]);
			}
	}
}

#define LATENESS	"twheel_wheel_lateness_seconds"

static void print_histogram(const char *labels, const struct wheel *wheel)
{
	__u64 count = 0;

	for (int i = 0; i < WHEEL_LATE_BUCKETS; i++) {
		count += wheel->late[i];
		printf(LATENESS "_bucket{%s,le=\"", labels);
		/* A bucket includes its bound, the kernel's entry does not. */
		if (i < WHEEL_LATE_BUCKETS - 1)
			print_seconds((1ULL << (10 + i)) - 1);
		else
			printf("+Inf");
		printf("\"} %llu\n", count);
	}
	printf(LATENESS "_count{%s} %llu\n" LATENESS "_sum{%s} ", labels, count, labels);
	print_seconds(wheel->late_ns);
	putchar('\n');
}

static void print_wheel_metrics(const struct wheel *list, size_t nr)
{
	char labels[128];

	for (const struct family *family = wheel_families; family->name; family++) {
		print_head(family);
		for (size_t i = 0; i < nr; i++) {
			wheel_labels(labels, &list[i]);
			print_samples(family, labels, &list[i]);
		}
	}
	printf("# TYPE " LATENESS " histogram\n# UNIT " LATENESS " seconds\n"
	       "# HELP " LATENESS " Time from deadlines to their callbacks, in ticks.\n");
	for (size_t i = 0; i < nr; i++) {
		wheel_labels(labels, &list[i]);
		print_histogram(labels, &list[i]);
	}
}

static void print_user_metrics(const struct user *list, size_t nr)
{
	char labels[32];

	for (const struct family *family = user_families; family->name; family++) {
		print_head(family);
		for (size_t i = 0; i < nr; i++) {
			snprintf(labels, sizeof(labels), "user=\"%llu\"", list[i].uid);
			print_samples(family, labels, &list[i]);
		}
	}
}

/* Prints the counts of the wheels and of the users, or the reason why there are none. */
static void print_wheels(void)
{
	struct counts counts;

	if (!read_counts(COUNTS, &counts)) {
		fprintf(stderr,
			"twheelctl metrics: no counts of wheels and users: cannot open %s: %s\n",
			COUNTS, strerror(errno));
		return;
	}
	if (counts.unknown)
		fprintf(stderr,
			"twheelctl metrics: no counts of %zu wheels: unknown format in %s\n",
			counts.unknown, COUNTS);
	else if (!counts.nr_wheels)
		fprintf(stderr, "twheelctl metrics: no counts of wheels in %s\n", COUNTS);
	print_wheel_metrics(counts.wheels, counts.nr_wheels);
	print_user_metrics(counts.users, counts.nr_users);
	free(counts.wheels);
	free(counts.users);
}

enum outcome metrics_command(struct command_line *line)
{
	struct named *list;
	size_t nr;

	if (!take_arguments(line, metrics_help, NULL, 0, 0))
		return line->outcome;
	if (line->purgatory)
		return wrong_usage(line, "prints all purgatories, so -p has no use");
	if (line->json)
		return wrong_usage(line, "prints no JSON, but 'twheelctl list --json' does");
	if (!device_present())
		return OUTCOME_DEVICE;
	nr = read_named(PURGATORY_CLASS, &list);
	nr = query_named(line->command, list, nr);
	print_purgatory_metrics(list, nr);
	free_named(list, nr);
	print_wheels();
	puts("# EOF");
	return line->outcome;
}
