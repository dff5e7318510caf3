// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl save: the pending detached operations of named purgatories, and their unread events, as
 * JSON for 'twheelctl restore'.
 *
 * The operations of a purgatory are printed before its events. An operation that ends in between is
 * printed twice, and restore takes the event. Nothing else changes: no other file is open.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twheelctl.h"

static const char save_help[] =
"usage: twheelctl save [NAME]... [--remove]\n"
"\n"
"Prints the limits of named purgatories, by default of all, with their pending detached\n"
"operations and unread events, as JSON for 'twheelctl restore'. The events are taken.\n"
"\n"
"  --remove  remove the purgatories once all is written\n"
"  --json    has no effect: the output is JSON, one object per line\n"
"\n"
"Exits with 1, before it takes an event, if another process has one of them open: stop\n"
"the services that 'twheelctl holders' lists. After a write error it ends with 3, and the\n"
"event that could not be written is on standard error: see twheelctl(1).\n";

/**
 * struct saving - a purgatory to save
 * @line: the command line, with the name of the purgatory
 * @fd: an open file
 * @query: its counts
 */
struct saving {
	struct command_line line;
	int fd;
	struct twheel_query_args query;
};

void read_boot_id(char id[BOOT_ID_SIZE])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || !fgets(id, BOOT_ID_SIZE, file))
		*id = 0;
	if (file)
		fclose(file);
}

/*
 * 'twheelctl drain' has removed the permission to write from the node, and its uevent has the mode
 * of the creation.
 */
static unsigned int mode_of_creation(const char *name)
{
	unsigned int mode = 0600;
	char path[128], text[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/twheel-%s/uevent", PURGATORY_CLASS, name);
	file = fopen(path, "re");
	while (file && fgets(text, sizeof(text), file))
		if (sscanf(text, "DEVMODE=%o", &mode) == 1)
			break;
	if (file)
		fclose(file);
	return mode;
}

/* A line without an event is not worth standard error: the next save prints it again. */
static bool print_line(json_t *object)
{
	print_json(object);
	return flush_output();
}

static bool save_properties(struct saving *saving)
{
	json_t *object = json_query("purgatory", &saving->query);
	struct stat node = { };
	unsigned int mode;

	fstat(saving->fd, &node);
	mode = node.st_mode & 0222 ? node.st_mode & 0666 : mode_of_creation(saving->query.name);
	json_object_set_new(object, "mode", json_sprintf("%04o", mode));
	json_object_set_new(object, "uid", json_integer(node.st_uid));
	json_object_set_new(object, "gid", json_integer(node.st_gid));
	return print_line(object);
}

/* A relative deadline with CLOCK_REALTIME counts on CLOCK_MONOTONIC. */
static bool is_relative(const struct twheel_pending *pending)
{
	return pending->clock == CLOCK_REALTIME && !pending->period &&
	       !(pending->flags & TWHEEL_PENDING_ABSTIME);
}

static void save_operation(const struct twheel_pending *listed, void *context)
{
	struct saving *saving = context;
	struct twheel_watch_spec keys[TWHEEL_MAX_KEYS];
	struct twheel_pending pending;
	json_t *object;

	if (saving->line.outcome || interrupted())
		return;
	if (twheel_info(saving->fd, listed->id, &pending, keys, TWHEEL_MAX_KEYS)) {
		/* If the operation has ended, it has an event. */
		if (errno != ENOENT)
			saving->line.outcome = refused(&saving->line, saving->line.purgatory);
		return;
	}
	object = json_info(&pending, keys);
	if (is_relative(&pending))
		json_object_set_new(object, "monotonic",
				    json_deadline(pending.remaining > INT64_MAX ? TWHEEL_NEVER :
						  now_ns() + pending.remaining));
	if (!print_line(object))
		saving->line.outcome = OUTCOME_DEVICE;
}

/* Takes up to @max events. Periodic operations may queue further ones all the time. */
static enum outcome save_queue(struct saving *saving, __u32 queue, __u64 max)
{
	int fd = twheel_events(saving->fd, queue, O_NONBLOCK);
	enum outcome outcome = OUTCOME_OK;
	struct twheel_event event;
	json_t *object;
	ssize_t nr = 1;

	if (fd < 0)
		return refused(&saving->line, saving->line.purgatory);
	while (max-- && !outcome && !interrupted() &&
	       (nr = twheel_read_events(fd, &event, 1)) > 0) {
		object = json_event(&event, NULL);
		json_object_set_new(object, "queue", json_integer(queue));
		if (!show_json(object))
			outcome = OUTCOME_DEVICE;
	}
	if (nr < 0 && errno != EAGAIN)
		outcome = device_failure("reading events");
	close(fd);
	return outcome;
}

static enum outcome save_purgatory(struct saving *saving)
{
	struct twheel_query_args *query = &saving->query;
	enum outcome outcome;

	if (!save_properties(saving))
		return OUTCOME_DEVICE;
	if (list_pending(saving->fd, LONG_MAX, save_operation, saving) < 0)
		return refused(&saving->line, saving->line.purgatory);
	/* An operation that has ended counts as detached until its event can be read. */
	do {
		if (twheel_query(saving->fd, query))
			return refused(&saving->line, saving->line.purgatory);
	} while (query->detached > query->pending);
	outcome = saving->line.outcome;
	if (!query->detached_unread)
		return outcome;
	for (__u32 queue = 0; !outcome && queue < TWHEEL_MAX_QUEUES; queue++)
		outcome = save_queue(saving, queue, query->detached_unread);
	return outcome;
}

/* Opens a purgatory that no other process has open. */
static enum outcome begin(struct saving *saving, const struct command_line *line, const char *name)
{
	saving->line = (struct command_line){ .command = line->command, .json = true };
	saving->fd = -1;
	if (!take_purgatory(&saving->line, name))
		return saving->line.outcome;
	saving->fd = open_named(&saving->line, O_RDWR);
	if (saving->fd < 0)
		return saving->line.outcome;
	if (query_others(saving->fd, &saving->query))
		return refused(&saving->line, name);
	if (!saving->query.files)
		return OUTCOME_OK;
	fprintf(stderr,
		"twheelctl save: %s: open %u times; stop the services that 'twheelctl -p %s holders' lists\n",
		name, saving->query.files, name);
	return OUTCOME_FAILED;
}

/* The last line: without it, restore refuses the file. */
static bool save_end(void)
{
	char boot_id[BOOT_ID_SIZE];

	read_boot_id(boot_id);
	return print_line(json_pack("{s:s, s:s, s:o}", "type", "saved", "boot_id", boot_id,
				    "time", json_digits(clock_ns(CLOCK_REALTIME))));
}

/* A file on a disk that cannot be written back is noticed here; a pipe has no fsync(). */
static enum outcome remove_saved(struct saving *saving)
{
	if (fsync(STDOUT_FILENO) && errno != EINVAL && errno != EROFS)
		return device_failure("standard output");
	close(saving->fd);
	saving->fd = -1;
	saving->line.command = "remove";
	if (twheel_remove(saving->line.purgatory, TWHEEL_REMOVE_FORCE, NULL))
		return control_refused(&saving->line);
	return OUTCOME_OK;
}

static enum outcome save(const struct command_line *line, const char *const *names, size_t nr,
			 bool remove)
{
	struct saving *list = must_realloc(NULL, nr, sizeof(*list));
	enum outcome outcome = OUTCOME_OK;
	size_t opened = 0;

	while (!outcome && opened < nr) {
		outcome = begin(&list[opened], line, names[opened]);
		opened++;
	}
	/* An event that has been taken is printed first. */
	catch_interrupts();
	for (size_t i = 0; !outcome && i < nr; i++)
		outcome = save_purgatory(&list[i]);
	if (!outcome && interrupted()) {
		fprintf(stderr, "twheelctl %s: interrupted\n", line->command);
		outcome = OUTCOME_FAILED;
	}
	if (!outcome && !save_end())
		outcome = OUTCOME_DEVICE;
	for (size_t i = 0; !outcome && remove && i < nr; i++)
		outcome = remove_saved(&list[i]);
	while (opened--)
		if (list[opened].fd >= 0)
			close(list[opened].fd);
	free(list);
	return outcome;
}

enum outcome save_command(struct command_line *line)
{
	bool remove = false;
	const struct option_spec specs[] = {
		{ "remove", NULL, &remove, NULL },
		{ }
	};
	const char **names;
	struct named *list;
	size_t nr;

	if (!take_arguments(line, save_help, specs, 0, INT_MAX))
		return line->outcome;
	if (line->purgatory && line->nr)
		return wrong_usage(line, "the purgatories are arguments, not -p");
	if (line->purgatory)
		return save(line, &line->purgatory, 1, remove);
	if (line->nr)
		return save(line, (const char *const *)line->args, line->nr, remove);
	if (!device_present())
		return OUTCOME_DEVICE;
	nr = read_named(PURGATORY_CLASS, &list);
	names = must_realloc(NULL, nr, sizeof(*names));
	for (size_t i = 0; i < nr; i++)
		names[i] = list[i].state.name;
	line->outcome = save(line, names, nr, remove);
	free(names);
	free(list);
	return line->outcome;
}
