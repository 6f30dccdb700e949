# Many runs: at once, one after another, more than are kept.
# runs-as: root user
load ../lib/helper

@test "50 writers at once: 50 runs, nothing mixed, nothing lost" {
	for i in {1..50}; do
		start sh -c 'echo "echo out-$2; echo err-$2 >&2; exit $2" >"$1"' sh "$D/ctl/run" "$i"
	done
	wait "${STARTED[@]}"
	eq "$(runs)" 50
	for i in {1..50}; do
		n=$(cat "$D/out/$i/exit_code")
		eq "$(cat "$D/out/$i/cmd")" "echo out-$n; echo err-$n >&2; exit $n"
		eq "$(cat "$D/out/$i/stdout")" "out-$n"
		eq "$(cat "$D/out/$i/stderr")" "err-$n"
	done
	eq "$(cat "$D"/out/[1-9]*/exit_code | sort -n)" "$(seq 50)"
}

@test "50 writers at once read their own ids back" {
	for i in {1..50}; do
		start bash -c 'exec 7<>"$1/ctl/run"; echo "echo $2" >&7; read -r id <&7; exec 7>&-
			test "$(cat "$1/out/$id/stdout")" = "$2" || echo "$2: wrong" >>"$3"' bash "$D" "$i" "$T/wrong"
	done
	wait "${STARTED[@]}"
	refute test -e wrong
	eq "$(runs)" 50
}

measures() {
	local pid

	pid=$(daemon_pid)
	echo "$(ls "/proc/$pid/fd" | wc -l) $(pgrep -P "$pid" | wc -l) $(ls "/proc/$pid/task" | wc -l)"
}

@test "500 runs leave no process, descriptor or memory growth" {
	# The index is tidied for the first time after some 330 runs; a descriptor stays from then on.
	for i in {1..400}; do echo "echo $i" >"$D/ctl/run"; done
	before=$(measures)
	memory=$(rss)
	for i in {1..500}; do echo "echo $i; echo e >&2" >"$D/ctl/run"; done
	inside 'ls -d /proc/[0-9]* | wc -l' >processes
	(($(cat processes) <= 5)) || fail "processes inside: $(cat processes)"
	same() { after=$(measures) && [[ ${after% *} == "${before% *}" ]]; }
	wait_for same || fail "descriptors and children: $before, then $after"
	((${after##* } <= ${before##* } + 2)) || fail "threads: $before, then $after"
	sanitized || (($(rss) - memory < 2048)) || fail "memory: $memory KiB, then $(rss) KiB"
	eq "$(cat "$D/out/900/stdout")" 500
}

@test "the newest 1000 runs are kept" {
	python3 - "$D/ctl/run" <<-'END'
		import sys
		for i in range(1, 1031):
		    with open(sys.argv[1], "w") as f:
		        f.write(f"echo {i}")
	END
	eq "$(runs)" 1000
	refute test -e "$D/out/30"
	eq "$(cat "$D/out/31/stdout")" 31
	eq "$(cat "$D/out/1030/stdout")" 1030
	eq "$(readlink "$D/out/last")" 1030
	umount_sandbox
	mount_sandbox
	eq "$(runs)" 1000
	eq "$(cat "$D/out/31/stdout")" 31
}

@test "pruning spares what still runs" {
	start_run 'until test -e /work/go; do sleep 0.1; done; echo done'
	python3 - "$D/ctl/run" <<-'END'
		import sys
		for i in range(1010):
		    with open(sys.argv[1], "w") as f:
		        f.write("true")
	END
	eq "$(cat "$D/out/$ID/status")" running
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cat "$D/out/$ID/stdout")" "done"
}

@test "at most 1 GiB of output is kept" {
	umount_sandbox
	mount_sandbox -o output_bytes=512M
	for i in 1 2 3; do request 'head -c 400000000 /dev/zero'; done
	refute test -e "$D/out/1"
	eq "$(stat -c %s "$D/out/2/stdout")" 400000000
	eq "$(stat -c %s "$D/out/3/stdout")" 400000000
}

@test "runs through every way at once, with readers, listings and removals" {
	for w in 1 2 3 4; do
		start bash -c 'for i in {1..25}; do
			echo "echo $2-$i" >"$1/ctl/run"
			printf "{\"cmd\":\"echo json-$2-$i\"}" >"$1/ctl/run.json"
			mkdir "$1/out/n-$2-$i" && echo "echo named" >"$1/out/n-$2-$i/cmd" && cat "$1/out/n-$2-$i/wait" >/dev/null
		done' bash "$D" "$w"
	done
	writers=("${STARTED[@]}")
	start bash -c 'while :; do ls -lR "$1/out" >/dev/null 2>&1; cat "$1"/out/*/result.json >/dev/null 2>&1; done' bash "$D"
	wait "${writers[@]}"
	eq "$(runs)" 300
	eq "$(cat "$D"/out/*/exit_code | sort -u)" 0
	rm -r "$D"/out/n-*
	eq "$(runs)" 200
	eq "$(cat "$D/status.json" | jq -r .version)" "$("$SANDPIT" --version | grep -oE '[0-9]+(\.[0-9]+)+')"
}
