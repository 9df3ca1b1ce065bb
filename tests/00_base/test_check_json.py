"""A JSON document fits a schema, or the error says where it does not."""

from __future__ import annotations

import jsonschema
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from tests.rows import refused, value

ACTION = {
    "type": "object",
    "required": ["action"],
    "properties": {
        "action": {"type": "string", "enum": ["ADD", "DELETE"]},
        "importance": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "ids": {"type": "array", "maxItems": 2, "items": {"type": "integer"}},
        "reason": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 3}]},
    },
    "additionalProperties": False,
}
LIST = {"type": "array", "minItems": 1, "items": ACTION}


def check(conn, document, schema, what="answer"):
    value(conn, "SELECT memoir._check_json(%s, %s, %s)", Jsonb(document), Jsonb(schema), what)


def complaint(conn, document, schema, what="answer"):
    """What is said about a document that does not fit."""
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        check(conn, document, schema, what)
    assert caught.value.diag.sqlstate == "ME015"
    return caught.value.diag.message_primary


@pytest.mark.parametrize(
    ("document", "schema"),
    [
        ([{"action": "ADD"}], LIST),
        ([{"action": "DELETE", "importance": None, "ids": []}], LIST),
        ([{"action": "ADD", "importance": 1, "ids": [1, 2.0], "reason": "abc"}], LIST),
        ([{"action": "ADD", "importance": 0}], LIST),
        (None, {"type": "null"}),
        (None, {}),
        (1.0, {"type": "integer"}),
        (1, {"enum": ["1", 1.0]}),
        ({"a": 1}, {"const": {"a": 1.0}}),
        ({"any": ["thing"]}, {"type": "object", "additionalProperties": True}),
        ([[[]]], True),
        ("长期记忆", {"type": "string", "maxLength": 4}),
    ],
)
def test_what_fits_passes(tx, document, schema):
    check(tx, document, schema)


@pytest.mark.parametrize(
    ("document", "schema", "said"),
    [
        (None, LIST, "answer must be of type array"),
        ({}, LIST, "answer must be of type array"),
        ([], LIST, "answer must have at least 1 items"),
        ([[]], LIST, "answer[0] must be of type object"),
        ([{"action": "ADD"}, {}], LIST, 'answer[1] lacks "action"'),
        ([{"action": "add"}], LIST, "answer[0].action must be ADD or DELETE"),
        ([{"action": 1}], LIST, "answer[0].action must be of type string"),
        ([{"action": "ADD", "run": "rm"}], LIST, "answer[0].run is not allowed"),
        (
            [{"action": "ADD", "importance": "high"}],
            LIST,
            "answer[0].importance must be of type number or null",
        ),
        ([{"action": "ADD", "importance": 1.01}], LIST, "answer[0].importance must be at most 1"),
        ([{"action": "ADD", "importance": -1}], LIST, "answer[0].importance must be at least 0"),
        ([{"action": "ADD", "ids": [1, 1.5]}], LIST, "answer[0].ids[1] must be of type integer"),
        ([{"action": "ADD", "ids": [1, 2, 3]}], LIST, "answer[0].ids must have at most 2 items"),
        (
            [{"action": "ADD", "reason": "long"}],
            LIST,
            "answer[0].reason must be of type null or must have at most 3 characters",
        ),
        ({"a": 1}, {"const": {"a": 2}}, 'answer must be {"a": 2}'),
        (
            {"a": {"b": 1}},
            {"additionalProperties": {"additionalProperties": False}},
            "answer.a.b is not allowed",
        ),
        ([1], {"items": False}, "answer[0] is not allowed"),
        (1, False, "answer is not allowed"),
        ("", {"type": "string", "minLength": 1}, "answer must have at least 1 characters"),
        ("1e3", {"type": "string", "pattern": "^[0-9]+$"}, "answer must match ^[0-9]+$"),
        (True, {"enum": [1, None]}, "answer must be 1 or null"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(tx, document, schema, said):
    assert complaint(tx, document, schema) == said


def test_the_form_of_a_choice_that_got_deepest_is_blamed(tx):
    choice = {"anyOf": [{"type": "string"}, {"items": {"type": "integer"}}]}
    assert complaint(tx, {"x": [1, "2"]}, {"properties": {"x": choice}}, "d") == (
        "d.x[1] must be of type integer"
    )


def test_the_error_shows_little_of_what_it_found(tx):
    secret = "sk-" + "a1B2" * 10
    said = refused(tx, "_check_json", value=Jsonb(secret), schema={"type": "null"}, what="answer")
    assert said.message_detail == "Found a string of 43 characters."
    assert secret not in "".join((said.message_primary, said.message_hint, said.context))


@pytest.mark.parametrize("missing", ["value", "schema"])
def test_nothing_is_not_a_document_and_not_a_schema(tx, missing):
    given = {"value": Jsonb(1), "schema": Jsonb({}), "what": "answer"} | {missing: None}
    assert refused(tx, "_check_json", **given).sqlstate == "ME015"


def test_a_document_is_read_no_deeper_than_its_schema(tx):
    deep = "[" * 5_000 + "]" * 5_000
    value(tx, "SELECT memoir._check_json(%s::jsonb, %s, 'deep')", deep, Jsonb({"type": "array"}))


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.5, 1e30])
NAMES = st.sampled_from("abc")
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
LIMITS = st.integers(0, 3)
SCHEMAS = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(DOCUMENTS, min_size=1, max_size=3),
            "const": DOCUMENTS,
            "minimum": NUMBERS,
            "maximum": NUMBERS,
            "minLength": LIMITS,
            "maxLength": LIMITS,
            "pattern": st.sampled_from(["[0-9]", "^[a-z]"]),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": inner,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "items": inner,
            "minItems": LIMITS,
            "maxItems": LIMITS,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=8,
)


@given(document=DOCUMENTS, schema=SCHEMAS)
def test_the_verdict_is_that_of_the_reference(tx, document, schema):
    fits = jsonschema.Draft202012Validator(schema).is_valid(document)
    said = tx.execute(
        "SELECT (memoir._json_misfit(%s, %s, '')).fault IS NULL", (Jsonb(document), Jsonb(schema))
    )
    assert said.fetchone() == (fits,)
