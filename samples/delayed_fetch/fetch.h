/* SPDX-License-Identifier: GPL-2.0 */
/* A consumer of twheel: fetches that complete when enough bytes are available. See main.c. */
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
#define MAX_FETCHES	1000	/* per reader */
#define MAX_BATCHES	10000	/* per partition */

/* How a fetch detects that its bytes are available. See main.c. */
enum style {
	BY_SUM,
	BY_PREDICATE,
	STYLES,
};

/* One append. The times are used by check.c. */
struct batch {
	u64	end;			/* offset after the last byte */
	u64	from;			/* start of the append */
	u64	notified[STYLES];	/* return of the call that notified twheel */
};

struct partition {
	struct work_struct	leader;		/* appends batches */
	unsigned int		number;
	struct rnd_state	rng;
	u64			end;		/* offset after the last byte */
	unsigned int		nr;		/* batches so far */
	struct batch		*batch;
	u64			completed[STYLES];	/* fetches, by the leader's calls */
};

struct fetch {
	struct twheel_op		op;
	struct twheel_watch		watch[MAX_PARTITIONS];
	struct reader			*reader;
	enum style			style;
	unsigned long			partitions;	/* bitmap of the partitions to read */
	u64				start[MAX_PARTITIONS];	/* offset in each of them */
	u64				min;		/* bytes wanted in total */
	u64				deadline;
	bool				added;		/* passed to twheel_op_add() */
	u64				add_from, add_to;	/* start and end of that call */
	int				add_ret;
	atomic_t			nr_ended;		/* calls of ended() */
	u64				ended_at;
	u64				bytes;		/* available bytes at that time */
	struct twheel_op_result		result;
};

/* A reader issues the same request in both styles and continues when both are answered. */
struct reader {
	struct work_struct	work;
	struct rnd_state	rng;
	u64			offset[MAX_PARTITIONS];	/* read up to here */
	struct fetch		**fetch;	/* STYLES per request */
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
