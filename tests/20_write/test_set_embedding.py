"""A vector for a memory that is there."""

from __future__ import annotations

import pytest
from tests.rows import call, explain, recall, remember, value


def set_embedding(conn, memory_id, vector, **more):
    arguments = {"memory_id": memory_id, "embedding": vector, **more}
    return call(conn, "set_embedding", **arguments)[0].set_embedding


def test_a_memory_is_found_by_the_vector_it_got(tx):
    memory_id = remember(tx, "tea")
    assert set_embedding(tx, memory_id, "[1,0,0]") is True
    assert recall(tx, query_vec="[1,0,0]").memory_ids == [memory_id]


def test_a_vector_replaces_the_one_before(tx):
    memory_id = remember(tx, "tea", embedding="[1,0,0]")
    set_embedding(tx, memory_id, "[0,1,0]")
    (row,) = explain(tx, query_vec="[0,1,0]")
    assert row.cosine == pytest.approx(1)


def test_a_memory_that_becomes_wide_by_its_vector_is_found(tx):
    memory_id = remember(tx, "tea")
    vector = str([1.0] + [0.0] * 1_535)
    set_embedding(tx, memory_id, vector)
    assert recall(tx, query_vec=vector).memory_ids == [memory_id]
    assert recall(tx, "tea").memory_ids == [memory_id]


def test_a_memory_that_is_not_there_gets_none(tx):
    assert set_embedding(tx, 999_999, "[1,0,0]") is False


def test_a_memory_of_another_user_gets_none(tx):
    memory_id = remember(tx, "tea", user_id="ada")
    assert set_embedding(tx, memory_id, "[1,0,0]", user_id="bob") is False
    assert recall(tx, query_vec="[1,0,0]", user_id="ada").memory_ids == []


def test_a_vector_for_no_memory_does_not_decide_the_dimensions(tx):
    set_embedding(tx, 999_999, "[1,0,0]")
    dimensions = "SELECT dimensions FROM memoir.embedding_model WHERE active"
    assert value(tx, dimensions) is None
