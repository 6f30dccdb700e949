# Runs inside the sandbox: what each process there holds, as far as its like may look.
for p in /proc/[0-9]*; do
	[ "${p#/proc/}" != $$ ] && [ "$p" != /proc/1 ] && ls "$p/fd" >/dev/null 2>&1 || continue
	echo "process ${p#/proc/} $(cat "$p/comm")"
	for fd in "$p"/fd/*; do
		echo "fd ${p#/proc/} ${fd##*/} $(readlink "$fd")"
	done
	grep -E '^(Cap|NoNewPrivs|Seccomp:)' "$p/status"
	echo "user $(readlink "$p/ns/user")"
	tr '\0' '\n' <"$p/environ" | grep -E '^(SECRET|SANDPIT|TEST_|BATS)'
done
true
