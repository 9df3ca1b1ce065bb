"""What the log answers."""

from __future__ import annotations

import pytest
from tests.rows import add_event, call, recall, remember, remember_all, rows_read


def rows(conn, view, columns):
    """The rows of a view of memoir, sorted."""
    return sorted(conn.execute(f"SELECT {columns} FROM memoir.{view}").fetchall())


def asked(conn, *uses):
    """A recall of two facts a use, of which so many are marked."""
    remember(conn, "tea green")
    remember(conn, "tea black")
    for number in uses:
        made = recall(conn, "tea", mode="chat")
        ids = made.memory_ids[:number]
        call(conn, "mark_used", retrieval_id=made.retrieval_id, memory_ids=ids)


def test_kinds_injected_counts_lines_and_recalls(tx):
    remember(tx, "tea green", "fact")
    remember(tx, "tea black", "fact")
    remember(tx, "tea white", "task")
    recall(tx, "tea", mode="plan")
    recall(tx, "green", mode="plan")
    found = rows(tx, "kinds_injected", "mode, kind, lines, recalls")
    assert found == [("plan", "fact", 3, 2), ("plan", "task", 1, 1)]


def test_kinds_injected_reads_no_memory(tx):
    remember_all(tx, (f"tea {n}" for n in range(20)))
    lines = sum(len(recall(tx, "tea", mode="plan").memory_ids) for _ in range(10))
    assert rows_read(tx, "SELECT * FROM memoir.kinds_injected") < lines / 2


def test_kinds_unused_names_kinds_that_were_never_injected(tx):
    remember(tx, "tea", "fact")
    remember(tx, "coffee", "task")
    remember(tx, "coffee black", "task")
    recall(tx, "tea")
    assert rows(tx, "kinds_unused", "user_id, kind, memories") == [("default", "task", 2)]


def test_token_utilisation_is_the_share_of_the_budget_used(tx):
    remember(tx, "tea")
    tokens = recall(tx, "tea", mode="plan", budget=100).tokens
    recall(tx, "tea", mode="plan", budget=300)
    (found,) = rows(tx, "token_utilisation", "mode, recalls, token_budget, utilisation")
    assert found == ("plan", 2, 200, pytest.approx(2 * tokens / 400))


def test_hit_rate_counts_recalls_with_feedback(tx):
    asked(tx, 2, 0, 1)
    recall(tx, "tea", mode="chat")
    (found,) = rows(tx, "hit_rate", "mode, recalls_with_feedback, hit_rate, used_share")
    assert found == ("chat", 3, pytest.approx(2 / 3), pytest.approx(3 / 6))


def test_recall_latency_gives_percentiles(tx):
    for _ in range(5):
        recall(tx, "tea", mode="debug")
    (found,) = rows(tx, "recall_latency", "mode, recalls, p50_ms, p95_ms, p99_ms")
    mode, recalls, p50, p95, p99 = found
    assert (mode, recalls) == ("debug", 5)
    assert 0 < p50 <= p95 <= p99


@pytest.mark.parametrize("view", ["kinds_injected", "token_utilisation", "recall_latency"])
def test_views_keep_users_apart(tx, view):
    for user in ("ada", "bob"):
        remember(tx, "tea", user_id=user)
        recall(tx, "tea", user_id=user)
    assert rows(tx, view, "user_id, recalls") == [("ada", 1), ("bob", 1)]


@pytest.mark.parametrize(
    "payload",
    [
        "looked it up",
        {"injected_count": "some", "used": ["1"]},
        {"token_used": 1e12, "injected_sources": "tasks", "injected": 1, "used": ["1"]},
        {"token_budget": [], "used": ["1"]},
        {"elapsed_ms": None, "injected_count": 1.5, "injected_sources": {"a": 1}, "used": []},
    ],
    ids=str,
)
def test_an_event_of_the_application_that_is_no_record_of_ours_breaks_no_view(tx, payload):
    remember(tx, "tea")
    recall(tx, "tea")
    add_event(tx, "memory_retrieval", payload)
    for view in ("retrieval_log", "kinds_injected", "hit_rate", "suggested_weights"):
        rows(tx, view, "user_id")
    (found,) = rows(tx, "recall_latency", "user_id, p50_ms > 0")[:1]
    assert found == ("default", True)
    assert call(tx, "stats") != []
