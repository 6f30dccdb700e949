# out/ID/kill and timeouts: whole trees of processes, whatever they do to hide.
# runs-as: root user single
load ../lib/helper

# A tree that hides: a child, a session of its own, a double fork, names changed, TERM ignored.
tree() {
	cat <<-END
		sleep 9999.$MARK &
		setsid sleep 9998.$MARK &
		(setsid sh -c 'sleep 9997.$MARK & exit' &) &
		(trap '' TERM HUP INT; sleep 9996.$MARK) &
		bash -c 'exec -a kworker sleep 9995.$MARK' &
		(env -i nohup setsid nohup sleep 9994.$MARK >/dev/null 2>&1 &)
		sleep 9993.$MARK
	END
}

all_living() {
	(($(pgrep -c -f -- "999[0-9][.]$MARK") >= 7))
}

@test "KILL reaches the whole tree" {
	new_mark
	start_run "$(tree)"
	wait_for all_living
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
	wait_for not_living "[.]$MARK"
	eq "$(cat "$D/out/$ID/status") $(cat "$D/out/$ID/exit_code")" "killed 137"
}

@test "an empty line is TERM and, if that does not help, KILL" {
	new_mark
	start_run "trap '' TERM; $(tree); while :; do sleep 9990.$MARK; done"
	wait_for living "9993[.]$MARK"
	echo >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
	wait_for not_living "[.]$MARK"
	eq "$(cat "$D/out/$ID/status")" killed
}

@test "an empty line lets a command that catches TERM end by itself" {
	start_run 'trap "echo bye; exit 9" TERM; echo ready; while :; do sleep 0.05; done'
	wait_for has_text "$D/out/$ID/stdout" ready
	echo >"$D/out/$ID/kill"
	eq "$(cat "$D/out/$ID/wait")" 9
	eq "$(cat "$D/out/$ID/stdout")" $'ready\nbye'
}

@test "signals by name, by number, with SIG and in lower case" {
	start_run 'for s in HUP USR1 USR2 INT; do trap "echo $s" $s; done; echo ready; until test -e /work/go; do sleep 0.02; done'
	wait_for has_text "$D/out/$ID/stdout" ready
	echo HUP >"$D/out/$ID/kill"
	wait_for has_text "$D/out/$ID/stdout" HUP
	echo SIGUSR1 >"$D/out/$ID/kill"
	wait_for has_text "$D/out/$ID/stdout" USR1
	echo 12 >"$D/out/$ID/kill"
	wait_for has_text "$D/out/$ID/stdout" USR2
	printf INT >"$D/out/$ID/kill"
	wait_for has_text "$D/out/$ID/stdout" INT
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
}

@test "a signal that does not exist is EINVAL" {
	start_run 'until test -e /work/go; do sleep 0.02; done'
	for signal in NOSUCH 999 -1 'KILL TERM' 1.5; do
		run fsop open "$D/out/$ID/kill" w write "$signal"$'\n' close
		eq "${lines[1]}" "write EINVAL" || fail "accepted: $signal"
	done
	eq "$(cat "$D/out/$ID/status")" running
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
}

@test "processes left behind by an ended run are killed through its kill" {
	new_mark
	request "setsid sleep 9999.$MARK >/dev/null 2>&1 & (setsid sleep 9998.$MARK &) ; exit 4"
	eq "$(last exit_code)" 4
	living "9999[.]$MARK"
	echo TERM >"$D/out/1/kill"
	wait_for not_living "[.]$MARK"
	eq "$(last status) $(last exit_code)" "exited 4"
}

@test "the kill of one run leaves other runs alone" {
	new_mark
	start_run "sleep 9999.$MARK"
	first=$ID
	start_run "setsid sleep 9998.$MARK"
	wait_for living "9998[.]$MARK"
	echo KILL >"$D/out/$ID/kill"
	wait_for not_living "9998[.]$MARK"
	living "9999[.]$MARK"
	eq "$(cat "$D/out/$first/status")" running
	echo KILL >"$D/out/$first/kill"
	wait_for is_file "$D/out/$first/exit_code"
}

@test "a stopped command is killed, too" {
	new_mark
	start_run "sleep 9999.$MARK & kill -STOP \$!; kill -STOP \$\$"
	wait_for living "9999[.]$MARK"
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
	wait_for not_living "9999[.]$MARK"
}

@test "a storm of forks is killed" {
	new_mark
	start_run "storm() { while :; do (setsid sh -c 'sleep 0.1; : 7777.$MARK' &); done; }; storm & storm"
	wait_for living "7777[.]$MARK"
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
	wait_for not_living "7777[.]$MARK"
	inside 'echo fine'
}

@test "kill -9 -1 inside harms only the sandbox's commands" {
	new_mark
	start_run "sleep 9999.$MARK"
	wait_for living "9999[.]$MARK"
	request 'kill -9 -1; echo survived'
	wait_for is_file "$D/out/$ID/exit_code"
	inside 'echo next'
}

@test "kill -9 of the parent process: the run ends, nothing of it stays" {
	new_mark
	request "sleep 9999.$MARK & kill -9 \$PPID; kill -9 1; echo still here"
	eq "$(last stdout)" "still here"
	echo KILL >"$D/out/last/kill"
	wait_for not_living "9999[.]$MARK"
	inside 'echo next'
}

@test "timeout: status, exit code, partial output, whole tree" {
	new_mark
	echo 1 >"$D/ctl/timeout"
	request "echo partial; echo err >&2; $(tree)"
	eq "$(last status) $(last exit_code)" "timeout 124"
	eq "$(last stdout)" partial
	eq "$(last stderr)" err
	eq "$(result .timedOut)" true
	wait_for not_living "[.]$MARK"
}

@test "timeout of a command that ignores TERM" {
	echo 1 >"$D/ctl/timeout"
	request "trap '' TERM INT HUP; while :; do sleep 0.1; done"
	eq "$(last status) $(last exit_code)" "timeout 124"
}

@test "timeout of a stopped command" {
	echo 1 >"$D/ctl/timeout"
	request 'kill -STOP $$'
	eq "$(last status)" timeout
}

@test "timeout of a flood" {
	echo 1 >"$D/ctl/timeout"
	request 'yes'
	eq "$(last status) $(last exit_code)" "timeout 124"
	inside 'echo next'
}

@test "a command that ends in time is not touched by its timeout" {
	echo 1 >"$D/ctl/timeout"
	request 'exit 3'
	eq "$(last status) $(last exit_code)" "exited 3"
	eq "$(result .timedOut)" false
}

@test "the timeout 0 is none" {
	echo 0 >"$D/ctl/timeout"
	request 'sleep 1.2; echo end'
	eq "$(last stdout)" end
}
