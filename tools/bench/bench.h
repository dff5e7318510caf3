/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by all parts of twheel_bench. A contender is a way to manage many
 * deadlines in user space, a session is one use of it, and suite.c takes the figures.
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

/* Maximum number of operations per call of a contender. */
#define BATCH		64
#define LARGE_BATCH	1024

/* With fewer operations, other processes would distort the memory figures. */
#define LEAST_FOR_MEMORY	10000

/*
 * Returned instead of an error number: the error has been reported, or the run took too
 * long.
 */
#define FAILED		4096
#define TOO_LONG	4097

/* State of an operation, as reported by the contender. */
enum op_state {
	OP_IDLE,		/* not added, cancelled or completed */
	OP_PENDING,
	OP_EXPIRED,
};

/**
 * struct op - an operation
 * @deadline: time of CLOCK_MONOTONIC in ns
 * @handle: identifier used by the contender
 * @state: an enum op_state
 */
struct op {
	uint64_t	deadline;
	uint64_t	handle;
	uint32_t	state;
};

/**
 * struct session - one use of a contender
 * @contender: the contender
 * @nr: number of operations
 * @ops: the operations
 * @expired: number of operations reported as expired
 * @data: data of the contender, of @data_size bytes
 */
struct session {
	const struct contender	*contender;
	unsigned int		nr;
	struct op		*ops;
	unsigned int		expired;
	void			*data;
};

/**
 * struct contender - a way to manage many deadlines
 * @name: name in the output
 * @case_name: "single" for one system call per operation, "batch64" for one per batch, or
 *	another case
 * @batch: maximum number of operations per call: BATCH or LARGE_BATCH
 * @data_size: size of the data of a session, which is cleared before @open
 * @open: starts a session
 * @create: creates objects that survive a cancel, such as a descriptor per operation; may
 *	be NULL
 * @add: adds the operations, with their deadlines
 * @cancel: cancels the operations, all of them pending
 * @signal: completes each operation by a signal of its key; may be NULL
 * @settle: reads the events of @nr cancelled or completed operations; may be NULL
 * @rearm: moves pending operations to their present deadlines
 * @take: reads expired operations, waiting for the first one up to the timeout
 * @close: ends the session, including all pending operations
 *
 * All functions except @close return 0 or a negative error number. @take also returns 0
 * on timeout. They call expired() for each operation that expires, and ended() for each
 * one that ends otherwise.
 */
struct contender {
	const char	*name;
	const char	*case_name;
	unsigned int	batch;
	size_t		data_size;
	int		(*open)(struct session *session);
	int		(*create)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*add)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*cancel)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*signal)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*settle)(struct session *session, unsigned int nr);
	int		(*rearm)(struct session *session, const uint32_t *ops, unsigned int nr);
	int		(*take)(struct session *session, unsigned int timeout_ms);
	void		(*close)(struct session *session);
};

extern const struct contender twheel_single;
extern const struct contender twheel_batch;
extern const struct contender twheel_large_batch;
extern const struct contender twheel_keys1;
extern const struct contender twheel_keys1_batch;
extern const struct contender twheel_uring;
extern const struct contender twheel_uring_keys1;
extern const struct contender timerfd_single;
extern const struct contender posix_single;
extern const struct contender uring_single;
extern const struct contender uring_batch;
extern const struct contender uring_large_batch;

/**
 * struct options - options of a run
 * @pending: number of pending operations
 * @repetitions: number of repetitions
 * @operations: number of operations per figure
 * @budget_ns: time limit per figure
 * @only: names of the selected contenders, or NULL for all
 * @memory: measure memory as well
 */
struct options {
	unsigned int	pending;
	unsigned int	repetitions;
	unsigned int	operations;
	uint64_t	budget_ns;
	const char	*only;
	bool		memory;
};

/* session.c */
int session_open(struct session *session, const struct contender *contender, unsigned int nr);
int session_create(struct session *session);
int session_add(struct session *session, unsigned int from, unsigned int to);
void session_close(struct session *session);
int expired(struct session *session, uint64_t number, uint64_t now);
int ended(struct session *session, uint64_t number);

/* churn.c, expire.c, memory.c */
int churn(const struct contender *contender, unsigned int pending,
	  const struct options *options, double *add_ns);
int expire(const struct contender *contender, unsigned int pending, double add_ns);
int memory(const struct contender *contender, unsigned int pending);

/* suite.c */
void run_suite(const struct options *options);

/*
 * output.c: times are numbers of instructions, samples are not printed, and something has gone
 * wrong.
 */
extern bool exact, discarding, failed;

void sample_ns(const struct contender *contender, const char *figure, unsigned int pending,
	       double value);
void failure(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sample(const struct contender *contender, const char *figure, unsigned int pending,
	    const char *unit, double value);
void skip(const struct contender *contender, const char *figure, unsigned int pending,
	  const char *reason);

/* clock.c */
uint64_t now_ns(void);
struct timespec to_timespec(uint64_t ns);
void sleep_until(uint64_t time);
uint32_t random_below(uint32_t limit);
uint64_t mixed_deadline(uint64_t from);

#endif /* TWHEEL_BENCH_H */
