// SPDX-License-Identifier: GPL-2.0
/*
 * O_ASYNC of files and of descriptors of detached events, while threads set and clear it,
 * open further descriptors and close them. A closed file must not leave an entry in a
 * fasync list: the next event would use it.
 *
 * The threads belong to two users. The tests rely on the checks of a debug kernel.
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

/* Create and wait for detached events, so that each entry of the list is used. */
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

/* Two threads, synchronized at each round. */
static struct {
	pthread_barrier_t start, end;
	int fd;
	int events;
	int rounds;
	unsigned int failed;
} pair;

static void *set_at_each_round(void *arg)
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
 * Two threads set O_ASYNC, none clears it, and one of them opens the queue of detached
 * events meanwhile: the file has the flag, and both descriptors are closed with an entry
 * in one list each.
 */
TEST_F(async, flag_is_set_by_two_threads)
{
	pthread_t thread;
	int i, off = 0;

	pair.rounds = rounds(1000);
	ASSERT_EQ(0, pthread_barrier_init(&pair.start, NULL, 2));
	ASSERT_EQ(0, pthread_barrier_init(&pair.end, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, set_at_each_round, NULL));
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

/* Threads that set and clear O_ASYNC and close files, all on the same descriptors. */
#define NR_SLOTS	4

static struct {
	int base;		/* first descriptor */
	bool over;
	unsigned long toggles;
} slots;

static void *toggle_in_loop(void *arg)
{
	unsigned int state = (unsigned long)arg, fd;

	if (state % 2)
		act_for(STRANGER);
	while (!__atomic_load_n(&slots.over, __ATOMIC_RELAXED)) {
		fd = slots.base + rand_r(&state) % NR_SLOTS;
		/* The descriptor may be closed now. */
		set_async(fd, rand_r(&state) % 3 > 0);
		__atomic_add_fetch(&slots.toggles, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Creates detached events, which signal the open descriptors, as another user. */
static void *send_in_loop(void *arg)
{
	int fd = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_event events[16];
	int queue = open_events(fd, TWHEEL_EVENTS_NONBLOCK);

	act_for(STRANGER);
	while (!__atomic_load_n(&slots.over, __ATOMIC_RELAXED)) {
		add_deadline(fd, 0, TWHEEL_ADD_DETACHED, 0);
		add_deadline(fd, 100 * USEC, TWHEEL_ADD_DETACHED, 0);
		read_events(queue, events, ARRAY_SIZE(events));
		usleep(100);
	}
	close(queue);
	close(fd);
	return arg;
}

TEST_F(async, flag_is_toggled_while_descriptors_are_closed)
{
	pthread_t threads[3];
	int i, fd, made;

	/* Descriptors not used otherwise by this program. */
	slots.base = 100;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, toggle_in_loop,
					    (void *)(i + 1L)));
	ASSERT_EQ(0, pthread_create(&threads[2], NULL, send_in_loop, NULL));
	for (i = 0; i < rounds(1500); i++) {
		fd = twheel_open_named(NAME, O_NONBLOCK);
		ASSERT_LE(0, fd);
		made = i % 2 ? open_events(fd, TWHEEL_EVENTS_NONBLOCK) : dup(fd);
		ASSERT_LE(0, made);
		fcntl(made, F_SETOWN, getpid());
		ASSERT_EQ(slots.base + i % NR_SLOTS, dup2(made, slots.base + i % NR_SLOTS));
		/* The file is closed while its event is created. */
		add_deadline(fd, i % 5 * 20 * USEC, 0, 0);
		close(made);
		close(fd);
		if (i % 7 == 0)
			close(slots.base + (i + 2) % NR_SLOTS);
	}
	EXPECT_TRUE(wait_for(__atomic_load_n(&slots.toggles, __ATOMIC_RELAXED) > 1000));
	__atomic_store_n(&slots.over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR_SLOTS; i++)
		close(slots.base + i);
	EXPECT_TRUE(wait_for(query(self->fd).files == 1));
	EXPECT_TRUE(send_events(self->fd, 20));
}

TEST_HARNESS_MAIN
