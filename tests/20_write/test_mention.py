"""Entities, and which memory mentions them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.rows import call, refused, remember, row_counts, value


def mention(conn, memory_id, entity, **more):
    """The id of the entity."""
    return call(conn, "mention", memory_id=memory_id, entity=entity, **more)[0].mention


def unmention(conn, memory_id, entity, **more):
    """Whether there was such a mention."""
    return call(conn, "unmention", memory_id=memory_id, entity=entity, **more)[0].unmention


def mentions(conn):
    """All mentions: entity, type, memory."""
    rows = conn.execute(
        "SELECT e.name, e.type, m.memory_id FROM memoir.mention AS m"
        " JOIN memoir.entity AS e USING (user_id, entity_id) ORDER BY 1, 2, 3"
    )
    return rows.fetchall()


def test_an_entity_is_made_the_first_time_it_is_mentioned(tx):
    one, other = remember(tx, "tea"), remember(tx, "coffee")
    assert mention(tx, one, "Postgres") == mention(tx, other, "Postgres")
    assert mentions(tx) == [("Postgres", "thing", one), ("Postgres", "thing", other)]


@pytest.mark.parametrize("again", ["Postgres", "POSTGRES", "  postgres \n"])
def test_the_same_mention_again_does_nothing(tx, again):
    memory_id = remember(tx, "tea")
    first = mention(tx, memory_id, "Postgres", type="product")
    before = row_counts(tx)
    assert mention(tx, memory_id, again, type="Product") == first
    assert row_counts(tx) == before


def test_a_name_means_different_entities_by_its_type(tx):
    memory_id = remember(tx, "Java")
    island = mention(tx, memory_id, "Java", type="place")
    assert mention(tx, memory_id, "Java", type="language") != island


def test_users_do_not_share_entities(tx):
    mine, hers = remember(tx, "tea"), remember(tx, "tea", user_id="ada")
    assert mention(tx, mine, "Postgres") != mention(tx, hers, "Postgres", user_id="ada")


def test_a_chinese_name_is_an_entity(tx):
    memory_id = remember(tx, "认证失败")
    mention(tx, memory_id, "认证服务", type="服务")
    assert mentions(tx) == [("认证服务", "服务", memory_id)]


@pytest.mark.parametrize("name", ["", " \n", "x" * 201])
@pytest.mark.parametrize("argument", ["entity", "type"])
def test_a_name_that_is_empty_or_too_long_is_refused(tx, argument, name):
    memory_id = remember(tx, "tea")
    before = row_counts(tx)
    said = refused(tx, "mention", **{"memory_id": memory_id, "entity": "tea", argument: name})
    assert said.sqlstate == "ME007"
    assert row_counts(tx) == before


def test_a_memory_that_is_not_there_mentions_nothing(tx):
    hers = remember(tx, "tea", user_id="ada")
    before = row_counts(tx)
    for memory_id in (999_999, hers, None):
        said = refused(tx, "mention", memory_id=memory_id, entity="Postgres")
        assert said.sqlstate == "ME012"
    assert row_counts(tx) == before


def test_a_mention_is_taken_back_and_the_entity_stays(tx):
    memory_id = remember(tx, "tea")
    entity_id = mention(tx, memory_id, "Postgres")
    assert unmention(tx, memory_id, "POSTGRES")
    assert not unmention(tx, memory_id, "Postgres")
    assert mention(tx, memory_id, "postgres") == entity_id


def test_a_mention_of_another_user_or_type_stays(tx):
    memory_id = remember(tx, "tea", user_id="ada")
    mention(tx, memory_id, "Postgres", user_id="ada")
    assert not unmention(tx, memory_id, "Postgres")
    assert not unmention(tx, memory_id, "Postgres", type="product", user_id="ada")
    assert len(mentions(tx)) == 1


def test_two_sessions_that_name_a_new_entity_at_once_make_one(db, dsn):
    memory_id = remember(db, "tea")
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as other, ThreadPoolExecutor() as pool:
        first = mention(one, memory_id, "Postgres")
        second = pool.submit(mention, other, memory_id, "postgres")
        while not value(db, "SELECT count(*) FROM pg_locks WHERE NOT granted"):
            assert not second.done()
        one.commit()
        assert second.result() == first
        other.commit()
    assert mentions(db) == [("Postgres", "thing", memory_id)]


def test_no_name_is_refused_and_no_type_is_a_thing(tx):
    memory_id = remember(tx, "tea")
    assert refused(tx, "mention", memory_id=memory_id, entity=None).sqlstate == "ME007"
    assert mention(tx, memory_id, "Postgres", type=None) == mention(tx, memory_id, "Postgres")
