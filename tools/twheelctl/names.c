// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the named purgatories.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twheelctl.h"

#define NODE_PREFIX	"twheel-"

static __u32 read_limit(const char *class, const char *node, const char *limit)
{
	unsigned int value = 0;
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%s", class, node, limit);
	file = fopen(path, "re");
	if (file && fscanf(file, "%u", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

static bool node_exists(const char *class, const char *node)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", class, node);
	return !access(path, F_OK);
}

bool named_exists(const char *name)
{
	char node[64];

	snprintf(node, sizeof(node), NODE_PREFIX "%s", name);
	return node_exists(PURGATORY_CLASS, node);
}

/* Return: false if the node is not one of a purgatory, or was removed meanwhile. */
static bool read_one(const char *class, const char *node, struct named *named)
{
	struct twheel_query_args *state = &named->state;
	size_t prefix = strlen(NODE_PREFIX);

	if (strncmp(node, NODE_PREFIX, prefix) || strlen(node + prefix) >= sizeof(state->name))
		return false;
	*named = (struct named){
		.state.max_pending = read_limit(class, node, "max_pending"),
		.state.max_file_pending = read_limit(class, node, "max_file_pending"),
		.state.max_watches = read_limit(class, node, "max_watches"),
		.state.max_queue = read_limit(class, node, "max_queue"),
	};
	snprintf(state->name, sizeof(state->name), "%s", node + prefix);
	return node_exists(class, node);
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

static int query_one(struct named *named)
{
	int fd = open_node(named->state.name, O_RDONLY), error = 0;
	struct twheel_query_args found;
	long nr;

	if (fd < 0)
		return errno;
	nr = query_others(fd, &found) ? -1 : read_queues(fd, &named->queues);
	if (nr < 0) {
		error = errno;
	} else {
		named->state = found;
		named->nr_queues = nr;
	}
	close(fd);
	return error;
}

void free_named(struct named *list, size_t nr)
{
	while (nr--)
		free(list[nr].queues);
	free(list);
}

size_t query_named(const char *command, struct named *list, size_t nr)
{
	size_t kept = 0, hidden = 0;
	int error = 0;

	for (size_t i = 0; i < nr; i++) {
		list[i].error = query_one(&list[i]);
		if (list[i].error && !named_exists(list[i].state.name))
			continue;
		if (list[i].error) {
			error = list[i].error;
			hidden++;
		}
		list[kept++] = list[i];
	}
	if (hidden)
		fprintf(stderr, "twheelctl %s: no counts of %zu purgatories: %s\n", command,
			hidden, strerror(error));
	return kept;
}
