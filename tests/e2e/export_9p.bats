# The sandbox over 9P2000.L: diod exports it, to the ordinary user who mounted it, too.
# runs-as: root user
load ../lib/helper
load ../lib/browser
load ../lib/export
load ../lib/export_checks

setup() { export_setup 9p; }

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

# diod passes a name on as a path: it may lead about in the sandbox, as the client may anyway.
@test "names that no name can be" {
	local name

	mkdir "$T/target"
	chmod 777 "$T/target"
	for name in 'a%b' '..%..' '%' "..%..%..%..%..${T//\//%}%target%x" "${T//\//%}%target%x"; do
		match "$(p9 stat "files/work/$name")" '^(E|40)'
		match "$(p9 mkdir "files/work/$name")" '^E'
		match "$(echo x | p9 create "files/work/$name")" '^E'
		match "$(p9 symlink x "files/work/$name")" '^E'
	done
	# A NUL ends a name for diod; what is left of it is still in the sandbox.
	for name in '^' '.^' '..^' '..%..%..%..%..^'; do
		match "$(p9 mkdir "files/work/$name")" '^E'
		refute grep -qx target <<<"$(p9 ls "files/work/$name")"
	done
	match "$(p9 mkdir files/work/..)" '^E'
	match "$(p9 rm files/..)" '^E'
	eq "$(ls "$D/files/work" "$T/target")" "$D/files/work:

$T/target:"
	eq "$(inside 'echo lives')" lives
}

@test "upwards there is nothing but the sandbox" {
	local name

	echo host >"$T/host"
	for name in ../host "..$T/host" "../../..$T/host" "files/../../../$T/host" "..%..${T//\//%}%host"; do
		match "$(p9 cat "$name")" '^E'
	done
	refute grep -q host <<<"$(p9 ls ..; p9 ls ../..; p9 ls ../../..)"
	match "$(p9 stat files/../README)" '^100444'
	umount_sandbox
	for name in ../host "..$T/host" "../../..$T/host" "..%..${T//\//%}%host"; do
		refute grep -q host <<<"$(p9 cat "$name" 2>/dev/null)"
	done
	refute grep -q host <<<"$(p9 ls ..; p9 ls ../..; p9 ls ../../..)"
}

@test "a client that vanishes in the middle of a request" {
	p9 mkdir out/cut
	printf '{"cmd": "touch /work/x", ' | p9 vanish out/cut/request.json
	wait_for has_text "$D/error" out/cut
	printf '{"cmd": "echo whole"}' | p9 write out/cut/request.json
	wait_for file_is "$D/out/cut/stdout" whole
	gone "$D/files/work/x"
	printf half | p9 vanish files/work/f || true
	printf half | p9 create files/work/f
	eq "$(cat "$D/files/work/f")" half
}
