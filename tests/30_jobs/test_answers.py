"""What the answer of a chat model does: all of it, or nothing."""

from __future__ import annotations

import pytest
from tests.jobs import answered, chat_job, claim, enqueue, finish, job
from tests.rows import call, refused, remember, value


def keywords(conn, memory_id):
    rows = conn.execute(
        "SELECT keyword, weight FROM memoir.keyword WHERE memory_id = %s AND origin = 'llm'"
        " ORDER BY weight DESC",
        (memory_id,),
    )
    return rows.fetchall()


def words(*weights):
    return {"keywords": [{"word": f"word{n}", "weight": w} for n, w in enumerate(weights)]}


def test_keywords_of_a_model_are_stored(tx):
    memory_id = remember(tx, "Ada likes green tea")
    claimed = chat_job(tx, "keywords", {"memory_id": str(memory_id)})
    assert answered(tx, claimed, words(0.9, 0.5)) == "done"
    assert keywords(tx, memory_id) == [("word0", 0.9), ("word1", 0.5)]
    assert answered(tx, claimed, words(0.1)) == "done already"
    assert keywords(tx, memory_id) == [("word0", 0.9), ("word1", 0.5)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "the answer or its schema is NULL"),
        ("no", "the answer must be of type object"),
        ([], "the answer must be of type object"),
        ({}, 'the answer lacks "keywords"'),
        ({"keywords": [{"word": "tea"}]}, 'the answer.keywords[0] lacks "weight"'),
        ({"keywords": [], "delete": "all"}, "the answer.delete is not allowed"),
        (words(2), "the weight of a keyword must be between 0 and 1, not 2"),
        (words(1, 1, 1, 1, 1, 1), "6 keywords, at most 5 are taken"),
    ],
)
def test_an_answer_that_does_not_fit_is_a_failed_attempt_and_changes_nothing(tx, answer, reason):
    memory_id = remember(tx, "Ada likes green tea")
    claimed = chat_job(tx, "keywords", {"memory_id": str(memory_id)})
    said = answered(tx, claimed, answer) if answer is not None else finish(tx, claimed.job_id)
    assert said == "failed"
    assert job(tx, claimed.job_id, "(status, error)") == ("waiting", reason)
    assert keywords(tx, memory_id) == []


def test_the_eighth_answer_that_does_not_fit_is_the_last(tx):
    claimed = chat_job(tx, "keywords", {"memory_id": str(remember(tx, "tea"))})
    tx.execute("UPDATE memoir.job SET attempts = 8")
    assert answered(tx, claimed, {}) == "dead"


def test_a_rolling_summary_starts_from_the_one_before(tx):
    remember(tx, "Ada likes tea")
    call(tx, "set_rolling_summary", summary="Ada is a painter.")
    claimed = chat_job(tx, "rolling_summary", {})
    assert "Ada is a painter." in claimed.messages[1]["content"]
    assert answered(tx, claimed, {"summary": "Ada paints and likes tea."}) == "done"
    assert call(tx, "summary")[0].rolling_summary == "Ada paints and likes tea."


def test_a_rolling_summary_that_is_too_long_is_refused(tx):
    assert refused(tx, "set_rolling_summary", summary="x" * 4001).sqlstate == "ME007"


def test_a_query_is_expanded_by_the_model_once_it_has_answered(tx):
    before = value(tx, "SELECT memoir.expand_query('Auth Error')")
    assert before["original"] == ["auth", "error"]
    assert "认证" in before["synonyms"]
    (claimed,) = claim(tx, kinds=["expand"])
    answer = {
        "core_keywords": ["auth", "Error "],
        "synonyms": [["auth", "sign-in", "认证"], ["error", "failure"]],
        "related_concepts": ["password", "sign-in"],
    }
    assert answered(tx, claimed, answer) == "done"
    assert value(tx, "SELECT memoir.expand_query(' auth error')") == {
        "original": ["auth", "error"],
        "synonyms": ["sign-in", "认证", "failure"],
        "related": ["password"],
    }


def test_a_query_is_enqueued_once_and_told_to_nobody_else(tx):
    for _ in range(2):
        tx.execute("SELECT memoir.expand_query('auth error', 'ada')")
    tx.execute("SELECT memoir.expand_query('auth error', 'bob')")
    jobs = tx.execute("SELECT user_id FROM memoir.job ORDER BY user_id").fetchall()
    assert jobs == [("ada",), ("bob",)]


def test_a_job_that_needs_a_model_waits_without_one(tx):
    enqueue(tx, "rolling_summary")
    row = "SELECT waiting, needs FROM memoir.job_overview WHERE kind = 'rolling_summary'"
    assert tx.execute(row).fetchall() == [(1, "chat")]
