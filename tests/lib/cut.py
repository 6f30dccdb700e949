#!/usr/bin/env python3
# A connection that breaks: passes what a client and a server send on, and resets both sides once so many
# bytes of the client's have passed, or of the server's answers.
#
# cut.py SERVER_PORT [answers:]BYTES: prints its own port.
import socket
import struct
import sys
import threading

server_port = int(sys.argv[1])
of_answers = sys.argv[2].startswith("answers:")
left = int(sys.argv[2].removeprefix("answers:"))


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def pass_all(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
    except OSError:
        pass


def pass_some(source, to, left):
    while left and (data := source.recv(min(left, 65536))):
        to.sendall(data)
        left -= len(data)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client = listener.accept()[0]
listener.close()
server = socket.create_connection(("127.0.0.1", server_port))
if of_answers:
    threading.Thread(target=pass_all, args=(client, server), daemon=True).start()
    pass_some(server, client, left)
    reset(server)
else:
    threading.Thread(target=pass_all, args=(server, client), daemon=True).start()
    pass_some(client, server, left)
    # What was sent is to arrive before the end does.
    server.shutdown(socket.SHUT_WR)
reset(client)
