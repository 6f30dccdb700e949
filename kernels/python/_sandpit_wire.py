"""The framed protocol on descriptor 3 (docs/kernel-protocol.md)."""

import atexit
import os
import socket
import struct

SETUP, EXECUTE, INTERRUPT, LINE, SYNCED, PREPARE = 1, 2, 3, 4, 5, 6
READY, RESULT, UPDATE, CLEAR, ERROR, INPUT, END, SYNC = 16, 17, 18, 19, 20, 21, 22, 23

MAX = 32 * 1024 * 1024
_HEADER = struct.Struct("<IBxxxI")
_FIELD = struct.Struct("<II")


def _bytes(value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


class Wire:
    def __init__(self, fd=3, pending=b""):
        self.socket = socket.socket(fileno=fd)
        os.set_inheritable(fd, False)
        # Closed when the process has ended, not as the interpreter takes itself apart.
        atexit.register(self.socket.detach)
        self.data = bytearray(pending)
        self.held = b""

    def fileno(self):
        return self.socket.fileno()

    def send(self, kind, execution=0, fields=(), hold=False):
        """hold: goes out with the next one, in one system call."""
        parts = []
        for name, value in fields:
            name, value = _bytes(name), _bytes(value)
            parts += (_FIELD.pack(len(name), len(value)), name, value)
        payload = b"".join(parts)
        self.held += _HEADER.pack(len(payload), kind, execution) + payload
        if not hold:
            held, self.held = self.held, b""
            self.socket.sendall(held)

    def receive(self):
        """The next frame as (kind, execution, [(name, value)]); None when the daemon has gone."""
        while True:
            if len(self.data) >= _HEADER.size:
                size, kind, execution = _HEADER.unpack_from(self.data)
                end = _HEADER.size + size
                if len(self.data) >= end:
                    payload = bytes(self.data[_HEADER.size:end])
                    del self.data[:end]
                    return kind, execution, list(self._fields(payload))
            more = self.socket.recv(65536)
            if not more:
                return None
            self.data += more

    @staticmethod
    def _fields(payload):
        at = 0
        while at < len(payload):
            name, value = _FIELD.unpack_from(payload, at)
            at += _FIELD.size
            yield payload[at:at + name].decode(), payload[at + name:at + name + value]
            at += name + value
