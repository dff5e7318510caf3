// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl run: plays a script of operations against one purgatory.
 *
 * A file is parsed completely before its first line runs. Standard input may be
 * interactive: each line runs as it arrives, and events are printed while the command
 * waits for the next line.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "options.h"
#include "parse.h"
#include "player.h"
#include "failure.h"
#include "units.h"

static const char run_help[] =
"usage: twheelctl [-p NAME] run [OPTION]... FILE|-\n"
"\n"
"  --check   parse the script without running it\n"
"  --echo    print each line of the script before it runs\n"
"  --json    print events as JSON, one object per line\n"
"\n"
"One command per line; '#' starts a comment. All lines share one purgatory: NAME, or\n"
"a private one.\n"
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
"        uuid: select the type\n"
"  V     0 to 2^63 - 1 (0)\n"
"  ERROR the name of an errno: EINVAL\n"
"\n"
"Events are read and printed while the script waits: in sleep, in expect, for\n"
"the next line of standard input, and at the end.\n"
"\n"
"An invalid or failed line ends the script. A FILE is parsed completely first and is\n"
"not run if a line is invalid; lines of '-', standard input, run as they arrive.\n";

/**
 * struct run - a run of the command
 * @lines: lines of the script
 * @nr_lines: number of lines parsed
 * @player: runs the commands
 * @check: parse only
 * @echo: print each line before it runs
 * @command_line: the command line
 */
struct run {
	struct lines lines;
	unsigned int nr_lines;
	struct player player;
	bool check;
	bool echo;
	struct command_line *command_line;
};

static bool parse_next(struct run *run, const char *line, struct command *command)
{
	return parse_line(run->player.file, ++run->nr_lines, line,
			  &run->player.ops, command);
}

static enum outcome play(struct run *run, const struct command *command)
{
	if (run->echo)
		puts(command->text);
	return play_command(&run->player, command);
}

static enum outcome start(struct run *run)
{
	run->player.fd = open_purgatory(run->command_line);
	run->player.start = now_ns();
	return run->player.fd < 0 ? OUTCOME_DEVICE : OUTCOME_OK;
}

/* Stops at the first invalid line. */
static enum outcome parse_all(struct run *run, struct command **commands)
{
	struct command *command;
	char *line;

	while (!run->lines.at_end) {
		if (!fill_lines(&run->lines)) {
			fprintf(stderr, "twheelctl: %s: %s\n", run->player.file,
				strerror(errno));
			return OUTCOME_USAGE;
		}
		while ((line = next_line(&run->lines))) {
			*commands = must_realloc(*commands, run->nr_lines + 1,
						 sizeof(**commands));
			command = *commands + run->nr_lines;
			if (!parse_next(run, line, command))
				return OUTCOME_USAGE;
		}
	}
	return OUTCOME_OK;
}

static enum outcome run_whole(struct run *run)
{
	struct command *commands = NULL;
	enum outcome outcome = parse_all(run, &commands);

	if (!outcome && !run->check) {
		outcome = start(run);
		for (unsigned int i = 0; !outcome && i < run->nr_lines; i++)
			outcome = play(run, &commands[i]);
		if (!outcome)
			outcome = end_play(&run->player);
	}

	for (unsigned int i = 0; i < run->nr_lines; i++)
		free_command(&commands[i]);
	free(commands);
	return outcome;
}

static enum outcome run_buffered_lines(struct run *run)
{
	enum outcome outcome = OUTCOME_OK;
	struct command command;
	char *line;

	while (!outcome && (line = next_line(&run->lines))) {
		outcome = OUTCOME_USAGE;
		if (parse_next(run, line, &command))
			outcome = play(run, &command);
		free_command(&command);
	}
	return outcome;
}

static enum outcome run_stdin(struct run *run)
{
	struct pollfd fds[] = {
		{ .fd = run->lines.fd, .events = POLLIN },
		{ .events = POLLIN },
	};
	enum outcome outcome = start(run);

	fds[1].fd = run->player.fd;
	while (!outcome && !run->lines.at_end) {
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return device_failure("waiting for a line");
		}
		if (fds[1].revents)
			outcome = take_events(&run->player);
		if (outcome || !fds[0].revents)
			continue;
		if (!fill_lines(&run->lines))
			return device_failure("standard input");
		outcome = run_buffered_lines(run);
	}
	return outcome ? outcome : end_play(&run->player);
}

static enum outcome run_script(struct run *run, const char *file)
{
	enum outcome outcome;

	run->player.file = file;
	run->player.fd = -1;
	if (!strcmp(file, "-"))
		run->player.file = "stdin";
	else
		run->lines.fd = open(file, O_RDONLY | O_CLOEXEC);
	if (run->lines.fd < 0) {
		fprintf(stderr, "twheelctl: %s: %s\n", file, strerror(errno));
		return OUTCOME_USAGE;
	}

	if (run->lines.fd == STDIN_FILENO && !run->check)
		outcome = run_stdin(run);
	else
		outcome = run_whole(run);

	if (run->lines.fd != STDIN_FILENO)
		close(run->lines.fd);
	if (run->player.fd >= 0)
		close(run->player.fd);
	free(run->lines.buffer);
	free_ops(&run->player.ops);
	return outcome;
}

enum outcome run_command(struct command_line *line)
{
	struct run run = { .lines.fd = STDIN_FILENO, .command_line = line };
	const struct option_spec specs[] = {
		{ "check", NULL, &run.check, NULL },
		{ "echo", NULL, &run.echo, NULL },
		{ }
	};

	line->help = run_help;
	if (!take_arguments(line, specs, 1, 1))
		return line->outcome;
	if (run.echo && line->json)
		return wrong_usage(line, "--echo and --json are mutually exclusive");
	run.player.json = line->json;
	return run_script(&run, line->args[0]);
}
