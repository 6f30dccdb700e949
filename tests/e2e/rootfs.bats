# rootfs=DIR: the sandbox sees that tree and nothing else of the host.
# runs-as: root user
load ../lib/helper

setup() { make_dirs; }

make_rootfs() {
	mkdir -p rootfs/bin rootfs/etc rootfs/work
	cp "$HELPERS/fsop" rootfs/bin/fsop
	echo 'root:x:0:0:root:/root:/bin/sh' >rootfs/etc/passwd
	echo 'root:x:0:' >rootfs/etc/group
	chmod 755 rootfs rootfs/*
}

@test "a tree of one static program" {
	make_rootfs
	mount_sandbox -o rootfs="$T/rootfs"
	json '{"cmd": ["/bin/fsop", "type", "/usr/bin/env", "type", "/bin/fsop"], "cwd": "/"}'
	eq "$(cat "$D/out/$ID/stdout")" $'type ENOENT\ntype -'
	test -f "$D/files/bin/fsop"
}

@test "what is written stays out of the tree below" {
	make_rootfs
	mount_sandbox -o rootfs="$T/rootfs"
	echo x >"$D/files/new"
	rm "$D/files/etc/passwd"
	eq "$(ls rootfs | tr '\n' ' ')" "bin etc work "
	test -f rootfs/etc/passwd
	umount_sandbox
	mount_sandbox -o rootfs="$T/rootfs"
	eq "$(cat "$D/files/new")" x
}

@test "a tree without a shell: runs fail with words" {
	make_rootfs
	mount_sandbox -o rootfs="$T/rootfs"
	request 'echo x' || true
	eq "$(last status)" failed
	match "$(last stderr)" '/bin/sh'
}

@test "a tree that is not there" {
	run mount_sandbox -o rootfs="$T/nosuch"
	refute test "$status" = 0
	match "$output" nosuch
}
