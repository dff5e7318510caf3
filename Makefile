# SPDX-License-Identifier: GPL-2.0
#
# The commands of the project, done by scripts/.  Everything that is built lies in build/,
# kernels for the tests in the user's cache folder.

KDIR ?= /lib/modules/$(shell uname -r)/build
DEMO_KERNEL ?= 6.12
release = $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null)
out = build/$(or $(release),module)

export SEED THREADS KUNIT_FILTER TESTS TORTURE_KERNEL FUZZ_KERNEL PCS
export QUICK SUITES PLACES REPS NR

all: module tools ## build the modules and the tools (KDIR=, W=1, C=2)

module: ## build only the modules, for the running kernel or KDIR=
	+@scripts/build-module $(KDIR) $(out)
	@echo "built $(out)/twheel.ko"

tools: ## build only libtwheel and twheelctl, in build/tools
	+@$(MAKE) --no-print-directory -C tools OUT=$(CURDIR)/build/tools

install: ## install libtwheel and its manual pages (PREFIX=, DESTDIR=)
	+@$(MAKE) --no-print-directory -C tools OUT=$(CURDIR)/build/tools install

demo: ## see it work in a VM, from nothing (DEMO_KERNEL=6.1|6.12)
	@scripts/demo $(DEMO_KERNEL)

vm: ## a shell in that VM, the module loaded and twheelctl in the path
	@scripts/install-packages demo
	@scripts/stage-guest $(DEMO_KERNEL)
	@scripts/vm $(DEMO_KERNEL) shell

shell: ## a second shell in it, from another terminal
	@scripts/install-packages demo
	@scripts/second-shell $(DEMO_KERNEL)

check-quick: ## before a commit: static, tools, KUnit
check: ## before a push: every kind of test, in about ten minutes
check-long: ## before a release: every test on every kernel, in hours (MINUTES=)
check:
	@scripts/install-packages check
	@scripts/check

check-static: ## checkpatch, kernel-doc, shellcheck, documents; W=1 and sparse
	@scripts/install-packages check
	@scripts/check static guest-6.1 guest-6.12

check-device: ## selftests and tools in VMs: 6.1, 6.12 and debug
	@scripts/install-packages check
	@scripts/check 6.1 6.12 debug

check-tools: ## tests of the tools that need no device
check-model: ## the models of Documentation/model, by spin
check-kunit: ## KUnit suites in UML (SEED=, KUNIT_FILTER=suite.case)
check-6.1: ## selftests on Debian's 6.1 (TESTS=program,program)
check-6.12: ## those for 32 bit on Debian's 6.12
check-debug: ## those that race or run out of memory on the 6.12 debug kernel; the next two
check-torture: ## 20 seconds of make torture, on the same kernel
check-fuzz: ## 12 seconds of make fuzz, on the same kernel
check-rig: ## 15 seconds of make rig with sanitizers
check-bench: ## the benchmarks, quickly, only to see that they work
check-%:
	@scripts/install-packages check
	@scripts/check $*

bench: ## every benchmark, in guests (QUICK=1, SUITES=, PLACES=, REPS=, NR=)
	@scripts/install-packages bench
	@scripts/bench

torture: export MINUTES ?= 10
torture: ## race timers and operations for long (MINUTES=, TORTURE_KERNEL=)
	@scripts/install-packages check
	@scripts/check torture

fuzz: export MINUTES ?= 10
fuzz: ## calls of the device at random, led by coverage (MINUTES=, SEED=, FUZZ_KERNEL=)
	@scripts/install-packages check
	@scripts/check fuzz

rig: export MINUTES ?= 1
rig: ## the module as a native program, raced with and without sanitizers (MINUTES=, THREADS=, SEED=)
	@scripts/install-packages check
	@scripts/rig run

rig-broken: ## the proof that the rig can fail: variants that are broken on purpose
	@scripts/install-packages check
	@scripts/rig broken

clean: ## remove what was built, but not the cached kernels
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

.PHONY: all module tools install demo vm shell check bench torture fuzz rig rig-broken clean help
