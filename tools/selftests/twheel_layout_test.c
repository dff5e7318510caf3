// SPDX-License-Identifier: GPL-2.0
/*
 * What never changes of the device's interface: where each field of each structure
 * lies, and the value of each name.  A structure that grows at its end adds a line,
 * and has another size; nothing else here may be different from what it was.
 *
 * All of it is asserted when this is compiled, for 32 and for 64 bit alike, and
 * once more when it runs, so that it is counted.  That the kernel knows the same
 * numbers is asked of it.  scripts/check-abi sees that nothing is left out.
 */
#include <assert.h>
#include <stddef.h>
#include "selftest.h"

/* That two constants are the same, now and then. */
#define STAYS(expected, constant)						\
do {									\
	static_assert((expected) == (constant), #constant);		\
	EXPECT_EQ(expected, constant);					\
} while (0)

/* The structure that the next lines speak of is so long. */
#define SIZE(structure, size)						\
	STAYS(size, sizeof(struct structure))

#define FIELD(structure, field, offset, size)				\
do {									\
	STAYS(offset, offsetof(struct structure, field));			\
	STAYS(size, sizeof(((struct structure *)NULL)->field));		\
} while (0)

TEST(the_name_of_this_program_says_of_how_many_bits_it_is)
{
	const char *program = program_invocation_short_name;
	bool ends_in_32 = !strcmp(program + strlen(program) - 2, "32");

	EXPECT_EQ(ends_in_32 ? 4 : 8, sizeof(void *));
}

TEST(key_is_laid_out_as_ever)
{
	SIZE(twheel_key, 16);
	FIELD(twheel_key, v, 0, 16);
}

TEST(watch_spec_is_laid_out_as_ever)
{
	SIZE(twheel_watch_spec, 24);
	FIELD(twheel_watch_spec, key, 0, 16);
	FIELD(twheel_watch_spec, need, 16, 4);
	FIELD(twheel_watch_spec, reserved, 20, 4);
}

TEST(add_args_is_laid_out_as_ever)
{
	SIZE(twheel_add_args, 88);
	FIELD(twheel_add_args, flags, 0, 4);
	FIELD(twheel_add_args, condition, 4, 4);
	FIELD(twheel_add_args, quorum, 8, 4);
	FIELD(twheel_add_args, nr_keys, 12, 4);
	FIELD(twheel_add_args, keys, 16, 8);
	FIELD(twheel_add_args, threshold, 24, 8);
	FIELD(twheel_add_args, deadline, 32, 8);
	FIELD(twheel_add_args, slack, 40, 8);
	FIELD(twheel_add_args, period, 48, 8);
	FIELD(twheel_add_args, runs, 56, 8);
	FIELD(twheel_add_args, cookie, 64, 8);
	FIELD(twheel_add_args, clock, 72, 4);
	FIELD(twheel_add_args, reserved, 76, 4);
	FIELD(twheel_add_args, id, 80, 8);
}

TEST(cancel_args_is_laid_out_as_ever)
{
	SIZE(twheel_cancel_args, 16);
	FIELD(twheel_cancel_args, id, 0, 8);
	FIELD(twheel_cancel_args, flags, 8, 4);
	FIELD(twheel_cancel_args, reserved, 12, 4);
}

TEST(complete_args_is_laid_out_as_ever)
{
	SIZE(twheel_complete_args, 24);
	FIELD(twheel_complete_args, id, 0, 8);
	FIELD(twheel_complete_args, value, 8, 8);
	FIELD(twheel_complete_args, error, 16, 4);
	FIELD(twheel_complete_args, flags, 20, 4);
}

TEST(rearm_args_is_laid_out_as_ever)
{
	SIZE(twheel_rearm_args, 40);
	FIELD(twheel_rearm_args, id, 0, 8);
	FIELD(twheel_rearm_args, deadline, 8, 8);
	FIELD(twheel_rearm_args, slack, 16, 8);
	FIELD(twheel_rearm_args, flags, 24, 4);
	FIELD(twheel_rearm_args, which, 28, 4);
	FIELD(twheel_rearm_args, moved, 32, 4);
	FIELD(twheel_rearm_args, reserved, 36, 4);
}

TEST(watch_args_is_laid_out_as_ever)
{
	SIZE(twheel_watch_args, 24);
	FIELD(twheel_watch_args, id, 0, 8);
	FIELD(twheel_watch_args, flags, 8, 4);
	FIELD(twheel_watch_args, nr_keys, 12, 4);
	FIELD(twheel_watch_args, keys, 16, 8);
}

TEST(unwatch_args_is_laid_out_as_ever)
{
	SIZE(twheel_unwatch_args, 32);
	FIELD(twheel_unwatch_args, key, 0, 16);
	FIELD(twheel_unwatch_args, id, 16, 8);
	FIELD(twheel_unwatch_args, flags, 24, 4);
	FIELD(twheel_unwatch_args, reserved, 28, 4);
}

TEST(signal_args_is_laid_out_as_ever)
{
	SIZE(twheel_signal_args, 48);
	FIELD(twheel_signal_args, key, 0, 16);
	FIELD(twheel_signal_args, amount, 16, 8);
	FIELD(twheel_signal_args, value, 24, 8);
	FIELD(twheel_signal_args, limit, 32, 4);
	FIELD(twheel_signal_args, flags, 36, 4);
	FIELD(twheel_signal_args, completed, 40, 4);
	FIELD(twheel_signal_args, reserved, 44, 4);
}

TEST(cancel_key_args_is_laid_out_as_ever)
{
	SIZE(twheel_cancel_key_args, 24);
	FIELD(twheel_cancel_key_args, key, 0, 16);
	FIELD(twheel_cancel_key_args, flags, 16, 4);
	FIELD(twheel_cancel_key_args, cancelled, 20, 4);
}

TEST(complete_all_args_is_laid_out_as_ever)
{
	SIZE(twheel_complete_all_args, 24);
	FIELD(twheel_complete_all_args, value, 0, 8);
	FIELD(twheel_complete_all_args, error, 8, 4);
	FIELD(twheel_complete_all_args, flags, 12, 4);
	FIELD(twheel_complete_all_args, completed, 16, 4);
	FIELD(twheel_complete_all_args, reserved, 20, 4);
}

TEST(drain_args_is_laid_out_as_ever)
{
	SIZE(twheel_drain_args, 8);
	FIELD(twheel_drain_args, flags, 0, 4);
	FIELD(twheel_drain_args, cancelled, 4, 4);
}

TEST(detached_args_is_laid_out_as_ever)
{
	SIZE(twheel_detached_args, 8);
	FIELD(twheel_detached_args, flags, 0, 4);
	FIELD(twheel_detached_args, reserved, 4, 4);
}

TEST(pending_is_laid_out_as_ever)
{
	SIZE(twheel_pending, 128);
	FIELD(twheel_pending, id, 0, 8);
	FIELD(twheel_pending, cookie, 8, 8);
	FIELD(twheel_pending, deadline, 16, 8);
	FIELD(twheel_pending, remaining, 24, 8);
	FIELD(twheel_pending, missing, 32, 8);
	FIELD(twheel_pending, period, 40, 8);
	FIELD(twheel_pending, runs, 48, 8);
	FIELD(twheel_pending, condition, 56, 4);
	FIELD(twheel_pending, clock, 60, 4);
	FIELD(twheel_pending, nr_keys, 64, 4);
	FIELD(twheel_pending, flags, 68, 4);
	FIELD(twheel_pending, keys, 72, 48);
	FIELD(twheel_pending, reserved, 120, 8);
}

TEST(info_args_is_laid_out_as_ever)
{
	SIZE(twheel_info_args, 152);
	FIELD(twheel_info_args, id, 0, 8);
	FIELD(twheel_info_args, keys, 8, 8);
	FIELD(twheel_info_args, room, 16, 4);
	FIELD(twheel_info_args, flags, 20, 4);
	FIELD(twheel_info_args, pending, 24, 128);
}

TEST(list_args_is_laid_out_as_ever)
{
	SIZE(twheel_list_args, 32);
	FIELD(twheel_list_args, entries, 0, 8);
	FIELD(twheel_list_args, room, 8, 4);
	FIELD(twheel_list_args, flags, 12, 4);
	FIELD(twheel_list_args, cursor, 16, 8);
	FIELD(twheel_list_args, nr, 24, 4);
	FIELD(twheel_list_args, reserved, 28, 4);
}

TEST(query_args_is_laid_out_as_ever)
{
	SIZE(twheel_query_args, 160);
	FIELD(twheel_query_args, flags, 0, 4);
	FIELD(twheel_query_args, max_pending, 4, 4);
	FIELD(twheel_query_args, max_own, 8, 4);
	FIELD(twheel_query_args, files, 12, 4);
	FIELD(twheel_query_args, own, 16, 8);
	FIELD(twheel_query_args, unread, 24, 8);
	FIELD(twheel_query_args, detached, 32, 8);
	FIELD(twheel_query_args, detached_unread, 40, 8);
	FIELD(twheel_query_args, pending, 48, 8);
	FIELD(twheel_query_args, keys, 56, 8);
	FIELD(twheel_query_args, watches, 64, 8);
	FIELD(twheel_query_args, added, 72, 8);
	FIELD(twheel_query_args, completed, 80, 8);
	FIELD(twheel_query_args, expired, 88, 8);
	FIELD(twheel_query_args, cancelled, 96, 8);
	FIELD(twheel_query_args, rejected, 104, 8);
	FIELD(twheel_query_args, tick_ns, 112, 8);
	FIELD(twheel_query_args, wakeups, 120, 8);
	FIELD(twheel_query_args, name, 128, 32);
}

TEST(create_args_is_laid_out_as_ever)
{
	SIZE(twheel_create_args, 64);
	FIELD(twheel_create_args, name, 0, 32);
	FIELD(twheel_create_args, flags, 32, 4);
	FIELD(twheel_create_args, mode, 36, 4);
	FIELD(twheel_create_args, uid, 40, 4);
	FIELD(twheel_create_args, gid, 44, 4);
	FIELD(twheel_create_args, max_pending, 48, 4);
	FIELD(twheel_create_args, max_watches, 52, 4);
	FIELD(twheel_create_args, major, 56, 4);
	FIELD(twheel_create_args, minor, 60, 4);
}

TEST(remove_args_is_laid_out_as_ever)
{
	SIZE(twheel_remove_args, 40);
	FIELD(twheel_remove_args, name, 0, 32);
	FIELD(twheel_remove_args, flags, 32, 4);
	FIELD(twheel_remove_args, cancelled, 36, 4);
}

TEST(command_is_laid_out_as_ever)
{
	SIZE(twheel_command, 128);
	FIELD(twheel_command, call, 0, 4);
	FIELD(twheel_command, reserved, 4, 4);
	FIELD(twheel_command, add, 8, 88);
	FIELD(twheel_command, cancel, 8, 16);
	FIELD(twheel_command, complete, 8, 24);
	FIELD(twheel_command, rearm, 8, 40);
	FIELD(twheel_command, watch, 8, 24);
	FIELD(twheel_command, unwatch, 8, 32);
	FIELD(twheel_command, signal, 8, 48);
	FIELD(twheel_command, cancel_key, 8, 24);
	FIELD(twheel_command, room, 8, 120);
}

TEST(result_is_laid_out_as_ever)
{
	SIZE(twheel_result, 16);
	FIELD(twheel_result, value, 0, 8);
	FIELD(twheel_result, error, 8, 4);
	FIELD(twheel_result, reserved, 12, 4);
}

TEST(batch_args_is_laid_out_as_ever)
{
	SIZE(twheel_batch_args, 32);
	FIELD(twheel_batch_args, commands, 0, 8);
	FIELD(twheel_batch_args, results, 8, 8);
	FIELD(twheel_batch_args, nr, 16, 4);
	FIELD(twheel_batch_args, flags, 20, 4);
	FIELD(twheel_batch_args, done, 24, 4);
	FIELD(twheel_batch_args, failed, 28, 4);
}

TEST(event_is_laid_out_as_ever)
{
	SIZE(twheel_event, 64);
	FIELD(twheel_event, id, 0, 8);
	FIELD(twheel_event, cookie, 8, 8);
	FIELD(twheel_event, value, 16, 8);
	FIELD(twheel_event, deadline, 24, 8);
	FIELD(twheel_event, time, 32, 8);
	FIELD(twheel_event, reason, 40, 4);
	FIELD(twheel_event, flags, 44, 4);
	FIELD(twheel_event, error, 48, 4);
	FIELD(twheel_event, reserved, 52, 4);
	FIELD(twheel_event, expirations, 56, 8);
}

TEST(clock_has_the_same_values)
{
	STAYS(0, TWHEEL_CLOCK_MONOTONIC);
	STAYS(1, TWHEEL_CLOCK_BOOTTIME);
	STAYS(2, TWHEEL_CLOCK_REALTIME);
}

TEST(rearm_has_the_same_values)
{
	STAYS(0, TWHEEL_REARM_ALWAYS);
	STAYS(1, TWHEEL_REARM_IF_PENDING);
	STAYS(2, TWHEEL_REARM_IF_EARLIER);
	STAYS(3, TWHEEL_REARM_IF_LATER);
}

TEST(condition_has_the_same_values)
{
	STAYS(0, TWHEEL_COND_NONE);
	STAYS(1, TWHEEL_COND_ANY);
	STAYS(2, TWHEEL_COND_ALL);
	STAYS(3, TWHEEL_COND_QUORUM);
	STAYS(4, TWHEEL_COND_SUM);
}

TEST(call_has_the_same_values)
{
	STAYS(1, TWHEEL_CALL_ADD);
	STAYS(2, TWHEEL_CALL_CANCEL);
	STAYS(3, TWHEEL_CALL_COMPLETE);
	STAYS(4, TWHEEL_CALL_REARM);
	STAYS(5, TWHEEL_CALL_WATCH);
	STAYS(6, TWHEEL_CALL_UNWATCH);
	STAYS(7, TWHEEL_CALL_SIGNAL);
	STAYS(8, TWHEEL_CALL_CANCEL_KEY);
	STAYS(16, TWHEEL_CALL_BATCH);
	STAYS(17, TWHEEL_CALL_COMPLETE_ALL);
	STAYS(18, TWHEEL_CALL_DRAIN);
	STAYS(19, TWHEEL_CALL_DETACHED);
	STAYS(20, TWHEEL_CALL_INFO);
	STAYS(21, TWHEEL_CALL_LIST);
	STAYS(22, TWHEEL_CALL_QUERY);
	STAYS(23, TWHEEL_CALL_CREATE);
	STAYS(24, TWHEEL_CALL_REMOVE);
}

TEST(reason_has_the_same_values)
{
	STAYS(1, TWHEEL_COMPLETED);
	STAYS(2, TWHEEL_EXPIRED);
	STAYS(3, TWHEEL_CANCELLED);
}

TEST(flags_have_the_same_values)
{
	STAYS(0x1, TWHEEL_ADD_ABSTIME);
	STAYS(0x2, TWHEEL_ADD_DETACHED);
	STAYS(0x4, TWHEEL_ADD_CANCEL_ON_SET);
	STAYS(0x8, TWHEEL_ADD_FIXED_DELAY);
	STAYS(0x1, TWHEEL_REARM_ABSTIME);
	STAYS(0x1, TWHEEL_COMPLETE_OTHERS);
	STAYS(0x1, TWHEEL_PENDING_OWN);
	STAYS(0x2, TWHEEL_PENDING_DETACHED);
	STAYS(0x4, TWHEEL_PENDING_CANCEL_ON_SET);
	STAYS(0x8, TWHEEL_PENDING_FIXED_DELAY);
	STAYS(0x1, TWHEEL_LIST_OTHERS);
	STAYS(0x1, TWHEEL_REMOVE_FORCE);
	STAYS(0x1, TWHEEL_BATCH_STOP);
	STAYS(0x1, TWHEEL_EVENT_MORE);
}

TEST(limits_and_special_values_are_the_same)
{
	STAYS(64, TWHEEL_MAX_KEYS);
	STAYS(1024, TWHEEL_MAX_BATCH);
	STAYS(32, TWHEEL_NAME_SIZE);
	STAYS(0xffffffffffffffffULL, TWHEEL_NEVER);
	STAYS(0xffffffffffffffffULL, TWHEEL_SLACK_COARSE);
	STAYS(0xffffffffffffffffULL, TWHEEL_LIST_END);
	STAYS(0xffffffffU, TWHEEL_CALLER);
	STAYS(3, TWHEEL_PENDING_KEYS);
	STAYS(0xf7, TWHEEL_IOC_MAGIC);
}

TEST(ioctls_have_the_same_numbers)
{
	STAYS(0xc058f701, TWHEEL_IOC_ADD);
	STAYS(0x4010f702, TWHEEL_IOC_CANCEL);
	STAYS(0x4018f703, TWHEEL_IOC_COMPLETE);
	STAYS(0xc028f704, TWHEEL_IOC_REARM);
	STAYS(0x4018f705, TWHEEL_IOC_WATCH);
	STAYS(0x4020f706, TWHEEL_IOC_UNWATCH);
	STAYS(0xc030f707, TWHEEL_IOC_SIGNAL);
	STAYS(0xc018f708, TWHEEL_IOC_CANCEL_KEY);
	STAYS(0xc020f710, TWHEEL_IOC_BATCH);
	STAYS(0xc018f711, TWHEEL_IOC_COMPLETE_ALL);
	STAYS(0xc008f712, TWHEEL_IOC_DRAIN);
	STAYS(0x4008f713, TWHEEL_IOC_DETACHED);
	STAYS(0xc098f714, TWHEEL_IOC_INFO);
	STAYS(0xc020f715, TWHEEL_IOC_LIST);
	STAYS(0xc0a0f716, TWHEEL_IOC_QUERY);
	STAYS(0xc040f717, TWHEEL_IOC_CREATE);
	STAYS(0xc028f718, TWHEEL_IOC_REMOVE);
}

/* It can't read what is at the end of memory; a number that it doesn't know is ENOTTY. */
TEST(the_kernel_knows_these_numbers)
{
	static const unsigned int numbers[] = {
		0xc058f701, 0x4010f702, 0x4018f703, 0xc028f704, 0x4018f705,
		0x4020f706, 0xc030f707, 0xc018f708, 0xc020f710, 0xc018f711,
		0xc008f712, 0x4008f713, 0xc098f714, 0xc020f715, 0xc0a0f716,
		0xc040f717, 0xc028f718,
	};
	void *nowhere = (void *)-4096L;
	int fd = twheel_open(0);
	unsigned int i;

	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		EXPECT_EQ(EFAULT, call(fd, numbers[i], nowhere))
			TH_LOG("number %#x", numbers[i]);
	close(fd);
}

TEST_HARNESS_MAIN
