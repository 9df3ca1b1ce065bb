"""What the benchmarks share: a server to throw away, the raw floor, and interleaved timing."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, TypeVar

import click
import numpy as np
import psycopg
from psycopg import sql

from pgmemoir import migrations, server

# The one setting a production server of any size would change. Durability (fsync,
# synchronous_commit, full_page_writes) stays as it is.
PRODUCTION = {"shared_buffers": "512MB"}

F = TypeVar("F", bound=Callable[..., Any])

# Options that several measurements have.
SEED = click.option("--seed", default=1, show_default=True, help="Another seed, other memories.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object.")
PG = click.option(
    "--pg",
    "version",
    type=click.Choice(["18", "16"]),
    default="18",
    show_default=True,
    callback=lambda _context, _option, version: int(version),
    help="Version of that server.",
)
DSN = click.option("--dsn", help="An empty database of yours; default: a server of its own.")


def placed(command: F) -> F:
    """The options of where it is measured and how it is told: --dsn, --pg and --json."""
    return DSN(PG(AS_JSON(command)))


# How often a question is run; its time is the median.
ROUNDS = 5

# The raw search: a bare table of the same rows with the index everybody makes. PLAIN keeps long
# vectors in the row: out of line, where they go by default, the search is 2 to 7 times slower.
_BARE = """DROP TABLE IF EXISTS memoir_floor;
CREATE TABLE memoir_floor AS
    SELECT user_id, memory_id AS id, embedding FROM memoir.trace WITH NO DATA;
ALTER TABLE memoir_floor ALTER embedding TYPE {schema}.halfvec({dimensions}),
    ALTER embedding SET STORAGE PLAIN;
INSERT INTO memoir_floor
    SELECT user_id, memory_id, embedding FROM memoir.trace WHERE active ORDER BY memory_id;
CREATE INDEX ON memoir_floor (user_id)"""
_FLOOR = """SELECT id FROM memoir_floor WHERE user_id = %s
ORDER BY embedding <=> %s::{schema}.halfvec LIMIT 20"""
# The approximate search of one user, on an index of his rows alone. A statement with the user as a
# parameter cannot use that index: the exact search stays exact.
_HNSW = """CREATE INDEX IF NOT EXISTS {name} ON memoir_floor
USING hnsw (embedding {schema}.halfvec_cosine_ops)
WHERE user_id = {user}"""
_NEAREST = """SELECT id FROM memoir_floor WHERE user_id = {user}
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


@dataclass(frozen=True)
class Database:
    """A database with memoir in it.

    Attributes:
        folder: of a server of our own; None for the caller's, which cannot be restarted.
    """

    dsn: str
    version: int
    folder: Path | None
    settings: Mapping[str, str]

    def connect(self) -> psycopg.Connection[Any]:
        """A new connection in autocommit."""
        return psycopg.connect(self.dsn, autocommit=True)

    def kill(self) -> None:
        """Kill the server where it stands; only one of our own."""
        assert self.folder is not None
        pid_file = self.folder / f"pg{self.version}" / "postmaster.pid"
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)

    def start(self) -> None:
        """Start the server again, and wait until it has recovered."""
        assert self.folder is not None
        server.start(self.folder, self.version, self.settings)

    def check_restart(self) -> None:
        """Only a server of our own may be restarted."""
        if self.folder is None:
            raise click.UsageError("--cold restarts the server: it needs one of its own, no --dsn")

    def restart(self) -> bool:
        """Empty the server's cache, and the system's of its files; whether the latter was done."""
        self.check_restart()
        assert self.folder is not None
        server.stop(self.folder)
        emptied = _forget_files(self.folder)
        self.start()
        return emptied


def _forget_files(folder: Path) -> bool:
    """Ask the system to drop its cache of these files, where it can be asked."""
    if not hasattr(os, "posix_fadvise"):
        return False
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


@contextmanager
def opened(
    dsn: str | None,
    version: int,
    data: Path | None = None,
    settings: Mapping[str, str] = PRODUCTION,
) -> Iterator[Database]:
    """A database with memoir in it.

    Args:
        dsn: a database of the caller's; None starts a server.
        version: major version of PostgreSQL for that server, 16 or 18.
        data: the folder of that server, kept; None makes one that is deleted afterwards.
    """
    if dsn:
        yield _migrated(Database(dsn, version, None, {}))
        return
    folder = data or Path(tempfile.mkdtemp(prefix="pgmemoir-bench-"))
    try:
        yield _migrated(
            Database(server.start(folder, version, settings), version, folder, settings)
        )
    finally:
        server.stop(folder)
        if data is None:
            shutil.rmtree(folder)


@contextmanager
def database(dsn: str | None, version: int) -> Iterator[psycopg.Connection[Any]]:
    """An autocommit connection to a database as of `opened`, with nothing kept."""
    with opened(dsn, version) as place, place.connect() as conn:
        yield conn


def _migrated(place: Database) -> Database:
    with place.connect() as conn:
        migrations.up(conn)
    return place


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


class ServerTime:
    """Processor time of the server process of a connection, where the system tells it.

    It says what a write costs while other programs and the disk make its time uncertain.
    """

    def __init__(self, conn: psycopg.Connection[Any], place: Database) -> None:
        stat = Path(f"/proc/{conn.info.backend_pid}/schedstat")
        self._stat = stat if place.folder and stat.exists() else None

    def milliseconds(self) -> float:
        """Since the process began; NaN where it is not told."""
        return int(self._stat.read_text().split()[0]) / 1e6 if self._stat else nan


class Floor:
    """The raw searches a recall is compared with, on the rows of the model in use."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        schema = vector_schema(conn)
        self._schema = schema
        self._bare = _FLOOR.format(schema=schema).encode()
        self._index_only = _INDEX_ONLY.format(schema=schema).encode()
        self._model = scalar(conn, "SELECT model_id FROM memoir.embedding_model WHERE active")
        self._conn = conn

    @staticmethod
    def fill(conn: psycopg.Connection[Any]) -> None:
        """Copy the rows into the bare table, in the order they were stored."""
        statement = "SELECT dimensions FROM memoir.embedding_model WHERE active"
        dimensions = scalar(conn, statement)
        bare = _BARE.format(schema=vector_schema(conn), dimensions=dimensions)
        conn.execute(bare.encode())

    def bare(self, user: str, vector: str) -> Statement:
        """The 20 nearest of a user in the bare table; ``vector`` in its text form."""
        return Statement(self._bare, (user, vector))

    def index_only(self, user: str, vector: str) -> Statement:
        """The 20 nearest of a user by memoir's covering index."""
        return Statement(self._index_only, (user, self._model, vector))

    def build_approximate(self, user: str) -> None:
        """Make an HNSW index with default parameters on a user's rows of the bare table."""
        literal = sql.Literal(user).as_string()
        name = sql.Identifier(f"memoir_floor {user}").as_string()
        self._conn.execute(_HNSW.format(schema=self._schema, user=literal, name=name).encode())

    def approximate(self, user: str, vector: str) -> Statement:
        """The 20 nearest of a user by that index."""
        literal = sql.Literal(user).as_string()
        return Statement(_NEAREST.format(schema=self._schema, user=literal).encode(), (vector,))

    def plan_index_only(self, example: Statement) -> None:
        """Make the generic plan of the index-only search: with few users a scan of all is chosen.

        Only its plan is made so. The bare search is planned as the server likes it.
        """
        self._conn.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
        self._conn.execute(example.text, example.params, prepare=True)
        self._conn.execute("RESET enable_seqscan; RESET plan_cache_mode")


@contextmanager
def measuring(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Plans made once, no JIT (it makes the floor slower) and no garbage collection meanwhile."""
    conn.execute("SET plan_cache_mode = force_generic_plan; SET jit = off")
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        conn.execute("RESET plan_cache_mode; RESET jit")


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
    with measuring(conn):
        for turn in range(rounds + 1):
            for place, statements in enumerate(rivals):
                for step in range(number):
                    which = (turn + place + step) % number
                    times[which, turn, place] = milliseconds(conn, statements[which])
            progress(len(rivals))
    return [[median(each) for each in kind[1:].T.tolist()] for kind in times]


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes, which have started."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_nothing, range(count)))
        yield pool


def _nothing(_: int) -> None:
    time.sleep(0.2)  # or the first to start would do it for all


def at_once(
    place: Database, rivals: Sequence[tuple[Statement, ...]], rounds: int, connections: int
) -> list[list[float]]:
    """`interleaved` on several connections at once, each in a process of its own.

    Every connection asks all questions and begins with another one. While one runs a statement,
    the others run any of them.

    Returns:
        as `interleaved`; every question counts once a connection.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(connections)
    turns = [
        [*rivals[start:], *rivals[:start]]
        for start in (len(rivals) * each // connections for each in range(connections))
    ]
    with ProcessPoolExecutor(connections, context, _Waiting.begin, (barrier,)) as pool:
        parts = pool.map(_one_of_many, [place.dsn] * connections, turns, [rounds] * connections)
        return [[time for part in kind for time in part] for kind in zip(*parts, strict=True)]


class _Waiting:
    """The barrier at which the processes of `at_once` wait for each other."""

    barrier: ClassVar[threading.Barrier]

    @classmethod
    def begin(cls, barrier: threading.Barrier) -> None:
        cls.barrier = barrier


def _one_of_many(dsn: str, rivals: list[tuple[Statement, ...]], rounds: int) -> list[list[float]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        _Waiting.barrier.wait()
        return interleaved(conn, rivals, rounds, lambda _: None)


def milliseconds(conn: psycopg.Connection[Any], statement: Statement) -> float:
    """The time of one call, prepared, with fetching its rows."""
    start = time.perf_counter()
    conn.execute(statement.text, statement.params, prepare=True).fetchall()
    return (time.perf_counter() - start) * 1000


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that this share of them does not exceed, interpolated."""
    return float(np.percentile(np.asarray(values), percent))
