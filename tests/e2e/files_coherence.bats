# files/: both sides see each other's changes at once.
# runs-as: root user
load ../lib/helper

setup() {
	make_dirs
	mount_sandbox
	W=$D/files/work
	cd "$W" || return 1
}

@test "size, content, names and modes after a command" {
	for i in {1..20}; do
		echo "$i" >"a$i"
		cat a* >/dev/null
		ls -l >/dev/null
		stat nosuch$i 2>/dev/null || true
		inside "cd /work; echo appended >> a$i; chmod 600 a$i; echo new > nosuch$i; mv a$i b$i; echo $i > a$i"
		eq "$(cat "b$i")" "$i"$'\nappended'
		eq "$(stat -c '%s %a' "b$i")" "$((${#i} + 10)) 600"
		eq "$(cat "a$i" "nosuch$i")" "$i"$'\nnew'
		eq "$(ls | wc -l)" $((3 * i))
	done
}

@test "a rewrite of the same size in the same second" {
	for i in {10..40}; do
		inside "printf $i > /work/a"
		eq "$(cat a)" "$i"
	done
}

@test "while a command runs: a dialogue through files" {
	start_run 'cd /work; for i in $(seq 50); do until test -e ping$i; do :; done; mv ping$i pong$i; done'
	for i in {1..50}; do
		echo "$i" >"ping$i"
		wait_for test -e "pong$i"
		eq "$(cat "pong$i")" "$i"
		refute test -e "ping$i"
	done
	eq "$(cat "$D/out/$ID/wait")" 0
}

@test "an open handle sees what a command appends" {
	echo 1 >a
	exec 7<a
	read -r line <&7
	inside 'echo 2 >> /work/a'
	read -r line <&7
	eq "$line" 2
	eq "$(stat -L -c %s /proc/self/fd/7)" 4
	exec 7<&-
}

@test "a directory handle and a negative entry" {
	refute test -e new
	inside 'mkdir /work/new; echo x > /work/new/f'
	eq "$(cat new/f)" x
	inside 'rm -r /work/new'
	refute test -e new/f
	refute test -e new
}

@test "a file replaced under a reader: the old handle has the old content" {
	echo old >a
	exec 7<a
	inside 'echo new > /work/b; mv /work/b /work/a'
	eq "$(cat a)" new
	eq "$(cat <&7)" old
	exec 7<&-
}

@test "a directory becomes a file, a file becomes a link" {
	mkdir x
	echo f >y
	ls x y >/dev/null
	inside 'cd /work; rmdir x; echo file > x; rm y; ln -s x y'
	eq "$(cat x) $(readlink y) $(cat y)" "file x file"
}

@test "hard links made inside are one file outside" {
	echo 1 >a
	stat a >/dev/null
	inside 'ln /work/a /work/b'
	eq "$(stat -c '%h %i' a)" "$(stat -c '%h %i' b)"
	eq "$(stat -c %h a)" 2
	echo 2 >b
	eq "$(cat a)" 2
}

@test "a process left in the background writes, and readers see it" {
	request '(i=0; until test -e /work/go; do i=$((i+1)); echo $i > /work/n.tmp; mv /work/n.tmp /work/n; done) >/dev/null 2>&1 &'
	wait_for test -e n
	first=$(cat n)
	later() { (($(cat n 2>/dev/null || echo 0) > first)); }
	wait_for later
	: >go
}

@test "inode numbers are stable and unique" {
	mkdir d
	for i in {1..200}; do : >"d/$i"; done
	before=$(stat -c '%n %i' d/*)
	inside 'ls -l /work/d >/dev/null'
	eq "$(stat -c '%n %i' d/*)" "$before"
	eq "$(cut -d' ' -f2 <<<"$before" | sort -u | wc -l)" 200
	eq "$(ls -i d | wc -l)" 200
	eq "$(find d -samefile d/7)" d/7
}
