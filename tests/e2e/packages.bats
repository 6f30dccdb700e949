# Packages of the distribution and of Python are installed inside, whoever mounted, and the host's
# system stays as it is.
# runs-as: root user single
load ../lib/helper

setup() {
	# Shared by these tests alone, but for the one that is about the first sandbox.
	mkdir -p "$TEST_TMP/skeleton"
	[[ $BATS_TEST_DESCRIPTION == *first* ]] && TEST_SKELETON= || TEST_SKELETON=$TEST_TMP/skeleton
	make_dirs
	make_deb
	make_wheel
}

# A package that adds a program, a page, a library's directory of its own, and files in directories
# that other packages have, with scripts of its own.
make_deb() {
	need dpkg-deb
	mkdir -p deb/DEBIAN deb/usr/bin deb/usr/share/doc/sandpit-hello deb/usr/lib/sandpit-hello deb/usr/share/locale/de/LC_MESSAGES deb/etc deb/opt/sandpit-hello
	printf '#!/bin/sh\necho hello from a package\n' >deb/usr/bin/sandpit-hello
	chmod 755 deb/usr/bin/sandpit-hello
	echo text >deb/usr/share/doc/sandpit-hello/README
	echo library >deb/usr/lib/sandpit-hello/library
	echo text >deb/usr/share/locale/de/LC_MESSAGES/sandpit-hello.mo
	echo setting >deb/etc/sandpit-hello.conf
	echo opt >deb/opt/sandpit-hello/file
	cat >deb/DEBIAN/control <<-'END'
		Package: sandpit-hello
		Version: 1.0
		Architecture: all
		Maintainer: Nobody <nobody@localhost>
		Description: says hello
	END
	printf '#!/bin/sh\nset -e\necho configured >/usr/lib/sandpit-hello/configured\nupdate-alternatives --install /usr/bin/sandpit-hi sandpit-hi /usr/bin/sandpit-hello 10\n' >deb/DEBIAN/postinst
	chmod 755 deb/DEBIAN/postinst
	dpkg-deb --root-owner-group -b deb hello.deb >/dev/null
}

make_wheel() {
	python3 - <<-'END'
		import zipfile
		with zipfile.ZipFile("sandpit_hello-1.0-py3-none-any.whl", "w") as w:
		    w.writestr("sandpit_hello.py", "def hello():\n    return 'hello from a wheel'\n")
		    info = "sandpit_hello-1.0.dist-info/"
		    w.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: sandpit-hello\nVersion: 1.0\n")
		    w.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
		    w.writestr(info + "entry_points.txt", "[console_scripts]\nsandpit-wheel = sandpit_hello:hello\n")
		    w.writestr(info + "RECORD", "")
	END
}

SKELETON() { ls -d "$XDG_STATE_HOME"/sandpit/.skeleton/[0-9a-f]*-all; }
has_skeleton() { SKELETON >/dev/null 2>&1; }

# A sandbox whose system's directories are all ready: for an ordinary user from the second one on.
mount_ready() {
	mount_sandbox
	as_root || {
		wait_for has_skeleton
		umount_sandbox
		mount_sandbox
	}
}

@test "apt-get install of a package's file, and pip install of a wheel" {
	before=$(ls /usr/bin /usr/share/doc /usr/lib /opt /etc /var/lib/dpkg/info | sha256sum)
	WAIT_SECONDS=100 mount_ready
	cp hello.deb ./*.whl "$D/files/work/"
	inside 'cd /work && apt-get install -y ./hello.deb' >apt 2>&1 || fail "$(cat apt)"
	eq "$(inside 'sandpit-hello; sandpit-hi; cat /usr/lib/sandpit-hello/configured /usr/share/locale/de/LC_MESSAGES/sandpit-hello.mo /opt/sandpit-hello/file')" \
		$'hello from a package\nhello from a package\nconfigured\ntext\nopt'
	match "$(inside 'dpkg -s sandpit-hello')" 'Status: install ok installed'
	if python3 -m pip --version >/dev/null 2>&1; then
		inside 'cd /work && pip install --no-index ./sandpit_hello-1.0-py3-none-any.whl' >pip 2>&1 || fail "$(cat pip)"
		eq "$(inside 'python3 -c "import sandpit_hello; print(sandpit_hello.hello())"')" 'hello from a wheel'
	fi
	# It is there after a restart, and goes again.
	umount_sandbox
	mount_sandbox
	eq "$(inside sandpit-hello)" 'hello from a package'
	inside 'apt-get remove -y sandpit-hello' >apt 2>&1 || fail "$(cat apt)"
	refute inside 'ls /usr/bin/sandpit-hello 2>/dev/null'
	eq "$(ls /usr/bin /usr/share/doc /usr/lib /opt /etc /var/lib/dpkg/info | sha256sum)" "$before"
}

@test "the first sandbox of a user already takes programs and documents" {
	as_root && skip "root's directories are ready as they are"
	mount_sandbox
	inside 'mkdir -p /usr/share/doc/own /usr/local/lib/own /opt/own; echo x >/usr/bin/own; echo x >/usr/lib/own; echo x >/usr/local/bin/own; ls /usr/bin/env' >/dev/null
	refute test -e /usr/bin/own
	# Not what is in them.
	refute inside 'echo x >>/usr/bin/env' 2>/dev/null
}

@test "the directories are shared, kept by what uses them, and made anew when the system changes" {
	as_root && skip "root needs none"
	mount_sandbox
	WAIT_SECONDS=100 wait_for has_skeleton
	base=$XDG_STATE_HOME/sandpit/.skeleton
	# One of another state of the system: used by nobody, and used by somebody.
	mkdir -p "$base/0000000000000000-all/usr/x" "$base/0000000000000001-all/usr/x"
	exec 9<"$base/0000000000000001-all"
	flock -s 9
	mv "$(SKELETON | grep -v '/0000')" away
	umount_sandbox
	mount_sandbox
	WAIT_SECONDS=100 wait_for sh -c 'ls -d "$1"/[0-9a-f]*-all | grep -qv /0000' sh "$base"
	refute test -e "$base/0000000000000000-all"
	test -d "$base/0000000000000001-all"
	exec 9<&-
	eq "$(find "$base" -maxdepth 1 -name 'part-*')" ""
	eq "$(inside 'ls -ld /usr/share/doc | cut -c1-10; stat -c %Y /usr/share/fonts 2>/dev/null')" "$(ls -ld /usr/share/doc | cut -c1-10; stat -c %Y /usr/share/fonts 2>/dev/null)"
}
