# files/: a directory of very many entries. MANY_FILES says how many: 1000000 takes minutes.
# runs-as: root user
load ../lib/helper

MANY=${MANY_FILES:-100000}

fds() { jq .counts.fileDescriptors "$D/status.json"; }
nodes() { jq .counts.fileNodes "$D/status.json"; }
tell() { echo "# $MANY entries: $*" >&3; }

# timed CMD...: sets MSEC.
timed() {
	local began

	touch "$TEST_TMP/beat"
	began=$(date +%s%N)
	"$@"
	MSEC=$((($(date +%s%N) - began) / 1000000))
	touch "$TEST_TMP/beat"
}

# The longest of all answers of status.json for as long as a process lives, in ms.
slowest_status_while() {
	perl -MTime::HiRes=time,sleep -e '
		my ($pid, $path) = @ARGV;
		my $worst = 0;
		while (kill 0, $pid) {
			my $t = time;
			open my $f, "<", $path or die;
			local $/;
			<$f> =~ /"mounted"/ or die;
			$worst = time - $t if time - $t > $worst;
			sleep 0.01;
		}
		printf "%d\n", $worst * 1000' "$1" "$D/status.json"
}

count_looking_at_each() { find "$D/files/work/d" -type f -size -1k | wc -l >"$T/count"; }

# By names, in a sandbox that is idle, and in one in which something lives; then each entry.
@test "a directory of very many entries is listed, walked and removed" {
	local native before slowest number

	! sanitized || skip "too slow with a sanitizer"
	timed inside "mkdir /work/d; cd /work/d; perl -e 'for (1 .. $MANY) { open(F, q(>), \$_) or die }'"
	tell "made inside in $MSEC ms"
	timed fsop count "$XDG_STATE_HOME"/sandpit/*/root/work/d
	native=$MSEC
	before=$(rss)
	timed fsop count "$D/files/work/d" >"$T/count"
	eq "$(cat "$T/count")" "count $MANY"
	tell "listed natively in $native ms, through files/ in $MSEC ms;" \
		"daemon $before kB before, $(rss) kB after, $(nodes) nodes, $(fds) descriptors"
	timed fsop count "$D/files/work/d"
	tell "and again in $MSEC ms"
	eq "$(ls -U "$D/files/work/d" | sort -n | uniq | tail -n 1)" "$MANY"
	(($(rss) - before < 8192)) || fail "the daemon grew from $before to $(rss) kB by names alone"
	(($(fds) <= 8192)) || fail "$(fds) descriptors"

	start_run 'exec sleep 1000'
	start fsop count "$D/files/work/d" >"$T/count"
	slowest=$(slowest_status_while "$PID")
	wait "$PID"
	eq "$(cat "$T/count")" "count $MANY"
	tell "status.json took $slowest ms at most meanwhile"
	((slowest < 1000)) || fail "status.json took $slowest ms"
	echo KILL >"$D/out/$ID/kill"

	timed count_looking_at_each
	eq "$(cat "$T/count")" "$MANY"
	tell "each looked at in $MSEC ms; daemon $(rss) kB, $(nodes) nodes, $(fds) descriptors"
	(($(fds) <= 8192)) || fail "$(fds) descriptors"
	(($(rss) < 32000 + MANY * 600 / 1024)) || fail "the daemon has $(rss) kB"
	timed rm -r "$D/files/work/d"
	tell "removed from outside in $MSEC ms; daemon $(rss) kB, $(nodes) nodes"
	refute test -e "$D/files/work/d"
	eq "$(inside 'ls -A /work')" ''
	(($(nodes) < 1000)) || fail "$(nodes) nodes are left"
}

@test "a directory of very many entries made outside is removed by a command" {
	MANY=$((MANY / 5))
	! sanitized || skip "too slow with a sanitizer"
	mkdir "$D/files/work/d"
	timed perl -e "chdir shift or die; for (1 .. $MANY) { open(F, q(>), \$_) or die }" "$D/files/work/d"
	tell "made outside in $MSEC ms"
	timed inside 'ls -f /work/d | wc -l; rm -r /work/d'
	eq "$(last stdout)" $((MANY + 2))
	tell "listed and removed inside in $MSEC ms; daemon $(rss) kB, $(nodes) nodes"
	refute test -e "$D/files/work/d"
	eq "$(ls -A "$D/files/work")" ''
}
