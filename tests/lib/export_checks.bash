# What has to work over every protocol: `remote` is a client of the server over the sandbox at $D.

remote_is() { [[ $(remote cat "$1") == "$2" ]]; }
remote_last() { [[ $(remote readlink "$1/last") == "$2" ]]; }
remote_ls() { remote ls "$1" | grep -vxE '\.\.?' | sort | tr '\n' ' '; }
remote_size() { remote stat "$1" | cut -d' ' -f2; }

# remote_put PATH TEXT
remote_put() { printf '%s\n' "$2" | remote write "$1"; }

check_files() {
	echo 'from outside' >"$D/files/work/a"
	eq "$(remote_ls /files/work)" 'a '
	eq "$(remote cat /files/work/a)" 'from outside'
	echo 'from afar' | remote create /files/work/b
	eq "$(cat "$D/files/work/b")" 'from afar'
	eq "$(inside 'cat /work/b')" 'from afar'
	remote mv /files/work/b /files/work/c
	eq "$(remote_size /files/work/c)" 10
	remote truncate /files/work/c 4
	eq "$(remote cat /files/work/c)" from
	echo 'in place' | remote write /files/work/c
	eq "$(remote cat /files/work/c)" 'in place'
	remote mkdir /files/work/d
	remote mv /files/work/c /files/work/d/c
	eq "$(remote_ls /files/work/d)" 'c '
	remote rm /files/work/d/c
	match "$(remote stat /files/work/d/c)" ENOENT
	eq "$(ls "$D/files/work")" $'a\nd'
	head -c 3000000 /dev/urandom >"$T/big"
	remote create /files/work/big <"$T/big"
	cmp "$T/big" "$D/files/work/big"
	remote cat /files/work/big | cmp - "$T/big"
}

# What a command changes is seen at once, size and time and names, whatever the server has seen before.
check_coherence() {
	local i

	inside 'echo 0 >/work/f; mkdir /work/dir'
	for i in 1 2 3 4 5 6 7 8; do
		remote cat /files/work/f >/dev/null
		remote ls /files/work/dir >/dev/null
		remote stat "/files/work/dir/$i" >/dev/null || true
		inside "printf %0${i}00d $i >/work/f; touch /work/dir/$i; rm -f /work/dir/$((i - 1))"
		eq "$(remote_size /files/work/f)" "${i}00"
		eq "$(remote cat /files/work/f | wc -c)" "${i}00"
		eq "$(remote_ls /files/work/dir)" "$i "
	done
}

check_run() {
	remote_put /ctl/run 'echo out; echo err >&2; exit 3'
	wait_for remote_is /out/1/exit_code 3
	eq "$(remote cat /out/1/stdout)" out
	eq "$(remote cat /out/1/stderr)" err
	eq "$(remote cat /out/1/status)" exited
	eq "$(remote cat /out/1/result.json | jq -c '[.exitCode, .stdout]')" '[3,"out\n"]'
	eq "$(remote cat /out/1/wait)" 3
	remote_put /ctl/start 'echo two'
	wait_for remote_last /out 2
	wait_for remote_is /out/2/exit_code 0
	remote_put /ctl/run 'echo three'
	wait_for remote_last /out 3
	eq "$(remote_ls /out)" '1 2 3 last '
	remote_put /ctl/cwd /work
	eq "$(cat "$D/ctl/cwd")" /work
	printf '{"cmd": "pwd", "id": "named"}' | remote write /ctl/run.json
	wait_for remote_is /out/named/exit_code 0
	eq "$(remote cat /out/named/stdout)" /work
	remote_put /ctl/start 'sleep 1000'
	wait_for remote_last /out 4
	wait_for remote_is /out/4/status running
	remote_put /out/4/kill KILL
	wait_for remote_is /out/4/exit_code 137
}

# However often it is sent: once.
check_named_run() {
	local i

	remote mkdir /out/build-42
	match "$(remote mkdir /out/build-42)" EXIST
	for i in 1 2 3; do
		remote_put /out/build-42/cmd 'echo run >>/work/count; echo built'
	done
	wait_for remote_is /out/build-42/exit_code 0
	eq "$(remote cat /out/build-42/stdout)" built
	remote_put /out/build-42/cmd 'echo run >>/work/count; echo built'
	eq "$(cat "$D/files/work/count")" run
	remote_put /out/build-42/cmd 'echo another' || true
	wait_for has_text "$D/error" build-42
	match "$(remote cat /error)" 'EBUSY'
	eq "$(remote cat /out/build-42/cmd)" 'echo run >>/work/count; echo built'
	eq "$(runs)" 1
	remote mkdir /out/json
	for i in 1 2 3; do
		printf '{"cmd": "echo run >>/work/count; echo from json"}' | remote write /out/json/request.json
	done
	wait_for remote_is /out/json/exit_code 0
	eq "$(remote cat /out/json/stdout)" 'from json'
	eq "$(cat "$D/files/work/count")" $'run\nrun'
}

check_python() {
	remote_put /code/python/in 'x = 6 * 7; x'
	wait_for remote_is /code/python/out/1/status ok
	eq "$(remote cat /code/python/out/1/results/0.txt)" 42
	remote_put /code/python/in 'print(x + 1)'
	wait_for remote_last /code/python/out 2
	wait_for remote_is /code/python/out/2/status ok
	eq "$(remote cat /code/python/out/2/stdout)" 43
	remote mkdir /code/mine
	remote_put /code/mine/language bash
	remote_put /code/mine/in 'echo $((6 * 7))'
	wait_for remote_is /code/mine/out/1/status ok
	eq "$(remote cat /code/mine/out/1/stdout)" 42
}

check_browser() {
	local shot at

	remote_put /browser/goto "$PAGES/login"
	eq "$(remote cat /browser/title)" Login
	remote_put /browser/screenshot ''
	shot=$(remote cat /browser/screenshot | jq -r .path)
	match "$shot" '^browser/(pages/1/)?shots/'
	at="/browser/$(remote readlink /browser/shots)/${shot##*/}"
	remote cat "$at" >"$T/shot.png"
	match "$(file -b "$T/shot.png")" '^PNG image'
	cmp "$T/shot.png" "$D/$shot"
	eq "$(remote_size "$at")" "$(stat -c %s "$T/shot.png")"
}

check_checkpoint() {
	echo kept >"$D/files/work/a"
	remote_put /checkpoint 'persist /work'
	match "$(remote cat /checkpoint)" '"etag"'
	eq "$(remote_ls /checkpoints)" '1 '
	eq "$(remote cat /checkpoints/1/tree/a)" kept
	match "$(remote rm /checkpoints/1/tree/a)" 'ROFS|PERM|ACCES'
	echo changed | remote write /files/work/a
	remote_put /checkpoint 'restore /work'
	eq "$(remote cat /files/work/a)" kept
	match "$(remote_put /checkpoint 'persist /')" EINVAL
	match "$(remote cat /error)" 'SANDBOX_INVALID_ARGUMENT.*EINVAL'
	match "$(remote cat /checkpoint)" SANDBOX_INVALID_ARGUMENT
	remote rmdir /checkpoints/1
	eq "$(remote_ls /checkpoints)" ''
}

# Sizes are those of what a read gives, and a refusal is an error.
check_sizes() {
	local path

	remote_put /ctl/run 'seq 1000; seq 10 >&2'
	wait_for remote_is /out/1/exit_code 0
	for path in README status.json stats.json log error checkpoint ctl/run ctl/cwd ctl/run.json out/1/stdout \
		out/1/stderr out/1/output out/1/status out/1/exit_code out/1/result.json out/1/wait out/1/live \
		code/python/info.json browser/state.json; do
		eq "$(remote_size "/$path")" "$(remote cat "/$path" | wc -c)" "size of $path"
	done
	match "$(echo x | remote write /README)" 'EACCES|EPERM'
	match "$(echo x | remote create /ctl/nosuch)" 'ENOENT'
	match "$(remote mkdir /ctl/dir)" 'EACCES|EPERM'
}

# Readers that wait hold up nobody.
check_parked_readers() {
	local i

	start_run 'until [ -e /work/go ]; do sleep 0.05; done; echo done'
	for i in 1 2 3 4 5 6; do
		start remote cat "/out/$ID/live" >"$T/live.$i"
		start remote cat "/out/$ID/wait" >"$T/wait.$i"
	done
	echo aside | remote create /files/work/aside
	eq "$(remote cat /files/work/aside)" aside
	eq "$(remote cat "/out/$ID/status")" running
	touch "$D/files/work/go"
	for i in 1 2 3 4 5 6; do
		wait_for file_is "$T/live.$i" done
		wait_for file_is "$T/wait.$i" 0
	done
}

# Out of files/ no link leads, nor a name.
check_links() {
	inside 'ln -s /etc/hostname /work/abs; ln -s ../../../../../../../etc/hostname /work/up
		ln -s /nosuch/../../etc/hostname /work/odd; ln -s / /work/root'
	eq "$(remote readlink /files/work/abs)" ../etc/hostname
	eq "$(remote readlink /files/work/up)" ../etc/hostname
	refute match "$(remote readlink /files/work/odd)" '^/|\.\./\.\.'
	eq "$(remote readlink /files/work/root)" ../
	refute eq "$(remote cat /files/work/up)" "$(cat /etc/hostname)"
	remote symlink /etc/shadow /files/work/made
	eq "$(remote readlink /files/work/made)" ../etc/shadow
}

# Wherever it is written: only what was written, and no more memory than that.
check_offsets() {
	local before after

	before=$(rss)
	echo 'echo far' | remote write_at /ctl/run 4000000000000000
	wait_for remote_is /out/1/exit_code 0
	eq "$(remote cat /out/1/cmd)" 'echo far'
	{ head -c 32768 /dev/zero | tr '\0' ' '; head -c 1048577 /dev/zero | tr '\0' ' '; echo 'touch /work/x'; } >"$T/long"
	match "$(remote write /ctl/run <"$T/long")" EFBIG
	match "$(remote cat /error)" EFBIG
	eq "$(runs)" 1
	after=$(rss)
	sanitized || ((after - before < 65536)) || fail "the daemon grew from $before to $after kB"
}

check_parallel_writers() {
	local i pids=()

	for i in $(seq 64); do
		remote_put /ctl/start "echo $i >>/work/all; echo $i" 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
	all_ended() { [[ $(cat "$D"/out/*/exit_code 2>/dev/null | wc -l) -ge 65 ]]; }
	wait_for all_ended
	eq "$(runs)" 64
	eq "$(sort -n "$D/files/work/all" | tr '\n' ' ')" "$(seq 64 | tr '\n' ' ')"
	for i in $(seq 64); do
		eq "$(cat "$D/out/$i/cmd")" "echo $(cat "$D/out/$i/stdout") >>/work/all; echo $(cat "$D/out/$i/stdout")"
	done
}

check_devices() {
	match "$(remote mknod /files/work/disk)" 'EPERM|EACCES'
	match "$(remote mknod /out/disk)" 'EPERM|EACCES'
	gone "$D/files/work/disk"
}

# What a mount point of the sandbox is, stays.
check_reserved() {
	local name

	for name in proc dev sys; do
		eq "$(remote_ls "/files/$name")" ''
		match "$(remote rm "/files/$name")" 'E[A-Z]+'
		match "$(remote mv "/files/$name" /files/work/x)" 'E[A-Z]+'
		match "$(echo x | remote create "/files/$name/x")" 'E[A-Z]+'
	done
	match "$(remote mv /files/work /ctl/work)" 'E[A-Z]+'
	match "$(remote mv /ctl/run /files/work/run)" 'E[A-Z]+'
	inside 'test -e /dev/null && test -d /proc/1'
}
