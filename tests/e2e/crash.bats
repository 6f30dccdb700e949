# State that lasts: umount, a crash of the daemon, a second daemon.
# runs-as: root user
load ../lib/helper

crash() {
	kill -KILL "$(daemon_pid)"
	wait_for no_daemon
}
no_daemon() { [[ -z $(daemon_pid) ]]; }

@test "umount and mount again: the same files and runs" {
	echo content >"$D/files/work/a"
	inside 'echo out; echo err >&2; mkdir -p /work/d; echo inner > /work/d/b; chmod 750 /work/d/b; ln -s b /work/d/l' >/dev/null
	inside 'exit 7' || true
	(cd "$D/out/1" && cat cmd stdout stderr output result.json status exit_code) >before
	(cd "$D/files/work" && ls -lR --time-style=full-iso) >before.files
	umount_sandbox
	eq "$(ls -A "$D")" ""
	mount_sandbox
	(cd "$D/out/1" && cat cmd stdout stderr output result.json status exit_code) | diff before -
	(cd "$D/files/work" && ls -lR --time-style=full-iso) | diff before.files -
	eq "$(cat "$D/files/work/a" "$D/files/work/d/l")" $'content\ninner'
	eq "$(cat "$D/out/2/exit_code")" 7
	eq "$(readlink "$D/out/last")" 2
	inside 'cat /work/a'
	eq "$(readlink "$D/out/last")" 3
}

@test "a run that umount stops is shown as killed or lost, never as ended well" {
	start_run 'echo begun; sleep 9999'
	wait_for has_text "$D/out/$ID/stdout" begun
	umount_sandbox
	mount_sandbox
	match "$(cat "$D/out/$ID/status")" '^(killed|lost|signaled)$'
	refute test "$(cat "$D/out/$ID/exit_code" 2>/dev/null)" = 0
	eq "$(cat "$D/out/$ID/stdout")" begun
}

@test "what a lost run has written of both streams is there in its order" {
	head -c 3000000 /dev/urandom >"$D/files/work/a"
	start_run 'cat /work/a; until [ -e /work/go ]; do sleep 0.01; done; cat /work/a >&2; sleep 9999'
	size_is() { [[ $(stat -c %s "$D/out/$ID/$1") == "$2" ]]; }
	stored() { [[ $(stat -c %s "$XDG_STATE_HOME"/sandpit/*/runs/*."$1") == "$2" ]]; }
	wait_for size_is stdout 3000000
	: >"$D/files/work/go"
	wait_for stored err 3000000
	wait_for stored mix 6000000
	crash
	mount_sandbox
	eq "$(cat "$D/out/$ID/status")" lost
	cmp "$D/files/work/a" "$D/out/$ID/stdout"
	cmp "$D/files/work/a" "$D/out/$ID/stderr"
	cat "$D/files/work/a" "$D/files/work/a" | cmp - "$D/out/$ID/output"
}

@test "a run that was going when the daemon died is lost" {
	new_mark
	inside 'echo good' >/dev/null
	start_run "echo begun; sleep 9999.$MARK"
	wait_for has_text "$D/out/$ID/stdout" begun
	crash
	wait_for not_living "9999[.]$MARK"
	mount_sandbox
	eq "$(cat "$D/out/$ID/status")" lost
	refute test "$(cat "$D/out/$ID/exit_code" 2>/dev/null)" = 0
	eq "$(cat "$D/out/$ID/stdout")" begun
	eq "$(result .status "$ID")" lost
	eq "$(timeout 20 cat "$D/out/$ID/live")" begun
	timeout 20 cat "$D/out/$ID/wait" >/dev/null || [[ $? != 124 ]]
	eq "$(cat "$D/out/1/stdout") $(cat "$D/out/1/exit_code") $(cat "$D/out/1/status")" "good 0 exited"
	inside 'echo next' >/dev/null
	eq "$(readlink "$D/out/last")" 3
}

@test "nothing of the sandbox outlives a crash of the daemon" {
	new_mark
	start_run "(setsid sleep 9999.$MARK &) ; setsid setsid sleep 9998.$MARK"
	wait_for living "9998[.]$MARK"
	crash
	wait_for not_living "[.]$MARK"
	wait_for no_strays
}

@test "mount cleans a dead mount up" {
	crash
	refute ls "$D"
	mount_sandbox
	inside 'echo alive'
}

@test "umount cleans a dead mount up" {
	crash
	refute ls "$D"
	umount_sandbox
	not_mounted
	eq "$(ls -A "$D")" ""
}

@test "writers and readers that wait when the daemon dies get an error" {
	start sh -c 'echo "sleep 9999" >"$1"' sh "$D/ctl/run"
	wait_for is_file "$D/out/1/status"
	start cat "$D/out/1/wait"
	wait_for blocked "$PID" cat
	crash
	for pid in "${STARTED[@]}"; do wait_for ended_pid "$pid"; done
}

@test "a crash in the middle of many runs loses no ended one" {
	start bash -c 'i=0; while echo "echo $((++i))" >"$1/ctl/run"; do echo $i >"$2"; done 2>/dev/null' bash "$D" "$T/ended"
	enough() { (($(cat ended 2>/dev/null || echo 0) >= 20)); }
	wait_for enough
	crash
	wait_for ended_pid "$PID"
	ended=$(cat ended)
	mount_sandbox
	for ((i = 1; i < ended; i++)); do
		eq "$(cat "$D/out/$i/status") $(cat "$D/out/$i/stdout")" "exited $i"
	done
	inside 'echo next' >/dev/null
	(($(readlink "$D/out/last") > ended - 1))
}

@test "files survive a crash" {
	for i in {1..50}; do echo "$i" >"$D/files/work/$i"; done
	inside 'for i in $(seq 51 100); do echo $i > /work/$i; done'
	crash
	mount_sandbox
	for i in {1..100}; do eq "$(cat "$D/files/work/$i")" "$i"; done
}

@test "a second daemon on the same state is refused, with the first one's mount point" {
	mkdir other
	run "$SANDPIT" mount -o net=none,name=x,state="$T/shared" other 3>&-
	eq "$status" 0
	mkdir third
	run "$SANDPIT" mount -o net=none,state="$T/shared" third 3>&-
	refute test "$status" = 0
	match "$output" "$T/other"
	not_mounted "$T/third"
	eq "$(ls -A third)" ""
	echo 'echo ok' >other/ctl/run
	eq "$(cat other/out/last/stdout)" ok
}

@test "a state directory is not blocked by a daemon that died" {
	crash
	umount_sandbox
	mkdir elsewhere
	"$SANDPIT" mount -o net=none,state="$(echo "$XDG_STATE_HOME"/sandpit/*m)" elsewhere 3>&-
	eq "$(cat elsewhere/error)" ""
}

@test "SIGTERM to the daemon unmounts cleanly" {
	inside 'echo before' >/dev/null
	kill -TERM "$(daemon_pid)"
	wait_for not_mounted
	wait_for no_strays
	mount_sandbox
	eq "$(cat "$D/out/1/stdout")" before
}

@test "remounting ten times: the same state each time" {
	for i in {1..10}; do
		echo "$i" >>"$D/files/work/log"
		request "echo $i"
		umount_sandbox
		mount_sandbox
	done
	eq "$(cat "$D/files/work/log")" "$(seq 10)"
	eq "$(runs)" 10
	eq "$(for i in {1..10}; do cat "$D/out/$i/stdout"; done)" "$(seq 10)"
}
