# files/: after each of thousands of random changes from inside it shows what is there.
# runs-as: root user
load ../lib/helper

COUNT=${COHERENCE_COUNT:-2500}

setup() {
	make_dirs
	mount_sandbox -o name=random
	TREE=$T/state/sandpit/random/root
}

coherent() {
	local seed=$RANDOM

	python3 "$TEST_LIB/coherence.py" "$1" "$COUNT" "$D" "$TREE" "$seed" "${2:-0}" || fail "seed $seed"
}

@test "changes by commands, nothing running in between" {
	coherent run
}

@test "changes by a process that goes on, told through its output" {
	coherent process
}

@test "changes by a process that goes on, told through a file" {
	coherent flag
}

@test "changes by executions in a context that stays" {
	coherent kernel
}

@test "changes by a process that goes on, while others look around" {
	coherent process 3
}

@test "changes by executions, while others look around" {
	coherent kernel 3
}
