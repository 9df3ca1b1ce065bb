"""One memory, whole."""

from __future__ import annotations

import pytest
from tests.rows import NOW, call, refused, remember, remember_all, sentences


def detail(conn, key, **more):
    (row,) = call(conn, "get_memory_detail", key=str(key), **more)
    return row


def test_a_memory_is_given_whole(tx):
    text = "first line\n" + "second line " * 100
    key = remember(
        tx,
        text,
        "preference",
        data={"a": 1},
        subject="user.editor",
        summary="lines",
        importance=0.4,
        confidence=0.5,
        created_at=NOW,
        session_id="s",
        turn=3,
        speaker="Ada",
        source="import",
    )
    row = detail(tx, key)
    assert (row.key, row.kind, row.content, row.summary) == (str(key), "preference", text, "lines")
    assert (row.data, row.subject, row.importance, row.confidence) == (
        {"a": 1},
        "user.editor",
        0.4,
        0.5,
    )
    assert (row.session_id, row.turn, row.speaker, row.origin) == ("s", 3, "Ada", "import")
    assert (row.status, row.created_at, row.valid_from, row.valid_until) == (
        "active",
        NOW,
        NOW,
        None,
    )
    assert (row.access_count, row.last_access, row.relation_count) == (0, None, 0)
    assert (row.relations, row.entities) == ([], [])


def test_a_key_may_be_written_as_a_block_with_references_has_it(tx):
    key = remember(tx, "green tea")
    assert detail(tx, f"[{key}]").key == str(key)


def test_keywords_come_heaviest_first(tx):
    key = remember(tx, "green tea")
    tx.execute("DELETE FROM memoir.keyword")
    tx.execute(
        "INSERT INTO memoir.keyword (user_id, keyword, memory_id, weight)"
        " VALUES ('default', 'tea', %(k)s, 0.4), ('default', 'green', %(k)s, 0.9)",
        {"k": key},
    )
    assert detail(tx, key).keywords == ["green", "tea"]


def test_relations_name_the_other_memory_and_the_direction(tx):
    old, middle, new = (remember(tx, name) for name in ("old", "middle", "new"))
    tx.execute(
        "INSERT INTO memoir.relation VALUES ('default', %s, %s, 'supersedes', 1),"
        " ('default', %s, %s, 'related', 0.3)",
        (middle, old, new, middle),
    )
    assert detail(tx, middle).relations == [
        {"key": str(old), "type": "supersedes", "direction": "to", "strength": 1},
        {"key": str(new), "type": "related", "direction": "from", "strength": 0.3},
    ]


def test_of_the_relations_of_a_hub_the_20_strongest_are_given_and_how_many_there_are(tx):
    # Given a memory to which 30 others refer, each more strongly than the one before
    hub, *others = remember_all(tx, sentences(31, 5))
    for number, other in enumerate(others, 1):
        call(tx, "relate", from_id=other, to_id=hub, type="related", strength=number / 30)
    row = detail(tx, hub)
    assert [each["key"] for each in row.relations] == [str(key) for key in others[:9:-1]]
    assert row.relation_count == 30


def test_entities_are_named(tx):
    key = remember(tx, "Ada drinks tea")
    tx.execute(
        "INSERT INTO memoir.entity (user_id, entity_id, name, type)"
        " VALUES ('default', 1, 'Ada', 'person')"
    )
    tx.execute("INSERT INTO memoir.mention VALUES ('default', 1, %s)", (key,))
    assert detail(tx, key).entities == [{"name": "Ada", "type": "person"}]


def test_accesses_are_those_that_were_counted(tx):
    key = remember(tx, "tea")
    tx.execute("INSERT INTO memoir.access VALUES ('default', %s, 7, %s)", (key, NOW))
    row = detail(tx, key)
    assert (row.access_count, row.last_access) == (7, NOW)


@pytest.mark.parametrize("key", ["0", "-1", "x", "", "1.0", "99999999999999999999", "1; DROP", "१"])
def test_an_unknown_or_malformed_key_is_not_found(tx, key):
    error = refused(tx, "get_memory_detail", key=key)
    assert (error.sqlstate, error.message_primary) == ("ME012", f'no memory with key "{key}"')
    assert "searches" in error.message_hint


def test_a_missing_key_is_not_found(tx):
    assert refused(tx, "get_memory_detail", key=None).sqlstate == "ME012"


def test_the_memory_of_another_user_is_not_found(tx):
    key = remember(tx, "tea", user_id="ada")
    assert refused(tx, "get_memory_detail", key=str(key), user_id="bob").sqlstate == "ME012"
    assert detail(tx, key, user_id="ada").content == "tea"


def test_a_key_above_2_to_the_53_keeps_its_digits(tx):
    tx.execute("ALTER TABLE memoir.memory ALTER memory_id RESTART 9007199254740993")
    key = remember(tx, "tea")
    assert detail(tx, key).key == "9007199254740993"
