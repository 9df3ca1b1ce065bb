"""Shares of neighbours, against a plain sum, and the leaders among them, against a plain sort."""

from __future__ import annotations

import random

import pytest
from tests import oracle
from tests.rows import value


def is_plain_sum(conn, scores, within):
    """Whether the shares of these scores are those of a plain sum."""
    shares = value(conn, "SELECT memoir._smooth(%s::real[], 0.15, 0.1)", scores)
    expected = oracle.smoothed(scores, 0.15, 0.1)
    return all(abs(a - b) < within for a, b in zip(shares, expected, strict=True))


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 100, 16_000, 16_001, 32_001])
def test_shares_are_those_of_a_plain_sum(tx, length):
    source = random.Random(length)
    scores = [source.uniform(-1, 1) for _ in range(length)]
    assert is_plain_sum(tx, scores, within=1e-6)


@pytest.mark.parametrize("length", [15_999, 16_002, 16_003, 31_994, 31_995, 31_996, 31_997, 31_998])
def test_pieces_meet_without_a_seam(tx, length):
    scores = [float(place % 7) for place in range(length)]
    assert is_plain_sum(tx, scores, within=1e-5)


def test_nothing_has_no_shares(tx):
    assert value(tx, "SELECT memoir._smooth(NULL, 0.15, 0.1)") == []


def leaders(conn, scores, number):
    """The places that the number highest scores are looked for at, from 0; None: at all."""
    bits = value(conn, "SELECT memoir._leaders(%s::real[], %s)::text", scores, number)
    return None if bits is None else {place for place, bit in enumerate(bits) if bit == "1"}


@pytest.mark.parametrize("power", [1, 2, 6])
@pytest.mark.parametrize("lowest", [-1, 0])
def test_leaders_are_few_and_the_highest_are_among_them(tx, power, lowest):
    source = random.Random(power)
    scores = [source.uniform(lowest, 1) ** power for _ in range(600)]
    found = leaders(tx, scores, 48)
    assert len(found) < 400
    assert found >= set(sorted(range(600), key=lambda place: -scores[place])[:48])


@pytest.mark.parametrize(
    "scores",
    [[0.5] * 100, [0.0] * 100, [-1.0] * 100, [1e-45] + [0.0] * 99, [1.0] * 48, [], None],
)
def test_where_none_stand_out_any_may_lead(tx, scores):
    assert leaders(tx, scores, 48) in (None, set(range(100)))


def test_of_more_scores_than_a_vector_holds_any_may_lead(tx):
    assert leaders(tx, [1.0, *[0.0] * 16_000], 1) is None


@pytest.mark.parametrize("scores", [[1e-20] * 60 + [0.0] * 100, [1e30] * 60 + [-1e30] * 100])
def test_the_size_of_scores_does_not_matter(tx, scores):
    assert leaders(tx, scores, 48) == set(range(60))
