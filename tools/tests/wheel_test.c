// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the wheels of debugfs: their lines, and the rows that are printed.
 */
#include <unistd.h>

#include "../twheelctl/wheel.c"
#include "tap.h"

#define QUEUE(time, alarm, name)						\
	"clock=monotonic shard=1 tick_ns=1000000 slots=20 levels=3 "		\
	"time=" time " now=40 next=60 alarm=" alarm " asleep=1 pending=7 due=0 never=1 "	\
	"cascaded=3 name=" name "\n"

#define LARGE									\
	"clock=boottime shard=0 tick_ns=1000 slots=1024 levels=7 time=1 "		\
	"now=1 next=never alarm=never asleep=1 pending=1 due=32 never=0 cascaded=0 name=w\n"

static struct bucket_queue *list;
static size_t unknown;

static long read_text(const char *text)
{
	char path[] = "/tmp/wheel_test.XXXXXX";
	int fd = mkstemp(path);
	long nr;

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	nr = read_buckets(path, &list, &unknown);
	unlink(path);
	return nr;
}

static const char *printed(const struct bucket_queue *queue)
{
	return PRINTED(print_buckets(queue));
}

TEST("the lines of debugfs are parsed")
{
	CHECK(read_text(QUEUE("45", "never", "a wheel\x01")
			" level=1 slot=17 expires=340 timers=6\n" QUEUE("45", "0", "b")) == 2);
	CHECK(!unknown);
	CHECK(!strcmp(list[0].name, "a wheel?") && list[0].shard == 1 && list[0].slots == 20);
	CHECK(list[0].time == 45 && list[0].now == 40 && list[0].next == 60);
	CHECK(list[0].alarm == TICK_NEVER && list[0].pending == 7 && list[0].never == 1);
	CHECK(list[0].nr == 1 && list[0].buckets[0].level == 1 && list[0].buckets[0].slot == 17);
	CHECK(list[0].buckets[0].expires == 340 && list[0].buckets[0].timers == 6);
	CHECK(!list[1].alarm && !list[1].nr);
	free_buckets(list, 2);
}

TEST("unknown lines are counted")
{
	CHECK(read_text(" level=1 slot=17 expires=340 timers=6\nanything\n") == 0);
	CHECK(unknown == 2);
	CHECK(read_text(QUEUE("45", "0", "a") " level=3 slot=1 expires=1 timers=1\n"
			" level=1 slot=20 expires=1 timers=1\n level=1\n") == 1 && unknown == 3);
	CHECK(!list[0].nr);
	free_buckets(list, 1);
	errno = 0;
	CHECK(read_buckets("/nonexistent", &list, &unknown) == -1 && errno == ENOENT);
}

TEST("a row has the timers, the current slot and the emptied buckets")
{
	static const char expected[] =
		"w/1, monotonic: pending 7, due 0, never 1, cascaded 3\n"
		"tick 45; alarm in 15.000 ms\n"
		"  level 0         1.000 ms  0....>..............\n"
		"  level 1        20.000 ms  ..>..............9x+\n";

	CHECK(read_text(QUEUE("45", "60", "w") " level=0 slot=0 expires=60 timers=0\n"
			" level=1 slot=17 expires=340 timers=9\n"
			" level=1 slot=18 expires=360 timers=10\n"
			" level=1 slot=19 expires=380 timers=32\n") == 1);
	CHECK(!strcmp(printed(list), expected));
	list->alarm = 0;
	CHECK(strstr(printed(list), "; the alarm is about to expire\n"));
	list->alarm = TICK_NEVER;
	CHECK(strstr(printed(list), "; no alarm\n"));
	list->asleep = 0;
	CHECK(strstr(printed(list), "; the reaper is at work\n"));
	free_buckets(list, 1);
}

/* Rows of 64 slots, and levels whose slots are longer than 64 bits of ns. */
TEST("wheels of any size are printed")
{
	const char *text;

	CHECK(read_text(LARGE " level=6 slot=1023 expires=9 timers=1\n") == 1);
	CHECK(strstr(printed(list), "w/0, boottime: "));
	CHECK(strstr(printed(list), "due 32 or more,"));
	CHECK(strstr(printed(list), "level 6        centuries  >"));
	CHECK(strstr(printed(list), ".\n                            ."));
	text = printed(list);
	CHECK(!strcmp(text + strlen(text) - 3, ".1\n"));
	free_buckets(list, 1);
}

TAP_MAIN
