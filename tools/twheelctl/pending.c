// SPDX-License-Identifier: GPL-2.0
/*
 * Output of pending operations as text and JSON.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "twheelctl.h"

#define LIST_BATCH	256

/* Number of keys in @pending->keys; @pending->nr_keys may be larger. */
static unsigned int nr_shown(const struct twheel_pending *pending)
{
	return pending->nr_keys < TWHEEL_PENDING_KEYS ? pending->nr_keys :
							 TWHEEL_PENDING_KEYS;
}

json_t *json_pending(const struct twheel_pending *pending)
{
	char text[TWHEEL_KEY_FORMAT_SIZE];
	json_t *object, *keys = json_array();

	object = json_pack("{s:s,s:o,s:b,s:b,s:o,s:s,s:o,s:s,s:o,s:o,s:o,s:o,s:b,s:b,s:o,s:b}",
			   "type", "operation",
			   "id", json_digits(pending->id),
			   "own", pending->flags & TWHEEL_PENDING_OWN,
			   "detached", pending->flags & TWHEEL_PENDING_DETACHED,
			   "cookie", json_digits(pending->cookie),
			   "condition", condition_name(pending->condition),
			   "missing", json_digits(pending->missing),
			   "clock", clock_name(pending->clock),
			   "deadline", json_deadline(pending->deadline),
			   "remaining", json_deadline(pending->remaining),
			   "period", json_digits(pending->period),
			   "runs", json_digits(pending->runs),
			   "cancel_on_set", pending->flags & TWHEEL_PENDING_CANCEL_ON_SET,
			   "fixed_delay", pending->flags & TWHEEL_PENDING_FIXED_DELAY,
			   "cell", pending->flags & TWHEEL_PENDING_CELL ?
				   json_integer(pending->cell) : json_null(),
			   "idle", pending->flags & TWHEEL_PENDING_IDLE);
	json_object_set_new(object, "queue", json_integer(pending->queue));
	json_object_set_new(object, "nr_keys", json_integer(pending->nr_keys));
	for (unsigned int i = 0; i < nr_shown(pending); i++)
		json_array_append_new(keys, json_string(twheel_key_format(pending->keys[i],
									  text)));
	json_object_set_new(object, "keys", keys);
	return object;
}

json_t *json_info(const struct twheel_pending *p, const struct twheel_watch_spec *keys)
{
	json_t *texts = json_array(), *needs = json_array(), *bits = json_array();
	json_t *object = json_pending(p);
	char text[TWHEEL_KEY_FORMAT_SIZE];

	for (__u32 i = 0; i < p->nr_keys && i < TWHEEL_MAX_KEYS; i++) {
		json_array_append_new(texts, json_string(twheel_key_format(keys[i].key, text)));
		json_array_append_new(needs, json_integer(keys[i].need));
		json_array_append_new(bits, json_integer(keys[i].bit));
	}
	json_object_set_new(object, "keys", texts);
	json_object_set_new(object, "needs", needs);
	json_object_set_new(object, "bits", bits);
	return object;
}

void print_pending_head(void)
{
	printf("%-12s  %-14s  %-9s  %7s  %s\n", "ID", "EXPIRES IN", "CONDITION", "MISSING",
	       "KEYS");
}

void print_pending(const struct twheel_pending *pending)
{
	char remaining[TIME_TEXT_SIZE] = "never", key[TWHEEL_KEY_FORMAT_SIZE];
	bool idle = pending->flags & TWHEEL_PENDING_IDLE;

	if (pending->remaining <= INT64_MAX)
		format_time(remaining, pending->remaining);
	printf("%-12llu  %-14s  %-9s  ", pending->id, idle ? "idle" : remaining,
	       condition_name(pending->condition));
	if (pending->condition == TWHEEL_COND_NONE)
		printf("%7s  -", "-");
	else
		printf("%7llu ", pending->missing);
	for (unsigned int i = 0; i < nr_shown(pending); i++)
		printf(" %s", twheel_key_format(pending->keys[i], key));
	if (pending->nr_keys > nr_shown(pending))
		printf(" and %u more", pending->nr_keys - nr_shown(pending));
	putchar('\n');
}

void show_pending(const struct twheel_pending *pending, void *context)
{
	struct listing *listing = context;

	if (listing->json) {
		print_json(json_pending(pending));
		return;
	}
	if (!listing->begun)
		print_pending_head();
	listing->begun = true;
	print_pending(pending);
}

int query_others(int fd, struct twheel_query_args *query)
{
	if (twheel_query(fd, query))
		return -1;
	query->files--;
	return 0;
}

long read_queues(int fd, struct twheel_queue_args **queues)
{
	struct twheel_queue_args queue = { .queue = 0 };
	long nr = 0;

	for (*queues = NULL; !twheel_queue(fd, &queue); queue.queue++) {
		*queues = must_realloc(*queues, nr + 1, sizeof(queue));
		(*queues)[nr++] = queue;
	}
	if (errno == ENOENT)
		return nr;
	free(*queues);
	return -1;
}

json_t *json_queue(const struct twheel_queue_args *queue)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "queue", json_integer(queue->queue),
			 "ops", json_integer(queue->ops),
			 "pending", json_integer(queue->pending),
			 "unread", json_integer(queue->unread),
			 "unconfirmed", json_integer(queue->unconfirmed),
			 "oldest_unread_ns", json_digits(queue->oldest_unread_ns),
			 "oldest_unconfirmed_ns", json_digits(queue->oldest_unconfirmed_ns));
}

json_t *json_limits(const char *type, const struct twheel_query_args *query)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "type", type, "name", query->name,
			 "max_pending", json_integer(query->max_pending),
			 "max_file_pending", json_integer(query->max_file_pending),
			 "max_watches", json_integer(query->max_watches),
			 "max_queue", json_integer(query->max_queue));
}

json_t *json_query(const char *type, const struct twheel_query_args *query)
{
	const struct {
		const char *name;
		__u64 count;
	} counts[] = {
		{ "pending", query->pending },
		{ "nr_detached", query->detached },
		{ "detached_unread", query->detached_unread },
		{ "unconfirmed", query->unconfirmed },
		{ "nr_keys", query->keys },
		{ "watches", query->watches },
		{ "files", query->files },
		{ "added", query->added },
		{ "completed", query->completed },
		{ "expired", query->expired },
		{ "cancelled", query->cancelled },
		{ "rejected", query->rejected },
		{ "rejected_enospc", query->rejected_enospc },
		{ "rejected_enobufs", query->rejected_enobufs },
		{ "rejected_edquot", query->rejected_edquot },
		{ "user_ops", query->user_ops },
		{ "user_max_ops", query->user_max_ops },
		{ "user_files", query->user_files },
		{ "user_max_files", query->user_max_files },
		{ "wakeups", query->wakeups },
	};
	json_t *object = json_limits(type, query);

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		json_object_set_new(object, counts[i].name, json_integer(counts[i].count));
	json_object_set_new(object, "oldest_unread_ns", json_digits(query->oldest_unread_ns));
	json_object_set_new(object, "oldest_unconfirmed_ns",
			    json_digits(query->oldest_unconfirmed_ns));
	json_object_set_new(object, "tick_ns", json_digits(query->tick_ns));
	return object;
}

long list_pending(int fd, long max,
		  void (*each)(const struct twheel_pending *pending, void *context),
		  void *context)
{
	struct twheel_pending entries[LIST_BATCH];
	uint64_t cursor = 0;
	long nr = 0;

	while (cursor != TWHEEL_LIST_END && nr < max) {
		long batch = max - nr < LIST_BATCH ? max - nr : LIST_BATCH;
		int got = twheel_list(fd, TWHEEL_LIST_OTHERS, &cursor, entries, batch);

		if (got < 0)
			return -1;
		for (int i = 0; i < got; i++)
			each(&entries[i], context);
		nr += got;
	}
	return nr;
}
