# What control files answer: sizes, limits, errors, values, temporary files of editors.
# runs-as: root user
load ../lib/helper

# error_names FILE: /error is one line that names the file.
error_names() {
	eq "$(wc -l <"$D/error")" 1 "lines of error"
	match "$(cat "$D/error")" "$1"
}

@test "ctl/ has exactly the files of the contract" {
	eq "$(ls "$D/ctl" | sort | tr '\n' ' ')" "cwd env run run.json start timeout user "
}

@test "a fresh ctl/run is empty and then gives the last request's text" {
	eq "$(cat "$D/ctl/run")" ""
	printf 'echo a\necho b\n' >"$D/ctl/run"
	printf 'echo a\necho b\n' | cmp - "$D/ctl/run"
	printf 'echo c' >"$D/ctl/start"
	eq "$(cat "$D/ctl/start")" 'echo c'
	eq "$(cat "$D/ctl/run")" $'echo a\necho b'
}

@test "run.json explains itself until it has an answer" {
	refute grep -qv '^#' "$D/ctl/run.json"
	grep -q '^#' "$D/ctl/run.json"
	json '{"cmd":"true"}'
	refute grep -q '^#' "$D/ctl/run.json"
}

@test "a request of 1 MiB runs" {
	{ echo 'echo big'; head -c $((1024 * 1024 - 9)) /dev/zero | tr '\0' '#'; } >"$D/ctl/run"
	eq "$(last stdout)" big
	eq "$(stat -c %s "$D/out/last/cmd")" $((1024 * 1024))
}

@test "a request of more than 1 MiB gives EFBIG and runs nothing" {
	run fsop open "$D/ctl/run" w fill $((1024 * 1024)) x write y close
	eq "${lines[1]}" "fill 1048576"
	eq "${lines[2]}" "write EFBIG"
	eq "$(runs)" 0
	error_names ctl/run
	run bash -c 'head -c 1100000 /dev/zero | tr "\0" "#" | cat >"$1"' bash "$D/ctl/run"
	eq "$status" 1
	match "$output" 'File too large'
	eq "$(runs)" 0
	inside 'echo still works'
}

@test "NUL bytes give EINVAL and run nothing" {
	run fsop open "$D/ctl/run" w writex 'echo a\x00b\n' close
	match "$output" 'EINVAL'
	eq "$(runs)" 0
	error_names ctl/run
}

@test "a NUL byte at the end of a line is none of its white space" {
	refute bash -c "printf '5\0\n' >'$D/ctl/timeout'"
	eq "$(cat "$D/error")" "ctl/timeout: the request holds a NUL byte (EINVAL)"
	eq "$(cat "$D/ctl/timeout")" 0
	printf 'r\0' >"$D/code/r/language"
	eq "$(cat "$D/error")" "code/r/language: the request holds a NUL byte (EINVAL)"
}

@test "run.json: errors are seen by the write itself" {
	for text in '{"cmd":' '{"cmd":"true","nonsense":1}' '[]' '{}' '{"cmd":5}' '{"cmd":[]}' '{"cmd":[1]}' \
		'{"cmd":"true","timeout":-1}' '{"cmd":"true","timeout":"x"}' '{"cmd":"true","env":[]}' \
		'{"cmd":"true","env":{"A":1}}' '{"cmd":"true","env":{"A=B":"1"}}' '{"cmd":"true","id":"../x"}' \
		'{"cmd":"true","id":"17"}' '{"cmd":"true","id":"last"}' '{"cmd":"true","id":""}' \
		'{"cmd":"true","user":"nobody-like-that"}' '{"cmd":"true","limits":{"memory":"lots"}}' \
		'{"cmd":"true","limits":{"nonsense":1}}' '{"cmd":"true"} trailing' '{"cmd":"a\u0000b"}'; do
		run fsop open "$D/ctl/run.json" w write "$text" close
		match "$output" EINVAL || fail "accepted: $text"
		[[ $text == '{"cmd":' || $text == '[]' ]] || match "${lines[1]}" 'write EINVAL' || fail "not at the write: $text"
		error_names run.json || fail "for: $text"
	done
	eq "$(runs)" 0
}

@test "a shell sees the error of a bad request" {
	run bash -c 'echo "{\"cmd\":\"true\",\"nonsense\":1}" >"$1"' bash "$D/ctl/run.json"
	eq "$status" 1
	match "$output" 'write error'
	match "$(cat "$D/error")" nonsense
}

@test "a cwd that does not exist is refused" {
	run fsop open "$D/ctl/run.json" w write '{"cmd":"true","cwd":"/no/such"}' close
	match "$output" 'E(INVAL|NOENT)'
	error_names run.json
	run fsop open "$D/ctl/cwd" w write $'/no/such\n' close
	match "$output" 'E(INVAL|NOENT)'
	error_names ctl/cwd
}

@test "value files refuse what makes no sense, and keep what they had" {
	for text in -1 abc 1e999 '1 2' 99999999999999999999; do
		run fsop open "$D/ctl/timeout" w write "$text"$'\n' close
		match "$output" 'E(INVAL|RANGE)' || fail "accepted: $text"
	done
	for text in relative ../x; do
		run fsop open "$D/ctl/cwd" w write "$text"$'\n' close
		match "$output" EINVAL || fail "accepted: $text"
	done
	run fsop open "$D/ctl/user" w write $'nobody-like-that\n' close
	match "$output" EINVAL
	run fsop open "$D/ctl/env" w write $'no equals sign\n' close
	match "$output" EINVAL || error_names ctl/env
	eq "$(cat "$D/ctl/timeout")" 0
	inside 'test "$PWD" = /workspace'
}

@test "value files read back what was written, and hold for later runs" {
	echo /tmp >"$D/ctl/cwd"
	printf 'A=1\nB=two words\nEMPTY=\n' >"$D/ctl/env"
	echo 30 >"$D/ctl/timeout"
	eq "$(cat "$D/ctl/cwd")" /tmp
	eq "$(cat "$D/ctl/env")" $'A=1\nB=two words\nEMPTY='
	eq "$(cat "$D/ctl/timeout")" 30
	eq "$(inside 'echo "$PWD $A $B [$EMPTY]"')" '/tmp 1 two words []'
	echo 'A=3' >"$D/ctl/env"
	eq "$(inside 'echo "$A [$B]"')" '3 []'
}

@test "a value written without a newline is one, too" {
	printf /tmp >"$D/ctl/cwd"
	eq "$(cat "$D/ctl/cwd")" /tmp
	eq "$(inside pwd)" /tmp
}

@test "ctl/user: the default user of runs" {
	echo root >"$D/ctl/user"
	eq "$(inside 'id -u')" 0
	if as_single; then
		run fsop open "$D/ctl/user" w write $'user\n' close
		match "$output" EINVAL
		error_names ctl/user
	else
		echo user >"$D/ctl/user"
		eq "$(cat "$D/ctl/user")" user
		eq "$(inside 'id -un; echo $HOME')" $'user\n/home/user'
	fi
}

@test "stat gives as many bytes as a read" {
	inside 'echo out; echo err >&2' >/dev/null
	echo bad >"$D/ctl/timeout" || true
	echo A=1 >"$D/ctl/env"
	while read -r file; do
		case $file in */wait | */live) continue ;; esac
		for try in 1 2 3; do
			size=$(stat -c %s "$file")
			got=$(cat "$file" | wc -c)
			[[ $size != "$got" ]] || break
		done
		eq "$size" "$got" "size of $file"
	done < <(find "$D" -path "$D/files" -prune -o -type f ! -name kill ! -name stdin -print)
}

@test "every regular file ends, whoever reads it" {
	inside 'echo out' >/dev/null
	timeout 20 find "$D" -path "$D/files" -prune -o -type f -exec cat {} + >/dev/null 2>&1 || true
	[[ $? != 124 ]]
	timeout 20 tar cf "$T/tree.tar" -C "$D" README status.json ctl out
	eq "$(tar xOf tree.tar out/1/stdout)" out
	timeout 20 grep -rq out "$D/out" "$D/ctl" "$D/README"
}

@test "names that do not exist, files that cannot be written" {
	run fsop open "$D/nosuch" r open "$D/out/1" r open "$D/out/nosuch/stdout" r open "$D/ctl/nosuch" r \
		open "$D/README" w open "$D/status.json" w open "$D/stats.json" rw open "$D/log" w,append \
		open "$D/error" w
	eq "$output" $'open ENOENT\nopen ENOENT\nopen ENOENT\nopen ENOENT\nopen EACCES\nopen EACCES\nopen EACCES\nopen EACCES\nopen EACCES'
	inside true
	run fsop open "$D/out/1/stdout" w open "$D/out/1/exit_code" w,trunc open "$D/out/1/status" rw
	eq "$output" $'open EACCES\nopen EACCES\nopen EACCES'
	run fsop open "$D/out/1/cmd" w write other close
	match "$output" 'E(ACCES|BUSY)'
}

@test "what the contract does not name cannot be made" {
	run fsop open "$D/new" w,creat mkdir "$D/new" symlink x "$D/new" mkfifo "$D/new" open "$D/ctl/nosuch" w,creat \
		mkdir "$D/ctl/new" rmdir "$D/ctl" rmdir "$D/files" unlink "$D/README" unlink "$D/ctl/run" \
		rename "$D/README" "$D/README2" none truncate "$D/README" 0
	refute grep -qE ' [0-9]+$' <<<"$output"
	refute grep -qE 'EIO|ENOSYS' <<<"$output"
	test -f "$D/ctl/run"
	test -f "$D/README"
}

@test "editors' temporary files live beside the control files and run nothing" {
	for name in .run.swp 4913 run~ sedAbc123; do
		echo 'touch /work/bad' >"$D/ctl/$name"
		eq "$(cat "$D/ctl/$name")" 'touch /work/bad'
		ls -A "$D/ctl" | grep -qxF -- "$name"
		rm "$D/ctl/$name"
		refute test -e "$D/ctl/$name"
	done
	eq "$(runs)" 0
	refute test -e "$D/files/work/bad"
}

@test "temporary files have a bound in size and number" {
	run fsop open "$D/ctl/.run.swp" w,creat fill $((1024 * 1024)) x write y close
	match "$output" 'write E(FBIG|NOSPC)'
	rm "$D/ctl/.run.swp"
	made=0
	for i in {1..70}; do
		: 2>/dev/null >"$D/ctl/.run$i.swp" || break
		made=$i
	done
	eq "$made" 64 "temporary files"
	rm "$D"/ctl/.run*.swp
	: >"$D/ctl/.run.swp"
}

@test "a temporary file behaves like a file: offsets, truncation, modes, times" {
	cd "$D/ctl"
	run fsop open run~ rw,creat,excl write hello pwrite J 0 pread 10 0 ftruncate 2 fsize fsync close \
		open run~ rw,creat,excl chmod run~ 600 size run~
	eq "$output" $'open 0\nwrite 5\npwrite 1\npread [Jello]\nftruncate 0\nfsize 2\nfsync 0\nclose 0\nopen EEXIST\nchmod 0\nsize 2'
	touch -d 2020-01-01 run~
	cd "$T"
}

@test "renaming a control file away makes a copy and the file stays" {
	echo 'echo one' >"$D/ctl/run"
	mv "$D/ctl/run" "$D/ctl/run~"
	eq "$(cat "$D/ctl/run~")" 'echo one'
	test -f "$D/ctl/run"
	eq "$(runs)" 1
	echo 'echo two' >"$D/ctl/run"
	eq "$(last stdout)" two
}

@test "a temporary file renamed over a value file sets the value" {
	echo /tmp >"$D/ctl/cwd~"
	mv "$D/ctl/cwd~" "$D/ctl/cwd"
	eq "$(cat "$D/ctl/cwd")" /tmp
}

@test "sed -i on a value file" {
	printf 'A=1\nB=2\n' >"$D/ctl/env"
	sed -i 's/B=2/B=3/' "$D/ctl/env"
	eq "$(cat "$D/ctl/env")" $'A=1\nB=3'
	eq "$(inside 'echo $A$B')" 13
}

@test "error is empty at first and has the last failure as one line" {
	eq "$(cat "$D/error")" ""
	eq "$(stat -c %s "$D/error")" 0
	echo no-number 2>/dev/null >"$D/ctl/timeout" || true
	error_names ctl/timeout
	printf '{"cmd":"true","id":"a\\nb"}' 2>/dev/null >"$D/ctl/run.json" || true
	error_names run.json
}

@test "shell text is passed on byte for byte" {
	printf 'printf "%%s" "\xff\xfe|$1|`echo x`|\t|\\\\"\n# \xc3\xa9 \xe2\x82\xac' >want
	cp want "$D/ctl/run"
	cmp want "$D/out/last/cmd"
	printf '\xff\xfe||x|\t|\\' | cmp - "$D/out/last/stdout"
}

@test "odd command texts are commands, never options of something" {
	for text in -- --bind -c -x; do
		echo "$text" >"$D/ctl/run"
		refute test "$(last exit_code)" = 0
		eq "$(last cmd)" "$text"
	done
	echo '# only a comment' >"$D/ctl/run"
	eq "$(last exit_code)" 0
	printf '\n\n' >"$D/ctl/run"
	inside 'echo fine'
}
