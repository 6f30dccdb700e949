# net=proxy: HTTP and HTTPS to the hosts of net_allow, and to nobody else.
# runs-as: root user single
load ../lib/helper

setup() { make_dirs; }

# host_server KIND: a server on the host's loopback; sets PORT.
host_server() {
	start sh -c 'exec python3 "$@" >port' sh "$TEST_LIB/tcp.py" serve "$1" 127.0.0.1 0
	wait_for test -s port
	PORT=$(cat port)
}

mount_proxy() { "$SANDPIT" mount -o net=proxy,net_allow="$1" "$D" 3>&-; }
logged() { grep -qE "$1" "$D/log"; }

# answers FILE: the status lines that the proxy gives to the requests in a file.
answers() {
	cp "$TEST_LIB/tcp.py" "$1" "$D/files/work/"
	inside "python3 /work/tcp.py requests 3128 /work/$(basename "$1")"
}

@test "programs inside find the proxy in their environment" {
	mount_proxy example.org
	eq "$(inside 'echo $http_proxy $https_proxy $HTTP_PROXY $HTTPS_PROXY $no_proxy')" \
		"http://127.0.0.1:3128 http://127.0.0.1:3128 http://127.0.0.1:3128 http://127.0.0.1:3128 localhost,127.0.0.1,::1"
	echo 'http_proxy=' >"$D/ctl/env"
	eq "$(inside 'echo "<$http_proxy>"')" '<>'
	eq "$(ls "$D/ports")" ""
}

@test "a host that is named is reached: GET, POST, chunked and large" {
	host_server http
	mount_proxy 127.0.0.1
	eq "$(inside "curl -sS http://127.0.0.1:$PORT/a?b")" "GET /a?b 127.0.0.1:$PORT "
	eq "$(inside "curl -sS -d body http://127.0.0.1:$PORT/")" "POST / 127.0.0.1:$PORT body"
	eq "$(inside "curl -sS -H 'Transfer-Encoding: chunked' -d body http://127.0.0.1:$PORT/")" "POST / 127.0.0.1:$PORT body"
	eq "$(inside "head -c 3000000 /dev/zero >/work/f; curl -sS --data-binary @/work/f http://127.0.0.1:$PORT/ | wc -c")" $((3000000 + 24 - 5 + ${#PORT}))
	eq "$(inside "curl -sS http://127.0.0.1:$PORT/big | wc -c")" 33554432
	eq "$(inside "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"http://127.0.0.1:$PORT/p\").read().decode(), end=\"\")'")" "GET /p 127.0.0.1:$PORT "
}

@test "HTTPS goes through a tunnel" {
	need openssl
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=localhost 2>/dev/null
	cat key cert >pem
	start sh -c 'exec python3 "$@" >port' sh "$TEST_LIB/tcp.py" tls 0 pem
	wait_for test -s port
	PORT=$(cat port)
	mount_proxy localhost
	eq "$(inside "curl -sSk https://localhost:$PORT/a")" "GET /a localhost:$PORT "
	eq "$(inside "curl -sSk https://localhost:$PORT/big | wc -c")" 33554432
}

@test "a tunnel carries HTTPS and HTTP only, unless its port is named" {
	host_server echo
	cat >tunnel.py <<-'END'
		import socket, sys
		c = socket.create_connection(("127.0.0.1", 3128))
		c.sendall(b"CONNECT 127.0.0.1:%s HTTP/1.1\r\n\r\n" % sys.argv[1].encode())
		print(c.recv(100).split()[1].decode())
		c.sendall(sys.argv[2].encode())
		print(c.recv(100))
	END
	mount_proxy 127.0.0.1
	cp tunnel.py "$D/files/work/"
	eq "$(inside "python3 /work/tunnel.py $PORT 'SSH-2.0-x'")" $'200\nb\'\''
	logged "ended CONNECT 127[.]0[.]0[.]1:$PORT: it carries neither HTTPS nor HTTP"
	eq "$(inside "python3 /work/tunnel.py $PORT 'GET / HTTP'")" $'200\nb\'GET / HTTP\''
	umount_sandbox
	mount_proxy "127.0.0.1=$PORT"
	eq "$(inside "python3 /work/tunnel.py $PORT 'SSH-2.0-x'")" $'200\nb\'SSH-2.0-x\''
}

@test "nobody else is: hosts, ports, addresses" {
	host_server http
	mount_proxy "127.0.0.1:$(uname -n):*.example.org"
	for url in http://example.com/ http://localhost:$PORT/ http://127.0.0.2:$PORT/ \
		http://[::1]:$PORT/ http://example.org/ http://127.0.0.1:25/ http://127.0.0.1:6667/; do
		eq "$(inside "curl -sS -g --noproxy '' -x http://127.0.0.1:3128 -o /dev/null -w '%{http_code}' '$url'")" 403 "$url"
	done
	for host in example.com:443 127.0.0.1:25 127.0.0.1:6667; do
		eq "$(inside "curl -sS --noproxy '' -x http://127.0.0.1:3128 -o /dev/null -w '%{http_connect}' https://$host/ || true" 2>/dev/null)" 403 "$host"
	done
	logged 'refused http://example[.]com:80: net_allow does not name'
	logged 'refused CONNECT 127[.]0[.]0[.]1:25'
	# There is no way around it.
	refute inside "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'"
	refute inside "curl -sS --noproxy '*' http://127.0.0.1:$PORT/"
}

@test "a name that stands for this machine is refused unless its address is named" {
	address=$(getent ahosts "$(uname -n)" | head -n 1 | cut -d' ' -f1)
	[[ -n $address ]] || skip "the machine's name has no address"
	host_server http
	mount_proxy "$(uname -n)"
	eq "$(inside "curl -sS -o /work/body -w '%{http_code}' http://$(uname -n):$PORT/")" 403
	match "$(cat "$D/files/work/body")" 'none of the public internet'
}

@test "a server that is not there, a name that does not exist" {
	mount_proxy "127.0.0.1:*.invalid"
	free=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
	eq "$(inside "curl -sS -o /work/body -w '%{http_code}' http://127.0.0.1:$free/")" 502
	match "$(cat "$D/files/work/body")" 'Connection refused'
	eq "$(inside "curl -sS -o /dev/null -w '%{http_code}' http://no.invalid/")" 502
}

@test "bad requests get a clear answer each" {
	mount_proxy example.org
	cat >requests <<-'END'
		GET / HTTP/1.1\r\n\r\n
		---
		\x00\x01\x02\xff\r\n\r\n
		---
		GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n
		---
		GET http://a@example.org/ HTTP/1.1\r\n\r\n
		---
		GET gopher://example.org/ HTTP/1.1\r\n\r\n
		---
		CONNECT example.org HTTP/1.1\r\n\r\n
		---
		CONNECT example.org:25 HTTP/1.1\r\n\r\n
		---
		GET http://127.1/ HTTP/1.1\r\n\r\n
		---
		GET http://2130706433/ HTTP/1.1\r\n\r\n
		---
		GET http://evil.example/\r\nHost: example.org\r\n\r\n
	END
	cut -d' ' -f2 <<<"$(answers requests)" >got
	eq "$(tr '\n' ' ' <got)" "400 400 400 400 501 400 403 403 403 400 "
	logged 'proxy: refused a request: '
}

@test "heads that do not end: too large, and too slow" {
	mount_proxy example.org
	{ printf 'GET http://example.org/ HTTP/1.1\\r\\n'; for i in $(seq 3000); do printf 'X-%d: xxxxxxxxxxxxxxxx\\r\\n' "$i"; done; } >bomb
	match "$(answers bomb)" ' 431 '
	# 20 that never end and one behind them, which is answered meanwhile.
	cat >"$D/files/work/slow.py" <<-'END'
		import socket
		all = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(20)]
		for c in all:
		    c.sendall(b"GET http://exam")
		c = socket.create_connection(("127.0.0.1", 3128))
		c.sendall(b"GET http://other.example/ HTTP/1.1\r\n\r\n")
		print(c.recv(100).split()[1].decode(), flush=True)
		print(sum(b" 408 " in c.recv(100) for c in all))
	END
	eq "$(inside 'python3 /work/slow.py')" $'403\n20'
}

@test "a flood of refused requests: few lines in the log, no descriptors left" {
	mount_proxy example.org
	cat >"$D/files/work/flood.py" <<-'END'
		import socket
		for i in range(500):
		    c = socket.create_connection(("127.0.0.1", 3128))
		    c.sendall(b"GET http://other.example/ HTTP/1.1\r\n\r\n")
		    while c.recv(1000):
		        pass
	END
	before=$(ls "/proc/$(daemon_pid)/fd" | wc -l)
	inside 'python3 /work/flood.py'
	(($(grep -c refused "$D/log") < 200)) || fail "$(grep -c refused "$D/log") lines"
	few() { (($(ls "/proc/$(daemon_pid)/fd" | wc -l) <= before + 8)); }
	wait_for few
}

@test "bad values of net_allow are refused at mount" {
	for value in 'a b' '*' 'a:' ':a' 'a=0' 'a=x' 'a=70000' 'http://a' 'a/b'; do
		run mount_proxy "$value"
		refute test "$status" = 0
		match "$output" net_allow
	done
	mount_proxy '*.example.org:.example.com:a-b.example=8443:10.0.0.1'
}

@test "without net_allow nobody is reached" {
	"$SANDPIT" mount -o net=proxy "$D" 3>&-
	eq "$(inside "curl -sS -o /dev/null -w '%{http_code}' http://example.org/")" 403
	eq "$(jq -r .enabled.net "$D/status.json")" proxy
}
