"""Does each operation again and again, while the first, the second, the third ... allocation that it makes in
the daemon fails, until there are no more of them. It must fail as a whole, or be as it always is, or say that
something is missing; afterwards all is as before.

failing_alloc.py MOUNT PLAN GROUP
"""
import contextlib
import errno
import json
import mmap
import os
import struct
import sys

MOUNT, PLAN, GROUP = sys.argv[1:]
ATTEMPTS_MAX = 2000
TOLD = "it says that something is missing"
plan = mmap.mmap(os.open(PLAN, os.O_RDWR), 16)
numbers = iter(range(1, 1 << 30))
faults = 0


def fail_after(count):
    plan[:16] = struct.pack("qq", count, 0)


def stop_failing():
    plan[:8] = struct.pack("q", 0)


def has_failed():
    return struct.unpack("qq", plan[:16])[1] > 0


def fault(text):
    global faults
    faults += 1
    print(text)


def at(path):
    return f"{MOUNT}/{path}"


def read(path):
    with open(at(path), "rb", buffering=0) as file:
        return b"".join(iter(lambda: file.read(65536), b""))


def write(path, text):
    fd = os.open(at(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def ask(path, text):
    """Writes a request and reads the answer on the same handle."""
    fd = os.open(at(path), os.O_RDWR)
    try:
        os.write(fd, text.encode())
        return b"".join(iter(lambda: os.read(fd, 65536), b"")).decode().strip()
    finally:
        os.close(fd)


def remove_all(path):
    for name in os.listdir(at(path)):
        os.unlink(at(f"{path}/{name}"))
    os.rmdir(at(path))


def outcome(id, get):
    """What get() gives of a run; TOLD where it did not start, with words, or its output is cut."""
    if read(f"out/{id}/wait") == b"126\n":
        return TOLD if b"Cannot allocate memory" in read(f"out/{id}/stderr") else "no words"
    return TOLD if json.loads(read(f"out/{id}/result.json"))["truncated"] else get(id)


def run(text, file="ctl/run"):
    return outcome(ask(file, text), lambda id: read(f"out/{id}/stdout")[-10:])


def run_json():
    request = {"cmd": "cat; echo $A", "stdin": "in", "env": {"A": "b"}, "cwd": "/tmp", "timeout": 9}
    return outcome(json.loads(ask("ctl/run.json", json.dumps(request)))["id"], lambda id: read(f"out/{id}/stdout"))


def named_run():
    id = f"run-{next(numbers)}"
    os.mkdir(at(f"out/{id}"))
    write(f"out/{id}/cmd", "echo named")
    return outcome(id, lambda id: read(f"out/{id}/stdout"))


def renamed_over():
    write("ctl/run.new", "echo over")
    os.rename(at("ctl/run.new"), at("ctl/run"))
    return read("ctl/run")


def killed():
    id = ask("ctl/start", "sleep 100")
    try:
        write(f"out/{id}/kill", "KILL\n")
    except ProcessLookupError:
        return outcome(id, lambda id: "no such process")
    except OSError:
        stop_failing()
        with contextlib.suppress(ProcessLookupError):
            write(f"out/{id}/kill", "KILL\n")
        raise
    return outcome(id, lambda id: read(f"out/{id}/wait"))


def removed_run():
    id = ask("ctl/run", "echo gone")
    remove_all(f"out/{id}")
    return os.path.exists(at(f"out/{id}"))


def setting(name, value):
    write(f"ctl/{name}", value)
    return read(f"ctl/{name}")


def file():
    name, other = (f"files/work/f{next(numbers)}" for _ in range(2))
    write(name, "text")
    os.rename(at(name), at(other))
    return read(other)


def links():
    soft, hard = (f"files/work/l{next(numbers)}" for _ in range(2))
    os.symlink("/etc/passwd", at(soft))
    os.link(at("files/work/one"), at(hard))
    return os.readlink(at(soft)), read(hard)


def directory():
    name = f"files/work/d{next(numbers)}"
    os.mkdir(at(name))
    for i in range(20):
        write(f"{name}/{i}", "")
    names = sorted(os.listdir(at(name)))
    sizes = [entry.stat().st_size for entry in os.scandir(at(name))]
    remove_all(name)
    return names, sizes


def attributes():
    name = at("files/work/one")
    os.setxattr(name, "user.a", b"value")
    got = os.getxattr(name, "user.a"), os.listxattr(name)
    os.removexattr(name, "user.a")
    return got


def cell(context, text, get):
    """What get() gives of an execution; TOLD where its kernel did not start, or its result is cut."""
    out = f"code/{context}/out/{ask(f'code/{context}/in', text)}"
    result = json.loads(read(f"{out}/result.json"))
    if result["status"] == "died":
        return TOLD if "memory" in json.dumps(result["error"]) else result
    return TOLD if result.get("truncated") else get(out, result)


def python_results():
    text = "import sys; sys.stdout.write('x' * 100000); sys.displayhook([1, 2])"
    return cell("python", text, lambda out, result: (sorted(os.listdir(at(f"{out}/results"))), len(read(f"{out}/stdout"))))


def python_events():
    def get(out, result):
        events = [json.loads(line) for line in read(f"{out}/events").splitlines()]
        return TOLD if events[-1].get("truncated") else [event["type"] for event in events]

    return cell("python", "print(1)\n2", get)


def context():
    name = f"c{next(numbers)}"
    os.mkdir(at(f"code/{name}"))
    try:
        write(f"code/{name}/language", "bash")
        return cell(name, "echo hello", lambda out, result: read(f"{out}/stdout"))
    finally:
        stop_failing()
        os.rmdir(at(f"code/{name}"))


def tree(top):
    def refused(e):
        raise e

    walk = os.walk(at(top), onerror=refused)
    return sorted(os.path.join(path, name) for path, _, names in walk for name in names) != []


def removed_checkpoint():
    ask("checkpoint", "persist /work/kept")
    last = sorted(os.listdir(at("checkpoints")))[-1]
    os.rmdir(at(f"checkpoints/{last}"))
    return last in os.listdir(at("checkpoints"))


GROUPS = {
    "files": {
        "status.json": lambda: sorted(json.loads(read("status.json"))),
        "stats.json": lambda: sorted(json.loads(read("stats.json"))),
        "README": lambda: read("README"),
        "log": lambda: read("log") != b"",
        "names": lambda: [sorted(os.listdir(at(name))) for name in ("", "ctl", "code", "code/python", "browser", "ports")],
        "a file": file,
        "links": links,
        "a directory": directory,
        "extended attributes": attributes,
        "what was there before": lambda: len(os.listdir(at("files/etc"))) > 10,
    },
    "runs": {
        "ctl/run": lambda: run("echo out; echo err >&2"),
        "much output": lambda: run("head -c 300000 /dev/zero; echo end"),
        "a long text": lambda: run(": " + "x" * 100000 + "\necho end"),
        "ctl/start": lambda: run("sleep 0.01; echo end", "ctl/start"),
        "ctl/run.json": run_json,
        "a named run": named_run,
        "a file renamed over ctl/run": renamed_over,
        "kill": killed,
        "rm -r": removed_run,
        "ctl/env": lambda: setting("env", "A=1\nB=2\n"),
        "ctl/cwd": lambda: setting("cwd", "/tmp\n"),
        "out/last": lambda: sorted(os.listdir(at("out/last"))),
    },
    "code": {
        "bash": lambda: cell("bash", "echo hello", lambda out, result: read(f"{out}/stdout")),
        "python": lambda: cell("python", "6 * 7", lambda out, result: read(f"{out}/results/0.txt")),
        "results": python_results,
        "an error": lambda: cell("python", "1 / 0", lambda out, result: result["status"]),
        "events": python_events,
        "in.json": lambda: list(json.loads(ask("code/bash/in.json", '{"code": "echo hello"}'))),
        "a context": context,
    },
    "checkpoints": {
        "persist": lambda: ask("checkpoint", "persist /work/kept") != "",
        "checkpoints/": lambda: tree("checkpoints"),
        "restore": lambda: ask("checkpoint", "restore /work/kept") != "",
        "rmdir": removed_checkpoint,
    },
}


def attempt(operation):
    try:
        return operation(), None
    except (OSError, ValueError, KeyError, IndexError) as e:
        return None, e


def is_alive():
    answer, e = attempt(lambda: json.loads(read("status.json"))["state"])
    if answer != "mounted":
        fault(f"the daemon answers {answer!r} {e!r}")
    return answer == "mounted"


def try_all(name, operation):
    attempt(operation)
    want, e = attempt(operation)
    if e or want == TOLD:
        return fault(f"{name}: {want!r} {e!r} by itself")
    for number in range(1, ATTEMPTS_MAX):
        fail_after(number)
        got, e = attempt(operation)
        stop_failing()
        hit = has_failed()
        if e and not hit:
            fault(f"{name}, {number}: {e!r}")
        elif isinstance(e, OSError) and e.errno not in (errno.ENOMEM, errno.EIO):
            fault(f"{name}, {number}: {e!r}; error: {read('error').decode()}")
        elif not e and got not in (want, TOLD):
            fault(f"{name}, {number}: {got!r:.300}")
        if not is_alive():
            sys.exit(1)
        again, e = attempt(operation)
        if e or again != want:
            fault(f"{name}, after {number}: {again!r:.300} {e!r}")
        if not hit:
            return print(f"# {name}: {number - 1} allocations")
    fault(f"{name}: no end of allocations")


stop_failing()
os.makedirs(at("files/work/kept"), exist_ok=True)
for name in ("work/one", "work/kept/a", "work/kept/b"):
    write(f"files/{name}", name)
for name, operation in GROUPS[GROUP].items():
    try_all(name, operation)
sys.exit(faults > 0)
