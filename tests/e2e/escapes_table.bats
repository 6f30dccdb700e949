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
	while IFS='|' read -r _ number _ files _; do
		number=${number// /}
		for file in ${files//,/ }; do
			path=$REPO/tests/e2e/escapes_$file.bats
			[[ -e $path ]] || {
				test -e "$REPO/tests/e2e/$file.bats" || fail "$number names $file"
				continue
			}
			tested "$path" | grep -qx "$number" || fail "$number is not in $path"
		done
		echo "$number" >>listed
	done < <(grep -E '^\| ([0-9]+|[A-Z]) \|' "$table")
	eq "$(grep -cE '^[0-9]+$' listed)" 92
	for path in "$REPO"/tests/e2e/escapes_*.bats; do
		while read -r number; do
			grep -qx "$number" listed || fail "$number of $path is not in the table"
		done < <(tested "$path")
	done
}
