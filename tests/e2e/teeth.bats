# The tests of escapes can fail: with one protection left off, which only a test build can, the
# attack that it stops succeeds. The words after SANDPIT_UNSAFE= are those of common/unsafe.h.
# runs-as: root user single
load ../lib/helper
load ../lib/escape

setup() {
	make_dirs
	[[ -x $HELPERS/unsafe/sandpit && -z $TEST_VARIANT ]] || skip "the test build without protections is not there (make test-binaries)"
	mkdir "$T/victim"
	echo untouched >"$T/victim/keep"
	SANDPIT=$HELPERS/unsafe/sandpit
}

# without NAMES [MOUNT OPTIONS]
without() {
	local names=$1

	shift
	SANDPIT_UNSAFE=$names "$SANDPIT" mount -o net=none "$@" "$D" 3>&-
	put_tools
}

# The same attack stops when nothing is left off, so it is that protection which stops it.
with_all() {
	umount_sandbox
	mount_sandbox "$@"
	put_tools
}

# The named calls, each in a process of its own: with nothing to stop them, others end the sandbox.
calls() { # `NAME REGEX` lines
	local lines names

	lines=$(cat)
	names=$(awk '{ print $1 }' <<<"$lines" | tr '\n' ' ')
	expect "$(inside "for n in $names; do /work/escape inside \$n; done")" <<<"$lines"
}

@test "system calls: the filter and the capabilities each stop some, together all" {
	without filter
	calls <<-'END'
		io_uring ok
		vsock ok
		huge_file ok
		discipline ok
		perf ok|EACCES
		userfaultfd ok
		kcmp ok
		alg ok|EAFNOSUPPORT
		lookup_dcookie ENOSYS|EPERM
		mount_tmpfs EPERM
		umount_proc EPERM
	END
	with_all
	calls <<-'END'
		io_uring ENOSYS
		vsock EAFNOSUPPORT|EPERM
		huge_file EINVAL
		discipline EPERM
		perf EPERM
		userfaultfd EPERM
		kcmp EPERM
	END
	umount_sandbox
	without filter,caps
	calls <<-'END'
		fsopen ok
		mount_tmpfs ok
		unshare_mount ok
		chroot ok
		umount_proc ok
	END
	umount_sandbox
	without caps
	calls <<-'END'
		fsopen EPERM|ENOSYS
		mount_tmpfs EPERM
		umount_proc EPERM
		chroot ok
	END
}

@test "links: unwritten targets lead the host's programs out" {
	without links
	request "ln -s $T/victim/keep /work/abs"
	eq "$(cat "$D/files/work/abs")" untouched
	with_all
	refute cat "$D/files/work/abs" 2>/dev/null
}

@test "reserved names: taken away, the sandbox has no system any more" {
	without reserved
	run fsop rmdir "$D/files/usr" rmdir "$D/files/opt"
	match "$output" 'rmdir 0'
	refute grep -q EBUSY <<<"$output"
	with_all
	match "$(fsop rmdir "$D/files/usr")" 'rmdir EBUSY'
}

@test "vigil: one that stops all others stops init" {
	without vigil
	start_attack stop_all
	stuck() { ! timeout 2 sh -c 'for i in 1 2 3 4 5 6 7 8; do echo "exec sleep 9999" >"$1/ctl/start"; done; echo true >"$1/ctl/start"' sh "$D"; }
	wait_for stuck
	with_all
	inside 'echo next'
}

@test "trees: a double fork survives" {
	without tree
	new_mark
	request "(setsid sleep 9999.$MARK &); exec sleep 0"
	echo KILL >"$D/out/last/kill" || true
	inside "grep -l 9999.$MARK /proc/[0-9]*/cmdline 2>/dev/null | grep -v self" >left
	with_all
	request "(setsid sleep 9999.$MARK &); exec sleep 0"
	echo KILL >"$D/out/last/kill"
	gone_all() { not_living "9999[.]$MARK"; }
	wait_for gone_all
}

@test "masks: the kernel's symbols are there to read" {
	without masks
	inside 'head -c 10 /proc/kallsyms | grep -q . && head -c 10 /proc/timer_list >/dev/null; head -c 5 /proc/cmdline | grep .'
	with_all
	eq "$(inside 'head -c 10 /proc/kallsyms | wc -c; head -c 5 /proc/cmdline | wc -c' | sort -u)" 0
}

@test "limits: the user's signals are used up" {
	without limits
	start_attack queue
	queue=$ID
	refute python3 -c "
import ctypes, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [34])
libc = ctypes.CDLL(None)
assert all(libc.sigqueue(os.getpid(), 34, 0) == 0 for i in range(1000))" 2>/dev/null
	end_run "$queue"
}

@test "scope: with net=host an abstract socket of the host answers" {
	start perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("\0sandpit-teeth-$ARGV[0]")) or die; listen(S, 5); open F, ">", "ready"; close F; sleep 9999' "$$"
	wait_for is_file ready
	without scope -o net=host
	eq "$(attack connect "@sandpit-teeth-$$")" "connect 0"
	with_all -o net=host
	grep -q "abstract sockets" "$D/log" || eq "$(attack connect "@sandpit-teeth-$$")" "connect EPERM"
}

@test "visible: what is said of names obeys them" {
	without visible
	mkdir "$D/code/$(printf 'q\033[2Jz')" 2>/dev/null || true
	grep -qP '\x1b' "$D/error"
	with_all
	mkdir "$D/code/$(printf 'q\033[2Jz')" 2>/dev/null || true
	refute grep -qP '\x1b' "$D/error"
}

@test "permissions: allow_other opens all" {
	as_root || skip "users may not allow others here"
	chmod 755 "$T" "$D"
	without permissions -o allow_other
	inside 'umask 077; echo secret >/work/secret'
	eq "$(setpriv --reuid 65534 --clear-groups cat "$D/files/work/secret")" secret
	with_all -o allow_other
	refute setpriv --reuid 65534 --clear-groups cat "$D/files/work/secret" 2>/dev/null
}

@test "system calls: keyrings, mounts, handles and namespaces without filter and capabilities" {
	without filter
	calls <<-'END'
		aio ok|EAGAIN
		keyctl ok|ENOKEY|ENOSYS
		add_key ok|ENOSYS
		prlimit_init ok|EPERM
	END
	umount_sandbox
	without filter,caps,masks
	calls <<-'END'
		remount_root ok
		open_tree ok
		setns ok
		ptrace_init ok
		pidfd_getfd ok
		vm_readv_init ok
	END
	# What the capabilities do not let through: the sandbox's user namespace does not count outside.
	calls <<-'END'
		open_by_handle EPERM
		fifo_class EPERM
		nice EPERM|EACCES
		mknod EPERM
	END
	refute inside 'echo "|/tmp/x" 2>/dev/null >/proc/sys/kernel/core_pattern'
	with_all
	calls <<-'END'
		aio ENOSYS
		keyctl EPERM|ENOSYS
		add_key EPERM|ENOSYS
		remount_root EPERM
		setns EPERM|EACCES
		pidfd_getfd EPERM|ENOSYS
	END
}

@test "caps: init's program and memory are there to read" {
	without caps
	inside 'head -c 4 /proc/1/exe | grep -q ELF; ls -l /proc/1/root; cat /proc/1/environ' >/dev/null
	calls <<<'ptrace_init ok'
	with_all
	refute inside 'cat /proc/1/exe 2>/dev/null'
	calls <<<'ptrace_init EPERM'
}

@test "uid, dumpable: of equal capabilities init is kept by its id, and by not being dumpable" {
	without even,dumpable
	calls <<<"ptrace_init $(as_single && echo ok || echo EPERM)"
	umount_sandbox
	without even,uid
	calls <<<'ptrace_init EPERM'
	umount_sandbox
	without even,uid,dumpable
	calls <<-'END'
		ptrace_init ok
		vm_readv_init ok
	END
	inside 'head -c 4 /proc/1/exe | grep -q ELF'
	umount_sandbox
	without even,uid,dumpable,filter
	calls <<<'pidfd_getfd ok'
}

@test "filter, uid: init's limits" {
	without filter,uid
	inside 'prlimit --pid 1 --nofile=3:3' >/dev/null
	refute inside 'echo next' 2>/dev/null
	umount_sandbox
	without filter
	run inside 'prlimit --pid 2 --nofile=3:3'
	as_single || refute test "$status" = 0
	with_all
	refute inside 'prlimit --pid 1 --nofile=3:3 2>/dev/null'
	inside 'echo next'
}

@test "shield: init is made the first to go" {
	without shield
	inside 'echo 1000 >/proc/1/oom_score_adj; cat /proc/1/oom_score_adj' >score
	eq "$(cat score)" 1000
	with_all
	refute inside 'echo 1000 2>/dev/null >/proc/1/oom_score_adj'
}

@test "traced: a kill does not end what another traces" {
	without traced
	start_attack trace_all
	tracer=$ID
	json '{"cmd": "exec sleep 9999", "timeout": 1, "background": true}'
	first=$ID
	wait_for has_text "$D/out/$tracer/stdout" traced
	echo KILL >"$D/out/$first/kill"
	dead() { grep -q '^State:.Z' "/proc/$pid/status"; }
	pid=$(pgrep -P "$(pgrep -P "$(daemon_pid)" -x sandpit-init)" -x sleep)
	wait_for dead
	refute test -e "$D/out/$first/exit_code"
	end_run "$tracer"
	wait_for is_file "$D/out/$first/exit_code"
}

@test "resolve: the daemon follows the sandbox's links, also at its start" {
	chmod 711 "$T"
	echo 'evil:x:0:0::/tmp:/bin/sh' >"$T/victim/passwd"
	mkdir -m 777 "$T/open"
	plant() { request "ln -sf $T/victim/passwd /etc/passwd; ln -sfn ../../../../../../../../..$T/victim/passwd /etc/group"; }
	without resolve
	plant
	json '{"cmd": "echo reached", "user": "evil"}'
	eq "$(cat "$D/out/$ID/stdout")" reached
	# 10, 11: a link above a mount point.
	request "mv /var/lib /var/was; ln -s $T/open /var/lib"
	umount_sandbox
	run without resolve
	match "$(ls -A "$T/open")" '^dpkg'
	rm -r "$T/open"/*
	[[ $status != 0 ]] || umount_sandbox
	mount_sandbox
	plant
	refute json '{"cmd": "echo reached", "user": "evil"}' 2>/dev/null
	eq "$(ls -A "$T/open")" ""
}

@test "clone: the daemon's tree has a /proc" {
	evil() {
		cat >"$D/files/work/evil.sh" <<<'printf "e:x:0:0::/:/" >/proc/$$/comm; ln -sf /proc/$$/comm /etc/passwd; echo ready; exec 3<>/work/fifo; read x <&3'
		request 'mkfifo /work/fifo'
		start_run '. /work/evil.sh'
		wait_for has_text "$D/out/$ID/stdout" ready
		json '{"cmd": "echo reached", "user": "e"}'
	}
	without clone
	evil
	eq "$(cat "$D/out/$ID/stdout")" reached
	umount_sandbox
	without clone,reserved
	test -d "$D/files/proc/1/fd"
	with_all
	refute evil 2>/dev/null
	eq "$(ls -A "$D/files/proc")" ""
}

@test "nosuid: a set-id program of the sandbox's root is the host's root's" {
	as_root || skip "the mount of a user is nosuid by fusermount3"
	chmod 755 "$T" "$D"
	as_nobody() { setpriv --reuid 65534 --clear-groups "$D/files/work/b" -u; }
	without nosuid -o allow_other
	inside 'cp /usr/bin/id /work/b; chmod 4755 /work/b'
	eq "$(as_nobody)" 0
	with_all -o allow_other
	eq "$(as_nobody)" 65534
}

@test "descriptors: what the mounting shell had open is read inside" {
	echo secret >"$T/secret"
	exec 9<"$T/secret"
	without descriptors
	exec 9<&-
	eq "$(inside 'cat <&9')" secret
	umount_sandbox
	exec 9<"$T/secret"
	mount_sandbox
	exec 9<&-
	refute inside 'cat <&9' 2>/dev/null
}

@test "fresh: process 1 has the daemon's command line" {
	without fresh
	inside 'tr "\0" " " </proc/1/cmdline' >cmdline
	grep -qF "$D" cmdline
	with_all
	eq "$(inside 'tr -d "\0" </proc/1/cmdline')" sandpit-init
}

@test "pipes: a file of the host as standard output tells its path and lets itself be read" {
	without pipes
	request 'echo written; path=$(readlink /proc/$$/fd/1); text=$(head -c 7 /proc/$$/fd/1); echo "$path $text" >&2'
	match "$(last stderr)" '/runs/stdout written$'
	with_all
	request 'path=$(readlink /proc/$$/fd/1); echo "$path" >&2'
	match "$(last stderr)" '^pipe:'
}

@test "nonblock: a FIFO and a lease hold up whoever opens them" {
	local fifo=$T/state/sandpit held

	without nonblock,filter
	request 'echo x >/work/leased'
	start_attack lease /work/leased stay
	eq "$(head -n 1 "$D/out/$ID/stdout")" "lease 0"
	start cat "$D/files/work/leased"
	held=$PID
	# The next one waits as long as files/ may be held up by the one before.
	request 'echo y >/work/other'
	cat "$D/files/work/other"
	kill -0 "$held"
	end_run "$ID"
	wait_for ended_pid "$held"
	request 'rm /etc/passwd; mkfifo /etc/passwd'
	start sh -c 'echo root >"$1/ctl/user"' sh "$D"
	# Who waits for an answer cannot be killed.
	stuck() {
		start cat "$D/status.json" >/dev/null
		for _ in {1..20}; do kill -0 "$PID" 2>/dev/null && sleep 0.05 || return 1; done
	}
	wait_for stuck
	: >"$(find "$fifo" -path '*/root/etc/passwd' -type p)"
	wait_for answers
	umount_sandbox
	# One of the two is enough.
	without filter
	start_attack lease /work/leased stay
	eq "$(timeout 10 "$HELPERS/fsop" open "$D/files/work/leased" r)" "open EAGAIN"
	end_run "$ID"
	with_all
	eq "$(attack lease /work/leased | head -n 1)" "lease EINVAL"
	cat "$D/files/work/leased" >/dev/null
	request 'rm /etc/passwd; mkfifo /etc/passwd'
	timeout 20 sh -c 'echo root >"$1/ctl/user"' sh "$D"
}

@test "loopback: with net=user a server of the host's loopback answers" {
	[[ -e /dev/net/tun && -w /dev/net/tun ]] || skip "no /dev/net/tun"
	need slirp4netns
	cat >server.py <<-'END'
		import os, socket
		s = socket.create_server(("127.0.0.1", 0))
		open("port.new", "w").write(str(s.getsockname()[1]))
		os.rename("port.new", "port")
		while True:
		    s.accept()[0].close()
	END
	start python3 server.py
	wait_for is_file port
	cat >connect.sh <<<"exec 3<>/dev/tcp/10.0.2.2/$(cat port)"
	without loopback -o net=user
	cp connect.sh "$D/files/work/"
	inside 'bash /work/connect.sh'
	umount_sandbox
	"$SANDPIT" mount -o net=user "$D" 3>&-
	refute inside 'timeout 10 bash /work/connect.sh 2>/dev/null'
}

@test "masks: settings of the kernel that are the sandbox's own can be written" {
	without masks
	inside 'echo 12345 >/proc/sys/kernel/msgmax; cat /proc/sys/kernel/msgmax' >msgmax
	eq "$(cat msgmax)" 12345
	# Where the kernel lets everybody watch (Linux 6.5).
	if [[ $(stat -c %a /proc/pressure/cpu 2>/dev/null) == 666 ]]; then
		inside "echo 'some 500000 2000000' >/proc/pressure/cpu"
	fi
	with_all
	refute inside 'echo 12345 2>/dev/null >/proc/sys/kernel/msgmax'
}

@test "limits: the inotify instances of one id are all used, and the machine's pseudo terminals" {
	without limits
	start_attack terminals
	(($(awk '/^terminals/ { print $2 }' "$D/out/$ID/stdout") > 256))
	end_run "$ID"
	start_attack watches
	(($(awk '/^watches/ { print $2 }' "$D/out/$ID/stdout") > 64))
	end_run "$ID"
	with_all
	start_attack watches
	(($(awk '/^watches/ { print $2 }' "$D/out/$ID/stdout") <= 64))
	end_run "$ID"
}
