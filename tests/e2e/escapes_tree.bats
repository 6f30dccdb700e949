# What a hostile tree does to whoever reads it through files/: the daemon and the host's programs.
# The numbers are those of docs/escapes.md.
# runs-as: root user single rootfs
load ../lib/helper
load ../lib/escape

setup() { setup_escape; }

@test "25, 26, 28, 29 FIFOs, leases, sockets, and files that turn into them" {
	request 'cd /work; mkfifo ff f2; echo x >leased; echo right >reg; ln -s /etc/passwd link; /work/attack inside bind sk'
	start sh -c 'exec cat "$1" >/dev/null' sh "$D/files/work/ff"
	expect "$(attack lease /work/leased)" <<-'END'
		lease EINVAL
		delegation EINVAL
	END
	# The kernel's own answers: the daemon opens none of them.
	eq "$(fsop type "$D/files/work/ff" open "$D/files/work/ff" w+nonblock type "$D/files/work/sk" open "$D/files/work/sk" r connect "$D/files/work/sk" 2>&1 | tr '\n' ' ')" \
		"type p open 0 type s open ENXIO connect ECONNREFUSED "
	start_run '/work/attack inside swap /work/reg /work/f2 & exec /work/attack inside swap /work/leased /work/link'
	for _ in {1..20}; do
		run timeout 60 "$HELPERS/fsop" open "$D/files/work/reg" r+nonblock read 9 open "$D/files/work/leased" r+nonblock read 9 \
			open "$D/files/work/reg" r+nonblock open "$D/files/work/leased" w+nonblock+trunc chmod "$D/files/work/reg" 600
		eq "$status" 0
	done
	end_run "$ID"
	unharmed
}

@test "27, 38 devices and whiteouts" {
	expect "$(attack node /work/sda b 254 0; attack node /work/null c 1 3)" <<<'node EPERM'
	match "$(awk -v d="$D" '$2 == d { print $4 }' /proc/self/mounts)" 'nosuid,nodev'
	eq "$(fsop mknod "$D/files/work/dev" c 2>&1)" "mknod EPERM"
	# The device 0:0 needs no privilege, and in an overlay's layer it would hide a file.
	request 'mkdir -p /work/app /usr/local/own; echo seen >/work/app/f; echo seen >/usr/local/own/f; /work/attack inside node /work/app/w c 0 0; /work/attack inside node /usr/local/own/w c 0 0; true'
	echo 'persist /work/app' >"$D/checkpoint"
	inside 'rm -r /work/app'
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(ls "$D/files/work/app")" f
	umount_sandbox
	mount_sandbox
	eq "$(cat "$D/files/work/app/f" "$D/files/usr/local/own/f")" $'seen\nseen'
	unharmed
}

@test "30, 31 set-id bits and file capabilities mean nothing outside" {
	inside 'cp /bin/sh /work/b; chmod 4755 /work/b; chmod 2755 /work/attack'
	request '/work/attack inside capability /work/b'
	eq "$("$D/files/work/b" -c 'id -u' 2>/dev/null || id -u)" "$(id -u)"
	refute grep -q security <<<"$(fsop listxattr "$D/files/work/b")"
	refute grep -qE 'getxattr [0-9[]' <<<"$(fsop getxattr "$D/files/work/b" security.capability)"
	as_root && ! in_rootfs || return 0
	# The user of an unprivileged id who gets hold of it by the mount.
	caps=$(setpriv --reuid 65534 --clear-groups --inh-caps=-all "$D/files/work/b" -c 'grep CapEff /proc/self/status' 2>/dev/null | awk '{ print $2 }') || true
	match "${caps:-0000000000000000}" '^0+$'
}

@test "32 hard links to the system's files do not reach the host's" {
	request 'ln /usr/bin/env /usr/bin/env-link && echo bad >>/usr/bin/env-link; ln /usr/bin/env /work/e && echo bad >>/work/e; ln /etc/passwd /work/p && echo bad >>/work/p; true'
	run fsop link "$D/files/usr/bin/env" "$D/files/work/e2"
	echo bad >>"$D/files/work/e2" || true
	unharmed
}

@test "33-35 sizes, numbers and depths beyond reason" {
	run timeout 60 "$HELPERS/fsop" open "$D/files/work/big" w+creat ftruncate 9223372036854775807 ftruncate 8796093022208 fsize
	match "$output" 'ftruncate (0|EFBIG)'
	inside 'truncate -s 8E /work/b2; truncate -s 8T /work/b3; du -k /work/b3 | cut -f1' >used 2>/dev/null || true
	eq "$(tail -n 1 used)" 0
	eq "$(attack names /work 5000)" "names 5000"
	eq "$(fsop count "$D/files/work" | awk '{ print ($2 >= 5000) }')" 1
	ls -l "$D/files/work" >/dev/null
	mkdir "$D/files/work/deep"
	eq "$(attack depth /work/deep 1000)" "depth 1000"
	find "$D/files/work/deep" 2>/dev/null | tail -n 1 >/dev/null || true
	# More than a path can name.
	eq "$(fsop open "$D/files/work/deep/$(printf 'nnnn%.0s/' {1..1000})" r)" "open ENAMETOOLONG"
	echo 'persist /work/deep timeout=20' >"$D/checkpoint" || true
	answers
	rm -r "$D/files/work/deep"
	(($(ls "/proc/$(daemon_pid)/fd" 2>/dev/null | wc -l) < 15000))
	unharmed
}

@test "36, 37, 39 names of any bytes are as they are, and only there" {
	cat >"$D/files/work/names.sh" <<-'END'
		cd /work/names
		for n in "$(printf 'a\nb')" "$(printf '\033[2Jx')" "$(printf '\377\376')" -rf ' ' 'CON:' "$(printf 'n%.0s' $(seq 255))" .wh.reg .wh..wh..opq .wh. ctl .status '$(id)' 'a;b' '*'; do
			printf %s "$n" >"./$n"
		done
		cd /; echo x >/ctl; echo x >/status.json; echo x >/.sandpit-x
	END
	inside 'mkdir /work/names; sh /work/names.sh'
	for file in "$D/files/work/names"/* "$D/files/work/names"/.[!.]*; do
		eq "$(cat "$file"; echo .)" "${file##*/}."
	done
	(($(ls -A "$D/files/work/names" | wc -l) >= 15))
	echo 'persist /work/names' >"$D/checkpoint"
	cp -r "$D/files/work/names" before
	inside 'rm -r /work/names; mkdir /work/names; echo x >/work/names/reg'
	echo 'restore /work/names' >"$D/checkpoint"
	diff -r before "$D/files/work/names"
	eq "$(cat "$D/files/ctl")" x
	test -d "$D/ctl"
	unharmed
}

@test "36 what is said of such names is plain text" {
	bad=$(printf 'q\033[2J\r\n\001\377z')
	inside 'mkdir /work/odd; cd /work/odd; mkdir "$(printf "q\033[2J\r\n\001\377z")"'
	{
		printf '{"op":"persist","path":"/work/none/q\\u001b[2J\\r\\n\\u0001z"}\n' >"$D/checkpoint"
		printf '{"cmd":["/work/q\\u001b[2J\\r\\n\\u0001z"],"cwd":"/work/q\\u001b[2Jz"}\n' >"$D/ctl/run.json"
		printf '/work/odd/%s\n' "$bad" >"$D/ctl/cwd"
		printf 'q\033[2Jz\n' >"$D/ctl/user"
		printf 'persist /work/odd/%s/none\n' "$bad" >"$D/checkpoint"
		echo x >"$D/out/$bad/cmd"
		mkdir "$D/out/$bad" "$D/code/$bad"
	} 2>/dev/null || true
	for file in error log status.json stats.json checkpoint; do
		refute grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$D/$file" || fail "$file holds a control character"
		iconv -f UTF-8 -t UTF-8 "$D/$file" >/dev/null || fail "$file is not UTF-8"
	done
	eq "$(wc -l <"$D/error")" 1
}

@test "40 everything removed, and everything moved" {
	request 'mv /usr /x 2>/dev/null; mv /proc /x 2>/dev/null; mv /dev /x 2>/dev/null; ls /proc/self/status' || true
	in_rootfs || eq "$(last stdout)" /proc/self/status
	start_run 'rm -rf --no-preserve-root /etc /bin /sbin /lib* /var /home /root /dev /proc /sys /run / 2>/dev/null'
	removed() { [[ ! -L $D/files/bin || -e $D/out/$ID/exit_code ]]; }
	wait_for removed
	end_run "$ID"
	unharmed
	umount_sandbox
	mount_sandbox
	answers
}

@test "41 a full disk below" {
	as_root && ! in_rootfs || skip "only root can mount a small disk"
	umount_sandbox
	mkdir small
	mount -t tmpfs -o size=40m small "$T/small"
	mount_sandbox -o state="$T/small/s"
	request 'head -c 100000000 /dev/zero >/work/fill; head -c 5000000 /dev/zero; echo said >&2'
	eq "$(last status)" exited
	run inside 'rm /work/fill; echo more >/work/more'
	echo y >"$D/files/work/other"
	eq "$(cat "$D/files/work/other")" y
	answers
	umount_sandbox
	umount "$T/small"
	mount_sandbox
}

@test "42 a file that shrinks under a reader's map" {
	request 'head -c 100000 /dev/zero >/work/shrinks'
	cat >map.py <<-'END'
		import mmap, sys
		f = open(sys.argv[1], "rb")
		m = mmap.mmap(f.fileno(), 100000, prot=mmap.PROT_READ)
		open("mapped", "w").close()
		sys.stdin.readline()
		print(m[90000])
	END
	mkfifo go
	start sh -c 'python3 map.py "$1" <go 2>&1; echo $? >ended' sh "$D/files/work/shrinks"
	exec 8>go
	wait_for is_file mapped
	request ': >/work/shrinks'
	echo >&8
	exec 8>&-
	wait_for is_file ended
	match "$(cat ended)" '^(0|135|138)$'
	unharmed
}
