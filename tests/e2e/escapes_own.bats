# Attempts on what only a sandbox that is mounted has: its control files, its init, what the daemon
# reads from it. The letters are those of docs/escapes.md.
# runs-as: root user single rootfs
load ../lib/helper
load ../lib/escape
load ../lib/code

setup() { setup_escape; }

@test "A a command that stops all others at once: the next ones start and end" {
	start_attack stop_all
	first=$ID
	for _ in 1 2 3 4; do
		json '{"cmd": "exec sleep 9999", "timeout": 1, "background": true}'
		wait_for is_file "$D/out/$ID/exit_code"
		eq "$(result .status "$ID")" timeout
	done
	end_run "$first"
	inside 'echo after'
	unharmed
}

@test "84, B-D what the kernel counts for the whole user is not used up" {
	start_attack queue
	queue=$ID
	start_attack watches
	watches=$ID
	cat >counts.py <<-'END'
		import ctypes, os, signal
		libc = ctypes.CDLL(None, use_errno=True)
		signal.pthread_sigmask(signal.SIG_BLOCK, [34])
		assert all(libc.sigqueue(os.getpid(), 34, 0) == 0 for i in range(1000)), "signals"
		assert libc.inotify_init() >= 0, "inotify"
	END
	python3 counts.py
	end_run "$queue"
	end_run "$watches"
	# Nor by many ids of the sandbox, each of which has its own count.
	start_attack watching_ids
	watches=$ID
	count=$(awk '/^watching_ids/ { print $2 }' "$D/out/$watches/stdout")
	((count > 0 && count <= 64)) || fail "$count instances"
	python3 counts.py
	end_run "$watches"
	# Descriptors on their way, of which the daemon must be able to send more.
	start_attack flight 30000
	flight=$ID
	inside 'echo next'
	ls "$D/files/work" >/dev/null
	end_run "$flight"
	unharmed
}

@test "E the daemon's end of a kernel's socket gives nothing away" {
	run_code bash '/work/attack inside peer 3; /work/attack inside connect @x'
	lines=$(of bash stdout)
	eq "$(result_of "$lines" pid)" 0
	[[ $(result_of "$lines" pidfd) != 0 ]] || expect "$lines" <<-'END'
		signal EINVAL|EPERM|ESRCH
		signal_group EINVAL|EPERM|ESRCH
		getfd EPERM|ENOSYS
		mount_namespace EPERM|EACCES|ENOTTY|ESRCH|EINVAL|EOPNOTSUPP
		user_namespace EPERM|EACCES|ENOTTY|ESRCH|EINVAL|EOPNOTSUPP
		setns EPERM
		mrelease EINVAL|EPERM|EACCES|ESRCH|ENOSYS
	END
	unharmed
}

@test "F-H frames that are forged, cut short, huge or carry descriptors" {
	before=$(ls "/proc/$(daemon_pid)/fd" 2>/dev/null | wc -l)
	for bytes in '\377\377\377\377\001\0\0\0\0\0\0\0' '\377\377\377\017\004\0\0\0\001\0\0\0' '\0\0\0\0\377\001\001\001\0\0\0\0' '\010\0\0\0\004\0\0\0\001\0\0\0\377\377\377\377\377\377\377\377' '\0\0\0\0\005\0\0\0\377\377\377\177' '\0'; do
		run_code bash "printf '$bytes' >&3; /work/attack inside pass 3; exec 3>&-; sleep 0.1" 2>/dev/null || true
		answers
		timeout 60 sh -c 'printf "echo next" >"$1/code/bash/in"' sh "$D" || true
	done
	echo x >"$D/code/bash/restart"
	prints_text bash 'echo next' next
	same_fds() { (($(ls "/proc/$(daemon_pid)/fd" 2>/dev/null | wc -l) <= before + 8)); }
	wait_for same_fds
	unharmed
}

@test "I the drivers are the host's, and nobody's to change" {
	refute inside 'echo x >>/opt/sandpit/bash/bash-driver || chmod 777 /opt/sandpit/bash || rm -rf /opt/sandpit/bash/* || mv /opt/sandpit /opt/x || mkdir /opt/sandpit/new' 2>/dev/null
	match "$(fsop rmdir "$D/files/opt/sandpit" rename "$D/files/opt/sandpit" "$D/files/opt/x" none)" $'^rmdir EBUSY\nrename EBUSY'
	refute sh -c 'echo x >"$1/files/opt/sandpit/bash/bash-driver"' sh "$D" 2>/dev/null
	request "rm -rf /opt/sandpit; ln -s $T/victim /opt/sandpit" 2>/dev/null || true
	run_code bash 'echo still'
	eq "$(of bash stdout)" still
	unharmed
}

@test "J results without end stay within the limit" {
	umount_sandbox
	mount_sandbox -o output_bytes=1M
	in_rootfs && skip "the tree has no kernel but bash"
	language python
	run_code python 'from IPython.display import display
for i in range(1200):
    display({"text/plain": "x" * 2000, "../../escaped": "y", "image/png": "!" * 100}, raw=True)'
	(($(ls "$D/code/python/out/last/results" | wc -l) <= 3000))
	(($(du -sb --apparent-size "$D/code/python/out/last/results" | cut -f1) < 4000000))
	eq "$(find "$T" -xdev -name '*escaped*' 2>/dev/null)" ""
	jq -e . "$D/code/python/out/last/result.json" >/dev/null
	unharmed
}

@test "K-L names of runs and contexts that lead elsewhere" {
	for name in .. . a/b '..%2f' -rf "$(printf 'n%.0s' {1..65})" last 99999 'a b' $'a\nb'; do
		match "$(fsop mkdir "$D/out/$name")" 'mkdir (EINVAL|EEXIST|ENOENT|ENAMETOOLONG|EACCES|EPERM)' || fail "$name"
	done
	for id in '../x' '/x' '..' 'a/b' '' '7' 'x\u0000y' 'last'; do
		refute json "{\"cmd\": \"true\", \"id\": \"$id\"}" 2>/dev/null
	done
	for name in .. a/b $'a\nb' "$(printf 'n%.0s' {1..300})"; do
		refute mkdir "$D/code/$name" 2>/dev/null
	done
	# Words that look like options are a command's name.
	json '{"cmd": ["--bind", "/", "/"]}'
	eq "$(cat "$D/out/$ID/exit_code")" 127
	json '{"cmd": ["-c", "id"], "user": "root"}'
	eq "$(cat "$D/out/$ID/exit_code")" 127
	run json '{"cmd": "true\u0000rm"}'
	refute test "$status" = 0
	unharmed
}

@test "M-N what the daemon itself reads from the tree" {
	users() { # sets what /etc/passwd and /etc/group are, then asks for a user
		request "cd /etc; rm -rf passwd group; $1" || true
		timeout 60 sh -c 'echo nobody >"$1/ctl/user"' sh "$D" 2>/dev/null || true
		timeout 60 sh -c 'echo root >"$1/ctl/user"' sh "$D" 2>/dev/null || true
		json '{"cmd": "true", "user": "nobody", "timeout": 5}' 2>/dev/null || true
		answers
	}
	users 'mkfifo passwd group'
	users 'ln -s /dev/zero passwd; ln -s /proc/kmsg group'
	users "ln -s $T/victim/keep passwd; ln -s /proc/self/fd/0 group"
	users 'mkdir passwd; ln -s group group'
	users 'truncate -s 1G passwd; truncate -s 1G group'
	users 'head -c 900000 /dev/urandom >passwd; printf "root:x:0:0:\nnobody:x:0:0::/:/bin/sh\nnobody:x:4294967295:4294967295::/:" >group'
	# The same at the next start, and for what it writes.
	request "cd /etc; rm -rf resolv.conf hosts; mkfifo resolv.conf; ln -s $T/victim/keep hosts; rm -rf /tmp /run /var/tmp; ln -s $T/victim /tmp; ln -s $T/victim /run; mkfifo /home/x" || true
	umount_sandbox
	timeout 60 "$SANDPIT" mount -o net=none ${TEST_ROOTFS:+-o rootfs="$TEST_ROOTFS"} "$D" 3>&-
	request "rm -f /etc/resolv.conf; ln -s $T/victim/keep /etc/resolv.conf" || true
	umount_sandbox
	mount_sandbox
	unharmed
}

@test "O-P writers and readers that the sandbox keeps waiting" {
	json '{"cmd": "exec sleep 9999", "stdinOpen": true, "background": true}'
	start sh -c 'exec head -c 3000000 /dev/zero >"$1"' sh "$D/out/$ID/stdin"
	start cat "$D/out/$ID/live"
	start cat "$D/out/$ID/wait"
	answers
	inside 'echo next'
	end_run "$ID"
	# A child that holds the streams of a run that is forgotten.
	json '{"cmd": "(while echo more; do sleep 0.05; done) & exit 0"}'
	wait_for is_file "$D/out/$ID/exit_code"
	echo KILL >"$D/out/$ID/kill"
	rm -r "$D/out/$ID"
	inside 'echo next'
	unharmed
}

@test "Q-S restore and persist over what moves or leads out" {
	request "mkdir -p /work/app /work/b/app; echo one >/work/app/f; echo two >/work/b/app/f; ln -s $T/victim /work/out"
	echo 'persist /work/app' >"$D/checkpoint"
	for path in /work/out /work/out/x /work/app/../../.. / /work/../.. /proc/1/root /work/out/../app/../..; do
		refute sh -c 'echo "persist $1" >"$2/checkpoint"' sh "$path" "$D" 2>/dev/null
		refute sh -c 'echo "restore $1" >"$2/checkpoint"' sh "$path" "$D" 2>/dev/null
	done
	start_run '/work/attack inside swap /work/app /work/out & exec /work/attack inside swap /work/b /work/c'
	for _ in {1..8}; do
		echo 'restore /work/app' >"$D/checkpoint" 2>/dev/null || true
		echo 'restore /work/b/app' >"$D/checkpoint" 2>/dev/null || true
		echo 'persist /work/app' >"$D/checkpoint" 2>/dev/null || true
	done
	end_run "$ID"
	refute grep -rqs untouched "$D/checkpoints/"
	unharmed
}

@test "T-U a removal that the sandbox leads astray" {
	request "mkdir -p /work/tree/a/b /work/evil; touch /work/tree/a/b/keep; ln -s $T/victim /work/evil/b"
	start_run '/work/attack inside swap /work/tree/a /work/evil'
	for _ in {1..15}; do
		rm -rf "$D/files/work/tree/a/b" 2>/dev/null || true
		mkdir -p "$D/files/work/tree/a/b" 2>/dev/null || true
		touch "$D/files/work/tree/a/b/keep" 2>/dev/null || true
		cp /dev/null "$D/files/work/tree/a/b/keep" 2>/dev/null || true
		mv "$D/files/work/tree/a/b/keep" "$D/files/work/tree/a/b/gone" 2>/dev/null || true
		find "$D/files/work/tree" -delete 2>/dev/null || true
		mkdir -p "$D/files/work/tree/a" 2>/dev/null || true
	done
	end_run "$ID"
	unharmed
}

@test "V-W files that only show may not be written, from either side" {
	for file in README status.json stats.json error log out/last; do
		refute sh -c 'echo x >"$1"' sh "$D/$file" 2>/dev/null
		refute unlink "$D/$file" 2>/dev/null
		refute mv "$D/$file" "$D/files/work/" 2>/dev/null
	done
	refute ln "$D/status.json" "$D/files/work/status" 2>/dev/null
	refute ln -s /etc/passwd "$D/ctl/link" 2>/dev/null
	refute inside "ls -d $D $XDG_STATE_HOME 2>/dev/null"
	refute inside 'grep -q fuse /proc/self/mountinfo'
	unharmed
}

@test "X init's other threads and its files in /proc are out of reach as the first" {
	expect "$(inside '/work/escape inside')" <<-'END'
		prlimit_thread EPERM
		nice_thread EPERM
		affinity_thread EPERM
		ioprio_thread EPERM
		class_thread EPERM
	END
	for process in 1 2 3 1/task/1 1/task/2 1/task/3 2/task/1 self/../1 self/root/proc/2; do
		eq "$(attack writable "/proc/$process" 2>/dev/null)" "writable 0" "$process"
	done
	refute inside 'echo 1000 2>/dev/null >/proc/1/oom_score_adj'
	eq "$(inside 'cat /proc/1/oom_score_adj /proc/1/comm')" "$(inside 'cat /proc/self/oom_score_adj')"$'\nsandpit-init'
	inside 'echo next'
	unharmed
}

@test "Y one that traces all others and never lets them end" {
	start_attack trace_all
	tracer=$ID
	json '{"cmd": "exec /work/attack inside threads 2", "background": true}'
	first=$ID
	traced() { (($(grep -c ^traced "$D/out/$tracer/stdout") >= $1)); }
	wait_for traced 3
	echo KILL >"$D/out/$first/kill"
	wait_for is_file "$D/out/$first/exit_code"
	eq "$(cat "$D/out/$first/status") $(cat "$D/out/$first/exit_code")" "killed 137"
	json '{"cmd": "(setsid sleep 9999 &); exec sleep 9999", "timeout": 1}'
	eq "$(result .status "$ID")" timeout
	end_run "$tracer"
	inside 'echo next'
	unharmed
}

@test "Z what the machine has once for all is not used up" {
	expect "$(inside 'for n in aio huge_file huge_memory huge_segment; do /work/escape inside $n; done')" <<-'END'
		aio ENOSYS
		huge_file EINVAL
		huge_memory ENOMEM
		huge_segment EPERM
	END
	start_attack terminals
	count=$(awk '/^terminals/ { print $2 }' "$D/out/$ID/stdout")
	((count > 100 && count <= 256)) || fail "$count terminals"
	python3 -c 'import os; os.openpty()'
	end_run "$ID"
	unharmed
}
