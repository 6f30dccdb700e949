# browser/cdp_url and live_url: from outside, with a token, on loopback, shared.
# runs-as: root user
load ../lib/helper
load ../lib/browser

setup() {
	setup_browser
	need curl
}

code() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

@test "the token, the host and the origin are checked on every request" {
	ask goto "$PAGES/"
	url=$(cat "$B/cdp_url")
	eq "$(code "${url}json/version")" 200
	eq "$(code "${url%??}00/json/version")" 403
	eq "$(code -H 'Host: evil.example' "${url}json/version")" 403
	eq "$(code -H 'Origin: http://evil.example' "${url}json/version")" 403
	run curl -s -w '%{num_connects} %{http_code}\n' -o /dev/null -o /dev/null "${url}json/version" "${url%/*/}/x/json/version"
	match "$output" '1 403'
	ask close x
	refute curl -s -m 2 "$url"
}

@test "the port behind cdp_url is not one of ports/" {
	ask goto "$PAGES/"
	eq "$(ls "$D/ports")" 8000
	port=$(inside 'head -n 1 /var/lib/sandpit-browser/profile/DevToolsActivePort')
	refute test -e "$D/ports/$port"
	refute cat "$D/ports/$port" 2>/dev/null
	refute bash -c 'echo 0 >"$1"' bash "$D/ports/$port" 2>/dev/null
	eq "$(code "$(cat "$B/cdp_url")json/version")" 200
	# Without the browser it may be anybody's.
	ask close x
	cp "$TEST_LIB/tcp.py" "$D/files/work/"
	start_run "exec python3 /work/tcp.py serve hello 127.0.0.1 $port"
	wait_for is_file "$D/ports/$port"
}

@test "an outside client shares the pages, and downloads still arrive" {
	ask goto "$PAGES/"
	driver_node -e '
		const { chromium } = require("playwright-core");
		(async () => {
			const browser = await chromium.connectOverCDP(process.argv[1]);
			const page = browser.contexts()[0].pages()[0];
			await page.fill("#i", "outside");
			await browser.close();
		})();' "$(cat "$B/cdp_url")"
	eq "$(value 'document.querySelector("#i").value')" '"outside"'
	ask click '#download'
	wait_for is_file "$B/downloads/evil name.bin"
	eq "$(cat "$B/downloads/evil name.bin")" 12345
}

# The page at live_url in a browser of the host's, with the text of $1 as what is done there: `page`, and
# what follows $1 as process.argv.
look() {
	driver_node -e '
		const { chromium } = require("playwright-core");
		const fs = require("fs");
		(async () => {
			const browser = await chromium.launch({ executablePath: "/usr/bin/chromium",
				chromiumSandbox: false, env: { ...process.env, TMPDIR: process.env.T } });
			const page = await browser.newPage();
			await page.goto(process.argv[1]);
			await page.waitForSelector("canvas");
			await page.waitForFunction(() => !document.getElementById("state").textContent);
			'"$1"'
			await browser.close();
		})();' "$(cat "$B/live_url")" "${@:2}"
}

@test "the live page shows and controls the same browser" {
	need Xtigervnc
	ask config.json '{"headless": false}'
	ask goto "$PAGES/"
	eq "$(of state.json .live)" true
	# Colours other than one, then the keyboard: a click so that the page has it, until the text is there.
	look '
		await page.waitForFunction(() => {
			const canvas = document.querySelector("canvas");
			const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
			return new Set(new Uint32Array(data.buffer)).size > 20;
		});
		await page.click("canvas", { position: { x: 640, y: 500 } });
		fs.writeFileSync(process.argv[2], "#i\n");
		await page.keyboard.type("human");
		const evaluate = process.argv[3];
		for (const end = Date.now() + 20000; Date.now() < end;) {
			const fd = fs.openSync(evaluate, "r+");
			fs.writeSync(fd, "document.querySelector(\"#i\").value");
			const value = JSON.parse(fs.readFileSync(fd, "utf8")).value;
			fs.closeSync(fd);
			if (value === "human")
				break;
		}' "$B/focus" "$B/evaluate"
	eq "$(value 'document.querySelector("#i").value')" '"human"'
}

@test "text of any script is pasted into the live page" {
	need Xtigervnc
	ask config.json '{"headless": false}'
	ask goto "$PAGES/"
	look '
		await page.click("canvas", { position: { x: 640, y: 500 } });
		fs.writeFileSync(process.argv[2], "#i\n");
		await page.evaluate(() => {
			const data = new DataTransfer();
			data.setData("text", "漢字 é😀");
			document.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data }));
		});
		const evaluate = process.argv[3];
		for (const end = Date.now() + 20000; Date.now() < end;) {
			await page.keyboard.press("Control+V");
			const fd = fs.openSync(evaluate, "r+");
			fs.writeSync(fd, "document.querySelector(\"#i\").value");
			const value = JSON.parse(fs.readFileSync(fd, "utf8")).value;
			fs.closeSync(fd);
			if (value)
				break;
		}' "$B/focus" "$B/evaluate"
	match "$(value 'document.querySelector("#i").value')" '漢字 é😀'
}

@test "without a display the live page says which package it needs" {
	ask goto "$PAGES/"
	run cat "$B/live_url"
	match "$output" 'Package not installed'
}
