"""maintain counts what agents were shown, once for each recall and tool call."""

from __future__ import annotations

import threading

import psycopg
from tests.rows import add_event, call, recall, remember, value


def counts(conn):
    """How often each memory was shown."""
    rows = conn.execute("SELECT memory_id, count FROM memoir.access ORDER BY memory_id")
    return dict(rows.fetchall())


def maintain(conn, **more):
    return [row for row in call(conn, "maintain", **more) if row.action == "access counted"]


def test_memories_in_the_block_are_counted(tx):
    tea, milk = remember(tx, "green tea"), remember(tx, "cold milk")
    for question in ("tea", "tea", "milk"):
        recall(tx, question)
    (row,) = maintain(tx)
    assert counts(tx) == {tea: 2, milk: 1}
    assert (row.memories, row.details) == (2, {"recalls": 3, "tool_calls": 0})


def test_a_second_time_counts_nothing(tx):
    tea = remember(tx, "green tea")
    recall(tx, "tea")
    maintain(tx)
    assert (maintain(tx), counts(tx)) == ([], {tea: 1})
    recall(tx, "tea")
    maintain(tx)
    assert counts(tx) == {tea: 2}


def test_a_count_that_a_file_gave_stays_at_the_highest(tx):
    tea = remember(tx, "green tea")
    tx.execute("INSERT INTO memoir.access VALUES ('default', %s, 2147483647)", (tea,))
    recall(tx, "tea")
    assert maintain(tx)
    assert counts(tx) == {tea: 2147483647}


def test_a_candidate_left_out_of_the_block_is_not_counted(tx):
    remember(tx, "green tea " * 30)
    recall(tx, "tea", budget=5)
    maintain(tx)
    assert counts(tx) == {}


def test_an_event_in_the_block_is_no_memory(tx):
    add_event(tx, "alert", {"n": 1})
    recall(tx)
    maintain(tx)
    assert counts(tx) == {}


def test_the_last_time_is_that_of_the_newest_recall(tx):
    remember(tx, "green tea")
    recall(tx, "tea")
    tx.execute("UPDATE memoir.retrieval SET created_at = created_at - interval '2 days'")
    recall(tx, "tea")
    maintain(tx)
    newest = value(tx, "SELECT max(created_at) FROM memoir.retrieval")
    assert value(tx, "SELECT last_at FROM memoir.access") == newest
    recall(tx, "tea")
    tx.execute(
        "UPDATE memoir.retrieval SET created_at = created_at - interval '1 day' WHERE NOT counted"
    )
    maintain(tx)
    assert value(tx, "SELECT last_at FROM memoir.access") == newest


def test_what_a_tool_showed_counts_and_what_it_wrote_does_not(tx):
    tea = remember(tx, "green tea")
    call(tx, "call_tool", name="get_memory_detail", arguments={"key": str(tea)})
    call(tx, "call_tool", name="memory_write", arguments={"content": "cold milk"})
    (row,) = maintain(tx)
    assert (counts(tx), row.details) == ({tea: 1}, {"recalls": 0, "tool_calls": 2})


def test_a_memory_purged_since_is_left_out(tx):
    tea, milk = remember(tx, "green tea"), remember(tx, "cold milk")
    recall(tx, "tea milk")
    call(tx, "purge", memory_id=tea)
    maintain(tx)
    assert counts(tx) == {milk: 1}


def test_a_dry_run_counts_nothing(tx):
    remember(tx, "green tea")
    recall(tx, "tea")
    assert maintain(tx, dry_run=True) != []
    assert counts(tx) == {}


def test_two_at_once_count_each_recall_once(db, dsn):
    db.execute("CALL memoir.maintain_all()")  # adds tables of months, for which the others wait
    tea = remember(db, "green tea")
    for _ in range(50):
        recall(db, "tea")

    def run():
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("CALL memoir.maintain_all()")

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(db) == {tea: 50}


def test_a_recall_that_is_just_being_marked_is_counted_by_the_next(db, dsn):
    tea = remember(db, "green tea")
    marked, _ = recall(db, "tea").retrieval_id, recall(db, "tea")
    with psycopg.connect(dsn) as other:
        call(other, "mark_used", retrieval_id=marked, memory_ids=[tea])
        maintain(db)
        assert counts(db) == {tea: 1}
    maintain(db)
    assert counts(db) == {tea: 2}


def test_what_a_killed_run_did_not_commit_is_counted_by_the_next(db, dsn):
    tea = remember(db, "green tea")
    recall(db, "tea")
    with psycopg.connect(dsn) as other:
        maintain(other)
        pid = other.info.backend_pid
        assert value(db, "SELECT pg_terminate_backend(%s, 5000)", pid)
        other.close()
    assert counts(db) == {}
    maintain(db)
    assert counts(db) == {tea: 1}
