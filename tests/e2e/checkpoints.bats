# checkpoints/: the archives, their content as files, and deleting them.
# runs-as: root user single
load ../lib/helper

STORE() { echo "$HOME/.local/share/sandpit/store"; }

stored_project() {
	inside 'mkdir -p /work/app/d && cd /work/app && echo one >a && echo two >d/b && ln -s ../a d/l &&
		ln -s /etc/passwd d/abs && ln -s ../../../../../etc/passwd d/up && chmod 750 d'
	echo 'persist /work/app' >"$D/checkpoint"
}

@test "the archive opens with tar, its size, hash and description agree" {
	stored_project
	cd "$D/checkpoints/1"
	eq "$(sha256sum <archive.tar.zst | cut -d' ' -f1)" "$(jq -r .sha256 info.json)"
	eq "$(stat -c %s archive.tar.zst)" "$(jq .size info.json)"
	mkdir "$T/x"
	tar --zstd -xf archive.tar.zst -C "$T/x"
	eq "$(cat "$T/x/a" "$T/x/d/l")" $'one\none'
	eq "$(jq -r '.path + " " + (.number | tostring)' info.json)" "/work/app 1"
	cd "$T"
}

@test "tree/ shows the content and cannot be changed" {
	stored_project
	diff -r -x abs -x up "$D/files/work/app" "$D/checkpoints/1/tree"
	inside 'echo new >/work/app/a'
	refute diff -r -x abs -x up "$D/files/work/app" "$D/checkpoints/1/tree"
	cp "$D/checkpoints/1/tree/a" "$D/files/work/app/a"
	eq "$(inside 'cat /work/app/a')" one
	eq "$(stat -c %a "$D/checkpoints/1/tree/d")" 750
	cd "$D/checkpoints/1/tree"
	run fsop open a w
	eq "$output" "open EROFS"
	run fsop open new w,creat
	match "$output" "EROFS"
	run fsop mkdir d/x
	eq "$output" "mkdir EROFS"
	refute rm -f a
	refute mv a c
	refute chmod 600 a
	refute sh -c 'echo x >a'
	# No link leads out.
	refute cat d/abs
	refute cat d/up
	cd "$T"
}

@test "rm -r deletes one, whole; a part cannot be taken" {
	stored_project
	inside 'echo second >/work/app/a'
	echo 'persist /work/app' >"$D/checkpoint"
	cat "$D/checkpoints/1/tree/a" "$D/checkpoints/2/tree/a" >/dev/null
	refute rmdir "$D/checkpoints/1/tree"
	refute rm "$D/checkpoints/1/archive.tar.zst"
	refute rm -r "$D/checkpoints/1/tree"
	eq "$(cat "$D/checkpoints/1/tree/a")" one
	rm -r "$D/checkpoints/1"
	eq "$(ls "$D/checkpoints")" 2
	refute ls "$D/checkpoints/1"
	archives() { ls "$(STORE)/archives" | wc -l; }
	one_left() { [[ $(archives) == 1 ]]; }
	wait_for one_left
	eq "$(cat "$D/checkpoints/2/tree/a")" second
	rmdir "$D/checkpoints/2"
	eq "$(ls "$D/checkpoints")" ""
	refute mkdir "$D/checkpoints/9"
	# The number is not used again.
	echo 'persist /work/app' >"$D/checkpoint"
	eq "$(ls "$D/checkpoints")" 3
}

@test "whatever removes trees deletes one, however deep it is" {
	local n

	inside 'mkdir -p /work/app/1/2/3/4/5/6/7/8/9 && cd /work/app && for d in . 1/2/3 1/2/3/4/5/6/7/8/9; do
		echo x >$d/a; echo x >$d/b; done'
	for n in 1 2 3 4; do
		echo 'persist /work/app' >"$D/checkpoint"
	done
	rm -r "$D/checkpoints/1"
	python3 -c "import shutil; shutil.rmtree('$D/checkpoints/2')"
	find "$D/checkpoints/3" -delete
	eq "$(ls "$D/checkpoints")" 4
	# Who has looked into it and takes something else away has not begun to remove it.
	run python3 -c "
import os
os.listdir('$D/checkpoints/4')
os.unlink('$D/checkpoints/4/tree/a')"
	match "$output" 'Read-only file system'
	eq "$(cat "$D/checkpoints/4/tree/a")" x
}

@test "what another sandbox stores is seen at once" {
	umount_sandbox
	mkdir "$T/m2"
	mount_sandbox -o project=p,name=one
	"$SANDPIT" mount -o net=none,project=p,name=two "$T/m2" 3>&-
	eq "$(ls "$T/m2/checkpoints")" ""
	stored_project
	eq "$(ls "$T/m2/checkpoints")" 1
	eq "$(cat "$T/m2/checkpoints/1/tree/d/b")" two
}
