// SPDX-License-Identifier: GPL-2.0
/*
 * Memory shared by all processes of the fuzzer: counts, failures, and the state of each
 * cookie.
 *
 * A cookie is used by one operation only, in all purgatories. A bit is set when its add was
 * refused or its last event was read: an event that finds the bit set was delivered twice, or
 * belongs to an operation that was never added. The cookie itself describes the operation,
 * and has a checksum: a cookie that was torn or zeroed, by a thread that maps memory anew, is
 * not ours.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

#define COOKIE_BITS	27	/* bits of the index: number of tracked operations */
#define MARK_BITS	4
#define MAX_PRINTED	20	/* failures printed with all details */
#define NR_MAILBOXES	2

/* Counts for each kind of step */
struct count {
	unsigned long ok;
	unsigned long failed;
};

static struct share {
	unsigned long next_cookie;
	unsigned long failures;
	unsigned long events;
	struct count counts[NR_KINDS];
	int mailboxes[NR_MAILBOXES][2];
	__u8 ended[1UL << (COOKIE_BITS - 3)];
	__u8 refused[1UL << (COOKIE_BITS - 3)];	/* of these */
} *share;

/* Allocate shared memory, inherited by all processes; pages are allocated on first use. */
void *share_alloc(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int share_init(void)
{
	int i;

	share = share_alloc(sizeof(*share));
	if (!share)
		return -1;
	for (i = 0; i < NR_MAILBOXES; i++) {
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, share->mailboxes[i]))
			return -1;
	}
	return 0;
}

/* Sockets to pass descriptors between any two processes. */
int *mailbox(unsigned int index)
{
	return share->mailboxes[index % NR_MAILBOXES];
}

static __u64 check_sum(__u64 value)
{
	return (value * 0x9e3779b97f4a7c15ULL) >> 40;
}

/* Return: an unused cookie, 0 if none is left. */
__u64 new_cookie(unsigned int marks)
{
	__u64 index = __atomic_add_fetch(&share->next_cookie, 1, __ATOMIC_RELAXED);
	__u64 value = index << MARK_BITS | marks;

	return index >> COOKIE_BITS ? 0 : value | check_sum(value) << 40;
}

bool cookie_is_ours(__u64 cookie)
{
	__u64 value = cookie & ((1ULL << 40) - 1);

	return cookie && cookie >> 40 == check_sum(value) &&
	       !(value >> (COOKIE_BITS + MARK_BITS));
}

unsigned int cookie_marks(__u64 cookie)
{
	return cookie & ((1 << MARK_BITS) - 1);
}

/* Return: true if it was already marked. */
static bool mark_cookie(__u8 *marks, __u64 cookie)
{
	__u64 index = (cookie & ((1ULL << 40) - 1)) >> MARK_BITS;
	__u8 bit = 1 << (index % 8);

	return __atomic_fetch_or(&marks[index / 8], bit, __ATOMIC_SEQ_CST) & bit;
}

/* No event may have this cookie. */
void cookie_refused(__u64 cookie)
{
	if (!cookie_is_ours(cookie))
		return;
	mark_cookie(share->refused, cookie);
	if (mark_cookie(share->ended, cookie))
		failed(NULL, "event of an add that was refused, cookie %llx", cookie);
}

/* Its last event was read. Return: true for the first time. */
bool cookie_ended(__u64 cookie)
{
	return !mark_cookie(share->ended, cookie);
}

/* After its event was not the first one. */
bool cookie_was_refused(__u64 cookie)
{
	return mark_cookie(share->refused, cookie);
}

void count_step(unsigned int kind, bool ok)
{
	struct count *count = &share->counts[kind];

	__atomic_add_fetch(ok ? &count->ok : &count->failed, 1, __ATOMIC_RELAXED);
}

unsigned long nr_calls(void)
{
	unsigned long total = 0;
	unsigned int kind;

	for (kind = 0; kind < NR_KINDS; kind++)
		total += share->counts[kind].ok + share->counts[kind].failed;
	return total;
}

void tell_counts(void)
{
	unsigned int kind;

	for (kind = 0; kind < NR_KINDS; kind++) {
		const struct count *count = &share->counts[kind];

		if (count->ok || count->failed)
			printf("  %-14s %9lu done %9lu refused\n", kind_name(kind), count->ok,
			       count->failed);
	}
}

void count_event(void)
{
	__atomic_add_fetch(&share->events, 1, __ATOMIC_RELAXED);
}

unsigned long nr_events(void)
{
	return share->events;
}

void tell_steps(const struct step *step, unsigned int nr)
{
	for (; nr; step++, nr--) {
		const __u8 *arg = step->arg;

		printf("  %-12s slot %u place %u oddity %-3u seed %08x",
		       kind_name(step->kind), step->slot % NR_SLOTS, step->place % NR_PLACES,
		       step->oddity, step->seed);
		printf(" arg %u %u %u %u %u %u %u %u\n", arg[0], arg[1], arg[2], arg[3],
		       arg[4], arg[5], arg[6], arg[7]);
	}
}

/* The steps up to the current one; all if that is a copy. */
static void tell_sequence(const struct thread *t)
{
	size_t at = t->step - t->now.steps;

	tell_steps(t->now.steps, at < t->now.nr ? at + 1 : t->now.nr);
}

/* Print a failure, with the current sequence of @t, if any. */
void failed(struct thread *t, const char *format, ...)
{
	unsigned long before = __atomic_fetch_add(&share->failures, 1, __ATOMIC_SEQ_CST);
	va_list args;

	if (before >= MAX_PRINTED)
		return;
	flockfile(stdout);
	va_start(args, format);
	printf("twheel_fuzz: wrong: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	if (t && t->step)
		tell_sequence(t);
	fflush(stdout);
	funlockfile(stdout);
}

unsigned long nr_failures(void)
{
	return share->failures;
}
