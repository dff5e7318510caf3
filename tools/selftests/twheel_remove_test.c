// SPDX-License-Identifier: GPL-2.0
/*
 * Removal of named purgatories: permissions, open files that are read or polled
 * meanwhile, and the release of the name and the module reference.
 */
#include <signal.h>
#include "named.h"

#define NAME	"ending"

FIXTURE_OF_A_PURGATORY(removal, NAME, 0);

TEST_F(removal, node_and_name_are_removed)
{
	close_it(&self->fd);
	EXPECT_EQ(0, remove_named(NAME));
	EXPECT_FALSE(node_exists(NAME));
	EXPECT_NE(0, access(SYSFS_CLASS "/twheel-" NAME, F_OK));
	EXPECT_EQ(ENOENT, remove_named(NAME));
	EXPECT_EQ(0, create_named(NAME, 0600));
	EXPECT_EQ(0, remove_named(NAME));
}

/* A node with the device number of a removed purgatory. */
TEST_F(removal, old_device_number_is_refused)
{
	struct twheel_create_args args = create_args("gone", 0600);

	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
	ASSERT_EQ(0, remove_named("gone"));
	ASSERT_EQ(0, mknod("/dev/gone", S_IFCHR | 0600, makedev(args.major, args.minor)));
	GIVES(open, ENXIO, errno_of(open("/dev/gone", O_RDWR)));
	unlink("/dev/gone");
}

TEST_F(removal, purgatory_pins_the_module_until_removal)
{
	if (self->users < 0)
		SKIP(return, "twheel is built in");
	close_it(&self->fd);
	EXPECT_EQ(self->users + 1, module_users());
	EXPECT_EQ(-1, syscall(SYS_delete_module, "twheel", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	EXPECT_EQ(0, remove_named(NAME));
	EXPECT_TRUE(wait_for(module_users() == self->users));
}

TEST_F(removal, busy_while_a_file_is_open)
{
	int other = dup(self->fd);

	EXPECT_EQ(EBUSY, remove_named(NAME));
	close_it(&self->fd);
	EXPECT_EQ(EBUSY, remove_named(NAME));
	EXPECT_TRUE(node_exists(NAME));
	close(other);
	EXPECT_EQ(0, remove_named(NAME));
}

TEST_F(removal, force_cancels_pending_operations)
{
	int other = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_event event;
	__u64 mine, theirs;

	mine = add_keys(self->fd, TWHEEL_COND_ALL, 0, 3);
	theirs = add_deadline(other, HOUR, 0, 0);
	ASSERT_EQ(2, remove_by_force(NAME));
	EXPECT_FALSE(node_exists(NAME));
	EXPECT_EVENT(self->fd, mine, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EVENT(other, theirs, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EQ(0, read_events(self->fd, &event, 1));
	EXPECT_EQ(0, read_events(other, &event, 1));
	close(other);
}

/* The error of a removal, with the given user IDs, through the control node of root. */
static int remove_with(uid_t real, uid_t effective)
{
	struct twheel_remove_args args = remove_args(NAME, TWHEEL_REMOVE_FORCE);
	int control = twheel_open_control(), status;
	pid_t child = fork();

	if (!child)
		_exit(setresuid(real, effective, effective) ? 255 :
		      call(control, TWHEEL_IOC_REMOVE, &args));
	close(control);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A daemon of root that acts for a user, and a set-user-ID program that a user calls. */
TEST_F(removal, effective_user_is_judged)
{
	int control = twheel_open_control();
	struct twheel_create_args args;
	pid_t child;

	GIVES(TWHEEL_IOC_REMOVE, EPERM, remove_with(0, STRANGER));
	EXPECT_TRUE(node_exists(NAME));

	EXPECT_EQ(0, remove_by_force(NAME));
	args = create_args(NAME, 0600);
	child = fork();
	if (!child)
		_exit(setresuid(STRANGER, NEIGHBOUR, NEIGHBOUR) ||
		      ioctl(control, TWHEEL_IOC_CREATE, &args) < 0);
	ASSERT_TRUE(child_exited_well(child));
	EXPECT_EQ(EPERM, remove_with(STRANGER, STRANGER));
	EXPECT_EQ(0, remove_with(STRANGER, NEIGHBOUR));
	EXPECT_FALSE(node_exists(NAME));
	close(control);
}

TEST_F(removal, name_is_free_while_the_old_purgatory_is_open)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1), other;
	int fd;

	ASSERT_EQ(1, remove_by_force(NAME));
	ASSERT_EQ(0, create_named(NAME, 0600));
	fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, query(fd).added);
	EXPECT_EQ(1, query(fd).files);
	other = add_keys(fd, TWHEEL_COND_ANY, 0, 1);
	EXPECT_EQ(1, key_signal(fd, 1, 1));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EVENT(fd, other, TWHEEL_REASON_COMPLETED, 1);
	close(fd);
}

TEST_F(removal, blocked_readers_read_the_cancellation_or_the_end)
{
	struct waiter w[2];
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++) {
		w[i] = (struct waiter) { .fd = twheel_open_named(NAME, 0), .result = -1 };
		if (i)
			ASSERT_NE(0, add_deadline(w[i].fd, HOUR, 0, 3));
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_in_read, &w[i]));
		ASSERT_TRUE(waits_in(&w[i], SYS_read));
	}
	EXPECT_EQ(1, remove_by_force(NAME));
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(i, w[i].result);
		close(w[i].fd);
	}
	EXPECT_EQ(3, w[1].event.cookie);
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)w[1].event.reason);
}

TEST_F(removal, poller_is_woken)
{
	struct waiter w = { .fd = self->fd };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_poll, &w));
	ASSERT_TRUE(waits_in(&w, SYS_poll));
	EXPECT_EQ(0, remove_by_force(NAME));
	pthread_join(thread, NULL);
	EXPECT_EQ(1, w.result);
	EXPECT_EQ(POLLIN | POLLHUP, w.revents);
}

/* The removal continues if its caller is killed, and the name is available immediately. */
TEST_F(removal, removal_continues_if_the_caller_is_killed)
{
	unsigned int i, nr = 0;
	pid_t child;
	int round;

	for (round = 0; round < 5; round++) {
		for (i = 0; i < 5000; i++)
			ASSERT_NE(0, add_keys(self->fd, TWHEEL_COND_ANY, 0, 1));
		child = fork();
		ASSERT_LE(0, child);
		if (!child) {
			remove_by_force(NAME);
			_exit(0);
		}
		usleep(round * 2000);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, NULL, 0));
		/* Either the caller was killed before the call, or all operations are cancelled. */
		if (node_exists(NAME)) {
			EXPECT_EQ(5000, remove_by_force(NAME));
		} else {
			nr++;
			EXPECT_EQ(ENOENT, remove_named(NAME));
		}
		/* The last operation is not pending for a moment before its event is queued. */
		EXPECT_TRUE(wait_for(query(self->fd).unread == 5000));
		EXPECT_EQ(0, query(self->fd).pending);
		close(self->fd);
		ASSERT_EQ(0, create_named(NAME, 0600));
		self->fd = twheel_open_named(NAME, O_NONBLOCK);
		ASSERT_LE(0, self->fd);
	}
	TH_LOG("%u of %d removals had begun", nr, round);
}

TEST_HARNESS_MAIN
