// SPDX-License-Identifier: GPL-2.0
/*
 * Print the TSC frequency of this machine in kHz.
 *
 * An emulated CPU has the TSC of the host. Without another reference clock a guest
 * calibrates it with an emulated timer. On a busy host the calibration often fails; the
 * guest then uses ticks for timekeeping, and loses many of them.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct instant {
	unsigned long long	ns;
	unsigned long long	tsc;
};

/* Read both clocks at the same time: use the pair with the shortest interval. */
static struct instant now(void)
{
	struct instant best = { 0 };
	unsigned long long before, after, shortest = ~0ULL;
	struct timespec ts;
	int i;

	for (i = 0; i < 1000; i++) {
		before = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
		after = __rdtsc();
		if (after - before < shortest) {
			shortest = after - before;
			best.ns = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
			best.tsc = before + shortest / 2;
		}
	}
	return best;
}

int main(void)
{
	const struct timespec interval = { .tv_nsec = 200000000 };
	struct instant begin, end;

	begin = now();
	nanosleep(&interval, NULL);
	end = now();
	printf("%.0f\n", (end.tsc - begin.tsc) * 1e6 / (end.ns - begin.ns));
	return 0;
}
