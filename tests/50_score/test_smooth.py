"""Shares of neighbours, against a plain sum, in one piece and in several."""

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
