# The sandbox over NFS version 4: nfs-ganesha exports it, libnfs is the client.
# runs-as: root
load ../lib/helper
load ../lib/browser
load ../lib/export
load ../lib/export_checks

setup() { export_setup nfs4; }

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

@test "libnfs's utilities work" {
	need nfs-ls nfs-cat nfs-cp
	seq 700 >"$T/some"
	match "$(nfs-ls "$URL")" README
	nfs-cp "$T/some" "nfs://127.0.0.1/box/files/work/some?version=4&nfsport=$PORT"
	cmp "$T/some" "$D/files/work/some"
	nfs-cat "nfs://127.0.0.1/box/files/work/some?version=4&nfsport=$PORT" | cmp - "$T/some"
}

@test "the answer is read on the file that asked" {
	eq "$(echo 'echo asked' | nfs ask /ctl/run)" 1
	eq "$(echo '{"cmd": "exit 3"}' | nfs ask /ctl/run.json | jq .exitCode)" 3
	wait_for remote_is /out/1/stdout asked
}
