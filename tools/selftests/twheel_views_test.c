// SPDX-License-Identifier: GPL-2.0
/*
 * The views of a purgatory agree: QUERY, QUEUE, LIST, fdinfo, and the lists of purgatories and
 * operations in debugfs. Also the counts of users there, the attributes of a named purgatory in
 * sysfs, and the uevents of its node.
 */
#include <linux/netlink.h>
#include <stddef.h>
#include <sys/socket.h>
#include "named.h"

#define NAME		"shown"
#define DEBUGFS		"/sys/kernel/debug/twheel/"
#define COUNTS		DEBUGFS "counts"
#define PURGATORIES	DEBUGFS "purgatories"
#define OPERATIONS	DEBUGFS "operations"

#define CROWD		5000

FIXTURE(shown) {
	int fd;
};

FIXTURE_SETUP(shown)
{
	struct twheel_create_args args = create_args(NAME, 0600);

	remove_all_named();
	args.max_pending = 50;
	args.max_file_pending = 40;
	args.max_watches = 70;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	if (access(OPERATIONS, R_OK))
		SKIP(return, "debugfs is not available");
}

FIXTURE_TEARDOWN(shown)
{
	remove_all_named();
	close(self->fd);
}

/* Contents of a file, until the next call; "" if it cannot be read. */
static char *contents(const char *path)
{
	static char text[1 << 20];
	int fd = open(path, O_RDONLY);
	ssize_t size = 0, got = 0;

	while (fd >= 0 && (got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += got;
	close(fd);
	text[size] = 0;
	return text;
}

/* The text after @field in the first line of a file with this start and field, "" without one. */
static const char *text_of(const char *path, const char *start, const char *field)
{
	char *line, *state, *at;

	for (line = strtok_r(contents(path), "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state)) {
		at = strstr(line, field);
		if (!strncmp(line, start, strlen(start)) && at)
			return at + strlen(field);
	}
	return "";
}

/* The number there, or -1. */
static long long number_of(const char *path, const char *start, const char *field)
{
	const char *text = text_of(path, start, field);
	char *end;
	long long value = strtoll(text, &end, 0);

	return end == text ? -1 : value;
}

/* A field of the fdinfo of a descriptor. */
static const char *fd_text(int fd, const char *field)
{
	char path[64];
	const char *text;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	text = text_of(path, field, ":");
	return text + strspn(text, " \t");
}

static long long fd_number(int fd, const char *field)
{
	const char *text = fd_text(fd, field);
	char *end;
	long long value = strtoll(text, &end, 0);

	return end == text || *end ? -1 : value;
}

/* Number of lines of a file with this start. */
static long lines_with(const char *path, const char *start)
{
	char *line, *state;
	long nr = 0;

	for (line = strtok_r(contents(path), "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state))
		nr += !strncmp(line, start, strlen(start));
	return nr;
}

#define COUNT(name)	{ " " #name "=", offsetof(struct twheel_query_args, name) }

/* The counts of QUERY that also are in the list of purgatories. */
static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	COUNT(pending), COUNT(keys), COUNT(watches), COUNT(added), COUNT(completed),
	COUNT(expired), COUNT(cancelled),
};

/* All pending operations by LIST. */
static struct twheel_query_args count_listed(int fd)
{
	static struct twheel_pending entries[64];
	struct twheel_query_args sum = { 0 };
	__u64 cursor = 0;
	int i, nr = 0;

	while (cursor != TWHEEL_LIST_END && nr >= 0) {
		nr = list_page(fd, TWHEEL_LIST_OTHERS, entries, ARRAY_SIZE(entries), &cursor);
		for (i = 0; i < nr; i++) {
			sum.pending++;
			sum.watches += entries[i].nr_keys;
			sum.own += !!(entries[i].flags & TWHEEL_PENDING_OWN);
			sum.detached += !!(entries[i].flags & TWHEEL_PENDING_DETACHED);
		}
	}
	return sum;
}

/* All queues by QUEUE. */
static struct twheel_query_args count_queues(int fd)
{
	struct twheel_queue_args queue = queue_state(fd, 0);
	struct twheel_query_args sum = { 0 };

	for (; queue.ops; queue = queue_state(fd, queue.queue + 1)) {
		sum.detached += queue.pending;
		sum.detached_unread += queue.unread;
		sum.unconfirmed += queue.unconfirmed;
	}
	return sum;
}

/*
 * The views of a purgatory, by a file of it whose name in debugfs is @node, have these counts.
 */
#define EXPECT_VIEWS(fd, node, ...)					\
do {									\
	struct twheel_query_args __want = { __VA_ARGS__ }, __got = query(fd); \
	struct twheel_query_args __listed = count_listed(fd), __queues = count_queues(fd); \
	unsigned int __i;						\
									\
	for (__i = 0; __i < ARRAY_SIZE(counts); __i++) {		\
		__u64 *__count = (void *)((char *)&__want + counts[__i].offset); \
									\
		EXPECT_EQ(*__count, *(__u64 *)((char *)&__got + counts[__i].offset)) \
			TH_LOG("QUERY%s", counts[__i].name);		\
		EXPECT_EQ((long long)*__count, number_of(PURGATORIES, node " ", counts[__i].name)) \
			TH_LOG("debugfs%s", counts[__i].name);		\
	}								\
	EXPECT_EQ((long)__want.pending, lines_with(OPERATIONS, node " ")); \
	EXPECT_EQ(__want.pending, __listed.pending);			\
	EXPECT_EQ(__want.watches, __listed.watches);			\
	EXPECT_EQ(__want.own, __listed.own);				\
	EXPECT_EQ(__want.own, __got.own);				\
	EXPECT_EQ((long long)__want.own, fd_number(fd, "twheel-own"));	\
	EXPECT_EQ(__want.unread, __got.unread);				\
	EXPECT_EQ((long long)__want.unread, fd_number(fd, "twheel-unread")); \
	EXPECT_EQ(__want.detached, __listed.detached);			\
	EXPECT_EQ(__want.detached, __queues.detached);			\
	EXPECT_EQ(__want.detached, __got.detached);			\
	EXPECT_EQ(__want.detached_unread, __queues.detached_unread);	\
	EXPECT_EQ(__want.detached_unread, __got.detached_unread);	\
	EXPECT_EQ(__want.unconfirmed, __queues.unconfirmed);		\
	EXPECT_EQ(__want.unconfirmed, __got.unconfirmed);		\
} while (0)

TEST_F(shown, views_of_a_named_purgatory_agree)
{
	int fd = self->fd, other = twheel_open_named(NAME, O_NONBLOCK), events, i;
	struct twheel_event event;
	__u64 ids[4];

	EXPECT_STREQ(NAME, fd_text(fd, "twheel-name"));
	EXPECT_VIEWS(fd, NAME, .pending = 0);
	ids[0] = add_keys(fd, TWHEEL_COND_ALL, 0, 3);
	ids[1] = add_keys(other, TWHEEL_COND_ANY, 0, 4);
	ids[2] = add_deadline(fd, HOUR, 0, 0);
	EXPECT_VIEWS(fd, NAME, .added = 3, .pending = 3, .own = 2, .watches = 7, .keys = 4);
	EXPECT_VIEWS(other, NAME, .added = 3, .pending = 3, .own = 1, .watches = 7, .keys = 4);
	ASSERT_EQ(0, op_cancel(other, ids[0]));
	EXPECT_VIEWS(fd, NAME, .added = 3, .pending = 2, .own = 1, .watches = 4, .keys = 4,
		     .unread = 1, .cancelled = 1);
	ASSERT_EQ(1, key_signal(fd, 4, 0));
	ASSERT_EQ(1, op_rearm(fd, ids[2], 0, 0));
	ASSERT_TRUE(wait_for(query(fd).expired));
	EXPECT_VIEWS(fd, NAME, .added = 3, .unread = 2, .cancelled = 1, .completed = 1,
		     .expired = 1);
	EXPECT_VIEWS(other, NAME, .added = 3, .unread = 1, .cancelled = 1, .completed = 1,
		     .expired = 1);

	/* Detached operations, in two queues */
	for (i = 0; i < 4; i++) {
		struct twheel_add_args args = {
			.flags = TWHEEL_ADD_DETACHED, .queue = i % 2 * 7, .deadline = HOUR,
		};

		ASSERT_EQ(0, op_add(i < 3 ? other : fd, &args));
		ids[i] = args.id;
	}
	EXPECT_VIEWS(fd, NAME, .added = 7, .pending = 4, .own = 1, .unread = 2, .cancelled = 1,
		     .completed = 1, .expired = 1, .detached = 4);
	close(other);
	ASSERT_TRUE(wait_for(query(fd).files == 1));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, op_cancel(fd, ids[i]));
	EXPECT_VIEWS(fd, NAME, .added = 7, .pending = 1, .own = 1, .unread = 2, .cancelled = 4,
		     .completed = 1, .expired = 1, .detached = 1, .detached_unread = 3);
	events = open_queue(fd, 0, TWHEEL_EVENTS_CONFIRM);
	EXPECT_STREQ(NAME, fd_text(events, "twheel-name"));
	ASSERT_EQ(1, read_events(events, &event, 1));
	EXPECT_VIEWS(fd, NAME, .added = 7, .pending = 1, .own = 1, .unread = 2, .cancelled = 4,
		     .completed = 1, .expired = 1, .detached = 1, .detached_unread = 2,
		     .unconfirmed = 1);
	EXPECT_EQ(0, fd_number(events, "twheel-queue"));
	EXPECT_EQ(1, fd_number(events, "twheel-unread"));
	EXPECT_EQ(1, fd_number(events, "twheel-unconfirmed"));
	/* The operations of a queue are not those of a descriptor. */
	EXPECT_EQ(-1, fd_number(events, "twheel-detached"));
	ASSERT_EQ(0, op_confirm(events, event.id));
	ASSERT_EQ(0, op_cancel(fd, ids[3]));
	EXPECT_VIEWS(fd, NAME, .added = 7, .unread = 2, .cancelled = 5, .completed = 1,
		     .expired = 1, .detached_unread = 3);
	ASSERT_EQ(0, remove_by_force(NAME));
	EXPECT_EQ(0, fd_number(fd, "twheel-own"));
	close(events);
}

/* A list keeps no file open. */
TEST_F(shown, views_of_a_private_purgatory_agree)
{
	int fd = twheel_open(O_NONBLOCK), other = twheel_open(O_NONBLOCK), i;

	EXPECT_STREQ("-", fd_text(fd, "twheel-name"));
	close(other);
	EXPECT_EQ(1, lines_with(PURGATORIES, "/dev/twheel "));
	for (i = 0; i < CROWD; i++)
		ASSERT_NE(0, add_keys(fd, TWHEEL_COND_ANY, 0, 1));
	EXPECT_VIEWS(fd, "/dev/twheel", .added = CROWD, .pending = CROWD, .own = CROWD,
		     .watches = CROWD, .keys = 1);
	EXPECT_EQ(CROWD, lines_with(OPERATIONS, "/dev/twheel any missing=1 "));
	EXPECT_EQ(CROWD, key_signal(fd, 1, 0));
	EXPECT_VIEWS(fd, "/dev/twheel", .added = CROWD, .completed = CROWD, .unread = CROWD);
	close(fd);
	EXPECT_EQ(0, lines_with(PURGATORIES, "/dev/twheel "));
}

TEST_F(shown, operation_has_a_line_with_its_keys)
{
	struct twheel_watch_spec specs[] = { spec_of(0x1a, 3), spec_of(0x1b, 1) };
	/* Names that twheelctl takes */
	struct twheel_watch_spec named[] = {
		{ .key.v[0] = 'k', .need = 2 }, { .key.v[1] = 17, .need = 1 },
	};
	__u64 id = add_specs(self->fd, TWHEEL_COND_QUORUM, 2, specs, 2);
	long long first;

	ASSERT_NE(0, id);
	EXPECT_STREQ("key=1a:ffffffffffffffe5/3 key=1b:ffffffffffffffe4/1",
		     text_of(OPERATIONS, NAME " quorum missing=2 ", "remaining_ns=never "));
	EXPECT_EQ(0, key_signal(self->fd, 0x1a, 0));
	EXPECT_EQ(0, key_signal(self->fd, 0x1b, 0));
	EXPECT_STREQ("key=1a:ffffffffffffffe5/2 key=1b:ffffffffffffffe4/0",
		     text_of(OPERATIONS, NAME " quorum missing=1 ", "remaining_ns=never "));
	ASSERT_NE(0, add_specs(self->fd, TWHEEL_COND_ANY, 0, named, 2));
	EXPECT_STREQ("key=k/2 key=17/1",
		     text_of(OPERATIONS, NAME " any missing=1 ", "remaining_ns=never "));
	/* The remaining time decreases. */
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	first = number_of(OPERATIONS, NAME " none missing=0 ", "remaining_ns=");
	EXPECT_GE((long long)HOUR, first);
	EXPECT_GT(first, number_of(OPERATIONS, NAME " none missing=0 ", "remaining_ns="));
	EXPECT_LT(0, number_of(OPERATIONS, NAME " none missing=0 ", "remaining_ns="));
}

TEST_F(shown, sysfs_has_the_limits)
{
	static const struct {
		const char *name;
		int value;
	} limits[] = {
		{ "max_pending", 50 }, { "max_file_pending", 40 }, { "max_watches", 70 },
		{ "max_queue", 100 },
	};
	struct stat st;
	char path[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		snprintf(path, sizeof(path), SYSFS_CLASS "/twheel-" NAME "/%s", limits[i].name);
		EXPECT_EQ(limits[i].value, file_number(path));
		ASSERT_EQ(0, stat(path, &st)) TH_LOG("no %s", path);
		EXPECT_EQ(S_IFREG | 0444, (int)st.st_mode);
		EXPECT_EQ(0, st.st_uid);
		EXPECT_TRUE(as_stranger(!access(path, R_OK)));
	}
}

TEST_F(shown, sysfs_is_removed_during_a_read)
{
	char path[] = SYSFS_CLASS "/twheel-" NAME "/max_pending", text[32];
	int held = open(path, O_RDONLY);

	ASSERT_LE(0, held);
	EXPECT_LT(0, pread(held, text, sizeof(text), 0));
	ASSERT_EQ(0, remove_by_force(NAME));
	EXPECT_GT(0, pread(held, text, sizeof(text), 0));
	EXPECT_NE(0, access(path, F_OK));
	close(held);
}

TEST_F(shown, fdinfo_of_a_restricted_file)
{
	EXPECT_EQ(0, fd_number(self->fd, "twheel-restricted"));
	ASSERT_EQ(0, file_restrict(self->fd));
	EXPECT_EQ(1, fd_number(self->fd, "twheel-restricted"));
	EXPECT_EQ(ALL_RIGHTS & ~TWHEEL_RIGHT_SIGNAL, fd_number(self->fd, "twheel-rights"));
	EXPECT_EQ(0, fd_number(self->fd, "twheel-own"));
	ASSERT_EQ(0, file_restrict_to(self->fd, ALL_RIGHTS & ~TWHEEL_RIGHT_QUERY));
	EXPECT_EQ(1, fd_number(self->fd, "twheel-restricted"));
	EXPECT_EQ(-1, fd_number(self->fd, "twheel-own"));
}

TEST_F(shown, fdinfo_of_a_write_only_file)
{
	int fd = open("/dev/twheel-" NAME, O_WRONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_STREQ(NAME, fd_text(fd, "twheel-name"));
	EXPECT_EQ(0, fd_number(fd, "twheel-restricted"));
	EXPECT_EQ(-1, fd_number(fd, "twheel-own"));
	close(fd);
}

TEST_F(shown, fdinfo_of_the_control_node_has_no_counts)
{
	int control = open("/dev/twheel-control", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, control);
	EXPECT_STREQ("1", fd_text(control, "twheel-control"));
	EXPECT_STREQ("", fd_text(control, "twheel-wheel"));
	EXPECT_STREQ("", fd_text(control, "twheel-user"));
	close(control);
}

/* Counts of the wheels of all users: fired timers, and those by lateness. */
static bool users_counts(long long *fired, long long *timed)
{
	char *late = (char *)text_of(COUNTS, "twheel-wheel:\tclock=monotonic ", " late=");
	int nr = 0;

	for (*timed = 0; *late && (!nr || *late++ == ','); nr++)
		*timed += strtoll(late, &late, 0);
	*fired = number_of(COUNTS, "twheel-wheel:\tclock=monotonic ", " fired=");
	return nr == 26 && !strcmp(text_of(COUNTS, "twheel-wheel:\tclock=monotonic ", " name="),
				   "users");
}

TEST_F(shown, counts_of_the_wheels_of_users)
{
	long long fired, timed, fired_then, timed_then;
	struct twheel_event event;
	int i;

	ASSERT_TRUE(users_counts(&fired, &timed));
	EXPECT_LE(timed, fired);
	for (i = 0; i < 5; i++)
		ASSERT_NE(0, add_deadline(self->fd, MSEC, 0, 0));
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(next_event(self->fd, &event));
	ASSERT_TRUE(users_counts(&fired_then, &timed_then));
	EXPECT_LE(fired + 5, fired_then);
	EXPECT_LE(timed_then, fired_then);
	EXPECT_LT(timed, timed_then);
}

/* A number of the first user, or -1. */
static long long of_user(const char *field)
{
	return number_of(COUNTS, "twheel-user:", field);
}

/* Of private purgatories, also of those that have ended. Those of named ones are elsewhere. */
TEST_F(shown, counts_have_the_operations_of_users)
{
	long long added = of_user(" added="), completed = of_user(" completed=");
	long long expired = of_user(" expired="), cancelled = of_user(" cancelled=");
	struct twheel_event event;
	int fds[100], i;

	EXPECT_EQ(0, of_user("\tops="));
	ASSERT_LE(0, cancelled);
	/* The lock is dropped after each of them. */
	for (i = 0; i < 100; i++) {
		fds[i] = twheel_open(0);
		ASSERT_LE(0, fds[i]);
		ASSERT_NE(0, add_deadline(fds[i], HOUR, 0, 0));
	}
	ASSERT_EQ(0, op_complete(fds[0], add_deadline(fds[0], HOUR, 0, 0), 0));
	ASSERT_NE(0, add_deadline(fds[0], MSEC, 0, 0));
	ASSERT_TRUE(wait_for(query(fds[0]).unread == 2));
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	/* Events are unread. Reading the counts does not count again. */
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(103, of_user("\tops="));
		EXPECT_EQ(added + 102, of_user(" added="));
	}
	ASSERT_TRUE(next_event(fds[0], &event));
	ASSERT_TRUE(next_event(fds[0], &event));
	EXPECT_EQ(101, of_user("\tops="));
	for (i = 0; i < 100; i++)
		close(fds[i]);
	EXPECT_TRUE(wait_for(of_user("\tops=") == 1));
	EXPECT_EQ(added + 102, of_user(" added="));
	EXPECT_EQ(completed + 1, of_user(" completed="));
	EXPECT_EQ(expired + 1, of_user(" expired="));
	EXPECT_EQ(cancelled + 100, of_user(" cancelled="));
}

/* Wait for a uevent that starts with @prefix and has the field @field. */
static bool uevent_comes(int sock, const char *prefix, const char *field)
{
	__u64 end = now_ns() + BUDGET_MS * MSEC;
	char text[4096];
	ssize_t size, at;

	while (readable(sock, 1000) || now_ns() < end) {
		size = recv(sock, text, sizeof(text) - 1, MSG_DONTWAIT);
		if (size <= 0 || strncmp(text, prefix, strlen(prefix)))
			continue;
		text[size] = 0;
		for (at = 0; at < size; at += strlen(text + at) + 1)
			if (!strcmp(text + at, field))
				return true;
	}
	return false;
}

TEST_F(shown, uevents_of_create_and_remove)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (sock < 0 || bind(sock, (void *)&kernel, sizeof(kernel)))
		SKIP(return, "no uevents: %s", strerror(errno));
	ASSERT_EQ(0, create_named("announced", 0600));
	EXPECT_TRUE(uevent_comes(sock, "add@", "DEVNAME=twheel-announced"));
	ASSERT_EQ(0, remove_named("announced"));
	EXPECT_TRUE(uevent_comes(sock, "remove@", "DEVNAME=twheel-announced"));
	close(sock);
}

TEST_HARNESS_MAIN
