/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring of io_uring, used without a library, and calls of the device by such a ring: for
 * selftest.h, which includes this.
 */
#ifndef _TWHEEL_RING_H
#define _TWHEEL_RING_H

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define ENTRIES		8

/* IORING_OP_*; the header of an old library may lack them, and the fields. */
#define OP_URING_CMD		46
#define OP_READ_MULTISHOT	49
#define SQE_CMD_OP	8
#define SQE_AREA	48

/* ring_result() after a timeout. */
#define NO_RESULT	(-1000)

struct ring {
	int fd;
	unsigned int entry_size, flags, filled;
	unsigned int *sq_tail, *sq_mask, *sq_array, *sq_flags;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	char *sqes;
	struct io_uring_cqe *cqes;
	struct iovec maps[3];
};

/* A ring lasts until its memory is unmapped. */
static inline void ring_close(struct ring *ring)
{
	int i;

	for (i = 0; i < 3; i++)
		munmap(ring->maps[i].iov_base, ring->maps[i].iov_len);
	close(ring->fd);
	ring->fd = -1;
}

static inline char *ring_map(struct ring *ring, int nr, size_t size, off_t offset)
{
	ring->maps[nr].iov_len = size;
	ring->maps[nr].iov_base = mmap(NULL, size, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_POPULATE, ring->fd, offset);
	return ring->maps[nr].iov_base;
}

static inline bool ring_setup(struct ring *ring, struct io_uring_params *p)
{
	char *sq, *cq;

	ring->fd = syscall(SYS_io_uring_setup, ENTRIES, p);
	if (ring->fd < 0)
		return false;
	ring->flags = p->flags;
	ring->filled = 0;
	ring->entry_size = sizeof(struct io_uring_sqe) << !!(p->flags & IORING_SETUP_SQE128);
	sq = ring_map(ring, 0, p->sq_off.array + p->sq_entries * sizeof(__u32),
		      IORING_OFF_SQ_RING);
	cq = ring_map(ring, 1, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	ring->sqes = ring_map(ring, 2, p->sq_entries * ring->entry_size, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring->sqes == MAP_FAILED) {
		ring_close(ring);
		return false;
	}
	ring->sq_tail = (void *)(sq + p->sq_off.tail);
	ring->sq_mask = (void *)(sq + p->sq_off.ring_mask);
	ring->sq_array = (void *)(sq + p->sq_off.array);
	ring->sq_flags = (void *)(sq + p->sq_off.flags);
	ring->cq_head = (void *)(cq + p->cq_off.head);
	ring->cq_tail = (void *)(cq + p->cq_off.tail);
	ring->cq_mask = (void *)(cq + p->cq_off.ring_mask);
	ring->cqes = (void *)(cq + p->cq_off.cqes);
	return true;
}

static inline bool ring_open(struct ring *ring)
{
	struct io_uring_params p = { 0 };

	return ring_setup(ring, &p);
}

/* The next entry to submit, zeroed. */
static inline struct io_uring_sqe *ring_entry(struct ring *ring)
{
	unsigned int at = (*ring->sq_tail + ring->filled++) & *ring->sq_mask;
	void *sqe = ring->sqes + at * ring->entry_size;

	ring->sq_array[at] = at;
	return memset(sqe, 0, ring->entry_size);
}

/*
 * Submit the entries, now or, with SQPOLL, soon. A chain must be there as a whole: the thread of
 * SQPOLL ends it with the last entry that it finds.
 */
static inline bool ring_submit(struct ring *ring)
{
	int nr = ring->filled;

	ring->filled = 0;
	__atomic_store_n(ring->sq_tail, *ring->sq_tail + nr, __ATOMIC_RELEASE);
	if (!(ring->flags & IORING_SETUP_SQPOLL))
		return syscall(SYS_io_uring_enter, ring->fd, nr, 0, 0, NULL, 0) == nr;
	return syscall(SYS_io_uring_enter, ring->fd, nr, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0) == nr;
}

static inline bool is_complete(struct ring *ring)
{
	return __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) != *ring->cq_head;
}

/* Let the kernel run the task work of a ring that defers it, and flush completions. */
static inline bool ring_poll(struct ring *ring)
{
	if (!is_complete(ring))
		syscall(SYS_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
	return is_complete(ring);
}

/* Wait for a completion and take it. Return: false after a timeout. */
static inline bool ring_completion(struct ring *ring, struct io_uring_cqe *cqe)
{
	unsigned int head = *ring->cq_head;

	if (!wait_for(ring_poll(ring)))
		return false;
	*cqe = ring->cqes[head & *ring->cq_mask];
	__atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Wait for a completion. Return: its result, NO_RESULT after a timeout. */
static inline int ring_result(struct ring *ring, __u64 *name)
{
	struct io_uring_cqe cqe;

	*name = 0;
	if (!ring_completion(ring, &cqe))
		return NO_RESULT;
	*name = cqe.user_data;
	return cqe.res;
}

/* Fill the next entry of the ring for a command. */
static inline struct io_uring_sqe *ring_command(struct ring *ring, int fd, __u32 cmd_op,
						const void *args, __u32 flags, __u64 name)
{
	struct twheel_uring_args area = { .args = (unsigned long)args, .flags = flags };
	struct io_uring_sqe *sqe = ring_entry(ring);

	sqe->opcode = OP_URING_CMD;
	sqe->fd = fd;
	sqe->user_data = name;
	memcpy((char *)sqe + SQE_CMD_OP, &cmd_op, sizeof(cmd_op));
	memcpy((char *)sqe + SQE_AREA, &area, sizeof(area));
	return sqe;
}

/* Submit the entry. Return: the result of the command. */
static inline int ring_submit_command(struct ring *ring)
{
	__u64 name;

	return ring_submit(ring) ? ring_result(ring, &name) : NO_RESULT;
}

static bool by_ring;

static __attribute__((constructor)) void set_by_ring(void)
{
	const char *value = getenv("RING");

	by_ring = value && *value;
}

/*
 * An ioctl, with RING=1 as a command of io_uring, if it is one. Each thread has a ring, and a child
 * another one.
 */
static inline int ioctl_or_command(int fd, unsigned long request, void *args)
{
	static __thread struct ring ring;
	static __thread pid_t owner;
	int result;

	if (!by_ring || _IOC_TYPE(request) != TWHEEL_IOC_MAGIC)
		return ioctl(fd, request, args);
	if (owner != gettid() && !ring_open(&ring))
		return ioctl(fd, request, args);
	owner = gettid();
	ring_command(&ring, fd, request, args, 0, 0);
	result = ring_submit_command(&ring);
	/* No command of io_uring, or a descriptor that has none. */
	if (result == -ENOTTY || result == -EOPNOTSUPP)
		return ioctl(fd, request, args);
	if (result >= 0)
		return 0;
	errno = -result;
	return -1;
}

#define ioctl	ioctl_or_command

#endif /* _TWHEEL_RING_H */
