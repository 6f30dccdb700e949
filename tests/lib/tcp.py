# Servers and clients of the tests of ports/ and of the network: tcp.py WHAT ARGUMENT...
import os, socket, sys, threading, time


def server(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.create_server((address, port), family=family, backlog=128)
    print(s.getsockname()[1], flush=True)
    return s


def each(s, serve):
    while True:
        c, _ = s.accept()
        threading.Thread(target=serve, args=(c,), daemon=True).start()


# Answers only when the client has ended its direction: the length and a sum of what came.
def half(c):
    total = value = 0
    while data := c.recv(1 << 16):
        total += len(data)
        value = (value + sum(data)) % 65521
    c.sendall(b"%d %d" % (total, value))
    c.close()


def echo(c):
    while data := c.recv(1 << 16):
        c.sendall(data)
    c.close()


def reset(c):
    c.recv(1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    c.close()


# Answers each request with what it was: method, target, host and body.
def http(c):
    f = c.makefile("rb")
    first = f.readline().split()
    head = {}
    while (line := f.readline().strip()):
        name, value = line.decode().split(": ", 1)
        head[name.lower()] = value
    body = f.read(int(head.get("content-length", 0)))
    if "chunked" in head.get("transfer-encoding", ""):
        while size := int(f.readline(), 16):
            body += f.read(size)
            f.readline()
        f.readline()
    text = b"%s %s %s %s\n" % (first[0], first[1], head["host"].encode(), body)
    if first[1] == b"/big":
        text = bytes(32 << 20)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(text) + text)
    c.close()


# Takes connections, never reads and never closes.
kept = []
servers = {"half": half, "http": http, "echo": echo, "reset": reset, "deaf": kept.append,
           "hello": lambda c: (c.recv(1 << 16), c.sendall(
               b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"), c.close()),
           "pour": lambda c: (c.recv(1), [c.sendall(bytes(1 << 20)) for _ in range(64)], c.close())}


def connect(port):
    c = socket.create_connection(("127.0.0.1", int(port)))
    c.settimeout(float(os.environ.get("WAIT_SECONDS", 20)))
    return c


def read_all(c):
    data = b""
    while part := c.recv(1 << 16):
        data += part
    return data


def client_half(port, size):
    c = connect(port)
    data = bytes(range(256)) * (int(size) // 256)
    c.sendall(data)
    c.shutdown(socket.SHUT_WR)
    print(read_all(c) == b"%d %d" % (len(data), sum(data) % 65521))


def client_echo(port, count):
    all = [connect(port) for _ in range(int(count))]
    for i, c in enumerate(all):
        c.sendall(b"%d" % i)
        c.shutdown(socket.SHUT_WR)
    print(all and [read_all(c) for c in all] == [b"%d" % i for i in range(len(all))])


def client_reset(port):
    c = connect(port)
    c.sendall(b"x")
    try:
        print("end" if c.recv(1) == b"" else "data")
    except ConnectionResetError:
        print("reset")


def client_pour(port):
    c = connect(port)
    c.sendall(b"x")
    total = 0
    while data := c.recv(1 << 20):
        total += len(data)
    print(total)


# Keeps writing until nothing is taken any more, on many connections, and stays.
def client_stuff(port, count):
    all = []
    for _ in range(int(count)):
        c = connect(port)
        c.setblocking(False)
        all.append(c)
        try:
            while True:
                c.send(bytes(1 << 16))
        except BlockingIOError:
            pass
    print("stuffed", flush=True)
    sys.stdin.read()


# Listens on `count` ports from `first` on, in as many processes as their descriptors take.
def many(first, count, each=900):
    first, count = int(first), int(count)
    ready, tell = os.pipe()
    starts = range(first, first + count, each)
    for start in starts:
        if os.fork() == 0:
            kept = [socket.create_server(("127.0.0.1", port), backlog=1)
                    for port in range(start, min(start + each, first + count))]
            os.write(tell, b".")
            time.sleep(1000)
            os._exit(0)
    for _ in starts:
        os.read(ready, 1)
    print("ready", flush=True)
    time.sleep(1000)


# The first line of the answer to each request in the file, which are parted by lines of "---"; bytes
# escaped as in Python.
def client_requests(port, path):
    for text in open(path).read().split("\n---\n"):
        c = connect(port)
        try:
            c.sendall(text.encode().decode("unicode_escape").encode("latin1"))
        except ConnectionError:
            pass
        print(read_all(c).split(b"\r\n")[0].decode())


if sys.argv[1] == "tls":
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    inner = http
    http = lambda c: inner(context.wrap_socket(c, server_side=True))
    each(server("127.0.0.1", int(sys.argv[2])), http)
elif sys.argv[1] == "serve":
    each(server(sys.argv[3], int(sys.argv[4])), servers[sys.argv[2]])
elif sys.argv[1] == "many":
    many(*sys.argv[2:])
else:
    globals()["client_" + sys.argv[1]](*sys.argv[2:])
