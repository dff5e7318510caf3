# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Common paths, messages and results. All shell scripts here source this file.

# Messages of other programs are parsed, guests have users other than the owner of their files, and
# cd prints the folder that it finds with CDPATH. gcc ignores a TMPDIR that does not exist, mktemp
# does not, and make splits it at a space.
export LC_ALL=C.UTF-8
umask 022
unset CDPATH
[[ -w ${TMPDIR:-/tmp} && ${TMPDIR-} != *[[:space:]]* ]] || unset TMPDIR

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build
logs=$build/logs
export HOME=${HOME:-~}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/twheel
jobs=$(nproc)

# Objects of unchanged sources come from the cache if ccache is installed, also in a new clone.
if [ -z "${CCACHE_DIR-}" ] && [ -d /usr/lib/ccache ]; then
	export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=$cache/ccache CCACHE_MAXSIZE=2G
	# Paths are relative to the clone, and debug information of the first one is as good.
	export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1
fi

# Progress messages go to stderr, since some scripts return a result on stdout.
say()
{
	printf '==> %s\n' "$*" >&2
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

[[ $top$cache != *[[:space:]:]* ]] ||
	die "make needs paths without spaces and colons: $top, $cache (see XDG_CACHE_HOME)"

[ ! -e "$build" ] || [ -w "$build" ] ||
	die "cannot write to $build, which belongs to $(stat -c %U "$build")"

# need COMMAND GROUP: exit with a hint if a program is missing.
need()
{
	command -v "$1" >/dev/null ||
		die "$1 is missing; run: scripts/install-packages $2"
}

# copy_source FOLDER: copy the files of the last commit, or those of an archive of make dist.
copy_source()
{
	mkdir -p "$1"
	if [ -e "$top/.git" ]; then
		git -C "$top" archive HEAD
	else
		tar -C "$top" --exclude=./build -c .
	fi | tar -x -C "$1"
}

# quietly LOG COMMAND...: redirect its output to LOG, and show the end of it on failure.
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

# with_lock NAME: take the lock of a part of the cache until the process exits. The caller
# must check again whether another process has filled that part in the meantime.
with_lock()
{
	if ! mkdir -p "$cache" 2>/dev/null || [ ! -w "$cache" ]; then
		die "cannot write to $cache; set XDG_CACHE_HOME to another folder"
	fi
	exec 9>"$cache/.lock-$1"
	flock -n 9 || {
		say "waiting for another process that prepares $1"
		flock 9
	}
}

# lock_shell KERNEL: take the lock of the VM of make vm. The processes that inherit it, such as
# QEMU, keep it until they end: another VM would take over the socket of the second shell.
lock_shell()
{
	mkdir -p "$build/$1"
	exec 8>"$build/$1/shell.lock"
	flock -n 8 ||
		die "a VM with kernel $1 is running; for a second shell: make shell DEMO_KERNEL=$1"
}

# kernels_with COLUMN VALUE: print the kernels of scripts/kernels with this value.
kernels_with()
{
	awk -v "column=$1" -v "value=$2" '/^[a-z0-9]/ && $column == value { print $1 }' \
		"$top/scripts/kernels"
}

# is_built KERNEL: it is built here, or by check-series.
is_built()
{
	[[ $1 = series-* ]] || kernels_with 2 source | grep -qx -- "$1"
}

# kernel_dir KERNEL: print the folder of a kernel; create it if missing. Those of check-deb and
# check-series, debian-* and series-*, exist only while they run.
kernel_dir()
{
	case $1 in
	debian-* | series-*) echo "$build/$1"; return ;;
	esac
	[ -n "$(kernels_with 1 "$1")" ] || die "no such kernel: $1 (see scripts/kernels)"
	if is_built "$1"; then
		"$top/scripts/build-kernel" "$1"
	else
		"$top/scripts/fetch-kernel" "$1"
	fi
}

# cross_of KERNEL: print the names of the machine of a kernel of another architecture, which has its
# name: those of its compiler, of its emulator and of a CPU. Nothing for other kernels. That of
# arm64 has the LSE atomics that cells need.
cross_of()
{
	case $1 in
	arm64) echo aarch64-linux-gnu aarch64 neoverse-n1 ;;
	armhf) echo arm-linux-gnueabihf arm cortex-a15 ;;
	esac
}

# suite_apt SUITE [ARCHITECTURE]: set the options of apt, in the array apt, and the folder of its
# lists for a suite of Debian other than that of this machine, whose configuration stays as it is.
# The archive of Debian that the machine uses has the other suites, too. Updates the lists once a
# day.
suite_apt()
{
	local arch=${2-amd64} keyring=/usr/share/keyrings/debian-archive-keyring.gpg archive

	lists=$cache/apt/$1-$arch
	apt=(-o Dir::State="$lists" -o Dir::Cache="$lists" -o Dir::Etc::SourceList="$lists/sources"
		-o Dir::Etc::SourceParts=- -o APT::Architecture=amd64
		-o "APT::Architectures=amd64,$arch" -o APT::Sandbox::User=root
		-o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin)
	hint="remove $lists (log: $logs/apt-$1.log)"
	[ -z "$(find "$lists/updated" -mtime -1 2>/dev/null)" ] || return 0
	with_lock "apt-$1"
	mkdir -p "$lists"/{lists,archives}/partial "$logs"
	# shellcheck disable=SC2016 # apt expands it
	archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		'Origin: Debian' | grep -m1 '/debian/$') || die "apt has no archive of Debian"
	echo "deb [signed-by=$keyring] $archive $1 main" >"$lists/sources"
	! apt-get "${apt[@]}" update >"$logs/apt-$1.log" 2>&1 || touch "$lists/updated"
	exec 9>&-
}

# copy_to ROOT: copy the files that stdin lists; a link to a file becomes a file.
copy_to()
{
	local file
	while read -r file; do
		[ ! -f "$file" ] || install -D "$file" "$1/$file"
	done
}

# pack ROOT: print the archive of a guest's files.
pack()
{
	(cd "$1" && find . | cpio --quiet -o -H newc -R 0:0)
}

# new_token: print a random word that a guest must repeat in its verdict.
new_token()
{
	od -An -N8 -tx8 /dev/urandom | tr -d ' '
}

# guest_output VERBOSE: filter a console log for the output of the guest's job and the
# messages of twheel's modules. Print nothing if VERBOSE is false.
guest_output()
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

# case_of NAME COMMAND...: record a test case of the stage $stage that passes if COMMAND succeeds.
# If it fails, failed is 1. Its output is in a log of its own.
failed=0
case_of()
{
	local name=$1 log=$stage-$1
	log=$logs/${log//[^a-zA-Z0-9.=-]/-}.log
	shift
	say "$stage: $name"
	if "$@" >"$log" 2>&1; then
		result pass "$stage: $name"
	else
		result fail "$stage: $name" "$log"
		failed=1
	fi
}

# boot_job NAME [-v] KERNEL JOB [VALUE...]: boot a guest for a job, whose log is $log, and
# record its result as NAME.
boot_job()
{
	local name=$1
	shift
	if "$top/scripts/vm" "$@"; then
		result pass "$name"
	else
		result fail "$name" "$log"
	fi
}

# results_of STAGE LOG ARGUMENTS...: record the results that ktap.py ARGUMENTS prints for LOG.
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
