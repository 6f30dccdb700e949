# files/: many at once, outside and inside.
# runs-as: root user
load ../lib/helper

@test "64 threads outside and processes inside lose nothing and come to an end" {
	timeout 100 python3 "$TEST_LIB/crowd.py" "$D" 64 "${CROWD_ROUNDS:-25}"
}

@test "a walk of many files keeps descriptors and memory bounded" {
	local pid limit fds rss

	# WALK_FILES=1000000 for the million.
	inside "mkdir /work/many; cd /work/many; seq $((${WALK_FILES:-60000} / 100)) | xargs mkdir; for d in *; do (cd \$d; touch \$(seq 100)); done"
	pid=$(pgrep -P "$REAP_PID" -f -- "$D" | head -n 1)
	eq "$(find "$D/files/work/many" -type f -size -1k | wc -l)" $((${WALK_FILES:-60000} / 100 * 100))
	fds=$(jq .counts.fileDescriptors "$D/status.json")
	((fds <= 8192)) || fail "$fds descriptors"
	rss=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status")
	# A record, its name and the hashes: some 450 bytes a file, and what an idle daemon has.
	sanitized || ((rss < 16000 + ${WALK_FILES:-60000} * 600 / 1024)) || fail "$rss kB"
}
