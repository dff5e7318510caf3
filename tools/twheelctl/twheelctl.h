/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations of twheelctl. main.c dispatches to the commands, which have files of their names;
 * act.c has signal, complete, cancel and rearm, and create.c has remove. The other files help them.
 */
#ifndef TWHEELCTL_H
#define TWHEELCTL_H

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <twheel.h>

#include "units.h"

/* The help documents the exit status. */
enum outcome {
	OUTCOME_OK		= 0,
	OUTCOME_FAILED		= 1,	/* refused */
	OUTCOME_USAGE		= 2,	/* invalid arguments */
	OUTCOME_DEVICE		= 3,	/* device or write failure, or out of memory */
	OUTCOME_EXPIRED		= 4,	/* the operation expired */
	OUTCOME_CANCELLED	= 5,	/* the operation was cancelled */
};

/**
 * struct command_line - arguments of a command
 * @command: name of the command
 * @argc: number of entries in @argv
 * @argv: arguments, as for main()
 * @purgatory: name of the purgatory, or NULL
 * @environment: default of @purgatory, or NULL; checked by take_arguments() if it is used
 * @json: print JSON, one object per line
 * @nr: number of non-option arguments; set by take_arguments()
 * @args: the non-option arguments; set by take_arguments()
 * @outcome: exit status if take_arguments() returns false
 */
struct command_line {
	const char *command;
	int argc;
	char **argv;
	const char *purgatory;
	const char *environment;
	bool json;
	int nr;
	char **args;
	enum outcome outcome;
};

enum outcome add_command(struct command_line *line);
enum outcome apply_command(struct command_line *line);
enum outcome cancel_command(struct command_line *line);
enum outcome complete_command(struct command_line *line);
enum outcome create_command(struct command_line *line);
enum outcome drain_command(struct command_line *line);
enum outcome holders_command(struct command_line *line);
enum outcome info_command(struct command_line *line);
enum outcome list_command(struct command_line *line);
enum outcome metrics_command(struct command_line *line);
enum outcome rearm_command(struct command_line *line);
enum outcome remove_command(struct command_line *line);
enum outcome restore_command(struct command_line *line);
enum outcome save_command(struct command_line *line);
enum outcome signal_command(struct command_line *line);
enum outcome top_command(struct command_line *line);
enum outcome watch_command(struct command_line *line);
enum outcome wheel_command(struct command_line *line);

/* output.c: failures, and write errors of standard output. */

/* Prints @message and the text of errno. Return: OUTCOME_DEVICE. */
enum outcome device_failure(const char *message);

/* Exits on allocation failure. */
void *must_realloc(void *memory, unsigned long nr, unsigned long size);

/*
 * Opens standard input, output and error if they are closed. Otherwise the next open file
 * would get their number, and the output.
 */
void open_standard_files(void);

/* Return: false if any write to standard output would fail, which has been reported. */
bool output_writable(void);

/* Writes the buffered output. Return: false after an error, which has been reported. */
bool flush_output(void);

/* interrupt.c: orderly exit on SIGINT and SIGTERM, for programs that run until interrupted. */

/*
 * Blocks SIGINT and SIGTERM, also in threads that are created afterwards: once one is pending,
 * wait_or_interrupt() does not block.
 */
void catch_interrupts(void);

/* Return: true if SIGINT or SIGTERM is pending. */
bool interrupted(void);

/* ppoll() for up to two descriptors, which also returns if a signal is pending. */
int wait_or_interrupt(struct pollfd *fds, nfds_t nr, const struct timespec *timeout);

/*
 * options.c: options of the commands, by a table of names and parsers. Every command also accepts
 * --purgatory (-p), --json and --help (-h).
 */

/* Maximum number of options of a command, not counting the common options. */
#define MAX_OPTIONS	28

/* A numeric argument; @given is false if the option is absent. */
struct number {
	bool given;
	__u64 value;
};

/**
 * struct option_spec - an option of a command
 * @name: name without the dashes; NULL terminates the table
 * @take: parses the argument and returns false if it is invalid; NULL for an option
 *	without an argument
 * @to: passed to @take; without @take, a bool that is set to true
 * @expected: description of the argument, for error messages
 */
struct option_spec {
	const char *name;
	bool (*take)(const char *text, void *to);
	void *to;
	const char *expected;
};

/* For option_spec.take: @to is a struct number. */
bool take_number(const char *text, void *to);
bool take_number32(const char *text, void *to);
bool take_queue(const char *text, void *to);
bool take_time(const char *text, void *to);

#define NUMBER_EXPECTED		"a whole number"
#define NUMBER32_EXPECTED	"a whole number up to 4294967295"
#define QUEUE_EXPECTED		"a whole number up to 1023"

/*
 * Parses a key: text, a number or a UUID. The prefixes text:, num: and uuid: resolve ambiguities;
 * hash:TEXT takes a text of any length. Return: false if @text is not a key.
 */
bool parse_key(const char *text, struct twheel_key *key);

#define KEY_EXPECTED \
	"a KEY: text of 1 to 16 bytes without '*', hash:TEXT for longer text, a number, or a UUID"

/*
 * Parses the options of a command, NULL for none, and its @min to @max other arguments.
 * Return: false if the command must return line->outcome, because @help or an error was printed.
 */
bool take_arguments(struct command_line *line, const char *help, const struct option_spec *specs,
		    int min, int max);

/*
 * Sets line->purgatory.
 * Return: false if the name is invalid or another one was given, which has been reported.
 */
bool take_purgatory(struct command_line *line, const char *name);

/*
 * Names the command that prints the help of @command, or of twheelctl for NULL.
 * Return: OUTCOME_USAGE.
 */
enum outcome try_help(const char *command);

/*
 * Reports invalid arguments; the format is that of printf().
 * Return: OUTCOME_USAGE.
 */
enum outcome wrong_usage(const struct command_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * when.c: deadlines relative to now, at a point in time, or never: the options --in, --at and
 * --never.
 */

/**
 * struct point - a point in time
 * @given: false if the option is absent
 * @wall: a time of CLOCK_REALTIME; otherwise of the operation's clock
 * @ns: reading of the clock, in ns
 */
struct point {
	bool given;
	bool wall;
	__u64 ns;
};

/* The parsed options --in, --at and --never. */
struct when_options {
	struct number in;
	struct point at;
	bool never;
};

/*
 * For option_spec.take: @to is a struct point. @text is @SECONDS since 1970, a date as in
 * [@]2026-12-01T03:00[:05][Z|+01:00], in the local time zone by default, or a reading of the
 * operation's clock such as 500s.
 */
bool take_point(const char *text, void *to);

#define POINT_EXPECTED	"a time such as @2026-12-01T03:00, optionally with Z or +01:00, or @SECONDS"

/* Return: the number of options that were given. */
int nr_when(const struct when_options *when);

/* Return: the deadline for the device: absolute with --at, relative with --in. */
__u64 when_deadline(const struct when_options *when);

/*
 * show.c: events and numbers, as text or as JSON with one object per line. Many JSON readers
 * represent integers exactly only up to 2^53. A field that may exceed it is always a string of
 * digits, and has one type: IDs, cookies, values, amounts, and the times of twheelctl in ns.
 * Counts are numbers.
 */

/**
 * struct watch_list - keys to watch
 * @specs: the keys, each with its need
 * @nr: number of keys
 */
struct watch_list {
	struct twheel_watch_spec *specs;
	unsigned int nr;
};

/* Prints a JSON object on a line and drops the reference to it. */
void print_json(json_t *object);

/*
 * Prints a change that the command has made: with --json the object, whose reference it drops,
 * otherwise text without the end of the line. After a write error it goes to standard error: the
 * command must not be repeated. Return: false after an error, which has been reported.
 */
bool show_change(const struct command_line *line, json_t *object, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* show_change() of a command that always prints JSON. */
bool show_json(json_t *object);

/* Replaces the bytes that are not printable ASCII by '?'. */
void make_printable(char *text);

/* Return: a string of digits. */
json_t *json_digits(__u64 number);

/* Return: a deadline or a remaining time in ns, as a string of digits; null for never. */
json_t *json_deadline(__u64 deadline);

/* For option_spec.take: the number of the error that events show as @text, to an int. */
bool take_error(const char *text, void *to);

/* For option_spec.take: the name of a clock, to a struct number. */
bool take_clock(const char *text, void *to);

/* Return: the name of a clock or a condition; "unknown" for one of a later module. */
const char *clock_name(__u32 clock);
const char *condition_name(__u32 condition);

/*
 * @keys: the keys of the operation, in the order of its add; NULL if they are unknown, or if the
 *	condition does not count them, then the event is shown with the bits only
 * Return: an event as a JSON object.
 */
json_t *json_event(const struct twheel_event *event, const struct watch_list *keys);

/*
 * Writes an event with the ID of its operation to standard output, or after an error to
 * standard error: it cannot be read from the device again. @keys: as for json_event().
 * Return: false after an error, which has been reported.
 */
bool show_event(const struct twheel_event *event, const struct watch_list *keys, bool json);

/* Return: the exit status for the last event of an operation. */
enum outcome event_outcome(const struct twheel_event *event);

/* pending.c: pending operations and the counts of a purgatory, as text and JSON. */

/* Return: an operation with the keys in @pending as a JSON object. */
json_t *json_pending(const struct twheel_pending *pending);

/* json_pending() with all keys and their needs, as of twheel_info(). */
json_t *json_info(const struct twheel_pending *pending, const struct twheel_watch_spec *keys);

/* Print the header and a line of the table of operations. */
void print_pending_head(void);
void print_pending(const struct twheel_pending *pending);

/* twheel_query() that does not count the file @fd, which the command has opened for it. */
int query_others(int fd, struct twheel_query_args *query);

/*
 * Reads the counts of all queues of a purgatory. @queues is freed by the caller.
 * Return: number of queues; or -1, with errno set.
 */
long read_queues(int fd, struct twheel_queue_args **queues);

/* Return: the counts of a queue as a JSON object. */
json_t *json_queue(const struct twheel_queue_args *queue);

/* Return: the name and the limits of a purgatory as a JSON object with type @type. */
json_t *json_limits(const char *type, const struct twheel_query_args *query);

/* json_limits() with the counts. */
json_t *json_query(const char *type, const struct twheel_query_args *query);

/*
 * Calls @each for the pending operations of a purgatory, up to a number.
 * Return: number of operations; or -1, with errno set.
 */
long list_pending(int fd, long max,
		  void (*each)(const struct twheel_pending *pending, void *context),
		  void *context);

/**
 * struct listing - a list of operations that is printed
 * @json: as JSON
 * @begun: the table header has been printed, before the first operation
 */
struct listing {
	bool json;
	bool begun;
};

/* For list_pending(): prints an operation. @listing is a struct listing. */
void show_pending(const struct twheel_pending *pending, void *listing);

/* names.c: the named purgatories and their limits from sysfs, and their counts from their nodes. */

#define PURGATORY_CLASS	"/sys/class/twheel"

/**
 * struct named - a named purgatory
 * @state: its name and its limits; with query_named() also its counts
 * @error: reason why its counts are unknown, or 0
 * @queues: counts of its queues; with query_named()
 * @nr_queues: number of these
 */
struct named {
	struct twheel_query_args state;
	int error;
	struct twheel_queue_args *queues;
	size_t nr_queues;
};

/*
 * Lists the named purgatories of a device class, PURGATORY_CLASS except in tests, by name. @list is
 * freed by the caller.
 * Return: number of purgatories.
 */
size_t read_named(const char *class, struct named **list);

/*
 * Reads the counts of purgatories from their nodes, with a message of @command if some cannot be
 * opened. Those that have been removed are dropped. Return: number of the other ones.
 */
size_t query_named(const char *command, struct named *list, size_t nr);

/* Frees a list, also after query_named(). */
void free_named(struct named *list, size_t nr);

/* Return: whether the name exists. */
bool named_exists(const char *name);

/* failure.c: opening of purgatories, and error messages about the device with advice. */

/* Text for the end of a purgatory that a command has open. */
#define REMOVED_TEXT	"the purgatory has been removed"

/* Return: true if the module is loaded; otherwise prints advice. */
bool device_present(void);

/*
 * Opens a purgatory; for NULL, a private one. @mode is as for open().
 * Return: a non-blocking descriptor; on failure -1, with errno set.
 */
int open_node(const char *purgatory, int mode);

/* open_node() for the purgatory of a command. It prints a failure and sets line->outcome. */
int open_purgatory(struct command_line *line, int mode);

/* open_purgatory() for commands that require a named purgatory. */
int open_named(struct command_line *line, int mode);

/*
 * Reports a call that failed with errno, with advice.
 * Return: OUTCOME_FAILED for an expected error, for example if the operation has ended;
 *	OUTCOME_USAGE for arguments that the device rejects; otherwise OUTCOME_DEVICE.
 */
enum outcome refused(const struct command_line *line, const char *message);

/*
 * Reports that the purgatory does not exist, with the existing ones.
 * Return: OUTCOME_FAILED.
 */
enum outcome no_purgatory(const char *purgatory);

/* refused() for twheel_create_with() and twheel_remove(). */
enum outcome control_refused(const struct command_line *line);

/* create.c: creation of named purgatories, by arguments. */

/* Parses the arguments of 'twheelctl create'. Return: as take_arguments(). */
bool take_create(struct command_line *line, const char *help, struct twheel_create_args *args);

/*
 * Creates a named purgatory, unless @may_exist and it does, and reports it.
 * Return: the outcome of the command.
 */
enum outcome create_purgatory(struct command_line *line, struct twheel_create_args *args,
			      bool may_exist);

/* save.c: the boot to which the deadlines of 'twheelctl save' belong. */

/* Size of the text of a boot ID, including the terminating NUL. */
#define BOOT_ID_SIZE	37

/* Sets @id to the ID of this boot, or to an empty text. */
void read_boot_id(char id[BOOT_ID_SIZE]);

/*
 * frames.c: live views, frames that replace each other on a terminal, where 'q' exits. Otherwise
 * they are printed one after another.
 */

/**
 * struct frames - a live view
 * @line: the command line
 * @interval: time between frames, in ns
 * @count: number of frames; 0 for no limit
 * @show: prints a frame and returns OUTCOME_OK, or reports an error. On a terminal the screen has
 *	been cleared.
 * @screen: standard output is a terminal; set by show_frames()
 * @keys: standard input is a terminal and is read for 'q'; set by show_frames()
 * @taken: time of the frame, in ns; set by show_frames()
 */
struct frames {
	const struct command_line *line;
	struct number interval;
	struct number count;
	enum outcome (*show)(struct frames *frames);
	bool screen;
	bool keys;
	__u64 taken;
};

/*
 * Shows frames until the count is reached, on 'q', on ^C, or until @show fails.
 * Return: the outcome of the command.
 */
enum outcome show_frames(struct frames *frames);

#endif /* TWHEELCTL_H */
