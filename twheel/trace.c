// SPDX-License-Identifier: GPL-2.0
/* Tracepoints, see include/trace/events/twheel.h, and functions for them and for debugfs. */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "core/shard.h"

/**
 * struct place - where a timer is
 * @tick: tick of its deadline
 * @level: level of its bucket; -1 if it is due or never expires
 * @slot: slot of its bucket, on this level
 */
struct place {
	u64	tick;
	int	level;
	int	slot;
};

/* Sets all but the tick. */
static void place_of_bucket(struct place *place, const struct twheel_wheel *wheel,
			    const struct twheel_bucket *bucket)
{
	place->level = bucket->level;
	place->slot = bucket - wheel->level[bucket->level];
}

/* The place of a timer just after it was put there, which this does not change. */
static void place_of(struct place *place, struct twheel_wheel *wheel, u64 expires)
{
	const struct twheel_bucket *bucket = NULL;

	*place = (struct place){ .tick = TWHEEL_TICK_NEVER, .level = -1, .slot = -1 };
	if (expires > KTIME_MAX)
		return;
	place->tick = twheel_wheel_tick(wheel, expires);
	if (wheel->nr_levels)
		bucket = twheel_wheel_find(wheel, place->tick).bucket;
	if (bucket)
		place_of_bucket(place, wheel, bucket);
}

/* Not used without CONFIG_TRACEPOINTS, nor are the two above. */
static void __maybe_unused place_of_timer(struct place *place, struct twheel_shard *shard,
					  const struct twheel_timer *timer)
{
	if (twheel_shard_is_wall(shard))
		*place = (struct place){ .tick = TWHEEL_TICK_NEVER, .level = -1, .slot = -1 };
	else
		place_of(place, &shard->queue.wheel, timer->node.expires);
}

/* The events use these functions. */
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
 * Write the name of a key: a text, a number or a UUID, or else its two words. There are no control
 * characters in it.
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
