// SPDX-License-Identifier: GPL-2.0
/*
 * Keys on the command line and in scripts. See keys.h.
 */
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "outcome.h"
#include "units.h"

bool parse_key(const char *text, struct twheel_key *key)
{
	return !strchr(text, '*') && !twheel_key_parse(text, key);
}

const char *parse_watch_spec(const char *text, struct twheel_watch_spec *spec)
{
	const char *star = strchr(text, '*');
	size_t size = strlen(text) + 1;
	char *key = must_realloc(NULL, size, 1);
	__u64 need = 1;
	bool ok;

	memcpy(key, text, size);
	*spec = (struct twheel_watch_spec){ };
	if (star)
		key[star - text] = 0;
	ok = parse_key(key, &spec->key);
	free(key);

	if (star && (!parse_count(star + 1, TWHEEL_MAX_NEED, &need) || !need))
		return NEED_EXPECTED;
	spec->need = need;
	return ok ? NULL : KEY_EXPECTED;
}

void add_watch(struct watch_list *list, const struct twheel_watch_spec *spec)
{
	list->specs = must_realloc(list->specs, list->nr + 1, sizeof(*spec));
	list->specs[list->nr++] = *spec;
}
