# A directory of very many entries over NFS: see export_many_checks.bash.
# runs-as: root
load ../lib/helper
load ../lib/export
load ../lib/export_checks
load ../lib/export_many_checks

setup() {
	case $BATS_TEST_DESCRIPTION in
	*'NFS 3'*) export_setup nfs3 ;;
	*) export_setup nfs4 ;;
	esac
}

@test "a directory of very many entries over NFS 3" { check_many_entries; }
@test "a directory of very many entries over NFS 4" { check_many_entries; }
