"""Connections of commands and of the worker."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo


def connect(dsn: str, *, autocommit: bool = True, **more: Any) -> psycopg.Connection[Any]:
    """A connection that prepares no statement, because it may lead to a transaction pooler.

    It speaks UTF-8, whatever encoding the environment or the role is set to, and whatever isolation
    the database is set to, each transaction sees what those it waited for did.
    """
    conn = psycopg.connect(
        dsn, autocommit=autocommit, prepare_threshold=None, client_encoding="utf8", **more
    )
    conn.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return conn


def end_with_the_client(conn: psycopg.Connection[Any]) -> None:
    """Let the server end this transaction once the client is gone.

    Otherwise the statement of a command that was killed goes on for nothing until it is done, and
    whoever changes memory of the same user waits for it.
    """
    with suppress(psycopg.Error), conn.transaction():  # not every system can tell
        conn.execute("SET LOCAL client_connection_check_interval = '1s'")


def has_own_session(conn: psycopg.Connection[Any]) -> bool:
    """Whether the session is this connection's alone, and not a pooler's, which reports other pids.

    There a LISTEN would stay, and send notifications to clients that never asked for any. pgpool
    gives out the pid of a standby, where it reads, and asks its primary about recovery.
    """
    answering = conn.execute(
        "SELECT pg_catalog.pg_backend_pid() WHERE NOT pg_catalog.pg_is_in_recovery()"
    ).fetchone()
    return answering == (conn.info.backend_pid,)


def is_starting(dsn: str) -> bool:
    """Whether a server is there that takes no connections yet: it starts, stops, or recovers.

    libpq tells the SQLSTATE of a refused connection to nobody else, and the words are translated.
    It keeps Python's lock meanwhile, so not for long.
    """
    return pq.PGconn.ping(make_conninfo(dsn, connect_timeout=3).encode()) == pq.Ping.REJECT
