# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Paths, messages and results, shared by all scripts.
# Sourced by every script here, run by none.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build
logs=$build/logs
cache=${XDG_CACHE_HOME:-$HOME/.cache}/twheel
jobs=$(nproc)

# Progress goes to stderr, so that a script's stdout can be its answer.
say()
{
	printf '==> %s\n' "$*" >&2
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# need COMMAND GROUP: stop with a hint when a program is missing.
need()
{
	command -v "$1" >/dev/null ||
		die "$1 is missing; run: scripts/install-packages $2"
}

# quietly LOG COMMAND...: run it with its output in LOG, shown only on failure.
quietly()
{
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		die "failed: $* (log: $log)"
	}
}

# with_lock NAME: one process at a time fills a part of the cache.  After a wait that part
# may be filled: look again.
with_lock()
{
	mkdir -p "$cache"
	exec 9>"$cache/.lock-$1"
	flock -n 9 || {
		say "waiting for another run that prepares $1"
		flock 9
	}
}

# kernel_dir 6.1|6.12|debug|kcsan|uml|bench: the kernel's folder, made when it is missing.
kernel_dir()
{
	case $1 in
	6.1 | 6.12) "$top/scripts/fetch-kernel" "$1" ;;
	debug | kcsan | uml | bench) "$top/scripts/build-kernel" "$1" ;;
	*) die "no such kernel: $1 (there are 6.1, 6.12, debug, kcsan, uml and bench)" ;;
	esac
}

# new_token: a random word that a guest must repeat at its end.
new_token()
{
	od -An -N8 -tx8 /dev/urandom | tr -d ' '
}

# guest_says VERBOSE: of a console log keep the output of the guest's job and the messages
# of twheel's modules; nothing at all if VERBOSE is false.
guest_says()
{
	if $1; then
		sed -un -e 's/\r$//' -e '/| verdict /d;/tainting\|taints/d' \
			-e 's/^\[ *[0-9.]*\] | //p' \
			-e 's/^\[ *[0-9.]*\] \(twheel.*\)/\1/p'
	else
		cat >/dev/null
	fi
}

# result pass|fail|skip NAME [LOG]: record one test case.
result()
{
	printf '%s\t%s\t%s\n' "$1" "$2" "${3-}" >>"$build/results"
}

# boot_job NAME [-v] KERNEL JOB [VALUE...]: boot a guest for a job, and record as NAME
# whether the job is done.  With IN_LOG the job was one of several of an earlier boot, and
# this is its log: see check-debug.
boot_job()
{
	local name=$1
	shift
	if [ -n "${IN_LOG-}" ]; then
		return 0
	elif "$top/scripts/vm" "$@"; then
		result pass "$name"
	else
		result fail "$name" "$log"
	fi
}

# results_of STAGE LOG ARGUMENTS...: record the results of ktap.py ARGUMENTS for LOG.
results_of()
{
	local stage=$1 log=$2 outcome name found=0
	shift 2

	while IFS=$'\t' read -r outcome name; do
		result "$outcome" "$stage: $name" "$log"
		found=1
	done < <("$top/scripts/ktap.py" "$@" || printf 'fail\tunreadable results\n')
	[ $found = 1 ] || result fail "$stage: no case ran" "$log"
}
