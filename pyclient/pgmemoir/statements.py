"""Runs calls on a connection whose rows and types an application may have configured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import psycopg

from .calls import Call, Row
from .cursors import Cursor, Pipelined

T = TypeVar("T")


def rows(conn: psycopg.Connection[Any], statement: bytes, params: Row = ()) -> list[Row]:
    """The rows of one statement."""
    return Cursor(conn).execute(statement, params).fetchall()


def send(conn: psycopg.Connection[Any], call: Call[Any]) -> Cursor:
    """Send a call; in a pipeline its rows are there after that."""
    return Cursor(conn).execute(call.statement, call.params, prepare=call.prepare)


def answer(conn: psycopg.Connection[Any], call: Call[T]) -> T:
    """The parsed answer of a call."""
    return call.parse(send(conn, call).fetchall())


def together(conn: psycopg.Connection[Any], calls: Sequence[Call[T]]) -> list[T]:
    """The parsed answers of calls that are sent in one transaction and one round trip."""
    with Pipelined(conn) as inside, conn.pipeline(), conn.transaction(), inside:
        cursors = [send(conn, call) for call in calls]
    sent = zip(calls, cursors, strict=True)
    return [call.parse(cursor.fetchall()) for call, cursor in sent]
