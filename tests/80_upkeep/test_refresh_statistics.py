"""Word statistics change the speed of recall, never its result."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import (
    MODES,
    call,
    candidate_scores,
    recall,
    remember,
    remember_all,
    row_counts,
    rows_read,
    sentences,
    value,
)


def refresh(conn, **more):
    """How many memories were counted."""
    return call(conn, "refresh_statistics", **more)[0].refresh_statistics


def test_it_says_how_many_memories_were_counted(tx):
    remember_all(tx, ["tea", "milk", "红茶"])
    assert refresh(tx) == 3


def test_it_counts_the_memories_of_one_user(tx):
    remember(tx, "tea", user_id="ada")
    remember_all(tx, ["tea", "milk"], user="bob")
    assert refresh(tx, user_id="bob") == 2
    assert value(tx, "SELECT count(*) FROM memoir.term WHERE user_id = 'ada'") == 0


def test_nothing_to_count_is_fine(tx):
    assert refresh(tx) == 0
    assert recall(tx, "tea").memory_ids == []


def test_each_word_is_counted_once_a_memory(tx):
    remember_all(tx, ["tea tea milk", "tea"])
    refresh(tx)
    counts = tx.execute("SELECT df FROM memoir.term ORDER BY df")
    assert [df for (df,) in counts] == [1, 2]


def test_counting_again_changes_nothing(tx):
    remember_all(tx, sentences(20, 6))
    refresh(tx)
    before = row_counts(tx)
    refresh(tx)
    assert row_counts(tx) == before


def test_a_memory_without_words_is_counted(tx):
    remember_all(tx, ["???", "tea"])
    assert refresh(tx) == 2
    assert candidate_scores(tx, "tea") == pytest.approx({"tea": 1})


@pytest.mark.parametrize("mode", MODES)
def test_a_recall_is_the_same_before_and_after(tx, mode):
    remember_all(tx, sentences(100, 8), "task")
    question = " ".join(sentences(2, 8))
    before = recall(tx, question, mode=mode)
    refresh(tx)
    after = recall(tx, question, mode=mode)
    assert (after.block, after.memory_ids) == (before.block, before.memory_ids)


@pytest.mark.parametrize("words", [3, 20])
def test_a_recall_of_a_time_is_the_same_before_and_after(tx, words):
    remember_all(tx, ["tea " + text for text in sentences(300, words)])
    now = value(tx, "SELECT now()")
    before = recall(tx, "tea", as_of=now)
    refresh(tx)
    after = recall(tx, "tea", as_of=now)
    assert (after.block, after.memory_ids) == (before.block, before.memory_ids)


def test_scores_are_the_same_with_memories_added_after(tx):
    remember_all(tx, sentences(50, 8))
    refresh(tx)
    remember_all(tx, sentences(50, 8, seed=2))
    question = " ".join(sentences(2, 8))
    partly = candidate_scores(tx, question)
    refresh(tx)
    assert candidate_scores(tx, question) == pytest.approx(partly, rel=1e-6)


def test_a_memory_of_a_transaction_open_during_a_count_waits_for_the_next(db, dsn):
    remember(db, "coffee")
    with psycopg.connect(dsn) as slow:
        remember(slow, "tea milk")
        remember_all(db, ["tea", "sugar"])
        refresh(db)
        slow.commit()
    assert len(candidate_scores(db, "tea milk")) == 2
    refresh(db)
    counted = candidate_scores(db, "tea milk")
    db.execute("UPDATE memoir.profile SET counted = 0, counted_up_to = 0")
    assert counted == pytest.approx(candidate_scores(db, "tea milk"), rel=1e-6)


def test_a_memory_no_longer_active_does_not_count(tx):
    remember_all(tx, ["tea", "milk", "tea milk"])
    refresh(tx)
    tx.execute("UPDATE memoir.trace SET active = false WHERE line = 'tea milk'")
    late = candidate_scores(tx, "tea milk")
    refresh(tx)
    assert late == pytest.approx(candidate_scores(tx, "tea milk"), rel=1e-6)


def test_the_words_that_have_synonyms_are_in_the_row_that_every_recall_reads(tx):
    aside = value(
        tx,
        "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'memoir.profile'::regclass",
    )
    tx.execute(
        "INSERT INTO memoir.profile (user_id, expanding)"
        " SELECT 'ann', array_agg(i * 104729) FROM generate_series(1, 1500) AS i"
    )
    assert value(tx, f"SELECT count(*) FROM {aside}") == 0


def test_whether_a_user_is_to_be_counted_is_not_asked_of_all_profiles(tx):
    remember(tx, "tea")
    tx.execute(
        "INSERT INTO memoir.profile (user_id) SELECT 'u' || n FROM generate_series(1, 500) n"
    )
    assert rows_read(tx, "SELECT memoir._uncounted('default')") < 100


def test_which_words_have_synonyms_is_not_looked_up_word_by_word(tx):
    remember(tx, "she drives a car")
    refresh(tx)
    tx.execute(
        "UPDATE pg_class SET relpages = 1, reltuples = 5e7 WHERE oid = 'memoir.term'::regclass"
    )
    tx.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    looks = "SELECT idx_scan FROM pg_stat_xact_user_tables WHERE relid = 'memoir.term'::regclass"
    before = value(tx, looks)
    refresh(tx)
    assert value(tx, looks) - before < 100  # not one for each of 10,000 forms


@pytest.mark.parametrize("change", [("forget", {}), ("update_memory", {"content": "milk"})])
def test_recall_counts_for_itself_once_a_counted_memory_goes_or_says_something_else(tx, change):
    function, more = change
    tea = remember(tx, "tea")
    call(tx, "refresh_statistics")
    assert value(tx, "SELECT counted FROM memoir.profile") == 1
    call(tx, function, memory_id=tea, **more)
    assert value(tx, "SELECT counted FROM memoir.profile") == 0


def test_what_is_forgotten_is_not_counted(tx):
    call(tx, "forget", memory_id=remember(tx, "black tea"))
    remember(tx, "green tea")
    call(tx, "refresh_statistics")
    assert tx.execute("SELECT count(*), sum(df) FROM memoir.term").fetchone() == (2, 2)
