// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions: the waits for replicas, and those after a killed process. The test is a part of the
 * unit, since it kills the owner of a lock.
 */
#include <signal.h>
#include <sys/wait.h>

#include "../partition.c"
#include "kit.h"

#define BOTH	2	/* the partition with a follower */

#define FOLLOWER	2	/* its node */

static int64_t append(int number, int records)
{
	struct wire writer = WRITER;
	struct batch batch;
	int64_t base;

	put_batch(&writer, 0, records, 100);
	CHECK(!batch_check(writer.data, writer.size, &batch));
	base = partition_append(number, writer.data, &batch);
	wire_free(&writer);
	return base;
}

static bool state_is(int number, int64_t end, int64_t high, int in_sync)
{
	struct state state = partition_state(number);

	return state.end.offset == end && state.high.offset == high &&
	       state.nr_in_sync == in_sync;
}

static void replica_without_progress_does_not_renew_its_lease(void)
{
	int64_t end;

	kit_start();
	partition_followed(BOTH, FOLLOWER, (struct place){ });
	append(BOTH, 4);
	partition_followed(BOTH, FOLLOWER, (struct place){ });
	config.max_lag_ms = 0;
	partition_followed(BOTH, FOLLOWER, (struct place){ });
	waiting_events();
	CHECK(state_is(BOTH, 4, 0, 2));
	/* All that the log had at the previous fetch is enough. */
	end = partition_state(BOTH).end.offset;
	append(BOTH, 4);
	partition_followed(BOTH, FOLLOWER, (struct place){ end, 0 });
	waiting_events();
	CHECK(state_is(BOTH, 8, 8, 1));
}

static int nr_ended;

static void ended(struct wait *wait, enum wait_end end)
{
	nr_ended += end == WAIT_COMPLETED;
}

static void killed_process_leaves_no_change_behind(void)
{
	struct wait_key key = { WAIT_READ, 0 };
	struct wait wait = { .fn = ended };
	int how;
	pid_t pid;

	kit_start();
	pid = fork();
	if (!pid) {
		struct partition *partition = lock(0);

		set_place(&partition->end, (struct place){ 3, 300 });
		raise(SIGKILL);
	}
	CHECK(waitpid(pid, &how, 0) == pid && WIFSIGNALED(how));
	wait_add(&wait, &key, 1, 1000000, now_ns() + 3600000 * NS_PER_MS);
	partitions_repair();
	CHECK(state_is(0, 3, 3, 1));
	/* The signals of the killed process may be lost, so the request is evaluated again. */
	waiting_events();
	CHECK(nr_ended == 1);
}

int main(void)
{
	static const struct tap_case cases[] = {
		CASE(replica_without_progress_does_not_renew_its_lease),
		CASE(killed_process_leaves_no_change_behind),
		{ }
	};

	return kit_run(cases);
}
