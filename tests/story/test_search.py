"""The 100 questions of two languages, asked by an agent through its tools, with no model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb
from tests.rows import call, store, value

pytestmark = pytest.mark.usefixtures("planned_once")

SET = json.loads(Path(__file__).with_name("bilingual.json").read_text(encoding="utf-8"))


def found(conn, tool, **arguments):
    """How many questions find their memory among the first three results."""
    memories = SET["memories"]
    ids = store(conn, ({"content": m["text"], "kind": m["kind"]} for m in memories))
    keys = dict(zip((m["id"] for m in memories), map(str, ids), strict=True))
    call(conn, "refresh_statistics")
    number = 0
    for question in SET["questions"]:
        given = Jsonb({"query": question["ask"], **arguments})
        answer = value(conn, "SELECT memoir.call_tool(%s, %s)", tool, given)
        first = [result["key"] for result in answer["results"][:3]]
        number += keys[question["finds"]] in first
    return number


@pytest.mark.parametrize(
    ("tool", "arguments", "least"),
    [
        ("search_memories", {"min_relevance_score": 0.6}, 50),
        ("search_memories", {"min_relevance_score": 0.3}, 85),
        ("memory_search", {}, 90),
    ],
)
def test_questions_find_their_memory_among_the_first_three(tx, tool, arguments, least):
    assert found(tx, tool, **arguments) >= least
