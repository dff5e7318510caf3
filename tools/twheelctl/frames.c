// SPDX-License-Identifier: GPL-2.0
/* Live views. */
#include <stdint.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "twheelctl.h"

#define CLEAR		"\033[H\033[2J"

/* Waits until the next frame. Return: true to exit. */
static bool wait_for_end(const struct frames *frames)
{
	struct pollfd input = { .fd = frames->keys ? STDIN_FILENO : -1, .events = POLLIN };
	__u64 until = frames->taken + frames->interval.value;
	char key;

	for (__u64 now = now_ns(); now < until && !interrupted(); now = now_ns()) {
		struct timespec timeout = to_timespec(until - now);

		if (wait_or_interrupt(&input, 1, &timeout) > 0 && input.revents &&
		    (read(STDIN_FILENO, &key, 1) != 1 || key == 'q'))
			return true;
	}
	return interrupted();
}

static enum outcome show_all(struct frames *frames)
{
	__u64 left = frames->count.value ?: UINT64_MAX;
	enum outcome outcome;

	while (left--) {
		if (frames->screen)
			fputs(CLEAR, stdout);
		frames->taken = now_ns();
		outcome = frames->show(frames);
		if (outcome != OUTCOME_OK)
			return outcome;
		if (!flush_output())
			return OUTCOME_DEVICE;
		if (left && wait_for_end(frames))
			break;
	}
	return OUTCOME_OK;
}

/* Keys are read without line buffering and echo; the terminal is restored at the end. */
enum outcome show_frames(struct frames *frames)
{
	struct termios before, raw;
	enum outcome outcome;

	frames->screen = isatty(STDOUT_FILENO) && !frames->line->json;
	/* In the background, changing the terminal would stop this process. */
	frames->keys = frames->screen && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
		       !tcgetattr(STDIN_FILENO, &before);
	if (frames->keys) {
		raw = before;
		raw.c_lflag &= ~(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	catch_interrupts();
	outcome = show_all(frames);
	if (frames->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return outcome;
}
