# Bad luck over NFS version 4: see export_bad_checks.bash.
# runs-as: root
load ../lib/helper
load ../lib/disk
load ../lib/export
load ../lib/export_checks
load ../lib/export_bad_checks

setup() {
	if [[ $BATS_TEST_DESCRIPTION == *'full disk'* ]]; then
		export_setup nfs4 small_disk 24m
	else
		export_setup nfs4
	fi
}

@test "names of 255 bytes, of any bytes" { check_names; }
@test "a way longer than PATH_MAX" { check_deep; }
@test "a directory of many entries" { check_many; }
@test "what is replaced or removed under an open file" { check_replaced; }
@test "what was open before a restore" { check_restored; }
@test "a full disk" { check_full; }
@test "connections that break in the middle" { check_cut; }
