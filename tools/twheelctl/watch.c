// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl watch: prints the events of the detached operations of a purgatory.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "twheelctl.h"

static const char watch_help[] =
"usage: twheelctl -p NAME watch [OPTION]...\n"
"\n"
"Prints the events of detached operations as they arrive, until interrupted by ^C.\n"
"Each event is delivered to one reader: several readers share the events. An event is\n"
"taken when it can be printed; it is printed on standard error after a write error.\n"
"\n"
"  --count N   exit after N events; 0, the default, means no limit; the exit status is 1\n"
"              if --for elapses first\n"
"  --for TIME  exit after TIME\n"
"  --queue N   the queue of the events (0)\n"
"  --json      print JSON, one object per line\n";

/**
 * struct follow - the events to print
 * @line: the command line
 * @fd: queue of the events
 * @count: remaining number of events; UINT64_MAX at the start means no limit
 * @until: end time, in ns
 */
struct follow {
	struct command_line *line;
	int fd;
	__u64 count;
	__u64 until;
};

/*
 * Waits for a file, and for the reader of the output to exit.
 * Return: 1 if the file is ready, 0 at the end time or after an interrupt, -1 on failure,
 * with the outcome set.
 */
static int wait_for(const struct follow *f, int fd, int events)
{
	struct pollfd fds[] = {
		{ .fd = fd, .events = events },
		{ .fd = STDOUT_FILENO },
	};
	struct timespec timeout;
	int nr;

	do {
		__u64 now = now_ns();

		timeout = to_timespec(f->until > now ? f->until - now : 0);
		nr = wait_or_interrupt(fds, 2, f->until == UINT64_MAX ? NULL : &timeout);
	} while (nr < 0 && errno == EINTR);
	if (nr < 0) {
		f->line->outcome = device_failure("waiting for events");
		return -1;
	}
	if (!fds[1].revents)
		return fds[0].revents != 0;
	f->line->outcome = OUTCOME_DEVICE;
	return -1;
}

/* Takes and prints an event, or waits for one. Return: as wait_for(). */
static int take_event(struct follow *f)
{
	struct twheel_event event;
	ssize_t nr = twheel_read_events(f->fd, &event, 1);

	if (nr > 0) {
		f->count--;
		if (show_event(&event, NULL, f->line->json))
			return 1;
		f->line->outcome = OUTCOME_DEVICE;
		return -1;
	}
	if (!nr) {
		fprintf(stderr, "twheelctl: %s: " REMOVED_TEXT "\n", f->line->purgatory);
		f->line->outcome = OUTCOME_FAILED;
		return -1;
	}
	if (errno != EAGAIN && errno != EINTR) {
		f->line->outcome = device_failure("reading events");
		return -1;
	}
	return wait_for(f, f->fd, POLLIN);
}

/* Opens a queue of detached events. The file of the purgatory is closed again. */
static int open_events(struct command_line *line, __u32 queue)
{
	int fd = open_named(line, O_RDWR), events;

	if (fd < 0)
		return -1;
	events = twheel_events(fd, queue, O_NONBLOCK);
	if (events < 0)
		line->outcome = refused(line, line->purgatory);
	close(fd);
	return events;
}

enum outcome watch_command(struct command_line *line)
{
	struct number count = { }, time = { }, queue = { };
	const struct option_spec specs[] = {
		{ "count", take_number, &count, NUMBER_EXPECTED },
		{ "for", take_time, &time, TIME_EXPECTED },
		{ "queue", take_queue, &queue, QUEUE_EXPECTED },
		{ }
	};
	struct follow f = { .line = line, .until = UINT64_MAX };
	int ready = 1;

	if (!take_arguments(line, watch_help, specs, 0, 0))
		return line->outcome;
	f.count = count.value ?: UINT64_MAX;
	if (time.given)
		f.until = now_ns() + time.value;

	f.fd = open_events(line, queue.value);
	if (f.fd < 0)
		return line->outcome;
	catch_interrupts();
	/*
	 * One event at a time is taken, and only if the output takes a line without blocking: the
	 * others stay in the queue for another reader.
	 */
	while (f.count && ready > 0 && !interrupted() && now_ns() < f.until) {
		ready = wait_for(&f, STDOUT_FILENO, POLLOUT);
		if (ready > 0)
			ready = take_event(&f);
	}
	if (ready >= 0 && count.value && f.count)
		line->outcome = OUTCOME_FAILED;
	close(f.fd);
	return line->outcome;
}
