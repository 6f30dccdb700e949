#!/usr/bin/env python3
# Changes random things inside a sandbox and compares what files/ shows at once with the tree itself.
#
# coherence.py MODE COUNT MOUNT STATE_TREE SEED [READERS]
#   run       each change is a command of its own; nothing runs in between
#   process   one process makes all of them, and says on its stdout when it has
#   flag      the same, but says so by a file in the tree
#   kernel    each change is an execution in a bash context that stays
# MOUNT is the sandbox, STATE_TREE where the machine has its tree. So many READERS look around in files/
# all the time; what one of them was just listing may then show a moment longer. Prints the first
# difference, and exits with 1 then.
import errno
import json
import os
import random
import signal
import stat
import sys
import time

BASE = "work/coherence"
DIRS = ["", "a", "b", "a/c"]
NAMES = ["n%d" % i for i in range(9)] + ["a", "b", "c"]

# Runs inside. Each line is one change in JSON; a change that does not apply is none.
AGENT = r'''
import json, mmap, os, sys
def put(path, mode, text):
    with open(path, mode) as f:
        f.write(text)
def store(path, text):
    fd = os.open(path, os.O_RDWR)
    size = os.fstat(fd).st_size
    if size:
        with mmap.mmap(fd, size) as m:
            m[:min(size, len(text))] = text.encode()[:size]
    os.close(fd)
def swap(a, b):
    os.rename(a, a + ".t"); os.rename(b, a); os.rename(a + ".t", b)
def hide(path):
    parent = os.path.dirname(path) or "."
    st = os.stat(parent)
    os.unlink(path) if os.path.lexists(path) else put(path, "w", "hidden")
    os.utime(parent, ns=(st.st_atime_ns, st.st_mtime_ns))
OPS = {
    "write": lambda p, q, n: put(p, "w", "%d " % n * (n % 40)),
    "append": lambda p, q, n: put(p, "a", "%d\n" % n),
    "same": lambda p, q, n: put(p, "r+", "%04d" % (n % 10000)),
    "truncate": lambda p, q, n: os.truncate(p, n % 5000),
    "store": lambda p, q, n: store(p, "%d" % n),
    "chmod": lambda p, q, n: os.chmod(p, 0o700 + n % 64),
    "utime": lambda p, q, n: os.utime(p, ns=(n * 10**9 + n, n * 10**9 + n)),
    "unlink": lambda p, q, n: os.unlink(p),
    "mkdir": lambda p, q, n: os.mkdir(p),
    "rmdir": lambda p, q, n: os.rmdir(p),
    "rename": lambda p, q, n: os.rename(p, q),
    "swap": lambda p, q, n: swap(p, q),
    "symlink": lambda p, q, n: os.symlink(os.path.basename(q), p),
    "link": lambda p, q, n: os.link(p, q, follow_symlinks=False),
    "xattr": lambda p, q, n: os.setxattr(p, "user.n", b"%d" % n, follow_symlinks=False),
    "hide": lambda p, q, n: hide(p),
}
def change(line):
    op, p, q, n = json.loads(line)
    try:
        OPS[op](p, q, n)
    except OSError:
        pass
'''

OPS = ["write", "append", "same", "truncate", "store", "chmod", "utime", "unlink", "mkdir", "rmdir",
       "rename", "swap", "symlink", "link", "xattr", "hide"]


def request(mount, name, text):
    fd = os.open(os.path.join(mount, name), os.O_RDWR)
    os.write(fd, text.encode())
    answer = os.read(fd, 65536)
    os.close(fd)
    return answer


class Runs:
    AT_ONCE = 10

    def __init__(self, mount, tree):
        self.mount = mount
        with open(os.path.join(tree, BASE, "..", "agent.py"), "w") as f:
            f.write(AGENT + "for line in sys.argv[1:]:\n    change(line)\n")

    def change(self, lines):
        text = json.dumps({"cmd": ["/usr/bin/python3", "-S", "-E", "/work/agent.py"] + lines,
                           "cwd": "/" + BASE})
        request(self.mount, "ctl/run.json", text)

    def end(self):
        pass


class Process:
    AT_ONCE = 1
    SAY = "print('done', flush=True)"

    def __init__(self, mount, tree):
        self.mount = mount
        with open(os.path.join(tree, BASE, "..", "agent.py"), "w") as f:
            f.write(AGENT + "for i, line in enumerate(sys.stdin):\n    change(line)\n    %s\n" % self.SAY)
        text = json.dumps({"cmd": "exec /usr/bin/python3 -S -E /work/agent.py", "cwd": "/" + BASE,
                           "stdinOpen": True, "background": True})
        self.id = json.loads(request(mount, "ctl/run.json", text))["id"]
        self.stdin = os.open(os.path.join(mount, "out", self.id, "stdin"), os.O_WRONLY)
        self.live = os.open(os.path.join(mount, "out", self.id, "live"), os.O_RDONLY)
        self.count = 0

    def wait(self):
        got = b""
        while not got.endswith(b"\n"):
            more = os.read(self.live, 4096)
            if not more:
                sys.exit("the process inside has ended")
            got += more

    def change(self, lines):
        os.write(self.stdin, lines[0].encode() + b"\n")
        self.count += 1
        self.wait()

    def end(self):
        os.close(self.stdin)
        os.close(self.live)


class Flag(Process):
    SAY = "put('/work/flag.new', 'w', str(i + 1)); os.rename('/work/flag.new', '/work/flag')"

    def wait(self):
        while True:
            try:
                with open(os.path.join(self.mount, "files/work/flag")) as f:
                    if f.read() == str(self.count):
                        return
            except FileNotFoundError:
                pass


class Kernel:
    AT_ONCE = 10

    def __init__(self, mount, tree):
        self.mount = mount
        with open(os.path.join(tree, BASE, "..", "agent.py"), "w") as f:
            f.write(AGENT + "for line in sys.argv[1:]:\n    change(line)\n")

    def change(self, lines):
        text = "cd /%s; /usr/bin/python3 -S -E /work/agent.py '%s'\n" % (BASE, "' '".join(lines))
        request(self.mount, "code/bash/in", text)

    def end(self):
        pass


MODES = {"run": Runs, "process": Process, "flag": Flag, "kernel": Kernel}


def shown(st):
    return (stat.S_IFMT(st.st_mode), st.st_mode & 0o7777, st.st_ino, st.st_nlink, st.st_size,
            st.st_mtime_ns, st.st_ctime_ns)


def look(root, path):
    full = os.path.join(root, path)
    try:
        st = os.lstat(full)
        if stat.S_ISDIR(st.st_mode):
            return shown(st), sorted(os.listdir(full))
        if stat.S_ISLNK(st.st_mode):
            return shown(st), os.readlink(full)
        with open(full, "rb") as f:
            return shown(st), f.read()
    except OSError as e:
        return e.errno


class Held:
    """Open files and directories: seen through their descriptors, whatever their names become."""

    def __init__(self):
        self.pairs = []

    def take(self, view, tree, path):
        for flags in (os.O_RDONLY, os.O_PATH):
            try:
                a = os.open(os.path.join(view, path), flags | os.O_NOFOLLOW)
            except OSError:
                continue
            self.pairs.append((a, os.open(os.path.join(tree, path), flags | os.O_NOFOLLOW), path, flags))
        while len(self.pairs) > 8:
            a, b, _, _ = self.pairs.pop(0)
            os.close(a)
            os.close(b)

    def check(self):
        for a, b, path, flags in self.pairs:
            y = os.fstat(b)
            try:
                x = os.fstat(a)
            except OSError as e:
                # One that opens nothing, of what a command has renamed or removed: an answer, too.
                if e.errno == errno.ESTALE and flags == os.O_PATH:
                    continue
                raise
            # Its size is that of what it reads as, and a link without a name is not asked for again.
            if stat.S_ISLNK(y.st_mode) or y.st_nlink == 0:
                continue
            if shown(x) != shown(y):
                return "a descriptor of %s (%o): %s, is %s" % (path, flags, shown(x), shown(y))
            if flags == os.O_RDONLY and stat.S_ISDIR(y.st_mode) and sorted(os.listdir(a)) != sorted(os.listdir(b)):
                return "the names in a descriptor of " + path
            if flags == os.O_RDONLY and stat.S_ISREG(y.st_mode) and os.pread(a, 9999, 0) != os.pread(b, 9999, 0):
                return "the content of a descriptor of " + path
        return None


def look_around(view, paths, seed):
    """Names, attributes, whole listings and beginnings of some, and descriptors that stay a while."""
    rng = random.Random(seed)
    held = [-1] * 8
    while True:
        full = os.path.join(view, rng.choice(paths))
        i = rng.randrange(len(held))
        try:
            if rng.random() < 0.5:
                look(view, rng.choice(paths))
            elif rng.random() < 0.5:
                with os.scandir(full) as listing:
                    next(listing, None)
            else:
                if held[i] >= 0:
                    os.close(held[i])
                held[i] = -1
                held[i] = os.open(full, rng.choice((os.O_PATH, os.O_RDONLY)) | os.O_NOFOLLOW)
        except OSError:
            pass


def start_readers(count, view, paths, seed):
    readers = []
    for i in range(count):
        readers.append(os.fork())
        if readers[-1] == 0:
            look_around(view, paths, seed + i)
    return readers


def compare(view, tree, paths):
    for path in paths:
        a, b = look(view, path), look(tree, path)
        if a != b:
            return "%s: files/ shows %s, is %s" % (path, a, b)
    return None


def main():
    mode, count, mount, tree, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
    rng = random.Random(seed)
    view, tree_base = os.path.join(mount, "files", BASE), os.path.join(tree, BASE)
    request(mount, "ctl/run", "mkdir -p /%s/a/c /%s/b; : >/work/agent.py; chmod 666 /work/agent.py" % (BASE, BASE))
    os.chmod(tree_base, 0o777)
    agent = MODES[mode](mount, tree)
    held = Held()
    everything = [""] + [os.path.join(d, n) for d in DIRS for n in NAMES]
    readers = start_readers(int(sys.argv[6]) if len(sys.argv) > 6 else 0, view, everything, seed)
    try:
        change_all(agent, count, rng, everything, held, view, tree_base, 5 if readers else 0)
    finally:
        for reader in readers:
            os.kill(reader, signal.SIGKILL)
            os.waitpid(reader, 0)
    agent.end()


def change_all(agent, count, rng, everything, held, view, tree_base, moment_sec):
    for i in range(0, count, agent.AT_ONCE):
        lines, touched = [], []
        for _ in range(agent.AT_ONCE):
            p, q = rng.choice(everything[1:]), rng.choice(everything[1:])
            lines.append(json.dumps([rng.choice(OPS), p, q, rng.randrange(1, 100000)]))
            touched += [p, q]
        if rng.random() < 0.1:
            held.take(view, tree_base, rng.choice(everything))
        agent.change(lines)
        # Sometimes at once only what was changed, sometimes all of it.
        paths = touched if rng.random() < 0.5 else everything
        end = time.monotonic() + moment_sec
        wrong = held.check() or compare(view, tree_base, paths)
        while wrong and time.monotonic() < end:
            wrong = held.check() or compare(view, tree_base, paths)
        if wrong:
            print("change %d (%s): %s" % (i, " ".join(lines), wrong))
            sys.exit(1)


main()
