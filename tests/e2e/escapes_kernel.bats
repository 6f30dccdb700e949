# Attempts on the kernel's interfaces and the network, and by archives and requests. The numbers are
# those of docs/escapes.md.
# runs-as: root user single rootfs
load ../lib/helper
load ../lib/escape

setup() { setup_escape; }

@test "65-67, 71, 73-83 forbidden system calls give their error" {
	lines=$(inside '/work/escape inside')
	expect "$lines" <<-'END'
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
		kcmp EPERM
		mbind EPERM
		move_pages EPERM
		migrate_pages EPERM
		process_madvise EPERM
		lookup_dcookie EPERM|ENOSYS
		adjtimex EPERM
		fanotify EPERM
		x32 EPERM|ENOSYS
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
	for command in 'unshare -Ur true' 'unshare -m true' 'unshare -p -f true' 'nsenter -t 1 -m true' 'mount -t cgroup none /mnt' 'mount -t cgroup2 none /mnt'; do
		refute inside "$command 2>/dev/null"
	done
	unharmed
}

@test "68-72, 82 kernel settings cannot be written, and what it would tell is masked" {
	for file in kernel/core_pattern vm/drop_caches kernel/modprobe fs/binfmt_misc/register kernel/hostname user/max_user_namespaces net/ipv4/ip_forward kernel/yama/ptrace_scope; do
		refute inside "echo '|/tmp/x' 2>/dev/null >/proc/sys/$file"
	done
	# Each that watches for pressure costs the whole machine, and holds up the end of who made it.
	for file in cpu io memory; do
		refute inside "echo 'some 500000 2000000' 2>/dev/null >/proc/pressure/$file"
	done
	refute inside 'echo b 2>/dev/null >/proc/sysrq-trigger; head -c 1 /proc/sysrq-trigger | grep .'
	refute inside 'echo -1000 2>/dev/null >/proc/self/oom_score_adj'
	for file in kcore kmsg keys timer_list kallsyms config.gz sched_debug sysrq-trigger cmdline vmallocinfo scsi/scsi; do
		eq "$(inside "head -c 100 /proc/$file 2>/dev/null | wc -c; true")" 0 "$file"
	done
	eq "$(inside 'ls -A /sys | wc -l')" 0
	refute inside 'grep -E " (cgroup2?|sysfs|debugfs|tracefs|securityfs|bpf) " /proc/self/mounts'
	unharmed
}

@test "82 what the mounting user may have of the processors is not for commands" {
	umount_sandbox
	(ulimit -r 1 && ulimit -e 25) 2>/dev/null || skip "real-time priorities cannot be allowed here"
	ulimit -r 1
	ulimit -e 25
	mount_sandbox
	put_tools
	match "$(inside 'grep "Max realtime priority" /proc/self/limits')" ' 0 +0 *$'
	match "$(inside 'grep "Max nice priority" /proc/self/limits')" ' 0 +0 *$'
	expect "$(inside '/work/escape inside fifo_class; /work/escape inside nice')" <<-'END'
		fifo_class EPERM
		nice EPERM|EACCES
	END
	unharmed
}

@test "83 devices of the host are not there" {
	inside 'ls /dev' >dev
	refute grep -qvE '^(null|zero|full|random|urandom|tty|pts|ptmx|shm|fd|stdin|stdout|stderr|core|console|mqueue)$' dev
	# Null and the others are the host's own: neither their modes nor their times are to be changed.
	before=$(stat -c '%n %a %U %X %Y %Z' /dev/null /dev/zero /dev/full /dev/random /dev/urandom)
	request 'for n in null zero full random urandom tty; do touch /dev/$n; touch -d 2001-01-01 /dev/$n; chmod 600 /dev/$n; chown 1 /dev/$n; rm /dev/$n; done' 2>/dev/null || true
	eq "$(stat -c '%n %a %U %X %Y %Z' /dev/null /dev/zero /dev/full /dev/random /dev/urandom)" "$before"
	inside 'echo x >/dev/null; head -c 1 /dev/zero >/dev/null; head -c 1 /dev/urandom >/dev/null; refused=$(echo x 2>&1 >/dev/full) || true; test -n "$refused"'
	refute inside 'ls /dev/mem /dev/kmsg /dev/fuse /dev/net/tun /dev/userfaultfd /dev/vsock /dev/sda /dev/vda 2>/dev/null'
}

@test "85-86 neither the host's loopback nor its sockets" {
	cat >server.py <<-'END'
		import os, socket, sys
		s = socket.create_server(("127.0.0.1", 0))
		port = str(s.getsockname()[1])
		a = socket.socket(socket.AF_UNIX)
		a.bind("\0sandpit-test-" + port)
		a.listen()
		u = socket.socket(socket.AF_UNIX)
		u.bind("victim.sock")
		os.chmod("victim.sock", 0o777)
		u.listen()
		open("port.new", "w").write(port)
		os.rename("port.new", "port")
		s.accept()
		open("reached", "w")
	END
	start python3 server.py
	wait_for is_file port
	port=$(cat port)
	cat >"$D/files/work/tcp.sh" <<<"exec 3<>/dev/tcp/127.0.0.1/$port"
	refute inside 'bash /work/tcp.sh 2>/dev/null'
	eq "$(attack connect "@sandpit-test-$port")" "connect ECONNREFUSED"
	eq "$(attack connect "$T/victim.sock")" "connect ENOENT"
	umount_sandbox
	mount_sandbox -o net=host
	# The network is the host's then, its sockets without a path are not.
	if grep -q "abstract sockets" "$D/log"; then
		skip "this kernel cannot keep abstract sockets apart"
	fi
	eq "$(attack connect "@sandpit-test-$port")" "connect EPERM"
	inside '/work/attack inside bind @own; (/work/attack inside bind @own stay & echo $! >/work/pid); until /work/attack inside connect @own | grep -q "connect 0"; do :; done; kill $(cat /work/pid)' >/dev/null
	refute test -e reached
}

@test "92 a request's bytes and environment reach its command alone" {
	inside 'printf "garbage" > /work/evil.so'
	json '{"cmd": "/bin/echo ran", "env": {"LD_PRELOAD": "/work/evil.so", "PATH": "/work:/usr/bin:/bin"}}'
	eq "$(cat "$D/out/$ID/stdout")" ran
	inside 'echo next'
}


@test "90 a tree that changes while it is stored" {
	request 'mkdir -p /work/app /work/other; cd /work/app; for i in 1 2 3 4 5 6 7 8 9; do head -c 100000 /dev/zero >f$i; done; ln -s /etc /work/etc; echo inside >/work/other/passwd'
	start_run "cd /work/app; /work/attack inside swap /work/app/f1 /work/app/f2 & /work/attack inside swap /work/other /work/etc &
		while :; do : >f3; head -c 5000 /dev/zero >f4; rm f5; mkfifo f5; rm f5; ln -s $T/victim/keep f5; rm f5; mkdir f5; rmdir f5; echo x >f5; done"
	for _ in 1 2 3; do
		echo 'persist /work/app' >"$D/checkpoint" || true
		echo 'persist /work/other' >"$D/checkpoint" 2>/dev/null || true
	done
	end_run "$ID"
	for archive in "$D"/checkpoints/*/archive.tar.zst; do
		zstd -dc <"$archive" 2>/dev/null >a.tar || python3 -c 'import sys; sys.exit(0)'
		[[ ! -s a.tar ]] || tar -tf a.tar >/dev/null
		refute grep -q untouched a.tar
	done
	unharmed
}
