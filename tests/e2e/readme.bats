# The README's tour works as it is written.
# runs-as: root user
load ../lib/helper

# Each command of the tour with what it should show, run in one shell as a reader would.
@test "thirty seconds of the README" {
	umount_sandbox
	run /usr/bin/python3 - "$TEST_LIB/../README.md" "$SANDPIT" <<'PY'
import os, re, subprocess, sys
text = open(sys.argv[1]).read().split("## Thirty seconds")[1].split("\n## ")[0]
lines = [l[4:] for l in text.splitlines() if l.startswith("    ")]
steps = []
for line in lines:
    if line.startswith("$ "):
        steps.append([line[2:], []])
    else:
        steps[-1][1].append(line)
env = dict(os.environ, PATH=os.path.dirname(sys.argv[2]) + ":" + os.environ["PATH"])
with open("tour", "w") as script:
    for command, _ in steps:
        script.write(command + "\necho @@@\n")
shown = subprocess.run(["bash", "tour"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, env=env).stdout.split("@@@\n")
bad = 0
for (command, want), seen in zip(steps, shown):
    seen = [re.sub(r"^tour: line \d+:", "bash:", line) for line in seen.splitlines()]
    if seen != want:
        bad += 1
        print("$", command, "\nshows:", seen, "\nnot:  ", want)
sys.exit(bad)
PY
	eq "$status" 0 || fail "$output"
}
