# browser/: what is large or long: pages, files up and down, trees, images; and what glyphs look like.
# runs-as: root user
load ../lib/helper
load ../lib/browser

setup() { setup_browser; }

# The colours of rows of a PNG, each at 10 pixels from the left: pixels FILE ROW...
pixels() {
	python3 - "$@" <<'END'
import sys
from PIL import Image
Image.MAX_IMAGE_PIXELS = None
image = Image.open(sys.argv[1]).convert("RGB")
print(image.size[1], *("%d,%d,%d" % image.getpixel((10, int(row))) for row in sys.argv[2:]))
END
}

need_images() { python3 -c 'import PIL' 2>/dev/null || skip 'python3-pil is not installed'; }

@test "a page of 50 MB is shown and read" {
	ask timeout 110000
	ask goto "$PAGES/big?mb=50"
	eq "$(of goto .title)" big
	cat "$B/content.html" >"$T/content"
	(($(stat -c %s "$T/content") > 50 * 1048576)) || fail "only $(stat -c %s "$T/content") bytes"
	ask screenshot ''
	ask goto "$PAGES/two"
	eq "$(cat "$B/title")" Two
}

@test "a file of 60 MB is uploaded" {
	inside 'head -c 62914560 /dev/zero >/work/large'
	ask goto "$PAGES/"
	ask upload $'#f\t/work/large'
	eq "$(cat "$B/title")" large:62914560
}

@test "a download that runs is a .part that grows" {
	ask goto "$PAGES/"
	ask goto "$PAGES/drip"
	eq "$(of goto .download)" drip.bin
	part_is() { [[ $(stat -c %s "$B/downloads/drip.bin.part") == "$1" ]]; }
	wait_for part_is 1000000
	gone "$B/downloads/drip.bin"
	ask goto "$PAGES/release"
	wait_for is_file "$B/downloads/drip.bin"
	eq "$(stat -c %s "$B/downloads/drip.bin")" 2000000
	gone "$B/downloads/drip.bin.part"
	eq "$(ls -A "$B/downloads/.partial")" ''
}

@test "the tree of a table of 20,000 rows is a file for grep and head" {
	ask timeout 110000
	ask goto "$PAGES/table?rows=20000"
	cat "$B/snapshot" >"$T/snapshot"
	grep -q 'row 19999' "$T/snapshot"
	eq "$(head -n 1 "$T/snapshot" | grep -c .)" 1
}

@test "a tall page's image is right to its last row" {
	need_images
	ask timeout 110000
	ask goto "$PAGES/tall?h=20000"
	ask screenshot full
	eq "$(pixels "$D/$(of screenshot .path)" 0 10000 19999)" '20000 255,0,0 127,0,127 0,0,255'
	# Beyond what one image holds, its parts are taken.
	ask goto "$PAGES/tall?h=100000"
	ask screenshot '{"fullPage":true,"clip":{"x":0,"y":99000,"width":300,"height":1000}}'
	eq "$(pixels "$D/$(of screenshot .path)" 999)" '1000 0,0,255'
}

@test "glyphs of every script differ, and emoji have colours" {
	need_images
	ask goto "$PAGES/glyphs"
	for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do
		ask screenshot '{"selector":"#g'$i'"}'
		cp "$D/$(of screenshot .path)" "$T/g$i.png"
	done
	run python3 - "$T"/g*.png <<'END'
import sys
from PIL import Image
images = [Image.open(name).convert("RGB") for name in sys.argv[1:]]
assert len({image.tobytes() for image in images}) == len(images), "two glyphs are the same"
for name, image in zip(sys.argv[1:], images):
    assert len(image.getcolors(1 << 20)) > 1, name + " is blank"
    colourful = any(max(p) - min(p) > 60 for n, p in image.getcolors(1 << 20))
    assert colourful == name.endswith(("g10.png", "g11.png")), name
print("right")
END
	eq "$output" right
}

@test "a heavy page needs no shared memory of the sandbox's own" {
	ask goto "$PAGES/heavy"
	ask screenshot full
	eq "$(inside 'ls -A /dev/shm')" ''
}

@test "a page with too many elements for a snapshot is refused, and the next page has one" {
	ask goto about:blank
	ask evaluate 'document.body.innerHTML = "<p>x</p>".repeat(250000); 1'
	run fsop open "$B/snapshot" r
	match "$output" "open EFBIG"
	match "$(cat "$D/error")" "the page has 2500.. elements, a snapshot at most 200000"
	match "$(tail -c 4 "$B/text")" x
	# 900 inside one another: the browser's own limit is not far.
	ask evaluate '{ let all = document.createElement("div"), e = all; for (let i = 0; i < 900; i++)
		e = e.appendChild(document.createElement("div")); e.textContent = "deep";
		document.body.replaceChildren(all) }'
	run fsop open "$B/snapshot" r
	match "$output" "^open ([0-9]|EFBIG)"
	ask goto "$PAGES/two"
	match "$(cat "$B/snapshot")" "second page"
}
