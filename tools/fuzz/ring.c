// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of io_uring, on a file and a ring of the step. The structures are those of the ioctls,
 * with the same corruptions; entries have odd flags, sizes and addresses. The ring and the file are
 * closed in any order, with operations pending and a multishot read.
 *
 * The step checks that no command completes twice, and the range of the results. The events of its
 * file do not count elsewhere.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

#define NR_ENTRIES		8
#define OP_URING_CMD		46
#define OP_READ_MULTISHOT	49
#define ENTRY			128	/* bytes of the largest one */
#define CQES			(2 * NR_ENTRIES)
#define GROUP			1
#define READ			NR_ENTRIES	/* user data of the read */

/* The kernel may write to them after the step: each thread has its own. */
static __thread struct twheel_event events[4];
static __thread char structures[NR_ENTRIES][512];

struct ring {
	int fd;
	size_t rings_size, entries_size, entry_size;
	char *rings, *entries;
	struct io_uring_params p;
};

static bool ring_open(struct thread *t, struct ring *ring)
{
	static const unsigned int flags[] = {
		0, IORING_SETUP_SQE128, IORING_SETUP_CQE32, IORING_SETUP_IOPOLL,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_SQE128 | IORING_SETUP_COOP_TASKRUN,
	};

	memset(ring, 0, sizeof(*ring));
	ring->p.flags = flags[draw(t, ARRAY_SIZE(flags))];
	ring->fd = syscall(SYS_io_uring_setup, NR_ENTRIES, &ring->p);
	if (ring->fd < 0)
		return false;
	ring->entry_size = ring->p.flags & IORING_SETUP_SQE128 ? 128 : 64;
	ring->rings_size = ring->p.cq_off.cqes + 2 * CQES * sizeof(struct io_uring_cqe);
	ring->entries_size = NR_ENTRIES * ring->entry_size;
	ring->rings = mmap(NULL, ring->rings_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			   IORING_OFF_SQ_RING);
	ring->entries = mmap(NULL, ring->entries_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			     ring->fd, IORING_OFF_SQES);
	if (ring->rings != MAP_FAILED && ring->entries != MAP_FAILED)
		return true;
	close(ring->fd);
	return false;
}

static void ring_close(struct ring *ring)
{
	munmap(ring->rings, ring->rings_size);
	munmap(ring->entries, ring->entries_size);
	close(ring->fd);
}

static unsigned int some_call(struct thread *t)
{
	static const unsigned char others[] = {
		TWHEEL_CALL_CANCEL, TWHEEL_CALL_COMPLETE, TWHEEL_CALL_REARM, TWHEEL_CALL_WATCH,
		TWHEEL_CALL_UNWATCH, TWHEEL_CALL_SIGNAL, TWHEEL_CALL_CANCEL_KEY,
		TWHEEL_CALL_BATCH, TWHEEL_CALL_QUERY,
	};

	return one_in(t, 2) ? TWHEEL_CALL_ADD : others[draw(t, ARRAY_SIZE(others))];
}

/* Let a call use one of the operations of the file. */
static void use_own_id(struct thread *t, unsigned int call, char *args)
{
	const struct twheel_add_args *add = (void *)structures[draw(t, NR_ENTRIES)];

	if (call == TWHEEL_CALL_UNWATCH)
		((struct twheel_unwatch_args *)args)->id = add->id;
	else if (call >= TWHEEL_CALL_CANCEL && call <= TWHEEL_CALL_WATCH)
		memcpy(args, &add->id, sizeof(add->id));
}

/* Fill an entry. The structure may be in the entry. */
static void fill_entry(struct thread *t, const struct ring *ring, int fd, unsigned int nr)
{
	unsigned int call = some_call(t);
	struct trial trial = { .call = call, .args = t->memory.args, .plain = true };
	struct io_uring_sqe *sqe = (void *)(ring->entries + nr * ring->entry_size);
	struct view view = look_at(t);
	struct twheel_uring_args area = { .flags = one_in(t, 16) ? draw(t, 4) : 0 };
	unsigned int request = row_of(call)->request;
	size_t size = build_call(t, &view, &trial, t->memory.args);

	if (!one_in(t, 4))
		use_own_id(t, call, t->memory.args);
	memcpy(structures[nr], t->memory.args, size);
	memset(t->memory.args, 0, size);
	if (one_in(t, 8)) {
		size = random_below(&t->detail, sizeof(structures[nr]));
		request = _IOC(_IOC_DIR(request), TWHEEL_IOC_MAGIC, call, size);
	}
	area.args = one_in(t, 16) ? 1 : address(structures[nr]);
	memset(sqe, 0, ring->entry_size);
	if (ring->entry_size == ENTRY && one_in(t, 2)) {
		memcpy(sqe + 1, structures[nr], ring->entry_size - sizeof(*sqe));
		area.args = 0;
		area.flags = TWHEEL_URING_INLINE;
	}
	sqe->opcode = OP_URING_CMD;
	sqe->fd = fd;
	sqe->off = request;	/* cmd_op */
	sqe->user_data = nr;
	sqe->addr = one_in(t, 32);
	sqe->len = one_in(t, 32);
	sqe->rw_flags = one_in(t, 32) ? draw(t, 4) : 0;
	sqe->flags = call != TWHEEL_CALL_ADD ? 0 : one_in(t, 4) ? IOSQE_ASYNC :
		     one_in(t, 8) ? IOSQE_IO_LINK : 0;
	memcpy((char *)sqe + sizeof(*sqe) - sizeof(area), &area, sizeof(area));
}

/* Fill the last entry: read the file by one of the buffers in @events, which are all provided. */
static void fill_read(const struct ring *ring, int fd)
{
	struct io_uring_sqe *sqe = (void *)(ring->entries + (NR_ENTRIES - 1) * ring->entry_size);

	memset(sqe, 0, ring->entry_size);
	sqe->opcode = OP_READ_MULTISHOT;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->fd = fd;
	sqe->buf_group = GROUP;
	sqe->user_data = READ;
}

/* Provide @events as buffers, by the entry that the read uses next. */
static void provide_buffers(const struct ring *ring)
{
	struct io_uring_sqe *sqe = (void *)(ring->entries + (NR_ENTRIES - 1) * ring->entry_size);

	memset(sqe, 0, ring->entry_size);
	sqe->opcode = IORING_OP_PROVIDE_BUFFERS;
	sqe->fd = ARRAY_SIZE(events);
	sqe->addr = address(events);
	sqe->len = sizeof(events[0]);
	sqe->buf_group = GROUP;
	sqe->user_data = READ;
}

static void submit(const struct ring *ring, unsigned int at, unsigned int tail)
{
	unsigned int *array = (void *)(ring->rings + ring->p.sq_off.array);

	array[(tail - 1) % NR_ENTRIES] = at;
	__atomic_store_n((unsigned int *)(ring->rings + ring->p.sq_off.tail), tail,
			 __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0);
}

static void check_completions(struct thread *t, const struct ring *ring)
{
	size_t size = sizeof(struct io_uring_cqe) << !!(ring->p.flags & IORING_SETUP_CQE32);
	unsigned int tail = __atomic_load_n((unsigned int *)(ring->rings + ring->p.cq_off.tail),
					    __ATOMIC_ACQUIRE);
	const struct io_uring_cqe *cqe;
	unsigned int seen = 0, i;

	for (i = 0; i < tail && i < CQES; i++) {
		cqe = (void *)(ring->rings + ring->p.cq_off.cqes + i * size);
		if (cqe->res < -4095)
			failed(t, "result %d", cqe->res);
		if (cqe->user_data == READ)
			continue;
		if (cqe->user_data > READ || seen & 1U << cqe->user_data)
			failed(t, "command %llu completed twice", cqe->user_data);
		seen |= 1U << (cqe->user_data % NR_ENTRIES);
	}
}

void step_ring(struct thread *t)
{
	int fd = open("/dev/twheel", one_in(t, 8) ? O_WRONLY : O_RDWR | O_NONBLOCK);
	unsigned int nr = 1 + draw(t, NR_ENTRIES - 1), tail = 0, i;
	struct ring ring;
	bool first;

	if (fd < 0 || !ring_open(t, &ring)) {
		count_step(t->step->kind, false);
		if (fd >= 0)
			close(fd);
		return;
	}
	if (one_in(t, 2)) {
		provide_buffers(&ring);
		submit(&ring, NR_ENTRIES - 1, ++tail);
		fill_read(&ring, fd);
		submit(&ring, NR_ENTRIES - 1, ++tail);
	}
	for (i = 0; i < nr; i++) {
		fill_entry(t, &ring, fd, i);
		submit(&ring, i, ++tail);
	}
	if (one_in(t, 2))
		usleep(random_below(&t->detail, 2000));
	first = one_in(t, 2);
	if (first)
		close(fd);
	syscall(SYS_io_uring_enter, ring.fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
	check_completions(t, &ring);
	ring_close(&ring);
	if (!first)
		close(fd);
	count_step(t->step->kind, true);
}
