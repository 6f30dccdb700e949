# files/ and the native directory: the same operations, results, errors, and state afterwards. As root,
# who may do in both what the sandbox's root may.
# runs-as: root
load ../lib/helper

@test "random operations do the same as in the directory itself" {
	local seed=$RANDOM

	mkdir "$T/native" "$D/files/work/same"
	python3 "$TEST_LIB/differential.py" "${DIFFERENTIAL_COUNT:-5000}" "$seed" "$T/native" "$D/files/work/same" ||
		fail "seed $seed"
}

@test "the same while something runs in the sandbox" {
	local seed=$RANDOM

	start_run 'exec sleep 1000'
	mkdir "$T/native" "$D/files/work/same"
	python3 "$TEST_LIB/differential.py" "${DIFFERENTIAL_COUNT:-5000}" "$seed" "$T/native" "$D/files/work/same" ||
		fail "seed $seed"
}
