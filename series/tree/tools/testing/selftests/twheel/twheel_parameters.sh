#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run the programs that need parameters of the module, with the module loaded again for each.
# They skip their tests without these parameters.

ksft_skip=4

skip()
{
	echo "1..0 # SKIP $*"
	exit $ksft_skip
}

[ "$(id -u)" = 0 ] || skip "needs root"
modprobe -r twheel 2>/dev/null || skip "twheel is built in or in use"

failed=0
run()
{
	program=$1
	shift
	echo "# $program $*"
	modprobe twheel "$@" && "./$program" || failed=1
	modprobe -r twheel || failed=1
}

run twheel_quota_test max_pending=16 max_shared_pending=32 max_purgatories=4 \
	user_max_purgatories=2 user_max_files=12 user_max_ops=40
modprobe twheel
exit $failed
