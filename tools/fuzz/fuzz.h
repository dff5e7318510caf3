/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzzer of the device: declarations that its parts share.
 *
 * A step is one call, in 16 bytes: its kind, its file, the place of its memory, its
 * defect, and bytes that the rest is drawn from.  A thread does nothing but run sequences
 * of steps, which can be kept and changed without knowing their meaning.
 *
 * The first process (main.c) starts workers; a worker starts one child after the other and
 * kills half of them (worker.c); the threads of a child belong to two users and run
 * sequences on common files (child.c).  The memory that all processes share outlives each
 * of them, and has no locks that a killed process could hold.
 */
#ifndef _TWHEEL_FUZZ_H
#define _TWHEEL_FUZZ_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include <linux/twheel.h>

#define USEC		1000ULL
#define MSEC		1000000ULL
#define SEC		1000000000ULL
#define HOUR		(3600 * SEC)

#define MAX_WORKERS	16
#ifndef NR_THREADS
#define NR_THREADS	3	/* of a child */
#endif
#define NR_SLOTS	8	/* files of a child */
#define NR_NAMES	5	/* named purgatories that are spoken of */
#define NR_IDS		16	/* operations that are remembered, per file or name */
#define MAX_STEPS	32	/* of a sequence */
#define MAX_COMMANDS	24	/* of a batch, unless it is absurd */
#define CHILD_LIFE_MS	4000
#define USER		1000	/* a user without privileges, and another one */
#define OTHER_USER	1001

#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))

/* The kinds of steps: the ioctls by their numbers, then all others. */
enum kind {
	KIND_WILD	= 0,	/* an ioctl of any number */
	/* enum twheel_call */
	KIND_OPEN	= 40,
	KIND_OPEN_NAMED,
	KIND_CLOSE,
	KIND_DUP,
	KIND_READ,
	KIND_POLL,
	KIND_EPOLL,
	KIND_FCNTL,
	KIND_FORK,
	KIND_SEND,
	KIND_RECEIVE,
	KIND_SHAKE,
	KIND_CLOCK,
	KIND_SLEEP,
	KIND_MISC,
	KIND_LOOK,
	KIND_OPEN_CONTROL,
	NR_KINDS
};

/* The kinds of files. */
enum file_type {
	FILE_PURGATORY,
	FILE_EVENTS,
	FILE_CONTROL,
};

struct step {
	__u8 kind;
	__u8 slot;
	__u8 place;
	__u8 oddity;
	__u8 arg[8];
	__u32 seed;
};

struct sequence {
	__u32 nr;
	struct step steps[MAX_STEPS];
};

struct random {
	__u64 state;
};

/* Kernel coverage of one thread */
struct cover {
	int fd;
	unsigned long *area;	/* the number of PCs, and the PCs; NULL without KCOV */
	bool news;		/* the sequence that runs has been where none was */
};

/* The memory that a thread hands to the kernel; see memory.c. */
struct memory {
	char *args;		/* zeros, but for the structure of a call */
	char *in;		/* end of the memory that the kernel reads by a pointer */
	char *out;		/* memory that the kernel writes by a pointer */
	size_t out_size;
	char *results;		/* room for results of the largest batch */
	char *shaky;		/* a page that others map and unmap */
	char *read_only;
	int pipe[2];		/* to touch memory that may not be there */
};

/* An open file of a child.  It is being changed while @gen is odd. */
struct slot {
	unsigned int gen;
	int lock;
	int fd;
	enum file_type type;
	int name;		/* of its purgatory, -1 for a private one */
	int access;		/* O_RDONLY and so on */
	bool unsure;		/* other processes or slots may have the file */
	bool drained;		/* or about to be */
	unsigned int drained_at; /* the generation in which it was */
	bool restricted;	/* or about to be */
	unsigned int restricted_at; /* likewise */
	unsigned long removals;	/* of purgatories that had ended before it was opened */
	__u64 finals;		/* events read that end an operation, below 32 bits of @gen */
	__u64 ids[NR_IDS];
	unsigned int next_id;
};

struct thread {
	pthread_t self;
	unsigned int index;
	struct random random;	/* of which sequences are made */
	const struct step *step;
	struct random detail;	/* of the step, once its bytes are used up */
	unsigned int used;
	__u64 began[2];		/* the call, by CLOCK_MONOTONIC and by CLOCK_BOOTTIME */
	struct sequence now;
	struct cover cover;
	struct memory memory;
	int fail_nth;		/* -1 where there is none */
	int epoll;
	bool done;
};

struct child {
	unsigned int worker;
	unsigned int nr;	/* of the worker's children */
	bool forked;		/* others have all of its files */
	bool is_fork;		/* one of them: nothing is known of its files */
	bool stop;
	bool settling;		/* only one thread is left */
	struct slot slots[NR_SLOTS];
	struct slot control;	/* a file of the control node, which stays open */
	struct thread threads[NR_THREADS];
};

/* A file as it was when the call was made. */
struct view {
	struct slot *slot;
	unsigned int gen;
	int fd;
	enum file_type type;
	int name;
	int access;
};

/* A call as it was made, for the rules to judge. */
struct trial {
	unsigned int call;
	const void *args;
	bool known_file;	/* it went to the file that the next fields describe */
	enum file_type type;
	bool named;
	bool readable;
	bool writable;
	bool restricted;	/* before the call */
	bool maybe_restricted;	/* during the call */
	bool plain;		/* all memory that it needs is there */
	bool odd;		/* a field is wrong: it may need more */
	bool odd_number;	/* the ioctl may be one that there is not */
	bool shorter;
	bool longer;
	bool tail;		/* longer, and not zero there */
	bool bad_spec;		/* a watch that must be refused */
	__u32 stride;		/* size of an entry of the array that the call reads */
	bool entry_tail;	/* a byte behind the known part of an entry is not zero */
	bool injected;		/* the kernel was made to fail */
	bool in_batch;
};

/* Counts of each kind of steps */
struct count {
	unsigned long ok;
	unsigned long failed;
};

struct options {
	unsigned int seconds;
	unsigned int workers;
	__u64 seed;
	bool clock;
	bool cover;
	unsigned long total;	/* PCs that there are in the module, 0 if nobody said */
	const char *pcs;	/* file for the PCs that were reached */
};

extern struct options options;

/* child.c */
void run_child(unsigned int worker, unsigned int nr) __attribute__((noreturn));

/* run.c */
extern struct child *child;
void run_step(struct thread *t, const struct step *step);
void settle(struct thread *t, struct slot *slot);

/* worker.c */
void run_worker(unsigned int worker) __attribute__((noreturn));

/* quota.c */
void hold_users(void);
void check_quotas(void);
bool end_names(void);

/* random.c */
__u64 next_random(struct random *random);
__u64 random_below(struct random *random, __u64 n);
unsigned int draw(struct thread *t, unsigned int n);
bool one_in(struct thread *t, unsigned int n);
__u64 draw_wide(struct thread *t);

/* corpus.c */
const char *kind_name(unsigned int kind);
int corpus_init(void);
void next_sequence(struct thread *t);
void new_sequence(struct random *random, struct sequence *sequence);
void change_sequence(struct random *random, struct sequence *sequence);
void keep_sequence(const struct sequence *sequence);
unsigned long nr_kept(void);

/* cover.c */
void cover_setup(void);
void cover_open(struct cover *cover);
void cover_start(struct cover *cover);
void cover_begin(struct cover *cover);
void cover_end(struct cover *cover);
unsigned long nr_pcs(void);
void write_pcs(const char *path);

/* memory.c */
enum place {
	PLACE_PLAIN,
	PLACE_NULL,
	PLACE_UNMAPPED,
	PLACE_READ_ONLY,
	PLACE_CLIFF,
	PLACE_KERNEL,
	PLACE_SHAKY,
	NR_PLACES
};

int memory_init(struct memory *memory);
void shake(struct memory *memory, unsigned int how);
bool try_store(struct memory *memory, void *to, const void *from, size_t size);
bool try_load(struct memory *memory, void *to, const void *from, size_t size);
void *place_in(struct thread *t, unsigned int place, const void *from, size_t size);
void *place_out(struct thread *t, unsigned int place, size_t size);

/* files.c */
int files_init(void);
struct view look_at(struct thread *t);
struct view look_at_control(void);
bool same_file(const struct view *view);
void count_final(const struct view *view);
bool change_slot(struct slot *slot);
void slot_changed(struct slot *slot);
void nobody_is_sure(void);
void may_end(const struct view *view, unsigned int call);
bool may_be_at_end(const struct view *view);
bool maybe_restricted(const struct view *view);
bool surely_restricted(const struct view *view);
void call_ended(unsigned int call);
void child_ended(unsigned int worker);
unsigned long nr_removals_ended(void);
void adopt_file(struct thread *t, struct slot *slot, int fd, enum file_type type, int name,
		unsigned long removals);
void remember_id(const struct view *view, __u64 id);
__u64 some_id(struct thread *t, const struct view *view);
void step_open(struct thread *t);
void step_close(struct thread *t);
void step_dup(struct thread *t);
void step_send(struct thread *t);
void step_receive(struct thread *t);

/* steps.c */
void step_poll(struct thread *t);
void step_epoll(struct thread *t);
void step_fcntl(struct thread *t);
void step_fork(struct thread *t);
void step_clock(struct thread *t);
void step_misc(struct thread *t);
void step_look(struct thread *t);

/* calls.c */
void step_call(struct thread *t);

/* inject.c */
bool inject(struct thread *t);
bool injected(struct thread *t);

/* build.c: fill in a structure, and note its defects in the trial. */
void name_of(unsigned int name, char *to);
int name_number(const char *name);
__u32 some_stride(struct thread *t, unsigned int nr, size_t size);
__u32 bad_stride(struct thread *t, size_t size);
void *lay_out(struct thread *t, struct trial *trial, const void *from, unsigned int nr,
	      size_t size, __u32 stride);
size_t build_call(struct thread *t, const struct view *view, struct trial *trial, void *args);
void build_args(struct thread *t, const struct view *view, struct trial *trial, void *room);
void build_odd(struct thread *t, unsigned int call, void *args, size_t size);
bool is_odd(struct thread *t);
unsigned int place_of(struct thread *t, struct trial *trial);
unsigned int marks_of(const struct twheel_add_args *args);
struct twheel_key some_key(struct thread *t);
__u64 address(const void *memory);

/* batch.c */
void build_batch(struct thread *t, const struct view *view, struct trial *trial, void *room);

/* rules.c */
enum access { ANY, READ, WRITE };

struct rule {
	const char *name;
	size_t size;
	unsigned long request;
	enum access access;	/* that the call needs */
	bool (*refused)(const struct trial *trial);
	int errors[8];
};

const struct rule *rule_of(unsigned int call);
bool must_fail(const struct trial *trial);
bool may_fail(const struct trial *trial, int error);
bool not_zero(const void *memory, size_t size);

/* answers.c */
void check_answer(struct thread *t, const struct view *view, const struct trial *trial,
		  const void *args);
void check_batch(struct thread *t, const struct view *view, const struct trial *trial,
		 const struct twheel_batch_args *args);
void step_read(struct thread *t);
long read_events(struct thread *t, const struct view *view, void *buffer, size_t size,
		 unsigned int place, bool cut);

/* share.c: the memory of all processes. */
enum cookie_mark { COOKIE_PERIODIC = 1, COOKIE_REALTIME = 2, COOKIE_DETACHED = 4 };

int share_init(void);
void *share_alloc(size_t size);
__u64 new_cookie(unsigned int marks);
bool cookie_is_ours(__u64 cookie);
unsigned int cookie_marks(__u64 cookie);
void cookie_refused(__u64 cookie);
bool cookie_ended(__u64 cookie);
void count_step(unsigned int kind, bool ok);
struct count step_count(unsigned int kind);
void count_event(void);
unsigned long nr_events(void);
void failed(struct thread *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
unsigned long nr_failures(void);
int *mailbox(unsigned int which);

static inline __u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static inline __u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif /* _TWHEEL_FUZZ_H */
