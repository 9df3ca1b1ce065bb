"""Which memories are read for the words of a question, of a user with indexes of his own."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import value

FEATURE = 2**28 + 1


def question(tx: psycopg.Connection, counts: dict[int, int | None]) -> str:
    """A question: its words, and how many memories have each (None: unknown)."""
    tx.cursor().executemany(
        "INSERT INTO memoir.term (user_id, term, df) VALUES ('ada', %s, %s)",
        [(term, count) for term, count in counts.items() if count is not None],
    )
    return "{" + ",".join(f"{term}:0.1" for term in counts) + "}/536870912"


def query(tx: psycopg.Connection, counts: dict[int, int | None], alone: bool = False) -> str | None:
    """The word query of a question."""
    asked = "SELECT memoir._word_query('ada', %s, 100, %s)::text"
    return value(tx, asked, question(tx, counts), alone)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # 4 % of 100 may be read for single words.
        ({1: 2, 2: 2}, "'1' | '2'"),
        ({1: 2, 2: 3}, "'1'"),
        # Of two words one is rare (100), the other not common (800); the rarer ones count along.
        ({1: 2, 2: 3, 3: 50, 4: 400, 5: 1000}, "'1' | '2' & ( '3' | '4' ) | '3' & '4'"),
        ({1: 60, 2: 60, 3: 900}, "'1' & '2'"),
        ({1: 101, 2: 200}, None),
        ({1: 50}, None),
        # Words that no counted memory has are the rarest, features are no words.
        ({1: 4, 2: None, 3: 90, FEATURE: 1}, "'2' | '1'"),
        ({}, None),
    ],
)
def test_rare_words_are_looked_up_alone_and_others_in_pairs(tx, counts, expected):
    assert query(tx, counts) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # Without a vector 20 %, and more while those found by rarer words are few.
        ({1: 10, 2: 10, 3: 70, 4: 200}, "'1' | '2' | '3'"),
        ({1: 20, 2: 20, 3: 50, 4: 200}, "'1' | '2' | '3' & '4'"),
        ({1: None, 2: 90, 3: 600}, "'1' | '2'"),
        ({1: 500, 2: 600}, None),
    ],
)
def test_more_words_are_looked_up_alone_where_there_is_no_vector(tx, counts, expected):
    assert query(tx, counts, alone=True) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({1: 500, 2: 600}, 1),
        ({1: None, 2: 39, 3: 600}, 3),
        ({1: None, 2: 40, 3: 600}, None),
        ({1: 100}, None),
        ({1: None}, None),
    ],
)
def test_a_common_word_is_asked_of_the_newest_if_few_memories_have_a_rarer_one(
    tx, counts, expected
):
    common = "SELECT memoir._common_word('ada', %s, 100)"
    assert value(tx, common, question(tx, counts)) == expected
