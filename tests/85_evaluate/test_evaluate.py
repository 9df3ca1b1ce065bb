"""The measures of recall on gold sets, against the oracle's, and that measuring leaves no trace."""

from __future__ import annotations

import random

import psycopg
import pytest
from tests import oracle
from tests.examples import share
from tests.rows import call, recall, refused, remember, remember_all, row_counts, sentences, value

MEASURES = ("recall_at_k", "reciprocal_rank", "ndcg_at_k", "evidence_in_budget")


def add(conn, query, relevant_ids, **more):
    """Add a question to the set tea."""
    call(conn, "gold_add", **{"gold_set": "tea", **more}, query=query, relevant_ids=relevant_ids)


def judged(conn, **more):
    """One row a question of the set tea."""
    return call(conn, "evaluate_queries", **{"gold_set": "tea", **more})


def measure(conn, memory_ids, k):
    """What the SQL measures of a made-up block for the only question."""
    (row,) = conn.execute(
        f"SELECT {', '.join(MEASURES)}"
        " FROM memoir.gold AS g, memoir._measure(g.user_id, g.gold_id, %s, %s)",
        (memory_ids, k),
    ).fetchall()
    return row


def measured_by_hand(places, grades, k):
    """The same by the oracle."""
    return (
        oracle.recall_at(places, k),
        oracle.reciprocal_rank(places),
        oracle.ndcg_at(places, grades, k),
        oracle.evidence(places),
    )


@pytest.mark.parametrize("seed", range(share(30)))
def test_the_measures_are_those_of_the_oracle(tx, seed):
    source = random.Random(seed)
    ids = remember_all(tx, sentences(20, 3))
    relevant = source.sample(ids, source.randint(1, 8))
    grades = [source.choice((1, 1, 2, 3)) for _ in relevant]
    add(tx, "which?", relevant, grades=grades)
    for _ in range(10):
        block = source.sample(ids, source.randint(0, 20))
        k = source.randint(1, 20)
        places = [block.index(each) + 1 if each in block else None for each in relevant]
        assert measure(tx, block, k) == pytest.approx(measured_by_hand(places, grades, k))


@pytest.mark.parametrize("seed", range(share(30)))
def test_a_fact_in_the_block_stands_for_the_turns_it_comes_from(tx, seed):
    source = random.Random(seed)
    ids = remember_all(tx, sentences(16, 3))
    facts, turns = ids[:6], ids[6:]
    pairs = {(fact, turn) for fact in facts for turn in source.sample(turns, 3)}
    tx.cursor().executemany(
        "INSERT INTO memoir.relation (user_id, from_id, to_id, type)"
        " VALUES ('default', %s, %s, 'derived_from')",
        sorted(pairs),
    )
    grades = [source.choice((1, 2)) for _ in turns[:5]]
    add(tx, "which?", turns[:5], grades=grades)
    block = source.sample(ids, 8)
    places = [
        min((n for n, each in enumerate(block, 1) if each == t or (each, t) in pairs), default=None)
        for t in turns[:5]
    ]
    assert measure(tx, block, 4) == pytest.approx(measured_by_hand(places, grades, 4))


def test_a_fact_that_stands_for_both_turns_is_the_best_there_can_be(tx):
    fact, one, other = remember_all(tx, ["ada met bob in rome", "we met", "in rome"])
    for turn in (one, other):
        tx.execute(
            "INSERT INTO memoir.relation VALUES ('default', %s, %s, 'derived_from')", (fact, turn)
        )
    add(tx, "where?", [one, other])
    assert measure(tx, [fact], 10) == (1, 1, 1, 1)


def test_other_relations_do_not_count(tx):
    one, other = remember_all(tx, ["tea", "milk"])
    tx.execute("INSERT INTO memoir.relation VALUES ('default', %s, %s, 'related')", (one, other))
    add(tx, "which?", [other])
    assert measure(tx, [one], 10) == (0, 0, 0, 0)


def test_what_is_measured_is_what_recall_serves(tx):
    ids = remember_all(tx, ["green tea", "black tea", "milk", "tea with milk"])
    add(tx, "black tea?", [ids[1], ids[2]])
    (row,) = judged(tx, mode="chat", budget=14, k=1)
    served = recall(tx, "black tea?", mode="chat", budget=14)
    assert served.memory_ids[0] == ids[1]
    assert ids[2] not in served.memory_ids
    assert (row.relevant, row.in_block, row.first_place, row.missed_ids) == (2, 1, 1, [ids[2]])
    assert (row.recall_at_k, row.reciprocal_rank, row.evidence_in_budget) == (0.5, 1, 0.5)
    assert row.tokens == served.tokens
    assert row.elapsed_ms > 0


def test_a_question_with_a_vector_is_asked_with_it(tx):
    ids = [remember(tx, "red", embedding="[1,0,0]"), remember(tx, "blue", embedding="[0,1,0]")]
    add(tx, "what colour?", ids[1:], query_vec="[0,1,0]")
    assert judged(tx)[0].first_place == 1
    assert recall(tx, "what colour?").memory_ids == []


def test_a_vector_of_another_model_is_left_out(tx):
    memory_id = remember(tx, "red", embedding="[1,0,0]")
    add(tx, "colour?", [memory_id], query_vec="[1,0,0]")
    tx.execute("UPDATE memoir.gold SET model = 2")
    assert judged(tx)[0].in_block == 0


def test_given_vectors_are_asked_with_before_the_stored_ones(tx):
    ids = [remember(tx, "red", embedding="[1,0,0]"), remember(tx, "blue", embedding="[0,1,0]")]
    for question in ("what colour?", "which hue?"):
        add(tx, question, ids[1:], query_vec="[1,0,0]")
    rows = judged(tx, query_vecs=["[0,1,0]", None])
    assert [row.first_place for row in rows] == [1, None]


def test_a_chinese_question_finds_its_memory(tx):
    remember_all(tx, ["今天部署了数据库", "周末去爬山"])
    add(tx, "数据库什么时候部署的？", None, relevant_content=["今天部署了数据库"])
    assert [(row.first_place, row.ndcg_at_k) for row in judged(tx)] == [(1, 1)]


def test_the_summary_is_the_mean_of_the_questions(tx):
    ids = remember_all(tx, ["green tea", "black tea", "milk"])
    add(tx, "black tea?", [ids[1]])
    add(tx, "milk?", [ids[2], ids[0]])
    add(tx, "coffee?", [ids[0]])
    rows = judged(tx, k=3)
    (summary,) = call(tx, "evaluate", gold_set="tea", k=3)
    means = [sum(getattr(row, name) for row in rows) / 3 for name in (*MEASURES, "tokens")]
    assert summary.queries == 3
    assert [
        summary.recall_at_k,
        summary.mrr,
        summary.ndcg_at_k,
        summary.evidence_in_budget,
        summary.tokens,
    ] == pytest.approx(means)
    assert summary.p50_ms > 0
    assert summary.evidence_in_budget == 0.5


def test_questions_without_memories_left_do_not_count(tx):
    ids = remember_all(tx, ["green tea", "milk"])
    add(tx, "tea?", ids[:1])
    add(tx, "milk?", ids[1:])
    tx.execute("DELETE FROM memoir.memory WHERE memory_id = %s", (ids[1],))
    assert [row.evidence_in_budget for row in judged(tx)] == [1, None]
    (summary,) = call(tx, "evaluate", gold_set="tea")
    assert (summary.queries, summary.recall_at_k) == (1, 1)


def test_with_no_question_left_the_means_are_null(tx):
    add(tx, "tea?", [remember(tx, "green tea")])
    tx.execute("DELETE FROM memoir.memory")
    (summary,) = call(tx, "evaluate", gold_set="tea")
    assert (summary.queries, summary.mrr, summary.p50_ms) == (0, None, None)


def test_evaluation_leaves_no_row_anywhere(tx):
    add(tx, "tea?", [remember(tx, "green tea")])
    recall(tx, "tea")
    before = row_counts(tx)
    call(tx, "evaluate", gold_set="tea")
    assert row_counts(tx) == before
    assert before["retrieval"] == 1


def test_after_an_evaluation_the_transaction_can_write(tx):
    add(tx, "tea?", [remember(tx, "green tea")])
    call(tx, "evaluate", gold_set="tea")
    assert recall(tx, "tea").retrieval_id is not None
    assert remember(tx, "written after it") > 0


def test_results_of_an_evaluation_can_be_stored_by_the_same_statement(tx):
    add(tx, "tea?", [remember(tx, "green tea")])
    tx.execute("CREATE TABLE kept AS SELECT * FROM memoir.evaluate('tea')")
    tx.execute("INSERT INTO kept SELECT * FROM memoir.evaluate('tea')")
    assert value(tx, "SELECT count(*) FROM kept") == 2


def test_evaluation_works_in_a_read_only_transaction(tx):
    add(tx, "tea?", [remember(tx, "green tea")])
    tx.execute("SET TRANSACTION READ ONLY")
    assert judged(tx)[0].in_block == 1
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), tx.transaction():
        remember(tx, "milk")


def test_users_are_measured_on_their_own_memories(tx):
    for user in ("ada", "bob"):
        memory_id = remember(tx, f"tea of {user}", user_id=user)
        add(tx, f"tea of {user}?", [memory_id], user_id=user)
    for user in ("ada", "bob"):
        (row,) = judged(tx, user_id=user)
        assert (row.query, row.in_block, row.first_place) == (f"tea of {user}?", 1, 1)


def test_an_unknown_set_is_refused_with_the_names_of_the_others(tx):
    add(tx, "tea?", [remember(tx, "green tea")])
    for function in ("evaluate", "evaluate_queries", "gold_queries"):
        said = refused(tx, function, gold_set="coffee")
        assert (said.sqlstate, said.message_detail) == ("ME012", "Gold sets: tea")


def test_the_set_of_another_user_is_unknown(tx):
    add(tx, "tea?", [remember(tx, "tea", user_id="ada")], user_id="ada")
    said = refused(tx, "evaluate", gold_set="tea", user_id="bob")
    assert (said.sqlstate, said.message_detail) == ("ME012", "Gold sets: none")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"k": 0}, "ME008"),
        ({"k": 1001}, "ME008"),
        ({"k": None}, "ME008"),
        ({"query_vecs": ["[1,0,0]", None]}, "ME008"),
        ({"query_vecs": ["[0,0,0]"]}, "ME004"),
        ({"mode": "nobody"}, "ME001"),
        ({"mode": None}, "ME001"),
        ({"budget": 0}, "ME005"),
        ({"budget": None}, "ME005"),
        ({"gold_set": None}, "ME012"),
        ({"user_id": "bob"}, "ME012"),
        ({"user_id": " "}, "ME006"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(tx, arguments, code):
    add(tx, "tea?", [remember(tx, "green tea", user_id="ada")], user_id="ada")
    good = {"gold_set": "tea", "user_id": "ada"}
    said = refused(tx, "evaluate", **(good | arguments))
    assert (said.sqlstate, bool(said.message_hint)) == (code, True)
