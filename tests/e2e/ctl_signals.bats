# Signals while a writer waits: those that only tell it something, and those that mean an end.
# runs-as: root user single
load ../lib/helper

# A writer that notices the end of its child, which ends when $T/child is written to. It prints the
# child's number, waits in the close of ctl/run, and then prints what the close said.
waiting_writer() {
	mkfifo "$T/child"
	/usr/bin/python3 -c '
import os, signal, subprocess, sys
signal.signal(signal.SIGCHLD, lambda *_: None)
child = subprocess.Popen(["sh", "-c", "read -r _ <\"$1\"", "sh", sys.argv[2]])
print(child.pid, flush=True)
f = os.open(sys.argv[1], os.O_WRONLY)
os.write(f, sys.argv[3].encode())
try:
    os.close(f)
    print("closed", flush=True)
except InterruptedError:
    print("interrupted", flush=True)
' "$D/ctl/run" "$T/child" "$1" >"$T/said" 3>&- &
	PID=$!
	STARTED+=("$PID")
	wait_for grep -q . "$T/said"
	CHILD=$(head -n 1 "$T/said")
}

is_zombie() { grep -q '^State:.Z' "/proc/$1/status"; }

@test "the end of a child does not cancel what its parent waits for" {
	inside 'mkfifo /workspace/go'
	waiting_writer 'read -r word </workspace/go; echo $word'
	wait_for is_file "$D/out/2/status"
	echo >"$T/child"
	wait_for is_zombie "$CHILD"
	inside 'echo word >/workspace/go'
	wait "$PID"
	eq "$(tail -n 1 "$T/said")" closed
	eq "$(cat "$D/out/2/stdout")" word
	eq "$(cat "$D/out/2/status")" exited
}

@test "a signal that ends, after the end of a child, cancels all the same" {
	waiting_writer 'sleep 60'
	wait_for is_file "$D/out/1/status"
	echo >"$T/child"
	wait_for is_zombie "$CHILD"
	kill -TERM "$PID"
	wait_for is_file "$D/out/1/exit_code"
	eq "$(cat "$D/out/1/status")" killed
}
