# Archives made by an enemy, and damage: nothing outside the target changes, the target stays.
# runs-as: root user single rootfs
load ../lib/helper

STORE() { echo "$HOME/.local/share/sandpit/store"; }
store() { python3 "$TEST_LIB/store.py" "$@"; }

stored_project() {
	inside 'mkdir -p /work/app && cd /work/app && echo old >a && head -c 3000 /dev/urandom >numbers && mkdir d && echo x >d/x'
	echo 'persist /work/app' >"$D/checkpoint"
	inside 'cd /work/app && echo present >a'
}

# The newest checkpoint must be refused as CODE, and nothing may have changed.
refused() {
	run fsop open "$D/checkpoint" rw write $'restore /work/app\n'
	match "$output" "write ${2:-EBADMSG}" "$1"
	eq "$(jq -r .error.code "$D/checkpoint")" "SANDBOX_${3:-DATA_CORRUPTED}" "$1"
	eq "$(inside 'cat /work/app/a')" present "$1"
	eq "$(find "$D/files" -maxdepth 1 -name '.sandpit*')" ""
	eq "$(find "$D/files/tmp" "$D/files/work" "$D/files" -maxdepth 1 -name 'escaped*')" ""
}

@test "hostile archives are refused, each for what it is" {
	stored_project
	witness=$(sha256sum /etc/passwd)
	for kind in $(store kinds); do
		store make "$kind" "$T/$kind"
		store plant "$(STORE)" "$T/$kind"
		refused "$kind"
		refute ls "$D/checkpoints/1/tree"
	done
	eq "$(sha256sum /etc/passwd)" "$witness"
	[[ ! -e /tmp/escaped ]]
}

@test "ten gigabytes of zeros stop at the limit" {
	stored_project
	umount_sandbox
	mount_sandbox -o max_bytes=1M
	store make bomb "$T/bomb"
	(($(stat -c %s "$T/bomb") < 2000000))
	store plant "$(STORE)" "$T/bomb"
	refused bomb EFBIG LIMIT_EXCEEDED
}

@test "an archive that ends early is damaged, wherever" {
	stored_project
	cp "$(store newest "$(STORE)")" "$T/whole"
	size=$(stat -c %s "$T/whole")
	for ((at = 0; at < size; at += 512)); do
		head -c "$at" "$T/whole" >"$T/part"
		cp "$T/part" "$(store newest "$(STORE)")"
		refused "cut at $at"
		store plant "$(STORE)" "$T/part"
		refused "planted, cut at $at"
		cp "$T/whole" "$T/again"
		store plant "$(STORE)" "$T/again"
	done
	echo 'restore /work/app' >"$D/checkpoint"
}

@test "a flipped bit is damage, wherever" {
	stored_project
	for at in 0 5 100 2000 -1; do
		store flip "$(STORE)" "$at"
		refused "bit at $at"
		store flip "$(STORE)" "$at"
	done
	rm "$(store newest "$(STORE)")"
	refused missing
}

@test "a damaged index is an error, never a crash" {
	stored_project
	umount_sandbox
	rm -f "$(STORE)"/index.db-*
	head -c 20000 /dev/urandom >"$(STORE)/index.db"
	mount_sandbox
	run fsop open "$D/checkpoint" rw write $'restore /work/app\n'
	match "$output" "write EIO"
	match "$(cat "$D/error")" "index.db"
	eq "$(ls "$D/checkpoints")" ""
	eq "$(inside 'cat /work/app/a')" present
}

@test "a thousand directories in each other go and come back" {
	inside 'mkdir -p /work/app; cd /work/app; i=0; while [ $i -lt 1000 ]; do mkdir d; cd d; i=$((i+1)); done; echo deep >f'
	echo 'persist /work/app' >"$D/checkpoint"
	inside 'rm -r /work/app'
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(inside 'cd /work/app; i=0; while [ $i -lt 1000 ]; do cd d; i=$((i+1)); done; cat f')" deep
	# Again over itself: the old one is removed.
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(find "$D/files" -maxdepth 1 -name '.sandpit*')" ""
}

@test "attributes that mean something to the system do not come back" {
	as_root || skip "only root can set them"
	inside 'mkdir -p /work/app; echo x >/work/app/f'
	raw=$(find "$XDG_STATE_HOME" -path '*/work/app/f')
	setfattr -n trusted.overlay.redirect -v /root "$raw"
	setfattr -n user.overlay.opaque -v y "$raw"
	setfattr -n user.ours -v y "$raw"
	echo 'persist /work/app' >"$D/checkpoint"
	echo 'restore /work/app' >"$D/checkpoint"
	raw=$(find "$XDG_STATE_HOME" -path '*/work/app/f')
	eq "$(getfattr -d -m - --absolute-names "$raw" | grep -o '^[a-z]*\.[a-z.]*')" user.ours
}
