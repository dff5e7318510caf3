// SPDX-License-Identifier: GPL-2.0
/*
 * Target of libFuzzer: an input is a sequence of messages, each with a size of two bytes in front.
 * Messages of clients and followers are executed as in a worker, but a waiting one is answered at
 * once. If the highest bit of its size is set, a message is a response of the leader.
 */
#include <time.h>

/* The inputs know the IDs of members. */
static int fuzz_clock(clockid_t clock, struct timespec *now)
{
	*now = (struct timespec){ .tv_nsec = 1 };
	return 0;
}

#define clock_gettime fuzz_clock
#include "../group.c"
#undef clock_gettime
#include "../partition.c"
#include "../replicator.c"
#include "../unit/kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IS_RESPONSE	0x8000

static void execute(uint8_t *frame, size_t len)
{
	struct request *request = request_begin(frame, len);
	struct wire response = { .writes = true };

	if (!request)
		return;
	request_missing(request);
	request_answer(request, &response);
	wire_free(&response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;

	if (!started)
		kit_start();
	started = true;
	while (size >= 2) {
		size_t size_field = data[0] << 8 | data[1], len = size_field & ~IS_RESPONSE;
		uint8_t *frame;

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		/* An allocation of this size: the sanitizer notices the first byte beyond. */
		frame = malloc(len);
		memcpy(frame, data, len);
		if (size_field & IS_RESPONSE)
			copy(frame, len);
		else
			execute(frame, len);
		free(frame);
		data += len;
		size -= len;
	}
	waiting_submit();
	waiting_events();
	clear_alarms();
	waiting_open(true);
	for (int i = 0; i < config.nr_partitions; i++) {
		log_cut(&logs[i], (struct place){ });
		logs[i].found = (struct place){ };
		set_place(&partitions[i].end, (struct place){ });
		set_place(&partitions[i].high, (struct place){ });
		for (int node = 0; node < MAX_NODES; node++)
			partitions[i].replicas[node].lease.id = 0;
	}
	for (int i = 0; i < MAX_GROUPS && shared->groups[i].name.len; i++)
		shared->groups[i] = (struct group){ };
	while (shared->nr_slots) {
		shared->members[--shared->nr_slots].group = NULL;
		shared->members[shared->nr_slots].session.id = 0;
	}
	return 0;
}
