# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Tests of the output and the exit status of a program, as TAP. Sourced by the tests.

count=0
failed=0

# result ok|"not ok" NAME
result()
{
	count=$((count + 1))
	[ "$1" = ok ] || failed=1
	echo "$1 $count - $2"
}

# says NAME STATUS TEXT ARGUMENT...: $program exits with STATUS and prints TEXT.
says()
{
	local name=$1 status=$2 text=$3 got=0 output
	shift 3
	output=$("$program" "$@" 2>&1 </dev/null) || got=$?
	if [ $got = "$status" ] && [[ $output == *"$text"* ]]; then
		result ok "$name"
	else
		echo "# exit status $got, printed: ${output//$'\n'/ | }"
		result "not ok" "$name"
	fi
}
