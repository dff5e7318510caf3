// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of this machine's time-stamp counter in kHz.
 *
 * An emulated CPU's counter is that of the host.  A guest that has nothing else
 * to hold it against tries a timer that the host emulates; on a busy host it
 * often gives up, and goes by ticks from then on, of which it misses many.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct instant {
	unsigned long long	ns;
	unsigned long long	tsc;
};

/* Both clocks at the same time: nothing came between if they were read quickly. */
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
	const struct timespec while_it_counts = { .tv_nsec = 200000000 };
	struct instant begin, end;

	begin = now();
	nanosleep(&while_it_counts, NULL);
	end = now();
	printf("%.0f\n", (end.tsc - begin.tsc) * 1e6 / (end.ns - begin.ns));
	return 0;
}
