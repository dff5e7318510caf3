// SPDX-License-Identifier: GPL-2.0
/* Tracepoints, see include/trace/events/twheel.h, and the names of keys there and in debugfs. */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include <trace/events/twheel.h>

static bool is_text(const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	/* Zeroes follow a text. */
	for (; i < sizeof(struct twheel_key); i++)
		if (bytes[i])
			return false;
	return len;
}

/* A text that looks like another kind of key. */
static bool needs_prefix(const char *text, size_t len)
{
	return strchr(text, ':') || strspn(text, "0123456789") == len;
}

/* The variant and the version of RFC 9562. */
static bool is_uuid(const u8 *bytes)
{
	return bytes[8] & 0x80 && bytes[6] & 0xf0;
}

/*
 * Write the name of a key: a text, a number or a UUID, as twheelctl takes it, or else its two
 * words. There are no control characters in it.
 */
void twheel_key_name(char *name, const struct twheel_key *key)
{
	char text[sizeof(*key) + 1];
	size_t len;

	memcpy(text, key, sizeof(*key));
	text[sizeof(*key)] = '\0';
	len = strlen(text);
	if (is_text(text, len))
		scnprintf(name, TWHEEL_KEY_NAME, "%s%s", needs_prefix(text, len) ? "text:" : "",
			  text);
	else if (!key->v[0])
		scnprintf(name, TWHEEL_KEY_NAME, "%llu", key->v[1]);
	else if (is_uuid((const u8 *)text))
		scnprintf(name, TWHEEL_KEY_NAME, "%pUb", text);
	else
		scnprintf(name, TWHEEL_KEY_NAME, "%llx:%llx", key->v[0], key->v[1]);
}
