// SPDX-License-Identifier: GPL-2.0
/*
 * State of purgatories in procfs and sysfs: fdinfo of open files, the sysfs attributes of
 * a named purgatory, and the uevents of its node.
 */
#include <linux/netlink.h>
#include <sys/socket.h>
#include "named.h"

#define NAME	"shown"
#define COUNTS	"/sys/kernel/debug/twheel/counts"

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
}

FIXTURE_TEARDOWN(shown)
{
	remove_all_named();
	close(self->fd);
}

/* The text after @field in a line of a file, "" without the field. */
static const char *field_of(const char *path, const char *field)
{
	static char line[1024];
	size_t size = strlen(field);
	FILE *file = fopen(path, "r");

	if (!file)
		return "";
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, field, size) || line[size] != ':')
			continue;
		fclose(file);
		line[strcspn(line, "\n")] = 0;
		return line + size + 1 + strspn(line + size + 1, " \t");
	}
	fclose(file);
	return "";
}

static const char *fd_field(int fd, const char *field)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return field_of(path, field);
}

static long long fd_number(int fd, const char *field)
{
	const char *text = fd_field(fd, field);
	char *end;
	long long value = strtoll(text, &end, 0);

	return end == text || *end ? -1 : value;
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

/* They show what the users of the purgatory do: only those that may read it see them. */
TEST_F(shown, sysfs_has_no_counts)
{
	static const char * const names[] = {
		"pending", "keys", "watches", "added", "completed", "expired", "cancelled",
		"rejected", "rejected_enospc", "files", "detached", "detached_unread",
		"oldest_unread_ns", "unconfirmed",
	};
	char path[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), SYSFS_CLASS "/twheel-" NAME "/%s", names[i]);
		EXPECT_NE(0, access(path, F_OK)) TH_LOG("%s exists", path);
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

/* Nobody reads: adds fail at the limit of the file on its queue. */
TEST_F(shown, query_tells_unread_events_from_pending_operations)
{
	__u64 id = 0;
	int other, i;

	for (i = 0; i < 2 * 40; i++) {
		id = add_deadline(self->fd, HOUR, 0, i);
		ASSERT_NE(0, id);
		if (i < 41)
			ASSERT_EQ(0, op_cancel(self->fd, id));
	}
	EXPECT_EQ(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_EQ(ENOBUFS, errno);
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_EQ(2, query(self->fd).rejected_enobufs);
	EXPECT_EQ(0, query(self->fd).rejected_enospc);
	EXPECT_EQ(2, query(self->fd).rejected);
	/* Other files of the purgatory are not affected. */
	other = twheel_open_named(NAME, O_NONBLOCK);
	EXPECT_NE(0, add_keys(other, TWHEEL_COND_ANY, 0, 1));
	EXPECT_EQ(1, key_signal(other, 1, 7));
	EXPECT_EQ(1, query(other).unread);
	close(other);
}

TEST_F(shown, fdinfo_of_a_named_purgatory)
{
	int other = twheel_open_named(NAME, O_NONBLOCK);

	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	ASSERT_NE(0, add_deadline(other, HOUR, 0, 0));
	EXPECT_EQ(0, strcmp(NAME, fd_field(self->fd, "twheel-name")));
	EXPECT_EQ(1, fd_number(self->fd, "twheel-own"));
	close(other);
}

TEST_F(shown, fdinfo_of_a_private_purgatory)
{
	int fd = twheel_open(O_NONBLOCK);

	ASSERT_NE(0, add_deadline(fd, HOUR, 0, 0));
	EXPECT_EQ(1, fd_number(fd, "twheel-own"));
	EXPECT_EQ(0, strcmp("-", fd_field(fd, "twheel-name")));
	close(fd);
}

TEST_F(shown, fdinfo_of_an_events_descriptor)
{
	int events = open_events(self->fd, 0);
	__u64 ids[2];

	ASSERT_LE(0, events);
	EXPECT_EQ(0, strcmp(NAME, fd_field(events, "twheel-name")));
	EXPECT_EQ(0, fd_number(events, "twheel-queue"));
	ids[0] = add_deadline(self->fd, HOUR, TWHEEL_ADD_DETACHED, 0);
	ids[1] = add_deadline(self->fd, HOUR, TWHEEL_ADD_DETACHED, 0);
	ASSERT_EQ(0, op_cancel(self->fd, ids[0]));
	/* The operations of a queue are not those of a descriptor. */
	EXPECT_EQ(-1, fd_number(events, "twheel-detached"));
	EXPECT_EQ(1, fd_number(events, "twheel-unread"));
	EXPECT_EQ(0, fd_number(self->fd, "twheel-unread"));
	close(events);
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
	EXPECT_EQ(0, strcmp(NAME, fd_field(fd, "twheel-name")));
	EXPECT_EQ(0, fd_number(fd, "twheel-restricted"));
	EXPECT_EQ(-1, fd_number(fd, "twheel-own"));
	close(fd);
}

TEST_F(shown, fdinfo_after_its_removal)
{
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	ASSERT_EQ(1, remove_by_force(NAME));
	EXPECT_EQ(0, fd_number(self->fd, "twheel-own"));
}

struct wheel_counts {
	unsigned long long fired;
	unsigned long long timed;
};

/* The sum of a list of numbers, -1 unless there are 26. */
static long long sum_of_list(const char *text)
{
	long long sum = 0;
	int nr = 0;
	char *end;

	for (;; text = end + 1) {
		sum += strtoll(text, &end, 0);
		nr++;
		if (end == text || *end != ',')
			break;
	}
	return *end == ' ' && nr == 26 ? sum : -1;
}

/* The counts of the wheels of all users, by CLOCK_MONOTONIC. Returns whether they are valid. */
static bool users_counts(struct wheel_counts *counts)
{
	const char *text = field_of(COUNTS, "twheel-wheel"), *fired, *late;

	fired = strstr(text, " fired=");
	late = strstr(text, " late=");
	if (strncmp(text, "clock=monotonic ", 16) || !fired || !late ||
	    strcmp(text + strlen(text) - 11, " name=users"))
		return false;
	counts->fired = strtoull(fired + 7, NULL, 10);
	counts->timed = sum_of_list(late + 6);
	return counts->timed != -1ULL;
}

TEST_F(shown, fdinfo_of_the_control_node_has_no_counts)
{
	int control = open("/dev/twheel-control", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, control);
	EXPECT_STREQ("1", fd_field(control, "twheel-control"));
	EXPECT_STREQ("", fd_field(control, "twheel-wheel"));
	EXPECT_STREQ("", fd_field(control, "twheel-user"));
	close(control);
}

TEST_F(shown, counts_of_the_wheels_of_users)
{
	struct wheel_counts before, after;
	struct twheel_event event;
	int i;

	ASSERT_TRUE(users_counts(&before));
	EXPECT_LE(before.timed, before.fired);
	for (i = 0; i < 5; i++)
		ASSERT_NE(0, add_deadline(self->fd, MSEC, 0, 0));
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(next_event(self->fd, &event));
	ASSERT_TRUE(users_counts(&after));
	EXPECT_LE(before.fired + 5, after.fired);
	EXPECT_LE(after.timed, after.fired);
	EXPECT_LT(before.timed, after.timed);
}

/* A number of the first user, such as "added=", or -1. */
static long long of_user(const char *field)
{
	const char *at = strstr(field_of(COUNTS, "twheel-user"), field);

	return at ? atoll(at + strlen(field)) : -1;
}

TEST_F(shown, counts_have_the_operations_of_users)
{
	int fd = twheel_open(0);
	__u64 id;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, of_user("ops="));
	id = add_deadline(fd, HOUR, 0, 0);
	ASSERT_NE(0, id);
	EXPECT_EQ(1, of_user("ops="));
	EXPECT_EQ(0, op_cancel(fd, id));
	/* Its event is unread. */
	EXPECT_EQ(1, of_user("ops="));
	close(fd);
	EXPECT_EQ(0, of_user("ops="));
}

TEST_F(shown, counts_have_the_totals_of_private_purgatories)
{
	int first = twheel_open(0), second = twheel_open(0);
	long long added = of_user("added="), completed = of_user("completed=");
	long long expired = of_user("expired="), cancelled = of_user("cancelled=");
	struct twheel_event event;

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	ASSERT_LE(0, cancelled);
	ASSERT_EQ(0, op_complete(first, add_deadline(first, HOUR, 0, 0), 0));
	ASSERT_NE(0, add_deadline(first, MSEC, 0, 0));
	for (int i = 0; i < 2; i++)
		ASSERT_TRUE(next_event(first, &event));
	for (int i = 0; i < 2; i++)
		ASSERT_NE(0, add_deadline(second, HOUR, 0, 0));
	/* Those of named purgatories are elsewhere. */
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	/* Reading them does not count again, and neither does the end of a purgatory. */
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(added + 4, of_user("added="));
	EXPECT_EQ(completed + 1, of_user("completed="));
	EXPECT_EQ(expired + 1, of_user("expired="));
	EXPECT_EQ(cancelled, of_user("cancelled="));
	close(second);
	EXPECT_EQ(added + 4, of_user("added="));
	EXPECT_EQ(cancelled + 2, of_user("cancelled="));
	close(first);
	EXPECT_EQ(added + 4, of_user("added="));
	EXPECT_EQ(completed + 1, of_user("completed="));
	EXPECT_EQ(expired + 1, of_user("expired="));
}

/* The lock is dropped after each of them. */
TEST_F(shown, totals_of_many_private_purgatories_are_complete)
{
	long long added = of_user("added=");
	int fds[100];

	for (int i = 0; i < 100; i++) {
		fds[i] = twheel_open(0);
		ASSERT_LE(0, fds[i]);
		ASSERT_NE(0, add_deadline(fds[i], HOUR, 0, 0));
	}
	EXPECT_EQ(added + 100, of_user("added="));
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	EXPECT_EQ(added + 100, of_user("added="));
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
