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
	eq "$(jq .counts.failures "$D/status.json")" 0
	refute grep refused "$D/log"
}

@test "what needs a browser says so" {
	refused click '#b' ENXIO
	for name in url title status text viewport screenshot.png cdp_url live_url pages/active; do
		run cat "$B/$name"
		match "$output" 'No such device'
		eq "$(cat "$D/error")" "browser/$name: no browser runs; write a URL to browser/goto (ENXIO)"
	done
	refused pages/active 1 ENXIO
	eq "$(cat "$D/error")" "browser/pages/active: no browser runs; write a URL to browser/goto (ENXIO)"
	ask close x
}

@test "shots/ and downloads/ are empty directories until there is something in them" {
	for name in shots downloads; do
		eq "$(ls -A "$B/$name/")" ""
		eq "$(inside "stat -c '%F %u %a' /var/lib/sandpit-browser/$name")" "directory 0 755"
	done
}

@test "settings are checked without a browser" {
	refused config.json '{"foo": 1}' EINVAL
	refused config.json '{"ignore_tls": 1}' EINVAL
	refused timeout abc EINVAL
	ask config.json '{"ignore_tls": true, "credentials": {"username": "u", "password": "hunter2"}}'
	eq "$(jq -c . "$B/config.json")" '{"ignore_tls":true,"credentials":"set"}'
}
