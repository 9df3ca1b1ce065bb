"""locomo.py on two small conversations: what it finds, and that every line has its memory."""

from __future__ import annotations

import json
from pathlib import Path

import locomo
import numpy as np
import psycopg
import pytest
from click.testing import CliRunner

pytestmark = pytest.mark.once

TURNS = {
    "ken": (
        ("Ken", "I adopted a grey cat from the shelter, her name is Miso."),
        ("Mara", "How lovely! Does she get along with the dog?"),
        ("Ken", "Not yet, the dog is afraid of her."),
    ),
    "李": (
        ("李", "我上周去杭州看了西湖，下了一整天雨。"),
        ("Ann", "What did you eat there?"),
        ("李", "龙井虾仁，味道很好。"),
    ),
}
# The second one tells less than the first: pgmemoir keeps that.
FACTS = (
    "Ken adopted a grey cat named Miso from the shelter.",
    "Ken adopted a grey cat named Miso.",
)
QUESTIONS = (
    ("ken", "What is the name of Ken's cat?", 4, ["D1:1"]),
    ("ken", "Who is afraid of Miso?", 1, ["D1:1", "D1:3"]),
    ("李", "李去了哪个城市？", 4, ["D1:1"]),
    ("李", "What did Ann ask?", 5, ["D1:2"]),
)
KEYS = {
    *("evidence_at_400", "evidence_at_800", "evidence_at_1600"),
    *("p50_ms", "p95_ms", "floor_p50_ms", "ratio_p50"),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The conversations as a file, with vectors beside it."""
    at = "2023-05-0{}T10:00:00Z"
    turns = [
        {"conv": user, "dia_id": f"D1:{place + 1}", "session": 1, "pos": place, "ts": at.format(1)}
        | {"speaker": speaker, "text": f"{speaker}: {text}"}
        for user, said in TURNS.items()
        for place, (speaker, text) in enumerate(said)
    ]
    facts = [
        {"conv": "ken", "session": 1, "ts": at.format(place + 1), "speaker": "Ken", "text": text}
        | {"src": [f"D1:{1 + 2 * place}"]}
        for place, text in enumerate(FACTS)
    ]
    names = ("conv", "question", "category", "evidence")
    questions = [dict(zip(names, each, strict=True)) for each in QUESTIONS]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps({"turns": turns, "facts": facts, "questions": questions}))
    directions = np.eye(6)
    toward = directions[[0, 2, 3, 4]]
    np.savez(
        tmp_path / "vectors.npz",
        turns=directions,
        facts=directions[[0, 0]],
        questions=toward,
        questions_stripped=toward,
    )
    return path


def asked(data: Path, dsn: str, *options: str) -> dict:
    """What the script prints for these options."""
    given = [str(data), "--vectors", str(data.with_name("vectors.npz")), "--dsn", dsn]
    command = [*given, "--mode", "conversation", "--json", *options]
    done = CliRunner().invoke(locomo.main, command, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_all_evidence_of_small_conversations_is_found(data: Path, dsn: str) -> None:
    found = asked(data, dsn)
    assert found.keys() >= KEYS
    assert (found["users"], found["turns"], found["questions"]) == (2, 6, 3)
    assert [found[f"evidence_at_{budget}"] for budget in (400, 800, 1600)] == [100, 100, 100]
    assert found["by_category"]["multi-hop"]["questions"] == 1


def test_evidence_that_no_longer_fits_is_missing(data: Path, dsn: str) -> None:
    found = asked(data, dsn, "--budgets", "8", "--no-times")
    assert found["evidence_at_8"] < 100
    assert "p50_ms" not in found


def test_a_fact_that_is_told_twice_is_one_memory_with_the_sources_of_both(
    data: Path, dsn: str, db: psycopg.Connection
) -> None:
    found = asked(data, dsn, "--facts", "--no-times", "--categories", "1")
    stored = db.execute("SELECT content FROM memoir.memory WHERE kind = 'fact'").fetchall()
    assert stored == [(FACTS[0],)]
    assert (found["facts"], found["evidence_at_800"]) == (2, 100)


def test_pooled_conversations_are_told_apart(data: Path, dsn: str) -> None:
    found = asked(data, dsn, "--pool", "--no-times", "--categories", "1-5")
    assert (found["users"], found["questions"]) == (1, 4)
    assert found["evidence_at_800"] == 100
