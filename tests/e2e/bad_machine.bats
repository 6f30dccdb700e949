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

# What a kernel does that has user namespaces for some only: python3 deny.py caps|all|calls CMD... With
# caps they can be made and give no capability, as AppArmor does it. With calls those for mounts that
# came with Linux 5.2 are unknown, as to an old container's filter.
deny_script() {
	cat >deny.py <<-'END'
		import ctypes, os, struct, sys
		EPERM, ALLOW, USER, MOUNTS = 0x00050001, 0x7fff0000, 0x10000000, 0x00020000
		LOAD, JEQ, JSET, RET = 0x20, 0x15, 0x45, 0x06
		user = EPERM if sys.argv[1] == "all" else ALLOW
		program = [(LOAD, 0, 0, 0), (0x35, 0, 2, 428), (0x35, 1, 0, 434), (RET, 0, 0, EPERM), (RET, 0, 0, ALLOW)
		    ] if sys.argv[1] == "calls" else [(LOAD, 0, 0, 0), (JEQ, 0, 1, 165), (RET, 0, 0, EPERM),  # mount
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

@test "limits that are too low: said at once, not when something fails" {
	while read -r option value what; do
		# A sanitizer's own memory is more than that.
		[[ $option != [vd] ]] || ! sanitized || continue
		low() { (ulimit "-$option" "$value" && "$SANDPIT" "$@" 3>&-) 2>&1; }
		run low mount -o net=none "$D"
		refute test "$status" = 0
		match "$output" "^sandpit mount: $what: the limit is $value, a sandbox needs [0-9]+: ulimit -$option"
		not_mounted
		run low check
		eq "$status" 1
		match "$output" "limits +missing +$what.*ulimit -$option"
	done <<-'END'
		n 40 open files
		f 500 the size of files
		v 24000 the address space
		d 10000 the memory for data
		s 48 the stack
	END
}

@test "low limits with which a sandbox works are not refused" {
	while read -r option value more; do
		[[ $option != [vd] ]] || ! sanitized || continue
		(ulimit "-$option" "$value" && mount_sandbox)
		inside 'echo works >/work/x'
		eq "$(cat "$D/files/work/x")" works
		echo 'echo driver' >"$D/code/bash/in"
		eq "$(cat "$D/code/bash/out/last/stdout")" driver
		umount_sandbox
		run bash -c 'ulimit "-$1" "$2" && exec "$3" check' bash "$option" "$value" "$SANDPIT" 3>&-
		match "$output" "limits +ok +$more"
	done <<-'END'
		n 80 open files: the limit is 80, checkpoints may need 128
		f 1000 none that is too low
		v 48000 the address space: .*checkpoints may need
		d 36000 the memory for data: .*checkpoints may need
		s 64 none that is too low
	END
}

@test "a limit of the size of files is an error to who writes, not the daemon's end" {
	(ulimit -f 20000 && mount_sandbox)
	# As root the kernel may write past the daemon, and the limit is that of dd.
	as_root || match "$(dd if=/dev/zero of="$D/files/work/big" bs=1M count=30 2>&1)" 'File too large'
	dd if=/dev/zero of="$D/files/work/big" bs=1M count=30 2>/dev/null || true
	refute inside 'head -c 30000000 /dev/zero >/work/big2' 2>/dev/null
	inside 'echo lives'
}

@test "no process or thread more: mounted, or said with what helps" {
	as_root && skip "such a limit is not root's"
	! sanitized || skip "a sanitizer needs a process more when it ends"
	for more in $(seq 0 12); do
		few() { (ulimit -u "$(($(ps -L -U "$(id -u)" --no-headers | wc -l) + more))" && exec "$SANDPIT" mount -o net=none "$D" 3>&-) 2>&1; }
		run few
		if [[ $status == 0 ]]; then
			mounted || fail "nothing is mounted with $more"
			jq -e . "$D/status.json" >/dev/null
			umount_sandbox
		else
			match "$output" 'emporar|no process more'
			not_mounted
		fi
	done
	few() { (ulimit -u 2 && exec "$SANDPIT" mount "$D" 3>&-) 2>&1; }
	run few
	match "$output" 'no process or thread more may be started: ulimit -u'
}

@test "a PATH without anything of the system, or none" {
	for path in /nonexistent ''; do
		PATH=$path "$SANDPIT" mount -o net=none "$D" 3>&-
		inside true
		PATH=$path "$SANDPIT" umount "$D" 3>&-
		not_mounted
		eq "$(PATH=$path "$SANDPIT" check)" "$("$SANDPIT" check)"
	done
}

@test "no_new_privs, which takes their rights from fusermount3 and newuidmap" {
	as_root && skip "root needs neither"
	run setpriv --no-new-privs "$SANDPIT" mount -o net=none "$D" 3>&-
	refute test "$status" = 0
	match "$output" 'no_new_privs is set.*no-new-privileges'
	run setpriv --no-new-privs "$SANDPIT" check 3>&-
	eq "$status" 1
	match "$output" 'fusermount3 +missing +no_new_privs is set'
}

@test "a container without CAP_SYS_ADMIN" {
	need_root
	chmod 755 "$T"
	refused 'exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$1" mount "$2"' 'root may not mount here.*--cap-add SYS_ADMIN'
	run alone 'exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$1" check'
	eq "$status" 1
	match "$output" 'fusermount3 +missing +root may not mount here.*--cap-add SYS_ADMIN'
	match "$output" 'mounting +missing +root may not mount here.*--cap-add SYS_ADMIN'
	run alone 'exec setpriv --bounding-set=-sys_admin --reuid 65534 --regid 65534 --clear-groups "$1" check'
	eq "$status" 1
	match "$output" 'fusermount3 +missing +.*fusermount3 .*--cap-add SYS_ADMIN'
}

@test "a user id that has no name, which fusermount3 asks for" {
	need_root
	chmod 755 "$T" "$D"
	chown -R 54321:54321 "$T"
	refused 'exec setpriv --reuid 54321 --regid 54321 --clear-groups "$1" mount "$2"' 'user id 54321 has no name.*/etc/passwd'
	run alone 'exec setpriv --reuid 54321 --regid 54321 --clear-groups "$1" check'
	eq "$status" 1
	match "$output" 'fusermount3 +missing +the user id 54321 has no name'
}

@test "fusermount3 or newuidmap without their set-user-ID bit" {
	need_root
	chown -R 65534:65534 "$T"
	chmod 755 "$T" "$D"
	# Over all of /usr: no user could share what has mounts in it.
	strip='mkdir up wk; mount -t tmpfs t up; mkdir up/u up/w; mount -t overlay -o lowerdir=/usr,upperdir=up/u,workdir=up/w o /usr'
	as='exec setpriv --reuid 65534 --regid 65534 --clear-groups'
	refused "$strip; chmod u-s /usr/bin/fusermount3; $as \"\$1\" mount -o net=none \"\$2\"" 'fusermount3 is not set-user-ID root: .*chmod u\+s'
	run alone "$strip; chmod u-s /usr/bin/fusermount3; $as \"\$1\" check"
	match "$output" 'fusermount3 +missing +/usr/bin/fusermount3 is not set-user-ID'
	# Without the other a sandbox has one user.
	run alone "$strip; chmod u-s /usr/bin/newuidmap; echo nobody:800000:65536 >ids; mount --bind ids /etc/subuid; mount --bind ids /etc/subgid
		$as sh -c '\"\$1\" check | grep ranges; \"\$1\" mount -o net=none \"\$2\" && jq -r .enabled.ids \"\$2/status.json\" && \"\$1\" umount \"\$2\"' sh \"\$1\" \"\$2\""
	match "$output" 'uid ranges +missing +/usr/bin/newuidmap is not set-user-ID'
	match "$output" $'\n'single
	eq "$status" 0
}

@test "a filter that does not know the newer calls for mounts" {
	need python3
	deny_script
	if as_root; then
		run python3 deny.py calls "$SANDPIT" mount -o net=none "$D" 3>&-
		refute test "$status" = 0
		match "$output" "calls for mounts .*fsopen.*seccomp=unconfined"
	fi
	run python3 deny.py calls "$SANDPIT" check 3>&-
	eq "$status" 1
	match "$output" 'mounting +missing +.*fsopen.*seccomp=unconfined'
}

@test "a home that cannot be written, or is not this user's: the variable that helps is named" {
	if as_root; then
		closed() { unshare -m sh -c 'mkdir ro; mount -t tmpfs -o ro t ro; exec env -u XDG_STATE_HOME HOME="$PWD/ro" "$@"' sh "$@" 3>&- 2>&1; }
	else
		closed() { mkdir -p ro; chmod 555 ro; env -u XDG_STATE_HOME HOME="$T/ro" "$@" 3>&- 2>&1; }
	fi
	run closed "$SANDPIT" mount -o net=none "$D"
	refute test "$status" = 0
	match "$output" '/ro/.*: (Permission denied|Read-only file system); set XDG_STATE_HOME'
	run closed "$SANDPIT" mount -o net=none,state="$T/elsewhere" "$D"
	refute test "$status" = 0
	match "$output" '/ro/.*; set XDG_STATE_HOME'
	run closed "$SANDPIT" check
	eq "$status" 1
	match "$output" 'state +missing +state directory .*/ro/.*set XDG_STATE_HOME'
	match "$output" 'checkpoints +missing +.*/ro/.*set XDG_DATA_HOME'
	refute grep -q 'overlay +ok' <<<"$output"
	match "$("$SANDPIT" check -o state="$T/there/s",store="$T/there/t")" "state +ok +$T/there/s"
	refute test -e there
	as_root && return
	mkdir other
	chmod 000 other
	run env -u XDG_CONFIG_HOME HOME="$T/other" "$SANDPIT" mount -o net=none "$D" 3>&-
	refute test "$status" = 0
	match "$output" '/other/.config/.*Permission denied; set XDG_CONFIG_HOME, or HOME'
	chmod 755 other
}

@test "no HOME: checkpoints are in the home that the user database names" {
	cat >script <<-'END'
		set -e
		[ "$(id -u)" != 0 ] || { sed "s|^\(root:.*\):/root:|\1:$PWD/home:|" /etc/passwd >passwd; mount --bind passwd /etc/passwd; }
		unset HOME XDG_DATA_HOME
		"$1" mount -o net=none "$2"
		echo x >"$2/files/work/x"
		echo 'persist /work' >"$2/checkpoint" || cat "$2/error"
		jq -r .etag "$2/checkpoint"
		"$1" umount "$2"
		ls -d "$(getent passwd "$(id -u)" | cut -d: -f6)/.local/share/sandpit/store"
	END
	if as_root; then
		run unshare -m sh script "$SANDPIT" "$D" 3>&-
	else
		run sh script "$SANDPIT" "$D" 3>&-
	fi
	eq "$status" 0 "$output"
	match "$output" '/sandpit/store$'
}

@test "a state directory on an overlay, as in a container without a volume: all but /usr can be changed" {
	need_root
	hide='set -e; mkdir -p o; mount -t tmpfs t o; mkdir o/l o/u o/w o/m; mount -t overlay -o lowerdir=o/l,upperdir=o/u,workdir=o/w ov o/m
		export XDG_STATE_HOME=$PWD/o/m XDG_DATA_HOME=$PWD/o/m'
	run alone "$hide; exec \"\$1\" check"
	eq "$status" 0
	match "$output" 'overlay +ok +.*o/m.* lies on one.*cannot change /usr.*XDG_STATE_HOME, or state=.*volume'
	run alone "$hide"'
		"$1" mount -o net=none "$2"
		jq -c .enabled.systemWritable "$2/status.json"
		! "$1" run "$2" touch /usr/x && ! "$1" run "$2" touch /opt/x
		"$1" run "$2" sh -c "touch /work/made /etc/made /var/tmp/made && ls /usr/bin/env"
		echo "print(6 * 7)" >"$2/code/python/in" && cat "$2/code/python/out/last/stdout"
		mkdir "$2/files/work/kept" && echo persist /work/kept >"$2/checkpoint"
		"$1" umount "$2"
		"$1" mount -o net=none "$2"
		ls "$2/files/work" && rmdir "$2/files/work/kept" && echo restore /work/kept >"$2/checkpoint" && ls -d "$2/files/work/kept"
		"$1" umount "$2"
		up=$(echo o/m/sandpit/*/layers/opt.up)
		rmdir "$up/sandpit" && ln -s /etc "$up/sandpit"
		"$1" mount -o net=none "$2"
		"$1" run "$2" sh -c "readlink /opt/sandpit.replaced-1 && ls -d /opt/sandpit/bash"
		"$1" umount "$2"'
	eq "$status" 0 "$output"
	match "$output" 'false.*touch: .*Read-only file system.*Read-only file system.*/usr/bin/env.*42.*kept.*made.*files/work/kept.*/etc.*/opt/sandpit/bash'
	mkdir -p tree/usr && touch tree/file
	run alone "$hide; exec \"\$1\" check -o rootfs=\$PWD/tree"
	eq "$status" 1
	match "$output" 'overlay +missing +.*o/m.* lies on an overlay'
	refused "$hide; exec \"\$1\" mount -o net=none,rootfs=\$PWD/tree \"\$2\"" 'o/m/.* lies on an overlay.*XDG_STATE_HOME, or state=.*volume'
}

@test "a mount point on a read-only file system, as in a container that is all read-only" {
	need_root
	run alone 'mkdir ro; mount -t tmpfs t ro; mkdir ro/m; mount -o remount,ro ro
		"$1" mount -o net=none ro/m && "$1" run ro/m -- echo works && "$1" umount ro/m'
	eq "$status" 0 "$output"
	match "$output" works
}

@test "something mounted below /usr, which a user cannot share" {
	need_root
	hide='mount --bind /dev/null /usr/bin/env'
	run alone "$hide; \"\$1\" mount -o net=none \"\$2\" && \"\$1\" run \"\$2\" -- echo works; \"\$1\" umount \"\$2\""
	match "$output" works
	rm -r state
	mkdir state
	chown -R 65534:65534 "$T"
	chmod 755 "$T" "$D"
	as='exec setpriv --reuid 65534 --regid 65534 --clear-groups'
	refused "$hide; $as \"\$1\" mount -o net=none \"\$2\"" '/usr cannot be shared.* mounted at /usr/bin/env.*rootfs='
	run alone "$hide; $as \"\$1\" check"
	match "$output" 'overlay +missing +/usr cannot be shared.*/usr/bin/env'
}

@test "check says of control groups what a mount finds" {
	need_root
	for hide in true 'mount -t cgroup2 c /sys/fs/cgroup'; do
		run alone "$hide || exit; \"\$1\" check | grep cgroups; \"\$1\" mount -o net=none \"\$2\" && jq -r .enabled.limits \"\$2/status.json\"; \"\$1\" umount \"\$2\""
		match "$output" $'cgroups +(missing.*\nrlimits|ok .*\ncgroup v)'
	done
}

@test "in a chroot" {
	need_root
	mkdir -p tree
	run alone 'for d in usr etc proc dev sys tmp bin lib lib64 sbin root; do
			if [ -L /$d ]; then cp -P /$d tree/$d; else mkdir tree/$d && mount --rbind /$d tree/$d; fi
		done; mkdir -p "tree/$(dirname "$1")"; mount --rbind "$(dirname "$1")" "tree/$(dirname "$1")"
		exec chroot tree "$1" check'
	eq "$status" 1
	match "$output" 'user namespaces +missing +.*in a chroot.*bwrap'
}

@test "the program copied without its drivers: what works works, and the rest says it" {
	cp "$SANDPIT" alone
	./alone mount -o net=none "$D" 3>&-
	inside 'echo works'
	match "$(jq -r .languages.bash "$D/status.json")" 'drivers.*make install'
	bash -c 'echo true >"$1/code/bash/in"' bash "$D" 2>/dev/null || true
	match "$(cat "$D/error")" 'code/bash/in: bash is not installed: .*drivers \(make install\)'
}
