// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the library's calls against a device that isn't there: each makes one
 * system call with what it was given, and hands on what came of it.
 */
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "libtwheel_fake.h"
#include "tap.h"

static const struct twheel_key key = { .v = { 3, 4 } };

static struct {
	char path[64];
	int flags;
	unsigned int open;	/* descriptors that have not been closed */
	unsigned int opens;
} device;

int open(const char *path, int flags, ...)
{
	snprintf(device.path, sizeof(device.path), "%s", path);
	device.flags = flags;
	device.open++;
	device.opens++;
	return FAKE_FD;
}

int close(int fd)
{
	if (fd == FAKE_FD)
		device.open--;
	errno = EIO;
	return 0;
}

/* How many bytes read() was asked for last. */
static size_t read_size;

ssize_t read(int fd, void *buffer, size_t bytes)
{
	read_size = bytes;
	return fd == FAKE_FD && buffer ? 2 * (ssize_t)sizeof(struct twheel_event) : -1;
}

/* Whether that was one system call, of this number. */
#define CHECK_CALL(nr)				\
	do {					\
		CHECK(fake.calls == 1);		\
		CHECK(fake.request == (nr));	\
		fake.calls = 0;			\
	} while (0)

static void calls_about_one_operation(void)
{
	struct twheel_watch_spec specs[2] = { };
	struct twheel_add_args add = { .cookie = 5 };

	fake_reset();
	CHECK(!twheel_add(FAKE_FD, &add));
	CHECK_CALL(TWHEEL_IOC_ADD);
	CHECK(fake.args.add.cookie == 5);
	CHECK(!twheel_cancel(FAKE_FD, 7));
	CHECK_CALL(TWHEEL_IOC_CANCEL);
	CHECK(fake.args.cancel.id == 7);
	CHECK(!twheel_complete(FAKE_FD, 7, 8));
	CHECK_CALL(TWHEEL_IOC_COMPLETE);
	CHECK(fake.args.complete.id == 7 && fake.args.complete.value == 8 &&
	      !fake.args.complete.error);
	CHECK(!twheel_complete_error(FAKE_FD, 7, -EIO));
	CHECK_CALL(TWHEEL_IOC_COMPLETE);
	CHECK(fake.args.complete.id == 7 && fake.args.complete.error == -EIO &&
	      !fake.args.complete.value);
	CHECK(!twheel_watch(FAKE_FD, 7, specs, 2));
	CHECK_CALL(TWHEEL_IOC_WATCH);
	CHECK(fake.args.watch.id == 7 && fake.args.watch.nr_keys == 2 &&
	      fake.args.watch.keys == (uintptr_t)specs);
	CHECK(!twheel_unwatch(FAKE_FD, 7, key));
	CHECK_CALL(TWHEEL_IOC_UNWATCH);
	CHECK(fake.args.unwatch.id == 7 && fake.args.unwatch.key.v[1] == 4);
}

static void answer_moved(unsigned long request, void *args)
{
	struct twheel_rearm_args *rearm = args;

	CHECK(request == TWHEEL_IOC_REARM);
	rearm->moved = rearm->which == TWHEEL_REARM_ALWAYS;
}

static void a_rearm_says_whether_it_moved(void)
{
	struct twheel_rearm_args args = { .id = 7, .slack = 9, .which = TWHEEL_REARM_IF_LATER };

	fake_reset();
	fake.answer = answer_moved;
	CHECK(twheel_rearm(FAKE_FD, 7, 8, TWHEEL_REARM_ABSTIME, TWHEEL_REARM_ALWAYS) == 1);
	CHECK_CALL(TWHEEL_IOC_REARM);
	CHECK(fake.args.rearm.id == 7 && fake.args.rearm.deadline == 8 &&
	      fake.args.rearm.flags == TWHEEL_REARM_ABSTIME);
	CHECK(twheel_rearm(FAKE_FD, 7, 8, 0, TWHEEL_REARM_IF_EARLIER) == 0);
	CHECK(fake.args.rearm.which == TWHEEL_REARM_IF_EARLIER);
	CHECK(twheel_rearm_with(FAKE_FD, &args) == 0);
	CHECK(fake.args.rearm.slack == 9);
	fake.error = EALREADY;
	CHECK(twheel_rearm(FAKE_FD, 7, 8, 0, 0) == -1 && errno == EALREADY);
}

static void answer_counts(unsigned long request, void *args)
{
	switch (request) {
	case TWHEEL_IOC_SIGNAL:
		((struct twheel_signal_args *)args)->completed = 11;
		break;
	case TWHEEL_IOC_CANCEL_KEY:
		((struct twheel_cancel_key_args *)args)->cancelled = 12;
		break;
	case TWHEEL_IOC_COMPLETE_ALL:
		((struct twheel_complete_all_args *)args)->completed = 13;
		break;
	case TWHEEL_IOC_DRAIN:
		((struct twheel_drain_args *)args)->cancelled = 14;
		break;
	case TWHEEL_IOC_REMOVE:
		((struct twheel_remove_args *)args)->cancelled = 15;
		break;
	}
}

static void calls_about_many_operations_count_them(void)
{
	struct twheel_signal_args args = { .key = key, .amount = 6, .limit = 2 };
	unsigned int nr = 0;

	fake_reset();
	fake.answer = answer_counts;
	CHECK(!twheel_signal(FAKE_FD, key, 5, &nr) && nr == 11);
	CHECK_CALL(TWHEEL_IOC_SIGNAL);
	CHECK(fake.args.signal.key.v[0] == 3 && fake.args.signal.value == 5);
	CHECK(!twheel_signal_with(FAKE_FD, &args) && args.completed == 11);
	CHECK_CALL(TWHEEL_IOC_SIGNAL);
	CHECK(fake.args.signal.amount == 6 && fake.args.signal.limit == 2);
	CHECK(!twheel_cancel_key(FAKE_FD, key, &nr) && nr == 12);
	CHECK_CALL(TWHEEL_IOC_CANCEL_KEY);
	CHECK(fake.args.cancel_key.key.v[0] == 3);
	CHECK(!twheel_complete_all(FAKE_FD, 0, -EIO, TWHEEL_COMPLETE_OTHERS, &nr) && nr == 13);
	CHECK_CALL(TWHEEL_IOC_COMPLETE_ALL);
	CHECK(fake.args.complete_all.error == -EIO &&
	      fake.args.complete_all.flags == TWHEEL_COMPLETE_OTHERS);
	CHECK(!twheel_drain(FAKE_FD, &nr) && nr == 14);
	CHECK_CALL(TWHEEL_IOC_DRAIN);
}

static void counts_need_not_be_asked_for(void)
{
	fake_reset();
	fake.answer = answer_counts;
	CHECK(!twheel_signal(FAKE_FD, key, 5, NULL));
	CHECK(!twheel_cancel_key(FAKE_FD, key, NULL));
	CHECK(!twheel_complete_all(FAKE_FD, 5, 0, 0, NULL));
	CHECK(!twheel_drain(FAKE_FD, NULL));
	CHECK(!twheel_remove("n", 0, NULL));
	CHECK(fake.calls == 5);
}

static void answer_states(unsigned long request, void *args)
{
	switch (request) {
	case TWHEEL_IOC_INFO:
		((struct twheel_info_args *)args)->pending.nr_keys = 3;
		break;
	case TWHEEL_IOC_LIST:
		((struct twheel_list_args *)args)->cursor = 99;
		((struct twheel_list_args *)args)->nr = 1;
		break;
	case TWHEEL_IOC_QUERY:
		((struct twheel_query_args *)args)->pending = 17;
		break;
	}
}

static void calls_that_ask(void)
{
	struct twheel_watch_spec keys[2];
	struct twheel_pending entries[2];
	struct twheel_query_args query;
	uint64_t cursor = 98;

	fake_reset();
	fake.answer = answer_states;
	CHECK(!twheel_info(FAKE_FD, 7, entries, keys, 2) && entries[0].nr_keys == 3);
	CHECK_CALL(TWHEEL_IOC_INFO);
	CHECK(fake.args.info.id == 7 && fake.args.info.room == 2 &&
	      fake.args.info.keys == (uintptr_t)keys);
	CHECK(twheel_list(FAKE_FD, TWHEEL_LIST_OTHERS, &cursor, entries, 2) == 1 && cursor == 99);
	CHECK_CALL(TWHEEL_IOC_LIST);
	CHECK(fake.args.list.cursor == 98 && fake.args.list.room == 2 &&
	      fake.args.list.flags == TWHEEL_LIST_OTHERS &&
	      fake.args.list.entries == (uintptr_t)entries);
	memset(&query, 0xff, sizeof(query));
	CHECK(!twheel_query(FAKE_FD, &query) && query.pending == 17);
	CHECK_CALL(TWHEEL_IOC_QUERY);
	CHECK(!fake.args.query.flags);
	CHECK(!twheel_read_detached(FAKE_FD));
	CHECK_CALL(TWHEEL_IOC_DETACHED);
}

static void a_failure_sets_nothing_but_errno(void)
{
	struct twheel_pending pending = { .id = 5 };
	unsigned int nr = 77;
	uint64_t cursor = 98;

	fake_reset();
	fake.error = ESHUTDOWN;
	CHECK(twheel_signal(FAKE_FD, key, 5, &nr) == -1 && errno == ESHUTDOWN);
	CHECK(twheel_cancel_key(FAKE_FD, key, &nr) == -1);
	CHECK(twheel_complete_all(FAKE_FD, 5, 0, 0, &nr) == -1);
	CHECK(twheel_drain(FAKE_FD, &nr) == -1);
	CHECK(twheel_info(FAKE_FD, 7, &pending, NULL, 0) == -1 && pending.id == 5);
	CHECK(twheel_list(FAKE_FD, 0, &cursor, &pending, 1) == -1 && cursor == 98);
	CHECK(twheel_read_detached(FAKE_FD) == -1);
	CHECK(nr == 77);
}

static void open_flags_are_added(void)
{
	CHECK(twheel_open(O_NONBLOCK) == FAKE_FD);
	CHECK(!strcmp(device.path, "/dev/twheel"));
	CHECK(device.flags == (O_RDWR | O_CLOEXEC | O_NONBLOCK));
	CHECK(twheel_open_named("orders.v-1_x", 0) == FAKE_FD);
	CHECK(!strcmp(device.path, "/dev/twheel-orders.v-1_x"));
	CHECK(device.flags == (O_RDWR | O_CLOEXEC));
	CHECK(twheel_open_named("0123456789012345678901234567890", 0) == FAKE_FD);
	CHECK(!strcmp(device.path, "/dev/twheel-0123456789012345678901234567890"));
}

static void what_is_no_name_opens_nothing(void)
{
	device.opens = 0;
	CHECK(twheel_open_named("", 0) == -1 && errno == EINVAL);
	CHECK(twheel_open_named("../../etc/passwd", 0) == -1 && errno == EINVAL);
	CHECK(twheel_open_named("01234567890123456789012345678901", 0) == -1 && errno == EINVAL);
	CHECK(twheel_create("01234567890123456789012345678901", 0) == -1 && errno == EINVAL);
	CHECK(twheel_remove("", 0, NULL) == -1 && errno == EINVAL);
	CHECK(!device.opens);
}

static void making_and_removing_leaves_nothing_open(void)
{
	struct twheel_create_args args = { .name = "x", .max_watches = 5 };
	unsigned int nr = 0;

	fake_reset();
	fake.answer = answer_counts;
	device.open = 0;
	CHECK(!twheel_create("orders", 0660));
	CHECK_CALL(TWHEEL_IOC_CREATE);
	CHECK(!strcmp(device.path, "/dev/twheel"));
	CHECK(!strcmp(fake.args.create.name, "orders") && fake.args.create.mode == 0660 &&
	      fake.args.create.uid == TWHEEL_CALLER && fake.args.create.gid == TWHEEL_CALLER);
	CHECK(!twheel_create_with(&args) && fake.args.create.max_watches == 5);
	fake.calls = 0;
	CHECK(!twheel_remove("orders", TWHEEL_REMOVE_FORCE, &nr) && nr == 15);
	CHECK_CALL(TWHEEL_IOC_REMOVE);
	CHECK(!strcmp(fake.args.remove.name, "orders") &&
	      fake.args.remove.flags == TWHEEL_REMOVE_FORCE);
	fake.error = EBUSY;
	CHECK(twheel_remove("orders", 0, &nr) == -1 && errno == EBUSY);
	CHECK(!device.open);
}

static void reading_counts_events_not_bytes(void)
{
	struct twheel_event events[4];

	CHECK(twheel_read_events(FAKE_FD, events, 4) == 2);
	CHECK(read_size == sizeof(events));
	CHECK(twheel_read_events(FAKE_FD, events, SIZE_MAX) == 2);
	CHECK(read_size <= SSIZE_MAX && read_size > SSIZE_MAX - sizeof(events[0]));
	CHECK(twheel_read_events(FAKE_FD + 1, events, 4) == -1);
}

int main(void)
{
	static const struct tap_case cases[] = {
		{ "calls about one operation", calls_about_one_operation },
		{ "a re-arm says whether it moved", a_rearm_says_whether_it_moved },
		{ "calls about many operations count them",
		  calls_about_many_operations_count_them },
		{ "counts need not be asked for", counts_need_not_be_asked_for },
		{ "calls that ask", calls_that_ask },
		{ "a failure sets nothing but errno", a_failure_sets_nothing_but_errno },
		{ "open flags are added", open_flags_are_added },
		{ "what is no name opens nothing", what_is_no_name_opens_nothing },
		{ "making and removing leaves nothing open",
		  making_and_removing_leaves_nothing_open },
		{ "reading counts events, not bytes", reading_counts_events_not_bytes },
		{ }
	};

	return tap_run(cases);
}
