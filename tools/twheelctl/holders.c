// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl holders: the open files, the named purgatories and the modules because of which
 * the module cannot be unloaded.
 *
 * It reads /proc. The field twheel-name in the fdinfo of a file identifies a purgatory; the
 * control node is identified by the target of its link.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "names.h"
#include "options.h"
#include "show.h"
#include "wheels.h"

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
 * @pending: pending operations of the purgatory
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

/* A name of a process may contain any character. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

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
	make_printable(holder->comm);
}

/* Return: whether the file is one of a purgatory. */
static bool read_fdinfo(struct holder *holder)
{
	char path[600], text[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", holder->pid, holder->fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(text, sizeof(text), file)) {
		found |= sscanf(text, "twheel-name: %63s", holder->name) == 1;
		holder->counted |= sscanf(text, "twheel-pending: %llu", &holder->pending) == 1;
	}
	fclose(file);
	return found;
}

static bool is_control(struct holder *holder)
{
	char path[600], target[sizeof(CONTROL_NODE) + 1];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%s/fd/%s", holder->pid, holder->fd);
	size = readlink(path, target, sizeof(target));
	holder->control = size == (ssize_t)strlen(CONTROL_NODE) &&
			  !memcmp(target, CONTROL_NODE, size);
	return holder->control;
}

static void print_file_json(const struct holder *holder)
{
	json_t *object = json_pack("{s:s, s:i, s:s, s:i}", "type", "file",
				   "pid", atoi(holder->pid), "command", holder->comm,
				   "fd", atoi(holder->fd));

	if (holder->control)
		json_object_set_new(object, "control", json_true());
	else
		json_object_set_new(object, "name", json_string(holder->name));
	if (holder->counted)
		json_object_set_new(object, "pending", json_number(holder->pending));
	print_json(object);
}

static void print_file(struct holders *holders, struct holder *holder)
{
	read_comm(holder);
	if (holders->line->json) {
		print_file_json(holder);
	} else {
		if (!holders->nr)
			printf("%7s  %-15s  %4s  %-31s  %8s\n", "PID", "COMMAND", "FD",
			       "PURGATORY", "PENDING");
		printf("%7s  %-15s  %4s  ", holder->pid, holder->comm, holder->fd);
		if (holder->counted)
			printf("%-31s  %8llu\n", holder->name, holder->pending);
		else
			puts(holder->control ? CONTROL_NODE : holder->name);
	}
	holders->nr++;
}

static void examine_file(struct holders *holders, const char *pid, const char *fd)
{
	const char *only = holders->line->purgatory;
	struct holder holder = { .pid = pid, .fd = fd };

	if (!read_fdinfo(&holder) && (only || !is_control(&holder)))
		return;
	if (!only || !strcmp(only, holder.name))
		print_file(holders, &holder);
}

static void examine_process(struct holders *holders, const char *pid)
{
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
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)*entry->d_name))
			examine_file(holders, pid, entry->d_name);
	closedir(dir);
}

/* @type: "purgatory" or "module" */
static void print_name(struct holders *holders, const char *type, const char *name)
{
	if (holders->line->json)
		print_json(json_pack("{s:s, s:s}", "type", type, "name", name));
	else
		printf("%s %s\n", type, name);
	holders->nr++;
}

static void examine_purgatories(struct holders *holders)
{
	struct named *list;
	size_t nr = read_named(PURGATORY_CLASS, &list);

	for (size_t i = 0; i < nr; i++)
		print_name(holders, "purgatory", list[i].name);
	free(list);
}

static void examine_modules(struct holders *holders)
{
	struct dirent *entry;
	DIR *dir = opendir(MODULES);

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			print_name(holders, "module", entry->d_name);
	if (dir)
		closedir(dir);
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
	const struct option_spec specs[] = { { } };
	struct holders holders = { .line = line };

	line->help = holders_help;
	if (!take_arguments(line, specs, 0, 0))
		return line->outcome;
	if (!device_present())
		return OUTCOME_DEVICE;
	if (!examine_processes(&holders))
		return refused(line, "cannot read /proc");
	if (!line->purgatory) {
		examine_purgatories(&holders);
		examine_modules(&holders);
	}
	if (!holders.nr && !line->json)
		puts(line->purgatory ? "no process has it open" : "nothing holds the module");
	if (holders.hidden)
		fprintf(stderr,
			"twheelctl holders: no permission to examine %lu processes of other users; run it as root\n",
			holders.hidden);
	return line->outcome;
}
