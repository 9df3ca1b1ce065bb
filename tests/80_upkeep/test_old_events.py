"""Events are archived after 30 days and deleted after 60, but never unread by an archive job."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from tests.documents import D3_ARCHIVE
from tests.jobs import claim
from tests.rows import (
    NOW,
    add_event,
    ago,
    call,
    calls_made,
    recall,
    row_counts,
    until_blocked,
    value,
)


def event(conn, days, **more):
    return add_event(conn, "daily_note", {"n": days}, created_at=ago(days=days), **more)


def maintain(conn, **more):
    """What was done about old rows, by action."""
    rows = call(conn, "maintain", **{"at": NOW, **more})
    return {
        row.action: row.details
        for row in rows
        if row.action in ("archive queued", "old rows deleted")
    }


def finish(conn, at=NOW):
    conn.execute("UPDATE memoir.job SET status = 'done', finished_at = %s", (at,))


def events(conn):
    rows = conn.execute("SELECT event_id FROM memoir.event ORDER BY event_id")
    return [event_id for (event_id,) in rows]


def test_the_log_of_recalls_goes_to_no_model(tx):
    event(tx, 40)
    add_event(tx, "memory_retrieval", {"query": "tea"}, created_at=ago(days=40))
    assert maintain(tx) == {"archive queued": {"events": 1, "jobs": 1}}


def test_the_numbers_are_those_of_the_document(tx):
    days = "SELECT array_agg(value::int ORDER BY name) FROM memoir.setting WHERE name = ANY (%s)"
    found = value(tx, days, ["archive_days", "delete_days"])
    assert found == [int(day) for day in re.findall(r"(\d+) 天后", D3_ARCHIVE)] == [30, 60]


def test_events_older_than_30_days_are_queued_once(tx):
    old, older, _ = event(tx, 31), event(tx, 45), event(tx, 29)
    assert maintain(tx) == {"archive queued": {"events": 2, "jobs": 1}}
    job = tx.execute("SELECT user_id, kind, payload FROM memoir.job").fetchall()
    assert job == [("default", "archive", {"event_ids": [str(older), str(old)]})]
    assert maintain(tx) == {}


def test_a_job_has_no_more_than_100_events(tx):
    tx.execute(
        "SELECT memoir.event_add('note', '{}', created_at => %s) FROM generate_series(1, 250)",
        (ago(days=40),),
    )
    assert maintain(tx)["archive queued"] == {"events": 250, "jobs": 3}
    sizes = "SELECT jsonb_array_length(payload -> 'event_ids') FROM memoir.job ORDER BY job_id"
    assert tx.execute(sizes).fetchall() == [(100,), (100,), (50,)]


def test_a_setting_is_read_once_and_not_for_every_event(tx):
    due = "SELECT memoir._upkeep_list(1, NULL, memoir._new_run(NULL, NULL, true, NULL, 0))"
    few = calls_made(tx, "_config", due)
    tx.execute("SELECT memoir.event_add('note', '{}') FROM generate_series(1, 100)")
    tx.execute(
        "INSERT INTO memoir.job (user_id, kind, payload, status, finished_at)"
        " SELECT 'ada', 'reflect', '{}', 'done', now() FROM generate_series(1, 100)"
    )
    assert calls_made(tx, "_config", due) == few
    assert calls_made(tx, "_config", "SELECT FROM memoir.maintain()") < 100


def test_events_that_stay_are_looked_at_once_while_jobs_are_deleted(tx):
    tx.execute(
        "SELECT memoir.event_add('note', '{}', created_at => %s) FROM generate_series(1, 100)",
        (ago(days=70),),
    )
    tx.execute(
        "INSERT INTO memoir.job (user_id, kind, payload, status, finished_at)"
        " SELECT 'default', 'reflect', '{}', 'done', %s FROM generate_series(1, 100)",
        (ago(days=20),),
    )
    # Jobs that vouch for events are found by their index.
    for method in ("seqscan", "hashjoin", "mergejoin", "material"):
        tx.execute(f"SET LOCAL enable_{method} = off")
    read = """SELECT sum(idx_tup_fetch + seq_tup_read)::int FROM pg_stat_xact_user_tables
              WHERE relname ~ '^event_'"""
    before, after = value(tx, read), 0
    while after is not None:
        batch = """SELECT next FROM memoir._delete_old(
            'default', memoir._new_run(NULL, %s, false, 20, 0), %s)"""
        (after,) = (tx.execute(batch, (NOW, after)).fetchall() or [(None,)])[0]
    assert value(tx, "SELECT count(*) FROM memoir.job") == 0
    assert value(tx, read) - before <= 200


def test_what_a_batch_has_archived_the_next_one_does_not_look_at_again(tx):
    tx.execute(
        "SELECT memoir.event_add('note', '{}', created_at => %s - n * interval '1 hour')"
        " FROM generate_series(1, 200) AS n",
        (ago(days=40),),
    )
    tx.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    read = "SELECT sum(idx_tup_fetch)::int FROM pg_stat_xact_user_tables WHERE relname ~ '^event_'"
    before = value(tx, read)
    archived, after = 0, 0
    while after is not None:
        batch = """SELECT next, (details ->> 'events')::int FROM memoir._archive_events(
            'default', memoir._new_run(NULL, %s, false, 20, 0), %s)"""
        after, events = (tx.execute(batch, (NOW, after)).fetchall() or [(None, 0)])[0]
        archived += events
    # Read once to be found, once to be marked.
    assert (archived, value(tx, read) - before < 500) == (200, True)


def test_an_event_is_deleted_after_60_days_once_it_is_archived(tx):
    event(tx, 61), event(tx, 59)
    maintain(tx)
    assert maintain(tx) == {}
    finish(tx)
    assert maintain(tx) == {"old rows deleted": {"events": 1}}
    assert len(events(tx)) == 1


def test_without_a_model_nothing_is_deleted(tx):
    event(tx, 5000)
    maintain(tx)
    for status in ("waiting", "running", "dead"):
        tx.execute("UPDATE memoir.job SET status = %s", (status,))
        assert maintain(tx) == {}
    assert len(events(tx)) == 1


@pytest.mark.parametrize("setting", ["memory", "auto_extract"])
def test_who_switched_it_off_has_no_model_read_his_events_and_none_deleted(tx, setting):
    event(tx, 61)
    call(tx, "set_settings", settings={setting: False})
    assert maintain(tx) == {}
    call(tx, "set_settings", settings={setting: True})
    assert maintain(tx) == {"archive queued": {"events": 1, "jobs": 1}}


def test_events_stay_whose_job_came_while_memory_was_off(tx):
    event(tx, 61)
    maintain(tx)
    call(tx, "set_settings", settings={"memory": False})
    assert claim(tx) == []
    assert (maintain(tx), len(events(tx))) == ({}, 1)
    call(tx, "set_settings", settings={"memory": True})
    (again,) = claim(tx, at=datetime.now(UTC) + timedelta(days=1))
    assert (again.kind, again.attempts) == ("archive", 1)


def test_an_event_whose_job_is_gone_is_queued_again(tx):
    event(tx, 61)
    maintain(tx)
    tx.execute("DELETE FROM memoir.job")
    event(tx, 45)
    assert maintain(tx) == {"archive queued": {"events": 2, "jobs": 1}}
    tx.execute("UPDATE memoir.event SET archive_job = 0 WHERE payload ->> 'n' = '61'")
    assert maintain(tx) == {"archive queued": {"events": 1, "jobs": 1}}


def test_an_event_that_comes_late_is_archived_before_it_is_deleted(tx):
    event(tx, 61)
    maintain(tx)
    finish(tx)
    late = event(tx, 70)
    assert maintain(tx) == {
        "archive queued": {"events": 1, "jobs": 1},
        "old rows deleted": {"events": 1},
    }
    assert events(tx) == [late]


def test_folded_recalls_go_without_being_archived(tx):
    recall(tx, "tea")
    tx.execute("UPDATE memoir.retrieval SET created_at = now() - interval '61 days'")
    maintain(tx, at=None)
    assert maintain(tx, at=None) == {"old rows deleted": {"events": 1}}
    assert value(tx, "SELECT count(*) FROM memoir.retrieval_log") == 0


def test_old_tool_calls_are_deleted(tx):
    call(tx, "call_tool", name="summary", arguments={})
    tx.execute("UPDATE memoir.tool_call SET created_at = now() - interval '61 days'")
    assert maintain(tx, at=None) == {"old rows deleted": {"tool_calls": 1}}


def test_what_a_model_said_of_a_query_is_deleted_and_asked_again(tx):
    tx.execute(
        "INSERT INTO memoir.query_expansion (user_id, query_hash, query, expansion, created_at)"
        " SELECT 'ada', memoir._query_hash(q), q, '{}', %s - days * interval '24 hours'"
        " FROM (VALUES ('old', 61), ('older', 99), ('new', 59)) AS q (q, days)",
        (NOW,),
    )
    planned = maintain(tx, dry_run=True)
    assert maintain(tx) == planned == {"old rows deleted": {"expansions": 2}}
    assert value(tx, "SELECT query FROM memoir.query_expansion") == "new"
    call(tx, "expand_query", query="old", user_id="ada")
    assert value(tx, "SELECT payload ->> 'query' FROM memoir.job") == "old"


def test_jobs_done_for_a_week_are_deleted_but_those_that_vouch_for_events(tx):
    event(tx, 40)
    maintain(tx)
    finish(tx, ago(days=8))
    assert maintain(tx) == {}
    tx.execute("DELETE FROM memoir.event")
    assert maintain(tx) == {"old rows deleted": {"jobs": 1}}
    assert value(tx, "SELECT count(*) FROM memoir.job") == 0


def test_jobs_that_are_not_done_stay(tx):
    event(tx, 40)
    maintain(tx)
    tx.execute("UPDATE memoir.job SET created_at = %s, status = 'dead'", (ago(days=500),))
    tx.execute("DELETE FROM memoir.event")
    assert maintain(tx) == {}


def test_a_dry_run_tells_the_same_and_writes_nothing(tx):
    event(tx, 61), event(tx, 31)
    maintain(tx)
    finish(tx)
    event(tx, 31)
    before = row_counts(tx)
    planned = maintain(tx, dry_run=True)
    assert row_counts(tx) == before
    assert maintain(tx) == planned != {}


def test_users_have_jobs_of_their_own(tx):
    event(tx, 31, user_id="ada"), event(tx, 31, user_id="bob")
    maintain(tx)
    jobs = tx.execute("SELECT user_id FROM memoir.job ORDER BY user_id").fetchall()
    assert jobs == [("ada",), ("bob",)]


def test_upkeep_run_twice_at_once_archives_events_once(db, dsn):
    event(db, 40)
    assert value(db, "SELECT count(*) FROM memoir.profile") == 0
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        assert maintain(other)["archive queued"] == {"events": 1, "jobs": 1}
        second = pool.submit(db.execute, "CALL memoir.maintain_all('default')")
        until_blocked(other)
        other.commit()
        second.result()
    assert value(db, "SELECT count(*) FROM memoir.job WHERE kind = 'archive'") == 1
