# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the jobs in the guest share.

# load MODULE [parameters], unload MODULE
#
# busybox's insmod repeats a load that has failed, which may then succeed: the report of
# the first one counts.
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

# exact_timers: wait until this kernel, just booted, has hrtimers of full resolution.
exact_timers()
{
	until grep -q 'hres_active *: 1' /proc/timer_list; do
		usleep 10000
	done
}

# nothing_left: after the last unload, no trace of twheel may remain; a stopped thread
# may take a moment to disappear.
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

# no_leak: on a kernel with kmemleak, report leaked memory.
no_leak()
{
	kmemleak=/sys/kernel/debug/kmemleak
	[ -e $kmemleak ] || return 0
	# Memory that RCU has not freed yet looks like a leak, and would be logged.
	sleep 1
	for _ in 1 2; do
		echo scan >$kmemleak
	done
	[ -z "$(cat $kmemleak)" ] || { cat $kmemleak; return 1; }
}
