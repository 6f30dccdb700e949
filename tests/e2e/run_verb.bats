# sandpit run: one command through the mount.
# runs-as: root user
load ../lib/helper

sandpit_run() { "$SANDPIT" run "$D" "$@" 3>&-; }

@test "stdout, stderr and the exit status" {
	sandpit_run sh -c 'echo out; echo err >&2; exit 7' >o 2>e && fail "status 0" || eq $? 7
	eq "$(cat o)" out
	eq "$(cat e)" err
}

@test "arguments reach the command unchanged" {
	eq "$(sandpit_run -- printf '%s|' 'a b' '$HOME' '*' '' -x)" 'a b|$HOME|*||-x|'
	eq "$(sandpit_run printf '%s' --timeout)" --timeout
}

@test "output is exact: binary, without a newline, large" {
	head -c 3000000 /dev/urandom >"$D/files/work/data"
	sandpit_run cat /work/data | cmp - "$D/files/work/data"
}

@test "output comes while the command runs" {
	start sh -c '"$1" run "$2" sh -c "echo first; until test -e /work/go; do sleep 0.02; done; echo second" >"$3"' sh "$SANDPIT" "$D" "$T/o"
	wait_for has_text o first
	: >"$D/files/work/go"
	wait "$PID"
	eq "$(cat o)" $'first\nsecond'
}

@test "standard input is forwarded, to its end" {
	eq "$(printf 'a\nb\n' | sandpit_run sh -c 'cat; echo end')" $'a\nb\nend'
	eq "$(sandpit_run cat </dev/null)" ""
	eq "$(head -c 2000000 /dev/zero | sandpit_run wc -c)" 2000000
	eq "$(yes | sandpit_run head -n 1)" y
}

@test "--cwd, --env, --user" {
	eq "$(sandpit_run --cwd /tmp --env A=1 --env 'B=x y' sh -c 'echo $PWD $A $B')" '/tmp 1 x y'
	as_single && return
	eq "$(sandpit_run --user user id -u)" 1000
}

@test "--timeout: status 124" {
	for limit in 1 0.3 1.5 1s; do
		sandpit_run --timeout "$limit" sleep 9999 && fail "status 0" || eq $? 124
	done
	sandpit_run --timeout 0.0 true
	sandpit_run --timeout 2m true
	for limit in 1.5.2 . -1 1e3 nan 0x1 1w ''; do
		run sandpit_run --timeout "$limit" true
		eq "$status" 2 "status of $limit"
	done
}

@test "a command that dies by a signal: 128+N" {
	sandpit_run sh -c 'kill -KILL $$' && fail "status 0" || eq $? 137
}

@test "a command that does not exist: 127" {
	sandpit_run no-such-command 2>e && fail "status 0" || eq $? 127
	match "$(cat e)" no-such-command
}

@test "Ctrl-C is forwarded" {
	start_interruptible "$SANDPIT" run "$D" sh -c 'trap "echo caught; exit 5" INT; echo ready >/work/ready; while :; do sleep 0.05; done'
	wait_for is_file "$D/files/work/ready"
	kill -INT "$PID"
	wait "$PID" && fail "status 0" || eq $? 5
	eq "$(last stdout)" caught
}

@test "TERM is forwarded to a command that does not catch it" {
	new_mark
	start "$SANDPIT" run "$D" sleep "9999.$MARK"
	wait_for living "sleep 9999[.]$MARK"
	wait_for is_file "$D/out/1/status"
	kill -TERM "$PID"
	wait "$PID" && fail "status 0" || eq $? 143
	wait_for not_living "^sleep 9999[.]$MARK"
}

@test "KILL cannot be forwarded: the command goes on without input, and out/ID/kill ends it" {
	mkfifo input
	start sh -c 'exec "$1" run "$2" sh -c "cat >/work/got; echo ended >/work/end; exec sleep 9999" <input' sh "$SANDPIT" "$D"
	exec {input}>input
	echo words >&"$input"
	wait_for file_is "$D/files/work/got" words
	kill -KILL "$PID"
	wait_for file_is "$D/files/work/end" ended
	eq "$(last status)" running
	exec {input}>&-
	echo KILL >"$D/out/last/kill"
	eq "$(cat "$D/out/last/wait")" 137
}

@test "a reader that goes away ends it" {
	run timeout 20 bash -c '"$1" run "$2" yes | head -n 1' bash "$SANDPIT" "$D"
	eq "$output" y
	ended() { refute grep -q running "$D"/out/*/status; }
	wait_for ended
}

@test "the exit status of a pipeline part and of a script with set -e" {
	sandpit_run sh -ec 'false; echo not reached' && fail "status 0" || eq $? 1
}

@test "errors: no mount there, bad options, a bad cwd" {
	mkdir plain
	run "$SANDPIT" run plain true 3>&-
	refute test "$status" = 0
	match "$output" plain
	run sandpit_run --nonsense true
	eq "$status" 2
	run sandpit_run --timeout soon true
	refute test "$status" = 0
	run sandpit_run --cwd /no/such true
	refute test "$status" = 0
	match "$output" '/no/such'
	run sandpit_run
	eq "$status" 2
}

@test "several at once" {
	for i in 1 2 3 4 5 6 7 8; do
		start sh -c 'echo "$3" | "$1" run "$2" cat >"$4"' sh "$SANDPIT" "$D" "$i" "$T/o$i"
	done
	wait "${STARTED[@]}"
	for i in 1 2 3 4 5 6 7 8; do eq "$(cat "o$i")" "$i"; done
}
