# A host with several users: what one's sandbox shows to another. The two are accounts that every
# Debian has: fusermount3 wants a name.
# runs-as: root
load ../lib/helper

A=$(id -u games)
B=$(id -u nobody)

as() { # UID CMD...
	local uid=$1

	shift
	setpriv --reuid "$uid" --regid "$(id -g "$uid")" --clear-groups --no-new-privs env HOME="$T/$uid" XDG_STATE_HOME="$T/$uid/state" \
		XDG_CONFIG_HOME="$T/$uid/config" XDG_RUNTIME_DIR="$T/$uid/run" TMPDIR="$T/$uid/tmp" "$@" 3>&-
}

as_a() { as "$A" "$@"; }
as_b() { as "$B" "$@"; }

# B must not: neither command may succeed.
denied() { refute as_b "$@"; }

setup() {
	local uid

	make_dirs
	chmod 755 "$T"
	for uid in $A $B; do
		mkdir -p "$T/$uid"/{state,config,run,tmp,m}
		chown -R "$uid:$(id -g "$uid")" "$T/$uid"
	done
	# The way there is open to everybody; what keeps B out is the sandbox's own doing.
	chmod 755 "$T/$A" "$T/$A/state"
	D=$T/$A/m
}

# Mounts need fusermount3, which no_new_privs would keep from working.
mount_as() { # UID DIR [OPTIONS]
	local uid=$1 dir=$2

	shift 2
	setpriv --reuid "$uid" --regid "$(id -g "$uid")" --clear-groups env HOME="$T/$uid" XDG_STATE_HOME="$T/$uid/state" \
		XDG_CONFIG_HOME="$T/$uid/config" TMPDIR="$T/$uid/tmp" "$SANDPIT" mount -o net=none "$@" "$dir" 3>&-
}

umount_as() {
	setpriv --reuid "$1" --regid "$(id -g "$1")" --clear-groups env HOME="$T/$1" XDG_STATE_HOME="$T/$1/state" "$SANDPIT" umount "$2" 3>&-
}

run_as_a() { as_a sh -c 'printf "%s\n" "$1" >"$2/ctl/run"' sh "$1" "$D"; }

@test "another user cannot enter the mount, take it down or mount over it" {
	mount_as $A "$D"
	run_as_a 'echo secret >/work/secret'
	for path in "$D" "$D/README" "$D/status.json" "$D/files/work/secret" "$D/out/last/stdout"; do
		eq "$(as_b "$HELPERS/fsop" open "$path" r)" "open EACCES" "$path"
		eq "$(as_b "$HELPERS/fsop" type "$path")" "type EACCES" "$path"
	done
	eq "$(as_b "$HELPERS/fsop" open "$D/ctl/run" w)" "open EACCES"
	# Not even root of the host, who is another user to the kernel here.
	eq "$(fsop open "$D/README" r)" "open EACCES"
	refute umount_as $B "$D" 2>/dev/null
	denied fusermount3 -u "$D" 2>/dev/null
	refute mount_as $B "$D" 2>/dev/null
	as_a cat "$D/README" >/dev/null
	refute grep -qF "$D" < <(as_b "$SANDPIT" list)
	grep -qF "$D" < <(as_a "$SANDPIT" list)
	umount_as $A "$D"
}

@test "another user cannot read or use the state" {
	as_a mkdir -m 777 "$T/$A/open"
	mount_as $A "$D" -o state="$T/$A/open"
	run_as_a 'echo secret >/work/secret; cp /bin/sh /work/sh; chmod 4777 /work/sh /work/secret; chmod 777 /work'
	eq "$(stat -c %a "$T/$A/open")" 700
	for path in "$T/$A/open/log" "$T/$A/open/root" "$T/$A/open/root/work/secret" "$T/$A/open/root/work/sh" "$T/$A/open/sandpit.db"; do
		eq "$(as_b "$HELPERS/fsop" type "$path")" "type EACCES" "$path"
	done
	refute mount_as $B "$T/$B/m" -o state="$T/$A/open" 2>/dev/null
	umount_as $A "$D"
	eq "$(as_b "$HELPERS/fsop" type "$T/$A/open/root/work/sh")" "type EACCES"
	mount_as $A "$D"
	denied ls "$T/$A/state/sandpit/.run" 2>/dev/null
	refute grep . < <(find "$T/$A/state/sandpit" -maxdepth 1 -mindepth 1 -perm /077)
	umount_as $A "$D"
}

@test "another user cannot signal, trace or look into the processes" {
	mount_as $A "$D"
	as_a sh -c 'echo "exec sleep 9999" >"$1/ctl/start"' sh "$D"
	daemon=$(daemon_pid)
	tree=$(pgrep -P "$daemon"; pgrep -P "$(pgrep -P "$daemon" -x sandpit-init)")
	for pid in $daemon $tree; do
		denied kill -0 "$pid" 2>/dev/null
		denied kill -KILL "$pid" 2>/dev/null
		for file in environ mem maps fd cwd root exe ns/user; do
			denied sh -c 'cat "/proc/$1/$2" || ls "/proc/$1/$2/"' sh "$pid" "$file" 2>/dev/null
		done
		denied nsenter -t "$pid" -U -m true 2>/dev/null
		denied strace -p "$pid" 2>/dev/null
		denied prlimit --pid "$pid" --nofile=3:3 2>/dev/null
		denied renice 19 -p "$pid" 2>/dev/null
	done
	as_a cat "$D/status.json" >/dev/null
	umount_as $A "$D"
}

@test "no socket or file of it is open to others" {
	grep -v : /proc/net/unix | sort >sockets-before
	mount_as $A "$D"
	run_as_a 'echo hello'
	# Neither by an abstract name nor by a path that others can reach.
	grep -v : /proc/net/unix | awk 'NF > 7 { print $8 }' | grep -i sandpit | grep -vF "$T/$B" >named || true
	eq "$(cat named)" ""
	refute grep -q . < <(find /tmp /dev/shm /run -maxdepth 2 -user $A -newer sockets-before -perm /077 -not -type l -not -path "$T/$A*" 2>/dev/null)
	umount_as $A "$D"
}

@test "two users' sandboxes do not meet" {
	mount_as $A "$D"
	mount_as $B "$T/$B/m"
	run_as_a 'echo of-a >/work/f; echo of-a >/tmp/f; echo of-a >/dev/shm/f; (exec -a x sleep 9999 &) 2>/dev/null; sleep 9999 &'
	as_b sh -c 'echo "cat /work/f /tmp/f /dev/shm/f; ls -d /proc/[0-9]*; kill -9 -1" >"$1/ctl/run"' sh "$T/$B/m"
	refute grep -q of-a < <(as_b cat "$T/$B/m/out/last/stdout")
	(($(as_b grep -c proc "$T/$B/m/out/last/stdout") <= 4))
	run_as_a 'ls -d /proc/[0-9]* | wc -l'
	(($(as_a cat "$D/out/last/stdout") >= 4))
	umount_as $A "$D"
	umount_as $B "$T/$B/m"
}

@test "allow_other opens what its mode bits say" {
	D=$T/m
	chmod 755 "$T/m"
	mount_sandbox -o allow_other
	inside 'umask 077; echo secret >/work/secret; echo open >/work/open; chmod 644 /work/open; mkdir -m 700 /work/closed; echo x >/work/closed/f; mkdir -m 777 /work/all; cp /bin/sh /work/sh; chmod 4755 /work/sh; echo said'
	eq "$(as_b cat "$D/files/work/open")" open
	for path in files/work/secret files/work/closed/f files/root browser/cdp_url browser/live_url; do
		eq "$(as_b "$HELPERS/fsop" open "$D/$path" r)" "open EACCES" "$path"
	done
	for path in ctl/run ctl/start ctl/run.json ctl/env ctl/user out/last/kill code/python/in code/bash/in checkpoint browser/goto files/work/open; do
		eq "$(as_b "$HELPERS/fsop" open "$D/$path" w)" "open EACCES" "$path"
	done
	for path in out/mine code/mine files/mine; do
		eq "$(as_b "$HELPERS/fsop" mkdir "$D/$path")" "mkdir EACCES" "$path"
	done
	denied rm -rf "$D/out/1" 2>/dev/null
	denied touch "$D/ctl/x" 2>/dev/null
	# What a mode allows: B's file is nobody's inside, or refused; never another's.
	run as_b sh -c 'echo b >"$1/files/work/all/b"' sh "$D"
	match "$(stat -c %u "$D/files/work/all/b" 2>/dev/null || echo none)" "^(none|$B|65534|0)$"
	eq "$(as_b "$D/files/work/sh" -c 'id -u')" $B
	inside true
}
