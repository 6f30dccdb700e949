# browser/: what fails, fails in the write, under its own errno and in words.
# runs-as: root user
load ../lib/helper
load ../lib/browser

setup() { setup_browser; }

@test "navigations that fail, and the one after" {
	ask goto "$PAGES/"
	refused goto http://127.0.0.1:7999/ ECONNREFUSED
	ask goto "$PAGES/two"
	refused goto http://no.such.name.invalid/ EHOSTUNREACH
	ask goto "$PAGES/two"
	refused goto "$PAGES/loop" ELOOP
	refused goto "$PAGES/reset" ECONNRESET
	refused goto "https://127.0.0.1:8000/" EPROTO
	refused goto http://127.0.0.1:9/ EINVAL
	refused goto javascript:1 EINVAL
	refused goto 'http://[/' EINVAL
	refused goto "$PAGES/auth" EACCES
	refused goto '{"url":"'"$PAGES/hang"'","timeout":400}' ETIMEDOUT
	refused goto '{"url":"x","waituntil":"load"}' EINVAL
	refused goto '{"url":1}' EINVAL
	ask goto "$PAGES/"
}

@test "a navigation that fails is told in words" {
	refused goto http://127.0.0.1:7999/ ECONNREFUSED
	eq "$(cat "$D/error")" "browser/goto: http://127.0.0.1:7999/: the connection was refused (net::ERR_CONNECTION_REFUSED) (ECONNREFUSED)"
	refused goto http://no.such.name.invalid/ EHOSTUNREACH
	has_text "$D/error" 'http://no.such.name.invalid/: there is no host of that name'
	refused goto http://127.0.0.1:9/ EINVAL
	has_text "$D/error" 'browsers do not connect to that port'
}

@test "options that make no sense are told at once, and nothing hangs or dies of them" {
	ask goto "$PAGES/"
	refused screenshot '{"quality":50}' EINVAL
	refused screenshot '{"type":"jpeg","quality":500}' EINVAL
	refused screenshot '{"clip":{"x":0,"y":0,"width":0,"height":5}}' EINVAL
	refused screenshot '{"clip":{"x":-9000,"y":0,"width":5,"height":5}}' EINVAL
	refused screenshot '{"clip":{"x":"a"}}' EINVAL
	refused screenshot '{"clip":5}' EINVAL
	has_text "$D/error" '"clip" must be an object'
	refused mouse 'move 1e99 3' EINVAL
	refused mouse 'wheel 0 -1e99' EINVAL
	for count in 1e9 -1 0 1.5; do
		refused click '{"selector":"#b","clickCount":'$count'}' EINVAL
	done
	refused goto '{"url":"'"$PAGES/"'","timeout":1e10}' EINVAL
	refused wait url EINVAL
	ask click '#b'
	eq "$(cat "$B/title")" clicked
}

@test "what is no URL is told at once, and the page stays" {
	ask goto "$PAGES/two"
	for url in 'ht!tp://x' 'http://' 'http://[::1' 'http://a b/' 'two words' javascript:1 'http:///two' \
		/two '?x' 'http://127.0.0.1:99999/' 127.0.0.1:99999 ://x foo://bar mailto:a@b; do
		refused goto "$url" EINVAL
		eq "$(cat "$B/url" "$B/title" "$B/status" | tr '\n' ' ')" "$PAGES/two Two 200 " "after $url"
	done
	refused pages/new 'ht!tp://x' EINVAL
	refused pages/new '{"url": "/", "more": 1}' EINVAL
	eq "$(ls "$B/pages" | tr '\n' ' ')" "1 active new "
	refused goto localhost:3000 ECONNREFUSED
	refused goto 'example.com/path?to=http://x/' EHOSTUNREACH
	ask goto file:
	eq "$(cat "$B/status")" null
}

# shown FILE: url, title and status there.
shown() { of "$1" '"\(.url) \(.title) \(.status)"'; }

@test "url, title and status are those of what the tab shows, after a failure, too" {
	ask goto "$PAGES/404"
	refused goto http://127.0.0.1:7999/ ECONNREFUSED
	eq "$(cat "$B/url" "$B/title" "$B/status" | tr '\n' ' ')" "http://127.0.0.1:7999/ 127.0.0.1 null "
	eq "$(shown result.json)" "http://127.0.0.1:7999/ 127.0.0.1 null"
	eq "$(shown goto)" "http://127.0.0.1:7999/ 127.0.0.1 null"
	ask goto "$PAGES/204"
	eq "$(shown goto)" "http://127.0.0.1:7999/ 127.0.0.1 204"
	eq "$(cat "$B/title" "$B/status" | tr '\n' ' ')" "127.0.0.1 null "
	refused goto http://no.such.name.invalid/x EHOSTUNREACH
	eq "$(shown result.json)" "http://no.such.name.invalid/x no.such.name.invalid null"
	ask goto "$PAGES/two"
	refused goto '{"url":"'"$PAGES/hang"'","timeout":400}' ETIMEDOUT
	eq "$(shown result.json)" "$PAGES/two Two 200"
	ask goto "$PAGES/links"
	ask click '#here'
	eq "$(shown click)" "$PAGES/links#here Links 200"
	ask click '#missing'
	eq "$(shown click)" "$PAGES/404 nothing 404"
	eq "$(cat "$B/url" "$B/title" "$B/status" | tr '\n' ' ')" "$PAGES/404 nothing 404 "
	ask goto "$PAGES/nothing-at-all"
	eq "$(of goto .status)" 404
	eq "$(cat "$B/url" "$B/status" | tr '\n' ' ')" "$PAGES/nothing-at-all 404 "
}

@test "upload to what takes no file is refused, long before the timeout" {
	ask goto "$PAGES/"
	echo x >"$D/files/work/x"
	refused upload $'#b\t/work/x' EINVAL
	has_text "$D/error" "#b is no file input and opens no file chooser"
	ask upload $'#f\t/work/x'
	eq "$(cat "$B/title")" x:2
}

@test "what is a success: 404, 204, downloads, no scheme, about:, data:" {
	ask goto "$PAGES/404"
	eq "$(of goto .status)" 404
	ask goto 127.0.0.1:8000/two
	ask goto "$PAGES/204"
	eq "$(of goto .status)" 204
	eq "$(cat "$B/url")" "$PAGES/two"
	ask goto "$PAGES/download"
	eq "$(of goto .download)" 'evil name.bin'
	wait_for is_file "$B/downloads/evil name.bin"
	eq "$(cat "$B/downloads/evil name.bin")" 12345
	ask goto about:blank
	eq "$(of goto .status)" null
	ask goto 'data:text/html,<title>d</title>'
	eq "$(of goto .title)" d
	ask goto "$PAGES/json"
	eq "$(of goto .status)" 200
	ask goto "$PAGES/pdf"
	eq "$(of goto .status)" 200
	ask goto http://u:p@127.0.0.1:8000/auth
	eq "$(of goto .title)" authorized
}

@test "elements: none, several, hidden, disabled, covered, stale, no selector" {
	ask goto "$PAGES/"
	ask timeout 600
	refused click '#nothing' ENOENT
	refused click .d ENOTUNIQ
	match "$(cat "$D/error")" 'resolved to 2 elements.*class="d".*class="d"'
	refused click '#hidden' EBUSY
	refused click '#disabled' EBUSY
	refused click '#covered' EBUSY
	match "$(cat "$D/error")" 'intercepts pointer events'
	refused click ref=e999 ESTALE
	refused click 'div[' EINVAL
	refused click 'foo=bar' EINVAL
	refused fill $'#b\tx' EINVAL
	refused select $'#s\tThree' ENOENT
	refused key NoSuchKey EINVAL
	refused mouse 'jump 1 1' EINVAL
	refused upload $'#f\t/nowhere' ENOENT
	refused wait '{"selector":"#never","timeout":300}' ETIMEDOUT
	refused wait '{"url":"**/never","timeout":300}' ETIMEDOUT
	refute has_text "$D/error" ==
	ask timeout 20000
	ask goto "$PAGES/detach"
	refused click '#gone' ENOENT
	ask goto "$PAGES/bodies"
	match "$(cat "$B/snapshot")" one
}

@test "file: is the sandbox's own tree, and nothing of the host's" {
	echo mine >"$D/files/work/mine"
	echo host >"$T/host"
	ask goto file:///work/mine
	eq "$(cat "$B/text")" mine
	refused goto "file://$T/host" ENOENT
	ask goto file:///etc/passwd
	eq "$(head -n 1 "$B/text")" "$(head -n 1 "$D/files/etc/passwd")"
}

@test "a request's own timeout is longer than the default, too" {
	ask goto "$PAGES/"
	ask timeout 1000
	refused goto "$PAGES/slow?s=3" ETIMEDOUT
	ask goto '{"url":"'"$PAGES/slow?s=3"'","timeout":30000}'
	eq "$(of goto .status)" 200
}

@test "evaluate tells values apart and always gives JSON" {
	ask goto "$PAGES/"
	while IFS='|' read -r script want; do
		ask evaluate "$script"
		eq "$(jq -c . "$B/evaluate")" "$want" "$script"
	done <<'END'
1+1|{"value":2}
undefined|{"value":null,"type":"undefined"}
10n|{"value":"10","type":"bigint"}
NaN|{"value":null,"type":"NaN"}
(()=>1)|{"value":null,"type":"function","description":"()=>1"}
var a={};a.a=a;a|{"value":{"a":{"$type":"cycle","value":"/"}}}
const q=1;q|{"value":1}
const q=2;q|{"value":2}
return 5|{"value":5}
await 6|{"value":6}
Promise.resolve([1n])|{"value":[{"$type":"bigint","value":"1"}]}
END
	refused evaluate 'throw new Error("boo")' EREMOTEIO
	eq "$(of evaluate .error.message)" 'Error: boo'
	refused evaluate 'Promise.reject("why")' EREMOTEIO
	refused evaluate 'syntax(((' EREMOTEIO
	ask evaluate '"x".repeat(5e6)'
	eq "$(of evaluate '.value|length')" 5000000
}

@test "what never ends is stopped, and the next request works" {
	ask goto "$PAGES/"
	ask timeout 500
	refused evaluate 'for(;;){}' ETIMEDOUT
	refused click '#spin' ETIMEDOUT
	ask timeout 30000
	ask goto "$PAGES/two"
	start_interruptible sh -c "echo '$PAGES/hang' >'$B/goto'"
	wait_for blocked "$PID" sh
	kill -INT "$PID"
	wait_for ended_pid "$PID"
	eq "$(cat "$D/error")" "browser/goto: its writer was interrupted (EINTR)"
	ask goto "$PAGES/"
	eq "$(cat "$B/title")" Home
}

@test "one who goes on after an interrupt can close" {
	ask goto "$PAGES/"
	run timeout 20 "$HELPERS/fsop" alarm 500 open "$B/goto" w write "$PAGES/hang
" close
	eq "$status ${lines[1]}" '0 write EINTR'
	match "${lines[2]}" '^close '
	ask goto "$PAGES/"
}

@test "a page too tall for one image is refused, a tall one is whole" {
	ask goto "$PAGES/tall?h=100000"
	refused screenshot full EFBIG
	ask goto "$PAGES/tall?h=20000"
	ask screenshot full
	ask goto '{"url":"'"$PAGES/font"'","waitUntil":"commit"}'
	ask screenshot ''
}

@test "certificates, credentials" {
	need openssl
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
		-keyout "$T/key" -out "$T/cert" 2>/dev/null
	cat "$T/key" "$T/cert" >"$D/files/work/pem"
	serve_pages 8443 /work/pem
	refused goto https://127.0.0.1:8443/ EKEYREJECTED
	ask config.json '{"ignore_tls": true, "credentials": {"username": "u", "password": "p"}, "headless": true}'
	ask goto https://127.0.0.1:8443/
	ask goto "$PAGES/auth"
	eq "$(of goto .title)" authorized
}
