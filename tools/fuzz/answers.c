// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel answers, held against what the header promises.
 *
 * Only what no other process can have changed meanwhile is held to be wrong: an event is
 * the last of its operation at most once, whoever reads it; what must be zero is; what
 * must be within bounds is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define EVENT_ROOM	64

static bool bad_reason(const struct twheel_event *event)
{
	bool expired = event->reason == TWHEEL_EXPIRED;

	if (event->reason < TWHEEL_COMPLETED || event->reason > TWHEEL_CANCELLED ||
	    event->flags & ~TWHEEL_EVENT_MORE || event->reserved)
		return true;
	if (event->flags & TWHEEL_EVENT_MORE && !expired)
		return true;
	if (event->error > 0 || event->error < -4095 || (event->error && event->value))
		return true;
	return event->reason != TWHEEL_COMPLETED && event->value;
}

static bool bad_expiry(const struct twheel_event *event, unsigned int marks)
{
	if (event->reason != TWHEEL_EXPIRED)
		return !(marks & COOKIE_PERIODIC) && event->expirations;
	if (event->error || event->deadline == TWHEEL_NEVER)
		return true;
	/* All deadlines of a periodic one may have been told of before. */
	if (!(marks & COOKIE_PERIODIC) && event->expirations != 1)
		return true;
	if (event->flags & TWHEEL_EVENT_MORE && !event->expirations)
		return true;
	/* The wall clock may have been set back since. */
	return !(marks & COOKIE_REALTIME) && event->time < event->deadline;
}

static void tell_event(struct thread *t, const struct twheel_event *event, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "reason %u flags %x error %d reserved %x expirations %llu",
		 event->reason, event->flags, event->error, event->reserved, event->expirations);
	failed(t, "%s: event id %llx cookie %llx value %llx deadline %llu time %llu %s", what,
	       event->id, event->cookie, event->value, event->deadline, event->time, text);
}

static void check_event(struct thread *t, const struct view *view, const struct twheel_event *event)
{
	unsigned int marks = COOKIE_PERIODIC | COOKIE_REALTIME;
	bool more = event->flags & TWHEEL_EVENT_MORE;
	bool ours = cookie_is_ours(event->cookie);

	count_event();
	if (ours)
		marks = cookie_marks(event->cookie);
	if (!event->id || bad_reason(event))
		tell_event(t, event, "nonsense");
	else if (bad_expiry(event, marks) || (more && !(marks & COOKIE_PERIODIC)))
		tell_event(t, event, "not how it expires");
	if (!more)
		count_final(view);
	if (!more && ours && !cookie_ended(event->cookie))
		tell_event(t, event, "told twice");
}

/* What lies where others write to, too, can't be held to be what the kernel wrote. */
static void check_events(struct thread *t, const struct view *view, const char *from, long nr,
			 unsigned int place)
{
	struct twheel_event event;
	long i;

	for (i = 0; i < nr; i++) {
		const char *at = from + i * sizeof(event);

		if (place == PLACE_SHAKY)
			nobody_is_sure();
		else if (!try_load(&t->memory, &event, at, sizeof(event)))
			failed(t, "an event was delivered to where nothing is");
		else
			check_event(t, view, &event);
	}
}

static bool read_may_fail(const struct view *view, size_t size, bool plain, int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
		return true;
	case EINVAL:
		return size < sizeof(struct twheel_event);
	case EFAULT:
		return !plain;
	case EBADF:
		return view->access == O_WRONLY;
	default:
		return false;
	}
}

/* Return: how many events came, which have been looked at, or an error. */
long read_events(struct thread *t, const struct view *view, void *buffer, size_t size,
		 unsigned int place)
{
	/* With signals blocked, as they are then, a read that waits might do so for good. */
	bool failing = child->settling && inject(t), same;
	ssize_t got = read(view->fd, buffer, size);
	int error = errno;

	failing = failing && injected(t);
	same = same_file(view);
	count_step(KIND_READ, got >= 0);
	if (!same)
		nobody_is_sure();
	if (got < 0) {
		if (same && !read_may_fail(view, size, place == PLACE_PLAIN && !failing, error))
			failed(t, "read of %zu bytes: %s", size, strerror(error));
		return -error;
	}
	if (same && !got && !may_be_at_end(view))
		failed(t, "read is at the end of a file that goes on");
	if (same && (got % sizeof(struct twheel_event) || (size_t)got > size))
		failed(t, "read gave %zd of %zu bytes", got, size);
	if (same)
		check_events(t, view, buffer, got / sizeof(struct twheel_event), place);
	return got / sizeof(struct twheel_event);
}

void step_read(struct thread *t)
{
	unsigned int place = draw(t, 4) ? PLACE_PLAIN : draw(t, NR_PLACES);
	unsigned int room = 1 + (draw(t, EVENT_ROOM) >> draw(t, 6));
	size_t size = room * sizeof(struct twheel_event);
	struct view view = look_at(t);
	void *buffer;

	if (one_in(t, 16))
		size = random_below(&t->detail, size);
	buffer = place_out(t, place, size);
	read_events(t, &view, buffer, size, place);
}

static bool bad_pending(const struct twheel_pending *pending)
{
	unsigned int i;

	if (!pending->id || pending->condition > TWHEEL_COND_SUM ||
	    pending->clock > TWHEEL_CLOCK_REALTIME || pending->nr_keys > TWHEEL_MAX_KEYS ||
	    pending->flags >> 4 || pending->reserved[0] || pending->reserved[1])
		return true;
	for (i = pending->nr_keys; i < TWHEEL_PENDING_KEYS; i++) {
		if (pending->keys[i].v[0] || pending->keys[i].v[1])
			return true;
	}
	if (!(pending->flags & TWHEEL_PENDING_OWN) && pending->cookie)
		return true;
	return (pending->deadline == TWHEEL_NEVER) != (pending->remaining == TWHEEL_NEVER);
}

static bool bad_list(struct thread *t, const struct twheel_list_args *before,
		     const struct twheel_list_args *args)
{
	const struct twheel_pending *entries = (void *)t->memory.out;
	unsigned int i;

	if (args->nr > before->room)
		return true;
	for (i = 0; i < args->nr && (i + 1) * sizeof(*entries) <= t->memory.out_size; i++) {
		if (bad_pending(&entries[i]))
			return true;
		if (!(before->flags & TWHEEL_LIST_OTHERS) &&
		    !(entries[i].flags & TWHEEL_PENDING_OWN))
			return true;
	}
	return false;
}

static bool bad_query(const struct view *view, const struct twheel_query_args *args)
{
	char name[TWHEEL_NAME_SIZE] = "";

	if (view->name >= 0)
		name_of(view->name, name);
	return !args->files || args->own > args->max_own || !args->tick_ns ||
	       args->pending > args->max_pending || strncmp(name, args->name, sizeof(name));
}

static void check_add(struct thread *t, const struct view *view, const struct twheel_add_args *args)
{
	if (!args->id)
		failed(t, "an operation without an id");
	else
		remember_id(view, args->id);
}

/* Of the answers @args, that the call gave to what @trial has asked. */
void check_answer(struct thread *t, const struct view *view, const struct trial *trial,
		  const void *args)
{
	const struct twheel_signal_args *signal = args, *asked = trial->args;
	const struct twheel_info_args *info = args;
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
		wrong = bad_pending(&info->pending) || info->pending.id != info->id;
		break;
	case TWHEEL_CALL_LIST:
		wrong = bad_list(t, trial->args, args);
		break;
	case TWHEEL_CALL_QUERY:
		wrong = bad_query(view, args);
		break;
	case TWHEEL_CALL_BATCH:
		check_batch(t, view, trial, args);
		break;
	}
	if (wrong)
		failed(t, "%s answers nonsense", rule_of(trial->call)->name);
}

static bool room_is_used(const struct twheel_command *command, const struct rule *rule)
{
	static const __u64 zeros[ARRAY_SIZE(command->room)];

	return memcmp((char *)command->room + rule->size, zeros,
		      sizeof(command->room) - rule->size);
}

static void check_result(struct thread *t, const struct view *view, const struct trial *batch,
			 const struct twheel_command *command, const struct twheel_result *result)
{
	const struct rule *rule = rule_of(command->call);
	struct trial trial = *batch;
	int error = -result->error;

	trial.call = command->call;
	trial.args = command->room;
	trial.in_batch = true;
	trial.longer = false;
	if (command->call > TWHEEL_CALL_CANCEL_KEY || !rule) {
		if (error != ENOTTY && error != EINVAL)
			failed(t, "call %u of a batch: %s", command->call, strerror(error));
		return;
	}
	trial.tail = room_is_used(command, rule);
	trial.bad_spec = command->reserved;
	count_step(command->call, !error);
	if (trial.call == TWHEEL_CALL_ADD && error && error != EFAULT)
		cookie_refused(command->add.cookie);
	if (trial.call == TWHEEL_CALL_ADD && !error && result->value)
		remember_id(view, result->value);
	if (!error && (must_fail(&trial) || (trial.call == TWHEEL_CALL_ADD && !result->value)))
		failed(t, "%s of a batch was not refused", rule->name);
	trial.odd = t->step->oddity % 4 == 1;
	if (error && !may_fail(&trial, error))
		failed(t, "%s of a batch: %s", rule->name, strerror(error));
}

/* A batch that has succeeded. */
void check_batch(struct thread *t, const struct view *view, const struct trial *trial,
		 const struct twheel_batch_args *args)
{
	const struct twheel_command *commands = (void *)(unsigned long)args->commands;
	const struct twheel_result *results = (void *)(unsigned long)args->results;
	const struct twheel_batch_args *asked = trial->args;
	__u32 i, wrong = 0;

	if (!args->done || args->done > asked->nr || args->failed > args->done) {
		failed(t, "%u of a batch of %u are done, %u failed", args->done, asked->nr,
		       args->failed);
		return;
	}
	/* With the results, the kernel may have failed as it was told to. */
	if (!results || trial->injected)
		return;
	for (i = 0; i < args->done; i++) {
		if ((char *)&commands[i + 1] > t->memory.in)
			break;
		check_result(t, view, trial, &commands[i], &results[i]);
		wrong += !!results[i].error;
	}
	if (i == args->done && wrong != args->failed)
		failed(t, "%u of a batch failed, and not %u", wrong, args->failed);
}
