"""Memories found by their keywords: exact, by prefix, by synonym."""

from __future__ import annotations

import pytest
from tests.rows import ago, call, candidate_scores, refused, remember, value


def matches(conn, *words):
    """Score by memory."""
    rows = call(conn, "_keyword_match", user_id="default", words=list(words))
    return {row.memory_id: row.score for row in rows}


def tagged(conn, *tags):
    """A memory with these keywords only."""
    return remember(conn, "".join(tags), keywords=list(tags), kind="fact")


@pytest.fixture(autouse=True)
def bare(tx):
    """No keywords by rule in these tests, and one pair of synonyms."""
    tx.execute("DELETE FROM memoir.synonym")
    tx.execute("INSERT INTO memoir.synonym VALUES ('认证', 'auth', 0.9)")
    tx.execute(
        "CREATE OR REPLACE FUNCTION memoir._keywords(content text)"
        " RETURNS TABLE (keyword text, weight float8) LANGUAGE sql STABLE"
        " AS 'SELECT NULL::text, 0::float8 WHERE false'"
    )


@pytest.mark.parametrize(
    ("word", "keyword", "score"),
    [
        ("deploy", "deploy", 1.0),
        ("Deploy ", "deploy", 1.0),
        ("deploy", "deployment", 0.8),
        ("deployments", "deploy", 0.8),
        ("deployments", "deployed", 0.8),
        ("de", "deploy", None),
        ("认证", "认证失败", 0.8),
        ("认", "认证", None),
        ("认证", "auth", 0.7),
        ("auth", "认证", 0.7),
        ("auth", "认证失败", None),
        ("a.*", "auth", None),
        ("%", "auth", None),
        ("100%", "1000", None),
        ("100%", "100%", 1.0),
        ("a\\b", "a\\b", 1.0),
    ],
)
def test_a_keyword_is_matched_whole_by_prefix_or_by_synonym(tx, word, keyword, score):
    memory_id = tagged(tx, keyword)
    assert matches(tx, word).get(memory_id) == (score and pytest.approx(score))


def test_the_score_is_the_mean_over_the_words_of_the_best_match(tx):
    memory_id = tagged(tx, "auth", "authority", "deployment")
    assert matches(tx, "auth", "deploy", "tea") == pytest.approx({memory_id: (1 + 0.8) / 3})


def test_a_match_counts_the_weight_of_the_keyword(tx):
    memory_id = remember(tx, "tea")
    call(
        tx, "set_keywords", memory_id=memory_id, keywords=["auth", "authority"], weights=[0.5, 1.0]
    )
    assert matches(tx, "auth") == pytest.approx({memory_id: 0.8})


def test_the_matched_keywords_are_named(tx):
    tagged(tx, "auth", "deployment", "tea")
    (row,) = call(tx, "_keyword_match", user_id="default", words=["deploy", "认证"])
    assert row.matched == ["auth", "deployment"]


def test_keywords_of_others_do_not_match(tx):
    remember(tx, "tea", user_id="bob", keywords=["auth"])
    assert matches(tx, "auth") == {}


@pytest.mark.parametrize("words", [[], [""], ["   "], [None]])
def test_no_words_match_nothing(tx, words):
    tagged(tx, "auth")
    assert matches(tx, *words) == {}


def test_a_prefix_is_found_through_the_primary_key(tx):
    tx.execute("SET LOCAL enable_seqscan = off")
    # Of an empty table any index would do.
    tx.execute("DROP INDEX memoir.keyword_memory")
    plan = tx.execute(
        "EXPLAIN SELECT FROM memoir.keyword WHERE user_id = 'a' AND keyword >= 'de'"
        " AND keyword <= 'de' || U&'\\+10FFFF'"
    ).fetchall()
    assert any("Index Cond" in line and "keyword <=" in line for (line,) in plan)


def test_keywords_expand_to_synonyms_and_related_words(tx):
    tx.execute("INSERT INTO memoir.synonym VALUES ('auth', 'login', 0.6), ('auth', 'sso', 0.5)")
    expanded = value(tx, "SELECT memoir.expand_keywords('{认证, 认证 ,TEA}')")
    assert expanded == {
        "original": ["认证", "tea"],
        "synonyms": ["auth"],
        "related": ["login"],
    }


def test_more_than_200_words_are_not_expanded(tx):
    assert refused(tx, "expand_keywords", words=[f"w{n}" for n in range(201)]).sqlstate == "ME008"


def test_keywords_of_later_memories_change_no_recall_of_the_past(tx):
    remember(tx, "auth fails", keywords=["auth"], created_at=ago(days=9))
    before = candidate_scores(tx, "auth cache", mode="search", as_of=ago(days=2))
    remember(tx, "cache is warm", keywords=["cache"], created_at=ago(days=1))
    assert candidate_scores(tx, "auth cache", mode="search", as_of=ago(days=2)) == before != {}
