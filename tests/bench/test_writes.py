"""writes.py on a handful of memories: what it prints, never how fast."""

from __future__ import annotations

import json

import psycopg
import pytest
import writes
from click.testing import CliRunner
from common import Database, ServerTime
from same_rows import Case, SameRows

pytestmark = pytest.mark.once

KEYS = ("p50_ms", "p95_ms", "floor_p50_ms", "floor_p95_ms", "ratio_p50")

WARM, CONNECTIONS = 2, 2


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is done forty times before it counts: here no time does."""
    monkeypatch.setattr(writes, "_WARM", WARM)
    monkeypatch.setattr(writes, "_CONNECTIONS", CONNECTIONS)


@pytest.mark.usefixtures("few")
def test_writes_prints_times_of_single_memories_and_of_batches(
    dsn: str, db: psycopg.Connection
) -> None:
    sizes = ("--rows", "5", "--batches", "2", "--batch-size", "10", "--dims", "16", "--held", "9")
    done = CliRunner().invoke(writes.main, ["--dsn", dsn, *sizes, "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert {f"{name}_{key}" for name in ("single", "batch") for key in KEYS} <= found.keys()
    same = [case.name for case in writes.cases([9])]
    assert {f"{name}{end}_{key}" for name in same for end in ("", "_async") for key in KEYS} <= (
        found.keys()
    )
    assert found["same_ratio_p50"] >= found["turn_9_words_ratio_p50"] > 0
    assert found["same_async_ratio_p50"] >= found["fact_9_async_ratio_p50"] > 0
    assert found["first_call_ms"] > 0
    # Both tables were given the same: but for the first calls, which are memoir's alone.
    (stored,) = db.execute(
        "SELECT count(*) FROM memoir.memory WHERE user_id LIKE 'user-%'"
    ).fetchone() or (0,)
    (floor,) = db.execute("SELECT count(*) FROM memoir_floor_written").fetchone() or (0,)
    assert stored == floor + 2 * CONNECTIONS


def test_the_same_rows_are_exactly_what_memoir_stored(dsn: str, db: psycopg.Connection) -> None:
    same = SameRows(db, 1, 16)
    server = ServerTime(db, Database(dsn, 18, None, {}))
    for kind in ("fact", "turn"):
        assert same.timed(Case(kind, 9, kind == "fact"), server, 5, 1).shape == (2, 2, 5)
    for table in ("memory", "trace", "keyword"):
        ours, copy = f"SELECT * FROM memoir.{table}", f"SELECT * FROM memoir_again_{table}"
        assert db.execute(f"{copy} EXCEPT {ours}").fetchall() == []
        assert db.execute(f"{ours} EXCEPT {copy}").fetchall() == []
