# Bad luck over NFS version 3: see export_bad.bash.
# runs-as: root
load ../lib/export_bad

@test "names of 255 bytes, of any bytes" { check_names; }
@test "a way longer than PATH_MAX" { check_deep; }
@test "what is replaced or removed under an open file" { check_replaced; }
@test "what was open before a restore" { check_restored; }
@test "a full disk" { check_full; }
@test "connections that break in the middle" { check_cut; }
