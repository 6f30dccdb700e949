# What the tests of escapes use: a sandbox with the attacker's tools in it, and what is watched on
# the host meanwhile.

# setup_escape [MOUNT OPTIONS]: a sandbox, /work/attack and /work/escape in it, a victim outside.
setup_escape() {
	make_dirs
	mkdir "$T/victim"
	echo untouched >"$T/victim/keep"
	start sleep 9999
	HOST_PID=$PID
	mount_sandbox "$@"
	put_tools
	WITNESS=$(witness)
}

put_tools() {
	cp "$HELPERS/escape" "$HELPERS/attack" "$D/files/work/"
	chmod 755 "$D/files/work/escape" "$D/files/work/attack"
}

# What must not change on the host, whatever commands do.
witness() {
	grep -v '^sptest-' /etc/passwd | sha256sum
	sha256sum /etc/hosts /usr/bin/env /proc/sys/kernel/core_pattern 2>&1
	hostname
	find "$T/victim" -printf '%P %y %m %U %G %s %T@\n' | sort
	cat "$T/victim/keep"
	kill -0 "$HOST_PID" && echo alive
}

# The host is as it was, and the daemon answers.
unharmed() {
	eq "$(witness)" "$WITNESS" "the host"
	answers
	daemon_is_small
}

answers() { timeout 20 jq -e .state "$D/status.json" >/dev/null || fail "the daemon does not answer"; }

# Less than 200 MB, also under attack.
daemon_is_small() {
	local kb

	kb=$(rss)
	sanitized || ((kb < 200000)) || fail "the daemon uses $kb KiB"
}

# attack NAME [ARG...]: runs it inside, prints what it says.
attack() { inside "/work/attack inside $*"; }

# start_attack NAME [ARG...]: leaves it running as run ID, once it has said something.
start_attack() {
	start_run "exec /work/attack inside $*"
	wait_for test -s "$D/out/$ID/stdout"
}

# end_run ID: ends it, and waits until it has.
end_run() {
	echo KILL >"$D/out/$1/kill" || [[ -e $D/out/$1/exit_code ]]
	wait_for is_file "$D/out/$1/exit_code"
}

# result LINES NAME: the second word of the line that begins with NAME.
result_of() { awk -v n="$2" '$1 == n { print $2; exit }' <<<"$1"; }

# expect LINES: of each `NAME REGEX` on standard input, LINES must have a matching result.
expect() {
	local name want

	while read -r name want; do
		match "$(result_of "$1" "$name")" "^($want)$" || fail "of $name"
	done
}
