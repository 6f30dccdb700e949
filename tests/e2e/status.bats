# README, status.json, stats.json, error and log.
# runs-as: root user
load ../lib/helper

json_of() { jq -r "$2" "$D/$1"; }

@test "README tells in one screen how to use the directory" {
	(($(wc -l <"$D/README") <= 50)) || fail "$(wc -l <"$D/README") lines"
	(($(wc -L <"$D/README") <= 80)) || fail "$(wc -L <"$D/README") columns"
	for word in ctl/run out/last files/ status.json error log code/python/in persist browser/goto; do has_text "$D/README" "$word" || fail "no $word"; done
}

@test "README's names exist" {
	inside true
	grep -oP '(?<![/\w])(ctl|out|code|browser)/[a-z._]+(/[a-z._]+)?' "$D/README" | sed 's/[.]$//' | sort -u | while read -r name; do
		test -e "$D/$name" || fail "README names $name"
	done
}

@test "status.json: version, uptime, limits, counts, what is enabled" {
	jq -e . "$D/status.json" >/dev/null
	eq "$(json_of status.json .version)" "$("$SANDPIT" --version | grep -oE '[0-9]+(\.[0-9]+)+')"
	jq -e '[paths | map(tostring) | join(".")] | map(select(test("uptime"))) | length > 0' "$D/status.json"
	jq -e '.limits | type == "object"' "$D/status.json"
	inside 'exit 0'
	jq -e '[.. | numbers] | any(. == 1)' "$D/status.json"
}

@test "status.json counts what runs" {
	start_run 'until test -e /work/go; do sleep 0.02; done'
	one=$(jq -c '[paths(scalars) as $p | select($p | map(tostring) | join(".") | test("running"; "i")) | getpath($p)]' "$D/status.json")
	: >"$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
	none=$(jq -c '[paths(scalars) as $p | select($p | map(tostring) | join(".") | test("running"; "i")) | getpath($p)]' "$D/status.json")
	refute test "$one" = "$none"
}

@test "stats.json: cpu, memory, processes and disk" {
	start_run "exec python3 -c 'import time; x = bytearray(50 << 20); print(1, flush=True); time.sleep(9999)'"
	wait_for has_text "$D/out/$ID/stdout" 1
	jq -e 'keys | map(ascii_downcase) | (any(test("cpu")) and any(test("mem")) and any(test("proc|pid")) and any(test("disk")))' "$D/stats.json"
	jq -e '[.. | numbers] | any(. > 50000000)' "$D/stats.json" || fail "50 MB of memory not seen: $(cat "$D/stats.json")"
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
}

@test "log: one line an event" {
	inside true
	start_run 'exec sleep 9999'
	echo KILL >"$D/out/$ID/kill"
	wait_for is_file "$D/out/$ID/exit_code"
	match "$(cat "$D/log")" 'started'
	match "$(cat "$D/log")" 'ended|exited'
	match "$(cat "$D/log")" 'killed'
	refute grep -qv '^20[0-9][0-9]-' "$D/log"
}

@test "log: as tail -f likes it" {
	inside true
	start sh -c 'exec tail -n +1 -f "$1" >"$2"' sh "$D/log" "$T/log"
	wait_for test -s log
	request 'exit 42'
	seen() { (($(wc -l <log) >= $(wc -l <"$D/log"))); }
	wait_for seen
	eq "$(tail -n 1 log)" "$(tail -n 1 "$D/log")"
}

@test "log and error show control characters escaped" {
	printf 'echo \033[2Jx\n' >"$D/ctl/run"
	printf '{"cmd":"true","id":"\\u001b[2J\\nforged line"}' 2>/dev/null >"$D/ctl/run.json" || true
	printf '\033[2J\n' 2>/dev/null >"$D/ctl/user" || true
	refute grep -qP '[\x00-\x08\x0b-\x1f]' "$D/log"
	refute grep -qP '[\x00-\x08\x0b-\x1f]' "$D/error"
	eq "$(wc -l <"$D/error")" 1
	refute grep -q '^forged' "$D/log"
}

@test "the top of the mount lists what the contract names and nothing cannot be read" {
	for name in README status.json stats.json error log ctl out files; do test -e "$D/$name"; done
	for name in README status.json stats.json error log; do cat "$D/$name" >/dev/null; done
	eq "$(stat -c %u "$D" "$D/ctl" "$D/out" "$D/README" | sort -u)" "$(id -u)"
	ls -la "$D" "$D/ctl" "$D/out" >/dev/null
}
