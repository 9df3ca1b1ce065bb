"""Events lie in a table a month, made ahead and dropped when all its events may go."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg
import pytest
from tests.rows import add_event, call, recall, remember, until_blocked, value

AT = datetime(2026, 11, 21, tzinfo=UTC)
MONTHS = ["event_2026_11", "event_2026_12", "event_2027_01"]


def run(conn, at=AT):
    """What was done about tables."""
    (row,) = conn.execute("CALL memoir.maintain_all(at => %s)", (at,)).fetchall()
    return [
        (row["action"], row["details"]["table"])
        for row in row[0]
        if row["action"].startswith("partition")
    ]


def clock(conn, at):
    """Let the run take any clock: its check allows no more than a day from now."""
    conn.execute(
        "CREATE OR REPLACE FUNCTION memoir._check_time(at timestamptz, what text)"
        " RETURNS timestamptz LANGUAGE sql RETURN at"
    )
    return at


def tables(conn):
    rows = conn.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits"
        " WHERE inhparent = 'memoir.event'::regclass ORDER BY 1"
    )
    return [name.removeprefix("memoir.") for (name,) in rows]


def advice(conn):
    """What health() says to do about tables."""
    return value(conn, "SELECT advice FROM memoir.health() WHERE name = 'partitions'")


def stored_in(conn, event_id):
    return value(
        conn, "SELECT tableoid::regclass::text FROM memoir.event WHERE event_id = %s", event_id
    ).removeprefix("memoir.")


def insert(conn, at, type="memory_retrieval"):
    return value(
        conn,
        "INSERT INTO memoir.event (user_id, type, payload, created_at, line, cost,"
        " terms, term_count) VALUES ('default', %s, '{}', %s, 'x', 1,"
        " '{}/536870912', 0) RETURNING event_id",
        type,
        at,
    )


def test_there_are_tables_for_this_month_and_the_next_two(db):
    assert run(db) == [("partition added", month) for month in MONTHS]
    assert tables(db) == [*MONTHS, "event_default"]
    assert run(db) == []


def test_months_end_by_utc_whatever_the_time_zone(db):
    db.execute("SET timezone = 'Asia/Shanghai'")
    run(db)
    late = insert(db, datetime(2026, 11, 30, 23, 59, tzinfo=UTC))
    early = insert(db, datetime(2026, 12, 1, tzinfo=UTC))
    assert [stored_in(db, each) for each in (late, early)] == MONTHS[:2]


def test_an_event_of_no_month_is_kept_all_the_same(db):
    run(db)
    assert stored_in(db, insert(db, datetime(2019, 1, 1, tzinfo=UTC))) == "event_default"


def test_a_month_with_events_already_waits_for_the_next(db):
    insert(db, AT)
    assert run(db) == [("partition added", month) for month in MONTHS[1:]]
    assert tables(db) == [*MONTHS[1:], "event_default"]


def test_such_a_month_is_not_tried_each_night_and_nobody_is_told_to(db):
    insert(db, datetime.now(UTC))
    db.execute(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE 'no table is made'; END $$;"
        " CREATE EVENT TRIGGER refused ON ddl_command_start EXECUTE FUNCTION refuse()"
    )
    add = "SELECT memoir._add_partition(date_trunc('month', now(), 'UTC'))"
    assert value(db, add) is False
    db.execute("DROP EVENT TRIGGER refused")
    assert advice(db) == "memoir maintain makes them."
    db.execute("CALL memoir.maintain_all()")
    assert advice(db) is None


@pytest.mark.parametrize(
    "what", ["ALL TABLES", "TABLES IN SCHEMA memoir", "TABLE memoir.event", "TABLE memoir.memory"]
)
def test_no_table_is_made_that_a_publication_would_send_by_its_name(db, what):
    # A subscriber does not have it, and replication of all tables would stop at its first event.
    db.execute("SET client_min_messages = error")  # of wal_level
    db.execute(f"CREATE PUBLICATION copy FOR {what}")
    assert (run(db) == []) is (what != "TABLE memoir.memory")
    assert ("ALTER PUBLICATION copy SET" in (advice(db) or "")) is (what != "TABLE memoir.memory")
    db.execute("ALTER PUBLICATION copy SET (publish_via_partition_root = true)")
    run(db)
    assert tables(db) == [*MONTHS, "event_default"]
    db.execute("DROP PUBLICATION copy")


def test_a_new_table_is_protected_as_the_others_are(db):
    run(db)
    insert(db, AT)
    db.execute("CREATE ROLE app")
    try:
        db.execute(
            "GRANT memoir_reader TO app;"
            " GRANT SELECT ON ALL TABLES IN SCHEMA memoir TO app; SET ROLE app"
        )
        counts = [value(db, f"SELECT count(*) FROM memoir.{name}") for name in ("event", MONTHS[0])]
        db.execute("SET memoir.user_id = 'default'")
        assert counts == [0, 0]
        assert value(db, f"SELECT count(*) FROM memoir.{MONTHS[0]}") == 1
    finally:
        db.execute("RESET ROLE; DROP OWNED BY app; DROP ROLE app")


def test_events_are_recalled_from_every_table(db):
    now = value(db, "SELECT now()")
    run(db, now)
    add_event(db, "alert", {"disk": "full"}, created_at=now)
    assert "disk" in recall(db).block


def test_a_month_whose_events_may_go_is_dropped(db):
    run(db)
    insert(db, AT)
    later = clock(db, datetime(2027, 1, 31, tzinfo=UTC))
    assert ("partition dropped", MONTHS[0]) in run(db, later)
    assert value(db, "SELECT count(*) FROM memoir.event") == 0
    assert MONTHS[0] not in tables(db)


def test_a_month_with_an_event_that_is_not_archived_stays(db):
    run(db)
    insert(db, AT, "daily_note")
    later = clock(db, datetime(2027, 1, 31, tzinfo=UTC))
    assert ("partition dropped", MONTHS[0]) not in run(db, later)
    db.execute("UPDATE memoir.job SET status = 'done'")
    assert ("partition dropped", MONTHS[0]) in run(db, later)


def test_a_month_of_which_one_day_is_young_stays(db):
    run(db)
    insert(db, AT)
    assert ("partition dropped", MONTHS[0]) not in run(
        db, clock(db, datetime(2027, 1, 29, tzinfo=UTC))
    )


def test_a_busy_table_waits_for_the_next_time(db, dsn):
    with psycopg.connect(dsn) as reader:
        reader.execute("SELECT FROM memoir.event")
        assert run(db) == []
    assert len(run(db)) == 3


def test_maintain_itself_makes_none_since_recalls_would_wait(tx):
    assert [row for row in call(tx, "maintain") if row.action.startswith("partition")] == []


def test_a_table_that_an_event_trigger_refuses_keeps_nothing_else(db):
    run(db, clock(db, datetime(2026, 1, 21, tzinfo=UTC)))
    remember(db, "Ada drinks tea")
    db.execute(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE 'no table is made'; END $$;"
        " CREATE EVENT TRIGGER refused ON ddl_command_end WHEN TAG IN ('CREATE TABLE')"
        " EXECUTE FUNCTION refuse()"
    )
    (row,) = db.execute("CALL memoir.maintain_all(at => %s)", (AT,)).fetchall()
    actions = [told["action"] for told in row[0]]
    assert actions == ["partition dropped"] * 3 + ["failed"] * 3 + ["words counted", "report"]
    why = {"why": "no table is made", "code": "P0001", "step": "tend_partitions"}
    assert row[0][3]["details"] == why | {"table": MONTHS[0]}
    db.execute("DROP EVENT TRIGGER refused")
    assert run(db) == [("partition added", month) for month in MONTHS]


def test_an_event_of_the_moment_its_table_is_made_is_stored_in_it(db, dsn):
    with psycopg.connect(dsn) as upkeep, ThreadPoolExecutor(1) as pool:
        upkeep.execute("SELECT memoir._add_partition('2026-11-01 00:00:00+00')")
        said = pool.submit(add_event, db, "alert", {}, created_at=AT)
        until_blocked(upkeep)
        upkeep.commit()
        assert stored_in(db, said.result()) == "event_2026_11"
