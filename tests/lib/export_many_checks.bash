# A directory of very many entries through a file server. MANY_FILES says how many: 1000000 takes minutes.

MANY=${MANY_FILES:-20000}

fds() { ls "/proc/$(daemon_pid)/fd" | wc -l; }

# Each name once, whichever end it is seen from, while requests on the mount are answered.
check_many_entries() {
	local before began lister asked took slowest=0 i=0

	inside "mkdir /work/d; cd /work/d; perl -e 'for (1 .. $MANY) { open(F, q(>), qq(some entry \$_)) or die }'"
	touch "$TEST_TMP/beat"
	before=$(rss) began=$SECONDS
	remote ls /files/work/d >"$T/listed" 3>&- &
	lister=$!
	STARTED+=("$lister")
	while kill -0 "$lister" 2>/dev/null; do
		i=$((i + 1)) asked=$(date +%s%N)
		echo "$i" >"$D/files/work/beside"
		eq "$(cat "$D/files/work/beside")" "$i"
		eq "$(jq -r .state "$D/status.json")" mounted
		took=$((($(date +%s%N) - asked) / 1000000))
		((took <= slowest)) || slowest=$took
		touch "$TEST_TMP/beat"
		sleep 0.05
	done
	wait "$lister"
	grep -vxE '\.\.?' "$T/listed" | sort >"$T/names"
	seq -f 'some entry %.0f' "$MANY" | sort | cmp - "$T/names"
	echo "# $MANY entries over $PROTOCOL: $((SECONDS - began)) s, beside it $i requests of $slowest ms at most;" \
		"daemon $before kB before, $(rss) kB after, $(fds) descriptors, server" \
		"$(awk '/^VmRSS/ { print $2 }' "/proc/$(pgrep -P "$SERVER" | head -n 1)/status") kB" >&3
	(($(fds) <= 8300)) || fail "$(fds) descriptors"
	sanitized || (($(rss) < 32000 + MANY * 600 / 1024)) || fail "the daemon has $(rss) kB"
	eq "$(remote cat "/files/work/d/some entry $MANY")" ''
	inside 'rm -r /work/d'
	touch "$TEST_TMP/beat"
	match "$(remote ls /files/work/d)" 'ENOENT|ESTALE'
}
