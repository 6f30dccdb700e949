# What commands can see and do, and what they cannot.
# runs-as: root user single
load ../lib/helper

@test "commands are root of their own in /workspace" {
	eq "$(inside 'id -u; id -g; id -un; pwd; echo $HOME; id -G')" $'0\n0\nroot\n/workspace\n/root\n0'
}

@test "the directories of the contract exist and are writable" {
	inside 'for d in /workspace /work /home/user /tmp /root /var/tmp /run; do touch $d/x && rm $d/x || exit 1; done'
	eq "$(inside 'stat -c %a /tmp')" 1777
}

@test "python is python3; the usual tools are there" {
	inside 'python -c "print(1)"; python3 --version; sh -c true; bash -c true; awk "BEGIN { print 1 }"; tar --version; env true; getent passwd root' >/dev/null
	eq "$(inside 'echo $PIP_BREAK_SYSTEM_PACKAGES')" 1
}

@test "the environment is clean" {
	umount_sandbox
	SECRET_TOKEN=hush LD_PRELOAD= mount_sandbox
	inside env >environment
	refute grep -qE 'hush|SANDPIT|TEST_|BATS|XDG|REAP' environment
	refute grep -q "$T" environment
	grep -q '^PATH=/' environment
	grep -q '^HOME=/root$' environment
	refute grep -qvE '^(PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|SHLVL|_|LANG|LC_ALL|TERM|TZ|PIP_[A-Z_]+|HOSTNAME|DEBIAN_FRONTEND|[a-zA-Z]+_proxy|[A-Z]+_PROXY)=' environment
}

@test "no descriptors but the three" {
	eq "$(inside 'ls /proc/self/fd | wc -l; for f in 0 1 2; do readlink /proc/self/fd/$f; done' | head -n 1)" 4
	exec 9</etc/hostname
	umount_sandbox
	mount_sandbox
	exec 9<&-
	inside 'readlink /proc/$$/fd/* || true' >links
	refute grep -qE '^/(tmp|work|home|root|var|run)' links
	refute grep -q hostname links
	inside 'ls /proc/1/fd 2>&1 | wc -l' >/dev/null
}

@test "standard output is a pipe that leads nowhere" {
	match "$(inside 'readlink /proc/self/fd/1')" '^pipe:'
	request 'echo first; head -c 99 /proc/self/fd/1 </dev/null & sleep 0.2; kill $! 2>/dev/null; true'
	eq "$(last exit_code)" 0
}

@test "the processes of the host are not visible and cannot be signalled" {
	start sleep 9999
	inside 'ls -d /proc/[0-9]* | wc -l' >count
	(($(cat count) <= 5))
	request "kill -9 $PID; kill -9 -1"
	kill -0 "$PID"
	inside 'ps -e 2>/dev/null || true' >/dev/null
}

@test "namespaces of its own: pid, mount, ipc, uts, user, net, cgroup" {
	for ns in pid mnt ipc uts user net; do
		refute test "$(inside "readlink /proc/self/ns/$ns")" = "$(readlink "/proc/self/ns/$ns")"
	done
	refute test "$(inside hostname 2>/dev/null || inside 'cat /proc/sys/kernel/hostname')" = "$(hostname)"
}

@test "no_new_privs, a seccomp filter, few capabilities and none in the host" {
	inside 'cat /proc/self/status' >status
	eq "$(awk '/^NoNewPrivs/ { print $2 }' status)" 1
	eq "$(awk '/^Seccomp:/ { print $2 }' status)" 2
	eq "$(awk '/^CapInh/ { print $2 }' status)" 0000000000000000
	eq "$(awk '/^CapAmb/ { print $2 }' status)" 0000000000000000
	caps=$(awk '/^CapBnd/ { print $2 }' status)
	((0x$caps & ~0x800005fb)) && fail "bounding set $caps"
	refute grep -qE '^Uid:.*[^0-9]0[^0-9].*4294' status
	eq "$(inside 'cat /proc/self/uid_map' | awk '$1 == 0 && $2 == 0 && $3 > 1000000')" ""
}

@test "on the host, commands run under an unprivileged id" {
	new_mark
	start_run "exec sleep 9999.$MARK"
	wait_for living "9999[.]$MARK"
	uid=$(awk '/^Uid/ { print $2 }' "/proc/$(pgrep -f -- "9999[.]$MARK" | head -n 1)/status")
	refute test "$uid" = 0
	echo KILL >"$D/out/$ID/kill"
	wait_for not_living "9999[.]$MARK"
}

@test "files of the host are not there, but the operating system's own" {
	echo secret >"$T/secret"
	refute inside "cat $T/secret"
	refute inside 'cat /etc/shadow | grep -v ":[*!]"'
	refute inside 'ls /etc/ssh/ssh_host_* /etc/ssl/private/* /etc/sudoers /var/run/docker.sock /etc/machine-id'
	eq "$(inside 'ls -A /root /home /mnt /media /srv 2>/dev/null | grep -vE ":$|^$|^user$|^[.]" | head -n 3; true')" ""
	inside 'find / -xdev -type s 2>/dev/null | grep -v "^/proc" | head -n 1; true' >sockets
	eq "$(cat sockets)" ""
	refute inside "ls $T"
}

@test "a new directory in the host's root does not appear" {
	as_root || skip "only root can make one"
	mkdir "/sandpit-test-$$"
	run inside "ls /sandpit-test-$$"
	rmdir "/sandpit-test-$$"
	refute test "$status" = 0
}

@test "what commands write to /usr and /etc stays in the sandbox" {
	before=$(sha256sum /etc/passwd /usr/bin/env)
	request 'echo x >> /etc/passwd; echo x > /etc/new-file-of-sandpit; echo x > /usr/new-file-of-sandpit; rm -f /usr/bin/env; echo x >> /usr/bin/env; chmod 777 /usr/bin'
	eq "$(sha256sum /etc/passwd /usr/bin/env)" "$before"
	refute test -e /etc/new-file-of-sandpit
	refute test -e /usr/new-file-of-sandpit
	refute test "$(stat -c %a /usr/bin)" = 777
}

@test "rm -rf / harms only the sandbox" {
	before=$(ls /usr/bin | wc -l)
	request 'rm -rf --no-preserve-root /etc /bin /sbin /lib* /usr/lib/x86_64-linux-gnu/lib[a-d]* /usr/bin /var /home /root /dev /run / 2>/dev/null' &
	wait_for gone "$D/files/bin"
	echo KILL >"$D/out/1/kill"
	wait
	wait_for is_file "$D/out/1/exit_code"
	eq "$(ls /usr/bin | wc -l)" "$before"
	test -e "$D/README"
	umount_sandbox
	mount_sandbox
	test -e "$D/README"
}

@test "/dev is minimal" {
	inside 'ls /dev' >dev
	refute grep -qvE '^(null|zero|full|random|urandom|tty|pts|ptmx|shm|fd|stdin|stdout|stderr|core|console|mqueue)$' dev
	inside 'echo x > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom >/dev/null; echo x > /dev/shm/x; rm /dev/shm/x'
	inside 'python3 -c "import os; m, s = os.openpty(); os.write(m, b\"x\\n\"); print(os.read(s, 9))"'
}

@test "net=none: only the loopback, and it works" {
	eq "$(inside 'ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev')" 1
	inside "python3 -c '
import socket, threading
s = socket.create_server((\"127.0.0.1\", 0))
c = socket.create_connection(s.getsockname())
print(s.accept()[0].send(b\"x\"))'"
	refute inside "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'"
}

@test "the host's loopback and abstract sockets are out of reach" {
	cat >server.py <<-'END'
		import socket, sys
		s = socket.create_server(("127.0.0.1", 0))
		a = socket.socket(socket.AF_UNIX)
		a.bind("\0sandpit-test-" + str(s.getsockname()[1]))
		a.listen()
		open(sys.argv[1] + ".new", "w").write(str(s.getsockname()[1]))
		import os
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		s.accept()
		open(sys.argv[1] + ".reached", "w")
	END
	start python3 server.py port
	wait_for is_file port
	port=$(cat port)
	refute inside "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", $port), 2)'"
	refute inside "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0sandpit-test-$port\")'"
	refute test -e port.reached
}

@test "net=user: out, but not to the host's loopback" {
	command -v pasta >/dev/null || command -v slirp4netns >/dev/null || skip "neither pasta nor slirp4netns is installed"
	umount_sandbox
	"$SANDPIT" mount -o net=user "$D" 3>&- || fail "net=user does not mount"
	cat >server.py <<-'END'
		import os, socket, sys
		s = socket.create_server(("127.0.0.1", 0))
		open("port.new", "w").write(str(s.getsockname()[1]))
		os.rename("port.new", "port")
		s.accept()
		open("port.reached", "w")
	END
	start python3 server.py
	wait_for is_file port
	port=$(cat port)
	inside 'tail -n +2 /proc/net/route | cut -f1,3' >routes
	test -s routes || fail "no route inside"
	gateway=$(python3 -c 'import socket, struct; print([socket.inet_ntoa(struct.pack("<L", int(l.split()[1], 16))) for l in open("routes") if l.split()[1] != "00000000"][0])')
	for host in 127.0.0.1 "$gateway" 10.0.2.2; do
		refute inside "python3 -c 'import socket; socket.create_connection((\"$host\", $port), 2)'"
	done
	refute test -e port.reached
}

@test "net=host: the host's network" {
	umount_sandbox
	"$SANDPIT" mount -o net=host "$D" 3>&-
	eq "$(inside 'grep -c : /proc/net/dev')" "$(grep -c : /proc/net/dev)"
}

@test "the mount itself is not visible from inside" {
	refute inside "grep -q fuse /proc/self/mountinfo"
}

@test "commands do not see the daemon's command line or binary" {
	inside 'tr "\0" "\n" </proc/1/cmdline; cat /proc/1/comm' >cmdline
	refute grep -qF "$T" cmdline
	refute inside 'cat /proc/1/environ'
	refute inside 'ls -l /proc/1/exe /proc/1/root /proc/1/cwd'
	refute inside 'cat /proc/1/exe'
	refute inside 'echo x > /proc/1/mem'
}

@test "python is python3, whatever the system calls it" {
	match "$(inside 'python --version')" 'Python 3'
	match "$(inside '#!/usr/bin/env python
exec env python -c "print(6 * 7)"')" 42
}
