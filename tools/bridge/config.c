// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration file, and the text of a signal. See bridge.h and twheel-bridge(1).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../twheelctl/units.h"
#include "bridge.h"

#define BLANKS		" \t\r\n"
#define MAX_SIGNAL	1024	/* bytes of a message */

static FILE *open_file(const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file)
		die(USAGE, "%s: %s", path, strerror(errno));
	return file;
}

/* Return: the first line of a file, without its end. */
static const char *read_line(const char *path)
{
	FILE *file = open_file(path);
	char *line = NULL;
	size_t size = 0;

	if (getline(&line, &size, file) < 0)
		die(USAGE, "%s: no line", path);
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

/* Copies a subject; %H is the name of the host up to its first dot. */
static bool add_subject(struct bridge *bridge, const char *text)
{
	struct subject *subject = &bridge->subjects[bridge->nr_subjects];
	const char *mark = strstr(text, "%H");
	struct utsname host;
	char key[2 * NAME_SIZE];
	int length;

	if (bridge->nr_subjects == MAX_SUBJECTS || strpbrk(text, "*>\"\\") || uname(&host))
		return false;
	length = !mark ? snprintf(subject->name, NAME_SIZE, "%s", text) :
		 snprintf(subject->name, NAME_SIZE, "%.*s%.*s%s", (int)(mark - text), text,
			  (int)strcspn(host.nodename, "."), host.nodename, mark + 2);
	if (length >= NAME_SIZE)
		return false;
	for (int i = 0; i < bridge->nr_subjects; i++)
		if (!strcmp(bridge->subjects[i].name, subject->name))
			return false;
	length = snprintf(key, sizeof(key), "twheel-bridge %s %s", bridge->stream ?: "",
			  subject->name);
	subject->key = twheel_key_hash(key, length);
	bridge->nr_subjects++;
	return true;
}

/* Return: whether the line of the configuration is valid. */
static bool take_word(struct bridge *bridge, const char *word, char *value)
{
	const struct {
		const char *word;
		const char **value;
	} texts[] = {
		{ "tls-ca", &bridge->ca }, { "tls-certificate", &bridge->certificate },
		{ "tls-key", &bridge->key }, { "credentials", &bridge->credentials },
		{ "user", &bridge->user }, { "password-file", &bridge->password },
		{ "stream", &bridge->stream }, { "metrics", &bridge->metrics },
	};

	if (!strcmp(word, "server")) {
		if (bridge->nr_servers == MAX_SERVERS)
			return false;
		bridge->servers[bridge->nr_servers++] = strdup(value);
		return true;
	}
	if (!strcmp(word, "subject"))
		return bridge->stream && add_subject(bridge, value);
	if (!strcmp(word, "max-age"))
		return parse_time(value, (__u64 *)&bridge->max_age);
	if (!strcmp(word, "stream") && (strpbrk(value, ".*>\"\\") || strlen(value) >= NAME_SIZE))
		return false;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcmp(word, texts[i].word) && !*texts[i].value)
			return (*texts[i].value = strdup(value));
	return false;
}

void read_config(struct bridge *bridge, const char *path)
{
	char *line = NULL, *save, *word, *value;
	FILE *file = open_file(path);
	unsigned int nr = 0;
	size_t size = 0;

	bridge->max_age = 600 * NSEC_PER_SEC;
	while (getline(&line, &size, file) >= 0) {
		nr++;
		word = strtok_r(line, BLANKS, &save);
		if (!word || *word == '#')
			continue;
		value = strtok_r(NULL, BLANKS, &save);
		if (!value || strtok_r(NULL, BLANKS, &save) || !take_word(bridge, word, value))
			die(USAGE, "%s:%u: wrong line: '%s'", path, nr, word);
	}
	fclose(file);
	free(line);
	if (!bridge->nr_servers || !bridge->stream)
		die(USAGE, "%s: no line 'server' or no line 'stream'", path);
	if (!bridge->certificate != !bridge->key || (bridge->certificate && !bridge->ca))
		die(USAGE, "%s: tls-certificate needs tls-key and tls-ca", path);
	if (bridge->password)
		bridge->password = read_line(bridge->password);
}

bool parse_signal(const char *text, int length, struct twheel_signal_args *args)
{
	char copy[MAX_SIGNAL + 1], *save, *word;
	__u64 numbers[3] = { };
	int nr;

	if (length > MAX_SIGNAL || memchr(text, '\0', length))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	word = strtok_r(copy, BLANKS, &save);
	memset(args, 0, sizeof(*args));
	if (!word || twheel_key_parse(word, &args->key))
		return false;
	for (nr = 0; (word = strtok_r(NULL, BLANKS, &save)); nr++)
		if (nr == 3 || !parse_count(word, nr == 2 ? UINT32_MAX : UINT64_MAX, &numbers[nr]))
			return false;
	args->amount = numbers[0];
	args->value = numbers[1];
	args->limit = numbers[2];
	return true;
}
