"""Synthetic memories in a database: loading them through the public API, and questions to them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import psycopg
from common import (
    DIMS,
    Database,
    Figures,
    Floor,
    Option,
    Statement,
    Where,
    count,
    scalar,
    vector_schema,
    vector_text,
)
from psycopg.types.json import Jsonb
from synthetic import ASIDE, BLOCK, Corpus, Memories, Question

from pgmemoir.calls import Call, NewMemory, Remembered, find_halfvec, remember_many
from pgmemoir.cli.output import progress_bar
from pgmemoir.statements import answer
from pgmemoir.vectors import HalfVectorDumper, HalfVectors, half_vector

# As the client sends them, on every connection.
psycopg.adapters.register_dumper(HalfVectors, HalfVectorDumper)

# Rows of a transaction, about.
BATCH = 1000
# Rows of other users come in turns of 3 to 9, as those of a live system would.
FEWEST, MOST = 3, 9
# So many users take turns that their vectors have this many components together.
_COMPONENTS = 50_000_000
# Calls that are sent together.
_PIPELINE = 100

# A goal and a capability.
_ASIDE_ROWS = 2

_CONTEXT = """SELECT memoir.memory_context(%s::{schema}.halfvec, %s, {budget}, %s, %s)"""
_EVENTS = b"""SELECT count(memoir.event_add(
    (ARRAY['task_completed', 'task_failed', 'alert'])[n],
    jsonb_build_object('task', 'deploy ' || n, 'result', 'after ' || n || ' attempts'), u,
    now() - n * interval '1 hour'))
FROM unnest(%s::text[]) AS u, generate_series(1, 3) AS n
WHERE NOT EXISTS (SELECT FROM memoir.event AS e
                  WHERE e.user_id = u AND e.created_at > now() - interval '12 hours')"""
_REMEMBER = """SELECT action, memory_id, reason FROM memoir.remember(%s::text, %s::text, %s::text,
    importance => %s::float8, created_at => %s::timestamptz, session_id => %s::text,
    turn => %s::int, speaker => %s::text, embedding => %s::{schema}.halfvec)"""
_MANIFEST = """CREATE TABLE IF NOT EXISTS memoir_bench (manifest jsonb NOT NULL)"""

BUDGET = 800


def sized(rows: int) -> Option:
    """The options that say how much is stored: --users, --rows with this default, --dims."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        every = count("--rows", rows, "Memories PER USER.")(DIMS(command))
        return count("--users", 1, "Users with --rows memories each.")(every)

    return add


@dataclass(frozen=True)
class Amount:
    """How much is stored: ``rows`` memories for each user, and one user more with ``giant``."""

    users: int
    rows: int
    dims: int
    giant: int = 0
    seed: int = 1

    @property
    def total(self) -> int:
        """Memories of all users."""
        return self.users * self.rows + self.giant

    def rows_of(self, user: int) -> int:
        """Memories of one user; the giant comes after the others."""
        return self.giant if user == self.users else self.rows

    def everybody(self) -> range:
        """All users."""
        return range(self.users + (self.giant > 0))


def name_of(user: int) -> str:
    """The name of a user in the database."""
    return f"user-{user:05d}"


def settings_for(amount: Amount, shared_buffers: str | None) -> dict[str, str]:
    """Server settings: buffers for all the data, memory to build indexes in. The rest is default.

    Args:
        shared_buffers: the caller's; default is 3 kB and seven vectors a memory, at most half of
            the machine's memory.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    wanted = amount.total * (3000 + 14 * amount.dims) >> 20
    return {
        "shared_buffers": shared_buffers or f"{max(512, min(wanted, machine // 2))}MB",
        "maintenance_work_mem": f"{min(4096, machine // 6)}MB",
        # Only loading feels it: fewer checkpoints.
        "max_wal_size": "8GB",
    }


@contextmanager
def synthetic(
    where: Where, amount: Amount, shared_buffers: str | None = None, data: Path | None = None
) -> Iterator[Filled]:
    """A database for so many memories, still empty unless its ``data`` was kept."""
    with where.opened(settings_for(amount, shared_buffers), data) as place:
        filled = Filled(place, amount.seed, amount.dims)
        try:
            yield filled
        finally:
            filled.close()


def about(filled: Filled, amount: Amount) -> Figures:
    """What every figure of synthetic memories goes with."""
    return {**asdict(amount), "server_version": filled.place.server}


def told(result: Mapping[str, Any]) -> str:
    """The same for people."""
    giant = f" and one of {result['giant']:,}" if result["giant"] else ""
    return (
        f"PostgreSQL {result['server_version']}, {result['users']:,} users of"
        f" {result['rows']:,} memories{giant}, {result['dims']} dimensions"
    )


class Filled:
    """A database with synthetic memories in it.

    Args:
        place: the database; memories of an earlier run are used again.
    """

    def __init__(self, place: Database, seed: int, dims: int) -> None:
        self.place = place
        self.corpus = Corpus(seed, dims)
        self.conn = place.connect()
        self.conn.execute(_MANIFEST.encode())
        self._call = _CONTEXT.format(schema=vector_schema(self.conn), budget=BUDGET).encode()

    def check(self, mode: str, *, cold: bool = False) -> None:
        """Refuse what would fail only after loading."""
        known = scalar(self.conn, "SELECT array_agg(name ORDER BY name) FROM memoir.mode")
        if mode not in known:
            raise click.BadParameter(f"no mode {mode!r}, there are {', '.join(known)}")
        if cold:
            self.place.check_restart()

    def fill(self, amount: Amount, *, grow: bool = False) -> float | None:
        """Load what is wanted; the seconds it took, None when it was there.

        Args:
            grow: what is there is the beginning of it.

        Raises:
            click.UsageError: the database holds something else.
        """
        conn = self.conn
        row = conn.execute("SELECT manifest FROM memoir_bench").fetchone()
        there = None if row is None else Amount(**row[0])
        if there == amount:
            self._check(amount)
            add_events(conn, amount)
            return None
        if there is not None and not grow:
            raise click.UsageError(f"this database holds {there}, not {amount}")
        if there is None and scalar(conn, "SELECT EXISTS (SELECT FROM memoir.memory)"):
            raise click.UsageError("this database has memories already: use another one")
        start = time.perf_counter()
        Loader(conn, self.corpus).load(amount, there)
        seconds = time.perf_counter() - start
        conn.execute("DELETE FROM memoir_bench")
        conn.execute("INSERT INTO memoir_bench VALUES (%s)", (Jsonb(asdict(amount)),))
        add_events(conn, amount)
        self._check(amount)
        return seconds

    def tidy(self) -> float:
        """What an operator does after a load; the seconds it took."""
        start = time.perf_counter()
        conn = self.conn
        # Nobody writes meanwhile, so that large indexes can be built at once too.
        conn.execute("SELECT memoir.maintain(build_up_to => 1000000000)")
        Floor.fill(conn)
        conn.execute("VACUUM (ANALYZE)")
        conn.execute("CHECKPOINT")
        return time.perf_counter() - start

    def questions(self, amount: Amount, users: Sequence[int], number: int) -> list[Question]:
        """Questions to users picked at random."""
        rng = np.random.default_rng((amount.seed, len(users)))
        found: list[Question] = []
        with progress_bar(number, "questions") as bar:
            for place, user in enumerate(rng.choice(users, number).tolist()):
                found += self.corpus.questions(user, amount.rows_of(user), place, place + 1)
                bar.update(1)
        return found

    def context(self, mode: str, question: Question) -> Statement:
        """The call of memory_context for a question."""
        vector, user = vector_text(question.vector), name_of(question.user)
        return Statement(self._call, (vector, mode, question.text, user))

    def restart(self) -> bool:
        """Restart the server with empty caches; whether the system's was emptied too."""
        self.conn.close()
        emptied = self.place.restart()
        self.conn = self.place.connect()
        return emptied

    def close(self) -> None:
        """Close the connection."""
        self.conn.close()

    def _check(self, amount: Amount) -> None:
        """Count the rows that are there."""
        wanted = amount.total + _ASIDE_ROWS * len(amount.everybody())
        found = scalar(self.conn, "SELECT count(*) FROM memoir.trace WHERE active")
        if found != wanted:
            raise click.UsageError(f"the database holds {found} memories, not {wanted}")


class Batches:
    """The calls that store memories, many at once, as the client sends them, or one."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self._single = _REMEMBER.format(schema=vector_schema(conn)).encode()
        self._halfvec = answer(conn, find_halfvec())

    def call(self, user: str, memories: Iterable[NewMemory]) -> Call[list[Remembered]]:
        """``memoir.remember_many``; memories bring their vectors."""
        rows = list(memories)
        given = [row["vector"] for row in rows]
        vectors = [None if vector is None else half_vector(vector) for vector in given]
        return remember_many(self._halfvec, rows, vectors, user)

    def single(self, user: str, row: NewMemory) -> Statement:
        """``memoir.remember``, which returns action, memory_id and reason."""
        vector = row["vector"]
        times = (row["importance"], row["created_at"], row["session"], row["turn"])
        given = None if vector is None else vector_text(vector)
        return Statement(
            self._single, (row["content"], row["kind"], user, *times, row["speaker"], given)
        )


class Loader:
    """Stores memories through the SQL API.

    Args:
        conn: in autocommit; every thousand rows or so are a transaction.
    """

    def __init__(self, conn: psycopg.Connection[Any], corpus: Corpus) -> None:
        self._conn, self._corpus = conn, corpus
        self._batches = Batches(conn)
        self._blocks: dict[int, tuple[int, Memories]] = {}

    def load(self, amount: Amount, done: Amount | None = None) -> None:
        """Store what is wanted beyond what is there, and goals and capabilities of new users."""
        with progress_bar(amount.total - (done.total if done else 0), "loading") as bar:
            chunks = _interleaved_chunks(amount, done)
            while batch := _take(chunks):
                with self._conn.transaction():
                    parts = [self._rows(amount, *chunk) for chunk in batch]
                    self._send([self._call(user, rows.rows()) for user, rows in parts])
                bar.update(sum(stop - start for _, start, stop in batch))
        known = len(done.everybody()) if done else 0
        new = amount.everybody()[known:]
        for start in range(0, len(new), _PIPELINE):
            with self._conn.transaction():
                users = new[start : start + _PIPELINE]
                self._send([self._call(user, self._aside(user)) for user in users])

    def _rows(self, amount: Amount, user: int, start: int, stop: int) -> tuple[int, Memories]:
        """Rows of one block of a user, which is made once."""
        block = start // BLOCK
        if user not in self._blocks or self._blocks[user][0] != block:
            last = min((block + 1) * BLOCK, amount.rows_of(user))
            self._blocks[user] = block, self._corpus.memories(user, block * BLOCK, last)
        rows = self._blocks[user][1].part(start - block * BLOCK, stop - block * BLOCK)
        if stop == amount.rows_of(user):
            del self._blocks[user]
        return user, rows

    def _call(self, user: int, memories: Iterable[NewMemory]) -> Call[list[Remembered]]:
        return self._batches.call(name_of(user), memories)

    def _send(self, calls: Sequence[Call[list[Remembered]]]) -> None:
        """Send calls together and see that every memory was new."""
        with self._conn.pipeline():
            cursors = [
                self._conn.execute(call.statement, call.params, prepare=True) for call in calls
            ]
        for call, cursor in zip(calls, cursors, strict=True):
            for stored in call.parse(cursor.fetchall()):
                if stored.action != "ADD":
                    raise click.ClickException(
                        f"a memory is {stored.action}, not new: try another seed"
                    )

    def _aside(self, user: int) -> list[NewMemory]:
        """A goal and a capability, for the profile part."""
        goal, capability = self._corpus.memories(user, ASIDE, ASIDE + _ASIDE_ROWS).rows()
        title = " ".join(goal["content"].split()[:8])
        state = {"title": title, "status": "in_progress", "progress": 40, "priority": 1}
        alone: NewMemory = {"session": None, "turn": None}
        return [
            {**goal, **alone, "kind": "okr", "data": state},
            {**capability, **alone, "kind": "capability"},
        ]


def add_events(conn: psycopg.Connection[Any], amount: Amount) -> None:
    """Some recent events for everybody who has none."""
    conn.execute(_EVENTS, ([name_of(user) for user in amount.everybody()],))


def _interleaved_chunks(amount: Amount, done: Amount | None) -> Iterator[tuple[int, int, int]]:
    """User, first row and the one behind the last, in the order of insertion.

    Users take turns of a few rows at random, in groups of as many as memory holds at once; the
    giant's rows come among them.
    """
    rng = np.random.default_rng(amount.seed)
    size = max(1, _COMPONENTS // (min(amount.rows, BLOCK) * amount.dims))
    users = rng.permutation(amount.users).tolist()
    groups = [users[place : place + size] for place in range(0, len(users), size)]
    known = done.users if done else 0
    rows_known = done.rows if done else 0
    giant = list(_chunks(0, amount.giant, None))
    for place, group in enumerate(groups):
        turns = None if amount.users == 1 else rng
        queues = {
            user: _chunks(rows_known if user < known else 0, amount.rows, turns) for user in group
        }
        waiting = {user: list(chunks) for user, chunks in queues.items()}
        share = slice(place * len(giant) // len(groups), (place + 1) * len(giant) // len(groups))
        waiting[amount.users] = giant[share]
        order = np.repeat(list(waiting), [len(chunks) for chunks in waiting.values()])
        following = {user: iter(chunks) for user, chunks in waiting.items()}
        for user in rng.permutation(order).tolist():
            yield user, *next(following[user])


def _chunks(start: int, stop: int, turns: np.random.Generator | None) -> Iterator[tuple[int, int]]:
    """Cut rows into a user's turns, or else into whole blocks."""
    while start < stop:
        size = BLOCK if turns is None else int(turns.integers(FEWEST, MOST + 1))
        end = min(start + size, start - start % BLOCK + BLOCK, stop)
        yield start, end
        start = end


def _take(chunks: Iterator[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """As many chunks as make a transaction."""
    batch, rows = [], 0
    for chunk in chunks:
        batch.append(chunk)
        rows += chunk[2] - chunk[1]
        if rows >= BATCH:
            break
    return batch
