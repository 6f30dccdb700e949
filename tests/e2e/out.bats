# out/ID/: what a run leaves to be read.
# runs-as: root user
load ../lib/helper

@test "an ended run has all its files" {
	inside 'echo a; echo b >&2' >/dev/null
	eq "$(ls "$D/out/1" | sort | tr '\n' ' ')" \
		"cmd exit_code kill live output result.json status stderr stdin stdout wait "
}

@test "ids count up from 1 and last links to the newest by its bare id" {
	for i in 1 2 3; do
		inside "echo $i" >/dev/null
		eq "$(readlink "$D/out/last")" "$i"
		eq "$(cat "$D/out/last/stdout")" "$i"
	done
	eq "$(ls "$D/out" | sort | tr '\n' ' ')" "1 2 3 last "
}

@test "there is no last before the first run" {
	refute test -L "$D/out/last"
	eq "$(ls -A "$D/out")" ""
}

@test "cmd is the command as given" {
	printf 'echo  "a  b"   # c\n' >"$D/ctl/run"
	printf 'echo  "a  b"   # c\n' | cmp - "$D/out/1/cmd"
}

@test "both streams are byte-exact" {
	python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 4000)' >"$D/files/work/bytes"
	cp "$D/files/work/bytes" bytes
	request 'cat /work/bytes; head -c 100000 /work/bytes >&2'
	cmp bytes "$D/out/1/stdout"
	head -c 100000 bytes | cmp - "$D/out/1/stderr"
	eq "$(stat -c %s "$D/out/1/stdout")" 1024000
	eq "$(result '.stdoutBytes, .stderrBytes, .truncated' | tr '\n' ' ')" "1024000 100000 false "
}

@test "output has both streams in the order of their arrival" {
	request 'for i in 1 2 3; do echo o$i; sleep 0.1; echo e$i >&2; sleep 0.1; done'
	eq "$(last output)" $'o1\ne1\no2\ne2\no3\ne3'
	eq "$(last stdout)" $'o1\no2\no3'
	eq "$(last stderr)" $'e1\ne2\ne3'
}

# Writes much to stdout, to stderr once the host says so, and to stdout again.
in_turns='head -c 3000000 /work/a; until [ -e /work/go ]; do sleep 0.01; done
cat /work/b >&2; until [ -e /work/on ]; do sleep 0.01; done; cat /work/a'

start_in_turns() {
	head -c 4000000 /dev/urandom >"$D/files/work/a"
	head -c 2500000 /dev/urandom >"$D/files/work/b"
	start_run "$in_turns"
	size_is() { [[ $(stat -c %s "$D/out/$ID/$1") == "$2" ]]; }
	wait_for size_is stdout 3000000
	: >"$D/files/work/go"
	wait_for size_is stderr 2500000
	(head -c 3000000 "$D/files/work/a" && cat "$D/files/work/b") | cmp - "$D/out/$ID/output"
}

@test "much of both streams: output has all of it in its order, while it grows and after a mount" {
	start_in_turns
	: >"$D/files/work/on"
	wait_for is_file "$D/out/$ID/exit_code"
	for _ in 1 2; do
		(head -c 3000000 "$D/files/work/a" && cat "$D/files/work/a") | cmp - "$D/out/$ID/stdout"
		cmp "$D/files/work/b" "$D/out/$ID/stderr"
		(head -c 3000000 "$D/files/work/a" && cat "$D/files/work/b" "$D/files/work/a") | cmp - "$D/out/$ID/output"
		tail -c +2999000 "$D/out/$ID/output" | head -c 2000 |
			cmp - <(tail -c +2999000 "$D/files/work/a" | head -c 1001; head -c 999 "$D/files/work/b")
		umount_sandbox
		mount_sandbox
	done
	rm -r "$D/out/$ID"
	umount_sandbox
	eq "$(find "$XDG_STATE_HOME" -path '*/runs/*')" ""
}

@test "exit codes and signals are told exactly" {
	while read -r text status code; do
		request "${text//_/ }"
		eq "$(last status) $(last exit_code)" "$status $code" "$text"
	done <<-'END'
		true exited 0
		false exited 1
		exit_77 exited 77
		exit_300 exited 44
		no-such-command exited 127
		/etc/hostname exited 126
		kill_-TERM_$$ signaled 143
		kill_-KILL_$$ signaled 137
		kill_-SEGV_$$ signaled 139
	END
	eq "$(result .signal)" SIGSEGV || eq "$(result .signal)" SEGV
}

@test "status and exit_code are single lines" {
	request 'exit 3'
	printf 'exited\n' | cmp - "$D/out/1/status"
	printf '3\n' | cmp - "$D/out/1/exit_code"
}

@test "exit_code appears last, when all else is complete" {
	for round in 1 2 3 4 5; do
		start_run 'head -c 300000 /dev/zero; echo end; echo end >&2; exit 3'
		until [[ -e $D/out/$ID/exit_code ]]; do
			[[ $(cat "$D/out/$ID/status") != "" ]]
		done
		eq "$(cat "$D/out/$ID/exit_code")" 3
		eq "$(cat "$D/out/$ID/status")" exited
		eq "$(stat -c %s "$D/out/$ID/stdout")" 300004
		eq "$(cat "$D/out/$ID/stderr")" end
		eq "$(result .exitCode "$ID")" 3
	done
}

@test "result.json has all keys with right values" {
	request 'printf "a\303\251\n"; echo err >&2; exit 5'
	eq "$(result 'keys_unsorted | join(" ")')" \
		"id cmd stdout stderr exitCode status signal timedOut cwd user startedAt endedAt durationMs stdoutBytes stderrBytes truncated"
	eq "$(result .id)" 1
	eq "$(result .stdout)" "aé"
	eq "$(result .stderr)" err
	eq "$(result '[.exitCode, .status, .signal, .timedOut, .cwd, .user, .stdoutBytes, .truncated] | @json')" \
		'[5,"exited",null,false,"/workspace","root",4,false]'
	eq "$(result '.startedAt <= .endedAt and (.durationMs | type) == "number" and .durationMs >= 0')" true
	match "$(result .startedAt)" '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$'
	eq "$(result .cmd)" 'printf "a\303\251\n"; echo err >&2; exit 5'
}

@test "result.json: output that is not UTF-8 comes with its base64" {
	request 'printf "a\377b"; echo fine >&2'
	eq "$(result .stdout)" $'a\xef\xbf\xbdb'
	eq "$(result .stdoutBase64 | base64 -d | od -An -tx1)" ' 61 ff 62'
	eq "$(result .stderrBase64)" null
	python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$D/out/1/result.json"
}

@test "result.json holds at most 1 MiB of each stream, and stays valid when cut inside a character" {
	request "python3 -c 'print(\"x\" + \"é\" * 700000, end=\"\")'"
	eq "$(result .stdoutBytes)" 1400001
	eq "$(result '.stdout | utf8bytelength <= 1048576 and utf8bytelength > 1048570')" true
	eq "$(stat -c %s "$D/out/1/stdout")" 1400001
}

@test "stdout grows while the command runs" {
	start_run 'echo first; until test -e /work/go; do sleep 0.02; done; echo second'
	wait_for file_is "$D/out/$ID/stdout" first
	eq "$(stat -c %s "$D/out/$ID/stdout")" 6
	start sh -c 'exec tail -n +1 -f "$1" >"$2"' sh "$D/out/$ID/stdout" "$T/tailed"
	wait_for has_text tailed first
	: >"$D/files/work/go"
	wait_for has_text tailed second
	eq "$(cat "$D/out/$ID/wait")" 0
}

@test "output over the limit is counted and dropped, and the command is not blocked" {
	umount_sandbox
	mount_sandbox -o output_bytes=64K
	request 'head -c 5000000 /dev/zero; echo end >&2; exit 4'
	eq "$(last exit_code)" 4
	eq "$(stat -c %s "$D/out/1/stdout")" 65536
	eq "$(result '.stdoutBytes, .truncated' | tr '\n' ' ')" "5000000 true "
	eq "$(last stderr)" end
}

@test "a flood of 200 MB arrives whole where the limit allows, and memory stays flat" {
	! sanitized || skip "memory of a sanitizer build says nothing"
	umount_sandbox
	mount_sandbox -o output_bytes=256M
	request 'head -c 1000 /dev/zero'
	before=$(rss)
	request 'head -c 200000000 /dev/zero'
	eq "$(stat -c %s "$D/out/last/stdout")" 200000000
	after=$(rss)
	((after - before < 8192)) || fail "grew from $before to $after KiB"
}

@test "a child in the background does not hold the writer up; its output still arrives" {
	new_mark
	request "(until test -e /work/go; do sleep 0.02; done; echo late; exec sleep 9999.$MARK) & echo early"
	eq "$(last exit_code)" 0
	eq "$(last stdout)" early
	: >"$D/files/work/go"
	wait_for has_text "$D/out/1/stdout" late
	living "sleep 9999.$MARK"
	echo KILL >"$D/out/1/kill"
	wait_for not_living "sleep 9999.$MARK"
	eq "$(last exit_code)" 0
}

@test "a background child lives until umount at the latest" {
	new_mark
	request "setsid sleep 9999.$MARK >/dev/null 2>&1 &"
	wait_for living "sleep 9999.$MARK"
	umount_sandbox
	not_living "sleep 9999.$MARK"
}

@test "a command that closes its streams runs on and ends as it ends" {
	request 'exec >&- 2>&- <&-; i=0; while test $i -lt 1000; do i=$((i+1)); done; exit 6'
	eq "$(last exit_code)" 6
	eq "$(last stdout)$(last stderr)" ""
}

@test "rm -r forgets an ended run, also after a remount" {
	inside 'echo a' >/dev/null
	inside 'echo b' >/dev/null
	rm -r "$D/out/1"
	refute test -e "$D/out/1"
	eq "$(ls "$D/out" | sort | tr '\n' ' ')" "2 last "
	umount_sandbox
	mount_sandbox
	refute test -e "$D/out/1"
	inside 'echo c' >/dev/null
	eq "$(readlink "$D/out/last")" 3
}

@test "rm -r of the newest run: last is never a dangling link" {
	inside 'echo a' >/dev/null
	inside 'echo b' >/dev/null
	rm -r "$D/out/2"
	if test -L "$D/out/last"; then
		test -d "$D/out/last/"
	fi
	inside 'echo c' >/dev/null
	eq "$(readlink "$D/out/last")" 3
}

@test "a run that is going cannot be removed" {
	start_run 'until test -e /work/go; do sleep 0.02; done'
	run fsop rmdir "$D/out/$ID"
	eq "$output" "rmdir EBUSY"
	run rm -r "$D/out/$ID"
	refute test "$status" = 0
	match "$output" 'busy'
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
	rm -r "$D/out/$ID"
}

@test "rm -rf out/* forgets all" {
	for i in 1 2 3; do inside "echo $i" >/dev/null; done
	rm -rf "$D"/out/*
	eq "$(runs)" 0
	inside 'echo again'
}

@test "the files of a run keep their content while somebody reads and removes" {
	request 'head -c 300000 /dev/zero'
	exec 7<"$D/out/1/stdout"
	head -c 1000 <&7 | wc -c
	rm -r "$D/out/1"
	cat <&7 >/dev/null || true
	exec 7<&-
	inside 'echo fine'
}

@test "tools read the streams: head, tail, wc, grep, diff, mmap, tar, cp" {
	request 'seq 1 10000'
	seq 1 10000 >want
	file=$D/out/1/stdout
	eq "$(head -n 1 "$file")" 1
	eq "$(tail -n 1 "$file")" 10000
	eq "$(tail -c 4 "$file")" 000
	eq "$(wc -c <"$file")" 48894
	diff want "$file"
	eq "$(grep -c 99 "$file")" "$(grep -c 99 want)"
	cp "$file" copy
	cmp want copy
	tar cf x.tar -C "$D/out/1" stdout
	tar xOf x.tar | cmp want
	run fsop open "$file" r mmap_read 4 private
	eq "${lines[1]}" 'mmap_read [1\x0a2\x0a]'
	eq "$(dd if="$file" bs=1 skip=48888 2>/dev/null)" 10000
}
