# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Cases as TAP, among them the output and the exit status of a program. Sourced by the tests.

count=0
failed=0
# The tests look at the modes of files.
umask 022

# passes NAME COMMAND...: a case that passes if COMMAND succeeds. Its output explains a failure.
passes()
{
	local name=$1 result=ok output
	shift
	count=$((count + 1))
	if ! output=$("$@" 2>&1); then
		printf '# %s\n' "${output//$'\n'/$'\n'# }"
		result="not ok"
		failed=1
	fi
	echo "$result $count - $name"
}

# same EXPECTED ACTUAL
same()
{
	diff <(echo "$1") <(echo "$2")
}

# quiet NAME OUTPUT: a case that passes if OUTPUT is empty.
quiet()
{
	passes "$1" is_empty "$2"
}

is_empty()
{
	echo "$1"
	[ -z "$1" ]
}

# says NAME STATUS TEXT ARGUMENT...: $program exits with STATUS and prints TEXT.
says()
{
	passes "$1" exits "${@:2}"
}

exits()
{
	local status=$1 text=$2 got=0 output
	shift 2
	# shellcheck disable=SC2154 # the tests set it
	output=$("$program" "$@" 2>&1 </dev/null) || got=$?
	echo "exit status $got, printed: $output"
	[ $got = "$status" ] && [[ $output == *"$text"* ]]
}

# The last command of a test.
finish()
{
	echo "1..$count"
	return $failed
}
