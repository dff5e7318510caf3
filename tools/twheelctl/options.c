// SPDX-License-Identifier: GPL-2.0
/*
 * Option parsing for the commands.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "twheelctl.h"

/* Return values of getopt_long(): one of these, or FIRST_OPTION + index in the table. */
enum common_option {
	COMMON_PURGATORY = 'p',
	COMMON_HELP = 'h',
	COMMON_JSON = 'j',
	FIRST_OPTION = 256,
};

static const struct option common_options[] = {
	{ "purgatory", required_argument, NULL, COMMON_PURGATORY },
	{ "json", no_argument, NULL, COMMON_JSON },
	{ "help", no_argument, NULL, COMMON_HELP },
	{ }
};

enum outcome wrong_usage(const struct command_line *line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "twheelctl %s: ", line->command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return try_help(line->command);
}

enum outcome try_help(const char *command)
{
	fprintf(stderr, "try: twheelctl help%s%s\n", command ? " " : "", command ? command : "");
	return OUTCOME_USAGE;
}

bool take_number(const char *text, void *to)
{
	struct number *number = to;

	number->given = true;
	return parse_count(text, UINT64_MAX, &number->value);
}

bool take_number32(const char *text, void *to)
{
	struct number *number = to;

	number->given = true;
	return parse_count(text, UINT32_MAX, &number->value);
}

bool take_queue(const char *text, void *to)
{
	struct number *number = to;

	number->given = true;
	return parse_count(text, TWHEEL_MAX_QUEUES - 1, &number->value);
}

bool parse_key(const char *text, struct twheel_key *key)
{
	return !strchr(text, '*') && !twheel_key_parse(text, key);
}

bool take_time(const char *text, void *to)
{
	struct number *number = to;

	number->given = true;
	return parse_time(text, &number->value);
}

/* /dev/twheel-control is not the node of a purgatory. */
#define RESERVED_NAME	"control"

bool take_purgatory(struct command_line *line, const char *name)
{
	size_t len = strlen(name);
	bool ok = len && len < TWHEEL_NAME_SIZE && isalnum((unsigned char)*name);

	for (size_t i = 0; i < len; i++)
		ok &= isalnum((unsigned char)name[i]) || strchr("-_.", name[i]);
	if (!ok || !strcmp(name, RESERVED_NAME)) {
		fprintf(stderr,
			"twheelctl: %sinvalid purgatory name '%s': a name has 1 to %d letters, digits, '-', '_' and '.', starts with a letter or a digit, and is not '%s'\n",
			name == line->environment ? "TWHEEL_PURGATORY: " : "", name,
			TWHEEL_NAME_SIZE - 1, RESERVED_NAME);
	} else if (line->purgatory && strcmp(line->purgatory, name)) {
		/* The same name may be given before and after the command. */
		fprintf(stderr, "twheelctl: two purgatories given: '%s' and '%s'\n",
			line->purgatory, name);
	} else {
		line->purgatory = name;
		return true;
	}
	line->outcome = OUTCOME_USAGE;
	return false;
}

static bool take_code(struct command_line *line, const char *help, const struct option_spec *specs,
		      int code)
{
	const struct option_spec *spec;

	switch (code) {
	case COMMON_PURGATORY:
		return take_purgatory(line, optarg);
	case COMMON_JSON:
		line->json = true;
		return true;
	case COMMON_HELP:
		fputs(help, stdout);
		line->outcome = OUTCOME_OK;
		return false;
	case '?':
		line->outcome = try_help(line->command);
		return false;
	}
	spec = &specs[code - FIRST_OPTION];
	if (!spec->take) {
		*(bool *)spec->to = true;
		return true;
	}
	if (spec->take(optarg, spec->to))
		return true;
	line->outcome = wrong_usage(line, "--%s: expected %s, got '%s'", spec->name,
				    spec->expected, optarg);
	return false;
}

bool take_arguments(struct command_line *line, const char *help, const struct option_spec *specs,
		    int min, int max)
{
	struct option options[MAX_OPTIONS + ARRAY_SIZE(common_options)] = { };
	int nr = 0, code;

	for (; specs && specs[nr].name && nr < MAX_OPTIONS; nr++)
		options[nr] = (struct option){
			.name = specs[nr].name,
			.has_arg = specs[nr].take ? required_argument : no_argument,
			.val = FIRST_OPTION + nr,
		};
	memcpy(options + nr, common_options, sizeof(common_options));

	/* 0 reinitializes getopt_long() after its use by main(). */
	optind = 0;
	while ((code = getopt_long(line->argc, line->argv, "p:h", options, NULL)) != -1)
		if (!take_code(line, help, specs, code))
			return false;
	line->nr = line->argc - optind;
	line->args = line->argv + optind;
	if (!line->purgatory && line->environment && !take_purgatory(line, line->environment))
		return false;
	if (line->nr < min)
		line->outcome = wrong_usage(line, "an argument is missing");
	else if (line->nr > max)
		line->outcome = wrong_usage(line, "unexpected argument '%s'", line->args[max]);
	else
		return true;
	return false;
}
