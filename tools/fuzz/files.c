// SPDX-License-Identifier: GPL-2.0
/*
 * The files of a child, which its threads share: one thread opens and closes files that
 * others are calling.
 *
 * The permitted answers of a call depend on its file.  So a slot has a generation, odd
 * while it changes: if it is the same after a call, then the call went to the file that
 * the slot describes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

/* Numbers of descriptors that the slots use in turn; the usual hard limit is 4096. */
#define FIRST_FD	256
#define NR_FDS		3800

/* Operations of named purgatories, as known to all processes. */
static struct known {
	__u64 ids[NR_NAMES][NR_IDS];
	unsigned int next[NR_NAMES];
	unsigned long removals_begun;	/* calls that may remove any of them */
	unsigned long removals_ended;	/* returned, or their threads are gone */
	unsigned long removing[MAX_WORKERS];	/* begun by the child and not ended */
} *known;

int files_init(void)
{
	known = share_alloc(sizeof(*known));
	return known ? 0 : -1;
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

struct view look_at_control(void)
{
	return view_of(&child->control);
}

/* Whether the calls since look_at() went to the file that was in the slot then. */
bool same_file(const struct view *view)
{
	return view->fd >= 0 && !child->is_fork && !(view->gen & 1) &&
	       __atomic_load_n(&view->slot->gen, __ATOMIC_SEQ_CST) == view->gen;
}

/* An event that ends an operation was read from a file, which may have left its slot since. */
void count_final(const struct view *view)
{
	__u64 finals = __atomic_load_n(&view->slot->finals, __ATOMIC_RELAXED);

	while (finals >> 32 == view->gen &&
	       !__atomic_compare_exchange_n(&view->slot->finals, &finals, finals + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Return: whether the caller may change it, until slot_changed(). */
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

/* Somebody has read events of a file, and it is not known of which. */
void nobody_is_sure(void)
{
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++)
		child->slots[i].unsure = true;
}

/* Before a call that changes the state of files. */
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

/* After such a call. */
void call_ended(unsigned int call)
{
	if (call != TWHEEL_CALL_REMOVE && call != KIND_WILD)
		return;
	if (!child->is_fork)
		__atomic_sub_fetch(&known->removing[child->worker], 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&known->removals_ended, 1, __ATOMIC_SEQ_CST);
}

/* The child of a worker is gone, maybe killed in the middle of calls. */
void child_ended(unsigned int worker)
{
	unsigned long nr = __atomic_exchange_n(&known->removing[worker], 0, __ATOMIC_SEQ_CST);

	__atomic_add_fetch(&known->removals_ended, nr, __ATOMIC_SEQ_CST);
}

/* Removals that cannot affect a file that is opened after this. */
unsigned long nr_removals_ended(void)
{
	return __atomic_load_n(&known->removals_ended, __ATOMIC_SEQ_CST);
}

static unsigned long nr_removals_begun(void)
{
	return __atomic_load_n(&known->removals_begun, __ATOMIC_SEQ_CST);
}

/* An open file is at its end after a drain or a removal only; an event file after a removal. */
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

/* Whether the file may have been restricted by now. */
bool maybe_restricted(const struct view *view)
{
	const struct slot *slot = view->slot;

	return slot->unsure || child->forked ||
	       __atomic_load_n(&slot->restricted, __ATOMIC_SEQ_CST);
}

/* Whether a call that restricts it has returned. */
bool surely_restricted(const struct view *view)
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

/* One that was added a while ago; seldom one that never was. */
__u64 some_id(struct thread *t, const struct view *view)
{
	const __u64 *ids = view->name >= 0 ? known->ids[view->name] : view->slot->ids;
	unsigned int next = view->name >= 0 ? known->next[view->name] : view->slot->next_id;
	unsigned int back = draw(t, NR_IDS);

	if (one_in(t, 24))
		return draw_wide(t);
	/* Most of those that were added long ago have ended. */
	return ids[(next - 1 - back / (1 + draw(t, 3))) % NR_IDS];
}

static void close_old(int fd)
{
	if (fd >= 0)
		close(fd);
}

/*
 * Move a descriptor to a number that has not been used for long: a thread may have looked a
 * number up before another closed the file, and call it after the number was given out anew.
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
 * Return: the file that was there, to be closed once the slot has changed. All that is known
 * of the new one is written before it can be seen and used.
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
	if (!change_slot(slot)) {
		close(fd);
		return;
	}
	slot->removals = removals;
	fd = put_file(slot, fd, control ? FILE_CONTROL : FILE_PURGATORY, name, access, false);
	slot_changed(slot);
	close_old(fd);
}

/* A call has returned @fd; before it, @removals had ended. */
void adopt_file(struct thread *t, struct slot *slot, int fd, enum file_type type, int name,
		unsigned long removals)
{
	if (!one_in(t, 32))
		fcntl(fd, F_SETFL, O_NONBLOCK);
	if (!change_slot(slot)) {
		close(fd);
		return;
	}
	slot->removals = removals;
	fd = put_file(slot, fd, type, name, type == FILE_EVENTS ? O_RDONLY : O_RDWR, false);
	slot_changed(slot);
	close_old(fd);
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

/* Another slot gets the same open file. */
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

/* The description of a descriptor goes with it. */
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
		char room[CMSG_SPACE(sizeof(int))];
	} control;
};

static struct cmsghdr *make_envelope(struct envelope *envelope, struct letter *letter)
{
	memset(envelope, 0, sizeof(*envelope));
	envelope->iov = (struct iovec){ letter, sizeof(*letter) };
	envelope->msg.msg_iov = &envelope->iov;
	envelope->msg.msg_iovlen = 1;
	envelope->msg.msg_control = envelope->control.room;
	envelope->msg.msg_controllen = sizeof(envelope->control.room);
	return &envelope->control.header;
}

/* Pass a file to any process that receives it; it may stay under way for long. */
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
	/* The letter would describe another file that came in between wrongly. */
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
	if (!change_slot(slot)) {
		close(fd);
		return;
	}
	slot->removals = letter.removals;
	fd = put_file(slot, fd, letter.type, letter.name, letter.access, true);
	slot_changed(slot);
	close_old(fd);
}
