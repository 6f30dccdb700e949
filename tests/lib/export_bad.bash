# The head of export_bad_PROTOCOL.bats, each of which is a protocol's bad luck: see export_bad_checks.bash.
load ../lib/helper
load ../lib/disk
load ../lib/export
load ../lib/export_checks
load ../lib/export_bad_checks

setup() {
	local protocol=${BATS_TEST_FILENAME##*/export_bad_}

	if [[ $BATS_TEST_DESCRIPTION == *'full disk'* ]]; then
		export_setup "${protocol%.bats}" small_disk 24m
	else
		export_setup "${protocol%.bats}"
	fi
}
