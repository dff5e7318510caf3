// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the library's functions with a fake device: failures, and what the tests of twheel.hpp
 * and of the Python package, which make each call, do not see.
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

static void answer_id(unsigned long request, void *args)
{
	CHECK(_IOC_NR(request) == _IOC_NR(TWHEEL_IOC_ADD));
	((struct twheel_add_args *)args)->id = 21;
}

TEST("add sets the key size and only the id")
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
	CHECK(fake.args.add_args.key_size == sizeof(spec));
	CHECK(fake.args.add_args.keys == (uintptr_t)&spec);
	expected.id = 21;
	CHECK(!memcmp(&args, &expected, sizeof(args)));
	/* Without keys the size is 0, regardless of the caller's value. */
	args.nr_keys = 0;
	CHECK(!twheel_add(FAKE_FD, &args) && !fake.args.add_args.key_size);
}

/* The count in the output of a call is its number. */
static void answer_counts(unsigned long request, void *args)
{
	const __u32 nr = _IOC_NR(request);
	const struct twheel_call_row *row = &twheel_calls[nr];

	if (row->out_end)
		memcpy((char *)args + row->out, &nr, sizeof(nr));
}

TEST("counts are optional")
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

TEST("an interrupted call reports its progress")
{
	struct twheel_signal_args args = { .key = key };
	unsigned int nr = 0;

	fake_reset();
	fake.answer = answer_counts;
	fake.error = EINTR;
	CHECK(twheel_signal(FAKE_FD, key, 5, &nr) == -1 && errno == EINTR);
	CHECK(nr == TWHEEL_CALL_SIGNAL);
	CHECK(twheel_signal_with(FAKE_FD, &args) == -1 && args.completed == TWHEEL_CALL_SIGNAL);
	CHECK(twheel_cancel_key(FAKE_FD, key, &nr) == -1 && nr == TWHEEL_CALL_CANCEL_KEY);
	CHECK(twheel_complete_all(FAKE_FD, 5, 0, 0, &nr) == -1 && nr == TWHEEL_CALL_COMPLETE_ALL);
	CHECK(twheel_drain(FAKE_FD, &nr) == -1 && nr == TWHEEL_CALL_DRAIN);
	CHECK(twheel_remove("n", 0, &nr) == -1 && errno == EINTR && nr == TWHEEL_CALL_REMOVE);
	CHECK(twheel_drain(FAKE_FD, NULL) == -1 && errno == EINTR);
}

TEST("events takes the flags of its descriptor, and no others")
{
	fake_reset();
	CHECK(twheel_events(FAKE_FD, 0, O_APPEND) == -1 && errno == EINVAL);
	CHECK(twheel_events(FAKE_FD, 0, O_NONBLOCK | O_RDWR) == -1 && errno == EINVAL);
	CHECK(!fake.calls);
}

TEST("a failure sets only errno")
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

TEST("open_named opens the node of the name")
{
	CHECK(twheel_open(0) == FAKE_FD && !strcmp(device.path, "/dev/twheel"));
	CHECK(twheel_open_named("orders.v-1_x", 0) == FAKE_FD);
	CHECK(!strcmp(device.path, "/dev/twheel-orders.v-1_x"));
	CHECK(twheel_open_named("0123456789012345678901234567890", 0) == FAKE_FD);
	CHECK(!strcmp(device.path, "/dev/twheel-0123456789012345678901234567890"));
}

/* O_RDONLY is 0, the default. */
TEST("open takes the flags of the descriptor, and no others")
{
	static const int taken[][2] = {
		{ O_RDONLY, O_RDWR }, { O_RDWR, O_RDWR }, { O_CLOEXEC, O_RDWR },
		{ O_NONBLOCK, O_RDWR | O_NONBLOCK }, { O_RDWR | O_NONBLOCK, O_RDWR | O_NONBLOCK },
	};
	static const int refused[] = {
		O_ACCMODE, O_CREAT, O_TRUNC, O_APPEND, O_DIRECTORY, O_PATH, O_WRONLY | O_CREAT,
		O_NONBLOCK | O_EXCL, 1 << 30, -1,
	};

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		CHECK(twheel_open(taken[i][0]) == FAKE_FD);
		CHECK(device.flags == (taken[i][1] | O_CLOEXEC));
		CHECK(twheel_open_named("orders", taken[i][0]) == FAKE_FD);
		CHECK(device.flags == (taken[i][1] | O_CLOEXEC));
	}
	CHECK(twheel_open_named("orders", O_WRONLY | O_NONBLOCK) == FAKE_FD);
	CHECK(device.flags == (O_WRONLY | O_CLOEXEC | O_NONBLOCK));
	device.opens = 0;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		CHECK(twheel_open(refused[i]) == -1 && errno == EINVAL);
		CHECK(twheel_open_named("orders", refused[i]) == -1 && errno == EINVAL);
	}
	CHECK(twheel_open(O_WRONLY) == -1 && errno == EINVAL);
	CHECK(!device.opens);
}

TEST("an invalid name opens nothing")
{
	device.opens = 0;
	CHECK(twheel_open_named("", 0) == -1 && errno == EINVAL);
	CHECK(twheel_open_named("../../etc/passwd", 0) == -1 && errno == EINVAL);
	CHECK(twheel_open_named("01234567890123456789012345678901", 0) == -1 && errno == EINVAL);
	CHECK(twheel_create("01234567890123456789012345678901", 0) == -1 && errno == EINVAL);
	CHECK(twheel_remove("", 0, NULL) == -1 && errno == EINVAL);
	/* The control node is not a purgatory. */
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

TEST("create returns the descriptor of the purgatory")
{
	const struct twheel_create_args *sent = &fake.args.create_args;
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
	CHECK(!strcmp(sent->name, "orders") && sent->mode == 0660 && sent->uid == TWHEEL_CALLER &&
	      sent->gid == TWHEEL_CALLER);
	CHECK(twheel_create_with(&args) == FAKE_FD + 1);
	CHECK(sent->max_watches == 5 && sent->max_file_pending == 4);
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

TEST("remove counts the cancelled operations")
{
	unsigned int nr = 0;

	fake_reset();
	fake.answer = answer_counts;
	device.open = 0;
	CHECK(!twheel_remove("orders", TWHEEL_REMOVE_FORCE, &nr) && nr == TWHEEL_CALL_REMOVE);
	CHECK_CALL(TWHEEL_IOC_REMOVE);
	CHECK(!strcmp(device.path, "/dev/twheel-control"));
	CHECK(!strcmp(fake.args.remove_args.name, "orders") &&
	      fake.args.remove_args.flags == TWHEEL_REMOVE_FORCE);
	fake.error = EBUSY;
	CHECK(twheel_remove("orders", 0, &nr) == -1 && errno == EBUSY);
	CHECK(!device.open);
}

TEST("no call is made without the control node")
{
	fake_reset();
	device.error = EACCES;
	CHECK(twheel_create("orders", 0660) == -1 && errno == EACCES);
	CHECK(twheel_remove("orders", 0, NULL) == -1 && errno == EACCES);
	CHECK(!fake.calls);
	device.error = 0;
}

TEST("read counts events instead of bytes")
{
	struct twheel_event events[4];

	CHECK(twheel_read_events(FAKE_FD, events, 4) == 2);
	CHECK(read_size == sizeof(events));
	CHECK(twheel_read_events(FAKE_FD, events, SIZE_MAX) == 2);
	CHECK(read_size <= SSIZE_MAX && read_size > SSIZE_MAX - sizeof(events[0]));
	CHECK(twheel_read_events(FAKE_FD + 1, events, 4) == -1);
}

TAP_MAIN
