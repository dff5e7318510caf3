// SPDX-License-Identifier: GPL-2.0
/*
 * The files of a child, shared by its threads: a thread opens and closes files while other
 * threads make calls on them.
 *
 * The permitted results of a call depend on its file. Therefore a slot has a generation,
 * which is odd during a change: if it is unchanged after a call, the call used the file that
 * the slot describes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

/* Descriptor numbers that the slots use in turn; the usual hard limit is 4096. */
#define FIRST_FD	256
#define NR_FDS		3800

/* Operations of named purgatories, shared by all processes. */
static struct known {
	__u64 ids[NR_NAMES][NR_IDS];
	unsigned int next[NR_NAMES];
	unsigned long removals_begun;	/* calls that may remove a purgatory */
	unsigned long removals_ended;	/* calls that returned, or whose threads are gone */
	unsigned long removing[NR_WORKERS];	/* calls of the child that have not returned */
} *known;

int files_init(void)
{
	known = share_alloc(sizeof(*known));
	return known ? 0 : -1;
}

/*
 * Only the control node is open at first. Its file never changes, so its generation is that of a
 * completed change.
 */
void init_slots(void)
{
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++)
		child->slots[i] = (struct slot){ .fd = -1, .name = -1, .unsure = true };
	child->control = (struct slot){
		.gen = 2, .type = FILE_CONTROL, .name = -1, .access = O_RDWR,
		.fd = open("/dev/twheel-control", O_RDWR | O_CLOEXEC),
	};
	if (child->control.fd < 0)
		failed(NULL, "the control node: %s", strerror(errno));
}

static struct view view_of(struct slot *slot)
{
	struct view view = { .slot = slot };

	view.gen = __atomic_load_n(&slot->gen, __ATOMIC_SEQ_CST);
	view.fd = __atomic_load_n(&slot->fd, __ATOMIC_SEQ_CST);
	view.type = slot->type;
	view.name = slot->name;
	view.access = slot->access;
	return view;
}

struct view look_at(struct thread *t)
{
	return view_of(&child->slots[t->step->slot % NR_SLOTS]);
}

/* A descriptor of events, if there is one. */
struct view look_at_events(struct thread *t)
{
	struct slot *slot;
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++) {
		slot = &child->slots[(t->step->slot + i) % NR_SLOTS];
		if (slot->type == FILE_EVENTS && slot->fd >= 0)
			return view_of(slot);
	}
	return look_at(t);
}

struct view look_at_control(void)
{
	return view_of(&child->control);
}

/*
 * Return: true if the calls since look_at() used the file of the slot. The state of the file
 * has to be read before: another thread may change the slot at any time.
 */
bool same_file(const struct view *view)
{
	return view->fd >= 0 && !child->is_fork && !(view->gen & 1) &&
	       __atomic_load_n(&view->slot->gen, __ATOMIC_SEQ_CST) == view->gen;
}

/* A last event was read from a file, which may have left its slot since. */
void count_final(const struct view *view)
{
	__u64 finals = __atomic_load_n(&view->slot->finals, __ATOMIC_RELAXED);

	while (finals >> 32 == view->gen &&
	       !__atomic_compare_exchange_n(&view->slot->finals, &finals, finals + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Return: true if the caller may change the slot, until slot_changed(). */
bool change_slot(struct slot *slot)
{
	if (__atomic_exchange_n(&slot->lock, 1, __ATOMIC_ACQUIRE))
		return false;
	__atomic_add_fetch(&slot->gen, 1, __ATOMIC_SEQ_CST);
	return true;
}

void slot_changed(struct slot *slot)
{
	__atomic_add_fetch(&slot->gen, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->lock, 0, __ATOMIC_RELEASE);
}

/* Events of an unknown file have been read. */
void set_all_unsure(void)
{
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++)
		child->slots[i].unsure = true;
}

/* Called before a call that changes the state of files. */
void may_end(const struct view *view, unsigned int call)
{
	if (call == TWHEEL_CALL_DRAIN || call == KIND_WILD)
		__atomic_store_n(&view->slot->drained, true, __ATOMIC_SEQ_CST);
	if (call == TWHEEL_CALL_RESTRICT || call == KIND_WILD)
		__atomic_store_n(&view->slot->restricted, true, __ATOMIC_SEQ_CST);
	if (call != TWHEEL_CALL_REMOVE && call != KIND_WILD)
		return;
	__atomic_add_fetch(&known->removals_begun, 1, __ATOMIC_SEQ_CST);
	if (!child->is_fork)
		__atomic_add_fetch(&known->removing[child->worker], 1, __ATOMIC_SEQ_CST);
}

/* After a call that may_end() was called for. */
void call_ended(unsigned int call)
{
	if (call != TWHEEL_CALL_REMOVE && call != KIND_WILD)
		return;
	if (!child->is_fork)
		__atomic_sub_fetch(&known->removing[child->worker], 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&known->removals_ended, 1, __ATOMIC_SEQ_CST);
}

/* The child of a worker has ended; a killed child may have left calls unfinished. */
void child_ended(unsigned int worker)
{
	unsigned long nr = __atomic_exchange_n(&known->removing[worker], 0, __ATOMIC_SEQ_CST);

	__atomic_add_fetch(&known->removals_ended, nr, __ATOMIC_SEQ_CST);
}

/* Number of removals that cannot affect a file opened later. */
unsigned long nr_removals_ended(void)
{
	return __atomic_load_n(&known->removals_ended, __ATOMIC_SEQ_CST);
}

static unsigned long nr_removals_begun(void)
{
	return __atomic_load_n(&known->removals_begun, __ATOMIC_SEQ_CST);
}

/* read() returns 0 only after a drain or a removal; for an event file only after a removal. */
bool may_be_at_end(const struct view *view)
{
	const struct slot *slot = view->slot;

	if (view->name >= 0 && nr_removals_begun() != slot->removals)
		return true;
	if (view->type != FILE_PURGATORY)
		return false;
	return slot->unsure || child->forked ||
	       __atomic_load_n(&slot->drained, __ATOMIC_SEQ_CST);
}

/* Return: true if the file may be restricted. */
bool maybe_restricted(const struct view *view)
{
	const struct slot *slot = view->slot;

	return slot->unsure || child->forked ||
	       __atomic_load_n(&slot->restricted, __ATOMIC_SEQ_CST);
}

/* Return: true if a call that restricts the file has returned. */
bool is_restricted(const struct view *view)
{
	return view->slot->restricted_at == view->gen;
}

void remember_id(const struct view *view, __u64 id)
{
	struct slot *slot = view->slot;

	if (view->name >= 0)
		known->ids[view->name][known->next[view->name]++ % NR_IDS] = id;
	else
		slot->ids[slot->next_id++ % NR_IDS] = id;
}

/* A recently added operation; rarely a number that was never an ID. */
__u64 some_id(struct thread *t, const struct view *view)
{
	const __u64 *ids = view->name >= 0 ? known->ids[view->name] : view->slot->ids;
	unsigned int next = view->name >= 0 ? known->next[view->name] : view->slot->next_id;
	unsigned int back = draw(t, NR_IDS);

	if (one_in(t, 24))
		return draw_wide(t);
	/* Most operations that were added long ago have ended. */
	return ids[(next - 1 - back / (1 + draw(t, 3))) % NR_IDS];
}

static void close_old(int fd)
{
	if (fd >= 0)
		close(fd);
}

/*
 * Move a descriptor to a number that has not been used recently: a thread may have read the
 * number before another thread closed the file, and use it after it was assigned again.
 */
static int renumber(int fd)
{
	static unsigned int next;
	unsigned int from = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
	int copy;

	if (fd < 0)
		return fd;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + from % NR_FDS);
	if (copy < 0)
		return fd;
	close(fd);
	return copy;
}

/*
 * Return: the previous file, to be closed after the slot has changed. All fields of the slot
 * are written before the new file can be seen and used.
 */
static int put_file(struct slot *slot, int fd, enum file_type type, int name, int access,
		    bool unsure)
{
	slot->type = type;
	slot->name = name;
	slot->access = access;
	slot->unsure = unsure;
	slot->drained = false;
	slot->restricted = false;
	/* The generation after slot_changed() */
	slot->finals = (__u64)(slot->gen + 1) << 32;
	memset(slot->ids, 0, sizeof(slot->ids));
	return __atomic_exchange_n(&slot->fd, renumber(fd), __ATOMIC_SEQ_CST);
}

/* Put a new file into a slot; @removals had ended before it was opened. */
static void store_file(struct slot *slot, int fd, enum file_type type, int name, int access,
		       bool unsure, unsigned long removals)
{
	if (!change_slot(slot)) {
		close(fd);
		return;
	}
	slot->removals = removals;
	fd = put_file(slot, fd, type, name, access, unsure);
	slot_changed(slot);
	close_old(fd);
}

static bool open_may_fail(int name, int error)
{
	switch (error) {
	case EDQUOT:
	case EACCES:
		return true;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return name >= 0;
	default:
		return false;
	}
}

void step_open(struct thread *t)
{
	static const int accesses[] = { O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	struct slot *slot = &child->slots[t->step->slot % NR_SLOTS];
	bool control = t->step->kind == KIND_OPEN_CONTROL;
	int name = t->step->kind == KIND_OPEN_NAMED ? (int)draw(t, NR_NAMES) : -1;
	int access = accesses[draw(t, ARRAY_SIZE(accesses))];
	int flags = access | O_CLOEXEC | (one_in(t, 32) ? 0 : O_NONBLOCK);
	char path[64] = "/dev/twheel";
	unsigned long removals = nr_removals_ended();
	bool failing;
	int fd, error;

	if (control)
		snprintf(path, sizeof(path), "/dev/twheel-control");
	if (name >= 0)
		snprintf(path, sizeof(path), "/dev/twheel-f%d", name);
	failing = inject(t);
	fd = open(path, flags);
	error = errno;
	failing = failing && injected(t);
	count_step(t->step->kind, fd >= 0);
	if (fd < 0) {
		if (!failing && !open_may_fail(name, error))
			failed(t, "open of %s: %s", path, strerror(error));
		return;
	}
	store_file(slot, fd, control ? FILE_CONTROL : FILE_PURGATORY, name, access, false,
		   removals);
}

/* A call returned the descriptor @fd; @removals had ended before the call. */
void adopt_file(struct thread *t, struct slot *slot, int fd, enum file_type type, int name,
		unsigned long removals)
{
	if (!one_in(t, 32))
		fcntl(fd, F_SETFL, O_NONBLOCK);
	store_file(slot, fd, type, name, type == FILE_EVENTS ? O_RDONLY : O_RDWR, false, removals);
}

void step_close(struct thread *t)
{
	struct slot *slot = &child->slots[t->step->slot % NR_SLOTS];
	int fd;

	if (!change_slot(slot))
		return;
	fd = put_file(slot, -1, FILE_PURGATORY, -1, O_RDWR, true);
	slot_changed(slot);
	close_old(fd);
	count_step(t->step->kind, true);
}

/* Store the same open file in another slot. */
void step_dup(struct thread *t)
{
	struct slot *from = &child->slots[t->step->slot % NR_SLOTS];
	struct slot *to = &child->slots[draw(t, NR_SLOTS)];
	int fd = -1;

	if (to == from || !change_slot(from))
		return;
	if (change_slot(to)) {
		from->unsure = true;
		fd = from->fd < 0 ? -1 : fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
		to->removals = from->removals;
		fd = put_file(to, fd, from->type, from->name, from->access, true);
		memcpy(to->ids, from->ids, sizeof(to->ids));
		slot_changed(to);
	}
	slot_changed(from);
	close_old(fd);
	count_step(t->step->kind, true);
}

/* The description of a passed descriptor. */
struct letter {
	enum file_type type;
	unsigned long removals;
	int name;
	int access;
};

struct envelope {
	struct msghdr msg;
	struct iovec iov;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
};

static struct cmsghdr *make_envelope(struct envelope *envelope, struct letter *letter)
{
	memset(envelope, 0, sizeof(*envelope));
	envelope->iov = (struct iovec){ letter, sizeof(*letter) };
	envelope->msg.msg_iov = &envelope->iov;
	envelope->msg.msg_iovlen = 1;
	envelope->msg.msg_control = envelope->control.bytes;
	envelope->msg.msg_controllen = sizeof(envelope->control.bytes);
	return &envelope->control.header;
}

/* Pass a file to any process; it may be in flight for a long time. */
void step_send(struct thread *t)
{
	struct view view = look_at(t);
	struct letter letter = { view.type, view.slot->removals, view.name, view.access };
	struct envelope envelope;
	struct cmsghdr *header = make_envelope(&envelope, &letter);

	if (view.fd < 0)
		return;
	view.slot->unsure = true;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &view.fd, sizeof(int));
	/* The description would be wrong if another file had been put into the slot. */
	if (change_slot(view.slot)) {
		if (view.slot->gen == view.gen + 1) {
			int got = sendmsg(mailbox(draw(t, 2))[0], &envelope.msg, MSG_DONTWAIT);

			count_step(t->step->kind, got > 0);
		}
		view.slot->unsure = true;
		slot_changed(view.slot);
	}
}

void step_receive(struct thread *t)
{
	struct slot *slot = &child->slots[t->step->slot % NR_SLOTS];
	struct letter letter = { .name = -1 };
	struct envelope envelope;
	struct cmsghdr *header = make_envelope(&envelope, &letter);
	ssize_t got;
	int fd;

	got = recvmsg(mailbox(draw(t, 2))[1], &envelope.msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	count_step(t->step->kind, got > 0);
	if (got != sizeof(letter) || envelope.msg.msg_controllen < CMSG_LEN(sizeof(int)))
		return;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	store_file(slot, fd, letter.type, letter.name, letter.access, true, letter.removals);
}
