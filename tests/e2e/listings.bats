# Directories of the mount listed: what is there now, each name once.
# runs-as: root user
load ../lib/helper

@test "what comes and goes is listed at once, whoever lists meanwhile" {
	start bash -c 'while :; do ls "$1/out" "$1/code"; done >/dev/null 2>&1' bash "$D"
	start bash -c 'while :; do ls -l "$1/out" "$1/code"; done >/dev/null 2>&1' bash "$D"
	run python3 - "$D" <<-'END'
		import os, sys
		os.chdir(sys.argv[1])
		def check(where, name, there):
		    if (name in os.listdir(where)) != there:
		        sys.exit("%s in %s: %s" % (name, where, not there))
		for i in range(400):
		    for where in ("out", "code"):
		        name = "n%d" % i
		        check(where, name, False)
		        os.mkdir(where + "/" + name)
		        check(where, name, True)
		        os.rmdir(where + "/" + name)
		        check(where, name, False)
	END
	eq "$status $output" "0 "
}

@test "a reader that takes its time sees each name that stays once" {
	run python3 - "$D" <<-'END'
		import os, sys
		os.chdir(sys.argv[1])
		stay = ["stay%d" % i for i in range(400)]
		for name in stay:
		    os.mkdir("out/" + name)
		for where in ("out", "files/work/d"):
		    if where != "out":
		        os.mkdir(where)
		        for name in stay:
		            open(where + "/" + name, "w").close()
		    for turn in range(2):
		        seen = []
		        with os.scandir(where) as names:
		            for i, entry in enumerate(names):
		                seen.append(entry.name)
		                if i < 300:
		                    os.mkdir("%s/new%d" % (where, i))
		                if 5 < i < 300:
		                    os.rmdir("%s/new%d" % (where, i - 5))
		        if sorted(n for n in seen if n in stay) != sorted(stay) or len(set(seen)) != len(seen):
		            sys.exit("%s: %s" % (where, seen))
		        for name in os.listdir(where):
		            if name not in stay:
		                os.rmdir(where + "/" + name) if name != "last" else None
	END
	eq "$status $output" "0 "
}

@test "one who lists anew sees what is there, not what somebody else began to list before" {
	cat >"$T/anew.py" <<-'END'
		import os, subprocess, sys
		mount, way = sys.argv[1:]
		where = mount + "/files/work/" + way
		os.mkdir(where)
		names = ["%050d" % i for i in range(390)]
		for name in names:
		    open(where + "/" + name, "w").close()
		def remove(name):
		    if way == "outside":
		        os.unlink(where + "/" + name)
		    else:
		        subprocess.run([os.environ["SANDPIT"], "run", mount, "rm", "/work/inside/" + name], check=True)
		begun = []
		for turn in range(12):
		    begun.append(os.scandir(where))
		    next(begun[-1])
		    if turn % 3 == 2:
		        begun.pop(0).close()
		    remove(names.pop(turn * 27 % len(names)))
		    for again in range(2):
		        if sorted(os.listdir(where)) != names:
		            sys.exit("turn %d: %s" % (turn, set(os.listdir(where)) ^ set(names)))
		for reader in begun:
		    seen = [entry.name for entry in reader]
		    if len(seen) != len(set(seen)) or len(set(names) - set(seen)) > 1:
		        sys.exit("one who began before sees %s" % seen)
	END
	for way in outside inside; do
		run python3 "$T/anew.py" "$D" "$way"
		eq "$way $status $output" "$way 0 "
	done
}

@test "what somebody began to list and left is not listed when the time of change was set back" {
	inside 'mkdir /work/d; cd /work/d; for i in $(seq 600); do : >a-name-that-is-long-$i; done
		touch -d 2020-01-01 .; mkdir /work/others; cd /work/others; mkdir $(seq 0 39)
		for i in $(seq 0 39); do for j in 1 2 3 4 5 6; do : >$i/$j; done; done'
	cat >"$T/left.py" <<-'END'
		import ctypes, os, sys
		mount, where = sys.argv[1], sys.argv[1] + "/files/work/d"
		libc = ctypes.CDLL(None)
		held = os.open(where, os.O_RDONLY)
		def begin(where):
		    left = os.open(where, os.O_RDONLY)
		    data = ctypes.create_string_buffer(4096)
		    libc.syscall(217, left, data, len(data)) # getdents64
		    os.close(left)
		    return data.raw
		data = begin(where)
		first = data[data.index(b"a-name"):].split(b"\0")[0].decode()
		for other in range(40):
		    begin("%s/files/work/others/%d" % (mount, other))
		with open(mount + "/ctl/run", "w") as request:
		    # Times of the same tick of the clock are not trusted: it must have gone on.
		    request.write("cd /work/d && rm %s && touch -d 2020-01-01 . && sleep 0.1" % first)
		for again in range(3):
		    names = os.listdir(where)
		    if first in names or len(names) != 599:
		        sys.exit("%d names, with the removed one: %s" % (len(names), first in names))
	END
	run python3 "$T/left.py" "$D"
	eq "$status $output" "0 "
}

@test "a directory that is removed while it is read ends" {
	mkdir "$D/files/work/d"
	: >"$D/files/work/d/f"
	exec 7<"$D/files/work/d"
	inside 'rm -r /work/d'
	run ls /proc/self/fd/7/
	match "$status $output" '^0 $|No such file|Stale'
	exec 7<&-
	eq "$(inside 'echo alive')" alive
}
