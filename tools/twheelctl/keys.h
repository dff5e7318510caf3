/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys on the command line and in scripts: TEXT, NUMBER or UUID. The prefixes text:,
 * num: and uuid: resolve ambiguities; hash:TEXT takes a text of any length. A key to
 * watch may have a suffix *NEED.
 */
#ifndef TWHEELCTL_KEYS_H
#define TWHEELCTL_KEYS_H

#include <stdbool.h>

#include <twheel.h>

#define KEY_EXPECTED \
	"a KEY: text of 1 to 16 bytes without '*', hash:TEXT for longer text, a number, or a UUID"
#define NEED_EXPECTED	"a whole number from 1 to 67108863 after '*'"

/**
 * struct watch_list - keys to watch
 * @specs: the keys, each with its need
 * @nr: number of keys
 */
struct watch_list {
	struct twheel_watch_spec *specs;
	unsigned int nr;
};

/* Return: false if @text is not a key. */
bool parse_key(const char *text, struct twheel_key *key);

/*
 * Parses a key and its need, KEY[*NEED], which is 1 by default.
 * Return: NULL; or a description of the expected text if @text is invalid.
 */
const char *parse_watch_spec(const char *text, struct twheel_watch_spec *spec);

void add_watch(struct watch_list *list, const struct twheel_watch_spec *spec);

#endif /* TWHEELCTL_KEYS_H */
