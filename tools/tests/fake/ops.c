// SPDX-License-Identifier: GPL-2.0
/*
 * The fake's operations: calls on operations and keys, by linear search. See fake.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"

struct fake_op *fake_ops;
static uint64_t last_id;

int fake_refuse(int error)
{
	errno = error;
	return -1;
}

static uint64_t now(uint32_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* A deadline from @deadline, which is relative unless @absolute. */
static uint64_t deadline_at(uint32_t clock, uint64_t deadline, bool absolute)
{
	if (deadline > INT64_MAX || absolute)
		return deadline > INT64_MAX ? TWHEEL_NEVER : deadline;
	deadline += now(clock);
	return deadline > INT64_MAX ? TWHEEL_NEVER : deadline;
}

static uint64_t cell_deadline(uint64_t word)
{
	return word & TWHEEL_CELL_IDLE || (word & TWHEEL_CELL_TIME) == TWHEEL_CELL_TIME ?
	       TWHEEL_NEVER : (word & TWHEEL_CELL_TIME) << TWHEEL_CELL_SHIFT;
}

static bool exchange(struct fake_op *op, uint64_t *word, uint64_t to)
{
	return __atomic_compare_exchange_n(op->cell, word, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static uint64_t read_cell(const struct fake_op *op)
{
	return op->cell ? __atomic_load_n(op->cell, __ATOMIC_SEQ_CST) : 0;
}

static uint64_t deadline_of(const struct fake_op *op)
{
	return op->cell ? cell_deadline(read_cell(op)) : op->args.deadline;
}

/* End the life of a cell, and an idle cell only if the operation is cancelled. */
static bool claim(struct fake_op *op, bool idle)
{
	uint64_t word = read_cell(op);

	do {
		if (word & TWHEEL_CELL_IDLE && !idle)
			return false;
	} while (op->cell && !exchange(op, &word, (word & ~TWHEEL_CELL_IDLE) | TWHEEL_CELL_ENDED));
	if (op->cell) {
		op->word = word & ~TWHEEL_CELL_ENDED;
		op->args.deadline = cell_deadline(word);
	}
	op->cell = NULL;
	return true;
}

static bool bad_time(uint64_t ns)
{
	return ns > INT64_MAX && ns != TWHEEL_NEVER;
}

static bool same_key(const struct twheel_key *a, const struct twheel_key *b)
{
	return a->v[0] == b->v[0] && a->v[1] == b->v[1];
}

static struct fake_watch *watch_of(struct fake_op *op, const struct twheel_key *key)
{
	unsigned int i;

	for (i = 0; i < op->nr; i++)
		if (same_key(&op->watches[i].key, key))
			return &op->watches[i];
	return NULL;
}

/* Number of keys or amount that the operation still needs; 0 if it is satisfied. */
static uint64_t missing(const struct fake_op *op)
{
	unsigned int i, satisfied = 0, needed;

	for (i = 0; i < op->nr; i++)
		satisfied += !op->watches[i].left;
	switch (op->args.condition) {
	case TWHEEL_COND_ANY:
		needed = 1;
		break;
	case TWHEEL_COND_ALL:
		needed = op->nr;
		break;
	case TWHEEL_COND_QUORUM:
		needed = op->args.quorum;
		break;
	case TWHEEL_COND_SUM:
		return op->sum < op->args.threshold ? op->args.threshold - op->sum : 0;
	default:
		return 0;
	}
	return satisfied < needed ? needed - satisfied : 0;
}

struct fake_op *fake_find(const struct fake_purgatory *purgatory, uint64_t id)
{
	struct fake_op *op;

	for (op = fake_ops; op; op = op->next)
		if (op->args.id == id && op->purgatory == purgatory)
			return op;
	errno = ENOENT;
	return NULL;
}

static void remove_op(struct fake_op *op)
{
	struct fake_op **at = &fake_ops;

	while (*at != op)
		at = &(*at)->next;
	*at = op->next;
	op->purgatory->counts.pending--;
}

/* A bit for each satisfied key. */
static uint64_t satisfied(const struct fake_op *op)
{
	uint64_t mask = 0;
	unsigned int i;

	for (i = 0; i < op->nr; i++)
		mask |= (uint64_t)!op->watches[i].left << op->watches[i].bit;
	return op->args.condition == TWHEEL_COND_SUM ? 0 : mask;
}

static void send_event(const struct fake_op *op, uint32_t reason, uint64_t value, int error,
		       bool more)
{
	struct twheel_event event = {
		.id = op->args.id,
		.cookie = op->args.cookie,
		.value = value,
		.deadline = op->args.deadline,
		.time = now(op->args.clock),
		.reason = reason,
		.flags = more ? TWHEEL_EVENT_MORE : 0,
		.error = error,
		.clock = op->args.clock,
		.expirations = reason == TWHEEL_REASON_EXPIRED,
		.satisfied = more ? 0 : satisfied(op),
		.missing = more ? 0 : missing(op),
		.cell = op->word,
	};

	fake_send(op, &event);
}

/* Return: false if the cell of the operation is idle, and it is not cancelled. */
bool fake_end(struct fake_op *op, uint32_t reason, uint64_t value, int error)
{
	struct twheel_query_args *counts = &op->purgatory->counts;

	if (!claim(op, reason == TWHEEL_REASON_CANCELLED))
		return false;
	remove_op(op);
	*(reason == TWHEEL_REASON_COMPLETED ? &counts->completed :
	  reason == TWHEEL_REASON_EXPIRED ? &counts->expired : &counts->cancelled) += 1;
	send_event(op, reason, value, error, false);
	free(op);
	return true;
}

/* Removes the operations of a closed file. */
void fake_forget(const struct fake_file *file)
{
	struct fake_op *op, *next;

	for (op = fake_ops; op; op = next) {
		next = op->next;
		if (op->file != file)
			continue;
		remove_op(op);
		op->purgatory->counts.cancelled++;
		free(op);
	}
}

/* Ends the operations of a file that watch a key. NULL is any file of the purgatory, or any key. */
unsigned int fake_end_all(const struct fake_purgatory *purgatory, const struct fake_file *file,
			  const struct twheel_key *key, uint32_t reason, uint64_t value, int error)
{
	struct fake_op *op, *next;
	unsigned int nr = 0;

	for (op = fake_ops; op; op = next) {
		next = op->next;
		if (op->purgatory != purgatory || (file && op->file != file) ||
		    (key && !watch_of(op, key)))
			continue;
		nr += fake_end(op, reason, value, error);
	}
	return nr;
}

unsigned int fake_pending(const struct fake_file *file)
{
	const struct fake_op *op;
	unsigned int nr = 0;

	for (op = fake_ops; op; op = op->next)
		nr += op->file == file;
	return nr;
}

static void expire(struct fake_op *op)
{
	struct twheel_add_args *args = &op->args;
	uint64_t word = read_cell(op);

	/* A program may have moved it meanwhile. */
	if (op->cell) {
		if (cell_deadline(word) > now(args->clock) ||
		    !exchange(op, &word, word | TWHEEL_CELL_ENDED))
			return;
		op->word = word & ~TWHEEL_CELL_ENDED;
		args->deadline = cell_deadline(word);
		op->cell = NULL;
	}
	if (!args->period || args->runs == 1) {
		fake_end(op, TWHEEL_REASON_EXPIRED, 0, 0);
		return;
	}
	if (args->runs)
		args->runs--;
	send_event(op, TWHEEL_REASON_EXPIRED, 0, 0, true);
	args->deadline += args->period;
}

/* The kernel does this at the deadline, and the fake at the next one of any operation after it. */
static void park(struct fake_op *op)
{
	uint64_t word = read_cell(op);

	if (word & TWHEEL_CELL_IDLE &&
	    (word & TWHEEL_CELL_TIME) << TWHEEL_CELL_SHIFT <= now(op->args.clock))
		exchange(op, &word, word | TWHEEL_CELL_TIME);
}

void fake_expire(void)
{
	struct fake_op *op, *next;

	for (op = fake_ops; op; op = next) {
		next = op->next;
		park(op);
		if (deadline_of(op) <= now(op->args.clock))
			expire(op);
	}
}

/* Time until the next deadline in ns; TWHEEL_NEVER without one. */
uint64_t fake_next_expiry(void)
{
	uint64_t first = TWHEEL_NEVER, time, deadline;
	const struct fake_op *op;

	for (op = fake_ops; op; op = op->next) {
		/* Also that of an idle cell, which is parked then. */
		deadline = op->cell ? cell_deadline(read_cell(op) & ~TWHEEL_CELL_IDLE) :
				      op->args.deadline;
		if (deadline == TWHEEL_NEVER)
			continue;
		time = now(op->args.clock);
		time = deadline > time ? deadline - time : 0;
		if (time < first)
			first = time;
	}
	return first;
}

/* The lowest bit that no watch has. */
static unsigned int free_bit(const struct fake_op *op)
{
	uint64_t used = 0;
	unsigned int i;

	for (i = 0; i < op->nr; i++)
		used |= 1ULL << op->watches[i].bit;
	return __builtin_ctzll(~used);
}

/* The size of the entries of an array, which is 0 without one. */
static bool bad_size(uint32_t size, unsigned int nr, size_t expected)
{
	errno = EINVAL;
	return size != (nr ? expected : 0);
}

static int put_watches(struct fake_op *op, uint64_t keys, unsigned int nr, uint32_t size)
{
	const struct twheel_watch_spec *specs = (const void *)(uintptr_t)keys;
	unsigned int i, j, old = op->nr;

	if (bad_size(size, nr, sizeof(*specs)))
		return -1;
	for (i = 0; i < nr; i++) {
		for (j = 0; j < i && !same_key(&specs[j].key, &specs[i].key); j++)
			;
		if (j == i && watch_of(op, &specs[i].key))
			continue;
		if (j < i || op->nr == TWHEEL_MAX_KEYS || specs[i].need > TWHEEL_MAX_NEED ||
		    ((op->args.condition == TWHEEL_COND_SUM || op->cell) && specs[i].need > 1)) {
			op->nr = old;
			return fake_refuse(EINVAL);
		}
		op->watches[op->nr].key = specs[i].key;
		op->watches[op->nr].bit = free_bit(op);
		op->watches[op->nr++].left = specs[i].need ? specs[i].need : 1;
	}
	return 0;
}

static bool valid(const struct fake_op *op)
{
	const struct twheel_add_args *args = &op->args;
	bool quorum = args->condition == TWHEEL_COND_QUORUM;
	bool sum = args->condition == TWHEEL_COND_SUM;

	return args->condition <= TWHEEL_COND_SUM &&
	       !bad_time(args->deadline) && !bad_time(args->slack) &&
	       (args->clock <= CLOCK_MONOTONIC || args->clock == CLOCK_BOOTTIME) &&
	       (args->condition != TWHEEL_COND_NONE) == (op->nr != 0) &&
	       (quorum ? args->quorum && args->quorum <= op->nr : !args->quorum) &&
	       sum == (args->threshold != 0) && (args->period || !args->runs) &&
	       (!args->period || args->deadline <= INT64_MAX) &&
	       !(args->flags & TWHEEL_ADD_DETACHED && !op->purgatory->counts.name[0]);
}

static bool valid_cell(const struct fake_file *file, const struct twheel_add_args *args)
{
	if (!(args->flags & TWHEEL_ADD_CELL))
		return !args->cell;
	return args->cell < file->nr_cells && args->clock != CLOCK_REALTIME && !args->slack &&
	       !args->period && args->condition <= TWHEEL_COND_ANY &&
	       !(args->flags & ~(TWHEEL_ADD_CELL | TWHEEL_ADD_ABSTIME));
}

/* Begin a life. */
static void begin(struct fake_op *op)
{
	const uint64_t unit = 1ULL << TWHEEL_CELL_SHIFT, deadline = op->args.deadline;
	uint64_t life = (read_cell(op) + TWHEEL_CELL_TIME + 1) & TWHEEL_CELL_LIFE;
	uint64_t time = deadline / unit + (deadline % unit != 0);

	if (time > TWHEEL_CELL_TIME)
		time = TWHEEL_CELL_TIME;
	__atomic_store_n(op->cell, life | time, __ATOMIC_SEQ_CST);
}

static int call_add(struct fake_file *file, struct twheel_add_args *args)
{
	struct fake_purgatory *purgatory = file->purgatory;
	struct fake_op *op = calloc(1, sizeof(*op)), **last = &fake_ops;

	op->purgatory = purgatory;
	op->file = args->flags & TWHEEL_ADD_DETACHED ? purgatory->detached : file;
	op->args = *args;
	if (args->flags & TWHEEL_ADD_CELL && valid_cell(file, args))
		op->cell = &file->cells[args->cell];
	if (!(file->mode & 1) && !(args->flags & TWHEEL_ADD_DETACHED))
		errno = EBADF;
	else if (args->nr_keys > TWHEEL_MAX_KEYS ||
		 put_watches(op, args->keys, args->nr_keys, args->key_size) || !valid(op) ||
		 !valid_cell(file, args))
		errno = EINVAL;
	else if (file->drained)
		errno = ESHUTDOWN;
	else if (purgatory->counts.max_pending &&
		 purgatory->counts.pending >= purgatory->counts.max_pending)
		errno = ENOSPC;
	else
		goto add;
	free(op);
	return -1;
add:
	op->args.id = ++last_id;
	op->args.deadline = deadline_at(args->clock, args->deadline,
					args->flags & TWHEEL_ADD_ABSTIME);
	if (op->cell)
		begin(op);
	while (*last)
		last = &(*last)->next;
	*last = op;
	purgatory->counts.added++;
	purgatory->counts.pending++;
	args->id = op->args.id;
	fake_wake();
	return 0;
}

static int call_rearm(struct fake_op *op, struct twheel_rearm_args *args)
{
	uint64_t deadline = deadline_at(op->args.clock, args->deadline,
					args->flags & TWHEEL_REARM_ABSTIME);
	uint32_t mode = args->flags & ~TWHEEL_REARM_ABSTIME;

	if (op->args.period || op->cell || mode > TWHEEL_REARM_IF_LATER ||
	    bad_time(args->deadline) || bad_time(args->slack) ||
	    /* TWHEEL_ADD_ABSTIME and TWHEEL_REARM_ABSTIME are the same bit. */
	    (op->args.clock == CLOCK_REALTIME && (op->args.flags ^ args->flags) & 1))
		return fake_refuse(op->args.period || op->cell ? EOPNOTSUPP : EINVAL);
	args->moved = mode == TWHEEL_REARM_IF_EARLIER ? deadline < op->args.deadline :
		      mode == TWHEEL_REARM_IF_LATER ? deadline > op->args.deadline : 1;
	if (args->moved)
		op->args.deadline = deadline;
	fake_wake();
	return 0;
}

static int call_unwatch(struct fake_op *op, const struct twheel_unwatch_args *args)
{
	struct fake_watch *watch = watch_of(op, &args->key);

	if (!watch)
		return fake_refuse(ESRCH);
	op->nr--;
	memmove(watch, watch + 1, (op->watches + op->nr - watch) * sizeof(*watch));
	if (op->args.condition == TWHEEL_COND_ALL && !missing(op))
		fake_end(op, TWHEEL_REASON_COMPLETED, 0, 0);
	return 0;
}

static int call_signal(const struct fake_file *file, struct twheel_signal_args *args)
{
	struct fake_op *op, *next;

	args->completed = 0;
	for (op = fake_ops; op; op = next) {
		struct fake_watch *watch = watch_of(op, &args->key);

		next = op->next;
		if (op->purgatory != file->purgatory || !watch || read_cell(op) & TWHEEL_CELL_IDLE)
			continue;
		if (args->limit && args->completed == args->limit)
			break;
		op->sum += args->amount ? args->amount : 1;
		watch->left -= watch->left != 0;
		if (missing(op))
			continue;
		args->completed += fake_end(op, TWHEEL_REASON_COMPLETED, args->value, 0);
	}
	return 0;
}

static int call_cancel_key(const struct fake_file *file, struct twheel_cancel_key_args *args)
{
	args->cancelled = fake_end_all(file->purgatory, NULL, &args->key,
				       TWHEEL_REASON_CANCELLED, 0, 0);
	return 0;
}

static void describe(const struct fake_op *op, const struct fake_file *file,
		     struct twheel_pending *pending)
{
	uint64_t time = now(op->args.clock);
	unsigned int i;

	memset(pending, 0, sizeof(*pending));
	pending->id = op->args.id;
	pending->cookie = op->args.cookie;
	pending->deadline = deadline_of(op);
	pending->remaining = pending->deadline == TWHEEL_NEVER ? TWHEEL_NEVER :
			     pending->deadline > time ? pending->deadline - time : 0;
	pending->missing = missing(op);
	pending->period = op->args.period;
	pending->runs = op->args.runs;
	pending->condition = op->args.condition;
	pending->clock = op->args.clock;
	pending->nr_keys = op->nr;
	pending->flags = op->file == file ? TWHEEL_PENDING_OWN : 0;
	if (op->args.flags & TWHEEL_ADD_ABSTIME)
		pending->flags |= TWHEEL_PENDING_ABSTIME;
	if (op->args.flags & TWHEEL_ADD_DETACHED)
		pending->flags |= TWHEEL_PENDING_DETACHED;
	if (op->args.flags & TWHEEL_ADD_CANCEL_ON_SET)
		pending->flags |= TWHEEL_PENDING_CANCEL_ON_SET;
	if (op->args.flags & TWHEEL_ADD_FIXED_DELAY)
		pending->flags |= TWHEEL_PENDING_FIXED_DELAY;
	if (op->cell)
		pending->flags |= TWHEEL_PENDING_CELL;
	if (read_cell(op) & TWHEEL_CELL_IDLE)
		pending->flags |= TWHEEL_PENDING_IDLE;
	pending->queue = op->args.queue;
	pending->cell = op->args.cell;
	for (i = 0; i < op->nr && i < TWHEEL_PENDING_KEYS; i++)
		pending->keys[i] = op->watches[i].key;
}

static int call_info(const struct fake_op *op, const struct fake_file *file,
		     const struct twheel_info_args *args)
{
	struct twheel_watch_spec *specs = (void *)(uintptr_t)args->keys;
	unsigned int i;

	if (bad_size(args->entry_size, 1, sizeof(struct twheel_pending)) ||
	    bad_size(args->key_size, args->max_keys, sizeof(*specs)))
		return -1;
	describe(op, file, (void *)(uintptr_t)args->entry);
	for (i = 0; i < op->nr && i < args->max_keys; i++)
		specs[i] = (struct twheel_watch_spec) {
			.key = op->watches[i].key,
			.need = op->watches[i].left,
			.bit = op->watches[i].bit,
		};
	return 0;
}

/* The cursor is the id of the last listed operation. */
static int call_list(const struct fake_file *file, struct twheel_list_args *args)
{
	struct twheel_pending *entries = (void *)(uintptr_t)args->entries;
	const struct fake_op *op;

	if (bad_size(args->entry_size, args->max_entries, sizeof(*entries)))
		return -1;
	args->nr = 0;
	for (op = fake_ops; op && args->nr < args->max_entries; op = op->next) {
		if (op->purgatory != file->purgatory || op->args.id <= args->cursor ||
		    (op->file != file && !(args->flags & TWHEEL_LIST_OTHERS)))
			continue;
		describe(op, file, &entries[args->nr++]);
	}
	args->cursor = args->nr && op ? entries[args->nr - 1].id : TWHEEL_LIST_END;
	return 0;
}

static int call_exchange(struct fake_op *op, const struct fake_file *file,
			 const struct twheel_exchange_args *args)
{
	uint64_t from = args->from, life = from & ~TWHEEL_CELL_TIME;

	if (from & TWHEEL_CELL_IDLE)
		life = (from + TWHEEL_CELL_TIME + 1) & TWHEEL_CELL_LIFE;
	if (args->to >> 62 || life != (args->to & ~TWHEEL_CELL_TIME))
		errno = EINVAL;
	else if (!op->cell)
		errno = EOPNOTSUPP;
	else if (op->file != file)
		errno = EPERM;
	else if (!exchange(op, &from, args->to))
		errno = EAGAIN;
	else
		return fake_wake(), 0;
	return -1;
}

/* The calls on an operation, whose id is the first field; in unwatch it follows the key. */
static int call_op(struct fake_file *file, unsigned int call, void *args)
{
	const struct twheel_unwatch_args *unwatch = args;
	const struct twheel_complete_args *complete = args;
	const struct twheel_watch_args *watch = args;
	uint64_t id = call == TWHEEL_CALL_UNWATCH ? unwatch->id : *(const uint64_t *)args;
	struct fake_op *op = fake_find(file->purgatory, id);

	if (!op)
		return -1;
	switch (call) {
	case TWHEEL_CALL_CANCEL:
		fake_end(op, TWHEEL_REASON_CANCELLED, 0, 0);
		return 0;
	case TWHEEL_CALL_COMPLETE:
		if (fake_end(op, TWHEEL_REASON_COMPLETED, complete->value, complete->error))
			return 0;
		return fake_refuse(EAGAIN);
	case TWHEEL_CALL_EXCHANGE:
		return call_exchange(op, file, args);
	case TWHEEL_CALL_REARM:
		return call_rearm(op, args);
	case TWHEEL_CALL_WATCH:
		return put_watches(op, watch->keys, watch->nr_keys, watch->key_size);
	case TWHEEL_CALL_UNWATCH:
		return call_unwatch(op, unwatch);
	case TWHEEL_CALL_INFO:
		return call_info(op, file, args);
	default:
		return fake_refuse(EINVAL);
	}
}

int fake_call(struct fake_file *file, unsigned int call, void *args)
{
	switch (call) {
	case TWHEEL_CALL_ADD:
		return call_add(file, args);
	case TWHEEL_CALL_SIGNAL:
		return call_signal(file, args);
	case TWHEEL_CALL_CANCEL_KEY:
		return call_cancel_key(file, args);
	case TWHEEL_CALL_LIST:
		return call_list(file, args);
	default:
		return call_op(file, call, args);
	}
}
