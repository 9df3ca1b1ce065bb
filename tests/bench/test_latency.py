"""latency.py, memory.py and growth.py on a handful of memories: what they print, never how fast."""

from __future__ import annotations

import json

import growth
import latency
import memory
import pytest
from click.testing import CliRunner

pytestmark = pytest.mark.once

KEYS = {"floor", "p50_ms", "p95_ms", "floor_p50_ms", "floor_p95_ms", "ratio_p50", "ratio_p95"}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed again and again: here no time counts."""
    monkeypatch.setattr(latency, "ROUNDS", 1)
    monkeypatch.setattr(latency, "_CONNECTIONS", 2)


def printed(command, *options: object) -> dict:
    done = CliRunner().invoke(command, [*map(str, options), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_latency_prints_times_and_the_share_of_the_exact_best(dsn: str) -> None:
    size = ("--users", 3, "--rows", 40, "--dims", 16, "--questions", 4)
    found = printed(latency.main, "--dsn", dsn, *size, "--giant", 60, "--exact")
    assert {"users", "rows", "dims", "mode", "first_call_ms", *KEYS} <= found.keys()
    assert {f"giant_{key}" for key in KEYS} <= found.keys()
    assert found["top20_share"] == found["giant_top20_share"] == 1
    assert (found["floor"], found["giant_floor"]) == ("exact", "exact")


def test_memories_are_loaded_once(dsn: str) -> None:
    size = ("--users", 2, "--rows", 30, "--dims", 16, "--questions", 2)
    first, second = (printed(latency.main, "--dsn", dsn, *size) for _ in range(2))
    assert first["load_seconds"] > 0
    assert second["load_seconds"] is None
    other = CliRunner().invoke(latency.main, ["--dsn", dsn, "--users", "3", "--rows", "30"])
    assert "this database holds" in other.stderr


def test_connections_ask_at_once(dsn: str) -> None:
    size = ("--users", 2, "--rows", 30, "--dims", 16, "--questions", 3)
    found = printed(latency.main, "--dsn", dsn, *size, "--connections", 2)
    assert found["p50_ms"] > 0
    assert found["floor_p50_ms"] > 0


def test_a_cold_start_needs_a_server_of_its_own(dsn: str) -> None:
    options = ["--dsn", dsn, "--rows", "30", "--dims", "16", "--questions", "2", "--cold"]
    assert "no --dsn" in CliRunner().invoke(latency.main, options).stderr


def test_the_exponent_is_the_slope_of_the_logarithms() -> None:
    points = [{"rows": rows, "p50_ms": 3 * rows**0.5} for rows in (10, 100, 1000)]
    assert abs(growth.exponent(points, "rows", "p50_ms") - 0.5) < 1e-9
    assert growth.exponent(points[:1], "rows", "p50_ms") is None


def test_the_bytes_of_tables_and_indexes_make_the_sum(dsn: str) -> None:
    found = printed(memory.main, "--dsn", dsn, "--rows", 50, "--dims", 16)
    assert abs(sum(found["tables"].values()) - found["bytes_per_memory"]) < 1
    assert found["bytes_per_memory"] > found["floor_bytes"] > 0
