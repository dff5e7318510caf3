// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl apply: named purgatories from files, for the creation at boot.
 *
 * A wrong line or file must not prevent the creation of the other purgatories. But of a file with a
 * NUL byte, no line is applied: it is not text, and may be UTF-16.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twheelctl.h"

#define DEFAULT_FOLDER	"/etc/twheel/purgatories.d"

/* Enough for 65536 purgatories. */
#define MAX_SIZE	(16 << 20)

/* Maximum number of words in a line, and of bytes in a word. */
#define MAX_WORDS	32
#define MAX_WORD	255

static const char apply_help[] =
"usage: twheelctl apply [PATH]...\n"
"\n"
"Creates the named purgatories of files, unless they exist.\n"
"\n"
"  --json   print JSON\n"
"\n"
"A PATH is a file or a folder; of a folder, the files *.conf are read. The default is\n"
DEFAULT_FOLDER ". Each line has the arguments of 'twheelctl create',\n"
"and '#' starts a comment. Wrong lines are reported and skipped, and so are files with\n"
"a NUL byte.\n"
"\n"
"Exits with the status of the first failure.\n";

/* Reports a skipped line or file. The first outcome is that of the command. */
__attribute__((format(printf, 3, 4)))
static void refuse(struct command_line *line, enum outcome outcome, const char *format, ...)
{
	va_list args;

	fputs("twheelctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	line->outcome = line->outcome ?: outcome;
}

/* Return: NULL, or the reason why the line is wrong. The first word is left to getopt. */
static const char *split(char *text, char *words[MAX_WORDS + 1], int *nr)
{
	static const char blanks[] = " \t\r";
	char *save, *word;

	*nr = 1;
	for (word = strtok_r(text, blanks, &save); word && *word != '#';
	     word = strtok_r(NULL, blanks, &save)) {
		if (*nr == MAX_WORDS)
			return "more than 31 words";
		if (strlen(word) > MAX_WORD)
			return "a word of more than 255 bytes";
		words[(*nr)++] = word;
	}
	words[*nr] = NULL;
	return NULL;
}

static enum outcome apply_text(const struct command_line *line, char *text)
{
	char program[] = "twheelctl", *words[MAX_WORDS + 1] = { program };
	struct command_line of_text = {
		.command = "create",
		.argv = words,
		.json = line->json,
	};
	struct twheel_create_args args;
	const char *wrong;

	wrong = split(text, words, &of_text.argc);
	if (wrong)
		return wrong_usage(line, "%s", wrong);
	if (of_text.argc == 1)
		return OUTCOME_OK;
	if (take_create(&of_text, apply_help, &args))
		return create_purgatory(&of_text, &args, true);
	/* --help is valid for a command only. */
	return of_text.outcome == OUTCOME_OK ? OUTCOME_USAGE : of_text.outcome;
}

static void apply_lines(struct command_line *line, const char *path, char *text)
{
	enum outcome outcome;
	unsigned long nr = 0;
	char *next;

	while ((next = strsep(&text, "\n"))) {
		nr++;
		outcome = apply_text(line, next);
		if (outcome != OUTCOME_OK)
			refuse(line, outcome, "%s:%lu: line skipped", path, nr);
	}
}

/* The whole text is read first: it ends at a NUL byte, or at the end of the file. */
static void apply_text_file(struct command_line *line, const char *path, FILE *file)
{
	unsigned long nr = 1;
	char *text = NULL;
	size_t size = 0;
	ssize_t length = getdelim(&text, &size, 0, file);

	if (length < 0 && !feof(file)) {
		refuse(line, OUTCOME_DEVICE, "%s: %s", path, strerror(errno));
	} else if (length > 0 && !text[length - 1]) {
		for (ssize_t i = 0; i < length; i++)
			nr += text[i] == '\n';
		refuse(line, OUTCOME_USAGE, "%s:%lu: a NUL byte, file skipped", path, nr);
	} else if (length > 0) {
		apply_lines(line, path, text);
	}
	free(text);
}

/* Does not wait for the writer of a pipe, and does not read it. */
static void apply_file(struct command_line *line, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat stat;

	if (!file || fstat(fd, &stat))
		refuse(line, OUTCOME_DEVICE, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(stat.st_mode))
		refuse(line, OUTCOME_DEVICE, "%s: not a regular file", path);
	else if (stat.st_size > MAX_SIZE)
		refuse(line, OUTCOME_USAGE, "%s: larger than 16 MiB", path);
	else
		apply_text_file(line, path, file);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
}

static int is_configuration(const struct dirent *entry)
{
	return !fnmatch("*.conf", entry->d_name, FNM_PERIOD);
}

static void apply_folder(struct command_line *line, const char *path)
{
	struct dirent **entries;
	int nr = scandir(path, &entries, is_configuration, alphasort);
	char *file;

	if (nr < 0) {
		refuse(line, OUTCOME_DEVICE, "%s: %s", path, strerror(errno));
		return;
	}
	for (int i = 0; i < nr; i++) {
		if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) {
			refuse(line, OUTCOME_DEVICE, "%s: %s", path, strerror(errno));
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
	if (!take_arguments(line, apply_help, NULL, 0, INT_MAX))
		return line->outcome;
	if (line->purgatory)
		return wrong_usage(line, "the files name the purgatories, not -p");
	for (int i = 0; i < line->nr; i++)
		apply_path(line, line->args[i]);
	/* Without the folder, nothing is configured. */
	if (!line->nr && !access(DEFAULT_FOLDER, F_OK))
		apply_path(line, DEFAULT_FOLDER);
	return line->outcome;
}
