// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl apply: named purgatories from files, for the creation at boot.
 *
 * A wrong line or file must not prevent the creation of the other purgatories.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "create.h"
#include "options.h"

#define DEFAULT_FOLDER	"/etc/twheel/purgatories.d"

/* Maximum number of words in a line. */
#define MAX_WORDS	32

static const char apply_help[] =
"usage: twheelctl apply [PATH]...\n"
"\n"
"Creates the named purgatories of files, unless they exist.\n"
"\n"
"  --json   print JSON\n"
"\n"
"A PATH is a file or a folder; of a folder, the files *.conf are read. The default is\n"
DEFAULT_FOLDER ". Each line has the arguments of 'twheelctl create',\n"
"and '#' starts a comment. Wrong lines are reported and skipped.\n"
"\n"
"Exits with the status of the first failure.\n";

static void note(struct command_line *line, enum outcome outcome)
{
	if (line->outcome == OUTCOME_OK)
		line->outcome = outcome;
}

static void unreadable(struct command_line *line, const char *path, const char *why)
{
	fprintf(stderr, "twheelctl: %s: %s\n", path, why);
	note(line, OUTCOME_DEVICE);
}

/* Return: the number of words, or -1 if there are too many. The first one is left to getopt. */
static int split(char *text, char *words[MAX_WORDS + 1])
{
	static const char blanks[] = " \t\r\n";
	char *save, *word;
	int nr = 1;

	for (word = strtok_r(text, blanks, &save); word && *word != '#';
	     word = strtok_r(NULL, blanks, &save)) {
		if (nr == MAX_WORDS)
			return -1;
		words[nr++] = word;
	}
	words[nr] = NULL;
	return nr;
}

static enum outcome apply_text(const struct command_line *line, char *text)
{
	char program[] = "twheelctl", *words[MAX_WORDS + 1] = { program };
	struct command_line of_text = {
		.command = "create",
		.argv = words,
		.json = line->json,
		.help = apply_help,
	};
	struct twheel_create_args args;

	of_text.argc = split(text, words);
	if (of_text.argc < 0)
		return wrong_usage(line, "more than %d words", MAX_WORDS - 1);
	if (of_text.argc == 1)
		return OUTCOME_OK;
	if (take_create(&of_text, &args))
		return create_purgatory(&of_text, &args, true);
	/* --help is valid for a command only. */
	return of_text.outcome == OUTCOME_OK ? OUTCOME_USAGE : of_text.outcome;
}

static void apply_lines(struct command_line *line, const char *path, FILE *file)
{
	unsigned long nr = 0;
	enum outcome outcome;
	char *text = NULL;
	size_t size = 0;

	while (getline(&text, &size, file) >= 0) {
		nr++;
		outcome = apply_text(line, text);
		if (outcome == OUTCOME_OK)
			continue;
		fprintf(stderr, "twheelctl: %s:%lu: line skipped\n", path, nr);
		note(line, outcome);
	}
	if (ferror(file))
		unreadable(line, path, strerror(errno));
	free(text);
}

/* Does not wait for the writer of a pipe, and does not read it. */
static void apply_file(struct command_line *line, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat stat;

	if (!file || fstat(fd, &stat))
		unreadable(line, path, strerror(errno));
	else if (!S_ISREG(stat.st_mode))
		unreadable(line, path, "not a regular file");
	else
		apply_lines(line, path, file);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
}

static int is_configuration(const struct dirent *entry)
{
	static const char suffix[] = ".conf";
	size_t length = strlen(entry->d_name), end = sizeof(suffix) - 1;

	return *entry->d_name != '.' && length > end &&
	       !strcmp(entry->d_name + length - end, suffix);
}

static void apply_folder(struct command_line *line, const char *path)
{
	struct dirent **entries;
	int nr = scandir(path, &entries, is_configuration, alphasort);
	char *file;

	if (nr < 0) {
		unreadable(line, path, strerror(errno));
		return;
	}
	for (int i = 0; i < nr; i++) {
		if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) {
			unreadable(line, path, strerror(errno));
		} else {
			apply_file(line, file);
			free(file);
		}
		free(entries[i]);
	}
	free(entries);
}

static void apply_path(struct command_line *line, const char *path)
{
	struct stat stat_of_path;

	if (!stat(path, &stat_of_path) && S_ISDIR(stat_of_path.st_mode))
		apply_folder(line, path);
	else
		apply_file(line, path);
}

enum outcome apply_command(struct command_line *line)
{
	static const struct option_spec specs[] = { { } };
	char **paths;
	int nr;

	line->help = apply_help;
	if (!take_options(line, specs))
		return line->outcome;
	if (line->purgatory)
		return wrong_usage(line, "the files name the purgatories, not -p");
	paths = line->args;
	nr = line->nr;
	for (int i = 0; i < nr; i++)
		apply_path(line, paths[i]);
	/* Without the folder, nothing is configured. */
	if (!nr && !access(DEFAULT_FOLDER, F_OK))
		apply_path(line, DEFAULT_FOLDER);
	return line->outcome;
}
