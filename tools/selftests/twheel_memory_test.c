// SPDX-License-Identifier: GPL-2.0
/*
 * Failed allocations: each allocation of a call fails once, and so does each copy from or
 * to user memory. The call returns the error, has no effect, and succeeds when it is
 * repeated.
 *
 * Needs a kernel with /proc/thread-self/fail-nth: see fault injection in the kernel's
 * documentation.
 */
#include "gives.h"
#include "named.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define FAULTS		"/sys/kernel/debug/"

/* Maximum number of allocations and copies of a call. */
#define MOST		500

/* Let the @nth allocation or copy of this thread fail, none for 0. */
static bool let_fail(int fail_nth, int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nth);

	return pwrite(fail_nth, text, len, 0) == len;
}

/* Return: true if the fault was injected; this call itself may fail. */
static bool has_failed(int fail_nth)
{
	char text[16] = "";

	return pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
}

static bool say(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool said = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return said;
}

/* State of the attempts. */
struct attempts {
	int fd;
	int named;
	int control;
	int fail_nth;
	__u64 id;
};

static bool same_state(const struct twheel_query_args *before, int fd)
{
	struct twheel_query_args after = query(fd);

	/* Another program of this user may wake its reapers. */
	after.wakeups = before->wakeups;
	after.user_ops = before->user_ops;
	after.user_files = before->user_files;
	return !memcmp(before, &after, sizeof(after));
}

/* The errno of an attempt, or -1 if no fault was injected. */
static int attempt(struct attempts *my, int nth, int (*make)(struct attempts *my))
{
	bool failed;
	int error;

	let_fail(my->fail_nth, nth);
	error = make(my);
	failed = has_failed(my->fail_nth);
	let_fail(my->fail_nth, 0);
	return error || failed ? error : -1;
}

/*
 * Repeat an attempt until none of its allocations and copies fails. Undo it unless it
 * failed with ENOMEM: a call may have taken effect before the copy of its output failed.
 * Return: ENOMEM if some attempts failed with ENOMEM and had no effect, and the others
 * failed only with EFAULT; another number otherwise.
 */
static int without_memory(struct attempts *my, int (*make)(struct attempts *my),
			  void (*undo)(struct attempts *my))
{
	struct twheel_query_args before;
	int nth, error, seen = 0;

	for (nth = 1; nth < MOST; nth++) {
		before = query(my->fd);
		error = attempt(my, nth, make);
		if (error == ENOMEM && !same_state(&before, my->fd))
			return -nth;
		if (error == ENOMEM)
			seen = ENOMEM;
		else
			undo(my);
		if (error < 0)
			return seen;
		if (error && error != ENOMEM && error != EFAULT)
			return error;
	}
	return -MOST;
}

FIXTURE(memory) {
	struct attempts my;
};

/* Inject faults also into allocations that may sleep, without messages. */
static bool prepare_faults(void)
{
	return say(FAULTS "failslab/ignore-gfp-wait", "N") &&
	       say(FAULTS "fail_page_alloc/ignore-gfp-wait", "N") &&
	       say(FAULTS "failslab/verbose", "0") &&
	       say(FAULTS "fail_page_alloc/verbose", "0") &&
	       say(FAULTS "fail_usercopy/verbose", "0");
}

FIXTURE_SETUP(memory)
{
	self->my.fail_nth = open(FAIL_NTH, O_RDWR);
	if (self->my.fail_nth < 0)
		SKIP(return, "no fault injection in this kernel");
	ASSERT_TRUE(prepare_faults());
	self->my.fd = twheel_open(O_NONBLOCK);
	self->my.control = twheel_open_control();
	ASSERT_LE(0, self->my.fd);
	ASSERT_LE(0, self->my.control);
	ASSERT_EQ(0, create_named("other", 0600));
	self->my.named = twheel_open_named("other", O_NONBLOCK);
	ASSERT_LE(0, self->my.named);
	self->my.id = add_keys(self->my.fd, TWHEEL_COND_ANY, 0, 1);
	ASSERT_NE(0, self->my.id);
}

FIXTURE_TEARDOWN(memory)
{
	close(self->my.fail_nth);
	close(self->my.fd);
	close(self->my.named);
	close(self->my.control);
	remove_all_named();
}

static void cancel_and_read(struct attempts *my)
{
	struct twheel_event event;

	op_cancel(my->fd, my->id);
	read_events(my->fd, &event, 1);
}

/* With many keys, which are allocated separately. */
static int make_add(struct attempts *my)
{
	__u64 id = add_keys(my->fd, TWHEEL_COND_ALL, 0, TWHEEL_MAX_KEYS);

	if (id)
		my->id = id;
	return id ? 0 : errno;
}

TEST_F(memory, failed_add_adds_nothing)
{
	GIVES(TWHEEL_IOC_ADD, ENOMEM, without_memory(&self->my, make_add, cancel_and_read));
}

static int make_watch(struct attempts *my)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS - 1];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		specs[i] = spec_of(100 + i, 1);
	return op_watch(my->fd, my->id, specs, i);
}

/* Replace the operation and its keys. */
static void undo_watch(struct attempts *my)
{
	cancel_and_read(my);
	my->id = add_keys(my->fd, TWHEEL_COND_ANY, 0, 1);
}

TEST_F(memory, failed_watch_watches_nothing)
{
	GIVES(TWHEEL_IOC_WATCH, ENOMEM, without_memory(&self->my, make_watch, undo_watch));
}

static int make_info(struct attempts *my)
{
	struct twheel_pending pending;

	return op_info(my->fd, my->id, &pending);
}

static void undo_nothing(struct attempts *my)
{
	(void)my;
}

TEST_F(memory, failed_info_returns_nothing)
{
	GIVES(TWHEEL_IOC_INFO, ENOMEM, without_memory(&self->my, make_info, undo_nothing));
}

static int make_create(struct attempts *my)
{
	struct twheel_create_args args = create_args("memory", 0600);

	return call(my->control, TWHEEL_IOC_CREATE, &args);
}

static void undo_create(struct attempts *my)
{
	struct twheel_remove_args args = remove_args("memory", 0);

	call(my->control, TWHEEL_IOC_REMOVE, &args);
}

TEST_F(memory, failed_create_creates_nothing)
{
	GIVES(TWHEEL_IOC_CREATE, ENOMEM, without_memory(&self->my, make_create, undo_create));
	EXPECT_FALSE(node_exists("memory"));
}

static int make_events(struct attempts *my)
{
	struct twheel_events_args args = { 0 };

	return call(my->named, TWHEEL_IOC_EVENTS, &args);
}

TEST_F(memory, failed_events_opens_nothing)
{
	GIVES(TWHEEL_IOC_EVENTS, ENOMEM, without_memory(&self->my, make_events, undo_nothing));
	EXPECT_EQ(1, query(self->my.named).files);
}

static int make_open(struct attempts *my)
{
	int fd = twheel_open(0);

	(void)my;
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

TEST_F(memory, failed_open_opens_nothing)
{
	long users = module_users();

	GIVES(open, ENOMEM, without_memory(&self->my, make_open, undo_nothing));
	EXPECT_TRUE(wait_for(module_users() == users));
}

TEST_HARNESS_MAIN
