# files/: locks (flock, fcntl) of processes outside and of commands exclude each other.
# runs-as: root user
load ../lib/helper

setup() {
	make_dirs
	need python3
	mount_sandbox -o name=locks
	W=$D/files/work
	cp "$TEST_LIB/locks.py" "$W/locks.py"
	echo 00000000 >"$W/f"
}

# steps STEP...: outside, in one line.
steps() { (cd "$W" && python3 locks.py "$@") | paste -sd,; }

# steps_inside STEP...: the same by a command.
steps_inside() { inside "cd /work && python3 locks.py $*" | paste -sd,; }

# hold STEP...: outside, until ./go exists in the work directory. Sets PID.
hold() {
	rm -f "$W/go" "$W/held"
	(cd "$W" && exec python3 locks.py "$@" mark=held until=go) >said 3>&- &
	PID=$!
	STARTED+=("$PID")
	wait_for is_file "$W/held"
}

# hold_inside STEP...
hold_inside() {
	rm -f "$W/go" "$W/held"
	start_run "cd /work && exec python3 locks.py $* mark=held until=go"
	wait_for is_file "$W/held"
}

# let_go: what is held is held no longer.
let_go() { : >"$W/go"; }
let_go_outside() { let_go && wait "$PID"; }
run_ended() { is_file "$D/out/$ID/exit_code" && [[ -s $D/out/$ID/exit_code ]]; }
let_go_inside() { let_go && wait_for run_ended; }

# waits PID: it sleeps in a call that is about a lock.
waits() { grep -qE '^(request_wait_answer|fuse_|locks_|fcntl|posix_lock|flock)' "/proc/$1/wchan" || grep -q '^State:.*[SD]' "/proc/$1/status"; }

# lock_fds: how many descriptors the daemon has.
daemon_fds() { find "/proc/$(daemon_pid)/fd" -maxdepth 1 -type l | wc -l; }

@test "a lock outside keeps a command out" {
	hold open=f:rw posix=w
	eq "$(steps_inside open=f:rw posix=w posix=r ofd=w)" EAGAIN,EAGAIN,EAGAIN
	eq "$(steps_inside open=f:rw flock=ex flock=un)" ok,ok
	let_go_outside
	eq "$(steps_inside open=f:rw posix=w ofd=u)" ok,ok
	hold open=f:r flock=ex
	eq "$(steps_inside open=f:r flock=ex flock=sh)" EAGAIN,EAGAIN
	eq "$(steps_inside open=f:rw posix=w)" ok
	let_go_outside
	hold open=f:rw ofd=w:10:5
	eq "$(steps_inside open=f:rw posix=w:14:1 posix=w:15:0 posix=w:0:10 ofd=r:0:0)" EAGAIN,ok,ok,EAGAIN
	let_go_outside
	hold open=f:r flock=sh
	eq "$(steps_inside open=f:r flock=ex flock=sh)" EAGAIN,ok
	let_go_outside
}

owners() { jq .counts.lockOwners "$D/status.json"; }
owners_are() { [[ $(owners) == "$1" ]]; }

@test "status.json counts who holds locks outside" {
	eq "$(owners)" 0
	hold open=f:rw posix=w
	eq "$(owners)" 1
	eq "$(steps open=f:rw flock=ex flock=un)" ok,ok
	wait_for owners_are 1
	let_go_outside
	wait_for owners_are 0
}

@test "a command's lock keeps those outside out" {
	hold_inside open=f:rw posix=w
	eq "$(steps open=f:rw posix=w posix=r ofd=w flock=ex)" EAGAIN,EAGAIN,EAGAIN,ok
	let_go_inside
	eq "$(steps open=f:rw posix=w)" ok
	hold_inside open=f:r flock=ex
	eq "$(steps open=f:r flock=ex flock=sh)" EAGAIN,EAGAIN
	run flock -n "$W/f" true
	eq "$status" 1
	let_go_inside
	hold_inside open=f:rw ofd=r:0:8
	eq "$(steps open=f:rw posix=r ofd=r ofd=w:7:1 posix=u)" ok,ok,EAGAIN,ok
	let_go_inside
}

@test "who waits for a command's lock gets it" {
	local kind

	for kind in posix ofd flock; do
		local how=w whole=w
		[[ $kind == flock ]] && whole=ex
		how=$whole
		hold_inside "open=f:rw" "$kind=$how"
		rm -f "$W/asks" "$W/got"
		start bash -c "cd '$W' && exec python3 locks.py open=f:rw mark=asks ${kind}w=$how mark=got" >answer
		wait_for is_file "$W/asks"
		wait_for waits "$PID"
		refute is_file "$W/got"
		let_go_inside
		wait "$PID"
		eq "$(cat answer)" ok "$kind"
	done
}

@test "a command that waits for a lock outside gets it, and so do others outside, the first first" {
	hold open=f:rw posix=w
	local holder=$PID

	start_run 'cd /work && exec python3 locks.py open=f:rw mark=asks posixw=w mark=got'
	wait_for is_file "$W/asks"
	refute is_file "$W/got"
	PID=$holder let_go_outside
	wait_for is_file "$W/got"
	wait_for run_ended
	hold open=f:rw flock=ex
	holder=$PID
	rm -f "$W/got" "$W/asks"
	start bash -c "cd '$W' && exec python3 locks.py open=f:rw mark=asks flockw=ex mark=got" >answer
	wait_for is_file "$W/asks"
	wait_for waits "$PID"
	refute is_file "$W/got"
	let_go
	wait "$holder" "$PID"
	eq "$(cat answer)" ok
}

@test "who waits is interrupted, and ends at a time limit" {
	hold_inside open=f:rw posix=w flock=ex
	eq "$(steps open=f:rw alarm=0.2 posixw=w alarm=0.2 ofdw=w alarm=0.2 flockw=ex)" EINTR,EINTR,EINTR
	run timeout 0.2 flock "$W/f" true
	eq "$status" 124
	run flock -w 0.2 "$W/f" true
	eq "$status" 1
	start bash -c "cd '$W' && exec python3 locks.py open=f:rw mark=asks posixw=w"
	wait_for is_file "$W/asks"
	kill -9 "$PID"
	wait_for ended_pid "$PID"
	let_go_inside
	eq "$(steps open=f:rw posix=w flock=ex)" ok,ok
}

@test "a holder that is killed holds no longer, on either side" {
	hold open=f:rw posix=w flock=ex
	kill -9 "$PID"
	wait "$PID" || true
	eq "$(steps open=f:rw posix=w flock=ex)" ok,ok
	eq "$(steps_inside open=f:rw posix=w flock=ex)" ok,ok
	hold_inside open=f:rw posix=w flock=ex
	echo KILL >"$D/out/$ID/kill"
	wait_for run_ended
	eq "$(steps open=f:rw posix=w flock=ex)" ok,ok
}

@test "locks of a process, and of an open file, when it forks, duplicates and closes" {
	# Not the child's, and not ended by the child's end.
	eq "$(steps open=f:rw posix=w:0:10 child=w:5:1 child=w:10:1 posix=r:0:5 child=r:0:5 child=w:0:5 get=w)" \
		ok,EAGAIN,ok,ok,ok,EAGAIN,none
	# A process does not keep itself out, by whatever descriptor; its locks go with any of them that can write.
	eq "$(steps open=f:rw open=f:rw posix=w use=0 posix=w child=w close=1 child=w)" ok,ok,EAGAIN,ok
	eq "$(steps open=f:rw open=f:rw posix=w close=0 child=w)" ok,ok
	eq "$(steps open=f:rw dup posix=w close=1 child=w)" ok,ok
	# Of open files: each for itself, to its last descriptor.
	eq "$(steps open=f:rw ofd=w dup close=1 child=w open=f:rw ofd=w use=0 ofd=u use=2 ofd=w)" ok,EAGAIN,EAGAIN,ok,ok
	eq "$(steps open=f:rw flock=ex open=f:rw flock=ex flock=sh use=0 flock=sh use=1 flock=sh flock=ex use=0 flock=un use=1 flock=ex)" \
		ok,EAGAIN,EAGAIN,ok,ok,EAGAIN,ok,ok
	# A child that keeps the descriptor keeps what is the open file's, not what was its parent's.
	eq "$(steps open=f:rw posix=w:0:1 ofd=w:5:1 fork=over)" ok,ok
	eq "$(steps open=f:rw posix=w:0:1 posix=w:5:1)" ok,EAGAIN
	: >"$W/over"
	wait_for lock_is_free w:5:1
}

lock_is_free() { [[ $(steps open=f:rw posix="$1") == ok ]]; }

@test "the same with a descriptor that only reads, and with one that creates or truncates" {
	eq "$(steps open=f:r posix=w posix=r open=f:rw posix=w child=r use=0 posix=r child=r child=w)" EBADF,ok,ok,EAGAIN,ok,ok,EBADF
	eq "$(steps open=f:r posix=r:0:4 posix=r:9:3 open=f:rw posix=w:20:1 child=w:3:1 child=w:5:1 child=w:11:1 child=w:12:1 child=w:20:1)" \
		ok,ok,ok,EAGAIN,ok,EAGAIN,ok,EAGAIN
	eq "$(steps open=n:creat posix=w child=w close=0 open=n:rw child=w)" ok,EAGAIN,ok
	eq "$(steps open=o:new posix=w child=w close=0 open=o:rw child=w)" ok,EAGAIN,ok
	eq "$(steps open=f:trunc posix=w child=w close=0 open=f:rw child=w)" ok,EAGAIN,ok
	eq "$(steps open=f:w posix=w posix=r open=f:r posix=r:7:1 child=r:7:1)" ok,EBADF,ok,ok
}

# as_natively STEP...: comes to the same in a directory of this machine.
as_natively() {
	mkdir -p "$T/native"
	cp "$TEST_LIB/locks.py" "$W/f" "$T/native"
	eq "$(steps "$@")" "$(cd "$T/native" && python3 locks.py "$@" | paste -sd,)" "$*"
}

@test "as in the directory itself" {
	as_natively open=f:rw posix=w:0:10 posix=r:3:3 child=r:3:3 child=r:2:1 child=w:4:1 posix=u:5:1 child=w:5:1 get=w
	as_natively open=f:rw posix=w posix=u:10:0 child=w:9:1 child=w:10:1 posix=w:100:0 child=w:99:1 child=r:1000:5
	as_natively open=f:r posix=r:0:9 ofd=r:0:4 open=f:rw posix=w:20:5 ofd=w:30:1 ofd=w:2:1 posix=w:2:1 child=r:2:1
	as_natively open=f:rw ofd=w:0:4 posix=w:2:1 ofd=r:0:2 posix=r:0:2 posix=w:1:1 open=f:rw ofd=r:0:2 ofd=w:1:1
	as_natively open=f:r flock=ex flock=sh open=f:rw flock=sh flock=ex posix=w use=0 flock=un use=1 flock=ex
	as_natively open=f:rw flock=ex open=f:rw posix=w ofd=w use=0 posix=w ofd=w flock=sh close=0 use=1 flock=ex
	as_natively open=f:w posix=w posix=r open=f:r ofd=w ofd=r posix=r posix=w:1:1
	as_natively open=f:rw open=f:rw open=f:rw posix=w close=1 child=w posix=w close=2 use=0 child=w
	as_natively open=f:trunc child=w child=w posix=w:1:1 child=r:1:1 posix=u child=w get=w
	as_natively open=f:r child=r open=f:rw get=w posix=w
	as_natively open=g:new posix=w child=w dup close=0 use=1 posix=w child=w
}

@test "F_GETLK tells what is in the way, and whose it is" {
	hold open=f:rw posix=w:3:4
	eq "$(steps open=f:rw get=r get=w:0:3 get=r:6:1)" "w 3 4 $PID,none,w 3 4 $PID"
	eq "$(steps_inside open=f:rw get=r | cut -d' ' -f1-3)" "w 3 4"
	let_go_outside
	hold_inside open=f:rw posix=r:3:0 mark=whose.$$
	eq "$(steps open=f:rw get=r get=w get=w:0:3)" "none,r 3 0 $(pgrep -f "mark=whose.$$ "),none"
	let_go_inside
	eq "$(steps open=f:rw get=w)" none
}

@test "control files and results: locked among those outside" {
	request 'echo out'
	cp "$TEST_LIB/locks.py" .
	flock "$D/ctl/run" true
	flock "$D/out/last/stdout" cat "$D/out/last/stdout" >got
	file_is got out
	exec {lock}>>"$D/ctl/run"
	flock -n "$lock"
	run flock -n "$D/ctl/run" true
	eq "$status" 1
	exec {lock}>&-
	flock -n "$D/ctl/run" true
	flock "$D/ctl/run" sh -c 'echo "echo locked" >"$1"' sh "$D/ctl/run"
	eq "$(last stdout)" locked
	eq "$(python3 locks.py open="$D/ctl/run:w" posix=w child=w child=u posix=u child=w | paste -sd,)" ok,EAGAIN,ok,ok,ok
	eq "$(python3 locks.py open="$D/README:r" posix=r child=r get=w posix=w | paste -sd,)" ok,ok,none,EBADF
	eq "$(python3 locks.py open="$D/README:r" get=w flock=sh open="$D/README:r" flock=ex | paste -sd,)" none,ok,EAGAIN
}

@test "a file without a name stays locked, and one in its place is another" {
	hold_inside open=f:rw posix=w flock=ex
	exec {old}<>"$W/f"
	rm "$W/f"
	echo >"$W/f"
	eq "$(steps open=f:rw posix=w flock=ex)" ok,ok
	run flock -n "$old"
	eq "$status" 1
	let_go_inside
	flock -n "$old"
	exec {old}>&-
	hold open=f:rw posix=w
	inside 'rm /work/f; echo >/work/f'
	eq "$(steps_inside open=f:rw posix=w)" ok
	mv "$W/f" "$W/g"
	let_go_outside
}

@test "what lies in the lower layer, before and after it is written to" {
	local path

	for path in etc/passwd etc/group; do
		exec {lock}<"$D/files/$path"
		flock -n "$lock"
		eq "$(inside "flock -n /$path true || echo locked")" locked
		[[ $path == etc/passwd ]] && inside "echo >>/$path" && echo >>"$D/files/$path"
		eq "$(inside "flock -n /$path true || echo locked")" locked
		run flock -n "$D/files/$path" true
		eq "$status" 1
		exec {lock}<&-
		inside "flock -n /$path true"
	done
	exec {lock}<"$D/files/usr/bin/env"
	flock -n "$lock"
	eq "$(inside 'flock -n /usr/bin/env true || echo locked')" locked
	eq "$(python3 "$TEST_LIB/locks.py" open="$D/files/usr/bin/env:r" posix=r child=r get=w flock=sh posix=w | paste -sd,)" \
		ok,ok,none,EAGAIN,EBADF
	exec {lock}<&-
}

@test "a checkpoint's tree" {
	echo 'persist /work' >"$D/checkpoint"
	eq "$(python3 "$TEST_LIB/locks.py" open="$D/checkpoints/1/tree/f:r" posix=r child=r get=w flock=ex \
		open="$D/checkpoints/1/tree/f:r" flock=sh posix=w close=0 flock=sh | paste -sd,)" ok,ok,none,ok,EAGAIN,EBADF,ok
}

@test "directories, FIFOs, and descriptors of a path only" {
	local where

	mkdir "$T/native" "$W/dir"
	mkfifo "$T/native/p" "$W/p"
	mkdir "$T/native/dir"
	cp "$W/locks.py" "$T/native"
	echo 1 >"$T/native/f"
	for where in "$T/native" "$W"; do
		(
			cd "$where"
			python3 locks.py open=dir:r flock=ex open=dir:r flock=ex posix=r posix=w get=w
			python3 locks.py open=p:rw flock=ex posix=w child=w open=p:rw flock=ex
			python3 -c 'import fcntl, os
fd = os.open("f", os.O_PATH)
for call in (lambda: fcntl.flock(fd, fcntl.LOCK_EX), lambda: fcntl.lockf(fd, fcntl.LOCK_SH)):
    try:
        call()
    except OSError as e:
        print(e)'
			python3 locks.py open=f:rw posix=w:0:9223372036854775807 posix=w:9223372036854775807:1 child=r:9223372036854775807:0 \
				posix=w:10:-5 child=w:5:1 child=w:10:1 posix=w:3:-4 posix=w:-1:1 posix=w:9223372036854775800:100
		) &>"$T/got.${where##*/}"
	done
	eq "$(<"$T/got.work")" "$(<"$T/got.native")"
}

@test "very many owners, all of whom go" {
	local count before

	eq "$(steps open=f:rw many=2)" '2 ok ok'
	before=$(daemon_fds)
	count=$(($(ulimit -u) < 3000 || $(ulimit -n) < 8000 ? 200 : 1500))
	eq "$(steps open=f:rw many=$count)" "$count ok ok"
	eq "$(steps open=f:rw posix=w)" ok
	wait_for daemon_has_fds "$before"
}

daemon_has_fds() { (($(daemon_fds) <= $1 + 3)); }

@test "nothing is lost of what both sides count up under a lock" {
	local i pids=()

	start_run 'cd /work && exec python3 locks.py add=f:300'
	for i in 1 2; do
		(cd "$W" && exec python3 locks.py add=f:150) 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	wait_for run_ended
	eq "$(cat "$D/out/$ID/exit_code")" 0
	eq "$(<"$W/f")" 00000600
}

# both_insert MODE: a database that both sides write.
both_insert() {
	need sqlite3
	sqlite3 "$W/db" "PRAGMA journal_mode = $1; CREATE TABLE t(who, n);" >/dev/null
	cat >"$W/insert" <<-'END'
		for ((i = 0; i < ${2:-200}; i++)); do echo "INSERT INTO t VALUES ('$1', $i);"; done |
			sqlite3 -bail -cmd '.timeout 60000' -cmd 'PRAGMA synchronous = OFF;' db
	END
	start_run 'cd /work && exec bash insert inside'
	(cd "$W" && bash insert outside)
	wait_for run_ended
	eq "$(cat "$D/out/$ID/exit_code")" 0 "$(cat "$D/out/$ID/stderr")"
	eq "$(sqlite3 "$W/db" 'PRAGMA integrity_check; SELECT who, count(*), sum(n) FROM t GROUP BY who;' | paste -sd,)" \
		'ok,inside|200|19900,outside|200|19900'
	eq "$(inside 'sqlite3 /work/db "SELECT count(*) FROM t"')" 400
}

@test "sqlite3 on both sides, with a rollback journal" {
	both_insert delete
}

@test "sqlite3 on both sides, with a write-ahead log" {
	jq -e .enabled.passthrough "$D/status.json" >/dev/null || skip "no passthrough: memory is not shared with commands"
	both_insert wal
}

@test "unmounted while somebody waits for a lock" {
	hold_inside open=f:rw posix=w flock=ex
	start bash -c "cd '$W' && exec python3 locks.py open=f:rw mark=asks posixw=w"
	wait_for is_file "$W/asks"
	wait_for waits "$PID"
	local waiter=$PID

	start bash -c "cd / && exec flock '$W/f' true"
	wait_for waits "$PID"
	umount_sandbox
	wait "$PID" || true
	wait "$waiter" || true
	not_mounted
}

# Who gets a lock has its pages given up, and what was written to them through a mapping is stored for that: by
# requests, which somebody has to answer. With disk= also root's mappings pass through the daemon.
@test "ended by a signal while locks are taken on a file that is mapped" {
	local daemon round

	umount_sandbox
	cat >mapped.py <<-'END'
		import fcntl, mmap, sys
		f = open(sys.argv[1], "r+b")
		pages = mmap.mmap(f.fileno(), 8 * 4096)
		for n in range(10 ** 9):
		    for page in range(8):
		        pages[page * 4096] = n & 255
		    fcntl.lockf(f, fcntl.LOCK_EX)
		    fcntl.lockf(f, fcntl.LOCK_UN)
		    if n == 50:
		        open("going", "w").close()
	END
	for round in 1 2 3 4 5; do
		mount_sandbox -o name=locks -o disk=1G
		start_run 'exec sleep 1000'
		head -c 32768 /dev/zero >"$W/mapped"
		rm -f going
		start python3 mapped.py "$W/mapped" 2>/dev/null
		wait_for is_file going
		daemon=$(daemon_pid)
		kill -TERM "$daemon"
		wait_for ended_pid "$daemon"
		not_mounted
		wait "$PID" || true
	done
}
