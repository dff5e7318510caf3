// SPDX-License-Identifier: GPL-2.0
/*
 * Cache lines that each call fetches while many timers or operations are pending; no time is
 * measured. kernel/count.c has the model of the cache, and lists what is not counted. The cache
 * has a line for every 25 objects.
 *
 * There are two sets of nr= objects, each object in lines of its own. One set is pending, with
 * delays between 1 ms and 10 min. For each object in it, in random order, the object is cancelled,
 * and one of the other set is added, so that the number of pending ones is constant and each call
 * is on an object that was not touched for long. "rearm" sets another random delay, and
 * "rearm_later" one that is longer by 1 s. Then the clock is set behind all deadlines. A figure
 * of "expire" includes everything that the alarm and the reaper do, but no resize of the hash
 * table of the keys: nr/4 other operations stay pending then.
 *
 * The same for operations with and without keys; "signal" completes the operation by its first
 * key. "life" is an add and what ends it. timer_list is the kernel's own code, see timer_list.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rig/count.h>

#include "program.h"
#include "timer_list.h"

#define LINE		64
#define DELAY_MAX	(600 * NSEC_PER_SEC)
#define LATER		NSEC_PER_SEC
#define NEVER		(365 * 86400 * NSEC_PER_SEC)
#define KEYS_MAX	3

static unsigned int nr;
static unsigned int fired;
static u64 random_state = 1;

static struct twheel_purgatory *purgatory;

/* Objects of the caller: one timer of a kind, or an operation with its watches */
struct object {
	union {
		struct twheel_timer timer;
		char timer_list[TIMER_LIST_SIZE];
		struct twheel_op op;
	};
	struct twheel_watch watch[KEYS_MAX];
	u64 delay;
} __aligned(LINE);

/* @pending, @idle, and operations that keep the size of the hash table while others expire */
static struct object *objects, *pending, *idle, *others;
static unsigned int *order;

static u64 random_below(u64 limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 16) % limit;
}

static u64 random_delay(void)
{
	return NSEC_PER_MSEC + random_below(DELAY_MAX - NSEC_PER_MSEC);
}

/* timers */

static void fn(struct twheel_timer *timer)
{
	fired++;
}

static void timer_init(struct object *object)
{
	twheel_timer_init(&object->timer, twheel_system(), fn);
}

static void timer_add(struct object *object)
{
	expect(!twheel_timer_add(&object->timer, twheel_deadline(object->delay)), "add");
}

static void timer_cancel(struct object *object)
{
	expect(!twheel_timer_cancel(&object->timer), "cancel");
}

static void timer_rearm(struct object *object)
{
	expect(twheel_timer_rearm(&object->timer, twheel_deadline(object->delay),
				  TWHEEL_REARM_ALWAYS) == 1, "rearm");
}

/* The alarm removes a few buckets at a time that re-arms have emptied, with gaps of 50 us. */
static void advance(void)
{
	unsigned int i;

	rig_clock_advance(DELAY_MAX + 2 * LATER);
	for (i = 0; i < 100 && fired < nr; i++)
		rig_clock_advance(NSEC_PER_MSEC / 10);
}

/* timer_list */

static void list_fn(void *timer)
{
	fired++;
}

static void list_init(struct object *object)
{
	timer_list_init(object->timer_list, list_fn);
}

static void list_mod(struct object *object)
{
	timer_list_mod(object->timer_list, DIV_ROUND_UP(object->delay, TICK_NSEC));
}

static void list_cancel(struct object *object)
{
	timer_list_cancel(object->timer_list);
}

/* Its granularity is an eighth of the delay. */
static void list_advance(void)
{
	timer_list_advance((DELAY_MAX + 2 * LATER) / TICK_NSEC * 9 / 8);
}

/* Operations */

static unsigned int nr_keys;

static void ended(struct twheel_op *op)
{
	fired++;
}

static void release(struct twheel_op *op)
{
}

static const struct twheel_op_ops op_ops = { .ended = ended, .release = release };

static struct twheel_key key_of(const struct object *object, unsigned int i)
{
	return (struct twheel_key) { { object - objects, i } };
}

static void op_init(struct object *object)
{
}

static void op_add(struct object *object)
{
	struct twheel_watch_spec specs[KEYS_MAX] = { };
	struct twheel_op_args args = {
		.deadline = twheel_deadline(object->delay), .specs = specs,
		.watches = object->watch, .nr_keys = nr_keys,
		.condition = nr_keys ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
	};
	unsigned int i;

	for (i = 0; i < nr_keys; i++)
		specs[i].key = key_of(object, i);
	twheel_op_init(&object->op, &op_ops);
	expect(!twheel_op_add(purgatory, &object->op, &args), "twheel_op_add");
}

static void op_complete(struct object *object)
{
	expect(!twheel_op_complete(&object->op, 0), "twheel_op_complete");
	twheel_op_put(&object->op);
}

static void op_signal(struct object *object)
{
	struct twheel_key key = key_of(object, 0);

	expect(twheel_signal(purgatory, &key, 1, 0) == 1, "twheel_signal");
	twheel_op_put(&object->op);
}

static const struct kind {
	const char *name;
	const char *of;
	void (*init)(struct object *object);
	void (*add)(struct object *object);
	void (*rearm)(struct object *object);
	void (*advance)(void);
	unsigned int nr_keys;
	struct {
		const char *name;
		void (*call)(struct object *object);
	} end[2];
} kinds[] = {
	{ "timer", "twheel", timer_init, timer_add, timer_rearm, advance, 0,
	  { { "cancel", timer_cancel } } },
	{ "timer", "timer_list", list_init, list_mod, list_mod, list_advance, 0,
	  { { "cancel", list_cancel } } },
	{ "op_keys0", "twheel", op_init, op_add, NULL, advance, 0,
	  { { "complete", op_complete } } },
	{ "op_keys1", "twheel", op_init, op_add, NULL, advance, 1,
	  { { "complete", op_complete }, { "signal", op_signal } } },
	{ "op_keys3", "twheel", op_init, op_add, NULL, advance, 3,
	  { { "complete", op_complete }, { "signal", op_signal } } },
};

static void sample(const struct kind *kind, const char *what, double value)
{
	printf("sample suite=lines case=%s of=%s what=%s ", kind->name, kind->of, what);
	printf("pending=%u unit=lines value=%.4f\n", nr, value);
}

static void shuffle(void)
{
	unsigned int i, other;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr - 1; i; i--) {
		other = random_below(i + 1);
		swap(order[i], order[other]);
	}
}

/* Return: the lines that a call of @fn fetches, in all threads. */
static u64 lines_of(void (*fn)(struct object *object), struct object *object)
{
	u64 before = rig_counts.cold;

	fn(object);
	rig_settle();
	return rig_counts.cold - before;
}

static double pass_rearm(const struct kind *kind, bool later)
{
	struct object *object;
	unsigned int i;
	u64 sum = 0;

	shuffle();
	for (i = 0; i < nr; i++) {
		object = &pending[order[i]];
		object->delay = later ? object->delay + LATER : random_delay();
		sum += lines_of(kind->rearm, object);
	}
	return (double)sum / nr;
}

/* End each of the pending objects, and add one that is not pending. */
static void pass_replace(const struct kind *kind, void (*end)(struct object *object),
			 double *adds, double *ends)
{
	unsigned int i;

	shuffle();
	*adds = *ends = 0;
	for (i = 0; i < nr; i++) {
		*ends += lines_of(end, &pending[order[i]]);
		idle[order[i]].delay = random_delay();
		*adds += lines_of(kind->add, &idle[order[i]]);
	}
	*adds /= nr;
	*ends /= nr;
	swap(pending, idle);
}

static void run(const struct kind *kind)
{
	double add, end;
	unsigned int i;
	char name[32];
	u64 before;

	nr_keys = kind->nr_keys;
	pending = objects;
	idle = objects + nr;
	others = objects + 2 * nr;
	for (i = 0; i < 2 * nr; i++)
		kind->init(&objects[i]);
	for (i = 0; i < nr; i++) {
		pending[i].delay = random_delay();
		lines_of(kind->add, &pending[i]);
	}
	/* The first pass shuffles the buckets. */
	pass_replace(kind, kind->end[0].call, &add, &end);
	for (i = 0; i < ARRAY_SIZE(kind->end) && kind->end[i].name; i++) {
		pass_replace(kind, kind->end[i].call, &add, &end);
		if (!i)
			sample(kind, "add", add);
		sample(kind, kind->end[i].name, end);
		snprintf(name, sizeof(name), "life_%s", kind->end[i].name);
		sample(kind, name, add + end);
	}
	if (kind->rearm) {
		sample(kind, "rearm", pass_rearm(kind, false));
		sample(kind, "rearm_later", pass_rearm(kind, true));
	}
	for (i = 0; nr_keys && i < nr / 4; i++) {
		others[i].delay = NEVER;
		op_add(&others[i]);
	}
	fired = 0;
	before = rig_counts.cold;
	kind->advance();
	expect(fired == nr, "not all have expired");
	sample(kind, "expire", (double)(rig_counts.cold - before) / nr);
	rig_settle();
	for (i = 0; kind->add == op_add && i < nr; i++)
		twheel_op_put(&pending[i].op);
	for (i = 0; nr_keys && i < nr / 4; i++)
		op_complete(&others[i]);
}

int main(int argc, char **argv)
{
	unsigned int i;

	nr = program_option(argv, "nr", 100000);
	rig_cache = nr / 25;
	program_start(2, 1);
	timer_list_start();
	purgatory = program_purgatory(2 * nr);
	objects = aligned_alloc(LINE, 9UL * nr / 4 * sizeof(*objects));
	order = calloc(nr, sizeof(*order));
	expect(objects && order, "memory");
	rig_works_hold(true);
	rig_count_start(true);
	printf("begin suite=lines pending=%u\n", nr);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		run(&kinds[i]);
	printf("end suite=lines\n");
	rig_works_hold(false);
	twheel_purgatory_destroy(purgatory);
	return program_end();
}
