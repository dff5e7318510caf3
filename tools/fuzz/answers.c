// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of the kernel's output against the documentation in the header.
 *
 * The checks hold regardless of other processes: an operation has one last event, each queue
 * delivers its own events, reserved fields are zero, values are within bounds.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_EVENTS	64
#define MAX_PIECES	6	/* pieces of the buffer of a readv() */
#define CLOCK_ERROR	(20 * MSEC)	/* difference of two clocks read one after the other */

static bool bad_reason(const struct twheel_event *event)
{
	bool expired = event->reason == TWHEEL_REASON_EXPIRED;

	if (event->reason < TWHEEL_REASON_COMPLETED || event->reason > TWHEEL_REASON_CANCELLED ||
	    event->flags & ~(TWHEEL_EVENT_MORE | TWHEEL_EVENT_AGAIN) || bad_clock(event->clock))
		return true;
	if (event->flags & TWHEEL_EVENT_MORE &&
	    (!expired || event->satisfied || event->missing))
		return true;
	if (not_zero(event->spare, sizeof(event->spare)))
		return true;
	if (event->error > 0 || event->error < -4095 || (event->error && event->value))
		return true;
	return event->reason != TWHEEL_REASON_COMPLETED && event->value;
}

static bool bad_expiry(const struct twheel_event *event, unsigned int marks)
{
	if (event->reason != TWHEEL_REASON_EXPIRED)
		return !(marks & COOKIE_PERIODIC) && event->expirations;
	/* Any word may have been stored: one that is ended expires at once. */
	if (event->error || (event->deadline == TWHEEL_NEVER && !(marks & COOKIE_CELL)))
		return true;
	/* Earlier events may have reported all deadlines of a periodic operation. */
	if (!(marks & COOKIE_PERIODIC) && event->expirations != 1)
		return true;
	if (event->flags & TWHEEL_EVENT_MORE && !event->expirations)
		return true;
	return event->time < event->deadline && !(marks & COOKIE_CELL);
}

/*
 * Return: true if the event is in the future of the reader's time namespace. Not checked for
 * CLOCK_REALTIME, which may have been set back since.
 */
static bool too_late(const struct twheel_event *event)
{
	return event->clock != CLOCK_REALTIME && event->time > clock_ns(event->clock);
}

static void report_event(struct thread *t, const struct twheel_event *event, const char *message)
{
	char text[160];

	snprintf(text, sizeof(text), "reason %u flags %x error %d clock %u expirations %llu",
		 event->reason, event->flags, event->error, event->clock, event->expirations);
	failed(t, "%s: event id %llx cookie %llx value %llx deadline %llu time %llu %s", message,
	       event->id, event->cookie, event->value, event->deadline, event->time, text);
}

/* The descriptor may not confirm, or the next read of another thread has done so. */
static void confirm(struct thread *t, const struct view *view, const struct twheel_event *event)
{
	struct twheel_confirm_args args = { .id = event->id };
	int error = ioctl(view->fd, TWHEEL_IOC_CONFIRM, &args) ? errno : 0;

	count_step(TWHEEL_CALL_CONFIRM, !error);
	if (same_file(view) && error && error != EINVAL && error != ENOENT && error != EBUSY)
		report_event(t, event, strerror(error));
}

static void check_event(struct thread *t, const struct view *view, const struct twheel_event *event)
{
	unsigned int marks = COOKIE_PERIODIC | COOKIE_REALTIME | COOKIE_CELL;
	bool more = event->flags & TWHEEL_EVENT_MORE;
	bool realtime = event->clock == CLOCK_REALTIME;
	bool ours = cookie_is_ours(event->cookie);
	bool from_detached = view->type == FILE_EVENTS;
	bool detached;

	count_event();
	if (ours)
		marks = cookie_marks(event->cookie);
	detached = marks & COOKIE_DETACHED;
	if (!event->id || bad_reason(event))
		report_event(t, event, "invalid fields");
	else if (bad_expiry(event, marks) || (more && !(marks & COOKIE_PERIODIC)))
		report_event(t, event, "wrong expiry");
	else if (too_late(event))
		report_event(t, event, "in the future");
	if (ours && realtime != !!(marks & COOKIE_REALTIME))
		report_event(t, event, "of another clock");
	if (ours && event->cell && !(marks & COOKIE_CELL))
		report_event(t, event, "with a cell");
	if (ours && detached != from_detached)
		report_event(t, event, "in the wrong queue");
	if (!more)
		count_final(view);
	if (event->flags & TWHEEL_EVENT_AGAIN && !from_detached)
		report_event(t, event, "again from a queue that confirms none");
	if (!more && ours && !cookie_ended(event->cookie) && !(event->flags & TWHEEL_EVENT_AGAIN))
		report_event(t, event, cookie_was_refused(event->cookie) ?
			     "of an add that was refused" : "delivered twice");
	if (from_detached && one_in(t, 2))
		confirm(t, view, event);
}

/* Memory that is also changed by other threads does not show the kernel's output. */
static void check_events(struct thread *t, const struct view *view, const char *from, long nr,
			 unsigned int place)
{
	struct twheel_event event;
	long i;

	for (i = 0; i < nr; i++) {
		const char *at = from + i * sizeof(event);

		if (place == PLACE_SHAKY)
			set_all_unsure();
		else if (!try_load(&t->memory, &event, at, sizeof(event)))
			failed(t, "an event was delivered to memory that is not mapped");
		else
			check_event(t, view, &event);
	}
}

static bool read_may_fail(const struct view *view, size_t size, bool plain, int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
		return view->type != FILE_CONTROL;
	case EINVAL:
		return view->type == FILE_CONTROL || size < sizeof(struct twheel_event);
	case EBUSY:
		return view->type == FILE_EVENTS;
	case EFAULT:
		return !plain;
	case EBADF:
		return view->access == O_WRONLY;
	default:
		return false;
	}
}

/* Split the buffer into pieces of any size, including empty ones. */
static ssize_t read_pieces(struct thread *t, int fd, char *buffer, size_t size)
{
	struct iovec pieces[MAX_PIECES];
	unsigned int nr = 1 + random_below(&t->detail, MAX_PIECES), i;
	size_t used = 0;

	for (i = 0; i < nr; i++) {
		size_t part = i == nr - 1 ? size - used :
			      random_below(&t->detail, size - used + 1);

		pieces[i] = (struct iovec){ buffer + used, part };
		used += part;
	}
	return readv(fd, pieces, nr);
}

/* Read and check events. Return: the number of events, or an error. */
long read_events(struct thread *t, const struct view *view, void *buffer, size_t size,
		 unsigned int place, bool split)
{
	/* Signals are blocked during injection: allow it only for reads that cannot block. */
	bool failing = child->settling && inject(t), at_end, same;
	ssize_t got = split ? read_pieces(t, view->fd, buffer, size) : read(view->fd, buffer, size);
	int error = errno;

	failing = failing && injected(t);
	at_end = may_be_at_end(view);
	same = same_file(view);
	count_step(KIND_READ, got >= 0);
	if (!same)
		set_all_unsure();
	if (got < 0) {
		if (same && !read_may_fail(view, size, place == PLACE_PLAIN && !failing, error))
			failed(t, "read of %zu bytes: %s", size, strerror(error));
		return -error;
	}
	if (same && view->type == FILE_CONTROL)
		failed(t, "a read of the control node succeeded");
	else if (same && !got && !at_end && size)	/* a readv() of 0 bytes returns 0 */
		failed(t, "read returned 0 for a file that is not at its end");
	if (same && (got % sizeof(struct twheel_event) || (size_t)got > size))
		failed(t, "read returned %zd of %zu bytes", got, size);
	if (same)
		check_events(t, view, buffer, got / sizeof(struct twheel_event), place);
	return got / sizeof(struct twheel_event);
}

void step_read(struct thread *t)
{
	unsigned int place = draw(t, 4) ? PLACE_PLAIN : draw(t, NR_PLACES);
	unsigned int nr = 1 + (draw(t, MAX_EVENTS) >> draw(t, 6));
	size_t size = nr * sizeof(struct twheel_event);
	struct view view = one_in(t, 3) ? look_at_events(t) : look_at(t);
	void *buffer;

	if (one_in(t, 16))
		size = random_below(&t->detail, size);
	buffer = place_out(t, place, size);
	read_events(t, &view, buffer, size, place, one_in(t, 3));
}

/* Both times must be times of the caller's time namespace, during the call. */
static bool bad_times(const struct thread *t, const struct twheel_pending *pending)
{
	__u64 now = pending->deadline - pending->remaining;

	if (pending->clock == CLOCK_REALTIME || !pending->remaining ||
	    pending->deadline > INT64_MAX / 2)
		return false;
	return now + CLOCK_ERROR < t->began[pending->clock == CLOCK_BOOTTIME] ||
	       now > clock_ns(pending->clock) + CLOCK_ERROR;
}

static bool bad_pending(const struct thread *t, const struct trial *trial,
			const struct twheel_pending *pending)
{
	unsigned int i;

	if (!pending->id || pending->condition > TWHEEL_COND_SUM ||
	    bad_clock(pending->clock) ||
	    pending->nr_keys > TWHEEL_MAX_KEYS ||
	    pending->flags & ~(2U * TWHEEL_PENDING_ABSTIME - 1) ||
	    (pending->cell && !(pending->flags & TWHEEL_PENDING_CELL)) ||
	    (pending->flags & TWHEEL_PENDING_IDLE && !(pending->flags & TWHEEL_PENDING_CELL)) ||
	    pending->queue >= TWHEEL_MAX_QUEUES ||
	    (pending->queue && !(pending->flags & TWHEEL_PENDING_DETACHED)))
		return true;
	for (i = pending->nr_keys; i < TWHEEL_PENDING_KEYS; i++) {
		if (pending->keys[i].v[0] || pending->keys[i].v[1])
			return true;
	}
	if (!(pending->flags & (TWHEEL_PENDING_OWN | TWHEEL_PENDING_DETACHED)) && pending->cookie)
		return true;
	if (!(pending->flags & TWHEEL_PENDING_OWN) && trial->restricted)
		return true;
	return (pending->deadline == TWHEEL_NEVER) != (pending->remaining == TWHEEL_NEVER) ||
	       bad_times(t, pending);
}

static bool bad_list(struct thread *t, const struct trial *trial,
		     const struct twheel_list_args *args)
{
	const struct twheel_list_args *before = trial->args;
	size_t stride = before->entry_size;
	struct twheel_pending pending;
	unsigned int i;

	if (args->nr > before->max_entries)
		return true;
	for (i = 0; i < args->nr && (i + 1) * stride <= t->memory.out_size; i++) {
		const char *at = t->memory.out + i * stride;

		memcpy(&pending, at, sizeof(pending));
		if (bad_pending(t, trial, &pending) ||
		    not_zero(at + sizeof(pending), stride - sizeof(pending)))
			return true;
		if (!(before->flags & TWHEEL_LIST_OTHERS) &&
		    !(pending.flags & TWHEEL_PENDING_OWN))
			return true;
	}
	return false;
}

static bool bad_info(struct thread *t, const struct trial *trial)
{
	const struct twheel_info_args *info = trial->args;
	struct twheel_pending pending;

	memcpy(&pending, t->memory.results, sizeof(pending));
	return bad_pending(t, trial, &pending) || pending.id != info->id ||
	       not_zero(t->memory.results + sizeof(pending),
			info->entry_size - sizeof(pending));
}

static bool bad_query(const struct view *view, const struct twheel_query_args *args)
{
	char name[TWHEEL_NAME_SIZE] = "";

	if (view->name >= 0)
		name_of(view->name, name);
	return !args->files || args->own > args->max_file_pending || !args->tick_ns ||
	       args->pending > args->max_pending || strncmp(name, args->name, sizeof(name));
}

static bool bad_queue(const struct trial *trial, const struct twheel_queue_args *args)
{
	const struct twheel_queue_args *asked = trial->args;

	return args->queue < asked->queue || args->queue >= TWHEEL_MAX_QUEUES ||
	       (!args->unconfirmed && args->oldest_unconfirmed_ns);
}

static void check_add(struct thread *t, const struct view *view, const struct twheel_add_args *args)
{
	if (!args->id)
		failed(t, "an operation without an id");
	else
		remember_id(view, args->id);
}

/* Check @args, the output of the call described by @trial. */
void check_answer(struct thread *t, const struct view *view, const struct trial *trial,
		  const void *args)
{
	const struct twheel_signal_args *signal = args, *asked = trial->args;
	bool wrong = false;

	if (!trial->known_file || trial->odd_number)
		return;
	switch (trial->call) {
	case TWHEEL_CALL_ADD:
		check_add(t, view, args);
		break;
	case TWHEEL_CALL_SIGNAL:
		wrong = asked->limit && signal->completed > asked->limit;
		break;
	case TWHEEL_CALL_INFO:
		wrong = bad_info(t, trial);
		break;
	case TWHEEL_CALL_LIST:
		wrong = bad_list(t, trial, args);
		break;
	case TWHEEL_CALL_QUERY:
		wrong = bad_query(view, args);
		break;
	case TWHEEL_CALL_QUEUE:
		wrong = bad_queue(trial, args);
		break;
	case TWHEEL_CALL_BATCH:
		check_batch(t, view, trial, args);
		break;
	}
	if (wrong)
		failed(t, "%s returned invalid output", row_of(trial->call)->name);
}

static void check_result(struct thread *t, const struct view *view, const struct trial *batch,
			 const struct twheel_command *command, const struct twheel_result *result)
{
	unsigned int call = _IOC_NR(command->cmd), size = _IOC_SIZE(command->cmd), known;
	const struct twheel_call_row *row = row_of(call);
	struct trial trial = *batch;
	int error = -result->error;
	union call_args args = {};

	if (!row || !row->batch || (row->request ^ command->cmd) & ~IOCSIZE_MASK) {
		if (error != ENOTTY)
			failed(t, "call %x of a batch: %s", command->cmd, strerror(error));
		return;
	}
	known = _IOC_SIZE(row->request);
	memcpy(&args, command + 1, size < known ? size : known);
	trial.call = call;
	trial.args = &args;
	trial.stride = sizeof(struct twheel_watch_spec);
	trial.in_batch = true;
	trial.shorter = size < row->min_size;
	trial.longer = size > known;
	trial.tail = trial.longer && not_zero((char *)(command + 1) + known, size - known);
	trial.bad_spec = command->reserved;
	count_step(call, !error);
	if (call == TWHEEL_CALL_ADD && error && error != EFAULT)
		cookie_refused(args.add_args.cookie);
	if (call == TWHEEL_CALL_ADD && !error && result->value)
		remember_id(view, result->value);
	if (!error && (must_fail(&trial) || (call == TWHEEL_CALL_ADD && !result->value)))
		failed(t, "%s of a batch was not refused", row->name);
	trial.odd = t->step->oddity % 4 == 1;
	if (error && !may_fail(&trial, error))
		failed(t, "%s of a batch: %s", row->name, strerror(error));
}

/* Check a successful batch. */
void check_batch(struct thread *t, const struct view *view, const struct trial *trial,
		 const struct twheel_batch_args *args)
{
	const char *commands = (void *)(unsigned long)args->commands;
	const char *results = (void *)(unsigned long)args->results;
	const struct twheel_batch_args *asked = trial->args;
	const struct twheel_command *command;
	struct twheel_result result;
	__u32 i, wrong = 0;

	if (!args->done || args->done > asked->nr || args->failed > args->done) {
		failed(t, "%u of %u commands of a batch are done, %u failed", args->done, asked->nr,
		       args->failed);
		return;
	}
	/* The injected failure may be that of a copy of a result. */
	if (!results || trial->injected)
		return;
	for (i = 0; i < args->done; i++) {
		command = (const void *)commands;
		if (commands >= t->memory.in ||
		    commands + TWHEEL_COMMAND_SIZE(command->cmd) > t->memory.in)
			break;
		memcpy(&result, results, sizeof(result));
		if (result.reserved ||
		    not_zero(results + sizeof(result), asked->result_size - sizeof(result)))
			failed(t, "no zeroes after a result");
		check_result(t, view, trial, command, &result);
		wrong += !!result.error;
		commands += TWHEEL_COMMAND_SIZE(command->cmd);
		results += asked->result_size;
	}
	if (i == args->done && wrong != args->failed)
		failed(t, "%u commands of a batch failed, not %u", wrong, args->failed);
}
