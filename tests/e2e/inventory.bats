# What processes of the sandbox hold: no capability in the host, no socket of the host, no inherited
# descriptor. Listed for commands, kernels and the browser.
# runs-as: root user single rootfs
load ../lib/helper
load ../lib/escape
load ../lib/code
load ../lib/browser

setup() {
	# Something of each kind that could be inherited.
	exec 9</etc/hostname
	make_dirs
	exec 10<>"$T/inherited"
	mkfifo "$T/fifo"
	exec 11<>"$T/fifo"
	mkdir victim
	echo untouched >victim/keep
	start sleep 9999
	HOST_PID=$PID
	SECRET_TOKEN=hush mount_sandbox
	exec 9<&- 10<&- 11<&-
	put_tools
	WITNESS=$(witness)
	cp "$TEST_LIB/held.sh" "$D/files/work/held.sh"
}

# Of every process inside but the lister: what init and the daemon must not have left it.
check_held() {
	local lines

	inside 'sh /work/held.sh' >held
	(($(grep -c ^process held) >= $1)) || fail "$(cat held)"
	# Pipes, sockets and files of the sandbox's own; nothing by a path of the host's.
	awk '$1 == "fd" { print $4 }' held | grep -E '^/' | grep -vE '^/dev/(null|zero|u?random|full|tty|ptmx|pts/.*|shm/.*)$|^/memfd:' |
		sed 's,/[^/]*$,/,' | sort -u >folders || true
	refute grep -F "$T" folders
	# One that was closed between its listing and the look leads nowhere.
	refute grep -vE '^/|^(pipe|socket|anon_inode):' < <(awk '$1 == "fd" && $4 { print $4 }' held)
	inside "ls -d -- $(tr '\n' ' ' <folders) / >/dev/null"
	refute grep -qE 'inherited|fifo|hostname|sandpit\.db|/log|userns|mnt:' held
	refute grep -q hush held
	# Capabilities count in the sandbox's own user namespace only, and are few.
	eq "$(awk '$1 == "CapInh:" || $1 == "CapAmb:" { print $2 }' held | sort -u)" 0000000000000000
	while read -r caps; do
		((!(0x$caps & ~0x800005fb))) || fail "capabilities $caps"
	done < <(awk '$1 ~ /^Cap(Bnd|Eff|Prm):/ { print $2 }' held | sort -u)
	eq "$(awk '$1 == "NoNewPrivs:" { print $2 }' held | sort -u)" 1
	eq "$(awk '$1 == "Seccomp:" { print $2 }' held | sort -u)" 2
	refute grep -qF "user $(readlink /proc/self/ns/user)" held
	eq "$(grep -c '^user ' <(sort -u held))" 1
}

# The same from outside: ids of nobody in the host, where the host tells.
check_ids() {
	local init pid

	as_root || return 0
	init=$(pgrep -P "$(daemon_pid)" -x sandpit-init)
	for pid in $(pgrep --ns "$init" --nslist pid .); do
		refute grep -qE '^Uid:.*\b0\b' "/proc/$pid/status" 2>/dev/null
		eq "$(awk '/^Groups/ { $1 = ""; print }' "/proc/$pid/status" | grep -wE '0' || true)" ""
	done
}

descendants() {
	local pid

	for pid in $(pgrep -P "$1"); do
		echo "$pid"
		descendants "$pid"
	done
}

# Of the browser, which commands may not look at: from outside, where root may.
check_browser() {
	local pid caps count=0

	as_root || return 0
	for pid in $(descendants "$(pgrep -P "$(daemon_pid)" -x sandpit-init)"); do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) =~ ^(node|chrom) ]] || continue
		ls -l "/proc/$pid/fd" >fds 2>/dev/null && cp "/proc/$pid/status" status 2>/dev/null || continue
		((++count))
		refute grep -qE "$T|inherited|fifo|hostname|sandpit\.db|/log\$|userns|mnt:" fds
		refute grep -qs hush "/proc/$pid/environ"
		# What it has more than nothing is root's power over the sandbox's files.
		for caps in $(awk '/^Cap(Inh|Amb):/ { print $2 }' status); do
			((!(0x$caps & ~0xb))) || fail "$pid inherits capabilities $caps"
		done
		eq "$(awk '/^(NoNewPrivs|Seccomp):/ { printf "%s ", $2 }' status)" "1 2 "
		refute [ "$(readlink "/proc/$pid/ns/user")" = "$(readlink /proc/self/ns/user)" ]
	done
	((count >= 4)) || fail "only $count processes of the browser"
}

# No socket of the host has a name here.
check_sockets() {
	eq "$(inside 'grep -c "[@/]" /proc/net/unix; true')" "${1:-0}"
	eq "$(inside 'find / -xdev -type s 2>/dev/null | grep -vE "^/(tmp|root|var/lib/sandpit-browser)/" ; true')" ""
}

@test "commands" {
	start_run 'exec sleep 9999'
	request '(setsid sleep 9999 &)'
	check_held 2
	eq "$(awk '$1 == "fd" { print $3 }' held | sort -un | tr '\n' ' ')" "0 1 2 "
	check_ids
	check_sockets
	unharmed
}

@test "kernels" {
	for name in bash python javascript r; do
		[[ $(jq -r ".languages.$name" "$D/status.json") == yes ]] || continue
		run_code "$name" '1' || true
	done
	check_held 1
	check_ids
	check_sockets
	unharmed
}

@test "the browser" {
	in_rootfs && skip "the tree has no browser"
	need chromium node python3
	[[ -d $HELPERS/drivers/browser/node_modules ]] || skip "the driver's npm packages are not installed"
	B=$D/browser
	serve_pages 8000
	echo '{"headless": true}' >"$B/config.json"
	ask goto "$PAGES/"
	eq "$(jq -r .state "$B/state.json")" running
	check_browser
	check_ids
	unharmed
}

@test "an image of one static program" {
	as_root && ! in_rootfs || skip "made once, as root"
	umount_sandbox
	mkdir -p tree/bin
	cp "$HELPERS/attack" "$HELPERS/escape" tree/bin/
	chmod -R 755 tree
	mount_sandbox -o rootfs="$T/tree"
	json '{"cmd": ["/bin/escape", "inside"], "cwd": "/"}'
	expect "$(cat "$D/out/$ID/stdout")" <<-'END'
		unshare_user EPERM|ENOSPC
		mount_tmpfs EPERM
		mknod EPERM
		ptrace_init EPERM
		open_by_handle EPERM
		chroot EPERM
	END
	json '{"cmd": ["/bin/attack", "inside", "inventory"], "cwd": "/"}'
	eq "$(grep -c '^fd ' "$D/out/$ID/stdout")" 3
	json '{"cmd": ["/bin/attack", "inside", "connect", "'"$T/victim"'"], "cwd": "/"}'
	eq "$(cat "$D/out/$ID/stdout")" "connect ENOENT"
	unharmed
}
