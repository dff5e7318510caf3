/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of twheel_bench share: a contender is one way to wait for many deadlines
 * from user space, a session is one use of it, and the figures are taken by suite.c.
 */
#ifndef TWHEEL_BENCH_H
#define TWHEEL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* How many operations one call of a contender's functions is for at most. */
#define BATCH		64
#define LARGE_BATCH	1024

/* With fewer pending, what other processes do outweighs what these take of memory. */
#define LEAST_FOR_MEMORY	10000

/* What may stand in place of an error number: why was said already, or it takes too long. */
#define FAILED		4096
#define TOO_LONG	4097

/* What has become of an operation, as far as it was told. */
enum op_state {
	OP_IDLE,		/* not added yet, or cancelled, or completed */
	OP_PENDING,
	OP_EXPIRED,
};

/**
 * struct op - an operation, as the bench sees it
 * @deadline: a point in time of CLOCK_MONOTONIC, in ns
 * @handle: what the contender knows it by
 * @state: one of enum op_state
 */
struct op {
	uint64_t	deadline;
	uint64_t	handle;
	uint32_t	state;
};

/**
 * struct session - one use of a contender, with so many operations
 * @contender: which one
 * @nr: how many operations there are
 * @ops: these
 * @expired: how many have been told as expired
 * @data: the contender's own
 */
struct session {
	const struct contender	*contender;
	unsigned int		nr;
	struct op		*ops;
	unsigned int		expired;
	void			*data;
};

/**
 * struct contender - one way to wait for many deadlines
 * @name: what it is called in the output
 * @case_name: "single" for a system call each, "batch64" for one for many, or another
 * @batch: BATCH or LARGE_BATCH, how many operations its functions get at most
 * @open: begins a session
 * @create: makes what outlives a cancel, such as a descriptor for each operation; may be NULL
 * @add: adds those operations, with their deadlines
 * @cancel: cancels them; all are pending
 * @signal: completes them by a signal under the key of each; may be NULL
 * @settle: reads the events of cancelled or completed ones, @nr of them; may be NULL
 * @rearm: gives pending ones the deadlines that they have now
 * @take: gets what is due, and waits no longer than that until something is
 * @close: ends the session, with whatever is pending in it
 * @user_bytes: what the program itself needs for each, if it is the program that waits
 *
 * All but @close return 0 or a negative error number, @take also if nothing came. Of each
 * operation they tell expired() when it has expired, and ended() when it will not any more.
 */
struct contender {
	const char	*name;
	const char	*case_name;
	unsigned int	batch;
	int		(*open)(struct session *session);
	int		(*create)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*add)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*cancel)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*signal)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*settle)(struct session *session, unsigned int nr);
	int		(*rearm)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*take)(struct session *session, unsigned int timeout_ms);
	void		(*close)(struct session *session);
	unsigned int	user_bytes;
};

extern const struct contender twheel_single;
extern const struct contender twheel_batch;
extern const struct contender twheel_large_batch;
extern const struct contender twheel_keys1;
extern const struct contender twheel_keys1_batch;
extern const struct contender timerfd_single;
extern const struct contender posix_single;
extern const struct contender uring_single;
extern const struct contender uring_batch;
extern const struct contender uring_large_batch;
extern const struct contender heap_single;

/**
 * struct options - what a run is asked to do
 * @pending: how many operations are pending while it is measured, one number after the other
 * @nr_pending: how many of these numbers there are
 * @repetitions: how often all of it is done
 * @operations: how many operations each figure is of, unless time runs out
 * @budget_ns: for how long each figure is measured
 * @only: names of contenders, or NULL for all
 * @skip: names of those that don't take part, or NULL
 * @memory: whether memory is measured too
 * @neighbours: measure the lateness beside another user instead
 */
struct options {
	unsigned int	pending[16];
	unsigned int	nr_pending;
	unsigned int	repetitions;
	unsigned int	operations;
	uint64_t	budget_ns;
	const char	*only;
	const char	*skip;
	bool		memory;
	bool		neighbours;
};

/* session.c */
int session_open(struct session *session, const struct contender *contender, unsigned int nr);
int session_create(struct session *session);
int session_add(struct session *session, unsigned int from, unsigned int to);
void session_close(struct session *session);
int expired(struct session *session, uint64_t number, uint64_t now);
int ended(struct session *session, uint64_t number);

/* churn.c, expire.c, memory.c: one set of figures each */
int churn(const struct contender *contender, unsigned int pending,
	  const struct options *options, double *add_ns);
int expire(const struct contender *contender, unsigned int pending, double add_ns);
int memory(const struct contender *contender, unsigned int pending);

/* suite.c */
void run_suite(const struct options *options);

/* neighbours.c */
void run_neighbours(const struct options *options);

/* output.c; the name of the suite is "device" unless another is set */
void set_suite(const char *name);
void end_suite(void);
void failure(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool has_failed(void);
void sample(const struct contender *contender, const char *what, unsigned int pending,
	    const char *unit, double value);
void skip(const struct contender *contender, const char *what, unsigned int pending,
	  const char *reason);
void remark(const struct contender *contender, const char *what, unsigned int pending,
	    const char *text, unsigned long long number);

/* clock.c */
uint64_t now_ns(void);
struct timespec to_timespec(uint64_t ns);
void sleep_until(uint64_t time);
uint32_t random_below(uint32_t limit);
uint64_t mixed_deadline(uint64_t from);

#endif /* TWHEEL_BENCH_H */
