"""Cursors of our own, on a connection that may be set up for other rows and other types.

An application registers adapters on its connection, or for all connections: Django reads jsonb as
text, others read numbers as decimals and times as a class of their own. Ours are psycopg's own, and
results come in binary: so neither DateStyle nor extra_float_digits matters.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import psycopg
from psycopg import postgres
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.pq import Format, PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.types.array import register_all_arrays
from psycopg.types.json import set_json_loads

from .calls import Row
from .vectors import HalfVector, HalfVectorDumper, HalfVectors

AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


def _read(document: str | bytes) -> Any:
    """A JSON document; as text if Python cannot read it, so that one does not hide the others.

    PostgreSQL stores deeper ones than Python reads, and integers of more than 4,300 digits.
    """
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        return document if isinstance(document, str) else document.decode()


_TIME = postgres.types["timestamptz"].oid


def _plain_adapters() -> AdaptersMap:
    adapters = AdaptersMap(types=postgres.types)
    postgres.register_default_adapters(adapters)
    register_all_arrays(adapters)
    return adapters


_2000 = datetime(2000, 1, 1, tzinfo=UTC)
_PLAIN_TIMES = _plain_adapters().get_loader(_TIME, Format.BINARY)


class _Times(Loader):
    """Reads times; one that Python does not have is in UTC, or the first or last that it has.

    ``9999-12-31`` is often written for "always", and in Asia that is the year 10000.
    """

    format = Format.BINARY

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        assert _PLAIN_TIMES is not None
        self._load = _PLAIN_TIMES(oid, context).load

    def load(self, data: Buffer) -> Any:
        """The time of a value in PostgreSQL's binary form: microseconds since 2000."""
        try:
            return self._load(data)
        except psycopg.DataError:
            since_2000 = int.from_bytes(data, "big", signed=True)
            try:
                return _2000 + timedelta(microseconds=since_2000)
            except OverflowError:
                return (datetime.max if since_2000 > 0 else datetime.min).replace(tzinfo=UTC)


def _own_adapters() -> AdaptersMap:
    adapters = _plain_adapters()
    set_json_loads(_read, adapters)
    adapters.register_loader(_TIME, _Times)
    adapters.register_dumper(HalfVector, HalfVectorDumper)
    adapters.register_dumper(HalfVectors, HalfVectorDumper)
    return adapters


_ADAPTERS = _own_adapters()


class Cursor(psycopg.Cursor[Row]):
    """A cursor whose rows are tuples of plain Python types."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        super().__init__(conn, row_factory=tuple_row)
        self.format = Format.BINARY

    @property
    def adapters(self) -> AdaptersMap:
        """Those of no application."""
        return _ADAPTERS


class AsyncCursor(psycopg.AsyncCursor[Row]):
    """`Cursor` for asyncio."""

    def __init__(self, conn: psycopg.AsyncConnection[Any]) -> None:
        super().__init__(conn, row_factory=tuple_row)
        self.format = Format.BINARY

    @property
    def adapters(self) -> AdaptersMap:
        """Those of no application."""
        return _ADAPTERS


def is_free(conn: AnyConnection | None) -> bool:
    """Whether a connection takes a statement now, outside transactions.

    Not if it was lost, or if Ctrl-C interrupted a call in the middle of a statement or a pipeline.
    """
    return (
        conn is not None
        and not _was_ended(conn)
        and conn.info.transaction_status == TransactionStatus.IDLE
        and conn.pgconn.pipeline_status == PipelineStatus.OFF
    )


def _was_ended(conn: AnyConnection) -> bool:
    """Whether the server has ended it since the last call (restart, idle_session_timeout).

    libpq notices after two reads, of the server's last message and of its end (2 us each).
    """
    with suppress(psycopg.OperationalError):
        conn.pgconn.consume_input()
        conn.pgconn.consume_input()
    return conn.closed


class Pipelined:
    """Closes the connection if a pipeline is interrupted; used around the pipeline and inside it.

    After Ctrl-C or a cancelled task every later statement would get "pipeline aborted", or psycopg
    would count one transaction too many; and leaving a pipeline, psycopg waits for what was sent,
    perhaps for a lock. A connection in a pipeline of the caller's stays open.
    """

    def __init__(self, conn: AnyConnection) -> None:
        self._pgconn = conn.pgconn
        self._is_ours = conn.pgconn.pipeline_status == PipelineStatus.OFF

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._is_ours and kind is not None and not issubclass(kind, Exception):
            self._pgconn.finish()
