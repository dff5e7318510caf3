// SPDX-License-Identifier: GPL-2.0
/*
 * Misbehaving programs, which only affect themselves: files without a reader, and many open
 * files. The fuzzer kills processes, closes descriptors and unmaps memory during calls.
 */
#include "named.h"

#define NAME	"abused"

FIXTURE(robust) {
	long users;
	int fd;		/* of a well-behaved user of the same purgatory */
};

FIXTURE_SETUP(robust)
{
	remove_all_named();
	self->users = module_users();
	ASSERT_EQ(0, create_named(NAME, 0666));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(robust)
{
	struct twheel_query_args q;

	EXPECT_TRUE(wait_for(query(self->fd).files == 1));
	q = query(self->fd);
	EXPECT_EQ(0, q.pending);
	EXPECT_EQ(0, q.watches);
	EXPECT_EQ(0, q.keys);
	close(self->fd);
	remove_all_named();
	EXPECT_TRUE(wait_for(module_users() == self->users));
}

/* Return: true if the operations of the well-behaved user complete. */
static bool works(int fd)
{
	__u64 id = add_keys(fd, TWHEEL_COND_ALL, 0, 2);
	struct twheel_event event;

	return id && key_signal(fd, 1, 1) == 0 && key_signal(fd, 2, 2) == 1 &&
	       next_event(fd, &event) && event.id == id && event.value == 2;
}

TEST_F(robust, only_the_file_without_reads_is_refused)
{
	int fd = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_query_args q;
	unsigned int i, most;
	int error = 0;
	__u64 id;

	most = 2 * query(fd).max_file_pending;
	if (most > 5000)
		most = 5000;
	for (i = 0; i < most && !error; i++) {
		id = add_deadline(fd, HOUR, 0, i);
		error = id ? op_cancel(fd, id) : errno;
	}
	EXPECT_TRUE(error == 0 || error == ENOBUFS);
	EXPECT_TRUE(works(self->fd));
	q = query(fd);
	EXPECT_EQ(q.added, q.cancelled + q.completed);
	close(fd);
	EXPECT_TRUE(works(self->fd));
}

TEST_F(robust, many_open_files)
{
	unsigned int i, nr = 0;
	int fds[900];

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = i % 2 ? twheel_open_named(NAME, O_NONBLOCK) : twheel_open(O_NONBLOCK);
		if (fds[i] < 0)
			break;
		nr += add_keys(fds[i], TWHEEL_COND_ANY, 0, 1) && i % 2;
	}
	EXPECT_EQ(nr + 1, query(self->fd).files);
	EXPECT_EQ(nr, key_signal(self->fd, 1, 1));
	while (i--)
		close(fds[i]);
	EXPECT_TRUE(works(self->fd));
}

TEST_HARNESS_MAIN
