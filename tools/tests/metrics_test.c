// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the metrics: lines of debugfs. openmetrics_test has the samples.
 *
 *   metrics_test --print    print the metrics of three purgatories, two wheels and a user
 */
#include <stdint.h>
#include <unistd.h>

#include "../twheelctl/metrics.c"
#include "tap.h"

#define WHEEL_COUNTS	"pending=1 added=20 rearmed=3 cancelled=4 fired=15 rejected=5 cascaded=6 " \
		"looks=10 wakeups=7 slow=8 latest_ticks=9 late_ns=1500000000"
#define ZEROS	"0,0,0,0,0,0,0,0,0,0"
#define LATE	"late=4," ZEROS "," ZEROS ",0,0,2,0,1"
#define LINE	"twheel-wheel:\tclock=monotonic " WHEEL_COUNTS " " LATE " name=users\n"

#define TOTALS	"added=7 completed=4 expired=2 cancelled=1 enospc=6 enobufs=0 edquot=5"

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
}

TEST("wheels with the same name and clock are added up")
{
	char path[] = "/tmp/metrics_test.XXXXXX";
	int fd = mkstemp(path);
	struct counts counts;

	CHECK(dprintf(fd, "pos:\t0\n" LINE LINE "twheel-wheel:\tclock=boottime " WHEEL_COUNTS " "
		      LATE " name=users\ntwheel-wheel:\tclock=boottime late=1 name=x\n") > 0);
	CHECK(read_counts(path, &counts) && counts.nr_wheels == 2 && counts.unknown == 1);
	CHECK(counts.wheels[0].fired == 30 && counts.wheels[0].late[23] == 4);
	CHECK(counts.wheels[1].fired == 15);
	free(counts.wheels);
	close(fd);
	unlink(path);
	CHECK(!read_counts(path, &counts));
}

TEST("lines of users have their counts and limits")
{
	char path[] = "/tmp/metrics_test.XXXXXX";
	int fd = mkstemp(path);
	struct counts counts;

	CHECK(dprintf(fd, "%stwheel-user:\tops=3 max_ops=100 files=2 max_files=50 uid=1000 " TOTALS
		      "\ntwheel-user:\tops=3 max_ops=100 files=2 max_files=50 uid= " TOTALS
		      "\ntwheel-user:\tops=3\n"
		      "twheel-user:\tops=3 max_ops=100 files=2 max_files=50 uid=1000 added=7\n"
		      "twheel-user:\tops=0 max_ops=1 files=1 max_files=1 uid=0 " TOTALS " new=1\n",
		      LINE) > 0);
	close(fd);
	CHECK(read_counts(path, &counts) && counts.nr_users == 2 && counts.nr_wheels == 1);
	unlink(path);
	CHECK(counts.users[0].uid == 1000 && counts.users[1].uid == 0);
	CHECK(counts.users[0].ops == 3 && counts.users[0].max_files == 50);
	CHECK(counts.users[1].added == 7 && counts.users[1].edquot == 5);
	free(counts.wheels);
	free(counts.users);
}

TEST("metrics of nothing have no samples")
{
	const char *text = PRINTED(print_purgatory_metrics(NULL, 0); print_wheel_metrics(NULL, 0);
				   print_user_metrics(NULL, 0));

	CHECK(strstr(text, "# TYPE twheel_pending gauge\n"));
	CHECK(!strchr(text, '{'));
}

static int print(void)
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
	const struct user user = { 1000, 3, 100, 2, 50, 7, 4, 2, 1, 6, 0, 5 };
	struct wheel wheels[2];

	if (!parse_wheel(LINE, &wheels[0]))
		return 1;
	wheels[1] = wheels[0];
	snprintf(wheels[1].name, sizeof(wheels[1].name), "a \"b\" \\c");
	print_purgatory_metrics(list, 3);
	print_wheel_metrics(wheels, 2);
	print_user_metrics(&user, 1);
	puts("# EOF");
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "--print") ? print() : tap_run(tap_tests);
}
