// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl metrics: counts of purgatories and wheels in the OpenMetrics text format.
 *
 * The counts of purgatories are in sysfs, those of wheels and users in the fdinfo of the control
 * node, which requires permission to open it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "metrics.h"
#include "options.h"

static const char metrics_help[] =
"usage: twheelctl metrics\n"
"\n"
"Prints counts in the OpenMetrics text format, for example for the textfile collector of\n"
"the node exporter: those of all named purgatories, those of all wheels, which include a\n"
"histogram of lateness, and those of all users, which include private purgatories. The\n"
"latter two require permission to open /dev/twheel-control.\n"
"\n"
"A counter begins at 0 when the purgatory is created or the module is loaded.\n";

/**
 * struct sample - a count of a purgatory or a user in a metric family
 * @count: its index in the counts
 * @value: value of the label of the family, or NULL
 */
struct sample {
	unsigned int count;
	const char *value;
};

/**
 * struct family - a metric family
 * @name: name without the suffix _total
 * @type: "counter" or "gauge"
 * @help: description
 */
struct family {
	const char *name;
	const char *type;
	const char *help;
};

/**
 * struct labelled_family - a metric family of purgatories or users
 * @family: its name, type and description
 * @nr: number of entries in @samples
 * @label: label that tells the samples apart, or NULL
 * @samples: the counts that belong to it
 */
struct labelled_family {
	struct family family;
	unsigned int nr;
	const char *label;
	struct sample samples[3];
};

/**
 * struct wheel_family - a metric family of wheels
 * @family: its name, type and description
 * @count: the count
 */
struct wheel_family {
	struct family family;
	enum wheel_count count;
};

static const struct labelled_family purgatory_families[] = {
	{ { "twheel_pending", "gauge", "Pending operations." },
	  1, NULL, { { NAMED_PENDING, NULL } } },
	{ { "twheel_pending_limit", "gauge", "Limit on pending operations." },
	  1, NULL, { { NAMED_MAX_PENDING, NULL } } },
	{ { "twheel_file_pending_limit", "gauge", "Limit on pending operations of an open file." },
	  1, NULL, { { NAMED_MAX_FILE_PENDING, NULL } } },
	{ { "twheel_detached", "gauge", "Pending detached operations." },
	  1, NULL, { { NAMED_DETACHED, NULL } } },
	{ { "twheel_detached_unread", "gauge", "Unread events of detached operations." },
	  1, NULL, { { NAMED_DETACHED_UNREAD, NULL } } },
	{ { "twheel_keys", "gauge", "Watched keys." },
	  1, NULL, { { NAMED_KEYS, NULL } } },
	{ { "twheel_watches", "gauge", "Watches on all keys." },
	  1, NULL, { { NAMED_WATCHES, NULL } } },
	{ { "twheel_watches_limit", "gauge", "Limit on watches." },
	  1, NULL, { { NAMED_MAX_WATCHES, NULL } } },
	{ { "twheel_files", "gauge", "Open files." },
	  1, NULL, { { NAMED_FILES, NULL } } },
	{ { "twheel_added", "counter", "Operations added." },
	  1, NULL, { { NAMED_ADDED, NULL } } },
	{ { "twheel_ended", "counter", "Operations ended, by reason." },
	  3, "reason", { { NAMED_COMPLETED, "completed" }, { NAMED_EXPIRED, "expired" },
			 { NAMED_CANCELLED, "cancelled" } } },
	{ { "twheel_rejected", "counter",
	    "Adds and watch calls that failed because of a limit, by error." },
	  3, "error", { { NAMED_REJECTED_ENOSPC, "ENOSPC" },
			{ NAMED_REJECTED_ENOBUFS, "ENOBUFS" },
			{ NAMED_REJECTED_EDQUOT, "EDQUOT" } } },
	{ }
};

static const struct wheel_family wheel_families[] = {
	{ { "twheel_wheel_pending", "gauge", "Pending timers." }, WHEEL_PENDING },
	{ { "twheel_wheel_added", "counter", "Timers added." }, WHEEL_ADDED },
	{ { "twheel_wheel_fired", "counter", "Callbacks called." }, WHEEL_FIRED },
	{ { "twheel_wheel_rejected", "counter", "Adds that failed because of a limit." },
	  WHEEL_REJECTED },
	{ { "twheel_wheel_wakeups", "counter", "Wake-ups of reapers." }, WHEEL_WAKEUPS },
	{ { "twheel_wheel_slow", "counter", "Callbacks that took long." }, WHEEL_SLOW },
	{ }
};

static const struct labelled_family user_families[] = {
	{ { "twheel_user_operations", "gauge",
	    "Operations that are pending or unread, in all purgatories." },
	  1, NULL, { { USER_OPS, NULL } } },
	{ { "twheel_user_operations_limit", "gauge", "Limit on these operations." },
	  1, NULL, { { USER_MAX_OPS, NULL } } },
	{ { "twheel_user_files", "gauge", "Open files of all purgatories." },
	  1, NULL, { { USER_FILES, NULL } } },
	{ { "twheel_user_files_limit", "gauge", "Limit on open files." },
	  1, NULL, { { USER_MAX_FILES, NULL } } },
	{ { "twheel_private_added", "counter", "Operations added to private purgatories." },
	  1, NULL, { { USER_ADDED, NULL } } },
	{ { "twheel_private_ended", "counter",
	    "Operations of private purgatories ended, by reason." },
	  3, "reason", { { USER_COMPLETED, "completed" }, { USER_EXPIRED, "expired" },
			 { USER_CANCELLED, "cancelled" } } },
	{ { "twheel_private_rejected", "counter",
	    "Adds and watch calls of private purgatories that failed at a limit, by error." },
	  3, "error", { { USER_REJECTED_ENOSPC, "ENOSPC" }, { USER_REJECTED_ENOBUFS, "ENOBUFS" },
			{ USER_REJECTED_EDQUOT, "EDQUOT" } } },
	{ }
};

static void print_head(const struct family *family)
{
	printf("# TYPE %s %s\n", family->name, family->type);
	printf("# HELP %s %s\n", family->name, family->help);
}

static const char *suffix_of(const struct family *family)
{
	return strcmp(family->type, "counter") ? "" : "_total";
}

/* Names of purgatories need no escapes, those of wheels may contain any character. */
static void print_label(const char *label, const char *value)
{
	printf("%s=\"", label);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			putchar('\\');
		putchar(*value);
	}
	putchar('"');
}

/* @label: "purgatory" or "user"; @name: its value */
static void print_samples(const struct labelled_family *entry, const char *label, const char *name,
			  const __u64 *counts)
{
	const struct family *family = &entry->family;
	const struct sample *sample;

	for (sample = entry->samples; sample < entry->samples + entry->nr; sample++) {
		printf("%s%s{", family->name, suffix_of(family));
		print_label(label, name);
		if (entry->label) {
			putchar(',');
			print_label(entry->label, sample->value);
		}
		printf("} %llu\n", counts[sample->count]);
	}
}

/* Whether a limit on watches is none. */
static bool unlimited(const struct labelled_family *entry, const struct named *named)
{
	return entry->samples[0].count == NAMED_MAX_WATCHES && !named->counts[NAMED_MAX_WATCHES];
}

void print_purgatory_metrics(const struct named *list, size_t nr)
{
	const struct labelled_family *entry;

	for (entry = purgatory_families; entry->nr; entry++) {
		print_head(&entry->family);
		for (size_t i = 0; i < nr; i++)
			if (!unlimited(entry, &list[i]))
				print_samples(entry, "purgatory", list[i].name, list[i].counts);
	}
}

static void print_wheel_labels(const struct wheel *wheel)
{
	print_label("wheel", wheel->name);
	putchar(',');
	print_label("clock", wheel->clock);
}

/* Prints ns as seconds with all digits. */
static void print_seconds(__u64 ns)
{
	printf("%llu.%09llu", ns / 1000000000, ns % 1000000000);
}

#define LATENESS	"twheel_wheel_lateness_seconds"

static void print_histogram(const struct wheel *wheel)
{
	__u64 count = 0;

	for (int i = 0; i < WHEEL_LATE_BUCKETS; i++) {
		count += wheel->late[i];
		printf(LATENESS "_bucket{");
		print_wheel_labels(wheel);
		printf(",le=\"");
		/* A bucket includes its bound, the kernel's entry does not. */
		if (i < WHEEL_LATE_BUCKETS - 1)
			print_seconds((1ULL << (10 + i)) - 1);
		else
			printf("+Inf");
		printf("\"} %llu\n", count);
	}
	printf(LATENESS "_count{");
	print_wheel_labels(wheel);
	printf("} %llu\n" LATENESS "_sum{", count);
	print_wheel_labels(wheel);
	printf("} ");
	print_seconds(wheel->counts[WHEEL_LATE_NS]);
	putchar('\n');
}

void print_wheel_metrics(const struct wheel *list, size_t nr)
{
	const struct family *family;

	for (size_t entry = 0; wheel_families[entry].family.name; entry++) {
		family = &wheel_families[entry].family;
		print_head(family);
		for (size_t i = 0; i < nr; i++) {
			printf("%s%s{", family->name, suffix_of(family));
			print_wheel_labels(&list[i]);
			printf("} %llu\n", list[i].counts[wheel_families[entry].count]);
		}
	}
	printf("# TYPE " LATENESS " histogram\n# UNIT " LATENESS " seconds\n"
	       "# HELP " LATENESS " Time from deadlines to their callbacks, in ticks.\n");
	for (size_t i = 0; i < nr; i++)
		print_histogram(&list[i]);
}

void print_user_metrics(const struct user *list, size_t nr)
{
	const struct labelled_family *entry;
	char uid[24];

	for (entry = user_families; entry->nr; entry++) {
		print_head(&entry->family);
		for (size_t i = 0; i < nr; i++) {
			snprintf(uid, sizeof(uid), "%llu", list[i].uid);
			print_samples(entry, "user", uid, list[i].counts);
		}
	}
}

/* Prints the counts of the wheels and of the users, or the reason why there are none. */
static void print_wheels(void)
{
	int fd = open(TWHEEL_CONTROL, O_RDONLY | O_CLOEXEC);
	size_t nr, nr_users, unknown;
	struct user *users;
	struct wheel *list;
	char path[64];

	if (fd < 0) {
		fprintf(stderr,
			"twheelctl metrics: no counts of wheels and users: cannot open %s: %s\n",
			TWHEEL_CONTROL, strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	nr = read_wheels(path, &list, &unknown);
	nr_users = read_users(path, &users);
	close(fd);
	if (unknown)
		fprintf(stderr,
			"twheelctl metrics: no counts of %zu wheels: unknown format in %s\n",
			unknown, path);
	else if (!nr)
		fprintf(stderr, "twheelctl metrics: no counts of wheels in %s\n", path);
	print_wheel_metrics(list, nr);
	print_user_metrics(users, nr_users);
	free(list);
	free(users);
}

enum outcome metrics_command(struct command_line *line)
{
	const struct option_spec specs[] = { { } };
	struct named *list;
	size_t nr;

	line->help = metrics_help;
	if (!take_arguments(line, specs, 0, 0))
		return line->outcome;
	if (line->purgatory)
		return wrong_usage(line, "prints all purgatories, so -p has no use");
	if (line->json)
		return wrong_usage(line, "prints no JSON, but 'twheelctl list --json' does");
	if (!device_present())
		return OUTCOME_DEVICE;
	nr = read_named(PURGATORY_CLASS, &list);
	nr = drop_hidden(line->command, list, nr);
	print_purgatory_metrics(list, nr);
	free(list);
	print_wheels();
	puts("# EOF");
	return line->outcome;
}
