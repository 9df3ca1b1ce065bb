"""Types that drivers and columns have, where a function takes another: no cast is needed."""

from __future__ import annotations

import pytest
from tests.rows import value


@pytest.fixture
def vectors(tx):
    """The schema of pgvector's types."""
    tx.execute("SELECT memoir.use_model('three', 3)")
    return value(tx, "SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'vector'")


def test_a_recall_takes_other_texts_numbers_vectors_and_times(tx, vectors):
    block = value(
        tx,
        f"SELECT memoir.memory_context('[1,0,0]'::{vectors}.vector, 'debug'::char(9),"
        " 800::smallint, 'tea'::varchar, 'ada'::name, as_of => date '2026-01-01')",
    )
    assert block == "(no relevant memory)"


@pytest.mark.parametrize("share", ["0.5", "0.5::real", "1", "1::smallint"])
def test_a_memory_takes_shares_of_any_number(tx, share):
    asked = (
        f"SELECT action FROM memoir.remember('tea', importance => {share}, confidence => {share})"
    )
    assert value(tx, asked) == "ADD"


def test_a_memory_takes_other_arrays_and_times(tx, vectors):
    assert value(
        tx,
        "SELECT action FROM memoir.remember('tea', keywords => '{green}'::varchar[],"
        f" sources => '{{}}'::int[], embedding => '[1,0,0]'::{vectors}.vector,"
        " created_at => timestamp '2026-01-01 10:00', valid_until => date '2099-01-01')",
    )


def test_a_table_is_named_by_a_text(tx):
    tx.execute("CREATE TABLE note (id int PRIMARY KEY, content text, created_at timestamptz)")
    asked = "SELECT memoir.attach_source('n', 'fact', 'public.note'::varchar, user_id => 'ada')"
    assert value(tx, asked) == "filling"
