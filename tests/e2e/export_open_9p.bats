# Files that are open while they are removed, and clients that vanish, over 9P: see export_open_checks.bash.
# runs-as: root user
load ../lib/helper
load ../lib/export
load ../lib/export_checks
load ../lib/export_bad_checks
load ../lib/export_open_checks

setup() { export_setup 9p; }

@test "a tree removed under files that are open" { check_removed; }
@test "a file removed by a command takes room while it is open, and no longer" { check_room; }
@test "clients that vanish in the middle of a listing or a read" { check_vanished_lists; }
@test "a client that vanishes leaves no lock" { check_vanished_lock; }
@test "clients that vanish while they wait for a run" { check_vanished_waiters; }
