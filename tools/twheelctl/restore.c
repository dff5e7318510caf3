// SPDX-License-Identifier: GPL-2.0
/*
 * twheelctl restore: adds the operations and events that 'twheelctl save' has printed.
 *
 * All of the file is read before the first add, since it may be wrong, and since the events and the
 * satisfied keys must be known. To parse it takes longer than to add.
 *
 * A key cannot be added as satisfied. So each key that is satisfied in an operation of a purgatory
 * is signalled once, after all adds, and the other operations that watch it are added with a need,
 * or a sum, that is greater by one. The operations with such a key get their deadlines after the
 * signal: until then they cannot end. (A periodic operation has its deadline at once.)
 *
 * The bit of a key is its position in the add. A bit without a key gets a placeholder, which is
 * removed again.
 *
 * An unread event is an operation that is added and then ended, with placeholders for its keys,
 * which the event does not name. The events come first, one after the other: there may be more of
 * them than operations may be pending.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "twheelctl.h"

static const char restore_help[] =
"usage: twheelctl restore FILE [--json]\n"
"\n"
"Creates the purgatories of a file of 'twheelctl save', unless they exist, adds its\n"
"operations and events, and prints the purgatory, the old and the new ID of each.\n"
"\n"
"  --json    print JSON, one object per line\n"
"\n"
"A deadline is kept. After a restart of the machine, the clocks monotonic and boottime\n"
"begin anew: an operation then has the time that remained, less the time until the\n"
"restore if its clock is boottime.\n"
"\n"
"Nothing is added if a line of the file is wrong, or missing at its end. Exits with 1 if\n"
"a purgatory has detached operations or unread events: then nothing is added, since these\n"
"may be of an earlier restore; or if an operation was refused, which has no new ID, and\n"
"the others are added.\n";

/* The first half of the keys of this command: a random number. See placeholder(). */
#define PLACEHOLDER	0x8d5f3c1eb29a4767ULL

/* Numbers of placeholders: + bit */
#define NEVER_SIGNALLED		0
#define SIGNALLED		TWHEEL_MAX_KEYS

/**
 * struct item - an operation to add
 * @id: its old ID, as text
 * @event: it is an unread event
 * @args: arguments of the add, without its time; the new ID after the add
 * @specs: its keys, by bit
 * @satisfied: bits of satisfied keys
 * @holes: bits without a key
 * @remaining: of an operation: time to its deadline at the save
 * @at: deadline, a time of its clock; of CLOCK_MONOTONIC if it is @relative
 * @relative: the deadline is relative, with CLOCK_REALTIME
 * @expirations: of an event
 * @reason: of an event, which ends the operation; otherwise TWHEEL_REASON_EXPIRED: the deadline
 * @value: of an event
 * @error: of an event, positive
 * @last: of an event: number of the placeholder whose signal completes it, or 0
 * @deferred: its deadline or end follows the signals of its keys
 */
struct item {
	char id[24];
	bool event;
	struct twheel_add_args args;
	struct twheel_watch_spec *specs;
	__u64 satisfied;
	__u64 holes;
	__u64 remaining;
	__u64 at;
	bool relative;
	__u64 expirations;
	__u32 reason;
	__u64 value;
	int error;
	__u64 last;
	bool deferred;
};

/**
 * struct purgatory - a purgatory of the file
 * @args: its name and properties
 * @satisfied: its satisfied keys: { KEY: true }
 * @periods: { ID: first event of a periodic operation that goes on }
 * @ends: operations that have ended: { ID: true }
 * @items: what to add
 * @nr: number of entries in @items
 */
struct purgatory {
	struct twheel_create_args args;
	json_t *satisfied;
	json_t *periods;
	json_t *ends;
	struct item *items;
	size_t nr;
};

/**
 * struct restore - a file
 * @line: the command line
 * @purgatories: its purgatories
 * @nr_purgatories: number of entries in @purgatories
 * @ended: the last line has been read
 * @same_boot: the clocks still count from the same time
 * @away: time since the save, in ns
 * @fd: the purgatory of the adds
 * @name: its name
 */
struct restore {
	struct command_line *line;
	struct purgatory *purgatories;
	size_t nr_purgatories;
	bool ended;
	bool same_boot;
	__u64 away;
	int fd;
	const char *name;
};

static struct twheel_key placeholder(__u64 number)
{
	return (struct twheel_key){ { PLACEHOLDER, number } };
}

static __u64 less(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* Fields of a line. They set @wrong if the field is of another type. */

static const char *text_of(const json_t *object, const char *name, bool *wrong)
{
	const char *text = json_string_value(json_object_get(object, name));

	*wrong |= !text;
	return text ?: "";
}

/* null is TWHEEL_NEVER. */
static __u64 digits_of(const json_t *object, const char *name, bool *wrong)
{
	__u64 number = TWHEEL_NEVER;

	if (!json_is_null(json_object_get(object, name)))
		*wrong |= !parse_count(text_of(object, name, wrong), UINT64_MAX, &number);
	return number;
}

static __u64 count_of(const json_t *value, __u64 max, bool *wrong)
{
	*wrong |= !json_is_integer(value) || json_integer_value(value) < 0 ||
		  (__u64)json_integer_value(value) > max;
	return json_integer_value(value);
}

static __u32 condition_of(const char *name, bool *wrong)
{
	for (__u32 condition = 0; condition <= TWHEEL_COND_SUM; condition++)
		if (!strcmp(condition_name(condition), name))
			return condition;
	*wrong = true;
	return 0;
}

/* The fields that operations and events have. */
static void parse_common(const json_t *object, struct item *item, bool *wrong)
{
	struct number clock = { };

	*wrong |= snprintf(item->id, sizeof(item->id), "%s", text_of(object, "id", wrong)) >=
		  (int)sizeof(item->id);
	item->reason = TWHEEL_REASON_EXPIRED;
	*wrong |= !take_clock(text_of(object, "clock", wrong), &clock);
	item->args.clock = clock.value;
	item->args.flags = TWHEEL_ADD_DETACHED;
	item->args.cookie = digits_of(object, "cookie", wrong);
	item->args.queue = count_of(json_object_get(object, "queue"), TWHEEL_MAX_QUEUES - 1, wrong);
}

static void parse_keys(const json_t *object, struct item *item, bool *wrong)
{
	json_t *needs = json_object_get(object, "needs");
	json_t *keys = json_object_get(object, "keys");
	json_t *bits = json_object_get(object, "bits");
	__u64 used = 0;

	*wrong |= json_array_size(keys) > TWHEEL_MAX_KEYS;
	for (size_t i = 0; i < json_array_size(keys) && !*wrong; i++) {
		__u32 need = count_of(json_array_get(needs, i), TWHEEL_MAX_NEED, wrong);
		__u32 bit = count_of(json_array_get(bits, i), TWHEEL_MAX_KEYS - 1, wrong);
		const char *key = json_string_value(json_array_get(keys, i));

		if (*wrong || used >> bit & 1 ||
		    twheel_key_parse(key ?: "", &item->specs[bit].key)) {
			*wrong = true;
			return;
		}
		used |= 1ULL << bit;
		if (!need && item->args.condition != TWHEEL_COND_SUM)
			item->satisfied |= 1ULL << bit;
		item->specs[bit].need = need ?: 1;
		if (bit >= item->args.nr_keys)
			item->args.nr_keys = bit + 1;
	}
	item->holes = ~used;
}

/* An event names its satisfied keys only, and its condition may need more. */
static void fill_holes(struct item *item, bool *wrong)
{
	struct twheel_add_args *args = &item->args;
	__u32 least = args->condition ? args->quorum ?: 1 : 0;

	if (args->nr_keys < least)
		args->nr_keys = least;
	*wrong |= args->nr_keys > TWHEEL_MAX_KEYS;
	if (args->nr_keys < TWHEEL_MAX_KEYS)
		item->holes &= (1ULL << args->nr_keys) - 1;
	for (__u64 mask = *wrong ? 0 : item->holes; mask; mask &= mask - 1) {
		int bit = __builtin_ctzll(mask);

		item->specs[bit] = (struct twheel_watch_spec){
			.key = placeholder(NEVER_SIGNALLED + bit), .need = 1,
		};
	}
}

/* A reading of a clock, and the remaining time then: to one of this boot. */
static void set_time(const struct restore *restore, struct item *item)
{
	clockid_t clock = item->relative ? CLOCK_MONOTONIC : item->args.clock;
	__u64 remaining = item->remaining;

	if (restore->same_boot || clock == CLOCK_REALTIME || item->at == TWHEEL_NEVER)
		return;
	if (clock == CLOCK_BOOTTIME)
		remaining -= less(restore->away, remaining);
	item->at = clock_ns(clock) + remaining;
}

/*
 * The periods in an event that was not read are expected again: the first of them is the deadline.
 * Return: the time from there to the deadline of the operation.
 */
static __u64 unread_periods(const struct purgatory *purgatory, struct item *item)
{
	json_t *event = json_object_get(purgatory->periods, item->id);
	struct twheel_add_args *args = &item->args;
	__u64 first, deadline = item->at;
	bool wrong = false;

	if (!event || !args->period)
		return 0;
	first = digits_of(event, "deadline", &wrong);
	if (args->flags & TWHEEL_ADD_FIXED_DELAY) {
		args->runs += args->runs && first < deadline;
	} else {
		first -= (json_integer_value(json_object_get(event, "expirations")) - 1) *
			 args->period;
		args->runs += args->runs ? (deadline - first) / args->period : 0;
	}
	return deadline - first;
}

static void set_event_time(const struct restore *restore, const struct purgatory *purgatory,
			   struct item *item)
{
	json_t *periods = json_object_get(purgatory->periods, item->id);
	__u64 expirations, now;

	set_time(restore, item);
	/* It has passed, even if the clock was set back. */
	now = clock_ns(item->args.clock);
	item->at = less(item->at, now);
	/* The periods of an earlier event, if the operation ended after that one was taken. */
	expirations = item->expirations +
		      json_integer_value(json_object_get(periods, "expirations"));
	if (item->reason == TWHEEL_REASON_EXPIRED && expirations > 1) {
		item->args.period = 1;
		item->args.runs = expirations;
		item->at -= less(expirations - 1, item->at);
	}
}

static bool parse_operation(const json_t *object, struct item *item)
{
	struct twheel_add_args *args = &item->args;
	bool wrong = false;
	__u64 missing;

	parse_common(object, item, &wrong);
	args->condition = condition_of(text_of(object, "condition", &wrong), &wrong);
	args->period = digits_of(object, "period", &wrong);
	args->runs = digits_of(object, "runs", &wrong);
	args->flags |= json_is_true(json_object_get(object, "cancel_on_set")) ?
		       TWHEEL_ADD_CANCEL_ON_SET : 0;
	args->flags |= json_is_true(json_object_get(object, "fixed_delay")) ?
		       TWHEEL_ADD_FIXED_DELAY : 0;
	parse_keys(object, item, &wrong);
	missing = digits_of(object, "missing", &wrong);
	if (args->condition == TWHEEL_COND_QUORUM)
		args->quorum = missing + __builtin_popcountll(item->satisfied);
	if (args->condition == TWHEEL_COND_SUM)
		args->threshold = missing;
	fill_holes(item, &wrong);

	item->relative = json_object_get(object, "monotonic");
	item->at = digits_of(object, item->relative ? "monotonic" : "deadline", &wrong);
	item->remaining = digits_of(object, "remaining", &wrong);
	return !wrong;
}

/* The keys of an event by its satisfied bits, or an amount that is missing. None is removed. */
static void set_event_keys(struct item *item, __u64 missing, bool *wrong)
{
	struct twheel_add_args *args = &item->args;
	unsigned int nr = __builtin_popcountll(item->satisfied);
	int highest = TWHEEL_MAX_KEYS - 1 - __builtin_clzll(item->satisfied | 1);

	if (item->satisfied) {
		*wrong |= missing > TWHEEL_MAX_KEYS - nr;
		args->condition = TWHEEL_COND_QUORUM;
		args->quorum = nr + missing;
		args->nr_keys = highest + 1;
	} else if (missing) {
		args->condition = TWHEEL_COND_SUM;
		args->threshold = missing;
	}
	item->holes = ~item->satisfied;
	fill_holes(item, wrong);
	item->holes = 0;
	for (__u64 mask = item->satisfied; mask; mask &= mask - 1) {
		int bit = __builtin_ctzll(mask);

		item->specs[bit].key = placeholder(SIGNALLED + bit);
		item->specs[bit].need = 1;
	}
	if (item->satisfied && !missing) {
		item->last = SIGNALLED + highest;
		item->satisfied &= ~(1ULL << highest);
	}
}

static __u32 reason_of(const char *name, bool *wrong)
{
	if (!strcmp(name, "completed"))
		return TWHEEL_REASON_COMPLETED;
	*wrong |= strcmp(name, "expired") && strcmp(name, "cancelled");
	return *name == 'e' ? TWHEEL_REASON_EXPIRED : TWHEEL_REASON_CANCELLED;
}

static bool parse_event(const json_t *object, struct item *item)
{
	json_t *bits = json_object_get(object, "satisfied");
	json_t *error = json_object_get(object, "error");
	bool wrong = false;
	__u64 missing;

	parse_common(object, item, &wrong);
	item->event = true;
	item->reason = reason_of(text_of(object, "reason", &wrong), &wrong);
	item->value = digits_of(object, "value", &wrong);
	if (!json_is_null(error))
		wrong |= !take_error(text_of(object, "error", &wrong), &item->error);
	missing = digits_of(object, "missing", &wrong);
	item->expirations = count_of(json_object_get(object, "expirations"), INT64_MAX, &wrong);
	wrong |= !json_is_array(bits);
	for (size_t i = 0; i < json_array_size(bits); i++)
		item->satisfied |= 1ULL << (count_of(json_array_get(bits, i), TWHEEL_MAX_KEYS - 1,
						     &wrong) & (TWHEEL_MAX_KEYS - 1));
	item->at = digits_of(object, "deadline", &wrong);
	if (wrong)
		return false;
	set_event_keys(item, missing, &wrong);
	item->deferred = true;
	return !wrong;
}

/* Notes the keys that are satisfied. */
static void note_keys(const struct purgatory *purgatory, const struct item *item)
{
	char text[TWHEEL_KEY_FORMAT_SIZE];

	for (__u64 mask = item->satisfied; mask; mask &= mask - 1)
		json_object_set_new(purgatory->satisfied,
				    twheel_key_format(item->specs[__builtin_ctzll(mask)].key, text),
				    json_true());
}

/* Makes up for the signals that follow. */
static void expect_signals(const struct purgatory *purgatory, struct item *item)
{
	char text[TWHEEL_KEY_FORMAT_SIZE];

	for (__u32 i = 0; i < item->args.nr_keys; i++) {
		twheel_key_format(item->specs[i].key, text);
		if (!json_object_get(purgatory->satisfied, text))
			continue;
		item->deferred = true;
		if (item->args.condition == TWHEEL_COND_SUM)
			item->args.threshold += item->args.threshold < UINT64_MAX;
		else
			item->specs[i].need += !(item->satisfied >> i & 1);
	}
}

static __u64 deadline_of(const struct item *item)
{
	__u64 now = now_ns();

	if (item->at == TWHEEL_NEVER || !item->relative)
		return item->at;
	return item->at > now ? item->at - now : 0;
}

static void note(struct restore *restore, enum outcome outcome)
{
	if (!restore->line->outcome)
		restore->line->outcome = outcome;
}

static void fail(struct restore *restore, const char *what)
{
	struct command_line add = { .command = "add" };

	note(restore, refused(&add, what));
}

/* Waits up to ten seconds: an event that expires is a pending operation until the next tick. */
static void wait_for_events(const struct restore *restore)
{
	struct twheel_query_args query;

	for (int i = 0; i < 10000 && !twheel_query(restore->fd, &query) && query.detached; i++)
		poll(NULL, 0, 1);
}

/* Each file has a limit of its own. */
static void use_another_file(struct restore *restore)
{
	int fd = open_node(restore->name, O_RDWR);

	if (fd < 0)
		return;
	close(restore->fd);
	restore->fd = fd;
}

static bool try_add(const struct restore *restore, struct item *item)
{
	item->args.deadline = item->deferred ? TWHEEL_NEVER : deadline_of(item);
	return !twheel_add(restore->fd, &item->args);
}

static void add(struct restore *restore, struct item *item)
{
	struct twheel_add_args *args = &item->args;
	char what[128], id[24];
	bool added;

	args->keys = (uintptr_t)item->specs;
	args->flags |= item->relative ? 0 : TWHEEL_ADD_ABSTIME;
	item->deferred &= !args->period;
	added = try_add(restore, item);
	if (!added && errno == ENOSPC) {
		if (item->event)
			wait_for_events(restore);
		else
			use_another_file(restore);
		added = try_add(restore, item);
	}
	if (!added) {
		snprintf(what, sizeof(what), "%s: operation %s not restored", restore->name,
			 item->id);
		fail(restore, what);
	}
	snprintf(id, sizeof(id), "%llu", args->id);
	show_change(restore->line, json_pack("{s:s, s:s, s:s, s:s?}", "type", "restored",
					     "name", restore->name, "old", item->id,
					     "id", added ? id : NULL),
		    "%s %s %s", restore->name, item->id, added ? id : "-");
	for (__u64 mask = added ? item->holes : 0; mask; mask &= mask - 1)
		twheel_unwatch(restore->fd, args->id,
			       placeholder(NEVER_SIGNALLED + __builtin_ctzll(mask)));
}

static int end(int fd, const struct item *item)
{
	__u64 id = item->args.id;

	switch (item->reason) {
	case TWHEEL_REASON_EXPIRED:
		return twheel_rearm(fd, id, deadline_of(item),
				    item->relative ? 0 : TWHEEL_REARM_ABSTIME) < 0 ? -1 : 0;
	case TWHEEL_REASON_CANCELLED:
		return twheel_cancel(fd, id);
	}
	if (item->last)
		return twheel_signal(fd, placeholder(item->last), item->value, NULL);
	return item->error ? twheel_complete_error(fd, id, -item->error) :
			     twheel_complete(fd, id, item->value);
}

static void end_deferred(struct restore *restore, const struct item *item)
{
	if (item->deferred && item->args.id && end(restore->fd, item))
		fail(restore, restore->name);
}

static void restore_event(struct restore *restore, const struct purgatory *purgatory,
			  struct item *item)
{
	set_event_time(restore, purgatory, item);
	add(restore, item);
	/* Of the other events, only expired ones are pending, which ignore a further signal. */
	for (__u64 mask = item->args.id ? item->satisfied : 0; mask; mask &= mask - 1)
		if (twheel_signal(restore->fd, placeholder(SIGNALLED + __builtin_ctzll(mask)), 0,
				  NULL))
			fail(restore, restore->name);
	end_deferred(restore, item);
}

static void restore_operation(struct restore *restore, const struct purgatory *purgatory,
			      struct item *item)
{
	__u64 back;

	if (json_object_get(purgatory->ends, item->id))
		return;
	back = unread_periods(purgatory, item);
	set_time(restore, item);
	item->at -= less(back, item->at);
	expect_signals(purgatory, item);
	add(restore, item);
}

/*
 * Adds the events, then the operations, signals the satisfied keys of these, and gives them their
 * deadlines.
 */
static void restore_purgatory(struct restore *restore, struct purgatory *purgatory)
{
	struct command_line create = { .command = "create", .json = restore->line->json };
	struct item *behind = purgatory->items + purgatory->nr;
	struct twheel_key key;
	const char *text;
	json_t *value;

	restore->name = purgatory->args.name;
	create.purgatory = restore->name;
	create.outcome = create_purgatory(&create, &purgatory->args, true);
	if (!create.outcome)
		restore->fd = open_named(&create, O_RDWR);
	note(restore, create.outcome);
	if (create.outcome)
		return;
	for (struct item *item = purgatory->items; item < behind; item++)
		if (item->event)
			restore_event(restore, purgatory, item);
	wait_for_events(restore);
	for (struct item *item = purgatory->items; item < behind; item++)
		if (!item->event)
			restore_operation(restore, purgatory, item);
	json_object_foreach(purgatory->satisfied, text, value)
		if (twheel_key_parse(text, &key) || twheel_signal(restore->fd, key, 0, NULL))
			fail(restore, text);
	for (struct item *item = purgatory->items; item < behind; item++)
		if (!item->event)
			end_deferred(restore, item);
	close(restore->fd);
}

/* A second restore would double the operations. A failure to open is reported later. */
static void expect_empty(struct restore *restore, const char *name)
{
	int fd = open_node(name, O_RDONLY);
	struct twheel_query_args query = { };
	unsigned long long pending, unread;

	if (fd < 0)
		return;
	twheel_query(fd, &query);
	close(fd);
	pending = query.detached;
	unread = query.detached_unread + query.unconfirmed;
	if (!pending && !unread)
		return;
	note(restore, OUTCOME_FAILED);
	fprintf(stderr,
		"twheelctl restore: %s: %llu operations are pending and %llu events unread, maybe of an earlier restore; 'twheelctl save %s --remove' moves them to another file\n",
		name, pending, unread, name);
}

static bool take_properties(const json_t *object, struct twheel_create_args *args)
{
	const char *mode;
	bool wrong = false;
	char *end;

	mode = text_of(object, "mode", &wrong);
	args->mode = strtoul(mode, &end, 8);
	wrong |= !*mode || *end;
	args->uid = count_of(json_object_get(object, "uid"), UINT32_MAX, &wrong);
	args->gid = count_of(json_object_get(object, "gid"), UINT32_MAX, &wrong);
	args->max_pending = count_of(json_object_get(object, "max_pending"), UINT32_MAX, &wrong);
	args->max_file_pending = count_of(json_object_get(object, "max_file_pending"), UINT32_MAX,
					  &wrong);
	args->max_watches = count_of(json_object_get(object, "max_watches"), UINT32_MAX, &wrong);
	args->max_queue = count_of(json_object_get(object, "max_queue"), UINT32_MAX, &wrong);
	return !wrong;
}

static bool take_purgatory_line(struct restore *restore, const json_t *object)
{
	struct purgatory new = { };
	struct command_line create = { };
	bool wrong = false;
	const char *name = text_of(object, "name", &wrong);

	if (wrong || !take_properties(object, &new.args) || !take_purgatory(&create, name))
		return false;
	for (size_t i = 0; i < restore->nr_purgatories; i++)
		if (!strcmp(restore->purgatories[i].args.name, name))
			return false;
	memcpy(new.args.name, name, strlen(name));
	new.satisfied = json_object();
	new.periods = json_object();
	new.ends = json_object();
	restore->purgatories = must_realloc(restore->purgatories, restore->nr_purgatories + 1,
					    sizeof(new));
	restore->purgatories[restore->nr_purgatories++] = new;
	expect_empty(restore, name);
	return true;
}

/* An operation or an event of the last purgatory. */
static bool take_item(struct restore *restore, json_t *object, bool event)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS] = { };
	struct item item = { .specs = specs };
	struct purgatory *purgatory;

	if (!restore->nr_purgatories ||
	    !(event ? parse_event(object, &item) : parse_operation(object, &item)))
		return false;
	purgatory = &restore->purgatories[restore->nr_purgatories - 1];
	if (event && json_is_true(json_object_get(object, "more"))) {
		if (!json_object_get(purgatory->periods, item.id))
			json_object_set(purgatory->periods, item.id, object);
		return true;
	}
	if (event)
		json_object_set_new(purgatory->ends, item.id, json_true());
	else
		note_keys(purgatory, &item);
	item.specs = must_realloc(NULL, item.args.nr_keys, sizeof(*specs));
	memcpy(item.specs, specs, item.args.nr_keys * sizeof(*specs));
	purgatory->items = must_realloc(purgatory->items, purgatory->nr + 1, sizeof(item));
	purgatory->items[purgatory->nr++] = item;
	return true;
}

static bool take_end(struct restore *restore, const json_t *object)
{
	char boot_id[BOOT_ID_SIZE];
	bool wrong = false;
	__u64 time, now;

	read_boot_id(boot_id);
	restore->same_boot = !strcmp(boot_id, text_of(object, "boot_id", &wrong));
	time = digits_of(object, "time", &wrong);
	now = clock_ns(CLOCK_REALTIME);
	restore->away = now > time ? now - time : 0;
	restore->ended = true;
	return !wrong;
}

static bool take_line(struct restore *restore, json_t *object)
{
	const char *type = json_string_value(json_object_get(object, "type")) ?: "";

	if (restore->ended)
		return false;
	if (!strcmp(type, "purgatory"))
		return take_purgatory_line(restore, object);
	if (!strcmp(type, "saved"))
		return take_end(restore, object);
	return (!strcmp(type, "event") || !strcmp(type, "operation")) &&
	       take_item(restore, object, *type == 'e');
}

/* Return: false if a line is wrong, which has been reported. */
static bool read_lines(struct restore *restore, FILE *file)
{
	const char *path = restore->line->args[0];
	unsigned long nr = 0;
	char *text = NULL;
	bool ok = true;
	size_t size = 0;

	while (ok && getline(&text, &size, file) > 0) {
		json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

		nr++;
		ok = take_line(restore, object);
		json_decref(object);
	}
	free(text);
	if (!ok)
		fprintf(stderr, "twheelctl: %s:%lu: not a line of 'twheelctl save'\n", path, nr);
	else if (!restore->ended)
		fprintf(stderr, "twheelctl: %s: the end is missing\n", path);
	return ok && restore->ended;
}

enum outcome restore_command(struct command_line *line)
{
	struct restore restore = { .line = line };
	FILE *file;

	if (!take_arguments(line, restore_help, NULL, 1, 1))
		return line->outcome;
	if (line->purgatory)
		return wrong_usage(line, "the file names the purgatories, not -p");
	file = fopen(line->args[0], "re");
	if (!file)
		return device_failure(line->args[0]);
	if (!read_lines(&restore, file))
		line->outcome = OUTCOME_USAGE;
	fclose(file);
	/* Its memory is freed at the exit. */
	if (line->outcome)
		return line->outcome;
	for (size_t i = 0; i < restore.nr_purgatories; i++)
		restore_purgatory(&restore, &restore.purgatories[i]);
	return line->outcome;
}
