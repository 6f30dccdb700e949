# Commands as users of the sandbox's own passwd, with their groups; and what files/ shows of them.
# runs-as: root user single
load ../lib/helper

# as USER TEXT: runs it as that user, prints its output.
as() {
	json "$(jq -n --arg user "$1" --arg cmd "$2" '{$user, $cmd}')" || return
	cat "$D/out/$ID/stdout"
}

add_users() {
	inside 'echo "ann:x:4001:4002:Ann:/home/ann:/bin/sh" >>/etc/passwd
		echo "ann:x:4002:" >>/etc/group
		echo "team:x:4003:root,ann" >>/etc/group
		echo "others:x:4004:bob,annie" >>/etc/group
		mkdir -m 700 /home/ann && chown 4001:4002 /home/ann'
}

@test "a user of one's own: ids, groups, home, shell and name" {
	as_single && skip "one id only"
	add_users
	eq "$(as ann 'id -u; id -g; id -G; echo $HOME $USER $LOGNAME $SHELL')" $'4001\n4002\n4002 4003\n/home/ann ann ann /bin/sh'
	eq "$(as 4001 'id -un; id -Gn')" $'ann\nann team'
	eq "$(result .user "$ID")" ann
}

@test "a user has what his ids and groups give him, and no more" {
	as_single && skip "one id only"
	add_users
	inside 'mkdir -m 770 /work/team /work/others; chgrp team /work/team; chgrp others /work/others; chmod 700 /root'
	eq "$(as ann 'echo x >/work/team/f && echo team; ls /work/others >&2 || echo no; cat /etc/shadow >&2 || echo no; ls /root >&2 || echo no; echo x >/home/ann/g')" $'team\nno\nno\nno'
	eq "$(as ann 'grep Cap /proc/self/status | cut -f2 | sort -u')" $'0000000000000000\n00000000800005fb'
	refute as ann 'chown root /home/ann/g || exit 1; echo done' >/dev/null 2>&1 || eq "$(cat "$D/out/$ID/exit_code")" 1
}

@test "ctl/user is the default of later commands" {
	as_single && skip "one id only"
	add_users
	echo ann >"$D/ctl/user"
	eq "$(inside 'id -un; id -Gn; echo $HOME')" $'ann\nann team\n/home/ann'
	eq "$(cat "$D/ctl/user")" ann
	umount_sandbox
	mount_sandbox
	eq "$(inside 'id -un')" ann
	echo root >"$D/ctl/user"
	eq "$(inside 'id -un')" root
}

@test "in files/ the sandbox's ids are shown: its root is the user who mounted" {
	inside 'touch /work/mine'
	eq "$(stat -c '%u %g' "$D/files/work/mine")" "$(id -u) $(id -g)"
	as_single && return
	add_users
	as ann 'echo text >/home/ann/f; mkdir /home/ann/d'
	eq "$(stat -c '%u %g' "$D/files/home/ann/f" "$D/files/home/ann/d")" $'4001 4002\n4001 4002'
	eq "$(cat "$D/files/home/ann/f")" text
	: >"$D/files/work/new"
	eq "$(inside 'stat -c "%u %g" /work/new')" '0 0'
	eq "$(as ann 'echo x >/work/new || echo no')" no
}

@test "ids that are not mapped, and users that are not there, are refused with words" {
	inside 'echo "far:x:70000:70000::/:/bin/sh" >>/etc/passwd; echo "big:x:4294967295:1::/:/bin/sh" >>/etc/passwd'
	for user in far big nosuch -1 '' 70000 4242; do
		match "$(fsop open "$D/ctl/run.json" w write "$(jq -nc --arg user "$user" '{cmd: "true", $user}')" close)" EINVAL
		match "$(fsop open "$D/ctl/user" w write "$user"$'\n')" EINVAL
	done
	eq "$(cat "$D/ctl/user")" root
}

@test "with one id every other user is refused, and it is said what would help" {
	as_single || skip "only with one id"
	match "$(fsop open "$D/ctl/run.json" w write '{"cmd": "true", "user": "user"}' close)" EINVAL
	match "$(cat "$D/error")" 'only root is mapped.*/etc/subuid.*uidmap'
	match "$(fsop open "$D/ctl/user" w write $'user\n')" EINVAL
	eq "$(jq -r .enabled.ids "$D/status.json")" single
}
