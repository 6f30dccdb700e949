# The disk below a sandbox fails, or does not answer: it is said, nothing is made up, nobody else waits,
# and all goes on when the disk is back.
# runs-as: root
load ../lib/helper
load ../lib/disk

setup() {
	make_dirs
	faulty_disk
	inside 'mkdir /work/d /work/e; touch /work/d/1 /work/d/2; echo text >/work/f; ln -s f /work/l'
	cd "$D/files/work"
}

# fails WHAT WANT OP...: with the fault, and then without, where the kernel knows nothing yet.
fails() {
	local what=$1 want=$2 got

	shift 2
	request true
	fault "fail $what"
	got=$(fsop "$@" | tr '\n' ',')
	status_answers
	healthy
	eq "$got" "$want," "$* while $what fails"
}

@test "what fails below is EIO, and nothing has happened" {
	fails 'read /work/f' 'open 0,read EIO' open f r read 9
	fails 'write /work/f' 'open 0,write EIO' open f w write new
	fails 'write /work/f' 'truncate EIO' truncate f 1
	fails 'fsync /work/d/1' 'open 0,write 3,fsync EIO' open d/1 w write new fsync
	fails 'fsync /work/d' 'open 0,fsync EIO' open d r,directory fsync
	fails 'getattr /work/f' 'size EIO' size f
	fails 'getattr /work/f' 'open EIO' open f r
	fails 'getattr /work/f' 'open EIO' open f w,creat
	fails 'open /work/f' 'open EIO' open f r
	fails 'opendir /work/d' 'count EIO' count d
	fails 'readdir /work/d' 'count EIO' count d
	fails 'create' 'open EIO' open new w,creat
	fails 'mkdir' 'mkdir EIO' mkdir new
	fails 'mknod' 'mkfifo EIO' mkfifo new
	fails 'symlink' 'symlink EIO' symlink f new
	fails 'readlink' 'readlink EIO' readlink l
	fails 'link' 'link EIO' link f new
	fails 'rename' 'rename EIO' rename f new none
	fails 'unlink' 'unlink EIO' unlink f
	fails 'rmdir' 'rmdir EIO' rmdir e
	fails 'setattr' 'chmod EIO,chown EIO' chmod f 600 chown f 0 0
	fails 'setxattr' 'setxattr EIO' setxattr f user.a b
	fails 'getxattr' 'getxattr EIO' getxattr f user.a
	fails 'statfs' 'statvfs EIO' statvfs .
	eq "$(cat f) $(readlink l) $(ls -A | tr '\n' ' ')" 'text f d e f l '
	eq "$(stat -c %a f)" 644
	eq "$(ls d | tr '\n' ' ')" '1 2 '
	eq "$(inside 'cat /work/f; echo more >>/work/f')" text
	eq "$(cat f)" $'text\nmore'
}

@test "an open file that fails goes on when the disk is back" {
	exec 4<>f
	fault fail read,write /work/f
	refute read -r -u 4 2>/dev/null
	refute echo lost >&4 2>/dev/null
	healthy
	request true
	read -r -u 4 line
	eq "$line" text
	echo kept >&4
	exec 4>&-
	eq "$(cat f)" $'text\nkept'
	eq "$(inside 'cat /work/f')" $'text\nkept'
}

@test "a listing that fails half-way is no short one" {
	inside 'cd /work/d; touch $(seq 1000)'
	mkdir "$T/listing"
	fault fail readdir,getattr /work/d
	refute ls d >"$T/listing/names" 2>"$T/listing/errors"
	match "$(cat "$T/listing/errors")" 'Input/output error'
	refute find . -name 1000 2>>"$T/listing/errors"
	refute tar cf "$T/listing/tar" d 2>>"$T/listing/errors"
	healthy
	eq "$(ls d | wc -l)" 1000
}

@test "a command learns of it, and a run that cannot start says why" {
	fault fail read,write /work/f
	run inside 'cat /work/f'
	match "$output" 'Input/output error'
	fault fail all
	run fsop open "$D/ctl/run" rw write 'echo never' read 10
	eq "$output" $'open 0\nwrite 10\nread [3\\x0a]'
	eq "$(last status) $(last exit_code) $(last cmd)" 'failed 126 echo never'
	match "$(last stderr)" 'Input/output error'
	eq "$(result .status)" failed
	status_answers
	healthy
	eq "$(last stdout)" ''
	eq "$(inside 'echo back')" back
	umount_sandbox
	mount_sandbox -o "state=$T/disk/s"
	eq "$(cat "$D/out/3/cmd") $(cat "$D/out/3/status")" 'echo never failed'
	eq "$(cat "$D/out/4/stdout")" back
}

@test "runs that the index could not take are there after the next that it takes" {
	fault fail write,fsync,create /sandpit.db
	inside 'echo first'
	mkdir "$D/out/named" && fail 'a name was promised that is not kept'
	match "$(cat "$D/error")" 'out.*EIO'
	start_run 'until [ -e /work/go ]; do sleep 0.02; done; echo second'
	eq "$(result '"\(.stdout)\(.exitCode)\(.cmd)"' 2)" $'first\n0echo first'
	healthy
	inside 'echo third'
	touch go
	eq "$(cat "$D/out/3/wait")" 0
	cd "$T"
	umount_sandbox
	mount_sandbox -o "state=$T/disk/s"
	for run in '2 first' '3 second' '4 third'; do
		eq "$(result '"\(.id) \(.stdout)"' "${run% *}")" "$run"
	done
	eq "$(cat "$D/out/2/status") $(cat "$D/out/3/status")" 'exited exited'
}

@test "output that cannot be kept is kept in memory while it is little, and counted" {
	fault fail write,create /runs
	eq "$(inside 'seq 3')" $'1\n2\n3'
	request 'head -c 1M /dev/zero; echo end >&2; exit 4'
	eq "$(result '"\(.exitCode) \(.stdoutBytes) \(.truncated) \(.stderr)"')" '4 1048576 true end'
	status_answers
	healthy
	eq "$(inside 'seq 3')" $'1\n2\n3'
}

@test "a checkpoint that cannot be read or put back changes nothing" {
	echo persist /work >"$D/checkpoint"
	fault fail read /work/f
	echo changed >>f
	request true
	run fsop open "$D/checkpoint" w writex 'persist /work\n'
	match "$output" 'writex EIO'
	match "$(cat "$D/error")" 'SANDBOX_FAILED_OPERATION.*EIO'
	eq "$(ls "$D/checkpoints")" 1
	fault fail write,create,mkdir,rename /
	run fsop open "$D/checkpoint" w writex 'restore /work\n'
	match "$output" 'writex EIO'
	healthy
	request true
	eq "$(cat "$D/files/work/f")" $'text\nchanged'
	echo persist /work >"$D/checkpoint"
	eq "$(ls "$D/checkpoints" | tr '\n' ' ')" '1 2 '
}

@test "a kernel of code/ outlives it" {
	printf 'x = 6 * 7' >"$D/code/python/in"
	fault fail all
	printf 'x' >"$D/code/python/in"
	eq "$(cat "$D/code/python/out/2/results/0.txt")" 42
	printf 'open("/work/f").read()' >"$D/code/python/in"
	match "$(cat "$D/code/python/out/3/error")" 'Input/output error'
	healthy
	printf 'open("/work/f").read()' >"$D/code/python/in"
	eq "$(cat "$D/code/python/out/4/results/0.txt")" "'text\\n'"
}

threads() { ls "/proc/$(daemon_pid)/task" | wc -l; }
at_least() { (($($1) >= $2)); }
at_most() { (($($1) <= $2)); }

# stuck OPS COMMAND: 40 at once, with N for the number, of a disk that answers none of them.
stuck() {
	local i pids=() before began=$SECONDS

	request true
	before=$(threads)
	fault "hold $1 /stuck"
	for i in $(seq 40); do
		bash -c "${2//N/$i}" >"$T/answer.$i" 2>&1 3>&- &
		pids+=($!)
	done
	wait_for at_least threads 40
	eq "$(timeout 5 cat e/other)" other
	timeout 5 ls -l d >/dev/null
	eq "$(timeout 5 "$HELPERS/fsop" open "e/new.$1" w,creat write abc close | tail -n 2 | tr '\n' ' ')" 'write 3 close 0 '
	timeout 5 mkdir "e/dir.$1"
	status_answers
	timeout 5 ls "$D/out" >/dev/null
	((SECONDS - began < 30)) || fail "that took $((SECONDS - began)) s"
	healthy
	for i in "${pids[@]}"; do
		wait "$i"
	done
	wait_for at_most threads "$((before > 12 ? before : 12))"
}

@test "what the disk does not answer delays nobody else" {
	local i

	for i in $(seq 40); do
		echo "$i" >"stuck$i"
		mkdir "stuck.$i"
		touch "stuck.$i/f"
	done
	echo other >e/other
	stuck read 'cat stuckN'
	eq "$(cat "$T"/answer.* | sort -n | tail -n 1)" 40
	stuck getattr 'stat -c %s stuckN'
	stuck write 'echo new >stuckN'
	eq "$(sort -u stuck[0-9]*)" new
	stuck fsync 'echo newer | dd of=stuckN conv=fsync status=none'
	stuck opendir,readdir 'ls stuck.N'
	eq "$(sort -u "$T"/answer.*)" f
	stuck setattr 'chmod 600 stuckN'
	eq "$(stat -c %a stuck[0-9]* | sort -u)" 600
}

@test "removals and renames that the disk does not answer delay nobody elsewhere" {
	mkdir e/other
	touch stuck1 stuck2
	echo other >e/other/f
	fault hold unlink,rename /stuck
	start rm stuck1
	start mv stuck2 d/moved
	wait_for blocked "$PID" mv
	eq "$(timeout 5 cat e/other/f)" other
	timeout 5 touch e/other/g
	timeout 5 mv e/other/g e/other/h
	status_answers
	healthy
	wait_for is_file d/moved
	wait_for gone stuck1
}
