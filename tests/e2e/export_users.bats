# Who may do what over a file server, when the sandbox is an ordinary user's, or the client another one.
# runs-as: root
load ../lib/helper
load ../lib/export

A=$(id -u games)
B=$(id -u nobody)

# as UID CMD...: where users may give allow_other.
as() {
	local uid=$1

	shift
	inside_net setpriv --reuid "$uid" --regid "$(id -g "$uid")" --clear-groups env HOME="$T/a" \
		XDG_STATE_HOME="$T/a/state" XDG_CONFIG_HOME="$T/a/config" XDG_RUNTIME_DIR="$T/a/run" \
		TMPDIR="$T/a/tmp" "$@"
}

# For A, in a mount namespace in which /etc/fuse.conf lets users give allow_other.
setup() {
	make_dirs
	chmod 755 "$T"
	mkdir -p a/{state,config,run,tmp,m}
	chown -R "$A:$(id -g "$A")" a
	D=$T/a/m
	echo user_allow_other >fuse.conf
	start unshare --mount sh -c 'mount --bind fuse.conf /etc/fuse.conf && : >ready && exec sleep 100000'
	INSIDE=(nsenter --target "$PID" --mount)
	wait_for is_file ready
}


mount_as_a() { as "$A" "$SANDPIT" mount -o "net=none$1" "$D" 3>&-; }
umount_as_a() { as "$A" "$SANDPIT" umount "$D"; }
nfs_as() { as "$1" "$HELPERS/nfs_client" "$URL" "${@:2}"; }
p9_as() { as "$1" "$HELPERS/p9_client" "$PORT" /box "${@:2}"; }

# what_of CLIENT UID: what the client may: read README and an open file, read a closed one, run, and make a
# file, which is everybody's right in files/work.
what_of() {
	local as=$1 uid=$2

	"$as" "$uid" cat /README | grep -o 'is a sandbox' || true
	"$as" "$uid" cat /files/work/open
	"$as" "$uid" cat /files/work/closed | cut -d: -f1
	echo "touch /work/by-$uid" | "$as" "$uid" write /ctl/run | cut -d: -f1
	echo text | "$as" "$uid" create "/files/work/made-$uid" | cut -d: -f1
}

fill_files() {
	as "$A" sh -c 'umask 022; echo open >"$1/open"; umask 077; echo closed >"$1/closed"' sh "$D/files/work"
}

is_owner() { # CLIENT UID
	eq "$(what_of "$1" "$2")" $'is a sandbox\nopen\nclosed'
	wait_for as "$A" test -e "$D/files/work/by-$2"
	eq "$(as "$A" cat "$D/files/work/made-$2")" text
}

@test "an ordinary user's sandbox, given with allow_other, over NFS" {
	mount_as_a ,allow_other
	fill_files
	serve_nfs
	is_owner nfs_as "$A"
	is_owner nfs_as 0
	# Its new file is the sandbox's, so that it may not even write it.
	eq "$(what_of nfs_as "$B")" $'is a sandbox\nopen\nEACCES\nEACCES\nEACCES'
	eq "$(as "$A" cat "$D/files/work/made-$B")" ''
	eq "$(as "$A" ls "$D/out")" $'1\n2\nlast'
	stop_server
	umount_as_a
}

@test "without allow_other there is no export" {
	mount_as_a ''
	refute serve_nfs
	match "$(cat "$T/ganesha.log")" 'Permission denied'
	umount_as_a
}

# start_diod_as UID: as start_diod, in the namespace.
start_diod_as() {
	start as "$1" env LD_LIBRARY_PATH="$(server_libraries)" sh -c "exec $(diod_command)" >>"$T/diod.log" 2>&1
}

@test "an ordinary user's sandbox over 9P, served by the user: to nobody else" {
	find_server diod "$SERVERS/usr/sbin" /usr/sbin
	mount_as_a ''
	fill_files
	serve_at_free_port start_diod_as "$A"
	is_owner p9_as "$A"
	for uid in $B 0; do
		match "$(p9_as "$uid" cat /README 2>&1)" 'refuses the export'
		match "$(echo 'touch /work/x' | p9_as "$uid" write /ctl/run 2>&1)" 'refuses the export'
	done
	match "$(cat "$T/diod.log")" 'not permitted'
	refute as "$A" test -e "$D/files/work/x"
	stop_server
	umount_as_a
}

@test "an ordinary user's sandbox, given with allow_other, over 9P by root's server" {
	find_server diod "$SERVERS/usr/sbin" /usr/sbin
	mount_as_a ,allow_other
	fill_files
	serve_at_free_port start_diod_as 0
	is_owner p9_as "$A"
	is_owner p9_as 0
	eq "$(what_of p9_as "$B")" $'is a sandbox\nopen\nEACCES\nEACCES'
	eq "$(as "$A" cat "$D/files/work/made-$B")" text
	stop_server
	umount_as_a
}
