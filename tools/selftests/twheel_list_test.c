// SPDX-License-Identifier: GPL-2.0
/*
 * The lists in debugfs: purgatories with their counts, and pending operations with their
 * keys and remaining times.
 */
#include <stdarg.h>

#include "selftest.h"

#define PURGATORIES	"/sys/kernel/debug/twheel/purgatories"
#define OPERATIONS	"/sys/kernel/debug/twheel/operations"

#define CROWD		5000

/* Contents of a file, freed by the caller; NULL if it cannot be read. */
static char *contents(const char *path)
{
	size_t size = 0, capacity = 1 << 16;
	char *text = malloc(capacity);
	int fd = open(path, O_RDONLY);
	ssize_t got;

	while (fd >= 0 && text && (got = read(fd, text + size, capacity - size - 1)) > 0) {
		size += got;
		if (capacity - size > 1)
			continue;
		capacity *= 2;
		text = realloc(text, capacity);
	}
	if (fd < 0 || !text) {
		free(text);
		return NULL;
	}
	close(fd);
	text[size] = 0;
	return text;
}

/* Number of lines of a file that contain all of these words, terminated by NULL. */
static long lines_with(const char *path, ...)
{
	char *text = contents(path), *line, *state, *word;
	long nr = 0;
	va_list words;
	bool all;

	if (!text)
		return -1;
	for (line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		all = true;
		va_start(words, path);
		while ((word = va_arg(words, char *)))
			all &= !!strstr(line, word);
		va_end(words);
		nr += all;
	}
	free(text);
	return nr;
}

FIXTURE(list) {
	int fd;
};

FIXTURE_SETUP(list)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	if (access(OPERATIONS, R_OK))
		SKIP(return, "debugfs is not available");
}

FIXTURE_TEARDOWN(list)
{
	close(self->fd);
}

TEST_F(list, purgatory_has_a_line_of_counts)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ALL, 0, 3);

	ASSERT_NE(0, id);
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_EQ(1, lines_with(PURGATORIES, "/dev/twheel ", " pending=2 keys=3 watches=3 ",
				" added=2 completed=0 expired=0 cancelled=0 rejected=0", NULL));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(1, lines_with(PURGATORIES, " pending=1 keys=0 watches=0 ",
				" cancelled=1 ", NULL));
}

TEST_F(list, operation_has_a_line_with_its_keys)
{
	struct twheel_watch_spec specs[] = { spec_of(0x1a, 3), spec_of(0x1b, 1) };
	__u64 id = add_specs(self->fd, TWHEEL_COND_QUORUM, 2, specs, 2);

	ASSERT_NE(0, id);
	EXPECT_EQ(1, lines_with(OPERATIONS, "/dev/twheel quorum missing=2 remaining_ns=never",
				" key=1a:ffffffffffffffe5/3", " key=1b:ffffffffffffffe4/1", NULL));
	EXPECT_EQ(0, key_signal(self->fd, 0x1a, 0));
	EXPECT_EQ(0, key_signal(self->fd, 0x1b, 0));
	EXPECT_EQ(1, lines_with(OPERATIONS, "/dev/twheel quorum missing=1 remaining_ns=never",
				" key=1a:ffffffffffffffe5/2", " key=1b:ffffffffffffffe4/0", NULL));
	ASSERT_EQ(0, op_complete(self->fd, id, 0));
	EXPECT_EQ(0, lines_with(OPERATIONS, "/dev/twheel", NULL));
}

TEST_F(list, keys_have_the_names_that_twheelctl_takes)
{
	struct twheel_watch_spec specs[] = {
		{ .key.v[0] = 'k', .need = 2 },
		{ .key.v[1] = 17, .need = 1 },
	};

	ASSERT_NE(0, add_specs(self->fd, TWHEEL_COND_ANY, 0, specs, 2));
	EXPECT_EQ(1, lines_with(OPERATIONS, "/dev/twheel any missing=1", " key=k/2", " key=17/1",
				NULL));
}

/* The remaining time of the only operation, 0 if none is listed. */
static unsigned long long remaining(void)
{
	char *text = contents(OPERATIONS);
	unsigned long long ns = 0;

	if (text && sscanf(text, "/dev/twheel none missing=0 remaining_ns=%llu", &ns) != 1)
		ns = 0;
	free(text);
	return ns;
}

TEST_F(list, remaining_time_decreases)
{
	unsigned long long first, second;

	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	first = remaining();
	second = remaining();
	EXPECT_GE(HOUR, first);
	EXPECT_GT(first, second);
	EXPECT_NE(0, second);
}

TEST_F(list, pending_operations_are_listed_once)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		ASSERT_NE(0, add_keys(self->fd, TWHEEL_COND_ANY, 0, 1));
	EXPECT_EQ(CROWD, lines_with(OPERATIONS, "/dev/twheel any missing=1 ", NULL));
	EXPECT_EQ(CROWD, key_signal(self->fd, 1, 0));
	EXPECT_EQ(0, lines_with(OPERATIONS, "/dev/twheel", NULL));
}

/* A list keeps no file open. */
TEST_F(list, closed_purgatory_is_not_listed)
{
	int other = twheel_open(O_NONBLOCK);

	ASSERT_LE(0, other);
	ASSERT_NE(0, add_keys(other, TWHEEL_COND_ANY, 0, 1));
	EXPECT_EQ(2, lines_with(PURGATORIES, "/dev/twheel ", NULL));
	EXPECT_EQ(1, lines_with(OPERATIONS, "/dev/twheel ", NULL));
	close(other);
	EXPECT_EQ(1, lines_with(PURGATORIES, "/dev/twheel ", NULL));
	EXPECT_EQ(0, lines_with(OPERATIONS, "/dev/twheel ", NULL));
}

TEST_HARNESS_MAIN
