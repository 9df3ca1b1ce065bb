"""Switches to another embedding model while the one in use serves every recall.

`add` it, make its traces (`make_traces`), have them embedded (`backfill.backfill` with its name),
then `switch`: one statement. `drop` the old one when it is no longer needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from .calls import Row, columns
from .checks import whole_number
from .errors import translated
from .statements import rows

_ADD = b"SELECT memoir.add_model(%s::text, %s::int)"
_MAKE = b"""SELECT owner, last_id, made
FROM memoir.fill_model(%s::text, %s::int, %s::text, %s::bigint, %s::text)"""
_SWITCH = b"SELECT memoir.switch_model(%s::text, %s::boolean)"
_DROP = b"SELECT memoir.drop_model(%s::text)"

# Traces per transaction; changes of its user wait for it.
_TRACES = 1000


@dataclass(frozen=True)
class Model:
    """An embedding model of a database.

    Attributes:
        name: None before a client has named it.
        state: in use, ready, to be filled, or being dropped.
        vectors: memories that have a vector of it.
        missing: active memories that have none.
    """

    name: str | None
    dimensions: int | None
    state: str
    vectors: int
    missing: int
    added_at: datetime


_MODELS = f"SELECT {columns(Model)} FROM memoir.models()".encode()


def models(conn: psycopg.Connection[Any]) -> list[Model]:
    """The models of this database, the one in use first."""
    return [Model(*row) for row in _run(conn, _MODELS)]


def add(conn: psycopg.Connection[Any], name: str, dimensions: int) -> None:
    """Add a model beside the one in use; a second call changes nothing.

    Raises:
        ModelMismatch: it exists with other dimensions.
        NotPossible: the model in use has no name yet.
        OutOfRange: it has no name, or more than 4000 dimensions.
    """
    _run(conn, _ADD, name, whole_number(dimensions, "dimensions"))


def make_traces(conn: psycopg.Connection[Any], name: str, user: str | None = None) -> Iterator[int]:
    """Prepare the memories that existed before the model; yields how many after each batch.

    Args:
        conn: in autocommit.
        user: whose memories; None: everybody's.
    """
    after: tuple[str | None, int | None] = (None, None)
    while made := _run(conn, _MAKE, name, _TRACES, *after, user):
        ((owner, last_id, number),) = made
        after = (owner, last_id)
        yield number


def switch(conn: psycopg.Connection[Any], name: str, *, force: bool = False) -> None:
    """From now on this model is in use.

    Args:
        force: even if memories with a vector of the model in use have none of this one.

    Raises:
        ModelMismatch: there is no such model.
        NotPossible: memories are missing, or are being changed right now.
    """
    _run(conn, _SWITCH, name, force)


def drop(conn: psycopg.Connection[Any], name: str) -> Iterator[int]:
    """Delete a model that is not in use; yields of how many memories after each batch.

    Args:
        conn: in autocommit.

    Raises:
        ModelMismatch: there is no such model.
        NotPossible: it is in use.
    """
    while number := _run(conn, _DROP, name)[0][0]:
        yield number


def _run(conn: psycopg.Connection[Any], statement: bytes, *params: Any) -> list[Row]:
    with translated():
        return rows(conn, statement, params)
