// SPDX-License-Identifier: GPL-2.0
/*
 * Selection of sequences: new ones, and mutations of kept ones.
 *
 * A sequence is kept if it caused a transition between two PCs of the module that no earlier
 * sequence had caused.  Writers and readers may be killed at any time, so there is no lock: a
 * partly written sequence is just another sequence.
 */
#include <string.h>

#include "fuzz.h"

#define NR_KEPT		4096

static struct corpus {
	unsigned long nr;
	struct sequence kept[NR_KEPT];
} *corpus;

static const struct {
	const char *name;
	unsigned int weight;	/* relative frequency among new steps */
} kinds[NR_KINDS] = {
	[KIND_WILD]			= { "wild ioctl", 6 },
	[TWHEEL_CALL_ADD]		= { "add", 110 },
	[TWHEEL_CALL_CANCEL]		= { "cancel", 24 },
	[TWHEEL_CALL_COMPLETE]		= { "complete", 24 },
	[TWHEEL_CALL_REARM]		= { "rearm", 28 },
	[TWHEEL_CALL_WATCH]		= { "watch", 26 },
	[TWHEEL_CALL_UNWATCH]		= { "unwatch", 26 },
	[TWHEEL_CALL_SIGNAL]		= { "signal", 44 },
	[TWHEEL_CALL_CANCEL_KEY]	= { "cancel_key", 10 },
	[TWHEEL_CALL_EXCHANGE]		= { "exchange", 10 },
	[TWHEEL_CALL_BATCH]		= { "batch", 40 },
	[TWHEEL_CALL_COMPLETE_ALL]	= { "complete_all", 5 },
	[TWHEEL_CALL_DRAIN]		= { "drain", 5 },
	[TWHEEL_CALL_EVENTS]		= { "events", 12 },
	[TWHEEL_CALL_CONFIRM]		= { "confirm", 8 },
	[TWHEEL_CALL_RESTRICT]		= { "restrict", 2 },
	[TWHEEL_CALL_INFO]		= { "info", 20 },
	[TWHEEL_CALL_LIST]		= { "list", 16 },
	[TWHEEL_CALL_QUERY]		= { "query", 12 },
	[TWHEEL_CALL_QUEUE]		= { "queue", 12 },
	[TWHEEL_CALL_CELLS]		= { "cells", 12 },
	[TWHEEL_CALL_CREATE]		= { "create", 14 },
	[TWHEEL_CALL_REMOVE]		= { "remove", 8 },
	[KIND_OPEN]			= { "open", 12 },
	[KIND_OPEN_NAMED]		= { "open named", 26 },
	[KIND_CLOSE]			= { "close", 12 },
	[KIND_DUP]			= { "dup", 3 },
	[KIND_READ]			= { "read", 50 },
	[KIND_POLL]			= { "poll", 10 },
	[KIND_EPOLL]			= { "epoll", 14 },
	[KIND_FCNTL]			= { "fcntl", 8 },
	[KIND_FORK]			= { "fork", 1 },
	[KIND_SEND]			= { "send", 3 },
	[KIND_RECEIVE]			= { "receive", 3 },
	[KIND_SHAKE]			= { "shake", 14 },
	[KIND_CLOCK]			= { "clock", 3 },
	[KIND_SLEEP]			= { "sleep", 8 },
	[KIND_MISC]			= { "misc", 10 },
	[KIND_LOOK]			= { "look", 4 },
	[KIND_OPEN_CONTROL]		= { "open control", 2 },
	[KIND_RING]			= { "ring", 14 },
	[KIND_STORE]			= { "store", 20 },
};

const char *kind_name(unsigned int kind)
{
	return kind < NR_KINDS && kinds[kind].name ? kinds[kind].name : "nothing";
}

static unsigned int some_kind(struct random *random)
{
	static unsigned int total;
	unsigned int kind, at;

	if (!total) {
		for (kind = 0; kind < NR_KINDS; kind++)
			total += kinds[kind].weight;
	}
	at = random_below(random, total);
	for (kind = 0; at >= kinds[kind].weight; kind++)
		at -= kinds[kind].weight;
	return kind;
}

/* Most calls use few files, valid memory and valid arguments. */
static void some_step(struct random *random, struct step *step)
{
	__u64 bytes = next_random(random);

	memcpy(step->arg, &bytes, sizeof(step->arg));
	step->seed = next_random(random);
	step->kind = some_kind(random);
	step->slot = random_below(random, random_below(random, 2) ? 3 : NR_SLOTS);
	step->place = random_below(random, 12) ? PLACE_PLAIN : random_below(random, NR_PLACES);
	step->oddity = random_below(random, 4) ? 0 : random_below(random, 256);
}

/* Create a sequence of random steps. */
void new_sequence(struct random *random, struct sequence *sequence)
{
	unsigned int i;

	sequence->nr = 1 + random_below(random, MAX_STEPS);
	for (i = 0; i < sequence->nr; i++)
		some_step(random, &sequence->steps[i]);
}

/* Return: false if no sequence has been kept. */
static bool old_sequence(struct random *random, struct sequence *sequence)
{
	unsigned long nr = __atomic_load_n(&corpus->nr, __ATOMIC_ACQUIRE);

	if (nr > NR_KEPT)
		nr = NR_KEPT;
	if (!nr)
		return false;
	*sequence = corpus->kept[random_below(random, nr)];
	if (sequence->nr > MAX_STEPS)
		sequence->nr = MAX_STEPS;
	return sequence->nr;
}

static void change_field(struct random *random, struct step *step)
{
	unsigned int choice = random_below(random, 12);

	switch (choice) {
	case 0:
		step->seed = next_random(random);
		break;
	case 1:
		step->oddity = random_below(random, 3) ? random_below(random, 256) : 0;
		break;
	case 2:
		step->place = random_below(random, NR_PLACES);
		break;
	case 3:
		step->slot = random_below(random, NR_SLOTS);
		break;
	default:
		step->arg[choice - 4] = next_random(random);
	}
}

/* Append the end of another kept sequence. */
static void join_sequence(struct random *random, struct sequence *sequence)
{
	struct sequence other;
	unsigned int from, at, nr;

	if (!old_sequence(random, &other))
		return;
	from = random_below(random, other.nr);
	at = random_below(random, sequence->nr + 1);
	nr = other.nr - from;
	if (nr > MAX_STEPS - at)
		nr = MAX_STEPS - at;
	memcpy(&sequence->steps[at], &other.steps[from], nr * sizeof(struct step));
	sequence->nr = at + nr;
}

static void insert(struct random *random, struct sequence *sequence)
{
	unsigned int at = random_below(random, sequence->nr + 1);

	if (sequence->nr == MAX_STEPS)
		return;
	memmove(&sequence->steps[at + 1], &sequence->steps[at],
		(sequence->nr - at) * sizeof(struct step));
	some_step(random, &sequence->steps[at]);
	sequence->nr++;
}

static void take_out(struct random *random, struct sequence *sequence)
{
	unsigned int at = random_below(random, sequence->nr);

	if (sequence->nr == 1)
		return;
	sequence->nr--;
	memmove(&sequence->steps[at], &sequence->steps[at + 1],
		(sequence->nr - at) * sizeof(struct step));
}

/* Change a few steps of @sequence, or their order. */
void change_sequence(struct random *random, struct sequence *sequence)
{
	unsigned int n = 1 + random_below(random, 4);

	while (n--) {
		switch (random_below(random, 6)) {
		case 0:
			join_sequence(random, sequence);
			break;
		case 1:
			insert(random, sequence);
			break;
		case 2:
			take_out(random, sequence);
			break;
		default:
			change_field(random,
				     &sequence->steps[random_below(random, sequence->nr)]);
		}
	}
}

/* Choose the next sequence of @t. */
void next_sequence(struct thread *t)
{
	if (!corpus || !random_below(&t->random, 4) || !old_sequence(&t->random, &t->now))
		new_sequence(&t->random, &t->now);
	else
		change_sequence(&t->random, &t->now);
}

/* Called before any other process exists. */
int corpus_init(void)
{
	corpus = share_alloc(sizeof(*corpus));
	return corpus ? 0 : -1;
}

void keep_sequence(const struct sequence *sequence)
{
	unsigned long nr = __atomic_fetch_add(&corpus->nr, 1, __ATOMIC_RELAXED);

	corpus->kept[nr % NR_KEPT] = *sequence;
}

unsigned long nr_kept(void)
{
	return corpus->nr;
}
