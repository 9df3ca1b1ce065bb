"""Old recalls become events; what the log says of them stays the same."""

from __future__ import annotations

import psycopg
from tests.rows import add_event, call, recall, refused, remember, sentences, value


def aged(conn, days):
    conn.execute(
        "UPDATE memoir.retrieval SET created_at = created_at - %s * interval '24 hours'", (days,)
    )


def fold(conn, days=8, **more):
    """Let all recalls be so many days older, and maintain."""
    aged(conn, days)
    return [row.details for row in call(conn, "maintain", **more) if row.action == "recalls folded"]


def log(conn):
    return conn.execute("SELECT * FROM memoir.retrieval_log ORDER BY retrieval_id").fetchall()


def views(conn):
    names = (
        "kinds_injected",
        "token_utilisation",
        "hit_rate",
        "recall_latency",
        "suggested_weights",
    )
    return [
        conn.execute(f"SELECT * FROM memoir.{name} ORDER BY 1, 2, 3").fetchall() for name in names
    ]


def recalls(conn):
    """Two recalls of two memories and an event, one with feedback; the id of the first."""
    memory_id = remember(conn, "green tea", "task")
    remember(conn, "tea house", "fact")
    add_event(conn, "alert", {"tea": 1})
    first = recall(conn, "tea").retrieval_id
    second = recall(conn, "tea", mode="implicit", budget=100).retrieval_id
    call(conn, "mark_used", retrieval_id=second, memory_ids=[memory_id])
    return first


def test_the_log_says_the_same_before_and_after(tx):
    recalls(tx)
    aged(tx, 8)
    before = log(tx)
    assert fold(tx, 0) == [{"recalls": 2}]
    assert log(tx) == before
    assert value(tx, "SELECT count(*) FROM memoir.retrieval") == 0


def test_so_do_the_views(tx):
    recalls(tx)
    aged(tx, 8)
    before = views(tx)
    fold(tx, 0)
    assert views(tx) == before
    assert all(before[:4])


def test_the_newest_stay_to_be_replayed(tx):
    recalls(tx)
    assert fold(tx, 6.9) == []
    assert len(call(tx, "replay", since=None)) == 2
    assert fold(tx, 0.2) == [{"recalls": 2}]
    assert call(tx, "replay", since=None) == []


def test_folding_counts_first(tx):
    recalls(tx)
    fold(tx)
    assert value(tx, "SELECT sum(count) FROM memoir.access") == 4


def test_what_could_not_be_counted_stays_to_be_counted(tx):
    recalls(tx)
    call(tx, "call_tool", name="memory_search", arguments={"query": "tea"})
    tx.execute("UPDATE memoir.tool_call SET created_at = created_at - interval '61 days'")
    refuse = "ALTER TABLE memoir.access ADD CONSTRAINT refused CHECK (count < 0)"
    tx.execute(refuse)
    assert fold(tx) == []
    tx.execute("ALTER TABLE memoir.access DROP CONSTRAINT refused")
    assert fold(tx, 0) == [{"recalls": 2}]
    assert value(tx, "SELECT sum(count) FROM memoir.access") == 6


def test_feedback_on_a_folded_recall_is_recorded(tx):
    retrieval_id = recalls(tx)
    fold(tx)
    one, other = value(tx, "SELECT array_agg(memory_id ORDER BY memory_id) FROM memoir.memory")
    for memory_ids, marked in (([other, 999], 1), ([one], 2), ([], 2)):
        arguments = {"retrieval_id": retrieval_id, "memory_ids": memory_ids}
        assert call(tx, "mark_used", **arguments)[0].mark_used == marked
    said = "SELECT payload -> 'used' FROM memoir.retrieval_log WHERE retrieval_id = %s"
    assert value(tx, said, retrieval_id) == [str(one), str(other)]


def test_of_a_folded_recall_another_user_gives_no_feedback(tx):
    retrieval_id = recalls(tx)
    fold(tx)
    arguments = {"retrieval_id": retrieval_id, "memory_ids": [1]}
    assert refused(tx, "mark_used", user_id="bob", **arguments).sqlstate == "ME012"


def test_an_event_of_an_application_may_have_its_own_retrieval_id(tx):
    retrieval_id = recalls(tx)
    long = " ".join(sentences(100, 20))
    for own in ("b7f3", "1.5", long, None, {"of": "ours"}):
        add_event(tx, "memory_retrieval", {"retrieval_id": own, "injected": "all"})
    fold(tx)
    (memory_id,) = tx.execute("SELECT min(memory_id) FROM memoir.memory").fetchone()
    call(tx, "mark_used", retrieval_id=retrieval_id, memory_ids=[memory_id])
    assert value(tx, "SELECT count(*) FROM memoir.retrieval_log WHERE retrieval_id IS NULL") == 5
    said = "SELECT payload -> 'used' FROM memoir.retrieval_log WHERE retrieval_id = %s"
    assert value(tx, said, retrieval_id) == [str(memory_id)]


def test_a_folded_recall_is_no_event_to_recall(tx):
    recalls(tx)
    fold(tx)
    tx.execute("UPDATE memoir.event SET created_at = now() WHERE type = 'memory_retrieval'")
    assert "memory_retrieval" not in recall(tx, "tea").block


def test_a_recall_that_is_just_being_marked_is_folded_the_next_time(db, dsn):
    retrieval_id = recalls(db)
    call(db, "maintain")
    aged(db, 8)
    db.execute("SET lock_timeout = '1s'")
    with psycopg.connect(dsn) as other:
        call(other, "mark_used", retrieval_id=retrieval_id, memory_ids=[1])
        call(db, "maintain")
        other.commit()
    assert value(db, "SELECT array_agg(retrieval_id) FROM memoir.retrieval") == [retrieval_id]
    assert fold(db, 0) == [{"recalls": 1}]
    said = "SELECT payload -> 'used' FROM memoir.retrieval_log WHERE retrieval_id = %s"
    assert value(db, said, retrieval_id) == ["1"]


def test_the_ids_of_recalls_survive_a_crash(tx):
    statement = "SELECT relpersistence FROM pg_class WHERE relname = 'retrieval_retrieval_id_seq'"
    assert value(tx, statement) == "p"


def test_a_dry_run_folds_nothing(tx):
    recalls(tx)
    assert fold(tx, dry_run=True) == [{"recalls": 2}]
    assert value(tx, "SELECT count(*) FROM memoir.retrieval") == 2
