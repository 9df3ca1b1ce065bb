"""Memory off, and temporary sessions: nothing is read, nothing is written."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import NOTHING, call, recall, remember, row_counts, value

OFF = "memory is off"
TEMPORARY = "the session is temporary"


def switch_off(conn, **more):
    """Memory off for a user."""
    call(conn, "set_settings", settings={"memory": False}, **more)


def reason(conn, user="default", session=None):
    """Why writing is refused; None where it is not."""
    return value(conn, "SELECT memoir._writing_refused(%s, %s)", user, session)


@pytest.fixture
def temporary(tx):
    """A temporary session named s, of a user who remembers that tea is green."""
    remember(tx, "tea is green")
    call(tx, "session_start", session_id="s", temporary=True)
    return tx


@pytest.fixture
def off(tx):
    """A user who remembers that tea is green, with memory off."""
    remember(tx, "tea is green")
    switch_off(tx)
    return tx


def test_a_session_that_is_not_temporary_recalls(tx):
    remember(tx, "tea is green")
    call(tx, "session_start", session_id="s")
    assert "tea is green" in recall(tx, "tea", session_id="s").block


def test_writing_is_allowed_to_who_said_nothing_else(tx):
    assert reason(tx) is None
    assert reason(tx, session="s") is None
    call(tx, "session_start", session_id="s")
    assert reason(tx, session="s") is None


def test_a_temporary_session_refuses_what_belongs_to_it_alone(temporary):
    assert reason(temporary, session="s") == TEMPORARY
    assert reason(temporary, session="t") is None
    assert reason(temporary) is None
    assert reason(temporary, user="ada", session="s") is None


def test_memory_off_refuses_everything_of_the_user(off):
    assert reason(off) == reason(off, session="s") == OFF
    assert reason(off, user="ada") is None


def test_what_was_refused_is_allowed_again(off):
    call(off, "set_settings", settings={"memory": True})
    assert reason(off) is None


@pytest.mark.parametrize("more", [{}, {"subject": "user.drink"}, {"turn": 0, "keywords": ["tea"]}])
def test_remember_in_a_temporary_session_writes_nothing(temporary, more):
    before = row_counts(temporary)
    done = call(temporary, "remember", content="coffee is black", session_id="s", **more)[0]
    assert (done.action, done.memory_id, done.reason) == ("NOOP", None, TEMPORARY)
    assert row_counts(temporary) == before


def test_remember_outside_of_the_temporary_session_writes(temporary):
    done = call(temporary, "remember", content="coffee is black", session_id="t")[0]
    assert done.action == "ADD"


def test_of_many_memories_those_of_a_temporary_session_are_not_written(temporary):
    memories = [{"content": "milk", "session_id": "s"}, {"content": "coffee", "session_id": "t"}]
    done = call(temporary, "remember_many", memories=Jsonb(memories))
    assert [(row.action, row.reason) for row in done] == [("NOOP", TEMPORARY), ("ADD", "new")]
    assert done[0].memory_id is None
    assert value(temporary, "SELECT count(*) FROM memoir.memory WHERE content = 'milk'") == 0


def test_decisions_in_a_temporary_session_are_not_carried_out(temporary):
    before = row_counts(temporary)
    decisions = Jsonb([{"action": "ADD", "content": "coffee is black", "kind": "fact"}])
    (done,) = call(temporary, "apply_decisions", decisions=decisions, session_id="s")
    assert (done.action, done.memory_id, done.reason) == ("NOOP", None, TEMPORARY)
    assert row_counts(temporary) == before


def test_recall_in_a_temporary_session_finds_nothing_and_is_not_logged(temporary):
    answer = recall(temporary, "tea", session_id="s")
    assert (answer.block, answer.memory_ids, answer.retrieval_id) == (NOTHING, [], None)
    assert value(temporary, "SELECT count(*) FROM memoir.retrieval") == 0
    assert "tea is green" in recall(temporary, "tea", session_id="t").block


def test_a_block_of_a_temporary_session_has_no_goals_either(temporary):
    goal = {"status": "in_progress", "priority": 1, "progress": 10}
    remember(temporary, "ship it", "okr", data=goal)
    assert recall(temporary, "tea", session_id="s").block == NOTHING


def test_context_of_a_temporary_session_is_empty(temporary):
    (row,) = call(temporary, "memory_context", query_text="tea", session_id="s")
    assert row.memory_context == NOTHING


def test_with_memory_off_nothing_is_remembered(off):
    before = row_counts(off)
    done = call(off, "remember", content="coffee is black")[0]
    assert (done.action, done.memory_id, done.reason) == ("NOOP", None, OFF)
    (done,) = call(off, "remember_many", memories=Jsonb([{"content": "coffee is black"}]))
    assert (done.action, done.memory_id, done.reason) == ("NOOP", None, OFF)
    done = call(off, "memory_write", content="coffee is black")[0]
    assert (done.action, done.key, done.reason) == ("NOOP", None, OFF)
    decisions = Jsonb([{"action": "ADD", "content": "coffee is black", "kind": "fact"}])
    (done,) = call(off, "apply_decisions", decisions=decisions)
    assert (done.action, done.memory_id, done.reason) == ("NOOP", None, OFF)
    assert row_counts(off) == before


def test_with_memory_off_nothing_is_recalled_and_nothing_logged(off):
    before = row_counts(off)
    assert recall(off, "tea").block == NOTHING
    assert row_counts(off) == before


def test_with_memory_off_the_user_still_sees_what_is_stored(off):
    assert [m.content for m in call(off, "list_memories")] == ["tea is green"]


def test_memory_of_another_user_stays_on(off):
    remember(off, "tea is black", user_id="ada")
    assert "tea is black" in recall(off, "tea", user_id="ada").block


def test_memory_that_is_on_again_recalls_what_was_stored_before(off):
    call(off, "set_settings", settings={"memory": True})
    assert "tea is green" in recall(off, "tea").block


@pytest.mark.parametrize("tool", ["search_memories", "memory_search", "summary", "memory_write"])
def test_tools_answer_nothing_in_a_temporary_session_and_with_memory_off(temporary, tool):
    said = {"summary": {}, "memory_write": {"content": "tea"}}.get(tool, {"query": "tea"})
    before = row_counts(temporary)
    answer = call(temporary, "call_tool", name=tool, arguments=said, session_id="s")[0].call_tool
    assert answer == {"results": [], "reason": TEMPORARY}
    assert row_counts(temporary) == before
    switch_off(temporary)
    assert call(temporary, "call_tool", name=tool, arguments=said)[0].call_tool["reason"] == OFF
