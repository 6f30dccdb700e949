# net=user: pip installs from its index, where the machine reaches one.
# runs-as: root user
load ../lib/helper

setup() { make_dirs; }

@test "pip install works as it stands" {
	need pip3
	[[ -w /dev/net/tun ]] || skip "/dev/net/tun cannot be opened"
	(cd "$T" && timeout 60 pip3 download -q --no-deps --no-cache-dir -d "$T/wheels" requests) 2>/dev/null ||
		skip "this machine reaches no package index"
	"$SANDPIT" mount -o net=user "$D" 3>&-
	inside 'pip install -q --no-cache-dir --ignore-installed requests 2>&1'
	match "$(inside 'python3 -c "import requests; print(requests.__file__)"')" '^/(usr/local|root/[.]local)/'
}
