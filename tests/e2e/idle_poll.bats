# While requests follow one another, no processor sleeps: what the daemon asks of the kernel, and for how long.
# runs-as: root user
load ../lib/helper

DEVICE=/dev/cpu_dma_latency

setup() { make_dirs; }

# What is asked for by all that run now, in microseconds.
latency() { od -An -td4 -N4 "$DEVICE" | tr -d ' '; }
is_polling() { (($(latency) == 0)); }
is_over() { ! is_polling; }
enabled() { jq .enabled.idlePoll "$D/status.json"; }
can() { as_root && [[ -w $DEVICE ]]; }
holds_device() { ls -l "/proc/$(daemon_pid)/fd" | grep -qF "$DEVICE"; }

# Asks for names that are not there, one after the other.
keep_asking() {
	exec perl -e 'for (my $i = 0;; $i++) { lstat "$ARGV[0]/none.$i" }' "$D/files/work"
}

@test "processors stay awake while files/ is busy, and no longer" {
	mount_sandbox
	if ! can; then
		eq "$(enabled)" false
		refute holds_device
		return
	fi
	eq "$(enabled)" true
	start keep_asking
	wait_for is_polling
	kill "$PID"
	wait "$PID" || true
	WAIT_SECONDS=90 wait_for is_over # others may ask for it meanwhile
}

@test "a daemon that is killed while it is busy leaves nothing behind" {
	can || skip "only root may ask for it, where the device is"
	mount_sandbox
	start keep_asking
	wait_for is_polling
	kill -KILL "$(daemon_pid)"
	WAIT_SECONDS=90 wait_for is_over # others may ask for it meanwhile
	kill "$PID"
	umount -l "$D"
}

# with_other MAKE: a sandbox where something else is in the device's place, which a command makes at a path.
with_other() {
	unshare -m sh -ec "$1 other; mount --bind other $DEVICE
		timeout 20 \"\$0\" mount -o net=none \"\$1\"
		jq .enabled.idlePoll \"\$1/status.json\"
		perl -e 'lstat \"\$ARGV[0]/none.\$_\" for 1 .. 5000' \"\$1/files/work\"
		\"\$0\" umount \"\$1\"" "$SANDPIT" "$D" 3>&-
}

# Containers have such: a device that takes everything, or an empty file.
@test "something else in the device's place" {
	as_root && [[ -e $DEVICE ]] || skip "only root can put something there, where the device is"
	for make in 'cp -a /dev/null' mkfifo touch; do
		eq "$(with_other "$make")" false "with $make"
		refute test -s other
		rm other
	done
}

@test "idle_poll=no asks for nothing" {
	mount_sandbox -o idle_poll=no
	eq "$(enabled)" false
	refute holds_device
	ls -l "$D/files"
}

@test "a command cannot reach the device" {
	mount_sandbox
	request "ls -l /proc/self/fd /proc/1/fd; ls $DEVICE; echo >$DEVICE"
	refute grep -F "$DEVICE" "$D/out/last/stdout"
	match "$(last stderr)" 'No such file|Permission denied'
}
