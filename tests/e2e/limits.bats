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
	! groups || eq "$(result '"\(.status) \(.limit) \(.exitCode)"')" "oom memory 137"
}

@test "pids: more processes than allowed are refused" {
	mount_sandbox -o pids=50
	request 'for i in $(seq 100); do sleep 9999 & done; wait'
	refute test "$(last exit_code)" = 0
	match "$(last stderr)" fork
	if groups; then
		eq "$(result '"\(.status) \(.limit)"')" "exited pids"
		match "$(cat "$D/error")" "out/1: a process was refused.*EAGAIN"
	fi
	echo KILL >"$D/out/1/kill"
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

# Whether the sandbox is limited by control groups here; a user may have none.
groups() { match "$(jq -r .enabled.limits "$D/status.json")" cgroup 2>/dev/null; }

# The longest of some reads of status.json while a command runs, in ms.
slowest_status() {
	perl -MTime::HiRes=time -e '
		my $worst = 0;
		for (1 .. 100) {
			my $t = time;
			open my $f, "<", $ARGV[0] or die;
			local $/;
			<$f> =~ /version/ or die;
			$worst = time - $t if time - $t > $worst;
			select undef, undef, undef, 0.01;
		}
		printf "%d\n", $worst * 1000' "$D/status.json"
}

# answers_during TEXT: starts the command in this sandbox, and looks how it and another one do.
answers_during() {
	local worst

	mount_other
	start_run "$1"
	worst=$(slowest_status)
	echo 'echo alive' >"$T/other/ctl/run"
	eq "$(cat "$T/other/out/last/stdout")" alive
	echo "slowest status.json: $worst ms" >&3
	((worst < 5000)) || fail "status.json took $worst ms"
	echo KILL >"$D/out/$ID/kill" 2>/dev/null || true
	wait_for is_file "$D/out/$ID/exit_code"
	"$SANDPIT" umount "$T/other"
}

# The directory of the control group of processors that a process is in.
cpu_group() {
	local line mount

	line=$(grep -E '^[0-9]+:([^:]*,)?cpu(,[^:]*)?:' "/proc/$1/cgroup" || grep '^0::' "/proc/$1/cgroup")
	for mount in $(awk '$(NF - 2) ~ /^cgroup2?$/ { print $5 }' /proc/self/mountinfo); do
		line=$(cut -d: -f3- <<<"$line")
		[[ ! -e $mount$line/cpu.shares && ! -e $mount$line/cpu.max ]] || echo "$mount$line"
	done | head -n 1
}

# The second sandbox of a test.
mount_other() {
	mkdir -p "$T/other" "$T/other-state"
	"$SANDPIT" mount -o net=none,state="$T/other-state" "$T/other" 3>&-
}

@test "processors: a sandbox has one share however many processes are busy in it, without cpus= too" {
	mount_sandbox
	groups && jq -e '.cpuMs' "$D/stats.json" || skip "no control group can be made here"
	mount_other
	start_run 'for i in $(seq 50); do taskset -c 0 sh -c "while :; do :; done" & done; wait'
	echo 'taskset -c 0 sh -c "while :; do :; done"' >"$T/other/ctl/start"
	used() { jq .cpuMs "$1/stats.json"; }
	measured() {
		a_used=$(($(used "$D") - a)) b_used=$(($(used "$T/other") - b))
		((a_used + b_used > 1500))
	}
	a=$(used "$D") b=$(used "$T/other")
	wait_for measured
	# With a share for each process it would be a fiftieth.
	((b_used * 3 > a_used)) || fail "50 busy processes had $a_used ms, a single one in another sandbox $b_used"
	"$SANDPIT" umount "$T/other"
}

@test "processors: the daemon is in no sandbox's group, and every sandbox has its own of equal weight" {
	as_root || skip "a user may have none here"
	mount_sandbox -o cpus=1
	groups || skip "no control group can be made here"
	mount_other
	new_mark
	start_run "sleep 9999.$MARK"
	echo "sleep 8888.$MARK" >"$T/other/ctl/start"
	wait_for living "^sleep 9999[.]$MARK"
	wait_for living "^sleep 8888[.]$MARK"
	a=$(cpu_group "$(pgrep -f "^sleep 9999[.]$MARK")")
	b=$(cpu_group "$(pgrep -f "^sleep 8888[.]$MARK")")
	match "$a" /sandpit-
	match "$b" /sandpit-
	refute test "$a" = "$b"
	for pid in $(daemon_pid) $(daemon_pid "$T/other") $$; do
		refute grep -qF "$(basename "${a%/all}")" "/proc/$pid/cgroup"
		refute grep -qF "$(basename "${b%/all}")" "/proc/$pid/cgroup"
	done
	weight() { cat "${1%/all}"/cpu.shares 2>/dev/null || cat "${1%/all}/cpu.weight"; }
	eq "$(weight "$a")" "$(weight "$b")"
	"$SANDPIT" umount "$T/other"
}

@test "cpus: a busy command is throttled where there is a control group" {
	mount_sandbox -o cpus=0.2
	groups || skip "no control group can be made here"
	cpu=$(inside "python3 -c '
import time
end, used = time.monotonic() + 2, time.process_time()
while time.monotonic() < end: pass
print(time.process_time() - used)'")
	awk -v cpu="$cpu" 'BEGIN { exit !(cpu < 1) }' || fail "$cpu s of 2 s"
}

@test "a run's own limits: memory" {
	mount_sandbox
	json '{"cmd": "exec python3 -c \"x = bytearray(300 << 20); print(1)\"", "limits": {"memory": "100M"}}'
	eq "$(cat "$D/out/$ID/stdout")" ""
	if groups; then
		eq "$(result '"\(.status) \(.limit) \(.exitCode)"' "$ID")" "oom memory 137"
		match "$(cat "$D/error")" "out/$ID: memory ran out.*ENOMEM"
		has_text "$D/log" "limit $ID: memory"
	else
		match "$(cat "$D/out/$ID/stderr")" MemoryError
	fi
	inside "python3 -c 'x = bytearray(300 << 20)'"
}

@test "a run's own limits: memory of a child is told, too, and that of all together counts" {
	mount_sandbox
	groups || skip "no control group can be made here"
	json '{"cmd": "python3 -c \"x = bytearray(300 << 20)\"; echo went on", "limits": {"memory": "100M"}}'
	eq "$(result '"\(.status) \(.limit) \(.exitCode)"' "$ID")" "exited memory 0"
	json '{"cmd": "for i in 1 2 3 4; do python3 -c \"x = bytearray(b\\\"1\\\" * (40 << 20)); import time; time.sleep(1)\" & done; wait", "limits": {"memory": "100M"}}'
	eq "$(result .limit "$ID")" memory
}

@test "a run's own limits: told as such after the sandbox has met its own" {
	mount_sandbox -o memory=150M,pids=40
	groups || skip "no control group can be made here"
	for _ in 1 2; do
		request 'exec python3 -c "x = bytearray(b\"1\") * (400 << 20)"'
		eq "$(result '"\(.status) \(.limit)"')" "oom memory"
	done
	json '{"cmd": "exec python3 -c \"x = bytearray(100 << 20)\"", "limits": {"memory": "60M"}}'
	eq "$(result '"\(.status) \(.limit)"' "$ID")" "oom memory"
	json '{"cmd": "true", "limits": {"memory": "60M"}}'
	eq "$(result '"\(.status) \(.limit)"' "$ID")" "exited null"
	json '{"cmd": "for i in $(seq 60); do sleep 1 & done; wait", "limits": {"memory": "100M"}}'
	eq "$(result .limit "$ID")" pids
	request true
	eq "$(result .limit)" null
}

@test "a run's own limits: what others were killed for is not counted, neither way" {
	mount_sandbox -o memory=150M
	groups || skip "no control group can be made here"
	request "exec python3 -c 'x = bytearray(400 << 20)'"
	eq "$(last status)" oom
	start_run 'sleep 9999'
	other=$ID
	for _ in 1 2; do
		json '{"cmd": "exec python3 -c \"x = bytearray(300 << 20)\"", "limits": {"memory": "60M"}}'
		eq "$(result '"\(.status) \(.limit)"' "$ID")" "oom memory"
		json '{"cmd": "for i in $(seq 30); do sleep 1 & done; wait", "limits": {"pids": 10}}'
		eq "$(result .limit "$ID")" pids
	done
	echo KILL >"$D/out/$other/kill"
	wait_for is_file "$D/out/$other/exit_code"
	eq "$(result .limit "$other")" null
}

@test "pids: a refused process is told as the limit" {
	mount_sandbox -o pids=50
	groups || skip "no control group can be made here"
	request 'for i in $(seq 100); do sleep 5 & done; wait'
	eq "$(result .limit)" pids
}

@test "a run's own limits: pids, of this run alone" {
	mount_sandbox
	groups || skip "no control group can be made here"
	start_run 'for i in $(seq 30); do sleep 9999 & done; wait'
	json '{"cmd": "for i in 1 2 3 4 5 6 7; do sleep 0.01 & done; wait; echo all", "limits": {"pids": 10}}'
	eq "$(cat "$D/out/$ID/stdout")" all
	eq "$(result .limit "$ID")" null
	json '{"cmd": "for i in $(seq 30); do sleep 1 & done; wait", "limits": {"pids": 10}}'
	eq "$(result .limit "$ID")" pids
	match "$(cat "$D/error")" "out/$ID: a process was refused.*EAGAIN"
}

@test "a run's own limits: cpus" {
	mount_sandbox
	if ! groups; then
		json '{"cmd": "true", "limits": {"cpus": 1}}'
		eq "$(cat "$D/out/$ID/status")" failed
		match "$(cat "$D/out/$ID/stderr")" 'no control group can limit the cpus'
		return
	fi
	json '{"cmd": ["python3", "-c", "import time\nend, used = time.monotonic() + 2, time.process_time()\nwhile time.monotonic() < end: pass\nprint(time.process_time() - used)"], "limits": {"cpus": 0.2}}'
	awk -v cpu="$(cat "$D/out/$ID/stdout")" 'BEGIN { exit !(cpu < 1) }'
}

@test "a run's own limits: fsize and nofile" {
	mount_sandbox
	json '{"cmd": ["head", "-c", "100000", "/dev/zero"], "limits": {"fsize": 4096}}'
	eq "$(result '"\(.status) \(.limit)"' "$ID")" "exited null"
	json '{"cmd": ["dd", "if=/dev/zero", "of=/work/f", "bs=1000", "count=100"], "limits": {"fsize": "4K"}}'
	eq "$(result '"\(.status) \(.signal) \(.limit)"' "$ID")" "signaled SIGXFSZ fsize"
	eq "$(stat -c %s "$D/files/work/f")" 4096
	json '{"cmd": "ulimit -n", "limits": {"nofile": 50}}'
	eq "$(cat "$D/out/$ID/stdout")" 50
}

@test "a run's own limits: what cannot be limited is refused" {
	mount_sandbox
	for limits in '{"disk": "1G"}' '{"nosuch": 1}' '{"memory": "x"}' '{"pids": -1}' '{"cpus": "1"}'; do
		match "$(fsop open "$D/ctl/run.json" w write "{\"cmd\": \"true\", \"limits\": $limits}" close)" EINVAL
	done
	eq "$(runs)" 0
}

@test "a limit is remembered over a mount" {
	mount_sandbox
	json '{"cmd": ["dd", "if=/dev/zero", "of=/work/f", "bs=1000", "count=100"], "limits": {"fsize": "4K"}}'
	umount_sandbox
	mount_sandbox
	eq "$(result '"\(.status) \(.limit) \(.timedOut)"' "$ID")" "signaled fsize false"
}

@test "control groups of runs go with them" {
	as_root || skip "a user may have none here"
	mount_sandbox
	left() { find /sys/fs/cgroup -maxdepth 6 -type d -path "*/sandpit-$(printf '%x-%x' "$(stat -c %d "$XDG_STATE_HOME"/sandpit/*m)" "$(stat -c %i "$XDG_STATE_HOME"/sandpit/*m)")/run-*" 2>/dev/null; }
	start_run 'true'
	json '{"cmd": "sleep 9999 & echo", "background": true, "limits": {"memory": "100M", "pids": 20, "cpus": 1}}'
	wait_for is_file "$D/out/$ID/exit_code"
	[[ -n $(left) ]] || skip "no control group can be made here"
	echo KILL >"$D/out/$ID/kill"
	none() { request true && [[ -z $(left) ]]; }
	wait_for none
}

# The daemon as a service of systemd's, with the unit's properties given; sets UNIT_GROUP.
mount_unit() {
	local unit=sandpit-test-$RANDOM

	as_root && [[ -d /run/systemd/system ]] || skip "no systemd that would start a service"
	[[ -e /sys/fs/cgroup/system.slice/cgroup.procs ]] || skip "control groups are not of version 2"
	systemd-run -q --unit="$unit" --setenv=HOME="$HOME" "$@" \
		"$SANDPIT" mount -f -o net=none,state="$T/state/s" "$D"
	wait_for mounted
	UNIT_GROUP=/sys/fs/cgroup/system.slice/$unit.service
	unit_gone() { [[ ! -d $UNIT_GROUP ]]; }
}

@test "a delegated unit's limits are the sandbox's, too" {
	mount_unit -p Delegate=yes -p MemoryMax=200M
	[[ -d $(echo "$UNIT_GROUP"/sandpit-*) ]] || fail "no group in the unit: $(ls "$UNIT_GROUP")"
	request "exec python3 -c 'x = bytearray(400 << 20)'"
	eq "$(result '"\(.status) \(.limit)"')" "oom memory"
	json '{"cmd": "exec python3 -c \"x = bytearray(100 << 20)\"", "limits": {"memory": "40M", "cpus": 1}}'
	eq "$(result '"\(.status) \(.limit)"' "$ID")" "oom memory"
	umount_sandbox
	wait_for unit_gone
}

@test "a unit that is not delegated keeps its group; all controllers are found" {
	mount_unit
	eq "$(echo "$UNIT_GROUP"/*/)" "$UNIT_GROUP/*/"
	json '{"cmd": "exec python3 -c \"x = bytearray(100 << 20)\"", "limits": {"memory": "40M", "pids": 9, "cpus": 1}}'
	eq "$(result '"\(.status) \(.limit)"' "$ID")" "oom memory"
	umount_sandbox
	wait_for unit_gone
}

@test "a daemon whose own group is threaded finds another" {
	as_root && [[ -d /run/systemd/system ]] || skip "no systemd that would start a service"
	[[ -e /sys/fs/cgroup/system.slice/cgroup.procs ]] || skip "control groups are not of version 2"
	threaded='echo +pids >/sys/fs/cgroup"$(cut -d: -f3 /proc/self/cgroup)"/cgroup.subtree_control && exec "$@"'
	systemd-run -q --unit="sandpit-test-$RANDOM" -p Delegate=yes --setenv=HOME="$HOME" \
		sh -c "$threaded" sh "$SANDPIT" mount -f -o net=none,state="$T/state/s" "$D"
	wait_for mounted
	json '{"cmd": "exec python3 -c \"x = bytearray(100 << 20)\"", "limits": {"memory": "40M", "pids": 9}}'
	eq "$(result '"\(.status) \(.limit)"' "$ID")" "oom memory"
}

@test "disk: who fills it is ended, and said to be; there is room again afterwards" {
	mount_sandbox -o disk=60M
	request 'for i in $(seq 100); do head -c 20M /dev/zero >/work/f$i; done; sleep 60'
	eq "$(result '"\(.status) \(.limit) \(.exitCode)"')" "limit disk 137"
	match "$(cat "$D/error")" "out/1: the sandbox's disk is full.*ENOSPC"
	match "$(cat "$D/log")" 'limit 1: disk'
	used=$(du -s -B1M "$XDG_STATE_HOME" 2>/dev/null | cut -f1)
	((used < 2000)) || fail "$used MiB"
	: >"$D/files/work/mine"
	match "$(fsop open "$D/files/work/mine" w write text)" ENOSPC
	inside 'rm /work/f*'
	room() { echo text 2>/dev/null >"$D/files/work/mine"; }
	wait_for room
	inside 'echo next >/work/x; cat /work/x'
}

@test "disk: many small files, files without a name, and huge ones" {
	mount_sandbox -o disk=40M
	request 'mkdir /work/d; i=0; while :; do : >/work/d/$i; i=$((i + 1)); done'
	eq "$(result .limit)" disk
	inside 'rm -r /work/d'
	request 'exec 3>/work/gone; rm /work/gone; while :; do head -c 1M /dev/zero >&3; done'
	eq "$(result .limit)" disk
	run inside 'fallocate -l 20G /work/huge'
	refute test "$status" = 0
	run inside 'truncate -s 1T /work/huge'
	refute test "$status" = 0
}

@test "disk: what a kernel or a child in the background writes is stopped, too" {
	mount_sandbox -o disk=40M
	new_mark
	start_run "true; setsid sh -c 'while :; do head -c 1M /dev/zero; done >/work/f # mark.$MARK' &"
	wait_for has_text "$D/log" 'limit: the disk holds'
	wait_for not_living "mark[.]$MARK"
}

@test "disk: deep and odd trees are measured" {
	mount_sandbox
	inside "python3 -c '
import os
os.chdir(\"/work\")
for i in range(1500):
    os.mkdir(\"d\" * 200)
    os.chdir(\"d\" * 200)
open(\"f\", \"wb\").write(bytes(30 << 20))
os.link(\"f\", \"/work/g\")
os.symlink(\"/\", \"loop\")
'"
	measured() { jq -e '.disk.usedBytes > 30000000 and .disk.usedBytes < 60000000 and .disk.usedItems > 1500' "$D/stats.json" >/dev/null; }
	wait_for measured
	inside 'rm -rf /work/*'
}

@test "stats.json shows use beside the limits" {
	mount_sandbox -o memory=200M,pids=77,disk=100M
	jq -e '.limits.memory == 209715200 and .limits.pids == 77 and .limits.disk == 104857600' "$D/stats.json"
	jq -e '.memoryBytes < .limits.memory and .processes < .limits.pids' "$D/stats.json"
	measured() { jq -e '.disk.usedBytes > 0' "$D/stats.json" >/dev/null; }
	wait_for measured
}

@test "stats.json shows what runs with limits of their own use" {
	mount_sandbox
	json '{"cmd": "true", "limits": {"nofile": 77}}'
	jq -e '.runs == []' "$D/stats.json"
	start_run 'sleep 9999'
	json '{"cmd": "sleep 9999 & sleep 9999", "id": "own", "background": true, "limits": {"memory": "100M", "pids": 20, "nofile": 77}}'
	jq -e '.runs | length == 1 and .[0].id == "own"' "$D/stats.json"
	jq -e '.runs[0].limits == {"memory": 104857600, "pids": 20, "cpus": null, "fsize": null, "nofile": 77}' "$D/stats.json"
	if groups; then
		two() { jq -e '.runs[0] | .processes >= 2 and .processes < 20 and .memoryBytes > 0 and .memoryBytes < 104857600' "$D/stats.json"; }
		wait_for two
	else
		jq -e '.runs[0] | .processes == null and .memoryBytes == null' "$D/stats.json"
	fi
	echo KILL >"$D/out/own/kill"
	none() { jq -e '.runs == []' "$D/stats.json"; }
	wait_for none
}

@test "a fork bomb: the daemon answers, another sandbox goes on" {
	mount_sandbox -o pids=100
	answers_during 'bomb() { bomb | bomb & }; bomb; sleep 60'
	wait_for inside 'echo next'
}

@test "a memory bomb: the daemon answers, another sandbox goes on" {
	mount_sandbox -o memory=100M
	answers_during 'while :; do python3 -c "x = bytearray(400 << 20)"; done'
	inside 'echo next'
}

@test "disk and inode fillers: the daemon answers, another sandbox goes on" {
	mount_sandbox -o disk=50M
	answers_during 'while :; do head -c 1M /dev/zero; done >/work/f'
	answers_during 'rm /work/f; i=0; while :; do : >/work/$i; i=$((i + 1)); done'
}

@test "a flood of output and busy processors: the daemon answers, another sandbox goes on" {
	mount_sandbox -o cpus=1
	answers_during 'yes & yes >&2 & while :; do :; done'
}

@test "a user's rlimits are not lowered outside" {
	before=$(ulimit -a)
	mount_sandbox -o nofile=64
	inside true
	eq "$(ulimit -a)" "$before"
}
