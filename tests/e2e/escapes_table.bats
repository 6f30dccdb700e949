# Each attempt of docs/escapes.md is a test in the file that it names, and each test is in the table.
# runs-as: root
load ../lib/helper

setup() { make_dirs; }

# The numbers and letters at the beginning of the names of a file's tests, ranges written out.
tested() {
	local item from to

	sed -nE 's/^@test "(([0-9]+|[A-Z])([-,] ?([0-9]+|[A-Z]))*) .*/\1/p' "$1" | tr ',' '\n' | tr -d ' ' | while read -r item; do
		from=${item%-*} to=${item#*-}
		if [[ $from == [A-Z] ]]; then
			eval "printf '%s\n' {$from..$to}"
		else
			seq "$from" "$to"
		fi
	done | sort -u
}

@test "every line has its test" {
	table=$REPO/docs/escapes.md
	while IFS='|' read -r _ number _ files _ _; do
		number=${number// /}
		for file in ${files//,/ }; do
			path=$REPO/tests/e2e/escapes_$file.bats
			[[ -e $path ]] || {
				test -e "$REPO/tests/e2e/$file.bats" || fail "$number names $file"
				continue
			}
			[[ -e tested-$file ]] || tested "$path" >"tested-$file"
			grep -qx "$number" "tested-$file" || fail "$number is not in $path"
		done
		echo "$number" >>listed
	done < <(grep -E '^\| ([0-9]+|[A-Z]) (\|[^|]*){3}\|$' "$table")
	eq "$(grep -cE '^[0-9]+$' listed)" 92
	for path in "$REPO"/tests/e2e/escapes_*.bats; do
		while read -r number; do
			grep -qx "$number" listed || fail "$number of $path is not in the table"
		done < <(tested "$path")
	done
}

# The rows of the table: `NUMBER|WORDS`.
rows() { sed -nE 's/^\| ([0-9]+|[A-Z]) \| [^|]* \| [^|]* \| ([^|]*) \|$/\1|\2/p' "$REPO/docs/escapes.md"; }

@test "every protection that can be left off is in the table, and the other way round" {
	cd "$REPO"
	grep -rhoE 'unsafe_is\("[a-z]+"\)' --include='*.c' common runner kernels fs | cut -d'"' -f2 | sort -u >"$T/known"
	rows | cut -d'|' -f2 | tr '+,' '\n\n' | tr -d ' ' | grep . | sort -u >"$T/named"
	while read -r word; do
		grep -qE "^\s*(run )?without ([a-z,]+,)?$word(,|\$|\s)" tests/e2e/teeth.bats ||
			grep -q "SANDPIT_UNSAFE=$word " tests/e2e/*.bats || fail "no test leaves off $word"
		grep -qx "$word" "$T/named" || grep -qE "^(.*[^a-z])?\`$word\`" docs/escapes.md || fail "$word is not in docs/escapes.md"
	done <"$T/known"
	while read -r word; do
		grep -qx "$word" "$T/known" || fail "the table names $word, which nothing leaves off"
	done <"$T/named"
}

@test "what succeeds against a simpler sandbox has a switch here, or a reason" {
	cd "$REPO"
	reasons=$(sed -n '/^## What cannot be left off/,$p' docs/escapes.md | sed -nE 's/^\| ([0-9]+) \|.*/\1/p')
	for number in 1 5 10 11 12 16 17 19 21 23 25 26 38 43 44 45 46 47 48 51 52 66 67 68 69 73 74 76 77 78 82 85; do
		words=$(rows | awk -F'|' -v n="$number" '$1 == n { print $2 }')
		if [[ -n $words ]]; then
			refute grep -qx "$number" <<<"$reasons"
		else
			grep -qx "$number" <<<"$reasons" || fail "$number has neither"
		fi
	done
}
