/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake of the device for one process, for tests of the bindings and of twheelctl on machines
 * without the module. Preloaded, it replaces open(), ioctl(), mmap() and close() for the nodes of
 * twheel:
 *
 *	LD_PRELOAD=libtwheel_fake.so PROGRAM
 *
 * With TWHEEL_FAKE_PURGATORY=NAME in the environment, there is a purgatory of that name, with
 * three pending detached operations, and an event for each outcome of four others.
 *
 * It keeps purgatories and operations in memory. A file is a pipe: its events are written
 * to it, so that read() and poll() need no replacement. A thread expires operations.
 *
 * The cells of a file are memory that mmap() maps, with the replacement of mmap(). The thread looks
 * at a word when its deadline of the last look comes.
 *
 * It differs from the module: files cannot be shared by dup(), fork() or sockets, a mapping does
 * not keep the operations of a closed file, there are no quotas of users, the periods of an unread
 * event are separate events, and unconfirmed events do not come back. Each test of a binding
 * therefore also runs on the real device.
 */
#ifndef TWHEEL_TESTS_FAKE_H
#define TWHEEL_TESTS_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/twheel.h>
#include <twheel_calls.h>

/* A watched key; @left is the number of signals that it still needs. */
struct fake_watch {
	struct twheel_key key;
	uint32_t left;
	uint32_t bit;
};

struct fake_op {
	struct fake_op *next;
	struct fake_file *file;
	struct fake_purgatory *purgatory;
	struct twheel_add_args args;	/* the deadline is absolute */
	uint64_t *cell;			/* of the file; NULL without one, and when it has ended */
	uint64_t word;			/* with which the cell ended */
	uint64_t sum;
	unsigned int nr;
	struct fake_watch watches[TWHEEL_MAX_KEYS];
};

/*
 * The descriptor of the program is the read end of a pipe; or the write end, if it is open for
 * writing only. Such a file gets no events.
 */
struct fake_file {
	struct fake_purgatory *purgatory;	/* NULL for the control node */
	unsigned int mode;			/* 1 to read, 2 to write, as in twheel_calls */
	int other_end;
	int cells_fd;
	uint32_t nr_cells;
	uint64_t *cells;
	bool drained;
	uint32_t taken;				/* TWHEEL_RIGHT_* that it has lost */
};

struct fake_purgatory {
	struct fake_purgatory *next;
	struct twheel_query_args counts;
	struct fake_file *detached;	/* queue of the detached events, or NULL */
};

/* ops.c: the pending operations, in the order of their adds. The caller holds fake_lock. */
extern struct fake_op *fake_ops;

int fake_refuse(int error);
int fake_call(struct fake_file *file, unsigned int call, void *args);
void fake_expire(void);
uint64_t fake_next_expiry(void);
struct fake_op *fake_find(const struct fake_purgatory *purgatory, uint64_t id);
bool fake_end(struct fake_op *op, uint32_t reason, uint64_t value, int error);
unsigned int fake_pending(const struct fake_file *file);
void fake_forget(const struct fake_file *file);
unsigned int fake_end_all(const struct fake_purgatory *purgatory, const struct fake_file *file,
			  const struct twheel_key *key, uint32_t reason, uint64_t value, int error);

/* device.c: files, system calls and the thread that expires operations. */
void fake_wake(void);
void fake_send(const struct fake_op *op, const struct twheel_event *event);

#endif /* TWHEEL_TESTS_FAKE_H */
