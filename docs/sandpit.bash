# Completion of sandpit for bash.

_sandpit_mount_points() {
	sandpit list 2>/dev/null | awk '
		NR == 1 { from = index($0, "MOUNT POINT"); to = index($0, "STATE"); next }
		{ place = substr($0, from, to - from); sub(/ +$/, "", place); print place }'
}

_sandpit_keys() {
	sandpit mount --help 2>/dev/null |
		sed -n '/^Settings/,$s/^  \([a-z_]*=\{0,1\}\).*/\1/p'
}

_sandpit_settings() {
	local current=$1 done=

	[[ $current == *,* ]] && done=${current%,*},
	compopt -o nospace
	mapfile -t COMPREPLY < <(compgen -P "$done" -W "$(_sandpit_keys)" -- "${current##*,}")
}

_sandpit() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local IFS=$'\n'

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W $'mount\numount\nrun\npersist\nrestore\nstore\nlist\ncheck\n--help\n--version' \
			-- "$current")
		return
	fi
	case ${COMP_WORDS[1]} in
	mount)
		case $previous in
		-o) _sandpit_settings "$current" ;;
		-c) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
		*) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
		esac
		;;
	check)
		case $previous in
		-o) _sandpit_settings "$current" ;;
		-c) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
		esac
		;;
	umount)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -W "$(_sandpit_mount_points)" -- "$current"
			compgen -d -- "$current")
		;;
	run)
		if [[ $current == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W $'--cwd\n--env\n--user\n--timeout' -- "$current")
		elif ((COMP_CWORD == 2)); then
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -W "$(_sandpit_mount_points)" -- "$current"
				compgen -d -- "$current")
		fi
		;;
	esac
}

complete -F _sandpit sandpit
