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
