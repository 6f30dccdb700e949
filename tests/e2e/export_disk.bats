# A disk that is full to the last byte, or fails, over each protocol: whoever asked is told, what was
# acknowledged is there, and all goes on when there is room again.
# runs-as: root
load ../lib/helper
load ../lib/disk
load ../lib/export
load ../lib/export_checks

# A file system with blocks of directories, unlike tmpfs, and small ones.
ext4_disk() {
	mkdir disk
	truncate -s 40M image
	mkfs.ext4 -q -m 0 -b 1024 -N 4000 -E root_owner image
	mount -o loop image disk 2>/dev/null || skip "no loop device can be had"
	mount_sandbox -o "state=$T/disk/s"
}

setup() {
	local protocol disk=faulty_disk

	need mkfs.ext4
	[[ $BATS_TEST_DESCRIPTION == *full* ]] && disk=ext4_disk
	case $BATS_TEST_DESCRIPTION in
	*'NFS 3'*) protocol=nfs3 ;;
	*'NFS 4'*) protocol=nfs4 ;;
	*) protocol=9p ;;
	esac
	export_setup "$protocol" "$disk"
	W=$D/files/work
	LONG=$(printf 'y%.0s' {1..240})
	head -c 5000 /dev/zero | tr '\0' z >"$T/z"
}

# With a file `kept`, and a directory `tight` that holds no further name without a further block.
fill() {
	local i

	echo kept >"$W/kept"
	mkdir "$W/tight"
	for i in 1 2 3; do
		touch "$W/tight/$i$LONG"
	done
	for i in 1M 1k 512; do
		dd if=/dev/zero of="$W/fill" "bs=$i" oflag=append conv=notrunc status=none 2>/dev/null || true
	done
}

# What lies on the disk, seen by a new mount of it; sets W. The sandbox is gone.
on_disk() {
	stop_server
	umount_sandbox
	umount disk
	mount -o loop image disk
	W=$T/disk/s/root/work
}

names() { ls -A "$W" | sort | tr '\n' ' '; }

# statuses ANSWERS: of nfs3 and nfs4, without what only led there.
statuses() {
	sed -nE 's/^([a-z]+) NFS[34](ERR)?_([A-Z]+).*/\1:\3/p' | grep -vE '^(go|root|fh|savefh):' | tr '\n' ' '
}
nfs3_in() { nfs3 fh "$WORK" save "$@" <"$T/z" | statuses; }
handle3() { nfs3 go files go work ${1:+go "$1"} getfh | sed -n 's/^getfh //p'; }

check_full() {
	fill
	match "$(remote create /files/work/new <"$T/z")" NOSPC
	match "$(remote write_at /files/work/kept 5 <"$T/z")" NOSPC
	eq "$(echo KEPT | remote write_at /files/work/kept 0)" ''
	match "$(remote mkdir /files/work/dir)" NOSPC
	match "$(remote symlink "$LONG$LONG" /files/work/link)" NOSPC
	match "$(remote mv /files/work/kept "/files/work/tight/$LONG")" NOSPC
	match "$(remote create "/files/work/tight/$LONG" </dev/null)" NOSPC
	match "$(remote mkdir "/files/work/tight/$LONG")" NOSPC
	eq "$(remote mv /files/work/kept /files/work/moved)" ''
	eq "$(remote cat /files/work/moved)" KEPT
	eq "$(remote_ls /files/work)" 'fill moved new tight '
	eq "$(remote_size /files/work/new)" 0
	status_answers
	eq "$(remote rm /files/work/fill)" ''
	eq "$(remote mkdir /files/work/dir; remote mv /files/work/moved "/files/work/tight/$LONG")" ''
	eq "$(remote write /files/work/new <"$T/z")" ''
	cmp "$W/new" "$T/z"
	eq "$(inside "cat /work/tight/$LONG")" KEPT
	on_disk
	eq "$(names)" 'dir new tight '
	cmp "$W/new" "$T/z"
	eq "$(cat "$W/tight/$LONG")" KEPT
}

@test "a full disk over NFS 3" { check_full; }
@test "a full disk over NFS 4" { check_full; }
@test "a full disk over 9P" { check_full; }

@test "a full disk: each request of NFS 3" {
	local kept tight

	fill
	WORK=$(handle3) kept=$(handle3 kept) tight=$(handle3 tight)
	eq "$(nfs3_in fh "$kept" write 5 5000 unstable - commit 0 0 write 5 5000 filesync - write 5000 1 datasync x commit 0 0)" \
		'write:NOSPC commit:OK write:NOSPC write:NOSPC commit:OK '
	eq "$(nfs3_in fh "$kept" write 0 1 unstable K commit 0 0 write 1 3 filesync EPT)" 'write:OK commit:OK write:OK '
	eq "$(nfs3_in mkdir dir symlink link "$LONG$LONG" fh "$tight" rename kept "$LONG" create "$LONG" guarded mkdir "$LONG" \
		symlink "$LONG" x mkfifo "$LONG" fh "$kept" save fh "$tight" link "$LONG")" \
'mkdir:NOSPC symlink:NOSPC rename:NOSPC create:NOSPC mkdir:NOSPC symlink:NOSPC mkfifo:NOSPC link:NOSPC '
	eq "$(names)" 'fill kept tight '
	: >"$W/fill"
	perl -e 'chdir shift or die; for (1 .. 5000) { open(F, q(>), "i$_") or last }' "$W"
	eq "$(nfs3_in create new unchecked create new guarded create new exclusive mkdir new symlink new x mkfifo new \
		fh "$kept" write 5 5000 unstable - commit 0 0)" \
'create:NOSPC create:NOSPC create:NOSPC mkdir:NOSPC symlink:NOSPC mkfifo:NOSPC write:OK commit:OK '
	rm "$W"/i*
	eq "$(nfs3_in create new exclusive mkdir dir symlink link x mkfifo fifo)" 'create:OK mkdir:OK symlink:OK mkfifo:OK '
	on_disk
	eq "$(cat "$W/kept")" "$(echo KEPT; cat "$T/z")"
	eq "$(names)" 'dir fifo fill kept link new tight '
}

@test "a full disk: each request of NFS 4" {
	local kept

	fill
	WORK=$(nfs_handle files/work) kept=$(nfs_handle files/work/kept)
	for how in unstable stable; do
		eq "$(nfs4 fh "$kept" write 5 "$how" "$(head -c 3000 "$T/z")" | statuses)" 'write:NOSPC '
		eq "$(nfs4 fh "$kept" write 0 "$how" KEPT commit | statuses)" 'write:OK commit:OK '
	done
	eq "$(nfs4 fh "$WORK" create dir new | statuses)" 'create:NOSPC '
	eq "$(nfs4 fh "$WORK" savefh lookup tight rename kept "$LONG" | statuses)" 'lookup:OK rename:NOSPC '
	eq "$(nfs4 fh "$kept" savefh fh "$(nfs_handle files/work/tight)" link "$LONG" | statuses)" 'link:NOSPC '
	on_disk
	eq "$(cat "$W/kept")" KEPT
	eq "$(names)" 'fill kept tight '
}

error='EIO|_IO|ERROR'

check_failing() {
	echo data >"$W/f"
	echo unread >"$T"/below/s/root/work/unread
	fault fail write,fsync work
	match "$(remote create /files/work/new <"$T/z")" "$error"
	match "$(remote write_at /files/work/f 0 <"$T/z")" "$error"
	fault fail create,mknod,mkdir,symlink,rename,unlink,rmdir,readdir,opendir,read work
	match "$(remote cat /files/work/unread)" "$error"
	match "$(remote create /files/work/other </dev/null)" "$error"
	match "$(remote mkdir /files/work/dir)" "$error"
	match "$(remote symlink x /files/work/link)" "$error"
	match "$(remote mv /files/work/f /files/work/g)" "$error"
	match "$(remote rm /files/work/f)" "$error"
	match "$(remote ls /files/work)" "$error"
	fault fail all work
	match "$(remote cat /files/work/f)" "$error|ENOENT"
	status_answers
	healthy
	eq "$(remote_ls /files/work)" 'f new unread '
	eq "$(remote cat /files/work/f)" data
	eq "$(remote cat /files/work/unread)" unread
	eq "$(remote write /files/work/new <"$T/z")" ''
	cmp "$W/new" "$T/z"
	eq "$(inside 'cat /work/f')" data
}

@test "a failing disk over NFS 3" { check_failing; }
@test "a failing disk over NFS 4" { check_failing; }
@test "a failing disk over 9P" { check_failing; }

@test "a failing disk: each request of NFS 3" {
	local f

	echo data >"$W/f"
	WORK=$(handle3) f=$(handle3 f)
	fault fail write work
	eq "$(nfs3_in fh "$f" write 0 5000 unstable - commit 0 0 write 0 5000 filesync - setattr 2 -)" \
		'write:IO commit:OK write:IO setattr:IO '
	fault fail fsync work
	eq "$(nfs3_in fh "$f" write 0 4 unstable DATA commit 0 0 write 0 4 filesync data write 0 4 datasync data)" \
		'write:OK commit:IO write:IO write:IO '
	fault fail create,mknod,mkdir,symlink,rename,link,unlink,rmdir,readdir,opendir work
	eq "$(nfs3_in create n unchecked create n guarded create n exclusive mkdir n symlink n x mkfifo n rename f g remove f \
		list 0 0 1000 listplus 0 0 1000 1000)" \
'create:IO create:IO create:IO mkdir:IO symlink:IO mkfifo:IO rename:IO remove:IO list:IO listplus:IO '
	eq "$(nfs3_in fh "$f" save fh "$WORK" link g)" 'link:IO '
	status_answers
	healthy
	eq "$(names)" 'f '
	eq "$(nfs3_in fh "$f" write 0 4 unstable GOOD commit 0 0)" 'write:OK commit:OK '
	eq "$(cat "$T"/below/s/root/work/f)" GOOD
}

@test "a failing disk: each request of NFS 4" {
	local f

	echo data >"$W/f"
	WORK=$(nfs_handle files/work) f=$(nfs_handle files/work/f)
	fault fail write work
	eq "$(nfs4 fh "$f" write 0 unstable DATA | statuses)$(nfs4 fh "$f" write 0 stable DATA | statuses)" 'write:IO write:IO '
	fault fail fsync work
	eq "$(nfs4 fh "$f" write 0 unstable DATA commit | statuses)$(nfs4 fh "$f" write 0 stable DATA | statuses)" \
		'write:OK commit:IO write:IO '
	fault fail mkdir,rename,link,unlink,rmdir,readdir,opendir work
	eq "$(nfs4 fh "$WORK" create dir n | statuses)$(nfs4 fh "$WORK" savefh rename f g | statuses)$(nfs4 fh "$WORK" \
		remove f | statuses)$(nfs4 fh "$WORK" list 0 4000 | statuses)$(nfs4 fh "$f" savefh fh "$WORK" link g | statuses)" \
		'create:IO rename:IO remove:IO list:IO link:IO '
	healthy
	eq "$(names)" 'f '
	eq "$(nfs4 fh "$f" write 0 stable GOOD | statuses)" 'write:OK '
	eq "$(cat "$T"/below/s/root/work/f)" GOOD
}

@test "a failing disk: fsync over 9P" {
	echo data >"$W/f"
	fault fail fsync work
	match "$(echo DATA | p9 sync files/work/f)" EIO
	healthy
	eq "$(echo GOOD | p9 sync files/work/f)" ''
	eq "$(cat "$T"/below/s/root/work/f)" GOOD
}
