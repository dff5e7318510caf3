# SPDX-License-Identifier: GPL-2.0
#
# Build, test and benchmark targets; scripts/ implements them. Build output goes to build/,
# the kernels for the tests to the user's cache directory.

ifneq ($(words $(CURDIR)),1)
$(error make needs a path without spaces: $(CURDIR))
endif
unexport CDPATH

KDIR ?= /lib/modules/$(shell uname -r)/build
DEMO_KERNEL ?= 6.12
release = $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null)
out = build/$(or $(release),module)
tools = $(MAKE) --no-print-directory -C tools OUT=$(CURDIR)/build/tools \
	DESTDIR=$(abspath $(DESTDIR))
INSTALL_MOD_PATH ?= $(DESTDIR)

export SEED THREADS OPS KUNIT_FILTER TESTS TORTURE_KERNEL FUZZ_KERNEL PCS
export QUICK SUITES PLACES REPS NR ONLY
export SUITE CASE IN KERNEL ROWS

#: To use twheel

all: tools ## build the tools, and the module if the kernel headers are installed
	+@if [ -e $(KDIR)/Makefile ]; then \
		$(MAKE) --no-print-directory module; \
	else \
		echo "built the tools only: no kernel headers in $(KDIR)"; \
		echo "for the running kernel: apt-get install linux-headers-$$(uname -r)"; \
	fi

module: ## build only the module, for the running kernel (KDIR=, W=1, C=2)
	+@scripts/build-module $(KDIR) $(out) TWHEEL_OTHERS= TWHEEL_KUNIT=
	@echo "built $(out)/twheel.ko"

samples: ## build the module, the samples and the test modules in another folder (KDIR=)
	+@scripts/build-module $(KDIR) build/samples/$(notdir $(out))
	@echo "built build/samples/$(notdir $(out))"

tools: ## build only libtwheel and twheelctl, in build/tools
	+@$(tools) || { scripts/install-packages -n build; exit 1; }

install: ## install libtwheel, twheelctl and their manual pages (PREFIX=, DESTDIR=)
	+@$(tools) install

uninstall: ## remove the files of make install (PREFIX=, DESTDIR=)
	+@$(tools) -s uninstall

modules_install: ## install the built module, its group and udev rules (INSTALL_MOD_PATH=)
	@scripts/install-module -n $(KDIR) $(out)
	+@$(tools) -s install-system DESTDIR=$(abspath $(INSTALL_MOD_PATH))
	+@scripts/install-module $(KDIR) $(out) $(abspath $(INSTALL_MOD_PATH))

modules_uninstall: ## remove the files of make modules_install
	@scripts/install-module -n -u $(KDIR) $(out)
	+@$(tools) -s uninstall-system DESTDIR=$(abspath $(INSTALL_MOD_PATH))
	+@scripts/install-module -u $(KDIR) $(out) $(abspath $(INSTALL_MOD_PATH))

demo: ## install the packages, build, and run a demo in a VM (DEMO_KERNEL=6.1|6.12)
	@scripts/try demo $(DEMO_KERNEL)

vm: ## a shell in that VM, with the module loaded and twheelctl in PATH (DEMO_KERNEL=, FILES=)
	@scripts/try vm $(DEMO_KERNEL) $(FILES)

shell: ## a second shell in that VM, from another terminal (DEMO_KERNEL=)
	@scripts/install-packages demo
	@scripts/try shell $(DEMO_KERNEL)

#: To check a change

check-quick: ## before a commit: static checks, tools, KUnit, a short run of the native rig
check: ## before a push: all kinds of tests
check-long: ## before a release: all tests on all kernels, more than two hours (MINUTES=)
check:
	@scripts/install-packages check
	@scripts/check

check-static: ## checkpatch, kernel-doc, shellcheck, documentation; W=1 and sparse builds
	@scripts/install-packages check
	@scripts/check static guest-6.1 guest-6.12

check-device: ## selftests and tools in VMs: 6.1, 6.12 and debug
	@scripts/install-packages check
	@scripts/check 6.1 6.12 debug

check-tools: ## tests of the tools that need no device, and of the installation
check-deb: ## the Debian packages, in a Debian with systemd on each kernel; needs root
check-deb-trixie: ## the same packages in a Debian 13; needs root
check-dist: ## the tests of the tools in the archive of make dist, without git
check-shell: ## the shells of make vm and make shell
check-model: ## verify the models of Documentation/model with spin, and the litmus tests
check-kunit: ## after an edit: KUnit suites in UML (SEED=, KUNIT_FILTER=suite.case)
check-6.1: ## 64-bit selftests on Debian's 6.1 (TESTS=program,program)
check-6.12: ## 32-bit selftests on Debian's 6.12
check-kernels: ## selftests on the kernels of Debian 13, with PREEMPT_RT and on arm64; needs root
check-armhf: ## selftests on a 32-bit kernel of Debian 13; needs root
check-debug: ## race selftests, torture and fuzzing on the debug kernel
check-debug-rt: ## selftests, torture and fuzzing with PREEMPT_RT and lockdep; a planted bug
check-torture: ## 20 seconds of torture on the debug kernel
check-fuzz: ## 12 seconds of fuzzing on the debug kernel
check-rig: ## 15 seconds of the native rig with sanitizers
check-series: ## those patches: git am, builds, KUnit and selftests in the trees of 6.12 and 7.3
check-broker: ## clients of Kafka with the broker of samples/broker (TESTS=test,test)
check-bridge: ## twheel-bridge with servers of NATS (TESTS=test,test)
check-trace: ## the scripts of tools/trace with bpftrace, on Debian's 6.12
check-alerts: ## the alert rules of share/ in situations that they are for, on Debian's 6.12
check-exact: ## instructions per operation against bench/exact.txt, and a smoke test of the benchmarks
check-%:
	@scripts/install-packages check $(if $(filter long deb deb-trixie alerts,$*),deb) \
		$(if $(filter long kernels %7.3 7.3-% trixie cloud %rt %arm64 armhf,$*),kernels)
	@scripts/check $*

#: To run for long

torture: export MINUTES ?= 10
torture: ## stress timers and operations for ten minutes (MINUTES=, TORTURE_KERNEL=)
	@scripts/install-packages check
	@scripts/check torture

fuzz: export MINUTES ?= 10
fuzz: ## coverage-guided fuzzing of the device (MINUTES=, SEED=, FUZZ_KERNEL=)
	@scripts/install-packages check
	@scripts/check fuzz

rig: export MINUTES ?= 1
rig: ## stress and selftests of the module natively, with sanitizers (MINUTES=, THREADS=, OPS=, SEED=)
	@scripts/install-packages check
	@scripts/rig run

rig-broken: ## check that the rig detects deliberately broken variants
	@scripts/install-packages check
	@scripts/rig broken

bench: ## run all benchmarks (QUICK=1, SUITES=, PLACES=, REPS=, NR=, ONLY=)
	@scripts/bench

bench-bridge: ## compare twheel-bridge with a subscriber of NATS, in a VM (ROUNDS=, SIGNALS=, SERVERS=)
	@scripts/install-packages check
	@scripts/bench-bridge

#: To develop

deb: ## build Debian packages of the last commit in build/deb, and check them with lintian
	@scripts/install-packages deb
	@scripts/build-deb

dist: ## pack the last commit as build/twheel-VERSION.tar.xz, which needs no git
	@scripts/dist

release: ## check the last commit for a release, with check-long; print the steps by hand (QUICK=1)
	@scripts/release $(if $(QUICK),quick)

htmldocs: ## render Documentation/ in build/html
	@scripts/install-packages check
	@scripts/htmldocs
	@echo "built build/html/index.html"

series: ## write the patches for mainline to build/series (SIGNER="A Name <address>")
	@source=$$(scripts/kernel-source 7.3) && scripts/series "$$source" build/series "$(SIGNER)"
	@source=$$(scripts/kernel-source) && scripts/series "$$source" build/series/6.12 "$(SIGNER)"
	@echo "wrote build/series/*.patch for 7.3, and build/series/6.12/*.patch"
	@[ -n "$(SIGNER)" ] || echo "they are not signed off: set SIGNER"

abi-update: ## write the stable interfaces, with what is new, to Documentation/ABI/dump
	@scripts/abi.py update

exact-update: ## write today's numbers of instructions to bench/exact.txt
	@scripts/install-packages check
	@UPDATE=1 scripts/check exact

profile: ## the functions of a benchmark with their shares (SUITE=, CASE=, IN=, KERNEL=, ROWS=)
	@scripts/install-packages profile
	@scripts/profile

clean: ## remove the build output, but not the cached kernels
	rm -rf build

help: ## list the targets
	@sed -n 's/^#: /\n/p; s/^\([a-z0-9._-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 27

.PHONY: all module samples tools install uninstall modules_install modules_uninstall htmldocs deb dist release series
.PHONY: demo vm shell check bench bench-bridge abi-update exact-update profile torture fuzz rig rig-broken clean help
