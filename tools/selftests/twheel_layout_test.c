// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of the device's interface: the offset and size of each field of each
 * structure, and the value of each constant. When a structure grows at its end, a line
 * is added here and its size changes; no other line may ever change.
 *
 * All of it is asserted at compile time.  scripts/check-abi checks that this file is complete.
 */
#include <assert.h>
#include <stddef.h>
#include <sys/utsname.h>
#include "selftest.h"

#define STAYS(expected, constant)					\
	static_assert((expected) == (constant), #constant)

#define SIZE(structure, size)						\
	STAYS(size, sizeof(struct structure))

#define FIELD(structure, field, offset, size)				\
	static_assert(offsetof(struct structure, field) == (offset) &&	\
		      sizeof(((struct structure *)NULL)->field) == (size), #structure "." #field)

TEST(program_name_matches_its_word_size)
{
	const char *program = program_invocation_short_name;
	bool ends_in_32 = !strcmp(program + strlen(program) - 2, "32");
	struct utsname kernel;

	ASSERT_EQ(0, uname(&kernel));
	/* On a 32-bit kernel all programs have this size, and none has a suffix. */
	if (!strstr(kernel.machine, "64"))
		SKIP(return, "a 32-bit kernel: %s", kernel.machine);
	EXPECT_EQ(ends_in_32 ? 4 : 8, sizeof(void *));
}

SIZE(twheel_key, 16);
FIELD(twheel_key, v, 0, 16);

SIZE(twheel_watch_spec, 24);
FIELD(twheel_watch_spec, key, 0, 16);
FIELD(twheel_watch_spec, need, 16, 4);
FIELD(twheel_watch_spec, bit, 20, 4);

SIZE(twheel_add_args, 96);
FIELD(twheel_add_args, flags, 0, 4);
FIELD(twheel_add_args, clock, 4, 4);
FIELD(twheel_add_args, deadline, 8, 8);
FIELD(twheel_add_args, cookie, 16, 8);
FIELD(twheel_add_args, id, 24, 8);
FIELD(twheel_add_args, keys, 32, 8);
FIELD(twheel_add_args, nr_keys, 40, 4);
FIELD(twheel_add_args, key_size, 44, 4);
FIELD(twheel_add_args, condition, 48, 4);
FIELD(twheel_add_args, quorum, 52, 4);
FIELD(twheel_add_args, threshold, 56, 8);
FIELD(twheel_add_args, slack, 64, 8);
FIELD(twheel_add_args, period, 72, 8);
FIELD(twheel_add_args, runs, 80, 8);
FIELD(twheel_add_args, queue, 88, 4);
FIELD(twheel_add_args, cell, 92, 4);

SIZE(twheel_cancel_args, 16);
FIELD(twheel_cancel_args, id, 0, 8);
FIELD(twheel_cancel_args, flags, 8, 4);
FIELD(twheel_cancel_args, reserved, 12, 4);

SIZE(twheel_complete_args, 24);
FIELD(twheel_complete_args, id, 0, 8);
FIELD(twheel_complete_args, value, 8, 8);
FIELD(twheel_complete_args, error, 16, 4);
FIELD(twheel_complete_args, flags, 20, 4);

SIZE(twheel_rearm_args, 32);
FIELD(twheel_rearm_args, id, 0, 8);
FIELD(twheel_rearm_args, deadline, 8, 8);
FIELD(twheel_rearm_args, slack, 16, 8);
FIELD(twheel_rearm_args, flags, 24, 4);
FIELD(twheel_rearm_args, moved, 28, 4);

SIZE(twheel_watch_args, 32);
FIELD(twheel_watch_args, id, 0, 8);
FIELD(twheel_watch_args, keys, 8, 8);
FIELD(twheel_watch_args, nr_keys, 16, 4);
FIELD(twheel_watch_args, key_size, 20, 4);
FIELD(twheel_watch_args, flags, 24, 4);
FIELD(twheel_watch_args, reserved, 28, 4);

SIZE(twheel_unwatch_args, 32);
FIELD(twheel_unwatch_args, key, 0, 16);
FIELD(twheel_unwatch_args, id, 16, 8);
FIELD(twheel_unwatch_args, flags, 24, 4);
FIELD(twheel_unwatch_args, reserved, 28, 4);

SIZE(twheel_signal_args, 48);
FIELD(twheel_signal_args, key, 0, 16);
FIELD(twheel_signal_args, amount, 16, 8);
FIELD(twheel_signal_args, value, 24, 8);
FIELD(twheel_signal_args, limit, 32, 4);
FIELD(twheel_signal_args, flags, 36, 4);
FIELD(twheel_signal_args, completed, 40, 4);
FIELD(twheel_signal_args, reserved, 44, 4);

SIZE(twheel_cancel_key_args, 24);
FIELD(twheel_cancel_key_args, key, 0, 16);
FIELD(twheel_cancel_key_args, flags, 16, 4);
FIELD(twheel_cancel_key_args, cancelled, 20, 4);

SIZE(twheel_exchange_args, 32);
FIELD(twheel_exchange_args, id, 0, 8);
FIELD(twheel_exchange_args, from, 8, 8);
FIELD(twheel_exchange_args, to, 16, 8);
FIELD(twheel_exchange_args, flags, 24, 4);
FIELD(twheel_exchange_args, reserved, 28, 4);

SIZE(twheel_complete_all_args, 24);
FIELD(twheel_complete_all_args, value, 0, 8);
FIELD(twheel_complete_all_args, error, 8, 4);
FIELD(twheel_complete_all_args, flags, 12, 4);
FIELD(twheel_complete_all_args, completed, 16, 4);
FIELD(twheel_complete_all_args, reserved, 20, 4);

SIZE(twheel_drain_args, 8);
FIELD(twheel_drain_args, flags, 0, 4);
FIELD(twheel_drain_args, cancelled, 4, 4);

SIZE(twheel_events_args, 8);
FIELD(twheel_events_args, flags, 0, 4);
FIELD(twheel_events_args, queue, 4, 4);

SIZE(twheel_confirm_args, 16);
FIELD(twheel_confirm_args, id, 0, 8);
FIELD(twheel_confirm_args, flags, 8, 4);
FIELD(twheel_confirm_args, reserved, 12, 4);

SIZE(twheel_restrict_args, 8);
FIELD(twheel_restrict_args, flags, 0, 4);
FIELD(twheel_restrict_args, rights, 4, 4);

SIZE(twheel_cells_args, 24);
FIELD(twheel_cells_args, flags, 0, 4);
FIELD(twheel_cells_args, nr, 4, 4);
FIELD(twheel_cells_args, monotonic, 8, 8);
FIELD(twheel_cells_args, boottime, 16, 8);

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
FIELD(twheel_pending, queue, 120, 4);
FIELD(twheel_pending, reserved, 124, 4);

SIZE(twheel_info_args, 40);
FIELD(twheel_info_args, id, 0, 8);
FIELD(twheel_info_args, entry, 8, 8);
FIELD(twheel_info_args, keys, 16, 8);
FIELD(twheel_info_args, entry_size, 24, 4);
FIELD(twheel_info_args, key_size, 28, 4);
FIELD(twheel_info_args, max_keys, 32, 4);
FIELD(twheel_info_args, flags, 36, 4);

SIZE(twheel_list_args, 32);
FIELD(twheel_list_args, entries, 0, 8);
FIELD(twheel_list_args, max_entries, 8, 4);
FIELD(twheel_list_args, entry_size, 12, 4);
FIELD(twheel_list_args, flags, 16, 4);
FIELD(twheel_list_args, nr, 20, 4);
FIELD(twheel_list_args, cursor, 24, 8);

SIZE(twheel_query_args, 248);
FIELD(twheel_query_args, flags, 0, 4);
FIELD(twheel_query_args, max_pending, 4, 4);
FIELD(twheel_query_args, max_file_pending, 8, 4);
FIELD(twheel_query_args, max_watches, 12, 4);
FIELD(twheel_query_args, max_queue, 16, 4);
FIELD(twheel_query_args, max_keys, 20, 4);
FIELD(twheel_query_args, user_max_ops, 24, 4);
FIELD(twheel_query_args, user_max_files, 28, 4);
FIELD(twheel_query_args, user_ops, 32, 4);
FIELD(twheel_query_args, user_files, 36, 4);
FIELD(twheel_query_args, files, 40, 4);
FIELD(twheel_query_args, rights, 44, 4);
FIELD(twheel_query_args, features, 48, 8);
FIELD(twheel_query_args, tick_ns, 56, 8);
FIELD(twheel_query_args, pending, 64, 8);
FIELD(twheel_query_args, watches, 72, 8);
FIELD(twheel_query_args, keys, 80, 8);
FIELD(twheel_query_args, own, 88, 8);
FIELD(twheel_query_args, unread, 96, 8);
FIELD(twheel_query_args, detached, 104, 8);
FIELD(twheel_query_args, detached_unread, 112, 8);
FIELD(twheel_query_args, oldest_unread_ns, 120, 8);
FIELD(twheel_query_args, unconfirmed, 128, 8);
FIELD(twheel_query_args, oldest_unconfirmed_ns, 136, 8);
FIELD(twheel_query_args, added, 144, 8);
FIELD(twheel_query_args, completed, 152, 8);
FIELD(twheel_query_args, expired, 160, 8);
FIELD(twheel_query_args, cancelled, 168, 8);
FIELD(twheel_query_args, rejected, 176, 8);
FIELD(twheel_query_args, rejected_enospc, 184, 8);
FIELD(twheel_query_args, rejected_enobufs, 192, 8);
FIELD(twheel_query_args, rejected_edquot, 200, 8);
FIELD(twheel_query_args, wakeups, 208, 8);
FIELD(twheel_query_args, name, 216, 32);

SIZE(twheel_queue_args, 40);
FIELD(twheel_queue_args, flags, 0, 4);
FIELD(twheel_queue_args, queue, 4, 4);
FIELD(twheel_queue_args, ops, 8, 4);
FIELD(twheel_queue_args, pending, 12, 4);
FIELD(twheel_queue_args, unread, 16, 4);
FIELD(twheel_queue_args, unconfirmed, 20, 4);
FIELD(twheel_queue_args, oldest_unread_ns, 24, 8);
FIELD(twheel_queue_args, oldest_unconfirmed_ns, 32, 8);

SIZE(twheel_create_args, 72);
FIELD(twheel_create_args, name, 0, 32);
FIELD(twheel_create_args, flags, 32, 4);
FIELD(twheel_create_args, mode, 36, 4);
FIELD(twheel_create_args, uid, 40, 4);
FIELD(twheel_create_args, gid, 44, 4);
FIELD(twheel_create_args, max_pending, 48, 4);
FIELD(twheel_create_args, max_file_pending, 52, 4);
FIELD(twheel_create_args, max_watches, 56, 4);
FIELD(twheel_create_args, max_queue, 60, 4);
FIELD(twheel_create_args, major, 64, 4);
FIELD(twheel_create_args, minor, 68, 4);

SIZE(twheel_remove_args, 40);
FIELD(twheel_remove_args, name, 0, 32);
FIELD(twheel_remove_args, flags, 32, 4);
FIELD(twheel_remove_args, cancelled, 36, 4);

SIZE(twheel_command, 8);
FIELD(twheel_command, cmd, 0, 4);
FIELD(twheel_command, reserved, 4, 4);

SIZE(twheel_result, 16);
FIELD(twheel_result, value, 0, 8);
FIELD(twheel_result, error, 8, 4);
FIELD(twheel_result, reserved, 12, 4);

SIZE(twheel_batch_args, 40);
FIELD(twheel_batch_args, commands, 0, 8);
FIELD(twheel_batch_args, results, 8, 8);
FIELD(twheel_batch_args, nr, 16, 4);
FIELD(twheel_batch_args, flags, 20, 4);
FIELD(twheel_batch_args, size, 24, 4);
FIELD(twheel_batch_args, result_size, 28, 4);
FIELD(twheel_batch_args, done, 32, 4);
FIELD(twheel_batch_args, failed, 36, 4);

SIZE(twheel_uring_args, 16);
FIELD(twheel_uring_args, args, 0, 8);
FIELD(twheel_uring_args, flags, 8, 4);
FIELD(twheel_uring_args, reserved, 12, 4);
SIZE(twheel_event, 128);
FIELD(twheel_event, id, 0, 8);
FIELD(twheel_event, cookie, 8, 8);
FIELD(twheel_event, value, 16, 8);
FIELD(twheel_event, deadline, 24, 8);
FIELD(twheel_event, time, 32, 8);
FIELD(twheel_event, reason, 40, 4);
FIELD(twheel_event, flags, 44, 4);
FIELD(twheel_event, error, 48, 4);
FIELD(twheel_event, clock, 52, 4);
FIELD(twheel_event, expirations, 56, 8);
FIELD(twheel_event, satisfied, 64, 8);
FIELD(twheel_event, missing, 72, 8);
FIELD(twheel_event, cell, 80, 8);
FIELD(twheel_event, spare, 88, 40);

STAYS(0, CLOCK_REALTIME);
STAYS(1, CLOCK_MONOTONIC);
STAYS(7, CLOCK_BOOTTIME);

STAYS(0, TWHEEL_REARM_ALWAYS);
STAYS(2, TWHEEL_REARM_IF_EARLIER);
STAYS(4, TWHEEL_REARM_IF_LATER);

STAYS(0, TWHEEL_COND_NONE);
STAYS(1, TWHEEL_COND_ANY);
STAYS(2, TWHEEL_COND_ALL);
STAYS(3, TWHEEL_COND_QUORUM);
STAYS(4, TWHEEL_COND_SUM);

STAYS(1, _IOC_NR(TWHEEL_IOC_ADD));
STAYS(2, _IOC_NR(TWHEEL_IOC_CANCEL));
STAYS(3, _IOC_NR(TWHEEL_IOC_COMPLETE));
STAYS(4, _IOC_NR(TWHEEL_IOC_REARM));
STAYS(5, _IOC_NR(TWHEEL_IOC_WATCH));
STAYS(6, _IOC_NR(TWHEEL_IOC_UNWATCH));
STAYS(7, _IOC_NR(TWHEEL_IOC_SIGNAL));
STAYS(8, _IOC_NR(TWHEEL_IOC_CANCEL_KEY));
STAYS(9, _IOC_NR(TWHEEL_IOC_EXCHANGE));
STAYS(16, _IOC_NR(TWHEEL_IOC_BATCH));
STAYS(17, _IOC_NR(TWHEEL_IOC_COMPLETE_ALL));
STAYS(18, _IOC_NR(TWHEEL_IOC_DRAIN));
STAYS(19, _IOC_NR(TWHEEL_IOC_EVENTS));
STAYS(20, _IOC_NR(TWHEEL_IOC_RESTRICT));
STAYS(21, _IOC_NR(TWHEEL_IOC_INFO));
STAYS(22, _IOC_NR(TWHEEL_IOC_LIST));
STAYS(23, _IOC_NR(TWHEEL_IOC_QUERY));
STAYS(24, _IOC_NR(TWHEEL_IOC_CELLS));
STAYS(25, _IOC_NR(TWHEEL_IOC_CONFIRM));
STAYS(26, _IOC_NR(TWHEEL_IOC_QUEUE));
STAYS(32, _IOC_NR(TWHEEL_IOC_CREATE));
STAYS(33, _IOC_NR(TWHEEL_IOC_REMOVE));

STAYS(1, TWHEEL_REASON_COMPLETED);
STAYS(2, TWHEEL_REASON_EXPIRED);
STAYS(3, TWHEEL_REASON_CANCELLED);

STAYS(0x1, TWHEEL_ADD_ABSTIME);
STAYS(0x2, TWHEEL_ADD_DETACHED);
STAYS(0x4, TWHEEL_ADD_CANCEL_ON_SET);
STAYS(0x8, TWHEEL_ADD_FIXED_DELAY);
STAYS(0x10, TWHEEL_ADD_CELL);
STAYS(0x1, TWHEEL_REARM_ABSTIME);
STAYS(0x1, TWHEEL_RIGHT_ADD);
STAYS(0x2, TWHEEL_RIGHT_ADD_DETACHED);
STAYS(0x4, TWHEEL_RIGHT_WATCH);
STAYS(0x8, TWHEEL_RIGHT_SIGNAL);
STAYS(0x10, TWHEEL_RIGHT_END);
STAYS(0x20, TWHEEL_RIGHT_REARM);
STAYS(0x40, TWHEEL_RIGHT_DRAIN);
STAYS(0x80, TWHEEL_RIGHT_LIST);
STAYS(0x100, TWHEEL_RIGHT_QUERY);
STAYS(0x1, TWHEEL_COMPLETE_OTHERS);
STAYS(0x1, TWHEEL_PENDING_OWN);
STAYS(0x2, TWHEEL_PENDING_DETACHED);
STAYS(0x4, TWHEEL_PENDING_CANCEL_ON_SET);
STAYS(0x8, TWHEEL_PENDING_FIXED_DELAY);
STAYS(0x10, TWHEEL_PENDING_CELL);
STAYS(0x20, TWHEEL_PENDING_IDLE);
STAYS(0x1, TWHEEL_LIST_OTHERS);
STAYS(0x1, TWHEEL_REMOVE_FORCE);
STAYS(0x1, TWHEEL_BATCH_STOP);
STAYS(0x1, TWHEEL_URING_INLINE);
STAYS(0x1, TWHEEL_EVENT_MORE);
STAYS(0x2, TWHEEL_EVENT_AGAIN);
STAYS(0x1, TWHEEL_EVENTS_CONFIRM);

STAYS(64, TWHEEL_MAX_KEYS);
STAYS(0x3ffffff, TWHEEL_MAX_NEED);
STAYS(1024, TWHEEL_MAX_BATCH);
STAYS(1024, TWHEEL_MAX_QUEUES);
STAYS(32, TWHEEL_NAME_SIZE);
STAYS(0xffffffffffffffffULL, TWHEEL_NEVER);
STAYS(0xffffffffffffffffULL, TWHEEL_SLACK_COARSE);
STAYS(0xffffffffffffffffULL, TWHEEL_LIST_END);
STAYS(0xffffffffU, TWHEEL_CALLER);
STAYS(3, TWHEEL_PENDING_KEYS);
STAYS(0x8000000000000000ULL, TWHEEL_CELL_ENDED);
STAYS(0x4000000000000000ULL, TWHEEL_CELL_IDLE);
STAYS(0x3ffffc0000000000ULL, TWHEEL_CELL_LIFE);
STAYS(0x3ffffffffffULL, TWHEEL_CELL_TIME);
STAYS(16, TWHEEL_CELL_SHIFT);
STAYS(0xf7, TWHEEL_IOC_MAGIC);

STAYS(0xc060f701, TWHEEL_IOC_ADD);
STAYS(0xc010f702, TWHEEL_IOC_CANCEL);
STAYS(0xc018f703, TWHEEL_IOC_COMPLETE);
STAYS(0xc020f704, TWHEEL_IOC_REARM);
STAYS(0xc020f705, TWHEEL_IOC_WATCH);
STAYS(0xc020f706, TWHEEL_IOC_UNWATCH);
STAYS(0xc030f707, TWHEEL_IOC_SIGNAL);
STAYS(0xc018f708, TWHEEL_IOC_CANCEL_KEY);
STAYS(0xc020f709, TWHEEL_IOC_EXCHANGE);
STAYS(0xc028f710, TWHEEL_IOC_BATCH);
STAYS(0xc018f711, TWHEEL_IOC_COMPLETE_ALL);
STAYS(0xc008f712, TWHEEL_IOC_DRAIN);
STAYS(0xc008f713, TWHEEL_IOC_EVENTS);
STAYS(0xc008f714, TWHEEL_IOC_RESTRICT);
STAYS(0xc028f715, TWHEEL_IOC_INFO);
STAYS(0xc020f716, TWHEEL_IOC_LIST);
STAYS(0xc0f8f717, TWHEEL_IOC_QUERY);
STAYS(0xc018f718, TWHEEL_IOC_CELLS);
STAYS(0xc010f719, TWHEEL_IOC_CONFIRM);
STAYS(0xc028f71a, TWHEEL_IOC_QUEUE);
STAYS(0xc048f720, TWHEEL_IOC_CREATE);
STAYS(0xc028f721, TWHEEL_IOC_REMOVE);

TEST_HARNESS_MAIN
