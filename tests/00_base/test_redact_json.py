"""What must never be stored, taken out of JSON at any depth."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from tests.rows import value

KEY = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
AUTH = '"auth": "' + "dXNlcjp" + 'odW50ZXIyMjIyMjI="'
CARD = 4111111111111111

DOCUMENTS = [
    ({"note": f"use {KEY}"}, {"note": "use [redacted:api_key]"}),
    ([1, [f"{KEY}", {"a": [KEY]}]], [1, ["[redacted:api_key]", {"a": ["[redacted:api_key]"]}]]),
    ({"password": "correct horse"}, {"password": "[redacted:password]"}),
    ({"DB_PASSWORD": "x"}, {"DB_PASSWORD": "[redacted:password]"}),
    ({"clientSecret": "x y"}, {"clientSecret": "[redacted:secret]"}),
    ({"api_key": "x"}, {"api_key": "[redacted:api_key]"}),
    ({"apikey": "x"}, {"apikey": "[redacted:api_key]"}),
    ({"access_key": "x"}, {"access_key": "[redacted:api_key]"}),
    ({"private_key": "x"}, {"private_key": "[redacted:private_key]"}),
    ({"Authorization": "Bearer x"}, {"Authorization": "[redacted:authorization]"}),
    ({"密码": "很长"}, {"密码": "[redacted:password]"}),
    ({"password": 123456, "port": 5432}, {"password": "[redacted:password]", "port": 5432}),
    ({"token": None, "secret": True, "pwd": ""}, {"token": None, "secret": True, "pwd": ""}),
    ({"passwords": ["a"], "tokens": 800}, {"passwords": ["a"], "tokens": 800}),
    (
        {"password": ["a", {"b": 1, "c": True}], "d": "e"},
        {"password": ["[redacted:password]", {"b": "[redacted:password]", "c": True}], "d": "e"},
    ),
    ({"card": CARD, "n": -1.5e3}, {"card": "[redacted:card]", "n": -1.5e3}),
    ({KEY: 1}, {"[redacted:api_key]": 1}),
    ({"text": 'password:\thunter2\n"\\'}, {"text": 'password:\t[redacted:password]\n"\\'}),
    ({"password": "[redacted:password]"}, {"password": "[redacted:password]"}),
    ({"password": "[redacted:api_key]"}, {"password": "[redacted:api_key]"}),
    ({"max_token": 4096}, {"max_token": 4096}),
    (
        {"password": {"api_key": "a", "b": "c"}},
        {"password": {"api_key": "[redacted:password]", "b": "[redacted:password]"}},
    ),
    # Of a key, too, the signs are looked for as it is said, not as JSON writes it.
    ({AUTH: 1}, {'"auth": "[redacted:token]"': 1}),
    (KEY, "[redacted:api_key]"),
    (CARD, "[redacted:card]"),
]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8).filter(lambda text: "\0" not in text),
    st.sampled_from([KEY, CARD, "password: hunter2", 'a"b\\', "[redacted:card]", "{[]},:"]),
)
KEYS = st.sampled_from(["a", "b", "password", "token", KEY, 'q"\\:', "x:"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def redact(conn, document):
    """The document as it would be stored."""
    return value(conn, "SELECT memoir._redact_json(%s)", Jsonb(document))


@pytest.mark.parametrize(("document", "left"), DOCUMENTS, ids=[str(d)[:40] for d, _ in DOCUMENTS])
def test_a_secret_is_taken_out_of_a_document(tx, document, left):
    assert redact(tx, document) == left


def test_null_stays_null(tx):
    assert value(tx, "SELECT memoir._redact_json(NULL)") is None


def shape(document):
    """A document with nothing but its lists and objects."""
    if isinstance(document, dict):
        return [shape(item) for item in document.values()]
    return [shape(item) for item in document] if isinstance(document, list) else None


@given(document=VALUES)
def test_a_document_keeps_its_shape(tx, document):
    left = redact(tx, document)
    assert KEY not in json.dumps(left)
    if KEY not in json.dumps(document):
        stored = value(tx, "SELECT %s::jsonb", Jsonb(document))
        assert shape(left) == shape(stored)


@given(document=VALUES)
def test_to_redact_twice_is_to_redact_once(tx, document):
    once = redact(tx, document)
    assert redact(tx, once) == once


def test_a_document_may_be_deep(tx):
    deep = "[" * 3000 + '"a\\n", ' + json.dumps(KEY) + "]" * 3000
    left = value(tx, "SELECT memoir._redact_json(%s::jsonb)::text", deep)
    assert left == deep.replace(KEY, "[redacted:api_key]")
