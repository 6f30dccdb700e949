# browser/pages/: tabs, popups, dialogs, frames, files.
# runs-as: root user
load ../lib/helper
load ../lib/browser

setup() { setup_browser; }

@test "tabs come and go, and numbers are not used again" {
	ask pages/new "$PAGES/"
	eq "$(of pages/new .page)" 1
	ask pages/new "$PAGES/two"
	eq "$(of pages/new .page)" 2
	eq "$(cat "$B/pages/active")" 2
	eq "$(cat "$B/title") $(cat "$B/pages/1/title")" 'Two Home'
	ask pages/active 1
	eq "$(cat "$B/title")" Home
	rmdir "$B/pages/1"
	eq "$(cat "$B/pages/active")" 2
	ask pages/new "$PAGES/"
	eq "$(of pages/new .page)" 3
	refused pages/active 1 ENOENT
}

@test "a tab that is removed is closed, what waits on it ends, and the last one may go" {
	need curl
	in_browser() { curl -s "$(cat "$B/cdp_url")json/list" | jq -r '.[].url' | grep -qxF "$1"; }
	not_in_browser() { ! in_browser "$1"; }
	waits() { grep -qs request_wait "/proc/$1/wchan"; }
	ask goto "$PAGES/"
	ask pages/new "$PAGES/two"
	in_browser "$PAGES/two" || fail "the browser has no such page"
	rmdir "$B/pages/2"
	wait_for not_in_browser "$PAGES/two"
	ask timeout 0
	start bash -c 'echo "await new Promise(() => {})" >"$1/pages/1/evaluate"' bash "$B"
	first=$PID
	start bash -c 'echo "#never" >"$1/pages/1/wait"' bash "$B"
	wait_for waits "$first"
	wait_for waits "$PID"
	rmdir "$B/pages/1"
	wait "$first" "$PID" || true
	has_text "$D/error" 'page 1 was closed (ENXIO)'
	eq "$(jq -c '[.state, .pages]' "$B/state.json")" '["running",0]'
	ask goto "$PAGES/two"
	eq "$(cat "$B/pages/active") $(cat "$B/title")" '3 Two'
}

@test "a popup is named, and its opener takes over when it closes" {
	ask goto "$PAGES/"
	ask click '#popup'
	eq "$(of click .popup)" 2
	wait_for file_is "$B/pages/2/title" Two
	ask pages/active 2
	rmdir "$B/pages/2"
	eq "$(cat "$B/pages/active")" 1
	match "$(cat "$D/log")" 'page 1 opened page 2'
}

@test "a download is named and arrives" {
	ask goto "$PAGES/"
	ask click '#download'
	eq "$(of click .download)" 'evil name.bin'
	wait_for is_file "$B/downloads/evil name.bin"
	rm "$B/downloads/evil name.bin"
	# The session goes on, and one that a redirect leads to is one, too.
	ask cookies.json '[{"name":"a","value":"b"}]'
	ask click '#download'
	ask goto "$PAGES/to-download"
	eq "$(of goto .download)" 'evil name (1).bin'
	wait_for is_file "$B/downloads/evil name (1).bin"
	eq "$(cat "$B/url")" "$PAGES/"
	eq "$(value document.cookie)" '"a=b"'
}

@test "dialogs hold nothing up" {
	ask goto "$PAGES/"
	ask click '#alert'
	eq "$(cat "$B/title")" alerted
	eq "$(of dialog '.type + .message + .answer')" alerthidismiss
	ask dialog 'policy accept'
	ask click '#confirm'
	eq "$(cat "$B/title")" 'confirmed true'
	ask dialog 'policy ask'
	ask click '#confirm'
	eq "$(of click .dialog.type)" confirm
	refused click '#b' EBUSY
	ask dialog dismiss
	wait_for file_is "$B/title" 'confirmed false'
	ask dialog clear
	eq "$(cat "$B/dialog")" ''
	ask goto "$PAGES/leave"
	ask click button
	ask goto "$PAGES/two"
	ask goto "$PAGES/leave"
	ask click button
	ask close x
	eq "$(of state.json .state)" stopped
}

@test "dialogs of a page that still loads hold its load up neither" {
	ask goto "$PAGES/xss"
	eq "$(of goto .status)" 200
	eq "$(cat "$B/title")" xss
	eq "$(jq -r .type "$B/dialog" | tr '\n' ' ')" 'alert confirm prompt '
}

@test "frames: seen and used by their refs" {
	ask goto "$PAGES/frames"
	match "$(cat "$B/snapshot")" 'second page'
	ref=$(grep -oE 'button "inner".*\[ref=[a-z0-9]+\]' "$B/snapshot" | grep -oE 'ref=[a-z0-9]+')
	ask click "$ref"
	match "$(cat "$B/snapshot")" 'button "done"'
	# Of another site, and so in another process.
	ref=$(grep -oE 'button "far".*\[ref=[a-z0-9]+\]' "$B/snapshot" | grep -oE 'ref=[a-z0-9]+')
	ask click "$ref"
	match "$(cat "$B/snapshot")" 'button "pressed"'
	ask goto "$PAGES/two"
	refused click "$ref" ESTALE
}

@test "files are chosen in the sandbox" {
	echo 1234 >"$D/files/work/up.txt"
	ask goto "$PAGES/"
	ask upload $'#f\t/work/up.txt'
	eq "$(cat "$B/title")" up.txt:5
	# What is no file input, but opens a file chooser.
	ask goto "$PAGES/chooser"
	ask upload $'#open\t/work/up.txt'
	eq "$(cat "$B/title")" up.txt
	ask timeout 600
	refused upload $'body\t/work/up.txt' ETIMEDOUT
}

@test "cookies, storage and viewport go out and come back" {
	ask goto "$PAGES/"
	ask cookies.json '[{"name":"a","value":"b"}]'
	eq "$(value document.cookie)" '"a=b"'
	ask evaluate 'localStorage.setItem("k","v")'
	cat "$B/storage.json" >"$T/storage"
	ask evaluate 'localStorage.clear(); document.cookie="a=;max-age=0"'
	cat "$T/storage" >"$B/storage.json"
	eq "$(value 'localStorage.getItem("k")+document.cookie')" '"va=b"'
	ask viewport 800x600
	eq "$(cat "$B/viewport")" 800x600
	refused cookies.json '{"a":' EINVAL
	refused cookies.json '[{"nome":"a"}]' EINVAL
	for state in '{}' '{"cookie":[]}' '{"origins":[{"origin":"x","localStorage":[]}]}' \
		'{"origins":[{"origin":"http://a","localStorage":[{"k":"v"}]}]}'; do
		refused storage.json "$state" EINVAL
	done
	eq "$(value 'localStorage.getItem("k")+document.cookie')" '"va=b"'
}

@test "console and network are lines of JSON" {
	ask goto "$PAGES/404"
	eq "$(jq -r 'select(.type=="document")|.status' "$B/network")" 404
	ask evaluate 'console.log("a\nb")'
	eq "$(jq -r 'select(.type=="log")|.text' "$B/console")" $'a\nb'
	ask console clear
	eq "$(cat "$B/console")" ''
}

@test "requests of two writers run one after another" {
	ask goto "$PAGES/"
	start sh -c "echo 400 >'$B/wait'; date +%s%N >'$T/first'"
	first=$PID
	wait_for blocked "$first" sh
	"$HELPERS/fsop" open "$B/click" w write '#b' close
	date +%s%N >"$T/second"
	wait_for is_file "$T/first"
	eq "$(cat "$B/title")" clicked
	(($(cat "$T/second") + 50000000 > $(cat "$T/first"))) || fail "the second did not wait"
}
