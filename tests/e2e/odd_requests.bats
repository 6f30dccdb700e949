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

@test "an empty value is said to be empty" {
	for text in $'\n' ' ' $'  \n' $'\r\n'; do
		refuses 'the directory is empty; write an absolute path, as /work' ctl/cwd "$text" EINVAL
		refuses "the user is empty; write a name or number of the sandbox's" ctl/user "$text" EINVAL
		refuses 'the timeout must be a number of seconds .*' ctl/timeout "$text" EINVAL
		refuses 'the request is empty; write one JSON object' ctl/run.json "$text" EINVAL
	done
	json_refused '{"cmd": "true", "cwd": ""}' 'the directory is empty; write an absolute path, as /work'
	json_refused '{"cmd": "true", "user": ""}' "the user is empty; write a name or number of the sandbox's"
	eq "$(cat "$D/ctl/cwd")" /workspace
}

# json_refused TEXT PATTERN
json_refused() { refuses "$2" ctl/run.json "$1"$'\n' EINVAL; }

@test "values are shown as they were written" {
	refuses 'the directory must be an absolute path, as /work, not "  /work"' ctl/cwd $'  /work\n' EINVAL
	refuses "no user \" root\" in the sandbox's /etc/passwd" ctl/user $' root\n' EINVAL
}

@test "what is no JSON is told in words of JSON, not of a parser" {
	json_refused nope 'not a JSON object: it must begin with \{, not with nope'
	json_refused '["true"]' 'not a JSON object: it must begin with \{, not with \["true"\]'
	refuses 'not a JSON object: it must begin with \{, not with true' ctl/run.json true EINVAL
	refuses 'not JSON: the text ends before its last \}' ctl/run.json '{"cmd": "true"' EINVAL
	json_refused '{"cmd": nope}' 'not JSON: no value \(text stands in double quotes\), at byte 9'
	json_refused '{cmd: "true"}' 'not JSON: a key in double quotes expected, at byte 1'
	json_refused '{"cmd" "true"}' 'not JSON: ":" expected after the key, at byte 7'
	json_refused '{"cmd": "true" "cwd": "/"}' 'not JSON: "," or "\}" expected, at byte 15'
	json_refused '{"cmd": ["a" "b"]}' 'not JSON: "," or "]" expected, at byte 13'
	json_refused $'{"cmd": "\xff"}' 'not JSON: the text is not UTF-8, at byte 9'
	json_refused $'\xef\xbb\xbf{"cmd": "true"}' \
		'not JSON: it begins with a byte order mark; write it without one'
	json_refused '{"cmd": "true"} {' 'not JSON: more text after the value, at byte 16'
	mkdir "$D/out/named"
	refuses 'not a JSON object: it must begin with \{, not with nope' out/named/request.json $'nope\n' EINVAL
	refuses 'not a JSON object: it must begin with \{, not with nope' code/python/in.json $'nope\n' EINVAL
	eq "$(runs)" 1
}

@test "the member that is wrong is named" {
	json_refused '{"cmd": ["echo", 1]}' '"cmd": word 1 is not a string'
	json_refused '{"cmd": "true", "env": {"A": 1}}' '"env": "A" must be a string'
	json_refused "{\"$(head -c 5000 /dev/zero | tr '\0' k)\": 1}" 'unknown key "k{60}" \(known: cmd, .*, limits\)'
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

@test "a directory that no command could enter is no default" {
	head -c 5000 /dev/zero | tr '\0' / >slashes
	refute cp slashes "$D/ctl/cwd"
	match "$(cat "$D/error")" '^ctl/cwd: .*ENAMETOOLONG\)$'
	echo "{\"cmd\": \"true\", \"cwd\": \"$(cat slashes)\"}" >request
	refute cp request "$D/ctl/run.json"
	match "$(cat "$D/error")" '^ctl/run.json: .*ENAMETOOLONG\)$'
	eq "$(inside pwd)" /workspace
}

@test "an environment that no command could be given" {
	refuses '"export A" is no name of a variable: a line is NAME=VALUE.*' ctl/env $'export A=1\n' EINVAL
	refuses '" A" is no name of a variable.*' ctl/env $' A=1\n' EINVAL
	refuses '" A" is no name of a variable.*' code/python/env $' A=1\n' EINVAL
	refuses 'line 2 is not NAME=VALUE' ctl/env $'B=1\nA\n' EINVAL
	{ echo 'A=1' && printf 'LONG=' && head -c 200000 /dev/zero | tr '\0' x; } >long
	refute cp long "$D/ctl/env"
	eq "$(cat "$D/error")" \
		"ctl/env: the value of LONG is too long for any command: at most 131071 bytes (E2BIG)"
	eq "$(inside 'echo "<$A>"')" '<>'
	printf 'A=a b\r\nB=2\r\n' >"$D/ctl/env"
	eq "$(inside 'printf "<%s|%s>" "$A" "$B"')" '<a b|2>'
	eq "$(cat "$D/ctl/env")" $'A=a b\r\nB=2\r'
}

@test "a signal that does not exist" {
	start_run 'sleep 60'
	for text in XYZ 99 0 -9 ' TERM' 'TERM KILL'; do
		refuses "no such signal: \"$text\" \\(write a name as TERM or SIGTERM, .*\\)" \
			"out/$ID/kill" "$text"$'\n' EINVAL
	done
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

@test "standard input of a run that has ended, or has closed it" {
	json '{"cmd": "true", "stdinOpen": true}'
	refute eval 'echo x >"$D/out/1/stdin"'
	eq "$(cat "$D/error")" "out/1/stdin: the run has ended (EPIPE)"
	json '{"cmd": "cat; sleep 60", "stdinOpen": true, "background": true}'
	echo x >"$D/out/2/stdin"
	refute eval 'echo y >"$D/out/2/stdin"'
	eq "$(cat "$D/error")" "out/2/stdin: the command has closed it, or a writer before did (EPIPE)"
	echo KILL >"$D/out/2/kill"
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

# What is refused before anybody has read it has no answer, also where the one before had.
@test "a refused request behind one that was answered, on one handle" {
	cat >two.py <<-'END'
		import os, sys
		path, first, second = sys.argv[1], sys.argv[2], sys.argv[3].encode() * int(sys.argv[4])
		fd = os.open(path, os.O_RDWR)
		os.write(fd, first.encode())
		print(os.read(fd, 4096) != b"")
		try:
		    while second:
		        second = second[os.write(fd, second):]
		except OSError as e:
		    print(os.strerror(e.errno))
		try:
		    print(os.read(fd, 4096).decode())
		except OSError as e:
		    print(os.strerror(e.errno))
	END
	eq "$(python3 two.py "$D/code/bash/in" 'echo a' x 1200000)" $'True\nFile too large\nFile too large'
	eq "$(python3 two.py "$D/ctl/run" 'echo a' x 1200000)" $'True\nFile too large\nFile too large'
	match "$(python3 two.py "$D/checkpoint" $'persist /work\n' x 1200000)" $'True\nFile too large\n.*LIMIT_EXCEEDED'
}

@test "who waits on a handle is not forgotten when the next request on it is refused" {
	cat >waiting.py <<'EOF'
import os, sys, threading, time

fd = os.open(sys.argv[1], os.O_RDWR)
os.write(fd, b'{"cmd": "sleep 9999"}')
def wait():
    try:
        os.pread(fd, 100, 0)
    except OSError as e:
        print(e.strerror)
waiting = threading.Thread(target=wait)
waiting.start()
while open(f"/proc/self/task/{waiting.native_id}/syscall").read().split()[0] != "17":
    time.sleep(0.01)
try:
    os.pwrite(fd, b'{"cdm": 1}', 100)
except OSError as e:
    print(e.strerror)
waiting.join()
EOF
	eq "$(timeout 20 python3 waiting.py "$D/ctl/run.json")" $'Invalid argument\nInvalid argument'
	echo KILL >"$D/out/last/kill"
}

@test "JSON is cut anywhere, within a character too" {
	cat >cut.py <<'EOF'
import os, sys

text = '{"cmd": "echo é€😀; exit 3"}'.encode()
for at in range(1, len(text)):
    fd = os.open(sys.argv[1], os.O_WRONLY)
    os.write(fd, text[:at])
    os.write(fd, text[at:])
    os.close(fd)
EOF
	python3 cut.py "$D/ctl/run.json"
	eq "$(last stdout) $(last exit_code)" 'é€😀 3'
	match "$(cat "$D/error")" '^$'
}
