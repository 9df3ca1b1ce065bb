"""Where the memories of a model come from: the turns of the conversation that it names."""

from __future__ import annotations

import pytest
from tests.jobs import answered, chat_job, claim, decided, extracted, soon, talk
from tests.rows import call, explain, remember, say, set_to, value

SAID = ("I start at Kestrel, in team Billing", "My lead is Tomasz", "It rains in Berlin")


@pytest.fixture
def turns(tx):
    """A conversation that is working memory and, turn by turn, memories; their ids."""
    ids = say(tx, "s", *SAID)
    talk(tx, *SAID)
    return ids


def sources(conn, content):
    """Ids of the memories that the one with this text was made from."""
    query = (
        "SELECT array_agg(to_id ORDER BY to_id) FROM memoir.relation AS r JOIN memoir.memory AS m"
        " ON (r.user_id, r.from_id) = (m.user_id, m.memory_id)"
        " WHERE r.type = 'derived_from' AND m.content = %s"
    )
    return value(conn, query, content)


def draw(conn, kind, turns, content="Ada is in Tomasz's team"):
    """What sources has what a model says it drew from these turns?"""
    claimed = chat_job(conn, kind, {"session_id": "s"})
    memory = {"extract": extracted, "reflect": lambda c, **m: decided("ADD", None, c, **m)}[kind]
    many = {"extract": "memories", "reflect": "decisions"}[kind]
    assert answered(conn, claimed, {many: [memory(content, turns=turns)]}) == "done"
    return sources(conn, content)


@pytest.mark.parametrize("kind", ["extract", "reflect"])
def test_what_is_drawn_from_turns_has_them_as_sources(tx, turns, kind):
    assert draw(tx, kind, [0, 1]) == turns[:2]
    told = {row.content: row.reason for row in explain(tx, "Tomasz's team", mode="conversation")}
    assert told["My lead is Tomasz"].startswith("told by memory ")


@pytest.mark.parametrize("named", [None, [], [7], [-1, 2**40], [2, 2], "2", 2, ["2"], [2.0]])
def test_a_turn_that_is_not_there_is_none_and_numbers_are_taken_as_they_are_meant(tx, turns, named):
    found = draw(tx, "extract", named)
    assert found == (turns[2:] if "2" in str(named) and named != [-1, 2**40] else None)


def test_a_turn_that_was_not_shown_is_none(tx):
    set_to(tx, extract_every=0)
    remember(tx, "hello", "turn", session_id="s", turn=0)
    call(tx, "message_add", session_id="s", role="user", content="hello", created_at="2025-01-01Z")
    talk(tx, *(f"I say {n}" for n in range(10)))
    assert draw(tx, "extract", [0]) is None


def test_a_turn_with_another_text_at_its_place_is_none(tx):
    say(tx, "s", "Hello", *SAID)
    talk(tx, *SAID)
    assert draw(tx, "extract", [1]) is None


def test_what_is_rewritten_or_proposed_has_its_sources_too(tx, turns):
    old = remember(tx, "Ada works somewhere")
    claimed = chat_job(tx, "reflect", {"session_id": "s"})
    at_kestrel = decided("UPDATE", old, "Ada works at Kestrel", turns=[0])
    assert answered(tx, claimed, {"decisions": [at_kestrel]}) == "done"
    assert sources(tx, "Ada works at Kestrel") == turns[:1]
    call(tx, "undo", memory_id=old)
    assert sources(tx, "Ada works somewhere") is None
    call(tx, "set_settings", settings={"confirm": True})
    assert draw(tx, "extract", [1], "Tomasz leads") == turns[1:2]


def test_a_turn_purged_while_the_model_worked_is_asked_about_no_more(tx, turns):
    claimed = chat_job(tx, "extract", {"session_id": "s"})
    call(tx, "purge", memory_id=turns[1])
    memory = extracted("Tomasz leads team Billing", turns=[0, 1])
    assert answered(tx, claimed, {"memories": [memory]}) == "lost"
    (again,) = claim(tx, kinds=["extract"], at=soon())
    told = str(again.messages)
    assert ("in team Billing" in told, "Tomasz" in told) == (True, False)
