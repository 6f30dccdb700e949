# Files that are open while they are removed, and clients that vanish, over NFS: see export_open_checks.bash.
# runs-as: root
load ../lib/helper
load ../lib/export
load ../lib/export_checks
load ../lib/export_bad_checks
load ../lib/export_open_checks

# What a client had is its own for so long after it was heard of. One that waits is not heard of.
setup() {
	case $BATS_TEST_DESCRIPTION in
	*'leaves no lock' | *'takes room'*) NFS4_OPTIONS='Lease_Lifetime = 8;' ;;
	esac
	case $BATS_TEST_DESCRIPTION in
	*'NFS 3'*) export_setup nfs3 ;;
	*) export_setup nfs4 ;;
	esac
}

@test "NFS 3: a tree removed under files that are open" { check_removed; }
@test "NFS 4: a tree removed under files that are open" { check_removed; }
@test "NFS 3: clients that vanish in the middle of a listing or a read" { check_vanished_lists; }
@test "NFS 4: clients that vanish in the middle of a listing or a read" { check_vanished_lists; }
@test "NFS 4: a client that vanishes leaves no lock" { check_vanished_lock; }
@test "NFS 3: clients that vanish while they wait for a run" { check_vanished_waiters; }
@test "NFS 4: clients that vanish while they wait for a run" { check_vanished_waiters; }

@test "NFS 4: a file removed by a command takes room while it is open, and no longer" { check_room; }

@test "NFS 4: handles of what is gone are stale for everything" {
	local file dir op

	inside 'cd /work; echo old >f; mkdir d; touch d/x'
	file=$(nfs_handle files/work/f) dir=$(nfs_handle files/work/d)
	inside 'cd /work; rm -r f d; echo other >f; mkdir d; echo new >d/x'
	for op in size 'read 0 10' 'write 0 stable x' 'write 0 unstable x' commit; do
		match "$(nfs4 fh "$file" $op)" 'NFS4ERR_STALE'
	done
	for op in size 'list 0 4000' 'lookup x' lookupp 'create dir y' 'remove x' 'savefh rename x y'; do
		match "$(nfs4 fh "$dir" $op)" 'NFS4ERR_STALE'
	done
	match "$(nfs4 fh "$file" savefh fh "$(nfs_handle files/work)" link y)" 'NFS4ERR_STALE'
	eq "$(cat "$D/files/work/f" "$D/files/work/d/x")" $'other\nnew'
	eq "$(ls -A "$D/files/work/d")" x
}
