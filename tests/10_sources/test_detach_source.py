"""detach_source: their table is as it was, and the memories are what was asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.application import CALLS, USER, attach, fill, memories
from tests.rows import call, refused, until_blocked, value

# All that the catalogue says of the tables of the application, comments, rights and dependencies
# included.
CATALOGUE = """
WITH t AS (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
           AND relname = ANY (%s))
SELECT to_jsonb(c) - '{relpages,reltuples,relallvisible,relallfrozen,relhastriggers,xmin}'::text[]
FROM pg_class AS c WHERE c.oid IN (TABLE t)
UNION ALL SELECT to_jsonb(a) FROM pg_attribute AS a WHERE a.attrelid IN (TABLE t)
UNION ALL SELECT to_jsonb(g) FROM pg_trigger AS g WHERE g.tgrelid IN (TABLE t)
UNION ALL SELECT to_jsonb(k) FROM pg_constraint AS k WHERE k.conrelid IN (TABLE t)
UNION ALL SELECT to_jsonb(i) FROM pg_index AS i WHERE i.indrelid IN (TABLE t)
UNION ALL SELECT to_jsonb(d) FROM pg_depend AS d
    WHERE d.refobjid IN (TABLE t) OR d.objid IN (TABLE t)
UNION ALL SELECT to_jsonb(s) FROM pg_description AS s WHERE s.objoid IN (TABLE t)
UNION ALL SELECT to_jsonb(p) FROM pg_policy AS p WHERE p.polrelid IN (TABLE t)
"""
MADE = "SELECT count(*) FROM pg_proc WHERE proname ~ '^_source_[0-9]'"


def catalogue(conn):
    return sorted(str(row) for row in conn.execute(CATALOGUE, (list(CALLS),)))


def test_their_tables_are_exactly_as_they_were(app):
    app.execute(
        "COMMENT ON TABLE tasks IS 'of ours'; COMMENT ON COLUMN tasks.title IS 'short';"
        "CREATE ROLE app_role; GRANT SELECT, UPDATE (title) ON tasks TO app_role"
    )
    before = catalogue(app)
    for table in CALLS:
        attach(app, table)
    app.execute("INSERT INTO tasks (title) VALUES ('tea')")
    for table in CALLS:
        fill(app, table)
        call(app, "detach_source", name=table)
    assert catalogue(app) == before
    assert value(app, MADE) == 0


@pytest.mark.parametrize(
    ("what", "left"), [("keep", {"tea": "active"}), ("forget", {"tea": "forgotten"}), ("purge", {})]
)
def test_the_memories_are_kept_forgotten_or_purged(app, what, left):
    attach(app, "tasks")
    app.execute("INSERT INTO tasks (title) VALUES ('tea')")
    assert call(app, "detach_source", name="tasks", memories=what)[0].detach_source == 1
    app.execute("INSERT INTO tasks (title) VALUES ('milk')")
    assert memories(app) == left


@pytest.mark.parametrize(("what", "left"), [("keep", 2), ("forget", 0), ("purge", 0)])
def test_the_events_of_a_table_are_kept_or_deleted_and_counted(app, what, left):
    attach(app, "cecelia_events")
    app.execute("INSERT INTO cecelia_events (type, payload) VALUES ('a', '{}'), ('b', '{}')")
    assert call(app, "detach_source", name="cecelia_events", memories=what)[0].detach_source == 2
    assert value(app, "SELECT count(*) FROM memoir.event") == left


def test_an_emptied_table_has_no_events(app):
    attach(app, "cecelia_events")
    app.execute("INSERT INTO cecelia_events (type, payload) VALUES ('task_failed', '{}')")
    assert value(app, "SELECT count(*) FROM memoir.event") == 1
    app.execute("TRUNCATE cecelia_events")
    assert value(app, "SELECT count(*) FROM memoir.event") == 0


def test_what_was_forgotten_by_a_detach_comes_back_with_the_source(app):
    app.execute("INSERT INTO tasks (title) VALUES ('tea')")
    for what in ("forget", "keep", "purge"):
        attach(app, "tasks")
        fill(app, "tasks")
        assert memories(app) == {"tea": "active"}
        call(app, "detach_source", name="tasks", memories=what)


@pytest.mark.parametrize("what", [None, "", "drop"])
def test_an_unknown_fate_is_refused(app, what):
    attach(app, "tasks")
    said = refused(app, "detach_source", name="tasks", memories=what)
    assert said.sqlstate == "ME016"
    assert value(app, MADE) == 2


def test_what_waits_goes_with_the_source(app):
    attach(app, "tasks")
    app.execute("INSERT INTO tasks (title, created_at) VALUES ('tea', '2999-01-01')")
    call(app, "detach_source", name="tasks")
    assert value(app, "SELECT count(*) FROM memoir.source_error") == 0


@pytest.mark.parametrize(
    ("function", "arguments"),
    [("detach_source", {"name": "t", "memories": "purge"}), ("purge_user", {"user_id": USER})],
)
def test_a_row_that_is_tried_again_beside_it_makes_no_deadlock(db, dsn, function, arguments):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, importance float8)")
    attach(db, "t", importance="importance")
    db.execute("INSERT INTO t VALUES (1, 'tea', 0.5), (2, 'jam', 2)")
    with psycopg.connect(dsn) as upkeep, ThreadPoolExecutor(1) as pool:
        upkeep.execute("SET deadlock_timeout = '10ms'")
        upkeep.execute("SELECT FROM memoir.source_error FOR UPDATE")
        said = pool.submit(call, db, function, **arguments)
        until_blocked(upkeep)
        upkeep.execute("SELECT memoir._lock_user(%s)", (USER,))
        upkeep.execute("SELECT FROM memoir.memory FOR NO KEY UPDATE")
        upkeep.commit()
        said.result()
    assert value(db, "SELECT count(*) FROM memoir.memory") == 0
