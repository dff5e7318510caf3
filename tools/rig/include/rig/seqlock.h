/* SPDX-License-Identifier: GPL-2.0 */
/* Sequence counters. The sanitizers do not know fences, so protected data is read atomically. */
#ifndef _RIG_SEQLOCK_H
#define _RIG_SEQLOCK_H

#include <rig/atomic.h>
#include <rig/task.h>

typedef struct seqcount {
	unsigned int sequence;
} seqcount_t;

#define SEQCNT_ZERO(name)	{ 0 }

static inline unsigned int read_seqcount_begin(const seqcount_t *seq)
{
	unsigned int start;

	while ((start = smp_load_acquire(&seq->sequence)) & 1)
		cpu_relax();
	return start;
}

static inline bool read_seqcount_retry(const seqcount_t *seq, unsigned int start)
{
	smp_rmb();
	return READ_ONCE(seq->sequence) != start;
}

static inline void write_seqcount_begin(seqcount_t *seq)
{
	WRITE_ONCE(seq->sequence, seq->sequence + 1);
	smp_wmb();
}

static inline void write_seqcount_end(seqcount_t *seq)
{
	smp_store_release(&seq->sequence, seq->sequence + 1);
}

#endif /* _RIG_SEQLOCK_H */
