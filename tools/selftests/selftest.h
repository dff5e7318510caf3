/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the selftests: wrappers for the ioctls of the device, waiting for events
 * with a timeout, and helpers that inspect other tasks.
 *
 * The tests do not use a library, so that they can pass arguments that a library would
 * reject. The helpers return an errno, 0 for success.
 *
 * No test relies on a fixed delay: it waits for a condition for up to BUDGET_MS, and
 * only a failing test takes that long.
 */
#ifndef _TWHEEL_SELFTEST_H
#define _TWHEEL_SELFTEST_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <kselftest_harness.h>
#include <linux/twheel.h>

#define USEC		1000ULL
#define MSEC		1000000ULL
#define SEC		1000000000ULL
#define HOUR		(3600 * SEC)
#define KTIME_LAST	0x7fffffffffffffffULL

/* A value that is not returned by chance. */
#define POISON		0xa5a5a5a5a5a5a5a5ULL

#define BUDGET_MS	30000

/* Longer than BUDGET_MS, so that a failing test can still report its location. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	240

static inline __u64 time_by(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static inline __u64 now_ns(void)
{
	return time_by(CLOCK_MONOTONIC);
}

/* Set CLOCK_REALTIME. */
static inline bool set_wall_clock(__u64 ns)
{
	struct timespec ts = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	return !clock_settime(CLOCK_REALTIME, &ts);
}

/* Move it by @ns. */
static inline bool turn_wall_clock(__s64 ns)
{
	return set_wall_clock(time_by(CLOCK_REALTIME) + ns);
}

/*
 * Number of rounds of a race: fewer on a debug kernel, where each round is slow and the
 * checks are more thorough, unless LONG is set.
 */
static inline int rounds(int nr)
{
	const char *value = getenv("LONG");

	if (value && *value && strcmp(value, "0"))
		return nr;
	return access("/sys/kernel/debug/kmemleak", F_OK) ? nr : nr / 5;
}

/*
 * Return: true in a guest whose clocks count its instructions. No load delays it, so that
 * bounds are exact.
 */
static inline bool virtual_time(void)
{
	return getenv("VIRTUAL_TIME");
}

/* Return: true on PREEMPT_RT, where threads find timers due and any thread may be preempted. */
static inline bool on_preempt_rt(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
}

/*
 * Return: true if @error is that of a machine without cells. Those with x86-64 have them: there
 * it is a failure, and no reason to skip a test.
 */
static inline bool lacks_cells(int error)
{
	struct utsname name;

	return error == EOPNOTSUPP && !uname(&name) && strcmp(name.machine, "x86_64");
}

/*
 * Longest time from an alarm to the event in such a guest: an interrupt, the wakeup of a reaper
 * that exists, and its work for a single operation. It takes 5 to 15 us, in instructions. Of two
 * CPUs, which take turns, the other one may run meanwhile. Therefore scripts/guest/device leaves
 * only one CPU online to a program that bounds each expiry.
 */
#define WAKEUP_NS	(25 * USEC)

/*
 * Poll @condition until it is true or the time is up, less often as time passes: a condition may
 * be expensive. Return: its last value.
 */
#define wait_for(condition)						\
({									\
	__u64 __end = now_ns() + BUDGET_MS * MSEC;			\
	unsigned int __pause = 1000;					\
	bool __held;							\
									\
	for (;;) {							\
		__held = (condition);					\
		if (__held || now_ns() >= __end)			\
			break;						\
		usleep(__pause);					\
		__pause += __pause / 16;				\
	}								\
	__held;								\
})

/*
 * For busy loops that need other threads. A guest in virtual time has one thread for all its CPUs:
 * one that neither sleeps nor pauses may keep the others from running at all.
 */
static inline void relax(void)
{
#if defined(__aarch64__) || defined(__arm__)
	__asm__ volatile("yield");
#elif defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

#include "ring.h"

static inline int twheel_open(int flags)
{
	return open("/dev/twheel", O_RDWR | O_CLOEXEC | flags);
}

/* Open the named purgatory @name. */
static inline int twheel_open_named(const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/twheel-%s", name);
	return open(path, O_RDWR | O_CLOEXEC | flags);
}

static inline int twheel_open_control(void)
{
	return open("/dev/twheel-control", O_RDWR | O_CLOEXEC);
}

/*
 * Make a call. Return: its errno, 0 for success. A descriptor returned by the call is
 * closed: a test that needs the descriptor calls ioctl() itself.
 */
static inline int call(int fd, unsigned long request, void *args)
{
	int result = ioctl(fd, request, args);

	if (result > 0)
		close(result);
	return result < 0 ? errno : 0;
}

/*
 * @attempt evaluates to an errno, which must be the documented
 * @error of @call.
 */
#define GIVES(call, error, attempt)					\
do {									\
	int __got = (attempt);						\
									\
	EXPECT_EQ(error, __got)					\
		TH_LOG("%s should fail with %s", #call, #error);		\
} while (0)

/* The errno of an attempt that returns -1 on failure. */
#define errno_of(attempt)						\
	((attempt) < 0 ? errno : 0)

/* Convert a pointer to an address field. */
static inline __u64 address(const void *where)
{
	return (unsigned long)where;
}

static inline struct twheel_key key_of(__u64 name)
{
	return (struct twheel_key){ .v = { name, ~name } };
}

static inline struct twheel_watch_spec spec_of(__u64 name, __u32 need)
{
	return (struct twheel_watch_spec){ .key = key_of(name), .need = need };
}

static inline int op_add(int fd, struct twheel_add_args *args)
{
	return call(fd, TWHEEL_IOC_ADD, args);
}

/* Add an operation with these fields of the structure. Return: its ID, 0 if refused. */
#define add_fields(fd, ...)						\
({									\
	struct twheel_add_args __args = { __VA_ARGS__ };		\
									\
	op_add(fd, &__args) ? 0 : __args.id;				\
})

/* Add an operation with a deadline by now_ns() and no key. Return: its ID, 0 if refused. */
static inline __u64 add_deadline(int fd, __u64 deadline, __u32 flags, __u64 cookie)
{
	return add_fields(fd, .flags = flags, .deadline = deadline, .cookie = cookie,
			  .clock = CLOCK_MONOTONIC);
}

/* Add an operation with keys and no deadline. Return: its ID, 0 if refused. */
static inline __u64 add_specs(int fd, __u32 condition, __u32 quorum,
			      const struct twheel_watch_spec *specs, __u32 nr)
{
	return add_fields(fd, .condition = condition, .quorum = quorum, .nr_keys = nr,
			  .key_size = sizeof(*specs), .deadline = TWHEEL_NEVER,
			  .keys = address(specs), .clock = CLOCK_MONOTONIC);
}

/* The same with the keys 1 to @nr, each of which needs one signal. */
static inline __u64 add_keys(int fd, __u32 condition, __u32 quorum, __u32 nr)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
	__u32 i;

	for (i = 0; i < nr; i++)
		specs[i] = spec_of(i + 1, 1);
	return add_specs(fd, condition, quorum, specs, nr);
}

static inline int op_cancel(int fd, __u64 id)
{
	struct twheel_cancel_args args = { .id = id };

	return call(fd, TWHEEL_IOC_CANCEL, &args);
}

static inline int op_complete(int fd, __u64 id, __u64 value)
{
	struct twheel_complete_args args = { .id = id, .value = value };

	return call(fd, TWHEEL_IOC_COMPLETE, &args);
}

/* Complete a new operation. Return: true if there is an event of it. */
static inline bool end_one(int fd, __u32 flags, __u64 value)
{
	__u64 id = add_deadline(fd, HOUR, flags, 0);

	return id && !op_complete(fd, id, value);
}

static inline int op_watch(int fd, __u64 id,
			   const struct twheel_watch_spec *specs, __u32 nr)
{
	struct twheel_watch_args args = {
		.id = id,
		.nr_keys = nr,
		.key_size = sizeof(*specs),
		.keys = address(specs),
	};

	return call(fd, TWHEEL_IOC_WATCH, &args);
}

/* Return: number of operations completed by the signal, -1 with errno if refused. */
static inline long key_signal(int fd, __u64 name, __u64 value)
{
	struct twheel_signal_args args = {
		.key = key_of(name),
		.value = value,
	};

	return ioctl(fd, TWHEEL_IOC_SIGNAL, &args) ? -1 : (long)args.completed;
}

/* Return: 1 if the deadline was moved, 0 if not, -1 with errno if refused. */
static inline int op_rearm(int fd, __u64 id, __u64 deadline, __u32 flags)
{
	struct twheel_rearm_args args = {
		.id = id,
		.deadline = deadline,
		.flags = flags,
	};

	return ioctl(fd, TWHEEL_IOC_REARM, &args) ? -1 : (int)args.moved;
}

static inline int op_unwatch(int fd, __u64 id, __u64 name)
{
	struct twheel_unwatch_args args = { .key = key_of(name), .id = id };

	return call(fd, TWHEEL_IOC_UNWATCH, &args);
}

/* Describe an operation, without its keys. */
static inline int op_info(int fd, __u64 id, struct twheel_pending *pending)
{
	struct twheel_info_args args = {
		.id = id, .entry = address(pending), .entry_size = sizeof(*pending),
	};

	return call(fd, TWHEEL_IOC_INFO, &args);
}

/* Return: number of cancelled operations, -1 with errno if refused. */
static inline long key_cancel(int fd, __u64 name)
{
	struct twheel_cancel_key_args args = { .key = key_of(name) };

	return ioctl(fd, TWHEEL_IOC_CANCEL_KEY, &args) ? -1 : (long)args.cancelled;
}

/* Return: number of completed operations, -1 with errno if refused. */
static inline long complete_all(int fd, __u64 value, int error, __u32 flags)
{
	struct twheel_complete_all_args args = {
		.value = value,
		.error = error,
		.flags = flags,
	};

	return ioctl(fd, TWHEEL_IOC_COMPLETE_ALL, &args) ? -1 : (long)args.completed;
}

/* Return: number of cancelled operations, -1 with errno if refused. */
static inline long drain(int fd)
{
	struct twheel_drain_args args = { 0 };

	return ioctl(fd, TWHEEL_IOC_DRAIN, &args) ? -1 : (long)args.cancelled;
}

/* Return: a descriptor of a queue of detached events, -1 with errno. */
static inline int open_queue(int fd, __u32 queue, __u32 flags)
{
	struct twheel_events_args args = { .flags = flags, .queue = queue };

	return ioctl(fd, TWHEEL_IOC_EVENTS, &args);
}

/* Confirm an event that the latest read() of the descriptor has delivered. */
static inline int op_confirm(int fd, __u64 id)
{
	struct twheel_confirm_args args = { .id = id };

	return call(fd, TWHEEL_IOC_CONFIRM, &args);
}

static inline int open_events(int fd, __u32 flags)
{
	return open_queue(fd, 0, flags);
}

#define ALL_RIGHTS	(TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_ADD_DETACHED | TWHEEL_RIGHT_WATCH | \
			 TWHEEL_RIGHT_SIGNAL | TWHEEL_RIGHT_END | TWHEEL_RIGHT_REARM | \
			 TWHEEL_RIGHT_DRAIN | TWHEEL_RIGHT_LIST | TWHEEL_RIGHT_QUERY)

static inline int file_restrict_to(int fd, __u32 rights)
{
	struct twheel_restrict_args args = { .rights = rights };

	return call(fd, TWHEEL_IOC_RESTRICT, &args);
}

/* Leave all rights that do not affect other files. */
static inline int file_restrict(int fd)
{
	return file_restrict_to(fd, ALL_RIGHTS & ~TWHEEL_RIGHT_SIGNAL);
}

/* One page of a list. Return: number of entries, -1 with errno if refused. */
static inline int list_page(int fd, __u32 flags, struct twheel_pending *entries, __u32 max,
			    __u64 *cursor)
{
	struct twheel_list_args args = {
		.entries = address(entries),
		.max_entries = max,
		.entry_size = sizeof(*entries),
		.flags = flags,
		.cursor = *cursor,
	};

	if (ioctl(fd, TWHEEL_IOC_LIST, &args))
		return -1;
	*cursor = args.cursor;
	return args.nr;
}

/* The state of a purgatory; max_pending is 0 if the call failed. */
static inline struct twheel_query_args query(int fd)
{
	struct twheel_query_args args = { 0 };

	if (ioctl(fd, TWHEEL_IOC_QUERY, &args))
		memset(&args, 0, sizeof(args));
	return args;
}

/* Return: the state of a queue, or of the next one; if there is none, zeroes, with ENOENT. */
static inline struct twheel_queue_args queue_state(int fd, __u32 queue)
{
	struct twheel_queue_args args = { .queue = queue };

	if (ioctl(fd, TWHEEL_IOC_QUEUE, &args))
		memset(&args, 0, sizeof(args));
	return args;
}

/* Return: the end of the tick of a deadline, before which it does not expire. */
static inline __u64 tick_end(int fd, __u64 deadline)
{
	__u64 tick = query(fd).tick_ns, due = deadline + tick - 1;

	return due - due % tick;
}

/*
 * Return: the latest time of an expiry: the end of the tick of its deadline and slack, and a
 * wakeup. In real time there is no limit.
 */
static inline __u64 latest(int fd, const struct twheel_event *event, __u64 slack)
{
	return virtual_time() ? tick_end(fd, event->deadline + slack) + WAKEUP_NS : KTIME_LAST;
}

/*
 * Let the kernel free what processes before have left, before an expiry is bounded: RCU does so at
 * a tick of the scheduler, which takes 50 us. Idle time costs nothing in virtual time.
 */
static inline void settle(void)
{
	if (virtual_time())
		usleep(100000);
}

/* Return: true if an event is queued within @timeout_ms. */
static inline bool readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1 && (pfd.revents & POLLIN);
}

/* Read up to @nr events. Return: number of events, -1 with errno if none. */
static inline long read_events(int fd, struct twheel_event *events, size_t nr)
{
	long got = read(fd, events, nr * sizeof(*events));

	if (got < 0)
		return -1;
	return got % sizeof(*events) ? -1 : got / (long)sizeof(*events);
}

/* Wait for one event and read it. Return: false after a timeout. */
static inline bool next_event(int fd, struct twheel_event *event)
{
	return readable(fd, BUDGET_MS) && read_events(fd, event, 1) == 1;
}

/* The next event is the last one of operation @_id, with this reason and value. */
#define EXPECT_EVENT(fd, _id, _reason, _value)				\
do {									\
	struct twheel_event __event;					\
									\
	memset(&__event, 0xa5, sizeof(__event));			\
	ASSERT_TRUE(next_event(fd, &__event));				\
	EXPECT_EQ(_id, __event.id);					\
	EXPECT_EQ(_reason, (int)__event.reason);			\
	EXPECT_EQ(_value, __event.value);				\
} while (0)

/* The number of a call with a structure of another size. */
static inline __u32 resized(__u32 request, unsigned int size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

/* Append a command to a batch with memory for it. Return: its structure, zeroed. */
static inline void *put_command(struct twheel_batch_args *args, __u32 cmd)
{
	struct twheel_command *command;

	command = (void *)((char *)(unsigned long)args->commands + args->size);
	memset(command, 0, TWHEEL_COMMAND_SIZE(cmd));
	command->cmd = cmd;
	args->size += TWHEEL_COMMAND_SIZE(cmd);
	args->nr++;
	return command + 1;
}

/* The events that poll() reports for a descriptor. */
static inline short poll_now(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) < 0 ? -1 : pfd.revents;
}

static inline void close_it(int *fd)
{
	close(*fd);
	*fd = -1;
}

static inline bool child_exited_well(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

#define EXPECT_NO_EVENT(fd)	EXPECT_FALSE(readable(fd, 0))

/*
 * Map two pages, the second one without access.
 * Return: the start of the second page.
 */
static inline char *cliff(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || mprotect(map + page, page, PROT_NONE))
		abort();
	return map + page;
}

/* Newer architectures such as arm64 have only the calls with a signal mask. */
#ifndef SYS_poll
#define SYS_poll SYS_ppoll
#define SYS_epoll_wait SYS_epoll_pwait
#endif

/* Return: true if task @tid is blocked in the system call @nr. */
static inline bool blocked_in(pid_t tid, long nr)
{
	char path[64];
	long seen = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%ld", &seen) != 1)
		seen = -1;
	fclose(file);
	return seen == nr;
}

/* A thread that blocks in read() or poll() on a device, for tests that end the wait. */
struct waiter {
	int fd;
	pid_t tid;
	long result;
	int error;
	short revents;
	struct twheel_event *to;	/* NULL for @event */
	struct twheel_event event;
};

static inline void *wait_in_read(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->result = read_events(w->fd, w->to ?: &w->event, 1);
	w->error = errno;
	return NULL;
}

static inline void *wait_in_poll(void *arg)
{
	struct pollfd pfd = { .events = POLLIN };
	struct waiter *w = arg;

	pfd.fd = w->fd;
	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->result = poll(&pfd, 1, BUDGET_MS);
	w->revents = pfd.revents;
	return NULL;
}

/* Wait until the thread sleeps in system call @nr. */
static inline bool waits_in(struct waiter *w, long nr)
{
	return wait_for(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE)) &&
	       wait_for(blocked_in(w->tid, nr));
}

/* The number that is all of a file of sysfs, or -1. */
static inline long long file_number(const char *path)
{
	FILE *file = fopen(path, "r");
	long long value;
	char end;

	if (!file)
		return -1;
	if (fscanf(file, "%lld%c", &value, &end) != 2 || end != '\n' || fgetc(file) != EOF)
		value = -1;
	fclose(file);
	return value;
}

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Reference count of the module: open files and named purgatories. */
static inline long module_users(void)
{
	return file_number("/sys/module/twheel/refcnt");
}

/* Return: true if the module has @nr users. It counts none if it is built in. */
static inline bool module_has_users(long nr)
{
	long users = module_users();

	return users < 0 || users == nr;
}

/* Return: a parameter of the loaded module, 0 if it cannot be read. */
static inline unsigned long module_parameter(const char *name)
{
	long long value;
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/twheel/parameters/%s", name);
	value = file_number(path);
	return value < 0 ? 0 : value;
}

/* A fixture with a file, opened by @how. */
#define FIXTURE_OF_A_FILE(name, how)					\
FIXTURE(name) {								\
	int fd;								\
};									\
									\
FIXTURE_SETUP(name)							\
{									\
	self->fd = (how);						\
	ASSERT_LE(0, self->fd);						\
}									\
									\
FIXTURE_TEARDOWN(name)							\
{									\
	close(self->fd);						\
}									\
struct _twheel_end_of_##name

#endif /* _TWHEEL_SELFTEST_H */
