# SPDX-License-Identifier: GPL-2.0
#
# The programs of tools/selftests on the rig, see selftest.c.

selftests := ../selftests
harness := $(SOURCE)/tools/testing/selftests

# Not on the rig: isolation has a program of its own; views reads long texts and sysfs; cell and
# libcell_race map several pages and fork; timerfd compares with that of the kernel; the others are
# about epoll, signals, io_uring, page faults, memory cgroups or processes.
NOT_HERE := cell cgroup epoll isolation kill libcell_race stuck timerfd uring views
SELFTESTS := $(notdir $(basename $(wildcard $(selftests)/twheel_*_test.c)))
SELFTESTS := $(filter-out $(NOT_HERE:%=twheel_%_test),$(SELFTESTS))

SELFTEST_CFLAGS := -std=gnu11 -g -O1 -Wall -pthread -D_GNU_SOURCE -I$(SRC)/include/uapi -I$(B)/calls

$(B)/selftest/%.o: $(selftests)/%.c $(wildcard $(selftests)/*.h $(SRC)/include/uapi/*/*.h) selftest.calls $(CALLS)
	@mkdir -p $(@D)
	@$(CC) $(SELFTEST_CFLAGS) -isystem $(harness) -c $< -o $@.o
	@objcopy --redefine-syms=selftest.calls $@.o $@
$(B)/selftest.main.o: selftest.c user.h
	@mkdir -p $(@D)
	@$(CC) $(SELFTEST_CFLAGS) -c $< -o $@
$(B)/bin/twheel_%_test: $(B)/selftest/twheel_%_test.o $(B)/selftest.main.o $(B)/user.main.o \
		$(MODULE) $(KERNEL)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $^ -o $@

selftests: $(SELFTESTS:%=$(B)/bin/%)

.PHONY: selftests
