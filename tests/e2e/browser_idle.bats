# browser/ while no browser runs: reads start nothing and hang nowhere.
# runs-as: root user single
load ../lib/helper
load ../lib/browser

setup() {
	make_dirs
	mount_sandbox
	B=$D/browser
}

@test "listing, searching and copying start nothing" {
	ls -lR "$B" >/dev/null
	grep -r anything "$B" || true
	tar -cf /dev/null -C "$D" browser 2>/dev/null || true
	eq "$(of state.json .state)" stopped
	eq "$(cat "$D/error")" ''
}

@test "what needs a browser says so" {
	refused click '#b' ENXIO
	run cat "$B/screenshot.png"
	match "$output" 'No such device'
	run cat "$B/cdp_url"
	match "$output" 'No such device'
	ask close x
}

@test "settings are checked without a browser" {
	refused config.json '{"foo": 1}' EINVAL
	refused config.json '{"ignore_tls": 1}' EINVAL
	refused timeout abc EINVAL
	ask config.json '{"ignore_tls": true, "credentials": {"username": "u", "password": "hunter2"}}'
	eq "$(jq -c . "$B/config.json")" '{"ignore_tls":true,"credentials":"set"}'
}
