# The sandbox over NFS version 3, which has no close: writes, and commits of writes.
# runs-as: root
load ../lib/helper
load ../lib/export
load ../lib/export_checks

setup() { export_setup nfs3; }

@test "files" { check_files; }
@test "what commands change is seen at once" { check_coherence; }
@test "runs" { check_run; }
@test "a named run is done once" { check_named_run; }
@test "a kernel" { check_python; }
@test "a checkpoint" { check_checkpoint; }
@test "sizes and refusals" { check_sizes; }
@test "readers that wait hold up nobody" { check_parked_readers; }
@test "links do not lead out" { check_links; }
@test "requests at far offsets, and too long ones" { check_offsets; }
@test "64 writers of one control file" { check_parallel_writers; }
@test "no device can be made" { check_devices; }
@test "reserved places stay" { check_reserved; }
