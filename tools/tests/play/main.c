// SPDX-License-Identifier: GPL-2.0
/*
 * twheel_play: plays a script of operations and expectations against a purgatory.
 *
 * A file is parsed completely before its first line runs. Standard input may be
 * interactive: each line runs as it arrives, and events are printed while the program
 * waits for the next line.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <twheel.h>

#include "lines.h"
#include "outcome.h"
#include "output.h"
#include "parse.h"
#include "player.h"
#include "units.h"

static const char help[] =
"usage: twheel_play [OPTION]... FILE|-\n"
"\n"
"Plays a script of operations, and checks its expectations.\n"
"\n"
"  -p, --purgatory NAME  use /dev/twheel-NAME; the default is TWHEEL_PURGATORY in the\n"
"                        environment, or else a private purgatory\n"
"  --check               parse the script without running it\n"
"  --echo                print each line of the script before it runs\n"
"  --json                print events as JSON, one object per line\n"
"\n"
"One command per line; '#' starts a comment.\n"
"\n"
"  add NAME in TIME|at TIME|never [every TIME [runs N]]\n"
"      [any of|all of|K of|sum N of KEY[*NEED]...]\n"
"      add an operation with a deadline: from now, from the start of the script, or\n"
"      none. With every, it is periodic and expires after N periods. It completes\n"
"      when any, all or K of its keys are satisfied, each after NEED signals (1); or\n"
"      when the sum of the signalled amounts reaches N.\n"
"  watch NAME KEY[*NEED]...\n"
"      watch more keys\n"
"  unwatch NAME KEY\n"
"      stop watching a key\n"
"  signal KEY [value V] [amount A] [completes N]\n"
"      signal a key once, with an amount (1); check that N operations complete\n"
"  complete NAME [value V]\n"
"      complete an operation, regardless of its condition\n"
"  cancel NAME\n"
"      cancel an operation\n"
"  cancel-key KEY [cancels N]\n"
"      cancel all operations that watch a key; check that N operations are cancelled\n"
"  rearm NAME in TIME|at TIME|never [if-earlier|if-later]\n"
"      move its deadline, or only if the new deadline is earlier or later\n"
"  sleep TIME\n"
"      wait\n"
"  expect NAME completed|expired|cancelled [value V] [within TIME]\n"
"      wait up to TIME (30s) until it ends, and check its event\n"
"  expect NAME round [within TIME]\n"
"      wait until its next period ends\n"
"  expect nothing [for TIME]\n"
"      check that there is no event during TIME\n"
"  expect pending N\n"
"      check the number of pending operations\n"
"  expect-error ERROR COMMAND\n"
"      check that a command other than sleep and expect fails with ERROR\n"
"\n"
"  TIME  digits and ns, us, ms, s, m, h or d: 250ms\n"
"  KEY   1 to 16 bytes of text, a number or a UUID; the prefixes text:, num: and\n"
"        uuid: select the type; hash:TEXT takes a text of any length\n"
"  V     0 to 2^63 - 1 (0)\n"
"  ERROR the name of an errno: EINVAL\n"
"\n"
"Events are read and printed while the script waits: in sleep, in expect, for\n"
"the next line of standard input, and at the end.\n"
"\n"
"An invalid or failed line ends the script. A FILE is parsed completely first and is\n"
"not run if a line is invalid; lines of '-', standard input, run as they arrive.\n"
"\n"
"Exit status: 0 success; 1 a call or an expectation failed; 2 invalid arguments or an\n"
"invalid line; 3 device failure.\n";

/**
 * struct script - a script and the options
 * @purgatory: name of the purgatory; NULL for a private one
 * @lines: lines of the script
 * @nr_lines: number of lines parsed
 * @player: runs the commands
 * @check: parse only
 * @echo: print each line before it runs
 */
struct script {
	const char *purgatory;
	struct lines lines;
	unsigned int nr_lines;
	struct player player;
	bool check;
	bool echo;
};

static bool parse_next(struct script *script, const char *line, struct command *command)
{
	return parse_line(script->player.file, ++script->nr_lines, line,
			  &script->player.ops, command);
}

static enum outcome play(struct script *script, const struct command *command)
{
	if (script->echo)
		puts(command->text);
	return play_command(&script->player, command);
}

static enum outcome start(struct script *script)
{
	const char *name = script->purgatory;

	script->player.fd = name ? twheel_open_named(name, O_NONBLOCK) :
				   twheel_open(O_NONBLOCK);
	if (script->player.fd < 0)
		return open_failure(name ? name : TWHEEL_DEVICE);
	script->player.start = now_ns();
	return OUTCOME_OK;
}

/* Stops at the first invalid line. */
static enum outcome parse_all(struct script *script, struct command **commands)
{
	struct command *command;
	char *line;

	while (!script->lines.at_end) {
		if (!fill_lines(&script->lines)) {
			fprintf(stderr, "twheel_play: %s: %s\n", script->player.file,
				strerror(errno));
			return OUTCOME_USAGE;
		}
		while ((line = next_line(&script->lines))) {
			*commands = must_realloc(*commands, script->nr_lines + 1,
						 sizeof(**commands));
			command = *commands + script->nr_lines;
			if (!parse_next(script, line, command))
				return OUTCOME_USAGE;
		}
	}
	return OUTCOME_OK;
}

/* Parses the whole script first. */
static enum outcome play_whole(struct script *script)
{
	struct command *commands = NULL;
	enum outcome outcome = parse_all(script, &commands);

	if (!outcome && !script->check) {
		outcome = start(script);
		for (unsigned int i = 0; !outcome && i < script->nr_lines; i++)
			outcome = play(script, &commands[i]);
		if (!outcome)
			outcome = end_play(&script->player);
	}

	for (unsigned int i = 0; i < script->nr_lines; i++)
		free_command(&commands[i]);
	free(commands);
	return outcome;
}

static enum outcome play_buffered_lines(struct script *script)
{
	enum outcome outcome = OUTCOME_OK;
	struct command command;
	char *line;

	while (!outcome && (line = next_line(&script->lines))) {
		outcome = OUTCOME_USAGE;
		if (parse_next(script, line, &command))
			outcome = play(script, &command);
		free_command(&command);
	}
	return outcome;
}

static enum outcome play_stdin(struct script *script)
{
	struct pollfd fds[] = {
		{ .fd = script->lines.fd, .events = POLLIN },
		{ .events = POLLIN },
	};
	enum outcome outcome = start(script);

	fds[1].fd = script->player.fd;
	while (!outcome && !script->lines.at_end) {
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return device_failure("waiting for a line");
		}
		if (fds[1].revents)
			outcome = take_events(&script->player);
		if (outcome || !fds[0].revents)
			continue;
		if (!fill_lines(&script->lines))
			return device_failure("standard input");
		outcome = play_buffered_lines(script);
	}
	return outcome ? outcome : end_play(&script->player);
}

static enum outcome play_script(struct script *script, const char *file)
{
	enum outcome outcome;

	script->player.file = file;
	script->player.fd = -1;
	if (!strcmp(file, "-"))
		script->player.file = "stdin";
	else
		script->lines.fd = open(file, O_RDONLY | O_CLOEXEC);
	if (script->lines.fd < 0) {
		fprintf(stderr, "twheel_play: %s: %s\n", file, strerror(errno));
		return OUTCOME_USAGE;
	}

	if (script->lines.fd == STDIN_FILENO && !script->check)
		outcome = play_stdin(script);
	else
		outcome = play_whole(script);

	if (script->lines.fd != STDIN_FILENO)
		close(script->lines.fd);
	if (script->player.fd >= 0)
		close(script->player.fd);
	free(script->lines.buffer);
	free_ops(&script->player.ops);
	return outcome;
}

static enum outcome wrong_usage(const char *message)
{
	fprintf(stderr, "twheel_play: %s\nSee 'twheel_play --help'.\n", message);
	return OUTCOME_USAGE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "purgatory", required_argument, NULL, 'p' },
		{ "check", no_argument, NULL, 'c' },
		{ "echo", no_argument, NULL, 'e' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct script script = { .lines.fd = STDIN_FILENO };
	const char *from_environment = getenv("TWHEEL_PURGATORY");
	int code;

	/* Flush each line, also into a pipe. */
	setvbuf(stdout, NULL, _IOLBF, 0);

	if (from_environment && *from_environment)
		script.purgatory = from_environment;
	while ((code = getopt_long(argc, argv, "p:h", options, NULL)) != -1) {
		switch (code) {
		case 'p':
			script.purgatory = optarg;
			break;
		case 'c':
			script.check = true;
			break;
		case 'e':
			script.echo = true;
			break;
		case 'j':
			script.player.json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return OUTCOME_OK;
		default:
			fputs("See 'twheel_play --help'.\n", stderr);
			return OUTCOME_USAGE;
		}
	}
	if (argc - optind != 1)
		return wrong_usage("expected one script");
	if (script.echo && script.player.json)
		return wrong_usage("--echo and --json are mutually exclusive");
	return end_output(play_script(&script, argv[optind]));
}
