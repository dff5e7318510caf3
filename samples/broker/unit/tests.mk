# SPDX-License-Identifier: GPL-2.0
#
# The tests and the fuzzer, for ../Makefile. They are built with sanitizers.

RUNS ?= 20000
test_dir := $(OUT)/samples/broker-tests
sanitize := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
tests := $(patsubst unit/%.c,$(test_dir)/%,$(wildcard unit/*_test.c))
fuzzer := $(test_dir)/request_fuzz

# Without a device, requests wait in a heap; so they do in the comparison of costs.
heap := $(filter-out waiting_twheel.c,$(wildcard *.c)) unit/waiting_heap.c
tested := $(filter-out main.c worker.c,$(heap))
# Some tests include their unit.
included = $(patsubst "../%",%,$(filter "../%.c",$(shell cat $(1))))
sanitized = $(patsubst %.c,$(OUT)/obj/samples/broker-tests/%.o,$(1))

$(OUT)/obj/samples/broker-tests/%.o: %.c $(OUT)/obj/samples/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -static,$(flags)) $(sanitize) -I../../tools/tests -c -o $@ $<

$(foreach test,$(notdir $(tests)),$(eval $(test_dir)/$(test): \
	$(call sanitized,unit/$(test).c $(filter-out $(call included,unit/$(test).c),$(tested)))))
$(test_dir)/broker: $(call sanitized,$(heap))
$(tests) $(test_dir)/broker:
	@mkdir -p $(@D)
	$(CC) $(sanitize) -pthread -o $@ $^ -ljansson

$(fuzzer): fuzz/request_fuzz.c unit/kit.h $(tested) $(wildcard *.h)
	@mkdir -p $(@D)
	clang $(filter-out -MMD -MP -static,$(flags)) $(sanitize) -fsanitize=fuzzer \
		-I../../tools/tests -o $@ $< $(filter-out $(call included,$<),$(tested)) -ljansson

check: all $(tests) $(fuzzer) $(test_dir)/broker
	unit/run $(OUT)/samples

# New inputs are written to OUT.
fuzz: $(fuzzer)
	@mkdir -p $(test_dir)/corpus
	$(fuzzer) -runs=$(RUNS) -max_len=4096 $(test_dir)/corpus fuzz/corpus

.PHONY: check fuzz
