"""Feedback: which memories of a block were used."""

from __future__ import annotations

from tests.rows import call, recall, refused, remember, value


def mark(conn, retrieval_id, memory_ids, **more):
    """How many memories are marked after the call."""
    arguments = {"retrieval_id": retrieval_id, "memory_ids": memory_ids, **more}
    return call(conn, "mark_used", **arguments)[0].mark_used


def used(conn):
    """The marked memories of the only recall."""
    return value(conn, "SELECT payload -> 'used' FROM memoir.retrieval_log")


def test_a_memory_of_the_block_is_marked(tx):
    memory_id = remember(tx, "tea")
    assert mark(tx, recall(tx, "tea").retrieval_id, [memory_id]) == 1
    assert used(tx) == [str(memory_id)]


def test_later_marks_are_added_to_earlier_ones(tx):
    one, other = remember(tx, "tea green"), remember(tx, "tea black")
    retrieval_id = recall(tx, "tea").retrieval_id
    mark(tx, retrieval_id, [one])
    assert mark(tx, retrieval_id, [other]) == 2
    assert used(tx) == sorted([str(one), str(other)])


def test_a_memory_that_was_not_in_the_block_is_ignored(tx):
    remember(tx, "tea")
    coffee = remember(tx, "coffee")
    assert mark(tx, recall(tx, "tea").retrieval_id, [coffee, 999_999]) == 0


def test_a_memory_shown_by_its_brief_may_be_marked(tx):
    memory_id = remember(tx, "tea " * 200, summary="tea")
    retrieval_id = recall(tx, "tea", budget=20).retrieval_id
    assert mark(tx, retrieval_id, [memory_id]) == 1


def test_nothing_used_is_feedback_too(tx):
    remember(tx, "tea")
    assert mark(tx, recall(tx, "tea").retrieval_id, []) == 0
    assert used(tx) == []


def test_a_recall_that_is_not_there_is_refused(tx):
    said = refused(tx, "mark_used", retrieval_id=999_999, memory_ids=[1])
    assert said.sqlstate == "ME012"
    assert "retrieval_id" in said.message_hint


def test_a_recall_of_another_user_is_refused(tx):
    memory_id = remember(tx, "tea", user_id="ada")
    made = recall(tx, "tea", user_id="ada")
    arguments = {"retrieval_id": made.retrieval_id, "memory_ids": [memory_id]}
    assert refused(tx, "mark_used", user_id="bob", **arguments).sqlstate == "ME012"
    assert used(tx) is None
