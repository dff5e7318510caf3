/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A consumer of twheel: fetches that wait for enough bytes.  See main.c.
 */
#ifndef _TWHEEL_SAMPLE_FETCH_H
#define _TWHEEL_SAMPLE_FETCH_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/rwsem.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define MAX_PARTITIONS	8
#define MAX_READERS	8
#define MAX_FETCHES	1000	/* of each reader */
#define MAX_BATCHES	10000	/* of each partition */

/* How a fetch learns that the bytes are there: main.c explains. */
enum style {
	BY_SUM,
	BY_PREDICATE,
	STYLES,
};

/* Bytes that were appended at once. The times are for the check in the end. */
struct batch {
	u64	end;		/* the offset behind them */
	u64	from;		/* when their append began, */
	u64	told[STYLES];	/* and when the fetches of each style had been told */
};

struct partition {
	struct work_struct	leader;		/* the only one who appends */
	unsigned int		number;
	struct rnd_state	rng;
	u64			end;		/* offset behind its last byte */
	unsigned int		nr;		/* of batches so far */
	struct batch		*batch;
	u64			completed[STYLES];	/* fetches, by its telling */
};

struct fetch {
	struct twheel_op		op;
	struct twheel_watch		watch[MAX_PARTITIONS];
	struct reader			*reader;
	enum style			style;
	unsigned long			partitions;	/* which it reads, a bit each, */
	u64				start[MAX_PARTITIONS];	/* and where it begins */
	u64				min;		/* bytes it wants from all of them */
	u64				deadline;
	bool				parked;		/* or answered without */
	u64				add_from, add_to;	/* when it was added */
	int				add_ret;
	atomic_t			told;		/* how often */
	u64				told_at;
	u64				bytes;		/* that were there when it was told */
	struct twheel_op_result		result;
};

/* Asks for the same in each style at a time, and goes on when both are answered. */
struct reader {
	struct work_struct	work;
	struct rnd_state	rng;
	u64			offset[MAX_PARTITIONS];	/* up to where it has read */
	struct fetch		**fetch;	/* STYLES for each request */
	unsigned int		nr;
	atomic_t		unanswered;
	struct completion	answered;
	int			err;
};

extern unsigned int partitions, readers, fetches, batches, look_us;
extern struct twheel_purgatory *purgatory[STYLES];
extern struct workqueue_struct *workqueue;
extern struct partition partition[MAX_PARTITIONS];
extern struct reader reader[MAX_READERS];

static inline u32 below(struct rnd_state *rng, u32 limit)
{
	return prandom_u32_state(rng) % limit;
}

/* partition.c */
extern struct rw_semaphore append_sem;

struct twheel_key partition_key(unsigned int p);
u64 partition_end(unsigned int p);
int partitions_alloc(u32 seed);
void partitions_free(void);
void leaders_start(void);
void leaders_stop(void);

/* reader.c */
extern atomic_t fetches_allocated;

u64 fetch_bytes(const struct fetch *fetch);
int readers_alloc(u32 seed);
void readers_free(void);
int readers_run(void);

/* check.c */
int fetch_check(u32 seed);

#endif /* _TWHEEL_SAMPLE_FETCH_H */
