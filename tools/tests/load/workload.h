/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A workload modelled on Kafka's benchmark of its purgatory.
 *
 * One thread adds requests as they arrive. Each request has a deadline and watches
 * keys shared with other requests, and a private key. A second thread completes the
 * requests with a latency below the timeout when the latency has elapsed: alternately
 * by ID and by a signal of the private key. The shared keys are only load: they need
 * more signals than are ever sent. The calling thread reads and accounts the events.
 */
#ifndef TWHEEL_LOAD_WORKLOAD_H
#define TWHEEL_LOAD_WORKLOAD_H

#include <stdatomic.h>

#include "account.h"
#include "due.h"
#include "outcome.h"
#include "samples.h"

/**
 * struct workload_options - parameters of the workload
 * @num: number of requests
 * @rate: requests per second
 * @keys: number of shared keys watched by each request
 * @key_space_size: number of distinct shared keys
 * @timeout: deadline of each request, in ns from its arrival
 * @pct50: median of the latency, in ms
 * @pct75: 75th percentile of the latency, in ms
 * @seed: seed of the random numbers
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
 * @options: parameters
 * @fd: descriptor of the purgatory
 * @account: accounting of the events; reader only, except @not_before (adding thread)
 *	and @completed (completing thread) of a request
 * @due: requests passed from the adding to the completing thread
 * @added: number of requests added
 * @all_added: the adding thread has finished
 * @samples: random numbers; adding thread only
 * @held_back: number of adds repeated because of a limit; adding thread only
 * @elapsed: time from the start to the last add, in ns; adding thread only
 * @too_late: number of completions after the end of the operation; completing thread only
 * @interrupted: stop adding and completing requests; set by the reader
 * @error: errno of a call that must not fail, or 0
 * @left: number of operations, events, keys and watches remaining at the end
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
	atomic_bool interrupted;
	atomic_int error;
	__u64 left;
};

/**
 * run_workload() - run the workload, and print the progress every second
 *
 * SIGINT or SIGTERM ends the run early if catch_interrupts() has been called.
 *
 * @w: set to the results; freed with free_workload() after success
 * @options: parameters, used as long as @w
 *
 * Return: OUTCOME_OK if the workload ran. The account has the result.
 */
enum outcome run_workload(struct workload *w, const struct workload_options *options);

void free_workload(struct workload *w);

#endif /* TWHEEL_LOAD_WORKLOAD_H */
