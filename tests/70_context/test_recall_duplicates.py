"""A block says nothing twice: near-duplicates give one line."""

from __future__ import annotations

from itertools import combinations

import pytest
from tests import oracle
from tests.rows import (
    MODES,
    NOW,
    ago,
    call,
    found,
    recall,
    remember,
    remember_all,
    sentences,
    value,
)

pytestmark = pytest.mark.usefixtures("side_by_side")


def test_two_memories_of_the_same_words_give_one_line(tx):
    remember(tx, "the tea is green", created_at=ago(days=1))
    remember(tx, "The tea is GREEN!", created_at=NOW)
    assert found(tx, "tea") == ["The tea is GREEN!"]


def test_two_memories_that_differ_in_one_word_of_ten_give_one_line(tx):
    remember(tx, "tea lemon milk sugar cup water house pot kettle green")
    remember(tx, "tea lemon milk sugar cup water house pot kettle black")
    assert len(found(tx, "tea lemon")) == 1


def test_two_memories_that_differ_in_half_their_words_give_two(tx):
    remember(tx, "tea lemon milk sugar")
    remember(tx, "tea lemon cup water")
    assert len(found(tx, "tea lemon")) == 2


def test_near_duplicates_of_different_kinds_give_one_line(tx):
    remember(tx, "tea lemon milk sugar cup", "fact")
    remember(tx, "tea lemon milk sugar cup", "preference")
    assert len(found(tx, "tea lemon")) == 1


def test_chinese_near_duplicates_give_one_line(tx):
    remember(tx, "用户登录的时候认证服务返回了错误")
    remember(tx, "用户登录的时候认证服务返回了错误。")
    assert len(found(tx, "认证错误")) == 1


def test_the_better_of_two_near_duplicates_stays(tx):
    remember(tx, "tea lemon milk sugar cup", "task", created_at=ago(days=60))
    remember(tx, "tea lemon milk sugar cup", "learning", created_at=ago(days=60))
    made = recall(tx, "tea", mode="debug", as_of=NOW)
    assert "## Learnings" in made.block


def test_a_duplicate_leaves_its_room_to_another(tx):
    remember(tx, "tea lemon milk sugar cup")
    remember(tx, "tea lemon milk sugar cup!")
    remember(tx, "tea house")
    assert len(found(tx, "tea", budget=30)) == 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(5))
def test_any_two_of_the_top_five_are_below_four_fifths(tx, mode, seed):
    contents = sentences(8, 9, seed)
    for content in sentences(8, 9, seed):
        words = content.split()
        contents += [" ".join([*words[:-n], f"x{n}"]) for n in (1, 2, 3)]
    ids = dict(zip(remember_all(tx, contents), contents, strict=True))
    made = recall(tx, " ".join(contents[:8]), mode=mode)
    top = [set(words) for words in oracle.tokens(tx, [ids[i] for i in made.memory_ids[:5]])]
    assert len(top) == 5
    assert max(oracle.jaccard(a, b) for a, b in combinations(top, 2)) < 0.8


def test_mmr_puts_another_subject_before_more_of_the_same(tx):
    remember(tx, "tea lemon milk sugar one", created_at=NOW)
    remember(tx, "tea lemon milk sugar two three", created_at=ago(days=1))
    remember(tx, "tea house", created_at=ago(days=2))
    tx.execute("UPDATE memoir.mode SET mmr_lambda = 0.5")
    assert found(tx, "tea")[1] == "tea house"


def test_statistics_do_not_change_what_is_a_duplicate(tx):
    remember_all(tx, ["tea lemon milk sugar cup", "tea lemon milk sugar cup!", "tea"])
    before = found(tx, "tea")
    call(tx, "refresh_statistics")
    assert found(tx, "tea") == before
    assert value(tx, "SELECT count(*) FROM memoir.memory") == 3
