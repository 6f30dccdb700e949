# What every end-to-end test uses: a sandbox of its own below $T, mounted at $D, and checks.
# The runner (tests/run) sets SANDPIT, HELPERS, TEST_TMP, TEST_USER (root, user, single), REAP_PID.

# Prints why and fails.
fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# eq GOT WANT [WHAT]
eq() {
	[[ $1 == "$2" ]] || fail "${3:-value} is: $(printf %q "$1")" "expected: $(printf %q "$2")"
}

# match GOT REGEX
match() {
	[[ $1 =~ $2 ]] || fail "value is: $(printf %q "$1")" "expected a match of: $2"
}

# The command must fail.
refute() {
	if "$@"; then
		fail "succeeded, but must not: $*"
	fi
}

# wait_for CMD...: until the command succeeds, at most 20 s (a minute under a sanitizer).
wait_for() {
	local end=$((SECONDS + ${WAIT_SECONDS:-20}))

	until "$@"; do
		((SECONDS < end)) || fail "waited in vain for: $*" || return 1
		sleep 0.02
	done
}

is_file() { [[ -e $1 ]]; }
gone() { [[ ! -e $1 ]]; }
has_text() { grep -qF -- "$2" "$1"; }
file_is() { [[ $(cat "$1" 2>/dev/null) == "$2" ]]; }
ended_pid() { ! kill -0 "$1" 2>/dev/null; }

fsop() { "$HELPERS/fsop" "$@"; }
as_single() { [[ $TEST_USER == single ]]; }
# Built with a sanitizer, which is slow, and whose own memory says nothing of the daemon's.
sanitized() { [[ $TEST_VARIANT == [at]san ]]; }

# rss: the resident memory of the daemon, in KiB.
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$(daemon_pid)/status"; }

as_root() { [[ $TEST_USER == root ]]; }
in_rootfs() { [[ -n ${TEST_ROOTFS:-} ]]; }

# need CMD...: skips the test when the machine lacks a program.
need() {
	local program

	for program; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
}

# Directories of this test: everything that the program makes lies below $T.
make_dirs() {
	touch "${TEST_TMP:?}/beat" || return 1
	T=$(mktemp -d "$TEST_TMP/XXXXXX") || return 1
	D=$T/m
	mkdir -m 700 "$T/m" "$T/home" "$T/state" "$T/run" "$T/tmp" "$T/config"
	export HOME=$T/home XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run TMPDIR=$T/tmp
	export XDG_CONFIG_HOME=$T/config
	# One for all tests: made anew for each it would be most of their time.
	[[ -z ${TEST_SKELETON:-} ]] || {
		mkdir -m 700 "$T/state/sandpit"
		ln -s "$TEST_SKELETON" "$T/state/sandpit/.skeleton"
	}
	STARTED=()
	cd "$T" || return 1
}

# mount_sandbox [-o OPTIONS]...: at $D. Without network unless given: quicker and closed. In the
# tests of a tree of its own, over that tree.
mount_sandbox() {
	"$SANDPIT" mount -o net=none ${TEST_ROOTFS:+-o rootfs="$TEST_ROOTFS"} "$@" "$D" 3>&-
}

umount_sandbox() {
	"$SANDPIT" umount "$D" 3>&-
}

mounted() { grep -qF " ${1:-$D} " /proc/self/mountinfo; }
not_mounted() { ! mounted "$@"; }

# The daemon's pid: the process that serves $D and whose parent is the reaper.
daemon_pid() {
	pgrep -P "$REAP_PID" -f -- "${1:-$D}" | head -n 1
}

# Starts a command in the background; it is ended after the test. Sets PID.
start() {
	"$@" 3>&- &
	PID=$!
	STARTED+=("$PID")
}

# As start, but the command can be interrupted by SIGINT as one in the foreground of a terminal.
start_interruptible() {
	rm -f "$T/interruptible"
	start perl -e '$SIG{INT} = "DEFAULT"; open F, ">", shift; exec @ARGV or die' "$T/interruptible" "$@"
	wait_for is_file "$T/interruptible"
}

# blocked PID NAME: the process is NAME by now and sleeps (reads or writes something).
blocked() { [[ $(cat "/proc/$1/comm") == "$2" ]] && grep -qE '^State:.*[SD]' "/proc/$1/status"; }

# Writes shell text to ctl/run; returns when the command has ended.
request() {
	printf '%s\n' "$1" >"$D/ctl/run"
}

# The newest run's file.
last() {
	cat "$D/out/last/$1"
}

# inside TEXT: runs it, prints its stdout, returns its exit code; stderr is shown on failure.
inside() {
	request "$1" || return
	last stdout
	local code

	code=$(last exit_code)
	[[ $code == 0 ]] || last stderr >&2
	return "$code"
}

# start_run TEXT: through ctl/start; sets ID and leaves it running.
start_run() {
	exec {start_fd}<>"$D/ctl/start"
	printf '%s\n' "$1" >&"$start_fd"
	read -r ID <&"$start_fd"
	exec {start_fd}>&-
}

# json TEXT: writes it to ctl/run.json and closes; sets ANSWER to the answer, ID to its id.
json() {
	exec {json_fd}<>"$D/ctl/run.json"
	printf '%s\n' "$1" >&"$json_fd" || {
		exec {json_fd}>&-
		return 1
	}
	ANSWER=$(cat <&"$json_fd")
	ID=$(jq -r .id <<<"$ANSWER")
	exec {json_fd}>&-
}

result() { jq -r "$1" "$D/out/${2:-last}/result.json"; }

# How many runs are kept.
runs() {
	local names=("$D"/out/*)

	[[ -e ${names[0]} || -L ${names[0]} ]] || {
		echo 0
		return
	}
	ls "$D/out" | grep -vcx last || true
}

# Processes inside whose command line contains the text, as seen from the host.
living() { pgrep -f -- "$1" >/dev/null; }
not_living() { ! living "$1"; }

# A number that marks this test's processes: `sleep 9999.$MARK`.
new_mark() { MARK=$RANDOM$RANDOM; }

setup() {
	make_dirs
	mount_sandbox
}

# Children of the reaper but bats itself: daemons, and what was orphaned.
strays() {
	pgrep -P "$REAP_PID" -a | awk -v main="$BATS_MAIN_PID" '$1 != main'
}
no_strays() { [[ -z $(strays) ]]; }

# Type and mount point of each mount below DIR: sandboxes come before what they lie on.
mounts_below() {
	awk -v t="$1/" 'index($5, t) == 1 {
		for (i = 7; $i != "-"; i++) ; print $(i + 1) != "fuse.sandpit", $(i + 1), $5 }' /proc/self/mountinfo |
		sort -k1,1n -k3r | cut -d' ' -f2-
}

teardown() {
	local failed=0 pid

	cd / || failed=1
	# Without a directory of its own a test has made nothing, and "" is the beginning of every path.
	[[ ${T:-} == "$TEST_TMP"/?* ]] || return 1
	rm -f "$T/fault" # see disk.bash: what a disk holds back would hold up all below
	for pid in "${STARTED[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	while read -r type mount_point; do
		mount_point=$(printf %b "$mount_point")
		if [[ $type != fuse.sandpit ]]; then
			umount "$mount_point"
		elif ! "$SANDPIT" umount "$mount_point" 3>&-; then
			echo "umount of $mount_point failed" >&2
			failed=1
			fusermount3 -u -z "$mount_point" 2>/dev/null || umount -l "$mount_point" || true
		fi
	done < <(mounts_below "$T")
	WAIT_SECONDS=5 wait_for no_strays || {
		strays >&2
		failed=1
		for pid in $(strays | cut -d' ' -f1); do
			kill -KILL "$pid" || true
		done
	}
	if grep -F " $T/" /proc/self/mountinfo >&2; then
		echo "a mount is left behind" >&2
		failed=1
	fi
	if [[ -n $(ls -A "$T/tmp") ]]; then
		echo "left behind in TMPDIR: $(ls -A "$T/tmp")" >&2
		failed=1
	fi
	rm -rf "$T" 2>/dev/null || true
	return "$failed"
}
