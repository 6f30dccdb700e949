# File handles, as file servers keep them for their clients: over the kernel's forgetting, restarts and
# restores they name the same file or none.
# runs-as: root
load ../lib/helper
load ../lib/export

handle() { "$HELPERS/handle" "$@"; }
of() { handle of "$D/$1"; }

# Opening by handle is root's privilege everywhere.
setup() {
	make_dirs
	mount_sandbox
	match "$(of README)" '^81:'
}

# The kernel drops every inode that nobody holds.
forget_all() {
	sync -f "$D/files/work"
	echo 2 >/proc/sys/vm/drop_caches
}

@test "they are good after the kernel has forgotten the inode" {
	local name paths handles=() before i

	inside 'mkdir -p /work/d/e; echo deep >/work/d/e/f; ln -s f /work/d/e/link; mkdir /work/d/empty
		ln /work/d/e/f /work/d/hard'
	inside 'echo run; echo x >&2'
	paths=(files files/work files/work/d/e/f files/work/d/e/link files/work/d/empty files/work/d/hard
		README status.json ctl ctl/run ctl/cwd out out/last out/2 out/2/stdout out/2/wait out/2/kill
		out/2/stdin code code/python code/python/in checkpoint browser browser/goto files/usr/bin/env)
	for name in "${paths[@]}"; do
		handles+=("$(of "$name")")
	done
	forget_all
	for i in "${!paths[@]}"; do
		eq "$(handle stat "$D" "${handles[i]}")" "$(stat -c %i "$D/${paths[i]}")" "${paths[i]}"
	done
	forget_all
	eq "$(handle cat "$D" "${handles[2]}")" deep
	eq "$(handle cat "$D" "${handles[5]}")" deep
	eq "$(handle cat "$D" "${handles[14]}")" run
	eq "$(handle cat "$D" "${handles[15]}")" 0
	forget_all
	mv "$D/files/work/d/e" "$D/files/work/e2"
	eq "$(handle cat "$D" "${handles[2]}")" deep
}

@test "those of what is gone are stale" {
	local file dir run exit_code temporary

	echo x >"$D/files/work/f"
	mkdir "$D/files/work/d"
	inside 'true'
	file=$(of files/work/f) dir=$(of files/work/d) run=$(of out/1/stdout) exit_code=$(of out/1/exit_code)
	echo t >"$D/ctl/.run.swp"
	temporary=$(of ctl/.run.swp)
	rm "$D/files/work/f" "$D/ctl/.run.swp"
	rmdir "$D/files/work/d"
	rm -r "$D/out/1"
	for handle in "$file" "$dir" "$run" "$exit_code" "$temporary"; do
		eq "$(handle cat "$D" "$handle")" ESTALE
	done
	echo y >"$D/files/work/f"
	mkdir "$D/files/work/d"
	inside 'echo other'
	for handle in "$file" "$dir" "$run" "$exit_code" "$temporary"; do
		eq "$(handle stat "$D" "$handle")" ESTALE
	done
}

@test "removed from inside they are stale, and never name what took the place" {
	local old

	for i in 1 2 3 4 5 6 7 8; do
		inside "echo old >/work/f"
		old=$(of files/work/f)
		forget_all
		inside 'rm /work/f; echo new >/work/f'
		eq "$(handle cat "$D" "$old")" ESTALE
		eq "$(cat "$D/files/work/f")" new
		eq "$(handle cat "$D" "$old")" ESTALE
	done
}

# Of every file of the mount, walked in one order before and in another after.
@test "after a restart they are stale" {
	local handles

	inside 'mkdir /work/d; echo a >/work/a; echo b >/work/d/b; echo out'
	mapfile -t handles < <(find "$D/ctl" "$D/out" "$D/code/python" "$D/files/work" "$D/files" "$D"/* -maxdepth 1 |
		while read -r path; do handle of "$path"; done)
	((${#handles[@]} > 100))
	umount_sandbox
	mount_sandbox
	ls -fR "$D/files/work" "$D/files/etc" "$D/out" >/dev/null
	for handle in "${handles[@]}"; do
		[[ $handle != 81:0000000001000000* ]] || continue # the mount's root
		eq "$(handle stat "$D" "$handle")" ESTALE
	done
}

@test "those of another mount are stale" {
	local other=$T/other

	mkdir "$other"
	echo mine >"$D/files/work/f"
	"$SANDPIT" mount -o net=none,name=other "$other" 3>&-
	echo theirs >"$other/files/work/f"
	eq "$(handle cat "$other" "$(of files/work/f)")" ESTALE
	eq "$(handle cat "$other" "$(of README)")" ESTALE
	eq "$(handle cat "$D" "$(handle of "$other/files/work/f")")" ESTALE
	"$SANDPIT" umount "$other"
}

@test "a restore leaves those of the old tree stale" {
	local file dir

	mkdir "$D/files/work/d"
	echo first >"$D/files/work/d/f"
	echo persist /work >"$D/checkpoint"
	file=$(of files/work/d/f) dir=$(of files/work/d)
	echo second >"$D/files/work/d/f"
	echo restore /work >"$D/checkpoint"
	eq "$(cat "$D/files/work/d/f")" first
	eq "$(handle cat "$D" "$file")" ESTALE
	eq "$(handle stat "$D" "$dir")" ESTALE
}

@test "those in a checkpoint's tree name the same file or none" {
	local file dir tree

	mkdir "$D/files/work/d"
	echo kept >"$D/files/work/d/f"
	echo persist /work >"$D/checkpoint"
	eq "$(cat "$D/checkpoints/1/tree/d/f")" kept
	file=$(of checkpoints/1/tree/d/f) dir=$(of checkpoints/1/tree/d) tree=$(of checkpoints/1/tree)
	eq "$(handle cat "$D" "$file")" kept
	forget_all
	eq "$(handle cat "$D" "$file")" kept
	match "$(handle stat "$D" "$dir")" "^(ESTALE|$(stat -c %i "$D/checkpoints/1/tree/d"))$"
	match "$(handle stat "$D" "$tree")" "^(ESTALE|$(stat -c %i "$D/checkpoints/1/tree"))$"
	rm -r "$D/checkpoints/1"
	mkdir "$D/files/work/e"
	match "$(handle stat "$D" "$dir")" '^ESTALE$'
	forget_all
	eq "$(handle stat "$D" "$dir")" ESTALE
}

# Bits of the node id changed at random: whatever that leads to is in the sandbox, starts nothing, and
# the daemon lives.
@test "forged ones do no harm" {
	local name

	inside 'mkdir /work/d; echo a >/work/d/a; echo out'
	(cd "$D/ctl" && echo x >.run.swp)
	for name in README ctl/run out/1/stdout out/1/live out/last files files/work/d/a files/usr/bin/env \
		code/python/in browser/goto checkpoints ctl/.run.swp; do
		handle forge "$D" "$(of "$name")" 3000
	done
	eq "$(runs)" 1
	eq "$(jq -r .state "$D/browser/state.json")" stopped
	# A handle that happens to be good is opened for writing, too, and may be of what the browser would tell.
	match "$(cat "$D/error")" '^$|: it is only read \(EACCES\)$|: no browser runs;'
	eq "$(inside 'echo lives')" lives
}

@test "through nfs-ganesha they outlive its restart and the kernel's forgetting" {
	local file run

	serve_nfs
	inside 'echo content >/work/f; echo out'
	file=$(nfs_handle files/work/f) run=$(nfs_handle out/1/stdout)
	match "$file" '^[0-9a-f]{20,}$'
	stop_server
	forget_all
	serve_nfs
	eq "$(nfs4 fh "$file" read 0 100)" $'fh NFS4_OK\nread NFS4_OK content\\x0a'
	eq "$(nfs4 fh "$run" size read 0 100)" $'fh NFS4_OK\nsize NFS4_OK 4\nread NFS4_OK out\\x0a'
	match "$(nfs4 fh "$file" lookupp)" NFS4ERR_NOTDIR
	match "$(nfs4 fh "$(nfs_handle files/work)" lookupp getfh)" "$(nfs_handle files)"
}

@test "through nfs-ganesha they are stale after a restart of the daemon" {
	local file run

	serve_nfs
	inside 'echo content >/work/f; echo out'
	file=$(nfs_handle files/work/f) run=$(nfs_handle out/1/stdout)
	stop_server
	umount_sandbox
	mount_sandbox
	serve_nfs
	nfs_handle files/work/f
	match "$(nfs4 fh "$file" read 0 100)" 'NFS4ERR_(STALE|BADHANDLE)'
	match "$(nfs4 fh "$run" read 0 100)" 'NFS4ERR_(STALE|BADHANDLE)'
}
