"""Recall of conversations: the fast form in recall chooses what the exact form in explain does."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise

import pytest
from tests.rows import (
    NOTHING,
    NOW,
    add_event,
    add_mode,
    ago,
    call,
    explain,
    found,
    headings,
    recall,
    remember,
    say,
    value,
)

WORDS = ["tea", "milk", "lemon", "paris", "train", "dog", "red", "茶", "北京"]
SPEAKERS = ["Ann", "Bob", "小明", None]
STORE = """
SELECT memoir.remember(
    m->>'content', m->>'kind', m->>'user', subject => m->>'subject',
    embedding => (m->>'embedding')::halfvec, created_at => (m->>'created_at')::timestamptz,
    session_id => m->>'session', turn => (m->>'turn')::int, speaker => m->>'speaker')
FROM jsonb_array_elements(%s::jsonb) AS m
"""
QUESTIONS = [
    ("When did Ann drink tea in Paris?", "[1,0,0.5]"),
    ("What did Ann and Bob say about milk on 20 May 2025?", "[0,1,0]"),
    ("小明昨天喝茶了吗", None),
    (None, "[0.2,0.3,1]"),
    (None, None),
]


def memory_of(source, turn, dimensions=3, wide=0.1):
    """One memory of a generated conversation; some are no turns, some have no vector."""
    session = source.choice(["a", "b", "c", "d", f"alone {turn}", None])
    text = " ".join(source.choices(WORDS, k=source.randint(1, 5)))
    if source.random() < wide:
        text += " " + " ".join(source.choices(WORDS, k=400))
    vector = [source.choice((0, 0.25, 1)) for _ in range(3)] + [1 / 8] * (dimensions - 3)
    is_turn = source.random() < 0.8
    return {
        "content": f"{text} {turn}{source.choice(['?', '.', ' yesterday'])}",
        "kind": "turn" if is_turn else "fact",
        "subject": source.choice([None, None, "Bob"]),
        "session": session,
        "turn": turn * source.randint(1, 3) if is_turn and session else None,
        "speaker": source.choice(SPEAKERS) if is_turn else None,
        "embedding": str(vector) if any(vector) and source.random() < 0.8 else None,
        "created_at": (NOW - timedelta(hours=source.randint(0, 40) * 24)).isoformat(),
    }


def fill(conn, seed, count, **more):
    """A generated conversation."""
    from psycopg.types.json import Jsonb

    source = random.Random(seed)
    conn.execute(STORE, (Jsonb([memory_of(source, turn, **more) for turn in range(count)]),))


def both(conn, question, vector, **more):
    """Memories chosen by recall and by explain, in order, and the scores of the candidates."""
    more = {"mode": "conversation", "budget": 700, "query_vec": vector, **more}
    fast = recall(conn, question, **more)
    exact = explain(conn, question, **more)
    logged = dict(
        conn.execute(
            "SELECT c.* FROM memoir.retrieval, unnest(ids, score) AS c WHERE retrieval_id = %s",
            (fast.retrieval_id,),
        ).fetchall()
    )
    shown = {row.memory_id: row.score for row in exact if row.memory_id in logged}
    return fast.memory_ids, [row.memory_id for row in exact if row.place], logged, shown


def check(conn, dimensions=3, **more):
    """Both forms agree for each question, with and without statistics."""
    for _ in range(2):
        for question, vector in QUESTIONS:
            if vector:
                vector = str([*map(float, vector.strip("[]").split(","))] + [0] * (dimensions - 3))
            fast, exact, logged, shown = both(conn, question, vector, **more)
            assert fast == exact
            assert logged == pytest.approx(shown, abs=1e-6)
        call(conn, "refresh_statistics")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [1, 2, 3, 59, 61])
def test_both_forms_choose_the_same(tx, seed, count):
    fill(tx, seed, count)
    check(tx)


@pytest.mark.parametrize("wide", [0, 0.05])
def test_both_forms_choose_the_same_of_700(tx, wide):
    fill(tx, 1, 700, wide=wide)
    check(tx)


@pytest.mark.parametrize("count", [3, 61])
def test_both_forms_choose_the_same_where_all_rows_are_wide(tx, count):
    fill(tx, 2, count, dimensions=1536)
    tx.execute("DELETE FROM memoir.trace WHERE NOT wide")
    check(tx, 1536)


@pytest.mark.parametrize("seed", range(3))
def test_both_forms_choose_the_same_with_few_candidates(tx, seed):
    fill(tx, seed, 30)
    settings = {"candidate_limit": 3, "line_limit": 2, "threshold": 0.05, "profile": True}
    mode = add_mode(tx, **settings, time_boost=0.4, neighbour_weight=0.3, session_weight=0.5)
    check(tx, mode=mode, budget=60)
