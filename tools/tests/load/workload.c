// SPDX-License-Identifier: GPL-2.0
/*
 * The three threads of the workload. See workload.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <twheel.h>

#include "interrupt.h"
#include "outcome.h"
#include "units.h"
#include "workload.h"

#define EVENT_BATCH	256

/* Events that are missing for the timeout and this time are lost. */
#define GRACE		(10 * NSEC_PER_SEC)

/* The first word of a key distinguishes shared keys from keys of a single request. */
enum key_kind {
	KEY_SHARED,
	KEY_OWN,
};

static struct twheel_key make_key(enum key_kind kind, __u64 number)
{
	return (struct twheel_key){ .v = { kind, number } };
}

/* Maximum time until a thread notices an interrupt. */
#define NOTICE		(100 * NSEC_PER_MSEC)

static void sleep_until(struct workload *w, __u64 time)
{
	for (__u64 now = now_ns(); now < time && !w->interrupted; now = now_ns()) {
		struct timespec until = to_timespec(time - now > NOTICE ? now + NOTICE : time);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}

/*
 * The adding thread
 */

/* Return: the number of keys. */
static __u32 fill_keys(struct workload *w, struct twheel_watch_spec *specs, size_t request)
{
	__u64 space = w->options->key_space_size, nr = w->options->keys, first = 0;

	if (nr > space)
		nr = space;
	if (nr)
		first = next_index(&w->samples, space);
	for (__u64 i = 0; i < nr; i++) {
		specs[i] = (struct twheel_watch_spec){
			.key = make_key(KEY_SHARED, (first + i) % space),
			.need = TWHEEL_MAX_NEED,
		};
	}
	specs[nr] = (struct twheel_watch_spec){
		.key = make_key(KEY_OWN, request),
		.need = 1,
	};
	return nr + 1;
}

/* Return: false on an error other than a limit. */
static bool add_request(struct workload *w, size_t request, __u64 latency)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_ANY,
		.deadline = w->options->timeout,
		.keys = (uintptr_t)specs,
		.cookie = request,
		.clock = CLOCK_MONOTONIC,
	};
	__u64 now;

	args.nr_keys = fill_keys(w, specs, request);
	for (;;) {
		now = now_ns();
		/* Must be set before the add: the event may be read before it returns. */
		w->account.requests[request].not_before = now + args.deadline;
		if (!twheel_add(w->fd, &args))
			break;
		if (errno != ENOSPC && errno != ENOBUFS)
			w->error = errno;
		/* After an error of any thread, the limit may never be lifted. */
		if (w->error || w->interrupted)
			return false;
		w->held_back++;
		sleep_until(w, now + NSEC_PER_MSEC);
	}

	w->added++;
	if (latency < w->options->timeout)
		put_due(&w->due, (struct due){
			.time = now + latency,
			.request = request,
			.id = args.id,
		});
	return true;
}

static void *add_requests(void *data)
{
	struct workload *w = data;
	__u64 start = now_ns();
	__u64 arrival = start;

	for (size_t i = 0; i < w->options->num && !w->error; i++) {
		__u64 latency = next_latency(&w->samples);

		arrival += next_interval(&w->samples);
		sleep_until(w, arrival);
		if (w->interrupted || !add_request(w, i, latency))
			break;
	}

	w->elapsed = now_ns() - start;
	w->all_added = true;
	close_due(&w->due);
	return NULL;
}

/*
 * The completing thread
 */

static bool complete_by_id(struct workload *w, const struct due *due)
{
	if (!twheel_complete(w->fd, due->id, request_value(due->request)))
		return true;
	if (errno != EALREADY)
		w->error = errno;
	return false;
}

static bool complete_by_key(struct workload *w, const struct due *due)
{
	unsigned int completed = 0;

	if (twheel_signal(w->fd, make_key(KEY_OWN, due->request),
			  request_value(due->request), &completed))
		w->error = errno;
	return completed;
}

static void *complete_requests(void *data)
{
	struct workload *w = data;
	struct due due;

	while (wait_due(&w->due, &due)) {
		bool completed = due.request % 2 ? complete_by_key(w, &due) :
						   complete_by_id(w, &due);

		w->account.requests[due.request].completed = completed;
		w->too_late += !completed;
	}
	return NULL;
}

/*
 * The reader
 */

/* Return: false if the device cannot be read. */
static bool read_events(struct workload *w)
{
	struct twheel_event events[EVENT_BATCH];
	ssize_t nr;

	while ((nr = twheel_read_events(w->fd, events, EVENT_BATCH)) > 0) {
		__u64 seen = now_ns();

		for (ssize_t i = 0; i < nr; i++)
			account_event(&w->account, &events[i], seen);
	}
	if (nr < 0 && errno != EAGAIN && errno != EINTR) {
		w->error = errno;
		return false;
	}
	return true;
}

static void print_progress(const struct workload *w, __u64 since_start)
{
	const struct account *a = &w->account;
	size_t added = w->added;

	fprintf(stderr,
		"%3llu s: added %zu of %llu, completed %zu, expired %zu, pending %zu\n",
		since_start / NSEC_PER_SEC, added, w->options->num,
		a->ended[TWHEEL_REASON_COMPLETED], a->ended[TWHEEL_REASON_EXPIRED],
		added > a->reported ? added - a->reported : 0);
}

static void wait_for_events(struct workload *w)
{
	struct timespec timeout = to_timespec(NOTICE);
	struct pollfd poll_fd = { .fd = w->fd, .events = POLLIN };

	wait_or_interrupt(&poll_fd, 1, &timeout);
	if (interrupted())
		w->interrupted = true;
}

/*
 * Returns when every request has an event, when the missing events are lost, or after an
 * interrupt.
 */
static void read_to_the_end(struct workload *w)
{
	__u64 start = now_ns();
	__u64 next_line = start + NSEC_PER_SEC;
	__u64 last_change = start;
	size_t reported = 0;

	while (!w->interrupted && (!w->all_added || w->account.reported < w->added)) {
		__u64 now;

		wait_for_events(w);
		if (!read_events(w))
			break;

		now = now_ns();
		if (now >= next_line) {
			print_progress(w, now - start);
			next_line += NSEC_PER_SEC;
		}
		if (!w->all_added || w->account.reported != reported)
			last_change = now;
		if (now > last_change + w->options->timeout + GRACE)
			break;
		reported = w->account.reported;
	}
}

static bool query_left(struct workload *w)
{
	struct twheel_query_args query;

	if (twheel_query(w->fd, &query))
		return false;
	w->left = query.pending + query.unread + query.keys + query.watches;
	return true;
}

enum outcome run_workload(struct workload *w, const struct workload_options *options)
{
	pthread_t adder, completer;

	*w = (struct workload){ .options = options };
	w->fd = twheel_open(O_NONBLOCK);
	if (w->fd < 0)
		return open_failure(TWHEEL_DEVICE);
	init_account(&w->account, options->num);
	init_due(&w->due);
	init_samples(&w->samples, options->seed, options->rate, options->pct50,
		     options->pct75);

	errno = pthread_create(&completer, NULL, complete_requests, w);
	if (errno)
		return device_failure("thread");
	errno = pthread_create(&adder, NULL, add_requests, w);
	if (errno)
		return device_failure("thread");

	read_to_the_end(w);
	pthread_join(adder, NULL);
	if (w->interrupted)
		drop_due(&w->due);
	pthread_join(completer, NULL);
	w->account.interrupted = w->interrupted;

	/* Read once more, to find duplicate events. */
	if (!read_events(w) || w->error || !query_left(w)) {
		errno = w->error ? w->error : errno;
		return device_failure("the workload");
	}
	close_account(&w->account, w->added);
	return OUTCOME_OK;
}

void free_workload(struct workload *w)
{
	close(w->fd);
	free_account(&w->account);
	free_due(&w->due);
}
