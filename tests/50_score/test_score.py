"""score = relevance x decay x weight, and what relevance is made of."""

from __future__ import annotations

import pytest
from tests.rows import MODES, NOW, add_event, ago, explain, remember

pytestmark = pytest.mark.usefixtures("planned_once")

WEIGHTS = {
    "task": (1.0, 1.2, 1.0, 0.8),
    "learning": (0.8, 1.0, 1.5, 0.6),
    "event": (0.5, 0.8, 1.5, 0.3),
    "okr": (1.5, 0.5, 0.3, 1.0),
    "preference": (1.0, 1.0, 1.0, 1.0),
}
CASES = [
    (kind, mode, weight)
    for kind, weights in WEIGHTS.items()
    for mode, weight in zip(MODES, weights, strict=True)
]


def fill(conn):
    """A memory of each kind, of several ages, with and without a vector, and an event."""
    for days, kind in enumerate(("task", "learning", "okr", "capability", "turn", "fact")):
        vector = f"[1,{days},0]" if days % 2 else None
        remember(conn, f"tea {kind}", kind, embedding=vector, created_at=ago(days=9 * days))
    add_event(conn, "alert", {"tea": 1}, created_at=ago(hours=5))


@pytest.mark.parametrize(("kind", "mode", "weight"), CASES)
def test_a_kind_weighs_in_a_mode_what_the_document_says(tx, kind, mode, weight):
    if kind == "event":
        add_event(tx, "alert", {"n": 1}, created_at=NOW)
    else:
        remember(tx, "tea", kind, created_at=NOW)
    (row,) = explain(tx, "tea", mode=mode, as_of=NOW)
    assert (row.kind, row.weight) == (kind, weight)
    assert row.score == pytest.approx(row.relevance * weight, rel=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("question", ["tea task", None])
@pytest.mark.parametrize("vector", ["[1,1,0]", None])
def test_every_score_is_relevance_times_decay_times_weight(tx, mode, question, vector):
    fill(tx)
    rows = explain(tx, question, query_vec=vector, mode=mode, as_of=NOW)
    scored = [row for row in rows if row.score is not None]
    assert len(scored) >= 3
    for row in scored:
        assert row.score == pytest.approx(row.relevance * row.decay * row.weight, rel=1e-9)


def test_the_relevance_of_vectors_alone_is_their_cosine(tx):
    remember(tx, "same", embedding="[2,0,0]")
    remember(tx, "half", embedding="[1,1.7320508,0]")
    remember(tx, "other", embedding="[0,0,3]")
    remember(tx, "against", embedding="[-1,0,0]")
    rows = {row.content: row.relevance for row in explain(tx, query_vec="[1,0,0]")}
    assert rows == pytest.approx({"same": 1, "half": 0.5, "other": 0, "against": -1}, abs=1e-3)


def test_the_relevance_of_words_alone_is_their_coverage(tx):
    remember(tx, "tea milk")
    remember(tx, "tea lemon")
    for row in explain(tx, "milk lemon"):
        assert row.relevance == row.coverage == pytest.approx(0.5)


def test_the_relevance_of_both_is_their_mean(tx):
    remember(tx, "tea milk", embedding="[1,0,0]")
    remember(tx, "tea lemon", embedding="[0,1,0]")
    milk, lemon = explain(tx, "milk lemon", query_vec="[1,0,0]")
    assert milk.relevance == pytest.approx((1 + 0.5) / 2)
    assert lemon.relevance == pytest.approx((0 + 0.5) / 2)


def test_the_relevance_of_a_memory_without_vector_is_its_coverage(tx):
    remember(tx, "tea milk")
    (row,) = explain(tx, "milk", query_vec="[1,0,0]")
    assert (row.cosine, row.relevance) == (None, pytest.approx(1))


def test_the_relevance_of_a_question_without_words_is_the_cosine(tx):
    remember(tx, "tea milk", embedding="[1,0,0]")
    (row,) = explain(tx, "???", query_vec="[1,0,0]")
    assert row.relevance == pytest.approx(1)


def test_the_relevance_without_a_question_is_the_importance(tx):
    remember(tx, "tea", importance=0.3)
    remember(tx, "milk", importance=0.7)
    assert [row.relevance for row in explain(tx)] == [0.7, 0.3]


def test_the_relevance_of_an_event_is_a_half(tx):
    add_event(tx, "alert", {"n": 1})
    (row,) = explain(tx, "whatever", query_vec="[1,0,0]")
    assert row.relevance == 0.5


@pytest.mark.parametrize(("vector_weight", "word_weight"), [(1, 0), (0, 1), (3, 1), (0.2, 0.2)])
def test_a_mode_says_how_vector_and_words_share(tx, vector_weight, word_weight):
    tx.execute(
        "UPDATE memoir.mode SET vector_weight = %s, word_weight = %s WHERE name = 'chat'",
        (vector_weight, word_weight),
    )
    remember(tx, "tea", embedding="[1,0,0]")
    (row,) = explain(tx, "milk", query_vec="[1,0,0]", mode="chat")
    assert row.relevance == pytest.approx(vector_weight / (vector_weight + word_weight))


def test_what_points_away_from_the_question_is_left_out(tx):
    remember(tx, "against", embedding="[-1,0,0]")
    (row,) = explain(tx, query_vec="[1,0,0]")
    assert (row.place, row.reason) == (None, "below threshold")
