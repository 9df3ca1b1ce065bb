"""What cannot be stored is refused with a code and a hint, and nothing changes."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.rows import refused, remember, row_counts, set_to

TEA = {"content": "tea is black"}
ALERT = {"type": "alert", "payload": {"disk": 91}}
LONG = "a" * 201
SAID = TEA | {"speaker": LONG}
VECTOR = "[1,0,0]"
MODEL = {"name": "small", "dimensions": 3}

BAD = {
    "kind unknown": ("ME002", "remember", TEA | {"kind": "poem"}),
    "kind missing": ("ME002", "remember", TEA | {"kind": None}),
    "dimensions": ("ME003", "remember", TEA | {"embedding": "[1,0]"}),
    "zero vector": ("ME004", "remember", TEA | {"embedding": "[0,0,0]"}),
    "vector too small for halfvec": ("ME004", "remember", TEA | {"embedding": "[1e-9,0,0]"}),
    "empty user": ("ME006", "remember", TEA | {"user_id": ""}),
    "blank user": ("ME006", "remember", TEA | {"user_id": "  "}),
    "long user": ("ME006", "remember", TEA | {"user_id": "a" * 201}),
    "no text": ("ME007", "remember", {"content": None}),
    "empty text": ("ME007", "remember", {"content": ""}),
    "whitespace": ("ME007", "remember", {"content": " \t\r\n "}),
    "control characters only": ("ME007", "remember", {"content": "\x01\x02\x1b"}),
    "characters of no width only": ("ME007", "remember", {"content": "\u200b\ufeff\U000e0041"}),
    "blanks that break no line": ("ME007", "remember", {"content": "\u00a0\u2007\u202f"}),
    "blank letters and signs": ("ME007", "remember", {"content": "\u3164\u2800\u061c\uffa0"}),
    "importance above 1": ("ME008", "remember", TEA | {"importance": 1.01}),
    "importance below 0": ("ME008", "remember", TEA | {"importance": -0.01}),
    "importance NaN": ("ME008", "remember", TEA | {"importance": float("nan")}),
    "confidence": ("ME008", "remember", TEA | {"confidence": 2}),
    "negative turn": ("ME008", "remember", TEA | {"turn": -1}),
    "long session": ("ME008", "remember", TEA | {"session_id": "s" * 201}),
    "empty session": ("ME008", "remember", TEA | {"session_id": "", "turn": 0}),
    "long source": ("ME008", "remember", TEA | {"source": "a" * 201}),
    "long speaker": ("ME008", "remember", SAID),
    "long speaker in a batch": ("ME008", "remember_many", {"memories": Jsonb([SAID])}),
    "long speaker of a message": (
        "ME008",
        "message_add",
        SAID | {"session_id": "s", "role": "user"},
    ),
    "long speaker of a decision": (
        "ME015",
        "apply_decisions",
        {"decisions": Jsonb([SAID | {"action": "ADD"}])},
    ),
    "data of a list": ("ME008", "remember", TEA | {"data": Jsonb(["a"])}),
    "data of a text in a batch": (
        "ME008",
        "remember_many",
        {"memories": Jsonb([TEA | {"data": "a"}])},
    ),
    "far future": ("ME011", "remember", TEA | {"created_at": "3000-01-01"}),
    "before 1970": ("ME011", "remember", TEA | {"created_at": "1969-12-31"}),
    "never": ("ME011", "remember", TEA | {"created_at": "infinity"}),
    "event without type": ("ME010", "event_add", ALERT | {"type": None}),
    "event of an empty type": ("ME010", "event_add", ALERT | {"type": " "}),
    "event of a long type": ("ME010", "event_add", ALERT | {"type": "a" * 101}),
    "event without payload": ("ME010", "event_add", ALERT | {"payload": None}),
    "event of JSON null": ("ME010", "event_add", ALERT | {"payload": Jsonb(None)}),
    "event of no user": ("ME006", "event_add", ALERT | {"user_id": ""}),
    "event in the future": ("ME011", "event_add", ALERT | {"created_at": "3000-01-01"}),
    "event before 1970": ("ME011", "event_add", ALERT | {"created_at": "1969-12-31"}),
    "no vector": ("ME004", "set_embedding", {"memory_id": 1, "embedding": None}),
    "zero vector set": ("ME004", "set_embedding", {"memory_id": 1, "embedding": "[0,0,0]"}),
    "dimensions set": ("ME003", "set_embedding", {"memory_id": 1, "embedding": "[1,0]"}),
    "model without name": ("ME008", "use_model", MODEL | {"name": ""}),
    "model of a long name": ("ME008", "use_model", MODEL | {"name": "a" * 201}),
    "model of no dimensions": ("ME008", "use_model", MODEL | {"dimensions": 0}),
    "model of too many": ("ME008", "use_model", MODEL | {"dimensions": 4_001}),
    "statistics of no user": ("ME006", "refresh_statistics", {"user_id": ""}),
}


@pytest.mark.parametrize(("sqlstate", "function", "arguments"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_with_a_hint_and_changes_nothing(tx, sqlstate, function, arguments):
    remember(tx, "tea is green", embedding=VECTOR)
    before = row_counts(tx)
    said = refused(tx, function, **arguments)
    assert said.sqlstate == sqlstate
    assert said.message_hint
    assert row_counts(tx) == before


@pytest.mark.parametrize("vector", ["[NaN,0,0]", "[Infinity,0,0]", "[70000,0,0]", "[]", "x"])
def test_what_is_no_vector_is_refused_by_its_type(tx, vector):
    before = row_counts(tx)
    assert refused(tx, "remember", content="tea", embedding=vector).sqlstate.startswith("22")
    assert row_counts(tx) == before


def test_an_unknown_kind_is_answered_with_the_kinds(tx):
    said = refused(tx, "remember", content="tea", kind="poem")
    assert '"poem"' in said.message_primary
    assert "preference, fact, pattern" in said.message_detail


def test_a_wrong_dimension_is_answered_with_both_numbers(tx):
    remember(tx, "tea", embedding=VECTOR)
    said = refused(tx, "remember", content="coffee", embedding="[1,0]")
    assert said.message_primary == "the vector has 2 dimensions, this database holds 3"


def test_a_text_of_the_limit_is_stored_and_one_too_large_answered_with_it(tx):
    set_to(tx, text_limit=12)
    assert remember(tx, "tea is green")
    before = row_counts(tx)
    said = refused(tx, "remember", content="tea is green!")
    assert said.message_primary == "the memory has 13 bytes, the limit is 12"
    assert (said.sqlstate, row_counts(tx)) == ("ME007", before)


@pytest.mark.parametrize(("importance", "turn"), [(0, 0), (1, 2_147_483_647)])
def test_the_ends_of_the_ranges_are_allowed(tx, importance, turn):
    assert remember(tx, "tea", importance=importance, confidence=importance, turn=turn)


@pytest.mark.parametrize(
    ("table", "column", "wrong"),
    [
        ("memory", "user_id", "' '"),
        ("memory", "importance", "1.01"),
        ("memory", "importance", "'NaN'"),
        ("memory", "confidence", "-0.01"),
        ("memory", "lifetime", "'long'"),
        ("memory", "status", "'gone'"),
        ("keyword", "keyword", "'Tea'"),
        ("keyword", "weight", "2"),
        ("keyword", "origin", "'me'"),
    ],
)
def test_who_writes_the_tables_himself_is_told_which_column_is_wrong(tx, table, column, wrong):
    remember(tx, "tea is black")
    tx.execute("DELETE FROM memoir.trace")
    with pytest.raises(psycopg.errors.CheckViolation, match=f'"{table}_{column}_check"'):
        tx.execute(f"UPDATE memoir.{table} SET {column} = {wrong}")


def test_a_source_that_is_too_long_is_called_a_source(tx):
    said = refused(tx, "remember", content="tea", source="a" * 201)
    assert said.message_primary.startswith("the source has 201 characters")
