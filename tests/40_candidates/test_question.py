"""The words of a question, weighed by how rare they are in the user's memory."""

from __future__ import annotations

import random

import pytest
from tests import oracle
from tests.examples import share
from tests.rows import (
    NOW,
    ago,
    call,
    candidate_scores,
    explain,
    recall,
    remember,
    remember_all,
    store,
    value,
    working_at_most,
)

pytestmark = pytest.mark.usefixtures("side_by_side")

WORDS = ["tea", "milk", "sugar", "mint", "cup", "running", "芝麻", "橙汁", "柠檬水", "8080"]
MEMORIES = [
    "tea with milk",
    "tea with mint",
    "tea without sugar",
    "the tea house sells cups",
    "柠檬水和牛奶",
    "port 8080",
]
QUESTION = "Which tea has mint? 芝麻还是柠檬水 8080"


def covered(conn, question=QUESTION, **more):
    """Coverage by content, where there is any: the score of facts in a recall without vector."""
    return candidate_scores(conn, question, **more)


def expected(conn, contents, question=QUESTION):
    """Coverage by content, as the oracle computes it."""
    asked, *documents = oracle.tokens(conn, [question, *contents])
    memory = [set(words) for words in documents]
    shares = {c: oracle.coverage(asked, w, memory) for c, w in zip(contents, memory, strict=True)}
    return pytest.approx({c: share for c, share in shares.items() if share}, abs=1e-6)


def test_a_rare_word_weighs_more_than_a_common_one(tx):
    remember_all(tx, ["tea green", "tea black", "tea white", "coffee black"])
    share = covered(tx, "tea coffee")
    assert share["coffee black"] == pytest.approx(1.204 / (1.204 + 0.357), abs=1e-3)
    assert share["tea green"] == pytest.approx(0.357 / (1.204 + 0.357), abs=1e-3)


def test_coverage_is_that_of_the_oracle(tx):
    remember_all(tx, MEMORIES)
    assert covered(tx) == expected(tx, MEMORIES)


def test_coverage_counts_what_was_known_at_the_time(tx):
    store(tx, ({"content": c, "created_at": ago(days=n)} for n, c in enumerate(MEMORIES)))
    assert covered(tx, as_of=ago(days=2)) == expected(tx, MEMORIES[2:])


def test_coverage_after_statistics_is_that_of_the_oracle(tx):
    remember_all(tx, MEMORIES)
    call(tx, "refresh_statistics")
    assert covered(tx) == expected(tx, MEMORIES)


def test_coverage_counts_memories_newer_than_the_statistics(tx):
    remember_all(tx, MEMORIES[:4])
    call(tx, "refresh_statistics")
    remember_all(tx, MEMORIES[4:])
    assert covered(tx) == expected(tx, MEMORIES)


def test_coverage_of_the_past_leaves_the_statistics_aside(tx):
    store(tx, ({"content": c, "created_at": ago(days=n)} for n, c in enumerate(MEMORIES)))
    call(tx, "refresh_statistics")
    assert covered(tx, as_of=ago(days=2)) == expected(tx, MEMORIES[2:])


def test_coverage_does_not_count_the_memories_of_others(tx):
    remember_all(tx, MEMORIES)
    remember_all(tx, ["tea " * n for n in range(1, 30)], user="bob")
    assert covered(tx) == expected(tx, MEMORIES)


def test_coverage_counts_wide_memories_like_others(tx):
    contents = [*MEMORIES, "mint " + "".join(chr(0x4E00 + i) for i in range(500))]
    remember_all(tx, contents)
    assert value(tx, "SELECT count(*) FROM memoir.trace WHERE wide") == 1
    assert covered(tx) == expected(tx, contents)


@pytest.mark.parametrize("seed", range(share(20)))
def test_coverage_of_random_memories_is_that_of_the_oracle(tx, seed):
    source = random.Random(seed)
    contents = {" ".join(source.choices(WORDS, k=source.randint(1, 8))) for _ in range(40)}
    remember_all(tx, sorted(contents)[::2])
    call(tx, "refresh_statistics")
    remember_all(tx, sorted(contents)[1::2])
    question = " ".join(source.choices([*WORDS, "unheard", "未闻"], k=6))
    assert covered(tx, question) == expected(tx, sorted(contents), question)


def test_a_word_said_twice_counts_once(tx):
    remember_all(tx, MEMORIES)
    assert covered(tx, "tea tea tea mint") == covered(tx, "tea mint")


def test_more_than_24_words_of_a_question_count(tx):
    words = [f"word{i:02}" for i in range(80)]
    remember_all(tx, [" ".join(words[:40]), " ".join(words[40:]), words[79]])
    question = " ".join(words)
    contents = [" ".join(words[:40]), " ".join(words[40:]), words[79]]
    assert covered(tx, question) == expected(tx, contents, question)


def test_a_question_of_500_words_keeps_those_the_memory_knows(tx):
    remember_all(tx, ["tea with mint", "water"])
    question = "mint " + " ".join(f"word{i}" for i in range(500))
    assert 0 < covered(tx, question)["tea with mint"] < 0.1


def test_two_words_of_one_hash_are_one_word(tx):
    remember(tx, "x332 x462")
    assert covered(tx, "x332 x462") == pytest.approx({"x332 x462": 1})


@pytest.mark.parametrize("counted", [True, False])
def test_explain_shows_the_coverage_of_recall(tx, counted):
    remember_all(tx, MEMORIES)
    if counted:
        call(tx, "refresh_statistics")
    shown = {row.content: row.coverage for row in explain(tx, QUESTION) if row.coverage}
    assert shown == pytest.approx(covered(tx), abs=1e-6)


def test_a_memory_without_words_covers_nothing(tx):
    remember_all(tx, ["???", "tea"])
    assert covered(tx, "tea") == pytest.approx({"tea": 1})


def test_a_question_without_words_covers_nothing(tx):
    remember_all(tx, MEMORIES)
    assert {row.coverage for row in explain(tx, "???")} == {None}


def test_the_only_word_of_the_only_memory_counts(tx):
    remember(tx, "tea", created_at=NOW)
    assert covered(tx, "tea") == pytest.approx({"tea": 1})


def test_a_question_of_very_many_words_takes_no_more_for_each(tx):
    remember(tx, "tea")
    text = "".join(chr(0x4E00 + n * n % 20011) for n in range(32000))
    with working_at_most(tx, 1.5):  # each looked for among all before it took 3 s
        recall(tx, f"tea {text}", mode="balanced")
