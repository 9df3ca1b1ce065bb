"""Statements on a connection that may be set up for other rows than ours, and many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import psycopg

from .calls import Call, Calls, Row, find_vector_type
from .cursors import Cursor, Pipelined

T = TypeVar("T")

Statement = tuple[bytes, Row]
"""A statement and its parameters."""


def rows(conn: psycopg.Connection[Any], statement: bytes, params: Row = ()) -> list[Row]:
    """The rows of one statement."""
    return _send(conn, (statement, params)).fetchall()


def answer(conn: psycopg.Connection[Any], call: Call[T]) -> T:
    """What a call answers."""
    return call.parse(rows(conn, call.statement, call.params))


def vector_calls(conn: psycopg.Connection[Any]) -> Calls:
    """The calls that carry a vector, for the database of the connection."""
    return Calls(*answer(conn, find_vector_type()))


def together(conn: psycopg.Connection[Any], statements: Sequence[Statement]) -> list[list[Row]]:
    """The rows of each statement: one transaction, and one round trip for all of them."""
    with Pipelined(conn) as inside, conn.pipeline(), conn.transaction(), inside:
        cursors = [_send(conn, statement) for statement in statements]
    return [cursor.fetchall() for cursor in cursors]


def _send(conn: psycopg.Connection[Any], statement: Statement) -> Cursor:
    return Cursor(conn).execute(*statement)
