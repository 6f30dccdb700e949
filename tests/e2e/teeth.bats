# The tests of escapes can fail: with one protection left off, which only a test build can, the
# attack that it stops succeeds. The words after SANDPIT_UNSAFE= are those of common/unsafe.h.
# runs-as: root user
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
