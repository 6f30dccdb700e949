# browser/: a login, a form and a screenshot, as an SDK's user does it.
# runs-as: root user single
load ../lib/helper
load ../lib/browser

setup() { setup_browser; }

@test "log in, fill a form, look at the result" {
	ask goto "$PAGES/login"
	eq "$(of goto .status)" 200
	eq "$(of goto .title)" Login
	ask type $'input[name=user]\talice'
	ask type $'input[name=pass]\tsecret'
	ask click 'button[type=submit]'
	eq "$(cat "$B/title")" Dashboard
	match "$(cat "$B/url")" '/dashboard\?user=alice&pass=secret$'
	ask screenshot full
	of screenshot .base64Image | base64 -d | cmp - "$D/$(of screenshot .path)"
	ask goto "$PAGES/login"
	eq "$(value 'document.forms.length')" 1
	match "$(cat "$B/content.html")" 'Sign in'
	run fsop open "$B/close" rw write $'x\n' read 100
	eq "${lines[2]}" 'read [{"op":"close","ok":true}\x0a]'
	eq "$(of state.json .state)" stopped
}

@test "type appends, fill replaces, spaces stay" {
	ask goto "$PAGES/"
	ask type $'#i\tabcé漢😀 '
	ask type $'#i\tdef'
	eq "$(value 'document.querySelector("#i").value')" '"abcé漢😀 def"'
	ask fill $'#i\tnew'
	eq "$(value 'document.querySelector("#i").value')" '"new"'
	ask select $'#s\tTwo'
	eq "$(value 'document.querySelector("#s").value')" '"2"'
	ask check '#c'
	eq "$(value 'document.querySelector("#c").checked')" true
}

@test "the handle that wrote reads its own answer" {
	exec {fd}<>"$B/goto"
	echo "$PAGES/two" >&"$fd"
	eq "$(cat <&"$fd")" "{\"url\":\"$PAGES/two\",\"title\":\"Two\",\"status\":200}"
	exec {fd}>&-
	eq "$(jq -c '[.op,.ok,.status]' "$B/result.json")" '["goto",true,200]'
}

@test "reads are taken at open and have their exact size" {
	ask goto "$PAGES/"
	for file in screenshot.png screenshot-full.png page.pdf content.html text snapshot; do
		run fsop open "$B/$file" r size read 16777216 close
		rm -f "$T/copy"
		cp "$B/$file" "$T/copy"
		[[ -s $T/copy ]] || fail "$file is empty"
	done
	cp "$B/screenshot.png" "$T/s.png"
	match "$(head -c 4 "$T/s.png" | od -An -c)" 'P +N +G'
	tar -cf "$T/t.tar" -C "$B" screenshot.png content.html
	mkdir "$T/x"
	tar -xf "$T/t.tar" -C "$T/x"
	match "$(head -c 4 "$T/x/screenshot.png" | od -An -c)" 'P +N +G'
	match "$(cat "$T/x/content.html")" 'Hello'
}
