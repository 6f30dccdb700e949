# A directory of very many entries over 9P: see export_many_checks.bash.
# runs-as: root user
load ../lib/helper
load ../lib/export
load ../lib/export_checks
load ../lib/export_many_checks

setup() { export_setup 9p; }

@test "a directory of very many entries" { check_many_entries; }
