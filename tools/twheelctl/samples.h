/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers for the workload: the same seed gives the same requests.
 */
#ifndef TWHEELCTL_SAMPLES_H
#define TWHEELCTL_SAMPLES_H

#include <linux/types.h>

/**
 * struct samples - a source of random times and keys
 * @state: of erand48()
 * @rate: arrivals a second
 * @mu: mean of the logarithm of the latency in ms
 * @sigma: standard deviation of it
 */
struct samples {
	unsigned short state[3];
	double rate;
	double mu;
	double sigma;
};

/**
 * init_samples() - start a sequence
 * @s: the source
 * @seed: where it starts; the low 48 bits count
 * @rate: arrivals a second
 * @pct50: half of the latencies are below this, in ms
 * @pct75: three quarters of them are below this, in ms
 */
void init_samples(struct samples *s, __u64 seed, double rate, double pct50,
		  double pct75);

/* Return: the time to the next arrival of a Poisson process, in ns. */
__u64 next_interval(struct samples *s);

/* Return: a log-normal latency, in ns. */
__u64 next_latency(struct samples *s);

/* Return: a number below @nr. */
__u64 next_index(struct samples *s, __u64 nr);

#endif /* TWHEELCTL_SAMPLES_H */
