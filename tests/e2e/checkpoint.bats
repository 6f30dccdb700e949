# persist and restore: what comes back, what is refused, and how it is told.
# runs-as: root user single
load ../lib/helper

STORE() { echo "$HOME/.local/share/sandpit/store"; }

# ask TEXT: writes it to `checkpoint`, prints the answer that the same handle gives.
ask() {
	exec {ask_fd}<>"$D/checkpoint"
	echo "$1" >&"$ask_fd" || true
	cat <&"$ask_fd"
	exec {ask_fd}>&-
}

# refused TEXT CODE ERRNO
refused() {
	local answer

	answer=$(ask "$1")
	eq "$(jq -r .error.code <<<"$answer")" "$2" "code of '$1' ($answer)"
	match "$(cat "$D/error")" "^checkpoint: $2: .*\($3\)$"
	run fsop open "$D/checkpoint" rw write "$1
"
	match "$output" "write $3"
}

small_project() {
	inside 'mkdir -p /work/app/src && cd /work/app && echo one >a && echo two >src/b'
}

@test "a project is stored and comes back, as in the SDK's example" {
	eq "$(ask 'restore projects/c1/app' | jq -c .)" '{"restored":false,"reason":"not_found"}'
	inside 'mkdir -p projects/c1/app && echo hello >projects/c1/app/index.html'
	answer=$(ask '{"op": "persist", "path": "projects/c1/app", "timeout": 180}')
	match "$(jq -r .sha256 <<<"$answer")" '^[0-9a-f]{64}$'
	match "$(jq -r .persistedAt <<<"$answer")" '^20[0-9T:.-]+Z$'
	eq "$(jq -r .path <<<"$answer")" /workspace/projects/c1/app
	inside 'rm -r /workspace/projects'
	restored=$(ask '{"op": "restore", "path": "projects/c1/app", "timeout": 180}')
	eq "$(jq .restored <<<"$restored")" true
	for key in size sha256 etag persistedAt; do
		eq "$(jq ".$key" <<<"$restored")" "$(jq ".$key" <<<"$answer")" "$key"
	done
	eq "$(inside 'cat /workspace/projects/c1/app/index.html')" hello
	eq "$(cat "$D/error")" ""
}

@test "a new sandbox with the same project restores what another one stored" {
	umount_sandbox
	mount_sandbox -o project=shared,name=one
	small_project
	echo 'persist /work/app' >"$D/checkpoint"
	umount_sandbox
	mount_sandbox -o project=shared,name=two
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(cat "$D/files/work/app/src/b")" two
}

@test "what comes back is as it was: modes, times, links, holes, attributes, names" {
	inside 'mkdir -p /work/app/d && cd /work/app && echo x >f && chmod 4751 f && ln f d/hard &&
		ln -s ../f d/soft && ln -s /absolute/nowhere gone && mkdir -m 711 d/closed &&
		touch -d "2001-02-03 04:05:06.123456789" f d/closed && chmod 1777 d &&
		truncate -s 2T holes && printf end >>holes && printf "\377\376" >"$(printf "n\377\nl\tx")" &&
		mkdir .wh..wh..opq && echo w >.wh.reg && chown 7:8 d/closed 2>/dev/null; true'
	setfattr -n user.note -v "v alue" "$D/files/work/app/f" || skip "no extended attributes here"
	setfattr -n user.dir -v d "$D/files/work/app/d"
	list='cd /work/app && find . -printf "%p %y %m %n %U:%G %s %T@ %l\n" | sort'
	before=$(inside "$list")
	echo 'persist /work/app' >"$D/checkpoint"
	inside 'rm -rf /work/app; mkdir /work/app; echo other >/work/app/other'
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(inside "$list")" "$before"
	eq "$(getfattr --only-values -n user.note "$D/files/work/app/f" 2>/dev/null)" "v alue"
	eq "$(getfattr --only-values -n user.dir "$D/files/work/app/d" 2>/dev/null)" d
	(($(stat -c %b "$D/files/work/app/holes") < 100))
	eq "$(inside 'stat -c %i /work/app/f')" "$(inside 'stat -c %i /work/app/d/hard')"
}

@test "the usual directories and the given ones are left out at any depth, files of such names not" {
	inside 'cd /work && mkdir -p app/a/node_modules/x app/.git app/tmp app/a/tmp && cd app &&
		touch a/node_modules/x/y .git/HEAD tmp/t a/tmp/t a/keep && echo f >build && echo g >a/out'
	echo 'persist /work/app exclude=tmp' >"$D/checkpoint"
	inside 'rm -r /work/app'
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(inside 'cd /work/app && find . | sort | tr "\n" " "')" ". ./a ./a/keep ./a/out ./build "
}

@test "what cannot be read at all is an invalid argument, too, or over a limit" {
	run fsop open "$D/checkpoint" rw write $'persist /work/a\npersist /work/b\n'
	match "$output" 'write EINVAL'
	eq "$(jq -r .error.code "$D/checkpoint")" SANDBOX_INVALID_ARGUMENT
	match "$(cat "$D/error")" '^checkpoint: SANDBOX_INVALID_ARGUMENT: one line at a time .EINVAL.$'
	refute bash -c "printf 'persist /wo\0rk\n' >'$D/checkpoint'"
	eq "$(jq -r .error.message "$D/checkpoint")" "the request holds a NUL byte"
	printf 'persist /work\0' >"$D/checkpoint"
	eq "$(jq -r .error.code "$D/checkpoint")" SANDBOX_INVALID_ARGUMENT
	small_project
	ask 'persist /work/app' >/dev/null
	refute bash -c "{ printf 'persist /work/'; head -c 1048576 /dev/zero | tr '\0' a; echo; } >'$D/checkpoint'"
	eq "$(jq -r .error.code "$D/checkpoint")" SANDBOX_LIMIT_EXCEEDED
	eq "$(cat "$D/error")" "checkpoint: SANDBOX_LIMIT_EXCEEDED: the request is over 1 MiB and was not carried out (EFBIG)"
	refute bash -c "printf '/a\n/b\n' >'$D/checkpoint.plan'"
	eq "$(jq -r .error.code "$D/checkpoint.plan")" SANDBOX_INVALID_ARGUMENT
	eq "$(jq -r .error.code "$D/checkpoint")" SANDBOX_LIMIT_EXCEEDED
}

@test "sockets, FIFOs and devices are left out and told" {
	small_project
	inside 'cd /work/app && mkfifo p && python3 -c "import socket
socket.socket(socket.AF_UNIX).bind(\"src/s\")"'
	eq "$(ask 'persist /work/app' | jq -c .skipped)" '["p","src/s"]'
}

@test "the old tree goes at once: a running command keeps its own, who looks sees one of both" {
	small_project
	echo 'persist /work/app' >"$D/checkpoint"
	inside 'cd /work/app && rm -r src && echo new >a'
	start_run 'cd /work/app; until test -e /work/go; do sleep 0.02; done; cat a 2>/dev/null || echo gone'
	wait_for test "$(cat "$D/out/$ID/status")" = running
	exec {held}<"$D/files/work/app/a"
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(cat <&"$held")" new
	exec {held}<&-
	eq "$(cat "$D/files/work/app/a" "$D/files/work/app/src/b")" $'one\ntwo'
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(ls -A "$D/files" | grep -c sandpit-restore || true)" 0
}

@test "wrong requests are invalid arguments, seen in the write" {
	small_project
	inside 'cd /work && ln -s / root && ln -s /etc out && ln -s ../etc up && ln -s app same && touch f'
	for path in / // /work/.. /work/app/../.. . .. ./.. '""' /work/root /work/out /work/up /work/nothing \
		/work/f /usr /usr/lib /opt /proc /dev /work/root/work/app; do
		[[ $path == . || $path == .. ]] && continue
		refused "persist $path" SANDBOX_INVALID_ARGUMENT EINVAL
	done
	for path in / /work/.. /usr/local/x /proc /work/out/x; do
		refused "restore $path" SANDBOX_INVALID_ARGUMENT EINVAL
	done
	for text in 'persist' 'store /work/app' 'persist /work/app timeout=0' 'persist /work/app timeout=-1' \
		'persist /work/app timeout=1.5' 'persist /work/app nonsense' 'persist /work/app etag=x' \
		'persist /work/app exclude=a/b' '{"op":"persist"}' '{"op":"persist","path":""}' \
		'{"op":"persist","path":"/work/app","timeout":0}' '{"op":"persist","path":"/work/app","x":1}' \
		'{"op":"persist","path":"/work/app","exclude":"a"}' '{"path":"/work/app"}'; do
		refused "$text" SANDBOX_INVALID_ARGUMENT EINVAL
	done
	echo 'persist /work/same' >"$D/checkpoint"
	eq "$(jq -r .path "$D/checkpoint")" /work/app
	refute sh -c "echo 'persist /' >'$D/checkpoint'"
}

@test "an archive over the limit stops, and the largest directories are named" {
	umount_sandbox
	mount_sandbox -o max_bytes=100000
	inside 'mkdir -p /work/app/data /work/app/small && cd /work/app && echo s >small/s &&
		head -c 3000000 /dev/urandom >data/random'
	refused 'persist /work/app' SANDBOX_LIMIT_EXCEEDED EFBIG
	match "$(jq -r .error.message "$D/checkpoint")" '100000 bytes .*data .*exclude='
	eq "$(ls "$D/checkpoints")" ""
	eq "$(find "$(STORE)/tmp" "$(STORE)/archives" -type f)" ""
	plan=$(exec {p}<>"$D/checkpoint.plan" && echo /work/app >&"$p" && cat <&"$p")
	eq "$(jq -c '[.fits, .largest[0].path, .limit]' <<<"$plan")" '[false,"data",100000]'
	echo 'persist /work/app exclude=data' >"$D/checkpoint"
}

@test "the plan tells the size that a persist then has, and what is saved" {
	small_project
	inside 'cd /work/app && mkdir node_modules && head -c 5000 /dev/zero >node_modules/m'
	echo /work/app >"$D/checkpoint.plan"
	eq "$(jq -c '[.fits, .files, .bytes, .excluded]' "$D/checkpoint.plan")" \
		'[true,3,8,[{"name":"node_modules","directories":1,"files":2,"bytes":5000}]]'
	size=$(jq .size "$D/checkpoint.plan")
	echo 'persist /work/app' >"$D/checkpoint"
	eq "$(jq .size "$D/checkpoint")" "$size"
	run fsop open "$D/checkpoint.plan" w write $'/work/none\n'
	match "$output" "write EINVAL"
}

@test "if_match keeps from overwriting what another one stored; etag chooses" {
	small_project
	refused 'persist /work/app if_match=1-0000000000000000' SANDBOX_CONFLICT EBUSY
	first=$(ask 'persist /work/app' | jq -r .etag)
	inside 'echo changed >/work/app/a'
	second=$(ask "persist /work/app if_match=$first" | jq -r .etag)
	refused "persist /work/app if_match=$first" SANDBOX_CONFLICT EBUSY
	[[ $first != "$second" ]]
	echo "restore /work/old etag=$first" >"$D/checkpoint"
	eq "$(cat "$D/files/work/old/a")" one
	eq "$(ask 'restore /work/old etag=9-nothing' | jq -c .)" '{"restored":false,"reason":"not_found"}'
}

@test "ten are kept, the numbers go on, archives that nothing names are gone" {
	umount_sandbox
	mount_sandbox -o keep=3
	small_project
	for i in 1 2 3 4 5; do
		inside "echo $i >/work/app/a"
		echo 'persist /work/app' >"$D/checkpoint"
	done
	eq "$(ls "$D/checkpoints" | tr '\n' ' ')" "3 4 5 "
	eq "$(ls "$(STORE)/archives" | wc -l)" 3
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(cat "$D/files/work/app/a")" 5
	# The same content twice is one archive.
	echo 'persist /work/app' >"$D/checkpoint"
	eq "$(ls "$(STORE)/archives" | wc -l)" 2
}

# A big tree, so that something can happen while it is stored.
big_project() {
	inside 'mkdir -p /work/big && cd /work/big && for i in $(seq 14); do
		head -c 40000000 /dev/urandom >r$i; done'
}

@test "two at once: the second is a conflict, in another sandbox of the project as well" {
	umount_sandbox
	mkdir "$T/m2"
	mount_sandbox -o project=p,name=one,max_bytes=1G
	"$SANDPIT" mount -o net=none,project=p,name=two "$T/m2" 3>&-
	big_project
	start sh -c "echo 'persist /work/big' >'$D/checkpoint'"
	wait_for has_text "$D/checkpoint" '"state":"persisting"'
	match "$(cat "$D/checkpoint")" '"files":[0-9]+,"bytes":[0-9]+'
	refused 'persist /work/big' SANDBOX_CONFLICT EBUSY
	mkdir "$T/m2/files/work/x"
	run fsop open "$T/m2/checkpoint" rw write $'persist /work/x\n'
	match "$output" "write EBUSY"
	wait "$PID"
	echo 'persist /work/x' >"$T/m2/checkpoint"
	eq "$(ls "$D/checkpoints" | tr '\n' ' ')" "1 2 "
}

@test "Ctrl-C of the waiting writer cancels and leaves nothing; the next one works at once" {
	umount_sandbox
	mount_sandbox -o max_bytes=1G
	big_project
	start_interruptible sh -c "echo 'persist /work/big' >'$D/checkpoint'"
	wait_for has_text "$D/checkpoint" '"state":"persisting"'
	kill -INT "$PID"
	wait "$PID" || true
	eq "$(cat "$D/error")" "checkpoint: SANDBOX_FAILED_OPERATION: persist /work/big is cancelled: its writer was interrupted (EINTR)"
	mkdir "$D/files/work/x"
	echo 'persist /work/x' >"$D/checkpoint"
	eq "$(ls "$D/checkpoints")" 1
	eq "$(find "$(STORE)/tmp" -type f)" ""
	eq "$(ls "$(STORE)/archives" | wc -l)" 1
	eq "$(grep -c refused "$D/log")" 1
}

@test "what is not done in time fails with ETIMEDOUT" {
	umount_sandbox
	mount_sandbox -o max_bytes=1G
	# A tree that takes longer than a second on any machine.
	inside 'mkdir -p /work/big && cd /work/big && for i in 1 2 3 4 5 6 7 8 9; do
		truncate -s 4G z$i && printf x | dd of=z$i bs=1 seek=4000000000 conv=notrunc 2>/dev/null; done;
		for i in $(seq 200); do head -c 4000000 /dev/urandom >r$i; done'
	refused 'persist /work/big timeout=1' SANDBOX_FAILED_OPERATION ETIMEDOUT
	eq "$(find "$(STORE)/tmp" "$(STORE)/archives" -type f)" ""
}

@test "a file that changes while it is read is named, and the archive is whole" {
	inside 'mkdir -p /work/app && cd /work/app && head -c 30000000 /dev/urandom >grows'
	umount_sandbox
	mount_sandbox -o max_bytes=1G
	start_run 'cd /work/app; while :; do echo more >>grows; mv x y; mv y x; truncate -s 1000 z; echo z >z; done 2>/dev/null'
	wait_for is_file "$D/files/work/app/z"
	answer=$(ask 'persist /work/app')
	echo KILL >"$D/out/$ID/kill"
	match "$(jq -c .changed <<<"$answer")" '"grows"'
	cat "$D/checkpoints/1/archive.tar.zst" | tar --zstd -tf - >/dev/null
	echo 'restore /work/back' >"$D/checkpoint"
}

@test "the verbs persist, restore and store do the same" {
	small_project
	out=$("$SANDPIT" persist "$D" /work/app --exclude src --timeout 60)
	eq "$(jq -r .path <<<"$out")" /work/app
	inside 'rm -r /work/app'
	eq "$("$SANDPIT" restore "$D" /work/app | jq .restored)" true
	eq "$(ls "$D/files/work/app")" a
	run "$SANDPIT" persist "$D" /
	eq "$status" 1
	match "$output" "SANDBOX_INVALID_ARGUMENT: .*root"
	run "$SANDPIT" persist "$D"
	eq "$status" 2
	match "$("$SANDPIT" store ls)" $'\t1\t20'
	match "$("$SANDPIT" store check)" '1 checkpoints, 0 damaged'
	echo debris >"$(STORE)/tmp/dead"
	cp "$(STORE)"/archives/*.zst "$(STORE)/archives/$(printf '%064d' 1).tar.zst"
	eq "$("$SANDPIT" store gc)" "2 files removed"
	python3 "$TEST_LIB/store.py" flip "$(STORE)" 30
	run "$SANDPIT" store check
	eq "$status" 1
	match "$output" damaged
}

@test "progress: a bar on a terminal, plain lines elsewhere" {
	umount_sandbox
	mount_sandbox -o max_bytes=1G
	big_project
	run script -qec "'$SANDPIT' persist '$D' /work/big" /dev/null </dev/null
	match "$output" 'persisting \[ *<==> *\] [0-9]+ files, [0-9.]+ MB, [0-9.]+ MB/s'
	run "$SANDPIT" persist "$D" /work/big
	match "$output" 'persisting: [0-9]+ files, [0-9.]+ MB'
	refute match "$output" '<==>'
}
