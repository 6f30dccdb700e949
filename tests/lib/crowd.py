#!/usr/bin/env python3
# Many threads outside and processes inside work on the same files of a sandbox: nothing of what they
# append may be lost, and all of them come to an end.
#
# crowd.py MOUNT THREADS ROUNDS
import json
import os
import sys
import threading

WORK = r'''
import os, sys
def work(base, name, rounds):
    own = os.path.join(base, "own-" + name)
    os.mkdir(own)
    for i in range(rounds):
        for log in ("log1", "log2"):
            fd = os.open(os.path.join(base, log), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            os.write(fd, b"%s %d\n" % (name.encode(), i))
            os.close(fd)
        a, b = os.path.join(own, "a"), os.path.join(own, "b")
        with open(a, "w") as f:
            f.write(name * (i % 50))
        os.rename(a, b)
        assert os.stat(b).st_size == len(name) * (i % 50), (name, i)
        with open(b) as f:
            assert f.read() == name * (i % 50), (name, i)
        shared = os.path.join(base, "shared-%d" % (i % 7))
        for change in (lambda: os.mkdir(shared), lambda: os.rename(b, shared + "/" + name),
                       lambda: os.link(shared + "/" + name, b), lambda: os.unlink(shared + "/" + name),
                       lambda: os.listdir(shared), lambda: os.rmdir(shared)):
            try:
                change()
            except OSError:
                pass
    os.makedirs(os.path.join(base, "done"), exist_ok=True)
    open(os.path.join(base, "done", name), "w").close()
'''
exec(WORK)


def main():
    mount, threads, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    base = os.path.join(mount, "files/work/crowd")
    os.mkdir(base)
    with open(os.path.join(mount, "files/work/crowd.py"), "w") as f:
        f.write(WORK + "work('/work/crowd', sys.argv[1], int(sys.argv[2]))\n")
    inside = threads // 8
    for i in range(inside):
        with open(os.path.join(mount, "ctl/start"), "w") as f:
            f.write("exec /usr/bin/python3 /work/crowd.py in%d %d\n" % (i, rounds))
    # One who waits for something that never comes must not be in anybody's way.
    fd = os.open(os.path.join(mount, "ctl/start"), os.O_RDWR)
    os.write(fd, b"exec sleep 100000\n")
    parked = os.read(fd, 20).decode().strip()
    os.close(fd)
    threading.Thread(target=lambda: open(os.path.join(mount, "out", parked, "live")).read(), daemon=True).start()

    failures = []

    def one(name):
        try:
            work(base, name, rounds)
        except BaseException as e:
            failures.append("%s: %r" % (name, e))

    crowd = [threading.Thread(target=one, args=("t%d" % i,)) for i in range(threads)]
    for t in crowd:
        t.start()
    for t in crowd:
        t.join()
    for i in range(1, inside + 1):
        with open(os.path.join(mount, "out", str(i), "wait")) as f:
            if f.read().strip() != "0":
                with open(os.path.join(mount, "out", str(i), "stderr")) as e:
                    failures.append("in%d: %s" % (i, e.read()[-500:]))
    want = sorted("%s %d" % (name, i) for i in range(rounds)
                  for name in ["t%d" % i for i in range(threads)] + ["in%d" % i for i in range(inside)])
    for log in ("log1", "log2"):
        with open(os.path.join(base, log)) as f:
            got = sorted(f.read().splitlines())
        if got != want:
            failures.append("%s has %d lines, not %d; lost: %s" % (
                log, len(got), len(want), sorted(set(want) - set(got))[:5]))
    with open(os.path.join(mount, "out", parked, "kill"), "w") as f:
        f.write("KILL\n")
    if failures:
        print("\n".join(failures))
        os._exit(1)
    os._exit(0)


main()
