"""The block never exceeds its budget, and uses it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.rows import (
    MODES,
    NOTHING,
    add_event,
    ago,
    call,
    lines,
    recall,
    remember,
    remember_all,
    sentences,
    set_to,
    store,
    until_blocked,
    value,
)

ANY = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=30)
USUAL = st.text("abcdeé 数据库错误，。!?#-_/().,:0123456789\n\t😀", max_size=60)
LONG = st.builds(lambda text, times: text * times, USUAL, st.integers(2, 60))
TEXT = st.one_of(ANY, USUAL, USUAL, LONG)
KIND = st.sampled_from(["task", "learning", "okr", "capability", "turn", "fact", "skill"])
MEMORY = st.tuples(TEXT, KIND, st.none() | USUAL)
GOAL = {"status": "in_progress", "priority": 1, "progress": 42}

# Many budgets have the same block, whose tokens are counted once.
ASK = """
WITH made AS MATERIALIZED (
    SELECT mode, budget, r.tokens, r.block
    FROM generate_series(%(first)s, 1500, 60) AS budget, unnest(%(modes)s::text[]) AS mode,
         memoir.recall(mode => mode, budget => budget, query_text => %(question)s,
                       user_id => %(user)s) AS r
), said AS (
    SELECT block, memoir.estimate_tokens(block) AS tokens
    FROM (SELECT DISTINCT block FROM made) AS different
)
SELECT count(*),
       array_agg(format('%%s in %%s: %%s, really %%s', mode, budget, made.tokens, said.tokens))
           FILTER (WHERE made.tokens > budget OR made.tokens <> said.tokens)
FROM made JOIN said USING (block)
"""


@pytest.fixture
def unlogged(tx):
    """Recalls leave no row in the log, which is a quarter of the time of a small one."""
    set_to(tx, log_recalls=False)
    return tx


# Shrinking a memory of a hundred texts takes minutes; the message names the case.
@examples(100, phases=[Phase.generate])
@given(
    memories=st.lists(MEMORY, max_size=5) | st.lists(MEMORY, min_size=20, max_size=50),
    events=st.lists(TEXT, max_size=5),
    question=st.one_of(st.none(), TEXT, st.just("tea")),
    first=st.integers(1, 60),
)
def test_no_block_is_over_its_budget(unlogged, memories, events, question, first):
    with unlogged.transaction(force_rollback=True):
        given = [
            {"content": f"tea {content}", "kind": kind, "summary": summary, "data": GOAL}
            for content, kind, summary in memories
        ]
        store(unlogged, given, "u")
        for text in events:
            add_event(unlogged, "alert", {"text": text}, user_id="u")
        asked = {"first": first, "modes": list(MODES), "question": question, "user": "u"}
        assert unlogged.execute(ASK, asked).fetchone() == (100, None)


def test_a_block_fits_where_the_sum_of_its_lines_rounds_down(tx):
    remember_all(tx, [f"cup {letter * 22},杯" for letter in "abcdefghijk"])
    made = recall(tx, "cup", budget=93)
    assert value(tx, "SELECT memoir.estimate_tokens(%s)", made.block) <= 93


@pytest.mark.parametrize(("budget", "block"), [(1, ""), (4, ""), (6, NOTHING), (800, NOTHING)])
def test_an_empty_block_says_so_where_there_is_room(tx, budget, block):
    made = recall(tx, "tea", budget=budget)
    assert made.block == block
    assert made.tokens <= budget


def test_a_line_too_long_does_not_end_the_block(tx):
    remember(tx, "tea and " + "much " * 300 + "tea", summary="long " * 40)
    short = remember(tx, "green tea")
    assert recall(tx, "tea", budget=20).memory_ids == [short]


def test_the_summary_stands_in_where_the_whole_does_not_fit(tx):
    remember(tx, "tea and " + "much " * 50, summary="tea in short")
    assert lines(recall(tx, "tea", budget=40).block) == ["tea in short"]
    assert lines(recall(tx, "tea", budget=800).block) == ["tea and " + "much " * 49 + "much"]


def test_a_line_that_just_fits_is_in_the_block(tx):
    remember(tx, "green tea")
    tokens = recall(tx, "tea").tokens
    assert lines(recall(tx, "tea", budget=tokens).block) == ["green tea"]
    assert lines(recall(tx, "tea", budget=tokens - 1).block) == []


def test_a_larger_budget_never_gives_fewer_tokens(tx):
    remember_all(tx, sentences(60, 10))
    used = [recall(tx, budget=budget).tokens for budget in range(10, 800, 50)]
    assert used == sorted(used)


@pytest.mark.parametrize("words", [3, 10, 20])
def test_short_lines_fill_the_budget(tx, words):
    remember_all(tx, sentences(300, words))
    assert recall(tx, budget=800).tokens > 0.8 * 800


@pytest.mark.parametrize("budget", [400, 800, 1_600, 3_000])
def test_short_lines_that_match_fill_the_budget(tx, budget):
    remember_all(tx, ["tea " + text for text in sentences(300, 10)])
    assert recall(tx, "tea", budget=budget).tokens > 0.8 * budget


@pytest.mark.parametrize(
    ("function", "arguments"), [("purge", {}), ("update_memory", {"summary": ""})]
)
def test_a_memory_that_loses_its_short_line_meanwhile_is_left_out(db, dsn, function, arguments):
    source = remember(db, "tea", created_at=ago(days=1))
    note = remember(db, "the samovar " * 40, summary="a samovar", sources=[source])
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        # Recall reads which memory was made from which after it has read the candidates.
        other.execute("LOCK TABLE memoir.relation IN ACCESS EXCLUSIVE MODE")
        made = pool.submit(recall, db, "samovar", budget=20)
        until_blocked(other)
        call(other, function, memory_id=note, **arguments)
        other.commit()
        assert (made.result().block, made.result().memory_ids) == (NOTHING, [])
