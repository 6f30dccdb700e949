# Clients of an exported sandbox that mean harm, and clients that fail.
# runs-as: root
load ../lib/helper
load ../lib/export
load ../lib/export_checks

setup() { export_setup nfs4; }

# status OP...: the last operation's.
status() { nfs4 "$@" | tail -n 1 | cut -d' ' -f2; }

# status_at PATH OP...
status_at() {
	local words

	mapfile -t words < <(at "$1")
	shift
	status "${words[@]}" "$@"
}

# refused PATH OP...
refused() { match "$(status_at "$@")" '^NFS4ERR_'; }
# no_use OP...
no_use() { match "$(status "$@")" '^NFS4ERR_'; }

lives() {
	eq "$(inside 'echo lives')" lives
	match "$(nfs ls /)" README
}

@test "names that no name can be" {
	local name where handle

	echo kept >"$D/files/work/f"
	for where in '' files files/work out ctl code; do
		handle=$(nfs_handle "$where")
		for name in .. . ../.. a/b / ../../etc/passwd "$T" "$T/x" ''; do
			refused "$where" lookup "$name" getfh
			refused "$where" create dir "$name"
			refused "$where" remove "$name"
			refused "$where" savefh rename "$name" x
			refused files/work savefh rename f "$name"
			refused files/work/f savefh fh "$handle" link "$name"
		done
	done
	rm "$D/files/work/f"
	# A NUL ends a name for the server; what is left of it is still no way out.
	for where in '' files files/work out ctl; do
		refused "$where" lookup '^' getfh
		refused "$where" lookup '..^' getfh
		refused "$where" create dir '..^'
		refused "$where" remove '.^'
	done
	status_at files/work create dir 'a^b' >/dev/null || true
	match "$(ls -A "$D/files/work")" '^a?$'
	eq "$(status_at files/work lookup "$(printf 'x%.0s' {1..256})")" NFS4ERR_NAMETOOLONG
	match "$(status_at files/work create dir $'x\xff\xfe')" '^NFS4(_OK|ERR_INVAL|ERR_BADCHAR)$'
	lives
}

@test "upwards from files/ is the sandbox's root, and from there the server's" {
	local box root

	box=$(nfs4 root lookup box getfh | sed -n 's/^getfh NFS4_OK //p')
	root=$(nfs4 root getfh | sed -n 's/^getfh NFS4_OK //p')
	match "$(nfs4 fh "$(nfs_handle files)" lookupp getfh)" "getfh NFS4_OK $box"
	match "$(nfs4 fh "$box" lookupp getfh)" "getfh NFS4_OK $root"
	eq "$(status fh "$root" lookupp)" NFS4ERR_NOENT
}

# Every bit of the kernel's handle, and some of the server's: stale, or something in this mount.
@test "handles with a bit changed" {
	local handle name forged at bit

	inside 'echo secret >/work/f; echo out'
	for name in files/work/f ctl/run out/1/stdout files; do
		handle=$(nfs_handle "$name")
		for ((at = ${#handle} - 24; at < ${#handle}; at++)); do
			bit=$((1 << RANDOM % 4))
			forged=${handle:0:at}$(printf %x $((0x${handle:at:1} ^ bit)))${handle:at+1}
			nfs4 fh "$forged" size read 0 100 >>"$T/answers" || true
			nfs4 fh "$forged" list 0 4000 >>"$T/lists" || true
		done
	done
	match "$(cat "$T/answers")" 'NFS4ERR_STALE|NFS4ERR_BADHANDLE'
	refute grep root: "$T/answers"
	eq "$(runs)" 1
	lives
}

@test "handles of other lengths and of nothing" {
	local handle

	handle=$(nfs_handle files/work)
	for forged in "${handle%????????}" "${handle%??}" "${handle}00" "$handle$handle" 00 \
		"$(printf '00%.0s' {1..128})" "$(printf 'ff%.0s' {1..128})"; do
		no_use fh "$forged" list 0 4000
	done
	lives
}

@test "writes to control files at far and overlapping offsets" {
	local handle

	handle=$(nfs_handle ctl/run)
	no_use fh "$handle" write 0x7fffffffffffffff stable x
	no_use fh "$handle" write 0xffffffffffffffff stable x
	nfs4 fh "$handle" write 0 unstable 'echo a' write 0x10000000000 unstable 'touch /work/x' commit || true
	handle=$(nfs_handle ctl/run)
	nfs4 fh "$handle" write 4096 unstable 'echo a' write 0 unstable 'touch /work/x' commit || true
	handle=$(nfs_handle ctl/run)
	nfs4 fh "$handle" write 0 unstable 'echo all' write 5 unstable 'overlaid' commit
	wait_for has_text "$D/out/last/cmd" 'echo overlaid'
	wait_for is_file "$D/out/1/exit_code"
	gone "$D/files/work/x"
	eq "$(runs)" 1
	lives
}

# The request is complete or it is nothing: a JSON object that was cut off never runs.
@test "a client that vanishes in the middle of a request" {
	local handle

	mkdir "$D/out/cut"
	handle=$(nfs_handle out/cut/request.json)
	eq "$(status fh "$handle" write 0 unstable '{"cmd": "touch /work/x", ')" NFS4_OK
	eq "$(ls "$D/out/cut")" $'cmd\nrequest.json'
	handle=$(nfs_handle out/cut/request.json)
	eq "$(status fh "$handle" write 0 unstable '{"cmd": "echo whole"}' commit)" NFS4_OK
	wait_for file_is "$D/out/cut/stdout" whole
	stop_server
	gone "$D/files/work/x"
	eq "$(cat "$D/out/cut/cmd")" 'echo whole'
}

@test "a client that vanishes in the middle of a file leaves what it wrote" {
	local handle

	echo before >"$D/files/work/f"
	handle=$(nfs_handle files/work/f)
	eq "$(status fh "$handle" write 0 unstable 'half')" NFS4_OK
	eq "$(cat "$D/files/work/f")" halfre
	eq "$(nfs cat /files/work/f)" halfre
}

# What a server does that has lost its memory: the same data again, under another number.
@test "writes and commits that are repeated" {
	local handle i

	mkdir "$D/out/once"
	handle=$(nfs_handle out/once/cmd)
	for i in 1 2 3 4 5; do
		eq "$(status fh "$handle" write 0 unstable 'echo x >>/work/count')" NFS4_OK
		eq "$(status fh "$handle" write 0 unstable 'echo x >>/work/count')" NFS4_OK
		eq "$(status fh "$handle" commit)" NFS4_OK
		eq "$(status fh "$handle" write 0 stable 'echo x >>/work/count')" NFS4_OK
	done
	wait_for is_file "$D/out/once/exit_code"
	eq "$(cat "$D/files/work/count")" x
	eq "$(status fh "$handle" write 0 stable 'echo other')" NFS4ERR_IO ||
		match "$(cat "$D/error")" EBUSY
	eq "$(runs)" 1
}

@test "a commit runs what was written through another open" {
	local handle

	handle=$(nfs_handle ctl/run)
	eq "$(status fh "$handle" write 0 unstable 'echo committed')" NFS4_OK
	eq "$(runs)" 0
	eq "$(status fh "$handle" commit)" NFS4_OK
	wait_for file_is "$D/out/1/stdout" committed
	eq "$(status fh "$handle" write 0 stable 'echo again')" NFS4_OK
	wait_for file_is "$D/out/2/stdout" again
	eq "$(runs)" 2
}

# A client is whoever it says, and the server is who mounted it, who may do all: the server goes by the
# modes that it sees, with allow_other or without.
@test "another user's requests have the rights that the modes give" {
	local option as=(setpriv --reuid 12345 --regid 12345 --clear-groups "$HELPERS/nfs_client")

	for option in name=one allow_other,name=two; do
		stop_server
		umount_sandbox
		mount_sandbox -o "$option"
		serve_nfs
		echo x >"$D/files/work/secret"
		echo x >"$D/files/work/open"
		chmod 600 "$D/files/work/secret"
		chmod 644 "$D/files/work/open"
		match "$("${as[@]}" "$URL" cat /README)" sandbox
		eq "$("${as[@]}" "$URL" cat /files/work/open)" x
		match "$("${as[@]}" "$URL" cat /files/work/secret)" ACCES
		match "$("${as[@]}" "$URL" write /files/work/open <<<y)" ACCES
		match "$("${as[@]}" "$URL" write /ctl/run <<<'touch /work/x')" ACCES
		match "$("${as[@]}" "$URL" mkdir /out/theirs)" 'ACCES|PERM'
		eq "$(runs)" 0
	done
}

# Entries that stay are listed once each, whatever comes and goes between the parts of the listing.
list_in_parts() {
	local path=$1 bytes=$2 between=$3 cookie=0 part=0 words

	mapfile -t words < <(at "$path")
	: >"$T/listed"
	until grep -qx end "$T/listed"; do
		nfs4 "${words[@]}" list "$cookie" "$bytes" | grep -vE '^(root|lookup|list) ' >"$T/part" || true
		[[ -s $T/part ]] || fail "the listing stopped at $cookie"
		cat "$T/part" >>"$T/listed"
		touch "$TEST_TMP/beat"
		cookie=$(grep -v '^end$' "$T/part" | tail -n 1 | cut -d' ' -f1)
		part=$((part + 1))
		"$between" "$part"
	done
	((part > 3)) || fail "the listing had $part parts only"
	sed 's/^[0-9]* //' "$T/listed" | grep -vx end | grep "$4" | sort >"$T/names"
}

come_and_go() {
	touch "$D/files/work/many/coming-$1"
	rm -f "$D/files/work/many/coming-$(($1 - 1))" "$D/files/work/many/going-$1"
}

@test "listings of 100,000 entries that come and go" {
	inside 'perl -e '\''mkdir "/work/many"; chdir "/work/many";
		open(F, ">", $_) for (map("stays-$_", 1 .. 100000), map("going-$_", 1 .. 1000))'\'
	list_in_parts files/work/many 262144 come_and_go '^stays-'
	eq "$(wc -l <"$T/names")" 100000
	eq "$(uniq -d "$T/names" | wc -l)" 0
}

runs_come_and_go() {
	local id

	mkdir "$D/out/between-$1"
	id=$(ls "$D/out" | grep '^gone-' | head -n 1)
	[[ -z $id ]] || rmdir "$D/out/$id"
}

@test "listings of out/ while runs come and go" {
	local i

	for i in $(seq 100); do
		mkdir "$D/out/gone-$i" "$D/out/kept-$i"
	done
	list_in_parts out 512 runs_come_and_go '^kept-'
	eq "$(wc -l <"$T/names")" 100
	eq "$(uniq -d "$T/names" | wc -l)" 0
}
