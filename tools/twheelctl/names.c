// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the named purgatories from sysfs. See names.h.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"
#include "twheelctl.h"
#include "units.h"

#define NODE_PREFIX	"twheel-"

const char *const named_counts[NR_NAMED_COUNTS] = {
	[NAMED_PENDING] = "pending",
	[NAMED_DETACHED] = "detached",
	[NAMED_DETACHED_UNREAD] = "detached_unread",
	[NAMED_OLDEST_UNREAD_NS] = "oldest_unread_ns",
	[NAMED_UNCONFIRMED] = "unconfirmed",
	[NAMED_OLDEST_UNCONFIRMED_NS] = "oldest_unconfirmed_ns",
	[NAMED_OLDEST_QUEUE] = "oldest_queue",
	[NAMED_QUEUE_OPS] = "queue_ops",
	[NAMED_KEYS] = "keys",
	[NAMED_WATCHES] = "watches",
	[NAMED_FILES] = "files",
	[NAMED_ADDED] = "added",
	[NAMED_COMPLETED] = "completed",
	[NAMED_EXPIRED] = "expired",
	[NAMED_CANCELLED] = "cancelled",
	[NAMED_REJECTED] = "rejected",
	[NAMED_REJECTED_ENOSPC] = "rejected_enospc",
	[NAMED_REJECTED_ENOBUFS] = "rejected_enobufs",
	[NAMED_REJECTED_EDQUOT] = "rejected_edquot",
	[NAMED_MAX_PENDING] = "max_pending",
	[NAMED_MAX_FILE_PENDING] = "max_file_pending",
	[NAMED_MAX_WATCHES] = "max_watches",
	[NAMED_MAX_QUEUE] = "max_queue",
};

static __u64 read_count(const char *class, const char *node, const char *count, bool *hidden)
{
	char path[512], text[32] = "";
	__u64 value = 0;
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/%s/%s", class, node, count) >= (int)sizeof(path))
		return 0;
	file = fopen(path, "re");
	if (!file) {
		*hidden |= errno == EACCES;
		return 0;
	}
	if (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = 0;
		parse_count(text, UINT64_MAX, &value);
	}
	fclose(file);
	return value;
}

/* Return: false if the node is not one of a purgatory, or was removed meanwhile. */
static bool read_one(const char *class, const char *node, struct named *named)
{
	size_t prefix = strlen(NODE_PREFIX);
	char path[512];

	if (strncmp(node, NODE_PREFIX, prefix) ||
	    strlen(node + prefix) >= sizeof(named->name))
		return false;
	snprintf(named->name, sizeof(named->name), "%s", node + prefix);
	named->hidden = false;
	for (int i = 0; i < NR_NAMED_COUNTS; i++)
		named->counts[i] = read_count(class, node, named_counts[i], &named->hidden);
	snprintf(path, sizeof(path), "%s/%s", class, node);
	return !access(path, F_OK);
}

size_t read_named(const char *class, struct named **list)
{
	struct dirent **entries = NULL;
	int found = scandir(class, &entries, NULL, alphasort);
	struct named named;
	size_t nr = 0;

	*list = NULL;
	for (int i = 0; i < found; i++) {
		if (read_one(class, entries[i]->d_name, &named)) {
			*list = must_realloc(*list, nr + 1, sizeof(named));
			(*list)[nr++] = named;
		}
		free(entries[i]);
	}
	free(entries);
	return nr;
}

size_t drop_hidden(const char *command, struct named *list, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		if (!list[i].hidden)
			list[kept++] = list[i];
	if (kept < nr)
		fprintf(stderr, "twheelctl %s: no counts of %zu purgatories: %s\n", command,
			nr - kept, strerror(EACCES));
	return kept;
}
