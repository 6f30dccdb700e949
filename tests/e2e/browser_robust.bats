# browser/: crashes of page, browser and driver; start and stop; what is left behind.
# runs-as: root user
load ../lib/helper
load ../lib/browser

setup() { setup_browser; }

# The pid inside of the process of that name whose parent is not of that name.
first_of() {
	inside 'for p in /proc/[0-9]*; do read -r n <$p/comm && [ "$n" = '"$1"' ] &&
		[ "$(cat /proc/$(awk "{print \$4}" $p/stat)/comm)" != '"$1"' ] && echo ${p#/proc/}; done; true' 2>/dev/null |
		head -n 1
}

@test "a page that crashed is replaced by the next goto" {
	ask goto "$PAGES/"
	refused goto chrome://crash EIO
	refused click '#b' EIO
	ask goto "$PAGES/two"
	eq "$(ls "$B/pages" | grep -c '^[0-9]')" 1
}

@test "after a kill -9 of the browser the next goto starts it again" {
	ask goto "$PAGES/"
	inside "kill -9 $(first_of chromium)"
	wait_for has_text "$B/state.json" crashed
	eq "$(ls "$B/pages" | grep -c '^[0-9]')" 0
	ask goto "$PAGES/two"
	eq "$(cat "$B/title")" Two
}

@test "after a kill -9 of the driver nothing of the browser is left" {
	ask goto "$PAGES/"
	inside "kill -9 $(first_of node)"
	wait_for has_text "$B/state.json" crashed
	wait_for no_browser
	ask goto "$PAGES/two"
}

@test "close while a request waits" {
	ask goto "$PAGES/"
	start sh -c "echo '$PAGES/hang' >'$B/goto' 2>'$T/error' || touch '$T/failed'"
	wait_for blocked "$PID" sh
	start_ms=$(date +%s%3N)
	"$HELPERS/fsop" open "$B/close" w write x close
	(($(date +%s%3N) - start_ms < 2000)) || fail "close took too long"
	wait_for is_file "$T/failed"
	eq "$(browser_processes)" 0
}

@test "started and stopped twenty times, nothing is left" {
	# But those of TCP whose number is only kept out of use for a while.
	sockets() { inside 'tail -n +2 -q /proc/net/unix /proc/net/tcp | awk "\$4 != \"06\"" | wc -l'; }
	kept() { inside 'ls -A /tmp /dev/shm /var/lib/sandpit-browser | grep -v X11-unix; ls -A /var/lib/sandpit-browser/run/tmp; true'; }
	fds() { ls "/proc/$(daemon_pid)/fd" | wc -l; }
	ask goto "$PAGES/"
	ask close x
	wait_for no_browser
	before="$(kept) $(sockets)"
	open=$(fds)
	for _ in $(seq 19); do
		ask goto "$PAGES/"
		ask close x
		touch "$TEST_TMP/beat"
	done
	eq "$(browser_processes)" 0
	eq "$(kept) $(sockets)" "$before"
	eq "$(fds)" "$open"
	eq "$(inside 'for p in /proc/[0-9]*; do awk "{print \$3}" $p/stat; done 2>/dev/null | grep -c Z; true')" 0
}

@test "a lock of another machine does not keep it from starting" {
	ask goto "$PAGES/"
	ask close x
	inside 'ln -sfn elsewhere-99 /var/lib/sandpit-browser/profile/SingletonLock'
	ask goto "$PAGES/"
}

@test "umount ends it within two seconds" {
	ask goto "$PAGES/"
	start_ms=$(date +%s%3N)
	umount_sandbox
	(($(date +%s%3N) - start_ms < 2000)) || fail "umount took too long"
}
