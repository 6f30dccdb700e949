# files/: what changes just as the kernel is being told of it. As in files_cache.bats, a change made in the
# state directory stands for a command's: no output or end of one ends what the kernel keeps.
# runs-as: root
load ../lib/helper

setup() {
	make_dirs
	[[ -e /proc/sys/vm/unprivileged_userfaultfd ]] || skip "this kernel has no userfaultfd"
}

# listed_while_changed COUNT: somebody lists a directory of files for the first time, and between the
# answer and its coming in all of them are written to.
listed_while_changed() {
	local i

	W=$D/files/work
	TREE=$T/state/sandpit/missed/root/work
	mkdir "$TREE/d" "$TREE/other"
	for ((i = 0; i < $1; i++)); do echo old >"$TREE/d/$i"; done
	start_run 'exec sleep 1000'
	mkfifo go
	start "$HELPERS/held_listing" "$W/d" go >said
	wait_for has_text said held
	for ((i = 0; i < $1; i++)); do echo longer >"$TREE/d/$i"; done
	# Whatever is answered now, the daemon has heard of the changes before.
	refute test -e "$W/other/none"
	: >go
	wait "$PID"
	STARTED=()
}

# Where nothing is told again.
mount_without_missed() {
	[[ -x $HELPERS/unsafe/sandpit && -z $TEST_VARIANT ]] || skip "the test build without protections is not there (make test-binaries)"
	SANDPIT=$HELPERS/unsafe/sandpit
	SANDPIT_UNSAFE=missed mount_sandbox -o name=missed
	jq -e .enabled.keepsNames "$D/status.json" >/dev/null || skip "this kernel asks for each name again (before Linux 6.16)"
}

# Not listed again, which would tell the kernel all of it anew.
sizes() { (cd "$TREE/d" && printf "$W/d/%s\0" *) | xargs -0 stat -c %s | sort | uniq -c | xargs; }
has_sizes() { [[ $(sizes) == "$1" ]]; }

@test "a file that changes while it is first listed" {
	mount_sandbox -o name=missed
	listed_while_changed 1
	wait_for has_sizes '1 7'
}

@test "many files" {
	mount_sandbox -o name=missed
	listed_while_changed 600
	wait_for has_sizes '600 7'
}

# moved_while_listed: somebody lists a directory, and between the answer and its coming in what is in it is
# moved away. The moved file is found by its new name.
moved_while_listed() {
	W=$D/files/work
	TREE=$T/state/sandpit/missed/root/work
	mkdir -p "$TREE/d" "$TREE/other"
	echo old >"$TREE/d/file"
	start_run 'exec sleep 1000'
	mkfifo go
	start "$HELPERS/held_listing" "$W/d" go >said
	wait_for has_text said held
	mv "$TREE/d/file" "$TREE/other/moved"
	test -e "$W/other/moved"
	refute test -e "$W/d/none" # or else all that is in there would be asked for again
	: >go
	wait "$PID"
	STARTED=()
}

@test "a file that is moved away while its directory is listed" {
	mount_sandbox -o name=missed
	moved_while_listed
	wait_for gone "$W/d/file"
	test -e "$W/other/moved"
}

@test "a name that is not told again stays" {
	mount_without_missed
	moved_while_listed
	test -e "$W/d/file"
	test -e "$W/d/file"
}

@test "what is not told again keeps its old size" {
	mount_without_missed
	listed_while_changed 1
	eq "$(sizes)" '1 4'
	eq "$(sizes)" '1 4'
}
