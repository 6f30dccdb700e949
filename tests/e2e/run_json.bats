# ctl/run.json: every key.
# runs-as: root user single
load ../lib/helper

@test "cmd as text" {
	json '{"cmd": "echo $((1+1))"}'
	eq "$(cat "$D/out/$ID/stdout")" 2
}

@test "cmd as a list is executed without a shell" {
	json '{"cmd": ["printf", "%s|", "a b", "$HOME", "*"]}'
	eq "$(cat "$D/out/$ID/stdout")" 'a b|$HOME|*|'
}

@test "a list whose program does not exist" {
	json '{"cmd": ["no-such-program"]}' || true
	eq "$(last exit_code)" 127
	match "$(last status)" '^(failed|exited)$'
	match "$(last stderr)" 'no-such-program'
}

@test "a reader on the handle that wrote waits for the whole result" {
	exec {fd}<>"$D/ctl/run.json"
	echo '{"cmd": "sleep 1; echo late; exit 3"}' >&"$fd"
	answer=$(cat <&"$fd")
	exec {fd}>&-
	eq "$(jq -c '[.stdout, .exitCode, .status]' <<<"$answer")" '["late\n",3,"exited"]'
}

@test "cwd" {
	json '{"cmd": "pwd", "cwd": "/usr"}'
	eq "$(cat "$D/out/$ID/stdout")" /usr
	eq "$(result .cwd "$ID")" /usr
}

@test "env adds to and overrides the environment" {
	echo 'A=default' >"$D/ctl/env"
	json '{"cmd": "echo \"$A|$B|$HOME\"", "env": {"A": "x y", "B": "é\"$"}}'
	eq "$(cat "$D/out/$ID/stdout")" 'x y|é"$|/root'
	eq "$(inside 'echo $A$B')" default
}

@test "user" {
	json '{"cmd": "id -un", "user": "root"}'
	eq "$(cat "$D/out/$ID/stdout")" root
	as_single && return
	json '{"cmd": "id -un; id -u; echo $HOME; touch /home/user/f", "user": "user"}'
	eq "$(cat "$D/out/$ID/stdout")" $'user\n1000\n/home/user'
	eq "$(cat "$D/out/$ID/exit_code")" 0
	eq "$(result .user "$ID")" user
}

@test "stdin" {
	json '{"cmd": "cat; echo end", "stdin": "line 1\nline 2\n"}'
	eq "$(cat "$D/out/$ID/stdout")" $'line 1\nline 2\nend'
}

@test "stdin of 500 kB, and a command that does not read it" {
	python3 -c 'import json, sys; json.dump({"cmd": "wc -c", "stdin": "x" * 500000}, sys.stdout)' >request
	cp request "$D/ctl/run.json"
	eq "$(last stdout)" 500000
	sed 's/wc -c/true/' request >"$D/ctl/run.json"
	eq "$(last exit_code)" 0
}

@test "timeout" {
	json '{"cmd": "echo a; sleep 9999", "timeout": 0.3}' || json '{"cmd": "echo a; sleep 9999", "timeout": 1}'
	eq "$(cat "$D/out/$ID/status") $(cat "$D/out/$ID/exit_code")" "timeout 124"
	eq "$(cat "$D/out/$ID/stdout")" a
	eq "$(result .timedOut "$ID")" true
}

@test "background returns while it runs" {
	json '{"cmd": "until test -e /work/go; do sleep 0.02; done", "background": true}'
	eq "$(cat "$D/out/$ID/status")" running
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
}

@test "without background it returns when it has ended" {
	json '{"cmd": "sleep 0.3; echo end"}'
	eq "$(cat "$D/out/$ID/exit_code")" 0
}

@test "shell" {
	json '{"cmd": "echo $BASH_VERSION ${X:-none}; [[ a == a ]]", "shell": "/bin/bash"}'
	eq "$(cat "$D/out/$ID/exit_code")" 0
	match "$(cat "$D/out/$ID/stdout")" '^[5-9]\..* none$'
}

@test "id names the run; the same id again is EEXIST" {
	json '{"cmd": "echo a", "id": "build"}'
	eq "$ID" build
	eq "$(cat "$D/out/build/stdout")" a
	eq "$(readlink "$D/out/last")" build
	run fsop open "$D/ctl/run.json" w write '{"cmd": "echo b", "id": "build"}' close
	eq "${lines[1]}" "write EEXIST"
	eq "$(cat "$D/out/build/stdout")" a
	inside true
	eq "$(readlink "$D/out/last")" 1
}

@test "ids: what is allowed" {
	long=$(printf 'x%.0s' {1..64})
	for id in a A-b_c.d 1a "$long"; do
		json "{\"cmd\": \"true\", \"id\": \"$id\"}" || fail "refused: $id"
		test -d "$D/out/$id"
	done
	for id in "${long}x" .a -a _a 'a/b' 'a b' ..; do
		run fsop open "$D/ctl/run.json" w write "{\"cmd\":\"true\",\"id\":\"$id\"}" close
		eq "${lines[1]}" "write EINVAL" || fail "accepted: $id"
	done
}

@test "limits hold for the run" {
	json '{"cmd": "ulimit -n; head -c 2000000 /dev/zero >/work/f", "limits": {"nofile": 64, "fsize": "1M"}}'
	eq "$(head -n 1 "$D/out/$ID/stdout")" 64
	eq "$(stat -c %s "$D/files/work/f")" 1048576
}

@test "limits: memory" {
	json '{"cmd": ["python3", "-c", "x = bytearray(300 << 20); print(len(x))"], "limits": {"memory": "100M"}}'
	refute test "$(cat "$D/out/$ID/exit_code")" = 0
	eq "$(cat "$D/out/$ID/stdout")" ""
	inside 'echo others do not suffer'
}

@test "pretty-printed JSON, in many writes" {
	printf '{\n  "cmd": "echo pretty",\n  "env": {\n    "A": "}"\n  }\n}\n' >"$D/ctl/run.json"
	eq "$(last stdout)" pretty
	eq "$(runs)" 1
	printf '{ "cmd" : "echo slow" }' | dd of="$D/ctl/run.json" bs=1 2>/dev/null
	eq "$(last stdout)" slow
	eq "$(runs)" 2
}

@test "written by jq, python and node" {
	jq -n '{cmd: "echo jq"}' >"$D/ctl/run.json"
	eq "$(last stdout)" jq
	python3 -c 'import json, sys; json.dump({"cmd": "echo python"}, open(sys.argv[1], "w"), indent=4)' "$D/ctl/run.json"
	eq "$(last stdout)" python
	need node
	node -e 'require("fs").writeFileSync(process.argv[1], JSON.stringify({cmd: "echo node"}))' "$D/ctl/run.json"
	eq "$(last stdout)" node
}

@test "the answer on the same handle is JSON" {
	json '{"cmd": "true", "id": "x"}'
	eq "$(jq -r .id <<<"$ANSWER")" x
	eq "$(jq -r .cmd "$D/ctl/run.json")" "true"
}

@test "JSON of hostile shape" {
	python3 - "$D/ctl/run.json" "$D/error" <<-'END'
		import os, sys
		for text in [b"[" * 500000, b'{"cmd":"' + b"\\u0041" * 1000 + b'"' , b'{"cmd":"\xff"}', b'{"cmd":"true"',
		             b'{"a":' * 100000, b'"', b"null", b"1e999", b'{"cmd":"true","timeout":1e999}',
		             b'{"cmd":"true","env":{"A":"\\u0000"}}', b"\xef\xbb\xbf{}", b'{"cmd":"true"}{"cmd":"true"}']:
		    fd = os.open(sys.argv[1], os.O_WRONLY)
		    failed = False
		    try:
		        os.write(fd, text)
		    except OSError:
		        failed = True
		    try:
		        os.close(fd)
		    except OSError:
		        failed = True
		    assert failed, text[:40]
		    assert open(sys.argv[2], "rb").read().count(b"\n") == 1, text[:40]
	END
	eq "$(runs)" 0
	inside 'echo alive'
}
