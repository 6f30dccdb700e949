# ports/: servers in the sandbox, reachable from the host's loopback.
# runs-as: root user single rootfs
load ../lib/helper

# serve KIND ADDRESS PORT: starts a server in the sandbox and waits until it is seen.
serve() {
	cp "$TEST_LIB/tcp.py" "$D/files/work/"
	start_run "exec python3 /work/tcp.py serve $1 $2 $3"
	wait_for is_file "$D/ports/$3"
}

tcp() { python3 "$TEST_LIB/tcp.py" "$@"; }
number() { sed -E 's|.*:([0-9]+)/$|\1|' "$D/ports/$1"; }
refused() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
closed() { [[ $(jq '.ports | length' "$D/status.json") == 0 ]]; }
none_listed() { [[ -z $(ls "$D/ports") ]]; }
fds() { ls "/proc/$(daemon_pid)/fd" | wc -l; }

@test "a server is listed, and its URL reaches it" {
	eq "$(ls "$D/ports")" ""
	serve hello 127.0.0.1 8080
	eq "$(ls "$D/ports")" 8080
	url=$(cat "$D/ports/8080")
	match "$url" '^http://127[.]0[.]0[.]1:[0-9]+/$'
	eq "$(curl -sS "$url")" hello
	eq "$(cat "$D/ports/8080")" "$url"
	eq "$(jq -r '.ports[] | "\(.port) \(.url)"' "$D/status.json")" "8080 $url"
}

@test "stat does not open it, and tells how long the URL will be" {
	serve hello 0.0.0.0 8080
	size=$(stat -c %s "$D/ports/8080")
	ls -l "$D/ports" >/dev/null
	eq "$(jq -c .ports "$D/status.json")" '[]'
	eq "$(wc -c <"$D/ports/8080")" "$size"
	eq "$(stat -c %s "$D/ports/8080")" "$size"
}

@test "servers on any address and on IPv6" {
	serve hello 0.0.0.0 8001
	serve hello ::1 8002
	serve hello :: 8003
	serve hello 127.0.0.5 8004
	eq "$(ls "$D/ports" | tr '\n' ' ')" "8001 8002 8003 8004 "
	for port in 8001 8002 8003 8004; do eq "$(curl -sS "$(cat "$D/ports/$port")")" hello; done
}

@test "it listens on the loopback only" {
	serve hello 0.0.0.0 8080
	port=$(number 8080)
	grep -q "$(printf '0100007F:%04X 00000000:0000 0A' "$port")" /proc/net/tcp
	refute grep -q "$(printf '00000000:%04X 00000000:0000 0A' "$port")" /proc/net/tcp
	refute grep -q "$(printf ':%04X [0-9]*:0000 0A' "$port")" /proc/net/tcp6
}

@test "a port of one's choice; one that is in use; words and nonsense" {
	serve hello 127.0.0.1 8080
	free=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
	echo "$free" >"$D/ports/8080"
	eq "$(cat "$D/ports/8080")" "http://127.0.0.1:$free/"
	eq "$(curl -sS "http://127.0.0.1:$free/")" hello
	start python3 "$TEST_LIB/tcp.py" serve deaf 127.0.0.1 0 >taken
	wait_for test -s taken
	eq "$(fsop open "$D/ports/8080" w write "$(cat taken)"$'\n' | grep -o 'EADDRINUSE')" EADDRINUSE
	match "$(cat "$D/error")" "port $(cat taken) of the host is in use"
	eq "$(curl -sS "$(cat "$D/ports/8080")")" hello
	for text in x 65536 -1 '80 81' 999999999999; do
		match "$(fsop open "$D/ports/8080" w write "$text"$'\n')" EINVAL
	done
	echo 0 >"$D/ports/8080"
	refute test "$(number 8080)" = "$free"
	refused "$free"
}

@test "a port that is kept for root" {
	as_root && skip "root may have any port"
	(($(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) > 80)) || skip "port 80 is free for all here"
	serve hello 127.0.0.1 8080
	match "$(fsop open "$D/ports/8080" w write $'80\n')" EACCES
	match "$(cat "$D/error")" 'port 80 of the host is kept for root'
}

@test "rm closes it, with its connections; reading opens it again" {
	serve deaf 127.0.0.1 8080
	port=$(number 8080)
	exec {fd}<>"/dev/tcp/127.0.0.1/$port"
	rm "$D/ports/8080"
	refused "$port"
	run timeout 20 cat <&"$fd"
	refute test "$status" = 124
	exec {fd}>&-
	eq "$(ls "$D/ports")" 8080
	match "$(cat "$D/ports/8080")" ^http
}

@test "it is closed when the server goes" {
	serve hello 127.0.0.1 8080
	port=$(number 8080)
	echo KILL >"$D/out/$ID/kill"
	wait_for gone "$D/ports/8080"
	wait_for refused "$port"
	wait_for closed
	match "$(cat "$D/log")" 'port 8080 closed: nothing listens'
}

@test "another user of the machine may not connect, unless allow_other was given" {
	as_root || skip "only root can be another user"
	as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	serve hello 127.0.0.1 8080
	url=$(cat "$D/ports/8080")
	run as_nobody curl -sS -m 20 "$url"
	refute test "$status" = 0
	has_text "$D/log" 'a connection of user 65534 was refused'
	eq "$(curl -sS "$url")" hello
	umount_sandbox
	mount_sandbox -o allow_other
	serve hello 127.0.0.1 8080
	eq "$(as_nobody curl -sS "$(cat "$D/ports/8080")")" hello
}

@test "names that are no server's" {
	for name in 8080 0 08 65536 99999 x .; do
		[[ $name == . ]] || refute test -e "$D/ports/$name"
	done
	refute bash -c 'echo 9000 >"$1"' bash "$D/ports/8080" 2>/dev/null
	refute test -e "$D/ports/8080"
	refute mkdir "$D/ports/8080" 2>/dev/null
	refute rm "$D/ports/8080" 2>/dev/null
}

@test "what a client has written before it ended its direction arrives, and so does the answer" {
	serve half 127.0.0.1 8080
	eq "$(tcp half "$(number 8080)" 20000000)" True
	eq "$(tcp half "$(number 8080)" 0)" True
}

@test "a reset stays a reset, an end an end" {
	serve reset 127.0.0.1 8080
	serve hello 127.0.0.1 8081
	eq "$(tcp reset "$(number 8080)")" reset
	eq "$(tcp reset "$(number 8081)")" data
}

@test "many connections at once; none is left open" {
	serve echo 127.0.0.1 8080
	port=$(number 8080)
	eq "$(tcp echo "$port" 50)" True
	before=$(fds)
	eq "$(tcp echo "$port" 50)" True
	settled() { (($(fds) <= before + 4)); }
	wait_for settled
}

@test "a server that never reads and never closes holds nothing up" {
	serve deaf 127.0.0.1 8080
	serve hello 127.0.0.1 8081
	mkfifo hold
	start sh -c 'exec python3 "$1" stuff "$2" 30 <hold >stuffed' sh "$TEST_LIB/tcp.py" "$(number 8080)"
	exec {hold}>hold
	wait_for has_text stuffed stuffed
	eq "$(curl -sS -m 20 "$(cat "$D/ports/8081")")" hello
	jq -e . "$D/status.json" >/dev/null
	(($(fds) < 400)) || fail "$(fds) descriptors"
	exec {hold}>&-
}

@test "a slow reader gets all of it" {
	serve pour 127.0.0.1 8080
	eq "$(tcp pour "$(number 8080)")" 67108864
}

@test "a WebSocket's upgrade and frames pass" {
	cat >"$D/files/work/ws.py" <<-'END'
		import base64, hashlib, socket
		s = socket.create_server(("127.0.0.1", 8080))
		while True:
		    c, _ = s.accept()
		    head = c.recv(65536).decode()
		    key = [l.split(": ")[1] for l in head.split("\r\n") if l.lower().startswith("sec-websocket-key")][0]
		    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
		    c.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
		    frame = c.recv(65536)
		    mask, body = frame[2:6], frame[6:]
		    c.sendall(bytes([0x81, len(body)]) + bytes(b ^ mask[i % 4] for i, b in enumerate(body)))
		    c.close()
	END
	start_run 'exec python3 /work/ws.py'
	wait_for is_file "$D/ports/8080"
	python3 - "$(number 8080)" >got <<-'END'
		import socket, sys
		c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		c.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
		head = b""
		while b"\r\n\r\n" not in head:
		    head += c.recv(65536)
		assert b" 101 " in head and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head, head
		c.sendall(bytes([0x81, 0x85, 1, 2, 3, 4]) + bytes(b ^ (i % 4 + 1) for i, b in enumerate(b"hello")))
		print(c.recv(65536)[2:].decode())
	END
	eq "$(cat got)" hello
}

@test "thousands of servers are listed, and each looked at, in the time for a few" {
	cp "$TEST_LIB/tcp.py" "$D/files/work/"
	start_run "exec python3 /work/tcp.py many 2000 5000"
	wait_for has_text "$D/out/$ID/stdout" ready
	# What is read of the kernel's table is bounded; this many it has.
	(($(ls "$D/ports" | wc -l) > 3000)) || fail "$(ls "$D/ports" | wc -l) are listed"
	timeout "$((WAIT_SECONDS / 2))" ls -l "$D/ports" >listed
	(($(wc -l <listed) > 3000)) || fail "$(wc -l <listed) are listed"
	refute grep -q '?' listed
	echo KILL >"$D/out/$ID/kill"
	wait_for none_listed
	refute test -e "$D/ports/2000"
}

@test "net=host: the sandbox's own servers are shown, the host's are not" {
	umount_sandbox
	"$SANDPIT" mount -o net=host "$D" 3>&-
	start python3 "$TEST_LIB/tcp.py" serve hello 127.0.0.1 0 >mine
	wait_for test -s mine
	free=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
	serve hello 127.0.0.1 "$free"
	eq "$(ls "$D/ports")" "$free"
	refute test -e "$D/ports/$(cat mine)"
	eq "$(curl -sS "$(cat "$D/ports/$free")")" hello
}

@test "nothing is left when it is unmounted" {
	serve hello 127.0.0.1 8080
	port=$(number 8080)
	umount_sandbox
	refused "$port"
	mount_sandbox
	eq "$(ls "$D/ports")" ""
}
