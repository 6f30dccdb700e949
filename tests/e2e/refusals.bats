# What cannot be done to the files of the mount: each refusal is one line of error that says why.
# runs-as: root user
load ../lib/helper

# refuses LINE CMD...: CMD fails, and what stands in error then is LINE.
refuses() {
	local line=$1

	shift
	refute "$@"
	eq "$(cat "$D/error")" "$line" "after $*"
}

writes() { echo x >"$D/$1"; }

@test "files that are only read" {
	refuses "status.json: it is only read (EACCES)" writes status.json
	refuses "README: it is only read (EACCES)" writes README
	refuses "status.json: it is only read (EACCES)" truncate -s 1 "$D/status.json"
	inside true
	refuses "out/1/stdout: it is only read (EACCES)" writes out/1/stdout
	refuses "out/1/stdout: it is only read (EACCES)" writes out/last/stdout
	refuses "README: its mode and owner are fixed (EPERM)" chmod 600 "$D/README"
}

@test "nothing can be made in the directories of the mount but by their own requests" {
	refuses "run: no files can be made here; ls shows those that are (EACCES)" writes run
	refuses "ctl/rnu: there is no such file here; ls shows those that are (ENOENT)" writes ctl/rnu
	refuses "ports/1234: nothing in the sandbox listens on such a port; start a server first, ls shows the ports that are listened on (ENOENT)" \
		writes ports/1234
	refuses "checkpoints/x: no files can be made here; ls shows those that are (EACCES)" \
		writes checkpoints/x
	refuses "foo: no directories can be made here (EACCES)" mkdir "$D/foo"
	refuses "ctl/foo: no directories can be made here (EACCES)" mkdir "$D/ctl/foo"
	refuses "checkpoints/5: no directories can be made here (EACCES)" mkdir "$D/checkpoints/5"
	refuses "ctl/l: links can be made below files/ only (EACCES)" ln -s /etc/passwd "$D/ctl/l"
	refuses "ctl/l: links can be made below files/ only (EPERM)" ln "$D/README" "$D/ctl/l"
	refuses "ctl/p: no devices, FIFOs and sockets can be made here (EPERM)" mkfifo "$D/ctl/p"
}

@test "what is always there stays, under its name" {
	inside true
	refuses "README: it is always there (EACCES)" rm -f "$D/README"
	refuses "ctl/run: it is always there; give it a request by writing, as cp does and mv does not (EACCES)" \
		rm -f "$D/ctl/run"
	echo 'echo moved' >script
	refuses "ctl/run: it is always there; give it a request by writing, as cp does and mv does not (EACCES)" \
		mv -f script "$D/ctl/run"
	eq "$(cat script)" 'echo moved'
	refuses "out/last: it is always there (EACCES)" rm -f "$D/out/last"
	refuses "ctl: it is always there (EBUSY)" rmdir "$D/ctl"
	refuses "files: it is always there (EBUSY)" rmdir "$D/files"
	refuses "README: it keeps its name (EACCES)" mv "$D/README" "$D/other"
	refuses "ctl: it keeps its name (EACCES)" mv -T "$D/ctl" "$D/other"
	refuses "out/last: it keeps its name (EACCES)" mv "$D/out/last" "$D/out/other"
	echo x >"$D/ctl/run~"
	refuses "ctl/rnu: there is no such file here; ls shows those that are (EACCES)" \
		mv "$D/ctl/run~" "$D/ctl/rnu"
}

@test "standard input of a run that was given none" {
	echo 'sleep 60' >"$D/ctl/start"
	refuses 'out/1/stdin: the run was started without "stdinOpen" (EPIPE)' writes out/1/stdin
	echo KILL >"$D/out/1/kill"
}

@test "asking what may be done is no failure" {
	test ! -w "$D/README"
	test -r "$D/README"
	refute test -e "$D/nosuch"
	cp -r "$D/ctl" "$D/status.json" .
	eq "$(cat "$D/error")" ""
}
