"""The floor of remember(): the very rows it stored, inserted once more.

They go into tables with the same columns, storage and indexes (but without foreign keys), where
the users' earlier rows are too: in one statement and one commit, every value a parameter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from common import ServerTime, Statement, unmoved
from filled import BATCH, Batches
from numpy.typing import NDArray
from synthetic import Corpus

from pgmemoir.calls import NewMemory

# Where the rows of a memory go; into the last any number of them.
_TABLES = ("memory", "trace", "keyword")
# Turns of a session.
_SESSION = 20

_TABLE = """DROP TABLE IF EXISTS memoir_again_{table};
CREATE TABLE memoir_again_{table} (LIKE memoir.{table} INCLUDING ALL)"""
_COLUMNS = b"""SELECT quote_ident(attname), format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
ORDER BY attnum"""
_COPY = """INSERT INTO memoir_again_{table} ({columns})
SELECT {columns} FROM memoir.{table} WHERE user_id = %s"""
_ROWS = """SELECT {values} FROM memoir.{table} WHERE user_id = %s AND memory_id = %s"""
_AGAIN = """WITH memory AS (
    INSERT INTO memoir_again_memory ({memory}) VALUES ({memory_values})
), trace AS (
    INSERT INTO memoir_again_trace ({trace}) VALUES ({trace_values})
), keyword AS (
    INSERT INTO memoir_again_keyword ({keyword}) SELECT * FROM unnest({keyword_values})
)
SELECT 1"""


@dataclass(frozen=True)
class Case:
    """What is stored, one a commit.

    Attributes:
        kind: fact: near-duplicates are looked for; turn: of a conversation.
        held: memories that a user has; a third as many are then stored one by one.
    """

    kind: str
    held: int
    vectors: bool

    @property
    def name(self) -> str:
        """What its figures begin with."""
        return f"{self.kind}_{self.held}" + ("" if self.vectors else "_words")

    @property
    def title(self) -> str:
        """The case for people."""
        return f"a {self.kind}, {self.held} held" + ("" if self.vectors else ", no vector")

    def shaped(self, row: NewMemory, place: int) -> NewMemory:
        """A synthetic memory as one of this kind."""
        if self.kind == "turn":
            session = f"session {place // _SESSION}"
            row = {**row, "kind": "turn", "session": session, "turn": place % _SESSION}
        else:
            row = {**row, "kind": "fact", "session": None, "turn": None, "speaker": None}
        return row if self.vectors else {**row, "vector": None}


class SameRows:
    """Calls of remember(), and the statements that insert the same rows.

    Args:
        conn: in autocommit.
    """

    def __init__(self, conn: psycopg.Connection[Any], seed: int, dims: int) -> None:
        self._conn, self._corpus, self._batches = conn, Corpus(seed, dims), Batches(conn)
        self._users = 0
        self._columns: dict[str, str] = {}
        self._rows: dict[str, bytes] = {}
        values: dict[str, str] = {}
        for table in _TABLES:
            conn.execute(_TABLE.format(table=table).encode())
            found = conn.execute(_COLUMNS, (f"memoir.{table}",)).fetchall()
            many = table == _TABLES[-1]
            self._columns[table] = ", ".join(name for name, _ in found)
            values[f"{table}_values"] = ", ".join(f"%s::{kind}{'[]' * many}" for _, kind in found)
            read = ", ".join(f"{f'array_agg({name})' if many else name}::text" for name, _ in found)
            self._rows[table] = _ROWS.format(table=table, values=read).encode()
        self._again = _AGAIN.format(**self._columns, **values).encode()

    def timed(self, case: Case, clock: ServerTime, number: int, warm: int) -> NDArray[np.float64]:
        """Times of remember() and of its rows alone, in turn.

        Returns:
            ours and the floor's, in milliseconds and in those of the processor, of ``number``
            memories: 2 x 2 x number.
        """
        times: list[list[list[float]]] = []
        with unmoved():
            for user, call in self._calls(case):
                *ours, (action, memory, _) = self._time(clock, call)
                if action == "ADD":  # not a near-duplicate, now and then
                    *floor, _ = self._time(clock, self._same(user, memory))
                    times.append([ours, floor])
                if len(times) == number + warm:
                    break
        return np.array(times[warm:]).transpose(1, 2, 0)

    def _calls(self, case: Case) -> Iterator[tuple[str, Statement]]:
        """Calls for one user after the other, who has the rows held in both tables."""
        while True:
            self._users += 1
            user = f"{case.name} {self._users}"
            more = case.held // 3
            rows = [
                case.shaped(row, place)
                for place, row in enumerate(
                    self._corpus.memories(self._users, 0, case.held + more).rows()
                )
            ]
            self._fill(user, rows[: case.held])
            for row in rows[case.held :]:
                yield user, self._batches.single(user, row)

    def _fill(self, user: str, rows: list[NewMemory]) -> None:
        for start in range(0, len(rows), BATCH):
            call = self._batches.call(user, rows[start : start + BATCH])
            self._conn.execute(call.statement, call.params)
        for table, columns in self._columns.items():
            copy = _COPY.format(table=table, columns=columns)
            self._conn.execute(copy.encode(), (user,))

    def _same(self, user: str, memory: int) -> Statement:
        """The statement that inserts the rows of a memory."""
        values: list[str | None] = []
        for rows in self._rows.values():
            row = self._conn.execute(rows, (user, memory), prepare=True).fetchone()
            assert row is not None
            values += row
        return Statement(self._again, tuple(values))

    def _time(self, clock: ServerTime, statement: Statement) -> tuple[float, float, Any]:
        """Milliseconds, those of the processor, and the row that came back."""
        before, start = clock.milliseconds(), time.perf_counter()
        row = self._conn.execute(statement.text, statement.params, prepare=True).fetchone()
        elapsed = (time.perf_counter() - start) * 1000
        return elapsed, clock.milliseconds() - before, row
