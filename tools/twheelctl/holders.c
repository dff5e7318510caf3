// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl holders: the open files, the named purgatories and the modules because of which
 * the module cannot be unloaded.
 *
 * It reads /proc. The fdinfo of a file has twheel-name for a purgatory, and twheel-control for
 * the control node; the path of a file may be anything.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twheelctl.h"

static const char holders_help[] =
"usage: twheelctl [-p NAME] holders [OPTION]...\n"
"\n"
"Lists everything that keeps the module loaded: the processes that have a purgatory or\n"
"/dev/twheel-control open, the named purgatories, and the modules that use it. With\n"
"-p NAME, lists the processes that have that purgatory open. The name of a private\n"
"purgatory is '-'.\n"
"\n"
"  --json    print JSON, one object per line\n"
"\n"
"Only root can examine the processes of other users.\n";

#define MODULES	"/sys/module/twheel/holders"

/* Name of a private purgatory in fdinfo. */
#define PRIVATE	"-"

/**
 * struct holders - a search for holders
 * @line: the command line
 * @nr: holders found
 * @hidden: processes that could not be examined
 */
struct holders {
	const struct command_line *line;
	unsigned long nr;
	unsigned long hidden;
};

/**
 * struct holder - an open file of the module
 * @pid: process
 * @fd: descriptor
 * @control: the file is the control node
 * @name: name of the purgatory; "-" if it is private
 * @counted: @pending is known; the descriptors of events have no such count
 * @pending: pending operations that were added through the file
 * @comm: name of the process
 */
struct holder {
	const char *pid;
	const char *fd;
	bool control;
	char name[64];
	bool counted;
	unsigned long long pending;
	char comm[32];
};

static void read_comm(struct holder *holder)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", holder->pid);
	file = fopen(path, "re");
	if (!file || !fgets(holder->comm, sizeof(holder->comm), file))
		snprintf(holder->comm, sizeof(holder->comm), "?");
	if (file)
		fclose(file);
	holder->comm[strcspn(holder->comm, "\n")] = 0;
	/* It may contain any character. */
	make_printable(holder->comm);
}

/* Return: whether the file is one of the module. */
static bool read_fdinfo(struct holder *holder)
{
	char path[600], text[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", holder->pid, holder->fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!holder->control && fgets(text, sizeof(text), file)) {
		holder->control = !strncmp(text, "twheel-control:", strlen("twheel-control:"));
		found |= sscanf(text, "twheel-name: %63s", holder->name) == 1;
		holder->counted |= sscanf(text, "twheel-own: %llu", &holder->pending) == 1;
	}
	fclose(file);
	return found || holder->control;
}

static void print_file(struct holders *holders, struct holder *holder)
{
	json_t *object;

	read_comm(holder);
	if (holders->line->json) {
		object = json_pack("{s:s, s:s, s:i, s:s, s:i}", "type", "holder",
				   "kind", holder->control ? "control" : "file",
				   "pid", atoi(holder->pid), "command", holder->comm,
				   "fd", atoi(holder->fd));
		if (!holder->control)
			json_object_set_new(object, "name",
					    strcmp(holder->name, PRIVATE) ?
					    json_string(holder->name) : json_null());
		if (holder->counted)
			json_object_set_new(object, "pending", json_integer(holder->pending));
		print_json(object);
	} else {
		if (!holders->nr)
			printf("%7s  %-15s  %4s  %-31s  %8s\n", "PID", "COMMAND", "FD",
			       "PURGATORY", "PENDING");
		printf("%7s  %-15s  %4s  ", holder->pid, holder->comm, holder->fd);
		if (holder->counted)
			printf("%-31s  %8llu\n", holder->name, holder->pending);
		else
			puts(holder->control ? TWHEEL_CONTROL : holder->name);
	}
	holders->nr++;
}

static void examine_process(struct holders *holders, const char *pid)
{
	const char *only = holders->line->purgatory;
	struct dirent *entry;
	char path[300];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir) {
		/* A process that has exited holds nothing. */
		holders->hidden += errno == EACCES || errno == EPERM;
		return;
	}
	while ((entry = readdir(dir))) {
		struct holder holder = { .pid = pid, .fd = entry->d_name };

		if (isdigit((unsigned char)*entry->d_name) && read_fdinfo(&holder) &&
		    (!only || !strcmp(only, holder.name)))
			print_file(holders, &holder);
	}
	closedir(dir);
}

/* @kind: "purgatory" or "module" */
static void print_name(struct holders *holders, const char *kind, const char *name)
{
	if (holders->line->json)
		print_json(json_pack("{s:s, s:s, s:s}", "type", "holder", "kind", kind,
				     "name", name));
	else
		printf("%s %s\n", kind, name);
	holders->nr++;
}

static void print_names(struct holders *holders)
{
	DIR *modules = opendir(MODULES);
	struct dirent *entry;
	struct named *list;
	size_t nr = read_named(PURGATORY_CLASS, &list);

	for (size_t i = 0; i < nr; i++)
		print_name(holders, "purgatory", list[i].state.name);
	free(list);
	while (modules && (entry = readdir(modules)))
		if (*entry->d_name != '.')
			print_name(holders, "module", entry->d_name);
	if (modules)
		closedir(modules);
}

static bool examine_processes(struct holders *holders)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return false;
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)*entry->d_name))
			examine_process(holders, entry->d_name);
	closedir(proc);
	return true;
}

enum outcome holders_command(struct command_line *line)
{
	struct holders holders = { .line = line };

	if (!take_arguments(line, holders_help, NULL, 0, 0))
		return line->outcome;
	if (!device_present())
		return OUTCOME_DEVICE;
	if (!examine_processes(&holders))
		return refused(line, "cannot read /proc");
	if (!line->purgatory)
		print_names(&holders);
	/* A removed purgatory may still be open. */
	if (!holders.nr && line->purgatory && !named_exists(line->purgatory))
		return no_purgatory(line->purgatory);
	if (!holders.nr && !line->json && line->purgatory)
		printf("no process with %s open was found\n", line->purgatory);
	else if (!holders.nr && !line->json)
		puts("no holder was found");
	if (holders.hidden)
		fprintf(stderr,
			"twheelctl holders: no permission to examine %lu processes; run it as root\n",
			holders.hidden);
	return line->outcome;
}
