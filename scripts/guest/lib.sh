# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Common functions of the guest jobs.

# load MODULE [parameters], unload MODULE
#
# insmod of busybox repeats a failed load, which may then succeed: look for a failure report of
# the first attempt.
load()
{
	module=$1
	shift
	insmod "/modules/$module.ko" "$@" || return 1
	! dmesg | grep "^.*$module: FAILURE:"
}

unload()
{
	rmmod "$1"
}

# Enable KCSAN only in a job, since booting the kernel has known data races.
watch_for_races()
{
	[ -e /sys/kernel/debug/kcsan ] || return 0
	echo 100 >/sys/module/kcsan/parameters/skip_watch
	echo on >/sys/kernel/debug/kcsan
}

# with_twheel COMMAND...: run it with the module loaded.
with_twheel()
{
	load twheel || return 1
	"$@"
	status=$?
	unload twheel && return "$status"
}

# check NAME COMMAND...: a test case that passes if COMMAND succeeds; else wrong is 1.
count=0
wrong=0
check()
{
	name=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		wrong=1
	fi
}

# has PATTERN...: each extended pattern matches a line of the file $out.
has()
{
	for pattern; do
		grep -Eq "$pattern" "$out" || { cat "$out"; echo "no line: $pattern"; return 1; }
	done
}

# expires COMMAND...: its operation expires.
expires()
{
	"$@" >/dev/null
	[ $? = 4 ]
}

# eventually COMMAND...: repeat it until it succeeds, for up to 30 s.
eventually()
{
	for _ in $(seq 300); do
		"$@" && return
		usleep 100000
	done
	echo "timeout: $*"
	return 1
}

# exact_timers: wait until the kernel has switched to high-resolution mode.
exact_timers()
{
	until grep -q 'hres_active *: 1' /proc/timer_list; do
		usleep 10000
	done
}

# nothing_left: check that unloading twheel has released everything. Stopped threads may
# need a moment to exit.
nothing_left()
{
	for _ in $(seq 50); do
		left=$(
			for node in /dev/twheel*; do
				[ ! -e "$node" ] || echo "$node"
			done
			grep '^twheel' /proc/modules /proc/slabinfo /proc/*/comm 2>/dev/null
		)
		[ -n "$left" ] || break
		usleep 100000
	done
	[ -z "$left" ] || { echo "left behind: $left"; return 1; }
	echo "no node, module, thread or slab cache of twheel"
}

# no_leak: check for leaked memory if the kernel has kmemleak, unless the job "several" does so at
# its end: a scan takes long.
no_leak()
{
	kmemleak=/sys/kernel/debug/kmemleak
	[ -e $kmemleak ] && [ -z "${LATER-}" ] || return 0
	# kmemleak would report memory that RCU has not freed yet.
	sleep 1
	for _ in 1 2; do
		echo scan >$kmemleak
	done
	[ -z "$(cat $kmemleak)" ] || { cat $kmemleak; return 1; }
}
