// SPDX-License-Identifier: GPL-2.0
/*
 * Races for cells: threads that touch, lower, cancel and arm them, and the reaper, signals and
 * calls that end their operations. The word and the event must agree, each operation ends once, and
 * none is missed.
 */
#include "cell.h"

#define NR	64
#define ROUNDS	rounds(100)

static struct {
	int fd;
	cell_t *cells;
	__u64 id[2 * NR];
	pthread_t threads[2];
	pthread_barrier_t meet;
	void (*job)(int me);
	bool stop, end;
	unsigned int wrong;
	/* The word of the last touch that succeeded; written by one thread for each cell. */
	__u64 touched[NR];
} race;

FIXTURE(cell_race) {
};

FIXTURE_SETUP(cell_race)
{
	memset(&race, 0, sizeof(race));
	race.fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, race.fd);
	race.cells = map_cells(race.fd, NR);
	if (!race.cells && lacks_cells(errno))
		SKIP(return, "no cells on this machine");
	ASSERT_NE(NULL, race.cells);
}

/* No operation, event or unit is left. */
FIXTURE_TEARDOWN(cell_race)
{
	struct twheel_query_args q = query(race.fd);

	EXPECT_EQ(0, q.own);
	EXPECT_EQ(0, q.unread);
	EXPECT_EQ(0, q.watches);
	EXPECT_EQ(q.added, q.completed + q.expired + q.cancelled);
	munmap(race.cells, NR * sizeof(cell_t));
	close(race.fd);
}

static bool stopped(void)
{
	return __atomic_load_n(&race.stop, __ATOMIC_ACQUIRE);
}

/* Two threads, which run @job(0) and @job(1) in each round, until it is stopped. */
static void *racer(void *me)
{
	for (;;) {
		pthread_barrier_wait(&race.meet);
		if (race.end)
			return NULL;
		race.job((long)me);
		pthread_barrier_wait(&race.meet);
	}
}

static bool racers_start(void (*job)(int me))
{
	long i;

	race.job = job;
	if (pthread_barrier_init(&race.meet, NULL, 3))
		return false;
	for (i = 0; i < 2; i++)
		if (pthread_create(&race.threads[i], NULL, racer, (void *)i))
			return false;
	return true;
}

static void round_begin(void)
{
	race.stop = false;
	pthread_barrier_wait(&race.meet);
}

static void round_end(void)
{
	__atomic_store_n(&race.stop, true, __ATOMIC_RELEASE);
	pthread_barrier_wait(&race.meet);
}

static void racers_end(void)
{
	race.end = true;
	pthread_barrier_wait(&race.meet);
	pthread_join(race.threads[0], NULL);
	pthread_join(race.threads[1], NULL);
}

/* Touch half of the cells at about their ends, often too late: the kernel looks at its ticks. */
static void toucher(int me)
{
	unsigned int random = now_ns() + me, nr;
	__u64 now, word, to;

	while (!stopped()) {
		relax();
		nr = rand_r(&random) % (NR / 2) * 2 + me;
		now = now_ns();
		word = cell_read(&race.cells[nr]);
		if (!is_armed(word) || (word & TWHEEL_CELL_TIME) * UNIT > now + 20 * USEC ||
		    rand_r(&random) % 512)
			continue;
		to = (word & ~TWHEEL_CELL_TIME) | units(now + rand_r(&random) % (2 * MSEC));
		if (to > word && cell_exchange(&race.cells[nr], word, to))
			race.touched[nr] = to;
	}
}

/* An expiry and a touch: the word of the event is that of the last touch that succeeded. */
TEST_F(cell_race, touch_and_expiry)
{
	struct twheel_event event[NR];
	__u64 *id = race.id;
	int i, round;

	ASSERT_TRUE(racers_start(toucher));
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < NR; i++) {
			race.touched[i] = 0;
			id[i] = add_cell(race.fd, i, 2 * MSEC, 0);
			ASSERT_NE(0, id[i]);
		}
		round_begin();
		usleep(2000 + round % 10 * 1000);
		round_end();
		for (i = 0; i < NR; i++)
			ASSERT_TRUE(next_event(race.fd, &event[i]));
		EXPECT_NO_EVENT(race.fd);
		for (i = 0; i < NR; i++) {
			int nr = event[i].cookie;

			EXPECT_EQ(id[nr], event[i].id);
			id[nr] = 0;
			EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event[i].reason);
			EXPECT_LE(event[i].deadline, event[i].time);
			EXPECT_EQ(LIFE * (round + 1), event[i].cell & ~TWHEEL_CELL_TIME);
			EXPECT_EQ(event[i].cell | TWHEEL_CELL_ENDED, cell_read(&race.cells[nr]));
			if (race.touched[nr])
				EXPECT_EQ(race.touched[nr], event[i].cell);
		}
	}
	racers_end();
}

/*
 * Whether the kernel may have changed @from to @to: it ends an armed word, and parks or ends an
 * idle one, or leaves ENDED there.
 */
static bool kernel_may(__u64 from, __u64 to)
{
	const __u64 free = TWHEEL_CELL_ENDED |
			   (is_armed(from) ? 0 : TWHEEL_CELL_IDLE | TWHEEL_CELL_TIME);

	return (from | free) == (to | free);
}

/* Cancel and arm a cell at full speed, with the same time, until its operation has ended. */
static void toggler(int me)
{
	cell_t *cell = &race.cells[me];
	__u64 mine = cell_read(cell), end = now_ns() + BUDGET_MS * MSEC / 3, word, to;
	unsigned int nr = 0;

	/* It may have ended already. */
	while (is_armed(mine) || mine & TWHEEL_CELL_IDLE) {
		to = is_armed(mine) ? mine | TWHEEL_CELL_IDLE :
				      next_life(mine, (mine & TWHEEL_CELL_TIME) * UNIT);
		if (mine & TWHEEL_CELL_IDLE && (mine | TWHEEL_CELL_TIME) == mine) {
			/* It was parked. The timer is due at once. */
			to = next_life(mine, now_ns() - 2 * MSEC);
			if (!op_exchange(race.fd, race.id[me], mine, to))
				mine = to;
		} else if (cell_exchange(cell, mine, to)) {
			mine = to;
		}
		word = cell_read(cell);
		/* The last way to cancel an operation. */
		if (word == TWHEEL_CELL_ENDED)
			break;
		race.wrong += !kernel_may(mine, word);
		mine = word;
		if (!(++nr % 16))
			relax();
		/* The expiry was lost. */
		if (!(nr % 4096) && now_ns() > end) {
			race.wrong++;
			break;
		}
	}
	race.touched[me] = mine;
}

static void end_by_call(int nr, int how)
{
	int err;

	switch (how) {
	case 0:
		while (!key_signal(race.fd, nr + 1, 0) &&
		       (cell_read(&race.cells[nr]) & (TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE)) !=
		       TWHEEL_CELL_ENDED)
			relax();
		break;
	case 1:
		do {
			relax();
			err = op_complete(race.fd, race.id[nr], 0);
		} while (err == EAGAIN);
		break;
	case 2:
		op_cancel(race.fd, race.id[nr]);
	}
}

TEST_F(cell_race, cancel_and_arm)
{
	const __u64 bits = TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE;
	struct twheel_event event;
	int i, round;

	ASSERT_TRUE(racers_start(toggler));
	for (round = 0; round < 4 * ROUNDS; round++) {
		for (i = 0; i < 2; i++) {
			race.id[i] = add_cell(race.fd, i, round % 4 == 3 ? MSEC : HOUR, i + 1);
			ASSERT_NE(0, race.id[i]);
		}
		round_begin();
		for (i = 0; i < 2; i++)
			end_by_call(i, round % 4);
		round_end();
		ASSERT_EQ(0, race.wrong);
		for (i = 0; i < 2; i++) {
			ASSERT_TRUE(next_event(race.fd, &event));
			EXPECT_EQ(race.touched[event.cookie] | bits, event.cell | bits);
		}
	}
	racers_end();
}

/* Lower words by calls while the reaper looks at them: none is left behind. */
static void lowerer(int me)
{
	unsigned int random = now_ns() + me, nr;
	const __u64 *id = race.id;
	__u64 word;

	while (!stopped()) {
		relax();
		nr = rand_r(&random) % NR;
		word = cell_read(&race.cells[nr]);
		if (is_armed(word))
			op_exchange(race.fd, id[nr], word, (word & TWHEEL_CELL_LIFE) |
				    units(now_ns() - 2 * MSEC + rand_r(&random) % (4 * MSEC)));
		word = cell_read(&race.cells[nr]);
		if (is_armed(word) && rand_r(&random) % 2)
			cell_exchange(&race.cells[nr], word,
				      (word & TWHEEL_CELL_LIFE) | units(now_ns() + HOUR));
	}
	/* The last word for each, which must be enough. */
	for (nr = 0; nr < NR; nr++) {
		do {
			relax();
			word = cell_read(&race.cells[nr]);
		} while (is_armed(word) &&
			 op_exchange(race.fd, id[nr], word, (word & TWHEEL_CELL_LIFE) |
				     units(now_ns() + MSEC)) == EAGAIN);
	}
}

TEST_F(cell_race, lower_and_look)
{
	struct twheel_event event;
	int i, round;

	ASSERT_TRUE(racers_start(lowerer));
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < NR; i++) {
			race.id[i] = add_cell(race.fd, i, 5 * MSEC, 0);
			ASSERT_NE(0, race.id[i]);
		}
		round_begin();
		usleep(2000 + round % 10 * 1000);
		round_end();
		for (i = 0; i < NR; i++) {
			ASSERT_TRUE(next_event(race.fd, &event));
			EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
			EXPECT_LE(event.deadline, event.time);
		}
		EXPECT_NO_EVENT(race.fd);
	}
	racers_end();
}

/*
 * A program arms a cell and then checks a condition, while a thread makes this true and then
 * signals: either the program sees it, or the signal ends the operation.
 */
static bool condition;
static unsigned int delay;

static void signaller(int me)
{
	unsigned int i;

	if (me)
		return;
	for (i = 0; i < delay; i++)
		__asm__ volatile("");
	__atomic_store_n(&condition, true, __ATOMIC_SEQ_CST);
	key_signal(race.fd, 1, 0);
}

TEST_F(cell_race, arm_and_signal)
{
	unsigned int round, seed = 1;
	struct twheel_event event;
	__u64 word, id;
	bool seen;

	ASSERT_TRUE(racers_start(signaller));
	for (round = 0; round < 50 * (unsigned int)ROUNDS; round++) {
		id = add_cell(race.fd, 0, HOUR, 1);
		ASSERT_NE(0, id);
		ASSERT_TRUE(cell_cancel(&race.cells[0]));
		condition = false;
		delay = rand_r(&seed) % 500;
		round_begin();
		/* The signal may set ENDED of the idle cell meanwhile. */
		do {
			word = cell_read(&race.cells[0]);
		} while (!cell_exchange(&race.cells[0], word,
					next_life(word, now_ns() + 2 * HOUR)));
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		seen = __atomic_load_n(&condition, __ATOMIC_SEQ_CST);
		round_end();
		EXPECT_TRUE(seen || !is_armed(cell_read(&race.cells[0])));
		op_cancel(race.fd, id);
		ASSERT_TRUE(next_event(race.fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(event.cell | TWHEEL_CELL_ENDED, cell_read(&race.cells[0]));
	}
	racers_end();
}

/* Store anything. */
static void vandal(int me)
{
	static const __u64 bits[] = {
		0, TWHEEL_CELL_ENDED, TWHEEL_CELL_IDLE, TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE,
	};
	unsigned int random = now_ns() + me;
	__u64 word;

	while (!stopped()) {
		relax();
		word = bits[rand_r(&random) % 4] | units(now_ns() + rand_r(&random) % MSEC);
		if (rand_r(&random) % 4 == 0)
			word = (__u64)rand_r(&random) << 40 | rand_r(&random);
		__atomic_store_n(&race.cells[rand_r(&random) % NR], word, __ATOMIC_RELAXED);
	}
}

TEST_F(cell_race, rubbish)
{
	struct twheel_event event;
	__u64 *id = race.id;
	int i, round, left;

	ASSERT_TRUE(racers_start(vandal));
	round_begin();
	for (round = 0; round < ROUNDS; round++) {
		/* Two operations for each cell */
		for (i = 0; i < 2 * NR; i++) {
			id[i] = add_cell(race.fd, i % NR, MSEC, 1);
			ASSERT_NE(0, id[i]);
		}
		for (i = 0; i < 2 * NR; i += 3) {
			op_complete(race.fd, id[i], 0);
			op_exchange(race.fd, id[i], cell_read(&race.cells[i % NR]),
				    units(now_ns()));
		}
		key_signal(race.fd, 1, 1);
		/* The other half must end, whatever is stored. */
		for (i = 0; i < 2 * NR; i++)
			op_cancel(race.fd, id[i]);
		for (left = 2 * NR; left; left--)
			ASSERT_TRUE(next_event(race.fd, &event));
		EXPECT_NO_EVENT(race.fd);
	}
	round_end();
	racers_end();
}

TEST_HARNESS_MAIN
