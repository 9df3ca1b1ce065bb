"""What the benchmarks share: a command and its server, the raw floor, timing in turn, tables."""

from __future__ import annotations

import functools
import gc
import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql

from pgmemoir import migrations, prerequisites, server
from pgmemoir.errors import MemoirError

# The one setting a production server of any size would change. Durability (fsync,
# synchronous_commit, full_page_writes) stays as it is.
PRODUCTION = {"shared_buffers": "512MB"}
# Whether a commit waits for the disk, by what names of figures end with.
DURABLE = {"": "on", "_async": "off"}
# How often a question is run; its time is the median.
ROUNDS = 5

Figures = dict[str, Any]
Option = Callable[[Callable[..., Any]], Callable[..., Any]]

# Types and options that several measurements have.
COUNT = click.IntRange(1)
SECONDS = click.FloatRange(0, min_open=True)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def count(name: str, default: int, meaning: str, *more: str) -> Option:
    """An option that counts something."""
    return click.option(name, *more, type=COUNT, default=default, show_default=True, help=meaning)


SEED = count("--seed", 1, "Another seed, other data.")
DIMS = click.option(
    "--dims",
    type=click.IntRange(1, 4000),
    default=384,
    show_default=True,
    help="Dimensions of the vectors.",
)
MODE = click.option("--mode", default="execute", show_default=True, help="How recall weighs.")

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
        version: of PostgreSQL, the major one.
        folder: of a server of our own; None for the caller's, which cannot be restarted.
    """

    dsn: str
    version: int
    folder: Path | None
    settings: Mapping[str, str]

    @property
    def server(self) -> str:
        """The version of PostgreSQL, as it says it."""
        with self.connect() as conn:
            return str(scalar(conn, "SHOW server_version")).split()[0]

    @property
    def postmaster(self) -> int:
        """The process of a server of our own."""
        assert self.folder is not None
        pid_file = self.folder / f"pg{self.version}" / "postmaster.pid"
        return int(pid_file.read_text().split()[0])

    def connect(self) -> psycopg.Connection[Any]:
        """A new connection in autocommit."""
        return psycopg.connect(self.dsn, autocommit=True)

    def kill(self) -> None:
        """Kill the server where it stands; only one of our own."""
        os.kill(self.postmaster, signal.SIGKILL)

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


@dataclass(frozen=True)
class Where:
    """Where something is measured: what --dsn and --pg say."""

    dsn: str | None
    version: int

    def opened(
        self, settings: Mapping[str, str] = PRODUCTION, data: Path | None = None
    ) -> AbstractContextManager[Database]:
        """A database with memoir in it, as the function `opened`."""
        return opened(self.dsn, self.version, data, settings)


def benchmark(
    report: Callable[[Figures], str], *, own: bool = False
) -> Callable[[Callable[..., Figures]], click.Command]:
    """Make a command of a function that measures, with --dsn, --pg and --json.

    Its first argument says where. What it returns is printed; with ``failed`` in it the command
    ends with 1.

    Args:
        report: the figures for people.
        own: it kills or restarts its servers, or takes several: no --dsn.
    """

    def made(measure: Callable[..., Figures]) -> click.Command:
        @click.command()
        @functools.wraps(measure)
        def run(pg: str, as_json: bool, dsn: str | None = None, **options: Any) -> None:
            try:
                with ended_in_order():
                    figures = measure(Where(dsn, int(pg)), **options)
            except (MemoirError, psycopg.OperationalError) as error:
                raise click.ClickException(str(error)) from error
            click.echo(_json(figures) if as_json else report(figures))
            if figures.get("failed"):
                raise SystemExit(1)

        run.params += _PLACE[1:] if own else _PLACE
        return run

    return made


def _json(figures: Figures) -> str:
    """One object, of numbers of four decimals; what was not measured is null."""

    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: known(each) for name, each in value.items()}
        if isinstance(value, list):
            return [known(each) for each in value]
        if isinstance(value, float):
            return None if isnan(value) else round(value, 4)
        return value

    return json.dumps(known(figures), ensure_ascii=False)


_PLACE = [
    click.Option(["--dsn"], help="An empty database of yours; default: a server of its own."),
    click.Option(
        ["--pg"],
        type=click.Choice(["18", "16"]),
        default="18",
        show_default=True,
        help="Version of that server.",
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="One JSON object."),
]


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Who is told to end takes his servers, folders and processes with him, told once or twice."""
    told = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, _frame: object) -> None:
        for each in told:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    before = [signal.signal(each, end) for each in told]
    try:
        yield
    finally:
        for each, handler in zip(told, before, strict=True):
            signal.signal(each, handler)


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
            shutil.rmtree(folder, ignore_errors=True)


def _migrated(place: Database) -> Database:
    with place.connect() as conn:
        migrations.up(conn)
    return place


def vector_schema(conn: psycopg.Connection[Any]) -> str:
    """The schema of the extension vector, quoted where it must be."""
    return str(prerequisites.vector_schema(conn.cursor()))


def vector_text(vector: Any) -> str:
    """A vector as text, which is how applications send it that do not use our client."""
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"


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
    with unmoved():
        yield
    conn.execute("RESET plan_cache_mode; RESET jit")


@contextmanager
def unmoved() -> Iterator[None]:
    """No garbage collection meanwhile."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def synchronous_commit(conn: psycopg.Connection[Any], value: str) -> Iterator[None]:
    """Whether a commit waits for the disk, meanwhile."""
    conn.execute(f"SET synchronous_commit = {value}".encode())
    yield
    conn.execute("RESET synchronous_commit")


def first_call(place: Database, statements: Sequence[Statement]) -> dict[str, float]:
    """Connecting, and what a first call on a connection takes beyond a SELECT 1; medians."""
    connects: list[float] = []
    times: tuple[list[float], list[float]] = ([], [])
    for statement in statements:
        for which, each in enumerate((Statement(b"SELECT 1", ()), statement)):
            start = time.perf_counter()
            with place.connect() as conn:
                connects.append((time.perf_counter() - start) * 1000)
                times[which].append(milliseconds(conn, each))
    return {
        "connect_ms": median(connects),
        "first_call_ms": median(times[1]) - median(times[0]),
    }


def in_turn(
    calls: Sequence[Callable[[int], Any]],
    places: Sequence[int],
    rounds: int = ROUNDS,
    progress: Callable[[int], object] = lambda _: None,
) -> list[list[float]]:
    """Time calls against each other, question by question, in an order drawn anew for each.

    One round before the first warms everything up and is not counted.

    Args:
        calls: each asks the question of a place.
        progress: called with the number of questions asked since the last call.

    Returns:
        for each call, the median over the rounds of every question, in milliseconds.
    """
    times = np.zeros((len(calls), rounds + 1, len(places)))
    order = np.random.default_rng(1)
    with unmoved():
        for turn in range(rounds + 1):
            for number, place in enumerate(places):
                for which in order.permutation(len(calls)).tolist():
                    start = time.perf_counter()
                    calls[which](place)
                    times[which, turn, number] = (time.perf_counter() - start) * 1000
            gc.collect()
            progress(len(places))
    return [[median(each) for each in kind[1:].T.tolist()] for kind in times]


def interleaved(
    conn: psycopg.Connection[Any],
    rivals: Sequence[tuple[Statement, ...]],
    rounds: int = ROUNDS,
    progress: Callable[[int], object] = lambda _: None,
) -> list[list[float]]:
    """`in_turn` for statements on one connection: for each question, those to compare.

    All are prepared, with generic plans: left to itself the server plans the floor anew for its
    first hundred questions, which makes it look 0.3 ms slower than it is.
    """

    def call(which: int) -> Callable[[int], Any]:
        return lambda place: _run(conn, rivals[place][which])

    with measuring(conn):
        return in_turn([*map(call, range(len(rivals[0])))], range(len(rivals)), rounds, progress)


def pairs_once(
    conn: psycopg.Connection[Any],
    clock: ServerTime,
    pairs: Sequence[tuple[Statement, Statement]],
    warm: int,
) -> NDArray[np.float64]:
    """Run both statements of each pair once, in turn, each with a commit of its own.

    Returns:
        of the first ones and of the second, milliseconds that passed and those of the server's
        processor: 2 x 2 x pairs, without those that warm up.
    """
    times = np.zeros((2, 2, len(pairs)))
    with unmoved():
        for place, pair in enumerate(pairs):
            for which in (0, 1) if place % 2 else (1, 0):
                before = clock.milliseconds()
                times[which, 0, place] = milliseconds(conn, pair[which])
                times[which, 1, place] = clock.milliseconds() - before
    return times[:, :, warm:]


def against_floor(ours: Sequence[float], floor: Sequence[float]) -> dict[str, float]:
    """Percentiles of both, and their ratios."""
    found = {
        f"{name}p{percent}_ms": percentile(times, percent)
        for name, times in (("", ours), ("floor_", floor))
        for percent in (50, 95)
    }
    ratios = {f"ratio_p{p}": found[f"p{p}_ms"] / found[f"floor_p{p}_ms"] for p in (50, 95)}
    return {**found, **ratios}


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes, which have started; they end with an error or Ctrl-C."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _leave_ctrl_c) as pool:
        try:
            list(pool.map(_nothing, range(count)))
            yield pool
        except BaseException:
            for child in multiprocessing.active_children():
                child.kill()
            raise


def _leave_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # to who started this process


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
    turns = [
        [*rivals[start:], *rivals[:start]]
        for start in (len(rivals) * each // connections for each in range(connections))
    ]
    with processes(connections) as pool:
        parts = pool.map(_one_of_many, [place.dsn] * connections, turns, [rounds] * connections)
        return [[time for part in kind for time in part] for kind in zip(*parts, strict=True)]


def _one_of_many(dsn: str, rivals: list[tuple[Statement, ...]], rounds: int) -> list[list[float]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return interleaved(conn, rivals, rounds)


def milliseconds(conn: psycopg.Connection[Any], statement: Statement) -> float:
    """The time of one call, prepared, with fetching its rows."""
    start = time.perf_counter()
    _run(conn, statement)
    return (time.perf_counter() - start) * 1000


def _run(conn: psycopg.Connection[Any], statement: Statement) -> None:
    cursor = conn.execute(statement.text, statement.params, prepare=True)
    if cursor.description:
        cursor.fetchall()


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that this share of them does not exceed, interpolated."""
    return float(np.percentile(np.asarray(values), percent))


def table(*rows: Sequence[object]) -> str:
    """Rows in columns, the first to the left and the others to the right."""
    cells = [[*map(str, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def floor_table(title: str, floor: str, found: Mapping[str, Any], *more: Sequence[object]) -> str:
    """What `against_floor` found, and more rows."""
    return table(
        (title, "p50", "p95"),
        ("recall at 800 tokens", f"{found['p50_ms']:.3f}", f"{found['p95_ms']:.3f}"),
        (f"floor: {floor}", f"{found['floor_p50_ms']:.3f}", f"{found['floor_p95_ms']:.3f}"),
        ("  ratio", f"{found['ratio_p50']:.2f}", f"{found['ratio_p95']:.2f}"),
        *more,
    )


def verdict(what: str, value: float, bar: float, *, at_least: bool = False) -> str:
    """Whether a bar is kept, as a line."""
    kept = value >= bar if at_least else value <= bar
    return f"bar for {what}: {bar:g}, {'kept' if kept else 'NOT kept'} ({value:.3g})"
