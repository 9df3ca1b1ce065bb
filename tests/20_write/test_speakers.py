"""Who spoke stands in the line of a turn: "I was there" is nobody's without it."""

from __future__ import annotations

import pytest
from tests.rows import call, explain, found, recall, remember, say, value


def turn(conn, content, **more):
    """Store one turn of Ken's; its id."""
    return remember(conn, content, "turn", session_id="s", turn=0, speaker="Ken", **more)


def test_the_line_of_a_turn_begins_with_its_speaker(tx):
    turn(tx, "I was in Porto")
    assert found(tx, "Porto") == ["Ken: I was in Porto"]


def test_many_at_once_have_theirs_too(tx):
    say(tx, "s", "茶很好喝", "Porto 很美", speaker="小明")
    assert found(tx, "Porto") == ["小明: Porto 很美"]


@pytest.mark.parametrize("said", ["Ken: I was in Porto", "ken : I was in Porto", "KEN：Porto"])
def test_a_text_that_names_its_speaker_names_him_once(tx, said):
    turn(tx, said)
    assert found(tx, "Porto") == [said]


def test_a_name_that_only_begins_the_text_is_no_speaker(tx):
    turn(tx, "Kenya is far: from Porto")
    assert found(tx, "Porto") == ["Ken: Kenya is far: from Porto"]


def test_a_forgotten_turn_is_explained_with_its_speaker(tx):
    memory_id = turn(tx, "I was in Porto")
    call(tx, "forget", memory_id=memory_id)
    assert [row.content for row in explain(tx, "Porto")] == ["Ken: I was in Porto"]


def test_who_told_a_fact_is_not_in_its_line(tx):
    remember(tx, "Ken likes Porto", session_id="s", speaker="Ken")
    assert found(tx, "Porto") == ["Ken likes Porto"]


def test_a_speaker_is_no_word_of_the_text_and_no_letter_of_what_is_stored(tx):
    memory_id = turn(tx, "I was in Porto")
    assert value(tx, "SELECT content FROM memoir.memory WHERE memory_id = %s", memory_id) == (
        "I was in Porto"
    )
    assert found(tx, "ken", mode="execute") == []


def test_the_brief_of_a_long_turn_has_him_as_well(tx):
    turn(tx, "Porto " * 200)
    block = recall(tx, "Porto", budget=60).block
    assert block.startswith("## Conversation\n- Ken: Porto ")
    assert block.endswith("…\n")


def test_a_search_and_what_is_related_show_him(tx):
    memory_id, answer = turn(tx, "I was in Porto"), remember(tx, "Where?")
    call(tx, "relate", from_id=answer, to_id=memory_id, type="related")
    (found,) = call(tx, "search_memories", query="Porto")
    (other,) = call(tx, "related", memory_id=answer)
    assert found.preview == other.content == "Ken: I was in Porto"


def test_a_turn_that_is_corrected_keeps_him_now_and_in_the_past(db):
    memory_id = turn(db, "I was in Porto", created_at="2025-05-01")
    then = value(db, "SELECT clock_timestamp()")
    call(db, "update_memory", memory_id=memory_id, content="I was in Lisbon")
    assert found(db, "Lisbon") == ["Ken: I was in Lisbon"]
    assert found(db, "Porto", as_of=then) == ["Ken: I was in Porto"]
