"""Gold sets: questions with the memories that answer them."""

from __future__ import annotations

import pytest
from tests.rows import call, refused, remember, remember_all, row_counts, value

GOLD = "SELECT query, relevant_ids, grades, has_vector FROM memoir.gold_queries(%s, %s)"


def add(conn, query, relevant_ids=None, **more):
    """Add a question to the set tea; its id."""
    arguments = {"gold_set": "tea", "query": query, "relevant_ids": relevant_ids, **more}
    return call(conn, "gold_add", **arguments)[0].gold_add


def gold(conn, user="default"):
    """The questions of the set "tea"."""
    return conn.execute(GOLD, ("tea", user)).fetchall()


def test_a_question_is_kept_with_its_memories(tx):
    green, black = remember_all(tx, ["green tea", "black tea"])
    add(tx, "which tea?", [black, green])
    assert gold(tx) == [("which tea?", [green, black], [1, 1], False)]


def test_a_chinese_question_is_kept_as_it_is(tx):
    memory_id = remember(tx, "我喜欢绿茶")
    add(tx, "我喜欢什么茶？", relevant_content=["我喜欢绿茶"])
    assert gold(tx) == [("我喜欢什么茶？", [memory_id], [1], False)]


def test_memories_may_be_named_by_content_and_by_id(tx):
    ids = remember_all(tx, ["green tea", "black tea"])
    add(tx, "which tea?", ids[:1], relevant_content=["  black tea\n"], grades=[1, 3])
    assert gold(tx) == [("which tea?", ids, [1, 3], False)]


def test_of_a_content_that_was_forgotten_and_told_again_the_active_memory_is_meant(tx):
    call(tx, "forget", memory_id=remember(tx, "green tea"))
    again = remember(tx, "green tea")
    add(tx, "which tea?", relevant_content=["green tea"])
    assert gold(tx) == [("which tea?", [again], [1], False)]


def test_a_memory_named_twice_counts_once_with_its_better_grade(tx):
    memory_id = remember(tx, "green tea")
    add(tx, "which tea?", [memory_id, memory_id], grades=[1, 2])
    assert gold(tx) == [("which tea?", [memory_id], [2], False)]


def test_the_same_question_again_replaces_its_memories(tx):
    one, other = remember_all(tx, ["green tea", "black tea"])
    first = add(tx, "which tea?", [one])
    assert add(tx, "which tea?", [other]) == first
    assert gold(tx) == [("which tea?", [other], [1], False)]


def test_a_vector_may_come_later_and_stays(tx):
    memory_id = remember(tx, "green tea", embedding="[1,0,0]")
    add(tx, "which tea?", [memory_id])
    add(tx, "which tea?", query_vec="[0,1,0]")
    add(tx, "which tea?", [memory_id])
    assert gold(tx) == [("which tea?", [memory_id], [1], True)]
    assert value(tx, "SELECT query_vec::text FROM memoir.gold") == "[0,1,0]"


def test_one_question_may_be_in_two_sets(tx):
    memory_id = remember(tx, "green tea")
    assert add(tx, "which tea?", [memory_id]) != add(tx, "which tea?", [memory_id], gold_set="all")


def test_a_long_question_is_a_key_too(tx):
    memory_id = remember(tx, "green tea")
    first = add(tx, "茶" * 10_000, [memory_id])
    assert add(tx, "茶" * 10_000, [memory_id]) == first


def test_users_have_sets_of_their_own(tx):
    add(tx, "which?", [remember(tx, "tea", user_id="ada")], user_id="ada")
    assert refused(tx, "gold_queries", gold_set="tea", user_id="bob").sqlstate == "ME012"
    assert len(gold(tx, user="ada")) == 1


def test_another_users_memory_is_not_known(tx):
    memory_id = remember(tx, "tea", user_id="ada")
    said = refused(
        tx, "gold_add", gold_set="tea", query="which?", relevant_ids=[memory_id], user_id="bob"
    )
    assert (said.sqlstate, str(memory_id) in said.message_primary) == ("ME012", True)


def test_a_deleted_memory_leaves_the_set(tx):
    memory_id = remember(tx, "tea")
    add(tx, "which?", [memory_id])
    tx.execute("DELETE FROM memoir.memory")
    assert gold(tx) == [("which?", None, None, False)]


BAD = [
    ({"query": " \n"}, "ME007"),
    ({"query": None}, "ME007"),
    ({"gold_set": ""}, "ME007"),
    ({"gold_set": "x" * 201}, "ME007"),
    ({"relevant_ids": []}, "ME008"),
    ({"relevant_ids": None}, "ME008"),
    ({"relevant_ids": [-5]}, "ME012"),
    ({"relevant_ids": [None]}, "ME012"),
    ({"grades": [1, 2]}, "ME008"),
    ({"grades": [0]}, "ME008"),
    ({"grades": [None]}, "ME008"),
    ({"grades": ["NaN"]}, "ME008"),
    ({"relevant_ids": None, "relevant_content": ["tea"]}, "ME012"),
    ({"relevant_ids": None, "relevant_content": ["twice"]}, "ME008"),
    ({"query_vec": "[1,0]"}, "ME003"),
    ({"query_vec": "[0,0,0]"}, "ME004"),
    ({"user_id": " "}, "ME006"),
]


@pytest.mark.parametrize(("change", "code"), BAD, ids=str)
def test_bad_input_is_refused_before_anything_is_written(tx, change, code):
    memory_id = remember(tx, "green tea", embedding="[1,0,0]")
    remember(tx, "twice", "fact")
    remember(tx, "twice", "task")
    before = row_counts(tx)
    good = {"gold_set": "tea", "query": "which tea?", "relevant_ids": [memory_id]}
    said = refused(tx, "gold_add", **(good | change))
    assert (said.sqlstate, bool(said.message_hint)) == (code, True)
    assert row_counts(tx) == before
