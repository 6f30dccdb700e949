# make install by an ordinary user, below a directory of his own.
# runs-as: user
load ../lib/helper

setup() { make_dirs; }

@test "without root, all is installed but what mount(8) looks for in /sbin, and make says so" {
	[[ -r $REPO/build/sandpit ]] || skip "the checkout is not readable by this user"
	run make -s -C "$REPO" -o build/sandpit -o drivers install PREFIX="$T/own"
	eq "$status" 0 || fail "$output"
	match "$output" 'mount.fuse.sandpit is not installed: /sbin/ is not writable'
	"$T/own/bin/sandpit" mount -o net=none "$D" 3>&-
	inside true
	"$T/own/bin/sandpit" umount "$D"
	make -s -C "$REPO" uninstall PREFIX="$T/own"
	eq "$(find "$T/own" -type f)" ""
}

@test "below a path with spaces, under a mask that keeps others out: all of it works, and is taken away" {
	[[ -r $REPO/build/sandpit ]] || skip "the checkout is not readable by this user"
	mkdir a
	touch a/kept
	run sh -c 'umask 077; make -s -C "$1" -o build/sandpit -o drivers install PREFIX="$2/a b/own"' sh "$REPO" "$T"
	eq "$status" 0 || fail "$output"
	eq "$(find "a b/own/lib/sandpit" ! -type l ! -perm -044)" ""
	ln -s "$T/a b/own/bin/sandpit" link
	for program in "a b/own/bin/sandpit" ./link; do
		"$program" mount -o net=none "$D" 3>&-
		echo 'echo driver' >"$D/code/bash/in"
		eq "$(cat "$D/code/bash/out/last/stdout")" driver
		"$program" umount "$D"
	done
	make -s -C "$REPO" uninstall PREFIX="$T/a b/own"
	eq "$(find "$T/a b" -type f)" ""
	test -e a/kept
}
