# The sandbox over 9P2000.L: diod exports it, to the ordinary user who mounted it, too.
# runs-as: root user
load ../lib/helper
load ../lib/browser
load ../lib/export
load ../lib/export_checks

setup() {
	make_dirs
	find_server diod "$SERVERS/usr/sbin" /usr/sbin
	[[ $BATS_TEST_DESCRIPTION != *screenshot* ]] || setup_browser
	mounted || mount_sandbox
	serve_9p
}

remote() { p9 "$@"; }

@test "files" { check_files; }
@test "what commands change is seen at once" { check_coherence; }
@test "runs" { check_run; }
@test "a named run is done once" { check_named_run; }
@test "a kernel" { check_python; }
@test "a screenshot" { check_browser; }
@test "a checkpoint" { check_checkpoint; }
@test "sizes and refusals" { check_sizes; }
@test "readers that wait hold up nobody" { check_parked_readers; }
@test "links do not lead out" { check_links; }
@test "requests at far offsets, and too long ones" { check_offsets; }
@test "64 writers of one control file" { check_parallel_writers; }
@test "no device can be made" { check_devices; }
@test "reserved places stay" { check_reserved; }

@test "the close of ctl/run returns when the command has ended" {
	echo 'sleep 0.3; echo done' | p9 write /ctl/run
	eq "$(p9 cat /out/1/exit_code)" 0
}

@test "the answer is read on the file that asked" {
	eq "$(echo 'echo asked' | p9 ask /ctl/run)" 1
	eq "$(echo 'echo asked' | p9 sync /ctl/run)" ''
	wait_for remote_is /out/2/stdout asked
}
