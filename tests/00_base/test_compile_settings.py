"""The settings of a write stand beside the embedding model."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import call, recall, refused, remember, set_to, value

KEPT = "SELECT {} FROM memoir.embedding_model WHERE active"


@pytest.mark.parametrize(
    ("name", "default"), [("text_limit", 10_485_760), ("line_length", 1200), ("brief_length", 200)]
)
def test_a_setting_is_kept_and_follows_its_changes(tx, name, default):
    assert value(tx, KEPT.format(name)) == default
    tx.execute("UPDATE memoir.setting SET value = %s WHERE name = %s", (Jsonb(300), name))
    assert value(tx, KEPT.format(name)) == 300


def test_what_is_not_a_number_follows_too(tx):
    assert value(tx, KEPT.format("notify"))
    set_to(tx, notify=False)
    assert not value(tx, KEPT.format("notify"))


def test_a_write_goes_by_the_changed_settings(tx):
    set_to(tx, line_length=10)
    remember(tx, "tea is green and hot")
    assert value(tx, "SELECT line FROM memoir.trace") == "tea is gr…"
    set_to(tx, text_limit=10)
    assert refused(tx, "remember", content="tea is black").sqlstate == "ME007"


def test_without_the_setting_there_is_no_limit(tx):
    tx.execute("DELETE FROM memoir.setting WHERE name = 'text_limit'")
    assert call(tx, "remember", content="x" * 10_485_761)[0].action == "ADD"


@pytest.mark.parametrize("dimensions", [1, 1536, 3072, 4000])
def test_all_words_of_a_memory_are_found_beside_any_vector(tx, dimensions):
    words = [f"word{number}" for number in range(500)]
    vector = str([1 / (number + 1) for number in range(dimensions)])
    memory_id = remember(tx, " ".join(words), embedding=vector)
    assert value(tx, "SELECT term_count FROM memoir.trace") == 500
    made = recall(tx, words[-1], query_vec=vector, budget=10_000)
    assert made.memory_ids == [memory_id]
