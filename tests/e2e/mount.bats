# sandpit mount and umount: options, checks, messages.
# runs-as: root user
load ../lib/helper

setup() { make_dirs; }

# refused REGEX ARG...: mount fails with a message, nothing is mounted and nothing is left.
refused() {
	local regex=$1

	shift
	run "$SANDPIT" mount "$@" "$D" 3>&-
	refute test "$status" = 0
	match "$output" "$regex"
	not_mounted
	no_strays
}

@test "mount returns when the directory is ready" {
	mount_sandbox
	mounted
	eq "$(ls "$D" | tr '\n' ' ')" "README ctl error files log out stats.json status.json " ||
		match " $(ls "$D" | tr '\n' ' ')" ' README .*ctl .*error .*files .*log .*out .*stats.json .*status.json '
	echo 'echo at once' >"$D/ctl/run"
	eq "$(last stdout)" "at once"
}

@test "mount with its defaults, as a user types it" {
	"$SANDPIT" mount m 3>&-
	inside 'echo works'
}

@test "mount detaches: it holds no descriptor of the caller" {
	eq "$(timeout 30 "$SANDPIT" mount -o net=none "$D" 2>&1)" ""
	eq "$(readlink "/proc/$(daemon_pid)/cwd")" / || true
	refute grep -q "$T" <<<"$(readlink /proc/"$(daemon_pid)"/fd/[012])"
}

@test "with the standard descriptors closed, as under some supervisors" {
	"$SANDPIT" mount -o net=none "$D" <&- >&- 2>&- 3>&-
	inside true
	eq "$("$SANDPIT" run "$D" -- sh -c 'cat; echo out' <&- 2>&- 3>&-)" out
	run sh -c '"$1" run "$2" -- echo x >&- 3>&-' sh "$SANDPIT" "$D"
	eq "$status" 125
	match "$output" 'standard output: Bad file descriptor'
	"$SANDPIT" umount "$D" <&- >&- 2>&- 3>&-
	not_mounted
	start sh -c 'exec "$1" mount -f -o net=none "$2" <&- >&- 2>&-' sh "$SANDPIT" "$D"
	wait_for is_file "$D/ctl/run"
	inside true
	umount_sandbox
}

@test "under a mask that takes every right away" {
	(umask 0777 && mount_sandbox)
	eq "$(inside 'umask; touch /work/x; stat -c %a /work/x')" $'0022\n644'
	umount_sandbox
	mount_sandbox
	inside true
}

@test "a directory that has been removed" {
	mkdir gone
	cd gone
	rmdir ../gone
	D=.
	run "$SANDPIT" mount . 3>&-
	cd "$T"
	refute test "$status" = 0
	match "$output" 'has been removed'
}

@test "umount gives the empty directory back, and ends the daemon" {
	mount_sandbox
	pid=$(daemon_pid)
	umount_sandbox
	not_mounted
	eq "$(ls -A "$D")" ""
	ended_pid "$pid"
}

ended() { [[ ! -e /proc/$1 ]] || grep -q '^State:.*Z' "/proc/$1/status"; }

@test "umount waits for the daemon where the places for state are others than the mount's" {
	for again in 1 2 3; do
		mount_sandbox
		pid=$(daemon_pid)
		XDG_STATE_HOME=$T/other XDG_RUNTIME_DIR=$T/other HOME=$T/other umount_sandbox
		ended "$pid" || fail "the daemon still runs"
		not_mounted
		eq "$(ls -A "$T/state/sandpit/.run")" ""
	done
	gone "$T/other"
}

@test "umount by relative path, with slashes, through a link" {
	for path in m m/ ./m//. link; do
		ln -sfn m link
		mount_sandbox
		"$SANDPIT" umount "$path" 3>&-
		not_mounted || fail "$path"
	done
}

@test "umount while somebody has a file open there" {
	mount_sandbox
	echo x >"$D/files/work/x"
	exec 7<"$D/files/work/x"
	run umount_sandbox
	exec 7<&-
	[[ $status == 0 ]] || umount_sandbox
	not_mounted
	no_strays
}

@test "umount of what is no sandbox" {
	for path in m / /proc nosuch; do
		run "$SANDPIT" umount "$path" 3>&-
		refute test "$status" = 0
		eq "$(wc -l <<<"$output")" 1
	done
}

@test "a mount point with spaces and odd characters" {
	D="$T/a b\\c"$'\n'"d,e=é"
	mkdir "$D"
	mount_sandbox
	inside 'echo odd'
	umount_sandbox
	eq "$(ls -A "$D")" ""
}

@test "a mount point that does not exist, or is no directory" {
	D=$T/nosuch
	refused 'nosuch.*(No such|not exist)'
	D=$T/file
	echo x >"$D"
	refused '(not a directory|Not a directory|no directory)'
}

@test "a directory that is not empty is refused without nonempty" {
	echo x >"$D/x"
	refused 'empty' -o net=none
	"$SANDPIT" mount -o nonempty,net=none "$D" 3>&-
	inside true
	umount_sandbox
	eq "$(cat "$D/x")" x
}

@test "a second mount at the same place is refused" {
	mount_sandbox
	run mount_sandbox
	refute test "$status" = 0
	match "$output" 'mounted'
	inside 'echo the first still works'
}

@test "unknown keys and bad values on the command line" {
	refused 'nonsense' -o nonsense=1
	refused 'timeout.*|.*x' -o timeout=x
	refused 'net' -o net=sideways
	refused 'memory' -o memory=lots
	refused 'name' -o name=a/b
	refused 'name' -o name=..
	refused '.' -o
	refused '.' --nonsense
}

@test "settings from an INI file" {
	printf '# a comment\n[sandpit]\nnet = none\ntimeout = 17\n' >a.ini
	"$SANDPIT" mount -c a.ini "$D" 3>&-
	eq "$(cat "$D/ctl/timeout")" 17
}

@test "the command line wins over the INI file" {
	printf '[sandpit]\nnet = none\ntimeout = 17\n' >a.ini
	"$SANDPIT" mount -c a.ini -o timeout=18 "$D" 3>&-
	eq "$(cat "$D/ctl/timeout")" 18
}

@test "the INI file of the user is read by itself" {
	mkdir "$XDG_CONFIG_HOME/sandpit"
	printf 'net = none\ntimeout = 19\n' >"$XDG_CONFIG_HOME/sandpit/sandpit.ini"
	"$SANDPIT" mount "$D" 3>&-
	eq "$(cat "$D/ctl/timeout")" 19
}

@test "errors in the INI file name file, line and key, and nothing is mounted" {
	printf '[sandpit]\nnet = none\n\nnonsense = 1\n' >a.ini
	refused 'a\.ini:4.*nonsense' -c a.ini
	printf '[sandpit]\ntimeout = soon\n' >a.ini
	refused 'a\.ini:2.*timeout' -c a.ini
	printf '[sandpit]\nnet = none\n[sandp' >a.ini
	refused 'a\.ini:3' -c a.ini
	printf 'just words\n' >a.ini
	refused 'a\.ini:1' -c a.ini
	printf 'timeout = 1\0 2\n' >a.ini
	refused 'a\.ini' -c a.ini
	{ printf 'name = '; head -c 100000 /dev/zero | tr '\0' x; } >a.ini
	refused 'a\.ini' -c a.ini
	refused 'nosuch\.ini' -c nosuch.ini
	mkdir d.ini
	refused 'd\.ini' -c d.ini
}

@test "an INI file that cannot be read" {
	as_root && skip "root can read every file"
	echo 'net = none' >a.ini
	chmod 000 a.ini
	refused 'a\.ini.*ermission' -c a.ini
}

@test "state: in \$XDG_STATE_HOME, private, named after the mount point" {
	mount_sandbox
	name=$(tr / - <<<"${D#/}")
	test -d "$XDG_STATE_HOME/sandpit/$name"
	eq "$(stat -c '%a %u' "$XDG_STATE_HOME/sandpit/$name")" "700 $(id -u)"
}

@test "state: named by name=, or where state= says" {
	mount_sandbox -o name=alpha
	test -d "$XDG_STATE_HOME/sandpit/alpha"
	umount_sandbox
	mount_sandbox -o state="$T/elsewhere"
	eq "$(stat -c %a "$T/elsewhere")" 700
}

@test "a state directory of a newer version is refused and left as it was" {
	mount_sandbox -o state="$T/s"
	umount_sandbox
	echo 999 >"$T/s/version"
	refused 'version|newer' -o net=none,state="$T/s"
	eq "$(cat "$T/s/version")" 999
}

@test "a state directory that cannot be made or is none" {
	echo x >file
	refused 'file' -o net=none,state="$T/file"
	refused 'file' -o net=none,state="$T/file/below"
	as_root && return
	mkdir ro
	chmod 555 ro
	refused 'ro.*(ermission|writ)' -o net=none,state="$T/ro/s"
	chmod 755 ro
}

@test "a state directory that others may enter is refused or made private" {
	mkdir -m 755 s
	run "$SANDPIT" mount -o net=none,state="$T/s" "$D" 3>&-
	[[ $status != 0 ]] || eq "$(stat -c %a s)" 700
}

@test "a mount point inside the state directory, or the other way round, is refused" {
	mkdir -p -m 700 s/m
	D=$T/s/m
	refused '.' -o net=none,state="$T/s"
	D=$T/m
	run "$SANDPIT" mount -o net=none,state="$T/m/s" "$D" 3>&-
	refute test "$status" = 0
	eq "$(ls -A "$D")" ""
}

@test "-f stays in the foreground and logs to standard error" {
	start sh -c 'exec "$1" mount -f -o net=none "$2" 2>"$3"' sh "$SANDPIT" "$D" "$T/log"
	wait_for mounted
	wait_for is_file "$D/ctl/run"
	inside 'echo hello'
	kill -0 "$PID"
	wait_for test -s log
	umount_sandbox
	wait_for ended_pid "$PID"
	wait "$PID"
}

@test "Ctrl-C ends a mount in the foreground, cleanly" {
	start_interruptible "$SANDPIT" mount -f -o net=none "$D"
	wait_for is_file "$D/ctl/run"
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	not_mounted
}

@test "list shows what is mounted" {
	mount_sandbox -o name=beta
	run "$SANDPIT" list 3>&-
	eq "$status" 0
	match "$output" "beta.*$D.*mounted"
	umount_sandbox
	run "$SANDPIT" list 3>&-
	eq "$status" 0
	refute grep -q beta <<<"$output"
}

@test "list shows a dead one as dead" {
	mount_sandbox -o name=gamma
	kill -KILL "$(daemon_pid)"
	wait_for no_strays
	run "$SANDPIT" list 3>&-
	refute grep -q 'gamma.*mounted' <<<"$output"
	match "$output" 'gamma.*dead'
}

@test "check says what the machine can do" {
	run "$SANDPIT" check 3>&-
	eq "$status" 0
	match "$output" 'namespace'
	match "$output" 'overlay'
	match "$output" 'cgroup'
	(($(wc -l <<<"$output") >= 6))
}

@test "help: under 80 columns, for each verb; version" {
	for verb in '' mount umount run list check; do
		run "$SANDPIT" $verb --help 3>&-
		eq "$status" 0 "status of $verb --help"
		(($(wc -L <<<"$output") < 80)) || fail "too wide: $verb"
		[[ -n $output ]]
	done
	match "$("$SANDPIT" --version)" '^sandpit [0-9]+\.[0-9]+'
}

@test "unknown verbs and options are one line and status 2" {
	for args in nosuch --nosuch 'mount --nosuch x' 'umount' 'mount' 'run' 'umount a b' 'list x'; do
		run "$SANDPIT" $args 3>&-
		eq "$status" 2 "status of: $args"
		eq "$(wc -l <<<"$output")" 1 "lines for: $args"
	done
}

@test "what cannot be printed is told" {
	mount_sandbox
	mkdir "$D/files/work/app"
	for args in --help --version 'run --help' list check "persist $D /work/app" 'store ls'; do
		code=0
		"$SANDPIT" $args >/dev/full 2>said 3>&- || code=$?
		eq "$code" 1 "status of $args"
		match "$(tail -n 1 said)" 'standard output: No space left on device$'
	done
}

@test "two sandboxes are apart" {
	mkdir n
	mount_sandbox
	"$SANDPIT" mount -o net=none n 3>&-
	echo one >"$D/files/work/a"
	refute test -e n/files/work/a
	echo 'echo x >/work/a; echo in n' >n/ctl/run
	eq "$(cat n/out/last/stdout)" "in n"
	eq "$(cat "$D/files/work/a")" one
	eq "$(ls -A "$D/out")" ""
}

@test "no /dev/fuse: refused with words" {
	as_root || skip "only root can hide the device"
	cat >script <<-'END'
		mkdir dev
		mount -t tmpfs dev dev
		for name in null zero full random urandom tty; do cp -a /dev/$name dev/; done
		mount --move dev /dev
		exec "$1" mount "$2"
	END
	run unshare -m sh script "$SANDPIT" "$D" 3>&-
	refute test "$status" = 0
	match "$output" '/dev/fuse'
	no_strays
}

@test "no user namespaces: refused with the setting named" {
	as_root && skip "root's own limit cannot be lowered for a test alone"
	run unshare -U -c --keep-caps sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; "$1" mount "$2"' sh "$SANDPIT" "$D" 3>&-
	refute test "$status" = 0
	match "$output" 'max_user_namespaces'
}

@test "root of a user namespace that has one id: works or says why" {
	as_root && skip "as an ordinary user only"
	cat >script <<-'END'
		"$1" mount -o net=none "$2" || exit 1
		echo 'echo nested' >"$2/ctl/run"
		cat "$2/out/last/stdout"
		"$1" umount "$2"
	END
	run unshare -Ur -m sh script "$SANDPIT" "$D" 3>&-
	if [[ $status == 0 ]]; then
		match "$output" nested
	else
		match "$output" 'namespace|range|subuid'
	fi
	no_strays
}

@test "a failing mount leaves no state lock: the next one works" {
	refused 'nonsense' -o net=none,rootfs=/nonsense
	mount_sandbox
	inside true
}

@test "mount -t fuse.sandpit and an fstab line" {
	as_root || skip "needs root"
	make -s -C "$REPO" install DESTDIR="$T/inst" PREFIX=/usr >/dev/null 2>&1 || fail "make install failed"
	helper=$(find "$T/inst" -name 'mount.fuse.sandpit' | head -n 1)
	cat >script <<-'END'
		set -e
		mkdir -p up wk
		mount -t overlay -o lowerdir=/usr/sbin,upperdir=$PWD/up,workdir=$PWD/wk overlay /usr/sbin
		mkdir up2 wk2
		mount -t overlay -o lowerdir=/usr/bin,upperdir=$PWD/up2,workdir=$PWD/wk2 overlay /usr/bin
		cp "$1" /usr/bin/sandpit
		[ -z "$2" ] || cp -P "$2" /sbin/mount.fuse.sandpit
		mount -t fuse.sandpit box "$3" -o net=none,timeout=21
		cat "$3/ctl/timeout"
		echo 'echo mounted by mount' >"$3/ctl/run"
		cat "$3/out/last/stdout"
		sandpit umount "$3"
	END
	run unshare -m sh script "$SANDPIT" "$helper" "$D" 3>&-
	match "$output" $'21\nmounted by mount'
	eq "$status" 0
}

@test "allow_other, which users may only where /etc/fuse.conf says so: check tells" {
	if as_root || grep -q '^user_allow_other' /etc/fuse.conf; then
		"$SANDPIT" check -o allow_other 3>&-
	else
		run "$SANDPIT" check -o allow_other 3>&-
		eq "$status" 1
		match "$output" 'allow_other +wrong +.*/etc/fuse.conf.*user_allow_other'
	fi
}

@test "only the user who mounted may enter" {
	as_root || skip "needs a second user"
	chmod 755 "$T" "$D"
	mount_sandbox
	run setpriv --reuid 65534 --regid 65534 --clear-groups ls "$D"
	refute test "$status" = 0
	umount_sandbox
	mount_sandbox -o allow_other
	run setpriv --reuid 65534 --regid 65534 --clear-groups cat "$D/README"
	eq "$status" 0
}
