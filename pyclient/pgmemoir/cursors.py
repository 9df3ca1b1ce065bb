"""Cursors of our own, on a connection that may be set up for other rows and other types.

An application registers adapters on its connection, or for all connections: Django reads jsonb as
text, others read numbers as decimals and times as a class of their own. Ours are psycopg's own, and
results come in binary: so neither DateStyle nor extra_float_digits matters.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Self

import psycopg
from psycopg import postgres
from psycopg.adapt import AdaptersMap
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.types.array import register_all_arrays
from psycopg.types.json import set_json_loads

from .calls import Row
from .vectors import HalfVector, HalfVectorDumper, HalfVectors

AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


def _read(document: str | bytes) -> Any:
    """A JSON document; what Python does not read as its text, so that one keeps no others from it.

    PostgreSQL stores deeper ones than Python reads, and integers of more than 4,300 digits.
    """
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        return document if isinstance(document, str) else document.decode()


def _own_adapters() -> AdaptersMap:
    adapters = AdaptersMap(types=postgres.types)
    postgres.register_default_adapters(adapters)
    register_all_arrays(adapters)
    set_json_loads(_read, adapters)
    adapters.register_dumper(HalfVector, HalfVectorDumper)
    adapters.register_dumper(HalfVectors, HalfVectorDumper)
    return adapters


_ADAPTERS = _own_adapters()


class Cursor(psycopg.Cursor[Row]):
    """Tuples of Python's own types."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        super().__init__(conn, row_factory=tuple_row)
        self.format = psycopg.pq.Format.BINARY

    @property
    def adapters(self) -> AdaptersMap:
        """Those of no application."""
        return _ADAPTERS


class AsyncCursor(psycopg.AsyncCursor[Row]):
    """`Cursor` for asyncio."""

    def __init__(self, conn: psycopg.AsyncConnection[Any]) -> None:
        super().__init__(conn, row_factory=tuple_row)
        self.format = psycopg.pq.Format.BINARY

    @property
    def adapters(self) -> AdaptersMap:
        """Those of no application."""
        return _ADAPTERS


def is_free(conn: AnyConnection | None) -> bool:
    """Whether a connection outside transactions takes a statement.

    It does not when it was lost, nor when a call on it was interrupted (Ctrl-C) at a moment at
    which psycopg leaves it in the middle of a statement or a pipeline.
    """
    return (
        conn is not None
        and not _was_ended(conn)
        and conn.info.transaction_status == TransactionStatus.IDLE
        and conn.pgconn.pipeline_status == PipelineStatus.OFF
    )


def _was_ended(conn: AnyConnection) -> bool:
    """Whether the server ended it since the last call: by a restart, or idle_session_timeout.

    libpq knows once it has read the server's last words, and then the end behind them (2 us each).
    """
    with suppress(psycopg.OperationalError):
        conn.pgconn.consume_input()
        conn.pgconn.consume_input()
    return conn.closed


class Pipelined:
    """Around a pipeline and once more inside it: interrupted, the connection is closed.

    Ctrl-C or a cancelled task leaves it in the pipeline, where every later statement is answered by
    "pipeline aborted", or counts one transaction too many. And from inside a pipeline psycopg waits
    for what was sent, for a lock without end. In a pipeline of the caller's it stays open.
    """

    def __init__(self, conn: AnyConnection) -> None:
        self._pgconn = conn.pgconn
        self._is_ours = conn.pgconn.pipeline_status == PipelineStatus.OFF

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._is_ours and kind is not None and not issubclass(kind, Exception):
            self._pgconn.finish()
