# Requests of NFS version 3 that no decent client sends. The server hands on to the kernel what is in them,
# so some names lead about where it is; that is in the sandbox, or nowhere.
# runs-as: root
load ../lib/helper
load ../lib/export
load ../lib/export_checks

setup() {
	export_setup nfs3
	LONG=$(printf 'x%.0s' {1..255})
}

# in_dir PATH: the words that go there; in IN.
in_dir() {
	local part

	IN=()
	for part in ${1//\// }; do
		IN+=(go "$part")
	done
}

# nfs3_at PATH OP...: prints what OP... gave.
nfs3_at() {
	in_dir "$1"
	shift
	nfs3 "${IN[@]}" "$@" | grep -v '^go NFS3_OK$'
}

# handle_at PATH
handle_at() { nfs3_at "$1" getfh | sed -n 's/^getfh //p'; }

# statuses OP...: what each gave, in one line.
statuses() { nfs3 "$@" | sed -nE 's/^[a-z]+ (NFS3_|NFS3ERR_|RPC_)?([A-Z_]+).*/\2/p' | tr '\n' ' '; }
statuses_at() {
	in_dir "$1"
	shift
	statuses "${IN[@]}" "$@" | sed -E "s/^(OK ){$((${#IN[@]} / 2))}//"
}

# refused ANSWERS: none of them is a success.
refused() { refute grep -qw OK <<<"$1"; }

# everything NAME: what could make, change or remove it; FILE is one in the directory.
everything() {
	WORDS=(create "$1" unchecked create "$1" guarded create "$1" exclusive mkdir "$1" symlink "$1" target
		mkfifo "$1" save rename "$FILE" "$1" rename "$1" "$FILE" remove "$1" rmdir "$1")
}

lives() {
	eq "$(inside 'echo lives')" lives
	match "$(nfs ls /)" README
	status_mounted
}
status_mounted() { jq -e '.state == "mounted"' "$D/status.json" >/dev/null; }

@test "names that no name can be, in files/" {
	local name FILE=f file

	echo kept >"$D/files/work/f"
	file=$(handle_at files/work/f)
	for name in '' . .. a/b /a ^ ^^ .^ ..^ "x$LONG" "$LONG$LONG" "$(printf 'x%.0s' {1..1200})"; do
		everything "$name"
		refused "$(statuses_at files/work "${WORDS[@]}")"
		refused "$(statuses fh "$file" save)$(statuses_at files/work save link "$name")"
		refused "$(nfs3 fh "$file" save getfh fh "$(handle_at files/work)" link "$name" | grep ^link)"
		eq "$(ls -A "$D/files/work")" f "after $(printf %q "$name")"
	done
	match "$(nfs3_at files/work lookup .)" "$(handle_at files/work)"
	match "$(nfs3_at files/work lookup ..)" "$(handle_at files)"
	match "$(nfs3_at files lookup ..)" "$(nfs3 getfh | cut -d' ' -f2)"
	for name in '' ^ "$LONG" "x$LONG" a/b; do
		refused "$(statuses_at files/work lookup "$name")"
	done
	eq "$(cat "$D/files/work/f")" kept
	lives
}

@test "names of any bytes, in files/" {
	local name FILE=f

	echo kept >"$D/files/work/f"
	for name in "$LONG" $'\xff\xfe' $'\x01\x7f' $'\xed\xa0\x80' "${LONG:1}"$'\xff' ' ' '*' '\'; do
		everything "$name"
		eq "$(statuses_at files/work lookup "$name" "${WORDS[@]}")" \
			'NOENT OK EXIST EXIST EXIST EXIST EXIST OK OK NOENT NOENT '
		eq "$(statuses_at files/work symlink "$name" "$name" mkdir "$name" remove "$name" mkfifo "$name" remove "$name")" \
			'OK EXIST OK OK OK '
		eq "$(statuses fh "$(handle_at files/work/f)" save fh "$(handle_at files/work)" link "$name" remove "$name")" \
			'OK OK '
		eq "$(ls -A "$D/files/work")" f
	done
	# Of this the server takes what is before the NUL.
	eq "$(statuses_at files/work create 'a^b' guarded)" 'OK '
	eq "$(ls -A "$D/files/work")" $'a\nf'
	lives
}

@test "names where there are no files" {
	local dir name FILE before

	inside 'true'
	before=$(find "$D/ctl" "$D/out" "$D/code" "$D/checkpoints" "$D/browser" "$D/ports" | sort)
	for dir in ctl out out/1 code code/python checkpoints browser ports; do
		FILE=$(ls "$D/$dir" | head -n 1)
		for name in '' . .. a/b ../../ctl/new ^ ..^ 'CON:' "$LONG" "x$LONG" $'\xff\xfe' 'a b' ; do
			everything "$name"
			refused "$(statuses_at "$dir" "${WORDS[@]}")"
		done
		for name in '' a/b ^ "$LONG" "x$LONG" $'\xff\xfe' 'a b'; do
			refused "$(statuses_at "$dir" lookup "$name")"
		done
	done
	eq "$(find "$D/ctl" "$D/out" "$D/code" "$D/checkpoints" "$D/browser" "$D/ports" | sort)" "$before"
	eq "$(runs)" 1
	lives
}

# The server hands names with slashes on to the kernel. What they find there is what docs/export.md lets
# it see; see there what it would be otherwise.
@test "names with slashes find nothing of the host" {
	local host=$T/host name before file

	mkdir "$host" "$host/dir"
	echo secret >"$host/secret"
	chmod -R a+rwX "$host"
	echo kept >"$D/files/work/f"
	before=$(find "$host" -printf '%p %s %T@ %C@\n'; stat -c '%n %Z %s' /etc/passwd /etc/hosts /usr /usr/bin /)
	for name in "$host" "../../../../../../..$host" "//$host" "/proc/1/root$host" "/proc/self/root$host"; do
		refused "$(statuses_at files/work lookup "$name/secret" create "$name/new" unchecked create "$name/secret" unchecked \
			create "$name/other" exclusive mkdir "$name/made" symlink "$name/link" x mkfifo "$name/fifo" \
			remove "$name/secret" rmdir "$name/dir" save rename f "$name/moved" rename "$name/secret" taken)"
	done
	refused "$(statuses fh "$(handle_at files/work/f)" save fh "$(handle_at files/work)" link "$host/link")"
	for name in / /usr /usr/bin/env /etc/passwd /etc/shadow /etc/ganesha.conf /dev/null /run /proc /box/..; do
		refused "$(statuses_at files/work lookup "$name" create "$name" unchecked create "$name" guarded \
			mkdir "$name" remove "$name" rmdir "$name" save rename "$name" taken rename f "$name/x")"
	done
	for name in /usr/bin /etc /dev /run /; do
		refused "$(statuses_at files/work create "$name/new" unchecked mkdir "$name/made" symlink "$name/link" x)"
	done
	eq "$(find "$host" -printf '%p %s %T@ %C@\n'; stat -c '%n %Z %s' /etc/passwd /etc/hosts /usr /usr/bin /)" "$before"
	eq "$(ls -A "$D/files/work")" f
	lives
}

@test "reads and writes at odd places" {
	local answers

	echo data >"$D/files/work/f"
	eq "$(nfs3_at files/work/f read 0 100 read 4 100 read 5 100 read 1000 10 read 0 0 read 0 0xffffffff)" \
'read NFS3_OK 5 1 data\x0a
read NFS3_OK 1 1 \x0a
read NFS3_OK 0 1 
read NFS3_OK 0 1 
read NFS3_OK 0 0 
read NFS3_OK 5 1 data\x0a'
	match "$(statuses_at files/work/f read 0x7fffffffffffffff 4 read 0x8000000000000000 1 read 0xffffffffffffffff 10)" \
		'^((OK|FBIG|INVAL) ){3}$'
	# More than it holds is promised, less than it holds, nothing.
	eq "$(statuses_at files/work/f write 0 100 filesync abc write 0 0 filesync '' write 0 0xffffffff filesync abc)" 'INVAL OK INVAL '
	eq "$(nfs3_at files/work/f write 0 1 filesync abc read 0 10)" "$(printf '%s\n' \
		"$(nfs3_at files/work/f write 0 1 filesync abc)" 'read NFS3_OK 5 1 aata\x0a')"
	answers=$(statuses_at files/work/f write 0x7fffffffffffffff 3 filesync abc write 0xffffffffffffffff 3 filesync abc \
		write 0x7ffffffffffffffd 3 unstable abc write 0x8000000000000000 1 datasync a setattr 0x7fffffffffffffff - \
		setattr 0x8000000000000000 - setattr 0xffffffffffffffff -)
	match "$answers" '^((FBIG|INVAL) ){7}$'
	match "$(statuses_at files/work/f commit 0 0 commit 0xffffffffffffffff 0xffffffff commit 1000000 1)" '^(OK|INVAL) (OK|INVAL) (OK|INVAL) $'
	eq "$(od -c -An "$D/files/work/f")" "$(printf 'aata\n' | od -c -An)"
	eq "$(statuses_at files/work/f write 0x100000000 3 unstable far commit 0 0)" 'OK OK '
	eq "$(tail -c 3 "$D/files/work/f") $(stat -c %s "$D/files/work/f")" 'far 4294967299'
	match "$(statuses_at files/work read 0 10 write 0 1 filesync x readlink)" '^ISDIR ISDIR INVAL $'
	lives
}

@test "control files: offsets and counts run nothing by half" {
	match "$(statuses_at ctl/run write 0 100 filesync 'touch /work/x' write 0x7fffffffffffffff 3 filesync abc \
		write 0xffffffffffffffff 3 filesync abc)" '^((INVAL|FBIG) ){3}$'
	eq "$(statuses_at ctl/run write 0 0 filesync '' commit 0 0 commit 0xfffffffffffffff0 0xffffffff setattr 0 -)" 'OK OK INVAL OK '
	statuses_at ctl/run setattr 0x7fffffffffffffff - setattr 1 1.1 >/dev/null
	eq "$(runs)" 0
	eq "$(statuses_at out read 0 10 write 0 1 filesync x commit 0 0)" 'ISDIR ISDIR ISDIR '
	match "$(statuses_at README write 0 1 filesync x setattr 0 -)" '^((ACCES|PERM|ROFS) ){2}$'
	lives
}

@test "a size is set only if the guard is right" {
	local time

	echo data >"$D/files/work/f"
	time=$(nfs3_at files/work/f getattr | cut -d' ' -f6)
	eq "$(statuses_at files/work/f setattr 1 1.1 setattr 0 "${time%.*}.1" setattr 2 0.0)" 'NOT_SYNC NOT_SYNC NOT_SYNC '
	eq "$(cat "$D/files/work/f")" data
	eq "$(statuses_at files/work/f setattr 3 "$time")" 'OK '
	eq "$(cat "$D/files/work/f")" dat
	inside 'echo from inside >>/work/f'
	eq "$(statuses_at files/work/f setattr 0 "$time")" 'NOT_SYNC '
	eq "$(cat "$D/files/work/f")" 'datfrom inside'
}

# Whatever is asked for, what is told is there, and no more than once.
@test "listings from odd cookies, by odd counts" {
	local dir cookie count

	inside 'mkdir /work/d; cd /work/d; for i in $(seq 300); do echo $i >entry$i; done'
	for dir in files/work/d ctl out out/1 code; do
		ls -a "$D/$dir" | sort >"$T/there"
		for cookie in 0 1 3 17 0x7fffffffffffffff 0x8000000000000000 0xffffffffffffffff; do
			for count in 0 1 150 4096 0xffffffff; do
				nfs3_at "$dir" list "$cookie" 0 "$count" list "$cookie" 77 "$count" \
					listplus "$cookie" 0 "$count" "$count" listplus "$cookie" 0 "$count" 100 \
					listplus "$cookie" 78 100 "$count" >"$T/answer"
				match "$(grep -E '^list' "$T/answer" | sort -u)" \
					'^((list|listplus) (NFS3_OK 0x0|NFS3ERR_(INVAL|BAD_COOKIE|TOOSMALL)).?)+$'
				awk '/^list/ { n++ } / / && !/^list/ { print n, $2 }' "$T/answer" | sort >"$T/named"
				eq "$(uniq -d "$T/named")" ''
				eq "$(cut -d' ' -f2 "$T/named" | sort -u | comm -23 - "$T/there")" ''
			done
		done
		nfs3_at "$dir" list 0 0 0xffffffff | sed -n 's/^[0-9]* //p' | sort | cmp - "$T/there"
		nfs3_at "$dir" listplus 0 0 0xffffffff 0xffffffff | sed -n 's/^[0-9]* //p' | sort | cmp - "$T/there"
		touch "$TEST_TMP/beat"
	done
	match "$(statuses_at README list 0 0 1000 listplus 0 0 1000 1000)" '^NOTDIR NOTDIR $'
	lives
}

@test "handles of other lengths, and of random bytes" {
	local handle words=() forged i

	echo data >"$D/files/work/f"
	handle=$(handle_at files/work/f)
	for forged in '' 00 "${handle%??}" "${handle}00" "$handle$handle" "$(printf '00%.0s' {1..28})" \
		"$(printf 'ff%.0s' {1..28})" "$(printf '00%.0s' {1..64})" "$(printf '43%.0s' {1..65})" "$(printf '00%.0s' {1..1000})"; do
		refused "$(statuses fh "$forged" getattr read 0 10 write 0 1 filesync x list 0 0 1000 lookup f create x unchecked \
			remove f commit 0 0 setattr 0 - readlink)"
	done
	for ((i = 0; i < 100; i++)); do
		words+=(fh "$(od -An -N 28 -tx1 /dev/urandom | tr -d ' \n')" getattr read 0 10 setattr 0 -
			fh "${handle:0:26}$(od -An -N 15 -tx1 /dev/urandom | tr -d ' \n')" getattr list 0 0 1000 create x unchecked)
	done
	refused "$(statuses "${words[@]}")"
	eq "$(cat "$D/files/work/f")" data
	eq "$(ls -A "$D/files/work")" f
	lives
}

# Of these some are handles of other files, of the same sandbox: whoever has one could have those as well.
@test "handles with a bit changed" {
	local handle at forged name words

	inside 'echo data >/work/f; echo more >/work/g; echo out'
	for name in files/work/f ctl/run files README; do
		handle=$(handle_at "$name")
		words=()
		for ((at = 0; at < ${#handle}; at++)); do
			forged=${handle:0:at}$(printf %x $((0x${handle:at:1} ^ 1 << at % 4)))${handle:at+1}
			words+=(fh "$forged" getattr read 0 100 list 0 0 4096 lookup f)
		done
		nfs3 "${words[@]}" >>"$T/answers"
	done
	match "$(cat "$T/answers")" 'NFS3ERR_STALE'
	match "$(cat "$T/answers")" 'NFS3ERR_BADHANDLE'
	refute grep -q 'root:\|ganesha\|/dev' "$T/answers"
	eq "$(runs)" 1
	lives
}

@test "handles of what is gone are stale for everything" {
	local file dir live

	inside 'cd /work; echo old >f; mkdir d; touch d/x l'
	file=$(handle_at files/work/f) dir=$(handle_at files/work/d) live=$(handle_at files/work/l)
	inside 'cd /work; rm -r f d; echo other >f; mkdir d; echo new >d/x'
	match "$(statuses fh "$file" getattr read 0 10 write 0 1 filesync x write 0 1 unstable x commit 0 0 setattr 1 - \
		readlink lookup x save fh "$(handle_at files/work)" link linked)" '^(STALE ){9}$'
	match "$(statuses fh "$dir" getattr list 0 0 1000 listplus 0 0 1000 1000 lookup x create y unchecked mkdir y \
		symlink y z mkfifo y remove x rmdir x save rename a b fh "$live" save fh "$dir" link y)" '^(STALE ){12}$'
	eq "$(cat "$D/files/work/f" "$D/files/work/d/x")" $'other\nnew'
	eq "$(ls -A "$D/files/work/d")" x
	lives
}
