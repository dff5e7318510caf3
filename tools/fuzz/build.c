// SPDX-License-Identifier: GPL-2.0
/*
 * Builds the structures of the calls: filled in as by a program, then made slightly wrong.
 *
 * Cookies and addresses are never corrupted: an operation is tracked by its cookie, and
 * the kernel must not write to memory that the fuzzer needs. That includes addresses in
 * commands, so the size of a command is either correct or one that must be refused. The
 * fields are drawn in an order that leaves the step's own bytes to the most important ones.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define NR_KEYS		12	/* distinct keys */
#define MAX_WIDE	(32 * 4096UL)	/* size of an array with larger entries than ours */

/* The place of a call's memory: in a batch, arrays are in plain memory or at NULL. */
unsigned int place_of(struct thread *t, struct trial *trial)
{
	unsigned int place = PLACE_PLAIN;

	if (!trial->in_batch && t->step->place % NR_PLACES && one_in(t, 2))
		place = t->step->place % NR_PLACES;
	if (place != PLACE_PLAIN)
		trial->plain = false;
	return place;
}

__u64 address(const void *memory)
{
	return (unsigned long)memory;
}

struct twheel_key some_key(struct thread *t)
{
	struct twheel_key key = { .v = { draw(t, NR_KEYS) } };

	return key;
}

static __u64 some_distance(struct thread *t)
{
	switch (draw(t, 10)) {
	case 0:
		return 0;
	case 1:
		return TWHEEL_NEVER;
	case 2:
	case 3:
	case 4:
		return HOUR;
	case 5:
		return draw_wide(t);
	case 6:
	case 7:
		return random_below(&t->detail, 500) * MSEC;
	default:
		return random_below(&t->detail, 4 * MSEC);
	}
}

static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };

static __u64 some_deadline(struct thread *t, bool absolute, clockid_t clock)
{
	__u64 distance = some_distance(t);

	if (!absolute || distance == TWHEEL_NEVER)
		return distance;
	return clock_ns(clock) + distance - 2 * MSEC;
}

/* One of a few queues, so that adders and readers meet; sometimes one that does not exist. */
static __u32 some_queue(struct thread *t)
{
	return one_in(t, 100) ? TWHEEL_MAX_QUEUES : random_below(&t->detail, 4);
}

/* An entry size that the kernel must refuse. */
__u32 bad_stride(struct thread *t, size_t size)
{
	const __u32 bad[] = { 0, 1, size - 8, size - 1, 4097, ~0U };

	return bad[random_below(&t->detail, ARRAY_SIZE(bad))];
}

/* The entry size passed to the kernel: @size, or occasionally that of a later version. */
__u32 some_stride(struct thread *t, unsigned int nr, size_t size)
{
	static const unsigned int more[] = { 8, 16, 40, 512 };
	unsigned int stride = size + more[random_below(&t->detail, ARRAY_SIZE(more))];

	if (!nr)
		return 0;
	return t->step->oddity % 16 == 7 && nr * (size_t)stride <= MAX_WIDE ? stride : size;
}

/* Store @nr entries of @size bytes as input of the kernel, @stride bytes apart. */
void *lay_out(struct thread *t, struct trial *trial, const void *from, unsigned int nr,
	      size_t size, __u32 stride)
{
	static __thread char wide[MAX_WIDE];
	unsigned int i;

	trial->stride = stride;
	if (!nr || stride <= size)
		return place_in(t, place_of(t, trial), from, nr * size);
	memset(wide, 0, (size_t)nr * stride);
	for (i = 0; i < nr; i++)
		memcpy(wide + (size_t)i * stride, (const char *)from + i * size, size);
	/* In a batch, the command with unknown fields would fail, not the call. */
	if (trial->call != TWHEEL_CALL_BATCH && one_in(t, 3)) {
		i = random_below(&t->detail, nr);
		wide[(size_t)i * stride + size + random_below(&t->detail, stride - size)] = 1;
		trial->entry_tail = true;
	}
	return place_in(t, place_of(t, trial), wide, (size_t)nr * stride);
}

/* Change a key that an earlier watch has. Return: true if it had to be changed. */
bool make_distinct(struct twheel_watch_spec *specs, unsigned int nr)
{
	struct twheel_key *key = &specs[nr].key;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!memcmp(&specs[i].key, key, sizeof(*key))) {
			key->v[1] = 8 + nr;
			return true;
		}
	}
	return false;
}

/*
 * Up to @nr watches. In a batch, all commands point to the same watches, see build_batch().
 */
static __u64 build_specs(struct thread *t, struct trial *trial, __u32 nr, bool sum,
			 __u32 stride)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS + 1];
	struct twheel_key key;
	unsigned int i;

	if (nr > TWHEEL_MAX_KEYS)
		nr = TWHEEL_MAX_KEYS + 1;
	memset(specs, 0, sizeof(specs));
	for (i = 0; i < nr; i++) {
		specs[i].key = some_key(t);
		if (nr > 8)
			specs[i].key.v[1] = random_below(&t->detail, 8);
		key = specs[i].key;
		if (make_distinct(specs, i) && t->step->oddity % 16 == 15) {
			specs[i].key = key;
			trial->bad_spec = true;
		}
		if (!sum && one_in(t, 4))
			specs[i].need = random_below(&t->detail, 4);
		if (t->step->oddity % 16 == 15 && one_in(t, 16)) {
			specs[i].need = draw_wide(t);
			/* A watch call does not know the condition. */
			trial->bad_spec |= specs[i].need > TWHEEL_MAX_NEED ||
					   (sum && specs[i].need > 1 &&
					    trial->call == TWHEEL_CALL_ADD);
		}
		if (t->step->oddity % 16 == 15 && one_in(t, 32)) {
			specs[i].bit = 1 + random_below(&t->detail, 64);
			trial->bad_spec = true;
		}
	}
	return address(lay_out(t, trial, specs, nr, sizeof(specs[0]), stride));
}

static __u32 some_nr_keys(struct thread *t)
{
	switch (draw(t, 16)) {
	case 0:
		return TWHEEL_MAX_KEYS - random_below(&t->detail, 2);
	case 1:
		return random_below(&t->detail, TWHEEL_MAX_KEYS);
	default:
		return 1 + random_below(&t->detail, 4);
	}
}

static void build_condition(struct thread *t, struct trial *trial, struct twheel_add_args *args)
{
	args->condition = draw(t, 5);
	if (args->condition == TWHEEL_COND_NONE)
		return;
	args->nr_keys = some_nr_keys(t);
	if (args->condition == TWHEEL_COND_QUORUM)
		args->quorum = 1 + (args->nr_keys > 2 && one_in(t, 2));
	if (args->condition == TWHEEL_COND_SUM)
		args->threshold = 1 + random_below(&t->detail, 20);
	args->key_size = sizeof(struct twheel_watch_spec);
	if (trial->in_batch)
		return;
	args->key_size = some_stride(t, args->nr_keys, args->key_size);
	args->keys = build_specs(t, trial, args->nr_keys, args->condition == TWHEEL_COND_SUM,
				 args->key_size);
}

static void build_period(struct thread *t, struct twheel_add_args *args)
{
	if (draw(t, 5) || args->deadline == TWHEEL_NEVER)
		return;
	args->period = one_in(t, 2) ? SEC : MSEC / 8 + random_below(&t->detail, 8 * MSEC);
	args->runs = random_below(&t->detail, 4);
	if (one_in(t, 3))
		args->flags |= TWHEEL_ADD_FIXED_DELAY;
}

static void build_add(struct thread *t, const struct view *view, struct trial *trial,
		      struct twheel_add_args *args)
{
	build_condition(t, trial, args);
	args->clock = clocks[draw(t, 6) % 4 % 3];
	if (!draw(t, 3))
		args->flags |= TWHEEL_ADD_ABSTIME;
	args->deadline = some_deadline(t, args->flags & TWHEEL_ADD_ABSTIME, args->clock);
	build_period(t, args);
	if (view->name >= 0 && !draw(t, 4)) {
		args->flags |= TWHEEL_ADD_DETACHED;
		args->queue = some_queue(t);
	}
	if (args->clock == CLOCK_REALTIME && args->flags & TWHEEL_ADD_ABSTIME && one_in(t, 3))
		args->flags |= TWHEEL_ADD_CANCEL_ON_SET;
	if (!args->period && !args->flags && args->clock != CLOCK_REALTIME &&
	    args->condition <= TWHEEL_COND_ANY && one_in(t, 2)) {
		args->flags |= TWHEEL_ADD_CELL;
		args->cell = random_below(&t->detail, NR_CELLS);
	} else if (!args->period && one_in(t, 6)) {
		args->slack = one_in(t, 2) ? TWHEEL_SLACK_COARSE : draw_wide(t);
	}
}

static void build_result(struct thread *t, unsigned int n, __u64 *value, __s32 *error)
{
	if (draw(t, n))
		*value = draw_wide(t);
	else
		*error = -(int)random_below(&t->detail, 4096);
}

static void build_signal(struct thread *t, struct twheel_signal_args *args)
{
	args->key = some_key(t);
	args->amount = draw(t, 4) ? draw(t, 8) : draw_wide(t);
	args->value = draw_wide(t);
	args->limit = draw(t, 3) ? 0 : random_below(&t->detail, 4);
}

/* Mostly the same life, or the next one of an idle word. */
static void build_exchange(struct thread *t, const struct view *view,
			   struct twheel_exchange_args *args)
{
	__u64 life = draw(t, 4) * (TWHEEL_CELL_TIME + 1);

	args->id = some_id(t, view);
	args->from = life | random_below(&t->detail, 1000);
	args->to = life | random_below(&t->detail, 1000);
	if (one_in(t, 4)) {
		args->from |= TWHEEL_CELL_IDLE;
		args->to += TWHEEL_CELL_TIME + 1;
	}
}

static void build_rearm(struct thread *t, const struct view *view, struct twheel_rearm_args *args)
{
	args->id = some_id(t, view);
	args->flags = draw(t, 8);
	args->deadline = some_deadline(t, args->flags & TWHEEL_REARM_ABSTIME, clocks[draw(t, 3)]);
	if (one_in(t, 4))
		args->slack = one_in(t, 2) ? TWHEEL_SLACK_COARSE : draw_wide(t);
}

static void build_watch(struct thread *t, const struct view *view, struct trial *trial,
			struct twheel_watch_args *args)
{
	args->id = some_id(t, view);
	args->nr_keys = some_nr_keys(t);
	args->key_size = sizeof(struct twheel_watch_spec);
	if (trial->in_batch)
		return;
	args->key_size = some_stride(t, args->nr_keys, args->key_size);
	args->keys = build_specs(t, trial, args->nr_keys, one_in(t, 2), args->key_size);
}

static void build_info(struct thread *t, const struct view *view, struct trial *trial,
		       struct twheel_info_args *args)
{
	args->id = some_id(t, view);
	args->max_keys = draw(t, 4) ? draw(t, TWHEEL_MAX_KEYS + 4) : 0;
	args->key_size = some_stride(t, args->max_keys, sizeof(struct twheel_watch_spec));
	args->entry_size = some_stride(t, 1, sizeof(struct twheel_pending));
	if (args->max_keys)
		args->keys = address(place_out(t, place_of(t, trial),
					       args->max_keys * args->key_size));
	/* The kernel must write zeroes after its part of an entry. */
	memset(t->memory.results, 0xa5, args->entry_size);
	args->entry = address(trial->plain || one_in(t, 2) ? t->memory.results :
			      place_out(t, place_of(t, trial), args->entry_size));
}

static __u64 some_cursor(struct thread *t, __u64 id)
{
	switch (draw(t, 4)) {
	case 0:
		return id;
	case 1:
		return one_in(t, 2) ? TWHEEL_LIST_END : draw_wide(t);
	default:
		return 0;
	}
}

static void build_list(struct thread *t, const struct view *view, struct trial *trial,
		       struct twheel_list_args *args)
{
	size_t size;

	args->flags = draw(t, 2);
	args->max_entries = 1 + draw(t, 64);
	args->cursor = some_cursor(t, some_id(t, view));
	args->entry_size = some_stride(t, args->max_entries, sizeof(struct twheel_pending));
	size = args->max_entries * args->entry_size;
	args->entries = address(place_out(t, place_of(t, trial), size));
	/* The kernel must write zeroes after its part of an entry. */
	if (trial->plain)
		memset(t->memory.out, 0xa5, size);
}

/* Write the name of a purgatory to @to. */
void name_of(unsigned int name, char *to)
{
	snprintf(to, TWHEEL_NAME_SIZE, "f%u", name);
}

/* Return: the number of a name from name_of(), or -1. */
int name_number(const char *name)
{
	char other[TWHEEL_NAME_SIZE];
	int i;

	for (i = 0; i < NR_NAMES; i++) {
		name_of(i, other);
		if (!strncmp(name, other, sizeof(other)))
			return i;
	}
	return -1;
}

static __u32 some_user(struct thread *t)
{
	static const __u32 users[] = { TWHEEL_CALLER, TWHEEL_CALLER, 0, USER };	/* or group */

	return users[draw(t, ARRAY_SIZE(users))];
}

static void build_create(struct thread *t, struct twheel_create_args *args)
{
	name_of(draw(t, NR_NAMES), args->name);
	args->flags = one_in(t, 4) ? 0 : O_NONBLOCK;
	args->mode = draw(t, 3) ? 0666 : random_below(&t->detail, 01000) & 0666;
	args->uid = some_user(t);
	args->gid = some_user(t);
	args->max_pending = draw(t, 3) ? 0 : random_below(&t->detail, 100);
	args->max_watches = draw(t, 3) ? 0 : random_below(&t->detail, 200);
	args->max_file_pending = one_in(t, 3) ? random_below(&t->detail, 20) : 0;
	args->max_queue = draw(t, 3) ? 0 : random_below(&t->detail, 100);
}

/* Fill in the structure of the call @trial. */
void build_args(struct thread *t, const struct view *view, struct trial *trial, void *buf)
{
	union call_args *args = buf;

	switch (trial->call) {
	case TWHEEL_CALL_ADD:
		return build_add(t, view, trial, buf);
	case TWHEEL_CALL_CANCEL:
		args->cancel_args.id = some_id(t, view);
		return;
	case TWHEEL_CALL_COMPLETE:
		args->complete_args.id = some_id(t, view);
		return build_result(t, 4, &args->complete_args.value, &args->complete_args.error);
	case TWHEEL_CALL_REARM:
		return build_rearm(t, view, buf);
	case TWHEEL_CALL_WATCH:
		return build_watch(t, view, trial, buf);
	case TWHEEL_CALL_UNWATCH:
		args->unwatch_args.id = some_id(t, view);
		args->unwatch_args.key = some_key(t);
		return;
	case TWHEEL_CALL_SIGNAL:
		return build_signal(t, buf);
	case TWHEEL_CALL_CANCEL_KEY:
		args->cancel_key_args.key = some_key(t);
		return;
	case TWHEEL_CALL_EXCHANGE:
		return build_exchange(t, view, buf);
	case TWHEEL_CALL_CELLS:
		args->cells_args.nr = draw(t, 8) ? draw(t, 2) * NR_CELLS : draw_wide(t);
		return;
	case TWHEEL_CALL_BATCH:
		return build_batch(t, view, trial, buf);
	case TWHEEL_CALL_COMPLETE_ALL:
		args->complete_all_args.flags = draw(t, 2);
		return build_result(t, 2, &args->complete_all_args.value,
				    &args->complete_all_args.error);
	case TWHEEL_CALL_EVENTS:
		args->events_args.flags = one_in(t, 4) ? 0 : O_NONBLOCK;
		args->events_args.flags |= one_in(t, 2) ? TWHEEL_EVENTS_CONFIRM : 0;
		args->events_args.queue = some_queue(t);
		return;
	case TWHEEL_CALL_QUEUE:
		args->queue_args.queue = some_queue(t);
		return;
	case TWHEEL_CALL_CONFIRM:
		args->confirm_args.id = some_id(t, view);
		return;
	case TWHEEL_CALL_RESTRICT:
		/* Mostly all rights, so that the file remains useful. */
		args->restrict_args.rights =
			one_in(t, 4) ? random_below(&t->detail, ALL_RIGHTS + 1) : ALL_RIGHTS;
		return;
	case TWHEEL_CALL_INFO:
		return build_info(t, view, trial, buf);
	case TWHEEL_CALL_LIST:
		return build_list(t, view, trial, buf);
	case TWHEEL_CALL_CREATE:
		return build_create(t, buf);
	case TWHEEL_CALL_REMOVE:
		name_of(draw(t, NR_NAMES), args->remove_args.name);
		args->remove_args.flags = !draw(t, 4);
		return;
	}
}

/* Offsets of 8 bytes that are never corrupted; 0: unused */
static const unsigned int kept[TWHEEL_CALL_REMOVE + 1][2] = {
	[TWHEEL_CALL_ADD]	= { offsetof(struct twheel_add_args, cookie),
				    offsetof(struct twheel_add_args, keys) },
	[TWHEEL_CALL_WATCH]	= { offsetof(struct twheel_watch_args, keys) },
	[TWHEEL_CALL_BATCH]	= { offsetof(struct twheel_batch_args, results),
				    offsetof(struct twheel_batch_args, size) },
	[TWHEEL_CALL_INFO]	= { offsetof(struct twheel_info_args, entry),
				    offsetof(struct twheel_info_args, keys) },
};

static bool is_kept(unsigned int call, unsigned int at)
{
	unsigned int i;

	/* The first field is an address. */
	if (at < 8 && (call == TWHEEL_CALL_BATCH || call == TWHEEL_CALL_LIST))
		return true;
	for (i = 0; i < ARRAY_SIZE(kept[call]); i++) {
		if (kept[call][i] && at / 8 == kept[call][i] / 8)
			return true;
	}
	return false;
}

/* Corrupt one or two fields of @args: 4 bytes at any offset. */
void build_odd(struct thread *t, unsigned int call, void *args, size_t size)
{
	unsigned int times = 1 + one_in(t, 4);

	while (times--) {
		unsigned int at = random_below(&t->detail, size / 4) * 4;
		__u32 value = one_in(t, 3) ? 1U << random_below(&t->detail, 32) : draw_wide(t);

		if (!is_kept(call, at))
			memcpy((char *)args + at, &value, sizeof(value));
	}
}

unsigned int marks_of(const struct twheel_add_args *args)
{
	return (args->period ? COOKIE_PERIODIC : 0) |
	       (args->clock == CLOCK_REALTIME ? COOKIE_REALTIME : 0) |
	       (args->flags & TWHEEL_ADD_DETACHED ? COOKIE_DETACHED : 0) |
	       (args->flags & TWHEEL_ADD_CELL ? COOKIE_CELL : 0);
}

bool is_odd(struct thread *t)
{
	return t->step->oddity % 4 == 1;
}

/* The size of an add, or occasionally of one that ends before the last fields that are 0. */
size_t size_of_add(struct thread *t, const struct twheel_add_args *args)
{
	size_t size = sizeof(*args);

	while (size > row_of(TWHEEL_CALL_ADD)->min_size && !not_zero((char *)args + size - 8, 8))
		size -= 8;
	return one_in(t, 2) ? size : sizeof(*args);
}

/* Fill in @args. Return: its size. */
size_t build_call(struct thread *t, const struct view *view, struct trial *trial, void *args)
{
	size_t size = _IOC_SIZE(row_of(trial->call)->request);
	struct twheel_add_args *add = args;

	memset(args, 0, size);
	build_args(t, view, trial, args);
	trial->odd = is_odd(t);
	if (trial->odd)
		build_odd(t, trial->call, args, size);
	if (trial->call == TWHEEL_CALL_ADD)
		add->cookie = new_cookie(marks_of(add));
	return trial->call == TWHEEL_CALL_ADD ? size_of_add(t, add) : size;
}
