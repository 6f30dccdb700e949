# files/: what the kernel keeps of it, and when that ends. A change made directly in the state
# directory, which nobody does but this test, is one that nothing tells of.
# runs-as: root user
load ../lib/helper

setup() {
	make_dirs
	mount_sandbox -o name=cache
	W=$D/files/work
	TREE=$T/state/sandpit/cache/root/work
	echo old >"$W/a"
	mkdir "$W/d"
}

look() { stat -c '%s' "$W/a"; ls "$W/d"; stat "$W/none" 2>&1 || true; }

change() {
	echo longer >"$TREE/a"
	: >"$TREE/d/new"
	: >"$TREE/none"
}

shows_new() {
	[[ $(stat -c %s "$W/a") == 7 && $(ls "$W/d") == new && -e $W/none ]]
}

keeps_names() { jq -e .enabled.keepsNames "$D/status.json" >/dev/null; }

@test "while nothing runs it is kept, and asked for again once something has run" {
	keeps_names || skip "this kernel cannot be told to ask for names again (Linux 6.16)"
	look
	change
	eq "$(stat -c %s "$W/a")" 4
	refute test -e "$W/none"
	inside true
	shows_new || fail "$(look)"
}

@test "a restore ends it, too" {
	echo "persist /work" >"$D/checkpoint"
	echo newer >"$W/a"
	: >"$W/d/late"
	ls -l "$W" "$W/d"
	echo "restore /work" >"$D/checkpoint"
	eq "$(cat "$W/a")" old
	eq "$(stat -c %s "$W/a")" 4
	eq "$(ls "$W/d")" ""
}

@test "while something runs, what changes in directories that were looked at shows" {
	start_run 'exec sleep 1000'
	look
	look
	change
	wait_for shows_new
	rm "$TREE/none" "$TREE/d/new"
	wait_for gone "$W/none"
	eq "$(ls "$W/d")" ""
}

@test "many directories looked at while something runs" {
	start_run 'exec sleep 1000'
	mkdir -p "$TREE/many"
	(cd "$TREE/many" && seq 10000 | xargs mkdir && for i in 1 5000 10000; do echo "$i" >"$i/f"; done)
	eq "$(find "$W/many" -type d | wc -l)" 10001
	for i in 1 5000 10000; do echo "more $i" >>"$TREE/many/$i/f"; done
	eq "$(cat "$W"/many/{1,5000,10000}/f | wc -l)" 6
	for i in 1 5000 10000; do wait_for file_is "$W/many/$i/f" "$i"$'\n'"more $i"; done
	rm -r "$TREE/many"
	wait_for gone "$W/many"
}

# How often the daemon has written anything: an answer to the kernel each time, mostly.
answers() { awk '/^syscw:/ { print $2 }' "/proc/$(daemon_pid)/io"; }

walk() { eq "$(find "$W/tree" -type f -size +1k | wc -l)" 300; }

asks_nothing() {
	local before

	walk
	walk
	before=$(answers)
	walk
	before=$(($(answers) - before))
	((before < 30)) || fail "$before answers to a walk of 300 files"
}

make_tree() {
	as_root || skip "only root sees what an ordinary user's daemon has written"
	keeps_names || skip "this kernel cannot be told to ask for names again (Linux 6.16)"
	inside 'mkdir /work/tree; cd /work/tree; for d in $(seq 30); do mkdir $d; for f in $(seq 10); do head -c 5000 /dev/zero >$d/$f; done; done'
}

# It still shows what changes.
shows_changes() {
	inside 'echo more >>/work/tree/1/1'
	eq "$(stat -c %s "$W/tree/1/1")" 5005
}

@test "an idle context of code/ does not make the kernel ask again" {
	make_tree
	asks_nothing
	printf 'x = 1' >"$D/code/python/in"
	asks_nothing
	shows_changes
}

# As a database's journal, of which others look whether it is there.
@test "files made and removed through files/ do not make the kernel ask again" {
	local before i

	make_tree
	start_run 'exec sleep 1000'
	asks_nothing
	for i in $(seq 20); do
		refute test -e "$W/tree/journal"
		: >"$W/tree/journal"
		rm "$W/tree/journal"
		refute test -e "$W/tree/journal"
	done
	before=$(answers)
	walk
	before=$(($(answers) - before))
	((before < 30)) || fail "$before answers to a walk of 300 files"
	shows_changes
}

@test "a working directory keeps its path while others come the same way" {
	start_run 'exec sleep 1000'
	python3 - "$W" <<-'END'
		import os, sys

		def work(folder):
		    os.chdir(folder)
		    for i in range(100):
		        path = os.getcwd()
		        os.lstat(path)
		        os.path.exists("journal")
		        open("journal", "a").close()
		        try:
		            os.unlink("journal")
		        except FileNotFoundError:
		            pass

		children = []
		for i in range(50):
		    if i % 5 == 0:
		        folder = "%s/d%d" % (sys.argv[1], i)
		        os.mkdir(folder)
		    child = os.fork()
		    if child == 0:
		        work(folder)
		        os._exit(0)
		    children.append(child)
		sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
	END
}

@test "an open browser does not make the kernel ask again" {
	need chromium node
	[[ -d $HELPERS/drivers/browser/node_modules ]] || skip "the driver's npm packages are not installed"
	make_tree
	echo '{"headless": true}' >"$D/browser/config.json"
	echo about:blank >"$D/browser/goto"
	asks_nothing
	shows_changes
}

@test "what runs in the sandbox is told to be gone only when all of it is" {
	# A background process that escapes its session and whose program cannot be read goes on writing.
	request 'setsid sh -c "while test ! -e /work/stop; do echo >> /work/n; done" >/dev/null 2>&1 &'
	rm -r "$D"/out/1
	wait_for is_file "$W/n"
	local first

	first=$(stat -c %s "$W/n")
	grows() { (($(stat -c %s "$W/n") > first)); }
	wait_for grows
	: >"$W/stop"
}

@test "status.json says whether the kernel reads and writes by itself, and why not" {
	if [[ $(jq .enabled.passthrough "$D/status.json") == true ]]; then
		eq "$(jq .enabled.passthroughWhyNot "$D/status.json")" null
		as_root || fail "an ordinary user has passthrough"
	else
		match "$(jq -r .enabled.passthroughWhyNot "$D/status.json")" "libfuse|Linux 6.9|only root|stacked"
	fi
	umount_sandbox
	mount_sandbox -o name=cache -o disk=1G
	eq "$(jq .enabled.passthrough "$D/status.json")" false
}
