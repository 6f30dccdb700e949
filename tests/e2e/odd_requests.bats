# Requests that nobody means to write: empty, cut short, with bytes that do not belong there, far too
# long. Each is refused with a line in error that says what is wrong and what to write instead.
# runs-as: root user
load ../lib/helper

# refuses LINE FILE TEXT ERRNO: the write, or else the close, fails, and error has LINE (a pattern).
refuses() {
	run fsop open "$D/$2" w write "$3" close
	match "$output" "$4"
	match "$(cat "$D/error")" "^$2: $1 \\($4\\)$"
}

@test "a NUL byte is no white space" {
	start_run 'sleep 60'
	for file in ctl/cwd ctl/user ctl/timeout "out/$ID/kill"; do
		for text in '\0' '\0\n' '/work\0' '/work\0\n' '5\0' 'root\0\n'; do
			run bash -c 'printf "$1" | dd of="$0" status=none' "$D/$file" "$text"
			refute test "$status" = 0
			eq "$(cat "$D/error")" "$file: the request holds a NUL byte (EINVAL)"
		done
	done
	eq "$(cat "$D/out/$ID/status")" running
	eq "$(cat "$D/ctl/timeout")" 0
	echo KILL >"$D/out/$ID/kill"
}

@test "reading on the handle whose request was refused gives no other request's answer" {
	exec {fd}<>"$D/ctl/run.json"
	echo '{"cmd": "echo first"}' >&"$fd"
	match "$(cat <&"$fd")" '"stdout":"first'
	refute eval "echo '{\"cmd\": 1}' >&$fd"
	run cat <&"$fd"
	match "$output" 'Invalid argument'
	exec {fd}>&-
	run fsop open "$D/ctl/run.json" rw write '{"cmd": 1}' read 100 close
	refute grep -q ENOENT <<<"$output"
	run fsop open "$D/ctl/run" rw write 'echo one' read 100 write $'echo \\0' read 100
	refute grep -qx "$(cat "$D/out/last/cmd")" <<<"$output"
	run fsop open "$D/checkpoint" rw write $'persist /\n' read 300 close
	match "$output" 'SANDBOX_INVALID_ARGUMENT'
}

@test "what is cut off a file before it is closed is no part of the request" {
	python3 - "$D/ctl/run" <<'EOF'
import os, sys
def request(*steps):
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
    for text, size in steps:
        os.write(fd, text)
        os.ftruncate(fd, size)
        os.lseek(fd, size, 0)
    os.close(fd)
request((b"echo a long first draft\n", 0), (b"echo short\n", 11))
request((b"echo cut off here", 8))
request((b"echo all of it is dropped\n", 0))
request((b"echo longer\n", 4096))
EOF
	eq "$(cat "$D/out/1/cmd" "$D/out/2/cmd" "$D/out/3/cmd")" $'echo short\necho cutecho longer'
	eq "$(runs)" 3
}

@test "what could not be started is in error, too" {
	json '{"cmd": ["nosuch"]}'
	eq "$(cat "$D/error")" "out/1: executing nosuch: No such file or directory (ENOENT)"
	json '{"cmd": "true", "shell": "/bin/nosuch"}'
	eq "$(cat "$D/error")" "out/2: executing /bin/nosuch: No such file or directory (ENOENT)"
	json '{"cmd": ["/etc/passwd"]}'
	eq "$(cat "$D/error")" "out/3: executing /etc/passwd: Permission denied (EACCES)"
	mkdir "$D/files/work/gone"
	echo /work/gone >"$D/ctl/cwd"
	rmdir "$D/files/work/gone"
	request true
	match "$(cat "$D/error")" '^out/4: .*/work/gone: No such file or directory \(ENOENT\)$'
}

@test "too many, too large temporary files" {
	for i in {1..64}; do
		: >"$D/ctl/.f$i.swp"
	done
	refute eval ': >"$D/ctl/.f65.swp"'
	eq "$(cat "$D/error")" \
		"ctl/.f65.swp: there are 64 temporary files here, as many as may be; remove some (ENOSPC)"
	head -c 1048576 /dev/zero >"$D/ctl/.f1.swp"
	refute eval 'echo x >>"$D/ctl/.f1.swp"'
	eq "$(cat "$D/error")" "ctl/.f1.swp: a temporary file here is 1 MiB at most (EFBIG)"
	refute truncate -s 2000000 "$D/ctl/.f2.swp"
	eq "$(cat "$D/error")" "ctl/.f2.swp: a temporary file here is 1 MiB at most (EFBIG)"
	rm "$D"/ctl/.f*.swp
}

@test "perl -i edits a control file" {
	need perl
	request 'echo one'
	perl -pi -e s/one/two/ "$D/ctl/run"
	eq "$(last stdout)" two
	refute eval ': >"$D/ctl/commands"'
	match "$(cat "$D/error")" '^ctl/commands: there is no such file here'
}
