"""D3's search: likeness x importance x decay."""

from __future__ import annotations

import pytest
from tests.rows import call, previews, refused, remember


def search(conn, query="tea", **more):
    return call(conn, "memory_search", query=query, **more)


def test_the_important_comes_before_the_unimportant(tx):
    remember(tx, "tea black", importance=0.2)
    remember(tx, "tea green", importance=0.9)
    assert previews(search(tx)) == ["tea green", "tea black"]


def test_what_was_not_used_for_long_counts_less(tx):
    remember(tx, "tea old", importance=0.6, created_at="2025-01-01")
    remember(tx, "tea new", importance=0.5)
    assert previews(search(tx)) == ["tea new", "tea old"]
    assert previews(search(tx, use_decay=False)) == ["tea old", "tea new"]


def test_top_k_bounds_the_rows_not_the_total(tx):
    for number in range(5):
        remember(tx, f"tea {number}")
    rows = search(tx, top_k=2)
    assert (len(rows), rows[0].total_found) == (2, 5)


def test_a_category_leaves_out_other_kinds(tx):
    remember(tx, "tea fact", "fact")
    remember(tx, "tea task", "task")
    assert previews(search(tx, category="facts")) == ["tea fact"]


def test_the_strategy_says_what_was_compared(tx):
    remember(tx, "tea", embedding="[1,0]")
    assert search(tx)[0].strategy == "words x importance x decay"
    by_vector = search(tx, query_vec="[1,0]", use_decay=False)
    assert by_vector[0].strategy == "vector x importance"


def test_a_memory_without_a_common_word_is_not_found(tx):
    remember(tx, "coffee")
    assert search(tx) == []


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("ME002", {"category": "nonsense"}),
        ("ME003", {"query_vec": "[1,2,3]"}),
        ("ME004", {"query_vec": "[0,0]"}),
        ("ME007", {"query": " "}),
        ("ME008", {"top_k": 0}),
        ("ME008", {"top_k": 21}),
        ("ME008", {"top_k": None}),
    ],
)
def test_bad_input_is_refused(tx, code, arguments):
    remember(tx, "tea", embedding="[1,0]")
    error = refused(tx, "memory_search", **{"query": "tea", **arguments})
    assert (error.sqlstate, bool(error.message_hint)) == (code, True)
