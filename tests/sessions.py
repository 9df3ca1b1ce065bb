"""Sessions of the server that serve one connection after another.

The first remember of a session takes 12 ms and the first recall 14, for plans; to begin one takes
5. Every command of the command line and every client opens a connection. So a connection to a lent
database leaves its session, reset, to the next that asks for the same. To Python it is closed, and
the next is another.

A new session begins where the environment, the database or a role has settings for it, and a
connection that is closed within a transaction ends its session.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import BaseConnection, pq
from psycopg.abc import PQGenConn
from psycopg.conninfo import conninfo_to_dict

# As DISCARD ALL, but plans are kept.
AS_NEW = """
CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; UNLISTEN *;
DISCARD TEMP; DISCARD SEQUENCES; SELECT pg_advisory_unlock_all(), pg_stat_force_next_flush()
"""
# Prepared statements are known to the connection. Who looks for a program does not find them.
LEFT = f"DEALLOCATE ALL; {AS_NEW}; SET application_name = 'left'".encode()
# Besides, what a new session would be given.
TAKEN = b"""
RESET application_name;
SELECT current_user;  -- an error where the role is gone, even if there is another of its name
SELECT FROM pg_db_role_setting
WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
MOST = 4  # free ones for the same address: the server takes a hundred


class Sessions:
    """Those of one database that no connection has."""

    def __init__(self) -> None:
        self._free: defaultdict[str, list[pq.PGconn]] = defaultdict(list)
        self._process = os.getpid()

    @property
    def pids(self) -> list[int]:
        return [session.backend_pid for free in [*self._free.values()] for session in free]

    def take(self, conninfo: str) -> pq.PGconn | None:
        """One that began with this address, if a new one would be the same."""
        free = self._free[conninfo]
        while self._process == os.getpid():
            try:
                session = free.pop()
            except IndexError:  # there is none, or another thread took it
                break
            result = session.exec_(TAKEN)
            if result.status == pq.ExecStatus.TUPLES_OK and not result.ntuples:
                while session.notifies():
                    pass
                return session
            session.finish()
        return None

    def leave(self, conninfo: str, session: pq.PGconn) -> bool:
        """Leave it to the next; whether it could be reset."""
        free = self._free[conninfo]
        if (
            len(free) < MOST
            and self._process == os.getpid()
            and session.transaction_status == pq.TransactionStatus.IDLE
            and session.pipeline_status == pq.PipelineStatus.OFF
            and session.exec_(LEFT).status == pq.ExecStatus.COMMAND_OK
        ):
            free.append(session)
            return True
        return False

    def end(self) -> None:
        for free in self._free.values():
            for session in free:
                session.finish()
        self._free.clear()


class Kept:
    """Keeps the sessions of some databases."""

    def __init__(self) -> None:
        self._of: dict[tuple[object, ...], Sessions] = {}

    @contextmanager
    def of(self, dsn: str) -> Iterator[Sessions]:
        """Those of a database, from now on."""
        sessions = self._of[_place(dsn)] = Sessions()
        yield sessions
        del self._of[_place(dsn)]
        sessions.end()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Connections have them; they are those of psycopg."""
        begin = BaseConnection._connect_gen.__func__
        close, close_async = psycopg.Connection.close, psycopg.AsyncConnection.close

        def _connect_gen(cls: type[BaseConnection], conninfo: str = "") -> PQGenConn:
            environment = any(name.startswith("PG") for name in os.environ)
            sessions = None if environment else self._of.get(_place(conninfo))
            if sessions is not None and (session := sessions.take(conninfo)) is not None:
                conn = cls(session)
            else:
                conn = yield from begin(cls, conninfo)
            conn.left_to = sessions, conninfo
            return conn

        def _leave(conn: BaseConnection) -> None:
            sessions, conninfo = getattr(conn, "left_to", (None, ""))
            if sessions is not None and not conn.closed and sessions.leave(conninfo, conn.pgconn):
                conn.pgconn, conn._closed = pq.PGconn.connect_start(b"host=/nowhere"), True

        def _close(conn: psycopg.Connection) -> None:
            _leave(conn)
            close(conn)

        async def _close_async(conn: psycopg.AsyncConnection) -> None:
            _leave(conn)
            await close_async(conn)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(BaseConnection, "_connect_gen", classmethod(_connect_gen))
            patched.setattr(psycopg.Connection, "close", _close)
            patched.setattr(psycopg.AsyncConnection, "close", _close_async)
            yield


def _place(conninfo: str) -> tuple[object, ...]:
    known = conninfo_to_dict(conninfo)
    return known.get("host"), known.get("port"), known.get("dbname")
