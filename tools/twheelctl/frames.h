/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Live views: frames that replace each other on a terminal, where 'q' exits. Otherwise they are
 * printed one after another.
 */
#ifndef TWHEELCTL_FRAMES_H
#define TWHEELCTL_FRAMES_H

#include <stdbool.h>

#include "options.h"
#include "twheelctl.h"

/**
 * struct frames - a live view
 * @interval: time between frames, in ns
 * @count: number of frames; 0 for no limit
 * @show: prints a frame and returns OUTCOME_OK, or reports an error. On a terminal the screen has
 *	been cleared.
 * @context: passed to @show
 * @screen: standard output is a terminal; set by show_frames()
 * @keys: standard input is a terminal and is read for 'q'; set by show_frames()
 * @taken: time of the frame, in ns; set by show_frames()
 */
struct frames {
	struct number interval;
	struct number count;
	enum outcome (*show)(void *context);
	void *context;
	bool screen;
	bool keys;
	__u64 taken;
};

/*
 * Shows frames until the count is reached, on 'q', on ^C, or until @show fails; as text, or as
 * JSON for @line->json.
 * Return: the outcome of the command.
 */
enum outcome show_frames(const struct command_line *line, struct frames *frames);

#endif /* TWHEELCTL_FRAMES_H */
