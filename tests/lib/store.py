#!/usr/bin/env python3
"""Checkpoint stores for tests: puts archives into one by hand, hostile ones too.

store.py plant STORE FILE       FILE becomes the archive of the newest checkpoint, as if it had been
                                stored: with its size, hash and counts
store.py flip STORE OFFSET      flips a bit of the newest archive; a negative OFFSET is from its end
store.py newest STORE           the newest archive's path
store.py make KIND FILE         writes a hostile archive
"""
import hashlib
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile


def newest(store):
    with sqlite3.connect(store + "/index.db") as db:
        row = db.execute("SELECT project, number, sha256 FROM checkpoints ORDER BY persisted DESC, "
                         "number DESC LIMIT 1").fetchone()
    return row, f"{store}/archives/{row[2]}.tar.zst"


def counts(path):
    """What a restore would count: items but the top, bytes of content."""
    data = subprocess.run(["zstd", "-qdc", path], capture_output=True).stdout
    files = size = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for item in tar:
                if item.name not in (".", "./"):
                    files += 1
                    size += item.size if item.isreg() else 0
    except tarfile.TarError:
        pass
    return files, size


def plant(store, path):
    (project, number, _), _ = newest(store)
    with open(path, "rb") as f:
        sha = hashlib.sha256(f.read()).hexdigest()
    files, size = counts(path) if os.path.getsize(path) < 1 << 20 and "bomb" not in path else (1, 1)
    shutil.copy(path, f"{store}/archives/{sha}.tar.zst")
    db = sqlite3.connect(store + "/index.db")
    with db:
        db.execute("UPDATE checkpoints SET sha256=?, size=?, files=?, bytes=? WHERE project=? AND number=?",
                   (sha, os.path.getsize(path), files, size, project, number))
    db.close()


def flip(store, offset):
    _, path = newest(store)
    with open(path, "r+b") as f:
        f.seek(offset, 0 if offset >= 0 else 2)
        at = f.tell()
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 4]))


def item(name, kind=tarfile.REGTYPE, data=b"", link="", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.size = len(data)
    info.linkname = link
    info.mode = mode
    return info, data


def zstd(data, path):
    with open(path, "wb") as f:
        subprocess.run(["zstd", "-q", "-c"], input=data, stdout=f, check=True)


DIR = (".", tarfile.DIRTYPE)
KINDS = {
    "dotdot": [item(*DIR), item("../escaped", data=b"x")],
    "dotdot-inside": [item(*DIR), item("a", tarfile.DIRTYPE), item("a/../../escaped", data=b"x")],
    "absolute": [item(*DIR), item("/tmp/escaped", data=b"x")],
    "through-link": [item(*DIR), item("d", tarfile.SYMTYPE, link="/tmp"), item("d/escaped", data=b"x")],
    "through-link-up": [item(*DIR), item("d", tarfile.SYMTYPE, link=".."), item("d/escaped", data=b"x")],
    "dir-then-link": [item(*DIR), item("d", tarfile.DIRTYPE), item("d", tarfile.SYMTYPE, link="/tmp"),
                      item("d/escaped", data=b"x")],
    "twice": [item(*DIR), item("a", data=b"1"), item("a", data=b"2")],
    "hardlink-out": [item(*DIR), item("h", tarfile.LNKTYPE, link="../../etc/passwd")],
    "hardlink-absolute": [item(*DIR), item("h", tarfile.LNKTYPE, link="/etc/passwd")],
    "hardlink-through-link": [item(*DIR), item("d", tarfile.SYMTYPE, link="/etc"),
                              item("h", tarfile.LNKTYPE, link="d/passwd")],
    "hardlink-to-dir": [item(*DIR), item("d", tarfile.DIRTYPE), item("h", tarfile.LNKTYPE, link="d")],
    "device": [item(*DIR), item("c", tarfile.CHRTYPE)],
    "fifo": [item(*DIR), item("p", tarfile.FIFOTYPE)],
    "long-name": [item(*DIR), item("n" * 4096, data=b"x")],
    "no-parent": [item(*DIR), item("a/b", data=b"x")],
    "file-as-dir": [item(*DIR), item("a", data=b"x"), item("a/b", data=b"x")],
    "top-is-file": [item(".", data=b"x")],
}


def make(kind, path):
    if kind == "bomb":
        head = item(*DIR)[0].tobuf(tarfile.PAX_FORMAT)
        info = tarfile.TarInfo("zeros")
        info.size = 10 << 30
        with open(path, "wb") as f:
            z = subprocess.Popen(["zstd", "-q", "-1", "-c"], stdin=subprocess.PIPE, stdout=f)
            z.stdin.write(head + info.tobuf(tarfile.PAX_FORMAT))
            zeros = bytes(1 << 22)
            for _ in range((10 << 30) // len(zeros)):
                z.stdin.write(zeros)
            z.stdin.write(bytes(1024))
            z.stdin.close()
            z.wait()
        return
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in KINDS[kind]:
            tar.addfile(info, io.BytesIO(data))
    zstd(out.getvalue(), path)


def main(args):
    if args[0] == "plant":
        plant(args[1], args[2])
    elif args[0] == "flip":
        flip(args[1], int(args[2]))
    elif args[0] == "newest":
        print(newest(args[1])[1])
    elif args[0] == "kinds":
        print("\n".join(KINDS))
    else:
        make(args[1], args[2])


main(sys.argv[1:])
