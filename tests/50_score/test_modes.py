"""Every mode scores as its document says, to 1e-9, whatever the memories are."""

from __future__ import annotations

import math
import random

import pytest
from tests import oracle
from tests.rows import MODES, NOW, OTHER_MODES, ago, explain, recall, sentences, store

pytestmark = pytest.mark.usefixtures("side_by_side", "planned_once")

EXACT = 1e-9
KINDS = ("task", "learning", "okr", "preference", "fact", "command_output", "general", "procedural")
QUESTION = sentences(1, 6, seed=7)[0]
VECTOR = (2, 1, 2)
FORMS = [(QUESTION, VECTOR), (QUESTION, None), (None, VECTOR)]


def as_text(vector):
    """A vector as the server reads it; whole numbers, so that its cosine is exact."""
    return None if vector is None else str(list(vector))


def fill(conn, count=300, seed=1):
    """Memories of random kind, age, importance, vector, words, use and links; what is known."""
    dice = random.Random(2)
    given, known, tags, uses = [], [], [], []
    for number, content in enumerate(sentences(count, 5, seed)):
        vector = [dice.randint(-3, 6) for _ in VECTOR] if dice.random() < 0.8 else None
        vector = vector if vector and any(vector) else None
        memory = oracle.Memory(
            dice.choice(KINDS), ago(days=dice.uniform(0, 500)), round(dice.random(), 3), None, None
        )
        more = {"importance": memory.importance, "created_at": memory.created_at}
        asked = dice.sample(QUESTION.split(), dice.randint(0, 6))
        text = " ".join([content, *asked])
        given.append({"content": text, "kind": memory.kind, "embedding": as_text(vector), **more})
        # Words of the question, or words that begin with one.
        tags += [
            (number, word + dice.choice(("", "ish")), round(dice.random(), 3)) for word in asked[:2]
        ]
        if dice.random() < 0.5:
            memory.accesses = dice.randint(1, 40)
            memory.last_accessed = NOW - dice.random() * (NOW - memory.created_at)
            uses.append((number, memory.accesses, memory.last_accessed))
        known.append((memory, vector))
    ids = store(conn, given)
    conn.cursor().executemany(
        "INSERT INTO memoir.keyword VALUES ('default', %s, %s, %s) ON CONFLICT DO NOTHING",
        [(keyword, ids[number], weight) for number, keyword, weight in tags],
    )
    conn.cursor().executemany(
        "INSERT INTO memoir.access VALUES ('default', %s, %s, %s)",
        [(ids[number], *use) for number, *use in uses],
    )
    return dict(zip(ids, known, strict=True))


def keyword_signals(conn, question):
    """The keyword signal of every memory."""
    (asked,) = conn.execute(
        "SELECT memoir._asked_keywords('default', %s, 'infinity')", (question,)
    ).fetchone()
    stems = dict(zip(asked, (stem for (stem,) in oracle.tokens(conn, asked)), strict=True))
    rows = conn.execute(
        "SELECT m.memory_id, coalesce(jsonb_object_agg(k.keyword, k.weight)"
        " FILTER (WHERE k.keyword IS NOT NULL), '{}')"
        " FROM memoir.memory AS m LEFT JOIN memoir.keyword AS k USING (user_id, memory_id)"
        " GROUP BY m.memory_id"
    )
    return {memory_id: oracle.keyword(asked, stems, own) for memory_id, own in rows}


def cosine(one, other):
    """Cosine of two vectors."""
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))


def add_links(conn, known):
    """Relations of random strength between random memories; the strengths by pair."""
    dice = random.Random(2)
    pairs = [(one, other) for one in known for other in dice.sample(sorted(known), 2)]
    links = {pair: round(dice.random(), 3) for pair in pairs if len(set(pair)) == 2}
    conn.cursor().executemany(
        "INSERT INTO memoir.relation VALUES ('default', %s, %s, 'related', %s)",
        [(*pair, strength) for pair, strength in links.items()],
    )
    return links


def link(memories, links):
    """Give memories their graph signal: the best link to one of the five most similar."""
    alike = {i: oracle.similarity(m) or 0 for i, m in memories.items()}
    seeds = sorted(alike, key=lambda i: (-alike[i], NOW - memories[i].created_at))[:5]
    for (one, other), strength in links.items():
        for near, far in ((one, other), (other, one)):
            if near in seeds:
                signal = strength * alike[near]
                memories[far].graph = max(memories[far].graph, signal)


def complete(conn, known, rows, question, vector):
    """The memories with their signals: all worked out but coverage, which SQL keeps as float4."""
    keywords = keyword_signals(conn, question) if question else {}
    for row in rows:
        memory, own_vector = known[row.memory_id]
        memory.cosine = cosine(own_vector, vector) if own_vector and vector else None
        memory.coverage = row.coverage if question else None
        memory.keyword = keywords.get(row.memory_id)
        memory.graph = 0
    return {memory_id: memory for memory_id, (memory, _) in known.items()}


def rank(memory, mode):
    """What a block is sorted by: the score, of equal ones the newer."""
    return -round(oracle.score(memory, mode, NOW), 9), NOW - memory.created_at


@pytest.mark.parametrize("mode", MODES + OTHER_MODES)
def test_every_score_is_that_of_the_document(tx, mode):
    known = fill(tx)
    for question, vector in FORMS:
        rows = explain(tx, question, query_vec=as_text(vector), mode=mode, as_of=NOW)
        memories = complete(tx, known, rows, question, vector)
        assert len(rows) == 300
        for row in rows:
            expected = oracle.score(memories[row.memory_id], mode, NOW)
            assert row.score == (expected and pytest.approx(expected, abs=EXACT)), row


@pytest.mark.parametrize(("question", "vector"), FORMS)
def test_linked_memories_score_as_the_document_says(tx, question, vector):
    known = fill(tx)
    links = add_links(tx, known)
    rows = explain(tx, question, query_vec=as_text(vector), mode="assistant", as_of=NOW)
    memories = complete(tx, known, rows, question, vector)
    link(memories, links)
    assert sum(memory.graph > 0 for memory in memories.values()) > 10
    for row in rows:
        memory = memories[row.memory_id]
        assert row.graph == pytest.approx(memory.graph, abs=EXACT)
        expected = oracle.score(memory, "assistant", NOW)
        assert row.score == (expected and pytest.approx(expected, abs=EXACT)), row


@pytest.mark.parametrize("mode", OTHER_MODES)
def test_the_block_is_the_best_by_the_document(tx, mode):
    known = fill(tx, 80)
    for question, vector in FORMS[:2]:
        asked = {"query_vec": as_text(vector), "mode": mode, "as_of": NOW, "budget": 9_000}
        memories = complete(tx, known, explain(tx, question, **asked), question, vector)
        let_in = {i: m for i, m in memories.items() if oracle.is_candidate(m, mode, NOW)}
        best = sorted(let_in, key=lambda i: rank(let_in[i], mode))
        chosen = recall(tx, question, **asked).memory_ids
        if mode == "implicit":
            best = [i for i in best if memories[i].kind != "procedural"]
            chosen = [i for i in chosen if memories[i].kind != "procedural"]
        limit = {"balanced": 10, "implicit": 3, "assistant": 3}.get(mode, 150)
        assert chosen
        assert chosen == best[:limit]
