# SPDX-License-Identifier: GPL-2.0
#
# The stages of scripts/check, and the kernels, programs and guests that they depend on.
# make schedules them: it starts a target as soon as its prerequisites are complete and a
# job slot is free, in the order of STAGES. LONG=1 adds the variants that only make
# check-long runs.

stage = @scripts/timed stage $@
build = @scripts/timed build $@

# Warnings of the compiler and of sparse are errors: otherwise an incremental build could hide
# them.
warnings := W=1 KCFLAGS=-Werror
sparse := C=1 CF=-Wsparse-error
flags-6.1 := $(if $(LONG),$(sparse))
flags-6.12 := $(sparse)
# The benchmarks and the torture test compute with more nanoseconds than a long has here.
flags-armhf := TWHEEL_OTHERS="$(filter-out samples/template/,$(dir $(wildcard samples/*/Kbuild)))"
flags-uml := TWHEEL_OTHERS=
flags-debug-rt := TWHEEL_KUNIT=
flags-debug := TWHEEL_KUNIT= $(if $(LONG),,TWHEEL_OTHERS=torture/)

# The kernels of the table for which an expression of awk holds.
rows = $(shell awk '/^[a-z0-9]/ && $(1) { print $$1 }' scripts/kernels)
stock := $(call rows,$$2 != "source")
device := $(stock) $(if $(LONG),debug) kcsan
built := $(call rows,$$2 == "source")
kernels := $(stock) $(built)
torture := torture $(addprefix torture-,$(call rows,$$6 == "long"))
fuzz := fuzz $(addprefix fuzz-,$(call rows,$$7 == "long"))
# The kernel for torture and fuzz is part of the target name, or comes from the environment.
kernel_of = $(or $(filter $(kernels),$(subst fuzz-,,$(subst torture-,,$1))),$2,debug)

all: $(STAGES)

model static series:
	$(stage) scripts/check-$@

dist tools kunit shell broker bridge alerts trace:
	$(stage) scripts/stage $@

# The native rig with sanitizers, for about a minute, and the broken variants that it must detect.
rig rig-broken:
	$(stage) scripts/rig $(@:rig%=check%)

kunit: guest-uml

$(device): %: guest-%
	$(stage) scripts/stage device $*

# Its modules are installed.
tools: kernel-6.12

deb:
	$(stage) scripts/check-deb

# Both build the packages in the same folder.
deb-trixie: $(filter deb,$(STAGES))
	$(stage) scripts/check-deb trixie

# Without LONG, this boot includes the torture test and the fuzzer.
ifndef LONG
debug: guest-debug
	$(stage) scripts/stage debug debug
endif

debug-rt: guest-debug-rt
	$(stage) scripts/stage debug debug-rt

shell broker bridge alerts trace: guest-6.12
trace: $(if $(LONG),guest-6.1 guest-7.3)

$(foreach t,$(torture),$(eval $t: guest-$(call kernel_of,$t,$(TORTURE_KERNEL))))
ifdef LONG
torture-7.3 torture-7.3-rt torture-rt torture-arm64: export MINUTES = 1
endif
$(torture):
	$(stage) scripts/stage load torture $(call kernel_of,$@,$(TORTURE_KERNEL)) $@

$(foreach f,$(fuzz),$(eval $f: guest-$(call kernel_of,$f,$(FUZZ_KERNEL))))
$(fuzz):
	$(stage) scripts/stage load fuzz $(call kernel_of,$@,$(FUZZ_KERNEL)) $@

# With LONG=1 all benchmarks run, last and alone: they load all CPUs, which torture would take for a
# stall, and other stages would distort the figures.
exact: $(if $(LONG),guest-bench $(filter-out exact,$(STAGES))) guest-6.12
	$(stage) scripts/stage exact

guests := $(addprefix guest-,$(kernels))
$(guests): guest-%: kernel-%
	$(build) env BUILT=1 scripts/stage-guest $* $(flags-$*) $(if $(filter $*,$(stock)),$(warnings))

$(filter-out guest-uml,$(guests)): programs

programs: source
	$(build) scripts/build-programs

$(addprefix kernel-,$(stock)): kernel-%:
	$(build) scripts/fetch-kernel $* >/dev/null

$(addprefix kernel-,$(built)): kernel-%: source
	$(build) scripts/build-kernel $* >/dev/null

model static rig rig-broken series: source

source:
	$(build) scripts/kernel-source >/dev/null

.PHONY: all deb deb-trixie dist series shell tools model static rig rig-broken kunit exact broker bridge \
	alerts trace programs source
.PHONY: $(device) debug debug-rt $(torture) $(fuzz) $(guests) $(addprefix kernel-,$(kernels))
