"""What recall reads of a memory: its line, its short line, its words."""

from __future__ import annotations

import pytest
from tests.rows import NOTHING, ago, call, found, lines, recall, remember, value

LONG = "The tea house opened early. " * 20


def test_a_memory_is_shown_as_it_was_written(tx):
    remember(tx, "Tea, green: 3 cups (no milk)!")
    assert lines(recall(tx, "tea").block) == ["Tea, green: 3 cups (no milk)!"]


def test_a_summary_stands_in_where_only_it_fits(tx):
    memory_id = remember(tx, LONG, summary="Tea opened early.")
    made = recall(tx, "tea", budget=20)
    assert lines(made.block) == ["Tea opened early."]
    assert made.memory_ids == [memory_id]


@pytest.mark.parametrize("summary", ["", "   ", "\n\t\n", "\x01"])
def test_a_blank_summary_is_no_summary(tx, summary):
    remember(tx, LONG, summary=summary)
    assert recall(tx, "tea", budget=20).block == NOTHING


def test_a_text_that_fits_is_not_replaced_by_its_summary(tx):
    remember(tx, LONG, summary="Tea opened early.")
    assert lines(recall(tx, "tea").block) == [LONG.strip()]


def test_the_beginning_of_a_long_text_stands_in_where_only_it_fits(tx):
    remember(tx, LONG)
    (line,) = lines(recall(tx, "tea", budget=60).block)
    assert line == LONG[:199] + "…"


def test_a_short_text_without_summary_is_never_cut(tx):
    remember(tx, "The tea house opened early and sold cake.")
    assert recall(tx, "tea", budget=10).memory_ids == []


def test_words_behind_the_end_of_the_line_are_found(tx):
    memory_id = remember(tx, "filler " * 400 + "samovar")
    remember(tx, "something else")
    assert recall(tx, "samovar").memory_ids == [memory_id]


def test_the_words_of_a_summary_are_not_the_memorys(tx):
    remember(tx, "The house opened early", summary="samovar")
    assert recall(tx, "samovar").memory_ids == []


def test_the_words_of_a_subject_are_searched_with_those_of_the_text(tx):
    memory_id = remember(tx, "is green", subject="favourite colour", created_at=ago(days=5))
    assert found(tx, "my favourite colour") == ["is green"]
    call(tx, "update_memory", memory_id=memory_id, content="is red", subject="preferred paint")
    assert found(tx, "favourite colour") == []
    assert found(tx, "which paint?") == ["is red"]
    assert found(tx, "favourite colour", as_of=ago(days=4)) == ["is green"]


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("words", [10, 256])
def test_a_text_of_256_different_words_is_found_by_each(tx, words):
    text = [f"word{number}" for number in range(words)]
    memory_id = remember(tx, " ".join(text))
    assert all(recall(tx, word, budget=2_000).memory_ids == [memory_id] for word in text)


@pytest.mark.usefixtures("planned_once")
def test_a_longer_text_is_found_by_an_even_sample_of_its_words(tx):
    text = [f"word{number}" for number in range(1_500)]
    remember(tx, " ".join(text))
    found = [i for i in range(0, 1_500, 3) if recall(tx, text[i]).memory_ids]
    assert len(found) > 100
    assert 600 < sum(found) / len(found) < 900


@pytest.mark.parametrize("dimensions", [1, 1536, 3072, 4000])
def test_all_words_of_a_memory_are_found_beside_any_vector(tx, dimensions):
    words = [f"word{number}" for number in range(500)]
    vector = str([1 / (number + 1) for number in range(dimensions)])
    memory_id = remember(tx, " ".join(words), embedding=vector)
    assert value(tx, "SELECT term_count FROM memoir.trace") == 500
    made = recall(tx, words[-1], query_vec=vector, budget=10_000)
    assert made.memory_ids == [memory_id]
