# Real file servers over the sandbox at $D, on a port of the loopback: nfs-ganesha and diod. They are
# unpacked in $SERVERS where they are not installed.

# find_server NAME DIR...: sets PROGRAM to where it is.
find_server() {
	local name=$1 dir

	shift
	for dir; do
		PROGRAM=$dir/$name
		[[ ! -x $PROGRAM ]] || return 0
	done
	skip "$name is not installed, nor unpacked by make deps"
}

# The libraries that came with the servers.
server_libraries() {
	local dirs=("$SERVERS"/usr/lib/*-linux-gnu "$SERVERS/usr/lib/ganesha" /usr/lib/ganesha)

	(IFS=: && echo "${dirs[*]}")
}

# Where the servers and their clients are: a network namespace of their own, or not. And what the clients
# are run by.
INSIDE=() CLIENT=() NFS4_OPTIONS=
inside_net() { "${INSIDE[@]}" "$@"; }

answers() { inside_net bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"' "$PORT" 2>/dev/null; }
serving() { answers || ended_pid "$SERVER"; }

# serve_at_free_port CMD...: starts a server, by a function that takes $PORT, at a port that is free; sets
# SERVER. A server that finds the port taken ends.
serve_at_free_port() {
	local try

	for try in 1 2 3 4 5 6 7 8; do
		PORT=$((20000 + RANDOM % 12000))
		! answers || continue
		"$@" || return 1
		SERVER=$PID
		wait_for serving || return 1
		! answers || ended_pid "$SERVER" || return 0
	done
	fail "no server came up: $(tail -qn 5 "$T"/*.log)"
}

stop_server() {
	kill "$SERVER"
	wait_for ended_pid "$SERVER"
	wait "$SERVER" 2>/dev/null || true
}

# block N: the N-th fenced block of docs/export.md, so that what stands there is what is tested.
block() {
	awk -v n="$1" '/^```/ { fences++; next } fences == 2 * n - 1' "$TEST_LIB/../docs/export.md" |
		sed "s|/srv/box|$D|"
}

# What finds the unpacked servers' parts, for commands of docs/export.md.
unpacked() { sed "s|$1|$PROGRAM|; s|--dev /dev|--ro-bind-try $SERVERS $SERVERS &|"; }

# With this test's port, and what finds the unpacked server's parts.
ganesha_config() {
	local plugins=("$SERVERS"/usr/lib/*-linux-gnu/ganesha /usr/lib/*-linux-gnu/ganesha)

	[[ -d ${plugins[0]} ]] || plugins=("${plugins[1]}")
	block 1 | sed "s/Protocols = 4;/Protocols = $1;/
		s/NFS_Port = 2049;/NFS_Port = $PORT; MNT_Port = $((PORT + 1)); mount_path_pseudo = true;/
		s|^NFS_CORE_PARAM {|& Plugins_Dir = \"${plugins[0]}\";|
		s|^NFSV4 {|& $NFS4_OPTIONS|"
}

ganesha_command() { block 2 | unpacked /usr/bin/ganesha.nfsd; }

start_ganesha() {
	ganesha_config "$1" >"$T/ganesha.conf"
	echo 'box /box fuse.sandpit rw 0 0' >"$T/mtab"
	start env LD_LIBRARY_PATH="$(server_libraries)" "${INSIDE[@]}" sh -c "cd $T && exec $(ganesha_command)" \
		>>"$T/ganesha.log" 2>&1
}

registered() { ended_pid "$PID" || inside_net test -S /run/rpcbind.sock; }

# A network namespace with a port mapper of its own, which NFS before version 4 cannot do without. It
# changes to a user that only its installation makes; ganesha finds no address where there is none but
# the loopback's.
start_rpcbind() {
	local ready=$T/rpcbind.ready

	find_server rpcbind "$SERVERS/sbin" /sbin /usr/sbin
	{ grep -v ^_rpc: /etc/passwd && echo _rpc:x:65534:65534::/:/bin/false; } >"$T/passwd"
	start env LD_LIBRARY_PATH="$(server_libraries)" unshare --net --mount sh -c '
		ip link set lo up && ip address add 192.0.2.1/32 dev lo && mount -t tmpfs run /run && mkdir /run/rpcbind &&
		mount --bind passwd /etc/passwd && : >"$1" && exec "$0" -f' "$PROGRAM" "$ready"
	wait_for is_file "$ready"
	INSIDE=(nsenter --target "$PID" --net --mount)
	wait_for registered
}

# serve_nfs [VERSION]: 4 unless given. Sets URL for nfs_client.
serve_nfs() {
	local version=${1:-4}

	[[ $version == 4 || ${#INSIDE[@]} != 0 ]] || start_rpcbind || return 1
	find_server ganesha.nfsd "$SERVERS/usr/bin" /usr/bin
	serve_at_free_port start_ganesha "$version" || return 1
	URL="nfs://127.0.0.1/box?version=$version&nfsport=$PORT&mountport=$((PORT + 1))"
}

nfs() { inside_net "${CLIENT[@]}" "$HELPERS/nfs_client" "$URL" "$@"; }
nfs3() { inside_net "$HELPERS/nfs3_calls" "$PORT" $((PORT + 1)) "$@"; }
nfs4() { inside_net "$HELPERS/nfs4_compound" "$PORT" "$@"; }

# at PATH: the words for nfs4 that go there.
at() {
	local part

	printf 'root\nlookup\nbox\n'
	for part in ${1//\// }; do
		printf 'lookup\n%s\n' "$part"
	done
}

# nfs4_at PATH OP...: as nfs4; prints what OP... gave.
nfs4_at() {
	local words

	mapfile -t words < <(at "$1")
	shift
	nfs4 "${words[@]}" "$@" | grep -vE '^(root|lookup) NFS4_OK$'
}

# nfs_handle PATH
nfs_handle() { nfs4_at "$1" getfh | sed -n 's/^getfh NFS4_OK //p'; }

diod_command() { block 3 | sed "s|127.0.0.1:564|127.0.0.1:$PORT|" | unpacked /usr/sbin/diod; }

start_diod() {
	start env LD_LIBRARY_PATH="$(server_libraries)" sh -c "exec $(diod_command)" >>"$T/diod.log" 2>&1
}

serve_9p() {
	find_server diod "$SERVERS/usr/sbin" /usr/sbin
	serve_at_free_port start_diod
}

p9() { "${CLIENT[@]}" "$HELPERS/p9_client" "$PORT" /box "$@"; }

# The rest is for tests that are the same over every protocol.

# export_setup nfs4|nfs3|9p [CMD...]: a sandbox, mounted by CMD, and a server over it; what is missing is told
# first.
export_setup() {
	PROTOCOL=$1
	shift
	make_dirs
	case $PROTOCOL in
	nfs3) need ip nsenter unshare && find_server rpcbind "$SERVERS/sbin" /sbin /usr/sbin ;;&
	nfs*) find_server ganesha.nfsd "$SERVERS/usr/bin" /usr/bin ;;
	9p) find_server diod "$SERVERS/usr/sbin" /usr/sbin ;;
	esac
	[[ $BATS_TEST_DESCRIPTION != *screenshot* ]] || setup_browser
	mounted || "${@:-mount_sandbox}"
	serve
}

# Starts the server, for the first time or again.
serve() {
	case $PROTOCOL in
	nfs3) serve_nfs 3 ;;
	nfs4) serve_nfs 4 ;;
	9p) serve_9p ;;
	esac
}

# remote VERB ARG...: a client; the verbs are those of nfs_client.c and p9_client.c.
remote() {
	if [[ $PROTOCOL == 9p ]]; then
		p9 "$@"
	else
		nfs "$@"
	fi
}

# hold NAME VERB ARG...: a client that has opened its file, reads from $T/text, and waits. release NAME lets it
# go on and sets GOT to what it has said since; vanish NAME kills it.
declare -gA HOLDERS

# An error may have the word in it, too.
opened() { grep -qx open "$T/got.$1"; }
opened_or_ended() { opened "$1" || ended_pid "${HOLDERS[$1]}"; }

hold() {
	local name=$1

	shift
	mkfifo "$T/go.$name"
	: >>"$T/text"
	# Emptied before it is waited for: the word of the last one of this name is not that of this one.
	: >"$T/got.$name"
	remote wait "$T/go.$name" "$@" >>"$T/got.$name" <"$T/text" 3>&- &
	HOLDERS[$name]=$!
	STARTED+=("$!")
	wait_for opened_or_ended "$name"
	opened "$name" || fail "a client for '$*' has opened nothing: $(cat "$T/got.$name")"
}

release() {
	local gate

	# Open until the client has ended: it may not have come to the FIFO yet, or never come.
	exec {gate}<>"$T/go.$1"
	wait_for ended_pid "${HOLDERS[$1]}"
	exec {gate}>&-
	wait "${HOLDERS[$1]}" || true
	GOT=$(tail -n +2 "$T/got.$1")
	rm "$T/go.$1"
}

vanish() { kill_clients "${HOLDERS[$1]}"; }

# kill_clients PID...: those, and what they have started: the clients themselves.
kill_clients() {
	local pid

	for pid; do
		kill -KILL $(pgrep -P "$pid") "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}
