// SPDX-License-Identifier: GPL-2.0
/*
 * O_ASYNC of files and of descriptors of detached events, while threads turn it on and
 * off, open further descriptors and close them.  A file that closes leaves no entry in
 * any list of those to be signalled: the events that come afterwards would use it.
 *
 * The threads belong to two users.  The tests also need the kernel's own checks.
 */
#include <signal.h>
#include "named.h"

#define NAME	"async"

FIXTURE(async) {
	int fd;		/* stays open, adds the operations */
};

FIXTURE_SETUP(async)
{
	remove_all_named();
	ASSERT_NE(SIG_ERR, signal(SIGIO, SIG_IGN));
	ASSERT_EQ(0, create_named(NAME, 0666));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(async)
{
	close(self->fd);
	remove_all_named();
}

static int set_async(int fd, int on)
{
	return ioctl(fd, FIOASYNC, &on);
}

static bool is_async(int fd)
{
	return fcntl(fd, F_GETFL) & O_ASYNC;
}

/* Create detached events and wait for them, so that each entry of the list is used. */
static bool send_events(int fd, int nr)
{
	int events = open_events(fd, TWHEEL_EVENTS_NONBLOCK);
	struct twheel_event event;
	bool good = events >= 0;
	int i;

	for (i = 0; i < nr && good; i++)
		good = add_deadline(fd, 0, TWHEEL_ADD_DETACHED, i);
	for (i = 0; i < nr && good; i++)
		good = next_event(events, &event);
	close(events);
	return good;
}

/* Two threads that meet at each round. */
static struct {
	pthread_barrier_t start, end;
	int fd;
	int events;
	int rounds;
	unsigned int failed;
} pair;

static void *turn_on_at_each_round(void *arg)
{
	int i;

	act_for(STRANGER);
	for (i = 0; i < pair.rounds; i++) {
		pthread_barrier_wait(&pair.start);
		if (set_async(pair.fd, 1))
			pair.failed++;
		pthread_barrier_wait(&pair.end);
	}
	return arg;
}

/*
 * Two threads turn O_ASYNC on, none turns it off, and one of them opens the queue of
 * detached events in between: the file has the flag, and both descriptors are closed
 * with an entry in one list each.
 */
TEST_F(async, turned_on_by_two_threads_it_is_on)
{
	pthread_t thread;
	int i, off = 0;

	pair.rounds = rounds(1000);
	ASSERT_EQ(0, pthread_barrier_init(&pair.start, NULL, 2));
	ASSERT_EQ(0, pthread_barrier_init(&pair.end, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, turn_on_at_each_round, NULL));
	for (i = 0; i < pair.rounds; i++) {
		pair.fd = twheel_open_named(NAME, O_NONBLOCK);
		fcntl(pair.fd, F_SETOWN, getpid());
		pthread_barrier_wait(&pair.start);
		pair.events = open_events(pair.fd, TWHEEL_EVENTS_NONBLOCK);
		fcntl(pair.events, F_SETOWN, getpid());
		pair.failed += set_async(pair.events, 1) || set_async(pair.fd, 1);
		pthread_barrier_wait(&pair.end);
		off += !is_async(pair.fd) || !is_async(pair.events);
		close(pair.fd);
		close(pair.events);
		if (i % 100 == 0)
			EXPECT_TRUE(send_events(self->fd, 5));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, off);
	EXPECT_EQ(0, pair.failed);
	EXPECT_TRUE(send_events(self->fd, 20));
}

/* Threads that turn it on and off and close, all on the same numbers. */
#define NR_SLOTS	4

static struct {
	int base;		/* the numbers from here on */
	bool over;
	unsigned long turns;
} crowd;

static void *turn_all_the_time(void *arg)
{
	unsigned int state = (unsigned long)arg, fd;

	if (state % 2)
		act_for(STRANGER);
	while (!__atomic_load_n(&crowd.over, __ATOMIC_RELAXED)) {
		fd = crowd.base + rand_r(&state) % NR_SLOTS;
		/* The descriptor may be closed at the moment. */
		set_async(fd, rand_r(&state) % 3 > 0);
		__atomic_add_fetch(&crowd.turns, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Own and detached events for whatever is open, of another user. */
static void *end_all_the_time(void *arg)
{
	int fd = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_event events[16];
	int queue = open_events(fd, TWHEEL_EVENTS_NONBLOCK);

	act_for(STRANGER);
	while (!__atomic_load_n(&crowd.over, __ATOMIC_RELAXED)) {
		add_deadline(fd, 0, TWHEEL_ADD_DETACHED, 0);
		add_deadline(fd, 100 * USEC, TWHEEL_ADD_DETACHED, 0);
		read_events(queue, events, ARRAY_SIZE(events));
		usleep(100);
	}
	close(queue);
	close(fd);
	return arg;
}

TEST_F(async, turned_on_and_off_while_descriptors_are_opened_and_closed)
{
	pthread_t threads[3];
	int i, fd, made;

	/* Numbers that nothing else of this program uses. */
	crowd.base = 100;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, turn_all_the_time,
					    (void *)(i + 1L)));
	ASSERT_EQ(0, pthread_create(&threads[2], NULL, end_all_the_time, NULL));
	for (i = 0; i < rounds(1500); i++) {
		fd = twheel_open_named(NAME, O_NONBLOCK);
		ASSERT_LE(0, fd);
		made = i % 2 ? open_events(fd, TWHEEL_EVENTS_NONBLOCK) : dup(fd);
		ASSERT_LE(0, made);
		fcntl(made, F_SETOWN, getpid());
		ASSERT_EQ(crowd.base + i % NR_SLOTS, dup2(made, crowd.base + i % NR_SLOTS));
		/* An own event of a file that closes at the same moment. */
		add_deadline(fd, i % 5 * 20 * USEC, 0, 0);
		close(made);
		close(fd);
		if (i % 7 == 0)
			close(crowd.base + (i + 2) % NR_SLOTS);
	}
	EXPECT_TRUE(wait_for(__atomic_load_n(&crowd.turns, __ATOMIC_RELAXED) > 1000));
	__atomic_store_n(&crowd.over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR_SLOTS; i++)
		close(crowd.base + i);
	EXPECT_TRUE(wait_for(query(self->fd).files == 1));
	EXPECT_TRUE(send_events(self->fd, 20));
}

TEST_HARNESS_MAIN
