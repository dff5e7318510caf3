# SPDX-License-Identifier: GPL-2.0
#
# The fuzzer, see fuzz.c: V=fuzz, fuzz-asan or fuzz-tsan, built with clang for libFuzzer.

fuzz := ../fuzz
FUZZ := run calls build batch rules answers files memory share random corpus inject steps
FUZZ := $(FUZZ:%=$(B)/fuzz/%.o) $(B)/user.main.o $(B)/fuzz_state.main.o

# Only the module is instrumented for coverage.
ifneq ($(filter fuzz%,$(V)),)
CC := clang
CFLAGS += -Wno-microsoft -Wno-initializer-overrides
COVER := -fsanitize=fuzzer-no-link
PROGRAMS := fuzz
LIBFUZZER = $(shell clang -print-file-name=libclang_rt.fuzzer_no_main-x86_64.a) -lstdc++ -lm
endif
# Counters inserted before ThreadSanitizer runs would be reported as data races.
ifeq ($(V),fuzz-tsan)
COVER := -emit-llvm
COVER_LATER = clang -O1 -fsanitize=fuzzer-no-link -c -x ir $@ -o $@.covered && mv $@.covered $@
endif

# tools/fuzz is a program: it uses the system's headers, and is not instrumented. Its threads
# race for their slots on purpose.
PROGRAM_CFLAGS := -std=gnu11 -g -O1 -Wall -Wextra -pthread -D_GNU_SOURCE
PROGRAM_CFLAGS += -D__SANE_USERSPACE_TYPES__ -DNR_THREADS=4 -I$(SRC)/include/uapi -I$(fuzz) -I$(B)/calls

$(B)/fuzz/%.o: $(fuzz)/%.c $(fuzz)/fuzz.h user.h $(CALLS) $(wildcard $(SRC)/include/uapi/*/*.h)
	@mkdir -p $(@D)
	@$(CC) $(PROGRAM_CFLAGS) -include user.h -c $< -o $@
$(B)/fuzz.main.o: fuzz.c user.h fuzz_state.h $(fuzz)/fuzz.h $(CALLS) $(wildcard $(SRC)/include/uapi/*/*.h)
	@mkdir -p $(@D)
	@$(CC) $(PROGRAM_CFLAGS) -DFUZZ_INPUTS='"$(abspath inputs)"' -c $< -o $@
$(B)/fuzz_state.main.o: CFLAGS += -I$(SRC)/twheel

$(B)/bin/fuzz: $(FUZZ)
