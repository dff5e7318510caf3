// SPDX-License-Identifier: GPL-2.0
/*
 * twheel_load: the workload of Kafka's purgatory benchmark, with a check of every event.
 * This file has the options and the summary, workload.c the workload.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "interrupt.h"
#include "outcome.h"
#include "output.h"
#include "show.h"
#include "units.h"
#include "workload.h"

static const char help[] =
"usage: twheel_load [OPTION]...\n"
"\n"
"Requests arrive as a Poisson process. Each request watches keys from a key space,\n"
"completes after a log-normal latency, and expires after a timeout. The program\n"
"fails unless each request has exactly one event, which is correct and not early.\n"
"It uses a private purgatory.\n"
"\n"
"  --num N               number of requests (10000)\n"
"  --rate N              requests per second (1000)\n"
"  --keys N              keys watched by each request, 1 to 63 (3)\n"
"  --key-space-size N    number of distinct keys (100)\n"
"  --timeout TIME        timeout of a request (200ms)\n"
"  --pct50 TIME          median of the latency (20ms)\n"
"  --pct75 TIME          75th percentile of the latency (60ms)\n"
"  --seed N              seed of the random numbers (the time)\n"
"  --json                print the summary as a JSON object\n"
"\n"
"Progress is printed on standard error. After ^C the summary has the requests so far.\n"
"\n"
"Exit status: 0 success; 1 an event is lost, duplicate, early or wrong; 2 invalid\n"
"arguments; 3 device failure.\n";

#define MAX_NUM		100000000
#define MAX_RATE	1e9
#define MAX_TIME	(1000000 * NSEC_PER_SEC)

/* Return values of getopt_long(). */
enum option_code {
	OPTION_NUM = 256,
	OPTION_RATE,
	OPTION_KEYS,
	OPTION_KEY_SPACE_SIZE,
	OPTION_TIMEOUT,
	OPTION_PCT50,
	OPTION_PCT75,
	OPTION_SEED,
	OPTION_JSON,
	OPTION_HELP,
};

static const struct option options[] = {
	{ "num", required_argument, NULL, OPTION_NUM },
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "keys", required_argument, NULL, OPTION_KEYS },
	{ "key-space-size", required_argument, NULL, OPTION_KEY_SPACE_SIZE },
	{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
	{ "pct50", required_argument, NULL, OPTION_PCT50 },
	{ "pct75", required_argument, NULL, OPTION_PCT75 },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ }
};

#define NUM_EXPECTED	"a whole number from 1 to 100000000"
#define KEYS_EXPECTED	"a whole number from 1 to 63"
#define NR_EXPECTED	"a whole number from 1 to 4294967295"
#define SEED_EXPECTED	"a whole number up to 4294967295"
#define RATE_EXPECTED	"a number up to 1e9"
#define RANGE_EXPECTED	"a time from 1ns to 1000000s, about 11 days"

/* These return NULL, or a description of the expected text if optarg is invalid. */

static const char *take_count(__u64 max, __u64 *count, const char *expected)
{
	return parse_count(optarg, max, count) && *count ? NULL : expected;
}

static const char *take_rate(double *rate)
{
	char *end;

	*rate = strtod(optarg, &end);
	return end != optarg && !*end && *rate > 0 && *rate <= MAX_RATE ? NULL : RATE_EXPECTED;
}

static const char *take_time(__u64 *ns)
{
	if (!parse_time(optarg, ns))
		return TIME_EXPECTED;
	return *ns && *ns <= MAX_TIME ? NULL : RANGE_EXPECTED;
}

static const char *take_ms(double *ms)
{
	__u64 ns = 0;
	const char *expected = take_time(&ns);

	*ms = (double)ns / NSEC_PER_MSEC;
	return expected;
}

static const char *take_option(struct workload_options *o, int code)
{
	switch (code) {
	case OPTION_NUM:
		return take_count(MAX_NUM, &o->num, NUM_EXPECTED);
	case OPTION_RATE:
		return take_rate(&o->rate);
	case OPTION_KEYS:
		return take_count(TWHEEL_MAX_KEYS - 1, &o->keys, KEYS_EXPECTED);
	case OPTION_KEY_SPACE_SIZE:
		return take_count(UINT32_MAX, &o->key_space_size, NR_EXPECTED);
	case OPTION_TIMEOUT:
		return take_time(&o->timeout);
	case OPTION_PCT50:
		return take_ms(&o->pct50);
	case OPTION_PCT75:
		return take_ms(&o->pct75);
	}
	return parse_count(optarg, UINT32_MAX, &o->seed) ? NULL : SEED_EXPECTED;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double actual_rate(const struct workload *w)
{
	return w->elapsed ? w->added * 1e9 / w->elapsed : 0;
}

static void set_count(json_t *object, const char *name, __u64 count)
{
	json_object_set_new(object, name, json_integer(count));
}

static void set_real(json_t *object, const char *name, double real)
{
	json_object_set_new(object, name, json_real(real));
}

static void print_summary_json(const struct workload *w, bool ok)
{
	const struct account *a = &w->account;
	json_t *summary = json_pack("{s:s}", "type", "load");

	json_object_set_new(summary, "ok", json_boolean(ok));
	set_count(summary, "requests", w->added);
	set_count(summary, "completed", a->ended[TWHEEL_REASON_COMPLETED]);
	set_count(summary, "expired", a->ended[TWHEEL_REASON_EXPIRED]);
	json_object_set_new(summary, "interrupted", json_boolean(a->interrupted));
	set_count(summary, "unfinished", a->unfinished);
	set_count(summary, "lost", a->lost);
	set_count(summary, "twice", a->twice);
	set_count(summary, "early", a->early);
	set_count(summary, "wrong", a->wrong);
	set_count(summary, "left", w->left);
	set_count(summary, "too_late", w->too_late);
	set_count(summary, "held_back", w->held_back);
	set_count(summary, "lateness_p50_ns", lateness(a, 50));
	set_count(summary, "lateness_p99_ns", lateness(a, 99));
	set_count(summary, "lateness_max_ns", lateness(a, 100));
	set_real(summary, "target_rate", w->options->rate);
	set_real(summary, "actual_rate", actual_rate(w));
	set_real(summary, "cpu_seconds", cpu_seconds());
	set_count(summary, "seed", w->options->seed);
	print_json(summary);
}

static void print_count(const char *label, __u64 count)
{
	printf("%-22s%8llu\n", label, count);
}

static void print_summary(const struct workload *w, bool ok)
{
	const struct account *a = &w->account;
	char p50[TIME_TEXT_SIZE], p99[TIME_TEXT_SIZE], max[TIME_TEXT_SIZE];

	print_count("requests", w->added);
	print_count("completed early", a->ended[TWHEEL_REASON_COMPLETED]);
	print_count("expired", a->ended[TWHEEL_REASON_EXPIRED]);
	if (a->interrupted)
		print_count("unfinished", a->unfinished);
	print_count("lost", a->lost);
	print_count("delivered twice", a->twice);
	print_count("expired too early", a->early);
	print_count("wrong events", a->wrong);
	print_count("left in the purgatory", w->left);
	print_count("completed too late", w->too_late);
	print_count("held back by a limit", w->held_back);
	printf("lateness of expired   p50 %s, p99 %s, max %s\n",
	       format_time(p50, lateness(a, 50)),
	       format_time(p99, lateness(a, 99)),
	       format_time(max, lateness(a, 100)));
	printf("rate                  target %.1f/s, actual %.1f/s\n",
	       w->options->rate, actual_rate(w));
	printf("CPU time              %.3f s, seed %llu\n",
	       cpu_seconds(), w->options->seed);
	if (!ok)
		puts("FAILED: see the numbers above");
	else if (a->interrupted)
		puts("interrupted: no event was lost, duplicate, early or wrong");
	else
		puts("OK: each request had exactly one event, and none was early");
}

static enum outcome run_and_report(const struct workload_options *o, bool json)
{
	enum outcome outcome;
	struct workload w;
	bool ok;

	outcome = run_workload(&w, o);
	if (outcome)
		return outcome;

	/* An interrupted run leaves the unfinished requests. */
	ok = account_holds(&w.account) && (!w.left || w.account.interrupted);
	if (json)
		print_summary_json(&w, ok);
	else
		print_summary(&w, ok);
	free_workload(&w);
	return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

static enum outcome wrong_usage(const char *format, ...)
{
	va_list args;

	fputs("twheel_load: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\ntry: twheel_load --help\n", stderr);
	return OUTCOME_USAGE;
}

int main(int argc, char **argv)
{
	struct workload_options o = {
		.num = 10000,
		.rate = 1000,
		.keys = 3,
		.key_space_size = 100,
		.timeout = 200 * NSEC_PER_MSEC,
		.pct50 = 20,
		.pct75 = 60,
		.seed = now_ns() % UINT32_MAX,
	};
	const char *expected;
	bool json = false;
	int index, code;

	open_standard_files();
	while ((code = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (code == OPTION_HELP) {
			fputs(help, stdout);
			return end_output(OUTCOME_OK);
		}
		if (code == '?')
			return OUTCOME_USAGE;
		if (code == OPTION_JSON) {
			json = true;
			continue;
		}
		expected = take_option(&o, code);
		if (expected)
			return wrong_usage("--%s: expected %s, got '%s'", options[index].name,
					   expected, optarg);
	}
	if (optind != argc)
		return wrong_usage("unexpected argument '%s'", argv[optind]);
	if (o.pct75 < o.pct50)
		return wrong_usage("--pct75 cannot be below --pct50");
	catch_interrupts();
	return end_output(run_and_report(&o, json));
}
