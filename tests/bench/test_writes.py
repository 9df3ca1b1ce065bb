"""writes.py on a handful of memories: what it prints, never how fast."""

from __future__ import annotations

import json

import psycopg
import writes
from click.testing import CliRunner

KEYS = ("p50_ms", "p95_ms", "floor_p50_ms", "floor_p95_ms", "ratio_p50")


def test_writes_prints_times_of_single_memories_and_of_batches(
    dsn: str, db: psycopg.Connection
) -> None:
    sizes = ("--rows", "5", "--batches", "2", "--batch-size", "10", "--dims", "16")
    done = CliRunner().invoke(writes.main, ["--dsn", dsn, *sizes, "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert {f"{name}_{key}" for name in ("single", "batch") for key in KEYS} <= found.keys()
    assert found["first_call_ms"] > 0
    # Both tables were given the same: but for the first calls, which are memoir's alone.
    (stored,) = db.execute("SELECT count(*) FROM memoir.memory").fetchone() or (0,)
    (floor,) = db.execute("SELECT count(*) FROM memoir_floor_written").fetchone() or (0,)
    assert stored == floor + 10
