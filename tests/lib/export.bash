# Real file servers over the sandbox at $D, on a port of the loopback: nfs-ganesha and diod. They are
# unpacked in $SERVERS where they are not installed. setup_export makes and mounts the sandbox.

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

# Where the servers and their clients are: a network namespace of their own, or not.
INSIDE=()
inside_net() { "${INSIDE[@]}" "$@"; }

answers() { inside_net bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"' "$PORT" 2>/dev/null; }
serving() { answers || ended_pid "$SERVER"; }

# serve CMD...: starts a server that takes the port from its last argument, at a port that is free;
# sets PORT, SERVER. A server that finds the port taken ends.
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
	wait "$SERVER" 2>/dev/null || true
}

# The block of docs/export.md, with this test's paths.
ganesha_config() {
	local plugins=("$SERVERS"/usr/lib/*-linux-gnu/ganesha /usr/lib/*-linux-gnu/ganesha)

	[[ -d ${plugins[0]} ]] || plugins=("${plugins[1]}")
	cat <<-END
	NFS_CORE_PARAM {
		Protocols = $1;
		Bind_addr = 127.0.0.1;
		NFS_Port = $PORT;
		MNT_Port = $((PORT + 1));
		Enable_NLM = false;
		Enable_RQUOTA = false;
		mount_path_pseudo = true;
		Plugins_Dir = "${plugins[0]}";
	}
	NFSV4 {
		Graceless = true;
		Only_Numeric_Owners = true;
		UseGetpwnam = true;
		RecoveryRoot = "$T/ganesha";
	}
	MDCACHE {
		Dir_Chunk = 0;
	}
	EXPORT {
		Export_Id = 1;
		Path = "$D";
		Pseudo = "/box";
		Protocols = $1;
		Access_Type = RW;
		Squash = None;
		SecType = sys;
		Attr_Expiration_Time = 0;
		FSAL {
			Name = VFS;
		}
	}
	END
}

start_ganesha() {
	ganesha_config "$1" >"$T/ganesha.conf"
	start env LD_LIBRARY_PATH="$(server_libraries)" "${INSIDE[@]}" "$PROGRAM" -F -f "$T/ganesha.conf" \
		-L "$T/ganesha.log" -p "$T/ganesha.pid" -N EVENT >>"$T/start.log" 2>&1
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
	mkdir -p "$T/ganesha"
	serve_at_free_port start_ganesha "$version" || return 1
	URL="nfs://127.0.0.1/box?version=$version&nfsport=$PORT&mountport=$((PORT + 1))"
}

nfs() { inside_net "$HELPERS/nfs_client" "$URL" "$@"; }
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

start_diod() {
	start env LD_LIBRARY_PATH="$(server_libraries)" "${DIOD_IN[@]}" \
		"$PROGRAM" -f -n -c /dev/null \
		-l "127.0.0.1:$PORT" -e "$EXPORT" "${DIOD_ARGS[@]}" >>"$T/diod.log" 2>&1
}

# As docs/export.md has it: where the mount is all that there is, since diod follows `..` out of it.
serve_9p() {
	local file

	find_server diod "$SERVERS/usr/sbin" /usr/sbin
	EXPORT=${EXPORT:-/box}
	DIOD_IN=(bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64
		--ro-bind-try "$SERVERS" "$SERVERS" --dev /dev --bind "$D" /box --die-with-parent)
	for file in passwd group hosts nsswitch.conf; do
		DIOD_IN+=(--ro-bind "/etc/$file" "/etc/$file")
	done
	DIOD_ARGS=("$@")
	serve_at_free_port start_diod
}

p9() { "$HELPERS/p9_client" "$PORT" "$EXPORT" "$@"; }
