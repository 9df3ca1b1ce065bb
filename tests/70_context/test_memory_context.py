"""The block alone, as the next prompt takes it."""

from __future__ import annotations

import pytest
from tests.rows import MODES, NOTHING, recall, remember, remember_all, sentences, value


def test_a_vector_a_mode_and_a_budget_are_enough(tx):
    remember(tx, "green tea", embedding="[1,0,0]")
    block = value(tx, "SELECT memoir.memory_context('[1,0,0]', 'execute', 800)")
    assert block == "## Known facts\n- green tea\n"


def test_no_argument_is_enough(tx):
    assert value(tx, "SELECT memoir.memory_context()") == NOTHING


def test_a_vector_of_a_column_is_taken(tx):
    remember(tx, "green tea", embedding="[1,0,0]")
    asked = "SELECT memoir.memory_context(v, 'chat', 100) FROM (SELECT '[1,0,0]'::halfvec) AS q (v)"
    assert "green tea" in value(tx, asked)


@pytest.mark.parametrize("type", ["halfvec", "vector"])
def test_a_vector_of_any_type_of_pgvector_is_taken(tx, type):
    remember(tx, "green tea", embedding="[1,0,0]")
    asked = f"SELECT memoir.memory_context('[1,0,0]'::{type}, 'execute', 800)"
    assert "green tea" in value(tx, asked)


@pytest.mark.parametrize("mode", MODES)
def test_the_block_is_that_of_recall(tx, mode):
    remember_all(tx, sentences(60, 8), "task")
    question = sentences(1, 12)[0]
    made = recall(tx, question, mode=mode, budget=300)
    asked = "SELECT memoir.memory_context(NULL, %s, 300, %s)"
    assert value(tx, asked, mode, question) == made.block


def test_the_block_is_never_null(tx):
    assert value(tx, "SELECT memoir.memory_context(NULL, 'plan', 1, NULL, NULL, NULL, NULL)") == ""


def test_it_is_logged_like_any_recall(tx):
    value(tx, "SELECT memoir.memory_context(query_text => 'tea')")
    assert value(tx, "SELECT payload ->> 'query' FROM memoir.retrieval_log") == "tea"
