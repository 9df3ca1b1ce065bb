"""A pooler of transactions with one session, as pgbouncer is: whoever says something has it until
the end of his transaction. Nothing of the session is taken back in between.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_STARTUP = 196608
_A_PID_OF_ITS_OWN = 1 << 30


class _Messages:
    """What went one way on a connection, message by message."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, data: bytes) -> list[bytes]:
        """Those that are complete by now."""
        self._rest += data
        found = []
        while len(self._rest) >= 5 and len(self._rest) >= (end := 1 + self._length()):
            found.append(self._rest[:end])
            self._rest = self._rest[end:]
        return found

    def _length(self) -> int:
        """Of the next one, without its first byte, which says what it is."""
        return int.from_bytes(self._rest[1:5], "big")


class Pooler:
    """Lends one session of a database."""

    def __init__(self, dsn: str) -> None:
        address = conninfo_to_dict(dsn)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(f"{address['host']}/.s.PGSQL.{address['port']}")
        self._lent = threading.Lock()
        names = f"user\0{address['user']}\0database\0{address['dbname']}\0\0".encode()
        self._server.sendall(struct.pack("!ii", len(names) + 8, _STARTUP) + names)
        self._greeting = self._greet()

    def _greet(self) -> bytes:
        """What the server says of itself, but with another pid."""
        messages, said = _Messages(), []
        while not said or said[-1][:1] != b"Z":
            said += messages.read(self._server.recv(65536))
        key = struct.pack("!ciii", b"K", 12, _A_PID_OF_ITS_OWN, 0)
        return b"".join(key if each[:1] == b"K" else each for each in said)

    def serve(self, client: socket.socket) -> None:
        with client:
            client.recv(65536)
            client.sendall(self._greeting)
            while (data := client.recv(65536)) and data[:1] != b"X":
                with self._lent:
                    self._carry(client, data)

    def _carry(self, client: socket.socket, data: bytes) -> None:
        """Both ways until the end of a transaction."""
        asked, answered = _Messages(), _Messages()
        waiting = 0
        while True:
            waiting += sum(each[:1] in (b"Q", b"S") for each in asked.read(data))
            self._server.sendall(data)
            data = b""
            while not data:
                ready = select.select([client, self._server], [], [])[0]
                if self._server in ready:
                    told = self._server.recv(65536)
                    client.sendall(told)
                    ends = [each for each in answered.read(told) if each[:1] == b"Z"]
                    waiting -= len(ends)
                    if ends and not waiting and ends[-1][-1:] == b"I":
                        return
                if client in ready:
                    data = client.recv(65536)
                    if not data:
                        raise ConnectionError("a client left in its transaction")

    def close(self) -> None:
        self._server.close()


@contextmanager
def pooled(dsn: str) -> Iterator[str]:
    """The address of a pooler before a database."""
    pooler = Pooler(dsn)
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                client = listener.accept()[0]
            except OSError:  # it is closed
                return
            threading.Thread(target=pooler.serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    host, port = listener.getsockname()
    try:
        yield make_conninfo(dsn, host=host, port=port, sslmode="disable", gssencmode="disable")
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        pooler.close()
