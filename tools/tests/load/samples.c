// SPDX-License-Identifier: GPL-2.0
/*
 * Random numbers for the workload. See samples.h.
 */
#include <math.h>
#include <stdlib.h>

#include "samples.h"
#include "units.h"

/* 75th percentile of the standard normal distribution. */
#define NORMAL_PCT75	0.6744897501960817

/* Upper bound, without which the conversion to an integer could overflow. */
#define LONGEST_NS	9e18

void init_samples(struct samples *s, __u64 seed, double rate, double pct50,
		  double pct75)
{
	s->state[0] = seed;
	s->state[1] = seed >> 16;
	s->state[2] = seed >> 32;
	s->rate = rate;
	s->mu = log(pct50);
	s->sigma = (log(pct75) - s->mu) / NORMAL_PCT75;
}

/* In (0, 1], so that the logarithm is finite. */
static double next_positive(struct samples *s)
{
	return 1.0 - erand48(s->state);
}

__u64 next_interval(struct samples *s)
{
	return fmin(-log(next_positive(s)) / s->rate * NSEC_PER_SEC, LONGEST_NS);
}

__u64 next_latency(struct samples *s)
{
	/* Box-Muller transform. */
	double radius = sqrt(-2.0 * log(next_positive(s)));
	double normal = radius * cos(2.0 * M_PI * erand48(s->state));

	return fmin(exp(s->mu + s->sigma * normal) * NSEC_PER_MSEC, LONGEST_NS);
}

__u64 next_index(struct samples *s, __u64 nr)
{
	return erand48(s->state) * nr;
}
