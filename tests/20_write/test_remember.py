"""Storing a memory: once, in the caller's transaction, with what recall needs."""

from __future__ import annotations

import threading

import psycopg
import pytest
from tests.rows import NOW, call, explain, recall, remember, row_counts, value

BLOCKED = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"


def stored(conn, memory_id):
    """The row of a memory by column name."""
    query = "SELECT to_jsonb(m) FROM memoir.memory AS m WHERE memory_id = %s"
    return value(conn, query, memory_id)


def test_a_new_memory_is_added(tx):
    (row,) = call(tx, "remember", content="tea is green")
    assert (row.action, row.reason) == ("ADD", "new")
    assert stored(tx, row.memory_id)["content"] == "tea is green"


def test_everything_said_about_a_memory_is_kept(tx):
    said = {
        "subject": "user.drink",
        "importance": 0.6,
        "data": {"cups": 3},
        "summary": "tea",
        "session_id": "monday",
        "speaker": "Ada",
        "confidence": 0.7,
    }
    row = stored(tx, remember(tx, "Ada drinks tea", "preference", turn=4, source="chat", **said))
    assert {name: row[name] for name in said} == said
    assert (row["kind"], row["position"], row["origin"]) == ("preference", 4, "chat")


def test_a_memory_is_of_kind_general_unless_told(tx):
    (row,) = call(tx, "remember", content="tea")
    assert stored(tx, row.memory_id)["kind"] == "general"


@pytest.mark.parametrize("said", ["task", "tasks", "TASK", "Tasks"])
def test_a_kind_goes_by_its_aliases_and_any_case(tx, said):
    assert stored(tx, remember(tx, "buy tea", said))["kind"] == "task"


@pytest.mark.parametrize(("kind", "importance"), [("preference", 0.9), ("context", 0.4)])
def test_a_memory_has_the_importance_of_its_kind(tx, kind, importance):
    assert stored(tx, remember(tx, "tea", kind))["importance"] == importance


def test_a_memory_is_of_now_unless_told(tx):
    remember(tx, "tea")
    assert value(tx, "SELECT created_at = now() FROM memoir.memory")


def test_a_memory_has_the_time_it_is_told(tx):
    remember(tx, "tea", created_at=NOW)
    assert value(tx, "SELECT created_at FROM memoir.memory") == NOW


def test_the_same_again_is_not_stored(tx):
    first = remember(tx, "tea is green")
    before = row_counts(tx)
    (again,) = call(tx, "remember", content="tea is green", kind="fact")
    assert (again.action, again.memory_id) == ("NOOP", first)
    assert row_counts(tx) == before


@pytest.mark.parametrize("content", ["  tea is green ", "tea is green\n", "\t\r\ntea is green\n\n"])
def test_whitespace_around_it_makes_no_other_memory(tx, content):
    first = remember(tx, "tea is green")
    (again,) = call(tx, "remember", content=content, kind="fact")
    assert (again.action, again.memory_id) == ("NOOP", first)


@pytest.mark.parametrize(
    "other",
    [
        {"user_id": "bob"},
        {"kind": "task"},
        {"subject": "drink"},
        {"session_id": "tuesday"},
        {"turn": 2},
        {"content": "Tea is green"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_same_elsewhere_is_another_memory(tx, other):
    said = {"content": "tea is green", "kind": "turn", "session_id": "monday", "turn": 1}
    (first,) = call(tx, "remember", **said)
    (second,) = call(tx, "remember", **said | other)
    assert second.action == "ADD"
    assert second.memory_id != first.memory_id


def test_a_sentence_said_twice_in_a_session_is_two_turns(tx):
    for turn in (0, 1, 0, 1):
        call(tx, "remember", content="yes", kind="turn", session_id="monday", turn=turn)
    assert value(tx, "SELECT count(*) FROM memoir.memory") == 2


def test_the_same_again_with_a_vector_gives_the_memory_its_vector(tx):
    memory_id = remember(tx, "tea is green")
    assert recall(tx, query_vec="[1,0,0]").memory_ids == []
    remember(tx, "tea is green", embedding="[1,0,0]")
    assert recall(tx, query_vec="[1,0,0]").memory_ids == [memory_id]


def test_the_same_again_does_not_replace_a_vector(tx):
    remember(tx, "tea is green", embedding="[1,0,0]")
    remember(tx, "tea is green", embedding="[0,1,0]")
    (row,) = explain(tx, query_vec="[1,0,0]")
    assert row.cosine == pytest.approx(1)


def test_a_forgotten_memory_may_be_said_again(tx):
    first = remember(tx, "tea is green")
    call(tx, "forget", memory_id=first)
    assert call(tx, "remember", content="tea is green", kind="fact")[0].action == "ADD"


def test_a_memory_goes_when_the_callers_transaction_does(db):
    with db.transaction(force_rollback=True):
        remember(db, "tea is green")
        assert recall(db, "tea").memory_ids != []
    assert value(db, "SELECT count(*) FROM memoir.memory") == 0


def test_two_callers_at_once_store_one_memory(db, dsn):
    answers = []
    said = {"content": "tea is green", "kind": "fact"}
    with psycopg.connect(dsn) as first, psycopg.connect(dsn, autocommit=True) as second:
        memory_id = remember(first, **said)
        waiting = threading.Thread(target=lambda: answers.extend(call(second, "remember", **said)))
        waiting.start()
        while waiting.is_alive() and not value(db, BLOCKED):
            pass
        first.commit()
        waiting.join()
    assert [(row.action, row.memory_id) for row in answers] == [("NOOP", memory_id)]


def test_a_call_with_the_text_alone_works(tx):
    assert value(tx, "SELECT action FROM memoir.remember('tea is green')") == "ADD"
