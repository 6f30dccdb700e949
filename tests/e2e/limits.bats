# Limits of the sandbox: an error for who exceeds them, no harm to others.
# runs-as: root user
load ../lib/helper

setup() { make_dirs; }

@test "memory: a command over the limit fails; the next one works" {
	mount_sandbox -o memory=120M
	request "python3 -c 'x = bytearray(400 << 20); print(\"not reached\")'"
	refute test "$(last exit_code)" = 0
	eq "$(last stdout)" ""
	match "$(last status)" '^(oom|signaled|exited|killed)$'
	inside 'echo next'
}

@test "memory: killed for it is said as oom, where the kernel tells" {
	mount_sandbox -o memory=120M
	request "exec python3 -c 'x = bytearray(400 << 20); print(\"not reached\")'"
	[[ $(last status) != signaled ]] || fail "killed by the kernel, but not told as oom"
}

@test "pids: more processes than allowed are refused" {
	mount_sandbox -o pids=50
	request 'for i in $(seq 100); do sleep 9999 & done; wait 2>/dev/null; true' &
	wait_for is_file "$D/out/1/status"
	echo KILL >"$D/out/1/kill"
	wait_for is_file "$D/out/1/exit_code"
	wait
	inside 'echo next'
}

@test "nofile and fsize" {
	mount_sandbox -o nofile=100,fsize=1M
	eq "$(inside 'ulimit -n')" 100
	request 'head -c 3000000 /dev/zero > /work/f'
	eq "$(stat -c %s "$D/files/work/f")" 1048576
}

@test "limits are shown in status.json" {
	mount_sandbox -o memory=200M,pids=77
	jq -e '[.. | numbers] | any(. == 77) and any(. == 209715200)' "$D/status.json"
}

@test "cpus: a busy command is throttled where the machine can" {
	mount_sandbox -o cpus=0.2
	inside 'echo works'
}

@test "a user's rlimits are not lowered outside" {
	before=$(ulimit -a)
	mount_sandbox -o nofile=64
	inside true
	eq "$(ulimit -a)" "$before"
}
