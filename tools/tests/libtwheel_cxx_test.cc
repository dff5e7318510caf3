// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the library from C++: the functions link and accept C++ arguments. Needs no
 * device.
 */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <twheel.h>

namespace {

std::vector<int> errors;

void on_result(void *, uint64_t, const twheel_command *, const twheel_result *result)
{
	errors.push_back(result->error);
}

bool a_call_fails_with_errno()
{
	twheel_add_args add = {};
	twheel_rearm_args rearm = {};
	twheel_signal_args signal = {};
	twheel_query_args query;

	add.deadline = TWHEEL_NEVER;
	rearm.flags = TWHEEL_REARM_IF_LATER;
	return twheel_add(-1, &add) == -1 && errno == EBADF &&
	       twheel_rearm_with(-1, &rearm) == -1 && errno == EBADF &&
	       twheel_signal_with(-1, &signal) == -1 && errno == EBADF &&
	       twheel_events(-1, 0, 0) == -1 && errno == EBADF &&
	       twheel_restrict(-1, 0) == -1 && errno == EBADF &&
	       twheel_query(-1, &query) == -1 && errno == EBADF;
}

bool a_batch_has_an_owner()
{
	std::unique_ptr<twheel_batch, void (*)(twheel_batch *)> batch(
		twheel_batch_new(-1, 8, TWHEEL_BATCH_STOP), twheel_batch_free);

	return batch && !twheel_batch_on_result(batch.get(), on_result, nullptr) &&
	       !twheel_batch_cancel(batch.get(), 1) &&
	       twheel_batch_submit(batch.get()) == -1 && errno == EBADF && errors.empty();
}

bool keys_are_values()
{
	char text[TWHEEL_KEY_FORMAT_SIZE];
	twheel_key key = twheel_key_number(42);

	return !std::strcmp(twheel_key_format(key, text), "42") &&
	       !twheel_key_text("order-17", &key) &&
	       !std::strcmp(twheel_key_format(key, text), "order-17");
}

int nr, failed;

void report(bool good, const char *name)
{
	failed += !good;
	std::printf("%sok %d - %s\n", good ? "" : "not ", ++nr, name);
}

} // namespace

int main()
{
	report(a_call_fails_with_errno(), "a call from C++ fails with errno");
	report(a_batch_has_an_owner(), "a batch has an owner in C++");
	report(keys_are_values(), "keys are values in C++");
	std::printf("1..%d\n", nr);
	return failed != 0;
}
