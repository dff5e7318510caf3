# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of twheelctl for bash: commands, options, and existing purgatories.
# Installed as PREFIX/share/bash-completion/completions/twheelctl.

# The options of a command, from its help.
_twheelctl_options()
{
	twheelctl help "$1" 2>/dev/null | grep -oE '^  --[a-z][a-z0-9-]*' | tr -d ' '
	printf '%s\n' --purgatory --json --help
}

_twheelctl_commands()
{
	twheelctl help 2>/dev/null | sed -nE 's/^  ([a-z]+)  .*/\1/p'
	echo heartbeat
}

_twheelctl_purgatories()
{
	local node
	for node in "${TWHEEL_CLASS:-/sys/class/twheel}"/twheel-*; do
		[ ! -e "$node" ] || printf '%s\n' "${node##*/twheel-}"
	done
}

# The command, after any options before it. Readline splits --purgatory=NAME at the "=".
_twheelctl_command()
{
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-p | --purgatory)
			i=$((i + 1))
			[ "${COMP_WORDS[i]}" != = ] || i=$((i + 1)) ;;
		-*) ;;
		*)
			echo "${COMP_WORDS[i]}"
			return
			;;
		esac
	done
}

# Candidates for a word, one per line: values of the preceding option, or arguments of the
# command, except files.
_twheelctl_words()
{
	local command=$1 word=$2 before=$3
	case $before in
	-p | --purgatory) _twheelctl_purgatories && return ;;
	--clock) printf '%s\n' monotonic boottime realtime && return ;;
	--owner) compgen -u && return ;;
	--group) compgen -g && return ;;
	help) _twheelctl_commands && return ;;
	esac
	case $command,$word in
	,-*) printf '%s\n' --purgatory --json --help --version ;;
	,*) _twheelctl_commands ;;
	*,-*) _twheelctl_options "$command" ;;
	remove,* | save,*) _twheelctl_purgatories ;;
	esac
}

_twheelctl()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local start='' quote='' command candidate
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $word = --*=* ]]; then
		# "=" is not in COMP_WORDBREAKS.
		start=${word%%=*}=
		before=${word%%=*}
		word=${word#*=}
	fi
	case $word in
	[\'\"]*)
		quote=${word:0:1}
		word=${word:1} ;;
	esac
	COMPREPLY=()
	command=$(_twheelctl_command)
	# Readline itself quotes the names of files, ends those of folders with "/", and keeps "~".
	if [[ $command = @(apply|restore) && $word != -* && $before != -p && $before != --purgatory ]]; then
		compopt -o default
		return
	fi
	while IFS= read -r candidate; do
		[[ $candidate == "${word//\\/}"* ]] || continue
		[ -n "$quote" ] || printf -v candidate %q "$candidate"
		COMPREPLY+=("$start$quote$candidate")
	done < <(_twheelctl_words "$command" "$word" "$before")
}

complete -F _twheelctl twheelctl
