# No memory: each allocation that the daemon makes fails once. Nothing dies, and nothing is lost silently.
# runs-as: root user
load ../lib/helper

setup() {
	make_dirs
	! sanitized || skip "a sanitizer has allocations of its own"
	export FAILING_ALLOC=$T/plan
	head -c 16 /dev/zero >"$FAILING_ALLOC"
}

# fail_after COUNT: so many allocations succeed, with the one that fails; 0: all.
fail_after() { perl -e 'print pack("qq", shift, 0)' "$1" 1<>"$FAILING_ALLOC"; }
has_failed() { (($(od -An -td8 -j8 -N8 "$FAILING_ALLOC"))); }
mount_failing() { LD_PRELOAD=$HELPERS/failing_alloc mount_sandbox; }

# Of files/ some stay, as long as there are few, or because libfuse has no memory to tell of a close.
other_fds() { ls -l "/proc/$(daemon_pid)/fd" | grep -vc -e '-> /'; }

# Seven kernels may live on or be held ready, with three each.
few_more_fds() { (($(other_fds) <= before + 40)); }

# Once each allocation of each operation of a group has failed.
check() {
	mount_failing
	before=$(other_fds)
	timeout 100 python3 "$TEST_LIB/failing_alloc.py" "$D" "$FAILING_ALLOC" "$1" >"$T/told" || fail "$(cat "$T/told")"
	cat "$T/told"
	wait_for few_more_fds || fail "descriptors: $(ls -l "/proc/$(daemon_pid)/fd")"
	umount_sandbox
}

@test "files and directories" { check files; }
@test "commands" { check runs; }
@test "code" { check code; }
@test "checkpoints" { check checkpoints; }

# Of some hundred allocations each seventh: as many mounts.
@test "a mount that fails leaves nothing behind, and says why" {
	local count

	mount_sandbox
	umount_sandbox
	for ((count = 1; count < 300; count += 7)); do
		fail_after "$count"
		if mount_failing 2>said; then
			fail_after 0
			request 'echo hello'
			eq "$(last stdout)" hello
			umount_sandbox
		else
			fail_after 0
			grep -q . said || fail "nothing said at $count"
		fi
		not_mounted || fail "still mounted after $count"
		[[ -z $(daemon_pid) ]] || fail "a daemon is left after $count"
	done
	mount_sandbox
}
