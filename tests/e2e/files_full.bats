# files/ on a full disk: each refusal is said, what was acknowledged is there, and all goes on when there
# is room again.
# runs-as: root
load ../lib/helper
load ../lib/disk

# A file system that has directories of blocks, unlike tmpfs, and so little room that it is soon full.
setup() {
	make_dirs
	need mkfs.ext4
	mkdir disk
	truncate -s 40M image
	mkfs.ext4 -q -m 0 -N 4000 -E root_owner image
	mount -o loop image disk 2>/dev/null || skip "no loop device can be had"
	mount_sandbox -o "state=$T/disk/s"
	cd "$D/files/work"
	echo kept >kept
	mkdir dir
}

# To the last byte.
fill() {
	dd if=/dev/zero of=fill bs=1M status=none 2>/dev/null || true
	dd if=/dev/zero of=fill bs=512 oflag=append conv=notrunc status=none 2>/dev/null || true
}

names() { ls -A | sort | tr '\n' ' '; }

@test "writes and names are refused, and lose nothing" {
	fill
	eq "$(fsop open kept w,append fill 100000 x fsync close | tail -n 3 | tr '\n' ' ')" 'fill ENOSPC fsync 0 close 0 '
	eq "$(od -An -c kept)" "$(echo kept | od -An -c)"
	eq "$(fsop open new w,creat write text close)" $'open 0\nwrite ENOSPC\nclose 0'
	eq "$(stat -c %s new)" 0
	eq "$(fsop mkdir more)" 'mkdir ENOSPC'
	eq "$(fsop open room rw,creat fallocate none 0 1000000 | tail -n 1)" 'fallocate ENOSPC'
	rm room
	eq "$(fsop symlink "$(printf 'x%.0s' {1..500})" link)" 'symlink ENOSPC'
	eq "$(fsop rename kept dir/kept none rename dir/kept kept none)" $'rename 0\nrename 0'
	match "$(fsop open fill r open copy w,creat copy 0 1 1000000)" 'copy ENOSPC'
	eq "$(names)" 'copy dir fill kept new '
	status_answers
	rm fill
	eq "$(fsop mkdir more open new w write text fsync close | tr '\n' ' ')" 'mkdir 0 open 0 write 4 fsync 0 close 0 '
	eq "$(cat kept new)" $'kept\ntext'
	eq "$(inside 'cat /work/kept /work/new')" $'kept\ntext'
}

@test "a large write is taken as far as there is room, and no further" {
	local taken size

	head -c 60000000 /dev/urandom >"$T/source"
	taken=$(python3 - "$T/source" big <<-'END'
		import os, sys
		data, taken = open(sys.argv[1], "rb").read(), 0
		fd = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
		try:
		    while taken < len(data):
		        taken += os.write(fd, data[taken:taken + (8 << 20)])
		except OSError as e:
		    assert e.errno == 28, e
		os.fsync(fd)
		os.close(fd)
		print(taken)
	END
	)
	size=$(stat -c %s big)
	((taken > 1000000 && taken < 60000000)) || fail "$taken bytes were taken"
	((size >= taken)) || fail "$taken bytes were taken, $size are there"
	cmp -n "$taken" big "$T/source"
	eq "$(inside "head -c $taken /work/big | cksum")" "$(head -c "$taken" "$T/source" | cksum)"
}

# Its pages are written when the mapping is: there the kernel says it, or the signal does.
@test "a mapping into a hole is refused when it is written" {
	local got

	truncate -s 1M hole
	fill
	got=$(fsop open hole rw mmap_write "$(printf 'x%.0s' {1..5000})" fsync close 2>/dev/null) || got="signal $?"
	match "$got" 'mmap_write (ENOSPC|EIO)|fsync (ENOSPC|EIO)|signal 135'
	rm fill
	eq "$(fsop open hole rw mmap_write "$(printf 'y%.0s' {1..5000})" fsync close | grep -c ' 0')" 4
	eq "$(inside 'tr -d "\000" </work/hole | wc -c')" 5000
}

@test "commands, runs and kernels on a full disk, and after it" {
	fill
	run inside 'dd if=/dev/zero of=/work/refused count=1'
	match "$(last stderr)" 'No space left on device'
	request 'echo out; echo err >&2; exit 3'
	eq "$(result '"\(.cmd)\(.stdout)\(.stderr)\(.exitCode)"')" $'echo out; echo err >&2; exit 3\nout\nerr\n3'
	eq "$(cat "$D/out/last/status")" exited
	printf '6 * 7' >"$D/code/bash/in" || true
	match "$(fsop open "$D/checkpoint" w writex 'persist /work\n')" 'writex (E[A-Z]+|14)'
	status_answers
	rm fill
	eq "$(inside 'echo next')" next
	cd "$T"
	umount_sandbox
	mount_sandbox -o "state=$T/disk/s"
	eq "$(cat "$D/out/2/cmd") $(cat "$D/out/2/exit_code") $(cat "$D/out/2/status")" 'echo out; echo err >&2; exit 3 3 exited'
	eq "$(cat "$D/files/work/kept")" kept
}

# The daemon takes away what it held back for that.
@test "it is mounted on a full disk, too, where room can be made" {
	local i

	for i in 1 2 3; do
		fill
		eq "$(fsop mkdir more)" 'mkdir ENOSPC'
		cd "$T"
		if ((i == 2)); then
			kill -KILL "$(daemon_pid)"
			umount "$D"
		else
			umount_sandbox
		fi
		mount_sandbox -o "state=$T/disk/s"
		cd "$D/files/work"
		eq "$(cat kept)" kept
		rm fill
		eq "$(inside 'cat /work/kept')" kept
		cd "$T"
		umount_sandbox
		mount_sandbox -o "state=$T/disk/s"
		cd "$D/files/work"
	done
}

@test "the same where there is no inode left" {
	local i=0

	while : 2>/dev/null >"inode.$((i++))"; do :; done
	cd "$T"
	umount_sandbox
	mount_sandbox -o "state=$T/disk/s"
	rm "$D"/files/work/inode.*
	eq "$(cat "$D/files/work/kept")" kept
	eq "$(inside 'echo room >/work/room; cat /work/room')" room
}
