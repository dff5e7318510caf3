// SPDX-License-Identifier: GPL-2.0
/*
 * The jobs of make bench PLACES=peers for contenders in C. A program is this file, a contender of
 * tools/bench/bench.h called "peer", and its library. Jobs.java and jobs.py are the same
 * for other languages.
 *
 *	JOB PENDING OPERATIONS SECONDS
 *
 *	timeouts	cancel a random timeout, add another; delays of 1 to 10 minutes
 *	sessions	a heartbeat: move the deadline of a random session to 30 s from now
 *	quorum		signal two of the three keys of a random wait, which completes it, and add
 *			another wait with keys of its own
 *	any		likewise, but the first signal completes the wait
 *	heartbeat_given	as sessions, but the time is that of the last round of the event loop
 *	timeout_given	cancel a random timeout, add another, with such a time
 *
 * In the last two all deadlines are five minutes ahead: it may take long to add a million.
 *
 * PENDING items are pending all the time. The figures of each job:
 *
 *	cpu		CPU time of the process per step, after a quarter of the steps as a warm-up.
 *			It includes all threads. It is the elapsed time if the kernel does the work,
 *			and with the time given.
 *	bytes		growth of the process, or of a kernel that does the work, per pending item
 *	late_*		from the deadline to the callback. Each millisecond, a timeout of 50 ms is
 *			added.
 *	wakeups		context switches per second while nothing is due
 *	system_call	a system call that does nothing, if the kernel does the work
 *	clock		reading the clock, otherwise
 *
 * The measurement fails if an item ends twice, never, not for its reason, or early by more than
 * EARLY_NS. A contender without keys gets a hash table for them here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "peers.h"

#define LATE_NS		(50 * NSEC_PER_MSEC)
#define SESSION_NS	(30 * NSEC_PER_SEC)
#define GIVEN_NS	(300 * NSEC_PER_SEC)
#define EARLY_NS	(10 * NSEC_PER_MSEC)
#define LOST_NS		(10 * NSEC_PER_SEC)
#define KEYS		3

/* The kernel's memory is counted in free pages, some of which it keeps for itself. */
#define LEAST_IN_KERNEL	100000

/* Steps between two rounds of the event loop, which cost less than 1 ns if the time is given. */
#define ROUND		1024
#define ROUND_GIVEN	65536

/* A watch of a key: the entry of the hash table for contenders without keys. */
struct watch {
	uint64_t	key;
	uint32_t	op;
	struct watch	*next;
};

/**
 * struct wait - the keys of an operation
 * @key: its first key; the others follow
 * @missing: number of signals until it completes
 */
struct wait {
	uint64_t	key;
	uint32_t	missing;
};

static struct session session;
static struct wait *waits;
static struct watch *watches, **table;
static unsigned int need, nr_late, pending;
static uint64_t table_mask, next_key, completions;
static int64_t *late;
static const char *job;
static bool heartbeats, given;

/* The time at which the deadlines of a call were computed, for contenders that want delays. */
uint64_t peer_now;

void failure(const char *format, ...)
{
	va_list args;

	fputs("FAILURE: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

static void check(int error, const char *doing)
{
	if (error)
		failure("%s: %s: error %d", peer.name, doing, error);
}

static void report(const char *figure, const char *unit, double value)
{
	printf("sample suite=peers case=%s of=%s what=%s pending=%u unit=%s value=%.2f\n", job,
	       peer.name, figure, pending, unit, value);
}

/* Only the timeouts of 50 ms expire. */
int expired(struct session *s, uint64_t number, uint64_t now)
{
	struct op *op = &s->ops[number];

	if (number < pending || number >= s->nr || op->state != OP_PENDING)
		failure("%s: item %llu is not due", peer.name, (unsigned long long)number);
	if (now + EARLY_NS < op->deadline)
		failure("%s: early by more than 10 ms", peer.name);
	op->state = OP_EXPIRED;
	late[s->expired++] = now - op->deadline;
	return 0;
}

int ended(struct session *s, uint64_t number)
{
	if (number >= s->nr || s->ops[number].state != OP_PENDING)
		failure("%s: item %llu is not pending", peer.name, (unsigned long long)number);
	s->ops[number].state = OP_IDLE;
	completions++;
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	if (peer_traits.in_kernel || given)
		return now_ns();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static uint64_t memory_used(void)
{
	unsigned long long pages = 0;
	struct sysinfo info;
	FILE *file;

	if (peer_traits.in_kernel) {
		sysinfo(&info);
		return (info.totalram - info.freeram) * info.mem_unit;
	}
	file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%*s %llu", &pages) != 1)
		failure("cannot read /proc/self/statm");
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

/* Context switches of all threads, or of the machine. */
static uint64_t switches(void)
{
	struct rusage usage;
	unsigned long long nr = 0;
	char line[64];
	FILE *file;

	if (!peer_traits.in_kernel) {
		getrusage(RUSAGE_SELF, &usage);
		return usage.ru_nvcsw;
	}
	file = fopen("/proc/stat", "r");
	while (file && fscanf(file, "%63s%*[^\n0-9]%llu%*[^\n]", line, &nr) >= 1)
		if (!strcmp(line, "ctxt"))
			break;
	if (!file || strcmp(line, "ctxt"))
		failure("cannot read /proc/stat");
	fclose(file);
	return nr;
}

static void cancel(const uint32_t *numbers, unsigned int nr)
{
	check(peer.cancel(&session, numbers, nr), "cancel");
	if (peer.settle)
		check(peer.settle(&session, nr), "settle");
}

static struct watch **bucket(uint64_t key)
{
	return &table[(key * 0x9e3779b97f4a7c15ULL >> 20) & table_mask];
}

static void watch_keys(uint32_t number)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		struct watch *watch = &watches[KEYS * number + i];
		struct watch **head = bucket(waits[number].key + i);

		*watch = (struct watch){ waits[number].key + i, number, *head };
		*head = watch;
	}
}

static void unwatch_keys(uint32_t number)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		struct watch *watch = &watches[KEYS * number + i];
		struct watch **at = bucket(watch->key);

		while (*at != watch)
			at = &(*at)->next;
		*at = watch->next;
	}
}

static void signal_in_table(uint64_t key)
{
	struct watch *watch = *bucket(key);
	uint32_t number;

	while (watch && watch->key != key)
		watch = watch->next;
	if (!watch)
		failure("nobody watches key %llu", (unsigned long long)key);
	number = watch->op;
	if (--waits[number].missing)
		return;
	unwatch_keys(number);
	cancel(&number, 1);
}

static void add_some(const uint32_t *numbers, unsigned int nr)
{
	uint64_t keys[LARGE_BATCH];

	if (!given)
		peer_now = now_ns();
	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &session.ops[numbers[i]];

		op->state = OP_PENDING;
		op->deadline = given ? peer_now + GIVEN_NS :
			       heartbeats ? peer_now + SESSION_NS : mixed_deadline(peer_now);
		if (!need)
			continue;
		waits[numbers[i]] = (struct wait){ next_key, need };
		keys[i] = next_key;
		next_key += KEYS;
		if (!peer_traits.watch)
			watch_keys(numbers[i]);
	}
	check(need && peer_traits.watch ?
	      peer_traits.watch(&session, numbers, keys, nr, need) :
	      peer.add(&session, numbers, nr), "add");
}

static void fill(void)
{
	uint32_t numbers[LARGE_BATCH];
	unsigned int nr;

	for (unsigned int i = 0; i < pending; i += nr) {
		peer_now = now_ns();
		for (nr = 0; nr < peer.batch && i + nr < pending; nr++)
			numbers[nr] = i + nr;
		add_some(numbers, nr);
	}
}

static void move(const uint32_t *numbers, unsigned int nr)
{
	if (!given)
		peer_now = now_ns();
	for (unsigned int i = 0; i < nr; i++)
		session.ops[numbers[i]].deadline = peer_now + (given ? GIVEN_NS : SESSION_NS);
	check(peer.rearm(&session, numbers, nr), "rearm");
}

static void end(const uint32_t *numbers, unsigned int nr)
{
	uint64_t keys[LARGE_BATCH], before = completions;
	unsigned int i, j;

	for (j = 0; j < need; j++) {
		for (i = 0; i < nr; i++) {
			keys[i] = waits[numbers[i]].key + j;
			if (!peer_traits.watch)
				signal_in_table(keys[i]);
		}
		if (peer_traits.watch)
			check(peer_traits.signal(&session, keys, nr), "signal");
	}
	if (!need)
		cancel(numbers, nr);
	else if (peer.settle)
		check(peer.settle(&session, nr), "settle");
	if (completions - before != nr)
		failure("%s: %llu of %u items ended", peer.name,
			(unsigned long long)(completions - before), nr);
}

/* A batch of different items; a contender without batches has one item in each call. */
static void step(unsigned int nr)
{
	uint32_t numbers[LARGE_BATCH];

	for (unsigned int i = 0; i < nr; i++) {
		/* A division would take longer than a heartbeat. */
		uint32_t part = nr == 1 ? pending : pending / nr;

		numbers[i] = i * part + random_below(part);
	}
	if (heartbeats) {
		move(numbers, nr);
		return;
	}
	end(numbers, nr);
	add_some(numbers, nr);
}

static uint64_t steps(unsigned int operations)
{
	const unsigned int round = given ? ROUND_GIVEN : ROUND;
	unsigned int done = 0, left = round;

	while (done < operations) {
		step(peer.batch);
		done += peer.batch;
		left -= peer.batch;
		if (!left) {
			check(peer.take(&session, 0), "take");
			peer_now = now_ns();
			left = round;
		}
	}
	return done;
}

static void add_late(uint32_t number)
{
	peer_now = now_ns();
	session.ops[number].deadline = peer_now + LATE_NS;
	session.ops[number].state = OP_PENDING;
	check(peer.add(&session, &number, 1), "add");
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Each timeout has a twin that is cancelled: if it expires, it is not pending. */
static void measure_late(void)
{
	uint64_t due = now_ns();
	uint32_t number = pending, twin = pending + nr_late;

	while (session.expired < nr_late) {
		for (; twin < session.nr && now_ns() >= due; due += NSEC_PER_MSEC) {
			add_late(number++);
			add_late(twin);
			cancel(&twin, 1);
			twin++;
		}
		check(peer.take(&session, 1), "take");
		if (now_ns() > due + LOST_NS)
			failure("%s: %u of %u timeouts expired", peer.name, session.expired,
				nr_late);
	}
	qsort(late, nr_late, sizeof(*late), by_value);
	report("late_p50", "us", late[nr_late / 2] / 1e3);
	report("late_p99", "us", late[nr_late * 99 / 100] / 1e3);
}

static void idle(double seconds)
{
	uint64_t start = now_ns(), nr = switches(), now;

	do {
		check(peer.take(&session, seconds * 1e3), "take");
		now = now_ns();
	} while (now - start < seconds * NSEC_PER_SEC);
	seconds = (now - start) / 1e9;
	/* Without the wake-up that ends the measurement. */
	nr = switches() - nr;
	report("wakeups", "per_second", nr ? (nr - 1) / seconds : 0);
}

/* To tell how much of the other figures system calls, or readings of the clock, are. */
static void measure_overhead(void)
{
	const unsigned int nr = peer_traits.in_kernel ? 1000 : 100000;
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < nr; i++) {
		if (peer_traits.in_kernel)
			syscall(SYS_getppid);
		else
			now_ns();
	}
	report(peer_traits.in_kernel ? "system_call" : "clock", "ns",
	       (double)(now_ns() - start) / nr);
}

/* In memory that counts as used from now on. */
static void *zeroed(size_t nr, size_t size)
{
	void *memory = mmap(NULL, nr * size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		failure("out of memory");
	return memory;
}

int main(int argc, char **argv)
{
	unsigned int operations;
	uint64_t start, done;
	double seconds;

	if (argc != 5)
		failure("usage: JOB PENDING OPERATIONS SECONDS");
	setvbuf(stdout, NULL, _IOLBF, 0);
	job = argv[1];
	pending = atoi(argv[2]);
	operations = atoi(argv[3]);
	seconds = atof(argv[4]);
	given = strstr(job, "_given");
	heartbeats = !strcmp(job, "sessions") || !strcmp(job, "heartbeat_given");
	need = !strcmp(job, "quorum") ? 2 : !strcmp(job, "any");
	nr_late = seconds * 1000;
	session = (struct session){ .contender = &peer, .nr = pending + 2 * nr_late };
	session.ops = zeroed(session.nr, sizeof(*session.ops));
	late = zeroed(nr_late, sizeof(*late));
	waits = zeroed(pending, sizeof(*waits));
	check(peer.open(&session), "open");

	start = memory_used();
	peer_now = now_ns();
	if (need && !peer_traits.watch) {
		for (table_mask = 1; table_mask < KEYS * pending; table_mask *= 2)
			;
		table = zeroed(table_mask--, sizeof(*table));
		watches = zeroed(KEYS * pending, sizeof(*watches));
	}
	fill();
	if (!peer_traits.in_kernel || pending >= LEAST_IN_KERNEL)
		report("bytes", "bytes", ((double)memory_used() - start) / pending);

	steps(operations / 4);
	start = cpu_ns();
	done = steps(operations);
	report("cpu", "ns", (double)(cpu_ns() - start) / done);
	/* The cost of a few nanoseconds is all that those with the time given are for. */
	if (!given) {
		measure_late();
		idle(seconds);
	}
	measure_overhead();
	peer.close(&session);
	puts("end suite=peers");
	return 0;
}
