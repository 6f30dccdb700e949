# files/: what a local file system does.
# runs-as: root user single
load ../lib/helper

setup() {
	make_dirs
	mount_sandbox
	W=$D/files/work
	cd "$W" || return 1
}

# ops EXPECTED ARG...: fsop in files/work; EXPECTED are its lines joined by commas.
ops() {
	local want=$1

	shift
	eq "$(fsop "$@" | paste -sd,)" "$want"
}

@test "files/ is the tree of the sandbox" {
	eq "$(inside 'ls /' | tr '\n' ' ')" "$(ls "$D/files" | tr '\n' ' ')"
	for dir in work workspace tmp home/user root usr etc; do test -d "$D/files/$dir"; done
	echo x >"$D/files/tmp/x"
	eq "$(inside 'cat /tmp/x')" x
}

@test "writes from outside are seen inside, and back" {
	echo outside >a
	eq "$(inside 'cat /work/a; echo inside > /work/a; echo more >> /work/a')" outside
	eq "$(cat a)" $'inside\nmore'
	eq "$(stat -c %s a)" 12
}

@test "what outside makes, commands can change; what commands make, outside can" {
	mkdir d
	echo x >d/f
	inside 'echo y >> /work/d/f; chmod 700 /work/d; mv /work/d/f /work/d/g; rm /work/d/g; rmdir /work/d'
	refute test -e d
	inside 'mkdir /work/e; echo z > /work/e/f; chmod 600 /work/e/f'
	eq "$(stat -c %u e/f)" "$(id -u)"
	echo w >>e/f
	rm -r e
}

@test "owners: the sandbox's root is shown as the mounting user" {
	echo x >a
	eq "$(stat -c '%u:%g' a)" "$(id -u):$(id -g)"
	eq "$(inside 'stat -c %u:%g /work/a')" 0:0
	as_single && return
	inside 'echo y >/work/b; chown 1000:1000 /work/b'
	refute test "$(stat -c %u b)" = 65534
	as_root || return 0
	chown 1000 a
	eq "$(inside 'stat -c %u /work/a')" 1000
}

@test "open: creation, exclusion, truncation" {
	ops 'open 0,open EEXIST,open ENOENT,write 5,open 0,fsize 0' open a rw,creat,excl open a w,creat,excl open nosuch r \
		use 0 write hello open a w,trunc fsize
	ops 'open EISDIR,open ENOTDIR,open ENOTDIR,open EISDIR' open . w open a/b r open a r,directory open . w,creat
}

@test "append: two writers never overwrite each other" {
	inside 'for i in $(seq 200); do echo i >> /work/a; done' &
	for i in {1..200}; do echo o >>a; done
	wait
	eq "$(sort a | uniq -c | tr -s ' ' | paste -sd,)" " 200 i, 200 o"
}

@test "O_APPEND ignores the offset" {
	ops 'open 0,write 3,pwrite 3,open 0,read [abcdef]' open a w,creat,append write abc pwrite def 0 open a r read 10
}

@test "truncate and extend" {
	echo hello >a
	ops 'truncate 0,size 3,truncate 0,size 10,open 0,read [hel\x00\x00\x00\x00\x00\x00\x00]' \
		truncate a 3 size a truncate a 10 size a open a r read 20
	eq "$(inside 'stat -c %s /work/a')" 10
}

@test "an unlinked open file lives on" {
	ops 'open 0,write 5,unlink 0,fsize 5,pread [hello],ftruncate 0,fsize 2,write 1,size ENOENT' \
		open a rw,creat write hello unlink a fsize pread 9 0 ftruncate 2 fsize write x size a
}

@test "a renamed open file stays open" {
	ops 'open 0,write 1,rename 0,write 1,fsize 2,size 2' open a w,creat write x rename a b none write y fsize size b
}

@test "rename: over a file, into a directory, of a directory, into itself" {
	mkdir d e
	echo 1 >a
	echo 2 >b
	ops 'rename 0,size ENOENT,rename 0,rename 0,rename EINVAL,rename EINVAL,rename ENOTEMPTY' rename a b none size a \
		rename b d/b none rename d e/d none rename e e/d/x none rename e e/d/b none rename e/d/b e none
	eq "$(cat e/d/b)" 1
	mkdir -p x/y z
	echo 1 >f
	ops 'rename ENOTEMPTY,rename ENOTDIR,rename EISDIR' rename z x none rename z f none rename f z none
}

@test "rename with NOREPLACE and EXCHANGE" {
	echo 1 >a
	echo 2 >b
	mkdir d
	ops 'rename EEXIST,rename 0,rename 0,rename ENOENT' rename a b noreplace rename a c noreplace \
		rename c b exchange rename c nosuch exchange
	eq "$(cat b c)" $'1\n2'
	ops 'rename 0' rename d b exchange
	test -d b
	eq "$(cat d)" 1
}

@test "hard links: one file of two names" {
	echo 1 >a
	ln a b
	eq "$(stat -c %h a)" 2
	eq "$(stat -c %i a)" "$(stat -c %i b)"
	echo 2 >>b
	eq "$(cat a)" $'1\n2'
	eq "$(inside 'stat -c %h /work/a')" 2
	rm a
	eq "$(stat -c %h b) $(cat b)" $'1 1\n2'
	ops 'link EEXIST,link ENOENT' link b b link nosuch c
	mkdir d
	ops 'link EPERM' link d e
}

@test "symbolic links" {
	ln -s a l
	echo 1 >a
	eq "$(readlink l)" a
	eq "$(cat l)" 1
	eq "$(inside 'readlink /work/l; cat /work/l')" $'a\n1'
	ln -s nosuch dangling
	refute cat dangling
	ops 'type l,size 6' type dangling size dangling
	ln -s loop loop
	run cat loop
	match "$output" 'Too many'
}

@test "sparse files: holes and data" {
	ops 'open 0,pwrite 4,fsize 10485764,data 10485760,hole 0,hole 10485764' open a rw,creat pwrite data 10485760 fsize data 0 \
		hole 0 hole 10485760
	(($(stat -c %b a) < 100))
	ops 'open 0,data ENXIO' open a r data 10485764
}

@test "fallocate: allocate, keep size, punch, zero" {
	ops 'open 0,fallocate 0,fsize 65536,fallocate 0,fsize 65536,fill 65536,fallocate 0,pread [\x00x]' open a rw,creat \
		fallocate none 0 65536 fsize fallocate keep 65536 65536 fsize fill 65536 x fallocate punch 0 32768 pread 2 32767
	run fsop open a rw fallocate zero 40960 4096 pread 1 40960
	match "$output" $'fallocate (0\npread .\\\\x00|EOPNOTSUPP)'
}

@test "copy_file_range and cp --reflink=auto" {
	head -c 1000000 /dev/urandom >a
	ops 'open 0,open 0,copy 1000000' open a r open b w,creat copy 0 1 1000000
	cmp a b
	cp a c
	cmp a c
}

@test "mmap: shared, both directions, against write" {
	printf 'aaaa' >a
	ops 'open 0,mmap_write 0,pread [bbbb],pwrite 2,mmap_read [ccbb]' open a rw mmap_write bbbb pread 4 0 pwrite cc 0 mmap_read 4 s
	eq "$(inside 'cat /work/a')" ccbb
	inside 'printf dddd > /work/a'
	ops 'open 0,mmap_read [dddd]' open a r mmap_read 4 s
}

@test "flock and fcntl locks" {
	ops 'open 0,open 0,flock 0,use 0' open a rw,creat open a rw flock ex use 0 2>/dev/null || true
	run fsop open a rw open a rw flock ex use 0 flock ex use 1 flock un use 0 flock ex
	eq "$(paste -sd, <<<"$output")" 'open 0,open 0,flock 0,flock EAGAIN,flock 0,flock 0'
	run fsop open a rw lock w 0 10 child_lock w 5 1 child_lock w 20 1 lock r 0 10 child_lock r 0 1
	match "$(paste -sd, <<<"$output")" '^open 0,lock 0,child_lock E(AGAIN|ACCES),child_lock 0,lock 0,child_lock 0$'
	flock a true
}

@test "extended attributes" {
	echo >a
	ops 'setxattr 0,getxattr [value],listxattr [user.k\x00],getxattr_len 5,getxattr_len ERANGE,removexattr 0,getxattr ENODATA,listxattr []' \
		setxattr a user.k value getxattr a user.k listxattr a getxattr_len a user.k 0 getxattr_len a user.k 2 \
		removexattr a user.k getxattr a user.k listxattr a
	inside 'setfattr -n user.x -v y /work/a' || python3 -c 'import os; os.setxattr("a", "user.x", b"y")'
	ops 'getxattr [y]' getxattr a user.x
}

@test "extended attributes that are not the user's are refused and hidden" {
	echo >a
	run fsop setxattr a trusted.overlay.redirect /root setxattr a security.capability x setxattr a user.overlay.opaque y \
		listxattr a
	refute grep -q 'setxattr 0' <<<"$output"
	match "$output" 'listxattr \[\]'
}

@test "O_TMPFILE works or is refused clearly" {
	run fsop open . rw,tmpfile write x
	match "$output" $'^open (0\nwrite 1|EOPNOTSUPP.*)'
	eq "$(ls -A)" ""
}

@test "names of 255 bytes, of any bytes" {
	long=$(printf 'x%.0s' {1..255})
	for name in "$long" $'a\nb' $'\xff\xfe' $'\e[2J' -rf ' ' 'a\b' '*' .wh.x .wh..wh..opq 'CON:' .status ctl; do
		echo "$name" >"./$name"
		eq "$(cat "./$name")" "$name"
		eq "$(ls -A | wc -c)" "$(printf '%s\n' "$name" | wc -c)"
		eq "$(inside 'cd /work; for f in ./* ./.[!.]*; do test -e "$f" && cat "$f"; done')" "$name"
		rm "./$name"
	done
	run fsop open "x$long" w,creat
	eq "$output" "open ENAMETOOLONG"
}

@test "readdir while entries come and go loses none that stays" {
	mkdir d
	for i in {1..300}; do : >"d/stay$i"; done
	start_run 'cd /work/d; until test -e /work/go; do for i in $(seq 50); do : > t$i; done; rm -f t*; done'
	for i in {1..20}; do
		eq "$(find d -name 'stay*' | sort -u | wc -l)" 300
		eq "$(find d -name 'stay*' | wc -l)" 300
	done
	: >go
	eq "$(cat "$D/out/$ID/wait")" 0
}

@test "files over 4 GiB" {
	ops 'open 0,pwrite 4,fsize 5368709124,pread [end!],pread [\x00],fallocate 0' open a rw,creat pwrite 'end!' 5368709120 fsize \
		pread 4 5368709120 pread 1 4294967296 fallocate punch 0 4096
	eq "$(inside 'tail -c 4 /work/a; stat -c %s /work/a')" 'end!5368709124'
	run fsop truncate a 9223372036854775807
	match "$output" 'truncate (0|EFBIG|EINVAL)'
}

@test "statfs" {
	ops 'statvfs 1' statvfs .
	(($(stat -f -c %b "$D/files") > 0))
	df "$D/files" >/dev/null
}

@test "modes, times and owners" {
	echo >a
	chmod 751 a
	touch -d '2001-02-03 04:05:06.123456789' a
	eq "$(stat -c '%a %y' a | cut -c1-33)" '751 2001-02-03 04:05:06.123456789'
	eq "$(inside 'stat -c "%a %y" /work/a' | cut -c1-33)" '751 2001-02-03 04:05:06.123456789'
	mkdir -m 1777 d
	eq "$(stat -c %a d)" 1777
	ln -s nosuch l
	touch -h -d '2002-02-02' l
	eq "$(stat -c %y l | cut -c1-10)" 2002-02-02
	umask 077
	echo >private
	eq "$(stat -c %a private)" 600
}

@test "mtime and ctime move when a command writes" {
	echo 1 >a
	before=$(stat -c '%.Y %.Z' a)
	inside 'echo 2 > /work/a'
	refute test "$(stat -c '%.Y %.Z' a)" = "$before"
}

@test "special files keep their type and are never opened" {
	inside 'cd /work; mkfifo fifo; python3 -c "
import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"'
	ops 'type p,type s' type fifo type sock
	run timeout 5 "$HELPERS/fsop" open fifo r,nonblock
	refute test "$status" = 124
	run timeout 5 "$HELPERS/fsop" connect sock
	match "$output" 'connect E'
	eq "$(stat -c %F fifo)" fifo
	mkfifo fifo2
	eq "$(inside 'stat -c %F /work/fifo2')" fifo
	run fsop mknod null c
	if [[ $output == 'mknod 0' ]]; then
		run fsop open null w
		match "$output" 'open E'
	fi
	rm fifo fifo2 sock
}

@test "/proc, /sys and /dev appear as empty directories" {
	for dir in proc sys dev; do
		test -d "$D/files/$dir"
		eq "$(ls -A "$D/files/$dir")" ""
		run fsop open "$D/files/$dir/x" w,creat
		match "$output" 'open E(ACCES|PERM|ROFS)'
	done
}

@test "mount points of the sandbox cannot be removed or renamed" {
	cd "$D/files"
	run fsop rmdir proc rmdir dev rmdir sys rmdir usr rename dev dev2 none rename work/x usr none rename usr work/usr none
	eq "$(grep -c EBUSY <<<"$output")" 6 "EBUSY in: $output" || refute grep -qE ' 0$' <<<"$output"
	inside 'ls /proc/self/status /dev/null /usr/bin/env'
}

@test "names of the lower layer: EXDEV for hard links and exchange, not for writes" {
	cd "$D/files"
	run fsop link usr/bin/env work/env
	eq "$output" "link EXDEV"
	run fsop rename work/nosuch usr/bin exchange
	match "$output" 'rename E'
	before=$(sha256sum </usr/bin/env)
	inside 'echo "#!/bin/sh" > /usr/local/bin/mine; echo "echo mine" >> /usr/local/bin/mine; chmod 755 /usr/local/bin/mine; mine'
	refute test -e /usr/local/bin/mine
	eq "$(sha256sum </usr/bin/env)" "$before"
}

@test "set-id bits mean nothing outside" {
	match "$(grep -F " $D " /proc/self/mountinfo)" 'nosuid'
	match "$(grep -F " $D " /proc/self/mountinfo)" 'nodev'
}

@test "ways longer than PATH_MAX, made from outside and walked by commands" {
	python3 - <<-'END'
		import os
		for i in range(300):
		    os.mkdir("d" * 50)
		    os.chdir("d" * 50)
		open("bottom", "w").write("deep")
	END
	eq "$(find . -name bottom | wc -l)" 1
	eq "$(inside 'find /work -name bottom | wc -c')" 15313
	rm -r d*
	eq "$(ls -A)" ""
}

@test "ways longer than PATH_MAX, made by a command and walked from outside step by step" {
	inside "python3 -c '
import os
os.chdir(\"/work\")
for i in range(100):
    os.mkdir(\"d\" * 200)
    os.chdir(\"d\" * 200)
open(\"bottom\", \"w\").write(\"deep\")'"
	match "$(fsop size "$(printf 'd%.0s' {1..200}; printf '/%.0sd' {1..2000})")" 'size ENAMETOOLONG'
	python3 - <<-'END'
		import os
		name, up = "d" * 200, []
		fd = os.open(".", os.O_RDONLY)
		for i in range(100):
		    assert os.listdir(fd) == [name]
		    up.append(os.fstat(fd).st_ino)
		    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
		assert open(os.open("bottom", os.O_RDONLY, dir_fd=fd)).read() == "deep"
		os.mkdir("more", dir_fd=fd)
		os.rename("bottom", "more/moved", src_dir_fd=fd, dst_dir_fd=fd)
		os.chdir(fd)
		for i in range(100):
		    os.chdir("..")
		    assert os.stat(".").st_ino == up.pop()
	END
	eq "$(inside 'find /work -type f | sed "s:.*/::"; rm -r /work/*')" moved
	eq "$(ls -A)" ""
}

@test "what is open while its name, its tree or its type goes" {
	local who

	from_inside() { inside "cd /work; $1"; }
	from_outside() { (cd "$W" && eval "$1"); }
	for who in from_inside from_outside; do
		rm -rf ./*
		mkdir -p t/a/b
		echo own >t/a/b/f
		echo own >g
		exec 7<t/a/b/f 8<t/a/b 9<g
		pushd t/a/b >/dev/null
		"$who" "rm -r t g; mkdir -p t/a/b g
			echo other >t/a/b/f; echo other >g/own; : >other"
		refute ls f 2>/dev/null
		refute touch new 2>/dev/null
		eq "$(ls -A)" ''
		popd >/dev/null
		eq "$(ls -A /proc/self/fd/8/)" ''
		eq "$(cat <&7)" own
		eq "$(cat <&9)" own
		eq "$(cat t/a/b/f) $(ls g)" 'other own'
		exec 7<&- 8<&- 9<&-
	done
}

@test "an open FIFO outlives its name, and an open directory the one put in its place" {
	local how

	for how in 'rm p' 'mv -f other p' 'mv -fT socket p'; do
		rm -rf ./*
		mkfifo p other
		python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
		exec 7<>p
		eval "$how"
		echo through >&7
		eq "$(stat -Lc '%F %h' /proc/self/fd/7)" 'fifo 0'
		eq "$(head -n 1 <&7)" through
		chmod 640 /proc/self/fd/7
		eq "$(stat -Lc %a /proc/self/fd/7)" 640
		exec 7<&-
	done
	rm -rf ./*
	mkdir new old
	touch new/f
	exec 7<old
	mv -T new old
	eq "$(ls -A /proc/self/fd/7/)" ''
	eq "$(stat -Lc %F /proc/self/fd/7)" directory
	refute touch /proc/self/fd/7/late 2>/dev/null
	exec 7<&-
	eq "$(ls old)" f
}

@test "what was open before a restore has what it had" {
	mkdir t
	echo first >t/f
	echo first >gone
	echo persist /work >"$D/checkpoint"
	echo second >t/f
	rm gone
	echo second >late
	exec 7<>t/f 8<t 9<late
	echo restore /work >"$D/checkpoint"
	eq "$(cat <&7)" second
	echo lost >&7
	eq "$(cat <&9)" second
	match "$(ls -A /proc/self/fd/8/ 2>&1)" '^(f|.*Stale file handle|)$'
	refute grep -q first /proc/self/fd/8/f 2>/dev/null
	exec 7<&- 8<&- 9<&-
	cd "$D/files/work"
	eq "$(cat t/f gone)" $'first\nfirst'
	refute test -e late
	eq "$(inside 'cat /work/t/f')" first
}

# What is written reaches the file at once or not at all.
@test "a writer that is killed in the middle of a large write" {
	local i size

	for i in 1 2 3; do
		start dd if=/dev/zero of=f bs=64M count=1000 status=none
		grown() { (($(stat -c %s f 2>/dev/null || echo 0) > 70000000)); }
		wait_for grown
		kill -KILL "$PID"
		wait "$PID" || true
		size=$(stat -c %s f)
		eq "$(inside 'stat -c %s /work/f')" "$size"
		eq "$(tr -d '\0' <f | wc -c)" 0
		echo next >f
		eq "$(inside 'cat /work/f')" next
	done
}

@test "many open files" {
	python3 - <<-'END'
		files = [open(f"f{i}", "w+") for i in range(900)]
		for i, f in enumerate(files):
		    f.write(str(i))
		    f.flush()
		for i, f in enumerate(files):
		    f.seek(0)
		    assert f.read() == str(i)
	END
}

@test "12,000 files stay reachable" {
	python3 - <<-'END'
		import os
		for d in range(12):
		    os.mkdir(f"d{d}")
		    for i in range(1000):
		        open(f"d{d}/{i}", "w").close()
		for d in range(12):
		    for i in range(1000):
		        os.stat(f"d{d}/{i}")
	END
	eq "$(find . -type f | wc -l)" 12000
	rm -r d*
}

@test "what is written is seen at once by who reads, has read and has mapped the file" {
	timeout 60 python3 "$TEST_LIB/readers.py" "$D/files/work/shared" 2
	echo 'exec sleep 1000' >"$D/ctl/start"
	timeout 60 python3 "$TEST_LIB/readers.py" "$D/files/work/shared" 2
}

@test "what is appended and written in parts by those who only write is whole" {
	cd "$D/files/work"
	for i in {1..200}; do echo "$i"; done >>log
	python3 - <<-'END'
		import os
		fd = os.open("log", os.O_WRONLY | os.O_APPEND)
		other = os.open("log", os.O_WRONLY | os.O_APPEND)
		for i in range(201, 401):
		    os.writev((fd, other)[i % 2], [b"%d" % i, b"", b"\n"])
		part = os.open("parts", os.O_WRONLY | os.O_CREAT)
		for at in (5000, 0, 4095, 12288, 1):
		    os.pwrite(part, b"abc" * 1000, at)
		os.ftruncate(part, 9000)
		os.pwrite(part, b"end", 20000)
	END
	cmp log <(seq 400)
	python3 - <<-'END'
		want = bytearray(20003)
		for at in (5000, 0, 4095, 12288, 1):
		    want[at:at + 3000] = b"abc" * 1000
		want[9000:20000] = bytes(11000)
		want[20000:] = b"end"
		assert open("parts", "rb").read() == want
	END
	eq "$(inside 'sha256sum </work/parts')" "$(sha256sum <parts)"
}
