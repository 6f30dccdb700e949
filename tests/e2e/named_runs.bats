# Runs with a given name: done exactly once.
# runs-as: root user
load ../lib/helper

@test "mkdir and write to cmd starts it in the background" {
	mkdir "$D/out/build-42"
	echo 'echo built; exit 3' >"$D/out/build-42/cmd"
	eq "$(cat "$D/out/build-42/wait")" 3
	eq "$(cat "$D/out/build-42/stdout")" built
	eq "$(readlink "$D/out/last")" build-42
	eq "$(result .id build-42)" build-42
}

@test "the write returns while the command runs" {
	mkdir "$D/out/long"
	echo 'until test -e /work/go; do sleep 0.02; done' >"$D/out/long/cmd"
	eq "$(cat "$D/out/long/status")" running
	: >"$D/files/work/go"
	eq "$(cat "$D/out/long/wait")" 0
}

@test "request.json instead of cmd" {
	mkdir "$D/out/r"
	echo '{"cmd": ["pwd"], "cwd": "/tmp"}' >"$D/out/r/request.json"
	eq "$(cat "$D/out/r/wait")" 0
	eq "$(cat "$D/out/r/stdout")" /tmp
}

@test "a second mkdir fails with EEXIST" {
	run fsop mkdir "$D/out/a" mkdir "$D/out/a"
	eq "$output" $'mkdir 0\nmkdir EEXIST'
	echo true >"$D/out/a/cmd"
	eq "$(cat "$D/out/a/wait")" 0
	run fsop mkdir "$D/out/a"
	eq "$output" "mkdir EEXIST"
}

@test "the same again starts nothing, something else is EBUSY" {
	mkdir "$D/out/a"
	echo 'echo x >> /work/count' >"$D/out/a/cmd"
	eq "$(cat "$D/out/a/wait")" 0
	echo 'echo x >> /work/count' >"$D/out/a/cmd"
	run fsop open "$D/out/a/cmd" w write $'echo x >> /work/count\n' close
	refute grep -q E <<<"$output"
	run fsop open "$D/out/a/cmd" w write $'echo y >> /work/count\n' close
	match "$output" EBUSY
	eq "$(cat "$D/files/work/count")" x
	eq "$(cat "$D/out/a/cmd")" 'echo x >> /work/count'
}

@test "ten writers of the same, at once: it runs once" {
	mkdir "$D/out/a"
	for i in {1..10}; do
		start sh -c 'echo "echo x >> /work/count" >"$1"' sh "$D/out/a/cmd"
	done
	wait "${STARTED[@]}"
	eq "$(cat "$D/out/a/wait")" 0
	eq "$(cat "$D/files/work/count")" x
	eq "$(runs)" 1
}

@test "ten mkdirs at once: one succeeds" {
	for i in {1..10}; do
		start sh -c 'mkdir "$1" 2>/dev/null && echo won >>"$2"' sh "$D/out/a" "$T/won"
	done
	wait "${STARTED[@]}" || true
	eq "$(cat won)" won
}

@test "names that are not allowed" {
	long=$(printf 'x%.0s' {1..65})
	for name in 17 "$long" .a -a _a 'a b' $'a\nb' 'a:b'; do
		run fsop mkdir "$D/out/$name"
		eq "$output" "mkdir EINVAL" || fail "name: $name"
	done
	run fsop mkdir "$D/out/last"
	match "$output" 'mkdir E(INVAL|EXIST)'
	eq "$(runs)" 0
}

@test "an empty directory can be removed again" {
	mkdir "$D/out/a"
	rmdir "$D/out/a"
	refute test -e "$D/out/a"
	mkdir "$D/out/a"
	rm -r "$D/out/a"
	refute test -e "$D/out/a"
}

@test "bad requests are refused and the name stays free for a good one" {
	mkdir "$D/out/a"
	run fsop open "$D/out/a/request.json" w write '{"cmd": 5}' close
	eq "${lines[1]}" "write EINVAL"
	eq "$(wc -l <"$D/error")" 1
	echo '{"cmd": "echo good"}' >"$D/out/a/request.json"
	eq "$(cat "$D/out/a/wait")" 0
	eq "$(cat "$D/out/a/stdout")" good
}

@test "a name in use is refused as id, and the other way round" {
	mkdir "$D/out/a"
	run fsop open "$D/ctl/run.json" w write '{"cmd": "true", "id": "a"}' close
	eq "${lines[1]}" "write EEXIST"
	json '{"cmd": "true", "id": "b"}'
	run fsop mkdir "$D/out/b"
	eq "$output" "mkdir EEXIST"
}

@test "after a remount the name is still taken, and the same write starts nothing" {
	mkdir "$D/out/a"
	echo 'echo x >> /work/count' >"$D/out/a/cmd"
	eq "$(cat "$D/out/a/wait")" 0
	umount_sandbox
	mount_sandbox
	run fsop mkdir "$D/out/a"
	eq "$output" "mkdir EEXIST"
	run fsop open "$D/out/a/cmd" w write $'echo x >> /work/count\n' close
	refute grep -q E <<<"$output"
	eq "$(cat "$D/files/work/count")" x
}

@test "cp starts it, too" {
	echo 'echo copied' >script
	mkdir "$D/out/a"
	cp script "$D/out/a/cmd"
	eq "$(cat "$D/out/a/wait")" 0
	eq "$(cat "$D/out/a/stdout")" copied
}

@test "request.json is done once, too" {
	local request='{"cmd": "echo x >>/work/count; echo $WHO", "env": {"WHO": "you"}}' i

	mkdir "$D/out/r"
	for i in 1 2 3; do
		echo "$request" >"$D/out/r/request.json"
	done
	eq "$(cat "$D/out/r/wait")" 0
	printf %s "$request" >"$D/out/r/request.json"
	refute eval 'echo "${request/you/me}" >"$D/out/r/request.json"'
	match "$(cat "$D/error")" '^out/r/request.json: .*EBUSY'
	refute eval 'echo "{\"cmd\": \"date\"}" >"$D/out/r/request.json"'
	eq "$(cat "$D/files/work/count" "$D/out/r/stdout")" $'x\nyou'
	eq "$(jq -r .stdout "$D/out/r/request.json")" you
	umount_sandbox
	mount_sandbox
	echo "$request" >"$D/out/r/request.json"
	refute eval 'echo "{\"cmd\": \"date\"}" >"$D/out/r/request.json"'
	eq "$(cat "$D/files/work/count")" x
	eq "$(runs)" 1
	inside true
	gone "$D/out/1/request.json"
}

@test "names that nobody starts have an end, and take no place of runs that have ended" {
	inside 'echo kept' >/dev/null
	for i in {1..1000}; do
		mkdir "$D/out/n$i"
	done
	run fsop mkdir "$D/out/more"
	eq "$output" "mkdir ENOSPC"
	match "$(cat "$D/error")" '^out/more: there are 1000 runs already that have a name .*ENOSPC\)$'
	run fsop mkdir "$D/out/n7"
	eq "$output" "mkdir EEXIST"
	inside true
	eq "$(cat "$D/out/1/stdout")" kept
	echo true >"$D/out/n7/cmd"
	eq "$(cat "$D/out/n7/wait")" 0
	mkdir "$D/out/more"
	umount_sandbox
	mount_sandbox
	run fsop mkdir "$D/out/more2"
	eq "$output" "mkdir ENOSPC"
	rmdir "$D/out/n8"
	mkdir "$D/out/more2"
}
