# Disks for a sandbox's state that are small, or fail on command: by root only.

# A small file system below the sandbox, which then is mounted.
small_disk() { # SIZE [OPTIONS]...
	local size=$1

	shift
	as_root || skip "only root can mount a file system"
	mkdir -p disk
	mount -t tmpfs -o "size=$size,mode=700" tmpfs disk
	mount_sandbox -o "state=$T/disk/s" "$@"
}

# The same of one that does what fault() says.
faulty_disk() {
	as_root || skip "only root can mount a file system for all"
	mkdir -p below/s disk
	"$HELPERS/faulty_fs" "$T/below" "$T/disk" "$T/fault" >>"$T/faulty.log" 2>&1 3>&- &
	FAULTY=$!
	wait_for mounted "$T/disk"
	mount_sandbox -o "state=$T/disk/s" "$@"
}

# What goes wrong from now on: see faulty_fs.c. The teardown of tests ends it.
fault() {
	printf '%s\n' "$*" >"$T/fault.new"
	mv "$T/fault.new" "$T/fault"
}

healthy() { rm -f "$T/fault"; }

# An answer in a time that no disk is waited for in.
status_answers() { timeout 5 jq -e '.state == "mounted"' "$D/status.json" >/dev/null; }
