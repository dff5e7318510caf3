/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers for the workload. The same seed gives the same requests.
 */
#ifndef TWHEEL_LOAD_SAMPLES_H
#define TWHEEL_LOAD_SAMPLES_H

#include <linux/types.h>

/**
 * struct samples - a source of random times and keys
 * @state: state of erand48()
 * @rate: arrivals per second
 * @mu: mean of the logarithm of the latency in ms
 * @sigma: standard deviation of the logarithm of the latency in ms
 */
struct samples {
	unsigned short state[3];
	double rate;
	double mu;
	double sigma;
};

/**
 * init_samples() - start a sequence of random numbers
 * @s: the source
 * @seed: seed, of which the low 48 bits are used
 * @rate: arrivals per second
 * @pct50: median of the latency, in ms
 * @pct75: 75th percentile of the latency, in ms
 */
void init_samples(struct samples *s, __u64 seed, double rate, double pct50,
		  double pct75);

/* Return: the time to the next arrival of a Poisson process, in ns. */
__u64 next_interval(struct samples *s);

/* Return: a log-normal latency, in ns. */
__u64 next_latency(struct samples *s);

/* Return: a number below @nr. */
__u64 next_index(struct samples *s, __u64 nr);

#endif /* TWHEEL_LOAD_SAMPLES_H */
