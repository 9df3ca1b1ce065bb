"""stats: the numbers of a user's memory."""

from __future__ import annotations

import pytest
from tests.rows import NOW, add_event, call, recall, refused, remember, set_status, value

NAMES = [
    "memories",
    "by_kind",
    "importance",
    "by_status",
    "pending",
    "with_embedding",
    "with_keywords",
    "sessions",
    "open_sessions",
    "messages",
    "events",
    "relations",
    "entities",
    "recalls",
    "recall_p50_ms",
    "recall_p95_ms",
    "recall_p99_ms",
    "tokens_per_recall",
    "token_utilisation",
    "recalls_with_feedback",
    "hit_rate",
    "used_share",
    "tool_calls",
    "hot_memories",
    "jobs_waiting",
    "jobs_dead",
    "caches",
]


def stats(conn, **more):
    """The numbers by name."""
    return {row.name: row.value for row in call(conn, "stats", **more)}


def test_a_user_without_anything_has_zeros_and_nothing_to_measure(tx):
    numbers = stats(tx, user_id="nobody")
    assert list(numbers) == NAMES
    unmeasured = {name for name in NAMES if numbers[name] is None}
    assert {numbers[name] for name in ("memories", "pending", "recalls", "messages")} == {0}
    assert (numbers["by_kind"], numbers["hot_memories"]) == ({}, [])
    assert unmeasured >= {"importance", "with_keywords", "recall_p95_ms", "hit_rate"}


def test_memories_are_counted_by_kind_and_status(tx):
    remember(tx, "tea", "fact", importance=0.2)
    remember(tx, "milk", "fact", importance=0.4)
    remember(tx, "green", "preference", importance=0.9)
    set_status(tx, remember(tx, "water"), "pending")
    set_status(tx, remember(tx, "coffee"), "forgotten")
    numbers = stats(tx)
    assert (numbers["memories"], numbers["importance"], numbers["pending"]) == (3, 0.5, 1)
    assert numbers["by_kind"] == {
        "fact": {"memories": 2, "importance": 0.3},
        "preference": {"memories": 1, "importance": 0.9},
    }
    assert numbers["by_status"] == {"active": 3, "pending": 1, "forgotten": 1}


def test_coverage_is_a_share_of_the_active_memories(tx):
    remember(tx, "tea is green", embedding="[1,0]")
    remember(tx, "a b")
    numbers = stats(tx)
    assert (numbers["with_embedding"], numbers["with_keywords"]) == (0.5, 0.5)


def test_sessions_messages_and_events_are_counted(tx):
    for session in ("s", "t"):
        call(tx, "message_add", session_id=session, role="user", content="hello")
    call(tx, "session_end", session_id="t")
    add_event(tx, "alert", {"disk": "full"})
    numbers = stats(tx)
    assert (numbers["sessions"], numbers["open_sessions"], numbers["messages"]) == (2, 1, 2)
    assert numbers["events"] == 1


def test_recalls_are_measured_over_all_modes(tx):
    memory = remember(tx, "tea is green")
    seen = [recall(tx, "tea", mode=mode) for mode in ("execute", "chat", "debug")]
    call(tx, "mark_used", retrieval_id=seen[0].retrieval_id, memory_ids=[memory])
    call(tx, "mark_used", retrieval_id=seen[1].retrieval_id, memory_ids=[])
    tx.execute("UPDATE memoir.retrieval SET elapsed_ms = 2, token_used = 80, token_budget = 800")
    numbers = stats(tx)
    assert [numbers[f"recall_p{p}_ms"] for p in (50, 95, 99)] == [2, 2, 2]
    assert (numbers["recalls"], numbers["tokens_per_recall"]) == (3, 80)
    assert numbers["token_utilisation"] == 0.1
    feedback = [numbers[n] for n in ("recalls_with_feedback", "hit_rate", "used_share")]
    assert feedback == [2, 0.5, 0.5]


def test_hot_memories_are_named_by_key(tx):
    memory = remember(tx, "tea")
    tx.execute("INSERT INTO memoir.access VALUES ('default', %s, 3, %s)", (memory, NOW))
    assert stats(tx)["hot_memories"] == [str(memory)]


def test_jobs_that_wait_and_caches_are_told(tx):
    for number in range(3):
        call(tx, "expand_query", query=f"tea {number}")
    tx.execute("UPDATE memoir.job SET status = 'dead' WHERE payload ->> 'query' = 'tea 0'")
    numbers = stats(tx)
    assert (numbers["jobs_waiting"], numbers["jobs_dead"]) == (2, 1)
    none = {"entries": 0, "hits": 0, "misses": 0, "hit_rate": None}
    assert numbers["caches"] == {"embeddings": none, "expansions": none}


def test_the_numbers_make_one_object(tx):
    remember(tx, "tea")
    one = value(tx, "SELECT jsonb_object_agg(name, value) FROM memoir.stats()")
    assert one == stats(tx)


def test_numbers_are_of_one_user(tx):
    remember(tx, "tea", user_id="ada")
    recall(tx, "tea", user_id="ada")
    assert (stats(tx)["memories"], stats(tx)["recalls"]) == (0, 0)


@pytest.mark.parametrize("user", [" ", "x" * 201])
def test_a_user_that_cannot_be_is_refused(tx, user):
    assert refused(tx, "stats", user_id=user).sqlstate == "ME006"
