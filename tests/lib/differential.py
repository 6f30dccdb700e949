#!/usr/bin/env python3
# Does the same random operations in two directories and compares each result, with its errno, and what
# is there afterwards.
#
# differential.py COUNT SEED DIR_A DIR_B
# Prints the first difference and exits with 1 then.
import ctypes
import errno
import fcntl
import mmap
import os
import random
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
FLAGS = [os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_APPEND,
         os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_CREAT,
         os.O_RDWR | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR | os.O_CREAT | os.O_TRUNC,
         os.O_RDONLY | os.O_DIRECTORY, os.O_RDONLY | os.O_NOFOLLOW, os.O_RDWR | os.O_SYNC,
         os.O_RDONLY | os.O_CREAT | os.O_DIRECTORY, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW]
NAMES = ["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "x" * 255, "n\udcff\n", "d/e/../a", ".", "..x",
         "", "a/b", "x" * 256, "d/" * 2000 + "a", "./d/", "missing/a"]
MODES = [0, 0o600, 0o644, 0o755, 0o4755, 0o2755, 0o1777, 0o6711]


def check(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), "")
    return r


def path_of(root, name):
    return os.fsencode(os.path.join(root, name)) if name else b""


class Side:
    def __init__(self, root):
        self.root = root
        self.fds = []

    def p(self, name):
        return path_of(self.root, name)

    def fd(self, n):
        if not self.fds:
            raise OSError(errno.EBADF, "")
        return self.fds[n % len(self.fds)]

    def open(self, name, flags, mode):
        fd = os.open(self.p(name), flags | os.O_NONBLOCK, mode)
        # A FIFO is opened by the kernel alone, and nobody holds it for its descriptor once it has no name.
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.close(fd)
            return "fifo"
        self.fds.append(fd)
        return "open"

    def close(self, n):
        fd = self.fd(n)
        self.fds.remove(fd)
        os.close(fd)

    def tmpfile(self, name, n):
        self.fds.append(os.open(self.p(name), os.O_TMPFILE | os.O_RDWR, 0o600))

    def link_fd(self, n, name):
        return check(libc.linkat(-100, b"/proc/self/fd/%d" % self.fd(n), -100, self.p(name), 0x400))

    def rename(self, a, b, flags):
        return check(libc.renameat2(-100, self.p(a), -100, self.p(b), flags))

    def seek(self, n, off, how):
        # Of a directory: its positions are the file system's own.
        if not stat.S_ISREG(os.fstat(self.fd(n)).st_mode):
            raise OSError(errno.EINVAL, "")
        at = os.lseek(self.fd(n), off, how)
        if how not in (os.SEEK_DATA, os.SEEK_HOLE):
            return at
        # Where one ends is the file system's to say, in steps that depend on what is in memory of it.
        os.lseek(self.fd(n), off, os.SEEK_SET)
        skipped = os.pread(self.fd(n), min(at - off, 10**6), off) if how == os.SEEK_DATA else b""
        return off <= at <= os.fstat(self.fd(n)).st_size and not skipped.strip(b"\0")

    def fallocate(self, n, how, off, length):
        return check(libc.fallocate(self.fd(n), how, ctypes.c_long(off), ctypes.c_long(length)))

    def store(self, n, off, data):
        fd = self.fd(n)
        size = os.fstat(fd).st_size
        if not stat.S_ISREG(os.fstat(fd).st_mode) or off + len(data) > size:
            raise OSError(errno.EINVAL, "")
        with mmap.mmap(fd, size) as m:
            m[off:off + len(data)] = data

    def load(self, n):
        fd = self.fd(n)
        size = os.fstat(fd).st_size
        if not stat.S_ISREG(os.fstat(fd).st_mode) or not 0 < size < 10**6:
            raise OSError(errno.EINVAL, "")
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as m:
            return m[:]

    def copy(self, n, m, length, off):
        return os.copy_file_range(self.fd(n), self.fd(m), length, 0, off)

    def attributes(self, st):
        size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
        links = 0 if stat.S_ISDIR(st.st_mode) else st.st_nlink
        return stat.S_IFMT(st.st_mode), oct(st.st_mode & 0o7777), links, size, st.st_uid, st.st_gid

    def chtimes(self, name, n, follow):
        os.utime(self.p(name), ns=(n, n * 3), follow_symlinks=follow)
        st = os.stat(self.p(name), follow_symlinks=follow)
        # A link is read to tell its size, which moves the time of its last use.
        return st.st_mtime_ns, 0 if stat.S_ISLNK(st.st_mode) else st.st_atime_ns

    def lock(self, n, how):
        return fcntl.flock(self.fd(n), how | fcntl.LOCK_NB)


def some_data(rng):
    return bytes([rng.randrange(256)]) * rng.choice([0, 1, 10, 4095, 4096, 5000, 70000])


def pick(rng):
    """One operation: its words, and what does it on a side."""
    name, other, n = rng.choice(NAMES), rng.choice(NAMES), rng.randrange(8)
    off, length = rng.choice([0, 1, 100, 4096, 10000, 100000, 5 * 2**30]), rng.choice([0, 1, 4096, 9999])
    data, mode, m = some_data(rng), rng.choice(MODES), rng.randrange(8)
    flags = rng.choice(FLAGS)
    follow = rng.random() < 0.5
    when = rng.randrange(10**18)
    how = rng.choice([0, 1, 2, 3, 4, 16])
    seek = rng.choice([0, 1, 2, 3, 4])
    rename = rng.choice([0, 0, 0, 1, 2, 3, 8])
    lock = rng.choice([fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN])
    key = rng.choice([b"user.a", b"user." + b"k" * 240, b"user." + b"k" * 300, b"user.", b"nonsense"])
    words = [
        ("open", name, oct(flags), lambda s: s.open(name, flags, mode & 0o777)),
        ("open", name, oct(flags), lambda s: s.open(name, flags, mode & 0o777)),
        ("close", n, lambda s: s.close(n)),
        ("write", n, len(data), lambda s: os.write(s.fd(n), data)),
        ("pwrite", n, off, len(data), lambda s: os.pwrite(s.fd(n), data, off)),
        ("read", n, lambda s: os.read(s.fd(n), 9000)),
        ("pread", n, off, lambda s: os.pread(s.fd(n), 9000, off)),
        ("seek", n, off, seek, lambda s: s.seek(n, off, seek)),
        ("ftruncate", n, off, lambda s: os.ftruncate(s.fd(n), off)),
        ("truncate", name, off, lambda s: os.truncate(s.p(name), off)),
        ("fallocate", n, how, off, length, lambda s: s.fallocate(n, how, off, length)),
        ("store", n, off, lambda s: s.store(n, off, data)),
        ("load", n, lambda s: s.load(n)[:100000]),
        ("copy", n, m, length, off, lambda s: s.copy(n, m, length, off)),
        ("fsync", n, lambda s: os.fsync(s.fd(n))),
        ("fstat", n, lambda s: s.attributes(os.fstat(s.fd(n)))),
        ("fchmod", n, oct(mode), lambda s: os.fchmod(s.fd(n), mode)),
        ("flock", n, lock, lambda s: s.lock(n, lock)),
        ("mkdir", name, oct(mode), lambda s: os.mkdir(s.p(name), mode | 0o700)),
        ("rmdir", name, lambda s: os.rmdir(s.p(name))),
        ("unlink", name, lambda s: os.unlink(s.p(name))),
        ("rename", name, other, rename, lambda s: s.rename(name, other, rename)),
        ("link", name, other, follow, lambda s: os.link(s.p(name), s.p(other), follow_symlinks=follow)),
        ("symlink", name, other, lambda s: os.symlink(os.fsencode(os.path.basename(name) or "a"), s.p(other))),
        ("readlink", name, lambda s: os.readlink(s.p(name))),
        ("mkfifo", name, lambda s: os.mkfifo(s.p(name), 0o600)),
        ("lstat", name, lambda s: s.attributes(os.lstat(s.p(name)))),
        ("chmod", name, oct(mode), lambda s: os.chmod(s.p(name), mode | (0o700 if os.path.isdir(s.p(name)) else 0))),
        ("utime", name, when, lambda s: s.chtimes(name, when, follow)),
        ("listdir", name, lambda s: sorted(os.listdir(s.p(name)))),
        ("setxattr", name, key, lambda s: os.setxattr(s.p(name), key, data[:2000], seek % 3, follow_symlinks=follow)),
        ("getxattr", name, key, lambda s: os.getxattr(s.p(name), key, follow_symlinks=follow)),
        ("listxattr", name, lambda s: sorted(k for k in os.listxattr(s.p(name), follow_symlinks=follow) if k.startswith("user."))),
        ("removexattr", name, key, lambda s: os.removexattr(s.p(name), key, follow_symlinks=follow)),
        ("access", name, seek, lambda s: os.access(s.p(name), seek)),
        ("tmpfile", name, lambda s: s.tmpfile(name, n)),
        ("link_fd", n, name, lambda s: s.link_fd(n, name)),
    ]
    return rng.choice(words)


# Results that may differ, and why:
def may_differ(op, a, b):
    # libfuse before 3.17 has no O_TMPFILE.
    if op[0] in ("tmpfile", "link_fd") and errno.EOPNOTSUPP in (a, b):
        return True
    return False


def call(op, side):
    try:
        return op[-1](side)
    except OSError as e:
        return -e.errno
    except ValueError as e:
        return str(e)


def tree(side):
    found = {}
    for folder, dirs, files in os.walk(os.fsencode(side.root)):
        for name in dirs + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            content = None
            if stat.S_ISLNK(st.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(st.st_mode) and st.st_size < 10**6:
                with open(path, "rb") as f:
                    content = f.read()
            found[os.path.relpath(path, os.fsencode(side.root))] = side.attributes(st), content
    return found


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    os.umask(0o022)
    a, b = Side(sys.argv[3]), Side(sys.argv[4])
    no_tmpfile = False
    for i in range(count):
        op = pick(rng)
        if no_tmpfile and op[0] in ("tmpfile", "link_fd"):
            continue
        x, y = call(op, a), call(op, b)
        if x != y and op[0] == "tmpfile" and y == -errno.EOPNOTSUPP:
            no_tmpfile = True
            os.close(a.fds.pop())
            continue
        if x != y and not may_differ(op, -x if isinstance(x, int) else None, -y if isinstance(y, int) else None):
            print("operation %d %r: %r, in files/ %r" % (i, op[:-1], x if not isinstance(x, bytes) else x[:80],
                                                         y if not isinstance(y, bytes) else y[:80]))
            sys.exit(1)
        while len(a.fds) > 8:
            os.close(a.fds.pop(0))
            os.close(b.fds.pop(0))
        if i % 50 == 49 and tree(a) != tree(b):
            ta, tb = tree(a), tree(b)
            for name in sorted(set(ta) | set(tb)):
                if ta.get(name) != tb.get(name):
                    print("after operation %d %r: %r is %r, in files/ %r" % (
                        i, op[:-1], name, str(ta.get(name))[:200], str(tb.get(name))[:200]))
            sys.exit(1)


main()
