# Machines that lack something: a mount says what and what helps, and `sandpit check` says it before.
# runs-as: root user
load ../lib/helper

setup() { make_dirs; }

# alone TEXT: a shell in a mount namespace of its own, where things can be hidden.
alone() { unshare -m sh -c "$1" sh "$SANDPIT" "$D" 3>&- 2>&1; }

# refused TEXT WORDS: the mount in there fails with these words.
refused() {
	run alone "$1"
	refute test "$status" = 0
	match "$output" "$2"
}

need_root() { as_root || skip "only root can make such a machine"; }

@test "no user namespaces" {
	closed() { unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; "$@"' sh "$@" 3>&- 2>&1; }
	run closed "$SANDPIT" mount -o net=none "$D"
	refute test "$status" = 0
	match "$output" 'no user namespaces|user namespaces are switched off'
	match "$output" 'sysctl user.max_user_namespaces'
	run closed "$SANDPIT" check
	eq "$status" 1
	match "$output" 'user namespaces +missing +.*sysctl user.max_user_namespaces'
	match "$output" 'cannot be mounted'
}

# What a kernel does that has user namespaces for some only: python3 deny.py caps|all CMD... With caps
# they can be made and give no capability, as AppArmor does it.
deny_script() {
	cat >deny.py <<-'END'
		import ctypes, os, struct, sys
		EPERM, ALLOW, USER, MOUNTS = 0x00050001, 0x7fff0000, 0x10000000, 0x00020000
		LOAD, JEQ, JSET, RET = 0x20, 0x15, 0x45, 0x06
		user = EPERM if sys.argv[1] == "all" else ALLOW
		program = [(LOAD, 0, 0, 0), (JEQ, 0, 1, 165), (RET, 0, 0, EPERM),  # mount
		    (JEQ, 1, 0, 272), (JEQ, 0, 5, 56),  # unshare, clone
		    (LOAD, 0, 0, 16), (JSET, 0, 1, USER), (RET, 0, 0, user),
		    (JSET, 0, 1, MOUNTS), (RET, 0, 0, EPERM), (RET, 0, 0, ALLOW)]
		code = b"".join(struct.pack("HBBI", *i) for i in program)
		held = ctypes.create_string_buffer(code)
		filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(held)))
		libc = ctypes.CDLL(None)
		assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filters) == 0
		os.execv(sys.argv[2], sys.argv[2:])
	END
}

@test "user namespaces that a setting closes to users, or AppArmor leaves without capabilities" {
	need_root
	need python3
	deny_script
	chmod 755 deny.py
	chown -R 65534:65534 "$T"
	while read -r name value what; do
		hide="mount -t tmpfs tmpfs /proc/sys/kernel; echo $value >/proc/sys/kernel/$name
			exec setpriv --reuid 65534 --regid 65534 --clear-groups python3 $T/deny.py $what"
		refused "$hide \"\$1\" mount -o net=none \"\$2\"" "user namespaces.*sysctl kernel.$name=$((1 - value))"
		run alone "$hide \"\$1\" check"
		eq "$status" 1
		match "$output" "user namespaces +missing +.*sysctl kernel.$name=$((1 - value))"
		refute grep -qE 'masked|systempaths' <<<"$output"
	done <<-'END'
		apparmor_restrict_unprivileged_userns 1 caps
		apparmor_restrict_unprivileged_userns 1 all
		unprivileged_userns_clone 0 all
	END
	# Neither: a container, perhaps.
	run setpriv --reuid 65534 --regid 65534 --clear-groups python3 "$T/deny.py" caps "$SANDPIT" mount -o net=none "$D" 3>&-
	match "$output" 'namespace.*in a container.*seccomp'
}

@test "no slirp4netns and no pasta" {
	need_root
	hide='for f in /usr/bin/pasta /usr/bin/slirp4netns; do [ ! -e $f ] || mount --bind /dev/null $f; done'
	refused "$hide; exec \"\$1\" mount -o net=user \"\$2\"" 'net=user needs slirp4netns or pasta: install the package slirp4netns'
	run alone "$hide; exec \"\$1\" check"
	match "$output" 'network +missing +net=user needs slirp4netns or pasta: apt install'
	# Without being asked for, it is simply not there.
	run alone "$hide; \"\$1\" mount \"\$2\" && jq -r .enabled.net \"\$2/status.json\" && \"\$1\" umount \"\$2\""
	eq "$status" 0
	match "$output" none
}

@test "no /dev/net/tun, or not for us" {
	need_root
	hide='mount -t tmpfs tmpfs /dev/net'
	refused "$hide; exec \"\$1\" mount -o net=user \"\$2\"" 'net=user needs /dev/net/tun .*modprobe tun.*No such file'
	run alone "$hide; exec \"\$1\" check"
	match "$output" 'network +missing +net=user needs /dev/net/tun: No such file.*modprobe tun'
}

@test "a masked /proc, as in a container" {
	need_root
	hide='mount -t tmpfs tmpfs /proc/tty'
	refused "$hide; exec \"\$1\" mount -o net=none \"\$2\"" 'mounting /proc is not allowed here.*systempaths=unconfined'
	run alone "$hide; exec \"\$1\" check"
	eq "$status" 1
	match "$output" 'proc +missing +.*masked.*systempaths=unconfined'
}

@test "no control groups: limits by rlimits, and it is said" {
	need_root
	hide='for d in /sys/fs/cgroup; do mount -t tmpfs -o ro tmpfs $d; done'
	run alone "$hide; exec \"\$1\" check"
	match "$output" 'cgroups +missing +.*limits by rlimits'
	run alone "$hide; \"\$1\" mount -o net=none,memory=100M,cpus=1 \"\$2\" && jq -r .enabled.limits \"\$2/status.json\" && cat \"\$2/log\" && \"\$1\" umount \"\$2\""
	eq "$status" 0
	match "$output" rlimits
	match "$output" 'cpus=1 has no effect: no control group'
}

@test "no range of ids, or no newuidmap: one id, and it is said" {
	as_root && skip "root has all ids"
	run "$SANDPIT" check
	match "$output" 'uid ranges +ok'
	command -v bwrap >/dev/null || skip "bwrap is not installed"
	run bwrap --dev-bind / / --ro-bind /dev/null /usr/bin/newuidmap "$SANDPIT" check 3>&-
	match "$output" 'uid ranges +missing +apt install uidmap'
	run bwrap --dev-bind / / --ro-bind /dev/null /etc/subuid "$SANDPIT" check 3>&-
	match "$output" 'uid ranges +missing +usermod --add-subuids'
}

@test "a rootfs that is a file, is empty, or is not there" {
	touch file
	mkdir empty
	run mount_sandbox -o rootfs="$T/file"
	refute test "$status" = 0
	match "$output" 'rootfs .*/file is no directory'
	run mount_sandbox -o rootfs="$T/empty"
	refute test "$status" = 0
	match "$output" 'rootfs .*/empty is empty: it needs the tree of an operating system'
	run mount_sandbox -o rootfs="$T/nosuch"
	refute test "$status" = 0
	match "$output" 'rootfs .*/nosuch: No such file'
	run mount_sandbox -o rootfs=/
	refute test "$status" = 0
	match "$output" "rootfs / is this machine's own root: .*leave rootfs away"
	for tree in "$T/file" "$T/empty" "$T/nosuch" /; do
		run "$SANDPIT" check -o rootfs="$tree" 3>&-
		eq "$status" 1
		match "$output" "rootfs +wrong +rootfs $tree"
	done
	mkdir -p tree/bin
	match "$("$SANDPIT" check -o rootfs="$T/tree")" "rootfs +ok +$T/tree"
	mkdir -p around/bin
	run mount_sandbox -o rootfs="$T/around",state="$T/around/state"
	refute test "$status" = 0
	match "$output" 'rootfs .*/around holds the state directory .*state='
	refute mounted
}

@test "settings that no mount would take" {
	printf 'memory = much\n' >bad.ini
	run "$SANDPIT" check -c "$T/bad.ini" 3>&-
	eq "$status" 1
	match "$output" 'settings +wrong +.*bad.ini.*memory'
	run "$SANDPIT" check -o nosuch=1 3>&-
	eq "$status" 1
	match "$output" 'settings +wrong +.*nosuch'
	echo 'memory = 1G' >good.ini
	match "$("$SANDPIT" check -c "$T/good.ini")" "settings +ok +$T/good.ini"
}

@test "a rootfs with links for /proc, /dev and /sys: never followed" {
	mkdir -p rootfs/bin rootfs/etc victim
	cp "$HELPERS/fsop" rootfs/bin/fsop
	for name in proc dev sys; do ln -s "$T/victim" "rootfs/$name"; done
	chmod 755 rootfs rootfs/*
	mount_sandbox -o rootfs="$T/rootfs"
	json '{"cmd": ["/bin/fsop", "type", "/proc/self/status", "type", "/dev/null", "type", "/sys"], "cwd": "/"}'
	eq "$(cat "$D/out/$ID/stdout")" $'type -\ntype c\ntype d'
	eq "$(ls victim)" ""
	for name in proc dev sys; do
		eq "$(stat -c %F "$D/files/$name")" directory
		eq "$(ls -A "$D/files/$name")" ""
		test -L "rootfs/$name"
	done
}

@test "check says of passthrough what a mount finds" {
	mount_sandbox
	case $(jq -r .enabled.passthroughWhyNot "$D/status.json") in
	null) want=' +ok +the kernel offers it' ;;
	'the kernel does not'*) want=' +missing +the kernel does not offer it' ;;
	*) want=' +(ok|missing) ' ;;
	esac
	as_root || want=' +- +the kernel gives it to root only'
	match "$("$SANDPIT" check)" "passthrough$want"
}
