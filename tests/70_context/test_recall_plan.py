"""A live recall reads a user's memories from the index trace_scan alone, and no one else's."""

from __future__ import annotations

import re

import pytest
from tests.file_database import file_database
from tests.rows import NOW, ago, recall, say, sentences, set_to, store, value

USERS, EACH = 50, 100


def counters(conn):
    """Scans of trace_scan, entries read, table rows fetched for them, scans of the table."""
    conn.execute("SELECT pg_stat_force_next_flush()")
    return conn.execute(
        "SELECT i.idx_scan, i.idx_tup_read, i.idx_tup_fetch, t.seq_scan"
        " FROM pg_stat_user_indexes AS i JOIN pg_stat_user_tables AS t USING (relid)"
        " WHERE i.indexrelname = 'trace_scan'"
    ).fetchone()


def read(conn, *args, **more):
    """What one recall adds to the counters."""
    recall(conn, *args, **more)
    before = counters(conn)
    recall(conn, *args, **more)
    return tuple(after - was for after, was in zip(counters(conn), before, strict=True))


def test_a_live_recall_is_an_index_only_scan(db):
    # A page of asynchronous commits is not all visible until the WAL writer has been there.
    db.execute("SET synchronous_commit = on")
    for user in range(USERS):
        numbers = range(user, USERS * EACH, USERS)
        memories = ({"content": f"tea {n}", "embedding": f"[{n},1,2]"} for n in numbers)
        store(db, memories, f"user{user}")
    db.execute("SELECT memoir.refresh_statistics('user7')")
    db.execute("VACUUM (ANALYZE) memoir.trace")
    scans, entries, fetched, table_scans = read(db, "tea", query_vec="[1,0,0]", user_id="user7")
    assert scans >= 1
    assert entries == scans * EACH
    assert (fetched, table_scans) == (0, 0)


def test_the_scan_of_a_conversation_is_an_index_only_scan_without_a_sort(db):
    db.execute("SET synchronous_commit = on")
    for user in range(3):
        say(db, "a", *(f"tea {number}" for number in range(EACH)), user_id=f"user{user}")
    db.execute("SELECT memoir.refresh_statistics('user1')")
    db.execute("VACUUM (ANALYZE) memoir.trace")
    asked = {"mode": "conversation", "user_id": "user1"}
    scans, entries, fetched, table_scans = read(db, "milk", **asked)
    assert (entries, fetched, table_scans) == (scans * EACH, 0, 0)
    assert ["AGG", "INDEXONLYSCAN"] in plans(db, "milk", **asked)


def test_a_recall_of_the_past_reads_few_rows_of_what_nobody_rewrote(db):
    set_to(db, consolidate=False)
    read = "SELECT sum(idx_tup_fetch) FROM pg_stat_xact_user_tables WHERE relname = 'memory'"
    with db.transaction():
        store(db, ({"content": each, "created_at": ago(days=9)} for each in sentences(300, 6)))
        before = value(db, read)
        recall(db, "milk", as_of=NOW)
        assert value(db, read) - before < 1000


@pytest.fixture(scope="module")
def alone(installed):
    """A database whose only user has 1,500 memories, in his order."""
    with file_database(installed, "alone") as conn:
        conn.execute("SET synchronous_commit = on")
        texts = sentences(1_500, 20)
        vectors = (f"[{','.join([str(n)] * 384)}]" for n in range(1, 1_501))
        given = zip(texts, vectors, strict=True)
        store(conn, ({"content": text, "embedding": vector} for text, vector in given))
        conn.execute("SELECT memoir.refresh_statistics()")
        conn.execute("VACUUM (ANALYZE) memoir.trace")
        yield conn


@pytest.mark.parametrize("mode", ["execute", "conversation"])
def test_the_only_user_of_a_table_in_his_order_is_read_from_the_index_too(alone, mode):
    # Read in order the table looks cheaper to the planner; it is 1.4 times as slow.
    scans, entries, fetched, table_scans = read(alone, "milk", mode=mode)
    assert scans >= 1
    assert (entries, fetched, table_scans) == (scans * 1500, 0, 0)


def plans(conn, *args, **more):
    """The nodes of each plan that one recall makes."""
    made = []
    conn.add_notice_handler(lambda notice: made.append(notice.message_detail or ""))
    conn.execute("DISCARD PLANS")
    with conn.transaction():
        conn.execute("SET LOCAL debug_print_plan = on")
        conn.execute("SET LOCAL client_min_messages = log")
        recall(conn, *args, **more)
    return [re.findall(r"\{([A-Z]*(?:SCAN|SORT|AGG|JOIN|APPEND|LOOP))\b", plan) for plan in made]
