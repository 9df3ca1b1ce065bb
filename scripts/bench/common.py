"""What the benchmarks share: a server to throw away, the raw floor, and interleaved timing."""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg

from pgmemoir import migrations, server

# The one setting a production server of any size would change. Durability (fsync,
# synchronous_commit, full_page_writes) stays as it is.
PRODUCTION = {"shared_buffers": "512MB"}

# The raw search: a bare table of the same rows with the index everybody makes.
_BARE = """DROP TABLE IF EXISTS memoir_floor;
CREATE TABLE memoir_floor AS
    SELECT user_id, memory_id AS id, embedding FROM memoir.trace WHERE active ORDER BY memory_id;
CREATE INDEX ON memoir_floor (user_id)"""
_FLOOR = """SELECT id FROM memoir_floor WHERE user_id = %s
ORDER BY embedding <=> %s::{schema}.halfvec LIMIT 20"""
# The same on memoir's own covering index: an index-only scan, nothing is read from the table.
_INDEX_ONLY = """SELECT memory_id FROM memoir.trace
WHERE user_id = %s AND model = %s AND active AND NOT wide
ORDER BY embedding <=> %s::{schema}.halfvec LIMIT 20"""


@dataclass(frozen=True)
class Statement:
    """A statement of psycopg's and its parameters."""

    text: bytes
    params: tuple[Any, ...]


@contextmanager
def database(dsn: str | None, version: int) -> Iterator[psycopg.Connection[Any]]:
    """An autocommit connection to a database with memoir in it.

    Args:
        dsn: a database of the caller's; None starts a server that is deleted afterwards.
        version: major version of PostgreSQL for that server, 16 or 18.
    """
    if dsn:
        yield from _migrated(dsn)
        return
    folder = Path(tempfile.mkdtemp(prefix="pgmemoir-bench-"))
    try:
        yield from _migrated(server.start(folder, version, PRODUCTION))
    finally:
        server.stop(folder)
        shutil.rmtree(folder)


def _migrated(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        migrations.up(conn)
        yield conn


def vector_schema(conn: psycopg.Connection[Any]) -> str:
    """The schema of the extension vector, quoted where it must be."""
    found = scalar(
        conn,
        "SELECT quote_ident(n.nspname) FROM pg_extension e"
        " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'",
    )
    return str(found)


def scalar(conn: psycopg.Connection[Any], statement: str) -> Any:
    """The one value a statement returns."""
    row = conn.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]


class Floor:
    """The raw searches a recall is compared with, on the rows of the model in use."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        schema = vector_schema(conn)
        self._bare = _FLOOR.format(schema=schema).encode()
        self._index_only = _INDEX_ONLY.format(schema=schema).encode()
        self._model = scalar(conn, "SELECT model_id FROM memoir.embedding_model WHERE active")
        self._conn = conn

    @staticmethod
    def fill(conn: psycopg.Connection[Any]) -> None:
        """Copy the rows into the bare table, in the order they were stored."""
        conn.execute(_BARE.encode())

    def bare(self, user: str, vector: str) -> Statement:
        """The 20 nearest of a user in the bare table; ``vector`` in its text form."""
        return Statement(self._bare, (user, vector))

    def index_only(self, user: str, vector: str) -> Statement:
        """The 20 nearest of a user by memoir's covering index."""
        return Statement(self._index_only, (user, self._model, vector))

    def plan_index_only(self, example: Statement) -> None:
        """Make the generic plan of the index-only search: with few users a scan of all is chosen.

        Only its plan is made so. The bare search is planned as the server likes it.
        """
        self._conn.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
        self._conn.execute(example.text, example.params, prepare=True)
        self._conn.execute("RESET enable_seqscan; RESET plan_cache_mode")


def interleaved(
    conn: psycopg.Connection[Any],
    rivals: Sequence[tuple[Statement, ...]],
    rounds: int,
    progress: Callable[[int], None],
) -> list[list[float]]:
    """Time statements against each other, question by question, on one connection.

    All are prepared, with generic plans: left to itself the server plans the floor anew for its
    first hundred questions, which makes it look 0.3 ms slower than it is. Which of them goes first
    changes from question to question and from round to round. One round before the first warms the
    connection up and is not counted.

    Args:
        rivals: for each question, the statements to compare.
        rounds: how often every question is run.
        progress: called with the number of questions run since the last call.

    Returns:
        for each statement, the median over the rounds of every question, in milliseconds.
    """
    number = len(rivals[0])
    times = np.zeros((number, rounds + 1, len(rivals)))
    conn.execute("SET plan_cache_mode = force_generic_plan")
    gc.disable()
    try:
        for turn in range(rounds + 1):
            for place, statements in enumerate(rivals):
                for step in range(number):
                    which = (turn + place + step) % number
                    times[which, turn, place] = _milliseconds(conn, statements[which])
            progress(len(rivals))
    finally:
        gc.enable()
        conn.execute("RESET plan_cache_mode")
    return [[median(each) for each in kind[1:].T.tolist()] for kind in times]


def _milliseconds(conn: psycopg.Connection[Any], statement: Statement) -> float:
    start = time.perf_counter()
    conn.execute(statement.text, statement.params, prepare=True).fetchall()
    return (time.perf_counter() - start) * 1000


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that this share of them does not exceed, interpolated."""
    return float(np.percentile(np.asarray(values), percent))
