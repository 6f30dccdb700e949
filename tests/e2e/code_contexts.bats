# Contexts: settings, isolation, queue, restart, removal, limits.
# runs-as: root user single
load ../lib/helper.bash
load ../lib/code.bash

@test "the five languages are there from the start, and start nothing by themselves" {
	eq "$(ls "$D/code" | tr '\n' ' ')" "bash javascript python r typescript "
	cat "$D"/code/*/status "$D"/code/*/info.json "$D"/code/*/in >/dev/null
	eq "$(cat "$D"/code/*/status | sort -u)" new
	eq "$(jq .counts.kernels "$D/status.json")" 0
}

@test "a context of one's own: made, set, used, removed" {
	mkdir "$D/code/mine"
	eq "$(cat "$D/code/mine/language")" python
	echo bash >"$D/code/mine/language"
	echo /tmp >"$D/code/mine/cwd"
	printf 'A=it'\''s\nB=2 3\n' >"$D/code/mine/env"
	prints_text mine 'pwd; echo "$A,$B"' $'/tmp\nit\'s,2 3'
	eq "$(jq -r '.id, .language, .cwd, .executionCount' "$D/code/mine/info.json" | tr '\n' ' ')" "mine bash /tmp 1 "
	match "$(jq -r .createdAt "$D/code/mine/info.json")" '^20..-'
	run bash -c "echo r >'$D/code/mine/language'"
	[[ $status -ne 0 ]]
	has_text "$D/error" "the kernel has started"
	rmdir "$D/code/mine"
	gone "$D/code/mine"
	eq "$(jq .counts.kernels "$D/status.json")" 0
}

@test "kernels that are idle do nothing, those held ready too" {
	for name in bash python javascript typescript r; do
		[[ $(jq -r ".languages.$name" "$D/status.json") == yes ]] || continue
		run_code "$name" 1
	done
	# Processor time of every process but the lister's own and init.
	ticks() { inside 'for p in /proc/[0-9]*; do
		case $p in /proc/1|/proc/$$) ;; *) sed "s/.*) //" "$p/stat" | cut -d " " -f 12,13 | sed "s,^,$p ,"; esac
	done' | grep -v ' 0 0$'; }
	idle_for_a_second() {
		local before

		before=$(ticks)
		sleep 1
		[[ $(ticks) == "$before" ]]
	}
	ticks | grep -q '^/proc/' || fail "no process is seen"
	wait_for idle_for_a_second
}

@test "names that are none, and the standard contexts, are refused" {
	eq "$(fsop mkdir "$D/code/.x" 2>&1 || true)" "mkdir EINVAL"
	refute mkdir "$D/code/a b"
	refute mkdir "$D/code/bash"
	refute rmdir "$D/code/bash"
	has_text "$D/error" "always exists"
}

@test "a context whose kernel did not start takes other settings" {
	local spec=/root/.local/share/jupyter/kernels/broken

	inside "mkdir -p $spec && echo '{\"argv\": [\"false\"], \"display_name\": \"x\", \"language\": \"x\"}' >$spec/kernel.json"
	mkdir "$D/code/mine"
	echo jupyter:broken >"$D/code/mine/language"
	echo 1 >"$D/code/mine/in" || true
	wait_for context_is mine dead
	echo bash >"$D/code/mine/language"
	run_code mine 'echo works'
	eq "$(cat "$D/code/mine/out/last/stdout")" works
	refute bash -c "echo python >'$D/code/mine/language'"
}

@test "an unknown language is refused in the write" {
	mkdir "$D/code/mine"
	refute bash -c "echo cobol >'$D/code/mine/language'"
	has_text "$D/error" 'no language "cobol"'
	eq "$(cat "$D/code/mine/language")" python
	refute bash -c "echo python >'$D/code/bash/language'"
}

@test "contexts are apart" {
	mkdir "$D/code/one" "$D/code/two"
	echo bash >"$D/code/one/language"
	echo bash >"$D/code/two/language"
	run_code one 'x=1'
	prints_text two 'echo "${x-unset}"' unset
	prints_text one 'echo $x' 1
}

@test "several writers queue, and the outputs are apart" {
	run_code bash 'n=0'
	for i in 1 2 3 4 5; do
		start run_code bash 'n=$((n + 1)); echo "$n"; sleep 0.1'
	done
	wait_for file_is "$D/code/bash/out/6/status" ok
	for i in 1 2 3 4 5; do
		eq "$(cat "$D/code/bash/out/$((i + 1))/stdout")" "$i"
	done
}

@test "start does not wait, wait and live do" {
	exec {fd}<>"$D/code/bash/start"
	echo 'echo one; sleep 0.5; echo two' >&"$fd"
	read -r n <&"$fd"
	exec {fd}>&-
	eq "$n" 1
	wait_for file_is "$D/code/bash/out/1/stdout" one
	eq "$(cat "$D/code/bash/out/1/status")" running
	wait_for context_is bash busy
	eq "$(cat "$D/code/bash/out/1/live")" $'one\ntwo'
	eq "$(cat "$D/code/bash/out/1/wait")" ok
	wait_for context_is bash idle
}

@test "a reader of in.json on the handle that wrote waits for the whole result" {
	exec {fd}<>"$D/code/bash/in.json"
	echo '{"code": "sleep 1; echo late"}' >&"$fd"
	result=$(cat <&"$fd")
	exec {fd}>&-
	eq "$(jq -c '[.logs.stdout, .status]' <<<"$result")" '[["late"],"ok"]'
}

@test "in.json takes a timeout and reads back as the result" {
	exec {fd}<>"$D/code/bash/in.json"
	echo '{"code": "echo hi", "timeout": 10}' >&"$fd"
	result=$(head -n 1 <&"$fd")
	exec {fd}>&-
	eq "$(jq -r '.logs.stdout[0], .status, .executionCount, .language' <<<"$result" | tr '\n' ' ')" "hi ok 1 bash "
	eq "$(jq -r .code "$D/code/bash/in.json")" "echo hi"
	refute bash -c "echo '{\"code\": \"1\", \"nope\": 1}' >'$D/code/bash/in.json'"
	has_text "$D/error" 'unknown key "nope"'
	refute bash -c "echo '{\"timeout\": 1}' >'$D/code/bash/in.json'"
	refute bash -c "echo '{\"code\": 5}' >'$D/code/bash/in.json'"
}

@test "the handle that wrote reads the execution number, a fresh one the source" {
	exec {fd}<>"$D/code/bash/in"
	echo 'true' >&"$fd"
	eq "$(cat <&"$fd")" 1
	exec {fd}>&-
	eq "$(cat "$D/code/bash/in")" true
}

@test "restart forgets, and the next execution says so" {
	run_code bash 'x=1'
	echo 1 >"$D/code/bash/restart"
	prints_text bash 'echo "${x-unset}"' unset
	eq "$(field bash .restarted)" true
	run_code bash 'true'
	eq "$(field bash .restarted)" false
}

@test "after a restart the settings can change until the kernel starts anew" {
	run_code bash 'true'
	run bash -c "echo A=1 >'$D/code/bash/env'; cat '$D/error'"
	match "$output" "the kernel has started"
	echo 1 >"$D/code/bash/restart"
	eq "$(cat "$D/code/bash/status")" new
	echo A=2 >"$D/code/bash/env"
	echo /tmp >"$D/code/bash/cwd"
	prints_text bash 'echo "$A $PWD"' "2 /tmp"
	run fsop open "$D/code/bash/cwd" w write /work$'\n' close
	match "$output" EBUSY
}

@test "a kernel in a directory that is restored is in the new one" {
	mkdir "$D/files/work/app"
	echo one >"$D/files/work/app/a"
	echo 'persist /work/app' >"$D/checkpoint"
	while read -r name look; do
		[[ $(jq -r ".languages.$name" "$D/status.json") == yes ]] || continue
		mkdir "$D/code/my$name"
		echo "$name" >"$D/code/my$name/language"
		echo /work/app >"$D/code/my$name/cwd"
		prints_text "my$name" "$look" one
		for _ in 1 2; do
			echo 'restore /work/app' >"$D/checkpoint"
			prints_text "my$name" "$look" one
		done
		rmdir "$D/code/my$name"
	done <<-'END'
		bash set -eu; cat a
		python print(open("a").read(), end="")
		javascript process.stdout.write(require("fs").readFileSync("a"))
		r writeLines(readLines("a"))
	END
}

@test "interrupt and restart answer on the handle that wrote" {
	run fsop open "$D/code/bash/restart" rw write 1 read 100
	eq "${lines[2]}" 'read [{"restarted":false}\x0a]'
	run_code bash 'true'
	run fsop open "$D/code/bash/interrupt" rw write 1 read 100
	eq "${lines[2]}" 'read [{"interrupted":false}\x0a]'
	echo 'exec sleep 9999' >"$D/code/bash/start"
	wait_for has_text "$D/code/bash/status" busy
	run fsop open "$D/code/bash/restart" rw write 1 read 100
	eq "${lines[2]}" 'read [{"restarted":true}\x0a]'
	eq "$(cat "$D/code/bash/status")" new
}

@test "a context whose kernel has died is new after a restart" {
	run_code bash 'exit 3' || true
	eq "$(cat "$D/code/bash/status")" dead
	echo 1 >"$D/code/bash/restart"
	eq "$(cat "$D/code/bash/status")" new
	echo A=2 >"$D/code/bash/env"
	prints_text bash 'echo "$A"' 2
}

@test "rmdir while busy works, and its writer is let go" {
	mkdir "$D/code/mine"
	echo bash >"$D/code/mine/language"
	new_mark
	start run_code mine "sleep 9999.$MARK"
	wait_for living "sleep 9999.$MARK"
	rmdir "$D/code/mine"
	wait_for not_living "sleep 9999.$MARK"
	wait_for ended_pid "$PID"
	eq "$(cat "$D/error")" "code/mine/in: the context was removed before the end of the execution (ECANCELED)"
}

@test "as many kernels as are allowed, and one more is told so" {
	umount_sandbox
	mount_sandbox -o kernels=2
	for i in a b c; do
		mkdir "$D/code/$i"
		echo bash >"$D/code/$i/language"
	done
	run_code a true
	run_code b true
	printf true >"$T/true"
	refute cp "$T/true" "$D/code/c/in"
	has_text "$D/error" "2 kernels run already"
	rmdir "$D/code/a"
	prints_text c 'echo yes' yes
}

@test "an execution is removed with rmdir, and last is the newest" {
	run_code bash 'echo 1'
	run_code bash 'echo 2'
	eq "$(readlink "$D/code/bash/out/last")" 2
	rmdir "$D/code/bash/out/1"
	eq "$(ls "$D/code/bash/out" | tr '\n' ' ')" "2 last "
}

@test "a language of the INI file" {
	umount_sandbox
	printf '[kernel shell2]\ncommand = /opt/sandpit/bash/bash-driver\nenv = GREETING=hello\n' >"$T/x.ini"
	mount_sandbox -c "$T/x.ini"
	mkdir "$D/code/mine"
	echo shell2 >"$D/code/mine/language"
	prints_text mine 'echo $GREETING' hello
}

# Pids, inside, of Python's drivers; of those that have loaded all that is loaded ahead.
drivers() { inside 'grep -l python/driver[.]py /proc/[0-9]*/cmdline | cut -d/ -f3 | sort'; }
loaded() { inside 'grep -l matplotlib/_path /proc/[0-9]*/maps | cut -d/ -f3 || true' 2>/dev/null; }
drivers_are() { [[ $(drivers | wc -l) == "$1" ]]; }
some_loaded() { [[ -n $(loaded) ]]; }

@test "kernels are held ready: five contexts in a row find one, and what was taken is replaced" {
	language python
	run_code python 1
	WAIT_SECONDS=60 wait_for drivers_are 6
	drivers >"$T/before"
	for i in 1 2 3 4 5; do
		mkdir "$D/code/c$i"
		text_of "c$i" 'import os; os.getpid()' >>"$T/taken"
		echo >>"$T/taken"
	done
	eq "$(sort -u "$T/taken" | comm -12 - "$T/before" | wc -l)" 5
	WAIT_SECONDS=60 wait_for drivers_are 11
	for i in 1 2 3 4 5; do
		rmdir "$D/code/c$i"
	done
	WAIT_SECONDS=60 wait_for drivers_are 6
}

@test "one of those held ready has loaded what most code imports, and is taken first" {
	language python
	/usr/bin/python3 -c 'import pandas' 2>/dev/null || skip "pandas is not installed"
	run_code python 1
	WAIT_SECONDS=60 wait_for some_loaded
	n=0
	WAIT_SECONDS=60 wait_for new_one_is_loaded
}

# It is not given away while it is loading.
new_one_is_loaded() {
	loaded >"$T/loaded"
	mkdir "$D/code/n$((++n))"
	grep -qx "$(text_of "n$n" 'import os; os.getpid()')" "$T/loaded"
}

@test "what is held ready can be killed from inside: contexts start by themselves" {
	language python
	run_code python 'x = 1; import os; me = os.getpid()'
	WAIT_SECONDS=60 wait_for drivers_are 6
	inside "kill -9 \$(grep -l python/driver[.]py /proc/[0-9]*/cmdline | cut -d/ -f3 | grep -vx $(text_of python me))"
	mkdir "$D/code/a"
	gives a '2' 2
	gives python x 1
}

@test "with little memory one is held ready" {
	language python
	umount_sandbox
	mount_sandbox -o memory=900M
	run_code python 1
	WAIT_SECONDS=60 wait_for some_loaded
	eq "$(drivers | wc -l)" 2
}
