// SPDX-License-Identifier: GPL-2.0
/* The clock, and fast random numbers that are the same in each run. */
#include "bench.h"

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};
}

void sleep_until(uint64_t time)
{
	struct timespec until = to_timespec(time);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* Marsaglia's xorshift */
static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

uint32_t random_below(uint32_t limit)
{
	return (next_random() >> 32) * limit >> 32;
}

/* One to ten minutes ahead, so that no operation expires during a measurement. */
uint64_t mixed_deadline(uint64_t from)
{
	return from + 60 * NSEC_PER_SEC + next_random() % (540 * NSEC_PER_SEC);
}
