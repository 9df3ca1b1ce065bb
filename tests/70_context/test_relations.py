"""relations: what was said about how a memory bears on others."""

from __future__ import annotations

import pytest
from tests.rows import call, refused, relate, remember


@pytest.fixture
def pair(tx):
    """Two memories of the default user."""
    return remember(tx, "tea"), remember(tx, "coffee", "preference")


def test_relations_are_listed_in_both_directions_strongest_first(tx, pair):
    relate(tx, *pair, "refines", 0.4)
    relate(tx, *reversed(pair), "contradicts", 0.9)
    rows = call(tx, "relations", memory_id=pair[0])
    assert [row[:7] for row in rows] == [
        (pair[1], "from", "contradicts", 0.9, "preference", "coffee", "active"),
        (pair[1], "to", "refines", 0.4, "preference", "coffee", "active"),
    ]


def test_a_relation_to_a_memory_no_longer_recalled_is_listed(tx, pair):
    relate(tx, *pair, "supersedes", 1)
    tx.execute("UPDATE memoir.memory SET status = 'superseded' WHERE memory_id = %s", pair[1:])
    assert [r.status for r in call(tx, "relations", memory_id=pair[0])] == ["superseded"]


def test_a_circle_of_relations_ends(tx, pair):
    third = remember(tx, "milk")
    for one, other in ((pair[0], pair[1]), (pair[1], third), (third, pair[0])):
        relate(tx, one, other, "supports", 0.5)
    listed = [(r.related_id, r.direction) for r in call(tx, "relations", memory_id=pair[0])]
    assert listed == [(pair[1], "to"), (third, "from")]


def test_a_memory_without_relations_has_none(tx, pair):
    assert call(tx, "relations", memory_id=pair[0]) == []


def test_relations_of_a_memory_that_is_not_there_are_refused(tx, pair):
    for missing in ({"memory_id": 999_999}, {"memory_id": pair[0], "user_id": "ada"}):
        assert refused(tx, "relations", **missing).sqlstate == "ME012"
