// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of reading named purgatories from sysfs.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../twheelctl/twheelctl.h"
#include "tap.h"

#define CLASS_TEMPLATE	"/tmp/names_test.XXXXXX"

static char class[sizeof(CLASS_TEMPLATE)];

static void make(const char *node, const char *file, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", class, node);
	mkdir(path, 0700);
	if (!file)
		return;
	snprintf(path, sizeof(path), "%s/%s/%s", class, node, file);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

TEST("no purgatories without the class")
{
	struct named *list;

	CHECK(read_named("/dev/null/none", &list) == 0 && !list);
	memcpy(class, CLASS_TEMPLATE, sizeof(class));
	CHECK(mkdtemp(class) && read_named(class, &list) == 0 && !list);
}

TEST("purgatories are sorted by name and have limits, without removed ones")
{
	struct named *list;
	char path[256];

	make("twheel-orders", "max_pending", "4294967295\n");
	make("twheel-orders", "max_file_pending", "7\n");
	make("twheel-orders", "max_queue", "many\n");
	make("twheel-a.b", NULL, NULL);
	make("twheel", "max_pending", "1\n");
	make("other-x", NULL, NULL);
	make("twheel-a-name-that-is-longer-than-any-may-be", NULL, NULL);
	/* The link of a purgatory that was removed after its name had been read. */
	snprintf(path, sizeof(path), "%s/twheel-gone", class);
	CHECK(!symlink("none", path));

	CHECK(read_named(class, &list) == 2);
	CHECK(!strcmp(list[0].state.name, "a.b") && !strcmp(list[1].state.name, "orders"));
	CHECK(!list[0].state.max_pending);
	CHECK(list[1].state.max_pending == UINT32_MAX && list[1].state.max_file_pending == 7);
	CHECK(!list[1].state.max_queue && !list[1].state.max_watches);
	/* There is no such purgatory. */
	CHECK(!query_named("names_test", list, 2));
	free(list);
}

TEST("the test directory is removed")
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", class);
	CHECK(!system(command));
}

TAP_MAIN
