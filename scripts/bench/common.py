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

# The cheapest form of an exact vector search there is: one index holds a user's rows side by side
# with their vectors, so this is an index-only scan and nothing is read from the table.
_FLOOR = """SELECT memory_id FROM memoir.trace
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
    """The raw search a recall is compared with, in the model that fills the database."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self._text = _FLOOR.format(schema=vector_schema(conn)).encode()
        self._model = scalar(conn, "SELECT model_id FROM memoir.embedding_model WHERE active")

    def __call__(self, user: str, vector: str) -> Statement:
        """The 20 nearest memories of a user; ``vector`` in its text form."""
        return Statement(self._text, (user, self._model, vector))


def interleaved(
    conn: psycopg.Connection[Any],
    pairs: Sequence[tuple[Statement, Statement]],
    rounds: int,
    progress: Callable[[int], None],
) -> tuple[list[float], list[float]]:
    """Time two statements against each other, pair by pair, on one connection.

    Both are prepared, with generic plans: left to itself the server plans the floor anew for its
    first hundred questions, which makes it look 0.3 ms slower than it is. Which of a pair goes
    first alternates from pair to pair and from round to round. One round before the first warms
    the connection up and is not counted.

    Args:
        rounds: how often every pair is run.
        progress: called with the number of pairs run since the last call.

    Returns:
        for each of the two, the median over the rounds of every pair, in milliseconds.
    """
    times = np.zeros((2, rounds + 1, len(pairs)))
    conn.execute("SET plan_cache_mode = force_generic_plan")
    gc.disable()
    try:
        for turn in range(rounds + 1):
            for place, pair in enumerate(pairs):
                order = (0, 1) if (turn + place) % 2 else (1, 0)
                for which in order:
                    times[which, turn, place] = _milliseconds(conn, pair[which])
            progress(len(pairs))
    finally:
        gc.enable()
        conn.execute("RESET plan_cache_mode")
    first, second = ([median(each) for each in kind[1:].T.tolist()] for kind in times)
    return first, second


def _milliseconds(conn: psycopg.Connection[Any], statement: Statement) -> float:
    start = time.perf_counter()
    conn.execute(statement.text, statement.params, prepare=True).fetchall()
    return (time.perf_counter() - start) * 1000


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that this share of them does not exceed, interpolated."""
    return float(np.percentile(np.asarray(values), percent))
