"""One step from the best hits, by relations and shared entities."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from tests.rows import call, explain, relate, remember, remember_all, set_to, value


def mention_all(conn, entity, memory_ids):
    """Let memories mention an entity."""
    conn.execute("SELECT memoir.mention(m, %s) FROM unnest(%s) AS m", (entity, memory_ids))


def linked(conn, seeds, user="default"):
    """Strength, seed and way by memory, for seeds with their strengths."""
    rows = conn.execute(
        "SELECT memory_id, strength, from_id, via FROM memoir._linked(%s, %s::bigint[], %s)",
        (user, list(seeds), [float(strength) for strength in seeds.values()]),
    ).fetchall()
    assert len({row[0] for row in rows}) == len(rows)
    return {memory_id: rest for memory_id, *rest in rows}


def test_strength_is_that_of_the_relation_times_that_of_the_seed(tx):
    seed, other = remember_all(tx, ["tea", "coffee"])
    relate(tx, seed, other, "refines", 0.8)
    assert linked(tx, {seed: 0.5}) == {other: [0.4, seed, f"refined by {seed}"]}


@pytest.mark.parametrize(
    ("type", "forward", "backward"),
    [
        ("supports", "supports", "supported by"),
        ("contradicts", "contradicts", "contradicted by"),
        ("refines", "refines", "refined by"),
        ("supersedes", "supersedes", "superseded by"),
        ("derived_from", "derived from", "source of"),
        ("related", "related to", "related to"),
    ],
)
def test_a_relation_is_told_from_the_side_of_the_memory_it_brings(tx, type, forward, backward):
    one, other = remember_all(tx, ["tea", "coffee"])
    relate(tx, one, other, type)
    assert linked(tx, {other: 1})[one][2] == f"{forward} {other}"
    assert linked(tx, {one: 1})[other][2] == f"{backward} {one}"


def test_memories_that_mention_the_same_entity_are_linked_the_less_the_more_they_are(tx):
    one, two, three, four = remember_all(tx, ["tea", "coffee", "milk", "sugar"])
    mention_all(tx, "Postgres", [one, two])
    mention_all(tx, "Redis", [one, two, three, four])
    links = linked(tx, {one: 1})
    assert links[two] == [pytest.approx(0.5 / math.log(3)), one, "entity Postgres"]
    assert links[three] == [pytest.approx(0.5 / math.log(5)), one, "entity Redis"]


def test_of_several_links_the_strongest_counts(tx):
    one, two, target = remember_all(tx, ["tea", "coffee", "milk"])
    relate(tx, one, target, "supports", 0.9)
    relate(tx, one, target, "refines", 0.6)
    relate(tx, target, two, "contradicts", 0.5)
    links = linked(tx, {one: 0.2, two: 0.8})
    assert links[target] == [0.4, two, f"contradicts {two}"]


def test_a_seed_gains_from_another_seed_and_never_from_itself(tx):
    one, two, three = remember_all(tx, ["tea", "coffee", "milk"])
    relate(tx, one, two)
    mention_all(tx, "Postgres", [three])
    assert {m: link[1] for m, link in linked(tx, {one: 1, two: 1, three: 1}).items()} == {
        one: two,
        two: one,
    }


def test_an_entity_above_the_limit_links_nothing(tx):
    set_to(tx, link_hub_limit=3)
    ids = remember_all(tx, ["tea", "coffee", "milk", "sugar"])
    mention_all(tx, "Redis", ids[:3])
    assert set(linked(tx, {ids[0]: 1})) == set(ids[1:3])
    mention_all(tx, "Redis", ids)
    assert linked(tx, {ids[0]: 1}) == {}


def test_only_active_memories_are_linked(tx):
    seed, other, third = remember_all(tx, ["tea", "coffee", "milk"])
    relate(tx, seed, other)
    mention_all(tx, "Postgres", [seed, third])
    tx.execute("UPDATE memoir.trace SET active = false WHERE memory_id = ANY (%s)", ([other],))
    assert set(linked(tx, {seed: 1})) == {third}
    tx.execute("UPDATE memoir.trace SET active = false WHERE memory_id = %s", (third,))
    assert linked(tx, {seed: 1}) == {}


@pytest.mark.parametrize(("ended", "graph"), [(None, 0.5), ("2025-01-02", 0)])
def test_what_has_ended_links_to_nothing(tx, ended, graph):
    one = remember(tx, "tea", valid_from="2025-01-01", valid_until=ended)
    relate(tx, one, remember(tx, "sugar"), "supports", 0.5)
    rows = explain(tx, "tea", mode="assistant")
    assert [row.graph for row in rows if row.content == "sugar"] == [graph]


def test_a_seed_brings_at_most_20_the_strongest(tx):
    seed, *others = remember_all(tx, [f"tea {i}" for i in range(31)])
    for place, other in enumerate(others):
        relate(tx, seed, other, strength=(place + 1) / 31)
    assert set(linked(tx, {seed: 1})) == set(others[-20:])


def test_inactive_memories_take_no_place_of_the_20(tx):
    seed, *others = remember_all(tx, [f"tea {i}" for i in range(31)])
    for place, other in enumerate(others):
        relate(tx, seed, other, strength=(place + 1) / 31)
    tx.execute("UPDATE memoir.trace SET active = false WHERE memory_id > %s", (others[19],))
    assert set(linked(tx, {seed: 1})) == set(others[:20])


def test_the_step_is_one(tx):
    ids = remember_all(tx, ["tea", "coffee", "milk"])
    for one, other in pairwise(ids):
        relate(tx, one, other)
    assert set(linked(tx, {ids[0]: 1})) == {ids[1]}


def test_nothing_comes_from_another_user(tx):
    one, other = remember_all(tx, ["tea", "coffee"], user="ada")
    call(tx, "relate", from_id=one, to_id=other, user_id="ada")
    assert linked(tx, {one: 1}) == {}
    assert set(linked(tx, {one: 1}, user="ada")) == {other}


@pytest.mark.parametrize("strength", [0, -1])
def test_a_seed_without_strength_links_nothing(tx, strength):
    one, other = remember_all(tx, ["tea", "coffee"])
    relate(tx, one, other)
    assert linked(tx, {one: strength}) == {}


def test_no_seeds_link_nothing(tx):
    assert linked(tx, {}) == {}
    assert value(tx, "SELECT count(*) FROM memoir._linked('default', NULL, NULL)") == 0
