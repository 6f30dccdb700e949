# files/: real programs at work.
# runs-as: root user
load ../lib/helper

setup() {
	make_dirs
	mount_sandbox
	W=$D/files/workspace
	cd "$W" || return 1
	git config --global user.name tester
	git config --global user.email tester@example.org
	git config --global init.defaultBranch main
}

@test "git: init, commit, status, clone, gc, from outside and inside" {
	git init -q repo
	cd repo
	for i in {1..50}; do echo "$i" >"f$i"; done
	git add .
	git commit -qm first
	eq "$(git status --porcelain)" ""
	inside 'git config --global --add safe.directory "*"; cd /workspace/repo && echo changed > f7 && git -c user.name=x -c user.email=x@x commit -qam inside && git log --oneline | wc -l' >count
	eq "$(cat count)" 2
	rm count
	eq "$(git log -1 --format=%s)" inside
	eq "$(cat f7)" changed
	git gc -q
	git fsck --no-progress
	git clone -q . ../clone
	eq "$(git -C ../clone status --porcelain)" ""
	git checkout -q -b other
	git mv f1 g1
	git commit -qm moved
	git checkout -q main
	git merge -q other
	eq "$(git status --porcelain)" ""
}

@test "tar: out, in, and compared" {
	mkdir -p "$T/src/d/e"
	for i in {1..100}; do head -c $((i * 37)) /dev/urandom >"$T/src/d/$i"; done
	ln -s d/1 "$T/src/l"
	ln "$T/src/d/2" "$T/src/h"
	mkfifo "$T/src/fifo"
	truncate -s 1M "$T/src/sparse"
	chmod 640 "$T/src/d/3"
	touch -d '2001-02-03 04:05:06.7' "$T/src/d/4"
	tar c --format=posix -C "$T" src | tar x
	tar c -C "$T" src | tar d
	tar c --format=posix src | (mkdir "$T/back" && tar x -C "$T/back")
	diff -r --no-dereference "$T/src/d" "$T/back/src/d"
	eq "$(stat -c '%y %a' "$T/back/src/d/4" "$T/back/src/d/3")" "$(stat -c '%y %a' "$T/src/d/4" "$T/src/d/3")"
	eq "$(inside 'cd /workspace/src/d && cat [0-9]* | md5sum')" "$(cd "$T/src/d" && cat [0-9]* | md5sum)"
	inside 'cd /workspace && tar c --format=posix src | tar d'
}

@test "cp -a and diff -r" {
	mkdir -p "$T/src/a/b"
	echo 1 >"$T/src/a/b/c"
	ln -s b/c "$T/src/a/l"
	cp -a "$T/src" copy
	diff -r "$T/src" copy
	cp -a copy "$T/back"
	diff -r "$T/src" "$T/back"
}

@test "vim edits a file, with its swap file, backup and undo" {
	need vim
	echo one >a
	vim -u NONE -es -c 'set backup undofile' -c '%s/one/two/' -c wq a </dev/null
	eq "$(inside 'cat /workspace/a')" two
	vim -u NONE -es -c 'set backupcopy=no writebackup' -c '%s/two/three/' -c wq a </dev/null
	eq "$(inside 'cat /workspace/a')" three
	eq "$(stat -c %u a)" "$(id -u)"
}

@test "vim with its defaults, in a terminal" {
	need vim script
	script -qec "vim '+normal ifrom vim' +wq a" /dev/null </dev/null >/dev/null
	eq "$(inside 'cat /workspace/a')" "from vim"
	eq "$(ls -A)" a
}

@test "sed -i, perl -i, sort -o, tee -a, truncate, install" {
	printf 'b\na\n' >f
	sed -i s/a/A/ f
	perl -i -pe 's/b/B/' f
	sort -o f f
	echo c | tee -a f >/dev/null
	truncate -s -2 f
	install -m 600 f g
	eq "$(inside 'cat /workspace/g; stat -c %a /workspace/g')" $'A\nB\n600'
}

@test "python: shutil, tempfile, os.replace, pathlib" {
	python3 - <<-'END'
		import os, pathlib, shutil, tempfile
		p = pathlib.Path("p")
		(p / "q").mkdir(parents=True)
		(p / "q" / "f").write_text("é")
		shutil.copytree("p", "r")
		shutil.move("r", "s")
		with tempfile.NamedTemporaryFile(dir=".", delete=False) as f:
		    f.write(b"data")
		os.replace(f.name, "t")
		assert pathlib.Path("t").read_bytes() == b"data"
		with tempfile.TemporaryFile(dir=".") as f:
		    f.write(b"x" * 100000)
		    f.seek(0)
		    assert len(f.read()) == 100000
		shutil.rmtree("p")
		assert sorted(os.listdir(".")) == ["s", "t"]
	END
	eq "$(inside 'cat /workspace/s/q/f')" é
}

@test "node: files and streams" {
	need node
	node -e '
		const fs = require("fs");
		fs.mkdirSync("a/b", {recursive: true});
		fs.writeFileSync("a/b/c", "x".repeat(1000000));
		fs.copyFileSync("a/b/c", "d");
		fs.renameSync("d", "e");
		fs.appendFileSync("e", "y");
		if (fs.statSync("e").size !== 1000001) process.exit(1);
		fs.rmSync("a", {recursive: true});'
	eq "$(inside 'tail -c 1 /workspace/e')" y
}

@test "sqlite from both sides" {
	python3 - <<-'END'
		import sqlite3
		db = sqlite3.connect("x.db")
		db.execute("pragma journal_mode=wal")
		db.execute("create table t (a)")
		db.executemany("insert into t values (?)", [(i,) for i in range(1000)])
		db.commit()
		db.close()
	END
	inside "python3 -c 'import sqlite3; db = sqlite3.connect(\"/workspace/x.db\"); db.execute(\"insert into t values (5)\"); db.commit(); print(db.execute(\"select count(*) from t\").fetchone()[0]); db.close()'" >n
	eq "$(cat n)" 1001
	eq "$(python3 -c 'import sqlite3; print(sqlite3.connect("x.db").execute("select count(*), sum(a) from t").fetchone())')" "(1001, 499505)"
}

@test "a build with make and cc, outside and inside" {
	need cc make
	printf '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n' >a.c
	printf 'a: a.c\n\tcc -o a a.c\n' >Makefile
	make -s
	eq "$(./a)" built
	touch a.c
	eq "$(inside 'cd /workspace && make -s && ./a')" built
}

@test "find, du, grep -r, rsync-like walks of the whole tree end" {
	inside 'mkdir -p /work/a/b; mkfifo /work/a/fifo; ln -s / /work/a/root; echo needle > /work/a/b/c'
	eq "$(cd "$D/files/work" && timeout 60 grep -r -l -D skip needle .)" ./a/b/c
	timeout 60 find "$D/files/work" "$D/files/home" "$D/files/root" "$D/files/tmp" >/dev/null
	timeout 60 du -s "$D/files/work" >/dev/null
	timeout 60 ls -lR "$D/files/etc" >/dev/null
}

@test "ten processes work in one directory at once" {
	for w in {1..10}; do
		start bash -c 'for i in {1..10}; do mkdir "$1-$i" && echo "$1" >"$1-$i/f" && mv "$1-$i" "x-$1-$i" && [ "$(cat "x-$1-$i/f")" = "$1" ] && rm -r "x-$1-$i" || echo bad >>"$2"; done' bash "$w" "$T/bad"
	done
	wait "${STARTED[@]}"
	refute test -e "$T/bad"
	eq "$(ls -A)" ""
}
