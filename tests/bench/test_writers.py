"""writers.py for half a second: what it prints, never how fast."""

from __future__ import annotations

import json

import psycopg
import pytest
import writers
from click.testing import CliRunner

pytestmark = pytest.mark.once


def run(dsn: str, *options: str) -> str:
    few = ("--dsn", dsn, "--writers", "3", "--seconds", "0.5")
    return CliRunner().invoke(writers.main, [*few, *options], catch_exceptions=False).stdout


def test_writers_prints_throughput_and_that_nothing_is_wrong(dsn: str) -> None:
    found = json.loads(run(dsn, "--json"))
    assert (found["errors"], found["faults"]) == ([], [])
    assert found["calls"] > 0
    assert {"calls_per_second", "p50_ms", "p95_ms", "actions"} <= found.keys()


def test_writers_says_what_is_wrong(dsn: str, db: psycopg.Connection) -> None:
    db.execute("SELECT memoir.remember('drinks tea', 'fact', 'shared')")
    db.execute("UPDATE memoir.trace SET active = false")
    assert "active without one active trace, or the reverse: 1" in run(dsn)


@pytest.mark.parametrize("text", ["drinks tea", "drank tea", "said again"])
def test_a_text_is_lost_when_neither_memory_nor_revision_has_it(
    db: psycopg.Connection, text: str
) -> None:
    (id_,) = db.execute("SELECT memory_id FROM memoir.remember('drank tea')").fetchone() or (0,)
    db.execute("SELECT memoir.update_memory(%s, 'drinks tea')", (id_,))
    decision = json.dumps([{"action": "NOOP", "memory_id": id_, "content": "said again"}])
    db.execute("SELECT memoir.apply_decisions(%s)", (decision,))
    assert writers.faults(db, "default", [text, "unheard of"]) == ["lost: unheard of"]


def test_a_word_is_counted_once_its_memory_was_there_at_the_count(
    dsn: str, db: psycopg.Connection
) -> None:
    # Given a memory whose transaction was open during the count
    db.execute("SELECT memoir.remember('drinks water')")
    with psycopg.connect(dsn) as open_transaction:
        open_transaction.execute("SELECT memoir.remember('drinks tea')")
        db.execute("SELECT memoir.remember('drinks milk')")
        db.execute("SELECT memoir.refresh_statistics()")
    # Then the next count has it
    assert writers.faults(db, "default") == []
    # When a word is miscounted, then that is a fault
    db.execute("SELECT memoir.refresh_statistics()")
    db.execute("UPDATE memoir.term SET df = 2 WHERE df = 3")
    fault = "a word that is not in as many memories as are counted: 1"
    assert writers.faults(db, "default") == [fault]
