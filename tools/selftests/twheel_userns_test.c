// SPDX-License-Identifier: GPL-2.0
/*
 * User namespaces: all ids of a namespace are charged to its owner, the creator, or, if this is
 * root, the namespace itself.
 *
 * Needs the module parameter user_max_ops=64.
 */
#include <sched.h>
#include <sys/wait.h>
#include "named.h"

/* The ids of a namespace: 0 is its owner, the others are subordinate ids. */
#define IDS	100
#define FIRST	100000

/* Shared with the child. */
struct result {
	bool mapped;
	bool unsupported;
	int added;
	int error;
};

FIXTURE(userns) {
	int fd;
	unsigned int limit;
	struct result *result;
};

FIXTURE_SETUP(userns)
{
	self->limit = module_parameter("user_max_ops");
	if (!self->limit || self->limit >= IDS)
		SKIP(return, "load twheel with the parameter above");
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->result = mmap(NULL, sizeof(*self->result), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->result);
}

FIXTURE_TEARDOWN(userns)
{
	close(self->fd);
}

static bool write_map(pid_t child, const char *name, uid_t owner)
{
	char path[64];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "/proc/%d/%s", child, name);
	file = fopen(path, "w");
	if (!file)
		return false;
	good = fprintf(file, "0 %u 1\n1 %u %u\n", owner, FIRST, IDS) > 0;
	return !fclose(file) && good;
}

/* Add an operation for each id, until one is refused. */
static void add_for_all_ids(int fd, struct result *result)
{
	struct twheel_add_args args = { .deadline = HOUR };
	uid_t id;

	for (id = 0; id <= IDS; id++) {
		if (!act_for(id)) {
			result->error = -1;
			return;
		}
		if (op_add(fd, &args)) {
			result->error = errno;
			return;
		}
		result->added++;
	}
}

/* Let the ids of a new namespace of @owner add operations. */
static bool add_in_namespace(int fd, uid_t owner, struct result *result)
{
	int ready[2], mapped[2];
	pid_t child;
	char c;

	memset(result, 0, sizeof(*result));
	if (pipe(ready) || pipe(mapped))
		return false;
	child = fork();
	if (!child) {
		if (owner && !become(owner))
			_exit(1);
		result->unsupported = unshare(CLONE_NEWUSER);
		if (write(ready[1], "", 1) != 1 || read(mapped[0], &c, 1) != 1)
			_exit(1);
		if (!result->unsupported && !setresuid(0, 0, 0))
			add_for_all_ids(fd, result);
		_exit(0);
	}
	if (child < 0 || read(ready[0], &c, 1) != 1)
		return false;
	result->mapped = write_map(child, "uid_map", owner);
	if (write(mapped[1], "", 1) != 1 || !child_exited_well(child))
		return false;
	close(ready[0]);
	close(ready[1]);
	close(mapped[0]);
	close(mapped[1]);
	return result->mapped || result->unsupported;
}

/* Whether a user can add an operation; errno is set otherwise. */
static bool can_add(int fd, uid_t user)
{
	struct twheel_add_args args = { .deadline = HOUR };
	bool good;

	if (!act_for(user))
		return false;
	good = !op_add(fd, &args);
	return act_for(0) && good;
}

TEST_F(userns, ids_are_charged_to_the_user_who_created_the_namespace)
{
	__u64 last;

	ASSERT_TRUE(add_in_namespace(self->fd, STRANGER, self->result));
	if (self->result->unsupported)
		SKIP(return, "no user namespaces");
	EXPECT_EQ(self->limit, self->result->added);
	EXPECT_EQ(EDQUOT, self->result->error);
	/* The owner itself, and none else. */
	EXPECT_FALSE(can_add(self->fd, STRANGER));
	EXPECT_EQ(EDQUOT, errno);
	EXPECT_TRUE(can_add(self->fd, STRANGER + 1));
	EXPECT_TRUE(can_add(self->fd, 0));
	/* Another namespace does not help. */
	ASSERT_TRUE(add_in_namespace(self->fd, STRANGER, self->result));
	EXPECT_EQ(0, self->result->added);
	EXPECT_EQ(EDQUOT, self->result->error);
	/* The charges go with the operations. */
	EXPECT_EQ((long)self->limit + 2, complete_all(self->fd, 0, 0, 0));
	EXPECT_EQ(self->limit + 2, read_all_events(self->fd, &last));
	EXPECT_TRUE(can_add(self->fd, STRANGER));
}

TEST_F(userns, namespace_of_root_owns_its_ids)
{
	ASSERT_TRUE(add_in_namespace(self->fd, 0, self->result));
	if (self->result->unsupported)
		SKIP(return, "no user namespaces");
	EXPECT_EQ(self->limit, self->result->added);
	EXPECT_EQ(EDQUOT, self->result->error);
	EXPECT_TRUE(can_add(self->fd, 0));
	EXPECT_TRUE(can_add(self->fd, FIRST));
	/* Those of another namespace are not affected. */
	ASSERT_TRUE(add_in_namespace(self->fd, 0, self->result));
	EXPECT_EQ(self->limit, self->result->added);
	EXPECT_EQ(EDQUOT, self->result->error);
}

TEST_HARNESS_MAIN
