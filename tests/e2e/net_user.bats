# net=user towards a network that the test makes: a namespace with servers behind a pair of devices,
# and one that is "the host", in which sandpit is started.
# runs-as: root
load ../lib/helper

setup() {
	make_dirs
	need ip
	[[ -w /dev/net/tun ]] || skip "/dev/net/tun cannot be opened"
	cat >servers.py <<-'END'
		# TCP and UDP echo on port 7, and names: all stand for the first address given.
		import socket, sys, threading
		address = sys.argv[1]
		def tcp(c):
		    while data := c.recv(65536):
		        c.sendall(data)
		    c.close()
		def udp(s, answer):
		    while True:
		        data, peer = s.recvfrom(65536)
		        s.sendto(answer(data), peer)
		def name(q):
		    end = q.index(b"\0", 12) + 5
		    is_a = q[end - 4:end - 2] == b"\0\1"
		    head = q[:2] + b"\x85\x80" + b"\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0"
		    return head + q[12:end] + (b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address) if is_a else b"")
		t = socket.create_server(("0.0.0.0", 7))
		for port, answer in ((7, lambda data: data), (53, name)):
		    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		    s.bind(("0.0.0.0", port))
		    threading.Thread(target=udp, args=(s, answer), daemon=True).start()
		print("ready", flush=True)
		while True:
		    threading.Thread(target=tcp, args=(t.accept()[0],), daemon=True).start()
	END
	start unshare -n sleep 9999
	HOST=$PID
	start unshare -n sleep 9999
	FAR=$PID
	apart() { [[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]; }
	wait_for apart "$HOST"
	wait_for apart "$FAR"
	nsenter -n -t "$HOST" ip link add near type veth peer name far netns "/proc/$FAR/ns/net" ||
		skip "no pair of devices can be made here"
	nsenter -n -t "$HOST" sh -c 'ip link set lo up; ip addr add 10.77.0.1/24 dev near; ip link set near up; ip route add default via 10.77.0.2'
	nsenter -n -t "$FAR" sh -c 'ip link set lo up; ip addr add 10.77.0.2/24 dev far; ip link set far up'
	start sh -c 'exec nsenter -n -t "$1" python3 servers.py 10.77.0.2 >far' sh "$FAR"
	wait_for has_text far ready
}

mount_user() { nsenter -n -t "$HOST" "$SANDPIT" mount -o net=user "$@" "$D" 3>&-; }
reaches_out() {
	eq "$(inside "python3 -c '
import socket
c = socket.create_connection((\"10.77.0.2\", 7), 10)
c.sendall(b\"tcp\"); print(c.recv(9).decode())
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.settimeout(10)
u.sendto(b\"udp\", (\"10.77.0.2\", 7)); print(u.recv(9).decode())'")" $'tcp\nudp'
	inside 'echo nameserver 10.77.0.2 >/etc/resolv.conf'
	eq "$(inside 'getent ahostsv4 some.example | head -n 1 | cut -d" " -f1')" 10.77.0.2
	eq "$(inside "python3 -c '
import socket, threading
c = socket.create_connection((\"some.example\", 7), 10)
threading.Thread(target=lambda: c.sendall(bytes(1 << 20))).start()
got = 0
while got < 1 << 20: got += len(c.recv(65536))
print(got)'")" 1048576
}

# What listens on "the host", and is not to be reached by any of its addresses.
host_is_hidden() {
	start sh -c 'exec nsenter -n -t "$1" python3 "$2" serve hello 127.0.0.1 8099 >near' sh "$HOST" "$TEST_LIB/tcp.py"
	wait_for test -s near
	gateway=$(inside "awk '\$2 == \"00000000\" { print \$3 }' /proc/net/route" | sed -E 's/(..)(..)(..)(..)/0x\4 0x\3 0x\2 0x\1/' | xargs printf '%d.%d.%d.%d\n')
	for address in 127.0.0.1 "$gateway" 10.0.2.2 10.77.0.1; do
		refute inside "python3 -c 'import socket; socket.create_connection((\"$address\", 8099), 2)'" 2>/dev/null
	done
}

# mount_without PROGRAM: that one is hidden in a mount namespace, in which the sandbox is mounted, too.
mount_without() {
	start unshare -m sh -c '[ ! -e "$0" ] || mount --bind /dev/null "$0"; exec "$@"' "/usr/bin/$1" \
		nsenter -n -t "$HOST" "$SANDPIT" mount -f -o net=user "$D"
	daemon=$PID
	D=/proc/$daemon/root$D
	wait_for test -e "$D/README"
	inside true
}

helper_is() { match "$(pgrep -P "$(pgrep -P "$daemon" -x sandpit-net)" -l)" "$1"; }

ends() {
	kill -TERM "$daemon"
	wait_for ended_pid "$daemon"
}

@test "slirp4netns: TCP, UDP and names work, the host's loopback does not answer" {
	need slirp4netns
	mount_without pasta
	helper_is slirp4netns
	reaches_out
	start sh -c 'exec nsenter -n -t "$1" python3 "$2" serve half 0.0.0.0 8081 >half' sh "$FAR" "$TEST_LIB/tcp.py"
	wait_for test -s half
	eq "$(inside "python3 -c '
import socket
c = socket.create_connection((\"10.77.0.2\", 8081), 10)
c.sendall(bytes(3000000)); c.shutdown(socket.SHUT_WR)
print(b\"\".join(iter(lambda: c.recv(65536), b\"\")).decode())'")" '3000000 0'
	host_is_hidden
	ends
}

@test "pasta: TCP, UDP and names work, the host's loopback does not answer" {
	need pasta
	mount_without slirp4netns
	helper_is '^[0-9]+ pas'
	reaches_out
	host_is_hidden
	ends
}

@test "net=none and net=host in such a network" {
	nsenter -n -t "$HOST" "$SANDPIT" mount -o net=none "$D" 3>&-
	refute inside "python3 -c 'import socket; socket.create_connection((\"10.77.0.2\", 7), 2)'" 2>/dev/null
	umount_sandbox
	nsenter -n -t "$HOST" "$SANDPIT" mount -o net=host "$D" 3>&-
	eq "$(inside "python3 -c 'import socket; print(socket.create_connection((\"10.77.0.2\", 7), 10).getpeername()[0])'")" 10.77.0.2
}

@test "net=proxy in such a network: its own address is refused, that of a server if it is named" {
	nsenter -n -t "$HOST" "$SANDPIT" mount -o net=proxy,net_allow=10.77.0.2:10.77.0.3 "$D" 3>&-
	start sh -c 'exec nsenter -n -t "$1" python3 "$2" serve http 0.0.0.0 8080 >web' sh "$FAR" "$TEST_LIB/tcp.py"
	wait_for test -s web
	eq "$(inside 'curl -sS http://10.77.0.2:8080/a')" 'GET /a 10.77.0.2:8080 '
	eq "$(inside 'curl -sS -o /dev/null -w "%{http_code}" http://10.77.0.1:8080/')" 403
}

@test "a server inside is reached through ports/ with net=user, too" {
	mount_user
	cp "$TEST_LIB/tcp.py" "$D/files/work/"
	start_run "exec python3 /work/tcp.py serve hello 0.0.0.0 8080"
	wait_for is_file "$D/ports/8080"
	eq "$(nsenter -n -t "$HOST" curl -sS "$(cat "$D/ports/8080")")" hello
}

@test "the helper ends with the sandbox, however the daemon ends" {
	mount_user
	inside true
	helper=$(pgrep -P "$(pgrep -P "$(daemon_pid)" -x sandpit-net)")
	kill -KILL "$(daemon_pid)"
	wait_for ended_pid "$helper"
	"$SANDPIT" umount "$D" 3>&-
}
