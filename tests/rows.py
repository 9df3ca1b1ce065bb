"""Rows for the tests of the SQL, and the calls that make and read them."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.rows import namedtuple_row
from psycopg.sql import SQL, Identifier, Placeholder
from psycopg.types.json import Jsonb

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
MODES = ("plan", "execute", "debug", "chat")
OTHER_MODES = ("balanced", "search", "implicit", "assistant")
NOTHING = "(no relevant memory)"


TURN_SETTINGS = {"vector_weight": 0.6, "word_weight": 0.4, "mmr_lines": 0, "event_limit": 0}


def ago(**units: float) -> datetime:
    """A time before `NOW`: ``ago(days=30)``."""
    return NOW - timedelta(**units)


@cache
def _calling(function: str, *names: str) -> str:
    """The statement that calls a function of memoir with arguments of these names."""
    given = ", ".join(f'"{name}" => %({name})s' for name in names)
    return f'SELECT * FROM memoir."{function}"({given})'


def call(conn: psycopg.Connection, function: str, **arguments: Any) -> list[Any]:
    """All rows of ``memoir.function(...)``, columns by name."""
    values = {n: Jsonb(v) if isinstance(v, dict) else v for n, v in arguments.items()}
    cursor = conn.cursor(row_factory=namedtuple_row)
    return cursor.execute(_calling(function, *arguments), values).fetchall()


def value(conn: psycopg.Connection, query: str, *parameters: Any) -> Any:
    """The first column of the only row of a query."""
    (row,) = conn.execute(query, parameters).fetchall()
    return row[0]


def remember(conn: psycopg.Connection, content: str, kind: str = "fact", **more: Any) -> int:
    """Store a memory; its id."""
    return call(conn, "remember", content=content, kind=kind, **more)[0].memory_id


def store(
    conn: psycopg.Connection, memories: Iterable[dict[str, Any]], user: str = "default"
) -> list[int]:
    """Store memories, each the arguments of ``remember``; their ids in order.

    In one call: 0.15 ms per memory, one by one 1.3 ms.
    """
    given = [{"kind": "fact", **memory} for memory in memories]
    vectors = [memory.pop("embedding", None) for memory in given]
    batch = Jsonb(given, partial(json.dumps, default=str))
    rows = call(conn, "remember_many", memories=batch, embeddings=vectors, user_id=user)
    return [row.memory_id for row in rows]


def remember_all(
    conn: psycopg.Connection, contents: Iterable[str], kind: str = "fact", user: str = "default"
) -> list[int]:
    """Store many memories of one kind; their ids in order."""
    return store(conn, ({"content": content, "kind": kind} for content in contents), user)


def notes(conn: psycopg.Connection, count: int, user: str = "ada") -> list[int]:
    """Memories without vectors; their ids."""
    return remember_all(conn, [f"{user} note {number}" for number in range(count)], user=user)


def add_mode(conn: psycopg.Connection, name: str = "mine", **settings: Any) -> str:
    """A mode for conversations with these settings alone; its name."""
    row = {"name": name, "description": "of a test", "profile": False, **TURN_SETTINGS, **settings}
    statement = SQL("INSERT INTO memoir.mode ({}) VALUES ({})").format(
        SQL(", ").join(map(Identifier, row)), SQL(", ").join(map(Placeholder, row))
    )
    conn.execute(statement, row)
    return name


def set_to(conn: psycopg.Connection, **settings: Any) -> None:
    """Set these values in table setting."""
    for name, setting in settings.items():
        conn.execute("UPDATE memoir.setting SET value = %s WHERE name = %s", (Jsonb(setting), name))


def say(
    conn: psycopg.Connection, session: str, *contents: str, user_id: str = "default", **more: Any
) -> list[int]:
    """Store the turns of a session, from turn 0; their ids."""
    turns = [
        {"content": content, "kind": "turn", "session_id": session, "turn": turn, **more}
        for turn, content in enumerate(contents)
    ]
    return store(conn, turns, user_id)


def add_event(conn: psycopg.Connection, type: str, payload: Any, **more: Any) -> int:
    """Store an event; its id."""
    return call(conn, "event_add", type=type, payload=Jsonb(payload), **more)[0].event_add


def recall(conn: psycopg.Connection, query_text: str | None = None, **more: Any) -> Any:
    """One recall: block, memory_ids, tokens, candidates, retrieval_id."""
    (row,) = call(conn, "recall", query_text=query_text, **more)
    return row


def explain(conn: psycopg.Connection, query_text: str | None = None, **more: Any) -> list[Any]:
    """One recall explained, one row per memory and event."""
    return call(conn, "memory_explain", query_text=query_text, **more)


def plan_once(conn: psycopg.Connection) -> None:
    """Plan each statement of this transaction once, for any values: a question explained takes
    half as long, and says the same.
    """
    conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")


def candidate_scores(
    conn: psycopg.Connection, query_text: str | None = None, **more: Any
) -> dict[str, float]:
    """Score by content of all candidates of one recall, from its row of the log."""
    retrieval_id = recall(conn, query_text, **{"budget": 100_000, **more}).retrieval_id
    rows = conn.execute(
        "SELECT m.content, c.score"
        " FROM memoir.retrieval AS r, unnest(r.ids, r.score) AS c (id, score), memoir.memory AS m"
        " WHERE r.retrieval_id = %s AND m.user_id = r.user_id AND m.memory_id = c.id",
        (retrieval_id,),
    )
    return dict(rows.fetchall())


def lines(block: str) -> list[str]:
    """The lines of a block, without headings and bullets."""
    return [line[2:] for line in block.splitlines() if line.startswith("- ")]


def found(conn: psycopg.Connection, query_text: str | None = None, **more: Any) -> list[str]:
    """The lines of the block of one recall, in order."""
    return lines(recall(conn, query_text, **more).block)


def previews(rows: Iterable[Any]) -> list[str]:
    """The beginnings of what a search has found."""
    return [row.preview for row in rows]


def headings(block: str) -> list[str]:
    """The headings of a block, without marks."""
    return [line[3:] for line in block.splitlines() if line.startswith("## ")]


def relate(
    conn: psycopg.Connection,
    from_id: int,
    to_id: int,
    type: str = "related",
    strength: float = 0.5,
) -> None:
    """Say how two memories bear on each other."""
    call(conn, "relate", from_id=from_id, to_id=to_id, type=type, strength=strength)


def redact(conn: psycopg.Connection, text: str | None) -> str | None:
    """The text as it would be stored."""
    return value(conn, "SELECT memoir.redact(%s)", text)


def refused(conn: psycopg.Connection, function: str, **arguments: Any) -> Any:
    """The server's error for a call that must fail (its diagnostics)."""
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        call(conn, function, **arguments)
    return caught.value.diag


def status(conn: psycopg.Connection, memory_id: int) -> str:
    """The status of a memory."""
    return value(conn, "SELECT status FROM memoir.memory WHERE memory_id = %s", memory_id)


def set_status(conn: psycopg.Connection, memory_id: int, status: str) -> None:
    """Give a memory this status."""
    conn.execute("UPDATE memoir.memory SET status = %s WHERE memory_id = %s", (status, memory_id))


def statuses(conn: psycopg.Connection) -> list[str]:
    """The statuses of all memories, in the order of their ids."""
    return [row[0] for row in conn.execute("SELECT status FROM memoir.memory ORDER BY memory_id")]


def row_counts(conn: psycopg.Connection) -> dict[str, int]:
    """How many rows every table of memoir has."""
    tables = conn.execute(
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'memoir'::regnamespace"
        " AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    )
    counts = _counting(tuple(sorted(name for (name,) in tables)))
    return dict(conn.execute(counts, prepare=True).fetchall())


@cache
def _counting(tables: tuple[str, ...]) -> str:
    """The statement that counts the rows of these tables."""
    return " UNION ALL ".join(f"SELECT '{name}', count(*) FROM memoir.{name}" for name in tables)


def sentences(count: int, words: int, seed: int = 1) -> list[str]:
    """Different sentences of short made-up words, the same every time."""
    source = random.Random(seed)
    vocabulary = [a + b + c for a in "bdfgkl" for b in "aeiou" for c in ("mp", "nd", "rk", "st")]
    return [" ".join(source.sample(vocabulary, words)) for _ in range(count)]


def fill(conn: psycopg.Connection, count: int, user: str = "default", first: int = 1) -> None:
    """Store memories "noteN wordM" (M of 97) with vectors of 8 dimensions, from number N on.

    Straight into the tables: 50,000 take 5 s, through ``remember`` ten times that.
    """
    conn.execute("SELECT memoir.use_model('waves', 8)")
    values = {"user": user, "first": first, "last": first + count - 1}
    conn.execute(_FILL, values)


def wave(number: int) -> str:
    """The vector of the memory of that number."""
    return "[" + ",".join(str(math.sin(number * k)) for k in range(1, 9)) + "]"


_FILL = """
WITH made AS (
    INSERT INTO memoir.memory (user_id, kind, content, importance, valid_from, content_hash,
                               created_at)
    SELECT %(user)s, 'fact', 'note' || n || ' word' || n %% 97, 0.5, now(),
           sha256(n::text::bytea), now()
    FROM generate_series(%(first)s::int, %(last)s::int) AS n
    RETURNING memory_id, content, substring(content FROM '[0-9]+')::int AS n, created_at
)
INSERT INTO memoir.trace (user_id, memory_id, model, kind, created_at, importance, cost, term_count,
                          terms, embedding, line)
SELECT %(user)s, m.memory_id, e.model_id, k.kind_id, m.created_at, 0.5, 5, 2,
       memoir._term_set(ARRAY[memoir._term('note' || m.n), memoir._term('word' || m.n %% 97)],
                        '{}'),
       ARRAY(SELECT sin(m.n * d) FROM generate_series(1, 8) AS d)::real[]::halfvec, m.content
FROM made AS m, memoir.embedding_model AS e, memoir.kind AS k
WHERE e.active AND k.name = 'fact'
"""


def without_vector(conn: psycopg.Connection) -> int:
    """How many memories have no vector."""
    return value(conn, "SELECT count(*) FROM memoir.trace WHERE active AND embedding IS NULL")


def rows_read(conn: psycopg.Connection, statement: str) -> int:
    """How many rows of tables of ``memoir`` a statement reads, with all that it calls.

    Not blocks: the planner reads some too, and more if rolled back rows lie at an index's ends.
    """
    count = """SELECT sum(seq_tup_read + idx_tup_fetch)::int FROM pg_stat_xact_user_tables
               WHERE schemaname = 'memoir'"""
    before = value(conn, count)
    conn.execute(statement)
    return value(conn, count) - before


def calls_made(conn: psycopg.Connection, function: str, statement: str) -> int:
    """How often a statement calls a function of ``memoir`` or of pgvector."""
    conn.execute("SET LOCAL track_functions = 'all'")
    count = "SELECT sum(calls)::int FROM pg_stat_xact_user_functions WHERE funcname = %s"
    before = value(conn, count, function) or 0
    conn.execute(statement)
    return (value(conn, count, function) or 0) - before


def processor_seconds(conn: psycopg.Connection) -> float:
    """How long a processor has worked for a connection of the server: not what else is busy."""
    times = psutil.Process(conn.info.backend_pid).cpu_times()
    return times.user + times.system


@contextmanager
def working_at_most(conn: psycopg.Connection, seconds: float) -> Iterator[None]:
    """What is done meanwhile takes the server less time of a processor; by the clock of a busy
    machine it may be ten times that.
    """
    before = processor_seconds(conn)
    conn.execute("SET LOCAL statement_timeout = '2min'")
    yield
    assert processor_seconds(conn) - before < seconds


_patience = [120.0]


def until(condition: Callable[[], Any]) -> None:
    """Wait for what another thread or process does; less long once that never came."""
    end = time.monotonic() + _patience[-1]
    while not condition():
        if time.monotonic() > end:
            _patience.append(10)
            pytest.fail("it never came")
        time.sleep(0.02)


def is_blocked(conn: psycopg.Connection) -> bool:
    """Whether somebody waits for a lock."""
    return bool(value(conn, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"))


def until_blocked(conn: psycopg.Connection) -> None:
    """Wait until somebody waits for a lock."""
    until(lambda: is_blocked(conn))
