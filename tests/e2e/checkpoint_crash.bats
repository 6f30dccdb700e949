# Death at every step, and disks that are full: the old or the new, whole, and no debris.
# runs-as: root user
load ../lib/helper

STORE() { echo "$HOME/.local/share/sandpit/store"; }

dead() { refute stat "$D/ctl" 2>/dev/null; }

# crash POINT REQUEST: the daemon dies there; then it is mounted anew.
crash() {
	umount_sandbox
	SANDPIT_FAULT=$1 mount_sandbox
	echo "$2" >"$D/checkpoint" 2>/dev/null || true
	wait_for dead
	umount_sandbox
	mount_sandbox
}

no_debris() {
	eq "$(find "$(STORE)/tmp" -type f)" ""
	eq "$(ls -A "$D/files" | grep sandpit || true)" ""
	eq "$(ls "$(STORE)/archives" | wc -l)" "$(ls "$D/checkpoints" | wc -l)" "archives"
	match "$("$SANDPIT" store check)" ' 0 damaged'
}

clean() {
	[[ -z $(find "$(STORE)/tmp" -type f) && $(ls "$(STORE)/archives" | wc -l) == $(ls "$D/checkpoints" | wc -l) ]]
}

@test "killed at each step of persist: the newest is the old or the new one" {
	inside 'mkdir -p /work/app/d; echo 0 >/work/app/a; echo 0 >/work/app/d/b'
	echo 'persist /work/app' >"$D/checkpoint"
	i=0
	for point in begun packed written synced renamed put committed collected; do
		i=$((i + 1))
		before=$(ls "$D/checkpoints" | tail -n 1)
		inside "echo $i | tee /work/app/a >/work/app/d/b"
		crash "persist.$point" 'persist /work/app'
		wait_for clean
		no_debris
		after=$(ls "$D/checkpoints" | sort -n | tail -n 1)
		echo 'restore /work/back' >"$D/checkpoint"
		eq "$(cat "$D/files/work/back/a")" "$(cat "$D/files/work/back/d/b")" "$point"
		if [[ $after != "$before" ]]; then
			eq "$(cat "$D/files/work/back/a")" "$i" "$point"
			[[ $point == committed || $point == collected ]]
		fi
	done
}

@test "killed at each step of restore: the target is the old or the new tree" {
	inside 'mkdir -p /work/app; echo stored >/work/app/a; echo stored >/work/app/b'
	echo 'persist /work/app' >"$D/checkpoint"
	for point in fetched staged extracted synced exchanged done; do
		inside 'mkdir -p /work/app; echo old >/work/app/a; echo old >/work/app/b; echo o >/work/app/c'
		crash "restore.$point" 'restore /work/app'
		no_debris
		case $(cat "$D/files/work/app/a") in
		old) eq "$(cat "$D/files/work/app/b" "$D/files/work/app/c")" $'old\no' "$point" ;;
		stored) eq "$(ls "$D/files/work/app" | tr '\n' ' ')" "a b " "$point" ;;
		*) fail "$point: neither" ;;
		esac
	done
	eq "$(cat "$D/files/work/app/a")" stored
}

# A store on a disk of SIZE.
small_disk() {
	as_root || skip "only root can mount a small disk"
	mkdir -p "$1"
	mount -t tmpfs -o "size=$2" none "$1"
}

@test "a full store: persist fails, the old checkpoint stays, room again and it works" {
	umount_sandbox
	small_disk "$T/disk" 3M
	mount_sandbox -o "store=$T/disk/store"
	inside 'mkdir -p /work/app; echo small >/work/app/a'
	echo 'persist /work/app' >"$D/checkpoint"
	inside 'head -c 8000000 /dev/urandom >/work/app/big'
	run fsop open "$D/checkpoint" rw write $'persist /work/app\n'
	match "$output" "write EIO"
	match "$(jq -r '.error.code + .error.message' "$D/checkpoint")" 'SANDBOX_FAILED_OPERATION.*No space left'
	eq "$(ls "$D/checkpoints")$(ls "$T/disk/store/tmp")" 1
	# Full to the last page: nothing can be written at all.
	head -c 4000000 /dev/zero >"$T/disk/fill" 2>/dev/null || true
	inside 'rm /work/app/big; echo other >/work/app/b'
	run fsop open "$D/checkpoint" rw write $'persist /work/app\n'
	match "$output" "write EIO"
	rm "$T/disk/fill"
	echo 'restore /work/back' >"$D/checkpoint"
	eq "$(ls "$D/files/work/back")" a
	echo 'persist /work/app' >"$D/checkpoint"
	umount_sandbox
	umount "$T/disk"
}

@test "a full sandbox: restore fails and the target is as it was" {
	umount_sandbox
	small_disk "$T/state" 60M
	mount_sandbox
	inside 'mkdir -p /work/app; head -c 20000000 /dev/urandom >/work/app/a'
	echo 'persist /work/app' >"$D/checkpoint"
	inside 'cd /work/app; echo present >b; head -c 60000000 /dev/zero >/work/fill 2>/dev/null; true'
	run fsop open "$D/checkpoint" rw write $'restore /work/app\n'
	match "$output" "write EIO"
	eq "$(cat "$D/files/work/app/b")" present
	eq "$(ls -A "$D/files" | grep sandpit || true)" ""
	inside 'rm /work/fill'
	echo 'restore /work/app' >"$D/checkpoint"
	eq "$(ls "$D/files/work/app")" a
	umount_sandbox
	umount "$T/state"
}
