"""entities: who and what memories mention."""

from __future__ import annotations

import pytest
from tests.rows import NOW, ago, call, refused, remember


@pytest.fixture
def mentions(tx):
    """Three memories mention Postgres, one of them Ada, too."""
    for days in (3, 1, 2):
        memory = remember(tx, f"Postgres {days}", created_at=ago(days=days))
        call(tx, "mention", memory_id=memory, entity="Postgres", type="product")
    call(tx, "mention", memory_id=memory, entity="Ada", type="person")
    return tx


def names(conn, **more):
    """The names listed."""
    return [e.name for e in call(conn, "entities", **more)]


def test_the_most_mentioned_entity_comes_first(mentions):
    first, second = call(mentions, "entities")
    assert first[:4] == ("Postgres", "product", 3, ago(days=1))
    assert second[:4] == ("Ada", "person", 1, ago(days=2))


def test_only_active_memories_count(mentions):
    mentions.execute("UPDATE memoir.memory SET status = 'forgotten' WHERE content <> 'Postgres 2'")
    assert [e.mentions for e in call(mentions, "entities")] == [1, 1]


def test_an_entity_nobody_mentions_is_listed_last(mentions):
    mentions.execute("DELETE FROM memoir.memory WHERE content = 'Postgres 2'")
    last = call(mentions, "entities")[-1]
    assert last[:4] == ("Ada", "person", 0, None)


def test_entities_are_found_by_a_part_of_their_name(mentions):
    assert names(mentions, search="GRES") == ["Postgres"]
    assert names(mentions, search="%") == []


def test_entities_are_read_page_by_page(tx):
    memory = remember(tx, "all of them", created_at=NOW)
    for name in "abcde":
        call(tx, "mention", memory_id=memory, entity=name)
    first = call(tx, "entities", page_size=3)
    rest = call(tx, "entities", page_size=3, after=first[-1].next)
    assert sorted(e.name for e in (*first, *rest)) == list("abcde")


def test_entities_of_another_user_are_his_own(mentions):
    assert names(mentions, user_id="ada") == []


@pytest.mark.parametrize("wrong", [{"page_size": 0}, {"after": "sessions_1_1"}])
def test_a_list_that_cannot_be_is_refused(tx, wrong):
    assert refused(tx, "entities", **wrong).sqlstate == "ME008"
