/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzzer of the device: shared declarations.
 *
 * A step is one call, in 16 bytes: its kind, its file, the place of its memory, its defect,
 * and bytes that determine the rest. A thread only runs sequences of steps, which can be
 * kept and changed without knowing their meaning.
 *
 * The first process (main.c) starts workers; a worker starts one child after another and
 * kills half of them (worker.c); the threads of a child belong to two users and run
 * sequences on shared files (child.c). The memory shared by all processes outlives each of
 * them, and has no locks that a killed process could hold.
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
#include <twheel_calls.h>

#define USEC		1000ULL
#define MSEC		1000000ULL
#define SEC		1000000000ULL
#define HOUR		(3600 * SEC)

#define NR_WORKERS	4
#ifndef NR_THREADS
#define NR_THREADS	3	/* threads of a child */
#endif
#define NR_SLOTS	8	/* files of a child */
#define NR_NAMES	5	/* named purgatories used */
#define NR_IDS		16	/* remembered operations per file or name */
#define MAX_STEPS	32	/* steps of a sequence */
#define MAX_COMMANDS	24	/* commands of a batch, unless its number is corrupted */
#define NR_CELLS	4	/* cells in use, of the first page */
#define CHILD_LIFE_MS	4000
#define USER		1000	/* an unprivileged user, and another one */
#define OTHER_USER	1001

#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))

/* The kinds of steps: the ioctls by their numbers, then all others. */
enum kind {
	KIND_WILD	= 0,	/* an ioctl with any number */
	/* enum twheel_call of twheel_calls.h */
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
	KIND_RING,
	KIND_STORE,
	NR_KINDS
};

/* The types of files. */
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
	bool news;		/* the current sequence has reached a new transition */
};

/* The memory that a thread passes to the kernel; see memory.c. */
struct memory {
	char *args;		/* zeroes, except the structure of a call */
	char *in;		/* end of the memory that the kernel reads through a pointer */
	char *out;		/* memory that the kernel writes through a pointer */
	size_t out_size;
	char *results;		/* space for the results of the largest batch */
	char *shaky;		/* a page that other threads map and unmap */
	char *read_only;
	int pipe[2];		/* to access memory that may not be mapped */
};

/* An open file of a child. @gen is odd during a change. */
struct slot {
	unsigned int gen;
	int lock;
	int fd;
	enum file_type type;
	int name;		/* name of its purgatory, -1 for a private one */
	int access;		/* O_RDONLY, O_WRONLY or O_RDWR */
	bool unsure;		/* other processes or slots may use the file */
	bool drained;		/* drained, or about to be */
	unsigned int drained_at; /* generation in which it was drained */
	bool restricted;	/* restricted, or about to be */
	unsigned int restricted_at; /* generation in which it was restricted */
	unsigned long removals;	/* removals that had ended before it was opened */
	__u64 finals;		/* number of last events read; the upper 32 bits are @gen */
	__u64 ids[NR_IDS];
	unsigned int next_id;
};

struct thread {
	pthread_t self;
	unsigned int index;
	struct random random;	/* creates the sequences */
	const struct step *step;
	struct random detail;	/* used after the bytes of the step */
	unsigned int used;
	__u64 began[2];		/* start of the call on CLOCK_MONOTONIC and CLOCK_BOOTTIME */
	struct sequence now;
	struct cover cover;
	struct memory memory;
	int fail_nth;		/* -1 if not supported */
	int epoll;
	bool done;
};

struct child {
	unsigned int worker;
	unsigned int nr;	/* index among the children of its worker */
	bool forked;		/* a child process has all of its files */
	bool is_fork;		/* is such a child process: its files are unknown */
	bool stop;
	bool settling;		/* only one thread is left */
	struct slot slots[NR_SLOTS];
	struct slot control;	/* a file of the control node, which stays open */
	struct thread threads[NR_THREADS];
};

/* A file at the time of a call. */
struct view {
	struct slot *slot;
	unsigned int gen;
	int fd;
	enum file_type type;
	int name;
	int access;
};

/* The structure of any call. */
union call_args {
	TWHEEL_ARGS
};

/* A call, for the check by the rules. */
struct trial {
	unsigned int call;
	const void *args;
	bool known_file;	/* the call used the file described by the next fields */
	enum file_type type;
	bool named;
	bool readable;
	bool writable;
	bool restricted;	/* before the call */
	bool maybe_restricted;	/* during the call */
	bool plain;		/* all required memory is mapped */
	bool odd;		/* a field is corrupted: it may need more memory */
	bool odd_number;	/* the ioctl number may be unknown */
	bool shorter;
	bool longer;
	bool tail;		/* longer, with non-zero bytes at the end */
	bool bad_spec;		/* a watch that must be refused */
	__u32 stride;		/* entry size of the input array of the call */
	bool entry_tail;	/* a byte after the known part of an entry is not zero */
	bool injected;		/* a failure was injected */
	bool in_batch;
};

struct options {
	unsigned int seconds;
	__u64 seed;
	bool cover;		/* KCOV is available */
	unsigned long total;	/* number of PCs in the module, 0 if unknown */
	const char *pcs;	/* output file for the reached PCs */
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
void init_slots(void);
struct view look_at(struct thread *t);
struct view look_at_events(struct thread *t);
struct view look_at_control(void);
bool same_file(const struct view *view);
void count_final(const struct view *view);
bool change_slot(struct slot *slot);
void slot_changed(struct slot *slot);
void set_all_unsure(void);
void may_end(const struct view *view, unsigned int call);
bool may_be_at_end(const struct view *view);
#define ALL_RIGHTS	(2 * TWHEEL_RIGHT_QUERY - 1)

bool maybe_restricted(const struct view *view);
bool is_restricted(const struct view *view);
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
void step_store(struct thread *t);
void step_look(struct thread *t);

/* ring.c */
void step_ring(struct thread *t);

/* calls.c */
void step_call(struct thread *t);

/* inject.c */
bool inject(struct thread *t);
bool injected(struct thread *t);

/* build.c: fill in a structure, and record its defects in the trial. */
void name_of(unsigned int name, char *to);
int name_number(const char *name);
__u32 some_stride(struct thread *t, unsigned int nr, size_t size);
__u32 bad_stride(struct thread *t, size_t size);
void *lay_out(struct thread *t, struct trial *trial, const void *from, unsigned int nr,
	      size_t size, __u32 stride);
size_t size_of_add(struct thread *t, const struct twheel_add_args *args);
size_t build_call(struct thread *t, const struct view *view, struct trial *trial, void *args);
void build_args(struct thread *t, const struct view *view, struct trial *trial, void *buf);
void build_odd(struct thread *t, unsigned int call, void *args, size_t size);
bool is_odd(struct thread *t);
unsigned int place_of(struct thread *t, struct trial *trial);
unsigned int marks_of(const struct twheel_add_args *args);
struct twheel_key some_key(struct thread *t);
bool make_distinct(struct twheel_watch_spec *specs, unsigned int nr);
__u64 address(const void *memory);

/* batch.c */
void build_batch(struct thread *t, const struct view *view, struct trial *trial, void *buf);

/* rules.c */
enum { READ = 1, WRITE = 2 };

const struct twheel_call_row *row_of(unsigned int call);
bool must_fail(const struct trial *trial);
bool may_fail(const struct trial *trial, int error);
bool not_zero(const void *memory, size_t size);
bool bad_clock(__u32 clock);

/* answers.c */
void check_answer(struct thread *t, const struct view *view, const struct trial *trial,
		  const void *args);
void check_batch(struct thread *t, const struct view *view, const struct trial *trial,
		 const struct twheel_batch_args *args);
void step_read(struct thread *t);
long read_events(struct thread *t, const struct view *view, void *buffer, size_t size,
		 unsigned int place, bool split);

/* share.c: the memory shared by all processes. */
enum cookie_mark { COOKIE_PERIODIC = 1, COOKIE_REALTIME = 2, COOKIE_DETACHED = 4,
		   COOKIE_CELL = 8 };

int share_init(void);
void *share_alloc(size_t size);
__u64 new_cookie(unsigned int marks);
bool cookie_is_ours(__u64 cookie);
unsigned int cookie_marks(__u64 cookie);
void cookie_refused(__u64 cookie);
bool cookie_ended(__u64 cookie);
bool cookie_was_refused(__u64 cookie);
void count_step(unsigned int kind, bool ok);
unsigned long nr_calls(void);
void tell_counts(void);
void tell_steps(const struct step *step, unsigned int nr);
void count_event(void);
unsigned long nr_events(void);
void failed(struct thread *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
unsigned long nr_failures(void);
int *mailbox(unsigned int index);

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
