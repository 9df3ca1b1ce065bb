"""Relations: how two memories of a user bear on each other."""

from __future__ import annotations

import pytest
from tests.rows import call, refused, remember, row_counts, value

TYPES = ["supports", "contradicts", "refines", "supersedes", "derived_from", "related"]


@pytest.fixture
def pair(tx):
    """Two memories of the default user."""
    return remember(tx, "tea"), remember(tx, "coffee")


def relate(conn, from_id, to_id, *rest, **more):
    """What was done: ADD, UPDATE or NOOP."""
    names = ("type", "strength")[: len(rest)]
    arguments = {"from_id": from_id, "to_id": to_id, **dict(zip(names, rest, strict=True)), **more}
    return call(conn, "relate", **arguments)[0].relate


def unrelate(conn, from_id, to_id, **more):
    """Whether there was such a relation."""
    return call(conn, "unrelate", from_id=from_id, to_id=to_id, **more)[0].unrelate


def relations(conn):
    """All relations: from, to, type, strength."""
    rows = conn.execute(
        "SELECT from_id, to_id, type, strength FROM memoir.relation ORDER BY 1, 2, 3"
    )
    return rows.fetchall()


def test_a_relation_is_added_changed_and_left_alone(tx, pair):
    assert relate(tx, *pair, "supports", 0.7) == "ADD"
    assert relate(tx, *pair, "supports", 0.9) == "UPDATE"
    assert relate(tx, *pair, "supports", 0.9) == "NOOP"
    assert relations(tx) == [(*pair, "supports", 0.9)]


def test_without_type_and_strength_two_memories_are_related_by_half(tx, pair):
    relate(tx, *pair)
    relate(tx, *reversed(pair), None, None)
    assert relations(tx) == [(*pair, "related", 0.5), (*reversed(pair), "related", 0.5)]


@pytest.mark.parametrize("type", TYPES)
def test_every_type_that_is_offered_can_be_stored(tx, pair, type):
    assert relate(tx, *pair, type, 0) == "ADD"


def test_an_unknown_type_is_refused_and_the_known_ones_are_listed(tx, pair):
    said = refused(tx, "relate", from_id=pair[0], to_id=pair[1], type="likes")
    assert said.sqlstate == "ME008"
    assert '"likes"' in said.message_primary
    assert said.message_detail == "Types: " + ", ".join(TYPES)


@pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_strength_outside_0_to_1_is_refused(tx, pair, strength):
    said = refused(tx, "relate", from_id=pair[0], to_id=pair[1], strength=strength)
    assert said.sqlstate == "ME008"
    assert relations(tx) == []


def test_a_memory_does_not_relate_to_itself(tx, pair):
    said = refused(tx, "relate", from_id=pair[0], to_id=pair[0])
    assert said.sqlstate == "ME008"
    assert str(pair[0]) in said.message_primary


@pytest.mark.parametrize("place", ["from_id", "to_id"])
def test_the_memory_that_is_missing_is_named(tx, pair, place):
    said = refused(tx, "relate", **{"from_id": pair[0], "to_id": pair[1], place: 999_999})
    assert said.sqlstate == "ME012"
    assert said.message_primary == 'user "default" has no memory 999999'


def test_a_memory_of_another_user_is_missing(tx, pair):
    hers = remember(tx, "tea", user_id="ada")
    assert refused(tx, "relate", from_id=pair[0], to_id=hers).sqlstate == "ME012"
    assert refused(tx, "relate", from_id=hers, to_id=pair[0], user_id="ada").sqlstate == "ME012"


def test_nothing_is_written_when_a_relation_is_refused(tx, pair):
    before = row_counts(tx)
    refused(tx, "relate", from_id=pair[0], to_id=None)
    refused(tx, "relate", from_id=pair[0], to_id=pair[1], type="")
    assert row_counts(tx) == before


def test_one_type_of_relation_is_taken_back(tx, pair):
    relate(tx, *pair, "supports")
    relate(tx, *pair, "refines")
    assert unrelate(tx, *pair, type="supports")
    assert not unrelate(tx, *pair, type="supports")
    assert relations(tx) == [(*pair, "refines", 0.5)]


def test_without_a_type_every_relation_of_that_direction_is_taken_back(tx, pair):
    relate(tx, *pair, "supports")
    relate(tx, *pair, "refines")
    relate(tx, *reversed(pair))
    assert unrelate(tx, *pair)
    assert relations(tx) == [(*reversed(pair), "related", 0.5)]


def test_an_unknown_type_is_no_relation_to_take_back(tx, pair):
    said = refused(tx, "unrelate", from_id=pair[0], to_id=pair[1], type="likes")
    assert said.sqlstate == "ME008"


def test_relations_of_another_user_stay(tx):
    one, other = remember(tx, "tea", user_id="ada"), remember(tx, "coffee", user_id="ada")
    relate(tx, one, other, user_id="ada")
    assert not unrelate(tx, one, other)
    assert len(relations(tx)) == 1


def test_a_trace_knows_whether_its_memory_has_sources(tx, pair):
    derived = "SELECT derived FROM memoir.trace WHERE memory_id = %s"
    relate(tx, *pair, "supports")
    assert not value(tx, derived, pair[0])
    relate(tx, *pair, "derived_from", 1)
    assert value(tx, derived, pair[0])
    assert not value(tx, derived, pair[1])
    unrelate(tx, *pair)
    assert not value(tx, derived, pair[0])


PLACE = "SELECT session, position, derived FROM memoir.trace WHERE memory_id = %s"


def place(conn, memory_id):
    """Where recall sees a memory: session, position, and whether it has sources."""
    return conn.execute(PLACE, (memory_id,)).fetchone()


def turns(conn, *sessions):
    """Turns 1, 2, ... of sessions."""
    return [
        remember(conn, f"tea {turn}", "turn", session_id=session, turn=turn)
        for turn, session in enumerate(sessions, 1)
    ]


def test_a_memory_made_from_turns_of_a_session_stands_beside_the_first(tx):
    fact = remember(tx, "coffee")
    first, second = turns(tx, "s", "s")
    relate(tx, fact, second, "derived_from")
    assert place(tx, fact) == (*place(tx, second)[:2], True)
    relate(tx, fact, first, "derived_from")
    assert place(tx, fact) == (*place(tx, first)[:2], True)
    unrelate(tx, fact, first)
    unrelate(tx, fact, second)
    assert place(tx, fact) == (0, -1, False)


def test_a_memory_made_from_several_sessions_has_no_place(tx):
    fact = remember(tx, "coffee")
    for turn in turns(tx, "s", "other"):
        relate(tx, fact, turn, "derived_from")
    assert place(tx, fact) == (0, -1, True)


def test_a_place_of_its_own_stays(tx):
    fact = remember(tx, "coffee", session_id="own", turn=7)
    before = place(tx, fact)
    relate(tx, fact, turns(tx, "s")[0], "derived_from")
    assert place(tx, fact) == (*before[:2], True)


def test_a_superseded_memory_may_still_be_related(tx, pair):
    tx.execute("UPDATE memoir.memory SET status = 'superseded' WHERE memory_id = %s", pair[1:])
    assert relate(tx, *pair, "supersedes") == "ADD"
