# What every protocol has to bear: odd names, long ways, large directories, full disks, files that are
# gone while they are open, and clients that are. `remote` is a client of the server over the sandbox at $D.

check_names() {
	local long name names

	long=$(printf 'x%.0s' {1..255})
	names=("$long" "$(printf 'é%.0s' {1..127})x" $'\e[2J' -rf ' ' 'a\b' '*' .wh.x .wh..wh..opq 'CON:' .status ctl
		$'\xff\xfe' "${long:3}"$'\xff\xfe\xfd')
	for name in "${names[@]}"; do
		echo "$name" >"$D/files/work/$name"
	done
	for name in "${names[@]}"; do
		remote ls /files/work | grep -qaxF -- "$name"
		remote cat "/files/work/$name" | cmp - "$D/files/work/$name"
	done
	inside 'rm -r /work/* /work/.[!.]*'
	for name in "${names[@]}"; do
		echo new | remote create "/files/work/$name"
		eq "$(inside 'cd /work; for f in ./* ./.[!.]*; do test -e "$f" && cat "$f"; done')" new
		remote mv "/files/work/$name" /files/work/moved
		remote mv /files/work/moved "/files/work/$name"
		eq "$(cat "$D/files/work/$name")" new
		remote rm "/files/work/$name"
		eq "$(ls -A "$D/files/work")" ''
	done
	match "$(remote mkdir "/files/work/x$long")" ENAMETOOLONG
	match "$(remote stat "/files/work/x$long")" ENAMETOOLONG
	eq "$(ls -A "$D/files/work")" ''
}

# deep N: that many directories in one another, made by a command by relative steps; sets NAME to the
# name of each, of 200 bytes.
deep() {
	NAME=$(printf 'd%.0s' {1..200})
	inside "cd /work; for i in \$(seq $1); do mkdir $NAME; cd -P $NAME; done; echo deep >bottom"
}

# A way longer than PATH_MAX: over NFS handle by handle; diod puts ways together, and says what they are.
check_deep() {
	local i way=files/work handle

	deep 40
	case $PROTOCOL in
	9p)
		for i in {1..19}; do way+=/$NAME; done
		match "$(remote stat "$way")" ^40755
		for i in {1..21}; do way+=/$NAME; done
		match "$(remote stat "$way")" ENAMETOOLONG
		match "$(remote cat "$way/bottom")" ENAMETOOLONG
		;;
	nfs3)
		for i in {1..40}; do way+=/$NAME; done
		eq "$(remote cat "/$way/bottom")" deep
		echo new | remote create "/$way/another"
		remote rm "/$way/bottom"
		eq "$(remote_ls "/$way")" 'another '
		;;
	nfs4)
		handle=$(nfs_handle files/work)
		for i in {1..40}; do
			handle=$(nfs4 fh "$handle" lookup "$NAME" getfh | sed -n 's/^getfh NFS4_OK //p')
		done
		match "$(nfs4 fh "$handle" lookup bottom read 0 100)" 'read NFS4_OK deep'
		match "$(nfs4 fh "$handle" create dir another)" 'create NFS4_OK'
		match "$(nfs4 fh "$handle" remove bottom list 0 4000)" another
		for i in {1..40}; do
			handle=$(nfs4 fh "$handle" lookupp getfh | sed -n 's/^getfh NFS4_OK //p')
		done
		eq "$handle" "$(nfs_handle files/work)"
		;;
	esac
	eq "$(find "$D/files/work" -mindepth 1 | wc -l)" 41
	rm -r "$D/files/work/$NAME"
	eq "$(remote_ls /files/work)" ''
	eq "$(inside 'ls -A /work')" ''
}

# That of a file that was open is its own, or none; never another's.
check_replaced() {
	local how old='first content'

	for how in 'rm f; mkdir f; echo other >f/f' 'rm f; echo other >f' 'echo other >g; mv g f' \
		'rm f; ln -s g f; echo other >g' 'rm f; mkfifo f' 'mkdir h; cd /; rm -r work/f; mv work/h work/f'; do
		inside "rm -rf /work/*; echo $old >/work/f"
		hold reader cat /files/work/f
		inside "cd /work; $how"
		release reader
		match "$GOT" "^($old|(ERROR|ESTALE|ENOENT).*)$"
		remote ls /files/work >/dev/null
	done
	for how in inside outside; do
		inside "mkdir -p /work/tree/a/b; echo $old >/work/tree/a/b/f"
		hold reader cat /files/work/tree/a/b/f
		if [[ $how == inside ]]; then
			inside 'rm -r /work/tree; mkdir -p /work/tree/a/b; echo other >/work/tree/a/b/f'
		else
			rm -r "$D/files/work/tree"
			mkdir -p "$D/files/work/tree/a/b"
			echo other >"$D/files/work/tree/a/b/f"
		fi
		release reader
		match "$GOT" "^($old|(ERROR|ESTALE|ENOENT).*)$"
		eq "$(remote cat /files/work/tree/a/b/f)" other
	done
}

# What was open before a restore has what it had, or is gone; the next open has the restored.
check_restored() {
	mkdir "$D/files/work/d"
	echo first >"$D/files/work/d/f"
	echo persist /work >"$D/checkpoint"
	echo second >"$D/files/work/d/f"
	echo second >"$D/files/work/d/g"
	remote cat /files/work/d/f >/dev/null
	hold reader cat /files/work/d/f
	echo restore /work >"$D/checkpoint"
	release reader
	match "$GOT" '^(second|(ERROR|ESTALE|ENOENT).*)$'
	eq "$(remote cat /files/work/d/f)" first
	match "$(remote cat /files/work/d/g)" 'ENOENT|ESTALE'
	eq "$(remote_ls /files/work/d)" 'f '
	echo third | remote write /files/work/d/f
	eq "$(inside 'cat /work/d/f')" third
}

# What was acknowledged is there; what was not, was refused; and all goes on when there is room. On a
# disk of 24 MiB, which setup() has made.
check_full() {
	echo kept | remote create /files/work/kept
	head -c 40000000 /dev/urandom >"$T/big"
	match "$(remote create /files/work/big <"$T/big")" NOSPC
	match "$(head -c 20000 "$T/big" | remote create /files/work/another)" NOSPC
	match "$(head -c 20000 "$T/big" | remote write /files/work/kept)" NOSPC
	(($(stat -c %s "$D/files/work/big") > 10000000))
	cmp -n "$(stat -c %s "$D/files/work/big")" "$T/big" "$D/files/work/big"
	eq "$(stat -c %s "$D/files/work/another")" 0
	status_answers
	remote cat /files/work/big >"$T/read"
	cmp "$T/read" "$D/files/work/big"
	remote rm /files/work/big
	echo again | remote write /files/work/kept
	eq "$(cat "$D/files/work/kept")" again
	remote mkdir /files/work/dir
	remote_put /ctl/run 'echo runs'
	wait_for has_text "$D/out/last/stdout" runs
}

# through_cut BYTES VERB ARG...: by a connection that breaks once so many bytes were sent.
through_cut() {
	local bytes=$1 server=$PORT CLIENT=(timeout 10) PORT URL=${URL:-}

	: >"$T/cut"
	start inside_net python3 "$TEST_LIB/cut.py" "$server" "$bytes" >"$T/cut"
	wait_for test -s "$T/cut"
	PORT=$(cat "$T/cut")
	URL="${URL/nfsport=$server/nfsport=$PORT}&autoreconnect=0"
	shift
	remote "$@"
}

# Whole writes are there, and nothing of the one that was cut; half a JSON object runs nothing.
check_cut() {
	local bytes size

	head -c 1500000 /dev/urandom >"$T/big"
	for bytes in 300 5000 70000 100001 400000 1000000; do
		rm -f "$D/files/work/big"
		refute through_cut "$bytes" create /files/work/big <"$T/big"
		eq "$(remote_ls /files/work)" "$([[ ! -e $D/files/work/big ]] || echo 'big ')"
		size=$(stat -c %s "$D/files/work/big" 2>/dev/null || echo 0)
		((size <= bytes)) || fail "$size bytes are there of $bytes sent"
		((bytes < 100000 || size > bytes / 2)) || fail "only $size bytes are there of $bytes sent"
		((size == 0)) || cmp -n "$size" "$T/big" "$D/files/work/big"
	done
	{ printf '{"cmd": "touch /work/x", "env": {"A": "' && head -c 200000 /dev/zero | tr '\0' x && printf '"}}'; } >"$T/request"
	refute through_cut 100000 write /ctl/run.json <"$T/request"
	printf '{"cmd": "echo whole"}' | remote write /ctl/run.json
	wait_for has_text "$D/out/last/stdout" whole
	stop_server
	eq "$(runs)" 1
	gone "$D/files/work/x"
}
