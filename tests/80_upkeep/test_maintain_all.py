"""maintain() in small transactions: the same result, and stopped halfway nothing is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from tests.rows import (
    NOW,
    ago,
    call,
    recall,
    refused,
    remember,
    row_counts,
    sentences,
    set_to,
    store,
    until,
    until_blocked,
    value,
    working_at_most,
)


def notes(conn, count, user="default"):
    """Store temporary memories that were made eight days ago."""
    made = {"kind": "context", "created_at": ago(days=8)}
    store(conn, ({"content": content, **made} for content in sentences(count, 8)), user)


def run(conn, **more):
    """The report of a run: (user, action, memories) of each row but the last."""
    names = "".join(f"{name} => %({name})s, " for name in more)
    report = value_of(conn, f"CALL memoir.maintain_all({names}at => %(at)s)", {"at": NOW, **more})
    assert report[-1]["action"] == "report"
    rows = [row for row in report[:-1] if not row["action"].startswith("partition")]
    return [(row["user_id"], row["action"], row["memories"]) for row in rows]


def value_of(conn, statement, values):
    (row,) = conn.execute(statement, values).fetchall()
    return row[0]


def forgotten(conn):
    return value(conn, "SELECT count(*) FROM memoir.memory WHERE status = 'forgotten'")


def test_rows_of_one_user_that_make_no_sense_keep_no_other_from_his_upkeep(db):
    notes(db, 3, "bob")
    recall(db, "tea", user_id="ada")
    db.execute("ALTER TABLE memoir.retrieval DROP CONSTRAINT a_place_or_an_id")
    db.execute("UPDATE memoir.retrieval SET chosen = '{-2147483648}'")
    logged = []
    db.add_notice_handler(lambda notice: logged.append(notice.message_primary))
    assert run(db) == [("ada", "failed", None), ("bob", "forgotten", 3)]
    said = "memoir: maintain failed at count_access of user ada: integer out of range (22003)"
    assert logged == [said]
    (failed, _) = call(db, "maintain")
    assert failed.details == {
        "why": "integer out of range",
        "code": "22003",
        "step": "count_access",
    }


def test_it_does_what_maintain_does(db):
    for user in ("ada", "bob"):
        notes(db, 10, user)
        remember(db, "tea at five", user_id=user)
    planned = [row[:3] for row in call(db, "maintain", at=NOW, dry_run=True)]
    assert [row[1] for row in planned[:2]] == ["forgotten", "forgotten"]
    assert run(db) == [
        ("ada", "forgotten", 10),
        ("bob", "forgotten", 10),
        ("ada", "words counted", 1),
        ("bob", "words counted", 1),
    ]
    assert run(db) == []


def test_batches_of_a_step_are_told_as_one(db):
    set_to(db, maintain_batch=3)
    notes(db, 10)
    for _ in range(8):
        recall(db, "nothing like it")
    report = value_of(db, "CALL memoir.maintain_all(at => %s)", (NOW,))
    rows = {row["action"]: row for row in report}
    assert rows["access counted"]["details"] == {"recalls": 8, "tool_calls": 0}
    assert rows["forgotten"]["memories"] == len(rows["forgotten"]["details"]["ids"]) == 10
    assert forgotten(db) == 10


def test_the_report_of_many_users_is_put_together_once(db):
    db.execute("""
        CREATE OR REPLACE FUNCTION memoir._upkeep_list(
            phase int, only_user text, run memoir.upkeep_run) RETURNS jsonb
            LANGUAGE sql RETURN (SELECT jsonb_agg(n) FROM generate_series(1, 1000) AS n);
        CREATE OR REPLACE FUNCTION memoir._upkeep_batch(
            planned jsonb, run memoir.upkeep_run, INOUT after bigint, INOUT done jsonb)
            LANGUAGE sql RETURN ROW(NULL::bigint, jsonb_build_array(
                jsonb_build_object('user', planned, 'a', 1, 'b', 2), 0, 0))""")
    with working_at_most(db, 1):  # of 3,000 steps each copied what all before had told
        report = value_of(db, "CALL memoir.maintain_all()", {})
    assert [row["user"] for row in report if row] == 3 * list(range(1, 1001))


def test_a_step_without_details_may_take_several_batches(db):
    set_to(db, maintain_batch=3)
    db.execute("CREATE TABLE tea (id int PRIMARY KEY, content text)")
    call(db, "attach_source", name="tea", kind="fact", relation="tea", user_id="ada")
    db.execute("INSERT INTO tea SELECT n, 'green tea ' || n FROM generate_series(1, 10) AS n")
    assert ("ada", "keywords found", 10) in run(db)


def test_one_run_has_one_number(db):
    set_to(db, maintain_batch=3)
    notes(db, 10)
    run(db)
    statement = "SELECT count(DISTINCT run_id) || ' ' || count(*) FROM memoir.revision"
    assert value(db, statement) == "1 10"


def test_one_user_alone(db):
    notes(db, 3, "ada"), notes(db, 3, "bob")
    assert run(db, only_user="ada") == [("ada", "forgotten", 3)]


def test_it_needs_no_search_path_and_no_transaction(db):
    db.execute("SET search_path = pg_catalog")
    assert run(db) == []
    with pytest.raises(errors.InvalidTransactionTermination), db.transaction():
        run(db)


def test_an_empty_user_is_refused(db):
    with pytest.raises(psycopg.Error) as caught:
        run(db, only_user="")
    assert caught.value.sqlstate == "ME006"


def test_each_batch_is_committed(db, dsn):
    set_to(db, maintain_batch=5)
    notes(db, 20)
    ids = value(db, "SELECT array_agg(memory_id ORDER BY memory_id) FROM memoir.memory")
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT FROM memoir.memory WHERE memory_id = %s FOR UPDATE", (ids[12],))
        thread = threading.Thread(target=run, args=(psycopg.connect(dsn, autocommit=True),))
        thread.start()
        until_blocked(db)
        assert forgotten(db) == 10
    thread.join()
    assert forgotten(db) == 20


def test_what_was_changed_beside_it_does_not_stop_it_whatever_isolation_is_the_default(db, dsn):
    set_to(db, maintain_batch=5)
    notes(db, 20)
    last = value(db, "SELECT max(memory_id) FROM memoir.memory")
    strict = make_conninfo(dsn, options="-c default_transaction_isolation=serializable")
    with psycopg.connect(dsn) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("UPDATE memoir.memory SET data = '{}' WHERE memory_id = %s", (last,))
        done = pool.submit(run, psycopg.connect(strict, autocommit=True))
        until_blocked(db)
        writer.commit()
        assert ("default", "forgotten", 20) in done.result()


def test_killed_halfway_nothing_is_lost_and_the_next_run_goes_on(db, dsn):
    set_to(db, maintain_batch=5)
    notes(db, 20)
    before = row_counts(db)["memory"]
    ids = value(db, "SELECT array_agg(memory_id ORDER BY memory_id) FROM memoir.memory")
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT FROM memoir.memory WHERE memory_id = %s FOR UPDATE", (ids[12],))
        victim = psycopg.connect(dsn, autocommit=True)
        thread = threading.Thread(target=dies, args=(victim,))
        thread.start()
        until(lambda: forgotten(db) == 10)
        assert value(db, "SELECT pg_terminate_backend(%s, 60000)", victim.info.backend_pid)
        thread.join()
    assert (forgotten(db), row_counts(db)["memory"]) == (10, before)
    assert run(db)[0] == ("default", "forgotten", 10)
    assert value(db, "SELECT count(*) FROM memoir.revision") == 20


def dies(conn):
    with pytest.raises(psycopg.OperationalError):
        run(conn)


def test_several_at_once_do_each_thing_once(db, dsn):
    set_to(db, maintain_batch=3)
    for user in ("ada", "bob", "eve"):
        notes(db, 20, user)
    threads = [
        threading.Thread(target=run, args=(psycopg.connect(dsn, autocommit=True),))
        for _ in range(3)
    ]
    threads.append(
        threading.Thread(
            target=lambda: call(psycopg.connect(dsn, autocommit=True), "maintain", at=NOW)
        )
    )
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert value(db, "SELECT count(*) FROM memoir.revision") == forgotten(db) == 60


def test_a_user_whom_somebody_keeps_locked_is_left_to_the_next_run(db, dsn):
    notes(db, 3, "ada"), notes(db, 3, "bob")
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT memoir._lock_user('ada')")
        rows = call(db, "maintain", at=NOW)
        told = {row[:2] for row in rows if row.action in ("left to the next run", "forgotten")}
        assert told == {("ada", "left to the next run"), ("bob", "forgotten")}
    assert run(db)[0] == ("ada", "forgotten", 3)


def test_a_writer_of_another_user_does_not_wait(db, dsn):
    notes(db, 3, "ada")
    with psycopg.connect(dsn) as other:
        call(other, "maintain", at=NOW)
        db.execute("SET lock_timeout = '1ms'")
        assert remember(db, "tea at five", user_id="bob")
        assert recall(db, "tea", user_id="bob").memory_ids != []
        assert refused(db, "supersede", memory_id=1, by_id=2, user_id="ada").sqlstate == "55P03"
