// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl watch: prints the events of the detached operations of a purgatory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "interrupt.h"
#include "options.h"
#include "show.h"
#include "failure.h"
#include "units.h"

static const char watch_help[] =
"usage: twheelctl -p NAME watch [OPTION]...\n"
"\n"
"Prints the events of detached operations as they arrive, until interrupted by ^C.\n"
"Each event is delivered to one reader: several readers share the events.\n"
"\n"
"  --count N   exit after N events; the exit status is 1 if --for elapses first\n"
"  --for TIME  exit after TIME\n"
"  --json      print JSON, one object per line\n";

/**
 * struct follow - end of the output
 * @count: remaining number of events
 * @until: end time, in ns
 * @counted: --count was given; fewer events are a failure
 */
struct follow {
	__u64 count;
	__u64 until;
	bool counted;
};

static enum outcome wait_for_events(int fd, __u64 until)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	__u64 now = now_ns();
	struct timespec timeout = to_timespec(until > now ? until - now : 0);

	if (wait_or_interrupt(&poll_fd, 1, until == UINT64_MAX ? NULL : &timeout) < 0 &&
	    errno != EINTR)
		return device_failure("waiting for events");
	return OUTCOME_OK;
}

/* Reads one event at a time: events beyond --count stay in the queue. */
static enum outcome follow(const struct command_line *line, int fd, struct follow *f)
{
	struct twheel_event event;
	enum outcome outcome;
	ssize_t nr;

	while (f->count && !interrupted()) {
		nr = twheel_read_events(fd, &event, 1);
		if (nr > 0) {
			show_event(&event, line->json);
			f->count--;
			continue;
		}
		if (!nr) {
			fprintf(stderr, "twheelctl: the purgatory '%s' has been removed\n",
				line->purgatory);
			return OUTCOME_DEVICE;
		}
		if (errno != EAGAIN && errno != EINTR)
			return device_failure("reading events");
		if (now_ns() >= f->until)
			break;
		outcome = wait_for_events(fd, f->until);
		if (outcome)
			return outcome;
	}
	return f->counted && f->count ? OUTCOME_FAILED : OUTCOME_OK;
}

/* Opens the queue of detached events. The file of the purgatory is closed again. */
static int open_events(struct command_line *line)
{
	int fd = open_named(line, OPEN_READ_ONLY), events;

	if (fd < 0)
		return -1;
	events = twheel_events(fd, O_NONBLOCK);
	if (events < 0)
		line->outcome = refused(line, line->purgatory);
	close(fd);
	return events;
}

enum outcome watch_command(struct command_line *line)
{
	struct number count = { .value = UINT64_MAX }, time = { };
	const struct option_spec specs[] = {
		{ "count", take_number, &count, NUMBER_EXPECTED },
		{ "for", take_time, &time, TIME_EXPECTED },
		{ }
	};
	struct follow f = { .until = UINT64_MAX };
	int fd;

	line->help = watch_help;
	if (!take_arguments(line, specs, 0, 0))
		return line->outcome;
	f.count = count.value;
	f.counted = count.given;
	if (time.given)
		f.until = now_ns() + time.value;

	fd = open_events(line);
	if (fd < 0)
		return line->outcome;
	catch_interrupts();
	line->outcome = follow(line, fd, &f);
	close(fd);
	return line->outcome;
}
