// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the library's functions with a fake device: each function makes one system
 * call with its parameters and returns the results.
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
	unsigned int open;	/* number of open descriptors */
	unsigned int opens;
	int error;		/* returned by open(), if not 0 */
} device;

static int open_device(const char *path, int flags)
{
	snprintf(device.path, sizeof(device.path), "%s", path);
	device.flags = flags;
	device.opens++;
	if (device.error) {
		errno = device.error;
		return -1;
	}
	device.open++;
	return FAKE_FD;
}

int open(const char *path, int flags, ...)
{
	return open_device(path, flags);
}

/* open() with two arguments, if the library is built with _FORTIFY_SOURCE */
int __open_2(const char *path, int flags)
{
	return open_device(path, flags);
}

int close(int fd)
{
	if (fd == FAKE_FD)
		device.open--;
	errno = EIO;
	return 0;
}

/* Size of the last read(). */
static size_t read_size;

ssize_t read(int fd, void *buffer, size_t bytes)
{
	read_size = bytes;
	return fd == FAKE_FD && buffer ? 2 * (ssize_t)sizeof(struct twheel_event) : -1;
}

/* Exactly one system call was made, with this number. */
#define CHECK_CALL(nr)				\
	do {					\
		CHECK(fake.calls == 1);		\
		CHECK(fake.request == (nr));	\
		fake.calls = 0;			\
	} while (0)

static void calls_on_one_operation_pass_their_arguments(void)
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

static void answer_id(unsigned long request, void *args)
{
	CHECK(request == TWHEEL_IOC_ADD);
	((struct twheel_add_args *)args)->id = 21;
}

static void add_sets_the_key_size_and_only_the_id(void)
{
	struct twheel_watch_spec spec = { .key = key };
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_ANY,
		.keys = (uintptr_t)&spec,
		.nr_keys = 1,
		.key_size = 1,
	};
	struct twheel_add_args expected = args;

	fake_reset();
	fake.answer = answer_id;
	CHECK(!twheel_add(FAKE_FD, &args));
	CHECK(fake.args.add.key_size == sizeof(spec) && fake.args.add.keys == (uintptr_t)&spec);
	expected.id = 21;
	CHECK(!memcmp(&args, &expected, sizeof(args)));
	/* Without keys the size is 0, regardless of the caller's value. */
	args.nr_keys = 0;
	CHECK(!twheel_add(FAKE_FD, &args) && !fake.args.add.key_size);
}

static void size_of_keys_and_entries_is_passed(void)
{
	struct twheel_watch_spec keys[2] = { };
	struct twheel_pending entries[2];
	uint64_t cursor = 0;

	fake_reset();
	CHECK(!twheel_watch(FAKE_FD, 7, keys, 2));
	CHECK(fake.args.watch.key_size == sizeof(keys[0]));
	CHECK(!twheel_watch(FAKE_FD, 7, keys, 0) && !fake.args.watch.key_size);
	CHECK(!twheel_info(FAKE_FD, 7, entries, keys, 2));
	CHECK(fake.args.info.key_size == sizeof(keys[0]));
	CHECK(!twheel_info(FAKE_FD, 7, entries, NULL, 0));
	CHECK(!fake.args.info.key_size && !fake.args.info.keys);
	CHECK(!twheel_list(FAKE_FD, 0, &cursor, entries, 2));
	CHECK(fake.args.list.entry_size == sizeof(entries[0]));
}

static void answer_moved(unsigned long request, void *args)
{
	struct twheel_rearm_args *rearm = args;

	CHECK(request == TWHEEL_IOC_REARM);
	rearm->moved = !(rearm->flags & ~TWHEEL_REARM_ABSTIME);
}

static void rearm_returns_whether_it_moved_the_deadline(void)
{
	struct twheel_rearm_args args = { .id = 7, .slack = 9, .flags = TWHEEL_REARM_IF_LATER };

	fake_reset();
	fake.answer = answer_moved;
	CHECK(twheel_rearm(FAKE_FD, 7, 8, TWHEEL_REARM_ABSTIME) == 1);
	CHECK_CALL(TWHEEL_IOC_REARM);
	CHECK(fake.args.rearm.id == 7 && fake.args.rearm.deadline == 8 &&
	      fake.args.rearm.flags == TWHEEL_REARM_ABSTIME);
	CHECK(twheel_rearm(FAKE_FD, 7, 8, TWHEEL_REARM_IF_EARLIER) == 0);
	CHECK(fake.args.rearm.flags == TWHEEL_REARM_IF_EARLIER);
	CHECK(twheel_rearm_with(FAKE_FD, &args) == 0);
	CHECK(fake.args.rearm.slack == 9);
	args.flags = TWHEEL_REARM_ALWAYS;
	CHECK(twheel_rearm_with(FAKE_FD, &args) == 1 && args.moved == 1);
	fake.error = EALREADY;
	CHECK(twheel_rearm(FAKE_FD, 7, 8, 0) == -1 && errno == EALREADY);
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

static void calls_on_many_operations_count_them(void)
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

static void counts_are_optional(void)
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

static void interrupted_call_reports_its_progress(void)
{
	struct twheel_signal_args args = { .key = key };
	unsigned int nr = 0;

	fake_reset();
	fake.answer = answer_counts;
	fake.error = EINTR;
	CHECK(twheel_signal(FAKE_FD, key, 5, &nr) == -1 && errno == EINTR && nr == 11);
	CHECK(twheel_signal_with(FAKE_FD, &args) == -1 && args.completed == 11);
	CHECK(twheel_cancel_key(FAKE_FD, key, &nr) == -1 && nr == 12);
	CHECK(twheel_complete_all(FAKE_FD, 5, 0, 0, &nr) == -1 && nr == 13);
	CHECK(twheel_drain(FAKE_FD, &nr) == -1 && nr == 14);
	CHECK(twheel_remove("n", 0, &nr) == -1 && errno == EINTR && nr == 15);
	CHECK(twheel_drain(FAKE_FD, NULL) == -1 && errno == EINTR);
}

static void answer_states(unsigned long request, void *args)
{
	struct twheel_pending *pending;

	switch (request) {
	case TWHEEL_IOC_INFO:
		pending = (void *)(uintptr_t)((struct twheel_info_args *)args)->entry;
		pending->nr_keys = 3;
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

static void info_list_and_query_return_the_state(void)
{
	struct twheel_watch_spec keys[2];
	struct twheel_pending entries[2];
	struct twheel_query_args query;
	uint64_t cursor = 98;

	fake_reset();
	fake.answer = answer_states;
	CHECK(!twheel_info(FAKE_FD, 7, entries, keys, 2) && entries[0].nr_keys == 3);
	CHECK_CALL(TWHEEL_IOC_INFO);
	CHECK(fake.args.info.id == 7 && fake.args.info.max_keys == 2 &&
	      fake.args.info.keys == (uintptr_t)keys);
	CHECK(twheel_list(FAKE_FD, TWHEEL_LIST_OTHERS, &cursor, entries, 2) == 1 && cursor == 99);
	CHECK_CALL(TWHEEL_IOC_LIST);
	CHECK(fake.args.list.cursor == 98 && fake.args.list.max_entries == 2 &&
	      fake.args.list.flags == TWHEEL_LIST_OTHERS &&
	      fake.args.list.entries == (uintptr_t)entries);
	memset(&query, 0xff, sizeof(query));
	CHECK(!twheel_query(FAKE_FD, &query) && query.pending == 17);
	CHECK_CALL(TWHEEL_IOC_QUERY);
}

static void events_returns_a_descriptor(void)
{
	fake_reset();
	fake.fd = 77;
	CHECK(twheel_events(FAKE_FD, 5, 0) == 77);
	CHECK_CALL(TWHEEL_IOC_EVENTS);
	CHECK(!fake.args.events.flags && fake.args.events.queue == 5);
	CHECK(twheel_events(FAKE_FD, 0, O_NONBLOCK) == 77);
	CHECK_CALL(TWHEEL_IOC_EVENTS);
	CHECK(fake.args.events.flags == TWHEEL_EVENTS_NONBLOCK);
	CHECK(twheel_events(FAKE_FD, 0, O_APPEND) == -1 && errno == EINVAL);
	CHECK(twheel_events(FAKE_FD, 0, O_NONBLOCK | O_RDWR) == -1 && errno == EINVAL);
	CHECK(!fake.calls);
	fake.error = EPERM;
	CHECK(twheel_events(FAKE_FD, 0, 0) == -1 && errno == EPERM);
}

static void restrict_is_one_call(void)
{
	fake_reset();
	CHECK(!twheel_restrict(FAKE_FD, TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_LIST));
	CHECK_CALL(TWHEEL_IOC_RESTRICT);
	CHECK(!fake.args.restrict_args.flags &&
	      fake.args.restrict_args.rights == (TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_LIST));
	fake.error = EBADF;
	CHECK(twheel_restrict(FAKE_FD, 0) == -1 && errno == EBADF);
}

static void failure_sets_only_errno(void)
{
	struct twheel_signal_args signal = { .key = key, .completed = 9 };
	struct twheel_rearm_args rearm = { .id = 7, .moved = 9 };
	struct twheel_pending pending = { .id = 5 };
	struct twheel_add_args add = { .id = 9 };
	unsigned int nr = 77;
	uint64_t cursor = 98;

	fake_reset();
	fake.answer = answer_counts;
	fake.error = ESHUTDOWN;
	CHECK(twheel_add(FAKE_FD, &add) == -1 && errno == ESHUTDOWN && add.id == 9);
	CHECK(twheel_rearm_with(FAKE_FD, &rearm) == -1 && rearm.moved == 9);
	CHECK(twheel_signal_with(FAKE_FD, &signal) == -1 && signal.completed == 9);
	CHECK(twheel_signal(FAKE_FD, key, 5, &nr) == -1 && errno == ESHUTDOWN);
	CHECK(twheel_cancel_key(FAKE_FD, key, &nr) == -1);
	CHECK(twheel_complete_all(FAKE_FD, 5, 0, 0, &nr) == -1);
	CHECK(twheel_drain(FAKE_FD, &nr) == -1);
	CHECK(twheel_info(FAKE_FD, 7, &pending, NULL, 0) == -1 && pending.id == 5);
	CHECK(twheel_list(FAKE_FD, 0, &cursor, &pending, 1) == -1 && cursor == 98);
	CHECK(twheel_remove("n", 0, &nr) == -1 && errno == ESHUTDOWN);
	CHECK(nr == 77);
}

static void open_adds_its_flags(void)
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

static void invalid_name_opens_nothing(void)
{
	device.opens = 0;
	CHECK(twheel_open_named("", 0) == -1 && errno == EINVAL);
	CHECK(twheel_open_named("../../etc/passwd", 0) == -1 && errno == EINVAL);
	CHECK(twheel_open_named("01234567890123456789012345678901", 0) == -1 && errno == EINVAL);
	CHECK(twheel_create("01234567890123456789012345678901", 0) == -1 && errno == EINVAL);
	CHECK(twheel_remove("", 0, NULL) == -1 && errno == EINVAL);
	CHECK(!device.opens);
}

static void control_node_is_not_a_purgatory(void)
{
	device.opens = 0;
	CHECK(twheel_open_named("control", 0) == -1 && errno == EINVAL);
	CHECK(!device.opens);
	CHECK(twheel_open_named("control-2", 0) == FAKE_FD);
	CHECK(!strcmp(device.path, "/dev/twheel-control-2"));
}

static void answer_node(unsigned long request, void *args)
{
	CHECK(request == TWHEEL_IOC_CREATE);
	((struct twheel_create_args *)args)->major = 240;
	((struct twheel_create_args *)args)->minor = 3;
}

static void create_returns_the_descriptor_of_the_purgatory(void)
{
	struct twheel_create_args args = {
		.name = "x",
		.max_file_pending = 4,
		.max_watches = 5,
	};

	fake_reset();
	fake.answer = answer_node;
	fake.fd = FAKE_FD + 1;
	device.open = 0;
	CHECK(twheel_create("orders", 0660) == FAKE_FD + 1);
	CHECK_CALL(TWHEEL_IOC_CREATE);
	CHECK(!strcmp(device.path, "/dev/twheel-control"));
	CHECK(device.flags == (O_RDWR | O_CLOEXEC));
	CHECK(!strcmp(fake.args.create.name, "orders") && fake.args.create.mode == 0660 &&
	      fake.args.create.uid == TWHEEL_CALLER && fake.args.create.gid == TWHEEL_CALLER);
	CHECK(twheel_create_with(&args) == FAKE_FD + 1);
	CHECK(fake.args.create.max_watches == 5 && fake.args.create.max_file_pending == 4);
	CHECK(args.major == 240 && args.minor == 3);
	/* The control node is closed, the purgatory stays open. */
	CHECK(!device.open);
	fake.error = EEXIST;
	CHECK(twheel_create("orders", 0660) == -1 && errno == EEXIST && !device.open);
	/* 0 is a valid descriptor. */
	fake.error = 0;
	fake.fd = 0;
	CHECK(twheel_create("orders", 0660) == 0 && !device.open);
}

static void remove_counts_the_cancelled_operations(void)
{
	unsigned int nr = 0;

	fake_reset();
	fake.answer = answer_counts;
	device.open = 0;
	CHECK(!twheel_remove("orders", TWHEEL_REMOVE_FORCE, &nr) && nr == 15);
	CHECK_CALL(TWHEEL_IOC_REMOVE);
	CHECK(!strcmp(device.path, "/dev/twheel-control"));
	CHECK(!strcmp(fake.args.remove.name, "orders") &&
	      fake.args.remove.flags == TWHEEL_REMOVE_FORCE);
	fake.error = EBUSY;
	CHECK(twheel_remove("orders", 0, &nr) == -1 && errno == EBUSY);
	CHECK(!device.open);
}

static void no_call_is_made_without_control_node(void)
{
	fake_reset();
	device.error = EACCES;
	CHECK(twheel_create("orders", 0660) == -1 && errno == EACCES);
	CHECK(twheel_remove("orders", 0, NULL) == -1 && errno == EACCES);
	CHECK(!fake.calls);
	device.error = 0;
}

static void read_counts_events_instead_of_bytes(void)
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
		{ "calls on one operation pass their arguments",
		  calls_on_one_operation_pass_their_arguments },
		{ "add sets the key size and only the id", add_sets_the_key_size_and_only_the_id },
		{ "the size of keys and entries is passed", size_of_keys_and_entries_is_passed },
		{ "rearm returns whether it moved the deadline",
		  rearm_returns_whether_it_moved_the_deadline },
		{ "calls on many operations count them", calls_on_many_operations_count_them },
		{ "counts are optional", counts_are_optional },
		{ "an interrupted call reports its progress",
		  interrupted_call_reports_its_progress },
		{ "info, list and query return the state", info_list_and_query_return_the_state },
		{ "events returns a descriptor", events_returns_a_descriptor },
		{ "restrict is one call", restrict_is_one_call },
		{ "a failure sets only errno", failure_sets_only_errno },
		{ "open adds its flags", open_adds_its_flags },
		{ "an invalid name opens nothing", invalid_name_opens_nothing },
		{ "the control node is not a purgatory", control_node_is_not_a_purgatory },
		{ "create returns the descriptor of the purgatory",
		  create_returns_the_descriptor_of_the_purgatory },
		{ "remove counts the cancelled operations",
		  remove_counts_the_cancelled_operations },
		{ "no call is made without the control node",
		  no_call_is_made_without_control_node },
		{ "read counts events instead of bytes", read_counts_events_instead_of_bytes },
		{ }
	};

	return tap_run(cases);
}
