// SPDX-License-Identifier: GPL-2.0
/*
 * Suite memory: bytes of a timer.
 */
#include "bench.h"
#include "timer.h"

/**
 * memory_suite - run the suite
 * @config: configuration
 *
 * Return: 0.
 */
int memory_suite(const struct bench_config *config)
{
	unsigned int i;

	for (i = 0; i < TIMER_CONTENDERS; i++)
		bench_sample("memory", "sizeof", timer_contenders[i]->name, "bytes", 0, "bytes",
			     timer_contenders[i]->size * 1000);
	return 0;
}
