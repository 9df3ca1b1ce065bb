"""Synonyms of the words of a question: what they find, and what they weigh."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from tests import oracle
from tests.rows import ago, call, candidate_scores, remember, remember_all, store, value

PAIRS = [
    ("认证", "auth", 0.7),
    ("失败", "error", 0.7),
    ("失败", "fail", 0.9),
    ("数据库", "database", 0.9),
    ("数据", "data", 0.5),
    ("权限", "access control", 0.8),
    ("权限", "access", 0.7),
    ("k8s", "kubernetes", 0.9),
]
MEMORIES = [
    "auth error in the gateway",
    "the database has no access control",
    "data of the kubernetes nodes",
    "认证服务的数据库",
    "failed errors, failed access",
    "control the gateway",
]
QUESTIONS = [
    "认证失败",
    "auth 认证 error",
    "数据库的权限",
    "k8s nodes",
    "access control of the database",
    "control",
    "gateway 失败 k8s",
]


def seed(conn, pairs=PAIRS):
    """These pairs alone are synonyms; each statement compiles all of them."""
    conn.execute("DELETE FROM memoir.synonym")
    columns = [[*column] for column in zip(*pairs, strict=True)] or [[], [], []]
    every = "SELECT * FROM unnest(%s::text[], %s::text[], %s::float8[])"
    conn.execute(f"INSERT INTO memoir.synonym {every}", columns)


def expected(conn, contents, question):
    """Coverage by content, in naive Python: 1 - (cost of what is missing), synonyms counted."""
    both_ways = [(b, a, s) for a, b, s in PAIRS] + list(PAIRS)
    words = [w for a, b, _ in both_ways for w in (a, b)]
    asked, *rest = oracle.tokens(conn, [question, *contents, *words])
    memory = [set(each) for each in rest[: len(contents)]]
    spelled = dict(zip(words, map(set, rest[len(contents) :]), strict=True))
    df = Counter(word for each in memory for word in each)
    weight, whole = Counter(), 0.0
    for word in asked:
        forms = [
            (spelled[b] - spelled[a], s / len(spelled[b]))
            for a, b, s in both_ways
            if word in spelled[a] <= set(asked)
        ]
        n = max([df[word], *(min((df[w] for w in form), default=0) for form, _ in forms)])
        idf = math.log(1 + (len(memory) - n + 0.5) / (n + 0.5))
        best = {word: 1.0}
        for form, share in forms:
            best |= {w: max(share, best.get(w, 0)) for w in form}
        weight.update({w: share * idf for w, share in best.items()})
        whole += idf
    shares = {
        content: sum(weight[w] for w in each) / whole
        for content, each in zip(contents, memory, strict=True)
    }
    return pytest.approx({content: share for content, share in shares.items() if share}, abs=1e-6)


def test_a_question_in_chinese_finds_a_memory_in_english(tx):
    remember_all(tx, ["auth error after the upgrade", "tea with lemon"])
    assert candidate_scores(tx, "认证失败")["auth error after the upgrade"] > 0.3


def test_a_question_in_english_finds_a_memory_in_chinese(tx):
    remember_all(tx, ["昨天认证服务失败了", "柠檬茶"])
    assert candidate_scores(tx, "auth failure")["昨天认证服务失败了"] > 0.4


@pytest.mark.parametrize("question", QUESTIONS)
def test_coverage_with_synonyms_is_that_of_the_oracle(tx, question):
    seed(tx)
    remember_all(tx, MEMORIES)
    assert candidate_scores(tx, question) == expected(tx, MEMORIES, question)


@pytest.mark.parametrize("counted", range(0, len(MEMORIES) + 1, 2))
@pytest.mark.parametrize("question", QUESTIONS)
def test_synonyms_weigh_the_same_however_many_memories_are_counted(tx, question, counted):
    seed(tx)
    remember_all(tx, MEMORIES[:counted])
    call(tx, "refresh_statistics")
    remember_all(tx, MEMORIES[counted:])
    assert candidate_scores(tx, question) == expected(tx, MEMORIES, question)


def test_synonyms_weigh_what_was_known_at_the_time(tx):
    seed(tx)
    store(tx, ({"content": c, "created_at": ago(days=n)} for n, c in enumerate(MEMORIES)))
    scores = candidate_scores(tx, "数据库的权限", as_of=ago(days=1))
    assert scores == expected(tx, MEMORIES[1:], "数据库的权限")


def test_a_memory_that_has_ended_is_found_by_synonyms_as_of_before(tx):
    old = remember(tx, "auth error after the upgrade", created_at=ago(days=9))
    new = remember(tx, "tea with lemon", created_at=ago(days=1))
    before = candidate_scores(tx, "认证失败", as_of=ago(days=2))
    call(tx, "supersede", memory_id=old, by_id=new)
    assert candidate_scores(tx, "认证失败", as_of=ago(days=2)) == before != {}


def test_words_weigh_what_the_texts_of_that_time_make_them(tx):
    ids = remember_all(tx, ["auth error", "auth works", "tea"])
    tx.execute("UPDATE memoir.memory SET created_at = %s", (ago(days=9),))
    tx.execute("UPDATE memoir.trace SET created_at = %s", (ago(days=9),))
    asked = {"query_text": "认证 error tea", "as_of": ago(days=2)}
    before = [(row.memory_id, row.coverage) for row in call(tx, "memory_explain", **asked)]
    call(tx, "update_memory", memory_id=ids[1], content="milk")
    call(tx, "update_memory", memory_id=ids[0], content="coffee")
    after = [(row.memory_id, row.coverage) for row in call(tx, "memory_explain", **asked)]
    assert after == before


@pytest.mark.parametrize("length", range(20))
def test_synonyms_of_random_questions_are_those_of_the_oracle(tx, length):
    source = random.Random(length)
    seed(tx)
    contents = {" ".join(source.sample(MEMORIES, 2)) for _ in range(6)} | set(MEMORIES)
    remember_all(tx, sorted(contents)[::2])
    call(tx, "refresh_statistics")
    remember_all(tx, sorted(contents)[1::2])
    question = " ".join(source.sample([w for a, b, _ in PAIRS for w in (a, b)], 1 + length % 7))
    assert candidate_scores(tx, question) == expected(tx, sorted(contents), question)


def test_a_term_of_two_words_needs_both(tx):
    seed(tx, [("权限", "access control", 0.8)])
    remember_all(tx, ["权限", "tea"])
    assert candidate_scores(tx, "access") == {}
    assert candidate_scores(tx, "access control") == pytest.approx({"权限": 0.8})


def test_a_word_of_three_characters_needs_them_all(tx):
    seed(tx, [("数据库", "database", 0.9)])
    remember_all(tx, ["database", "tea"])
    assert candidate_scores(tx, "数据") == {}
    assert candidate_scores(tx, "数据库") == pytest.approx({"database": 0.9})


def test_a_new_pair_counts_at_once_and_a_deleted_one_no_longer(tx):
    seed(tx, [])
    remember(tx, "tea")
    tx.execute("INSERT INTO memoir.synonym VALUES ('chai', 'tea')")
    assert candidate_scores(tx, "chai") == pytest.approx({"tea": 0.7})
    tx.execute("UPDATE memoir.synonym SET similarity = 0.5")
    assert candidate_scores(tx, "chai") == pytest.approx({"tea": 0.5})
    tx.execute("DELETE FROM memoir.synonym")
    assert candidate_scores(tx, "chai") == {}


def test_each_way_may_have_a_similarity_of_its_own(tx):
    seed(tx, [("chai", "tea", 0.9), ("tea", "chai", 0.2)])
    remember_all(tx, ["tea"])
    remember_all(tx, ["chai"], user="bob")
    assert candidate_scores(tx, "chai") == pytest.approx({"tea": 0.9})
    assert candidate_scores(tx, "tea", user_id="bob") == pytest.approx({"chai": 0.2})


def test_a_common_synonym_does_not_outweigh_a_rare_word(tx):
    seed(tx, [("glitch", "error", 0.7)])
    remember_all(tx, [*(f"error {n}" for n in range(20)), "the lemon"])
    scores = candidate_scores(tx, "glitch lemon")
    assert scores["the lemon"] > 0.9
    assert scores["error 3"] < 0.1


@pytest.mark.parametrize("question", ["认证" * 5_000, "的" * 10_000, "???", "的了吗", "the of and"])
def test_a_question_of_any_length_or_without_words_is_no_error(tx, question):
    remember_all(tx, ["auth error", "tea"])
    matching = {"auth error"} if "认证" in question else {"auth error", "tea"}
    assert set(candidate_scores(tx, question)) == matching


def test_a_long_question_keeps_the_words_whose_synonyms_are_known(tx):
    seed(tx)
    remember_all(tx, ["auth of the gateway", "tea"])
    question = "认证 " + " ".join(f"word{n}" for n in range(300))
    assert "auth of the gateway" in candidate_scores(tx, question)


def test_the_seed_has_hundreds_of_pairs_each_once(tx):
    assert value(tx, "SELECT count(*) FROM memoir.synonym") > 250
    twice = (
        "SELECT count(*) FROM memoir.synonym AS a JOIN memoir.synonym AS b"
        " ON (a.term, a.synonym) = (b.synonym, b.term)"
    )
    assert value(tx, twice) == 0


def test_no_term_of_the_seed_loses_a_word_to_the_stop_words(tx):
    terms = tx.execute("SELECT term FROM memoir.synonym UNION SELECT synonym FROM memoir.synonym")
    terms = [term for (term,) in terms]
    words = oracle.tokens(tx, terms)
    english = [(t, w) for t, w in zip(terms, words, strict=True) if t.isascii()]
    assert [term for term, w in english if len(w) < len(term.split())] == []
    assert [term for term, w in zip(terms, words, strict=True) if not w] == []


def test_the_words_of_a_question_are_named_with_their_expansions(tx):
    seed(tx)
    remember_all(tx, ["auth error", "tea"])
    rows = call(tx, "_question_words", user_id="default", query_text="认证失败")
    assert {(r.word, r.form, r.similarity) for r in rows if r.weight} == {
        ("认证", "认证", 1),
        ("证失", "证失", 1),
        ("失败", "失败", 1),
        ("认证", "auth", 0.7),
        ("失败", "error", 0.7),
    }


def test_the_named_words_weigh_what_the_memory_is_covered_by(tx):
    remember_all(tx, ["auth error", "tea"])
    rows = call(tx, "_question_words", user_id="default", query_text="认证失败")
    terms = "SELECT -(terms OPERATOR(public.<#>) %s::public.sparsevec) > 0 FROM memoir.trace"
    terms += " WHERE line = 'auth error'"
    has = {r.term: value(tx, terms, f"{{{r.term}:1}}/536870912") for r in rows}
    covered = sum({r.term: r.weight for r in rows if has[r.term]}.values())
    assert candidate_scores(tx, "认证失败")["auth error"] == pytest.approx(covered, abs=1e-6)
