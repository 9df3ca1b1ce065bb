"""Decisions that cannot be carried out: the place is named, and nothing is written."""

from __future__ import annotations

import json

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.rows import call, refused, remember, row_counts, set_status, value

GOOD = {"action": "ADD", "content": "drinks tea", "kind": "fact"}


def said(conn, *decisions, **more):
    """SQLSTATE and message of decisions that must be refused after a good one; all or nothing."""
    before = row_counts(conn)
    diag = refused(conn, "apply_decisions", decisions=Jsonb([GOOD, *decisions]), **more)
    assert row_counts(conn) == before
    assert diag.message_hint
    return diag.sqlstate, diag.message_primary


def test_which_decision_it_was_is_told_in_its_own_words(tx):
    late = {"action": "ADD", "content": "tea", "valid_from": "last Tuesday"}
    diag = refused(tx, "apply_decisions", decisions=Jsonb([GOOD, late]))
    assert json.loads(diag.message_detail) == late


@pytest.mark.parametrize("decisions", [None, {}, GOOD, "ADD", 1])
def test_decisions_are_an_array(tx, decisions):
    assert refused(tx, "apply_decisions", decisions=Jsonb(decisions)).sqlstate == "ME015"


def test_no_decisions_at_all_are_not_an_array(tx):
    assert refused(tx, "apply_decisions", decisions=None).sqlstate == "ME015"


@pytest.mark.parametrize(
    ("decision", "wrong"),
    [
        ("ADD", "must be of type object"),
        ({}, 'lacks "action"'),
        ({"action": None}, 'lacks "action"'),
        ({"action": "ADD"}, "lacks content"),
        ({"action": "ADD", "content": "  "}, "lacks content"),
        ({"action": "UPDATE", "memory_id": 1, "summary": " "}, "changes nothing"),
        ({"action": "ADD", "content": "x", "memory_id": 1}, "must not name a stored memory"),
        ({"action": "UPDATE", "content": "x"}, "must name one memory_id"),
        ({"action": "UPDATE", "memory_id": 1}, "changes nothing"),
        ({"action": "UPDATE", "memory_ids": [1, 2], "content": "x"}, "must name one memory_id"),
        ({"action": "REPLACE", "memory_id": 1}, "lacks content"),
        ({"action": "DELETE"}, "lacks memory_id"),
        ({"action": "MERGE", "content": "x"}, "lacks memory_id"),
        ({"action": "KEEP_BOTH", "content": "x"}, "lacks memory_id"),
        ({"action": "SUPERSEDE", "memory_id": 1}, "must have either content or by"),
        (
            {"action": "SUPERSEDE", "memory_id": 1, "by": 2, "content": "x"},
            "must have either content or by",
        ),
        ({"action": "DELETE", "memory_id": 1, "by": 2}, "must not have by"),
    ],
)
def test_an_action_has_what_it_needs(tx, decision, wrong):
    state, message = said(tx, decision)
    assert (state, message) == ("ME015", f"decisions[1] {wrong}")


@pytest.mark.parametrize(
    ("values", "place", "wrong"),
    [
        (
            {"action": "DROP TABLE"},
            "action",
            "must be ADD or UPDATE or DELETE or NOOP or SUPERSEDE",
        ),
        ({"action": ["ADD"]}, "action", "must be of type string"),
        ({"importance": "high"}, "importance", "must be of type number or null"),
        ({"importance": 1.5}, "importance", "must be at most 1"),
        ({"confidence": -1}, "confidence", "must be at least 0"),
        ({"content": ["x"]}, "content", "must be of type string or null"),
        ({"memory_id": {}}, "memory_id", "must be of type string or integer or null"),
        ({"memory_ids": [1.5]}, "memory_ids[0]", "must be of type string or integer"),
        ({"keywords": "x"}, "keywords", "must be of type array or null"),
        ({"lifetime": "short"}, "lifetime", "must be core or working or temporary or null"),
        ({"user_id": "another"}, "user_id", "is not allowed"),
    ],
)
def test_values_are_of_their_types(tx, values, place, wrong):
    state, message = said(tx, GOOD | values)
    assert state == "ME015"
    assert message.startswith(f"decisions[1].{place} {wrong}")


@pytest.mark.parametrize("id_", [0, -1, "12345678901", "9" * 40, "mem_1", "1; DROP TABLE memory"])
def test_an_id_that_is_no_memory_is_named(tx, id_):
    state, message = said(tx, {"action": "DELETE", "memory_id": id_})
    assert state == "ME012"
    assert message == f'decisions[1]: user "default" has no memory "{id_}"'


def test_a_memory_of_another_user_does_not_exist(tx):
    theirs = remember(tx, "secret", user_id="bob")
    state, _ = said(tx, {"action": "DELETE", "memory_id": theirs})
    assert state == "ME012"
    state, _ = said(tx, GOOD | {"content": "x", "sources": [theirs]})
    assert state == "ME012"


@pytest.mark.parametrize("status", ["superseded", "forgotten", "archived", "pending"])
def test_only_active_memories_are_decided_about(tx, status):
    id_ = remember(tx, "likes chess")
    set_status(tx, id_, status)
    found = said(tx, {"action": "UPDATE", "memory_id": id_, "content": "x"})
    assert found[0] == "ME014"
    assert found[1].startswith(f"decisions[1]: memory {id_} is {status}")


def test_one_memory_is_changed_once_in_a_call(tx):
    id_ = remember(tx, "likes chess")
    twice = {"action": "DELETE", "memory_id": id_}, {"action": "NOOP", "memory_id": str(id_)}
    assert said(tx, *twice) == ("ME014", f"decisions[1]: memory {id_} is named twice")


def test_a_memory_does_not_supersede_itself(tx):
    id_ = remember(tx, "likes chess")
    assert said(tx, {"action": "SUPERSEDE", "memory_id": id_, "by": id_})[0] == "ME014"
    state, message = said(tx, {"action": "SUPERSEDE", "memory_id": id_, "content": "likes chess"})
    assert (state, message) == ("ME014", f"decisions[1]: memory {id_} cannot supersede itself")


def test_a_later_decision_does_not_change_what_an_earlier_one_ended(tx):
    id_ = remember(tx, "uses Vue", subject="user.framework")
    newer = GOOD | {"content": "uses React", "subject": "user.framework"}
    found = said(tx, newer, {"action": "UPDATE", "memory_id": id_, "content": "uses Vue 3"})
    assert found[0] == "ME014"
    assert found[1].startswith(f"decisions[2]: memory {id_} is superseded")


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"kind": "nonsense"}, "ME002"),
        ({"content": "\u200b \t"}, None),
        ({"valid_from": "last Tuesday"}, "ME011"),
        ({"valid_from": "03.04.2026"}, "ME011"),
        ({"valid_from": "2020-01-02", "valid_until": "2020-01-01"}, "ME011"),
        ({"keywords": ["x" * 101]}, "ME008"),
        ({"subject": "x" * 201}, "ME015"),
    ],
)
def test_a_refusal_of_remember_names_the_place(tx, values, code):
    if code is not None:
        state, message = said(tx, GOOD | {"content": "x"} | values)
        assert state == code
        assert message.startswith("decisions[1]")


def test_vectors_go_with_decisions_one_each(tx):
    assert said(tx, embeddings=[])[0] == "ME008"
    tx.execute("SELECT memoir.use_model('small', 3)")
    assert said(tx, GOOD | {"content": "x"}, embeddings=["[1,0,0]", "[1,0]"])[0] == "ME003"


def test_too_many_decisions_are_refused_before_they_are_read(tx):
    found = said(tx, *[{"nonsense": 1}] * 1000)
    assert found == ("ME015", "decisions must have at most 1000 items")


def test_a_secret_in_a_wrong_place_is_not_repeated(tx):
    secret = "sk-" + "Ab1" * 16
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        call(tx, "apply_decisions", decisions=Jsonb([GOOD | {"importance": secret}]))
    assert secret not in str(caught.value)


def test_the_schema_is_one_a_model_can_be_given(tx):
    schema = value(tx, "SELECT memoir.decision_schema()")
    properties = schema["items"]["properties"]
    assert schema["items"]["additionalProperties"] is False
    assert all("null" in of["type"] for name, of in properties.items() if name != "action")
