# Symbolic links are shown so that they cannot lead out of files/.
# runs-as: root user single
load ../lib/helper

setup() {
	make_dirs
	mount_sandbox
	F=$D/files
	echo "secret of the host" >"$T/secret"
	cd "$F/work" || return 1
}

# stays PATH: following it does not lead out of files/.
stays() {
	local real

	real=$(realpath -m -- "$1")
	[[ $real == "$F" || $real == "$F"/* ]] || fail "$1 -> $(readlink "$1") leads to $real"
}

@test "an absolute target reads as the matching path below files/, relative" {
	inside 'echo inside > /work/target; ln -s /work/target /work/l; mkdir -p /work/a/b; ln -s /work/target /work/a/b/l'
	eq "$(cat l)" inside
	eq "$(cat a/b/l)" inside
	stays l
	stays a/b/l
	refute grep -q '^/' <<<"$(readlink l)"
	eq "$(inside 'readlink /work/l')" /work/target
}

@test "absolute links to the host's files do not reach them" {
	inside "ln -s $T/secret /work/l; ln -s /etc/shadow /work/s; ln -s / /work/r; ln -s /etc /work/e"
	refute cat l
	stays l
	stays s
	stays r
	stays e
	refute test "$(cat s 2>/dev/null | sha256sum)" = "$(sha256sum <"$T/secret")"
	test "$(stat -c %i r/work)" = "$(stat -c %i "$F/work")"
}

@test "targets that climb above the root are clamped to it" {
	inside "mkdir -p /work/a/b; ln -s ../../../../../../../../..$T/secret /work/l; ln -s ../../../../../../../../../work /work/a/b/w; ln -s .. /r; ln -s ../.. /work/up"
	refute cat l
	for link in l a/b/w "$F/r" up; do stays "$link"; done
	eq "$(stat -L -c %i a/b/w)" "$(stat -c %i "$F/work")"
	eq "$(stat -L -c %i up)" "$(stat -c %i "$F")"
}

@test "a target that is inside lexically and outside really" {
	inside 'mkdir /work/d; ln -s . /work/d/a; ln -s a/../../../../../etc /work/d/b; ln -s a/a/../b/x /work/d/c
		ln -s /work/d/a/../../../../../../.. /work/d/e; ln -s d/a/.. /work/f; ln -s d /work/g; ln -s g/../../../../../../.. /work/h'
	for link in d/a d/b d/c d/e f g h; do stays "$link"; done
	eq "$(stat -L -c %i f)" "$(stat -c %i "$F/work")" || eq "$(stat -L -c %i f)" "$(stat -c %i "$F/work/d")"
	eq "$(stat -L -c %i h)" "$(stat -c %i "$F")"
}

@test "links through magic links lead nowhere" {
	inside 'cd /work; ln -s /proc/1/root/etc m; ln -s /proc/self/fd f; ln -s /proc/self/cwd c; ln -s /proc/self/root/etc/passwd p; ln -s /dev/fd/0 n'
	for link in m f c p n; do
		stays "$link"
		refute ls "$link/"
		refute cat "$link"
	done
}

@test "hard links of one symbolic link in directories of different depth" {
	inside 'cd /work; echo t > t; mkdir -p a/b/c; ln -s /work/t l; ln l a/l 2>/dev/null && ln l a/b/c/l'
	for link in l a/l a/b/c/l a/l l; do
		stays "$link"
		eq "$(cat "$link")" t
	done
}

@test "a link moved to another depth is right at once" {
	inside 'cd /work; echo t > t; mkdir -p a/b; ln -s /work/t l'
	eq "$(cat l)" t
	mv l a/b/l
	stays a/b/l
	eq "$(cat a/b/l)" t
	inside 'mv /work/a/b/l /work/a/l'
	stays a/l
	eq "$(cat a/l)" t
	mv a c
	eq "$(cat c/l)" t
	inside 'mv /work/c /c'
	stays "$F/c/l"
	eq "$(cat "$F/c/l")" t
}

@test "long chains and loops end" {
	inside 'cd /work; echo end > l0; for i in $(seq 1 60); do ln -s l$((i-1)) l$i; done; ln -s x y; ln -s y x; ln -s z/a z'
	eq "$(cat l20)" end
	refute timeout 10 cat l60
	refute timeout 10 cat x
	refute timeout 10 cat z
}

@test "links made from outside keep their text inside" {
	ln -s /usr/bin/env abs
	ln -s ../tmp rel
	eq "$(inside 'readlink /work/abs /work/rel; /work/abs echo ran')" $'/usr/bin/env\n../tmp\nran'
	stays abs
	stays rel
}

@test "the same links from another mount point" {
	inside 'echo t > /work/t; ln -s /work/t /work/l'
	eq "$(cat l)" t
	cd "$T"
	umount_sandbox
	mkdir -p elsewhere/deeper/still
	"$SANDPIT" mount -o net=none,state="$(echo "$XDG_STATE_HOME"/sandpit/*m)" elsewhere/deeper/still 3>&-
	eq "$(cat elsewhere/deeper/still/files/work/l)" t
}

@test "writing through a link the sandbox keeps swapping never reaches the host" {
	mkdir "$T/victim"
	echo untouched >"$T/victim/f"
	inside 'mkdir -p /work/x'
	start_run "cd /work; until test -e go; do ln -sfn $T/victim y; mv -T y x 2>/dev/null; rm -rf x; mkdir x; rmdir x; done"
	for i in {1..150}; do
		{ echo bad >x/f; } 2>/dev/null || true
		{ echo bad >>x/../x/f; } 2>/dev/null || true
	done
	: >go
	eq "$(cat "$D/out/$ID/wait" | wc -l)" 1
	eq "$(cat "$T/victim/f")" untouched
	eq "$(ls "$T/victim")" f
}

@test "directories swapped while they are walked" {
	inside 'mkdir -p /work/d/e /tmp/x; echo in > /work/d/e/f'
	start_run 'until test -e /work/go; do mv /work/d /tmp/d2; mv /tmp/d2 /work/d; done'
	for i in {1..100}; do
		got=$(cat d/e/f 2>/dev/null) || continue
		eq "$got" in
	done
	: >go
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(cat d/e/f)" in
}
