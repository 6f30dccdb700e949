# Every kind of writer makes one request of what it writes to a control file.
# runs-as: root user
load ../lib/helper

# one_run TEXT: exactly one run exists, its command is TEXT (without the last newline).
one_run() {
	eq "$(runs)" 1 "number of runs"
	eq "$(last cmd)" "$1" cmd
	eq "$(last exit_code)" 0 "exit code"
}

@test "echo" {
	echo 'echo hello' >"$D/ctl/run"
	one_run 'echo hello'
	eq "$(last stdout)" hello
}

@test "echo without a newline" {
	echo -n 'echo hello' >"$D/ctl/run"
	one_run 'echo hello'
}

@test "a printf of two lines, which bash writes one by one" {
	printf 'echo a\necho b\n' >"$D/ctl/run"
	one_run $'echo a\necho b'
	eq "$(last stdout)" $'a\nb'
}

@test "two processes that share one open file" {
	echo 'echo head' >head
	echo 'echo body' >body
	{ cat head; cat body; } >"$D/ctl/run"
	one_run $'echo head\necho body'
	eq "$(last stdout)" $'head\nbody'
}

@test "a shell that forks between its writes" {
	(echo 'echo a'; (echo 'echo b'); /bin/echo 'echo c'; echo 'echo d') >"$D/ctl/run"
	one_run $'echo a\necho b\necho c\necho d'
}

@test "a pipeline of writers" {
	{ echo 'echo a'; printf 'echo %s\n' b c | sed 's/ c/ d/'; } >"$D/ctl/run"
	one_run $'echo a\necho b\necho d'
}

@test "a loop of a hundred writes" {
	for i in {1..100}; do echo "echo $i"; done >"$D/ctl/run"
	eq "$(runs)" 1
	eq "$(last stdout)" "$(seq 100)"
}

@test "append" {
	echo 'echo first' >>"$D/ctl/run"
	one_run 'echo first'
	echo 'echo second' >>"$D/ctl/run"
	eq "$(runs)" 2
	eq "$(last cmd)" 'echo second'
}

@test "dd, byte by byte" {
	printf 'echo dd; echo two\n' | dd of="$D/ctl/run" bs=1 2>/dev/null
	one_run 'echo dd; echo two'
}

@test "dd without truncation" {
	printf 'echo dd\n' | dd of="$D/ctl/run" conv=notrunc 2>/dev/null
	one_run 'echo dd'
}

@test "tee" {
	printf 'echo a\necho b\n' | tee "$D/ctl/run" >/dev/null
	one_run $'echo a\necho b'
}

@test "cp" {
	printf 'echo copied\n' >script
	cp script "$D/ctl/run"
	one_run 'echo copied'
}

@test "cat of a here-document" {
	cat >"$D/ctl/run" <<-'END'
		for i in 1 2 3; do
			echo "line $i"
		done
	END
	eq "$(runs)" 1
	eq "$(last stdout)" $'line 1\nline 2\nline 3'
}

@test "dash" {
	dash -c 'echo "echo one" >"$1"; printf "echo a\necho b\n" >"$1"' dash "$D/ctl/run"
	eq "$(runs)" 2
	eq "$(last stdout)" $'a\nb'
}

@test "a new file beside it, renamed over it" {
	echo 'echo renamed' >"$D/ctl/run~"
	eq "$(runs)" 0
	mv "$D/ctl/run~" "$D/ctl/run"
	one_run 'echo renamed'
	refute test -e "$D/ctl/run~"
}

@test "python: with open" {
	python3 - "$D/ctl/run" <<-'END'
		import sys
		with open(sys.argv[1], "w") as f:
		    f.write("echo a\n")
		    f.flush()
		    f.write("echo b\n")
	END
	one_run $'echo a\necho b'
}

@test "python: open().write() with nobody to close it" {
	python3 -c 'import sys; open(sys.argv[1], "w").write("echo open\n")' "$D/ctl/run"
	one_run 'echo open'
}

@test "python: pathlib, unbuffered bytes, os.write" {
	python3 - "$D/ctl/run" <<-'END'
		import os, pathlib, sys
		pathlib.Path(sys.argv[1]).write_text("echo pathlib")
		with open(sys.argv[1], "wb", buffering=0) as f:
		    f.write(b"echo un")
		    f.write(b"buffered")
		fd = os.open(sys.argv[1], os.O_WRONLY)
		os.write(fd, b"echo os")
		os.close(fd)
	END
	eq "$(runs)" 3
	eq "$(cat "$D"/out/[123]/stdout)" $'pathlib\nunbuffered\nos'
}

@test "node: writeFileSync and a stream" {
	need node
	node -e '
		const fs = require("fs");
		fs.writeFileSync(process.argv[1], "echo sync\n");
		const s = fs.createWriteStream(process.argv[1]);
		s.write("echo a\n"); s.write("echo b\n"); s.end();' "$D/ctl/run"
	eq "$(runs)" 2
	eq "$(cat "$D/out/1/stdout")" sync
	eq "$(last stdout)" $'a\nb'
}

@test "vim in Ex mode" {
	need vim
	vim -u NONE -es -c '0put =[\"echo a\",\"echo b\"]' -c '$d' -c wq "$D/ctl/run" </dev/null
	one_run $'echo a\necho b'
}

@test "vim with its defaults, in a terminal" {
	need vim script
	script -qec "vim '+normal iecho from vim' +wq '$D/ctl/run'" /dev/null </dev/null >/dev/null
	one_run 'echo from vim'
	eq "$(ls -A "$D/ctl" | grep -E '\.sw|^4913$' || true)" "" "editor's leftovers"
}

@test "vim edits the last request and keeps a backup" {
	need vim
	echo 'echo one' >"$D/ctl/run"
	vim -u NONE -es -c 'set backup writebackup backupcopy=no' -c '%s/one/two/' -c wq \
		"$D/ctl/run" </dev/null
	eq "$(runs)" 2
	eq "$(last stdout)" two
	test -f "$D/ctl/run"
}

@test "sed -i edits the last request" {
	echo 'echo one' >"$D/ctl/run"
	sed -i s/one/two/ "$D/ctl/run"
	eq "$(runs)" 2
	eq "$(last cmd)" 'echo two'
	eq "$(ls -A "$D/ctl" | grep -c '^sed' || true)" 0
}

@test "curl -o" {
	need curl
	echo 'echo curled' >script
	curl -s -o "$D/ctl/run" "file://$T/script"
	one_run 'echo curled'
}

@test "a descriptor of the shell, written by another program" {
	echo 'echo inherited' >script
	cat script | (exec 7>"$D/ctl/run"; cat >&7)
	one_run 'echo inherited'
}
