"""Memories related to one memory, by every kind of link."""

from __future__ import annotations

import pytest
from tests.rows import call, refused, remember, remember_all

pytestmark = pytest.mark.usefixtures("side_by_side")


def related(conn, memory_id, **more):
    """The rows of related()."""
    return call(conn, "related", memory_id=memory_id, **more)


def via(conn, memory_id, **more):
    """Why each memory is related, by its id."""
    return {row.related_id: row.via for row in related(conn, memory_id, **more)}


def test_relations_and_entities_are_told_from_the_side_of_the_other(tx):
    given, one, two, three = remember_all(tx, ["tea", "coffee", "milk", "sugar"])
    call(tx, "relate", from_id=one, to_id=given, type="supports")
    call(tx, "relate", from_id=given, to_id=two, type="derived_from")
    call(tx, "mention", memory_id=given, entity="GPT 4")
    call(tx, "mention", memory_id=three, entity="GPT 4")
    assert via(tx, given) == {one: "supports", two: "source of", three: "entity GPT 4"}


def test_all_roads_to_a_memory_are_named_the_strongest_first(tx):
    one = remember(tx, "slow tea", "turn", session_id="s", turn=0)
    two = remember(tx, "slow tea", "turn", session_id="s", turn=1)
    call(tx, "relate", from_id=one, to_id=two, type="supports", strength=0.2)
    (row,) = related(tx, two)
    assert (row.strength, row.via) == (pytest.approx(1), "similar, previous turn, supports")


def test_of_several_roads_the_strongest_counts(tx):
    one = remember(tx, "tea", "turn", session_id="s", turn=0)
    two = remember(tx, "coffee", "turn", session_id="s", turn=1)
    call(tx, "relate", from_id=one, to_id=two, type="supports", strength=0.2)
    assert [row.strength for row in related(tx, two)] == [0.5]


def test_the_turns_before_and_after_are_related(tx):
    words = ["tea", "coffee", "milk", "sugar"]
    turns = [
        remember(tx, word, "turn", session_id="s", turn=place * 10)
        for place, word in enumerate(words)
    ]
    remember(tx, "bread", "turn", session_id="other", turn=11)
    remember(tx, "butter", "turn")
    assert via(tx, turns[1]) == {turns[0]: "previous turn", turns[2]: "next turn"}


def test_a_forgotten_turn_is_passed_over(tx):
    words = ["tea", "coffee", "milk"]
    turns = [
        remember(tx, word, "turn", session_id="s", turn=place) for place, word in enumerate(words)
    ]
    tx.execute("UPDATE memoir.memory SET status = 'forgotten' WHERE memory_id = %s", (turns[1],))
    assert via(tx, turns[0]) == {turns[2]: "next turn"}


@pytest.mark.parametrize("type", ["supports", None])
def test_what_has_ended_is_related_to_nothing(tx, type):
    given, _ = remember_all(tx, ["the index of Postgres is slow", "tea with milk"])
    past = {"created_at": "2025-01-01", "valid_until": "2025-02-01"}
    ended = remember(tx, "a slow index in Postgres", **past)
    if type:
        call(tx, "relate", from_id=ended, to_id=given, type=type)
    assert via(tx, given) == {}


def test_memories_with_the_same_rare_words_are_similar(tx):
    given, other, _ = remember_all(
        tx, ["the index of Postgres is slow", "a slow index in Postgres", "tea with milk"]
    )
    (row,) = related(tx, given)
    assert (row.related_id, row.via) == (other, "similar")
    assert row.strength == pytest.approx(1)


def test_memories_with_near_vectors_are_similar_with_the_mean_of_cosine_and_words(tx):
    given = remember(tx, "tea", embedding="[1,0]")
    near = remember(tx, "coffee", embedding="[3,4]")
    remember(tx, "milk", embedding="[-1,0]")
    (row,) = related(tx, given)
    assert (row.related_id, row.strength) == (near, pytest.approx(0.3))


def test_words_with_their_synonyms_make_no_strength_above_one(tx):
    given, alike = remember_all(tx, ["认证失败 auth failure", "auth failure 认证失败 again"])
    remember_all(tx, ["tea", "coffee", "milk"])
    assert [(row.related_id, row.strength) for row in related(tx, given)] == [(alike, 1)]


def test_the_strongest_come_first_and_no_more_than_wanted(tx):
    given, *others = remember_all(tx, ["tea", "coffee", "milk", "sugar"])
    for other, strength in zip(others, (0.3, 0.9, 0.6), strict=True):
        call(tx, "relate", from_id=given, to_id=other, strength=strength)
    rows = related(tx, given, max_results=2)
    assert [row.related_id for row in rows] == [others[1], others[2]]
    assert [row.strength for row in rows] == [0.9, 0.6]


def test_a_row_shows_kind_and_the_beginning_of_the_content(tx):
    given, other = remember(tx, "tea"), remember(tx, "coffee\n" * 100, "lesson")
    call(tx, "relate", from_id=given, to_id=other)
    (row,) = related(tx, given)
    assert row.kind == "lesson"
    assert len(row.content) == 200
    assert row.content.startswith("coffee coffee")


def test_the_same_is_found_before_and_after_statistics_are_refreshed(tx):
    given, *_ = remember_all(tx, ["slow tea", "slow coffee", "slow milk", "tea"])
    before = related(tx, given)
    call(tx, "refresh_statistics")
    assert len(before) == 3
    assert related(tx, given) == before


def test_memories_of_another_user_are_not_related(tx):
    given = remember(tx, "tea", session_id="s", turn=0)
    remember(tx, "tea", user_id="ada", session_id="s", turn=1)
    assert related(tx, given) == []


def test_a_memory_that_is_not_there_is_refused(tx):
    hers = remember(tx, "tea", user_id="ada")
    assert refused(tx, "related", memory_id=hers).sqlstate == "ME012"
    assert refused(tx, "related", memory_id=999_999, user_id="ada").sqlstate == "ME012"
    assert refused(tx, "related", memory_id=None).sqlstate == "ME012"


@pytest.mark.parametrize("number", [0, 21, -1])
def test_a_number_of_results_outside_1_to_20_is_refused(tx, number):
    said = refused(tx, "related", memory_id=remember(tx, "tea"), max_results=number)
    assert said.sqlstate == "ME008"
    assert str(number) in said.message_primary


def test_related_only_reads(tx):
    given = remember(tx, "tea")
    tx.execute("SET TRANSACTION READ ONLY")
    assert related(tx, given) == []
