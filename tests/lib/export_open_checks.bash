# Files that a client holds open while others remove them, and clients that vanish. `remote` is a client
# of the server over the sandbox at $D.

# Regular files of files/work that the daemon has open to read or write, not only as a place in the tree.
# Of directories it keeps at most 32, where a listing may go on.
open_files() {
	local pid fd flags

	pid=$(daemon_pid)
	for fd in "/proc/$pid/fd"/*; do
		[[ $(readlink "$fd") == */work/* && ! -d $fd ]] || continue
		flags=$(awk '/^flags:/ { print $2 }' "/proc/$pid/fdinfo/${fd##*/}" 2>/dev/null) || continue
		((0$flags & 010000000)) || readlink "$fd"
	done
}
none_open() { [[ -z $(open_files) ]]; }

# By what removes it: another client, a host process, a command in the sandbox.
remove_tree() {
	local name

	case $1 in
	client)
		for name in f w v b/x b; do
			remote rm "/files/work/tree/a/$name" >/dev/null || remote rmdir "/files/work/tree/a/$name"
		done
		remote rmdir /files/work/tree/a
		remote rmdir /files/work/tree
		;;
	mount) rm -r "$D/files/work/tree" ;;
	command) inside 'rm -r /work/tree' ;;
	esac
	gone "$D/files/work/tree"
}

# The holder of a file has its data still, over protocols that know of open files; else it is told that
# it is gone. What took the place is never touched.
check_removed() {
	local who stale='^$|STALE'

	echo mine >"$T/text"
	for who in client mount command; do
		inside 'mkdir -p /work/tree/a/b; cd /work/tree/a; echo first content >f; echo w >w; echo v >v; echo x >b/x'
		hold read cat /files/work/tree/a/f
		hold both ask /files/work/tree/a/w
		hold write write_at /files/work/tree/a/v 0
		[[ $PROTOCOL != 9p ]] || hold list ls /files/work/tree/a/b
		remove_tree "$who"
		inside 'mkdir -p /work/tree/a/b; cd /work/tree/a; echo other | tee f w v b/new >/dev/null'
		release read
		[[ $GOT == 'first content' ]] || { [[ $PROTOCOL == nfs3 ]] && match "$GOT" STALE; }
		release both
		[[ $GOT == mine ]] || { [[ $PROTOCOL == nfs3 ]] && match "$GOT" STALE; }
		release write
		[[ -z $GOT ]] || { [[ $PROTOCOL == nfs3 ]] && match "$GOT" STALE; }
		if [[ $PROTOCOL == 9p ]]; then
			release list
			refute grep -q '[a-z]' <<<"$GOT"
		fi
		eq "$(cat "$D"/files/work/tree/a/[fwv])" $'other\nother\nother' "after removal by a $who"
		eq "$(remote cat /files/work/tree/a/f)" other
		eq "$(remote_ls /files/work/tree/a/b)" 'new '
		inside 'rm -r /work/tree'
	done
	[[ $PROTOCOL == nfs* ]] || wait_for none_open
	stop_server
	wait_for none_open
	status_mounted
}

status_mounted() { jq -e '.state == "mounted"' "$D/status.json" >/dev/null; }

# A command's files, removed while a client holds them, take room no longer than it does.
check_room() {
	local before=$((64 << 20))

	taken() { du -s -B1 "$XDG_STATE_HOME"/sandpit/*/root/work | cut -f1; }
	: >"$T/text"
	inside 'head -c 67108864 /dev/zero >/work/big'
	(($(taken) >= before))
	hold read cat /files/work/big
	inside 'rm /work/big'
	eq "$(open_files | grep -c big)" 1
	vanish read
	wait_for none_open
}

# Somebody who vanishes leaves nothing, and the next gets all. 20 of them, as diod has 16 threads.
check_vanished_lists() {
	local i

	: >"$T/text"
	inside 'mkdir /work/many; cd /work/many; for i in $(seq 3000); do : >"some entry $i"; done; head -c 3000000 /dev/zero >/work/big'
	for i in $(seq 8); do
		refute through_cut "answers:$((i * 5000))" ls /files/work/many &>/dev/null
		refute through_cut "answers:$((i * 50000))" cat /files/work/big &>/dev/null
	done
	eq "$(remote ls /files/work/many | grep -c '^some entry')" 3000
	eq "$(remote cat /files/work/big | wc -c)" 3000000
	[[ $PROTOCOL == nfs* ]] || wait_for none_open
	stop_server
	wait_for none_open
	eq "$(inside 'ls /work/many | wc -l')" 3000
}

# lock_is_free: to a client, and to a host process.
lock_is_free() { [[ -z $(remote lock /files/work/f) ]] && flock -n "$D/files/work/f" true; }

# A command meets it, too: diod locks by flock(2), ganesha by fcntl(2).
locked_for_commands() {
	refute inside "python3 -c 'import fcntl
f = open(\"/work/f\", \"r+\")
fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)'" &>/dev/null
	has_text "$D/out/last/stderr" BlockingIOError
}

check_vanished_lock() {
	echo x >"$D/files/work/f"
	hold lock lock /files/work/f
	match "$(remote lock /files/work/f)" 'EAGAIN|DENIED'
	locked_for_commands
	vanish lock
	wait_for lock_is_free
}

# Those who wait for a run and vanish neither end it nor hold anything up in the sandbox itself. No more
# than diod has threads: see docs/export.md.
check_vanished_waiters() {
	local i pids=()

	start_run 'echo begun; until [ -e /work/go ]; do sleep 0.05; done; echo ended'
	for i in $(seq 10); do
		remote cat "/out/$ID/live" >"$T/live.$i" 3>&- &
		pids+=($!)
		STARTED+=($!)
	done
	for i in $(seq 10); do
		wait_for has_text "$T/live.$i" begun
	done
	kill_clients "${pids[@]}"
	eq "$(cat "$D/out/$ID/status")" running
	eq "$(remote cat "/out/$ID/status")" running
	eq "$(inside 'echo beside')" beside
	touch "$D/files/work/go"
	eq "$(cat "$D/out/$ID/wait")" 0
	eq "$(remote cat "/out/$ID/stdout")" $'begun\nended'
	eq "$(runs)" 2
}
