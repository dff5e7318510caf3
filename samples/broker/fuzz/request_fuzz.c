// SPDX-License-Identifier: GPL-2.0
/*
 * Target of libFuzzer: an input is a sequence of frames from a client or a follower, each with
 * a size of two bytes in front.  Requests are executed as in a worker, but a waiting one is
 * answered at once.
 */
#include "../unit/kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void execute(uint8_t *frame, size_t len)
{
	struct request *request = request_begin(frame, len);
	struct writer response = { };

	if (!request)
		return;
	request_missing(request);
	request_answer(request, &response);
	writer_free(&response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;

	if (!started) {
		kit_start();
		atexit(kit_remove);
		started = true;
	}
	while (size >= 2) {
		size_t len = data[0] << 8 | data[1];
		uint8_t *frame;

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		/* An allocation of this size: the sanitizer notices the first byte beyond. */
		frame = malloc(len);
		memcpy(frame, data, len);
		execute(frame, len);
		free(frame);
		data += len;
		size -= len;
	}
	for (int i = 0; i < config.nr_partitions; i++)
		partition_clear(i);
	return 0;
}
