# Attempts to reach the host's files by names, links and mounts. The numbers are those of
# docs/escapes.md.
# runs-as: root user single rootfs
load ../lib/helper
load ../lib/escape

setup() { setup_escape; }

# leads_nowhere NAME: neither reading nor writing through files/NAME reaches the victim, and what the
# link reads as stays below files/.
leads_nowhere() {
	local link=$D/files/$1 text

	refute grep -qs untouched "$link" "$link/keep"
	{ echo pwned >"$link"; echo pwned >"$link/keep"; } 2>/dev/null || true
	[[ -L $link ]] || return 0
	text=$(readlink "$link") || return 0
	[[ $text != /* ]] || fail "$1 reads as $text"
	match "$(realpath -ms "$(dirname "$link")/$text")" "^$D/files(/|$)"
}

@test "1-7 links that lead out, into /proc or in circles" {
	request "cd /work; mkdir -p d/e; ln -s $T/victim/keep abs; ln -s $T/victim dir; ln -s ../../../../../../../../..$T/victim rel
		ln -s . a; ln -s a/../../../../../../..$T/victim lexical; ln -s d/e/../../../../../../../../../..$T/victim deep
		ln -s dir chain; ln -s chain/keep chained; ln -s /etc/shadow shadow; ln -s ../../../../../etc/shadow d/e/shadow"
	for name in work/abs work/dir work/rel work/lexical work/deep work/chain work/chained; do
		leads_nowhere "$name" || fail "$name"
	done
	# What these name is the sandbox's own file.
	for name in work/shadow work/d/e/shadow; do
		refute grep -qsE '^root:[^:*!]' "$D/files/$name"
	done

	# 5, 6: into /proc
	request "cd /work; ln -s /proc/1/root$T/victim m; ln -s /proc/self/fd f; ln -s /proc/1/cwd c; ln -s /proc/self/root/proc/self/fd/5 g"
	for name in m f c g; do
		leads_nowhere "work/$name"
		refute ls "$D/files/work/$name/"
	done
	refute grep -qv 'open ENOENT' < <(fsop $(printf "open $D/files/work/f/%d r " {0..40}))
	eq "$(ls -A "$D/files/proc" "$D/files/sys" "$D/files/dev" | grep -v ':$' | grep .)" ""

	# 7: in circles
	request 'cd /work; ln -s loop loop; ln -s pong ping; ln -s ping pong; echo end >l0; i=0; while [ $i -lt 60 ]; do ln -s l$i l$((i+1)); i=$((i+1)); done'
	for name in loop ping pong l60; do
		eq "$(fsop open "$D/files/work/$name" r)" "open ELOOP" "$name"
	done
	eq "$(cat "$D/files/work/l10")" end
	request '/work/loop' || true
	json '{"cmd": "true", "cwd": "/work/loop"}' || true
	unharmed
}

@test "7 a way of links that is longer than any path can be" {
	request 'cd /work; dots=$(i=0; while [ $i -lt 2040 ]; do printf ./; i=$((i+1)); done); mkdir l39; i=0
		while [ $i -lt 39 ]; do ln -s "${dots}l$((i+1))/.." l$i; i=$((i+1)); done'
	# Every reader of the directory asks for what each of them reads as.
	timeout 10 ls -l "$D/files/work" >/dev/null 2>&1 || (($? != 124)) || fail "it takes too long to read them"
	for i in 0 20 30; do
		eq "$(fsop open "$D/files/work/l$i" r)" "open ELOOP" "l$i"
	done
	match "$(realpath "$D/files/work/l38")" "^$(realpath "$D")/files/work\$"
	umount_sandbox
	refute mounted
}

@test "8 a directory that is moved while names below it are looked up" {
	request 'mkdir -p /work/a /work/b/b /work/a/d; echo right >/work/a/d/reg; ln -s /victim /work/a/d/link; echo inside >/victim'
	start_run '/work/attack inside roam /work/a/d /work/b/b/d /d'
	paths=()
	for place in work/a/d work/b/b/d d; do
		paths+=("$D/files/$place/../reg" "$D/files/$place/reg" "$D/files/$place/link")
	done
	for ((i = 0; i < 30; i++)); do
		cat "${paths[@]}" "${paths[@]}" >>seen 2>>errors || true
	done
	refute grep -qvE '^(right|inside)$' seen
	refute grep -vE 'No such file|Stale|temporarily unavailable|Not a directory' errors
	end_run "$ID"
	unharmed
}

@test "9 a link takes a directory's place while the host writes there" {
	request "mkdir /work/x; ln -s $T/victim /work/y; ln -s /etc /work/z; mkdir /work/w"
	start_run '/work/attack inside swap /work/x /work/y & exec /work/attack inside swap /work/w /work/z'
	for ((i = 0; i < 40; i++)); do
		{
			echo pwned >"$D/files/work/x/keep"
			echo pwned >"$D/files/work/w/passwd"
			mkdir "$D/files/work/x/new"
			rm -rf "$D/files/work/x/keep"
			mv "$D/files/work/x/new" "$D/files/work/x/newer"
			chmod 777 "$D/files/work/x/keep"
		} 2>/dev/null || true
	done
	end_run "$ID"
	unharmed
}

@test "10-11 a planted link in place of a mount point is refused or remade at the next start" {
	for name in dev proc sys tmp usr etc mnt opt; do
		# Moving it would be a copy of all of it.
		[[ $name != usr ]] || ! in_rootfs || continue
		request "rmdir /$name 2>/dev/null; mv /$name /x-$name 2>/dev/null; ln -sfn $T/victim /$name; ln -sfn ../../../../../../../..$T/victim /r-$name; ln -sfn /oldroot$T/victim /o-$name"
	done
	umount_sandbox
	run mount_sandbox
	[[ $status != 0 ]] || request 'touch /dev/x /proc/x /usr/x /mnt/x /tmp/x /opt/x 2>/dev/null; true'
	eq "$(ls -A "$T/victim")" keep
	eq "$(witness)" "$WITNESS"
}

@test "12 reserved names are busy for whoever would take them away" {
	cd "$D/files"
	ln -s "$T/victim" work/evil
	mkdir work/empty
	for name in dev proc sys; do
		run fsop rmdir $name rename work/evil $name none rename $name work/gone none rename work/empty $name exchange unlink $name
		refute grep -qvE '(EBUSY|EACCES|EISDIR|EXDEV)$' <<<"$output"
		match "$output" '^rmdir EBUSY'
	done
	in_rootfs || match "$(fsop rename usr work/gone none)" 'EBUSY'
	inside 'ls /proc/self/status /dev/null /usr/bin/env'
	unharmed
}

@test "13-15 the working directory, chroot and climbing" {
	eq "$(inside 'cd ../../../../../../..; pwd; stat -c %i .' | tail -n 1)" "$(inside 'stat -c %i /')"
	refute inside "ls ../../../../../..$T"
	refute inside "cat ../../../..$T/victim/keep"
	for cwd in /proc/self/fd/0 /proc/self/fd/7 /proc/1/cwd /proc/1/root /proc/self/root/../../.. "/proc/1/root$T"; do
		json "{\"cmd\": \"ls -d $T\", \"cwd\": \"$cwd\"}" 2>/dev/null || continue
		refute test "$(cat "$D/out/$ID/exit_code")" = 0
		refute grep -qF "$T" "$D/out/$ID/stdout"
	done
	lines=$(attack climb /tmp/c)
	expect "$lines" <<-'END'
		chroot EPERM
		same_root 1
	END
	refute inside "ls $T"
}

@test "16-18, 21 mounts and file handles" {
	lines=$(inside '/work/escape inside')
	expect "$lines" <<-'END'
		umount_proc EPERM
		remount_root EPERM
		mount_tmpfs EPERM
		mount_overlay EPERM
		unshare_user EPERM|ENOSPC
		unshare_mount EPERM
		open_by_handle EPERM
	END
	for command in 'mount -o remount,bind,dev,suid /' 'umount -l /proc' 'mount -t proc none /mnt' 'unshare -Urm true'; do
		refute inside "$command 2>/dev/null"
	done
	# No mount inside lets a device or a set-id bit count.
	inside 'cat /proc/self/mounts' >mounts
	refute awk '$4 !~ /nosuid/ && $2 !~ "^/proc/" { print; found = 1 } END { exit !found }' mounts
	refute awk '$4 !~ /nodev/ && $2 !~ "^/(proc|dev)/" { print; found = 1 } END { exit !found }' mounts
}

@test "19-20 overlay attributes cannot be planted, and hide nothing after a restart" {
	# No attribute leads to another directory, whoever planted it.
	inside 'grep " overlay " /proc/self/mounts' >overlays
	refute grep -qvE '[ ,]userxattr[ ,]' overlays
	refute grep -qE 'redirect_dir=(on|follow)|metacopy=on' overlays
	eq "$(attack attribute /usr trusted.overlay.redirect /root)" "attribute EPERM"
	eq "$(attack attribute /usr/local trusted.overlay.opaque y)" "attribute EPERM"
	request 'mkdir -p /usr/local/own; for a in redirect opaque metacopy origin; do
		/work/attack inside attribute /usr/local user.overlay.$a /root; /work/attack inside attribute /usr/local/own user.overlay.$a y; done'
	umount_sandbox
	mount_sandbox
	inside 'ls /usr/bin/env /usr/local/own'
	eq "$(inside 'ls -A /usr/local | grep -c own')" 1
	refute inside "ls /usr/local/own/.ssh /usr/local/own/.bashrc"
	unharmed
}

@test "22 nothing of the host's people and no socket is there" {
	eq "$(inside 'ls -A /root /home /mnt /media /srv 2>/dev/null | grep -vE ":$|^$|^user$|^[.]" | head -n 3; true')" ""
	refute inside 'ls /etc/ssh/ssh_host_* /etc/ssl/private/* /etc/sudoers /var/run/docker.sock /run/docker.sock /run/dbus /run/systemd /run/user /run/containerd'
	eq "$(inside 'find / -type s 2>/dev/null; true')" ""
	refute inside 'grep -qE "^root:[^:*!]" /etc/shadow'
}

@test "23 a new directory in the host's root does not appear" {
	as_root || skip "only root can make one"
	mkdir "/sandpit-test-$$"
	run inside "ls -d /sandpit-test-$$"
	rmdir "/sandpit-test-$$"
	refute test "$status" = 0
}

@test "24 the ways into the shared page cache are shut" {
	expect "$(inside '/work/escape inside alg')" <<<'alg EAFNOSUPPORT|EPERM'
	before=$(sha256sum /usr/bin/env)
	request 'cd /work; head -c 4096 /usr/bin/env >part; cat part | dd of=/usr/bin/env conv=notrunc 2>/dev/null; echo x >>/usr/bin/env; chmod 0 /usr/bin/env'
	eq "$(sha256sum /usr/bin/env)" "$before"
	unharmed
}
