/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The workload of 'twheelctl purgatory', as Kafka's own benchmark of its
 * purgatory runs it.
 *
 * One thread adds requests as they arrive. Each has a deadline and watches
 * keys that it shares with others, and one key of its own. A second thread
 * completes those with a latency below the timeout at their time: every other one
 * by its id, the rest by a signal of their own key. Shared keys are only a load:
 * they need more signals than there are. The caller's thread reads the events and
 * keeps the books.
 */
#ifndef TWHEELCTL_WORKLOAD_H
#define TWHEELCTL_WORKLOAD_H

#include <stdatomic.h>

#include "account.h"
#include "due.h"
#include "samples.h"
#include "twheelctl.h"

/**
 * struct workload_options - what to run
 * @num: requests
 * @rate: requests a second
 * @keys: shared keys watched by each
 * @key_space_size: number of different shared keys
 * @timeout: the deadline of each, in ns from its arrival
 * @pct50: half of the latencies are below this, in ms
 * @pct75: three quarters of them are below this, in ms
 * @seed: of the random numbers
 */
struct workload_options {
	__u64 num;
	double rate;
	__u64 keys;
	__u64 key_space_size;
	__u64 timeout;
	double pct50;
	double pct75;
	__u64 seed;
};

/**
 * struct workload - a run of the workload
 * @options: what to run
 * @fd: the purgatory
 * @account: the books; reader only, except as struct request says
 * @due: requests on their way from the adding to the completing thread
 * @added: requests added so far
 * @all_added: the adding thread has finished
 * @samples: adding thread only
 * @held_back: adds that were repeated because of a limit; adding thread only
 * @elapsed: from the start to the last add, in ns; adding thread only
 * @too_late: completions that came after the deadline; completing thread only
 * @error: of a call that must not fail, or 0
 * @left: operations, events, keys and watches that remain at the end
 */
struct workload {
	const struct workload_options *options;
	int fd;
	struct account account;
	struct due_queue due;
	atomic_size_t added;
	atomic_bool all_added;
	struct samples samples;
	size_t held_back;
	__u64 elapsed;
	size_t too_late;
	atomic_int error;
	__u64 left;
};

/**
 * run_workload() - run it to its end, with a line of progress each second
 * @w: to be filled in; free_workload() it after a success
 * @options: what to run; stays with @w
 *
 * Return: OUTCOME_OK if it ran; the books have the result.
 */
enum outcome run_workload(struct workload *w, const struct workload_options *options);

void free_workload(struct workload *w);

#endif /* TWHEELCTL_WORKLOAD_H */
