#!/usr/bin/env python3
# A connection that breaks: passes what a client sends on to a server, and resets both sides once so many
# bytes of the client's have passed.
#
# cut.py SERVER_PORT BYTES: prints its own port.
import socket
import struct
import sys
import threading

server_port, left = int(sys.argv[1]), int(sys.argv[2])


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def answers(server, client):
    try:
        while data := server.recv(65536):
            client.sendall(data)
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client = listener.accept()[0]
listener.close()
server = socket.create_connection(("127.0.0.1", server_port))
threading.Thread(target=answers, args=(server, client), daemon=True).start()
while left and (data := client.recv(min(left, 65536))):
    server.sendall(data)
    left -= len(data)
# What was sent is to arrive before the end does.
server.shutdown(socket.SHUT_WR)
reset(client)
