"""A recall that cannot be answered says why, in all three of its forms, and leaves no trace."""

from __future__ import annotations

import pytest
from tests.rows import call, recall, refused, remember, row_counts

FORMS = ("recall", "memory_context", "memory_explain")
BAD = {
    "unknown mode": ("ME001", {"mode": "brew"}),
    "mode of another case": ("ME001", {"mode": "PLAN"}),
    "no mode": ("ME001", {"mode": None}),
    "dimensions": ("ME003", {"query_vec": "[1,0]"}),
    "zero vector": ("ME004", {"query_vec": "[0,0,0]"}),
    "zero vector of one dimension": ("ME003", {"query_vec": "[0]"}),
    "no budget": ("ME005", {"budget": None}),
    "budget of zero": ("ME005", {"budget": 0}),
    "negative budget": ("ME005", {"budget": -1}),
    "least negative budget": ("ME005", {"budget": -2_147_483_648}),
    "budget of a million": ("ME005", {"budget": 1_000_000}),
    "empty user": ("ME006", {"user_id": ""}),
    "blank user": ("ME006", {"user_id": " "}),
    "before 1970": ("ME011", {"as_of": "1969-12-31"}),
    "before all time": ("ME011", {"as_of": "-infinity"}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("sqlstate", "arguments"), BAD.values(), ids=BAD)
def test_a_bad_question_is_refused_with_a_hint_and_changes_nothing(tx, form, sqlstate, arguments):
    remember(tx, "tea", embedding="[1,0,0]")
    before = row_counts(tx)
    said = refused(tx, form, **arguments)
    assert said.sqlstate == sqlstate
    assert said.message_hint
    assert row_counts(tx) == before


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", ["[NaN,0,0]", "[Infinity,0,0]", "[]"])
def test_what_is_no_vector_is_refused_by_its_type(tx, form, vector):
    assert refused(tx, form, query_vec=vector).sqlstate.startswith("22")


def test_a_database_without_rows_says_so(tx):
    # As one made of a dump of the schema alone.
    tx.execute("SET LOCAL session_replication_role = replica")
    tx.execute("TRUNCATE memoir.mode, memoir.kind CASCADE")
    assert refused(tx, "memory_context").message_detail == "Modes: none"
    assert refused(tx, "remember", content="tea").message_detail == "Kinds: none"


def test_an_unknown_mode_is_answered_with_the_modes(tx):
    said = refused(tx, "memory_context", mode="brew")
    assert '"brew"' in said.message_primary
    assert said.message_detail.startswith("Modes: assistant, balanced, chat, ")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["", None])
def test_a_missing_mode_is_not_called_unknown(tx, form, mode):
    assert refused(tx, form, mode=mode).message_primary == "the mode is NULL or empty"


def test_a_wrong_dimension_is_answered_with_both_numbers(tx):
    remember(tx, "tea", embedding="[1,0,0]")
    said = refused(tx, "memory_context", query_vec="[1,0]")
    assert said.message_primary == "the vector has 2 dimensions, this database holds 3"


def test_a_budget_is_answered_with_its_range(tx):
    said = refused(tx, "memory_context", budget=1_000_000)
    assert said.message_primary == "budget must be 1 to 100000 tokens, not 1000000"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("budget", [1, 100_000])
def test_the_ends_of_the_budget_are_allowed(tx, form, budget):
    remember(tx, "tea")
    assert call(tx, form, budget=budget)


def test_a_vector_is_of_any_dimension_before_the_first_is_stored(tx):
    assert recall(tx, query_vec="[1,0,0,0]").memory_ids == []


def test_an_empty_question_is_no_question(tx):
    memory_id = remember(tx, "tea")
    assert recall(tx, "").memory_ids == [memory_id]
