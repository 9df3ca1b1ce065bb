"""Memories without a vector are the queue of the embedding model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from tests.jobs import claim, enqueue, fail, finish, job, ready
from tests.rows import call, recall, remember, remember_all, rows_read, value

LATER = datetime.now(UTC) + timedelta(days=2)


def vectors(conn):
    """Content of the memories with a vector, and the vector."""
    rows = conn.execute(
        "SELECT m.content, t.embedding::text FROM memoir.memory AS m"
        " JOIN memoir.trace AS t USING (user_id, memory_id)"
        " WHERE t.embedding IS NOT NULL ORDER BY m.memory_id"
    )
    return dict(rows.fetchall())


def errors(*places):
    return {"errors": [{"text": place, "error": "too long"} for place in places]}


def test_a_memory_without_a_vector_is_ready_and_gets_it(tx):
    remember(tx, "tea")
    assert value(tx, "SELECT count(*) FROM memoir.job") == 0
    assert ready(tx) == [("default", 1)]
    (taken,) = claim(tx)
    assert (taken.kind, taken.texts, taken.attempts) == ("embed", ["tea"], 1)
    assert finish(tx, taken.job_id, embeddings=["[1,0]"], worker="w1") == "done"
    assert vectors(tx) == {"tea": "[1,0]"}
    assert (ready(tx), claim(tx)) == ([], [])


def test_a_memory_with_a_vector_waits_for_none(tx):
    remember(tx, "tea", embedding="[1,0]")
    assert (ready(tx), claim(tx)) == ([], [])


def test_vectors_are_taken_in_the_order_of_the_texts(tx):
    remember_all(tx, ["tea", "milk", "sugar"])
    (taken,) = claim(tx)
    assert taken.texts == ["tea", "milk", "sugar"]
    finish(tx, taken.job_id, embeddings=["[1,0]", "[0,1]", "[1,1]"])
    assert vectors(tx) == {"tea": "[1,0]", "milk": "[0,1]", "sugar": "[1,1]"}
    assert recall(tx, query_vec="[0,1]").memory_ids != []


def test_a_job_holds_fifty_memories_and_a_worker_gets_as_many_jobs_as_it_asks_for(tx):
    remember_all(tx, [f"note {n}" for n in range(120)])
    taken = claim(tx, 2)
    assert [len(each.texts) for each in taken] == [50, 50]
    assert ready(tx) == [("default", 20)]
    assert [len(each.texts) for each in claim(tx, 5, "w2")] == [20]
    assert ready(tx) == []


def test_two_workers_get_different_memories(db, dsn):
    remember_all(db, [f"note {n}" for n in range(70)])
    with psycopg.connect(dsn) as first, psycopg.connect(dsn) as second:
        one, two = claim(first, 1)[0].texts, claim(second, 1, "w2")[0].texts
    assert (len(one), len(two), len({*one, *two})) == (50, 20, 70)


def test_the_same_text_is_embedded_once(tx):
    for session in ("a", "b", "c"):
        remember(tx, "ok", "turn", session_id=session, turn=0)
    (taken,) = claim(tx)
    assert taken.texts == ["ok"]
    finish(tx, taken.job_id, embeddings=["[1,0]"])
    assert value(tx, "SELECT count(*) FROM memoir.trace WHERE embedding IS NOT NULL") == 3
    remember(tx, "ok", "turn", session_id="d", turn=0)
    assert claim(tx) == []
    assert value(tx, "SELECT count(*) FROM memoir.trace WHERE embedding IS NOT NULL") == 4


def test_how_often_a_vector_was_there_already_is_told(tx):
    for session in "abc":
        remember(tx, "ok", "turn", session_id=session, turn=0)
    (taken,) = claim(tx)
    finish(tx, taken.job_id, embeddings=["[1,0]"])
    remember(tx, "ok", "turn", session_id="d", turn=0)
    claim(tx)
    (found, _) = call(tx, "cache_stats")
    assert found == ("embeddings", 4, 3, 1, 0.75)


def test_a_vector_of_another_user_is_not_taken_over(tx):
    remember(tx, "ok", user_id="ada", embedding="[1,0]")
    remember(tx, "ok", user_id="bob")
    assert claim(tx, user_id="bob")[0].texts == ["ok"]


def test_a_text_that_changed_meanwhile_waits_for_its_own_vector(tx):
    memory_id = remember(tx, "tea")
    (taken,) = claim(tx)
    change = "UPDATE memoir.memory SET content = 'coffee' WHERE memory_id = %s"
    tx.execute(change, (memory_id,))
    assert finish(tx, taken.job_id, embeddings=["[1,0]"]) == "done"
    assert vectors(tx) == {}
    assert claim(tx)[0].texts == ["coffee"]


def test_a_worker_waits_for_no_open_transaction_and_what_it_changes_is_taken_next(db, dsn):
    ids = remember_all(db, ["tea", "milk"])
    (taken,) = claim(db)
    # Whoever waits for it all the same is not kept for ever.
    with psycopg.connect(dsn, options="-c idle_in_transaction_session_timeout=1min") as application:
        call(application, "update_memory", memory_id=ids[1], content="cream")
        assert finish(db, taken.job_id, embeddings=["[1,0]", "[0,1]"]) == "done"
        call(application, "update_memory", memory_id=ids[0], importance=0.9)
    assert vectors(db) == {"tea": "[1,0]"}
    assert claim(db)[0].texts == ["cream"]


def test_a_text_that_is_refused_does_not_keep_the_others(tx):
    remember_all(tx, ["tea", "too long", "milk"])
    (taken,) = claim(tx)
    given = ["[1,0]", None, "[0,1]"]
    assert finish(tx, taken.job_id, answer=errors(2), embeddings=given) == "done"
    assert vectors(tx) == {"tea": "[1,0]", "milk": "[0,1]"}
    assert claim(tx) == []
    (again,) = claim(tx, at=LATER)
    assert (again.texts, again.attempts) == (["too long"], 2)
    assert job(tx, again.job_id, "error") == "too long"


def test_a_text_that_is_always_refused_is_dead_in_the_end_and_the_next_are_embedded(tx):
    remember(tx, "too long")
    for n in range(8):
        (taken,) = claim(tx, at=LATER + timedelta(days=n))
        said = finish(tx, taken.job_id, answer=errors(1), embeddings=[None])
    assert said == "dead"
    remember(tx, "tea")
    (taken,) = claim(tx, at=LATER + timedelta(days=9))
    assert taken.texts == ["tea"]


def test_a_refused_text_that_was_corrected_is_embedded(tx):
    memory_id = remember(tx, "too long")
    (taken,) = claim(tx)
    tx.execute("UPDATE memoir.job SET attempts = 8")
    assert finish(tx, taken.job_id, answer=errors(1), embeddings=[None]) == "dead"
    assert ready(tx) == []
    call(tx, "update_memory", memory_id=memory_id, content="short")
    assert [each.texts for each in claim(tx)] == [["short"]]


def test_one_refused_text_of_many_memories_holds_back_no_other(tx):
    for session in "ab":
        remember(tx, "too long", "turn", session_id=session, turn=0)
    (taken,) = claim(tx)
    finish(tx, taken.job_id, answer=errors(1), embeddings=[None])
    remember(tx, "tea")
    assert [each.texts for each in claim(tx)] == [["tea"]]


def test_a_job_for_a_model_that_is_no_longer_in_use_is_done(tx):
    remember(tx, "tea")
    (taken,) = claim(tx)
    fail(tx, taken.job_id)
    tx.execute("UPDATE memoir.job SET payload = payload || '{\"model\": 7}'")
    claim(tx, at=LATER)
    assert job(tx, taken.job_id, "status") == "done"


def test_a_batch_that_fails_holds_back_the_others_then_goes_apart(tx):
    remember_all(tx, [f"note {n}" for n in range(52)])
    for days in range(2):
        (taken,) = claim(tx, 1, at=LATER + timedelta(days=days))
        fail(tx, taken.job_id, "500", at=LATER + timedelta(days=days))
        assert ready(tx) == []
        assert claim(tx, at=LATER + timedelta(days=days)) == []
    assert [len(each.texts) for each in claim(tx, 1, at=LATER + timedelta(days=2))] == [2]
    apart = claim(tx, 100, "w2", at=LATER + timedelta(days=2))
    assert [len(each.texts) for each in apart] == [1] * 50


@pytest.mark.parametrize(
    ("embeddings", "reason"),
    [
        (None, "0 embeddings for 2 texts"),
        (["[1,0]"], "1 embeddings for 2 texts"),
        (["[1,0]", "[1,0,0]"], "the vector has 3 dimensions, this database holds 2"),
        (["[1,0]", "[0,0]"], "the vector is zero"),
    ],
)
def test_vectors_that_do_not_fit_are_a_failed_attempt(tx, embeddings, reason):
    remember_all(tx, ["tea", "milk"])
    (taken,) = claim(tx)
    assert finish(tx, taken.job_id, embeddings=embeddings) == "failed"
    assert vectors(tx) == {}
    assert job(tx, taken.job_id, "(status, error)") == ("waiting", reason)


def test_an_answer_that_is_no_list_of_errors_is_a_failed_attempt(tx):
    remember_all(tx, ["tea", "milk"])
    (taken,) = claim(tx)
    said = finish(tx, taken.job_id, answer={"error": 3}, embeddings=["[1,0]", None])
    assert (said, vectors(tx)) == ("failed", {})


def test_a_memory_purged_meanwhile_is_no_error(tx):
    remember(tx, "tea")
    (taken,) = claim(tx)
    tx.execute("DELETE FROM memoir.memory")
    assert finish(tx, taken.job_id, embeddings=["[1,0]"]) == "done"


def test_a_job_whose_memories_are_gone_is_done_without_a_worker(tx):
    remember(tx, "tea")
    (taken,) = claim(tx)
    fail(tx, taken.job_id)
    tx.execute("DELETE FROM memoir.memory")
    assert claim(tx, at=LATER) == []
    assert job(tx, taken.job_id, "status") == "done"


def test_memories_can_be_enqueued_by_name(tx):
    memory_id = remember(tx, "tea")
    enqueue(tx, "embed", payload={"memory_ids": [str(memory_id)]})
    assert [each.texts for each in claim(tx)] == [["tea"]]


def test_a_worker_without_an_embedding_model_does_not_see_them(tx):
    remember(tx, "tea")
    assert ready(tx, kinds=["keywords"]) == []
    assert claim(tx, kinds=["keywords"]) == []


def test_memories_without_a_vector_are_counted_as_waiting(tx):
    remember_all(tx, ["tea", "milk"])
    overview = "SELECT waiting, running FROM memoir.job_overview WHERE kind = 'embed'"
    assert tx.execute(overview).fetchall() == [(2, 0)]
    claim(tx)
    assert tx.execute(overview).fetchall() == [(0, 1)]
    assert call(tx, "ready_users") == []


@pytest.mark.parametrize(
    "payload",
    [
        {"memory_ids": ["1", "all of them"]},
        {"memory_ids": ["99999999999999999999"]},
        {"memory_ids": ["1"], "hashes": "none"},
        {"memory_ids": ["1"], "model": "small"},
    ],
    ids=str,
)
def test_a_payload_that_makes_no_sense_stops_nobody(tx, payload):
    remember(tx, "tea", user_id="ada")
    remember(tx, "milk", user_id="bob")
    enqueue(tx, "embed", payload=payload, user_id="bob")
    assert {user for user, _ in ready(tx)} == {"ada", "bob"}
    assert [each.texts for each in claim(tx, user_id="bob")] == [["milk"]]
    assert value(tx, "SELECT running FROM memoir.job_overview WHERE kind = 'embed'") == 1


def test_a_page_of_one_user_reads_nothing_of_the_others(db):
    page = "SELECT FROM memoir.memories_without_vector(user_id => 'mia')"
    remember(db, "tea", user_id="mia")
    # The plan is made for tables that are large and have one row.
    with db.transaction(force_rollback=True):
        remember_all(db, (f"note {n}" for n in range(2000)), user="zoe")
    db.execute("ANALYZE memoir.memory; ANALYZE memoir.trace")
    with db.transaction():
        before = rows_read(db, page)
        remember_all(db, (f"note {n}" for n in range(300)), user="ada")
        assert rows_read(db, page) < before + 10


def test_of_a_text_that_no_model_reads_whole_its_beginning_is_handed_out(tx):
    memory_id = remember(tx, "tea")
    tx.execute("SET LOCAL session_replication_role = 'replica'")
    tx.execute("UPDATE memoir.memory SET content = repeat('tea ', 250001)")
    ((_, _, content, text_hash),) = call(tx, "memories_without_vector")
    ((text,),) = [job.texts for job in claim(tx)]
    assert content == text == 250_000 * "tea "
    set_it = (
        "SELECT memoir.set_embeddings(ARRAY[%s::bigint], '{\"[1,0]\"}', NULL, ARRAY[%s::bigint])"
    )
    assert value(tx, set_it, memory_id, text_hash) == 1


def test_jobs_that_are_done_are_not_read_whatever_the_statistics_say(db):
    added = (
        "INSERT INTO memoir.job (user_id, kind, payload, dedup_key, status, run_at)"
        " SELECT 'u' || i %% %s, 'reflect', '{\"session_id\": \"s\"}', i, %s, now()"
        " FROM generate_series(1, 1000) AS i"
    )
    db.execute(added, (1000, "waiting"))  # one of each user
    db.execute("ANALYZE memoir.job")
    db.execute("UPDATE memoir.job SET status = 'done'")
    db.execute(added, (1, "done"))
    calls = (
        "SELECT memoir.enqueue('reflect', '{\"session_id\": \"s\"}', 'u0', 's')",
        "SELECT * FROM memoir.ready_users(10, '{reflect}')",
        "SELECT * FROM memoir.claim('u0', 10, 'w', '{reflect}')",
    )
    read = [rows_read(db, call) for call in calls]
    assert max(read) < 100, read


def test_a_worker_without_a_chat_model_does_not_read_what_waits_for_one(db):
    remember(db, "tea")
    for kind in ("embed", "reflect"):
        db.execute("DELETE FROM memoir.job")
        db.execute("ANALYZE memoir.job")  # while nothing waits
        db.execute(
            "INSERT INTO memoir.job (user_id, kind, payload)"
            " SELECT 'default', %s, '{}' FROM generate_series(1, 1000)",
            (kind,),
        )
    claimed = "SELECT * FROM memoir.claim('default', 10, 'w', '{embed}')"
    for call_of_a_worker in ("SELECT * FROM memoir.ready_users(10, '{embed}')", claimed):
        assert rows_read(db, call_of_a_worker) < 100
