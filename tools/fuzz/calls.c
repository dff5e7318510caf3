// SPDX-License-Identifier: GPL-2.0
/*
 * One ioctl: built, made with memory that may not be mapped and a number that may be wrong,
 * possibly with an injected failure, and checked.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"

#define LONGEST		((1 << _IOC_SIZEBITS) - 1)

/* The size encoded in the ioctl number, usually that of the structure. */
static size_t odd_size(struct thread *t, struct trial *trial, size_t size, char *args)
{
	size_t longer;

	if (t->step->oddity % 4 != 2)
		return size;
	if (one_in(t, 2)) {
		trial->shorter = true;
		return random_below(&t->detail, row_of(trial->call)->min_size);
	}
	/* The missing fields are 0. */
	size = _IOC_SIZE(row_of(trial->call)->request);
	longer = size + 1 + random_below(&t->detail, one_in(t, 2) ? 64 : LONGEST - size);
	trial->longer = true;
	if (one_in(t, 2)) {
		args[size + random_below(&t->detail, longer - size)] = 1;
		trial->tail = true;
	}
	return longer;
}

static unsigned long odd_request(struct thread *t, struct trial *trial, unsigned long request)
{
	static const unsigned int dirs[] = { _IOC_NONE, _IOC_READ, _IOC_WRITE,
					     _IOC_READ | _IOC_WRITE };

	if (trial->call == KIND_WILD) {
		trial->odd_number = true;
		if (one_in(t, 2))
			return draw_wide(t);
		return _IOC(dirs[draw(t, 4)], TWHEEL_IOC_MAGIC, draw(t, 256),
			    draw_wide(t) & LONGEST);
	}
	if (t->step->oddity % 64 == 3) {
		trial->odd_number = true;
		return _IOC(dirs[draw(t, 4)], TWHEEL_IOC_MAGIC, _IOC_NR(request),
			    _IOC_SIZE(request));
	}
	return request;
}

/*
 * Leave the structure where it was built, or move it to the place of the step. The kernel
 * cannot modify the copy that is checked.
 */
static void *place_args(struct thread *t, struct trial *trial, size_t size)
{
	unsigned int place = t->step->place % NR_PLACES;

	if (place == PLACE_PLAIN || one_in(t, 2))
		return t->memory.args;
	trial->plain = false;
	return place_in(t, place, t->memory.args, size);
}

static void judge(struct thread *t, const struct view *view, struct trial *trial, int error)
{
	const struct twheel_call_row *row = row_of(trial->call);
	const struct twheel_add_args *add = trial->args;

	trial->maybe_restricted = maybe_restricted(view);
	trial->known_file = same_file(view);
	if (trial->call == TWHEEL_CALL_ADD && error && error != EFAULT)
		cookie_refused(add->cookie);
	if (!trial->known_file || !row || trial->odd_number)
		return;
	if (!error && trial->call == TWHEEL_CALL_DRAIN)
		view->slot->drained_at = view->gen;
	if (!error && trial->call == TWHEEL_CALL_RESTRICT)
		view->slot->restricted_at = view->gen;
	if (!error && trial->plain && must_fail(trial))
		failed(t, "%s was not refused", row->name);
	if (error && !may_fail(trial, error))
		failed(t, "%s: %s", row->name, strerror(error));
}

/* Check the output if it is readable. */
static void check_output(struct thread *t, const struct view *view, const struct trial *trial,
			 const void *at)
{
	union call_args answer;

	if (trial->plain) {
		memcpy(&answer, at, _IOC_SIZE(row_of(trial->call)->request));
		check_answer(t, view, trial, &answer);
	}
}

/* The call returned the descriptor @fd: put it into a slot if its file is known. */
static void take_file(struct thread *t, const struct view *view, const struct trial *trial,
		      unsigned long request, int fd, unsigned long removals)
{
	const struct twheel_create_args *create = trial->args;
	int name;

	switch (_IOC_NR(request)) {
	case TWHEEL_CALL_EVENTS:
		if (trial->known_file)
			adopt_file(t, &child->slots[random_below(&t->detail, NR_SLOTS)], fd,
				   FILE_EVENTS, view->name, removals);
		else
			close(fd);
		break;
	case TWHEEL_CALL_CREATE:
		name = trial->plain && trial->call == TWHEEL_CALL_CREATE ?
		       name_number(create->name) : -1;
		if (name >= 0)
			adopt_file(t, &child->slots[t->step->slot % NR_SLOTS], fd,
				   FILE_PURGATORY, name, removals);
		else
			close(fd);
		break;
	default:
		failed(t, "ioctl %lx returned %d", request, fd);
	}
}

static void make_call(struct thread *t, const struct view *view, struct trial *trial,
		      unsigned long request, size_t size)
{
	const struct twheel_call_row *row = row_of(trial->call);
	void *at = place_args(t, trial, size);
	unsigned long removals;
	int got, error;
	bool failing;

	may_end(view, trial->call);
	removals = nr_removals_ended();
	t->began[0] = clock_ns(CLOCK_MONOTONIC);
	t->began[1] = clock_ns(CLOCK_BOOTTIME);
	failing = inject(t);
	got = ioctl(view->fd, request, at);
	error = got < 0 ? errno : 0;
	call_ended(trial->call);
	if (failing)
		trial->injected = injected(t);
	count_step(trial->call, !error);
	judge(t, view, trial, error);
	if (!error && row)
		check_output(t, view, trial, at);
	if (got > 0)
		take_file(t, view, trial, request, got, removals);
	else if (!got && row && row->opens && !trial->odd_number)
		failed(t, "%s returned no descriptor", row->name);
}

void step_call(struct thread *t)
{
	union call_args copy = {};
	unsigned int call = t->step->kind;
	const struct twheel_call_row *row = row_of(call);
	bool control = row && row->control && !one_in(t, 8);
	struct view view = control ? look_at_control() : look_at(t);
	struct trial trial = {
		.call = call,
		.args = &copy,
		.plain = true,
		.type = view.type,
		.named = view.name >= 0,
		.readable = view.access != O_WRONLY,
		.writable = view.access != O_RDONLY,
		.restricted = is_restricted(&view),
	};
	size_t used = LONGEST, size = LONGEST;
	unsigned long request = 0;

	if (row) {
		used = build_call(t, &view, &trial, t->memory.args);
		memcpy(&copy, t->memory.args, used);
		size = odd_size(t, &trial, used, t->memory.args);
		request = _IOC(_IOC_DIR(row->request), TWHEEL_IOC_MAGIC, trial.call, size);
	}
	request = odd_request(t, &trial, request);
	make_call(t, &view, &trial, request, size);
	memset(t->memory.args, 0, used > size ? used : size);
}
