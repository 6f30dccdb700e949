# Commands and surroundings that misbehave: a clear error, and nothing is lost.
# runs-as: root user single
load ../lib/helper

@test "a flood on both streams from many processes" {
	echo 2 >"$D/ctl/timeout"
	request 'for i in 1 2 3 4; do yes $i & yes e$i >&2 & done; wait'
	eq "$(last status)" timeout
	inside 'echo next'
}

@test "a command that writes into its closed streams" {
	request 'exec 1>&- 2>&-; echo x; ls /nosuch; exit 3'
	eq "$(last exit_code)" 3
}

@test "a command that fills the disk, where the disk has an end" {
	as_root || skip "only root can make a small file system"
	umount_sandbox
	mkdir small
	mount -t tmpfs -o size=40m,mode=700 tmpfs small
	"$SANDPIT" mount -o net=none,state="$T/small/s" "$D" 3>&-
	request 'head -c 100M /dev/zero > /work/big; echo $?; ls /work'
	match "$(last output)" 'No space'
	refute inside 'echo more > /work/more && sync /work/more && test -s /work/more'
	test -e "$D/status.json"
	cat "$D/error" "$D/log" >/dev/null
	rm "$D/files/work/big"
	inside 'echo fine > /work/x; cat /work/x'
	umount_sandbox
	"$SANDPIT" mount -o net=none,state="$T/small/s" "$D" 3>&-
	eq "$(cat "$D/files/work/x")" fine
	umount_sandbox
	umount small
}

@test "output that fills the disk: the run ends, the daemon lives" {
	as_root || skip "only root can make a small file system"
	umount_sandbox
	mkdir small
	mount -t tmpfs -o size=20m,mode=700 tmpfs small
	"$SANDPIT" mount -o net=none,state="$T/small/s" "$D" 3>&-
	request 'head -c 60M /dev/zero; exit 5'
	eq "$(last exit_code)" 5
	eq "$(result .stdoutBytes)" 62914560
	eq "$(result .truncated)" true
	rm -r "$D/out/1"
	inside 'echo next'
	umount_sandbox
	umount small
}

@test "a very long environment and a very long command" {
	json "{\"cmd\": \"true\", \"env\": {\"A\": \"$(head -c 100000 /dev/zero | tr '\0' x)\"}}"
	eq "$(cat "$D/out/$ID/exit_code")" 0
	python3 -c 'import json; print(json.dumps({"cmd": ["echo"] + ["x" * 1000] * 500}))' >"$D/ctl/run.json"
	eq "$(stat -c %s "$D/out/last/stdout")" 500500
	run fsop open "$D/ctl/run.json" w write "{\"cmd\": [\"echo\", \"$(head -c 100000 /dev/zero | tr '\0' x)\"]}" close
	inside 'echo next'
}

@test "an argument too long for exec fails clearly" {
	python3 -c 'import json; print(json.dumps({"cmd": ["echo", "x" * 300000]}))' >request
	run cp request "$D/ctl/run.json"
	if [[ $status == 0 ]]; then
		refute test "$(last exit_code)" = 0
		match "$(last status)" failed
		[[ -n $(last stderr) ]]
	else
		eq "$(wc -l <"$D/error")" 1
	fi
	inside 'echo next'
}

@test "a shell that does not exist" {
	json '{"cmd": "true", "shell": "/bin/nosuch"}' 2>/dev/null || { match "$(cat "$D/error")" nosuch; return; }
	eq "$(cat "$D/out/$ID/status")" failed
	match "$(cat "$D/out/$ID/stderr")" nosuch
	eq "$(cat "$D/out/$ID/exit_code")" 127
}

@test "the sandbox's /bin/sh is gone: runs fail with words, the daemon lives" {
	request 'rm -f /bin/sh /usr/bin/sh /usr/bin/dash' || true
	request 'echo x' || true
	wait_for is_file "$D/out/2/exit_code"
	if [[ $(cat "$D/out/2/stdout") != x ]]; then
		eq "$(cat "$D/out/2/status")" failed
		[[ -n $(cat "$D/out/2/stderr") ]]
	fi
	json '{"cmd": ["/usr/bin/env", "echo", "without a shell"]}'
	eq "$(cat "$D/out/$ID/stdout")" "without a shell"
}

@test "the default cwd is removed" {
	echo /work/d >"$D/ctl/cwd" 2>/dev/null || { mkdir "$D/files/work/d" && echo /work/d >"$D/ctl/cwd"; }
	rm -rf "$D/files/work/d"
	request 'echo x' || true
	match "$(cat "$D/error")$(cat "$D/out/last/stderr" 2>/dev/null)" '/work/d'
	echo /work >"$D/ctl/cwd"
	inside 'echo next'
}

@test "a user that was removed from the sandbox's passwd" {
	request 'sed -i /^user:/d /etc/passwd'
	run fsop open "$D/ctl/run.json" w write '{"cmd": "true", "user": "user"}' close
	match "$output" 'EINVAL'
	request 'head -c 100000 /dev/urandom > /etc/passwd; ln -sf /dev/zero /etc/group'
	request 'echo still' || true
	eq "$(last stdout)" still
}

@test "garbage in every control file" {
	for file in run start run.json cwd env user timeout; do
		head -c 10000 /dev/urandom >"$D/ctl/$file" 2>/dev/null || true
		cat /bin/ls | head -c 100000 >"$D/ctl/$file" 2>/dev/null || true
		: >"$D/ctl/$file"
	done
	eq "$(wc -l <"$D/error")" 1
	echo 'A=1' >"$D/ctl/env"
	eq "$(inside 'echo next')" next
}

@test "a state directory with damaged contents: refused or healed, with words, never a crash" {
	inside 'echo before' >/dev/null
	umount_sandbox
	state=$(echo "$XDG_STATE_HOME"/sandpit/*m)
	for file in "$state"/*.db "$state"/*.db-wal; do
		[[ -f $file ]] || continue
		head -c 5000 /dev/urandom >"$file"
	done
	run mount_sandbox
	if [[ $status == 0 ]]; then
		inside 'echo after'
	else
		[[ -n $output ]]
		refute grep -qi 'signal\|core' <<<"$output"
	fi
}

@test "a run's spooled output is damaged or gone" {
	inside 'echo before' >/dev/null
	umount_sandbox
	state=$(echo "$XDG_STATE_HOME"/sandpit/*m)
	find "$state/runs" -type f -name '*std*' -delete
	mount_sandbox
	cat "$D/out/1/stdout" "$D/out/1/result.json" "$D/out/1/output" >/dev/null 2>&1 || true
	inside 'echo after'
	rm -rf "$D/out/1"
}
