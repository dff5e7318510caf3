// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the metrics: lines of fdinfo, samples, histograms and escapes.
 *
 *   metrics_test --print    print metrics, for another test that parses them
 */
#include <stdint.h>

#include "../twheelctl/metrics.c"
#include "tap.h"

#define WHEEL_COUNTS	"pending=1 added=20 rearmed=3 cancelled=4 fired=15 rejected=5 cascaded=6 " \
		"looks=10 wakeups=7 slow=8 latest_ticks=9 late_ns=1500000000"
#define ZEROS	"0,0,0,0,0,0,0,0,0,0"
#define LATE	"late=4," ZEROS "," ZEROS ",0,0,2,0,1"
#define MAX	"18446744073709551615"
#define LINE	"twheel-wheel:\tclock=monotonic " WHEEL_COUNTS " " LATE " name=users\n"

#define TOTALS	"added=7 completed=4 expired=2 cancelled=1 enospc=6 enobufs=0 edquot=5"

static const struct user user = { 1000, 3, 100, 2, 50, 7, 4, 2, 1, 6, 0, 5 };

static const char *printed(const struct named *list, size_t nr, const struct wheel *wheels,
			   size_t nr_wheels)
{
	return PRINTED(print_purgatory_metrics(list, nr); print_wheel_metrics(wheels, nr_wheels);
		       print_user_metrics(&user, nr_wheels != 0));
}

TEST("a line of fdinfo has the counts of a wheel and a printable name")
{
	struct wheel wheel;

	CHECK(parse_wheel(LINE, &wheel));
	CHECK(!strcmp(wheel.clock, "monotonic") && !strcmp(wheel.name, "users"));
	CHECK(wheel.pending == 1 && wheel.added == 20);
	CHECK(wheel.fired == 15 && wheel.slow == 8);
	CHECK(wheel.late_ns == 1500000000 && wheel.looks == 10);
	CHECK(wheel.late[0] == 4 && wheel.late[23] == 2 && wheel.late[25] == 1);
	CHECK(parse_wheel("twheel-wheel:\tadded_more=1 " WHEEL_COUNTS " new=text " LATE
			  " clock=boottime name=a b added=7 name=c", &wheel));
	CHECK(!strcmp(wheel.clock, "boottime") && !strcmp(wheel.name, "a b added=7 name=c"));
	CHECK(wheel.added == 20);
	CHECK(parse_wheel("twheel-wheel:\tclock=x " WHEEL_COUNTS " " LATE
			  " name=a\tb\033\377c\n", &wheel));
	CHECK(!strcmp(wheel.name, "a?b??c"));
}

TEST("truncated and wrong lines of fdinfo are ignored")
{
	char line[sizeof(LINE)] = LINE;
	struct wheel wheel;

	CHECK(!parse_wheel("", &wheel) && !parse_wheel("pos:\t0\n", &wheel));
	CHECK(!parse_wheel("twheel-wheel:", &wheel) && !parse_wheel("twheel-wheel:\t\n", &wheel));
	/* Every truncation in front of the name. */
	for (size_t end = strstr(line, "name=") - line; end; end--) {
		line[end] = 0;
		CHECK(!parse_wheel(line, &wheel));
	}
	CHECK(!parse_wheel("twheel-wheel:\tclock=x " WHEEL_COUNTS " late=1,2 name=y", &wheel));
	CHECK(!parse_wheel("twheel-wheel:\tclock=x " WHEEL_COUNTS " " LATE ",1 name=y", &wheel));
	CHECK(!parse_wheel("twheel-wheel:\tclock=x " WHEEL_COUNTS "x " LATE " name=y", &wheel));
	CHECK(!parse_wheel("twheel-wheel:\tclock=a-clock-with-a-long-name " WHEEL_COUNTS " " LATE
			   " name=y", &wheel));
}

TEST("wheels with the same name and clock are added up")
{
	char path[] = "/tmp/metrics_test.XXXXXX";
	int fd = mkstemp(path);
	struct wheel *list;
	size_t unknown;

	CHECK(dprintf(fd, "pos:\t0\n" LINE LINE "twheel-wheel:\tclock=boottime " WHEEL_COUNTS " "
		      LATE " name=users\ntwheel-wheel:\tclock=boottime late=1 name=x\n") > 0);
	CHECK(read_wheels(path, &list, &unknown) == 2 && unknown == 1);
	CHECK(list[0].fired == 30 && list[0].late[23] == 4);
	CHECK(list[1].fired == 15);
	free(list);
	close(fd);
	unlink(path);
	CHECK(!read_wheels(path, &list, &unknown) && !list && !unknown);
}

TEST("metrics have a sample for each purgatory, queue, reason, error and limit")
{
	struct twheel_queue_args queues[] = {
		{ .queue = 0, .ops = 3 },
		{ .queue = 5, .ops = 13, .oldest_unread_ns = 61000000002 },
	};
	const struct named list[] = {
		{ .state = { .name = "a", .pending = 12 }, .queues = queues, .nr_queues = 2 },
		{ .state = { .name = "b", .max_queue = 14, .max_watches = 5, .expired = UINT64_MAX,
			     .rejected = 9, .rejected_enobufs = 7 } },
		{ .state = { .name = "c", .max_pending = 6 }, .error = EACCES },
	};
	const char *text = printed(list, 3, NULL, 0);

	CHECK(strstr(text, "\n# TYPE twheel_ended counter\n"));
	CHECK(strstr(text, "\ntwheel_pending{purgatory=\"a\"} 12\n"));
	CHECK(strstr(text, "\ntwheel_pending{purgatory=\"b\"} 0\n"));
	CHECK(strstr(text, "\n# UNIT twheel_oldest_unread_seconds seconds\n"));
	CHECK(strstr(text, "oldest_unread_seconds{purgatory=\"a\",queue=\"5\"} 61.000000002\n"));
	CHECK(strstr(text, "\ntwheel_queue_operations{purgatory=\"a\",queue=\"0\"} 3\n"
			   "twheel_queue_operations{purgatory=\"a\",queue=\"5\"} 13\n# "));
	CHECK(strstr(text, "\ntwheel_queue_operations_limit{purgatory=\"b\"} 14\n"));
	CHECK(strstr(text, "\ntwheel_ended_total{purgatory=\"b\",reason=\"expired\"} " MAX "\n"));
	CHECK(strstr(text, "\ntwheel_rejected_total{purgatory=\"b\",error=\"ENOBUFS\"} 7\n"));
	CHECK(strstr(text, "\ntwheel_rejected_total{purgatory=\"b\",error=\"EDQUOT\"} 0\n"));
	CHECK(!strstr(text, "} 9\n") && !strstr(text, "{purgatory=\"c\""));
	CHECK(!strstr(text, "twheel_added{"));
	CHECK(strstr(text, "\ntwheel_watches_limit{purgatory=\"b\"} 5\n"));
	CHECK(!strstr(text, "twheel_watches_limit{purgatory=\"a\"}"));
}

TEST("metrics have the counts and limits of users")
{
	char path[] = "/tmp/metrics_test.XXXXXX";
	const char *text;
	struct wheel wheel = { .name = "w" };
	int fd = mkstemp(path);
	struct user *list;

	CHECK(dprintf(fd, "%stwheel-user:\tops=3 max_ops=100 files=2 max_files=50 uid=1000 " TOTALS
		      "\ntwheel-user:\tops=3 max_ops=100 files=2 max_files=50 uid= " TOTALS
		      "\ntwheel-user:\tops=3\n"
		      "twheel-user:\tops=3 max_ops=100 files=2 max_files=50 uid=1000 added=7\n"
		      "twheel-user:\tops=0 max_ops=1 files=1 max_files=1 uid=0 " TOTALS " new=1\n",
		      LINE) > 0);
	close(fd);
	CHECK(read_users(path, &list) == 2 && list[0].uid == 1000 && list[1].uid == 0);
	CHECK(list[0].ops == 3 && list[0].max_files == 50);
	CHECK(list[1].added == 7 && list[1].edquot == 5);
	free(list);
	unlink(path);
	CHECK(!read_users(path, &list) && !list);

	text = printed(NULL, 0, &wheel, 1);
	CHECK(strstr(text, "\ntwheel_user_operations{user=\"1000\"} 3\n"));
	CHECK(strstr(text, "\ntwheel_user_operations_limit{user=\"1000\"} 100\n"));
	CHECK(strstr(text, "\ntwheel_user_files{user=\"1000\"} 2\n"));
	CHECK(strstr(text, "\ntwheel_user_files_limit{user=\"1000\"} 50\n"));
	CHECK(strstr(text, "\ntwheel_private_added_total{user=\"1000\"} 7\n"));
	CHECK(strstr(text, "\ntwheel_private_ended_total{user=\"1000\",reason=\"expired\"} 2\n"));
	CHECK(strstr(text, "\ntwheel_private_rejected_total{user=\"1000\",error=\"EDQUOT\"} 5\n"));
}

TEST("a histogram of lateness is cumulative")
{
	struct wheel wheel;
	const char *text;

	CHECK(parse_wheel(LINE, &wheel));
	snprintf(wheel.name, sizeof(wheel.name), "a\"b\\c");
	text = printed(NULL, 0, &wheel, 1);
#define BUCKET	"\ntwheel_wheel_lateness_seconds_bucket{wheel=\"a\\\"b\\\\c\",clock=\"monotonic\",le="
	CHECK(strstr(text, BUCKET "\"0.000001023\"} 4\n"));
	CHECK(strstr(text, BUCKET "\"4.294967295\"} 4\n"));
	CHECK(strstr(text, BUCKET "\"8.589934591\"} 6\n"));
	CHECK(strstr(text, BUCKET "\"17.179869183\"} 6\n"));
	CHECK(strstr(text, BUCKET "\"+Inf\"} 7\n"));
	CHECK(strstr(text, "_count{wheel=\"a\\\"b\\\\c\",clock=\"monotonic\"} 7\n"));
	CHECK(strstr(text, "_sum{wheel=\"a\\\"b\\\\c\",clock=\"monotonic\"} 1.500000000\n"));
}

TEST("metrics of nothing have no samples")
{
	const char *text = printed(NULL, 0, NULL, 0);

	CHECK(strstr(text, "# TYPE twheel_pending gauge\n"));
	CHECK(!strchr(text, '{'));
}

static int print(void)
{
	struct twheel_queue_args queue = { .queue = 5, .oldest_unread_ns = 1500000000 };
	const struct named named = {
		.state = { .name = "orders", .completed = 3 }, .queues = &queue, .nr_queues = 1,
	};
	struct wheel wheels[2];

	if (!parse_wheel(LINE, &wheels[0]))
		return 1;
	wheels[1] = wheels[0];
	snprintf(wheels[1].name, sizeof(wheels[1].name), "a \"b\" \\c");
	print_purgatory_metrics(&named, 1);
	print_wheel_metrics(wheels, 2);
	print_user_metrics(&user, 1);
	puts("# EOF");
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "--print") ? print() : tap_run(tap_tests);
}
