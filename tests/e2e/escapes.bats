# Attempts to break out. Each is judged on both sides: the error inside, and the host unharmed.
# runs-as: root user single
load ../lib/helper

setup() {
	make_dirs
	mount_sandbox
	cp "$HELPERS/escape" "$D/files/work/escape"
	chmod 755 "$D/files/work/escape"
	WITNESS=$(witness)
}

# What must not change on the host.
witness() {
	sha256sum /etc/passwd /usr/bin/env /proc/sys/kernel/core_pattern 2>/dev/null
	hostname
	cat /proc/sys/kernel/core_pattern
}

unharmed() { eq "$(witness)" "$WITNESS" "the host"; }

@test "forbidden system calls give their error" {
	inside '/work/escape inside' >got
	while read -r name want; do
		match "$(awk -v n="$name" '$1 == n { print $2 }' got)" "^($want)$" || fail "of $name"
	done <<-'END'
		unshare_user EPERM|ENOSPC
		unshare_mount EPERM
		unshare_pid EPERM
		unshare_cgroup EPERM
		clone_user EPERM|ENOSPC
		clone3 ENOSYS
		mount_tmpfs EPERM
		remount_root EPERM
		umount_proc EPERM
		fsopen EPERM|ENOSYS
		open_tree EPERM|ENOSYS
		move_mount EPERM|ENOSYS
		mount_setattr EPERM|ENOSYS
		pivot_root EPERM
		setns EPERM|EACCES
		open_by_handle EPERM
		mknod EPERM
		io_uring ENOSYS
		bpf EPERM
		perf EPERM
		userfaultfd EPERM
		keyctl EPERM|ENOSYS
		add_key EPERM|ENOSYS
		vsock EAFNOSUPPORT|EPERM
		alg EAFNOSUPPORT|EPERM
		packet EAFNOSUPPORT|EPERM
		raw EPERM
		netlink_audit EAFNOSUPPORT|EPERM|EPROTONOSUPPORT
		tiocsti EPERM
		tiocsti_high EPERM
		tioclinux EPERM
		ptrace_init EPERM
		pidfd_getfd EPERM|ENOSYS
		vm_readv_init EPERM
		prlimit_init EPERM
		fifo_class EPERM
		nice EPERM|EACCES
		reboot EPERM
		init_module EPERM
		kexec EPERM
		swapon EPERM
		acct EPERM
		settime EPERM
		sethostname EPERM
		syslog EPERM
		quotactl EPERM
		iopl EPERM
		personality EPERM|ENOSYS
		unknown_call ENOSYS
		int80 EPERM|ENOSYS
		dumpable_core EPERM
	END
	unharmed
}

@test "chroot and climbing: the sandbox's root at most" {
	inside '/work/escape inside chroot' >got
	match "$(cat got)" 'EPERM|ok'
	eq "$(inside 'cd ../../../../../../..; pwd; stat -c %i /' | tail -n 1)" "$(inside 'stat -c %i /')"
	refute inside 'ls ../../../../../..'"$T"
}

@test "namespaces from a shell" {
	for command in 'unshare -Ur true' 'unshare -m true' 'unshare -p -f true' 'nsenter -t 1 -m true' 'mount -t tmpfs none /tmp' 'umount -l /proc'; do
		refute inside "$command" || fail "$command"
	done
	inside 'ls /proc/self/status'
}

@test "kernel settings cannot be written" {
	for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/sys/vm/drop_caches /proc/sys/kernel/modprobe /proc/sys/fs/binfmt_misc/register /proc/sys/kernel/hostname /proc/sys/user/max_user_namespaces; do
		refute inside "echo '|/tmp/x' > $file" || fail "$file"
	done
	refute inside 'echo -1000 > /proc/self/oom_score_adj'
	unharmed
}

@test "what the kernel would tell is masked" {
	for file in /proc/kcore /proc/kmsg /proc/keys /proc/timer_list /proc/kallsyms /proc/config.gz /proc/sched_debug /proc/sysrq-trigger; do
		eq "$(inside "head -c 100 $file 2>/dev/null | wc -c; true")" 0 "$file"
	done
	eq "$(inside 'ls -A /sys | wc -l')" 0
}

@test "devices of the host are not there" {
	refute inside 'ls /dev/mem /dev/kmsg /dev/fuse /dev/net/tun /dev/userfaultfd /dev/vsock /dev/sda /dev/vda'
}

@test "init cannot be killed, stopped or traced" {
	request 'kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1'
	inside 'echo next'
	refute inside 'python3 -c "open(\"/proc/1/mem\", \"r+b\")"'
	request 'for s in $(seq 1 64); do kill -$s 1; done'
	inside 'echo next'
}

@test "init cannot be limited: the next command works" {
	request 'prlimit --pid 1 --nofile=3:3 --cpu=1:1; taskset -p 1 1; renice 19 1'
	inside 'ls / >/dev/null; echo next'
}

@test "set-id programs give nothing" {
	request 'su -c id nobody </dev/null; sudo id </dev/null; true'
	as_single || {
		json '{"cmd": "cp /usr/bin/id /tmp/i; chmod 4755 /tmp/i; chown root /tmp/i"}'
		json '{"cmd": "/tmp/i -u", "user": "user"}'
		eq "$(cat "$D/out/$ID/stdout")" 1000
	}
	inside 'cp /bin/bash /work/b; chmod 4755 /work/b'
	eq "$("$D/files/work/b" -p -c 'id -u')" "$(id -u)"
}

@test "a planted link in place of a mount point is refused or remade at the next start" {
	mkdir "$T/victim" "$T/victim/keep"
	for name in dev proc sys tmp usr etc mnt; do
		request "rmdir /$name 2>/dev/null; mv /$name /x-$name 2>/dev/null; ln -sfn $T/victim /$name; ln -sfn ../../../../../../../..$T/victim /r-$name"
	done
	umount_sandbox
	run mount_sandbox
	eq "$(ls -A "$T/victim")" keep
	if [[ $status == 0 ]]; then
		request 'touch /dev/x /proc/x /usr/x /mnt/x /tmp/x 2>/dev/null; true'
	fi
	eq "$(ls -A "$T/victim")" keep
	unharmed
}

@test "reserved names cannot be replaced through files/ either" {
	cd "$D/files"
	ln -s "$T" work/evil
	run fsop rename work/evil dev none rename work/evil proc none rename work/evil usr none rmdir dev rmdir proc rmdir sys
	refute grep -qE ' 0$' <<<"$output"
}

@test "overlay attributes cannot be planted" {
	request "python3 -c 'import os; os.setxattr(\"/usr\", \"trusted.overlay.redirect\", b\"/root\")'"
	refute test "$(last exit_code)" = 0
	request "python3 -c 'import os; os.setxattr(\"/usr/local\", \"user.overlay.redirect\", b\"/root\")'"
	umount_sandbox
	mount_sandbox
	inside 'ls /usr/bin/env /usr/local'
	unharmed
}

@test "hard links to the system's files do not reach the host's" {
	request 'ln /usr/bin/env /usr/bin/env-link && echo bad >> /usr/bin/env-link; ln /usr/bin/env /work/e && echo bad >> /work/e; true'
	unharmed
}

@test "a FIFO, a lease, a socket do not stop the daemon" {
	inside 'mkfifo /work/ff; echo x > /work/leased'
	start_run 'python3 -c "
import fcntl, os, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(\"/work/leased\", os.O_RDWR)
try:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError as e:
    print(e)
open(\"/work/ready\", \"w\")
time.sleep(9999)"'
	wait_for is_file "$D/files/work/ready"
	start sh -c 'exec cat "$1" >/dev/null' sh "$D/files/work/leased"
	start sh -c 'exec cat "$1" >/dev/null' sh "$D/files/work/ff"
	ls "$D/files/work" >/dev/null
	echo y >"$D/files/work/other"
	inside 'cat /work/other'
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
}

@test "cwd through a magic link" {
	for cwd in /proc/self/fd/0 /proc/1/cwd /proc/1/root /proc/self/root/../../.. ; do
		json "{\"cmd\": \"pwd -P; ls -d $T\", \"cwd\": \"$cwd\"}" 2>/dev/null || continue
		refute test "$(cat "$D/out/$ID/exit_code")" = 0
		refute grep -qF "$T" "$D/out/$ID/stdout"
	done
}

@test "LD_PRELOAD in a request reaches the command alone" {
	inside 'printf "garbage" > /work/evil.so'
	json '{"cmd": "/bin/echo ran", "env": {"LD_PRELOAD": "/work/evil.so", "PATH": "/work:/usr/bin:/bin"}}'
	eq "$(cat "$D/out/$ID/stdout")" ran
	inside 'echo next'
}

@test "a crash of a command writes no core on the host" {
	request 'ulimit -c unlimited 2>/dev/null; cd /work; kill -SEGV $$'
	eq "$(last status)" signaled
	eq "$(ls "$D/files/work" | grep -c core || true)" 0
	unharmed
}

@test "a fork bomb ends at the limit and the daemon answers" {
	umount_sandbox
	mount_sandbox -o pids=200
	start_run 'bomb() { bomb | bomb & }; bomb 2>/dev/null; while :; do (sleep 9999 &) 2>/dev/null; done'
	wait_for test -d "$D/out/$ID"
	for i in {1..20}; do cat "$D/status.json" "$D/stats.json" >/dev/null; done
	echo x >"$D/files/work/x"
	eq "$(cat "$D/files/work/x")" x
	# A shell that cannot fork any more may have ended by itself.
	echo KILL >"$D/out/$ID/kill" || [[ -e $D/out/$ID/exit_code ]]
	wait_for is_file "$D/out/$ID/exit_code"
	calm() { inside 'true' >/dev/null 2>&1; }
	wait_for calm
	few() { (($(inside 'ls -d /proc/[0-9]* | wc -l') < 20)); }
	wait_for few
}

@test "two thousand links, names and directories made in haste do not grow the daemon without bound" {
	inside 'python3 -c "
import os
os.chdir(\"/work\")
for i in range(2000):
    os.symlink(f\"/work/{i}\", f\"l{i}\")
    os.mkdir(f\"d{i}\")"'
	ls -lR "$D/files/work" >/dev/null
	(($(ls "/proc/$(daemon_pid)/fd" | wc -l) < 15000))
	inside 'cd /work; rm -r l* d*'
	eq "$(ls "$D/files/work")" escape
}

@test "very long paths" {
	inside 'python3 -c "
import os
os.chdir(\"/work\")
for i in range(60):
    os.mkdir(\"n\" * 200)
    os.chdir(\"n\" * 200)
open(\"f\", \"w\")"'
	(cd "$D/files/work" && for i in {1..60}; do cd "$(printf 'n%.0s' {1..200})" || exit 1; done && ls f)
	find "$D/files/work" -name f >/dev/null
	inside 'rm -r /work/n*'
}
