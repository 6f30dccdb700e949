# Attempts on what only a sandbox that is mounted has: its control files, its init, what the daemon
# reads from it. The letters are those of docs/escapes.md.
# runs-as: root user single rootfs
load ../lib/helper
load ../lib/escape
load ../lib/code

setup() { setup_escape; }

@test "A a command that stops all others at once: the next ones start and end" {
	start_attack stop_all
	first=$ID
	for _ in 1 2 3 4; do
		json '{"cmd": "exec sleep 9999", "timeout": 1, "background": true}'
		wait_for is_file "$D/out/$ID/exit_code"
		eq "$(result .status "$ID")" timeout
	done
	end_run "$first"
	inside 'echo after'
	unharmed
}
