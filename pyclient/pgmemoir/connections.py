"""Connections of commands and of the worker."""

from __future__ import annotations

from typing import Any

import psycopg


def connect(dsn: str, *, autocommit: bool = True, **more: Any) -> psycopg.Connection[Any]:
    """One that may lead to a pooler of transactions: it prepares nothing.

    It speaks UTF-8, whatever encoding the environment or the role is set to, and whatever isolation
    the database is set to, each transaction sees what those it waited for did.
    """
    conn = psycopg.connect(
        dsn, autocommit=autocommit, prepare_threshold=None, client_encoding="utf8", **more
    )
    conn.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return conn


def has_own_session(conn: psycopg.Connection[Any]) -> bool:
    """Whether nobody else gets the session, as from a pooler, which gives out pids of its own.

    There a LISTEN would stay, and send notifications to clients that never asked for any. pgpool
    gives out the pid of a standby, where it reads, and asks its primary about recovery.
    """
    answering = conn.execute(
        "SELECT pg_catalog.pg_backend_pid() WHERE NOT pg_catalog.pg_is_in_recovery()"
    ).fetchone()
    return answering == (conn.info.backend_pid,)
