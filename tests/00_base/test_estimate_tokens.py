"""The estimate of model tokens: .22 an ASCII character, and more for signs, digits and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import value

TEXT = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=80)


def estimate(conn, text):
    return value(conn, "SELECT memoir.estimate_tokens(%s)", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a" * 100, 22),
        ("!" * 100, 52),
        ("认" * 100, 90),
        ("认" * 50 + "a" * 50, 56),
        ("123", 4),
        ("1234567", 11),
        ("😀", 2),
    ],
)
def test_the_formula_gives_what_it_says(tx, text, expected):
    assert estimate(tx, text) == expected


def test_no_text_has_no_estimate(tx):
    assert estimate(tx, None) is None


@given(text=TEXT)
def test_a_text_costs_at_least_a_token_and_never_a_negative_number(tx, text):
    assert estimate(tx, text) >= min(1, len(text))


@given(one=TEXT, other=TEXT)
def test_two_lines_together_cost_no_more_than_each_alone(tx, one, other):
    together = estimate(tx, one + "\n" + other)
    assert together <= estimate(tx, one) + estimate(tx, "\n") + estimate(tx, other)
