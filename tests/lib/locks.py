# Locks, step by step: each argument is one. What a lock comes to is printed.
#
# open=PATH:rw|r|w|creat|new|trunc   a further descriptor, the current one from now on
# use=N  close=N  dup                of descriptors, counted from 0
# posix=r|w|u[:START:LEN]            fcntl(2); ofd= for the open file; with w before =: waits
# get=r|w[:START:LEN]                what is in the way: none, or r|w START LEN PID
# flock=sh|ex|un                     flock(2); flockw= waits
# alarm=SECONDS                      whatever waits then gives EINTR
# fork=PATH                          a child keeps all descriptors open until PATH exists
# child=r|w|u[:START:LEN]            posix= in a child, which ends but stays a zombie
# many=N                             N children lock a byte of their own to read and write, all at once
# mark=PATH  until=PATH              tells, waits for a sign
# add=PATH:N                         counts up by N in a file, each time under a lock of it
import errno
import fcntl
import os
import signal
import struct
import sys
import time

TYPES = {"r": fcntl.F_RDLCK, "w": fcntl.F_WRLCK, "u": fcntl.F_UNLCK}
WHOLE = {"sh": fcntl.LOCK_SH, "ex": fcntl.LOCK_EX, "un": fcntl.LOCK_UN}
FLAGS = {"rw": os.O_RDWR, "r": os.O_RDONLY, "w": os.O_WRONLY, "creat": os.O_RDWR | os.O_CREAT,
         "new": os.O_RDWR | os.O_CREAT | os.O_EXCL, "trunc": os.O_RDWR | os.O_CREAT | os.O_TRUNC}
OFD_SETLK, OFD_SETLKW = 37, 38
fds = []
fd = -1


class Interrupted(Exception):
    pass


def say(text):
    print(text, flush=True)


def ask(cmd, text):
    kind, start, length = (text.split(":") + ["0", "0"])[:3]
    lock = struct.pack("hhqqi4x", TYPES[kind], os.SEEK_SET, int(start), int(length), 0)
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, cmd, lock))


def attempt(call, *args):
    try:
        call(*args)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
    except Interrupted:
        return "EINTR"


def get(text):
    kind, _, start, length, pid = ask(fcntl.F_GETLK, text)
    say("none" if kind == fcntl.F_UNLCK else f"{'rw'[kind]} {start} {length} {pid}")


def open_one(text):
    path, flags = text.rsplit(":", 1)
    fds.append(os.open(path, FLAGS[flags], 0o644))
    return fds[-1]


def wait_until(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def keep_until(path):
    null = os.open("/dev/null", os.O_RDWR)
    for i in range(3):
        os.dup2(null, i)
    wait_until(path)


def on_alarm(number, frame):
    raise Interrupted


def in_child(call, *args):
    pid = os.fork()
    if not pid:
        try:
            call(*args)
        finally:
            os._exit(0)
    return pid


def many(count):
    up_read, up_write = os.pipe()
    go_read, go_write = os.pipe()

    def one(i):
        os.close(go_write)
        results = [attempt(ask, fcntl.F_SETLK, f"w:{i}:1"), attempt(ask, fcntl.F_SETLK, "r:%d:0" % (1 << 40))]
        os.write(up_write, (" ".join(results) + "\n").encode().ljust(32))
        os.read(go_read, 1)

    children = [in_child(one, i) for i in range(count)]
    results = [os.read(up_read, 32).decode().strip() for _ in children]
    os.close(go_write)
    for child in children:
        os.waitpid(child, 0)
    for result in sorted(set(results)):
        say(f"{results.count(result)} {result}")


def add(text):
    path, count = text.rsplit(":", 1)
    counter = os.open(path, os.O_RDWR)
    for _ in range(int(count)):
        fcntl.lockf(counter, fcntl.LOCK_EX)
        value = int(os.pread(counter, 20, 0)) + 1
        os.pwrite(counter, b"%08d" % value, 0)
        fcntl.lockf(counter, fcntl.LOCK_UN)


signal.signal(signal.SIGALRM, on_alarm)
for step in sys.argv[1:]:
    name, _, value = step.partition("=")
    if name == "open":
        fd = open_one(value)
    elif name == "use":
        fd = fds[int(value)]
    elif name == "close":
        os.close(fds[int(value)])
    elif name == "dup":
        fds.append(os.dup(fd))
    elif name in ("posix", "posixw", "ofd", "ofdw"):
        cmds = {"posix": fcntl.F_SETLK, "posixw": fcntl.F_SETLKW, "ofd": OFD_SETLK, "ofdw": OFD_SETLKW}
        say(attempt(ask, cmds[name], value))
    elif name == "get":
        get(value)
    elif name in ("flock", "flockw"):
        say(attempt(fcntl.flock, fd, WHOLE[value] | (0 if name == "flockw" else fcntl.LOCK_NB)))
    elif name == "alarm":
        signal.setitimer(signal.ITIMER_REAL, float(value))
    elif name == "fork":
        in_child(keep_until, value)
    elif name == "child":
        os.waitid(os.P_PID, in_child(lambda: say(attempt(ask, fcntl.F_SETLK, value))), os.WEXITED | os.WNOWAIT)
    elif name == "many":
        many(int(value))
    elif name == "mark":
        open(value, "w").close()
    elif name == "until":
        wait_until(value)
    elif name == "add":
        add(value)
    else:
        sys.exit(f"locks.py: {step}: no such step")
