"""What the client checks and writes before anything is sent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from pgvector import HalfVector, Vector

from pgmemoir import calls, vectors
from pgmemoir.checks import dictionaries, memory_ids
from pgmemoir.errors import (
    BadText,
    BadTimestamp,
    BudgetOutOfRange,
    OutOfRange,
    UnusableVector,
)


@pytest.mark.parametrize(
    "vector",
    [
        [1, 0.5, -2],
        (1.0, 0.5, -2.0),
        np.array([1, 0.5, -2], dtype=np.float32),
        Vector([1, 0.5, -2]),
        HalfVector([1, 0.5, -2]),
    ],
)
def test_every_type_of_vector_is_sent_alike(vector: Any) -> None:
    assert vectors.half_vector(vector) == HalfVector([1, 0.5, -2]).to_binary()


@pytest.mark.parametrize(
    "vector",
    [
        [],
        [1, float("nan")],
        [float("inf"), 0],
        [1e6],
        [[1, 2], [3, 4]],
        np.ones((2, 2)),
        ["a"],
        [None],
        "[1,2]",
    ],
)
def test_a_vector_without_a_direction_is_refused(vector: Any) -> None:
    with pytest.raises(UnusableVector):
        vectors.half_vector(vector)


def test_the_error_names_the_component() -> None:
    with pytest.raises(UnusableVector, match="component 2 of the vector is nan"):
        vectors.half_vector([1.0, 2.0, float("nan")])


def test_a_nul_is_refused_and_its_place_named() -> None:
    with pytest.raises(BadText, match="the query holds a NUL character at position 3"):
        calls.Question.of("abc\0", None, "execute", 800, None, None)


def test_a_vector_in_the_place_of_the_query_is_told_its_name() -> None:
    with pytest.raises(BadText, match="the query is list, not text") as refused:
        calls.Question.of([0.1, 0.2], None, "execute", 800, None, None)  # type: ignore[arg-type]
    assert refused.value.hint == "Pass a vector by name: vector=[0.1, 0.2, ...]."


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(BadText, match="not valid Unicode at position 1"):
        calls.clean_text("a\ud800", "the text")


def test_a_nul_deep_in_the_data_is_refused_and_its_place_named() -> None:
    with pytest.raises(BadText, match=r"data\.steps\[1\]\.log holds a NUL"):
        calls.checked({"content": "x", "data": {"steps": [{}, {"log": "\0"}]}})


CIRCLE: dict[str, Any] = {}
CIRCLE["self"] = CIRCLE


@pytest.mark.parametrize("data", [{"a": float("nan")}, {"a": object()}, {"a": {1, 2}}, CIRCLE])
def test_data_that_is_not_json_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(BadText, match=r"data cannot be written as JSON: [\s\S]+hint: JSON has no"):
        calls.checked({"content": "x", "data": data})


@pytest.mark.parametrize("data", ['{"ticket": 42}', [42], 42, True])
def test_data_that_is_no_dictionary_is_refused(data: Any) -> None:
    with pytest.raises(BadText, match=f"data is {type(data).__name__}, not a dictionary"):
        calls.checked({"content": "x", "data": data})


@pytest.mark.parametrize(
    ("given", "shown"),
    [({"content": "x"}, "'content'"), ("abc", "'a'"), ([["x", "fact"]], r"\['x', 'fact'\]")],
)
def test_what_is_no_list_of_dictionaries_is_refused(given: Any, shown: str) -> None:
    with pytest.raises(TypeError, match=rf"memories\[0\] is {shown}, not a dictionary"):
        list(dictionaries(given, "memories"))


def test_a_time_without_a_zone_is_utc() -> None:
    assert calls.utc(datetime(2025, 1, 2), "at") == datetime(2025, 1, 2, tzinfo=UTC)


def test_a_time_that_is_no_datetime_is_refused() -> None:
    with pytest.raises(BadTimestamp, match=r"created_at is '2025-01-02'.*\n.*fromisoformat"):
        calls.checked({"content": "x", "created_at": "2025-01-02"})  # type: ignore[typeddict-item]


@pytest.mark.parametrize("budget", [800.5, "800", 10**12])
def test_a_budget_that_is_no_integer_is_refused(budget: Any) -> None:
    with pytest.raises(BudgetOutOfRange):
        calls.Question.of("x", None, "execute", budget, None, None)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(OutOfRange, match="importance is 'high', not a number"):
        calls.checked({"content": "x", "importance": "high"})  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ("deploy", r"keywords is one text, not a list of them\nhint: keywords=\['deploy'\]"),
        (["a\0"], r"keywords\[0\] holds a NUL character"),
        (["tea", 7], r"keywords\[1\] is int, not text"),
        (7, "keywords is int, not a list of texts"),
    ],
)
def test_keywords_are_a_list_of_texts(keywords: Any, said: str) -> None:
    with pytest.raises(BadText, match=said):
        calls.checked({"content": "x", "keywords": keywords})


@pytest.mark.parametrize("keywords", [("tea", "cup"), iter(["tea", "cup"]), {"tea": 1, "cup": 2}])
def test_keywords_may_be_anything_that_gives_texts(keywords: Any) -> None:
    assert calls.checked({"content": "x", "keywords": keywords})["keywords"] == ["tea", "cup"]


@pytest.mark.parametrize(
    ("vector", "shown"),
    [
        ("[1,2,3]", "'[1,2,3]'"),
        ([None, 1, 2], "[None, 1, 2]"),
        ([[1, 2, 3]], "[[1, 2, 3]]"),
        ({0: 0.5, 1: 0.5}, "{0: 0.5, 1: 0.5}"),
        (bytearray(b"abc"), "bytearray(b'abc')"),
    ],
)
def test_what_is_no_vector_is_shown(vector: Any, shown: str) -> None:
    with pytest.raises(UnusableVector) as refused:
        vectors.half_vector(vector)
    assert f"the vector is {shown}, not one list of numbers" in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([3, 4], r"\[3, 4\] is not the id of a memory\nhint: Put a star before a list of ids"),
        ("x", "'x' is not the id of a memory\nhint: Ids are whole numbers"),
    ],
)
def test_what_is_no_id_is_refused_with_what_to_pass(given: Any, said: str) -> None:
    with pytest.raises(OutOfRange, match=said):
        memory_ids([given])


def test_a_field_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match=r"no field 'knd'; it has subject, .*content, kind"):
        calls.checked({"content": "x", "knd": "task"})  # type: ignore[typeddict-unknown-key]


def test_the_schema_of_the_vector_type_is_quoted() -> None:
    statement = calls.Halfvec('od"d 100%').statement("SELECT %b::{vector}")
    assert statement == b'SELECT %b::"od""d 100%%".halfvec'
