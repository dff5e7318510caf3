// SPDX-License-Identifier: GPL-2.0
/*
 * Fails every allocation of every entry point once, one after another.
 *
 * A call is made with its first allocation failing, then its second, until it makes no
 * further allocations. A call that fails must return -ENOMEM and have no effect; it may also
 * succeed in spite of a failure, and those on operations in the kernel must. Then it is made once
 * more and must succeed, and is undone. At the end, no allocation is left.
 *
 * The calls above repeat, so that a wheel has all levels that they need: fail_levels.c fails the
 * allocations of levels. Allocations of work items and reapers are not made by the caller:
 * torture fail=N fails them, and chains.c fails all that make the hash table of keys grow.
 */
#include <stdio.h>

#include <rig/work.h>

#include "fail.h"
#include "program.h"

/*
 * Segments of buckets that a hash table of keys may have allocated meanwhile. The final check
 * allows none.
 */
#define BUCKETS	16
/* Keys of operations that are added while the allocations of the hash table are slow */
#define KEYS	4000
/* Of detached operations: the table of queues needs several allocations to get there. */
#define QUEUE	1000
#define HOUR	(3600 * NSEC_PER_SEC)
#define DAY	(24 * HOUR)

static unsigned int passed, failed;
static bool must_succeed;		/* without memory as well */

static struct twheel *made;
static struct twheel_purgatory *purgatory;
static struct twheel_op op;
static struct twheel_watch watches[TWHEEL_MAX_KEYS];
static struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
static const struct twheel_watch_spec another = { .key = { { 1000, 1 } } };
static struct file *file, *named, *control, *opened, *slow;
static struct twheel_watch_spec keys[4];
static u64 id;
static char text[1 << 16];

static void nothing(void)
{
}

/* An ioctl on a file; the last arguments initialise its structure. */
#define DO_IOCTL(name, file, call, type, ...)				\
	CALL(name, rig_ioctl(file, TWHEEL_IOC_##call,			\
			     &(struct twheel_##type##_args) { __VA_ARGS__ }))

/* The kernel's interface */

static int do_create(void)
{
	struct twheel_config config = { .name = "fail", .shards = 1, .max_pending = 10 };

	made = twheel_create(&config);
	return PTR_ERR_OR_ZERO(made);
}

static void undo_create(void)
{
	twheel_destroy(made);
}

static int do_purgatory_create(void)
{
	struct twheel_purgatory_config config = {
		.name = "fail", .max_pending = KEYS, .account = true
	};
	struct twheel_purgatory *p = twheel_purgatory_create(&config);

	if (!IS_ERR(p))
		purgatory = p;
	return PTR_ERR_OR_ZERO(p);
}

static void undo_purgatory_create(void)
{
	twheel_purgatory_destroy(purgatory);
}

static int add_op(u32 nr_keys)
{
	struct twheel_op_args args = {
		.deadline = twheel_deadline(DAY), .condition = TWHEEL_COND_ALL,
		.nr_keys = nr_keys, .specs = specs, .watches = watches,
	};

	twheel_op_init(&op, &program_ops);
	return twheel_op_add(purgatory, &op, &args);
}

CALL(op_add, add_op(TWHEEL_MAX_KEYS))

static void undo_op_add(void)
{
	twheel_op_cancel_sync(&op);
	twheel_op_put(&op);
}

/* Calls on a pending operation: it is added before, and there is nothing to undo. */

static void add_op_of_two_keys(void)
{
	WARN_ON(add_op(2));
}

CALL(op_watch, min(twheel_op_watch(&op, &another, &watches[TWHEEL_MAX_KEYS - 1], 1), 0))
CALL(op_unwatch, twheel_op_unwatch(&op, &specs[0].key) ? 0 : -ENOENT)
CALL(op_rearm, min(twheel_op_rearm(&op, twheel_deadline(2 * DAY), TWHEEL_REARM_ALWAYS), 0))
CALL(op_complete, twheel_op_complete(&op, 1))
CALL(op_cancel, twheel_op_cancel(&op))
CALL(signal, twheel_signal(purgatory, &specs[0].key, 1, 1) ? -EBUSY : 0)
CALL(check_and_complete, twheel_check_and_complete(purgatory, &specs[0].key, 1, 0) ? -EBUSY : 0)
CALL(cancel_for_key, twheel_cancel_for_key(purgatory, &specs[0].key, NULL, NULL, 0) != 1)
CALL(complete_all, twheel_complete_all(purgatory, 0, 1, 0) == 1 ? 0 : -ENOENT)

static int do_op_iterate(void)
{
	struct twheel_op_iter iter;
	struct twheel_op *found;

	twheel_op_iter_start(&iter, purgatory);
	found = twheel_op_iter_next(&iter);
	twheel_op_iter_end(&iter);
	return found ? 0 : -ENOENT;
}

static int debugfs(const char *name)
{
	ssize_t len = rig_debugfs_read(name, text, sizeof(text));

	return len < 0 ? len : 0;
}

CALL(debugfs_wheels, debugfs("wheels"))
CALL(debugfs_counts, debugfs("counts"))
CALL(debugfs_buckets, debugfs("buckets"))
CALL(debugfs_purgatories, debugfs("purgatories"))
CALL(debugfs_operations, debugfs("operations"))

/* The device */

static int open_as(const char *name, struct file **to)
{
	*to = rig_open(name, O_RDWR | O_NONBLOCK);
	return PTR_ERR_OR_ZERO(*to);
}

CALL(open, open_as("/dev/twheel", &opened))
CALL(open_named, open_as("/dev/twheel-fail", &opened))

static void undo_open(void)
{
	rig_close(opened);
}

static int device_add(struct file *to, u32 nr_keys, struct twheel_add_args more)
{
	struct twheel_add_args args = program_add_args(HOUR, specs, nr_keys);
	int err;

	args.condition = more.condition ?: nr_keys ? TWHEEL_COND_ALL : TWHEEL_COND_NONE;
	args.period = more.period;
	args.flags = more.flags;
	args.queue = more.queue;
	err = rig_ioctl(to, TWHEEL_IOC_ADD, &args);
	id = args.id;
	return err;
}

#define ADD(name, to, nr_keys, ...) \
	CALL(name, device_add(to, nr_keys, (struct twheel_add_args) { __VA_ARGS__ }))

ADD(device_add, file, 0)
ADD(device_add_keys1, file, 1)
ADD(device_add_keys64, file, TWHEEL_MAX_KEYS)
ADD(device_add_periodic, file, 1, .condition = TWHEEL_COND_ANY, .period = HOUR)
ADD(device_add_detached, named, 2, .flags = TWHEEL_ADD_DETACHED, .queue = QUEUE)

static void take_events(void)
{
	struct twheel_event events[64];

	while (rig_read(file, events, sizeof(events)) > 0)
		;
}

static void undo_device_add(void)
{
	struct twheel_cancel_args args = { .id = id };

	rig_ioctl(file, TWHEEL_IOC_CANCEL, &args);
	take_events();
}

static int do_device_events(void)
{
	struct twheel_events_args args = {
		.flags = O_NONBLOCK | TWHEEL_EVENTS_CONFIRM, .queue = QUEUE,
	};
	int fd = rig_ioctl(named, TWHEEL_IOC_EVENTS, &args);

	if (fd < 0)
		return fd;
	opened = rig_fd_take(fd);
	return 0;
}

static void undo_device_add_detached(void)
{
	struct twheel_event event;

	rig_ioctl(named, TWHEEL_IOC_CANCEL, &(struct twheel_cancel_args) { .id = id });
	if (do_device_events())
		return;
	while (rig_read(opened, &event, sizeof(event)) > 0)
		;
	rig_close(opened);
}

/* For a pending operation */
DO_IOCTL(device_watch, file, WATCH, watch, .id = id, .nr_keys = TWHEEL_MAX_KEYS - 1,
	 .keys = (uintptr_t)(specs + 1), .key_size = sizeof(specs[0]))
DO_IOCTL(device_info, file, INFO, info, .id = id, .entry = (uintptr_t)text,
	 .entry_size = sizeof(struct twheel_pending), .keys = (uintptr_t)keys, .max_keys = 4,
	 .key_size = sizeof(keys[0]))
DO_IOCTL(device_list, file, LIST, list, .entries = (uintptr_t)text, .max_entries = 4,
	 .entry_size = sizeof(struct twheel_pending))
DO_IOCTL(device_query, file, QUERY, query)
DO_IOCTL(device_rearm, file, REARM, rearm, .id = id, .deadline = DAY)

static void undo_device_watch(void)
{
	undo_device_add();
	do_device_add_keys1();
}

static void undo_device_batch(void)
{
	struct twheel_complete_all_args args = {};

	rig_ioctl(file, TWHEEL_IOC_COMPLETE_ALL, &args);
	take_events();
}

/* A batch stops at the failed command; the commands before it have been executed. */
static int do_device_batch(void)
{
	struct {
		struct twheel_command head;
		struct twheel_add_args add;
	} commands[9] = {};
	struct twheel_result results[9];
	struct twheel_batch_args args = {
		.commands = (uintptr_t)commands, .results = (uintptr_t)results,
		.nr = ARRAY_SIZE(commands), .flags = TWHEEL_BATCH_STOP,
		.size = sizeof(commands), .result_size = sizeof(results[0]),
	};
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		commands[i].head.cmd = TWHEEL_IOC_ADD;
		commands[i].add = program_add_args(HOUR, specs, i);
	}
	err = rig_ioctl(file, TWHEEL_IOC_BATCH, &args);
	if (!err && args.failed) {
		err = results[args.done - 1].error;
		undo_device_batch();
	}
	return err;
}

CALL(create_named, program_create_name(control, "another"))

static void undo_create_named(void)
{
	program_remove_name(control, "another");
}

CALL(fdinfo, (rig_fdinfo(file, text, sizeof(text)), 0))

/* Calls on a pending operation of the device */

static void add_device_op(void)
{
	WARN_ON(device_add(file, 2, (struct twheel_add_args) { }));
}

DO_IOCTL(device_cancel, file, CANCEL, cancel, .id = id)
DO_IOCTL(device_complete, file, COMPLETE, complete, .id = id)
DO_IOCTL(device_unwatch, file, UNWATCH, unwatch, .id = id, .key = specs[0].key)
DO_IOCTL(device_signal, file, SIGNAL, signal, .key = specs[0].key)
DO_IOCTL(device_cancel_key, file, CANCEL_KEY, cancel_key, .key = specs[0].key)
DO_IOCTL(device_complete_all, file, COMPLETE_ALL, complete_all)

static int do_device_read(void)
{
	struct twheel_event event;

	do_device_cancel();
	return rig_read(file, &event, sizeof(event)) == sizeof(event) ? 0 : -EAGAIN;
}

CALL(device_poll, rig_poll(&(struct rig_polled) { file, EPOLLIN }, 1, 0) < 0 ? -EIO : 0)

/* With a file that is opened before and closed afterwards */

static void open_one(void)
{
	WARN_ON(do_open());
}

static void open_one_named(void)
{
	WARN_ON(do_open_named());
}

DO_IOCTL(device_drain, opened, DRAIN, drain)
DO_IOCTL(device_cells, opened, CELLS, cells, .nr = 1000)
DO_IOCTL(device_restrict, opened, RESTRICT, restrict)

/* The next add creates a wheel. */
static void drop_wheels(void)
{
	rig_works_hurry();
	msleep(20);
}

static void create_another(void)
{
	WARN_ON(do_create_named());
}

CALL(device_remove, program_remove_name(control, "another"))
CALL(module_init, rig_module_init("twheel"))

static void undo_module_init(void)
{
	rig_module_exit("twheel");
}

bool fail_nth(unsigned int nth, int (*call)(void), int *err)
{
	bool was_made;

	current->fail_nth = nth;
	*err = call();
	was_made = !current->fail_nth;
	current->fail_nth = 0;
	return was_made;
}

void verdict(const char *name, const char *wrong, unsigned int nth)
{
	if (wrong) {
		printf("not ok %s: %s, allocation %u\n", name, wrong, nth);
		failed++;
	} else {
		printf("ok %s: %u allocations\n", name, nth);
		passed++;
	}
}

s64 allocated_at_rest(void)
{
	s64 last, now = -1;

	do {
		last = now;
		msleep(20);
		rcu_barrier();
		now = rig_allocated();
	} while (now != last);
	return now;
}

bool settles_at(s64 most)
{
	unsigned int tries;

	for (tries = 0; tries < 5000; tries++) {
		rcu_barrier();
		if (rig_allocated() <= most)
			return true;
		msleep(1);
	}
	return false;
}

/* The counts of the open files, but for those that other threads change. */
struct state {
	struct twheel_query_args of[2];
};

static void get_state(struct state *state)
{
	struct file *files[] = { file, named };
	unsigned int i;

	memset(state, 0, sizeof(*state));
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		if (files[i])
			rig_ioctl(files[i], TWHEEL_IOC_QUERY, &state->of[i]);
		state->of[i].wakeups = 0;
	}
}

/*
 * If @prepare is not NULL, the call is on an object that is created before each attempt, and
 * destroyed after it. Return: whether the call has failed with -ENOMEM, without an effect.
 */
static bool test(const char *name, void (*prepare)(void), int (*call)(void), void (*undo)(void))
{
	struct state before_call, after_call;
	bool refused = false, was_made = true;
	const char *wrong = NULL;
	unsigned int nth;
	s64 before;
	int err;

	/* Create the threads that persist, and let the hash table grow. */
	if (prepare)
		prepare();
	if (call())
		wrong = "fails without an injected failure";
	else
		undo();
	before = allocated_at_rest();
	for (nth = 0; was_made && nth < MOST && !wrong;) {
		if (prepare)
			prepare();
		get_state(&before_call);
		was_made = fail_nth(nth + 1, call, &err);
		nth += was_made;
		refused |= err == -ENOMEM;
		if (err && (err != -ENOMEM || !was_made))
			wrong = "fails, but not because of an allocation";
		else if (err && must_succeed)
			wrong = "needs memory";
		if (prepare || !err)
			undo();
		if (!wrong && !settles_at(before + BUCKETS))
			wrong = "objects are left";
		get_state(&after_call);
		if (!wrong && err && !prepare &&
		    memcmp(&before_call, &after_call, sizeof(after_call)))
			wrong = "has an effect";
	}
	verdict(name, nth == MOST ? "endless allocations" : wrong, nth);
	return refused && !wrong;
}

#define TEST(call, undo)		test(#call, NULL, do_##call, undo)
#define TEST_ON(prepare, call, undo)	test(#call, prepare, do_##call, undo)

/* A test of an error in Documentation/calls.toml, for scripts/check-abi */
#define GIVES(call, error, test)					\
do {									\
	if (!(test))							\
		verdict(#call, "does not fail with " #error, 0);	\
} while (0)

static int watch_another(unsigned int i)
{
	struct twheel_watch_args args = {
		.id = id, .nr_keys = 1, .keys = (uintptr_t)specs, .key_size = sizeof(specs[0]),
	};

	specs[0].key = (struct twheel_key) { { KEYS + i, 7 } };
	return rig_ioctl(slow, TWHEEL_IOC_WATCH, &args);
}

static void sleep_in_alloc(void)
{
	msleep(30);
}

/* The allocations of the hash table of keys are slow: calls on the device succeed. */
static void test_slow_growth(void)
{
	const char *wrong = NULL;
	unsigned int i;

	slow = program_open("/dev/twheel");
	WRITE_ONCE(rig_at_alloc, sleep_in_alloc);
	for (i = 0; i < KEYS && !wrong; i++) {
		specs[0].key = (struct twheel_key) { { i, 7 } };
		if (device_add(slow, 1, (struct twheel_add_args) { }) || watch_another(i))
			wrong = "a call fails";
	}
	WRITE_ONCE(rig_at_alloc, NULL);
	specs[0].key = (struct twheel_key) { { 0, 1 } };
	rig_close(slow);
	verdict("slow growth", wrong, 0);
}

static void test_kernel(void)
{
	TEST(create, undo_create);
	test_levels();
	TEST(purgatory_create, undo_purgatory_create);
	do_purgatory_create();
	TEST(debugfs_wheels, nothing);
	TEST(debugfs_counts, nothing);
	TEST(debugfs_buckets, nothing);
	TEST(debugfs_purgatories, nothing);
	TEST(debugfs_operations, nothing);
	must_succeed = true;
	TEST(op_add, undo_op_add);
	TEST_ON(add_op_of_two_keys, op_watch, undo_op_add);
	TEST_ON(add_op_of_two_keys, op_unwatch, undo_op_add);
	TEST_ON(add_op_of_two_keys, op_rearm, undo_op_add);
	TEST_ON(add_op_of_two_keys, op_complete, undo_op_add);
	TEST_ON(add_op_of_two_keys, op_cancel, undo_op_add);
	TEST_ON(add_op_of_two_keys, signal, undo_op_add);
	TEST_ON(add_op_of_two_keys, check_and_complete, undo_op_add);
	TEST_ON(add_op_of_two_keys, cancel_for_key, undo_op_add);
	TEST_ON(add_op_of_two_keys, complete_all, undo_op_add);
	TEST_ON(add_op_of_two_keys, op_iterate, undo_op_add);
	must_succeed = false;
	twheel_purgatory_destroy(purgatory);
}

static void test_device(void)
{
	GIVES(open, ENOMEM, TEST(open, undo_open));
	file = program_open("/dev/twheel");
	control = program_open("/dev/twheel-control");
	expect(!program_create_name(control, "fail"), "cannot create a name");
	named = program_open("/dev/twheel-fail");
	TEST(open_named, undo_open);
	TEST(device_add, undo_device_add);
	TEST(device_add_keys1, undo_device_add);
	GIVES(TWHEEL_IOC_ADD, ENOMEM, TEST(device_add_keys64, undo_device_add));
	TEST(device_add_periodic, undo_device_add);
	TEST(device_add_detached, undo_device_add_detached);
	TEST_ON(drop_wheels, device_add, undo_device_add);
	GIVES(TWHEEL_IOC_EVENTS, ENOMEM, TEST(device_events, undo_open));
	TEST_ON(drop_wheels, device_batch, undo_device_batch);
	do_device_add_keys1();
	GIVES(TWHEEL_IOC_WATCH, ENOMEM, TEST(device_watch, undo_device_watch));
	GIVES(TWHEEL_IOC_INFO, ENOMEM, TEST(device_info, nothing));
	TEST(device_list, nothing);
	TEST(device_query, nothing);
	TEST(device_rearm, nothing);
	TEST(fdinfo, nothing);
	undo_device_add();
	TEST_ON(add_device_op, device_cancel, undo_device_add);
	TEST_ON(add_device_op, device_complete, undo_device_add);
	TEST_ON(add_device_op, device_unwatch, undo_device_add);
	TEST_ON(add_device_op, device_signal, undo_device_add);
	TEST_ON(add_device_op, device_cancel_key, undo_device_add);
	TEST_ON(add_device_op, device_complete_all, undo_device_add);
	TEST_ON(add_device_op, device_read, undo_device_add);
	TEST_ON(add_device_op, device_poll, undo_device_add);
	TEST_ON(open_one, device_drain, undo_open);
	GIVES(TWHEEL_IOC_CELLS, ENOMEM, TEST_ON(open_one, device_cells, undo_open));
	TEST_ON(open_one_named, device_restrict, undo_open);
	TEST_ON(create_another, device_remove, undo_create_named);
	GIVES(TWHEEL_IOC_CREATE, ENOMEM, TEST(create_named, undo_create_named));
	test_slow_growth();
	rig_close(named);
	program_remove_name(control, "fail");
	rig_close(control);
	rig_close(file);
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < TWHEEL_MAX_KEYS; i++)
		specs[i].key = (struct twheel_key) { { i, 1 } };
	rig_start(2, 1);
	TEST(module_init, undo_module_init);
	if (do_module_init())
		return 2;
	test_kernel();
	test_device();
	undo_module_init();
	if (rig_verdict())
		verdict("end", "warnings, or objects are left", 0);
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
