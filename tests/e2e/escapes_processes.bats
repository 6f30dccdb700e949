# Attempts by and on processes: init, descriptors, the environment, trees that will not die. The
# numbers are those of docs/escapes.md.
# runs-as: root user single rootfs
load ../lib/helper
load ../lib/escape

setup() { setup_escape; }

@test "43-46 descriptors, environment, command line and program of init" {
	exec 9</etc/hostname
	umount_sandbox
	SECRET_TOKEN=hush mount_sandbox
	exec 9<&-
	lines=$(attack inventory)
	eq "$(grep -c '^fd ' <<<"$lines")" 3
	refute grep -vE '^fd [0-2] (pipe:\[[0-9]+\]|/dev/null)$' < <(grep '^fd ' <<<"$lines")
	refute grep -qE 'SECRET|SANDPIT|TEST_|BATS|XDG' <<<"$lines"
	refute inside 'cat /proc/1/environ 2>/dev/null'
	inside 'tr "\0" "\n" </proc/1/cmdline; cat /proc/1/comm' >cmdline
	eq "$(sort -u cmdline)" sandpit-init
	# 45: the way back through standard output.
	request 'readlink /proc/self/fd/1; echo said; timeout 1 head -c 4 /proc/self/fd/1 >&2; true'
	refute grep -q "$T" "$D/out/last/output"
	# 46
	for file in exe mem root cwd fd environ maps; do
		refute inside "cat /proc/1/$file 2>/dev/null"
		refute inside "echo x 2>/dev/null >/proc/1/$file"
	done
	inside 'echo next'
	unharmed
}

@test "47-49, 51 init is not traced, killed, limited or slowed" {
	expect "$(inside '/work/escape inside')" <<-'END'
		ptrace_init EPERM
		pidfd_getfd EPERM|ENOSYS
		vm_readv_init EPERM
		prlimit_init EPERM
	END
	request 'for s in $(seq 1 64); do kill -$s 1; done; kill -9 1; kill -STOP 1
		prlimit --pid 1 --nofile=3:3 --cpu=1:1; taskset -p 1 1; renice 19 1; renice 19 -g 1; renice 19 -u 0; chrt -f -p 9 1; ionice -c 3 -p 1' 2>/dev/null
	inside 'ls / >/dev/null; echo next'
	inside 'cat /proc/1/limits' >limits 2>/dev/null || true
	refute grep -qE 'open files +3 ' limits
	unharmed
}

@test "50, 55-57 commands that kill, hide or stay behind" {
	start_run 'exec sleep 9999'
	other=$ID
	request 'kill -9 -1'
	wait_for is_file "$D/out/$other/exit_code"
	eq "$(cat "$D/out/$other/status")" signaled
	request 'kill -9 $PPID; exec bash -c "exec -a kworker/0:1 sleep 0"'
	eq "$(last exit_code)" 0
	inside 'echo next'
	request 'sleep 9999 & exit 3'
	eq "$(last exit_code)" 3
	echo KILL >"$D/out/last/kill"
	request '/work/attack inside hide 9999; (setsid sleep 9999 &); exec env -i sh -c "exec sleep 9999" &
		sleep 0; exit 0'
	echo KILL >"$D/out/last/kill"
	left() { eq "$(inside 'ls -d /proc/[0-9]* | wc -l')" 4 2>/dev/null; }
	wait_for left
	unharmed
}

@test "52-54 double forks, storms and bombs end" {
	umount_sandbox
	mount_sandbox -o pids=200
	json '{"cmd": "(setsid sh -c \"sleep 9999 & sleep 9999\" &); (sleep 9999 &); exec sleep 9999", "timeout": 1}'
	eq "$(result .status "$ID")" timeout
	start_run 'exec sleep 9999'
	quiet=$ID
	start_attack storm
	storm=$ID
	answers
	end_run "$storm"
	start_run 'bomb() { bomb | bomb & }; bomb 2>/dev/null; while :; do (sleep 9999 &) 2>/dev/null; done'
	for _ in {1..10}; do answers; done
	echo x >"$D/files/work/x"
	end_run "$ID"
	refute is_file "$D/out/$quiet/exit_code"
	end_run "$quiet"
	calm() { inside 'test $(ls -d /proc/[0-9]* | wc -l) -lt 20' >/dev/null 2>&1; }
	wait_for calm
	unharmed
}

@test "58 floods of output" {
	umount_sandbox
	mount_sandbox -o output_bytes=1M
	start_run 'yes'
	start_run 'exec head -c 300000000 /dev/zero >&2'
	for _ in {1..10}; do answers; done
	wait_for is_file "$D/out/2/exit_code"
	end_run 1
	eq "$(jq .truncated "$D/out/2/result.json")" true
	eq "$(stat -c %s "$D/out/2/stderr")" 1048576
	unharmed
}

@test "59, 61 no terminal to type into, no core for the host" {
	lines=$(inside '/work/escape inside')
	expect "$lines" <<-'END'
		tiocsti EPERM
		tiocsti_high EPERM
		tioclinux EPERM
		discipline EPERM
		dumpable_core EPERM
	END
	refute inside 'echo x >/dev/tty' 2>/dev/null
	request 'ulimit -c unlimited 2>/dev/null; cd /work; kill -SEGV $$'
	eq "$(last status)" signaled
	eq "$(inside 'ulimit -Hc; ulimit -Sc' | sort -u)" 0
	eq "$(inside 'grep "Max core" /proc/self/limits' | tr -s ' ')" "Max core file size 1 1 bytes "
	eq "$(ls "$D/files/work" | grep -c core || true)" 0
	unharmed
}

@test "60 every way to end is told as it was" {
	while read -r code status command; do
		request "$command" || true
		eq "$(last status) $(last exit_code)" "$status $code" "$command"
	done <<-'END'
		44 exited exit 300
		139 signaled kill -SEGV $$
		159 signaled kill -SYS $$
		137 signaled kill -KILL $$
		130 signaled kill -INT $$
		127 exited /none/such
		126 exited /etc
	END
	json '{"cmd": "kill -STOP $$; echo woken", "timeout": 1}'
	eq "$(result .status "$ID")" timeout
}

@test "62-64 no privileges by set-id programs, groups or capabilities" {
	request 'su -c id nobody </dev/null; sudo id </dev/null; true'
	as_single || {
		json '{"cmd": "cp /usr/bin/id /tmp/i; chown root /tmp/i; chmod 4755 /tmp/i; chmod 755 /tmp; mkdir -p /home/user"}'
		id=$(inside 'getent passwd user || true')
		[[ -z $id ]] || {
			json '{"cmd": "/tmp/i -u", "user": "user"}'
			eq "$(cat "$D/out/$ID/stdout")" 1000
		}
	}
	eq "$(inside 'id -G')" 0
	lines=$(attack inventory)
	eq "$(awk '/^Groups/ { print $2 }' <<<"$lines" | grep -vE '^(0|65534)$')" ""
	eq "$(awk '/^NoNewPrivs/ { print $2 }' <<<"$lines")" 1
	eq "$(awk '/^Seccomp:/ { print $2 }' <<<"$lines")" 2
	for set in CapInh CapAmb; do
		eq "$(awk -v s="$set:" '$1 == s { print $2 }' <<<"$lines")" 0000000000000000
	done
	for set in CapBnd CapEff CapPrm; do
		caps=$(awk -v s="$set:" '$1 == s { print $2 }' <<<"$lines")
		((!(0x$caps & ~0x800005fb))) || fail "$set $caps"
	done
}
