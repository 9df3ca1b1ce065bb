"""A fact and the turns it was made from do not both stand in a block."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import add_mode, call, explain, found, remember, say

pytestmark = pytest.mark.usefixtures("planned_once")

FACT = "Ann drinks green tea daily, with honey"


def reasons(conn, question, mode):
    """Reason by content."""
    return {row.content: row.reason for row in explain(conn, question, mode=mode)}


def mode_of(conn, fact, **settings):
    """A mode of words where facts weigh this."""
    mode = add_mode(conn, **settings)
    conn.execute("INSERT INTO memoir.mode_weight VALUES (%s, 'fact', %s)", (mode, fact))
    return mode


def test_a_turn_is_left_out_below_the_fact_made_from_it(tx):
    turns = say(tx, "a", "I drink tea, green", "and other tea")
    fact = remember(tx, FACT, sources=turns[:1])
    mode = mode_of(tx, 1.4)
    assert found(tx, "tea", mode=mode) == [FACT, "and other tea"]
    assert reasons(tx, "tea", mode)["I drink tea, green"] == f"told by memory {fact}"


def test_a_fact_is_left_out_below_all_its_sources(tx):
    turns = say(tx, "a", "I drink tea, green", "and honey tea")
    remember(tx, FACT, sources=turns)
    mode = mode_of(tx, 0.5, time_boost=0.1)
    assert sorted(found(tx, "tea", mode=mode)) == ["I drink tea, green", "and honey tea"]
    assert reasons(tx, "tea", mode)[FACT].startswith("told by memory ")


def test_where_turns_stand_without_their_days_the_fact_stays_below_them(tx):
    (turn,) = say(tx, "a", "I bought green tea yesterday")
    remember(tx, "Ann bought tea on 2025-06-01", sources=[turn])
    mode = mode_of(tx, 0.5)
    both = ["I bought green tea yesterday", "Ann bought tea on 2025-06-01"]
    assert found(tx, "green tea", mode=mode) == both
    assert set(reasons(tx, "green tea", mode).values()) == {"in block"}


def test_a_fact_stays_where_one_source_is_not_in_the_block(tx):
    turns = say(tx, "a", "I drink tea, green", "and honey")
    remember(tx, FACT, sources=turns)
    mode = mode_of(tx, 0.5)
    assert found(tx, "tea", mode=mode) == ["I drink tea, green", FACT]
    assert reasons(tx, "tea", mode)[FACT] == "in block"


@pytest.mark.parametrize("related", [True, False])
def test_only_what_was_derived_counts(tx, related):
    (turn,) = say(tx, "a", "I drink tea, green")
    fact = remember(tx, FACT)
    call(tx, "relate", from_id=fact, to_id=turn, type="supports" if related else "derived_from")
    expected = [FACT, "I drink tea, green"] if related else [FACT]
    assert found(tx, "tea", mode=mode_of(tx, 1.4)) == expected


def test_both_stand_when_the_relation_is_taken_back(tx):
    turns = say(tx, "a", "I drink tea, green")
    fact = remember(tx, FACT, sources=turns)
    call(tx, "unrelate", from_id=fact, to_id=turns[0], type="derived_from")
    assert len(found(tx, "tea", mode=mode_of(tx, 1.4))) == 2


def test_a_memory_stored_already_can_get_sources(tx):
    (turn,) = say(tx, "a", "I drink tea, green")
    remember(tx, FACT)
    remember(tx, FACT, sources=[turn])
    assert found(tx, "tea", mode=mode_of(tx, 1.4)) == [FACT]


@pytest.mark.parametrize("again", [False, True])
def test_a_turn_stands_again_when_the_text_made_from_it_is_undone(tx, again):
    turns = say(tx, "a", "I drink tea, green")
    said = f"{FACT}, milk, ginger, sugar, lemon, mint, cinnamon"
    fact, more = remember(tx, said), f"{said} and cardamom"
    if again:
        remember(tx, more)
    remember(tx, more, sources=turns)
    mode = mode_of(tx, 1.4)
    assert found(tx, "tea", mode=mode) == [more]
    call(tx, "undo", memory_id=fact)
    assert found(tx, "tea", mode=mode) == [said, "I drink tea, green"]


def test_undo_of_a_text_of_a_batch_leaves_the_sources_of_the_one_before(tx):
    turns = say(tx, "a", "I drink tea, green", "tea in May")
    said = f"{FACT}, milk, ginger, sugar, lemon, mint, cinnamon"
    texts = {said: turns[:1], f"{said} and cardamom": turns}
    batch = [{"content": text, "kind": "fact", "sources": of} for text, of in texts.items()]
    fact = call(tx, "remember_many", memories=Jsonb(batch))[1].memory_id
    call(tx, "undo", memory_id=fact)
    assert found(tx, "tea", mode=mode_of(tx, 1.4)) == [said, "tea in May"]


def test_each_of_a_chain_is_left_out_below_the_next(tx):
    (turn,) = say(tx, "a", "I drink tea, green")
    fact = remember(tx, FACT, sources=[turn])
    top = remember(tx, "tea tea lover of tea since ever", "preference", sources=[fact])
    mode = mode_of(tx, 0.5)
    tx.execute("INSERT INTO memoir.mode_weight VALUES (%s, 'preference', 2)", (mode,))
    assert reasons(tx, "tea", mode) == {
        "tea tea lover of tea since ever": "in block",
        FACT: f"told by memory {top}",
        "I drink tea, green": "in block",
    }


def test_two_facts_of_one_turn_both_stand(tx):
    (turn,) = say(tx, "a", "I drink tea, green")
    remember(tx, FACT, sources=[turn])
    remember(tx, "Ann owns a tea pot", sources=[turn])
    assert sorted(found(tx, "tea", mode=mode_of(tx, 1.4))) == [FACT, "Ann owns a tea pot"]


def test_facts_of_another_user_do_not_matter(tx):
    for user in ("ann", "bob"):
        remember(tx, "I drink tea, green", "turn", user_id=user)
    (turn,) = [r.memory_id for r in explain(tx, "tea", user_id="bob")]
    remember(tx, FACT, user_id="bob", sources=[turn])
    assert found(tx, "tea", mode=mode_of(tx, 1.4), user_id="ann") == ["I drink tea, green"]


@pytest.mark.parametrize("budget", [15, 20, 30, 60, 800])
def test_recall_and_explain_agree(tx, budget):
    turns = say(tx, "a", *(f"tea number {number} is for {number}" for number in range(9)))
    for first in range(0, 8, 2):
        remember(tx, f"fact {first} tea is made", sources=turns[first : first + 2])
    for mode in ("conversation", mode_of(tx, 0.9)):
        shown = [r.content for r in explain(tx, "tea", mode=mode, budget=budget) if r.place]
        assert sorted(found(tx, "tea", mode=mode, budget=budget)) == sorted(shown)


LONG = "green tea " + "and water, " * 120 + "with honey"


@pytest.mark.parametrize("fact_weight", [0.1, 1.4])
def test_a_fact_and_a_text_of_which_only_the_beginning_is_shown_both_stand(tx, fact_weight):
    text = remember(tx, LONG)
    remember(tx, FACT, sources=[text])
    mode = mode_of(tx, fact_weight)
    assert reasons(tx, "green tea", mode)[FACT] == "in block"
    assert len(found(tx, "green tea", mode=mode)) == 2


def test_a_text_of_which_only_the_beginning_is_shown_and_its_source_both_stand(tx):
    remember(tx, LONG, sources=[remember(tx, FACT)])
    assert set(reasons(tx, "green tea", mode_of(tx, 1)).values()) == {"in block"}


def test_a_fact_stands_below_a_source_that_is_shown_by_its_summary(tx):
    text = remember(tx, "green tea " + "and water, " * 60, summary="green tea")
    remember(tx, "green tea with honey", sources=[text])
    lines = found(tx, "green tea", mode=mode_of(tx, 0.1), budget=40)
    assert sorted(lines) == ["green tea", "green tea with honey"]


def test_a_source_stands_below_a_fact_that_is_shown_by_its_summary(tx):
    text = remember(tx, "green tea with honey", "turn")
    remember(tx, "green tea " + "and water, " * 60, summary="green tea", sources=[text])
    lines = found(tx, "green tea", mode=mode_of(tx, 1.4), budget=40)
    assert lines == ["green tea", "green tea with honey"]
