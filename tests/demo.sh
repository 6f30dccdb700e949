#!/bin/sh
# A tour of a sandbox: each command is shown as a user types it, then run. `make demo` calls it.
#
# tests/demo.sh SANDPIT
set -eu

sandpit=$(realpath "$1")
here=$(mktemp -d "${TMPDIR:-/tmp}/sandpit-demo.XXXXXX")
export XDG_STATE_HOME="$here/state" XDG_CONFIG_HOME="$here/config"
export PATH="$here/bin:$PATH"

clean_up() {
	cd /
	"$sandpit" umount "$here/box" 2>/dev/null || true
	rm -rf "$here"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

say() {
	printf '\n# %s\n' "$*"
}

# Shows a command and runs it; that it fails is part of the tour.
try() {
	printf '$ %s\n' "$1"
	sh -c "$1" || printf '(exit status %d)\n' $?
}

mkdir "$here/bin" "$here/box" "$here/home"
ln -s "$sandpit" "$here/bin/sandpit"
cd "$here"

say "What this machine can do."
try 'sandpit check' || true

say "A sandbox is a directory that you mount. It is ready when the command returns."
printf '$ mkdir box; sandpit mount box\n'
if ! sandpit mount box; then
	echo "The tour ends here: a sandbox cannot be mounted." >&2
	exit 1
fi
try 'ls box'
try 'sandpit list'

say "Write a command, read what it printed. Writing returns when the command has ended."
try 'echo "id; hostname; pwd" > box/ctl/run'
try 'cat box/out/last/stdout box/out/last/exit_code'

say "A whole script is one request. Each run keeps its output in a directory of its own."
try 'printf "for i in 1 2 3; do\n echo line \$i\ndone\necho oops >&2\nexit 3\n" > box/ctl/run'
try 'ls box/out/last/'
try 'cat box/out/last/output; cat box/out/last/exit_code'

say "files/ is the sandbox's own tree; both sides see each other's changes at once."
try 'echo "print(sum(range(101)))" > box/files/work/sum.py'
try 'echo "python3 /work/sum.py > /work/result" > box/ctl/run'
try 'cat box/files/work/result'

say "A long command starts in the background; live shows its output as it comes."
try 'echo "for i in 1 2 3; do echo tick \$i; sleep 0.3; done" > box/ctl/start'
try 'cat box/out/last/live'
try 'cat box/out/last/wait'

say "A time limit and a signal reach the whole process tree."
try 'echo "{\"cmd\": \"echo started; sleep 60\", \"timeout\": 1}" > box/ctl/run.json'
try 'cat box/out/last/stdout box/out/last/status box/out/last/exit_code'
try 'echo "sleep 60 & sleep 60" > box/ctl/start; echo KILL > box/out/last/kill'
try 'cat box/out/last/wait; cat box/out/last/status'

say "Or as if the command ran here: streams, standard input, Ctrl-C and exit status."
try 'printf "b\na\n" | sandpit run box sort'
try 'sandpit run box --env NAME=you --cwd /tmp sh -c "echo hello \$NAME in \$PWD; exit 7"'

say "What runs inside sees neither your files nor your processes."
try "sandpit run box ls '$here/home'"
try 'sandpit run box sh -c "ls /proc | grep -c ^[0-9]"'

say "A wrong request says why."
try 'echo "{\"cmd\": \"true\", \"colour\": \"red\"}" > box/ctl/run.json'
try 'cat box/error'

say "What it uses, and what happened."
try 'cat box/stats.json'
try 'tail -n 3 box/log'

say "After umount and mount the files and the output are there again."
try 'sandpit umount box; ls -A box'
try 'sandpit mount box && cat box/files/work/result && ls box/out'
try 'sandpit umount box'
echo
echo "That was the tour. The manual: man sandpit, man 7 sandpit, man sandpit.ini."
