# browser/: Chromium's own sandbox, what it may do more than commands, and what commands cannot do to it.
# runs-as: root user single
load ../lib/helper
load ../lib/browser

setup() { setup_browser; }

# Of each process of Chromium: how many process namespaces deep it is, from the one outside of this mount.
depths() { inside 'for p in $(pgrep -x chromium); do grep -h ^NSpid /proc/$p/status; done | awk "{print NF-1}"'; }

@test "renderers have namespaces of their own where ids are mapped, and state.json says which" {
	ask goto "$PAGES/"
	if as_single; then
		eq "$(of state.json .sandbox)" sandpit
		eq "$(depths | sort -u)" 1
	else
		eq "$(of state.json .sandbox)" chromium
		depths | grep -qx 3 || fail "no renderer is in a namespace of its own"
	fi
	eq "$(jq -r '.browser.state, .browser.sandbox, .browser.installed, .browser.pages' "$D/status.json" | tr '\n' ' ')" \
		"running $(of state.json .sandbox) yes 1 "
	eq "$(jq -r .browser.version "$D/status.json")" "$(of state.json .version)"
	ask close x
	eq "$(jq -r .browser.state "$D/status.json")" stopped
}

@test "commands have none of it, neither before nor beside nor after" {
	want='unshare: unshare failed: Operation not permitted'
	eq "$(inside 'unshare -U true 2>&1; unshare -n true 2>&1; cat /proc/sys/user/max_user_namespaces')" "$want
$want
0"
	ask goto "$PAGES/"
	eq "$(inside 'unshare -U true 2>&1')" "$want"
	as_single || eq "$(inside 'setpriv --reuid 1000 --clear-groups unshare -U true 2>&1')" "$want"
	ask close x
	eq "$(inside 'cat /proc/sys/user/max_user_namespaces')" 0
}

@test "no command becomes the browser's user, traces it or reads its memory" {
	as_single && skip 'the browser has no user of its own where only one id is mapped'
	ask goto "$PAGES/"
	eq "$(inside 'for how in reuid euid ruid; do setpriv --$how 65533 id -u; done 2>/dev/null; true')" ''
	eq "$(inside 'for p in $(pgrep chromium) $(pgrep -x node); do
		cat /proc/$p/environ /proc/$p/maps; head -c 1 /proc/$p/mem; ls /proc/$p/root/; done 2>/dev/null; true')" ''
	run inside 'python3 -c "
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, int(sys.argv[1]), 0, 0), ctypes.get_errno())" $(pgrep -o chromium)'
	match "$output" '^-1 1$'
}

@test "what the browser makes for others is theirs" {
	ask goto "$PAGES/"
	ask screenshot ''
	ask click '#download'
	wait_for is_file "$B/downloads/evil name.bin"
	eq "$(stat -c %u:%a "$B/shots/1.png" "$B/downloads/evil name.bin" | sort -u)" "$(id -u):644"
	inside 'umask 077; echo secret >/root/secret'
	ask goto file:///root/secret
	eq "$(cat "$B/text")" secret
	ask goto "$PAGES/"
	ask upload $'#f\t/root/secret'
	eq "$(cat "$B/title")" secret:7
}
