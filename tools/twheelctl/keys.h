/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys as people write them: TEXT, NUMBER or UUID, with text:, num: or uuid: in
 * front where it could be taken for another, and a need behind it.
 */
#ifndef TWHEELCTL_KEYS_H
#define TWHEELCTL_KEYS_H

#include <stdbool.h>

#include <twheel.h>

#define KEY_EXPECTED	"a KEY: text of 1 to 16 bytes without '*', a number, or a UUID"
#define NEED_EXPECTED	"a whole number after '*'"

/**
 * struct watch_list - keys to watch
 * @specs: the keys, each with its need
 * @nr: number of keys
 */
struct watch_list {
	struct twheel_watch_spec *specs;
	unsigned int nr;
};

/* Return: false if @text is no key. */
bool parse_key(const char *text, struct twheel_key *key);

/**
 * parse_watch_spec() - read a key with what it needs, KEY[*NEED]
 * @text: what is written
 * @spec: set to it; without a NEED, 1
 *
 * Return: NULL; or what was expected instead.
 */
const char *parse_watch_spec(const char *text, struct twheel_watch_spec *spec);

void add_watch(struct watch_list *list, const struct twheel_watch_spec *spec);

/* A key that an option took. */
struct key_option {
	bool given;
	struct twheel_key key;
};

/* For option_spec.take: @to is a struct watch_list; a struct key_option. */
bool take_watch(const char *text, void *to);
bool take_key(const char *text, void *to);

#endif /* TWHEELCTL_KEYS_H */
